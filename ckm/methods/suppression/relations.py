"""Which cells add up to which: the sums that a reader of a table knows to hold."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ckm.errors import ConfigError
from ckm.methods.suppression.grid import Grid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from tables import Cells
    from tables.axes import Axis

    Places = NDArray[np.int64]

__all__ = ["Relations", "additive_relations"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Relations:
    """Sums over the cells of one table, or of several that are linked.

    Parameters
    ----------
    starts, cells, signs
        Relation ``r`` says that ``signs[e]`` times cell ``cells[e]``, added up for ``e`` from
        ``starts[r]`` to ``starts[r + 1] - 1``, is 0: a total with +1, its parts with -1.
    n_cells
        How many cells there are; a cell that linked tables share is one.
    grids
        The tables.
    numbers
        For each table, the number of each of its cells.

    Examples
    --------
    >>> Relations.of_grids([Grid.full([[-1, 0, 0], [-1, 0, 0]])])
    Relations(1 tables, 9 cells, 6 relations)
    """

    starts: Places
    cells: Places
    signs: Places
    n_cells: int
    grids: tuple[Grid, ...]
    numbers: tuple[Places, ...]

    @classmethod
    def of_grids(
        cls,
        grids: Sequence[Grid],
        *,
        numbers: Sequence[Places] | None = None,
        values: ArrayLike | None = None,
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

        Examples
        --------
        >>> relations = Relations.of_grids([Grid.full([[-1, 0, 0]])])
        >>> relations.matrix.toarray().tolist()
        [[1, -1, -1]]
        """
        if numbers is None:
            ends = np.cumsum([0, *map(len, grids)])
            numbers = [np.arange(a, b) for a, b in itertools.pairwise(ends)]
        n_cells = int(max((n.max(initial=-1) for n in numbers), default=-1)) + 1
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
        found = cls._sorted(rows, cells, signs, n_rows, n_cells)
        both = cls(**found, grids=tuple(grids), numbers=tuple(numbers))
        return both._distinct(None if values is None else np.asarray(values))

    @staticmethod
    def _sorted(
        rows: list[Places], cells: list[Places], signs: list[Places], n_rows: int, n_cells: int
    ) -> dict[str, Any]:
        row, cell, sign = (
            np.concatenate(part) if part else np.zeros(0, np.int64)
            for part in (rows, cells, signs)
        )
        order = np.lexsort((cell, row))
        return {
            "starts": np.searchsorted(row[order], np.arange(n_rows + 1)),
            "cells": cell[order],
            "signs": sign[order],
            "n_cells": n_cells,
        }

    def _distinct(self, values: NDArray[Any] | None) -> Relations:
        """Leave out relations that stand there already, and those that do not hold."""
        keep = np.ones(self.n_relations, bool)
        if values is not None:
            keep &= self.residuals(values) == 0
        if len(self.grids) > 1:
            seen: set[bytes] = set()
            for r in np.flatnonzero(keep).tolist():
                part = slice(self.starts[r], self.starts[r + 1])
                key = (self.cells[part] * self.signs[part]).tobytes()
                keep[r] = key not in seen
                seen.add(key)
        sizes = np.diff(self.starts)
        entries = np.repeat(keep, sizes)
        return Relations(
            starts=np.concatenate([[0], np.cumsum(sizes[keep])]),
            cells=self.cells[entries],
            signs=self.signs[entries],
            n_cells=self.n_cells,
            grids=self.grids,
            numbers=self.numbers,
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
    def rows(self) -> Places:
        """For every entry, the relation that it stands in.

        Examples
        --------
        >>> Relations.of_grids([Grid.full([[-1, 0, 0]])]).rows
        array([0, 0, 0])
        """
        return np.repeat(np.arange(self.n_relations), np.diff(self.starts))

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

    def residuals(self, values: ArrayLike) -> NDArray[np.float64]:
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
        given = [np.asarray(part) for part in values]
        if [len(part) for part in given] != [len(number) for number in self.numbers]:
            raise ConfigError("Every cell of every table needs one value.")
        joined = np.zeros(self.n_cells, np.result_type(*given) if given else np.float64)
        for number, part in zip(self.numbers, given, strict=True):
            joined[number] = part
        if any((joined[n] != p).any() for n, p in zip(self.numbers, given, strict=True)):
            raise ConfigError(
                "Linked tables disagree about a cell that they share.",
                hint="make them from the same records, or give them different populations",
            )
        return joined

    def __repr__(self) -> str:
        return (
            f"Relations({len(self.grids)} tables, {self.n_cells} cells,"
            f" {self.n_relations} relations)"
        )


def additive_relations(*tables: Cells, populations: Sequence[object] = ()) -> Relations:
    """Find which cells add up to which, over all margins and hierarchies.

    Parameters
    ----------
    tables
        One table, or several that are linked. Cells that are not there are empty: a reader
        knows them to be zero.
    populations
        For each table, what tells its records from those of the others, as their filters do;
        by default all tables are of the same records.

    Returns
    -------
    Relations
        One relation for each cell and axis along which it has parts. Cells of several tables
        are one cell where population, columns and categories agree; a column that a table
        does not have is as good as its total, and so is one of a hierarchy of which a finer
        column tells the category.

    Raises
    ------
    ConfigError
        If populations are not one for each table, or linked tables count a cell differently.

    Notes
    -----
    Only sums over cells that are given are found. Give tables with all their margins, also
    those that are not published: a reader can add up what no table shows.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from tables import Request, StoredKeys, cube, open_source
    >>> records = pa.table(
    ...     {"sex": ["F", "M"], "age": ["1", "1"], "key": pa.array([1, 2], pa.uint8())}
    ... )
    >>> with open_source(records) as source:
    ...     requests = [Request(dimensions=["sex"]), Request(dimensions=["age"])]
    ...     cells = cube(source, StoredKeys(column="key"), requests)
    >>> additive_relations(*cells)
    Relations(2 tables, 4 cells, 2 relations)
    """
    if populations and len(populations) != len(tables):
        raise ConfigError("populations must name one for each table.")
    grids = [Grid.of(cells) for cells in tables]
    if len(tables) == 1:
        return Relations.of_grids(grids, values=tables[0].count)
    numbers = _link(tables, list(populations) or [None] * len(tables))
    linked = Relations.of_grids(grids, numbers=numbers)
    return Relations.of_grids(
        grids, numbers=numbers, values=linked.join([cells.count for cells in tables])
    )


def _link(tables: Sequence[Cells], populations: Sequence[object]) -> list[Places]:
    """Give cells of the same records the same number."""
    columns = {c: i for i, c in enumerate(c for t in tables for a in t.axes for c in a.columns)}
    place = {column: i + 1 for i, column in enumerate(columns)}
    codes: dict[tuple[str, str], int] = {}
    blocks = []
    for cells, population in zip(tables, populations, strict=True):
        block = np.zeros((len(cells), len(columns) + 1), np.int64)
        block[:, 0] = codes.setdefault(("", repr(population)), len(codes) + 1)
        for axis, ranks in zip(cells.axes, cells.ranks, strict=True):
            for column, labels, told in zip(
                axis.columns, axis.labels, _told_by_finer(axis), strict=True
            ):
                code = [codes.setdefault((column, str(t)), len(codes) + 1) for t in labels]
                block[:, place[column]] = np.where(
                    (labels == labels[0]) | told, 0, np.array(code, np.int64)
                )[ranks]
        blocks.append(block)
    _, number = np.unique(np.concatenate(blocks), axis=0, return_inverse=True)
    ends = np.cumsum([0, *map(len, blocks)])
    return [number.ravel()[a:b] for a, b in itertools.pairwise(ends)]


def _told_by_finer(axis: Axis) -> list[NDArray[np.bool_]]:
    """Find, for each column, the categories of which a finer column tells all.

    A town that lies in one region is the same people with and without the region beside it,
    so that a table of towns alone, or in other zones, is linked.
    """
    columns = [np.unique(labels.astype(str), return_inverse=True)[1] for labels in axis.labels]
    is_total = [code == code[0] for code in columns]
    told = [np.zeros(axis.size, bool) for _ in columns]
    for finer in range(1, len(columns)):
        is_last = ~is_total[finer]
        for total in is_total[finer + 1 :]:
            is_last &= total
        times = np.bincount(columns[finer][is_last], minlength=axis.size)
        alone = is_last & (times[columns[finer]] == 1)
        for broader in range(finer):
            told[broader] |= alone
    return told
