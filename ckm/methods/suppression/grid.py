"""Where the cells of a table lie: their categories on every axis, and the trees above them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ckm.errors import ConfigError
from footing.arrays import Integers
from footing.messages import Message
from tables import Cells
from tables.cells.places import CellPlaces, tree_of

_MAX_PLACES = 2**62


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Grid:
    """The cells of one table, totals among them.

    Parameters
    ----------
    parents
        For each axis and category, the category above it; -1 for the total.
    ranks
        For each axis, the category of every cell.

    Raises
    ------
    ConfigError
        If a category is unknown, a tree has a loop, or a cell is there twice.

    Examples
    --------
    >>> grid = Grid.full([[-1, 0, 0], [-1, 0, 0, 0]])
    >>> len(grid), grid.find([np.array([0]), np.array([3])]).tolist()
    (12, [3])
    """

    parents: tuple[Integers, ...]
    ranks: tuple[Integers, ...]
    _cells: CellPlaces = field(init=False)

    def __post_init__(self) -> None:
        parents = tuple(np.array(tree, np.int64) for tree in self.parents)
        ranks = tuple(np.array(rank, np.int64) for rank in self.ranks)
        self._require(parents, ranks)
        object.__setattr__(self, "parents", parents)
        object.__setattr__(self, "ranks", ranks)
        if (np.diff(np.sort(self.places(ranks), kind="stable")) == 0).any():
            raise ConfigError(Message("A table has the same cell twice."))
        object.__setattr__(self, "_cells", CellPlaces(parents, ranks))

    @staticmethod
    def _require(parents: tuple[Integers, ...], ranks: tuple[Integers, ...]) -> None:
        if not parents or len(parents) != len(ranks) or len({len(r) for r in ranks}) != 1:
            raise ConfigError(
                Message("A table needs an axis or more, and every cell a place on each.")
            )
        if np.prod([float(len(tree)) for tree in parents]) >= _MAX_PLACES:
            raise ConfigError(
                Message("The table has too many combinations of categories to number."),
                hint=Message("leave out a dimension"),
            )
        for tree, rank in zip(parents, ranks, strict=True):
            places = np.arange(len(tree))
            if not tree.size or ((tree < -1) | (tree >= len(tree))).any():
                raise ConfigError(Message("Every category needs another one above it, or -1."))
            if rank.size and not np.isin(rank, places).all():
                raise ConfigError(Message("A cell has a category that its axis does not know."))
            above = tree
            for _ in range(len(tree)):
                if (above < 0).all():
                    break
                above = np.where(above < 0, -1, tree[above])
            else:
                raise ConfigError(Message("A category stands above itself."))

    @classmethod
    def full(cls, parents: Sequence[Sequence[int]]) -> Grid:
        """Lay out every combination of categories, the last axis fastest.

        Parameters
        ----------
        parents
            For each axis and category, the category above it; -1 for the total.

        Examples
        --------
        >>> [rank.tolist() for rank in Grid.full([[-1, 0], [-1, 0]]).ranks]
        [[0, 0, 1, 1], [0, 1, 0, 1]]
        """
        trees = tuple(np.array(tree, np.int64) for tree in parents)
        ranks = np.indices([len(tree) for tree in trees]).reshape(len(trees), -1)
        return cls(parents=trees, ranks=tuple(ranks))

    @classmethod
    def of(cls, cells: Cells) -> Grid:
        """Read the axes of tabulated cells.

        Parameters
        ----------
        cells
            The cells; only where they lie is read.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from tables import Request, StoredKeys, cube, open_source
        >>> records = pa.table({"sex": ["F", "M"], "key": pa.array([1, 2], pa.uint8())})
        >>> with open_source(records) as source:
        ...     keys = StoredKeys(column="key")
        ...     (cells,) = cube(source, keys, [Request(dimensions=["sex"])])
        >>> Grid.of(cells).parents[0].tolist()
        [-1, 0, 0]
        """
        trees = tuple(tree_of(axis) for axis in cells.axes)
        if not trees:  # a table without dimensions is its total
            return cls(parents=(np.array([-1]),), ranks=(np.zeros(len(cells), np.int64),))
        return cls(parents=trees, ranks=tuple(rank.astype(np.int64) for rank in cells.ranks))

    def __len__(self) -> int:
        return len(self.ranks[0])

    def __repr__(self) -> str:
        return f"Grid({len(self.parents)} axes, {len(self)} cells)"

    @property
    def strides(self) -> Integers:
        """How far a step on each axis moves the number of a place.

        Examples
        --------
        >>> Grid.full([[-1, 0], [-1, 0, 0]]).strides
        array([3, 1])
        """
        sizes = [len(tree) for tree in self.parents]
        return np.array([int(np.prod(sizes[axis + 1 :])) for axis in range(len(sizes))])

    def places(self, ranks: Sequence[Integers]) -> Integers:
        """Turn categories into numbers of places.

        Parameters
        ----------
        ranks
            One array of categories for each axis; they are broadcast together.

        Examples
        --------
        >>> Grid.full([[-1, 0], [-1, 0, 0]]).places([np.array([1]), np.array([2])])
        array([5])
        """
        places = np.zeros((), np.int64)
        for rank, stride in zip(ranks, self.strides.tolist(), strict=True):
            places = places + np.asarray(rank, np.int64) * stride
        return np.asarray(places)

    def find(self, ranks: Sequence[Integers]) -> Integers:
        """Find the cells at some places; -1 where there is none.

        Parameters
        ----------
        ranks
            One array of categories for each axis; they are broadcast together.

        Examples
        --------
        >>> grid = Grid(parents=(np.array([-1, 0]),), ranks=(np.array([1]),))
        >>> grid.find([np.array([0, 1])])
        array([-1,  0])
        """
        return self.at(self.places(ranks))

    def at(self, places: Integers) -> Integers:
        """Find the cells at numbered places; -1 where there is none.

        Parameters
        ----------
        places
            Numbers from `places`.

        Examples
        --------
        >>> Grid.full([[-1, 0]]).at(np.array([1, 7]))
        array([ 1, -1])
        """
        return self._cells.at(places.astype(np.uint64))

    def above(self, axis: int) -> Integers:
        """Find for every cell the next cell above it along an axis; -1 where there is none.

        Parameters
        ----------
        axis
            The axis. A level that the table does not show is passed over.

        Examples
        --------
        >>> Grid.full([[-1, 0, 0]]).above(0)
        array([-1,  0,  0])
        """
        return self._cells.nearest(axis)
