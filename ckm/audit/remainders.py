"""Sets of records that no table shows, but that two published tables differ by."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckm.audit.query_space import QuerySpace
from footing.arrays import Flags, Integers, Levels, along
from risk.reconstruction.joint_cells import JointCells
from risk.reconstruction.lattice import added


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Remainders:
    """What cells of one table hold beyond those of another that lie inside them.

    Parameters
    ----------
    above, below
        The two tables.
    axes
        Where categories of the first stand, and those of the second: mostly the same axis.
    parts, parents
        The categories of the second that lie inside one of the first, and that one.
    is_part
        Which cells of `parts` are published.
    is_kept
        Of which cells of the first the remainder is looked at.
    """

    above: Levels
    below: Levels
    axes: tuple[int, int]
    parts: NDArray[np.intp]
    parents: NDArray[np.intp]
    is_part: Flags
    is_kept: Flags

    @property
    def is_single(self) -> Flags:
        """Whether one part is taken from a cell, not several."""
        flags: Flags = self._summed(np.ones(1, np.int64))[self.is_kept] == 1
        return flags

    def less(self, above: NDArray[Any], below: NDArray[Any]) -> NDArray[Any]:
        """Take the parts from the cells that are looked at."""
        axis, other = self.axes
        parts = below.swapaxes(axis, other).take(self.parts, axis)
        differences: NDArray[Any] = (above - self._summed(parts))[self.is_kept]
        return differences

    def _summed(self, parts: NDArray[Any]) -> NDArray[Any]:
        """Add up the parts of each cell of the first table."""
        none = np.zeros_like(self.is_kept, parts.dtype)  # of cells that have no part
        codes = np.append(np.arange(none.shape[self.axes[0]]), self.parents)
        values = np.concatenate([none, np.where(self.is_part, parts, 0)], self.axes[0])
        return added(values, codes, axis=self.axes[0])

    def within(self, sizes: Integers, parts: Integers) -> Remainders | None:
        """Keep the cells of which some parts are published, but not all; None for none."""
        here = self.axes[0], self.is_kept.ndim
        inside = self._summed(along(parts[self.parts], *here))
        is_kept = self.is_kept & (inside > 0) & (inside < along(sizes, *here))
        return replace(self, is_kept=is_kept) if is_kept.any() else None


def remainders(
    space: QuerySpace, *, is_over: Callable[[], bool] = lambda: False
) -> Iterator[Remainders]:
    """Give the sets of records that no table shows, but that two tables differ by; each once.

    The tables are alike but for the level of one variable. Or the first shows one variable and
    the second another, and no table shows both as they do: then a category lies inside another
    where all its records do. Once `is_over` says so, no more pairs of tables are looked at.
    """
    lattice, tables, rng = space.lattice, space.shown, np.random.default_rng(0)
    numbers = [rng.integers(1 << 63, size=n, dtype=np.uint64) for n in lattice.shape]
    sets = {}  # a number for each set of joint cells: equal for equal ones, and additive
    for table in tables:
        axes = zip(numbers, lattice.groups, table, strict=True)
        sums = [added(number, of[level], axis=0) for number, of, level in axes]
        sets[table] = reduce(np.multiply.outer, sums)
    places = cache(partial(_places, space.joint))
    some = itertools.takewhile(lambda _: not is_over(), _pairs(space))
    pairs = (_remainders(space, *pair, places(*pair[-1])) for pair in some)
    differences = [one for one in pairs if one is not None]
    table_sets = [sets[table][one.is_shown] for table, one in tables.items()]
    every = [*table_sets, *(one.less(sets[one.above], sets[one.below]) for one in differences)]
    is_first = np.zeros(sum(map(len, every)), bool)
    is_first[np.unique(np.concatenate(every), return_index=True)[1]] = True
    ends = np.cumsum([len(one) for one in every])[len(table_sets) - 1 : -1]
    for one, new in zip(differences, np.split(is_first, ends)[1:], strict=True):
        is_kept = one.is_kept.copy()
        is_kept[is_kept] = new
        if new.any():
            yield replace(one, is_kept=is_kept)


def _pairs(space: QuerySpace) -> Iterator[tuple[Levels, Levels, tuple[int, int]]]:
    """Give pairs of tables, and the axes on which they differ."""
    top_level = [len(of) - 1 for of in space.lattice.groups]
    axes = range(len(top_level))
    for above, axis, other in itertools.product(space.shown, axes, axes):
        for level in range(top_level[other]):
            finer = (*above[:other], level, *above[other + 1 :])
            below = (
                finer if axis == other else (*finer[:axis], top_level[axis], *finer[axis + 1 :])
            )
            if axis == other:
                is_pair = level != above[axis]
            else:
                is_apart = above[axis] < top_level[axis] and above[other] == top_level[other]
                is_pair = is_apart and finer not in space.shown
            if is_pair and below in space.shown:
                yield above, below, (axis, other)


def _places(joint: JointCells, axis: int, other: int) -> tuple[Integers, Integers]:
    """Return which finest categories of two variables, or of one, occur together."""
    if axis == other:
        return (np.arange(joint.shape[axis]),) * 2
    return joint.pairs(axis, other)


def _remainders(
    space: QuerySpace,
    above: Levels,
    below: Levels,
    axes: tuple[int, int],
    places: tuple[Integers, Integers],
) -> Remainders | None:
    """Return what cells of the first table hold beyond the second; None for nothing."""
    axis, other = axes
    groups, sizes = space.lattice.groups, space.lattice.sizes
    high, low = groups[axis][above[axis]][places[0]], groups[other][below[other]][places[1]]
    n, n_below = sizes[axis][above[axis]], sizes[other][below[other]]
    first, last = np.full(n_below, n), np.full(n_below, -1)
    np.minimum.at(first, low, high)
    np.maximum.at(last, low, high)
    parts = np.flatnonzero(first == last)
    return Remainders(
        above=above,
        below=below,
        axes=axes,
        parts=parts,
        parents=first[parts],
        is_part=space.shown[below].is_shown.swapaxes(axis, other).take(parts, axis),
        is_kept=space.shown[above].is_shown,
    ).within(np.bincount(high, minlength=n), np.bincount(low, minlength=n_below))
