"""One cell after another: hide what lets it move at the least further cost."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from ckm.methods.suppression.cover import Change
from risk.reconstruction.program import Program, Rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from ckm.methods.suppression.cover import Cover

    Numbers = NDArray[np.float64]
    Places = NDArray[np.int64]

__all__ = ["protect_in_turn", "ranges"]

#: No cell needs to move by so many times what another one must.
FARTHEST = 1e3
_NOTHING = 1e-7
_SIZES = (500, 4_000, 32_000)


def protect_in_turn(cover: Cover, *, deadline: float = np.inf) -> Places:
    """Meet every demand that is open, hiding further cells.

    Parameters
    ----------
    cover
        What is hidden so far; it is changed.
    deadline
        When to stop, as `time.monotonic` counts.

    Returns
    -------
    numpy.ndarray
        The demands that cannot be met, even if everything that may be is hidden.

    Notes
    -----
    For each demand a linear program finds the change that takes the cell far enough at the
    least cost per unit moved, hidden cells free. It sees the neighbourhood of the cell first,
    and more where that does not do. The order is from the most valuable cell down.

    References
    ----------
    Kelly, Golden and Assad (1992), Cell suppression: disclosure protection for sensitive
    tabular data, Networks 22.

    Examples
    --------
    >>> from ckm.methods.suppression import Frequency, Grid, Problem, Relations, primary_cells
    >>> from ckm.methods.suppression.cover import Cover
    >>> counts = np.array([9, 1, 8])
    >>> problem = Problem(
    ...     relations=Relations.of_grids([Grid.full([[-1, 0, 0]])]),
    ...     values=counts,
    ...     primary=primary_cells([Frequency(least=3)], counts=counts),
    ... )
    >>> cover = Cover(problem)
    >>> protect_in_turn(cover), cover.hidden
    (array([], dtype=int64), array([False,  True,  True]))
    """
    search = _Search(cover)
    failed = []
    for demand in cover.open_demands().tolist():
        for sign, is_met in ((1, cover.is_high_met), (-1, cover.is_low_met)):
            if is_met[demand] or time.monotonic() > deadline:
                continue
            change = search.change(demand, sign)
            if change is None:
                failed.append(demand)
                break
            cover.add(change)
            is_met[demand] = True  # by the program's own account, to its tolerance
    return np.array(failed, np.int64)


class _Search:
    """Cheapest changes, found in a part of the table where that is enough."""

    def __init__(self, cover: Cover) -> None:
        self.cover = cover
        relations = cover.problem.relations
        self.n_cells = relations.n_cells
        order = np.argsort(relations.cells, kind="stable")
        self.rows_of = relations.rows[order]
        self.row_starts = np.searchsorted(relations.cells[order], np.arange(self.n_cells + 1))
        self.can_move = cover.problem.is_open | cover.problem.primary.is_primary
        self.whole: _Region | None = None

    def change(self, demand: int, sign: int) -> Change | None:
        for size in _SIZES:
            if size >= self.n_cells:
                break
            cells = self._near(int(self.cover.demands.cell[demand]), size)
            found = _Region(self, cells).change(demand, sign)
            if found is not None:
                return found
        if self.whole is None:
            self.whole = _Region(self, np.flatnonzero(self.can_move))
        return self.whole.change(demand, sign)

    def _near(self, cell: int, size: int) -> Places:
        """Collect cells by their distance in relations, cheap ones first on the last round."""
        problem = self.cover.problem
        cells, cost = problem.relations.cells, np.where(self.cover.hidden, 0.0, problem.cost)
        inside = np.zeros(self.n_cells, bool)
        inside[cell] = True
        edge, n_inside = np.array([cell]), 1
        while edge.size and n_inside < size:
            rows = np.unique(ranges(self.row_starts, edge, self.rows_of))
            new = np.unique(ranges(problem.relations.starts, rows, cells))
            new = new[~inside[new] & self.can_move[new]]
            if n_inside + len(new) > size:
                new = new[np.argsort(cost[new], kind="stable")][: size - n_inside]
            inside[new] = True
            edge, n_inside = new, n_inside + len(new)
        return np.flatnonzero(inside)


class _Region:
    """A linear program over some cells, all others held; each cell's rise and fall a column."""

    def __init__(self, search: _Search, cells: Places) -> None:
        self.cover, self.cells = search.cover, cells
        relations = search.cover.problem.relations
        place = np.full(relations.n_cells, -1)
        place[cells] = np.arange(len(cells))
        rows = np.unique(ranges(search.row_starts, cells, search.rows_of))
        entries = ranges(relations.starts, rows, np.arange(len(relations.cells)))
        column, sign = place[relations.cells[entries]], relations.signs[entries]
        row = np.repeat(np.arange(len(rows)), np.diff(relations.starts)[rows])
        row, column, sign = (part[column >= 0] for part in (row, column, sign))
        row, column = np.tile(row, 2), np.concatenate([column, column + len(cells)])
        weight = np.concatenate([sign, -sign]).astype(np.float64)
        order = np.lexsort((column, row))
        nothing = np.zeros(len(rows))
        self.program = Program(
            Rows(
                starts=np.searchsorted(row[order], np.arange(len(rows) + 1)),
                columns=column[order],
                weights=weight[order],
                lower=nothing,
                upper=nothing,
            ),
            lower=np.zeros(2 * len(cells)),
            upper=np.zeros(2 * len(cells)),
        )

    def change(self, demand: int, sign: int) -> Change | None:
        """Find the cheapest change that takes the cell as far as it must go, in that unit."""
        demands, problem, n = self.cover.demands, self.cover.problem, len(self.cells)
        need = float((demands.upper if sign > 0 else demands.lower)[demand])
        most = np.concatenate(
            [np.full(n, FARTHEST), np.minimum(problem.value[self.cells] / need, FARTHEST)]
        )
        least = np.zeros(2 * n)
        own = int(np.searchsorted(self.cells, demands.cell[demand]))
        ways = (own, own + n) if sign > 0 else (own + n, own)
        least[ways[0]] = most[ways[0]] = 1.0
        most[ways[1]] = 0.0
        known = self.cells == demands.known[demand]
        most[np.tile(known, 2)] = 0.0
        self.program.hold(np.arange(2 * n), least, most)
        cost = np.where(self.cover.hidden, 0.0, problem.cost + _NOTHING)[self.cells]
        cost /= max(1.0, float(cost.max(initial=0.0)))
        answer = self.program.least(np.arange(2 * n), np.tile(cost, 2))
        if answer is None:
            return None
        moves = answer.point[:n] - answer.point[n:]
        kept = np.abs(moves) > _NOTHING
        return Change(cells=self.cells[kept], moves=moves[kept])


def ranges(starts: Places, numbers: Places, entries: Places) -> Places:
    """Collect the entries of some rows, one row after another.

    Parameters
    ----------
    starts
        Row ``r`` has the entries from ``starts[r]`` to ``starts[r + 1] - 1``.
    numbers
        The rows.
    entries
        All entries.

    Examples
    --------
    >>> ranges(np.array([0, 2, 3]), np.array([1, 0]), np.array([7, 8, 9]))
    array([9, 7, 8])
    """
    sizes = starts[numbers + 1] - starts[numbers]
    before = np.repeat(np.cumsum(sizes) - sizes, sizes)
    return entries[np.repeat(starts[numbers], sizes) + np.arange(sizes.sum()) - before]
