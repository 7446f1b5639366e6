"""Which variances, and which probabilities of staying, a row can reach: exactly.

A row is a mixture of the extreme rays of its constraints: point masses, or uniform laws over
runs of noise values where its shape is constrained. The mean, the variance and the probability
of staying are linear in the mixture, so that every end of a range is a small linear program in
integers, solved in fractions.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from footing.messages import Message
from ptable.solver.row import RowProblem
from ptable.solver.simplex import minimise_exactly

#: A requested variance this close to a bound, relative to ``max(1, bound)``, is the bound.
BOUND_TOLERANCE = Fraction(1, 10**12)
_MAX_RUNS = 60

Place: TypeAlias = Literal["inside", "least", "greatest"]
_Costs: TypeAlias = Literal["squares", "stays"]
_Int: TypeAlias = "NDArray[np.int64]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """One end of a range: what is reached there, and the law that reaches it.

    Parameters
    ----------
    value
        The variance in squared steps, or the probability of staying.
    law
        The probabilities, one per noise value.
    peak
        The place of the peak, where the row may have one anywhere.
    """

    value: Fraction
    law: tuple[Fraction, ...]
    peak: int | None = None


Ends: TypeAlias = tuple[Bound, Bound]


def variance_bounds(problem: RowProblem) -> Ends | None:
    """Find the laws of least and greatest variance of a row, or None when it has no law."""
    return _variance_bounds(
        replace(problem, count=0, variance=Fraction(0), at_most=False, nearest=False)
    )


@lru_cache(maxsize=4096)
def _variance_bounds(problem: RowProblem) -> Ends | None:
    """Find the ends for all rows that differ in what does not matter."""
    is_split = (
        bool(problem.mean) and problem.p_stay is not None
    )  # the mean is the others' alone
    if is_split or problem.unimodal or problem.n_left or problem.n_right or problem.floor:
        return _ends(problem, "squares")
    return _unshaped(problem)


def forget() -> None:
    """Forget the reach of the rows that were looked at, as before the first."""
    _variance_bounds.cache_clear()


def stay_bounds(problem: RowProblem) -> Ends | None:
    """Find the least and greatest probability of staying of a row, or None without any law."""
    if 0 not in problem.noise:
        return None
    return _ends(replace(problem, p_stay=None), "stays", keep_moment=True)


def meets(problem: RowProblem, ends: Ends | None) -> bool:
    """Say whether the requested variance lies in reach, bounds included."""
    if ends is None:
        return False
    low, high = (end.value for end in ends)
    above = problem.variance >= low or at_bound(problem.variance, low)
    below = problem.variance <= high or at_bound(problem.variance, high)
    return above and (problem.at_most or below)


def place_in(problem: RowProblem, ends: Ends) -> Place:
    """Say at which end of the reach, or beyond it, the requested variance lies, if at any."""
    low, high = (end.value for end in ends)
    if problem.variance <= low or at_bound(problem.variance, low):
        return "least"
    if problem.at_most:
        return "inside"
    is_high = problem.variance >= high or at_bound(problem.variance, high)
    return "greatest" if is_high else "inside"


def reaches(problem: RowProblem) -> bool:
    """Say whether a row has a law with the variance it asks for."""
    size = len(problem.noise)
    if problem.unimodal and size:
        middle = min(range(size), key=lambda place: abs(problem.noise[place]))
        if any(reaches(problem.with_peak(place)) for place in (middle, middle // 2, 0)):
            return True
    if not meets(problem, variance_bounds(problem)):
        return False
    return (
        not problem.unimodal
        or problem.at_most
        or any(reaches(problem.with_peak(place)) for place in range(size))
    )


def nearest_bound(problem: RowProblem) -> Bound:
    """Find the end of what any place of the peak reaches that is nearest to the variance."""
    ends = [
        replace(bound, peak=place)
        for place in range(len(problem.noise))
        for bound in variance_bounds(problem.with_peak(place)) or ()
    ]
    return min(ends, key=lambda bound: (abs(bound.value - problem.variance), bound.value))


def at_bound(variance: Fraction, bound: Fraction) -> bool:
    """Say whether a variance is a bound, up to `BOUND_TOLERANCE`."""
    return abs(variance - bound) <= BOUND_TOLERANCE * max(Fraction(1), bound)


def _unshaped(problem: RowProblem) -> Ends | None:
    """Take the two values next to the mean, and the two at the ends of the reach."""
    if problem.p_stay is None:
        stays = (Fraction(0), Fraction(0))
    elif problem.p_stay_rule == "exact":
        stays = (problem.p_stay, problem.p_stay)
    elif problem.p_stay_rule == "at-least":
        stays = (Fraction(1), problem.p_stay)
    else:
        stays = (problem.p_stay, Fraction(0))
    values = [v for v in problem.noise if v or problem.p_stay is None]
    below = [v for v in values if v <= problem.mean]
    above = [v for v in values if v >= problem.mean]
    if not below or not above:
        if problem.p_stay is None or problem.p_stay_rule != "at-least":
            return None
        stays, below, above = (Fraction(1), Fraction(1)), [0], [0]
    low, high = (
        _two_values(problem, stay, pair)
        for stay, pair in zip(
            stays, ((below[-1], above[0]), (below[0], above[-1])), strict=True
        )
    )
    return low, high


def _two_values(problem: RowProblem, stay: Fraction, pair: tuple[int, int]) -> Bound:
    """Leave the count alone with some probability; spread the rest over two values."""
    distribution = dict.fromkeys(problem.noise, Fraction(0))
    left, right = pair
    share = (problem.mean - left) / (right - left) if right > left else Fraction(0)
    for v, p in ((0, stay), (left, (1 - stay) * (1 - share)), (right, (1 - stay) * share)):
        if p:
            distribution[v] += p
    return _bound(problem, "squares", tuple(distribution.values()))


def _ends(problem: RowProblem, costs: _Costs, *, keep_moment: bool = False) -> Ends | None:
    """Find the laws of least and of greatest cost."""
    if problem.unimodal:
        low, high = (
            _outermost(problem, costs, sign, keep_moment=keep_moment) for sign in (1, -1)
        )
    else:
        rays = _Rays.of(problem, keep_moment=keep_moment)
        low, high = (rays.end(costs, sign) for sign in (1, -1))
    return None if low is None or high is None else (low, high)


def _bound(
    problem: RowProblem,
    costs: _Costs,
    distribution: tuple[Fraction, ...],
    peak: int | None = None,
) -> Bound:
    """Say what a law reaches: the probability of staying, or the variance."""
    if costs == "stays":
        return Bound(value=distribution[problem.noise.index(0)], law=distribution, peak=peak)
    squares = (p * v * v for p, v in zip(distribution, problem.noise, strict=True))
    return Bound(value=sum(squares, Fraction(0)) - problem.mean**2, law=distribution, peak=peak)


def _outermost(
    problem: RowProblem, costs: _Costs, sign: int, *, keep_moment: bool = False
) -> Bound | None:
    """Find the law of least or greatest cost over all places of the peak.

    A place is passed over when the prices of another prove that it cannot do better.
    """
    size = len(problem.noise)
    every = _Rays.of(replace(problem, unimodal=False), keep_moment=keep_moment, all_runs=True)
    places = sorted(range(size), key=lambda place: abs(problem.noise[place]))
    places = [places[0], 0, size - 1, *places[1:]]
    best: tuple[Fraction, int, tuple[Fraction, ...]] | None = None
    open_places = dict.fromkeys(places)
    while open_places:
        place = next(iter(open_places))
        del open_places[place]
        rays = _Rays.of(problem.with_peak(place), keep_moment=keep_moment)
        solution = rays.solve(sign * getattr(rays, costs))
        if solution is None:
            continue
        distribution, multipliers = solution
        cost = sum((g * p for g, p in zip(rays.goal, multipliers, strict=True)), Fraction(0))
        if best is None or cost < best[0]:
            best = cost, place, distribution
        first, stop = every.cheaper(sign * getattr(every, costs), multipliers)
        open_places = {
            other: None for other in open_places if ((first <= other) & (other < stop)).any()
        }
    return None if best is None else _bound(problem, costs, best[2], best[1])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rays:
    """The extreme rays of a row: runs of noise values, with what a unit on each adds up to."""

    problem: RowProblem
    first: _Int
    stop: _Int
    squares: _Int
    stays: _Int
    constraints: _Int
    goal: tuple[Fraction, ...]

    @classmethod
    def of(
        cls, problem: RowProblem, *, keep_moment: bool = False, all_runs: bool = False
    ) -> Self:
        noise = np.array(problem.noise, dtype=np.int64)
        first, stop = (
            _runs(problem, thin=not keep_moment) if not all_runs else _every_run(len(noise))
        )
        first, stop, twice = _mirror(problem, first, stop)

        def over_runs(numbers: _Int, *, odd: bool = False) -> _Int:
            sums = np.concatenate([[0], np.cumsum(numbers)])
            total = sums[stop] - sums[first]
            return np.where(twice, 0 if odd else 2 * total, total)

        mass, mean = over_runs(np.ones_like(noise)), over_runs(noise, odd=True)
        squares = over_runs(noise**2)
        stays = over_runs((noise == 0).astype(np.int64))
        floor = problem.floor
        rows = [mass, mean]
        goal = [1 - floor * len(noise), problem.mean - floor * int(noise.sum())]
        slack: list[int] = []
        if problem.p_stay is not None:
            rows.append(stays)
            goal.append(problem.p_stay - floor)
            slack.append({"exact": 0, "at-least": -1, "at-most": 1}[problem.p_stay_rule])
        if keep_moment:
            rows.append(squares)
            goal.append(problem.second_moment - floor * int((noise**2).sum()))
            slack.append(1 if problem.at_most else 0)
        constraints = np.stack(rows)
        for place, sign in enumerate(slack, start=2):
            if sign:
                column = np.zeros((len(rows), 1), dtype=np.int64)
                column[place] = sign
                constraints = np.hstack([constraints, column])
        return cls(
            problem=problem,
            first=first,
            stop=stop,
            squares=squares,
            stays=stays,
            constraints=constraints,
            goal=tuple(goal),
        )

    def end(self, costs: _Costs, sign: int) -> Bound | None:
        """Give the law of least cost, or of greatest with a negative sign."""
        solution = self.solve(sign * getattr(self, costs))
        return None if solution is None else _bound(self.problem, costs, solution[0])

    def solve(self, costs: _Int) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]] | None:
        """Give the law of least cost and the prices that prove it."""
        if self.goal[0] < 0:
            return None
        n_slack = self.constraints.shape[1] - len(costs)
        answer = minimise_exactly(
            self.constraints, [*costs.tolist(), *[0] * n_slack], self.goal
        )
        if answer is None:
            return None
        size = len(self.problem.noise)
        distribution = [self.problem.floor] * size
        for index, weight in answer[0].items():
            if index >= len(costs):
                continue
            start, stop = int(self.first[index]), int(self.stop[index])
            places = set(range(start, stop))
            if self.problem.symmetric:
                places |= {size - 1 - place for place in places}
            for place in places:
                distribution[place] += weight
        return tuple(distribution), answer[1]

    def cheaper(self, costs: _Int, multipliers: tuple[Fraction, ...]) -> tuple[_Int, _Int]:
        """Give the runs that cost less than their constraints are worth."""
        scale = math.lcm(*(multiplier.denominator for multiplier in multipliers))
        whole = np.array([int(multiplier * scale) for multiplier in multipliers], dtype=object)
        columns = self.constraints[:, : len(costs)].astype(object)
        is_cheaper = (costs.astype(object) * scale < whole @ columns).astype(np.bool_)
        return self.first[is_cheaper], self.stop[is_cheaper]


def _every_run(size: int) -> tuple[_Int, _Int]:
    first, last = np.triu_indices(size)
    return first.astype(np.int64), last.astype(np.int64) + 1


def _runs(problem: RowProblem, *, thin: bool) -> tuple[_Int, _Int]:
    """List runs whose uniform laws span a row: all its shapes, or the ends of its variance."""
    size, left, right = len(problem.noise), problem.n_left, problem.n_right
    if not left and not right:
        first = np.arange(size)
        return first, first + 1
    if not right:
        first = np.arange(size)
        return first, np.maximum(first + 1, left)
    if not left:
        stop = np.arange(1, size + 1)
        return np.minimum(stop - 1, size - right), stop
    rise, fall = left - 1, size - right
    if fall > rise:  # nothing may lie between two peaks: the values between are free
        raise AssertionError(Message("A row rises to where it falls."))
    starts, stops = np.meshgrid(np.arange(fall + 1), np.arange(rise + 1, size + 1))
    keep = np.ones_like(starts, dtype=np.bool_)
    steps = set(np.diff(problem.noise).tolist())
    if thin and starts.size > _MAX_RUNS and problem.p_stay is None and len(steps) == 1:
        # of two runs with the same mean the narrower or wider one is as good, and these have
        # an end at the peak or at the end of the reach
        keep = (starts == 0) | (starts == fall) | (stops == size) | (stops == rise + 1)
    return starts[keep].astype(np.int64), stops[keep].astype(np.int64)


def _mirror(
    problem: RowProblem, first: _Int, stop: _Int
) -> tuple[_Int, _Int, NDArray[np.bool_]]:
    """Keep one of two runs that mirror each other, and say which have an image elsewhere."""
    size = len(problem.noise)
    if not problem.symmetric:
        return first, stop, np.zeros(len(first), dtype=np.bool_)
    own = first + stop == size
    if problem.n_left:
        return first[own], stop[own], np.zeros(int(own.sum()), dtype=np.bool_)
    keep = 2 * first >= size - 1
    return first[keep], stop[keep], ~own[keep]
