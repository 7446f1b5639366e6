"""Complements: what is left of a published cell without another published cell in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from ckm.errors import InternalError
from footing.arrays import Flags, Integers, Words
from tables import Axis, Cells
from tables.cells.sketch import PRIME, Sketch

Columns = Sequence[NDArray[np.integer]]

_SEED = 20_270_301


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NestedDifferences:
    """Pairs of cells of one table, the one inside the other.

    Parameters
    ----------
    whole, part
        Numbers of the two cells; they differ on one axis only.
    axis
        Number of that axis.
    """

    whole: Integers
    part: Integers
    axis: Integers

    def __len__(self) -> int:
        return len(self.whole)

    def __getitem__(self, wanted: NDArray[np.generic]) -> NestedDifferences:
        return NestedDifferences(
            whole=self.whole[wanted], part=self.part[wanted], axis=self.axis[wanted]
        )


def nested_differences(cells: Cells, is_shown: Flags) -> NestedDifferences:
    """Find every cell of a table and every published cell around it along one dimension."""
    none = np.zeros(0, np.int64)
    found: list[tuple[Integers, Integers, Integers]] = [(none, none, none)]
    shown = np.flatnonzero(is_shown)
    columns = [ranks[shown].astype(np.int64) for ranks in cells.ranks]
    places = _Places(columns)
    for number, axis in enumerate(cells.axes):
        above = _above(axis)
        part = np.arange(len(shown))
        rank = above[columns[number]]
        while (rank >= 0).any():
            part, rank = part[rank >= 0], rank[rank >= 0]
            whole = places.find(part, number, rank)
            pair = np.flatnonzero(whole >= 0)
            found.append((shown[whole[pair]], shown[part[pair]], np.full(len(pair), number)))
            rank = above[rank]
    whole, part, axes = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return NestedDifferences(whole=whole, part=part, axis=axes)


def nested_difference_sums(sketch: Sketch, pairs: NestedDifferences) -> tuple[Words, Integers]:
    """Return partitions and powers of the whole of every pair without its part."""
    power_sums = sketch.power_sums[pairs.whole] - sketch.power_sums[pairs.part]
    power_sums += (power_sums < 0) * PRIME
    return sketch.partitions[pairs.whole] ^ sketch.partitions[pairs.part], power_sums


def complement_members(cells: Cells, pairs: NestedDifferences) -> tuple[Integers, Words]:
    """Return the members of what is left, for pairs where that has an empty partition.

    They are those of the finest cells in the whole but outside the part of each pair.
    Those cells have an empty partition where the complement has one: their members are known.
    """
    sketch = sketch_of(cells)
    if not len(pairs):
        return np.zeros(0, np.int64), np.zeros(0, np.uint64)
    finest = [min(levels) for levels in zip(*cells.level_sets, strict=True)]
    nests = [_Nest(axis, fine) for axis, fine in zip(cells.axes, finest, strict=True)]
    is_finest = np.ones(len(cells), bool)
    for nest, fine, ranks in zip(nests, finest, cells.ranks, strict=True):
        is_finest &= nest.level[ranks] == fine
    at = is_finest[sketch.member_cell]
    leaf = sketch.member_cell[at]
    member = sketch.member_key[at]
    heights = [
        nest.level[ranks[pairs.whole]] for nest, ranks in zip(nests, cells.ranks, strict=True)
    ]
    found_pair, found_key = [], []
    for levels, mine in _grouped(np.stack(heights, axis=1)):
        above = [n.up[h][r[leaf]] for n, h, r in zip(nests, levels, cells.ranks, strict=True)]
        whole = [ranks[pairs.whole[mine]] for ranks in cells.ranks]
        pair, place = _matches(whole, above)
        pair = mine[pair]
        is_outside = np.zeros(len(pair), bool)
        for number, nest in enumerate(nests):
            ranks = cells.ranks[number]
            part = ranks[pairs.part[pair]]
            inside = nest.up[nest.level[part], ranks[leaf[place]]] == part
            is_outside |= (pairs.axis[pair] == number) & ~inside
        found_pair.append(pair[is_outside])
        found_key.append(member[place[is_outside]])
    return np.concatenate(found_pair), np.concatenate(found_key)


class _Nest:
    """For every category its finest level, and for those of the table's finest level the
    categories around them.
    """  # noqa: D205

    def __init__(self, axis: Axis, finest: int) -> None:
        self.level = np.zeros(axis.size, np.int64)
        for height in range(len(axis.levels) - 1, finest - 1, -1):
            self.level[axis.levels[height].ranks] = height
        self.up = np.full((len(axis.levels), axis.size), -1, np.int64)
        leaves = axis.levels[finest].ranks
        code: NDArray[np.integer] = np.arange(len(leaves))
        for height, level in enumerate(axis.levels[finest:], start=finest):
            self.up[height, leaves] = level.ranks[code]
            code = code if level.up is None else level.up[code]


def sketch_of(cells: Cells) -> Sketch:
    """Return the sketches of cells that must have them."""
    if cells.sketch is None:
        raise InternalError("The cells of a ledger's entry have no sketches.")
    return cells.sketch


def _grouped(rows: Integers) -> Iterator[tuple[Integers, Integers]]:
    """Yield each distinct row with the places where it stands."""
    distinct, place = np.unique(rows, axis=0, return_inverse=True)
    for number, row in enumerate(distinct):
        yield row, np.flatnonzero(place.ravel() == number)


def _matches(wanted: Columns, given: Columns) -> tuple[Integers, Integers]:
    """Return all places of rows in `wanted` with an equal row in `given`, and of that row."""
    factors = _factors(len(wanted))
    sought, known = _number(wanted, factors), _number(given, factors)
    order = np.argsort(known)
    low = np.searchsorted(known[order], sought, "left")
    size = np.searchsorted(known[order], sought, "right") - low
    first = np.repeat(np.arange(len(sought)), size)
    within = np.arange(len(first)) - np.repeat(np.cumsum(size) - size, size)
    return first, order[low[first] + within]


def _above(axis: Axis) -> Integers:
    """Return for every category, by rank, the next coarser one, or -1 for the total."""
    above = np.full(axis.size, -1, np.int64)
    for level, coarser in zip(axis.levels, axis.levels[1:], strict=False):
        if level.up is not None:  # a leaf that stands in for itself gets its own further on
            above[level.ranks] = coarser.ranks[level.up]
    return above


class _Places:
    """Finds cells by their ranks."""

    def __init__(self, columns: list[Integers]) -> None:
        self._ranks = columns
        self._factors = _factors(len(columns))
        self._place = _number(columns, self._factors)
        self._order = np.argsort(self._place)
        self._sorted = self._place[self._order]

    def find(self, cells: Integers, axis: int, ranks: Integers) -> Integers:
        """Return the cells like these but for the rank on one axis, or -1."""
        shift = (ranks - self._ranks[axis][cells]).astype(np.uint64)
        moved = self._place[cells] + shift * self._factors[axis]
        at = np.minimum(np.searchsorted(self._sorted, moved), len(self._sorted) - 1)
        return np.where(self._sorted[at] == moved, self._order[at], -1)


@cache
def _factors(columns: int) -> Words:
    """Return odd factors that number rows modulo 2**64, however many the combinations."""
    drawn = np.random.default_rng(_SEED).integers(2**63, size=columns, dtype=np.uint64)
    return drawn * np.uint64(2) + np.uint64(1)


def _number(columns: Columns, factors: Words) -> Words:
    place = np.zeros(len(columns[0]) if columns else 0, np.uint64)
    for column, factor in zip(columns, factors, strict=True):
        place += column.astype(np.uint64) * factor
    return place
