"""What a row can reach: closed forms, and linear programs in floating point."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from ptable.solver.reach import (
    BOUND_TOLERANCE,
    at_bound,
    forget,
    meets,
    nearest_bound,
    place_in,
    reaches,
    stay_bounds,
    variance_bounds,
)
from ptable.solver.row import RowProblem


def row(noise, variance=1, **other):
    return RowProblem(count=3, noise=tuple(noise), variance=Fraction(variance), **other)


def extremes(problem, objective, *, keep_variance=False):
    """Give the least and greatest of an objective over the laws of a row, or None."""
    noise = np.array(problem.noise, float)
    size = len(noise)
    equal, goal = [np.ones(size), noise], [1.0, float(problem.mean)]
    below, limits = [], []
    if keep_variance:
        (below if problem.at_most else equal).append(noise**2)
        (limits if problem.at_most else goal).append(float(problem.second_moment))
    if problem.p_stay is not None and not keep_variance:
        stay = (noise == 0).astype(float)
        sign = {"exact": 0, "at-least": -1, "at-most": 1}[problem.p_stay_rule]
        (below if sign else equal).append((sign or 1) * stay)
        (limits if sign else goal).append((sign or 1) * float(problem.p_stay))
    for low, high in problem.rising_pairs:
        below.append(np.eye(size)[low] - np.eye(size)[high])
        limits.append(0.0)
    if problem.symmetric:
        for place in range(size // 2):
            equal.append(np.eye(size)[place] - np.eye(size)[size - 1 - place])
            goal.append(0.0)
    values = []
    for sign in (1, -1):
        answer = linprog(
            sign * np.array(objective, float),
            A_eq=np.array(equal),
            b_eq=goal,
            A_ub=np.array(below) if below else None,
            b_ub=limits or None,
            bounds=(float(problem.floor), 1),
        )
        if answer.status != 0:
            return None
        values.append(sign * answer.fun)
    return values


def outer(problem, objective, **other):
    """Give the extremes over all places of the peak."""
    if not problem.unimodal:
        return extremes(problem, objective, **other)
    peaks = (problem.with_peak(place) for place in range(len(problem.noise)))
    ends = [e for e in (extremes(p, objective, **other) for p in peaks) if e]
    return [min(e[0] for e in ends), max(e[1] for e in ends)] if ends else None


def hold_law(problem, end):
    """Check a law against the constraints of its row, in fractions."""
    law, noise = end.law, problem.noise
    assert sum(law) == 1
    assert min(law) >= problem.floor
    assert sum(p * v for p, v in zip(law, noise, strict=True)) == problem.mean
    shape = problem.with_peak(end.peak) if problem.unimodal else problem
    assert all(law[low] <= law[high] for low, high in shape.rising_pairs)
    if problem.symmetric:
        assert law == law[::-1]


NOISES = [(-1, 0, 1, 2, 3), tuple(range(-4, 5)), (-3, -2, 0, 1, 2, 5), (-2, -1, 3, 4)]
SHAPES = [{}, {"n_left": True}, {"n_right": True}, {"n_left": True, "n_right": True},
          {"unimodal": True}, {"symmetric": True}, {"floor": Fraction(1, 40)},
          {"mean": Fraction(1, 3)}, {"floor": Fraction(1, 50), "unimodal": True},
          {"floor": Fraction(1, 50), "symmetric": True, "n_left": True, "n_right": True},
          {"floor": Fraction(1, 50), "symmetric": True}]  # fmt: skip
STAYS = [{}, *({"p_stay": Fraction(3, 10), "p_stay_rule": rule}
               for rule in ("exact", "at-least", "at-most"))]  # fmt: skip


def problems():
    """Give every noise under every shape and probability of staying."""
    for values, shape, stay in itertools.product(NOISES, SHAPES, STAYS):
        if stay and 0 not in values:
            continue
        alone = shape.get("symmetric")
        noise = tuple(v for v in values if not alone or -v in values)
        split = sum(v <= 0 for v in noise)
        sizes = {"n_left": split, "n_right": len(noise) - split + 1}
        if "n_left" in shape and "n_right" in shape and 0 not in noise:
            continue
        fields = {k: sizes.get(k, v) for k, v in shape.items()} | stay
        if len(noise) > 1:
            yield row(noise, **fields)


SLOW = pytest.mark.slow


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=SLOW) for part in range(1, 4))])
def test_the_reach_of_the_variance_is_what_a_linear_program_finds(part):
    n_reached = 0
    for problem in itertools.islice(problems(), part, None, 4):
        ends, floats = variance_bounds(problem), outer(problem, np.square(problem.noise))
        assert (ends is None) == (floats is None), problem
        if ends is None:
            continue
        n_reached += 1
        for end, wanted in zip(ends, floats, strict=True):
            hold_law(problem, end)
            square = sum(p * v * v for p, v in zip(end.law, problem.noise, strict=True))
            assert end.value == square - problem.mean**2
            assert float(square) == pytest.approx(wanted, abs=1e-6), problem
            if problem.p_stay is not None:
                excess = end.law[problem.noise.index(0)] - problem.p_stay
                assert excess <= 0 or problem.p_stay_rule == "at-least"
                assert excess >= 0 or problem.p_stay_rule == "at-most"
    assert n_reached > 10


@pytest.mark.parametrize("at_most", [False, pytest.param(True, marks=SLOW)])
def test_the_reach_of_staying_is_what_a_linear_program_finds(at_most):
    n_reached = 0
    for problem in problems():
        if problem.p_stay is not None or 0 not in problem.noise or len(problem.noise) > 6:
            continue
        for variance in (Fraction(1), Fraction(5, 2)):
            asked = replace(problem, variance=variance, at_most=at_most)
            stays = [float(v == 0) for v in asked.noise]
            ends, floats = stay_bounds(asked), outer(asked, stays, keep_variance=True)
            assert (ends is None) == (floats is None), asked
            if ends is None:
                continue
            n_reached += 1
            for end, wanted in zip(ends, floats, strict=True):
                hold_law(asked, end)
                assert end.value == end.law[asked.noise.index(0)]
                assert float(end.value) == pytest.approx(wanted, abs=1e-6), asked
    assert n_reached > 10


def test_the_reach_of_staying_does_not_depend_on_what_is_asked_of_it():
    free = row(range(-2, 3))
    assert stay_bounds(replace(free, p_stay=Fraction(1, 10))) == stay_bounds(free)
    assert [end.value for end in stay_bounds(free)] == [0, Fraction(3, 4)]
    assert stay_bounds(row((-1, 1, 2))) is None


@pytest.mark.parametrize("most", [1, 2, 7, 40])
def test_a_count_of_one_reaches_as_far_as_two_values_do(most):
    ends = variance_bounds(row(range(-1, most + 1)))
    assert [end.value for end in ends] == [0, most]
    law = ends[1].law
    assert (law[0], law[-1]) == (Fraction(most, most + 1), Fraction(1, most + 1))
    # where the probability of -1 may not exceed that of 0, the rest is uniform
    tied = variance_bounds(row(range(-1, most + 1), n_left=2))[1]
    assert tied.value == Fraction(most * (most + 1), 2 * most + 1)


@pytest.mark.parametrize("most", [3, 9, 12])
def test_a_single_peak_on_even_noise_reaches_the_uniform_law(most):
    ends = variance_bounds(row(range(-most, most + 1), unimodal=True))
    assert [end.value for end in ends] == [0, Fraction(most * (most + 1), 3)]
    assert set(ends[1].law) == {Fraction(1, 2 * most + 1)}
    peaked = variance_bounds(row(range(-most, most + 1), n_left=most + 1, n_right=most + 1))
    assert [end.value for end in peaked] == [end.value for end in ends]


def test_two_shapes_on_many_values_reach_what_a_linear_program_finds():
    for noise, mean in (
        (tuple(range(-8, 12)), Fraction(1, 2)),
        (tuple(range(-6, 14)), 0),
        ((*range(-8, 1), *range(2, 13)), 0),
    ):
        zero = noise.index(0)
        problem = row(noise, mean=Fraction(mean), n_left=zero + 1, n_right=len(noise) - zero)
        floats = extremes(problem, np.square(noise))
        for end, wanted in zip(variance_bounds(problem), floats, strict=True):
            hold_law(problem, end)
            assert float(end.value + problem.mean**2) == pytest.approx(wanted, abs=1e-6)


def test_rows_that_no_law_fits_reach_nothing():
    assert variance_bounds(row((1, 2))) is None
    assert variance_bounds(row((1, 2), n_right=2)) is None
    assert variance_bounds(row(range(-2, 3), floor=Fraction(1, 4))) is None
    assert variance_bounds(row(range(-2, 3), mean=Fraction(3))) is None
    assert variance_bounds(row((0,), p_stay=Fraction(1, 2))) is None
    only = variance_bounds(row((0,), p_stay=Fraction(1, 2), p_stay_rule="at-least"))
    assert [(end.value, end.law) for end in only] == [(0, (1,))] * 2
    assert variance_bounds(row((-1, 0, 1), p_stay=Fraction(1, 2), n_left=2)) is not None


def test_rows_that_differ_in_variance_and_count_alone_have_one_reach():
    forget()
    ends = variance_bounds(row(range(-2, 3), 1))
    other = replace(row(range(-2, 3), 3), count=77, at_most=True, nearest=True)
    assert variance_bounds(other) is ends
    forget()
    assert variance_bounds(other) is not ends
    assert variance_bounds(other) == ends


def test_a_variance_is_a_bound_up_to_a_relative_tolerance():
    for bound in (Fraction(0), Fraction(1), Fraction(10**6)):
        room = BOUND_TOLERANCE * max(1, bound)
        assert at_bound(bound + room, bound)
        assert at_bound(bound - room, bound)
        assert not at_bound(bound + room * Fraction(11, 10), bound)
        assert not at_bound(bound - room * Fraction(11, 10), bound)
    assert Fraction(1, 10**12) == BOUND_TOLERANCE


@pytest.mark.parametrize(
    ("variance", "met", "at_most_met", "place", "at_most_place"),
    [
        (1, False, False, "least", "least"),
        (2 - Fraction(1, 10**11), False, False, "least", "least"),
        (2 - Fraction(1, 10**13), True, True, "least", "least"),
        (2, True, True, "least", "least"),
        (2 + Fraction(1, 10**13), True, True, "least", "least"),
        (Fraction(5, 2), True, True, "inside", "inside"),
        (3 - Fraction(1, 10**13), True, True, "greatest", "inside"),
        (3, True, True, "greatest", "inside"),
        (3 + Fraction(1, 10**13), True, True, "greatest", "inside"),
        (3 + Fraction(1, 10**11), False, True, "greatest", "inside"),
        (9, False, True, "greatest", "inside"),
    ],
)
def test_where_a_variance_lies_between_two_and_three(
    variance, met, at_most_met, place, at_most_place
):
    problem = row((-1, 2, 3), variance)
    ends = variance_bounds(problem)
    assert [end.value for end in ends] == [2, 3]
    loose = replace(problem, at_most=True)
    assert (meets(problem, ends), meets(loose, ends)) == (met, at_most_met)
    assert (place_in(problem, ends), place_in(loose, ends)) == (place, at_most_place)
    assert (reaches(problem), reaches(loose)) == (met, at_most_met)
    assert not meets(problem, None)


def test_a_row_with_one_peak_does_not_reach_all_that_lies_between_its_ends():
    # a peak at 0 reaches 12/5 alone, and one at 3 all from 23/5 to 128/25
    problem = row((-3, -2, -1, 0, 3), p_stay=Fraction(1, 5), unimodal=True)
    ends = variance_bounds(problem)
    assert [end.value for end in ends] == [Fraction(12, 5), Fraction(128, 25)]
    assert [end.peak for end in ends] == [3, 4] or ends[0].law[ends[0].peak] == max(ends[0].law)
    for variance, is_reached in ((1, False), (Fraction(12, 5), True), (3, False), (4, False),
                                 (Fraction(23, 5), True), (5, True), (6, False)):  # fmt: skip
        asked = replace(problem, variance=Fraction(variance))
        by_peak = [meets(asked, variance_bounds(asked.with_peak(place))) for place in range(5)]
        assert any(by_peak) == is_reached
        assert reaches(asked) == is_reached
        assert reaches(replace(asked, at_most=True)) == (variance >= Fraction(12, 5))
    values = [nearest_bound(replace(problem, variance=Fraction(v))).value for v in (3, 4, 6)]
    assert values == [Fraction(12, 5), Fraction(23, 5), Fraction(128, 25)]
    tie = nearest_bound(replace(problem, variance=Fraction(7, 2)))
    assert tie.value == Fraction(12, 5)
    hold_law(problem, tie)


def test_a_row_without_noise_reaches_nothing():
    assert not reaches(row(()))


@pytest.mark.parametrize(
    ("rule", "ends"), [("exact", (102, 694)), ("at-least", (28, 694)), ("at-most", (102, 865))]
)
def test_a_bound_on_staying_leaves_the_variance_its_side(rule, ends):
    problem = row(range(-3, 4), floor=Fraction(1, 100), p_stay=Fraction(1, 5), p_stay_rule=rule)
    assert [100 * end.value for end in variance_bounds(problem)] == list(ends)
