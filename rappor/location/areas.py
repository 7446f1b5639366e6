"""Cells from coarse to fine: a grid that halves, or regions within regions."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from footing.arrays import Floats, Integers
from footing.messages import Message
from rappor.errors import RapporError

_DEEPEST = 8


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Areas:
    """Levels of cells; every cell lies within one cell of the level before.

    Parameters
    ----------
    parents
        For each level but the first, the cell of the level before in which each cell lies.
    n_coarsest
        Number of cells of the first level.

    Raises
    ------
    RapporError
        If a parent does not exist.

    Examples
    --------
    >>> regions = Areas(parents=[[0, 0, 1]], n_coarsest=2)
    >>> regions.upward(np.array([2, 1]), to=0).tolist()
    [1, 0]
    """

    parents: Sequence[Integers]
    n_coarsest: int

    def __post_init__(self) -> None:
        above = self.n_coarsest
        arrays = []
        for parent in self.parents:
            array = np.asarray(parent)
            if array.ndim != 1 or array.size == 0 or array.dtype.kind not in "iu":
                raise RapporError(
                    Message("Each level needs the whole numbers of its cells' parents.")
                )
            if array.min() < 0 or array.max() >= above:
                raise RapporError(
                    Message("A parent must be a cell in 0..{above}.", above=above - 1)
                )
            arrays.append(array.astype(np.int64))
            above = array.size
        if self.n_coarsest < 1:
            raise RapporError(Message("The first level needs at least one cell."))
        object.__setattr__(self, "parents", tuple(arrays))

    @property
    def n_levels(self) -> int:
        """Number of levels."""
        return len(self.parents) + 1

    def n_cells(self, level: int) -> int:
        """Give the number of cells of a level.

        Parameters
        ----------
        level
            0 is the coarsest.

        Examples
        --------
        >>> Areas(parents=[[0, 0, 1]], n_coarsest=2).n_cells(1)
        3
        """
        return self.n_coarsest if level == 0 else len(self.parents[level - 1])

    def upward(self, cells: Integers, *, to: int) -> Integers:
        """Give the cells of a coarser level in which cells of the finest level lie.

        Parameters
        ----------
        cells
            Cells of the finest level.
        to
            The coarser level.

        Examples
        --------
        >>> Areas(parents=[[0, 0, 1]], n_coarsest=2).upward(np.array([2]), to=1).tolist()
        [2]
        """
        numbers = np.asarray(cells)
        for parent in reversed(self.parents[to:]):
            numbers = parent[numbers]
        return numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """A box cut into 1, 4, 16, … equal cells.

    Parameters
    ----------
    west, south, east, north
        The box, in kilometres or any unit.
    levels
        The numbers of halvings, coarse to fine: 3 gives 8 by 8 cells.

    Raises
    ------
    RapporError
        If the box is empty or a level is out of order.

    Examples
    --------
    >>> grid = Grid(west=0, south=0, east=16, north=16, levels=(2, 4))
    >>> grid.cells([0.5, 15.5], [0.5, 15.5]).tolist()
    [0, 255]
    >>> grid.areas().upward(np.array([0, 255]), to=0).tolist()
    [0, 15]
    """

    west: float
    south: float
    east: float
    north: float
    levels: tuple[int, ...]

    def __post_init__(self) -> None:
        edges = (self.west, self.south, self.east, self.north)
        if not np.isfinite(edges).all() or self.west >= self.east or self.south >= self.north:
            raise RapporError(
                Message("A grid needs a box: west below east, south below north.")
            )
        is_rising = all(a < b for a, b in pairwise(self.levels))
        if (
            not self.levels
            or not is_rising
            or not 0 <= self.levels[0] <= self.levels[-1] <= _DEEPEST
        ):
            raise RapporError(
                Message("Levels must rise within 0..{deepest}.", deepest=_DEEPEST)
            )

    def cells(self, x: ArrayLike, y: ArrayLike) -> Integers:
        """Give the finest cells of points, row by row from the south-west.

        Parameters
        ----------
        x, y
            The points.

        Raises
        ------
        RapporError
            If a point lies outside the box.

        Examples
        --------
        >>> Grid(west=0, south=0, east=2, north=2, levels=(1,)).cells([1.5], [0.5]).tolist()
        [1]
        """
        side = 2 ** self.levels[-1]
        across = (np.asarray(x, float) - self.west) / (self.east - self.west)
        up = (np.asarray(y, float) - self.south) / (self.north - self.south)
        if not np.all((across >= 0) & (across <= 1) & (up >= 0) & (up <= 1)):
            raise RapporError(
                Message("A point lies outside the grid."),
                hint=Message("widen the box, or drop the point"),
            )
        column, row = (
            np.minimum((part * side).astype(np.int64), side - 1) for part in (across, up)
        )
        return np.asarray(row * side + column, np.int64)

    def centres(self) -> tuple[Floats, Floats]:
        """Give the middle points of the finest cells.

        Examples
        --------
        >>> Grid(west=0, south=0, east=2, north=2, levels=(1,)).centres()[0].tolist()
        [0.5, 1.5, 0.5, 1.5]
        """
        side = 2 ** self.levels[-1]
        steps = (np.arange(side) + 0.5) / side
        x = self.west + steps * (self.east - self.west)
        y = self.south + steps * (self.north - self.south)
        return np.tile(x, side), np.repeat(y, side)

    def areas(self) -> Areas:
        """Give the cells of all levels.

        Examples
        --------
        >>> Grid(west=0, south=0, east=2, north=2, levels=(0, 1)).areas().n_levels
        2
        """
        parents = []
        for coarse, fine in pairwise(self.levels):
            halvings = fine - coarse
            row, column = np.divmod(np.arange(4**fine), 2**fine)
            parents.append((row >> halvings) * 2**coarse + (column >> halvings))
        return Areas(parents=parents, n_coarsest=4 ** self.levels[0])
