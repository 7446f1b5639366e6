"""The maximum-entropy row, from its dual.

For multipliers λ of the mean, the variance and the probability of staying, the entropy plus
the priced moments is largest at ``p = max(floor, exp(iso(λ₁ v + λ₂ v² + λ₃ [v = 0]) + c))``,
where ``iso`` is the isotonic regression over the parts whose shape is constrained and ``c``
normalises: the conjugate of the entropy pools exponents. The dual is smooth and convex in two
or three variables, so a damped Newton method finds λ.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from footing.messages import Message
from ptable.errors import InternalError
from ptable.solver.polish import decimal_row
from ptable.solver.row import RowProblem

Float: TypeAlias = "NDArray[np.float64]"
_Point: TypeAlias = tuple[float, ...]
_Active: TypeAlias = tuple[bool, ...]

_MAX_STEPS = 200
_GOOD_RESIDUAL = 1e-12
_FARTHEST = 1e6
_ROOT_RESIDUAL = 1e-15


@dataclass(frozen=True, slots=True, kw_only=True)
class DualRow:
    """The optimum of one row.

    Parameters
    ----------
    multipliers
        The prices of the mean, of the variance and, where it is constrained, of staying.
    law
        The probabilities, to about fifty digits.
    residual
        The largest violation of a constraint in double precision, before the decimal steps.
    is_polished
        Whether the decimal steps were taken, so that nothing depends on the start.
    """

    multipliers: tuple[float, ...]
    law: tuple[Fraction, ...]
    residual: float
    is_polished: bool = False


@dataclass(frozen=True, slots=True)
class _Response:
    """The maximiser at given multipliers, with what Newton needs."""

    law: Float
    blocks: list[tuple[int, int]]
    is_free: NDArray[np.bool_]
    value: float
    gradient: _Point


def maximise(
    problem: RowProblem, *, polish: bool = True, start: Sequence[float] | None = None
) -> DualRow:
    """Find the law of greatest entropy of a row whose variance lies strictly in reach.

    Bounds are first left out, then taken as equalities one after the other, until the
    multipliers have the right signs: the problem is convex, so the first such point is it.

    Multipliers to start from save steps and change nothing: what they lead to is polished to
    the same fifty digits, or thrown away.
    """
    if start is not None and polish:
        answer = _maximise(problem, tuple(start))
        if answer is not None and answer.is_polished:
            return answer
    answer = _maximise(problem, None, polish=polish)
    if answer is None:
        raise InternalError(Message("A row has no set of constraints to try."))
    return answer


def _maximise(
    problem: RowProblem, start: _Point | None, *, polish: bool = True
) -> DualRow | None:
    dual = _Dual(problem)
    best, best_miss = None, math.inf
    for active in dual.active_sets():
        point = dual.settle(active) if start is None else dual.settle_from(start, active)
        if point is None:
            return None
        miss = dual.miss(point, active)
        if miss < best_miss:
            best, best_miss = (point, active), miss
        if miss <= _GOOD_RESIDUAL:
            break
    return None if best is None else dual.finish(*best, polish=polish)


def dual_bound(problem: RowProblem, multipliers: _Point) -> float:
    """Bound the entropy of every law that satisfies a row, by weak duality."""
    dual = _Dual(problem)
    if len(multipliers) != len(dual.goal) or dual.wrong_sign(multipliers):
        return math.inf
    return dual.respond(multipliers).value


def residual_at(problem: RowProblem, multipliers: _Point) -> float:
    """Measure by how much the law of some multipliers misses the optimality conditions."""
    dual = _Dual(problem)
    if len(multipliers) != len(dual.goal):
        return math.inf
    active = tuple(
        multiplier != 0 or sign == 0
        for multiplier, sign in zip(multipliers, dual.signs, strict=True)
    )
    return max(
        abs(float(dual.respond(multipliers).law.sum()) - 1), dual.miss(multipliers, active)
    )


class _Dual:
    """The dual function of one row."""

    def __init__(self, problem: RowProblem) -> None:
        self.problem = problem
        noise = np.array(problem.noise, dtype=np.float64)
        self.floor = float(problem.floor)
        features = [noise, noise**2]
        goal = [float(problem.mean), float(problem.second_moment)]
        #: Of inequalities, which sign a multiplier may have; 0 for equalities.
        signs = [0, -1 if problem.at_most else 0]
        if problem.p_stay is not None:
            features.append((noise == 0).astype(np.float64))
            goal.append(float(problem.p_stay))
            signs.append({"exact": 0, "at-least": 1, "at-most": -1}[problem.p_stay_rule])
        self.features = np.stack(features)
        self.goal = np.array(goal)
        self.signs = tuple(signs)
        self.scales = np.array([max(1.0, goal[1]) if k == 1 else 1.0 for k in range(len(goal))])

    def active_sets(self) -> list[_Active]:
        """List which constraints may bind, the fewest first; symmetry alone keeps the mean."""
        symmetric = self.problem.symmetric
        sets: list[_Active] = [(not symmetric,)]
        for sign in self.signs[1:]:
            sets = [
                (*some, here)
                for some in sets
                for here in ((True,) if sign == 0 else (False, True))
            ]
        return sorted(sets, key=sum)

    def wrong_sign(self, point: _Point) -> bool:
        return any(
            sign and multiplier * sign < 0
            for multiplier, sign in zip(point, self.signs, strict=True)
        )

    def miss(self, point: _Point, active: _Active) -> float:
        """Measure by how much a point misses the optimality conditions."""
        if self.wrong_sign(point):
            return math.inf
        gradient = self.respond(point).gradient
        gaps = [
            abs(gap) if is_active else max(-sign * gap, 0.0)
            for gap, is_active, sign in zip(gradient, active, self.signs, strict=True)
        ]
        return float(max(np.array(gaps) / self.scales))

    def settle(self, active: _Active) -> _Point:
        """Find the multipliers where the active constraints hold with equality."""
        point = self.minimise(self.start_at(active), active)
        if not self.size_at(point, active) <= _GOOD_RESIDUAL:
            again = self.minimise(self.bisect(active), active)
            if self.size_at(again, active) < self.size_at(point, active):
                point = again
        return point

    def settle_from(self, start: _Point, active: _Active) -> _Point | None:
        """Do so from given multipliers; None where they lead nowhere."""
        if len(start) != len(active):
            return None
        masked = tuple(
            price if is_active else 0.0 for price, is_active in zip(start, active, strict=True)
        )
        point = self.minimise(masked, active)
        return point if self.size_at(point, active) <= _GOOD_RESIDUAL else None

    def start_at(self, active: _Active) -> _Point:
        rest = [0.0] * (len(self.goal) - 2)
        moment = float(self.goal[1])
        if not active[1]:
            return (0.0, 0.0, *rest)
        return (0.0, math.log(moment / 2) if moment < 0.5 else -0.5 / moment, *rest)

    def respond(self, point: _Point) -> _Response:
        multipliers = np.array(point)
        score = multipliers @ self.features
        blocks = _pool(score, self.problem.n_left, self.problem.n_right)
        for first, last in blocks:
            score[first:last] = score[first:last].mean()
        distribution, is_free = _normalise(score, self.floor)
        positive = distribution[distribution > 0]
        gradient = self.features @ distribution - self.goal
        value = -float(positive @ np.log(positive)) + float(multipliers @ gradient)
        return _Response(distribution, blocks, is_free, value, tuple(gradient.tolist()))

    def minimise(self, point: _Point, active: _Active) -> _Point:
        """Run Newton's method, halving steps until the value or the gradient falls."""
        here = self.respond(point)
        for _ in range(_MAX_STEPS):
            size = self._size(here, active)
            if size <= 1e-15:
                return point
            move, slope = self._newton(here, active)
            scale = 1.0
            while scale > 1e-12:
                trial = tuple(x + scale * dx for x, dx in zip(point, move, strict=True))
                there = self.respond(trial)
                falls = there.value <= here.value + 1e-4 * scale * slope
                flat = abs(there.value - here.value) <= 1e-13 * (1 + abs(here.value))
                if falls or (flat and self._size(there, active) < size):
                    break
                scale /= 2
            if self._size(there, active) >= size and scale <= 1e-12:
                return point
            if size < 1e-12 and self._size(there, active) >= size:
                return point
            point, here = trial, there
        return point

    def size_at(self, point: _Point, active: _Active) -> float:
        return self._size(self.respond(point), active)

    def bisect(self, active: _Active) -> _Point:
        """Solve for the multipliers one inside the other: slow, but it cannot fail.

        Each moment rises with its own multiplier when those inside keep theirs at the goal.
        """
        start = self.start_at(active)

        def inner(outer: _Point) -> _Point:
            """Complete the multipliers, given the last ones."""
            place = len(start) - len(outer) - 1
            if place < 0:
                return outer
            if not active[place]:
                return inner((0.0, *outer))
            root = _root(
                lambda x: self.respond(inner((x, *outer))).gradient[place], start[place]
            )
            return inner((root, *outer))

        return inner(())

    def _size(self, here: _Response, active: _Active) -> float:
        gaps = zip(here.gradient, active, self.scales.tolist(), strict=True)
        return max(
            (abs(gap) / scale for gap, is_active, scale in gaps if is_active), default=0.0
        )

    def _newton(self, here: _Response, active: _Active) -> tuple[_Point, float]:
        """Solve Newton's equations by orthogonalising the moments one after the other."""
        weight = np.where(here.is_free, here.law, 0.0)
        total = weight.sum()
        basis: list[Float] = []
        spreads: list[float] = []
        slants: list[list[float]] = []
        places = [place for place, is_active in enumerate(active) if is_active]
        for place in places:
            feature = self.features[place].copy()
            for start, stop in here.blocks:
                feature[start:stop] = feature[start:stop].mean()
            feature -= weight @ feature / total
            size = float(weight @ self.features[place] ** 2)
            slant = []
            for other, spread in zip(basis, spreads, strict=True):
                slant.append(float(weight @ (feature * other)) / spread)
                feature = feature - slant[-1] * other
            ridge = 1e-14 * size if place else 0.0
            basis.append(feature)
            spreads.append(float(weight @ feature**2) + ridge + 1e-300)
            slants.append(slant)
        gaps: list[float] = []
        for k, place in enumerate(places):
            gap = here.gradient[place]
            gaps.append(gap - sum(s * g for s, g in zip(slants[k], gaps, strict=True)))
        steps = [-gap / spread for gap, spread in zip(gaps, spreads, strict=True)]
        for k in reversed(range(len(places))):
            for j, s in enumerate(slants[k]):
                steps[j] -= s * steps[k]
        move = [0.0] * len(active)
        for place, step in zip(places, steps, strict=True):
            move[place] = step
        slope = sum(m * g for m, g in zip(move, here.gradient, strict=True))
        return tuple(move), slope

    def finish(self, point: _Point, active: _Active, *, polish: bool) -> DualRow:
        here = self.respond(point)
        residual = max(abs(float(here.law.sum()) - 1), self.miss(point, active))
        if not residual < 1e-7:
            raise InternalError(
                Message(
                    "The row of count {count} did not converge (residual {residual:.2g}).",
                    count=self.problem.count,
                    residual=residual,
                ),
                hint=Message("please report it together with the specification"),
            )
        if polish:
            pattern = here.blocks, here.is_free.tolist()
            polished = decimal_row(self.problem, pattern, point, active)
            if polished is not None:
                distribution, multipliers = polished
                return DualRow(
                    multipliers=multipliers,
                    law=distribution,
                    residual=residual,
                    is_polished=True,
                )
        distribution = tuple(Fraction(p) for p in here.law.tolist())
        return DualRow(multipliers=point, law=distribution, residual=residual)


