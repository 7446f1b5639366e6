"""What protection costs at least: a bound from single sums, whatever a search found.

In every sum that has a cell to protect, the other parts must make up for its move. What those
that are hidden anyway cannot, further cells must.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ckm.methods.suppression.secondary.problem import ranges
from ckm.methods.suppression.secondary.region import Incidence

if TYPE_CHECKING:
    from ckm.methods.suppression.secondary.problem import Demands, Problem
    from footing.arrays import Flags, Floats, Integers

#: So many demands are looked at together.
_MANY = 20_000
#: A demand that lacks less than such a share is met, but for rounding.
_NEAR = 1e-6


def least_cost(problem: Problem, demands: Demands | None = None) -> float:
    """Return what no choice of secondary cells costs less than.

    Parameters
    ----------
    problem
        The problem.
    demands
        What to protect; by default what the problem demands. Fewer give a bound, too.

    Notes
    -----
    If cell `p` must move by `need` and cells hidden anyway make up for `need - lack` in one of
    its sums, every choice satisfies ``sum_i min(far_i / lack, 1) hidden_i >= 1`` over the other
    cells `i` of the sum, which can move by `far_i`. The least cost over all choices of parts of
    cells is a linear program, and any weights of its dual give a bound. They are set one after
    another, for the sums of the fewest cells first, each as large as costs allow: no program is
    solved, and nothing rounded. What several sums together ask for is not seen, so that the
    bound may be far below the cheapest choice.

    Examples
    --------
    >>> from ckm.methods.suppression import Frequency, Grid, Problem, Relations, primary_cells
    >>> counts = np.array([30, 12, 18, 11, 1, 10, 19, 11, 8])
    >>> problem = Problem(
    ...     relations=Relations.of_grids([Grid.full([[-1, 0, 0], [-1, 0, 0]])]),
    ...     values=counts,
    ...     primary=primary_cells([Frequency(least=3)], counts=counts),
    ... )
    >>> least_cost(problem)
    21.0
    """
    demands = problem.demands if demands is None else demands
    sums = _Sums(problem, demands)
    # lines of demands against outsiders first, so that more demands never give a lower bound
    lines: list[tuple[bool, Integers, Floats]] = []
    has_known = np.diff(demands.starts) > 0
    for sign, need in ((1, demands.upper), (-1, demands.lower)):
        for is_known in (False, True):
            numbers = np.flatnonzero((need > 0) & (has_known == is_known))
            for start in range(0, len(numbers), _MANY):
                part = numbers[start : start + _MANY]
                own = sums.lines(part, need[part], sign)
                lines += [(is_known, cells, shares) for cells, shares in own]
    left, bound = np.where(problem.is_open, problem.cost, np.inf), 0.0
    for _, cells, shares in sorted(lines, key=lambda line: (line[0], len(line[1]))):
        weight = float((left[cells] / shares).min())
        if weight > 0:
            bound += weight
            left[cells] = np.maximum(left[cells] - weight * shares, 0.0)
    return bound


class _Known:
    """How far readers of demands believe cells may move, found by demand and cell."""

    def __init__(self, demands: Demands, n_cells: int) -> None:
        owner = np.repeat(np.arange(len(demands)), np.diff(demands.starts))
        key = owner * n_cells + demands.known
        self.order = np.argsort(key, kind="stable")
        self.key, self.n_cells, self.demands = key[self.order], n_cells, demands

    def limited(self, far: Floats, numbers: Integers, cells: Integers, rises: Flags) -> Floats:
        """Lower how far cells go to what the readers of demands believe."""
        if not self.key.size:
            return far
        key = numbers * self.n_cells + cells
        place = np.minimum(np.searchsorted(self.key, key), len(self.key) - 1)
        entry = self.order[place]
        believed = np.where(rises, self.demands.rise[entry], self.demands.fall[entry])
        return np.where(self.key[place] == key, np.minimum(far, believed), far)


class _Sums:
    """The sums of cells that demands are for, and what each of them asks of the others."""

    def __init__(self, problem: Problem, demands: Demands) -> None:
        self.problem, self.demands = problem, demands
        self.incidence = Incidence(problem.relations)
        self.known_at = _Known(demands, len(problem.value))

    def lines(
        self, numbers: Integers, need: Floats, sign: int
    ) -> list[tuple[Integers, Floats]]:
        """List inequalities, as cells and their weights: parts of them must add up to 1."""
        problem, demands, incidence = self.problem, self.demands, self.incidence
        relations = problem.relations
        sizes = incidence.numbers_of(demands.cell[numbers])
        pair = np.repeat(np.arange(len(numbers)), sizes)  # a demand and a sum of its cell
        row = incidence.rows_of(demands.cell[numbers])
        entries = ranges(relations.starts, row, np.arange(len(relations.cells)))
        owner = np.repeat(np.arange(len(row)), np.diff(relations.starts)[row])
        cells, weights = relations.cells[entries], relations.signs[entries]
        demand = numbers[pair[owner]]
        is_own = cells == demands.cell[demand]
        own = np.zeros(len(row), np.int64)
        own[owner[is_own]] = weights[is_own]
        can_move = (problem.is_open | problem.must_hide)[cells] & ~is_own
        owner, cells, weights, demand = (
            part[can_move] for part in (owner, cells, weights, demand)
        )
        rises = own[owner] * sign * weights < 0
        needs = need[pair]
        ratio = np.abs(weights / own[owner])  # how much a move of a cell makes up for
        far = np.where(rises, problem.rise[cells], problem.room[cells])
        far = np.minimum(self.known_at.limited(far, demand, cells, rises) * ratio, needs[owner])
        is_there = problem.must_hide[cells]
        lack = needs - np.bincount(owner, far * is_there, minlength=len(row))
        is_line = ~is_there & (far > 0) & (lack > _NEAR * needs)[owner]
        owner, cells, far = owner[is_line], cells[is_line], far[is_line]
        shares = np.minimum(far / lack[owner], 1.0)
        starts = np.flatnonzero(np.diff(owner, prepend=-1))
        ends = np.append(starts[1:], len(owner))[: len(starts)]
        pairs = zip(starts.tolist(), ends.tolist(), strict=True)
        return [(cells[start:end], shares[start:end]) for start, end in pairs]
