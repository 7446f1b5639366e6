"""What a ledger was made for: its form, its secret, its width, its noises; and its end."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass

from ckm.errors import ConfigError
from ckm.ledger.errors import LedgerError
from ckm.ledger.storage.seal import Seal
from ckm.ledger.storage.store import Database
from footing.messages import Argument, Message
from tables.cells.sketch import MAX_WIDTH

_SCHEMA = "3"
#: Of a ledger with tables that another method than noise protected, which earlier versions
#: cannot compare.
_SCHEMA_OF_METHODS = "4"
_HEAD = "head"
_WIDTH = 2

_PREFIX = "amount "


@dataclass(frozen=True, slots=True)
class Head:
    """Where a ledger ends: the number of its last entry, and the link of that entry.

    Examples
    --------
    >>> str(Head(2, bytes(16)))
    '2:00000000000000000000000000000000'
    """

    number: int = 0
    link: bytes = b""

    def __str__(self) -> str:
        return f"{self.number}:{self.link.hex()}"

    @classmethod
    def read(cls, text: str) -> Head:
        """Read a head from its text.

        Raises
        ------
        ConfigError
            If it is none.

        Examples
        --------
        >>> Head.read("2:0102").number
        2
        """
        number, _, link = text.strip().partition(":")
        try:
            return cls(int(number), bytes.fromhex(link))
        except ValueError:
            raise ConfigError(
                Message("The head of a ledger reads like 12:0123456789abcdef…"),
                hint=Message("ckm ledger audit prints it, and so do the manifests of releases"),
            ) from None


def read_head(settings: Mapping[str, str], seal: Seal) -> Head:
    """Return where a ledger ends."""
    text, _, tag = settings.get(_HEAD, "").rpartition(" ")
    others = {name: content for name, content in settings.items() if name != _HEAD}
    try:
        head = Head.read(text)
        is_ours = hmac.compare_digest(
            bytes.fromhex(tag), seal.head(head.number, head.link, others)
        )
    except (ConfigError, ValueError):
        is_ours = False
    if not is_ours:
        raise LedgerError(
            Message("The settings of the ledger were altered or are damaged."),
            hint=Message("restore the ledger from a copy"),
        )
    return head


def write_head(
    store: Database, seal: Seal, head: Head, new: Mapping[str, str] | None = None
) -> None:
    """Write where a ledger ends, and new settings, in the transaction of the caller."""
    new = new or {}
    others = {name: text for name, text in store.settings().items() if name != _HEAD}
    tag = seal.head(head.number, head.link, {**others, **new})
    store.write_settings({**new, _HEAD: f"{head} {tag.hex()}"})


def settings_of_methods() -> dict[str, str]:
    """Return what a ledger says of itself once it has tables by other methods than noise."""
    return {"schema": _SCHEMA_OF_METHODS}


def require_parameters(threshold: int | None, smallest: int) -> None:
    """Raise unless a ledger can be opened with these parameters."""
    if threshold is not None and (
        type(threshold) is not int or not 1 <= threshold <= MAX_WIDTH
    ):
        raise ConfigError(
            Message(
                "The threshold of a ledger is a number of records from 1 to {max_width}, "
                "not {threshold!r}.",
                max_width=MAX_WIDTH,
                threshold=Argument(threshold),
            ),
            hint=Message("2 is usual: neither of two persons can infer the other"),
        )
    if type(smallest) is not int or smallest < 1:
        raise ConfigError(
            Message(
                "smallest must be a positive integer, not {smallest!r}.",
                smallest=Argument(smallest),
            )
        )


def width_of(store: Database, seal: Seal, threshold: int | None) -> int:
    """Return the width of a ledger's sketches; a new ledger gets one."""
    with store.writing():
        settings = store.settings()
        if not settings:
            if any(True for _ in store.rows(is_open=True)):
                raise LedgerError(
                    Message("The settings of the ledger are gone."),
                    hint=Message("restore it from a copy"),
                )
            settings = {
                "schema": _SCHEMA,
                "width": str(threshold or _WIDTH),
                "check": seal.check,
            }
            write_head(store, seal, Head(), settings)
    return _width(store.settings(), seal, threshold)


def is_first_noise(store: Database, seal: Seal, noise: str, *, create: bool) -> bool:
    """Tell whether the tables of a ledger have this noise; a new ledger takes it."""
    digest = seal.digest(f"noise {noise}".encode()).hex()
    earlier = store.settings().get("noise")
    if earlier is None and create:
        with store.writing():
            settings = store.settings()
            earlier = settings.get("noise")
            if earlier is None:
                write_head(store, seal, read_head(settings, seal), {"noise": digest})
                earlier = digest
    return earlier in {None, digest}


# claim ledger-refuses-a-second-ptable
def require_noise(store: Database, seal: Seal, noise: str, *, create: bool) -> None:
    """Raise unless the tables of a ledger have this noise."""
    if not is_first_noise(store, seal, noise, create=create):
        raise LedgerError(
            Message(
                "The tables in the ledger have another noise: the p-table, [keys] mix or "
                "the version of record keys changed, and readers could average two noises "
                "of one cell."
            ),
            hint=Message(
                "go back to that p-table (and to [keys] version = 1 for a ledger of 0.1.0), or "
                "start a new ledger with a new secret; second_ptable = true in "
                "[[report.exceptions]] allows it, and says who and why"
            ),
        )


def _width(settings: dict[str, str], seal: Seal, threshold: int | None) -> int:
    """Return the width of a ledger's sketches, or raise when it does not suit."""
    if settings.get("schema") not in {_SCHEMA, _SCHEMA_OF_METHODS}:
        raise LedgerError(
            Message("The ledger has a form that this version does not know, older or newer."),
            hint=Message(
                "use the version that wrote it, or start a new ledger: its tables are "
                "recorded again when they are released again"
            ),
        )
    if settings.get("check") != seal.check:
        raise LedgerError(
            Message("The ledger was made with another secret."),
            hint=Message("use that secret, or start a new ledger"),
        )
    read_head(settings, seal)
    width = int(settings["width"])
    if threshold is not None and threshold > width:
        raise LedgerError(
            Message(
                "The ledger was made for thresholds up to {width}, not {threshold}.",
                width=width,
                threshold=Argument(threshold),
            ),
            hint=Message("start a new ledger with the larger threshold"),
        )
    return width


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


def new_noises(noises: Mapping[str, str], *, earlier: Mapping[str, str]) -> dict[str, str]:
    """Return those of the sealed noises that are not known; raise where one is another."""
    if any(earlier.get(name, noise) != noise for name, noise in noises.items()):
        raise LedgerError(
            Message(
                "A variable of these tables is in the ledger with another noise of sums: "
                "its [[magnitude]] changed, and readers could average two noises of one "
                "cell."
            ),
            hint=Message("go back to those settings, or start a new ledger with a new secret"),
        )
    return {name: noise for name, noise in noises.items() if name not in earlier}
