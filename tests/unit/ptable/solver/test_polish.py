"""Laws in fifty decimal digits: their moments, and what makes them the likeliest."""

import math
from fractions import Fraction

import pytest

from ptable.solver.dual import maximise
from ptable.solver.polish import decimal_row
from ptable.solver.row import RowProblem

TINY = Fraction(1, 10**38)


def row(noise, variance, **other):
    return RowProblem(count=9, noise=tuple(noise), variance=Fraction(variance), **other)


def decimal_law(*arguments):
    answer = decimal_row(*arguments)
    return None if answer is None else answer[0]


def free(n):
    return [], [True] * n


def moments(law, noise):
    return [sum(p * v**k for p, v in zip(law, noise, strict=True)) for k in range(3)]


def bends(law):
    """Give by how much the logarithms bend at each inner place: the same in a quadratic."""
    return [law[k - 1] * law[k + 1] / law[k] ** 2 for k in range(1, len(law) - 1)]


def test_three_values_have_the_law_that_their_moments_leave():
    law = decimal_law(row((-1, 0, 1), Fraction(1, 3)), free(3), (0.0, -0.6), (True, True))
    for p, exact in zip(law, (Fraction(1, 6), Fraction(2, 3), Fraction(1, 6)), strict=True):
        assert abs(p - exact) < TINY


@pytest.mark.parametrize(
    "noise", [range(-3, 4), range(-1, 6), (-2, -1, 1, 4, 5), (-4, 0, 1, 2)]
)
@pytest.mark.parametrize("mean", [Fraction(0), Fraction(1, 7)])
def test_moments_are_met_and_logarithms_stay_quadratic(noise, mean):
    noise = tuple(noise)
    problem = row(noise, Fraction(5, 2), mean=mean)
    start = maximise(problem, polish=False).multipliers
    law = decimal_law(problem, free(len(noise)), start, (True, True))
    mass, first, second = moments(law, noise)
    assert max(abs(mass - 1), abs(first - mean), abs(second - Fraction(5, 2) - mean**2)) < TINY
    heights = [math.log(p) for p in law]
    a, b, c = (noise[0], noise[1], noise[-1])
    # the quadratic through three of the logarithms goes through all
    for v, height in zip(noise, heights, strict=True):
        through = (
            heights[0] * (v - b) * (v - c) / ((a - b) * (a - c))
            + heights[1] * (v - a) * (v - c) / ((b - a) * (b - c))
            + heights[-1] * (v - a) * (v - b) / ((c - a) * (c - b))
        )
        assert height == pytest.approx(through, abs=1e-10)


def test_the_logarithms_of_neighbours_bend_alike_to_forty_digits():
    law = decimal_law(row(range(-3, 5), 2), free(8), (0.0, -0.2), (True, True))
    first, *others = bends(law)
    assert all(abs(bend / first - 1) < Fraction(1, 10**35) for bend in others)


def test_a_bound_that_is_left_out_keeps_its_price():
    # no price on the variance: at mean 0 the uniform law remains
    law = decimal_law(row((-1, 0, 1), Fraction(9, 10)), free(3), (0.0, 0.0), (True, False))
    assert max(abs(p - Fraction(1, 3)) for p in law) < TINY
    law = decimal_law(row((-1, 0, 1), Fraction(9, 10)), free(3), (0.0, 0.0), (False, False))
    assert max(abs(p - Fraction(1, 3)) for p in law) < TINY


def test_the_probability_of_staying_is_met_with_its_own_price():
    problem = row(range(-2, 3), Fraction(3, 2), p_stay=Fraction(2, 5))
    law = decimal_law(problem, free(5), (0.0, -0.1, 0.5), (True, True, True))
    mass, first, second = moments(law, problem.noise)
    assert max(abs(mass - 1), abs(first), abs(second - Fraction(3, 2))) < TINY
    # 2 (a + b) = 3/5 and 2 (a + 4b) = 3/2 leave one law
    exact = [Fraction(3, 20), Fraction(3, 20), Fraction(2, 5), Fraction(3, 20), Fraction(3, 20)]
    assert max(abs(p - q) for p, q in zip(law, exact, strict=True)) < TINY


