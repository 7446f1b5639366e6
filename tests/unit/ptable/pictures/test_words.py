"""Figures in words."""

from fractions import Fraction

import pytest

from ptable.pictures.words import decimal, percent, ranges, signed

MINUS = "\N{MINUS SIGN}"


@pytest.mark.parametrize(
    ("amount", "words"),
    [
        (0, "0"),
        (-0.0, "0"),
        (1.23456, "1.235"),
        (-1.5, MINUS + "1.5"),
        (Fraction(1, 3), "0.3333"),
        (123456.0, "1.235e+05"),
        (2, "2"),
    ],
)
def test_a_figure_has_four_digits_and_a_true_minus(amount, words):
    assert decimal(amount) == words


@pytest.mark.parametrize(
    ("share", "digits", "words"),
    [
        (Fraction(0), 0, "0"),
        (Fraction(0), 2, "0"),
        (Fraction(1), 0, "100"),
        (Fraction(1), 2, "100"),
        (Fraction(1, 2**32), 0, "<1"),
        (Fraction(1, 2**32), 2, "<0.01"),
        (Fraction(1, 101), 0, "<1"),
        (Fraction(1, 100), 0, "1"),
        (Fraction(1, 10**4), 2, "0.01"),
        (1 - Fraction(1, 2**32), 0, ">99"),
        (1 - Fraction(1, 2**32), 2, ">99.99"),
        (Fraction(99, 100), 0, "99"),
        (Fraction(995, 1000), 0, ">99"),
        (Fraction(1, 3), 0, "33"),
        (Fraction(2, 3), 1, "66.7"),
        (Fraction(1, 8), 2, "12.50"),
    ],
)
def test_a_probability_never_looks_like_zero_or_certainty_when_it_is_not(share, digits, words):
    assert percent(share, digits) == words


def test_whole_percent_is_the_usual_way():
    assert percent(Fraction(1, 3)) == "33"


@pytest.mark.parametrize(
    ("steps", "step", "words"),
    [
        (0, 1, "0"),
        (0, 4, "0"),
        (3, 1, "+3"),
        (-3, 1, MINUS + "3"),
        (-7, 4, MINUS + "1.75"),
        (4, 4, "+1"),
        (1, 3, "+0.333333"),
        (1234567, 1, "+1234567"),
    ],
)
def test_noise_has_its_sign_and_is_told_in_units(steps, step, words):
    assert signed(steps, step) == words


@pytest.mark.parametrize(
    ("numbers", "step", "words"),
    [
        ([], 1, ""),
        ([5], 1, "5"),
        ([2, 1], 1, "1 to 2"),
        ({1, 2, 3, 7, 9, 10}, 1, "1 to 3, 7, 9 to 10"),
        ([1, 2, 3, 8], 4, "0.25 to 0.75, 2"),
        (range(0, 16, 2), 1, "0, 2, 4, 6, 8, 10, 12, 14"),
        (range(0, 18, 2), 1, "0, 2, 4, 6, 8, 10, 12, 14 and 1 more ranges"),
        (range(0, 40, 2), 1, "0, 2, 4, 6, 8, 10, 12, 14 and 12 more ranges"),
    ],
)
def test_neighbours_are_told_together_and_at_most_eight_ranges(numbers, step, words):
    assert ranges(numbers, step) == words


def test_ranges_are_of_whole_units_where_nothing_else_is_said():
    assert ranges([4, 5]) == "4 to 5"
