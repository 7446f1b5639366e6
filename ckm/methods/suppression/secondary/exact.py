"""The cheapest secondary suppression, by cutting planes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ckm.methods.suppression.secondary.cover import Cover
from ckm.methods.suppression.secondary.problem import Demands, Problem
from ckm.methods.suppression.secondary.region import FARTHEST, Attack
from ckm.methods.suppression.secondary.reverse_delete import reverse_delete
from ckm.methods.suppression.secondary.sequential import protect_in_turn
from ckm.methods.suppression.secondary.work import Work
from footing.arrays import Floats, Integers
from risk.reconstruction.program import Answer, Program, Rows

_MAX_NODES = 1_000_000
#: Units of work of a node, for each row and column.
_NODE = 0.3
#: The relaxation is left when so many rounds raise the bound by less than such a share.
_STEPS, _PROGRESS = 8, 2e-3
_GAP = 1e-6

_CLEAN = 1e-6
_VIOLATED = 1e-4
#: What a cell that is not hidden may move, so that cuts go through as few as possible.
_CRACK = 1e-3
#: Inequalities found at once, fast ones and slow ones; more would be about the same.
_ENOUGH, _FEW = 60, 15


def protect_exactly(cover: Cover, *, work: Work | None = None) -> tuple[Cover, float]:
    """Find the cheapest cells to hide, and a bound: no way to protect the table costs less.

    Notes
    -----
    A variable of 0 or 1 for each cell says whether it is hidden. For every demand a linear
    program tells how far the cell can move; where that is not far enough, its dual weights
    ``w`` give an inequality that every good choice satisfies and this one does not:
    ``sum over i of (max(w_i, 0) fall_i + max(-w_i, 0) rise_i) x_i >= need``, each term lowered
    to the need. First the relaxation is cut until nothing more is found, then programs in
    whole numbers are, until the cheapest choice that they find meets every demand. That no
    cell is hidden alone in a sum is added where it is violated.

    References
    ----------
    Fischetti and Salazar (2001), Solving the cell suppression problem on tabular data with
    linear constraints.
    """
    return _Exact(cover, work or Work()).run()


class _Exact:
    def __init__(self, cover: Cover, work: Work) -> None:
        self.best, self.work = cover, work
        self.problem: Problem = cover.problem
        self.cutter = Cutter(self.problem, cover.demands, work)
        self.columns = np.flatnonzero(self.problem.is_open)
        self.cost = self.problem.cost[self.columns]
        self.scale = max(1.0, float(self.cost.max(initial=0.0)))
        self.cuts: list[Cut] = []
        self.least = 0.0

    def run(self) -> tuple[Cover, float]:
        self._offer(self.best)
        if not self._is_done():
            self._relax()
        while not self._is_done() and not self.work.is_over:
            if not self._round():
                break
        return self.best, min(self.least, self.best.cost())

    def _is_done(self) -> bool:
        best = self.best.cost()
        return best - self.least <= _GAP * max(1.0, best)

    def _offer(self, cover: Cover) -> None:
        """Keep a cover without what it does not need, if it is the best so far."""
        lighter = reverse_delete(cover, work=self.work)
        lighter = reverse_delete(lighter, work=self.work, is_wide=True)
        if lighter.cost() < self.best.cost():
            self.best = lighter

    def _relax(self) -> None:
        """Cut the relaxation until no more inequality is found."""
        program, steps = self._program(), [0.0]
        answer = self._solve(program)
        while not self.work.is_over:
            answer = self._solve(program)
            steps.append(self.least)
            is_stuck = self.least - steps[-_STEPS:][0] <= _PROGRESS * self.least
            if self._is_done() or (len(steps) > _STEPS and is_stuck):
                break
            hidden = self._spread(answer)
            cuts = self.cutter.violated(hidden)
            if not cuts:
                break
            self.cuts += cuts
            program.add(self._rows(cuts))
        if not self._is_done():
            self._repair(self._spread(answer))

    def _round(self) -> bool:
        """Solve in whole numbers, check, and cut; tell whether anything was gained."""
        before = self.best.cost()
        answer = self._solve(self._program(is_whole=True))
        if not answer.point.size:
            return False
        hidden = (self._spread(answer) > 0.5).astype(np.float64)
        cuts = self.cutter.violated(hidden)
        self._repair(hidden)
        self.cuts += cuts
        return bool(cuts) or self.best.cost() < before

    def _repair(self, hidden: Floats) -> None:
        """Protect every demand again, with cells the cheaper the more of them is hidden."""
        cover = Cover(self.problem, self.best.demands)
        cover.hidden |= hidden > 1 - _GAP
        failed = protect_in_turn(cover, cost=self.problem.cost * (1 - hidden), work=self.work)
        if not failed.size and not cover.open_demands().size:
            self._offer(cover)

    def _solve(self, program: Program) -> Answer:
        answer = program.least(np.arange(len(self.columns)), self.cost / self.scale)
        self.work.asked(program, len(self.columns) + len(self.cuts))
        if answer is None:  # the best cover satisfies every cut
            raise AssertionError
        self.least = max(self.least, answer.bound * self.scale)
        return answer

    def _most_nodes(self) -> int:
        """Return how many nodes the work that is left will do for."""
        left = max(self.work.limit - self.work.units, 0.0)
        a_node = _NODE * (len(self.columns) + len(self.cuts))
        return int(np.clip(left / a_node, 1, _MAX_NODES))

    def _spread(self, answer: Answer) -> Floats:
        hidden = self.problem.must_hide.astype(np.float64)
        hidden[self.columns] = np.clip(answer.point, 0.0, 1.0)
        return hidden

    def _program(self, *, is_whole: bool = False) -> Program:
        return Program(
            self._rows(self.cuts),
            lower=np.zeros(len(self.columns)),
            upper=np.ones(len(self.columns)),
            most_nodes=self._most_nodes() if is_whole else None,
            max_seconds=self.work.left_s if is_whole else np.inf,
        )

    def _rows(self, cuts: list[Cut]) -> Rows:
        place = np.full(self.problem.relations.n_cells, -1)
        place[self.columns] = np.arange(len(self.columns))
        empty = [np.zeros(0)]
        return Rows(
            starts=np.cumsum([0, *(len(cut.cells) for cut in cuts)]),
            columns=place[np.concatenate([cut.cells for cut in cuts] or empty).astype(int)],
            weights=np.concatenate([cut.weights for cut in cuts] or empty),
            lower=np.array([cut.least for cut in cuts], np.float64),
            upper=np.full(len(cuts), np.inf),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Cut:
    """The weights of hidden cells sum to `least` or more.

    Parameters
    ----------
    cells, weights
        Cells that may be hidden or not, and their weights.
    least
        The least sum.
    """

    cells: Integers
    weights: Floats
    least: float


class Cutter:
    """Find violated inequalities.

    Parameters
    ----------
    problem
        The problem.
    demands
        What to protect.
    work
        Where the work is counted.
    """

    def __init__(self, problem: Problem, demands: Demands, work: Work | None = None) -> None:
        self.problem, self.demands, self.work = problem, demands, work or Work()
        self.attack = Attack(problem.relations, work=self.work)
        self.can_move = problem.is_open | problem.must_hide
        #: for each demand and direction, the cells of a change that met it last
        self._proven: dict[tuple[int, int], Integers] = {}
        self._next = 0

    def violated(self, hidden: Floats) -> list[Cut]:
        """Find inequalities that a choice of cells, or of parts of them, violates."""
        cuts = self.lonely(hidden) or self._all(hidden)
        cuts = cuts or self._all(hidden, is_deep=True)
        distinct = {(c.cells.tobytes(), c.weights.round(9).tobytes(), c.least): c for c in cuts}
        return list(distinct.values())

    def lonely(self, hidden: Floats) -> list[Cut]:
        """Find cells that are hidden alone in a sum: whoever adds up sees them."""
        relations = self.problem.relations
        sums = np.bincount(
            relations.rows, hidden[relations.cells], minlength=relations.n_relations
        )
        twice = 2 * hidden[relations.cells] - sums[relations.rows]
        cuts = []
        for entry in np.flatnonzero(twice > _VIOLATED).tolist():
            row, cell = relations.rows[entry], relations.cells[entry]
            part = relations.cells[relations.starts[row] : relations.starts[row + 1]]
            others = part[(part != cell) & self.can_move[part]]
            is_primary, must_hide = self.problem.primary.is_primary, self.problem.must_hide
            if must_hide[others].any() or (must_hide[cell] and not is_primary[cell]):
                continue
            if is_primary[cell]:
                cuts.append(Cut(cells=others, weights=np.ones(len(others)), least=1.0))
            else:
                cells = np.append(others, cell)
                weights = np.append(np.ones(len(others)), -1.0)
                cuts.append(Cut(cells=cells, weights=weights, least=0.0))
        return cuts

    def _all(self, hidden: Floats, *, is_deep: bool = False) -> list[Cut]:
        """Go through the demands from where the last round stopped, up to enough cuts."""
        cuts: list[Cut] = []
        few = Attack(self.problem.relations, np.flatnonzero(hidden > _CLEAN), work=self.work)
        n = len(self.demands)
        attacks = [(few, 1.0, 0.0)]
        if is_deep:
            attacks += [(self.attack, 1.0, _CRACK), (self.attack, FARTHEST, 0.0)]
        for demand in np.roll(np.arange(n), -self._next).tolist():
            for sign in (1, -1):
                cut = self._one(demand, sign, hidden, attacks)
                if cut is not None:
                    cuts.append(cut)
            self._next = (demand + 1) % n
            if len(cuts) >= (_FEW if is_deep else _ENOUGH) or self.work.is_over:
                break
        return cuts

    def _one(
        self,
        demand: int,
        sign: int,
        hidden: Floats,
        attacks: Sequence[tuple[Attack, float, float]],
    ) -> Cut | None:
        """Move one cell: by hidden cells alone first, which is fast, then among all cells.

        Every move is bounded by the cell's own first, which cuts deeper.
        """
        need = float((self.demands.upper if sign > 0 else self.demands.lower)[demand])
        cell = int(self.demands.cell[demand])
        proven = self._proven.get((demand, sign))
        if need <= 0 or (proven is not None and hidden[proven].min(initial=1) > 1 - _CLEAN):
            return None
        for attack, farthest, crack in attacks:
            down, up = self._far(demand, need, farthest)
            width = np.maximum(hidden, crack)
            reach = attack.reach(cell, sign=sign, down=down * width, up=up * width, most=1.0)
            if attack is attacks[0][0] and reach.distance >= 1 - _CLEAN:
                self._proven[demand, sign] = np.flatnonzero(np.abs(reach.moves) > _CLEAN)
                return None
            cut = self._cut(reach.weights, demand, need, hidden)
            if cut is not None:
                return cut
        return None

    def _far(self, demand: int, need: float, farthest: float) -> tuple[Floats, Floats]:
        """Return how far hidden cells may fall and rise, in units of the need."""
        down = np.where(self.can_move, self.problem.room, 0.0)
        up = np.where(self.can_move, self.problem.rise, 0.0)
        down, up = self.demands.limited(demand, down, up)
        return np.minimum(down / need, farthest), np.minimum(up / need, farthest)

    def _cut(self, weights: Floats, demand: int, need: float, hidden: Floats) -> Cut | None:
        """Turn the weights of a bound into an inequality, if it is violated."""
        w = np.where(np.abs(weights) > _CLEAN, weights, 0.0)
        down, up = self._far(demand, need, np.inf)
        far = np.multiply(w, down, out=np.zeros(len(w)), where=w > 0)
        far[w < 0] = -w[w < 0] * up[w < 0]
        must_hide = self.problem.must_hide
        least = 1.0 - float(far[must_hide].sum())
        if not least > _VIOLATED:
            return None
        cells = np.flatnonzero((far > 0) & ~must_hide)
        parts = np.minimum(far[cells] / least, 1.0)
        if parts @ hidden[cells] > 1.0 - _VIOLATED:
            return None
        return Cut(cells=cells, weights=parts, least=1.0)