def test_values_at_their_least_probability_stay_there():
    floor = Fraction(1, 200)
    problem = row(range(-3, 4), 1, floor=floor)
    pattern = [], [False, True, True, True, True, True, False]
    law = decimal_law(problem, pattern, (0.0, -0.9), (True, True))
    assert (law[0], law[-1]) == (floor, floor)
    mass, first, second = moments(law, problem.noise)
    assert max(abs(mass - 1), abs(first), abs(second - 1)) < TINY
    first, *others = bends(law[1:-1])
    assert all(abs(bend / first - 1) < Fraction(1, 10**35) for bend in others)


def test_a_count_that_stays_with_the_least_probability_leaves_three_values_one_law():
    least = Fraction(1, 20)
    law = decimal_law(
        row((-1, 0, 1, 2), Fraction(7, 5), floor=least, p_stay=least),
        ([], [True, False, True, True]),
        (0.0, 0.0, 0.0),
        (True, True, False),
    )
    exact = (Fraction(11, 20), least, Fraction(1, 4), Fraction(3, 20))
    assert max(abs(p - q) for p, q in zip(law, exact, strict=True)) < TINY


def test_values_of_a_block_share_one_probability():
    problem = row(range(-3, 3), 2, n_left=4)
    pattern = [(0, 3)], [True] * 6
    law = decimal_law(problem, pattern, (0.0, -0.2), (True, True))
    assert law[0] == law[1] == law[2]
    mass, first, second = moments(law, problem.noise)
    assert max(abs(mass - 1), abs(first), abs(second - 2)) < TINY
    # the block's logarithm is the mean of its scores: the quadratic through the other three
    c, b, a = (math.log(law[k]) for k in (3, 4, 5))
    bend = (a - 2 * b + c) / 2
    slope = b - c - bend
    scores = [c + slope * v + bend * v * v for v in (-3, -2, -1)]
    assert math.log(law[0]) == pytest.approx(sum(scores) / 3, abs=1e-10)


def test_a_block_around_no_noise_shares_the_price_of_staying():
    problem = row(range(-2, 4), Fraction(5, 2), p_stay=Fraction(1, 4))
    law = decimal_law(problem, ([(1, 3)], [True] * 6), (0.0, -0.1, 0.3), (True, True, True))
    assert law[1] == law[2]
    assert abs(law[2] - Fraction(1, 4)) < TINY
    mass, first, second = moments(law, problem.noise)
    assert max(abs(mass - 1), abs(first), abs(second - Fraction(5, 2))) < TINY
    # what has no zero keeps its quadratic: -2, 1, 2, 3
    a, x, y, z = (math.log(law[k]) for k in (0, 3, 4, 5))
    bend = (x - 2 * y + z) / 2
    slope = z - y - 5 * bend
    assert a == pytest.approx(y + slope * (-2 - 2) + bend * (4 - 4), abs=1e-10)


def test_a_pattern_that_leaves_nothing_to_solve_for_gives_nothing():
    problem = row((-1, 0, 1), Fraction(1, 2))
    # a single block has a single law, whatever its prices
    assert decimal_law(problem, ([(0, 3)], [True] * 3), (0.0, 0.0), (True, True)) is None
    # two values cannot have three moments
    assert decimal_law(row((-1, 1), Fraction(1, 2)), free(2), (0.0, 0.0), (True, True)) is None


def test_a_pattern_that_does_not_hold_gives_nothing():
    floor = Fraction(1, 5)
    # free values would fall below the least probability
    problem = row(range(-2, 3), Fraction(1, 2), floor=floor)
    assert decimal_law(problem, free(5), (0.0, -0.5), (True, True)) is None


@pytest.mark.parametrize("start", [(0.0, 40.0), (0.0, -40.0), (30.0, 0.0), (0.0, 1e7)])
def test_a_start_too_far_from_the_answer_gives_nothing(start):
    assert decimal_law(row(range(-9, 10), 3), free(19), start, (True, True)) is None
