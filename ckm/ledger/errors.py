"""The errors of the ledger."""

from collections.abc import Sequence

from ckm.errors import CkmError
from ckm.ledger.storage.record import ThinPair


class LedgerError(CkmError):
    """The ledger cannot be opened, read or written."""

    code = "ckm-ledger"


class ThinDifferenceError(CkmError):
    """A table differs from published ones by too few records, so it was not published.

    Parameters
    ----------
    pairs
        The thin differences.
    """

    code = "ckm-thin-difference"

    def __init__(self, pairs: Sequence[ThinPair]) -> None:
        self.pairs = tuple(pairs)
        shown = "\n".join(f"  - {pair}" for pair in self.pairs[:_SHOWN])
        more = len(self.pairs) - _SHOWN
        if more > 0:
            shown += f"\n  - and {more:,} more"
        super().__init__(
            "Nothing was published: cells differ from published ones by too few records:"
            f"\n{shown}",
            hint="ask for categories, areas or filters that were published before, or coarser",
        )


_SHOWN = 5
