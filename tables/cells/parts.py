"""A table part by part along its first dimension, where not all of its cells fit into memory.

The parts follow each other in the order of the published rows: first the total over the
first dimension, then its broadest categories with all that lies in them, several at a time.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from footing.arrays import Codes, Flags, Integers
from footing.messages import Message
from tables.cells.axes import Axis
from tables.cells.blocks import Block, Cells, lay_out, roll_up, shown_cells
from tables.cells.continuous import records_by_value, require_discrete
from tables.cells.cube import axes_of, finest_cells, require_records
from tables.cells.places import level_of
from tables.cells.sketch import join_sketches
from tables.errors import RequestError
from tables.filtering.filters import Filter, quote
from tables.keys import RecordKeys
from tables.magnitudes.amounts import join_magnitudes
from tables.request import Request
from tables.source.source import Source


def cube_parts(
    source: Source,
    keys: RecordKeys,
    request: Request,
    *,
    most: int,
    lists_empty: bool | None = None,
    tolerate_missing_keys: bool = False,
    sketch: int = 0,
) -> Iterator[tuple[float, Cells]]:
    """Tabulate a request part by part; all parts have the categories of the whole table.

    Parameters
    ----------
    source, keys, request, tolerate_missing_keys, sketch
        As for `tables.cube`.
    most
        How many cells a part may hold at most, empty ones of a grid included. The table
        over the other dimensions is one part, and so is each broadest category.
    lists_empty
        Whether empty cells are published, too; by default where all categories are declared.

    Yields
    ------
    tuple
        The share of the parts that are done with this one, and its cells.

    Raises
    ------
    RequestError
        If the table has no dimension; otherwise as `tables.cube`.
    """
    if not request.dimensions:
        raise RequestError(Message("A table without dimensions has no parts."))
    tolerate_missing_keys &= not sketch
    require_records(source, keys, [request], tolerate_missing_keys=tolerate_missing_keys)
    values = {d: _distinct(source, request, d) for d in request.dimensions}
    of_all = {
        d: records_by_value(rows, d, "") for d, rows in values.items() if d in rows.column_names
    }
    require_discrete(source, [request], of_all.get if request.where is None else None)
    coded = [_axis(source, request, d, values[d]) for d in request.dimensions]
    axes = [axis for axis, _ in coded]
    if lists_empty is None:
        lists_empty = all(axis.is_declared for axis in axes)
    level_sets = request.level_sets([len(axis.levels) for axis in axes])
    first, top = request.dimensions[0], len(axes[0].levels) - 1
    over = [levels for levels in level_sets if levels[0] == top]
    within = [levels for levels in level_sets if levels[0] < top]
    column = request.columns_of(first)[0]
    sizes = _sizes(axes, coded[0][1], values[first], len(level_sets), lists_empty=lists_empty)
    batches = list(_batches(axes[0], sizes, most=most))
    above = axes[0].raised(coded[0][1], 0, top - 1)
    if over:
        rest = replace(request, dimensions=request.dimensions[1:], margins="none")
        other_axes, finest, key_range = finest_cells(
            source, keys, rest, extra_values=values, sketch=sketch
        )
        whole = (_restricted(axes[0], np.zeros(0, np.int64), shows_total=True), *other_axes)
        finest = replace(finest, codes=(np.zeros(len(finest.count), np.int32), *finest.codes))
        start = (top, *(0 for _ in other_axes))
        yield 1 / (len(batches) + 1), _cells(whole, finest, over, key_range, start=start)
    finest_only = replace(request, margins="none")
    for done, batch in enumerate(batches, start=2):
        rows = values[first].filter(pa.array(np.isin(above, batch)))
        other_axes, finest, key_range = finest_cells(
            source,
            keys,
            finest_only,
            extra_values=values,
            beside=rows.select([column]),
            sketch=sketch,
        )
        part = (_restricted(other_axes[0], batch), *other_axes[1:])
        yield done / (len(batches) + 1), _cells(part, finest, within, key_range)


def without_amounts(cells: Cells) -> Cells:
    """Return cells without what tells nothing of their sets of records."""
    return replace(cells, weight=None, weighted_count=None, magnitudes=None)


def join_parts(parts: Sequence[Cells], request: Request) -> tuple[Cells, Integers]:
    """Put the parts of a table together, level by level, in the order of levels of `cube`.

    Parameters
    ----------
    parts
        All parts that have a cell, in the order of `cube_parts`.
    request
        What they are parts of.

    Returns
    -------
    tuple
        The cells, and the place of each among those of all parts.
    """
    axes = tuple(map(_shown_in_all, zip(*(part.axes for part in parts), strict=True)))
    level_sets = tuple(request.level_sets([len(axis.levels) for axis in axes]))
    ranks = [
        np.concatenate(ranks) for ranks in zip(*(part.ranks for part in parts), strict=True)
    ]
    numbers = np.zeros([len(axis.levels) for axis in axes], np.int64)
    numbers[tuple(np.transpose(level_sets))] = np.arange(len(level_sets))
    levels = (level_of(axis)[rank] for axis, rank in zip(axes, ranks, strict=True))
    order = np.argsort(numbers[tuple(levels)], kind="stable")

    def joined(name: str) -> NDArray[Any] | None:
        arrays = [getattr(part, name) for part in parts]
        return None if arrays[0] is None else np.concatenate(arrays)[order]

    columns: dict[str, Any] = {
        name: joined(name) for name in ("count", "cell_key", "weight", "weighted_count")
    }
    sketches = [part.sketch for part in parts if part.sketch is not None]
    amounts = [part.magnitudes for part in parts if part.magnitudes is not None]
    cells = Cells(
        axes=axes,
        ranks=tuple(rank[order] for rank in ranks),
        key_range=parts[0].key_range,
        level_sets=level_sets,
        sketch=join_sketches(sketches).take(order) if sketches else None,
        magnitudes={
            name: join_magnitudes([one[name] for one in amounts]).take(order)
            for name in amounts[0]
        }
        if amounts
        else None,
        **columns,
    )
    return cells, order


def _shown_in_all(axes: Sequence[Axis]) -> Axis:
    """Return the axis of a table, of which each part shows some categories."""
    shown = (
        np.any([level.is_shown for level in levels], axis=0)
        for levels in zip(*(axis.levels for axis in axes), strict=True)
    )
    levels = zip(axes[0].levels, shown, strict=True)
    return replace(
        axes[0], levels=tuple(replace(level, is_shown=flags) for level, flags in levels)
    )


def _cells(
    axes: tuple[Axis, ...],
    finest: Block,
    level_sets: Sequence[tuple[int, ...]],
    key_range: int,
    *,
    start: tuple[int, ...] | None = None,
) -> Cells:
    blocks = roll_up(axes, finest, level_sets, key_range, start=start)
    parts = (shown_cells(axes, levels, blocks.pop(levels)) for levels in level_sets)
    return lay_out(axes, parts, level_sets, key_range=key_range)


def _distinct(source: Source, request: Request, dimension: str) -> pa.Table:
    """Find the values of a dimension's columns, and how many records have each."""
    parameters: dict[str, object] = {}
    where = ""
    if isinstance(request.where, Filter):
        where = f"WHERE {request.where.sql(source.types, parameters)}"
    columns_sql = ", ".join(map(quote, request.columns_of(dimension)))
    records = source.new_name("n")
    table = source.arrow(
        f"SELECT {columns_sql}, count(*) AS {records} FROM {source.relation} {where} "
        f"GROUP BY {columns_sql}",
        parameters,
    )
    return table.rename_columns([*table.column_names[:-1], ""])