def _root(rising: Callable[[float], float], start: float) -> float:
    """Find where a rising function crosses zero, widening the search as far as needed.

    Ridders' method: it keeps a bracket, halves it at least, and mostly does much better.
    """
    low = high = start
    below = above = rising(start)
    step = 1.0
    while below > 0 and step < _FARTHEST:
        low, step = low - step, 2 * step
        below = rising(low)
    step = 1.0
    while above < 0 and step < _FARTHEST:
        high, step = high + step, 2 * step
        above = rising(high)
    for _ in range(_MAX_STEPS):
        middle = (low + high) / 2
        if middle in {low, high} or below >= 0 or above <= 0:
            return low if below >= 0 else high if above <= 0 else middle
        value = rising(middle)
        bend = math.sqrt(value * value - below * above)
        point = middle - (middle - low) * value / bend if bend else middle
        point = min(max(point, low), high)
        for x, there in ((middle, value), (point, rising(point))):
            if abs(there) <= _ROOT_RESIDUAL:
                return x
            if there > 0 and x < high:
                high, above = x, there
            elif there < 0 and x > low:
                low, below = x, there
    return middle


def _pool(score: Float, n_left: int, n_right: int) -> list[tuple[int, int]]:
    """Pool violators where probabilities may not fall or rise; give blocks of two and more.

    Where both parts share their peak, the peak joins the neighbouring blocks above it, the
    highest first (the minimum violator algorithm on a tree of two branches).
    """
    size = len(score)
    rises = n_left < 2 or bool((np.diff(score[:n_left]) >= 0).all())
    falls = n_right < 2 or bool((np.diff(score[size - n_right :]) <= 0).all())
    if rises and falls:
        return []
    if not n_right:
        blocks = _climb(score[:n_left].tolist())
    elif not n_left:
        blocks = _mirrored(_climb(score[::-1][:n_right].tolist()), size)
    else:
        place = n_left - 1
        left = _climb(score[:place].tolist())
        right = _mirrored(_climb(score[::-1][: size - n_left].tolist()), size)
        peak = _absorb((place, n_left, float(score[place])), left, right)
        blocks = [*left, peak, *right]
    return [(first, stop) for first, stop, _ in blocks if stop - first > 1]


