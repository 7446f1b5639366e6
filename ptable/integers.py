"""Whole numbers with given sums and the least convex cost, by integer programming.

The only module that calls HiGHS, through scipy. What comes back is rounded and checked in exact
arithmetic; nothing that floating point says is believed but that a search is finished.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ptable.errors import InternalError
from ptable.lattice import basis_of, coordinates

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Answer", "Program", "cheapest", "least_cost"]

#: HiGHS stops within 1e-6 of the optimum; costs are scaled so that this means nothing.
_SCALE = 1e4
#: What separates ties, in scaled cost per unit: far above 1e-6, far below what matters.
_TIE = 1e-3
_GOLDEN = (math.sqrt(5) - 1) / 2
_HALF_WINDOW = 2
#: What scipy calls the end of a search.
_OPTIMAL, _STOPPED, _INFEASIBLE = 0, 1, 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """Ask for whole numbers of least cost.

    Parameters
    ----------
    costs
        Per number its cost, a convex function; None where it costs nothing.
    rows, goals
        Weighted sums of the numbers, and what each must be.
    lower, upper
        The range of every number.
    near
        Where the numbers are expected; any place in range will do.
    orders
        Pairs of places: the number at the first may not exceed the one at the second.
    fineness
        By how much costs are to be stretched before they are compared.

    Examples
    --------
    >>> square = lambda n: float(n * n)
    >>> program = Program(
    ...     costs=(square, square),
    ...     rows=((1, 2),),
    ...     goals=(7,),
    ...     lower=(0, 0),
    ...     upper=(9, 9),
    ...     near=(0, 0),
    ... )
    >>> least_cost(program, most_nodes=100).numbers
    (1, 3)
    """

    costs: tuple[Callable[[int], float] | None, ...]
    rows: tuple[tuple[int, ...], ...]
    goals: tuple[int, ...]
    lower: tuple[int, ...]
    upper: tuple[int, ...]
    near: tuple[int, ...]
    orders: tuple[tuple[int, int], ...] = ()
    fineness: float = 1.0

    def with_slack(self, weight: int, *, price: float, most: int) -> Program:
        """Add a number from 0 on that counts in the last row only and has a price.

        Parameters
        ----------
        weight
            Its weight in the last row.
        price
            The cost of each unit.
        most
            The largest it may become.

        Examples
        --------
        >>> program = Program(
        ...     costs=(None,), rows=((2,),), goals=(5,), lower=(0,), upper=(9,), near=(0,)
        ... ).with_slack(1, price=1.0, most=9)
        >>> least_cost(program, most_nodes=100).numbers
        (2, 1)
        """
        *others, last = self.rows
        return replace(
            self,
            costs=(*self.costs, lambda n: price * n),
            rows=(*((*row, 0) for row in others), (*last, weight)),
            lower=(*self.lower, 0),
            upper=(*self.upper, most),
            near=(*self.near, 0),
        )

    def misses(self, numbers: Sequence[int]) -> list[str]:
        """Name, in exact arithmetic, what numbers do not satisfy.

        Parameters
        ----------
        numbers
            One per place.

        Examples
        --------
        >>> program = Program(
        ...     costs=(None,), rows=((2,),), goals=(4,), lower=(0,), upper=(9,), near=(0,)
        ... )
        >>> program.misses([2]), program.misses([3])
        ([], ['sum 0'])
        """
        found = [
            f"sum {place}"
            for place, (row, goal) in enumerate(zip(self.rows, self.goals, strict=True))
            if sum(a * n for a, n in zip(row, numbers, strict=True)) != goal
        ]
        ranges = enumerate(zip(self.lower, numbers, self.upper, strict=True))
        found += [f"range {place}" for place, (low, n, high) in ranges if not low <= n <= high]
        return found + [f"order {a}-{b}" for a, b in self.orders if numbers[a] > numbers[b]]


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
    """Give the cheapest of several answers, to a question that is any of theirs.

    Parameters
    ----------
    answers
        At least one.

    Examples
    --------
    >>> one = Answer(numbers=(1,), is_finished=True, cost=2.0)
    >>> other = Answer(numbers=(5,), is_finished=False, cost=2.5, gap=1.0)
    >>> cheapest([one, other])
    Answer(numbers=(1,), is_finished=False, gap=0.5, cost=2.0)
    """
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

    Parameters
    ----------
    program
        What is asked for.
    most_nodes
        After how many nodes to stop: a count, as seconds would differ from run to run.

    Notes
    -----
    The cost is followed exactly inside a window around each number and continued as a straight
    line outside. A convex cost lies above that line, so that an optimum inside all windows is
    the optimum; a window that does not hold its number grows, and the search is repeated.

    Sums are first expressed in a basis of those that whole numbers can have: what no whole
    numbers can have is found by arithmetic, and the solver sees no parity to stumble over.

    Examples
    --------
    >>> program = Program(
    ...     costs=(None, None),
    ...     rows=((2, 4),),
    ...     goals=(7,),
    ...     lower=(0, 0),
    ...     upper=(9, 9),
    ...     near=(0, 0),
    ... )
    >>> least_cost(program, most_nodes=100)
    Answer(numbers=None, is_finished=True, gap=0.0, cost=inf)
    """
    nothing = Answer(numbers=None, is_finished=True)
    basis = basis_of(program.rows)
    goals = coordinates(basis, program.goals)
    is_empty = any(a > b for a, b in zip(program.lower, program.upper, strict=True))
    if goals is None or is_empty:
        return nothing
    columns = (coordinates(basis, column) for column in zip(*program.rows, strict=True))
    rows = tuple(zip(*(column or () for column in columns), strict=True))
    reduced = replace(program, rows=rows, goals=goals)
    windows = _first_windows(program)
    while True:
        numbers, status, bound = _search(reduced, windows, most_nodes)
        is_finished = status != _STOPPED
        if numbers is None:
            return replace(
                nothing, is_finished=is_finished, gap=0.0 if is_finished else math.inf
            )
        if missed := program.misses(numbers):
            raise InternalError(f"The integers found miss {', '.join(missed[:5])}.")
        grown = [
            _grow(window, n, low, high) if cost else window
            for cost, n, window, low, high in zip(
                program.costs, numbers, windows, program.lower, program.upper, strict=True
            )
        ]
        if grown == windows:
            spent = math.fsum(c(n) for c, n in zip(program.costs, numbers, strict=True) if c)
            gap = 0.0 if is_finished else max(0.0, spent - bound)
            return Answer(numbers=numbers, is_finished=is_finished, gap=gap, cost=spent)
        windows = grown


