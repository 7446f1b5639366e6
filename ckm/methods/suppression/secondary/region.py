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
from footing.arrays import Flags, Floats, Integers
from footing.messages import Message
from risk.reconstruction.program import Program, Rows

#: No cell needs to move by so many times what another one must.
FARTHEST = 1e3
_NOTHING = 1e-7
#: What a cell that stays hidden costs, so that changes move few of them.
STAYS = 1e-2
#: What moving a hidden cell costs beside hiding a usual one, and so many times that where a
#: contributor is alone, who does not believe in the move.
_HIDDEN, _ALONE = 1e-3, 10.0
#: How many cells the programs see that look for one change, until one finds it.
_SIZES = (500, 1_500, 4_000, 32_000)
#: The part of a table in which a change that hides further cells is looked for again; without
#: time for it, only one of such a share of all that is hidden.
_WIDE, _DEAR = 4_000, 0.01
#: A size is passed over where it gave less than such a share of changes in so many tries, but
#: for every so many-th time.
_WORTH, _TRIES, _AGAIN = 0.25, 40, 20
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
        #: for every cell, the sum of the fewest parts of which it is the total; -1 for none
        self.own_row = _own_rows(relations)

    def rows_of(self, cells: Integers) -> Integers:
        """List the relations of some cells, one cell after another."""
        return ranges(self._starts, cells, self._rows)

    def numbers_of(self, cells: Integers) -> Integers:
        """Return in how many relations some cells are."""
        return self._starts[cells + 1] - self._starts[cells]