_Block: TypeAlias = tuple[int, int, float]


def _climb(score: Sequence[float]) -> list[_Block]:
    """Pool adjacent violators of a rising order; give all blocks with their sums."""
    blocks: list[_Block] = []
    for index, value in enumerate(score):
        first, stop, total = index, index + 1, value
        while blocks and blocks[-1][2] * (stop - first) >= total * (
            blocks[-1][1] - blocks[-1][0]
        ):
            before = blocks.pop()
            first, total = before[0], total + before[2]
        blocks.append((first, stop, total))
    return blocks


def _mirrored(blocks: list[_Block], size: int) -> list[_Block]:
    """Count the places of blocks from the other end; keep the block next to the peak last."""
    return [(size - stop, size - first, total) for first, stop, total in blocks]


def _absorb(peak: _Block, left: list[_Block], right: list[_Block]) -> _Block:
    """Join to the peak the blocks above it, taking them off their lists."""
    while True:
        sides = [side for side in (left, right) if side]
        if not sides:
            return peak
        side = max(sides, key=lambda blocks: _mean(blocks[-1]))
        if _mean(side[-1]) <= _mean(peak):
            return peak
        first, stop, total = side.pop()
        peak = min(first, peak[0]), max(stop, peak[1]), total + peak[2]


def _mean(block: _Block) -> float:
    return block[2] / (block[1] - block[0])


def _normalise(score: Float, floor: float) -> tuple[Float, NDArray[np.bool_]]:
    """Scale ``exp(score)`` so that its maximum with the floor sums to one."""
    raw = np.exp(score - score.max())
    if floor == 0:
        return raw / raw.sum(), np.ones(len(raw), dtype=np.bool_)
    falling = -np.sort(-raw)
    sizes = np.arange(1, len(raw) + 1)
    scales = (1 - floor * (len(raw) - sizes)) / np.cumsum(falling)
    n_free = int((falling * scales > floor).sum()) or 1
    is_free = raw * scales[n_free - 1] > floor
    return np.where(is_free, raw * scales[n_free - 1], floor), is_free
