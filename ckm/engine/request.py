"""One table of a job, in the words of the job file."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ckm.errors import ConfigError
from footing.messages import Argument, Message, Name

EmptyCells = Literal["auto", "grid", "drop"]
MissingValues = Literal["stop", "skip"]

#: What is published of a variable: ``"sum:income"``, ``"quantile:income:0.9"``.
STATISTICS = ("sum", "mean", "median", "quantile")
#: The quantiles that are published; with any other, all values of a cell could be read.
SHARES = ("0.1", "0.2", "0.25", "0.3", "0.4", "0.5", "0.6", "0.7", "0.75", "0.8", "0.9")

_MEASURES = ("count", "weighted")
_INSTEAD = Message(
    'ask for "sum:"; base = "range" of [[magnitude]] makes its noise fit the range'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRequest:
    """A table to publish.

    Parameters
    ----------
    dimensions
        Columns or hierarchies, or the name of one; none gives the grand total.
    margins
        ``"all"``, ``"none"``, or the wanted margins, each a list of dimensions. They stand
        beside the finest cells, which every table has: ``[["a"]]`` over dimensions ``a`` and
        ``b`` publishes the cross of both too. For ``a`` alone ask for a table of ``a``.
    where
        A filter, see `tables.filtering.filters`.
    measures
        ``"count"``, ``"weighted"``, and of a variable ``"sum:income"``, ``"mean:income"``,
        ``"median:income"`` and quantiles such as ``"quantile:income:0.9"``; each once.
    empty_cells
        ``"grid"`` writes every combination of categories, zeros included; ``"drop"`` leaves
        out every cell whose published count is zero, whether it was empty or not;
        ``"auto"`` is ``"grid"`` where all categories are declared, else ``"drop"``.
    missing_values
        ``"stop"`` refuses records without a value of a variable that is summed; ``"skip"``
        passes over them, for sums alone: a mean would be divided by all records, and a
        quantile have a rank among all.

    Raises
    ------
    ConfigError
        If a word is unknown, or a measure cannot be published.

    Notes
    -----
    There is no way to publish the non-empty cells and no others: a zero among them would
    tell that somebody is there.

    Examples
    --------
    >>> TableRequest(dimensions=["sex"]).measures
    ('count',)
    >>> TableRequest(dimensions=["sex"], measures=["sum:income", "mean:income"]).variables
    ('income',)
    """

    dimensions: Sequence[str]
    margins: str | Sequence[Sequence[str]] = "all"
    where: str | None = None
    measures: Sequence[str] = ("count",)
    empty_cells: EmptyCells = "auto"
    missing_values: MissingValues = "stop"

    def __post_init__(self) -> None:
        if isinstance(self.measures, str):
            object.__setattr__(self, "measures", (self.measures,))
        if isinstance(self.dimensions, str):
            object.__setattr__(self, "dimensions", (self.dimensions,))
        object.__setattr__(self, "dimensions", tuple(self.dimensions))
        object.__setattr__(self, "measures", tuple(self.measures))
        unknown = [m for m in self.measures if m not in _MEASURES and variable_of(m) is None]
        if unknown or not self.measures or len(set(self.measures)) < len(self.measures):
            listing = ", ".join(repr(m) for m in self.measures) or "none"
            ranges = [m for m in map(str, unknown) if m.startswith("range:")]
            if ranges:
                raise ConfigError(
                    Message(
                        "The measure {measure!r} cannot be published: a range is the "
                        "difference of two persons' amounts, which no noise for sums hides.",
                        measure=Name(ranges[0]),
                    ),
                    hint=_INSTEAD,
                    at=("measures", ranges[0]),
                )
            raise ConfigError(
                Message(
                    "measures are 'count', 'weighted' and 'sum:', 'mean:', 'median:' or "
                    "'quantile:' with a variable, each once, not {measures}.",
                    measures=Name(listing),
                ),
                hint=_hint(unknown[0])
                if unknown
                else Message('for example measures = ["count"]'),
                at=("measures",),
            )
        if self.empty_cells not in {"auto", "grid", "drop"}:
            raise ConfigError(
                Message(
                    "empty_cells must be 'auto', 'grid' or 'drop', not {empty_cells!r}.",
                    empty_cells=Argument(self.empty_cells),
                ),
                at=("empty_cells",),
            )
        if self.missing_values not in {"stop", "skip"}:
            raise ConfigError(
                Message(
                    "missing_values must be 'stop' or 'skip', not {missing_values!r}.",
                    missing_values=Argument(self.missing_values),
                ),
                at=("missing_values",),
            )
        whole = [m for m in self.measures if ":" in m and not m.startswith("sum:")]
        if whole and self.missing_values == "skip":
            raise ConfigError(
                Message(
                    "The measure {whole!r} would count records without a value: means and "
                    "quantiles need missing_values = 'stop'.",
                    whole=Name(whole[0]),
                ),
                hint=Message(
                    'leave them out: where = "{variable} is not missing"',
                    variable=Name(str(variable_of(whole[0]))),
                ),
                at=("measures", whole[0]),
            )

    @property
    def variables(self) -> tuple[str, ...]:
        """The columns whose sums or means are asked for, each once."""
        columns = (variable_of(m) for m in self.measures if m not in self.quantiles)
        return tuple(dict.fromkeys(column for column in columns if column is not None))

    @property
    def needs_whole_table(self) -> bool:
        """Whether its rows are more than those of its cells, one by one."""
        is_more = {*self.measures} - {*_MEASURES} or self.empty_cells == "grid"
        return bool(is_more) or not self.dimensions

    @property
    def quantiles(self) -> dict[str, tuple[str, str]]:
        """Measure → its column and share, of the medians and other quantiles asked for."""
        pairs = ((measure, quantile_of(measure)) for measure in self.measures)
        return {measure: pair for measure, pair in pairs if pair is not None}


def variable_of(measure: object) -> str | None:
    """Return the column of a measure such as ``"sum:income"``; None where there is none."""
    pair = quantile_of(measure)
    if pair is not None:
        return pair[0]
    statistic, _, column = measure.partition(":") if isinstance(measure, str) else ("", "", "")
    return column if column and statistic in {"sum", "mean"} else None


def quantile_of(measure: object) -> tuple[str, str] | None:
    """Return the column and the share of a quantile that is published; None of others."""
    statistic, _, column = measure.partition(":") if isinstance(measure, str) else ("", "", "")
    share = "0.5"
    if statistic == "quantile":
        column, _, share = column.rpartition(":")
    is_one = statistic in {"median", "quantile"} and column and share in SHARES
    return (column, share) if is_one else None


def column_of(measure: str) -> str:
    """Return what a measure's column is called in a published table.

    A colon or a point would be refused by SDMX and need quotes in SQL.
    """
    if measure.startswith("quantile:") and (pair := quantile_of(measure)) is not None:
        return f"quantile_{pair[0]}_{round(100 * float(pair[1]))}"
    return measure if variable_of(measure) is None else measure.replace(":", "_", 1)


def _hint(unknown: object) -> str:
    """Tell what may have been meant by an unknown measure."""
    statistic, _, column = str(unknown).partition(":")
    if statistic == "quantile" and column:
        name = column.rpartition(":")[0] or column
        return Message(
            "for example 'quantile:{name}:0.9'; the shares are {shares}",
            name=Name(name),
            shares=Name.each(SHARES),
        )
    choices = STATISTICS if column else (*_MEASURES, *STATISTICS)
    word = statistic.strip().lower()
    close = difflib.get_close_matches(word, choices, n=1)
    if not close or abs(len(close[0]) - len(word)) > 1:  # a slip, not another statistic
        if column:
            return Message(
                "of a variable there are 'sum:{column}', 'mean:{column}', "
                "'median:{column}' and quantiles such as 'quantile:{column}:0.9'",
                column=Name(column),
            )
        return Message('for example measures = ["count", "sum:income"]')
    meant = f"{close[0]}:{column or '…'}" if close[0] in STATISTICS else close[0]
    return Message("did you mean {close!r}?", close=Name(meant))