def _axis(
    source: Source, request: Request, dimension: str, values: pa.Table
) -> tuple[Axis, Codes]:
    alone = replace(request, dimensions=[dimension], margins="none")
    return axes_of(source, alone, values, {c: c for c in request.columns_of(dimension)})[0]


def _sizes(
    axes: Sequence[Axis], codes: Codes, values: pa.Table, level_sets: int, *, lists_empty: bool
) -> Integers:
    """Bound the cells of each broadest category of the first axis."""
    broad = len(axes[0].levels) - 2
    size = axes[0].levels[broad].size
    inside = sum(np.bincount(above, minlength=size) for above in _ancestors(axes[0], broad))
    beside = min(math.prod(axis.size for axis in axes[1:]), 2**40)
    sizes: Integers = np.asarray(inside, np.int64) * beside
    if lists_empty:
        return sizes
    records = np.bincount(axes[0].raised(codes, 0, broad), values[""].to_numpy(), size)
    return np.minimum(sizes, records.astype(np.int64) * level_sets)


def _batches(axis: Axis, sizes: Integers, *, most: int) -> Iterator[Integers]:
    """Group broadest categories, in the order of their ranks."""
    order = np.argsort(axis.levels[-2].ranks, kind="stable")
    start, total = 0, 0
    for place, size in enumerate(sizes[order].tolist()):
        if place > start and total + size > most:
            yield order[start:place]
            start, total = place, 0
        total += size
    if len(order):
        yield order[start:]


def _ancestors(axis: Axis, broad: int) -> Iterator[Codes]:
    """Give, level by level, the broadest category that each category lies in."""
    for height in range(broad + 1):
        yield axis.raised(np.arange(axis.levels[height].size, dtype=np.int32), height, broad)


def _restricted(axis: Axis, batch: Integers, *, shows_total: bool = False) -> Axis:
    """Show only some broadest categories of an axis and what lies in them, or its total."""
    broad = len(axis.levels) - 2
    is_in: Flags = np.zeros(axis.levels[broad].size, bool)
    is_in[batch] = True
    levels = [
        replace(level, is_shown=level.is_shown & is_in[above])
        for level, above in zip(axis.levels, _ancestors(axis, broad), strict=False)
    ]
    total = replace(axis.levels[-1], is_shown=np.array([shows_total]))
    return replace(axis, levels=(*levels, total))
