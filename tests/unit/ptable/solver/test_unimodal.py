"""Rows with one peak, beside every place that it may have."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from ptable.solver.dual import maximise
from ptable.solver.reach import variance_bounds
from ptable.solver.row import RowProblem
from ptable.solver.unimodal import best_peak, bound_over_peaks, entropy, has_one_peak, shaped


def row(noise, variance, **other):
    fields = {"unimodal": True} | other
    return RowProblem(count=9, noise=tuple(noise), variance=Fraction(variance), **fields)


def rises_and_falls(numbers):
    return any(
        all(a <= b for a, b in itertools.pairwise(numbers[: top + 1]))
        and all(a >= b for a, b in itertools.pairwise(numbers[top:]))
        for top in range(len(numbers))
    )


def test_one_peak_is_what_rises_to_some_place_and_falls_from_it():
    for size in (1, 2, 3, 4):
        for numbers in itertools.product(range(3), repeat=size):
            assert has_one_peak(numbers) == rises_and_falls(numbers), numbers


def test_entropy_is_that_of_known_laws():
    assert entropy([Fraction(1, 4)] * 4) == pytest.approx(math.log(4))
    assert entropy([0.5, 0.5, 0.0]) == pytest.approx(math.log(2))
    assert entropy([1.0, 0.0]) == 0
    p = 0.2
    expected = -(p * math.log(p) + (1 - p) * math.log(1 - p))
    assert entropy([p, 1 - p]) == pytest.approx(expected)


def test_a_shape_is_a_peak_at_one_place_or_none_at_all():
    problem = row(range(-2, 3), 1)
    assert not shaped(problem, None).unimodal
    assert shaped(problem, None).rising_pairs == ()
    assert shaped(problem, 0).rising_pairs == problem.with_peak(0).rising_pairs
    assert shaped(problem, 3) == problem.with_peak(3)


def test_a_row_whose_greatest_entropy_has_one_peak_needs_no_place():
    problem = row(range(-4, 5), 2)
    peak, law, multipliers = best_peak(problem)
    assert peak is None
    free = maximise(shaped(problem, None))
    assert (law, multipliers) == (free.law, free.multipliers)


SKEW = row(range(-2, 6), 5)
DENTED = row(range(-4, 5), 4, p_stay=Fraction(1, 10))


@pytest.mark.parametrize(
    "problem",
    [
        DENTED,  # few counts stay, so that the peak lies on either side
        row(range(-1, 7), Fraction(7, 2)),
        row(range(-2, 9), 8),
        SKEW,
        row(range(-2, 6), 6),  # the end of what the best place reaches
        row(range(-3, 7), 8),
        row(range(-1, 4), 2),
    ],
)
def test_the_best_place_leaves_the_greatest_entropy(problem):
    best = -math.inf
    for place in range(len(problem.noise)):
        ends = variance_bounds(problem.with_peak(place))
        if ends is None or not ends[0].value <= problem.variance <= ends[1].value:
            continue
        if ends[0].value < problem.variance < ends[1].value:
            law = maximise(problem.with_peak(place)).law
        else:
            law = ends[problem.variance == ends[1].value].law
        best = max(best, entropy(law))
    peak, law, multipliers = best_peak(problem)
    assert entropy(law) == pytest.approx(best, abs=1e-12)
    assert has_one_peak(law)
    assert law[peak] == max(law)
    assert sum(p * v for p, v in zip(law, problem.noise, strict=True)) == pytest.approx(0)
    moment = sum(p * v * v for p, v in zip(law, problem.noise, strict=True))
    assert float(moment) == pytest.approx(float(problem.variance))
    bound = bound_over_peaks(problem, multipliers, peak)
    assert bound == pytest.approx(best, abs=1e-9)
    # without multipliers each place is solved anew
    assert bound_over_peaks(problem, None, None) == pytest.approx(best, abs=1e-9)


def test_of_two_places_that_are_as_good_the_lower_one_is_taken():
    peak, law, _ = best_peak(DENTED)
    other = maximise(DENTED.with_peak(8 - peak)).law
    assert entropy(other) == pytest.approx(entropy(law), abs=1e-12)
    assert peak < 4


def test_an_end_of_the_reach_has_a_law_and_no_multipliers():
    noise = range(-1, 4)
    free = row(noise, 1, unimodal=False)
    most = max(
        variance_bounds(free.with_peak(place))[1].value
        for place in range(5)
        if variance_bounds(free.with_peak(place))
    )
    problem = row(noise, most)
    peak, law, multipliers = best_peak(problem)
    assert multipliers is None
    assert has_one_peak(law)
    bound = bound_over_peaks(problem, None, peak)
    assert bound == pytest.approx(entropy(law), abs=1e-12)


def test_no_law_with_one_peak_exceeds_the_bound_at_any_multipliers():
    problem = SKEW
    rng = np.random.default_rng(5)
    peak, law, multipliers = best_peak(problem)
    best = entropy(law)
    for _ in range(20):
        prices = tuple((np.array(multipliers) + rng.normal(0, 0.2, 2)).tolist())
        assert bound_over_peaks(problem, prices, peak) >= best - 1e-12


def test_the_bound_covers_places_beside_that_of_the_multipliers():
    peak, law, _ = best_peak(SKEW)
    worse = maximise(SKEW.with_peak(peak + 1))
    assert entropy(worse.law) < entropy(law) - 1e-3
    bound = bound_over_peaks(SKEW, worse.multipliers, peak + 1)
    assert bound == pytest.approx(entropy(law))
