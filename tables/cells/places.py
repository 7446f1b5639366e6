"""Where the cells of a table stand: the trees of its axes, and cells found by their ranks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from math import prod

import numpy as np
from numpy.typing import NDArray

from footing.arrays import Integers, Words
from tables.cells.axes import Axis

Columns = Sequence[NDArray[np.integer]]

_MAX_PLACES = 2**62
_SEED = 20_270_301


def level_of(axis: Axis) -> Integers:
    """Give the level that publishes each category of an axis, by rank; 0 is the finest."""
    levels = np.zeros(axis.size, np.int64)
    for place, level in enumerate(axis.levels):
        levels[level.ranks[level.is_shown]] = place
    return levels


def tree_of(axis: Axis) -> Integers:
    """Give for every category, by rank, the next coarser one, or -1 for the total."""
    above = np.full(axis.size, -1, np.int64)
    for level, coarser in zip(axis.levels, axis.levels[1:], strict=False):
        if level.up is not None:  # a leaf that stands in for itself gets its own further on
            above[level.ranks] = coarser.ranks[level.up]
    return above


class CellPlaces:
    """Finds cells by their ranks.

    Parameters
    ----------
    trees
        For each axis and category, the next coarser one, or -1 for the total.
    ranks
        For each axis, the rank of every cell.
    """

    def __init__(self, trees: Sequence[Integers], ranks: Columns) -> None:
        self._trees = trees
        self._ranks = ranks
        sizes = [len(tree) for tree in trees]
        self._factors = _strides(sizes) if prod(sizes) < _MAX_PLACES else factors_of(len(ranks))
        self._place = numbered(ranks, self._factors)
        self._order = np.argsort(self._place, kind="stable")
        self._sorted = self._place[self._order]

    def around(self, axis: int) -> Iterator[tuple[Integers, Integers]]:
        """Climb an axis: yield cells, and the cells around them or -1, a step up each time."""
        tree, cells = self._trees[axis], np.arange(len(self._place))
        rank = tree[self._ranks[axis]]
        while (rank >= 0).any():
            cells, rank = cells[rank >= 0], rank[rank >= 0]
            yield cells, self._find(cells, axis, rank)
            rank = tree[rank]

    def nearest(self, axis: int) -> Integers:
        """Return for every cell the next one around it along an axis, or -1."""
        neighbours = np.full(len(self._place), -1)
        for cells, around in self.around(axis):
            neighbours[cells] = np.where(neighbours[cells] < 0, around, neighbours[cells])
        return neighbours

    def _find(self, cells: Integers, axis: int, ranks: Integers) -> Integers:
        """Return the cells like these but for the rank on one axis, or -1."""
        shift = (ranks - self._ranks[axis][cells]).astype(np.uint64)
        return self.at(self._place[cells] + shift * self._factors[axis])

    def at(self, places: Words) -> Integers:
        """Return the cells at numbered places, or -1."""
        if not len(self._sorted):
            return np.full(places.shape, -1)
        near = np.minimum(np.searchsorted(self._sorted, places), len(self._sorted) - 1)
        return np.where(self._sorted[near] == places, self._order[near], -1)


def _strides(sizes: Sequence[int]) -> Words:
    """Return factors that keep the order of cells: those near are looked up together."""
    return np.array([prod(sizes[axis + 1 :]) for axis in range(len(sizes))], np.uint64)


@cache
def factors_of(columns: int) -> Words:
    """Return odd factors that number rows modulo 2**64, however many the combinations."""
    words = np.random.default_rng(_SEED).integers(2**63, size=columns, dtype=np.uint64)
    return words * np.uint64(2) + np.uint64(1)


def numbered(columns: Columns, factors: Words) -> Words:
    """Return a number for each row; those of different rows differ, chance apart."""
    place = np.zeros(len(columns[0]) if columns else 0, np.uint64)
    for column, factor in zip(columns, factors, strict=True):
        place += column.astype(np.uint64) * factor
    return place