def _own_rows(relations: Relations) -> Integers:
    """Find for cells a sum each of which they are the total, and all other cells are parts."""
    rows, signs, n_rows = relations.rows, relations.signs, relations.n_relations
    is_total = signs == 1
    n_totals = np.bincount(rows, is_total, minlength=n_rows)
    n_parts = np.bincount(rows, signs == -1, minlength=n_rows)
    sizes = np.diff(relations.starts)
    is_sum = (n_totals == 1) & (n_totals + n_parts == sizes) & (sizes > 1)
    entries = np.flatnonzero(is_total & is_sum[rows])
    entries = entries[np.argsort(-sizes[rows[entries]], kind="stable")]
    own = np.full(relations.n_cells, -1)
    own[relations.cells[entries]] = rows[entries]  # the last one stays
    return own


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
    is_free
        Which of all cells are hidden, now and later, so that their moves cost next to nothing;
        by default none.
    work
        Where the work is counted.

    Notes
    -----
    Each cell has two columns, its rise and its fall; but a total that is free has one, and the
    solver starts where these take what moves in their sums. What is left are sums whose total
    is published, or dear, which are far fewer.
    """

    def __init__(
        self,
        problem: Problem,
        demands: Demands,
        incidence: Incidence,
        cells: Integers,
        *,
        is_free: Flags | None = None,
        work: Work | None = None,
    ) -> None:
        self.work = work or Work()
        self.rise, self.room = problem.rise[cells], problem.room[cells]
        self.demands, self.cells = demands, cells
        relations = problem.relations
        place = np.full(relations.n_cells, -1)
        place[cells] = np.arange(len(cells))
        rows = _distinct(incidence.rows_of(cells), relations.n_relations)
        entries = ranges(relations.starts, rows, np.arange(len(relations.cells)))
        column, sign = place[relations.cells[entries]], relations.signs[entries]
        row = np.repeat(np.arange(len(rows)), np.diff(relations.starts)[rows])
        row, column, sign = (part[column >= 0] for part in (row, column, sign))
        own_row = incidence.own_row[cells]
        is_single = np.zeros(len(cells), bool) if is_free is None else is_free[cells]
        is_single = is_single & (own_row >= 0)
        #: the cells with a column of their fall, which follow those of all cells
        self._split, n = np.flatnonzero(~is_single), len(cells)
        self._is_split = ~is_single
        second = np.full(n, -1)
        second[self._split] = n + np.arange(len(self._split))
        falls = ~is_single[column]
        row = np.concatenate([row, row[falls]])
        weight = np.concatenate([sign, -sign[falls]]).astype(np.float64)
        column = np.concatenate([column, second[column[falls]]])
        order = np.argsort(row, kind="stable")
        nothing, n_columns = np.zeros(len(rows)), n + len(self._split)
        self.program = Program(
            Rows(
                starts=np.searchsorted(row[order], np.arange(len(rows) + 1)),
                columns=column[order],
                weights=weight[order],
                lower=nothing,
                upper=nothing,
            ),
            lower=np.zeros(n_columns),
            upper=np.zeros(n_columns),
            bounds_move=True,
        )
        if is_single.any():
            basic = np.flatnonzero(is_single)
            self.program.start_from(basic, np.searchsorted(rows, own_row[basic]))
        self.size = len(rows) + n_columns
        self.work.laid_out(self.size)

    def change(self, numbers: Integers, sign: int, cost: Floats) -> Change | None:
        """Find the cheapest change per unit moved that meets demands for one cell together."""
        n = len(self.cells)
        need = float((self.demands.upper if sign > 0 else self.demands.lower)[numbers].max())
        own = int(np.searchsorted(self.cells, self.demands.cell[numbers[0]]))
        if sign > 0 and self.rise[own] < need * (1 - _NOTHING):
            return None  # readers know that it is no larger
        price = cost[self.cells]
        is_fixed = np.isinf(price)
        up = np.minimum(self.rise / need, FARTHEST)
        down = np.minimum(self.room / need, FARTHEST)
        self._limit(numbers, need, down, up)
        up[is_fixed] = down[is_fixed] = 0.0
        low = np.where(self._is_split, 0.0, -down)
        up[own] = low[own] = 0.0
        least = np.append(low, np.zeros(len(self._split)))
        most = np.append(up, down[self._split])
        if self._is_split[own]:
            second = n + int(np.searchsorted(self._split, own))
            forth, back = (own, second) if sign > 0 else (second, own)
            least[forth] = most[forth] = 1.0
            least[back] = most[back] = 0.0
        else:
            least[own] = most[own] = sign
        self.program.hold(np.arange(len(most)), least, most)
        price = np.where(is_fixed, 0.0, price)
        price /= max(1.0, float(price.max(initial=0.0)))
        prices = np.append(np.where(self._is_split, price, 0.0), price[self._split])
        self.program.restart()
        answer = self.program.least(np.arange(len(most)), prices)
        self.work.asked(self.program, self.size)
        if answer is None:
            return None
        moves = answer.point[:n].copy()
        moves[self._split] -= answer.point[n:]
        # a little over a narrow bound is much of it, and would prove less than is asked for
        moves, moves[own] = np.clip(moves, -down, up), sign
        mask = np.abs(moves) > _NOTHING
        return Change(cells=self.cells[mask], moves=moves[mask])

    def _limit(self, numbers: Integers, need: float, down: Floats, up: Floats) -> None:
        """Lower how far cells may fall and rise to what all readers of demands believe."""
        part = ranges(self.demands.starts, numbers, np.arange(len(self.demands.known)))
        own_cells = self.demands.known[part]
        place = np.minimum(np.searchsorted(self.cells, own_cells), len(self.cells) - 1)
        is_here = self.cells[place] == own_cells
        for line, far in ((up, self.demands.rise[part]), (down, self.demands.fall[part])):
            np.minimum.at(line, place[is_here], far[is_here] / need)


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
        self.stays = _stays(problem)
        self._whole: Region | None = None
        #: what the cells cost that a first choice hides so far
        self.spent = 0.0
        #: the demands, the cell and by size the parts that were asked for last
        self._last: tuple[Demands, int, dict[int, Region]] | None = None
        #: for each size, how often it was asked for, tried, and gave a change
        self._records = {size: [0, 0, 0] for size in _SIZES}

    def change(
        self,
        demands: Demands,
        numbers: Integers,
        sign: int,
        cost: Floats,
        *,
        is_quick: bool = False,
        is_careful: bool = False,
    ) -> Change | None:
        """Find a cheap change that meets demands: in a part of the table, or else in all.

        A quick search tries the smallest part alone. In a careful one, a change that hides
        further cells is compared with that of a wider part, while there is time for it, and
        afterwards where these cells are dear: a first choice then hides up to a third less.
        """
        if is_careful and not is_quick and self.work.has_care:
            return self._compared(demands, numbers, sign, cost)
        for size in _SIZES:
            if _NEARLY * size >= self.problem.relations.n_cells:
                break
            if not is_quick and not self._is_worth(size):
                continue
            region = self._around(demands, int(demands.cell[numbers[0]]), size, cost)
            result = self._noted(size, region.change(numbers, sign, cost))
            if is_careful and result is not None and self._is_dear(result, cost):
                return self._compared(demands, numbers, sign, cost)
            if result is not None or is_quick:
                return result
        return self._in_all(demands, cost).change(numbers, sign, cost)

    def _is_dear(self, change: Change, cost: Floats) -> bool:
        """Tell whether a change hides so much that a wider part is asked, too."""
        least = 0.0 if self.work.has_care else _DEAR * self.spent
        return self._hides(change, cost) > least

    def _hides(self, change: Change, cost: Floats) -> float:
        """Return what a change costs by the further cells that it hides."""
        price = cost[change.cells]
        return float(price[price > self.stays[change.cells]].sum())

    def _is_worth(self, size: int) -> bool:
        """Tell whether parts of a size give changes often enough to be tried."""
        record = self._records[size]
        record[0] += 1
        _, tries, changes = record
        return tries < _TRIES or changes >= _WORTH * tries or record[0] % _AGAIN == 0

    def _noted(self, size: int, result: Change | None) -> Change | None:
        self._records[size][1] += 1
        self._records[size][2] += result is not None
        return result

    def _compared(
        self, demands: Demands, numbers: Integers, sign: int, cost: Floats
    ) -> Change | None:
        """Find a change in the smallest part; where it hides further cells, in a wider one."""
        cell, n_cells = int(demands.cell[numbers[0]]), self.problem.relations.n_cells
        best, least = None, np.inf
        for size in (_SIZES[0], _WIDE):
            is_part = _NEARLY * size < n_cells
            if size == _SIZES[0] and is_part and not self._is_worth(size):
                continue
            region = (
                self._around(demands, cell, size, cost)
                if is_part
                else self._in_all(demands, cost)
            )
            result = self._noted(size, region.change(numbers, sign, cost))
            if result is not None:
                new = self._hides(result, cost)
                best, least = (result, new) if new < least else (best, least)
            if least == 0 or not is_part:
                return best
        if best is not None:
            return best
        return self._in_all(demands, cost).change(numbers, sign, cost)

    def _around(self, demands: Demands, cell: int, size: int, cost: Floats) -> Region:
        """Return the part around one cell: one for both directions, and for all readers."""
        if self._last is None or self._last[0] is not demands or self._last[1] != cell:
            self._last = (demands, cell, {})
        regions = self._last[2]
        if size not in regions:
            regions[size] = self.region(demands, [cell], size, cost)
        return regions[size]

    def _in_all(self, demands: Demands, cost: Floats) -> Region:
        if self._whole is None:
            every = np.flatnonzero(self.can_move)
            self._whole = self._region_of(demands, every, cost)
        return self._whole

    def region(self, demands: Demands, cells: Sequence[int], size: int, cost: Floats) -> Region:
        """Collect cells by their distance in relations, cheap ones first on the last round."""
        relations = self.problem.relations
        inside = np.zeros(relations.n_cells, bool)
        inside[cells] = True
        edge, n_inside = np.unique(cells), int(inside.sum())
        while edge.size and n_inside < size:
            rows = _distinct(self.incidence.rows_of(edge), relations.n_relations)
            near = ranges(relations.starts, rows, relations.cells)
            near = near[~inside[near] & np.isfinite(cost[near])]
            new = _distinct(near, relations.n_cells)
            if n_inside + len(new) > size:
                new = new[np.argsort(cost[new], kind="stable")][: size - n_inside]
            inside[new] = True
            edge, n_inside = new, n_inside + len(new)
        return self._region_of(demands, np.flatnonzero(inside), cost)

    def _region_of(self, demands: Demands, cells: Integers, cost: Floats) -> Region:
        return Region(
            self.problem,
            demands,
            self.incidence,
            cells,
            is_free=(cost <= self.stays) | ((cost <= STAYS) & self.problem.must_hide),
            work=self.work,
        )


def _stays(problem: Problem) -> Floats:
    """Return what it costs to move each cell where it is hidden.

    It is little beside hiding another one, so that changes move few cells, and of these few
    that a contributor knows.
    """
    cost = problem.cost[problem.is_open & (problem.cost > 0)]
    price = np.full(len(problem.cost), _HIDDEN * (float(np.median(cost)) if cost.size else 1.0))
    contributions = problem.primary.contributions
    if contributions is not None and problem.coalition:
        price[contributions.number <= problem.coalition] *= _ALONE
    return price


def _distinct(numbers: Integers, n: int) -> Integers:
    """List distinct numbers below `n`, rising."""
    mask = np.zeros(n, bool)
    mask[numbers] = True
    return np.flatnonzero(mask)
