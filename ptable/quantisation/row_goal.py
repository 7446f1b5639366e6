"""What one row of a p-table should become in few keys."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from ptable.design.spec import NoiseSpec
from ptable.design.stack import StackedSpec
from ptable.errors import PTableError
from ptable.lookup import moments
from ptable.solver.integer.exchange import sums
from ptable.solver.row import RowProblem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ptable.table import PTable

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
        law = tuple(units[v] / table.key_range for v in noise)
        return RowGoal(
            problem=RowProblem(
                count=count, noise=noise, variance=variance, mean=mean, step=table.step
            ),
            law=law,
            tilt=tuple(math.log(p * total) for p in law),
            curvature=None,
            total=total,
        )
    problem = spec.row(count)
    if not set(units) <= set(problem.noise):
        raise PTableError(
            f"The noise of count {count} goes beyond the table's specification.",
            hint="drop the specification: table.with_proof(None, None)",
        )
    limit = _TOOK_ANOTHER * max(Fraction(1), problem.variance)
    if problem.nearest and abs(variance - problem.variance) > limit:
        problem = replace(problem, variance=variance)
    law = tuple(units.get(v, 0) / table.key_range for v in problem.noise)
    goal = RowGoal(problem=problem, law=law, tilt=(), curvature=0.0, total=total)
    slopes = _quadratic(goal)
    tilt = tuple(slopes[0] + slopes[1] * v + slopes[2] * v * v for v in problem.noise)
    return replace(goal, tilt=tilt, curvature=slopes[2])


def _quadratic(goal: RowGoal) -> tuple[float, float, float]:
    """Fit a quadratic to the logarithm of a law, in keys.

    Subtracting it from the cost changes all rows with the same sums alike, so that any would
    do; near the law little is left, which is what a solver likes.
    """
    law = np.array(goal.law)
    usable = law > 0
    noise = np.array(goal.problem.noise, dtype=np.float64)[usable]
    powers = np.vander(noise, 3, increasing=True)
    if goal.is_mirrored:
        powers[:, 1] = 0.0
    weight = np.sqrt(law[usable])
    height = np.log(law[usable] * goal.total)
    slopes = np.linalg.lstsq(powers * weight[:, None], height * weight)[0].tolist()
    if goal.problem.at_most and slopes[2] > 0:
        slopes[2] = 0.0
    return slopes[0], slopes[1], slopes[2]
