"""Printed numbers are taken exactly, or not at all."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptable import PTableError
from ptable.dialects.numbers import (
    Reading,
    Scale,
    Writing,
    as_noise,
    choose_scale,
    digits_for,
    parse_decimal,
    parse_whole,
    places,
    print_decimal,
)


@pytest.mark.parametrize(
    ("cell", "number"),
    [
        ("7", 7),
        ("+7", 7),
        ("-007", -7),
        ("7.", 7),
        ("7.00", 7),
        ("1e3", 1000),
        ("1.5E1", 15),
        ("1e30", 10**30),
        ("15e-1", None),
        ("2e30", None),
        ("-2e30", None),
        ("7.5", None),
        ("1_0", None),
        ("1,0", None),
        ("\u0667", None),
        ("e", None),
        ("1" * 64, int("1" * 64)),
        ("1" * 65, None),
        ("1" * 5000, None),  # Python itself refuses to read more than 4300 digits
        ("", None),
    ],
)
def test_an_integer_may_be_printed_with_a_point_or_an_exponent(cell, number):
    assert parse_whole(cell) == number


@pytest.mark.parametrize(
    ("cell", "number"),
    [
        (".5", "0.5"),
        ("5.", "5"),
        ("-0.25", "-0.25"),
        ("5e-1", "0.5"),
        ("1e30", "1e30"),
        ("1e31", None),
        ("1e-30", "1e-30"),
        ("1e-31", None),
        ("0e99", "0"),
        ("0,5", None),
        ("1.2.3", None),
        ("inf", None),
        ("nan", None),
        ("1e9999", None),
        (".", None),
    ],
)
def test_a_decimal_is_what_is_printed_unless_no_threshold_could_be_so(cell, number):
    assert parse_decimal(cell) == (None if number is None else Decimal(number))


def test_a_decimal_comma_counts_only_where_the_sheet_has_them():
    assert parse_decimal("0,5", has_commas=True) == Decimal("0.5")
    assert parse_decimal("1,2,3", has_commas=True) is None


def test_more_than_fifteen_digits_are_the_print_of_a_double():
    assert parse_decimal("0.45285965999999999") == Decimal("0.45285966")
    assert parse_decimal("0.3000000000000000").as_tuple().exponent == -1
    assert parse_decimal("0.300000000000000").as_tuple().exponent == -15


def test_places_are_counted_without_trailing_zeros():
    assert [places(Decimal(x)) for x in ("0.1200", "100", "1.0", "1e-7", "0")] == [
        2,
        0,
        0,
        7,
        0,
    ]


@given(st.integers(1, 1000), st.integers(-3000, 3000), st.integers(7, 12))
def test_a_printed_fraction_of_up_to_a_thousandth_is_recognised(step, steps, digits):
    exact = Fraction(steps, step)
    assert as_noise(Decimal(str(float(round(exact, digits))))) == exact


@pytest.mark.parametrize(
    ("printed", "noise"),
    [
        ("3", Fraction(3)),
        ("0.001", Fraction(1, 1000)),
        ("0.000999000999", None),  # 1/1001
        ("1000000", Fraction(10**6)),
        ("-1000000", Fraction(-(10**6))),
        ("1000001", None),
        ("0.333333", Fraction(1, 3)),
        ("0.33333", None),  # five digits are taken as printed
        ("0.007813", Fraction(1, 128)),  # half a digit from it
        ("0.428572", None),  # 0.57 digits from 3/7
        ("0.333335", None),
        ("0.5000000009", Fraction(1, 2)),
        ("0.50002", None),
    ],
)
def test_noise_is_a_fraction_as_far_as_its_print_says(printed, noise):
    assert as_noise(Decimal(printed)) == noise


@pytest.mark.parametrize("digits", [0, 13, 1.0, True])
def test_digits_lie_between_1_and_12(digits):
    with pytest.raises(PTableError, match="digits must be an integer from 1 to 12"):
        Writing(digits=digits)
    with pytest.raises(PTableError, match="digits must be an integer from 1 to 12"):
        Reading(digits=digits)


def test_the_ends_of_what_may_be_asked_for_belong_to_it():
    assert (Writing(digits=1).digits, Writing(digits=12).digits) == (1, 12)
    assert (Reading(key_range=2).key_range, Reading(key_range=2**64).key_range) == (2, 2**64)
    assert (Reading().boundary, Reading().anchors, Reading().small_n) == ("[)", False, 10)
    for key_range in (1, 2**64 + 1):
        with pytest.raises(
            PTableError, match=r"key_range must be an integer from 2 to 2\*\*64"
        ):
            Reading(key_range=key_range)
    with pytest.raises(PTableError, match="boundary must be"):
        Reading(boundary="[]")


@given(st.integers(2, 40), st.fractions(0, 1, max_denominator=60))
def test_as_many_keys_lie_below_a_threshold_as_can_be_counted(key_range, threshold):
    n_below = sum(Fraction(key, key_range) < threshold for key in range(key_range))
    n_up_to = sum(Fraction(key, key_range) <= threshold for key in range(key_range))
    is_whole = (threshold * key_range).denominator == 1
    assert Scale(key_range=key_range).keys(threshold) == (n_below if is_whole else None)
    assert Scale(key_range=key_range, boundary="(]").keys(threshold) == n_up_to


@given(st.integers(1, 2**32))
def test_the_double_of_a_number_of_keys_stands_for_it(units):
    printed = Fraction(Decimal(repr(units / 2**32)))
    assert Scale(key_range=2**32).keys(printed) == units


def test_twelve_digits_that_are_no_key_are_not_rounded_to_one():
    assert Scale(key_range=2**32).keys(Fraction("0.333333333333")) is None


def test_thresholds_are_rounded_only_where_so_asked():
    assert Scale(key_range=10).rounded(Fraction(1, 3)) == Fraction(1, 3)
    assert Scale(key_range=10, digits=2).rounded(Fraction(1, 3)) == Fraction("0.33")


@pytest.mark.parametrize(
    ("thresholds", "reading", "scale"),
    [
        (["0.25", "1"], {}, Scale(key_range=100)),
        (["1"], {}, Scale(key_range=10)),
        ([], {}, Scale(key_range=10)),
        (["0.123456789012", "0.5"], {}, Scale(key_range=10**12)),
        ([repr(3 / 2**32), "1"], {}, Scale(key_range=2**32)),
        (["0.25"], {"digits": 5}, Scale(key_range=10**5, digits=5)),
        (["0.25"], {"key_range": 7}, Scale(key_range=7)),
        (
            ["0.25"],
            {"key_range": 7, "digits": 3, "boundary": "(]"},
            Scale(key_range=7, digits=3, boundary="(]"),
        ),
    ],
)
def test_the_key_range_is_the_least_power_of_ten_that_holds_what_is_printed(
    thresholds, reading, scale
):
    assert choose_scale(map(Decimal, thresholds), Reading(**reading)) == scale


def test_thresholds_that_no_key_range_holds_are_refused():
    with pytest.raises(PTableError, match="have 13 decimal digits; at most 12"):
        choose_scale([Decimal("0.1234567890123")], Reading())
    with pytest.raises(PTableError, match="need the key_range"):
        choose_scale([Decimal("0.5")], Reading(boundary="(]"))


def test_key_ranges_of_ten_and_two_are_written_in_full():
    full = (10, 10**12, 256, 2**32, 3125, 2**13)
    assert {digits_for(key_range) for key_range in full} == {None}
    assert {digits_for(key_range) for key_range in (3, 2**33, 10**13, 10**12 - 1)} == {12}


@pytest.mark.parametrize(
    ("number", "digits", "text"),
    [
        (Fraction(1, 2), None, "0.5"),
        (Fraction(-3, 2), None, "-1.5"),
        (Fraction(100), None, "100"),
        (Fraction(0), None, "0"),
        (Fraction(1, 10**12), None, "0.000000000001"),
        (123456 + Fraction(1, 10**12), None, "123456.000000000001"),
        (Fraction(1, 2**32), None, "0.00000000023283064365386963"),
        (Fraction(1, 3), None, "0.3333333333333333"),
        (Fraction(1, 3), 4, "0.3333"),
        (Fraction(-2, 3), 2, "-0.67"),
        (Fraction(1, 100), 3, "0.010"),
        (Fraction(-5, 2), 0, "-2"),
        (Fraction(-1, 3), 0, "0"),
        (Fraction(7), 0, "7"),
        (Fraction(7), 2, "7.00"),
    ],
)
def test_fractions_are_printed_without_an_exponent(number, digits, text):
    assert print_decimal(number, digits=digits) == text


@given(st.fractions(-100, 100, max_denominator=5000))
def test_what_is_printed_in_full_is_read_back(number):
    exact = number if 10**12 % number.denominator == 0 else Fraction(repr(float(number)))
    assert Fraction(parse_decimal(print_decimal(number))) == exact
