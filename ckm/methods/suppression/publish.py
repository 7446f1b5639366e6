"""A suppressed table as files and pages take it: true numbers, hidden ones masked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ckm.engine.published_table import PublishedTable, measure_columns, publish
from ckm.errors import ConfigError
from ckm.methods.suppression.secondary.search import Suppression
from footing.arrays import Flags
from footing.messages import Message
from tables import Cells


def publish_true_numbers(
    cells: Cells,
    found: Suppression,
    *,
    table: int = 0,
    measures: Mapping[str, ArrayLike] | None = None,
    empty_cells: str = "auto",
) -> PublishedTable:
    """Publish the originals of the cells that are not hidden.

    No p-table has a part in this: what is not masked is the true number.

    Parameters
    ----------
    cells
        The table's cells, of which only the categories are read.
    found
        What is hidden.
    table
        Which of the linked tables the cells are.
    measures
        Column → number of every cell of the problem; by default its values, as ``"count"``.
        Everything that tells a hidden cell must be hidden with it, so all columns are masked
        alike.
    empty_cells
        ``"auto"``, ``"grid"`` or ``"drop"``, as a request has it.

    Returns
    -------
    PublishedTable
        The table, hidden numbers masked.

    Raises
    ------
    ConfigError
        If the cells are not those of the table.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from ckm.methods.suppression import (
    ...     Frequency,
    ...     Problem,
    ...     additive_relations,
    ...     primary_cells,
    ...     suppress,
    ... )
    >>> from tables import Request, StoredKeys, cube, open_source
    >>> records = pa.table({"area": [*"ABBBBCCCCC"], "key": pa.array(range(10), pa.uint8())})
    >>> with open_source(records) as source:
    ...     (cells,) = cube(source, StoredKeys(column="key"), [Request(dimensions=["area"])])
    >>> problem = Problem(
    ...     relations=additive_relations(cells),
    ...     values=cells.count,
    ...     primary=primary_cells([Frequency(least=3)], counts=cells.count),
    ... )
    >>> shown = publish_true_numbers(cells, suppress(problem))
    >>> shown.to_arrow().to_pydict()
    {'area': ['Total', 'A', 'B', 'C'], 'count': [10, None, None, 5]}
    """
    n = len(found.problem.relations.numbers[table])
    if len(cells) != n:
        raise ConfigError(
            Message(
                "The table has {number:,} cells, not {number_2:,}.",
                number=n,
                number_2=len(cells),
            )
        )
    if measures is None:
        named = dict.fromkeys(column for axis in cells.axes for column in axis.columns)
        (name,) = measure_columns(["count"], named)
        measures = {name: found.problem.values}
    shown = {}
    for column, values in measures.items():
        numbers = found.masked(values, table=table)
        shown[column] = np.ma.zeros(n + 1, numbers.dtype)
        shown[column][1:] = numbers
    return publish_masked(cells, shown, empty_cells=empty_cells)


def publish_masked(
    cells: Cells,
    columns: Mapping[str, np.ma.MaskedArray[Any, Any]],
    *,
    listed: Flags | bool = True,
    empty_cells: str,
) -> PublishedTable:
    """Lay out columns of true numbers: one for cells not listed, then one for each cell."""
    # published in the place of counts, the cells' own numbers tell how the table is ordered
    frame = publish(
        cells,
        np.where(listed, np.arange(1, len(cells) + 1), 0),
        measures=["count"],
        empty_cells=empty_cells,
        round_weighted=False,
    )
    (order,) = frame.measures.values()
    taken = {column: numbers[np.asarray(order)] for column, numbers in columns.items()}
    shown = {c: found if np.ma.is_masked(found) else found.data for c, found in taken.items()}
    return PublishedTable(dimensions=frame.dimensions, measures=shown)
