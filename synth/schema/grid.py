"""Whole numbers cut into cells: the bins of amounts, ages and dates."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footing.arrays import AnyIntegers, Integers
from footing.messages import Message
from synth.errors import SchemaError

#: How a number is drawn within a cell.
LAWS = ("fitted", "uniform", "middle", "lowest")
#: How many cells a column has at most.
MOST = 100_000


@dataclass(frozen=True, slots=True)
class Grid:
    """Cells that cover a range of whole numbers without gaps.

    Parameters
    ----------
    starts
        The first number of each cell, ascending.
    last
        The last number of the last cell.

    Examples
    --------
    >>> grid = Grid.of(0, 9, bins=2, points=[0])
    >>> grid.cells()
    [(0, 0), (1, 4), (5, 9)]
    >>> grid.cell_of(np.array([0, 3, 9]))
    array([0, 1, 2], dtype=int32)
    """

    starts: tuple[int, ...]
    last: int

    @classmethod
    def of(
        cls,
        low: int,
        high: int,
        *,
        bins: int | None = None,
        edges: Iterable[int] = (),
        points: Iterable[int] = (),
        spacing: str = "even",
    ) -> Grid:
        """Cut a range.

        Parameters
        ----------
        low, high
            The first and the last number.
        bins
            How many cells, before edges and points cut further.
        edges
            Numbers where a cell begins.
        points
            Numbers that are a cell of their own.
        spacing
            ``"even"``, or ``"log"``: the wider, the farther from `low`.
        """
        starts = {low, *edges}
        for point in points:
            starts |= {point, point + 1}
        if bins is not None:
            starts |= set(_bin_starts(low, high, bins, spacing))
        inside = tuple(sorted(start for start in starts if low <= start <= high))
        if len(inside) > MOST:
            raise SchemaError(
                Message(
                    "A column has {most} cells at most, not {number}.",
                    most=MOST,
                    number=len(inside),
                )
            )
        return cls(inside, high)

    @property
    def size(self) -> int:
        """How many cells there are."""
        return len(self.starts)

    def cells(self) -> list[tuple[int, int]]:
        """Return the first and the last number of each cell."""
        ends = [*(start - 1 for start in self.starts[1:]), self.last]
        return list(zip(self.starts, ends, strict=True))

    def cell_of(self, numbers: Integers) -> NDArray[np.int32]:
        """Return the cell of each number.

        Parameters
        ----------
        numbers
            Numbers within the range.
        """
        starts = np.asarray(self.starts, np.int64)
        return (np.searchsorted(starts, numbers, side="right") - 1).astype(np.int32)

    def draw(
        self, cells: AnyIntegers, *, rng: np.random.Generator, distribution: str = "uniform"
    ) -> Integers:
        """Return a number of each cell.

        Parameters
        ----------
        cells
            The cells.
        rng
            Randomness.
        distribution
            ``"uniform"``, ``"middle"`` or ``"lowest"``; ``"fitted"`` is even where nothing
            was fitted.
        """
        low = np.asarray(self.starts, np.int64)[cells]
        high = np.asarray([end for _, end in self.cells()], np.int64)[cells]
        if distribution in ("uniform", "fitted"):
            return np.asarray(rng.integers(low, high, endpoint=True), np.int64)
        return np.asarray(low + (high - low) // 2 if distribution == "middle" else low)


def _bin_starts(low: int, high: int, bins: int, spacing: str) -> list[int]:
    width = high - low + 1
    if spacing == "even":
        return [low + width * step // bins for step in range(bins)]
    top = math.log1p(width)
    return [low + round(math.expm1(top * step / bins)) for step in range(bins)]
