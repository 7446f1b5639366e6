"""The joint cells of all variables that hold records, without the empty ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from footing.arrays import Integers, Levels
from risk.reconstruction.lattice import Lattice


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class JointCells:
    """Joint cells that hold records. Disclosive.

    Parameters
    ----------
    shape
        How many finest categories each variable has.
    places
        For each variable, the finest category of each cell; a cell may come several times.
    counts
        How many records each holds, none zero.
    """

    shape: tuple[int, ...]
    places: tuple[Integers, ...]
    counts: Integers

    @classmethod
    def of(cls, joint: NDArray[Any]) -> Self:
        """Take the cells of an array that are not empty."""
        places = np.nonzero(joint)
        return cls(shape=joint.shape, places=places, counts=joint[places])

    @property
    def n_records(self) -> int:
        """How many records there are."""
        return int(self.counts.sum())

    def sums(
        self, lattice: Lattice, values: NDArray[Any] | None = None
    ) -> dict[Levels, NDArray[Any]]:
        """Add counts, or other values of these cells, up to every table of a lattice."""
        added = self.counts if values is None else values
        return {table: self._sum(lattice, table, added) for table in lattice.tables}

    def _sum(self, lattice: Lattice, table: Levels, values: NDArray[Any]) -> NDArray[Any]:
        shape = lattice.shape_of(table)
        code = np.zeros(len(values), np.int64)
        for axis, (size, level) in enumerate(zip(shape, table, strict=True)):
            if size > 1:
                code = code * size + lattice.groups[axis][level][self.places[axis]]
        sums = np.zeros(math.prod(shape), values.dtype)
        np.add.at(sums, code, values)
        return sums.reshape(shape)

    def without(self, axes: Sequence[int]) -> Self:
        """Sum over some variables: each has one category then."""
        none = np.zeros(len(self.counts), np.int64)
        return replace(
            self,
            shape=tuple(1 if axis in axes else size for axis, size in enumerate(self.shape)),
            places=tuple(
                none if axis in axes else place for axis, place in enumerate(self.places)
            ),
        )

    def pairs(self, axis: int, other: int) -> tuple[Integers, Integers]:
        """Return which finest categories of two variables occur together."""
        size = self.shape[other]
        code = np.unique(self.places[axis] * size + self.places[other])
        first, second = np.divmod(code, size)
        return first, second
