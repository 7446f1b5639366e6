"""Cells of tables that add up to a cell of another table."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np

from footing.arrays import Flags, Integers, Levels
from risk.reconstruction.lattice import Lattice


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class SumsOfParts:
    """Sums of equally many parts each, by place among the cells of all tables.

    Parameters
    ----------
    sums
        Shape ``(n,)``.
    parts
        Of each sum, shape ``(n, k)``.
    """

    sums: Integers
    parts: Integers

    def part(self, is_kept: Flags) -> SumsOfParts:
        """Return some of the sums."""
        return SumsOfParts(sums=self.sums[is_kept], parts=self.parts[is_kept])


def sums_of_parts(
    lattice: Lattice, tables: Collection[Levels], *, most_parts: int
) -> Iterator[SumsOfParts]:
    """Give the sums of two parts or more over one variable, or one step of it.

    Parameters
    ----------
    lattice, tables
        Tables of a lattice.
    most_parts
        Sums of more parts are left out.
    """
    places, start = {}, 0
    for table in tables:
        shape = lattice.shape_of(table)
        places[table] = start + np.arange(math.prod(shape)).reshape(shape)
        start += math.prod(shape)
    for below in tables:
        for axis, level in enumerate(below):
            for above in _next(lattice, tables, below, axis):
                codes = lattice.codes(axis, level, above[axis])
                for code in range(lattice.sizes[axis][above[axis]]):
                    members = np.flatnonzero(codes == code)
                    some = places[below].take(members, axis=axis)
                    if 1 < len(members) <= most_parts:
                        yield SumsOfParts(
                            sums=places[above].take(code, axis=axis).ravel(),
                            parts=np.moveaxis(some, axis, -1).reshape(-1, len(members)),
                        )


def _next(
    lattice: Lattice, tables: Collection[Levels], below: Levels, axis: int
) -> list[Levels]:
    """Return the tables that a variable's next levels make of one, none by way of another."""
    nearest: list[int] = []
    for level in range(below[axis] + 1, len(lattice.groups[axis])):
        above = (*below[:axis], level, *below[axis + 1 :])
        if above not in tables or lattice.sizes[axis][below[axis]] == 1:
            continue
        is_nested = lattice.codes(axis, below[axis], level) is not None
        if is_nested and all(lattice.codes(axis, near, level) is None for near in nearest):
            nearest.append(level)
    return [(*below[:axis], level, *below[axis + 1 :]) for level in nearest]
