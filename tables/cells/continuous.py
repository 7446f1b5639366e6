"""Dimensions that are continuous, or that tell single records apart: refused, by one rule.

Whoever publishes a table by exact incomes publishes the incomes of single persons as labels of
its rows, whatever happens to the counts beside them.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from footing.messages import Argument, Message
from tables.errors import DataError, DataWarning
from tables.filtering.filters import quote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from footing.arrays import Integers
    from tables.cells.hierarchy import Hierarchy
    from tables.request import Request
    from tables.source.source import Source

    #: Column → how many records each of its values has; None where that is not known.
    Counts = Callable[[str], Integers | None]

#: So many values a column may have, whatever the records are, unless they are fractions.
MOST_VALUES = 100
#: So many values a column of fractions may have: amounts of a small extract are not categories.
MOST_FRACTIONS = 10
#: Of more values of a number, a date or a time, half have this many records or more.
LEAST_MEDIAN = 5
_ORDERED = frozenset({"integer", "number", "date", "time"})
_AMOUNTS = frozenset({"number", "date", "time"})
_WIDER = Message("make its bands wider: a larger width, or bands that you list")
_HINT = Message(
    "publish groups instead: bands ([[variable]] with of and bands) or a "
    "broader code; a column of codes, not of amounts, may be declared "
    "([categories]; categories= in Python), or be a level of a hierarchy"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueFigures:
    """How the records of a source spread over the values of a column.

    Parameters
    ----------
    values
        How many values there are; missing is none.
    median
        Of the number of records of a value.
    alone
        The share of values that one record has.

    Examples
    --------
    >>> ValueFigures.of(np.array([1, 1, 4]))
    ValueFigures(values=3, median=1.0, alone=0.6666666666666666)
    """

    values: int
    median: float
    alone: float

    @classmethod
    def of(cls, records: Integers, times: Integers | None = None) -> ValueFigures:
        """Count values, by the number of records of each, or how many values have so many."""
        order = np.argsort(records, kind="stable")
        times = np.ones(len(records), np.int64) if times is None else times
        records, ends = records[order], np.cumsum(times[order])
        values = int(ends[-1]) if len(ends) else 0
        if not values:
            return cls(values=0, median=0.0, alone=0.0)
        middle = np.searchsorted(ends, [(values + 1) // 2, values // 2 + 1])
        alone = (
            int(ends[np.searchsorted(records, 1, side="right") - 1]) if records[0] <= 1 else 0
        )
        return cls(values=values, median=float(records[middle].mean()), alone=alone / values)

    def forbids(self, *, is_ordered: bool) -> bool:
        """Whether the rule forbids such a column; more strictly one of numbers or dates."""
        if self.values <= MOST_VALUES:
            return False
        return self.alone > 1 / 2 or (is_ordered and self.median < LEAST_MEDIAN)


def require_discrete(
    source: Source, requests: Iterable[Request], counts: Counts | None = None
) -> None:
    """Refuse dimensions that are continuous or tell records apart; all at once.

    The rule is asked of all records of a source, whatever the filter of a request: so its
    answer is the same for every request, and tells nothing of what a filter keeps.

    Parameters
    ----------
    source
        The records.
    requests
        The tables. Those that the request calls discrete are left alone. So are codes that are
        declared or lie in a hierarchy; amounts and dates of a hierarchy are not, and declared
        ones that the rule forbids are warned of.
    counts
        How many records the values of a column have, where it is known without a look at the
        records.

    Raises
    ------
    DataError
        With the number of values and how many records they have.
    """
    requests, errors, has_bands = list(requests), [], []
    for column in dict.fromkeys(c for r in requests for c in _open_columns(source, r)):
        figures = _figures_of(source, column, counts)
        if figures is not None and _is_forbidden(source, column, figures):
            refusal = _refusal(source, column, figures)
            errors.append(DataError(refusal, at=("dimensions", column)))
            has_bands.append(_has_width(source, column))
    for column in dict.fromkeys(c for r in requests for c in _declared_columns(source, r)):
        _warn_of_declared(source, column, _figures_of(source, column, counts))
    hint = _WIDER if all(has_bands) else _HINT
    if len(errors) > 1:
        heading = Message("{number} problems:", number=len(errors))
        raise DataError.of_several(heading, errors, hint=hint)
    for error in errors:
        error.add_hint(hint=hint)
        raise error


def forbidden_figures(source: Source, column: str) -> ValueFigures | None:
    """Return the figures of a column that the rule forbids as a dimension; None of others."""
    figures = _value_figures(source, column, None)
    return figures if figures is not None and _is_forbidden(source, column, figures) else None


def records_by_value(rows: pa.Table, column: str, number: str) -> Integers:
    """Add up a column of numbers of records by the values of another; missing is none."""
    values = rows[column]
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    table = pa.table({"value": values, "n": rows[number]})
    table = table.group_by("value").aggregate([("n", "sum")])
    records = table.filter(table["value"].is_valid())["n_sum"]
    return np.asarray(records.to_numpy()).astype(np.int64)


def _open_columns(source: Source, request: Request) -> Iterator[str]:
    """Return the columns of a request of which nobody said that they are categories.

    Codes that are levels of a hierarchy are categories; amounts below their bands are not.
    """
    for dimension in request.dimensions:
        nested = request.hierarchies.get(dimension)
        if dimension in request.categories:
            continue
        for column in request.columns_of(dimension):
            if column not in request.discrete and (
                nested is None
                or (nested.tree is None and len(nested.columns) == 1)
                or is_amount(source, column, nested)
            ):
                yield column


def is_amount(source: Source, column: str, nested: Hierarchy) -> bool:
    """Tell whether a level of a hierarchy holds amounts or dates, of which others are bands.

    Parameters
    ----------
    source
        The records.
    column
        One of the columns of the hierarchy.
    nested
        The hierarchy; those of a tree are codes.
    """
    if nested.tree is not None:
        return False
    if column in source.derived:
        return _has_width(source, column)
    above = (source.derived.get(level) for level in nested.columns)
    has_bands = any(
        v is not None and v.of == column and (v.width or v.bands) is not None for v in above
    )
    return has_bands or source.kinds[column] in _AMOUNTS


def _declared_columns(source: Source, request: Request) -> Iterator[str]:
    """Return the columns whose many declared categories may be amounts or dates."""
    for dimension in request.dimensions:
        categories = request.categories.get(dimension, ())
        if len(categories) > MOST_FRACTIONS and dimension not in request.discrete:
            columns = request.columns_of(dimension)
            if len(columns) == 1 and columns[0] not in source.derived:
                yield columns[0]


def _figures_of(source: Source, column: str, counts: Counts | None) -> ValueFigures | None:
    mark = ("values", column)
    if mark not in source.sound:
        source.sound[mark] = _value_figures(source, column, counts)
    figures: ValueFigures | None = source.sound[mark]
    return figures


def _warn_of_declared(source: Source, column: str, figures: ValueFigures | None) -> None:
    """Warn once of declared categories that are amounts of single records."""
    mark = ("declared amounts", column)
    if figures is None or mark in source.sound:
        return
    source.sound[mark] = True
    if _is_forbidden(source, column, figures) and (
        source.kinds[column] in _AMOUNTS or _has_fractions(source, column)
    ):
        text = Message(
            "The declared categories of {column!r} are amounts or dates that few records have: "
            "{alone:.0f} per cent of them have one record. A table by them publishes what "
            "single records hold, as labels of its rows; publish bands ([[variable]] with of "
            "and bands) instead.",
            column=Argument(column),
            alone=100 * figures.alone,
        )
        warnings.warn(DataWarning(text), stacklevel=2)


def _is_forbidden(source: Source, column: str, figures: ValueFigures) -> bool:
    if MOST_FRACTIONS < figures.values <= MOST_VALUES:
        return figures.alone > 1 / 2 and _has_fractions(source, column)
    if not figures.forbids(is_ordered=True):
        return False
    return figures.forbids(is_ordered=False) or _is_ordered(source, column)


def _is_ordered(source: Source, column: str) -> bool:
    """Tell whether a column holds numbers, dates or times; texts of CSV with leading zeros are
    codes. Bands of one width may be as fine as numbers, and codes that a recode keeps are those
    of its column; bands and codes that somebody listed are categories.
    """  # noqa: D205
    variable = source.derived.get(column)
    if variable is not None:
        return variable.width is not None or (
            variable.keep and _is_ordered(source, variable.of)
        )
    if source.kinds[column] in _ORDERED:
        return True
    if not (source.is_text_of_csv(column) and source.is_number(column)):
        return False
    is_code = f"regexp_matches({quote(column)}, '^[ +-]*0[0-9]')"
    return not source.fetch(f"SELECT 1 FROM {source.relation} WHERE {is_code} LIMIT 1")


def _has_fractions(source: Source, column: str) -> bool:
    """Tell whether a column holds numbers, some of them not whole; bands are no numbers."""
    if column in source.derived or not _is_ordered(source, column):
        return False
    name = quote(column)
    if source.kinds[column] == "number":
        fraction = f"{name} <> floor({name})"
    elif source.is_text_of_csv(column):
        fraction = f"regexp_matches({name}, '[.,][0-9]*[1-9]')"
    else:
        return False
    return bool(source.fetch(f"SELECT 1 FROM {source.relation} WHERE {fraction} LIMIT 1"))


def _has_width(source: Source, column: str) -> bool:
    variable = source.derived.get(column)
    return variable is not None and variable.width is not None


def _value_figures(source: Source, column: str, counts: Counts | None) -> ValueFigures | None:
    """Return the figures of a column; None where it has few values of necessity."""
    if source.kinds[column] == "boolean":
        return None
    low, high, _ = source.spans.get(column, (None, None, False))
    if low is not None and high is not None and high - low < MOST_VALUES:
        return None
    records = None if counts is None else counts(column)
    if records is not None:
        return ValueFigures.of(records)
    number = "count(*)" if source.cells is None else f"sum({quote(source.cells.count)})::BIGINT"
    name = quote(column)
    rows = source.fetch(
        f"SELECT n, count(*) AS times FROM (SELECT {number} AS n FROM {source.relation} "
        f"WHERE {name} IS NOT NULL GROUP BY {name}) GROUP BY n"
    )
    by_records = np.array(rows, np.int64).reshape(-1, 2)
    return ValueFigures.of(by_records[:, 0], by_records[:, 1])


def _refusal(source: Source, column: str, value_figures: ValueFigures) -> str:
    figures = Message(
        "it has {values:,} values; one record alone has {alone:.0f} %, and the "
        "median number of records of a value is {median:g}. A table by it would "
        "publish what single records hold.",
        values=value_figures.values,
        alone=100 * value_figures.alone,
        median=value_figures.median,
    )
    if _has_width(source, column):
        return Message(
            "The bands of {column!r} are too fine for a dimension: {figures}",
            column=Argument(column),
            figures=figures,
        )
    return Message(
        "Column {column!r} cannot be a dimension: {figures}",
        column=Argument(column),
        figures=figures,
    )
