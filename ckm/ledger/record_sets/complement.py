"""Complements: what is left of a published cell without another published cell in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ckm.errors import InternalError
from footing.arrays import Flags, Integers, Words
from footing.messages import Message
from tables import Cells
from tables.cells.axes import Axis
from tables.cells.places import CellPlaces, Columns, factors_of, numbered, tree_of
from tables.cells.sketch import PRIME, Sketch


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

    def __getitem__(self, places: NDArray[np.generic]) -> NestedDifferences:
        return NestedDifferences(
            whole=self.whole[places], part=self.part[places], axis=self.axis[places]
        )


def nested_differences(cells: Cells, is_shown: Flags) -> NestedDifferences:
    """Find every cell of a table and every published cell around it along one dimension."""
    none = np.zeros(0, np.int64)
    triples: list[tuple[Integers, Integers, Integers]] = [(none, none, none)]
    positions = np.flatnonzero(is_shown)
    columns = [ranks[positions].astype(np.int64) for ranks in cells.ranks]
    places = CellPlaces([tree_of(axis) for axis in cells.axes], columns)
    for number in range(len(cells.axes)):
        for part, whole in places.around(number):
            pair = np.flatnonzero(whole >= 0)
            triples.append(
                (positions[whole[pair]], positions[part[pair]], np.full(len(pair), number))
            )
    whole, part, axes = (np.concatenate(parts) for parts in zip(*triples, strict=True))
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
        raise InternalError(Message("The cells of a ledger's entry have no sketches."))
    return cells.sketch


def _grouped(rows: Integers) -> Iterator[tuple[Integers, Integers]]:
    """Yield each distinct row with the places where it stands."""
    distinct, place = np.unique(rows, axis=0, return_inverse=True)
    for number, row in enumerate(distinct):
        yield row, np.flatnonzero(place.ravel() == number)


def _matches(own: Columns, others: Columns) -> tuple[Integers, Integers]:
    """Return all places of rows in `wanted` with an equal row in `given`, and of that row."""
    factors = factors_of(len(own))
    sought, words = numbered(own, factors), numbered(others, factors)
    order = np.argsort(words)
    low = np.searchsorted(words[order], sought, "left")
    size = np.searchsorted(words[order], sought, "right") - low
    first = np.repeat(np.arange(len(sought)), size)
    within = np.arange(len(first)) - np.repeat(np.cumsum(size) - size, size)
    return first, order[low[first] + within]
