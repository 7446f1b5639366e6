"""Search all combinations of levels for the minimal ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from risk.anonymity.groups import group_numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Levels: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Lattice:
    """Hold all combinations of levels, over the distinct combinations of values.

    Parameters
    ----------
    maps
        Per column and level the code of each value.
    values
        Per column the values of the distinct combinations.
    weights
        How many records have each combination.
    k
        The size wanted of every group.
    most
        How many records may be in smaller groups.
    """

    maps: list[list[NDArray[np.int64]]]
    values: list[NDArray[np.int64]]
    weights: NDArray[np.int64]
    k: int
    most: int

    @property
    def shape(self) -> Levels:
        """The number of levels of every column."""
        return tuple(len(maps) for maps in self.maps)

    def sizes(self, levels: Levels) -> NDArray[np.int64]:
        """Give for each combination of values the size of its group."""
        codes = [
            maps[level][values]
            for maps, level, values in zip(self.maps, levels, self.values, strict=True)
        ]
        numbers, _ = group_numbers(codes)
        totals = np.bincount(numbers, self.weights).astype(np.int64)
        sizes: NDArray[np.int64] = totals[numbers]
        return sizes

    def is_enough(self, levels: Levels) -> bool:
        """Tell whether few enough records are in groups that are too small."""
        return bool(self.weights[self.sizes(levels) < self.k].sum() <= self.most)

    def minimal(self) -> list[Levels]:
        """List the minimal combinations of levels that are k-anonymous, in order."""
        good, bad = np.zeros(self.shape, dtype=bool), np.zeros(self.shape, dtype=bool)
        every = [tuple(map(int, levels)) for levels in np.ndindex(self.shape)]
        every.sort(key=lambda levels: (sum(levels), levels))
        for start in every:
            while not (good[start] or bad[start]):
                chain = self._chain(start, good, bad)
                middle = chain[len(chain) // 2]
                if self.is_enough(middle):
                    good[tuple(slice(level, None) for level in middle)] = True
                else:
                    bad[tuple(slice(level + 1) for level in middle)] = True
        is_minimal = good.copy()
        for axis in range(good.ndim):
            below = np.roll(good, 1, axis=axis)
            below[(slice(None),) * axis + (0,)] = False
            is_minimal &= ~below
        return [tuple(map(int, levels)) for levels in np.argwhere(is_minimal)]

    def _chain(
        self, start: Levels, good: NDArray[np.bool_], bad: NDArray[np.bool_]
    ) -> list[Levels]:
        """Walk upwards over combinations that are not tagged yet."""
        chain = [start]
        while True:
            here = chain[-1]
            for axis in range(len(here)):
                level = here[axis] + 1
                above = (*here[:axis], level, *here[axis + 1 :])
                if level < self.shape[axis] and not (good[above] or bad[above]):
                    chain.append(above)
                    break
            else:
                return chain

    def cost(self, levels: Levels, kind: str) -> float:
        """Give the cost of a combination of levels."""
        if kind == "height":
            return float(sum(levels))
        if kind == "precision":
            tops = [max(1, n - 1) for n in self.shape]
            return float(
                np.mean([level / top for level, top in zip(levels, tops, strict=True)])
            )
        sizes = self.sizes(levels)
        price = np.where(sizes >= self.k, sizes, self.weights.sum())
        return float((price * self.weights).sum())
