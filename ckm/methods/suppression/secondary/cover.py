"""What is hidden so far, and the proofs that it is enough."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ckm.methods.suppression.secondary.problem import Demands, Problem, ranges
from footing.arrays import Flags, Floats, Integers

#: a demand's number, and 1 for up or -1 for down
Side: TypeAlias = tuple[int, int]

_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Change:
    """A change of some cells that leaves every sum as it is.

    Whoever sees only the other cells cannot tell the table from the changed one.

    Parameters
    ----------
    cells
        The cells that change, rising.
    moves
        By how much, up to a common factor; none is 0.

    Examples
    --------
    >>> Change(cells=np.array([1, 2]), moves=np.array([1.0, -1.0]))
    Change(2 cells)
    """

    cells: Integers
    moves: Floats

    def reach(self, problem: Problem) -> tuple[float, float]:
        """Tell how often it may be taken away, and added, before a cell leaves its bounds."""
        size, is_up = np.abs(self.moves), self.moves > 0
        down, up = problem.room[self.cells] / size, problem.rise[self.cells] / size
        rises = np.where(is_up, up, down).min(initial=np.inf)
        falls = np.where(is_up, down, up).min(initial=np.inf)
        return float(falls), float(rises)

    def __repr__(self) -> str:
        return f"Change({len(self.cells)} cells)"


class Cover:
    """Cells hidden so far; for every demand, whether a change proves it met.

    Parameters
    ----------
    problem
        The problem.
    demands
        What to protect; by default what the problem demands.
    """

    def __init__(self, problem: Problem, demands: Demands | None = None) -> None:
        self.problem = problem
        self.demands = problem.demands if demands is None else demands
        self.hidden = problem.must_hide.copy()
        self.is_low_met = self.demands.lower <= 0
        self.is_high_met = self.demands.upper <= 0
        self.changes: list[Change] = []
        #: changes that meet demands by the account of a program, which rounds
        self.claims: dict[Side, Change] = {}

    def enlarged(self, problem: Problem) -> Cover:
        """Return the same changes for a problem of the same demands and further ones."""
        larger, n_old = Cover(problem), len(self.demands)
        added = Cover(problem, larger.demands.after(n_old))
        for change in self.changes:
            added.add(change)
        larger.hidden, larger.changes = added.hidden, added.changes
        larger.claims = dict(self.claims)
        larger.is_low_met = np.append(self.is_low_met, added.is_low_met)
        larger.is_high_met = np.append(self.is_high_met, added.is_high_met)
        return larger

    def open_demands(self) -> Integers:
        """List the demands that nothing proves met, the least valuable cells first."""
        numbers = np.flatnonzero(~(self.is_low_met & self.is_high_met))
        value = self.problem.value[self.demands.cell[numbers]]
        return numbers[np.argsort(value, kind="stable")]

    def add(self, change: Change) -> None:
        """Hide the cells of a change, and note what it proves."""
        self.hidden[change.cells] = True
        self.changes.append(change)
        for number, sign in self.proven_by(change, is_open=True):
            (self.is_high_met if sign > 0 else self.is_low_met)[number] = True

    def claim(self, change: Change, numbers: Integers, sign: int) -> None:
        """Note that a program meets demands by a change, to its tolerance."""
        (self.is_high_met if sign > 0 else self.is_low_met)[numbers] = True
        self.claims |= dict.fromkeys(((number, sign) for number in numbers.tolist()), change)

    def proofs(self) -> dict[Side, Change]:
        """Give for demands, up (1) and down (-1), the smallest change that proves them met."""
        by_side: dict[Side, Change] = {}
        for change in sorted(self.changes, key=lambda c: len(c.cells)):
            for side in self.proven_by(change):
                by_side.setdefault(side, change)
        return by_side

    def proven_by(self, change: Change, *, is_open: bool = False) -> list[Side]:
        """List demands, up (1) and down (-1), that a change proves met: all, or open ones."""
        numbers, place = self.demands.of_cells(change.cells)
        falls, rises = change.reach(self.problem)
        own = change.moves[place]
        far = np.abs(own) * (1 + _TOLERANCE)
        sides: list[Side] = []
        for sign, reached, need, is_met in (
            (1, np.where(own > 0, rises, falls), self.demands.upper, self.is_high_met),
            (-1, np.where(own > 0, falls, rises), self.demands.lower, self.is_low_met),
        ):
            needs = need[numbers]
            mask = (far * reached >= needs) & (needs > 0)
            at = np.flatnonzero(mask & ~is_met[numbers] if is_open else mask)
            believed = self._suits(numbers[at], change, sign * needs[at] / own[at])
            sides += [(number, sign) for number in numbers[at][believed].tolist()]
        return sides

    def _suits(self, numbers: Integers, change: Change, factors: Floats) -> Flags:
        """Tell which demands' readers believe in a change, each so many times."""
        starts = self.demands.starts
        sizes = starts[numbers + 1] - starts[numbers]
        entries = ranges(starts, numbers, np.arange(len(self.demands.known)))
        owner = np.repeat(np.arange(len(numbers)), sizes)
        known_cells = self.demands.known[entries]
        place = np.minimum(np.searchsorted(change.cells, known_cells), len(change.cells) - 1)
        is_here = change.cells[place] == known_cells
        moved = np.where(is_here, change.moves[place], 0.0) * factors[owner]
        far = np.where(moved < 0, self.demands.fall[entries], self.demands.rise[entries])
        doubts = np.bincount(owner, np.abs(moved) > far * (1 + _TOLERANCE), len(numbers))
        return np.asarray(doubts == 0)

    def cost(self) -> float:
        """Return what hiding the secondary cells costs."""
        secondary = self.hidden & ~self.problem.must_hide
        return float(self.problem.cost[secondary].sum())
