"""What the sentences about a guarantee say, for every kind of p-table."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from ptable import Mechanism, PTable
from ptable.proof.guarantees import guarantee
from ptable.proof.wording import describe, upwards


def sentences(rows, *, key_range=8, epsilon=1.0, delta=1e-6, **other):
    table = PTable.from_units(rows, key_range=key_range, **other)
    return describe(guarantee(table, epsilon=epsilon, delta=delta)).splitlines()


def rounded(n, **other):
    """Give a table whose every second row is published as it is."""
    rows = [{0: 8} if count % 2 == 0 else {-1: 4, 1: 4} for count in range(n)]
    return sentences(rows, **other)


@pytest.mark.parametrize("number", [1 / 3, 2 / 3, 1e-9 / 7, 12.344999, 0.1, 0.60193, 3.0])
def test_four_digits_never_say_less_than_the_number(number):
    written = Fraction(upwards(number))
    assert number <= float(written) <= number * 1.001
    assert len(upwards(number).split("e")[0].replace(".", "").lstrip("0")) <= 4
    assert upwards(number) == upwards(float(upwards(number)))


def test_infinity_is_written_as_such():
    assert upwards(math.inf) == "inf"


def test_bounds_and_bias_of_the_noise_are_told():
    lines = sentences([{0: 8}, {-1: 4, 1: 4}, {-2: 2, 0: 4, 2: 2}])
    assert lines[0] == "Noise lies between -2 and 2; its mean is exactly 0 for every count."
    lines = sentences([{0: 8}, {-1: 2, 1: 6}, {-2: 6, 1: 2}])
    assert lines[0] == (
        "Noise lies between -2 and 1; its mean is not always 0: -1.25 for count 2."
    )


def test_noise_in_steps_is_told_in_units_and_without_privacy():
    lines = sentences([{0: 8}, {-1: 4, 1: 4}, {-3: 4, 3: 4}], step=2)
    assert lines == [
        "Noise lies between -1.5 and 1.5; its mean is exactly 0 for every count.",
        "Always published as they are: 0.",
        "Privacy is not defined for tables of magnitudes.",
    ]


def test_counts_published_as_they_are_go_on_where_the_last_row_does():
    assert rounded(2)[1] == "Always published as they are: 0."
    assert rounded(3)[1] == "Always published as they are: 0, 2 and all larger."
    assert sentences([{1: 8}])[1] == "Always published as they are: none."


def test_counts_published_as_they_are_go_on_where_a_turn_has_some():
    assert rounded(4, large_counts="cycle:2")[1] == "Always published as they are: 0, 2, …"
    once = [{0: 8}, {-1: 4, 1: 4}, {-1: 4, 1: 4}]
    assert sentences(once, large_counts="cycle:2")[1] == "Always published as they are: 0."


def test_at_most_eight_counts_are_listed():
    eight, nine = rounded(16), rounded(18)
    assert eight[1] == "Always published as they are: 0, 2, 4, 6, 8, 10, 12, 14."
    assert nine[1] == "Always published as they are: 0, 2, 4, 6, 8, 10, 12, 14, …"


def test_counts_that_are_never_published_are_listed_as_far_as_they_differ():
    assert sentences([{0: 8}, {-1: 4, 1: 4}, {-1: 4, 1: 4}])[2] == "Never published: none."
    small = describe(guarantee(Mechanism.small_count_rounding(3).build())).splitlines()
    assert small[2] == "Never published: 1, 2."
    to_two = [{0: 8}, {-1: 4, 1: 4}]
    lines = sentences(to_two, large_counts="cycle:2")
    assert lines[2] == "Never published: 1, 3, …"
    # every count goes up by three: the first three stay empty, and nothing beyond
    assert sentences([{3: 8}, {3: 8}])[2] == "Never published: 0, 1, 2."


def test_the_worst_pair_of_counts_is_named_with_its_delta():
    lines = sentences([{0: 8}, {0: 6, -1: 2}, {0: 8}], epsilon=0.5)
    assert lines[3] == (
        "One record more or less in a cell: delta is 1 at epsilon 0.5, worst for "
        "counts 1 and 2."
    )
    # one record: 5/8 and 3/8 beside 3/8 and 5/8
    mixed = [{0: 5, 1: 3}, {-1: 3, 0: 5}]
    lines = sentences(mixed, epsilon=0.0, delta=0.1, large_counts="cycle:2")
    assert lines[3].startswith("One record more or less in a cell: delta is 1 at epsilon 0,")
    assert lines[3].endswith("worst for counts 1 and 2.")


def test_epsilons_are_told_where_there_are_any():
    lines = describe(
        guarantee(Mechanism.discrete_laplace(1.0, max_noise=20).build(), delta=1e-5)
    ).splitlines()
    assert lines[3:] == [
        (
            "One record more or less in a cell: delta is 2.306e-09 at epsilon 1, worst for "
            "counts 0 and 1."
        ),
        "Delta 1e-05 takes epsilon 1.",
        "No epsilon gives delta 0.",
    ]
    assert sentences([{0: 8}, {-1: 4, 1: 4}], delta=0.25)[4:] == [
        "No epsilon gives delta 0.25.",
        "No epsilon gives delta 0.",
    ]
