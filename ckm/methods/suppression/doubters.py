"""Contributors who believe in none of some changes, found for all of them at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ckm.methods.suppression.secondary.cover import Change
    from ckm.methods.suppression.secondary.problem import Problem
    from footing.arrays import Floats, Integers

_NEAR, _EXACT = 1e-6, 1e-9


class Doubters:
    """For each change, how often every contributor believes that it may be taken.

    A contributor of several cells believes in a change as often as in the move of that cell of
    his which allows the least; of his own cell that somebody asks about, nothing is kept from
    him but what the rules say. So two least numbers are kept for each, with the cell of the
    first.

    Parameters
    ----------
    problem
        The problem; its primary cells come with contributions.
    gifts
        What every contributor gave to every cell, one row a contributor.
    """

    def __init__(self, problem: Problem, gifts: Any) -> None:
        self.problem = problem
        self.given: Any = problem.primary.contributions
        self.by_cell = gifts.T.tocsr()
        self.by_cell.sort_indices()
        self._limits: dict[tuple[int, bool], tuple[Change, float, Any]] = {}

    def unguarded(
        self, cell: int, sign: int, changes: Sequence[Change]
    ) -> tuple[Integers, list[int] | None]:
        """List who believes in none of some changes of a cell, and which changes were used.

        None are used where the cell itself does not go far enough for an outsider.
        """
        need = self.needs(cell, np.zeros(1))[sign > 0][0]
        part = slice(self.by_cell.indptr[cell], self.by_cell.indptr[cell + 1])
        inside, gave = self.by_cell.indices[part], self.by_cell.data[part]
        most = self.needs(cell, gave)[sign > 0]
        # the largest two are those of whom the rules think
        largest = most[np.argsort(-gave, kind="stable")[:2]].max(initial=need)
        nobody = np.zeros(0, np.int64)
        if largest <= 0:
            return nobody, []
        ways: dict[int, tuple[float, float, Any]] = {}

        def way(number: int) -> tuple[float, float, Any]:
            if number not in ways:
                change = changes[number]
                move = float(change.moves[np.searchsorted(change.cells, cell)])
                reach, limits = self._of(change, is_forth=sign * move > 0)
                ways[number] = abs(move), reach * abs(move) * (1 + _NEAR), limits
            return ways[number]

        first = next((n for n in range(len(changes)) if way(n)[1] >= largest), None)
        if first is None:
            return nobody, None
        doubters = way(first)[2][0]
        needs = self._of_each(doubters, need, inside, most)
        doubters, needs = doubters[needs > 0], needs[needs > 0]
        used = []
        for number in [first, *range(first), *range(first + 1, len(changes))]:
            move, far, limits = way(number)
            used.append(number)
            doubts = (needs > far) | self._doubt(doubters, needs / move, cell, limits)
            doubters, needs = doubters[doubts], needs[doubts]
            if not doubters.size:
                break
        return doubters, used

    def _of_each(self, who: Integers, need: float, inside: Integers, most: Floats) -> Floats:
        """Return what contributors inside and outside must believe possible of a cell."""
        needs, is_in = np.full(len(who), need), np.zeros(len(who), bool)
        if inside.size:
            place = np.minimum(np.searchsorted(inside, who), inside.size - 1)
            is_in = inside[place] == who
            needs[is_in] = most[place[is_in]]
        # of the contributors of a cell elsewhere, the largest knows most
        needs[~is_in & ~self._is_first(who)] = 0.0
        return needs

    def _is_first(self, who: Integers) -> Any:
        n_leaves = len(self.problem.value)
        return who < n_leaves if self.given.held is None else np.ones(len(who), bool)

    def needs(self, cell: int, own: Floats) -> tuple[Floats, Floats]:
        """Return how far below and above a cell must seem possible to who gave so much."""
        problem, given, rest = self.problem, self.given, self.problem.primary
        room = np.minimum(problem.room[cell], problem.value[cell] - own)
        less = given.second[cell] - own
        lines = []
        for levels in (given.lower[:, cell], given.upper[:, cell]):
            other = np.maximum(levels[2], levels[3] - less)
            at_most = np.where(own >= given.first[cell], levels[1], other)
            lines.append(np.where(own <= 0, levels[0], at_most))
        lower = np.minimum(np.minimum(lines[0], rest.lower[cell]), room)
        return lower, np.minimum(lines[1], rest.upper[cell])

    @staticmethod
    def _doubt(who: Integers, times: Floats, cell: int, limits: Any) -> Any:
        """Tell who does not believe that a change may be taken so often."""
        contributors, least, at, second = limits
        if not contributors.size:
            return np.zeros(len(who), bool)
        place = np.minimum(np.searchsorted(contributors, who), contributors.size - 1)
        own = np.where(at[place] == cell, second[place], least[place])
        return (contributors[place] == who) & (times * (1 - _NEAR) > own)

    def _of(self, change: Change, *, is_forth: bool) -> tuple[float, Any]:
        """Return how often a change may be taken, and by whom how often at most."""
        key = id(change), is_forth
        if key not in self._limits:
            falls, rises = change.reach(self.problem)
            reach, moves = (rises, change.moves) if is_forth else (falls, -change.moves)
            self._limits[key] = change, reach, self._limited(change, moves, reach)
        _, own_reach, limits = self._limits[key]
        return own_reach, limits

    def _limited(self, change: Change, moves: Floats, reach: float) -> Any:
        """Return contributors, their two least numbers of times, and the cells of the first."""
        from ckm.methods.suppression.secondary.problem import ranges

        cells, matrix = change.cells, self.by_cell
        entries = ranges(matrix.indptr, cells, np.arange(len(matrix.indices)))
        owner = np.repeat(np.arange(len(cells)), np.diff(matrix.indptr)[cells])
        who, gave, cell = matrix.indices[entries], matrix.data[entries], cells[owner]
        value = self.problem.value[cell]
        far = np.maximum(value - gave + _EXACT * np.abs(value), 0.0) / np.abs(moves[owner])
        far[moves[owner] > 0] = np.inf
        far[self.given.number[cell] <= 1] = 0.0
        is_near = far < reach
        who, far, cell = who[is_near], far[is_near], cell[is_near]
        order = np.lexsort((far, who))
        who, far, cell = who[order], far[order], cell[order]
        start = np.flatnonzero(np.diff(who, prepend=-1))
        second = np.full(len(start), np.inf)
        size = np.diff(start, append=len(who))
        second[size > 1] = far[start[size > 1] + 1]
        return who[start].astype(np.int64), far[start], cell[start], second
