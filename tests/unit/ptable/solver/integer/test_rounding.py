"""Numbers as they print, and short ones on the safe side of an end."""

from fractions import Fraction

import pytest

from ptable.solver.integer.rounding import exact, inward


@pytest.mark.parametrize(
    ("number", "taken"),
    [
        (0.1, Fraction(1, 10)),
        (3, Fraction(3)),
        (1e-8, Fraction(1, 10**8)),
        (2.5, Fraction(5, 2)),
    ],
)
def test_a_number_is_taken_as_it_prints(number, taken):
    assert exact(number) == taken


@pytest.mark.parametrize(
    ("wish", "low", "high", "given"),
    [
        (2, 1, 3, 2.0),
        (1, 1, 3, 1.0),
        (3, 1, 3, 3.0),
        (9, 1, None, 9.0),
        (0, Fraction(1, 4), None, 0.25),  # short enough: the end itself
        (9, 1, Fraction(5, 2), 2.5),
        (0, Fraction(1, 3), None, 0.334),  # a third, shortened upwards
        (9, 1, Fraction(10, 3), 3.33),  # downwards
        (999, 1, Fraction(2000, 3), 666.0),
        (0, Fraction(20_000, 3), None, 6670.0),
        (0, Fraction(1, 3000), None, 0.000334),
        (9, 0, Fraction(1, 3000), 0.000333),
    ],
)
def test_the_nearest_number_inside_is_short(wish, low, high, given):
    high = None if high is None else Fraction(high)
    assert inward(Fraction(wish), Fraction(low), high) == given


def test_a_narrow_interval_takes_the_digits_that_it_needs():
    low, high = Fraction(333_301, 10**6), Fraction(333_309, 10**6)
    assert inward(Fraction(0), low, high) == 0.333301
    assert inward(Fraction(1), low, high) == 0.333309
    low, high = Fraction(10_003, 30_000), Fraction(10_004, 30_000)
    up, down = inward(Fraction(0), low, high), inward(Fraction(1), low, high)
    assert (up, down) == (0.33344, 0.33346)
    assert low <= exact(up) <= high
    assert low <= exact(down) <= high


@pytest.mark.parametrize(
    ("wish", "low", "high", "given"),
    [
        (0, Fraction(1, 4), None, 0.251),
        (9, 1, Fraction(5, 2), 2.49),
        (0, Fraction(1, 3), None, 0.334),
        (9, 1, Fraction(10, 3), 3.33),
        (2, 1, 3, 2.0),
    ],
)
def test_an_end_that_is_left_out_is_not_taken(wish, low, high, given):
    high = None if high is None else Fraction(high)
    assert inward(Fraction(wish), Fraction(low), high, strict=True) == given


def test_an_end_at_0_has_thousandths_inside():
    assert inward(Fraction(-1), Fraction(0), None) == 0.0
    assert inward(Fraction(-1), Fraction(0), None, strict=True) == 1e-5


def test_a_single_point_that_no_digits_hold_is_given_as_a_float():
    third = Fraction(1, 3)
    assert inward(Fraction(0), third, third) == float(third)


def test_a_wish_at_an_end_is_inside_and_kept_as_it_is():
    third = Fraction(1, 3)
    assert inward(third, Fraction(0), third) == 1 / 3
    assert inward(third, third, None) == 1 / 3


def test_fifteen_digits_are_tried():
    third = Fraction(1, 3)
    assert inward(Fraction(0), third, third + Fraction(7, 10**16)) == 0.333333333333334
