"""What the tables of a job hold before protection: how many cells of each count; for inside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ckm.engine.published_table import block_size, grid_size, shows_grid
from ckm.errors import ConfigError
from footing.messages import Message, Name
from risk.distributions.histogram import Histogram
from tables.cells.places import level_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ckm.engine.request import EmptyCells
    from footing.arrays import Flags, Integers, Words
    from tables import Cells, Request
    from tables.filtering.filters import Filter

#: A variable with more categories is not looked at category by category.
_MAX_CATEGORIES = 20
#: Below this, different sets of records share a key by chance.
_WIDE_KEYS = 2**60
#: More empty cells than this change no figure, and many such blocks still add up.
_MAX_CELLS = 2**50
_NOTHING = Histogram(counts=np.zeros(0, np.int64), cells=np.zeros(0, np.int64))

#: The columns that describe the cells of a block, with their depth; and the filter too.
_Columns: TypeAlias = "frozenset[tuple[str, int]]"
_Block: TypeAlias = "tuple[_Columns, str | Filter | None]"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class CountHistogram:
    """The cells of several tables, counted by their original count; never publish these.

    Two cells of two tables are the same *distinct* cell when the same categories and the same
    filter describe them. Cells that hold the same records are the same *record set*, however
    they are described: a commune where all are women shows its women in two cells.

    Parameters
    ----------
    tables
        Name → histogram of its cells with all empty ones of its grid; those that the table
        does not list are told apart. Tables without any cell are left out.
    together
        Histogram of the distinct cells of all tables.
    variables
        Variable → category → histogram of the distinct cells of that category that hold
        somebody. Totals over the variable belong to no category.
    listed
        Non-empty cells, table by table.
    distinct
        Distinct ones among them.
    record_sets
        Different sets of records; None where stored keys are too few to tell.
    """

    tables: Mapping[str, Histogram]
    together: Histogram
    variables: Mapping[str, Mapping[str, Histogram]]
    listed: int
    distinct: int
    record_sets: int | None

    def __repr__(self) -> str:
        return "CountHistogram(…)"


def count_histogram(
    requests: Mapping[str, Request],
    cells: Mapping[str, Cells],
    *,
    empty_cells: Mapping[str, EmptyCells],
) -> CountHistogram:
    """Count the cells of several tables, each distinct one once."""
    counter = CountHistogramBuilder()
    for name, request in requests.items():
        counter.add(name, cells[name], where=request.where, empty_cells=empty_cells[name])
        if not len(cells[name]) and not shows_grid(cells[name], empty_cells[name]):
            raise ConfigError(
                Message("Table {name!r} has no cells.", name=Name(name)),
                hint=Message("do its filter and its categories fit the data?"),
            )
    return counter.result()


class CountHistogramBuilder:
    """Count the cells of tables one after the other."""

    def __init__(self) -> None:
        self.tables: dict[str, Histogram] = {}
        self._blocks: dict[_Block, Histogram] = {}
        self._parts: dict[str, dict[str, list[Integers]]] = {}
        self._keys: list[tuple[Words, Integers]] = []
        self._has_wide_keys = True

    def add(
        self, name: str, cells: Cells, *, where: str | Filter | None, empty_cells: EmptyCells
    ) -> Flags:
        """Count a table, and tell which of its cells no table before it shows."""
        lists_grid = shows_grid(cells, empty_cells)
        size = min(grid_size(cells), _MAX_CELLS)
        if size:
            self.tables[name] = Histogram.of(cells.count, grid_size=size, lists_grid=lists_grid)
        is_new = np.zeros(len(cells), bool)
        for columns, places, levels in _blocks(cells):
            block = (columns, where)
            earlier = self._blocks.get(block)
            if earlier is None:
                is_new[places] = True
                _add_variables(self._parts, cells, places, levels)
            size = min(block_size(cells, levels), _MAX_CELLS)
            if size:
                here = Histogram.of(cells.count[places], grid_size=size, lists_grid=lists_grid)
                self._blocks[block] = here if earlier is None else _better(earlier, here)
        self._keys.append((cells.cell_key, cells.count))
        self._has_wide_keys &= cells.key_range >= _WIDE_KEYS
        return is_new

    def result(self) -> CountHistogram:
        """Give what was counted so far."""
        blocks = self._blocks.values()
        return CountHistogram(
            tables=dict(self.tables),
            together=Histogram.together([_NOTHING, *blocks]),
            variables={
                variable: {c: Histogram.of(np.concatenate(arrays)) for c, arrays in by.items()}
                for variable, by in self._parts.items()
            },
            listed=sum(len(counts) for _, counts in self._keys),
            distinct=sum(block.within(1, None).n_cells for block in blocks),
            record_sets=_record_sets(self._keys) if self._has_wide_keys else None,
        )


def _better(one: Histogram, other: Histogram) -> Histogram:
    """Take the wider grid of a block, and the list of the table that lists more of it."""
    wide = other if other.n_cells > one.n_cells else one
    most = max(some.n_cells - some.unlisted for some in (one, other))
    return Histogram(counts=wide.counts, cells=wide.cells, unlisted=wide.n_cells - most)


def _blocks(cells: Cells) -> Iterator[tuple[_Columns, Integers, tuple[int, ...]]]:
    """Give the cells of every combination of levels, and what tells it from others."""
    code = np.zeros(len(cells), np.int64)
    for axis, rank in zip(cells.axes, cells.ranks, strict=True):
        code = code * len(axis.levels) + level_of(axis)[rank]
    order = np.argsort(code, kind="stable")
    code = code[order]
    sizes = [len(axis.levels) for axis in cells.axes]
    for levels in cells.level_sets:
        number = int(np.ravel_multi_index(levels, sizes))
        start, end = np.searchsorted(code, [number, number + 1])
        columns = frozenset(
            column
            for axis, level in zip(cells.axes, levels, strict=True)
            for column in _shown(axis.columns, level, len(axis.levels))
        )
        yield columns, order[start:end], levels


def _shown(columns: tuple[str, ...], level: int, n_levels: int) -> tuple[tuple[str, int], ...]:
    """Name the columns that a level breaks down by; a code tree has one, and its depth."""
    depth = n_levels - 1 - level  # 0 for the total
    if not depth:
        return ()
    if len(columns) == 1:
        return ((columns[0], depth),)
    return tuple((column, 1) for column in columns[:depth])


def _add_variables(
    parts: dict[str, dict[str, list[Integers]]],
    cells: Cells,
    places: Integers,
    levels: tuple[int, ...],
) -> None:
    """Add the counts of a block to the categories of its variables."""
    for axis, rank, level in zip(cells.axes, cells.ranks, levels, strict=True):
        is_plain = len(axis.columns) == 1 and len(axis.levels) == 2
        categories = axis.levels[0].ranks
        if not is_plain or level or len(categories) > _MAX_CATEGORIES:
            continue
        by_category = parts.setdefault(axis.columns[0], {})
        for category in categories:
            counts = cells.count[places][rank[places] == category]
            if len(counts):
                by_category.setdefault(str(axis.labels[0][category]), []).append(counts)


def _record_sets(cells: Sequence[tuple[Words, Integers]]) -> int:
    if not cells:
        return 0
    keys = np.concatenate([key for key, _ in cells])
    counts = np.concatenate([count for _, count in cells])
    order = np.lexsort((counts, keys))
    if not len(order):
        return 0
    keys, counts = keys[order], counts[order]
    return 1 + int(((keys[1:] != keys[:-1]) | (counts[1:] != counts[:-1])).sum())
