"""Which cells add up to which: the sums that a reader of a table knows to hold."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ckm.errors import ConfigError, InternalError
from ckm.methods.suppression.grid import Grid
from ckm.methods.suppression.linked import (
    Sum,
    remainders,
    same_cells,
    sums_between,
    sums_of_groups,
)
from footing.arrays import Floats, Integers
from footing.messages import Message
from tables import Cells

#: What is left of a sum of floats, as a share, and is no number.
_NOTHING = 1e-14


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Relations:
    """Sums over the cells of one table, or of several that are linked.

    Parameters
    ----------
    starts, cells, signs
        Relation ``r`` says that ``signs[e]`` times cell ``cells[e]``, added up for ``e`` from
        ``starts[r]`` to ``starts[r + 1] - 1``, is 0: a total with +1, its parts with -1; other
        whole numbers stand in some sums between tables.
    n_cells
        How many cells there are; a cell that linked tables share is one.
    grids
        The tables.
    numbers
        For each table, the number of each of its cells.
    left
        The relations whose last cell is a remainder, which no table shows, see `remainders`.
    is_joint
        Whether the last table has a cell for each group of records, so that all others are
        sums of its cells.

    Examples
    --------
    >>> Relations.of_grids([Grid.full([[-1, 0, 0], [-1, 0, 0]])])
    Relations(1 tables, 9 cells, 6 relations)
    """

    starts: Integers
    cells: Integers
    signs: Integers
    n_cells: int
    grids: tuple[Grid, ...]
    numbers: tuple[Integers, ...]
    left: tuple[Sum, ...] = ()
    is_joint: bool = False

    def __post_init__(self) -> None:
        is_there = (self.cells >= 0) & (self.cells < self.n_cells)
        if not is_there.all() or len(self.cells) != len(self.signs):
            raise ConfigError(
                Message("A relation is of a cell that is not there, or has no sign.")
            )

    @classmethod
    def of_grids(
        cls,
        grids: Sequence[Grid],
        *,
        numbers: Sequence[Integers] | None = None,
        values: ArrayLike | None = None,
        between: Sequence[Sum] = (),
    ) -> Relations:
        """Find the sums of some tables.

        Parameters
        ----------
        grids
            The tables.
        numbers
            For each table, the number of each of its cells; by default no two tables share one.
        values
            Of every cell; where given, a total that its parts do not add up to is no relation,
            as some of its parts are not shown.
        between
            Sums over cells of several tables: their numbers and weights.

        Examples
        --------
        >>> relations = Relations.of_grids([Grid.full([[-1, 0, 0]])])
        >>> relations.matrix.toarray().tolist()
        [[1, -1, -1]]
        """
        if numbers is None:
            ends = np.cumsum([0, *map(len, grids)])
            numbers = [np.arange(a, b) for a, b in itertools.pairwise(ends)]
        used = [*numbers, *(cell for cell, _ in between)]
        n_cells = int(max((n.max(initial=-1) for n in used), default=-1)) + 1
        rows, cells, signs, n_rows = [], [], [], 0
        for grid, number in zip(grids, numbers, strict=True):
            for axis in range(len(grid.parents)):
                above = grid.above(axis)
                children = np.flatnonzero(above >= 0)
                totals, row = np.unique(above[children], return_inverse=True)
                rows += [n_rows + np.arange(len(totals)), n_rows + row]
                cells += [number[totals], number[children]]
                signs += [np.ones(len(totals), np.int64), np.full(len(children), -1)]
                n_rows += len(totals)
        for cell, weight in between:
            rows.append(np.full(len(cell), n_rows))
            cells.append(cell)
            signs.append(weight)
            n_rows += 1
        fields = cls._sorted(rows, cells, signs, n_rows, n_cells)
        both = cls(**fields, grids=tuple(grids), numbers=tuple(numbers))
        return both._distinct(None if values is None else np.asarray(values))

    @staticmethod
    def _sorted(
        rows: list[Integers],
        cells: list[Integers],
        signs: list[Integers],
        n_rows: int,
        n_cells: int,
    ) -> dict[str, Any]:
        row, cell, sign = (
            np.concatenate(part) if part else np.zeros(0, np.int64)
            for part in (rows, cells, signs)
        )
        # a total of one part is the same cell, and stands twice in their sum
        place, entry = np.unique(row * max(n_cells, 1) + cell, return_inverse=True)
        sign = np.bincount(entry, sign, minlength=len(place)).astype(np.int64)
        place, sign = place[sign != 0], sign[sign != 0]
        return {
            "starts": np.searchsorted(place // max(n_cells, 1), np.arange(n_rows + 1)),
            "cells": place % max(n_cells, 1),
            "signs": sign,
            "n_cells": n_cells,
        }

    def _distinct(self, values: NDArray[Any] | None) -> Relations:
        """Leave out relations that stand there already, and those that do not hold."""
        keep = np.diff(self.starts) > 0
        if values is not None:
            keep &= self.residuals(values) == 0
        if len(self.grids) > 1:
            keys: set[bytes] = set()
            for r in np.flatnonzero(keep).tolist():
                part = slice(self.starts[r], self.starts[r + 1])
                sign = self.signs[part] * np.sign(self.signs[part][0])
                key = np.append(self.cells[part], sign).tobytes()
                keep[r] = key not in keys
                keys.add(key)
        sizes = np.diff(self.starts)
        entries = np.repeat(keep, sizes)
        return replace(
            self,
            starts=np.concatenate([[0], np.cumsum(sizes[keep])]),
            cells=self.cells[entries],
            signs=self.signs[entries],
        )

    @property
    def n_relations(self) -> int:
        """How many sums there are.

        Examples
        --------
        >>> Relations.of_grids([Grid.full([[-1, 0, 0]])]).n_relations
        1
        """
        return len(self.starts) - 1

    @property
    def rows(self) -> Integers:
        """For every entry, the relation that it stands in.

        Examples
        --------
        >>> Relations.of_grids([Grid.full([[-1, 0, 0]])]).rows
        array([0, 0, 0])
        """
        return np.repeat(np.arange(self.n_relations), np.diff(self.starts))

    @property
    def remainders(self) -> Integers:
        """The numbers of what is left of cells, which no table shows.

        Examples
        --------
        >>> Relations.of_grids([Grid.full([[-1, 0, 0]])]).remainders.size
        0
        """
        return np.array([cell[-1] for cell, _ in self.left], np.int64)

    @property
    def matrix(self) -> Any:
        """The relations as a sparse matrix of scipy, one column for each cell.

        Examples
        --------
        >>> Relations.of_grids([Grid.full([[-1, 0]])]).matrix.shape
        (1, 2)
        """
        from scipy.sparse import csr_array

        shape = (self.n_relations, self.n_cells)
        return csr_array((self.signs, self.cells, self.starts), shape=shape)

    def residuals(self, values: ArrayLike) -> Floats:
        """Return by how much each total exceeds its parts.

        Parameters
        ----------
        values
            Of every cell.

        Examples
        --------
        >>> Relations.of_grids([Grid.full([[-1, 0, 0]])]).residuals([9, 4, 4])
        array([1.])
        """
        parts = self.signs * np.asarray(values, np.float64)[self.cells]
        return np.bincount(self.rows, parts, minlength=self.n_relations).astype(np.float64)

    def join(self, values: Sequence[ArrayLike]) -> NDArray[Any]:
        """Lay the values of the tables' cells out by the cells' numbers.

        Parameters
        ----------
        values
            For each table, those of its cells.

        Raises
        ------
        ConfigError
            If tables disagree about a cell that they share.

        Examples
        --------
        >>> Relations.of_grids([Grid.full([[-1, 0]])]).join([[3, 3]])
        array([3, 3])
        """
        arrays = [np.asarray(part) for part in values]
        if [len(part) for part in arrays] != [len(number) for number in self.numbers]:
            raise ConfigError(Message("Every cell of every table needs one value."))
        kind = np.result_type(*arrays) if arrays else np.dtype(np.float64)
        whole = np.zeros(self.n_cells - len(self.left), kind)
        for number, part in zip(self.numbers, arrays, strict=True):
            whole[number] = part
        if any((whole[n] != p).any() for n, p in zip(self.numbers, arrays, strict=True)):
            raise ConfigError(
                Message("Linked tables disagree about a cell that they share."),
                hint=Message(
                    "make them from the same records, or give them different populations"
                ),
            )
        return self.with_remainders(whole)

    def with_remainders(self, values: NDArray[Any]) -> NDArray[Any]:
        """Append the values of the remainders, which no table has.

        Parameters
        ----------
        values
            Of all other cells.

        Examples
        --------
        >>> Relations.of_grids([Grid.full([[-1, 0]])]).with_remainders(np.array([3, 3]))
        array([3, 3])
        """
        numbers = [
            -(weight[:-1] @ values[cell[:-1]]) * weight[-1] for cell, weight in self.left
        ]
        size = [np.abs(weight[:-1]) @ np.abs(values[cell[:-1]]) for cell, weight in self.left]
        rest, near = np.array(numbers, values.dtype), _NOTHING * np.array(size, np.float64)
        return np.concatenate([values, np.where(np.abs(rest) > near, rest, 0)])

    def __repr__(self) -> str:
        return (
            f"Relations({len(self.grids)} tables, {self.n_cells} cells,"
            f" {self.n_relations} relations)"
        )


def additive_relations(
    *tables: Cells,
    groups: Sequence[tuple[ArrayLike, Sequence[ArrayLike]]] = (),
    has_finest: bool = False,
) -> Relations:
    """Find which cells add up to which, over all margins, hierarchies and tables.

    Parameters
    ----------
    tables
        One table, or several that are linked. Cells that are not there are empty: a reader
        knows them to be zero.
    groups
        For several tables, the groups of their records, from `tables.record_groups`.
    has_finest
        Whether the last table has a cell for each group of them, whose category in `groups` is
        its number, on one axis.

    Returns
    -------
    Relations
        One relation for each cell and axis along which it has parts, and those between tables
        from which all others follow. Cells of the same records are one cell, whatever their
        tables, columns and filters are.

    Raises
    ------
    ConfigError
        If several tables have no groups, or linked tables count a cell differently.
    CheckFailedError
        If the tables are too large to find how they are linked.

    Notes
    -----
    That sets of records are the same, or add up, is taken from the records: a reader may know
    as much of the columns. Within a table only sums over cells that are given are found. Give
    tables with all their margins, also those that are not published: a reader can add up what
    no table shows.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from tables import Request, StoredKeys, cube, open_source, record_groups
    >>> records = pa.table(
    ...     {"sex": ["F", "M"], "age": ["1", "1"], "key": pa.array([1, 2], pa.uint8())}
    ... )
    >>> with open_source(records) as source:
    ...     requests = [Request(dimensions=["sex"]), Request(dimensions=["age"])]
    ...     cells = cube(source, StoredKeys(column="key"), requests)
    ...     groups = record_groups(source, requests, most=9)
    >>> additive_relations(*cells, groups=groups)
    Relations(2 tables, 3 cells, 1 relations)
    """
    grids = [Grid.of(cells) for cells in tables[: len(tables) - has_finest]]
    if has_finest:
        grids.append(Grid.full([[-1] * len(tables[-1])]))
    if not groups and len(tables) == 1:
        return Relations.of_grids(grids, values=tables[0].count)
    if len(groups) != len(tables):
        raise ConfigError(
            Message("Linked tables need the groups of their records, one for each table."),
            hint=Message("tables.record_groups finds them"),
        )
    leaves = finest_cells(grids, groups)
    numbers = same_cells(grids, leaves)
    linked = Relations.of_grids(grids, numbers=numbers)
    counts = linked.join([cells.count for cells in tables])
    visible = slice(len(tables) - has_finest)
    rest = remainders(grids[visible], leaves[visible], numbers[visible], n_cells=linked.n_cells)
    linked = replace(linked, n_cells=linked.n_cells + len(rest), left=tuple(rest))
    values = linked.with_remainders(counts)
    if has_finest:
        between = sums_of_groups(grids, leaves, numbers, rest)
    else:
        between = sums_between(grids, leaves, numbers)
    if any(weight @ values[cell] for cell, weight in between):
        raise InternalError(Message("A sum between tables does not hold."))
    relations = Relations.of_grids(
        grids, numbers=numbers, values=values, between=between + rest
    )
    return replace(relations, left=tuple(rest), is_joint=has_finest)


def finest_cells(
    grids: Sequence[Grid], groups: Sequence[tuple[ArrayLike, Sequence[ArrayLike]]]
) -> list[Integers]:
    """Find, for each table, the finest cell of every group; -1 outside its filter."""
    return [
        np.where(
            is_in,
            grid.find([np.asarray(rank) for rank in ranks] or [np.zeros(1, np.int64)]),
            -1,
        )
        for grid, (is_in, ranks) in zip(grids, groups, strict=True)
    ]
