"""Inequalities that every protecting choice of hidden cells satisfies."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ckm.suppression.secondary.region import FARTHEST, Attack

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckm.suppression.secondary.problem import Demands, Problem
    from footing.arrays import Floats, Integers


_CLEAN = 1e-6
_VIOLATED = 1e-4
#: What a cell that is not hidden may move, so that cuts go through as few as possible.
_CRACK = 1e-3
#: Inequalities found at once, fast ones and slow ones; more would be about the same.
_ENOUGH, _FEW = 60, 15


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
    attack
        The linear program over the problem's relations.
    """

    def __init__(self, problem: Problem, demands: Demands, attack: Attack) -> None:
        self.problem, self.demands, self.attack = problem, demands, attack
        self.can_move = problem.is_open | problem.must_hide
        #: for each demand and direction, the cells of a change that met it last
        self._proven: dict[tuple[int, int], Integers] = {}
        self._next = 0

    def violated(self, hidden: Floats, *, deadline: float = np.inf) -> list[Cut]:
        """Find inequalities that a choice of (parts of) cells violates; none if it protects."""
        found = self.lonely(hidden) or self._all(hidden, deadline)
        found = found or self._all(hidden, deadline, is_deep=True)
        seen = {(c.cells.tobytes(), c.weights.round(9).tobytes(), c.least): c for c in found}
        return list(seen.values())

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

    def _all(self, hidden: Floats, deadline: float, *, is_deep: bool = False) -> list[Cut]:
        """Go through the demands from where the last round stopped, up to enough cuts."""
        cuts: list[Cut] = []
        few = Attack(self.problem.relations, np.flatnonzero(hidden > _CLEAN))
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
            if len(cuts) >= (_FEW if is_deep else _ENOUGH) or time.monotonic() > deadline:
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
        can_move = self.can_move.copy()
        if self.demands.known[demand] >= 0:
            can_move[self.demands.known[demand]] = False
        down = np.where(can_move, np.minimum(self.problem.room / need, farthest), 0.0)
        return down, np.where(can_move, farthest, 0.0)

    def _cut(self, weights: Floats, demand: int, need: float, hidden: Floats) -> Cut | None:
        """Turn the weights of a bound into an inequality, if it is violated."""
        w = np.where(np.abs(weights) > _CLEAN, weights, 0.0)
        down, up = self._far(demand, need, np.inf)
        far = np.where(w > 0, w * down, 0.0)
        far[w < 0] = np.where(up[w < 0] > 0, np.inf, 0.0)
        must_hide = self.problem.must_hide
        least = 1.0 - float(far[must_hide].sum())
        if not least > _VIOLATED:
            return None
        cells = np.flatnonzero((far > 0) & ~must_hide)
        parts = np.minimum(far[cells] / least, 1.0)
        if parts @ hidden[cells] > 1.0 - _VIOLATED:
            return None
        return Cut(cells=cells, weights=parts, least=1.0)
