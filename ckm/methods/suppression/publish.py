"""A suppressed table as files and pages take it: true numbers, hidden ones masked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ckm.engine.published_table import PublishedTable, measure_columns, publish
from ckm.errors import ConfigError
from ckm.methods.settings import LARGEST_HIDDEN_SHARE
from ckm.methods.suppression.hidden_share import HiddenShare, hidden_share, require_share
from ckm.methods.suppression.secondary.search import Suppression
from footing.arrays import Flags
from footing.messages import Message
from tables import Cells


def publish_true_numbers(
    cells: Cells,
    suppression: Suppression,
    *,
    table: int = 0,
    measures: Mapping[str, ArrayLike] | None = None,
    empty_cells: str = "auto",
    largest_hidden_share: float = LARGEST_HIDDEN_SHARE,
) -> PublishedTable:
    """Publish the originals of the cells that are not hidden.

    No p-table has a part in this: what is not masked is the true number.

    Parameters
    ----------
    cells
        The table's cells, of which only the categories are read.
    suppression
        What is hidden.
    table
        Which of the linked tables the cells are.
    measures
        Column → number of every cell of the problem; by default its values, as ``"count"``.
        Everything that tells a hidden cell must be hidden with it, so all columns are masked
        alike.
    empty_cells
        ``"auto"``, ``"grid"`` or ``"drop"``, as a request has it.
    largest_hidden_share
        How much of a measure's value over all cells, totals among them, may be hidden.

    Returns
    -------
    PublishedTable
        The table, hidden numbers masked.

    Raises
    ------
    ConfigError
        If the cells are not those of the table.
    CheckFailedError
        If more of the value is hidden than somebody wants.

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
    n = len(suppression.problem.relations.numbers[table])
    if len(cells) != n:
        raise ConfigError(
            Message(
                "The table has {number:,} cells, not {number_2:,}.",
                number=n,
                number_2=len(cells),
            )
        )
    if measures is None:
        dimensions = dict.fromkeys(column for axis in cells.axes for column in axis.columns)
        (name,) = measure_columns(["count"], dimensions)
        measures = {name: suppression.problem.values}
    columns = {}
    for column, values in measures.items():
        numbers = suppression.masked(values, table=table)
        own = np.asarray(values)[suppression.problem.relations.numbers[table]]
        share = hidden_share(own, np.ma.getmaskarray(numbers))
        require_share([HiddenShare(f"table {table}", column, share)], largest_hidden_share)
        columns[column] = np.ma.zeros(n + 1, numbers.dtype)
        columns[column][1:] = numbers
    return publish_masked(cells, columns, empty_cells=empty_cells)


def publish_masked(
    cells: Cells,
    columns: Mapping[str, np.ma.MaskedArray[Any, Any]],
    *,
    is_listed: Flags | bool = True,
    empty_cells: str,
) -> PublishedTable:
    """Lay out columns of true numbers: one for cells not listed, then one for each cell."""
    # published in the place of counts, the cells' own numbers tell how the table is ordered
    frame = publish(
        cells,
        np.where(is_listed, np.arange(1, len(cells) + 1), 0),
        measures=["count"],
        empty_cells=empty_cells,
        round_weighted=False,
    )
    (order,) = frame.measures.values()
    arrays = {column: numbers[np.asarray(order)] for column, numbers in columns.items()}
    measures = {
        c: array if np.ma.is_masked(array) else array.data for c, array in arrays.items()
    }
    return PublishedTable(dimensions=frame.dimensions, measures=measures)
