"""What a ledger was made for: its form, its secret, the width of its sketches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckm.errors import ConfigError
from ckm.ledger.errors import LedgerError
from tables.sketch import MAX_WIDTH

if TYPE_CHECKING:
    from ckm.ledger.seal import Seal
    from ckm.ledger.store import Store

__all__ = ["require_noise", "require_parameters", "width_of"]

_SCHEMA = "2"
_WIDTH = 2


def require_parameters(threshold: int | None, smallest: int) -> None:
    """Raise unless a ledger can be opened with these parameters.

    Parameters
    ----------
    threshold, smallest
        As for `Ledger.open`.

    Raises
    ------
    ConfigError
        If one is out of range.

    Examples
    --------
    >>> require_parameters(2, 10)
    """
    if threshold is not None and (
        type(threshold) is not int or not 1 <= threshold <= MAX_WIDTH
    ):
        raise ConfigError(
            f"The threshold of a ledger is a number of records from 1 to {MAX_WIDTH}, "
            f"not {threshold!r}.",
            hint="2 is usual: neither of two people finds the other",
        )
    if type(smallest) is not int or smallest < 1:
        raise ConfigError(f"smallest must be a positive integer, not {smallest!r}.")


def width_of(store: Store, seal: Seal, threshold: int | None) -> int:
    """Return the width of a ledger's sketches; a new ledger gets one.

    Parameters
    ----------
    store
        The database.
    seal
        The keys of the ledger.
    threshold
        The threshold that is wanted.

    Raises
    ------
    LedgerError
        If the ledger has another form, another secret or a smaller width.

    Examples
    --------
    >>> width_of(store, seal, None)  # doctest: +SKIP
    2
    """
    with store.writing():
        settings = store.settings()
        if not settings:
            settings = {
                "schema": _SCHEMA,
                "width": str(threshold or _WIDTH),
                "check": seal.check,
            }
            store.write_settings(settings)
    return _width(settings, seal, threshold)


def require_noise(store: Store, seal: Seal, noise: str, *, create: bool) -> None:
    """Raise unless the tables of a ledger have this noise.

    Parameters
    ----------
    store
        The database.
    seal
        The keys of the ledger.
    noise
        What the noise of a set of records depends on beside the secret.
    create
        Let the ledger be for this noise if it is for none yet.

    Raises
    ------
    LedgerError
        If it is for another one.

    Examples
    --------
    >>> require_noise(store, seal, ptable.id, create=True)  # doctest: +SKIP
    """
    wanted = seal.digest(f"noise {noise}".encode()).hex()
    known = store.settings().get("noise")
    if known is None and create:
        with store.writing():
            known = store.settings().get("noise")
            if known is None:
                store.write_settings({"noise": wanted})
    if known not in {None, wanted}:
        raise LedgerError(
            "The tables in the ledger have another noise: the p-table or [keys] mix changed, "
            "and readers could average two noises of one cell.",
            hint="go back to that p-table, or start a new ledger with a new secret",
        )


def _width(settings: dict[str, str], seal: Seal, threshold: int | None) -> int:
    """Return the width of a ledger's sketches, or raise when it does not suit."""
    if settings.get("schema") != _SCHEMA:
        raise LedgerError(
            "The ledger has a form that this version does not know.",
            hint="use the version that wrote it, or a newer one",
        )
    if settings.get("check") != seal.check:
        raise LedgerError(
            "The ledger was made with another secret.",
            hint="use that secret, or start a new ledger",
        )
    width = int(settings["width"])
    if threshold is not None and threshold > width:
        raise LedgerError(
            f"The ledger was made for thresholds up to {width}, not {threshold}.",
            hint="start a new ledger with the larger threshold",
        )
    return width
