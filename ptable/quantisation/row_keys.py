"""What one row should become in few keys, and how many of them each noise value gets.

The sums come first: the nearest mean that integers can have, then the nearest variance. What
they can have follows from arithmetic; only where bounds stand in the way is it searched for.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from footing.messages import Message
from ptable.design.spec import NoiseSpec
from ptable.design.stack import StackedSpec
from ptable.errors import PTableError
from ptable.lookup import moments
from ptable.solver.integer.exchange import sums
from ptable.solver.integer.integers import Program
from ptable.solver.integer.lattice import Basis, basis_of, next_values
from ptable.solver.least_cost import Answer, cheapest, least_cost
from ptable.solver.row import RowProblem
from ptable.solver.unimodal import has_one_peak
from ptable.table import PTable

_Groups: TypeAlias = tuple[tuple[int, ...], ...]
#: Drift, then divergence, then the keys themselves: the smallest is taken.
_Rank: TypeAlias = tuple[tuple[Fraction, Fraction], float, tuple[int, ...]]
#: A row under ``"nearest"`` whose variance is further off than this took another one.
_TOOK_ANOTHER = Fraction(1, 10**5)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowGoal:
    """Say what a row should become.

    Parameters
    ----------
    problem
        Its constraints, the variance being the one to reach.
    law
        The probabilities it has now.
    tilt
        A straightening of its cost: the logarithm of its keys, or a quadratic close to that.
    curvature
        The quadratic's last coefficient; None where the tilt is the logarithm itself.
    total
        How many keys there are.
    """

    problem: RowProblem
    law: tuple[float, ...]
    tilt: tuple[float, ...]
    curvature: float | None
    total: int

    @property
    def is_mirrored(self) -> bool:
        """Whether the best law is its own mirror image."""
        noise = self.problem.noise
        if self.problem.mean or noise != tuple(-v for v in reversed(noise)):
            return False
        if self.curvature is None:
            return self.law == self.law[::-1]
        return self.problem.n_left == self.problem.n_right

    def drift(self, units: Sequence[int]) -> tuple[Fraction, Fraction]:
        """Give the drifts of mean and variance of some keys, without signs."""
        _, first, second = sums(units, self.problem.noise)
        return self.drift_of(first, second)

    def drift_of(self, first: int, second: int) -> tuple[Fraction, Fraction]:
        """Give the drifts of mean and variance that two sums mean, without signs."""
        mean = Fraction(first, self.total)
        excess = Fraction(second, self.total) - mean**2 - self.problem.variance
        if self.problem.at_most:
            excess = max(excess, Fraction(0))
        return abs(mean - self.problem.mean), abs(excess)


def goal_of_row(table: PTable, count: int, *, total: int) -> RowGoal:
    """Say what a row of a table should become in another number of keys."""
    units = table.units(count)
    mean, variance = moments(units, table.key_range)
    spec = table.spec
    if not isinstance(spec, NoiseSpec | StackedSpec) or count not in spec.counts:
        noise = tuple(sorted(units))
        distribution = tuple(units[v] / table.key_range for v in noise)
        return RowGoal(
            problem=RowProblem(
                count=count, noise=noise, variance=variance, mean=mean, step=table.step
            ),
            law=distribution,
            tilt=tuple(math.log(p * total) for p in distribution),
            curvature=None,
            total=total,
        )
    problem = spec.row(count)
    if not set(units) <= set(problem.noise):
        raise PTableError(
            Message(
                "The noise of count {count} goes beyond the table's specification.", count=count
            ),
            hint=Message("drop the specification: table.with_proof(None, None)"),
        )
    limit = _TOOK_ANOTHER * max(Fraction(1), problem.variance)
    if problem.nearest and abs(variance - problem.variance) > limit:
        problem = replace(problem, variance=variance)
    distribution = tuple(units.get(v, 0) / table.key_range for v in problem.noise)
    goal = RowGoal(problem=problem, law=distribution, tilt=(), curvature=0.0, total=total)
    slopes = _quadratic(goal)
    tilt = tuple(slopes[0] + slopes[1] * v + slopes[2] * v * v for v in problem.noise)
    return replace(goal, tilt=tilt, curvature=slopes[2])


def _quadratic(goal: RowGoal) -> tuple[float, float, float]:
    """Fit a quadratic to the logarithm of a law, in keys.

    Subtracting it from the cost changes all rows with the same sums alike, so that any would
    do; near the law little is left, which is what a solver likes.
    """
    distribution = np.array(goal.law)
    usable = distribution > 0
    noise = np.array(goal.problem.noise, dtype=np.float64)[usable]
    powers = np.vander(noise, 3, increasing=True)
    if goal.is_mirrored:
        powers[:, 1] = 0.0
    weight = np.sqrt(distribution[usable])
    height = np.log(distribution[usable] * goal.total)
    slopes = np.linalg.lstsq(powers * weight[:, None], height * weight)[0].tolist()
    if goal.problem.at_most and slopes[2] > 0:
        slopes[2] = 0.0
    return slopes[0], slopes[1], slopes[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowKeys:
    """The keys of a row.

    Parameters
    ----------
    units
        The number of keys of each noise value.
    drift
        How far mean and variance are off, without signs.
    is_least
        Whether it is proved that nothing is less off.
    gap
        How far the law may be from the best one with the same sums.
    divergence
        What is minimised, on a scale that does not depend on the sums.
    """

    units: tuple[int, ...]
    drift: tuple[Fraction, Fraction]
    is_least: bool
    gap: float
    divergence: float = 0.0

    @property
    def rank(self) -> _Rank:
        """What is to be small."""
        return self.drift, self.divergence, self.units


def keys_of_row(goal: RowGoal, *, keep_symmetry: bool, most_nodes: int) -> RowKeys:
    """Find the keys of a row."""
    places = range(len(goal.problem.noise))
    if len(places) == 1:
        drift = goal.drift((goal.total,))
        return RowKeys(units=(goal.total,), drift=drift, is_least=True, gap=0.0)
    single: _Groups = tuple((k,) for k in places)
    mirrored: _Groups = tuple(
        tuple(sorted({k, len(places) - 1 - k})) for k in range((len(places) + 1) // 2)
    )
    attempts = [single]
    if goal.problem.symmetric:
        attempts = [mirrored]
    elif keep_symmetry and goal.is_mirrored:
        attempts = [mirrored, single]
    best: RowKeys | None = None
    for groups in attempts:
        search = _Search(goal, groups, most_nodes)
        if best is not None and best.drift == search.nearest_drift():
            break
        keys = search.run()
        if keys is not None and (best is None or keys.drift < best.drift):
            best = keys
    if best is None:
        raise PTableError(
            Message(
                "{total} keys are too few for the constraints of count {count}: no "
                "integers satisfying them were found.",
                total=goal.total,
                count=goal.problem.count,
            ),
            hint=Message("use more keys, more nodes, or a specification that asks for less"),
        )
    return best


class _Search:
    """The search for the keys of one row, noise values in one group having equally many."""

    def __init__(self, goal: RowGoal, groups: _Groups, most_nodes: int) -> None:
        self.goal, self.groups, self.most_nodes = goal, groups, most_nodes
        self.program = _program(goal, groups)
        self.basis: Basis = basis_of(self.program.rows)
        self.is_finished = True

    def nearest_drift(self) -> tuple[Fraction, Fraction] | None:
        """Give the least drift that arithmetic allows, bounds left aside."""
        drifts = [
            self.goal.drift_of(first, second)
            for first in self._near((), self._first_goal())
            for second in self._near((first,), self._second_goal(first))
        ]
        return min(drifts, default=None)

    def run(self) -> RowKeys | None:
        """Find the keys; None where no keys at all were found."""
        for near in (self._near, self._search_near):
            options = [self._with_mean(first) for first in near((), self._first_goal())]
            best = _first_of(options)
            if best is not None:
                return best
        return None

    def _with_mean(self, first: int) -> RowKeys | None:
        goal = self._second_goal(first)
        keys = self._best(first, self._near((first,), goal))
        return keys or self._best(first, self._search_near((first,), goal))

    def _first_goal(self) -> Fraction:
        return self.goal.problem.mean * self.goal.total

    def _second_goal(self, first: int) -> Fraction:
        total = self.goal.total
        return total * self.goal.problem.variance + Fraction(first**2, total)

    def _sums(self, sums: tuple[int, ...]) -> tuple[int, ...]:
        return (self.goal.total, *sums)

    def _near(self, sums: tuple[int, ...], goal: Fraction) -> list[int]:
        """Give the values nearest to a goal that the next sum may have by arithmetic."""
        ends = [self._edge(sums, goal, sign) for sign in (-1, 1)]
        if sums and self.goal.problem.at_most and ends[0] is not None:
            return [ends[0]]
        return _nearest([end for end in ends if end is not None], goal)

    def _edge(self, sums: tuple[int, ...], goal: Fraction, sign: int) -> int | None:
        """Give the next value from a goal on, upwards or downwards."""
        values = next_values(self.basis, self._sums(sums))
        if values is None:
            return None
        start, spacing = values
        if spacing == 0:
            return start if (start - goal) * sign >= 0 else None
        return start + spacing * sign * math.ceil((goal - start) * sign / spacing)

    def _search_near(self, sums: tuple[int, ...], goal: Fraction) -> list[int]:
        """Give the values nearest to a goal that the next sum may have, bounds included."""
        is_bound = bool(sums) and self.goal.problem.at_most
        values = []
        for sign in (-1, 1):
            edge = self._edge(sums, goal, sign)
            value = None if edge is None else self._reach(sums, edge, sign)
            if value is not None:
                values.append(value)
                if is_bound:
                    return values
        return _nearest(values, goal)

    def _reach(self, sums: tuple[int, ...], edge: int, sign: int) -> int | None:
        """Search for the first value of the next sum from an edge on."""
        n_rows = len(sums) + 2
        program = replace(
            self.program,
            rows=self.program.rows[:n_rows],
            goals=(*self._sums(sums), edge),
            costs=(0.0,) * len(self.groups),
        )
        values = next_values(self.basis, self._sums(sums))
        spacing = values[1] if values else 0
        if spacing:
            widest = sum(map(abs, program.rows[-1])) * self.goal.total
            most = (widest + abs(edge)) // spacing + 1
            program = program.with_slack(-sign * spacing, price=1.0, most=most)
        answer = self._least(program)
        if answer.numbers is None:
            return None
        return edge + (sign * spacing * answer.numbers[-1] if spacing else 0)

    def _best(self, first: int, seconds: Sequence[int]) -> RowKeys | None:
        """Take the best law among those with the given sums."""
        options: list[RowKeys | None] = []
        for second in seconds:
            program = replace(self.program, goals=self._sums((first, second)))
            if self.goal.problem.at_most and second <= self._second_goal(first):
                price = max(0.0, -(self.goal.curvature or 0.0))
                program = program.with_slack(1, price=price, most=second)
            answer = self._least(program)
            if answer.numbers is None:
                continue
            units = [0] * len(self.goal.problem.noise)
            for group, n in zip(self.groups, answer.numbers, strict=False):
                for place in group:
                    units[place] = n
            options.append(
                RowKeys(
                    units=tuple(units),
                    drift=self.goal.drift(units),
                    is_least=self.is_finished,
                    gap=answer.gap / self.goal.total,
                    divergence=_divergence(self.goal, units),
                )
            )
        return _first_of(options)

    def _least(self, program: Program) -> Answer:
        """Find the least cost, with the peak wherever it is cheapest where one is asked for."""
        answer = least_cost(program, most_nodes=self.most_nodes)
        n = len(self.groups)
        has_any_peak = self.goal.problem.unimodal and len(self.groups[0]) == 1
        if has_any_peak and answer.numbers and not has_one_peak(answer.numbers[:n]):
            programs = [replace(program, orders=_climbs(n, peak)) for peak in range(n)]
            answer = cheapest([least_cost(p, most_nodes=self.most_nodes) for p in programs])
        if not answer.is_finished and answer.numbers is None:
            self.is_finished = False
        return answer


def _program(goal: RowGoal, groups: _Groups) -> Program:
    problem, total = goal.problem, goal.total
    least = math.ceil(problem.floor * total) if problem.floor * total >= 1 else 0
    lower, upper = [least] * len(groups), [total] * len(groups)
    if problem.p_stay is not None:
        zero = problem.noise.index(0)
        place = next(place for place, group in enumerate(groups) if zero in group)
        stay = problem.p_stay * total
        if problem.p_stay_rule != "at-most":
            up = problem.p_stay_rule == "at-least"
            lower[place] = max(least, math.ceil(stay) if up else math.floor(stay))
        if problem.p_stay_rule != "at-least":
            up = problem.p_stay_rule == "exact"
            upper[place] = math.ceil(stay) if up else math.floor(stay)
    home = {place: k for k, group in enumerate(groups) for place in group}
    climbs = [(k, k + 1) for k in range(problem.n_left - 1)]
    last = len(problem.noise) - 1
    climbs += [(last - k, last - k - 1) for k in range(problem.n_right - 1)]
    if problem.unimodal and len(groups[0]) > 1:
        climbs = [(k, k + 1) for k in range(len(groups) - 1)]
    orders = dict.fromkeys((home[a], home[b]) for a, b in climbs if home[a] != home[b])
    near = [
        min(max(low, round(goal.law[group[0]] * total)), max(low, high))
        for group, low, high in zip(groups, lower, upper, strict=True)
    ]
    return Program(
        costs=tuple(_cost(goal, group) for group in groups),
        rows=tuple(
            tuple(sum(problem.noise[place] ** power for place in group) for group in groups)
            for power in range(3)
        ),
        goals=(0, 0, 0),
        lower=tuple(lower),
        upper=tuple(upper),
        near=tuple(near),
        orders=tuple(orders),
        fineness=max(1.0, total / 1024),
    )


def _cost(goal: RowGoal, group: tuple[int, ...]) -> Callable[[int], float]:
    tilt = math.fsum(goal.tilt[place] for place in group)
    size = len(group)
    return lambda n: (size * n * math.log(n) if n else 0.0) - n * tilt


def _divergence(goal: RowGoal, units: Sequence[int]) -> float:
    """Give what is minimised, on a scale that does not depend on the sums."""
    own = goal.tilt if goal.curvature is None else (0.0,) * len(units)
    return math.fsum(n * (math.log(n) - t) for n, t in zip(units, own, strict=True) if n)


def _nearest(values: Sequence[int], goal: Fraction) -> list[int]:
    """Keep the values nearest to a goal, the smaller in size first."""
    least = min((abs(value - goal) for value in values), default=Fraction(0))
    ties = {value for value in values if abs(value - goal) == least}
    return sorted(ties, key=lambda value: (abs(value), value))


def _climbs(n: int, peak: int) -> tuple[tuple[int, int], ...]:
    rise = [(k, k + 1) for k in range(peak)]
    return tuple(rise + [(k + 1, k) for k in range(peak, n - 1)])


def _first_of(options: Sequence[RowKeys | None]) -> RowKeys | None:
    return min(filter(None, options), default=None, key=lambda keys: keys.rank)
