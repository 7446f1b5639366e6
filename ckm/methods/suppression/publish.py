"""A suppressed table as files and pages take it: true numbers, hidden ones masked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ckm.engine.published_table import PublishedTable, measure_columns, publish
from ckm.errors import ConfigError
from ckm.methods.settings import LARGEST_HIDDEN_SHARE
from ckm.methods.suppression.grid import Grid
from ckm.methods.suppression.hidden_share import HiddenShare, hidden_share, require_share
from ckm.methods.suppression.secondary.search import Suppression
from footing.arrays import Flags
from footing.messages import Message
from tables import Cells
from tables.cells.places import tree_of

_Paths: TypeAlias = set[tuple[str, ...]]


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
    missing_label: str | None = None,
) -> PublishedTable:
    """Lay out columns of true numbers: one for cells not listed, then one for each cell.

    With the label of missing categories, branches that end above the finest level are shown
    once.
    """
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
    table = PublishedTable(dimensions=frame.dimensions, measures=measures)
    repeats = [] if missing_label is None else list(_repeats(cells, missing_label))
    return _without(table, repeats) if repeats else table


def _repeats(cells: Cells, missing_label: str) -> Iterator[tuple[tuple[str, ...], _Paths]]:
    """Yield, for axes of several columns, the paths that repeat the one above them.

    Below a category that has no finer ones, records have nothing in the finer column: the cell
    of the missing category is that of the category itself, where the table shows this one.
    """
    grid = Grid.of(cells)
    for number, axis in enumerate(cells.axes):
        if len(axis.columns) < 2 or axis.is_declared:
            continue
        tree = tree_of(axis)
        children = np.bincount(tree[tree >= 0], minlength=axis.size)
        paths = list(zip(*(map(str, texts) for texts in axis.labels), strict=True))
        visible = set(cells.ranks[number][grid.above(number) >= 0].tolist())
        own = {
            paths[rank]
            for rank in visible
            if children[tree[rank]] == 1
            and all(
                text in {above, missing_label}
                for text, above in zip(paths[rank], paths[tree[rank]], strict=True)
            )
        }
        if own:
            yield axis.columns, own


def _without(
    table: PublishedTable, repeats: Sequence[tuple[tuple[str, ...], _Paths]]
) -> PublishedTable:
    """Leave out rows of some paths."""
    keep = np.ones(table.n_rows, bool)
    for columns, paths in repeats:
        own = [table.dimensions[column] for column in columns]
        rows, place = np.unique(
            np.stack([codes for codes, _ in own]), axis=1, return_inverse=True
        )
        texts = zip(
            *([str(c[code]) for code in row] for (_, c), row in zip(own, rows, strict=True)),
            strict=True,
        )
        is_repeat = np.array([path in paths for path in texts], bool)
        keep &= ~is_repeat[place.ravel()]
    return PublishedTable(
        dimensions={n: (codes[keep], c) for n, (codes, c) in table.dimensions.items()},
        measures={name: values[keep] for name, values in table.measures.items()},
    )
