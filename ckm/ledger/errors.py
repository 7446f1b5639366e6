"""The errors of the ledger."""

from collections.abc import Sequence

from ckm.errors import CkmError, Places
from ckm.ledger.storage.record import PAIR_COLUMNS, ThinPair


class LedgerError(CkmError):
    """The ledger cannot be opened, read or written."""

    code = "ckm-ledger"


class ThinDifferenceError(CkmError):
    """A table differs from published ones by too few records, so it was not published.

    Parameters
    ----------
    pairs
        The thin differences; no message names their cells.
    """

    code = "ckm-thin-difference"

    def __init__(self, pairs: Sequence[ThinPair]) -> None:
        self.pairs = tuple(pairs)
        tables = len({pair.cell.table for pair in self.pairs})
        super().__init__(
            "Nothing was published: cells differ from published ones by too few records, in "
            f"{tables:,} {'table' if tables == 1 else 'tables'}.",
            hint="ask for categories, areas or filters that were published before, or coarser",
        )

    @property
    def places(self) -> Places:
        """The cells, for a file that its owner alone reads."""
        return Places(PAIR_COLUMNS, tuple(pair.row for pair in self.pairs))
