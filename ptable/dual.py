"""The maximum-entropy row, from its dual.

For multipliers λ of the mean and the variance, the entropy plus the priced moments is largest
at ``p = max(floor, exp(iso(λ₁ v + λ₂ v²) + c))``, where ``iso`` is the isotonic regression over
the monotone left part and ``c`` normalises: the conjugate of the entropy pools exponents. The
dual is smooth and convex in two variables, so a damped Newton method finds λ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ptable.errors import InternalError
from ptable.polish import decimal_law

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from ptable.row import RowProblem

__all__ = ["DualRow", "dual_bound", "maximise", "residual_at"]

Float: TypeAlias = "NDArray[np.float64]"

_MAX_STEPS = 200
_GOOD_RESIDUAL = 1e-12
_FARTHEST = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class DualRow:
    """The optimum of one row.

    Parameters
    ----------
    multipliers
        The prices of the mean and of the variance.
    law
        The probabilities, to about fifty digits.
    residual
        The largest violation of a constraint in double precision, before the decimal steps.
    n_steps
        Newton steps in double precision.

    Examples
    --------
    >>> from ptable import NoiseSpec
    >>> row = maximise(NoiseSpec(max_noise=2, variance=1.0).row(1))
    >>> [round(float(p), 4) for p in row.law]
    [0.3981, 0.3058, 0.1942, 0.1019]
    """

    multipliers: tuple[float, float]
    law: tuple[Fraction, ...]
    residual: float
    n_steps: int


@dataclass(frozen=True, slots=True)
class _Response:
    """The maximiser at given multipliers, with what Newton needs."""

    law: Float
    blocks: list[tuple[int, int]]
    is_free: NDArray[np.bool_]
    value: float
    gradient: tuple[float, float]


def maximise(
    problem: RowProblem, *, start: tuple[float, float] | None = None, polish: bool = True
) -> DualRow:
    """Find the law of greatest entropy of a row whose variance lies strictly in reach.

    Parameters
    ----------
    problem
        The row.
    start
        Multipliers to start from, such as a solver's.
    polish
        Whether to take the last steps in decimal arithmetic.

    Examples
    --------
    >>> from ptable import NoiseSpec
    >>> row = maximise(NoiseSpec(max_noise=2, variance=2.0, variance_rule="at-most").row(1))
    >>> row.multipliers[1]
    0.0
    """
    dual = _Dual(problem)
    if problem.at_most:
        point, steps = dual.minimise((0.0, 0.0), is_binding=False)
        if not abs(dual.respond(point).gradient[0]) <= _GOOD_RESIDUAL:
            point = dual.across(0.0), 0.0
        if dual.respond(point).gradient[1] <= 0:
            return dual.finish(point, steps, is_binding=False, polish=polish)
    cold = dual.cold_start()
    candidates = [start, cold] if start and all(map(math.isfinite, start)) else [cold]
    warm = min(candidates, key=lambda point: dual.respond(point).value)
    point, steps = dual.minimise(warm, is_binding=True)
    if not dual.size_at(point) <= _GOOD_RESIDUAL:
        again, more = dual.minimise(dual.bisect(cold[1]), is_binding=True)
        if dual.size_at(again) < dual.size_at(point):
            point, steps = again, steps + more
    return dual.finish(point, steps, is_binding=True, polish=polish)


def dual_bound(problem: RowProblem, multipliers: tuple[float, float]) -> float:
    """Bound the entropy of every law that satisfies a row, by weak duality.

    Parameters
    ----------
    problem
        The row.
    multipliers
        Any prices of the mean and the variance; the latter at most 0 under ``at_most``.

    Examples
    --------
    >>> from ptable import NoiseSpec
    >>> problem = NoiseSpec(max_noise=2, variance=1.0).row(1)
    >>> dual_bound(problem, (0.0, 0.0)) == np.log(4)
    np.True_
    """
    if problem.at_most and multipliers[1] > 0:
        return math.inf
    return _Dual(problem).respond(multipliers).value


def residual_at(problem: RowProblem, multipliers: tuple[float, float]) -> float:
    """Measure by how much the law of some multipliers misses the optimality conditions.

    Parameters
    ----------
    problem
        The row.
    multipliers
        The prices of the mean and of the variance.

    Examples
    --------
    >>> from ptable import NoiseSpec
    >>> problem = NoiseSpec(max_noise=2, variance=1.0).row(1)
    >>> residual_at(problem, maximise(problem).multipliers) < 1e-14
    True
    """
    law = _Dual(problem).respond(multipliers)
    mean, excess = law.gradient
    if problem.at_most and multipliers[1] == 0:
        excess = max(excess, 0.0)
    scale = max(1.0, float(problem.variance))
    return max(abs(float(law.law.sum()) - 1), abs(mean), abs(excess) / scale)


class _Dual:
    """The dual function of one row."""

    def __init__(self, problem: RowProblem) -> None:
        self.problem = problem
        self.noise = np.array(problem.noise, dtype=np.float64)
        self.squares = self.noise**2
        self.variance = float(problem.variance)
        self.floor = float(problem.floor)

    def cold_start(self) -> tuple[float, float]:
        if self.variance < 0.5:
            return 0.0, math.log(self.variance / 2)
        return 0.0, -0.5 / self.variance

    def respond(self, point: tuple[float, float]) -> _Response:
        score = point[0] * self.noise + point[1] * self.squares
        blocks = _pool(score, self.problem.n_left)
        for first, last in blocks:
            score[first:last] = score[first:last].mean()
        law, is_free = _normalise(score, self.floor)
        positive = law[law > 0]
        gradient = float(law @ self.noise), float(law @ self.squares) - self.variance
        value = (
            -float(positive @ np.log(positive))
            + point[0] * gradient[0]
            + point[1] * gradient[1]
        )
        return _Response(law, blocks, is_free, value, gradient)

    def minimise(
        self, point: tuple[float, float], *, is_binding: bool
    ) -> tuple[tuple[float, float], int]:
        """Run Newton's method, halving steps until the value or the gradient falls."""
        here = self.respond(point)
        for step in range(_MAX_STEPS):
            size = self._size(here, is_binding=is_binding)
            if size <= 1e-15:
                return point, step
            move, slope = self._newton(here, is_binding=is_binding)
            scale = 1.0
            while scale > 1e-12:
                trial = point[0] + scale * move[0], point[1] + scale * move[1]
                there = self.respond(trial)
                falls = there.value <= here.value + 1e-4 * scale * slope
                flat = abs(there.value - here.value) <= 1e-13 * (1 + abs(here.value))
                if falls or (flat and self._size(there, is_binding=is_binding) < size):
                    break
                scale /= 2
            if self._size(there, is_binding=is_binding) >= size and scale <= 1e-12:
                return point, step
            if size < 1e-12 and self._size(there, is_binding=is_binding) >= size:
                return point, step
            point, here = trial, there
        return point, _MAX_STEPS

    def size_at(self, point: tuple[float, float]) -> float:
        return self._size(self.respond(point), is_binding=True)

    def bisect(self, start: float) -> tuple[float, float]:
        """Solve for the two multipliers one inside the other: slow, but it cannot fail.

        The mean rises with the first multiplier, and so does the variance with the second when
        the first keeps the mean at zero.
        """

        def excess(down: float) -> float:
            return self.respond((self.across(down), down)).gradient[1]

        down = _root(excess, start)
        return self.across(down), down

    def across(self, down: float) -> float:
        """Solve for the first multiplier at a given second one."""
        return _root(lambda x: self.respond((x, down)).gradient[0], 0.0)

    def _size(self, here: _Response, *, is_binding: bool) -> float:
        second = abs(here.gradient[1]) / max(1.0, self.variance) if is_binding else 0.0
        return max(abs(here.gradient[0]), second)

    def _newton(
        self, here: _Response, *, is_binding: bool
    ) -> tuple[tuple[float, float], float]:
        first, second = self.noise.copy(), self.squares.copy()
        for start, stop in here.blocks:
            first[start:stop] = first[start:stop].mean()
            second[start:stop] = second[start:stop].mean()
        weight = np.where(here.is_free, here.law, 0.0)
        total = weight.sum()
        first -= weight @ first / total
        spread = float(weight @ first**2) + 1e-300
        second -= weight @ second / total
        slant = float(weight @ (first * second)) / spread
        second -= slant * first
        bend = float(weight @ second**2)
        bend += 1e-14 * float(weight @ self.squares**2) + 1e-300
        down = -(here.gradient[1] - slant * here.gradient[0]) / bend if is_binding else 0.0
        across = -here.gradient[0] / spread - slant * down
        slope = across * here.gradient[0] + down * here.gradient[1]
        return (across, down), slope

    def finish(
        self, point: tuple[float, float], steps: int, *, is_binding: bool, polish: bool
    ) -> DualRow:
        here = self.respond(point)
        residual = max(abs(float(here.law.sum()) - 1), self._size(here, is_binding=is_binding))
        if not residual < 1e-7:
            msg = (
                f"The row of count {self.problem.count} did not converge "
                f"(residual {residual:.2g})."
            )
            raise InternalError(msg, hint="please report it together with the specification")
        law = None
        if polish:
            pattern = here.blocks, here.is_free.tolist()
            law = decimal_law(self.problem, pattern, point, is_binding=is_binding)
        if law is None:
            law = tuple(Fraction(p) for p in here.law.tolist())
        return DualRow(multipliers=point, law=law, residual=residual, n_steps=steps)


