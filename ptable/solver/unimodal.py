"""Rows whose probabilities rise to a peak, wherever it is, and fall from there.

For every place of the peak the problem is convex, and the best place wins. Most rows never get
so far: greatest entropy alone already gives them a single peak.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import TypeAlias

from ptable.solver.dual import dual_bound, maximise
from ptable.solver.reach import meets, place_in, variance_bounds
from ptable.solver.row import RowProblem

_Law: TypeAlias = "tuple[Fraction, ...]"


def shaped(problem: RowProblem, peak: int | None) -> RowProblem:
    """Ask for a peak at one place, or for no shape at all."""
    return replace(problem, unimodal=False) if peak is None else problem.with_peak(peak)


def has_one_peak(distribution: Sequence[Fraction | int]) -> bool:
    """Say whether numbers rise and fall from there on."""
    top = max(range(len(distribution)), key=distribution.__getitem__)
    rises = all(low <= high for low, high in pairwise(distribution[: top + 1]))
    return rises and all(low <= high for high, low in pairwise(distribution[top:]))


def best_peak(problem: RowProblem) -> tuple[int | None, _Law, tuple[float, ...] | None]:
    """Find the place of the peak that leaves the greatest entropy, with its law and prices.

    The place is None where the greatest entropy without any shape has one peak by itself.
    """
    free = shaped(problem, None)
    ends = variance_bounds(free)
    if ends is not None and place_in(free, ends) == "inside":
        best = maximise(free)
        if has_one_peak(best.law):
            return None, best.law, best.multipliers
    peaks = []
    for place in range(len(problem.noise)):
        distribution, multipliers = _at(problem.with_peak(place))
        if distribution is not None:
            peaks.append((entropy(distribution), -place, distribution, multipliers))
    _, place, distribution, multipliers = max(peaks, key=lambda entry: entry[:2])
    return -place, distribution, multipliers


def bound_over_peaks(
    problem: RowProblem, multipliers: tuple[float, ...] | None, peak: int | None
) -> float:
    """Bound the entropy of every law of a row with one peak, by weak duality at each place."""
    bound = 0.0
    for place in range(len(problem.noise)):
        there = problem.with_peak(place)
        distribution: _Law | None = None
        all_multipliers = multipliers if place == peak else None
        if all_multipliers is None:
            distribution, all_multipliers = _at(there)
        if all_multipliers is not None:
            bound = max(bound, dual_bound(there, all_multipliers))
        elif distribution is not None:
            bound = max(bound, entropy(distribution))
    return bound


def _at(problem: RowProblem) -> tuple[_Law | None, tuple[float, ...] | None]:
    """Solve a row at a known peak; nothing where its variance is out of reach."""
    ends = variance_bounds(problem)
    if ends is None or not meets(problem, ends):
        return None, None
    place = place_in(problem, ends)
    if place == "inside":
        best = maximise(problem)
        return best.law, best.multipliers
    return ends[place == "greatest"].law, None


def entropy(distribution: Sequence[Fraction] | Sequence[float]) -> float:
    """Compute the entropy of a law, in nats."""
    return -math.fsum(float(p) * math.log(p) for p in distribution if p > 0)
