"""The values of given ranks in every cell of a table: exact, whatever the order of records."""

from collections.abc import Sequence

import numpy as np

from footing.arrays import Codes, Floats, Integers
from footing.messages import Message, Name
from tables.cells.blocks import Cells
from tables.cells.cube import axes_of
from tables.errors import DataError
from tables.filtering.filters import Filter, quote
from tables.magnitudes.exact import number_sql
from tables.request import Request
from tables.source.source import Source


def values_at(
    source: Source, request: Request, cells: Cells, column: str, ranks: Integers
) -> Floats:
    """Find the values of given ranks in every cell.

    One query counts the records of each value in each finest cell; these counts add up to
    those of the margins.

    Parameters
    ----------
    source, request
        The records, and the request that made the cells.
    cells
        The cells of `tables.cube`.
    column
        A column of numbers; no record of the table is without one.
    ranks
        A line for each cell, of ranks from 1, the smallest value; others are brought into the
        cell.

    Returns
    -------
    numpy.ndarray
        The values, float64, in the shape of `ranks`. Disclosive.

    Raises
    ------
    DataError
        If a record has no value, or one that is no number.
    """
    parameters: dict[str, object] = {}
    where = ""
    if isinstance(request.where, Filter):
        where = f"WHERE {request.where.sql(source.types, parameters)}"
    names = {name: f"d{place}" for place, name in enumerate(request.columns)}
    inner = [f"{quote(name)} AS {alias}" for name, alias in names.items()]
    columns_sql = ", ".join([*names.values(), "v"])
    rows = source.arrow(
        f"SELECT {columns_sql}, count(*) AS n FROM (SELECT "
        f"{', '.join([*inner, f'{number_sql(source, column)} AS v'])} FROM {source.relation} "
        f"{where}) GROUP BY {columns_sql}",
        parameters,
    )
    values, counts = rows["v"].to_numpy(), rows["n"].to_numpy().astype(np.int64)
    ascending = np.argsort(values, kind="stable")
    if not np.isfinite(values).all():  # missing ones are not numbers here
        raise DataError(
            Message(
                "Some records have no value in {column!r}, or an infinite one.",
                column=Name(column),
            ),
            hint=Message(
                "leave them out: where = '{column} is not missing'", column=Name(column)
            ),
        )
    pairs = axes_of(source, request, rows, names)
    sizes = [axis.size for axis, _ in pairs]
    targets = _places(cells.ranks, sizes, len(cells))
    inside = np.clip(ranks, 1, cells.count[:, np.newaxis])
    amounts = np.zeros(ranks.shape)
    for levels in cells.level_sets:
        raised = [
            axis.levels[level].ranks[axis.raised(codes, 0, level)]
            for (axis, codes), level in zip(pairs, levels, strict=True)
        ]
        place = _places(raised, sizes, len(values))[ascending]
        by_cell = np.argsort(place, kind="stable")
        here, order = place[by_cell], ascending[by_cell]
        below = np.append(0, np.cumsum(counts[order]))
        first = np.searchsorted(here, targets)
        cell = np.flatnonzero(np.append(here, -1)[first] == targets)
        at = np.searchsorted(below[1:], below[first[cell], np.newaxis] + inside[cell])
        amounts[cell] = values[order[at]]
    return amounts


def _places(ranks: Sequence[Codes], sizes: Sequence[int], length: int) -> Integers:
    """Give each combination of categories a number."""
    total, place = 1, np.zeros(length, np.int64)
    for rank, size in zip(ranks, sizes, strict=True):
        total *= size
        place = place * size + rank
    if total >= 2**62:
        raise DataError(
            Message("The table has too many combinations of categories for quantiles."),
            hint=Message("ask for fewer dimensions"),
        )
    return place
