"""The errors of the ledger."""

from collections.abc import Sequence

from ckm.errors import CkmError, Places
from ckm.ledger.second_method import SecondMethod
from ckm.ledger.storage.record import PAIR_COLUMNS, ThinPair
from footing.messages import Message, Name


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
        cells = len({pair.cell for pair in self.pairs})
        hint = Message(
            "ask for categories, areas or filters that were published before, or coarser"
        )
        if any(pair.cell.has_missing for pair in self.pairs):
            hint = Message(
                "{hint}; categories of records without a value are among the cells: put them "
                'with another category, of = "…" with recode and missing in [[variable]]',
                hint=hint,
            )
        super().__init__(
            Message(
                "Nothing was published: cells differ from published ones by too few "
                "records, in {number:,} {tables}.",
                number=tables,
                tables=Message("table") if tables == 1 else Message("tables"),
            ),
            hint=hint,
            inside=Message("{cells:,} cells", cells=cells),
        )

    @property
    def places(self) -> Places:
        """The cells, for a file that its owner alone reads."""
        return Places(PAIR_COLUMNS, tuple(pair.row for pair in self.pairs))


class ManyCountsError(CkmError):
    """Too many published counts contain a record, so a release was not published.

    Parameters
    ----------
    counts, maximum
        How many there would be, and may be.
    """

    code = "ckm-many-counts"

    def __init__(self, counts: int, *, maximum: int) -> None:
        super().__init__(
            Message(
                "Nothing was published: a record would be in up to {counts:,} published "
                "counts, more than maximum_numbers = {maximum:,} in [ledger].",
                counts=counts,
                maximum=maximum,
            ),
            hint=Message(
                "leave out tables or margins; cells that were published before of the same "
                "records do not count again, those of other records, as of another year, do"
            ),
        )


_ONE_NOISE = Message(
    "go back to the p-table of those tables; second_ptable = true in [[report.exceptions]] "
    "publishes them all the same, and says who and why"
)
_ONE_METHOD = Message(
    "publish these records by one method, all tables in one job; "
    'second_method = "flag" publishes them all the same'
)


class SecondMethodError(CkmError):
    """Records were published by another method before, so a table was not published.

    Parameters
    ----------
    second_methods
        The tables, and those they stand beside.
    """

    code = "ckm-second-method"

    def __init__(self, second_methods: Sequence[SecondMethod]) -> None:
        self.second_methods = tuple(second_methods)
        first = self.second_methods[0].words
        n_more = len(self.second_methods) - 1
        if n_more:
            first = Message("{first} There are {n} more such pairs.", first=first, n=n_more)
        problem = Message(
            "Nothing was published: two ways of protecting the same records tell more of them "
            "together than each by itself. {first}",
            first=first,
        )
        has_two_noises = self.second_methods[0].is_of_two_noises
        super().__init__(problem, hint=_ONE_NOISE if has_two_noises else _ONE_METHOD)


class OtherMethodsError(CkmError):
    """A ledger has tables by other methods, so private tables were not published.

    Parameters
    ----------
    methods
        Their names.
    """

    code = "ckm-second-method"

    def __init__(self, methods: Sequence[str]) -> None:
        problem = Message(
            "Nothing was published: the ledger has tables by other methods, {methods}. "
            "Whether they show the same records is not examined, as a refusal that depends "
            "on records would disclose information about them.",
            methods=Name.each(methods),
        )
        hint = Message(
            'second_method = "flag" in [release_ledger] publishes them all the same; for other '
            "records, take another history or another ledger"
        )
        super().__init__(problem, hint=hint)
