"""Whole numbers with given sums and the least cost: the question, and HiGHS to answer it.

The only module that calls an integer solver. Numbers that come back are rounded and have to be
checked with `Program.misses`, in exact arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from footing.messages import Message, Name
from ptable.errors import InternalError

#: HiGHS stops within 1e-6 of the optimum; costs are scaled so that this means nothing.
_SCALE = 1e3
#: What separates ties, in scaled cost per unit: far above 1e-6, far below what matters.
_TOLERANCE = 1e-4
_GOLDEN = (math.sqrt(5) - 1) / 2
#: One thread and one seed: the same question gets the same answer.
_OPTIONS: dict[str, bool | int | float] = {
    "output_flag": False,
    "threads": 1,
    "random_seed": 0,
    "mip_rel_gap": 0.0,
    "mip_abs_gap": 1e-6,
}

Cost: TypeAlias = "Callable[[int], float] | float"
#: Per number the range inside which its cost is followed; None where it has a price per unit.
Windows: TypeAlias = "list[tuple[int, int] | None]"
#: What a unit of each number is worth, and what all goals together are.
Prices: TypeAlias = tuple[list[float], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """Ask for whole numbers of least cost.

    Parameters
    ----------
    costs
        Per number its cost: a convex function, or the price of every unit.
    rows, goals
        Weighted sums of the numbers, and what each must be.
    lower, upper
        The range of every number.
    near
        Where the numbers are expected; anything in range will do.
    orders
        Pairs of places: the number at the first may not exceed the one at the second.
    fineness
        By how much costs are to be stretched before they are compared.
    """

    costs: tuple[Cost, ...]
    rows: tuple[tuple[int, ...], ...]
    goals: tuple[int, ...]
    lower: tuple[int, ...]
    upper: tuple[int, ...]
    near: tuple[int, ...]
    orders: tuple[tuple[int, int], ...] = ()
    fineness: float = 1.0

    def with_slack(self, weight: int, *, price: float, most: int) -> Program:
        """Add a number from 0 on that counts in the last row only and has a price."""
        *others, last = self.rows
        return replace(
            self,
            costs=(*self.costs, price),
            rows=(*((*row, 0) for row in others), (*last, weight)),
            lower=(*self.lower, 0),
            upper=(*self.upper, most),
            near=(*self.near, 0),
        )

    def cost(self, numbers: Sequence[int]) -> float:
        """Give the cost of numbers."""
        pairs = zip(self.costs, numbers, strict=True)
        return math.fsum(cost(n) if callable(cost) else cost * n for cost, n in pairs)

    def misses(self, numbers: Sequence[int]) -> list[str]:
        """Name, in exact arithmetic, what numbers do not satisfy."""
        names = [
            f"sum {place}"
            for place, (row, goal) in enumerate(zip(self.rows, self.goals, strict=True))
            if sum(a * n for a, n in zip(row, numbers, strict=True)) != goal
        ]
        ranges = enumerate(zip(self.lower, numbers, self.upper, strict=True))
        names += [f"range {place}" for place, (low, n, high) in ranges if not low <= n <= high]
        return names + [f"order {a}-{b}" for a, b in self.orders if numbers[a] > numbers[b]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """State what the solver sees: how often each column is taken, on top of the least numbers.

    Parameters
    ----------
    program
        The question.
    start
        The number at each place when no column is taken.
    columns
        Per column its place, whether it adds or takes away, how often it may, at what cost.
    matrix, goals
        What the columns add to the sums, and then to the differences of `Program.orders`; what
        the former must be and the latter may be at most.

    Examples
    --------
    >>> program = Program(
    ...     costs=(1.0,), rows=((2,),), goals=(4,), lower=(0,), upper=(9,), near=(0,)
    ... )
    >>> Model.of(program, [None], with_outside=False).columns
    ((0, 1, 9, 1.0),)
    """

    program: Program
    start: tuple[int, ...]
    columns: tuple[tuple[int, int, int, float], ...]
    matrix: NDArray[np.float64]
    goals: NDArray[np.float64]

    @classmethod
    def of(cls, program: Program, windows: Windows, *, with_outside: bool) -> Model:
        """Build the model of a program.

        Parameters
        ----------
        program
            The question.
        windows
            Where the costs of the numbers are followed.
        with_outside
            Whether numbers may leave their windows, costs continuing as straight lines.

        Examples
        --------
        >>> program = Program(
        ...     costs=(float,), rows=((2,),), goals=(4,), lower=(0,), upper=(9,), near=(0,)
        ... )
        >>> Model.of(program, [(1, 3)], with_outside=False).columns
        ((0, 1, 1, 1.0), (0, 1, 1, 1.0))
        """
        start: list[int] = []
        columns: list[tuple[int, int, int, float]] = []
        for place, (cost, window) in enumerate(zip(program.costs, windows, strict=True)):
            low, high = program.lower[place], program.upper[place]
            if window is None or not callable(cost):
                start.append(low)
                columns.append((place, 1, high - low, cost if not callable(cost) else 0.0))
                continue
            first, last = window
            start.append(first)
            columns += [(place, 1, 1, cost(n + 1) - cost(n)) for n in range(first, last)]
            if with_outside and last < high:
                columns.append((place, 1, high - last, cost(last + 1) - cost(last)))
            if with_outside and first > low:
                columns.append((place, -1, first - low, cost(first - 1) - cost(first)))
        return cls._assembled(program, start, columns)

    @classmethod
    def coarse(cls, program: Program, near: Sequence[int]) -> Model:
        """Build a model that follows costs everywhere, in steps that double away from a place.

        Parameters
        ----------
        program
            The question.
        near
            Where the steps are smallest, for every number.

        Examples
        --------
        >>> program = Program(
        ...     costs=(float,), rows=((2,),), goals=(4,), lower=(0,), upper=(9,), near=(0,)
        ... )
        >>> [often for _, _, often, _ in Model.coarse(program, [3]).columns]
        [1, 1, 1, 1, 1, 2, 2]
        """
        columns: list[tuple[int, int, int, float]] = []
        for place, (cost, at) in enumerate(zip(program.costs, near, strict=True)):
            low, high = program.lower[place], program.upper[place]
            if not callable(cost):
                columns.append((place, 1, high - low, cost))
                continue
            steps = [2**k for k in range((high - low).bit_length())]
            stops = {low, at, high, *(at - n for n in steps), *(at + n for n in steps)}
            columns += [
                (place, 1, b - a, (cost(b) - cost(a)) / (b - a))
                for a, b in pairwise(sorted(stop for stop in stops if low <= stop <= high))
            ]
        return cls._assembled(program, list(program.lower), columns)

    @classmethod
    def _assembled(
        cls, program: Program, start: list[int], columns: list[tuple[int, int, int, float]]
    ) -> Model:
        places = np.array([place for place, *_ in columns], dtype=np.int64)
        signs = np.array([sign for _, sign, *_ in columns], dtype=np.float64)
        weights = np.zeros((len(program.rows) + len(program.orders), len(start)))
        goals = np.zeros(len(weights))
        for row, (numbers, goal) in enumerate(zip(program.rows, program.goals, strict=True)):
            weights[row] = numbers
            goals[row] = goal - sum(a * n for a, n in zip(numbers, start, strict=True))
        for row, (a, b) in enumerate(program.orders, start=len(program.rows)):
            weights[row, a], weights[row, b] = 1, -1
            goals[row] = start[b] - start[a]
        return cls(
            program=program,
            start=tuple(start),
            columns=tuple(columns),
            matrix=weights[:, places] * signs,
            goals=goals,
        )

    def relaxed(self) -> list[int] | None:
        """Give the numbers of least cost among fractions, rounded; None where there are none.

        Examples
        --------
        >>> program = Program(
        ...     costs=(3.0,), rows=((2,),), goals=(4,), lower=(0,), upper=(9,), near=(0,)
        ... )
        >>> Model.of(program, [None], with_outside=False).relaxed()
        [2]
        """
        answer = self._ask([cost for *_, cost in self.columns], most_nodes=None)
        if not answer.is_optimal:
            return None
        numbers = [float(n) for n in self.start]
        for (place, sign, *_), often in zip(self.columns, answer.taken, strict=True):
            numbers[place] += sign * often
        return [
            min(max(round(n), low), high)
            for n, low, high in zip(
                numbers, self.program.lower, self.program.upper, strict=True
            )
        ]

    def prices(self) -> Prices | None:
        """Price the sums by linear programming; None where not even fractions have them.

        Examples
        --------
        >>> program = Program(
        ...     costs=(3.0,), rows=((2,),), goals=(4,), lower=(0,), upper=(9,), near=(0,)
        ... )
        >>> Model.of(program, [None], with_outside=False).prices()
        ([3.0], 6.0)
        """
        n_sums = len(self.program.rows)
        if not self.columns:
            return [0.0] * len(self.start), 0.0
        answer = self._ask([cost for *_, cost in self.columns], most_nodes=None)
        if not answer.is_optimal:
            return None if answer.is_infeasible else ([0.0] * len(self.start), 0.0)
        sums, falls = answer.prices[:n_sums], answer.prices[n_sums:]
        charges = [
            math.fsum(y * row[place] for y, row in zip(sums, self.program.rows, strict=True))
            for place in range(len(self.start))
        ]
        for (a, b), fall in zip(self.program.orders, falls, strict=True):
            charges[a] += min(fall, 0.0)
            charges[b] -= min(fall, 0.0)
        return charges, math.fsum(y * g for y, g in zip(sums, self.program.goals, strict=True))

    def search(self, most_nodes: int) -> tuple[tuple[int, ...] | None, bool, float]:
        """Give the best numbers, whether the search was finished and a bound on the cost.

        Parameters
        ----------
        most_nodes
            After how many nodes to stop.

        Examples
        --------
        >>> program = Program(
        ...     costs=(3.0,), rows=((2,),), goals=(4,), lower=(0,), upper=(9,), near=(0,)
        ... )
        >>> Model.of(program, [None], with_outside=False).search(9)[:2]
        ((2,), True)
        """
        if not self.columns:
            numbers = None if self.program.misses(self.start) else self.start
            return numbers, True, self.program.cost(self.start)
        scale = _SCALE * self.program.fineness
        costs = [
            cost * scale + sign * _TOLERANCE * ((place + 1) * _GOLDEN % 1)
            for place, sign, _, cost in self.columns
        ]
        answer = self._ask(costs, most_nodes=most_nodes)
        if not answer.taken:
            return None, answer.is_infeasible, -math.inf
        whole = list(self.start)
        for (place, sign, *_), often in zip(self.columns, answer.taken, strict=True):
            whole[place] += sign * round(often)
        bound = self.program.cost(self.start) + answer.bound / scale
        return tuple(whole), answer.is_optimal, bound

    def _ask(self, costs: Sequence[float], *, most_nodes: int | None) -> _Reply:
        """Ask HiGHS, for whole numbers where there is a limit on nodes."""
        # heavy, and lookups must not load it
        import highspy

        solver = highspy.Highs()  # type: ignore[no-untyped-call]
        options = _OPTIONS if most_nodes is None else {**_OPTIONS, "mip_max_nodes": most_nodes}
        for name, value in options.items():
            solver.setOptionValue(name, value)
        lowest = self.goals.copy()
        lowest[len(self.program.rows) :] = -np.inf
        where, rows = np.nonzero(self.matrix.T)
        question = highspy.HighsLp()
        question.num_row_, question.num_col_ = self.matrix.shape
        question.col_cost_ = np.array(costs)
        question.col_lower_ = np.zeros(len(costs))
        question.col_upper_ = np.array([often for _, _, often, _ in self.columns], dtype=float)
        question.row_lower_, question.row_upper_ = lowest, self.goals
        question.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        question.a_matrix_.start_ = np.searchsorted(where, np.arange(len(costs) + 1))
        question.a_matrix_.index_ = rows
        question.a_matrix_.value_ = self.matrix[rows, where]
        if most_nodes is not None:
            question.integrality_ = [highspy.HighsVarType.kInteger] * len(costs)
        solver.passModel(question)
        solver.run()
        states, status = highspy.HighsModelStatus, solver.getModelStatus()
        outcomes = {states.kOptimal, states.kInfeasible, states.kSolutionLimit}
        if status not in outcomes and most_nodes is not None:
            raise InternalError(
                Message("The integer solver gave up: {status}.", status=Name(status.name))
            )
        solution = solver.getSolution()
        return _Reply(
            is_optimal=status == states.kOptimal,
            is_infeasible=status == states.kInfeasible,
            taken=list(solution.col_value) if solution.value_valid else [],
            prices=list(solution.row_dual) if solution.dual_valid else [],
            bound=solver.getInfo().mip_dual_bound,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reply:
    """What HiGHS said."""

    is_optimal: bool
    is_infeasible: bool
    taken: list[float]
    prices: list[float]
    bound: float
