"""Shares and changes of published counts, with the intervals that the noise implies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ckm.engine.published_table import PublishedTable, measure_columns
from ckm.errors import ConfigError
from footing.messages import Argument, Message, Name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from footing.arrays import Integers
    from ptable import PTable
    from risk.inference.intervals import FigureIntervals

    Cell = tuple[str, ...]

_PERCENT = 100


def shares(
    table: PublishedTable,
    of: str,
    *,
    ptable: PTable,
    level: float = 0.95,
    total_label: str = "Total",
    independent: bool = True,
) -> PublishedTable:
    """Divide published counts by those of the totals over a dimension, in per cent.

    Parameters
    ----------
    table
        A table of counts with margins.
    of
        The column whose categories are shared out.
    ptable
        The p-table of the counts.
    level
        How often, at least, the intervals hold the share of the original counts.
    total_label
        What totals are called in the table.
    independent
        False where cell keys are not mixed, see `risk.count_intervals`.

    Returns
    -------
    PublishedTable
        The categories, and ``share``, ``share_low``, ``share_high``: masked where the total is
        published as 0, or not published.

    Raises
    ------
    ConfigError
        If there are no counts, no such column, or no totals over it.

    Examples
    --------
    >>> from ptable import NoiseSpec, solve
    >>> sex = (np.array([0, 1, 2], np.int32), ["Total", "F", "M"])
    >>> table = PublishedTable(
    ...     dimensions={"sex": sex}, measures={"count": np.array([100, 52, 49])}
    ... )
    >>> found = shares(table, "sex", ptable=solve(NoiseSpec(max_noise=5, variance=3.0)))
    >>> found.to_pandas().round(1).values.tolist()
    [['F', 52.0, 48.1, 56.0], ['M', 49.0, 45.2, 53.0]]
    """
    from risk.inference.intervals import count_intervals

    counts = _counts(table)
    if not isinstance(of, str):
        raise ConfigError(
            Message("Shares are over one column, not {of!r}.", of=Argument(of)),
            hint=Message("give its name"),
        )
    if total_label not in table.dimensions.get(of, (None, ()))[1]:
        raise ConfigError(
            Message(
                "The table has no column {of!r} with totals, which are called {total_label!r}.",
                of=Argument(of),
                total_label=Name(total_label),
            ),
            hint=Message(
                "columns are {dimensions}; ask for margins",
                dimensions=Name.each(table.dimensions),
            ),
        )
    cells, place = _cells(table), list(table.dimensions).index(of)
    whole = [(*cell[:place], total_label, *cell[place + 1 :]) for cell in cells]
    rows, whole_rows = _matched(cells, whole)
    is_part = np.array([cells[row][place] != total_label for row in rows], bool)
    rows, whole_rows = rows[is_part], whole_rows[is_part]
    intervals = count_intervals(
        (ptable, ptable),
        np.ma.filled(counts[rows], 0),
        np.ma.filled(counts[whole_rows], 0),
        level=level,
        part=True,
        independent=independent,
    )
    hidden = np.ma.getmaskarray(counts)
    return _table(
        table,
        rows,
        intervals,
        "share",
        hidden=hidden[rows] | hidden[whole_rows],
        scale=_PERCENT,
    )


def changes(
    later: PublishedTable,
    earlier: PublishedTable,
    *,
    ptable: PTable,
    earlier_ptable: PTable | None = None,
    level: float = 0.95,
    independent: bool = True,
) -> PublishedTable:
    """Subtract the published counts of an earlier table from those of a later one.

    Parameters
    ----------
    later, earlier
        Tables of counts of the same columns. Cells that one of them lacks are left out.
    ptable, earlier_ptable
        Their p-tables; by default both have the first.
    level
        How often, at least, the intervals hold the change of the original counts.
    independent
        False where cell keys are not mixed, or where the p-tables differ under one secret;
        see `risk.count_intervals`.

    Returns
    -------
    PublishedTable
        The categories, and ``change``, ``change_low``, ``change_high``; masked where a count
        is not published.

    Raises
    ------
    ConfigError
        If there are no counts, or the columns differ.

    Notes
    -----
    The change is known to readers of both tables. Where nearly the same people are in both,
    it tells of those who came or went: see docs/explanation/risk.md.

    Examples
    --------
    >>> from ptable import NoiseSpec, solve
    >>> def of(*counts):
    ...     sex = (np.array([0, 1], np.int32), ["F", "M"])
    ...     return PublishedTable(dimensions={"sex": sex}, measures={"count": np.array(counts)})
    >>> table = solve(NoiseSpec(max_noise=5, variance=3.0))
    >>> changes(of(60, 90), of(50, 89), ptable=table).to_pandas().values.tolist()
    [['F', 10.0, 5.0, 15.0], ['M', 1.0, -4.0, 6.0]]
    """
    from risk.inference.intervals import count_intervals

    ours, theirs = _counts(later), _counts(earlier)
    if tuple(later.dimensions) != tuple(earlier.dimensions):
        raise ConfigError(
            Message(
                "The two tables have other columns: {dimensions}; {dimensions_2}.",
                dimensions=Name.each(later.dimensions),
                dimensions_2=Name.each(earlier.dimensions),
            ),
            hint=Message("compare tables of the same dimensions"),
        )
    rows, at = _matched(_cells(earlier), _cells(later))
    hidden = np.ma.getmaskarray(ours)[rows] | np.ma.getmaskarray(theirs)[at]
    intervals = count_intervals(
        (ptable, earlier_ptable or ptable),
        np.ma.filled(ours[rows], 0),
        np.ma.filled(theirs[at], 0),
        figure="difference",
        level=level,
        independent=independent,
    )
    return _table(later, rows, intervals, "change", hidden=hidden)


def _counts(table: PublishedTable) -> Integers:
    """Return the published counts of a table."""
    (column,) = measure_columns(["count"], table.dimensions)
    if column not in table.measures:
        raise ConfigError(
            Message("The table shows no counts."), hint=Message('measures = ["count"] has them')
        )
    counts: Integers = table.measures[column]
    return counts


def _cells(table: PublishedTable) -> list[Cell]:
    """Return the categories of every row."""
    return list(
        zip(*([s[c] for c in codes] for codes, s in table.dimensions.values()), strict=True)
    )


def _matched(cells: list[Cell], others: list[Cell]) -> tuple[Integers, Integers]:
    """Return the rows of `wanted` that are known, and where they stand there."""
    places = {cell: place for place, cell in enumerate(cells)}
    positions = np.array([places.get(cell, -1) for cell in others], np.int64)
    rows = np.flatnonzero(positions >= 0)
    return rows, positions[rows]


def _table(
    table: PublishedTable,
    rows: Integers,
    intervals: FigureIntervals,
    name: str,
    *,
    hidden: Sequence[bool] | np.ndarray,
    scale: int = 1,
) -> PublishedTable:
    """Lay a figure and its interval out beside the categories of some rows."""
    figures = {
        name: intervals.figure,
        f"{name}_low": intervals.lower,
        f"{name}_high": intervals.upper,
    }
    names = measure_columns(list(figures), table.dimensions)
    columns = {column: figures[figure] for column, figure in names.items()}
    masks = np.isnan(intervals.figure) | np.asarray(hidden)
    return PublishedTable(
        dimensions={n: (codes[rows], texts) for n, (codes, texts) in table.dimensions.items()},
        measures={
            column: np.ma.array(np.where(masks, 0.0, scale * values), mask=masks)
            for column, values in columns.items()
        },
    )
