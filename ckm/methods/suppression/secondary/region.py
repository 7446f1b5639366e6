"""Linear programs over the changes of a table: the farthest, and the cheapest one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ckm.errors import InternalError
from ckm.methods.suppression.relations import Relations
from ckm.methods.suppression.secondary.cover import Change
from ckm.methods.suppression.secondary.problem import Demands, Problem, ranges
from ckm.methods.suppression.secondary.work import Work
from footing.arrays import Floats, Integers
from footing.messages import Message
from risk.reconstruction.program import Program, Rows

#: No cell needs to move by so many times what another one must.
FARTHEST = 1e3
_NOTHING = 1e-7
#: How many cells the programs see that look for one change, until one finds it.
_SIZES = (500, 4_000, 32_000)
#: A part that is so many times smaller than the table is worth a try.
_NEARLY = 1.3


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Reach:
    """How far a cell can move, by which change, and what holds it.

    Parameters
    ----------
    distance
        How far, at most as far as asked.
    moves
        The change of every cell.
    weights
        The weights of a bound on the distance: over all changes that leave the sums as they
        are, it is at most the sum of the parts above 0 times how far each cell may fall, and
        of those below 0, without sign, times how far it may rise.
    """

    distance: float
    moves: Floats
    weights: Floats


class Attack:
    """Move one cell as far as the others allow, over and over.

    Parameters
    ----------
    relations
        Which cells add up to which.
    cells
        Cells that may move, rising; by default all.
    work
        Where the work is counted.
    """

    def __init__(
        self,
        relations: Relations,
        cells: Integers | None = None,
        *,
        work: Work | None = None,
    ) -> None:
        self.relations, self.work = relations, work or Work()
        self.cells = np.arange(relations.n_cells) if cells is None else cells
        place = np.full(relations.n_cells, -1)
        place[self.cells] = np.arange(len(self.cells))
        column = place[relations.cells]
        rows, row = np.unique(relations.rows[column >= 0], return_inverse=True)
        self._rows = rows
        nothing = np.zeros(len(rows))
        self._program = Program(
            Rows(
                starts=np.searchsorted(row, np.arange(len(rows) + 1)),
                columns=column[column >= 0],
                weights=relations.signs[column >= 0].astype(np.float64),
                lower=nothing,
                upper=nothing,
            ),
            lower=np.zeros(len(self.cells)),
            upper=np.zeros(len(self.cells)),
        )
        self._place = place
        self._size = len(rows) + len(self.cells)
        self.work.laid_out(self._size)

    def reach(self, cell: int, *, sign: int, down: Floats, up: Floats, most: float) -> Reach:
        """Move a cell up or down as far as it goes."""
        own, n = int(self._place[cell]), len(self.cells)
        low, high = -down[self.cells], up[self.cells]
        if sign > 0:
            high[own] = min(high[own], most)
        else:
            low[own] = max(low[own], -most)
        self._program.hold(np.arange(n), low, high)
        answer = self._program.least([own], [-float(sign)])
        self.work.asked(self._program, self._size)
        if answer is None:
            raise InternalError(Message("No change at all keeps the sums, though none does."))
        prices = np.zeros(self.relations.n_relations)
        prices[self._rows] = self._program.prices
        parts = prices[self.relations.rows] * self.relations.signs
        sums = np.bincount(self.relations.cells, parts, minlength=len(down))
        weights = -sums.astype(np.float64)
        weights[cell] -= sign
        moves = np.zeros(len(down))
        moves[self.cells] = answer.point
        return Reach(distance=-answer.bound, moves=moves, weights=weights)


class Incidence:
    """Find the relations of cells.

    Parameters
    ----------
    relations
        Which cells add up to which.
    """

    def __init__(self, relations: Relations) -> None:
        order = np.argsort(relations.cells, kind="stable")
        self._rows = relations.rows[order]
        self._starts = np.searchsorted(relations.cells[order], np.arange(relations.n_cells + 1))

    def rows_of(self, cells: Integers) -> Integers:
        """List the relations of some cells, one cell after another."""
        return ranges(self._starts, cells, self._rows)


class Region:
    """A linear program over some cells, all others held.

    Parameters
    ----------
    problem
        The problem.
    demands
        What to protect.
    incidence
        Of the problem's relations.
    cells
        The cells, rising.
    work
        Where the work is counted.
    """

    # each cell has two columns, its rise and its fall
    def __init__(
        self,
        problem: Problem,
        demands: Demands,
        incidence: Incidence,
        cells: Integers,
        *,
        work: Work | None = None,
    ) -> None:
        self.work = work or Work()
        self.rise, self.room = problem.rise[cells], problem.room[cells]
        self.demands, self.cells = demands, cells
        relations = problem.relations
        place = np.full(relations.n_cells, -1)
        place[cells] = np.arange(len(cells))
        rows = np.unique(incidence.rows_of(cells))
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
            bounds_move=True,
        )
        self.size = len(rows) + 2 * len(cells)
        self.work.laid_out(self.size)

    def change(self, numbers: Integers, sign: int, cost: Floats) -> Change | None:
        """Find the cheapest change per unit moved that meets demands for one cell together."""
        n = len(self.cells)
        need = float((self.demands.upper if sign > 0 else self.demands.lower)[numbers].max())
        price = cost[self.cells]
        is_fixed = np.isinf(price)
        most = np.minimum(np.concatenate([self.rise, self.room]) / need, FARTHEST)
        self._limit(numbers, need, most)
        most[np.tile(is_fixed, 2)] = 0.0
        least = np.zeros(2 * n)
        own = int(np.searchsorted(self.cells, self.demands.cell[numbers[0]]))
        if sign > 0 and self.rise[own] < need * (1 - _NOTHING):
            return None  # readers know that it is no larger
        forth, back = (own, own + n) if sign > 0 else (own + n, own)
        least[forth] = most[forth] = 1.0
        most[back] = 0.0
        self.program.hold(np.arange(2 * n), least, most)
        price = np.where(is_fixed, 0.0, price)
        price /= max(1.0, float(price.max(initial=0.0)))
        answer = self.program.least(np.arange(2 * n), np.tile(price, 2))
        self.work.asked(self.program, self.size)
        if answer is None:
            return None
        moves = answer.point[:n] - answer.point[n:]
        mask = np.abs(moves) > _NOTHING
        return Change(cells=self.cells[mask], moves=moves[mask])

    def _limit(self, numbers: Integers, need: float, most: Floats) -> None:
        """Lower how far cells may rise and fall to what all readers of demands believe."""
        starts, n = self.demands.starts, len(self.cells)
        part = ranges(starts, numbers, np.arange(len(self.demands.known)))
        own_cells = self.demands.known[part]
        place = np.minimum(np.searchsorted(self.cells, own_cells), n - 1)
        is_here = self.cells[place] == own_cells
        for start, far in ((0, self.demands.rise[part]), (n, self.demands.fall[part])):
            at = start + place[is_here]
            np.minimum.at(most, at, far[is_here] / need)


class Neighbourhood:
    """Parts of a table around some cells, for programs that see no more.

    Parameters
    ----------
    problem
        The problem.
    work
        Where the work is counted.
    """

    def __init__(self, problem: Problem, work: Work | None = None) -> None:
        self.problem, self.incidence = problem, Incidence(problem.relations)
        self.work = work or Work()
        self.can_move = problem.is_open | problem.must_hide
        self._whole: Region | None = None

    def change(
        self,
        demands: Demands,
        numbers: Integers,
        sign: int,
        cost: Floats,
        *,
        is_quick: bool = False,
    ) -> Change | None:
        """Find a cheap change that meets demands: in a part of the table, or else in all.

        A quick search tries the smallest part alone.
        """
        for size in _SIZES:
            if _NEARLY * size >= self.problem.relations.n_cells:
                break
            region = self.region(demands, [int(demands.cell[numbers[0]])], size, cost)
            result = region.change(numbers, sign, cost)
            if result is not None or is_quick:
                return result
        if self._whole is None:
            every = np.flatnonzero(self.can_move)
            self._whole = Region(self.problem, demands, self.incidence, every, work=self.work)
        return self._whole.change(numbers, sign, cost)

    def region(self, demands: Demands, cells: Sequence[int], size: int, cost: Floats) -> Region:
        """Collect cells by their distance in relations, cheap ones first on the last round."""
        relations = self.problem.relations
        inside = np.zeros(relations.n_cells, bool)
        inside[cells] = True
        edge, n_inside = np.unique(cells), int(inside.sum())
        while edge.size and n_inside < size:
            rows = np.unique(self.incidence.rows_of(edge))
            new = np.unique(ranges(relations.starts, rows, relations.cells))
            new = new[~inside[new] & np.isfinite(cost[new])]
            if n_inside + len(new) > size:
                new = new[np.argsort(cost[new], kind="stable")][: size - n_inside]
            inside[new] = True
            edge, n_inside = new, n_inside + len(new)
        every = np.flatnonzero(inside)
        return Region(self.problem, demands, self.incidence, every, work=self.work)