def _root(rising: Callable[[float], float], start: float) -> float:
    """Find where a rising function crosses zero, widening the search as far as needed."""
    low = high = start
    step = 1.0
    while rising(low) > 0 and step < _FARTHEST:
        low, step = low - step, 2 * step
    step = 1.0
    while rising(high) < 0 and step < _FARTHEST:
        high, step = high + step, 2 * step
    while True:
        middle = (low + high) / 2
        if middle in {low, high}:
            return middle
        if rising(middle) > 0:
            high = middle
        else:
            low = middle


def _pool(score: Float, n_left: int) -> list[tuple[int, int]]:
    """Pool adjacent violators over the left part; give blocks of two and more."""
    if n_left < 2 or (np.diff(score[:n_left]) >= 0).all():
        return []
    blocks: list[tuple[int, int, float]] = []
    for index, value in enumerate(score[:n_left].tolist()):
        first, stop, total = index, index + 1, value
        while blocks and blocks[-1][2] * (stop - first) >= total * (
            blocks[-1][1] - blocks[-1][0]
        ):
            before = blocks.pop()
            first, total = before[0], total + before[2]
        blocks.append((first, stop, total))
    return [(first, stop) for first, stop, _ in blocks if stop - first > 1]


def _normalise(score: Float, floor: float) -> tuple[Float, NDArray[np.bool_]]:
    """Scale ``exp(score)`` so that its maximum with the floor sums to one."""
    raw = np.exp(score - score.max())
    if floor == 0:
        return raw / raw.sum(), np.ones(len(raw), dtype=np.bool_)
    falling = -np.sort(-raw)
    kept = np.arange(1, len(raw) + 1)
    scales = (1 - floor * (len(raw) - kept)) / np.cumsum(falling)
    n_free = int((falling * scales > floor).sum()) or 1
    is_free = raw * scales[n_free - 1] > floor
    return np.where(is_free, raw * scales[n_free - 1], floor), is_free
