"""The cheapest secondary suppression, by cutting planes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from ckm.suppression.secondary.cover import Cover
from ckm.suppression.secondary.cuts import Cut, Cutter
from ckm.suppression.secondary.prune import prune
from ckm.suppression.secondary.region import Attack
from ckm.suppression.secondary.sequential import protect_in_turn
from risk.reconstruction.program import Program, Rows

if TYPE_CHECKING:
    from ckm.suppression.secondary.problem import Problem
    from footing.arrays import Floats
    from risk.reconstruction.program import Answer


_MAX_NODES = 1_000_000
#: The relaxation is left when so many rounds raise the bound by less than such a share.
_STEPS, _PROGRESS = 8, 2e-3
_GAP = 1e-6


def protect_exactly(cover: Cover, *, deadline: float = np.inf) -> tuple[Cover, float]:
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
    return _Exact(cover, deadline).run()


class _Exact:
    def __init__(self, cover: Cover, deadline: float) -> None:
        self.best, self.deadline = cover, deadline
        self.problem: Problem = cover.problem
        self.attack = Attack(self.problem.relations)
        self.cutter = Cutter(self.problem, cover.demands, self.attack)
        self.columns = np.flatnonzero(self.problem.is_open)
        self.cost = self.problem.cost[self.columns]
        self.scale = max(1.0, float(self.cost.max(initial=0.0)))
        self.cuts: list[Cut] = []
        self.least = 0.0

    def run(self) -> tuple[Cover, float]:
        self._offer(self.best)
        if not self._is_done():
            self._relax()
        while not self._is_done() and time.monotonic() < self.deadline:
            if not self._round():
                break
        return self.best, min(self.least, self.best.cost())

    def _is_done(self) -> bool:
        best = self.best.cost()
        return best - self.least <= _GAP * max(1.0, best)

    def _offer(self, cover: Cover) -> None:
        """Keep a cover without what it does not need, if it is the best so far."""
        lighter = prune(cover, deadline=self.deadline)
        if lighter.cost() < self.best.cost():
            self.best = lighter

    def _relax(self) -> None:
        """Cut the relaxation until no more inequality is found."""
        program, steps = self._program(None), [0.0]
        answer = self._solve(program)
        while time.monotonic() < self.deadline:
            answer = self._solve(program)
            steps.append(self.least)
            is_stuck = self.least - steps[-_STEPS:][0] <= _PROGRESS * self.least
            if self._is_done() or (len(steps) > _STEPS and is_stuck):
                break
            hidden = self._spread(answer)
            found = self.cutter.violated(hidden, deadline=self.deadline)
            if not found:
                break
            self.cuts += found
            program.add(self._rows(found))
        if not self._is_done():
            self._repair(self._spread(answer))

    def _round(self) -> bool:
        """Solve in whole numbers, check, and cut; tell whether anything was gained."""
        before = self.best.cost()
        answer = self._solve(self._program(max(1.0, self.deadline - time.monotonic())))
        if not answer.point.size:
            return False
        hidden = (self._spread(answer) > 0.5).astype(np.float64)
        found = self.cutter.violated(hidden, deadline=self.deadline)
        self._repair(hidden)
        self.cuts += found
        return bool(found) or self.best.cost() < before

    def _repair(self, hidden: Floats) -> None:
        """Protect every demand again, with cells the cheaper the more of them is hidden."""
        cover = Cover(self.problem, self.best.demands)
        cover.hidden |= hidden > 1 - _GAP
        failed = protect_in_turn(
            cover, cost=self.problem.cost * (1 - hidden), deadline=self.deadline
        )
        if not failed.size and not cover.open_demands().size:
            self._offer(cover)

    def _solve(self, program: Program) -> Answer:
        answer = program.least(np.arange(len(self.columns)), self.cost / self.scale)
        if answer is None:  # the best cover satisfies every cut
            raise AssertionError
        self.least = max(self.least, answer.bound * self.scale)
        return answer

    def _spread(self, answer: Answer) -> Floats:
        hidden = self.problem.must_hide.astype(np.float64)
        hidden[self.columns] = np.clip(answer.point, 0.0, 1.0)
        return hidden

    def _program(self, max_seconds: float | None) -> Program:
        return Program(
            self._rows(self.cuts),
            lower=np.zeros(len(self.columns)),
            upper=np.ones(len(self.columns)),
            most_nodes=None if max_seconds is None else _MAX_NODES,
            max_seconds=np.inf if max_seconds is None else max_seconds,
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
