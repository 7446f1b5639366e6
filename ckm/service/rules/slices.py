"""The protected counts of a table, area by area, as the rules look at them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Slices:
    """Published counts of the inner cells of a table, margins left out.

    Parameters
    ----------
    population
        For each area, its published number of persons.
    cells
        Inner cells of an area, empty or not.
    area
        For each cell whose published count is not zero, its area.
    published
        And its count.
    codes
        Variable → the category of these cells.
    """

    population: Integers
    cells: int
    area: Integers
    published: Integers
    codes: Mapping[str, Integers]

    @property
    def n_areas(self) -> int:
        """Number of areas."""
        return len(self.population)

    def count_of(self, number: int | None = None) -> Integers:
        """Count, area by area, the cells that hold a number; by default all not empty.

        Parameters
        ----------
        number
            A published count above zero.
        """
        area = self.area if number is None else self.area[self.published == number]
        return np.bincount(area, minlength=self.n_areas)


def distinct(*codes: Integers) -> tuple[Integers, int]:
    """Give every distinct combination of codes a number; return them and how many there are."""
    number = np.zeros(len(codes[0]), np.int64)
    size = 1
    for code in codes:
        width = int(code.max(initial=0)) + 1
        number = number * width + code
        size *= width
        if size > 4 * len(number) + 1024:
            kept, number = np.unique(number, return_inverse=True)
            size = len(kept)
    if size > len(number):
        kept, number = np.unique(number, return_inverse=True)
        size = len(kept)
    return number, size


def summed(groups: Integers, values: Integers, *, size: int) -> Integers:
    """Sum values by group."""
    sums = np.zeros(size, np.int64)
    np.add.at(sums, groups, values)
    return sums