def _first_windows(program: Program) -> list[tuple[int, int]]:
    return [
        (max(low, at - _HALF_WINDOW), min(high, at + _HALF_WINDOW)) if cost else (at, at)
        for cost, at, low, high in zip(
            program.costs, program.near, program.lower, program.upper, strict=True
        )
    ]


def _grow(window: tuple[int, int], n: int, low: int, high: int) -> tuple[int, int]:
    if window[0] <= n <= window[1]:
        return window
    return (
        max(low, min(n - _HALF_WINDOW, window[0])),
        min(high, max(n + _HALF_WINDOW, window[1])),
    )


def _columns(
    program: Program, windows: Sequence[tuple[int, int]]
) -> list[tuple[int, int, int, float]]:
    """List what may be added to the lower ends: place, sign, how often, at what cost."""
    columns = []
    for place, (cost, (first, last)) in enumerate(zip(program.costs, windows, strict=True)):
        low, high = program.lower[place], program.upper[place]
        tie = _TIE * ((place + 1) * _GOLDEN % 1)

        def price(n: int, cost: Any = cost, tie: float = tie) -> float:
            change = cost(n + 1) - cost(n) if cost else 0.0
            return change * _SCALE * program.fineness + tie

        columns += [(place, 1, 1, price(n)) for n in range(first, last)]
        if last < high:
            columns.append((place, 1, high - last, price(last)))
        if first > low:
            columns.append((place, -1, first - low, -price(first - 1)))
    return columns


def _search(
    program: Program, windows: Sequence[tuple[int, int]], most_nodes: int
) -> tuple[tuple[int, ...] | None, int, float]:
    """Ask HiGHS; give the numbers, how the search ended and a bound on the cost."""
    # heavy, and lookups must not load it
    from scipy.optimize import Bounds, LinearConstraint, milp

    columns = _columns(program, windows)
    start = [first for first, _ in windows]
    if not columns:
        return (
            (None, _INFEASIBLE, 0.0) if program.misses(start) else (tuple(start), _OPTIMAL, 0.0)
        )
    n_sums = len(program.rows)
    matrix = np.zeros((n_sums + len(program.orders), len(columns)))
    least = np.zeros(len(matrix))
    for row, (weights, goal) in enumerate(zip(program.rows, program.goals, strict=True)):
        least[row] = goal - sum(a * n for a, n in zip(weights, start, strict=True))
        matrix[row] = [weights[place] * sign for place, sign, _, _ in columns]
    for row, (a, b) in enumerate(program.orders, start=n_sums):
        least[row] = start[a] - start[b]
        matrix[row] = [((place == b) - (place == a)) * sign for place, sign, _, _ in columns]
    most = least.copy()
    most[n_sums:] = np.inf
    given: dict[str, Any] = {
        "c": np.array([price for *_, price in columns]),
        "integrality": np.ones(len(columns)),
        "bounds": Bounds(0, np.array([often for _, _, often, _ in columns], dtype=np.float64)),
        "constraints": LinearConstraint(matrix, least, most) if len(matrix) else (),
    }
    options: Any = {"mip_rel_gap": 0.0, "node_limit": most_nodes}
    result = milp(**given, options=options)
    if result.status not in {_OPTIMAL, _STOPPED, _INFEASIBLE}:
        result = milp(**given, options={**options, "presolve": False})
    if result.status not in {_OPTIMAL, _STOPPED, _INFEASIBLE}:
        raise InternalError(f"The integer solver gave up: {result.message}")
    if result.x is None:
        return None, int(result.status), math.inf
    numbers = list(start)
    for (place, sign, _, _), often in zip(columns, result.x.tolist(), strict=True):
        numbers[place] += sign * round(often)
    base = math.fsum(c(n) for c, n in zip(program.costs, start, strict=True) if c)
    bound = base + float(result.mip_dual_bound) / (_SCALE * program.fineness)
    return tuple(numbers), int(result.status), bound
