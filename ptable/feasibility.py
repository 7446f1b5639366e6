"""The variances that each row of a p-table can reach, in closed form.

A row is a mixture of the extreme rays of its constraints: point masses, and, where the
probabilities may not fall on the left, uniform laws over the last left noise values. In the
plane (mean, second moment) the rays span a polygon; the reachable variances are the polygon's
cut at mean zero. Everything is computed with integers and fractions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import pandas as pd

    from ptable.row import RowProblem
    from ptable.spec import NoiseSpec

__all__ = ["Feasibility", "RowFeasibility", "feasible"]

#: A requested variance this close to a bound, relative to ``max(1, bound)``, is the bound.
BOUND_TOLERANCE = Fraction(1, 10**12)

_Ray: TypeAlias = tuple[int, int]
_Point: TypeAlias = tuple[int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """One end of the feasible variances, and the law that reaches it."""

    variance: Fraction
    law: tuple[Fraction, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFeasibility:
    """The variances that one row can reach.

    Parameters
    ----------
    count
        The original count of the row.
    variance_min, variance_max
        The ends of the reachable variances; None where no law at all satisfies the row.
    requested
        The variance asked for.
    is_feasible
        Whether the row can be met as asked.
    binding
        What stands in the way, in words; empty when nothing does.

    Examples
    --------
    >>> from ptable import NoiseSpec
    >>> feasible(NoiseSpec(max_noise=2, variance=1.0)).rows[0].variance_max
    2.0
    """

    count: int
    variance_min: float | None
    variance_max: float | None
    requested: float
    is_feasible: bool
    binding: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Feasibility:
    """The variances that each row can reach, and what works for all of them.

    Parameters
    ----------
    rows
        One entry per count from 1 on.
    nearest_variance
        The variance nearest to the requested one that every row can reach (one per row when one
        per row was requested), or None.
    advice
        What to change when the request is infeasible; empty otherwise.

    Examples
    --------
    >>> from ptable import NoiseSpec
    >>> print(feasible(NoiseSpec(max_noise=2, variance=2.5)))
    count  variance from  to  requested  feasible
        1              0   2        2.5  no: the noise of a count of 1 cannot go below -1
        2              0   4        2.5  yes
    use variance=2
    """

    rows: tuple[RowFeasibility, ...]
    nearest_variance: float | tuple[float, ...] | None
    advice: str

    @property
    def ok(self) -> bool:
        """Whether every row can be met as asked.

        Examples
        --------
        >>> from ptable import NoiseSpec
        >>> feasible(NoiseSpec(max_noise=2, variance=2.5)).ok
        False
        """
        return all(row.is_feasible for row in self.rows)

    def to_frame(self) -> pd.DataFrame:
        """Give one line per row as a pandas data frame.

        Examples
        --------
        >>> from ptable import NoiseSpec
        >>> feasible(NoiseSpec(max_noise=2, variance=1.0)).to_frame()["variance_max"].tolist()
        [2.0, 4.0]
        """
        import pandas as pd

        columns = tuple(RowFeasibility.__dataclass_fields__)
        return pd.DataFrame(
            [[getattr(row, name) for name in columns] for row in self.rows], columns=columns
        )

    def __str__(self) -> str:
        lines = [("count", "variance from", "to", "requested", "feasible")]
        for row in self.rows:
            ends = (_number(row.variance_min), _number(row.variance_max))
            verdict = "yes" if row.is_feasible else f"no: {row.binding}"
            lines.append((str(row.count), *ends, _number(row.requested), verdict))
        widths = [max(len(line[column]) for line in lines) for column in range(4)]
        text = [
            "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=False))
            + f"  {line[4]}"
            for line in lines
        ]
        return "\n".join([*text, self.advice] if self.advice else text)


def feasible(spec: NoiseSpec) -> Feasibility:
    """Find the variances that each row can reach, without solving anything.

    Parameters
    ----------
    spec
        The specification.

    Returns
    -------
    Feasibility
        Exact ends per row, up to the last digit of a float.

    Notes
    -----
    Without floor or monotony, the row of count ``i ≤ small`` starts at
    ``i (small + 1 - i)``, so that all rows together need ``⌊(small + 1)² / 4⌋``; and the row of
    count 1 ends at ``D`` when ``small`` is 0, or at ``D (D + 1) / (2 D + 1)`` when monotone.

    Examples
    --------
    >>> from ptable import NoiseSpec
    >>> answer = feasible(NoiseSpec(max_noise=5, variance=1.0, small=2))
    >>> answer.ok, answer.nearest_variance
    (False, 2.0)
    """
    rows = tuple(_row_feasibility(problem) for problem in spec.rows())
    nearest = _nearest(spec, rows)
    return Feasibility(rows=rows, nearest_variance=nearest, advice=_advice(spec, rows, nearest))


def variance_bounds(problem: RowProblem) -> tuple[Bound, Bound] | None:
    """Find the laws of least and greatest variance of a row, or None when it has no law.

    Parameters
    ----------
    problem
        The row.

    Examples
    --------
    >>> from ptable import NoiseSpec
    >>> low, high = variance_bounds(NoiseSpec(max_noise=2, variance=1.0).row(1))
    >>> high.law
    (Fraction(2, 3), Fraction(0, 1), Fraction(0, 1), Fraction(1, 3))
    """
    noise, floor = problem.noise, problem.floor
    free = 1 - floor * len(noise)
    rays = _rays(problem)
    points = [_point(noise[start:stop]) for start, stop in rays]
    mean = -floor * sum(noise) / free
    bounds = []
    for sign in (1, -1):
        mixture = _cut(points, mean, sign)
        if mixture is None:
            return None
        law = [floor] * len(noise)
        for index, weight in mixture:
            start, stop = rays[index]
            for position in range(start, stop):
                law[position] += free * weight / (stop - start)
        variance = sum((p * v * v for p, v in zip(law, noise, strict=True)), Fraction(0))
        bounds.append(Bound(variance=variance, law=tuple(law)))
    return bounds[0], bounds[1]


def meets(problem: RowProblem, low: Fraction, high: Fraction) -> bool:
    """Say whether the requested variance lies in reach, bounds included.

    Parameters
    ----------
    problem
        The row.
    low, high
        The ends of its reachable variances.

    Examples
    --------
    >>> from ptable import NoiseSpec
    >>> meets(NoiseSpec(max_noise=2, variance=1.0).row(1), Fraction(0), Fraction(2))
    True
    """
    above = problem.variance >= low or at_bound(problem.variance, low)
    below = problem.variance <= high or at_bound(problem.variance, high)
    return above and (problem.at_most or below)


def at_bound(variance: Fraction, bound: Fraction) -> bool:
    """Say whether a variance is a bound, up to `BOUND_TOLERANCE`.

    Parameters
    ----------
    variance, bound
        The two to compare.

    Examples
    --------
    >>> from ptable import NoiseSpec
    >>> at_bound(Fraction("1.714285714285714"), Fraction(12, 7))
    True
    """
    return abs(variance - bound) <= BOUND_TOLERANCE * max(Fraction(1), bound)


def _rays(problem: RowProblem) -> list[_Ray]:
    left = problem.n_left
    pooled = [(start, left) for start in range(left)]
    return pooled + [(index, index + 1) for index in range(left, len(problem.noise))]


def _point(noise: tuple[int, ...]) -> _Point:
    return len(noise), sum(noise), sum(v * v for v in noise)


def _turn(a: _Point, b: _Point, c: _Point) -> int:
    return (
        a[0] * (b[1] * c[2] - b[2] * c[1])
        - a[1] * (b[0] * c[2] - b[2] * c[0])
        + a[2] * (b[0] * c[1] - b[1] * c[0])
    )


def _cut(points: list[_Point], mean: Fraction, sign: int) -> list[tuple[int, Fraction]] | None:
    """Mix the two neighbours on the lower (1) or upper (-1) hull that bracket a mean."""
    hull: list[int] = []
    for index in range(len(points)):
        while (
            len(hull) > 1
            and sign * _turn(points[hull[-2]], points[hull[-1]], points[index]) <= 0
        ):
            hull.pop()
        hull.append(index)
    means = [Fraction(points[index][1], points[index][0]) for index in hull]
    for index, at in zip(hull, means, strict=True):
        if at == mean:
            return [(index, Fraction(1))]
    for (left, low), (right, high) in pairwise(zip(hull, means, strict=True)):
        if low < mean < high:
            share = (mean - low) / (high - low)
            return [(left, 1 - share), (right, share)]
    return None


def _row_feasibility(problem: RowProblem) -> RowFeasibility:
    bounds = variance_bounds(problem)
    low, high = (bounds[0].variance, bounds[1].variance) if bounds else (None, None)
    is_feasible = low is not None and high is not None and meets(problem, low, high)
    return RowFeasibility(
        count=problem.count,
        variance_min=None if low is None else float(low),
        variance_max=None if high is None else float(high),
        requested=float(problem.variance),
        is_feasible=is_feasible,
        binding="" if is_feasible else _binding(problem),
    )


def _binding(problem: RowProblem) -> str:
    """Drop constraints one after the other until the row can be met; name the last dropped."""
    without_floor = replace(problem, floor=Fraction(0))
    if problem.floor and _can(without_floor):
        return "min_probability leaves too little freedom"
    if problem.n_left and _can(replace(without_floor, n_left=0)):
        return "monotone='left' leaves too little freedom"
    noise = problem.noise
    below = max(v for v in noise if v <= 0)
    above = min(v for v in noise if v >= 0)
    if problem.variance < -below * above:
        return f"no noise strictly between {below} and {above} is allowed"
    return f"the noise of a count of {problem.count} cannot go below {noise[0]}"


def _can(problem: RowProblem) -> bool:
    bounds = variance_bounds(problem)
    return bounds is not None and meets(problem, bounds[0].variance, bounds[1].variance)


def _nearest(
    spec: NoiseSpec, rows: tuple[RowFeasibility, ...]
) -> float | tuple[float, ...] | None:
    ends = [(row.variance_min, row.variance_max) for row in rows]
    known = [(low, high) for low, high in ends if low is not None and high is not None]
    if len(known) < len(rows):
        return None
    top = float("inf") if spec.variance_rule == "at-most" else None
    if isinstance(spec.variance, tuple):
        return tuple(
            min(max(wish, low), top or high)
            for wish, (low, high) in zip(spec.variance, known, strict=True)
        )
    low, high = max(low for low, _ in known), top or min(high for _, high in known)
    return min(max(spec.variance, low), high) if low <= high else None


def _advice(
    spec: NoiseSpec,
    rows: tuple[RowFeasibility, ...],
    nearest: float | tuple[float, ...] | None,
) -> str:
    if all(row.is_feasible for row in rows):
        return ""
    if isinstance(nearest, tuple):
        return f"use variance=({', '.join(map(_number, nearest))})"
    if nearest is not None:
        return f"use variance={_number(nearest)}"
    if any(row.variance_min is None for row in rows):
        return "lower min_probability: some rows have no law with mean zero at all"
    looser = [f"max_noise={spec.max_noise + 1} or more"]
    if spec.small:
        looser.append(f"small={spec.small - 1} or less")
    if spec.monotone != "none":
        looser.append("monotone='none'")
    return "no single variance suits every row; use " + ", ".join(looser)


def _number(number: float | None) -> str:
    return "none" if number is None else f"{number:.6g}"
