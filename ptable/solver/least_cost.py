"""Whole numbers with given sums and the least convex cost, with proof.

Floating point is believed when it says that a search is finished, and in nothing else.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from footing.messages import Message, Name
from ptable.errors import InternalError
from ptable.solver.integer.integers import Cost, Model, Prices, Program, Windows
from ptable.solver.integer.lattice import basis_of, coordinates

_HALF_WINDOW = 2
#: Windows that hold more numbers than this together take too long.
_MAX_COLUMNS = 2_000
_MAX_MOVES = 20
_ROUNDING = 1e-11


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a search found.

    Parameters
    ----------
    numbers
        The numbers of least cost; None where there are none, or none were found.
    is_finished
        Whether the search went to its end: nothing cheaper exists, or nothing at all.
    gap
        By how much the cost may exceed the least one; 0 where the search is finished.
    cost
        Of the numbers; infinite where there are none.

    Examples
    --------
    >>> Answer(numbers=(1, 3), is_finished=True).gap
    0.0
    """

    numbers: tuple[int, ...] | None
    is_finished: bool
    gap: float = 0.0
    cost: float = math.inf


def cheapest(answers: Sequence[Answer]) -> Answer:
    """Give the cheapest of several answers, to a question that is any of theirs."""
    best = min(answers, key=lambda answer: answer.cost)
    if all(answer.is_finished for answer in answers):
        return best
    bounds = [
        -math.inf if answer.gap == math.inf else answer.cost - answer.gap
        for answer in answers
        if answer.cost < math.inf or not answer.is_finished
    ]
    gap = max(0.0, best.cost - min(bounds)) if best.cost < math.inf else math.inf
    return replace(best, is_finished=False, gap=gap)


def least_cost(program: Program, *, most_nodes: int) -> Answer:
    """Find whole numbers of least cost.

    The search looks at a window around each number. What numbers outside cost at least follows
    from the prices of a linear programme that covers everything (weak duality): windows grow
    until nothing outside can be cheaper than what was found inside.

    Where that takes too many numbers, or nothing is inside, costs are continued outside as
    straight lines. A convex cost lies above them, so that an optimum inside is the optimum.
    """
    nothing = Answer(numbers=None, is_finished=True)
    is_empty = any(a > b for a, b in zip(program.lower, program.upper, strict=True))
    if is_empty or coordinates(basis_of(program.rows), program.goals) is None:
        return nothing
    windows: Windows = [
        (max(low, at - _HALF_WINDOW), min(high, at + _HALF_WINDOW)) if callable(cost) else None
        for cost, at, low, high in zip(
            program.costs, _centre(program), program.lower, program.upper, strict=True
        )
    ]
    multipliers = Model.of(program, windows, with_outside=True).prices()
    if multipliers is None:
        return nothing
    with_outside = False
    while True:
        model = Model.of(program, windows, with_outside=with_outside)
        numbers, is_finished, bound = model.search(most_nodes)
        if numbers is None and (with_outside or not any(windows)):
            return replace(
                nothing, is_finished=is_finished, gap=0.0 if is_finished else math.inf
            )
        if numbers is None:
            with_outside = True
            continue
        if misses := program.misses(numbers):
            raise InternalError(
                Message("The integers found miss {missed}.", missed=Name.each(misses[:5]))
            )
        cost = program.cost(numbers)
        goals = (
            _around(program, windows, numbers)
            if with_outside
            else _worth_a_look(program, multipliers, cost)
        )
        next_windows = [
            window and other and (min(window[0], other[0]), max(window[1], other[1]))
            for window, other in zip(windows, goals, strict=True)
        ]
        if next_windows == windows:
            gap = 0.0 if is_finished else max(0.0, cost - bound)
            return Answer(numbers=numbers, is_finished=is_finished, gap=gap, cost=cost)
        if not with_outside and sum(w[1] - w[0] for w in next_windows if w) > _MAX_COLUMNS:
            with_outside = True
        else:
            windows = next_windows


def _centre(program: Program) -> Sequence[int]:
    """Move from where numbers are expected to where fractions would cost least."""
    near: Sequence[int] = program.near
    if not any(map(callable, program.costs)):
        return near
    for _ in range(_MAX_MOVES):
        better = Model.coarse(program, near).relaxed()
        if better is None:
            break
        moves = zip(program.costs, near, better, strict=True)
        is_there = all(abs(a - b) <= 1 for cost, a, b in moves if callable(cost))
        near = better
        if is_there:
            break
    return near


def _around(program: Program, windows: Windows, numbers: Sequence[int]) -> Windows:
    """Move the windows that do not hold their number."""
    return [
        window
        if window is None or window[0] <= n <= window[1]
        else (max(low, n - _HALF_WINDOW), min(high, n + _HALF_WINDOW))
        for window, n, low, high in zip(
            windows, numbers, program.lower, program.upper, strict=True
        )
    ]


def _worth_a_look(program: Program, multipliers: Prices, cost: float) -> Windows:
    """Give the windows outside of which everything costs more than what was found."""
    charges, bound = multipliers
    curves = [
        _Curve(price, charge, low, high)
        for price, charge, low, high in zip(
            program.costs, charges, program.lower, program.upper, strict=True
        )
    ]
    bound = math.fsum((bound, *(curve.least for curve in curves)))
    room = cost - bound + _ROUNDING * (1 + abs(cost))
    return [
        curve.window(room) if callable(price) else None
        for price, curve in zip(program.costs, curves, strict=True)
    ]


class _Curve:
    """The cost of one number less what it is worth: convex, with a least value."""

    def __init__(self, cost: Cost, charge: float, low: int, high: int) -> None:
        self.cost, self.charge, self.low, self.high = cost, charge, low, high
        self.lowest = _first(low, high, lambda n: self(n + 1) >= self(n))
        self.least = self(self.lowest)

    def __call__(self, n: int) -> float:
        cost = self.cost(n) if callable(self.cost) else self.cost * n
        return cost - self.charge * n

    def window(self, room: float) -> tuple[int, int]:
        """Give the numbers whose cost exceeds the least one by no more than the room."""
        limit = self.least + room
        first = _first(self.low, self.lowest, lambda n: self(n) <= limit)
        return first, _first(self.lowest, self.high, lambda n: self(n + 1) > limit)


def _first(low: int, high: int, is_reached: Callable[[int], bool]) -> int:
    """Find the first number from low on at which something is reached; high at the latest."""
    return low + bisect_left(range(low, high), 1, key=is_reached)
