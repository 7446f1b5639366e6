"""The noise of amounts that a ledger has seen: one for each variable and period."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckm.ledger.errors import LedgerError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckm.ledger.storage.seal import Seal

_PREFIX = "amount "


def sealed_noises(noises: Mapping[str, str], *, seal: Seal) -> dict[str, str]:
    """Return what a ledger keeps of the noise of variables.

    Names and settings stay inside: both are keyed digests, the second of the name too, so
    that nobody sees which variables have the same noise.
    """
    return {
        _PREFIX + seal.digest(f"amount {name}".encode()).hex(): seal.digest(
            f"amount noise {len(name)} {name} {noise}".encode()
        ).hex()
        for name, noise in noises.items()
    }


def new_noises(wanted: Mapping[str, str], *, known: Mapping[str, str]) -> dict[str, str]:
    """Return those of the sealed noises that are not known; raise where one is another."""
    if any(known.get(name, noise) != noise for name, noise in wanted.items()):
        raise LedgerError(
            "A variable of these tables is in the ledger with another noise of sums: its "
            "[[magnitude]] changed, and readers could average two noises of one cell.",
            hint="go back to those settings, or start a new ledger with a new secret",
        )
    return {name: noise for name, noise in wanted.items() if name not in known}
