"""Where the variance of a row lies, and what a row out of reach takes instead."""

from fractions import Fraction

import pytest

from ptable import NoiseSpec
from ptable.design.stack import StackedSpec
from ptable.solver.reach import variance_bounds
from ptable.solver.row import RowProblem
from ptable.solver.variance_range import resolve, resolve_row

COIN = (Fraction(2, 3), 0, 0, Fraction(1, 3))


def row(noise, variance, **other):
    return RowProblem(count=3, noise=tuple(noise), variance=Fraction(variance), **other)


def test_a_variance_in_reach_is_kept_and_leaves_many_laws():
    problem = row(range(-1, 3), 1)
    resolved = resolve_row(problem)
    assert (resolved.problem, resolved.requested) == (problem, 1)
    assert (resolved.place, resolved.law, resolved.peak, resolved.note) == (
        "inside",
        None,
        None,
        "",
    )


def test_at_an_end_of_the_reach_one_law_is_left():
    resolved = resolve_row(row(range(-1, 3), 2))
    assert (resolved.place, resolved.law, resolved.note) == ("greatest", COIN, "")
    least = resolve_row(row((-1, 2, 3), 2))
    assert (least.place, least.law, least.note) == (
        "least",
        (Fraction(2, 3), Fraction(1, 3), 0),
        "",
    )


@pytest.mark.parametrize(
    ("variance", "place", "taken", "note"),
    [
        (5, "greatest", 2, "variance 2 instead of 5"),
        (Fraction(1, 3), "inside", Fraction(1, 3), ""),
        (2 + Fraction(1, 10**13), "greatest", 2, ""),  # the end, up to a tolerance
        (2 + Fraction(1, 10**11), "greatest", 2, "variance 2 instead of 2"),
    ],
)
def test_beyond_the_greatest_variance_the_nearest_one_is_taken(variance, place, taken, note):
    resolved = resolve_row(row(range(-1, 3), variance, nearest=True))
    assert (resolved.place, resolved.problem.variance) == (place, taken)
    assert (resolved.requested, resolved.note) == (variance, note)


def test_below_the_least_variance_the_nearest_one_is_taken():
    resolved = resolve_row(row((-1, 2, 3), 1, nearest=True))
    assert (resolved.place, resolved.problem.variance) == ("least", 2)
    assert resolved.note == "variance 2 instead of 1"


def test_an_upper_bound_beyond_reach_is_no_end():
    resolved = resolve_row(row(range(-1, 3), 5, at_most=True))
    assert (resolved.place, resolved.law, resolved.note) == ("inside", None, "")
    assert resolved.problem.variance == 5


def test_variances_are_told_in_units_whatever_the_step():
    resolved = resolve_row(row(range(-2, 5, 2), 20, step=2, nearest=True))
    assert resolved.problem.variance == 8
    assert resolved.note == "variance 2 instead of 5"


def test_an_end_of_a_row_with_one_peak_tells_the_place_of_the_peak():
    noise = range(-1, 4)
    ends = variance_bounds(row(noise, 1, unimodal=True))
    resolved = resolve_row(row(noise, ends[1].value, unimodal=True))
    assert (resolved.place, resolved.law, resolved.peak) == (
        "greatest",
        ends[1].law,
        ends[1].peak,
    )
    assert resolved.law[resolved.peak] == max(resolved.law)


#: A peak at 0 reaches a variance of 12/5 alone, and one at 3 all from 23/5 to 128/25.
GAP = {"noise": (-3, -2, -1, 0, 3), "p_stay": Fraction(1, 5), "unimodal": True}


@pytest.mark.parametrize(
    ("variance", "place", "taken"),
    [
        (3, "greatest", Fraction(12, 5)),
        (Fraction(7, 2), "greatest", Fraction(12, 5)),  # as near: the lower one
        (4, "least", Fraction(23, 5)),
        (5, "inside", 5),
        (6, "greatest", Fraction(128, 25)),
        (1, "least", Fraction(12, 5)),
    ],
)
def test_between_what_two_peaks_reach_the_nearer_end_is_taken(variance, place, taken):
    resolved = resolve_row(row(variance=variance, nearest=True, **GAP))
    assert (resolved.place, resolved.problem.variance) == (place, taken)
    assert bool(resolved.note) == (taken != variance)
    if resolved.note:
        asked = f"{float(variance):.6g}"
        assert resolved.note == f"variance {float(taken):.6g} instead of {asked}"
        assert resolved.law[resolved.peak] == max(resolved.law)
        squares = (p * v * v for p, v in zip(resolved.law, GAP["noise"], strict=True))
        assert sum(squares) == taken


def test_every_row_of_a_specification_is_placed():
    spec = NoiseSpec(max_noise=3, variance=2.5, variance_rule="nearest")
    assert [(r.problem.count, r.place) for r in resolve(spec)] == [
        (1, "inside"),
        (2, "inside"),
        (3, "inside"),
    ]
    stacked = StackedSpec(
        parts=(
            (0, NoiseSpec(max_noise=2, variance=2.0)),
            (3, NoiseSpec(max_noise=2, variance=1.0)),
        )
    )
    assert [r.problem.count for r in resolve(stacked)] == [1, 2, 3]
    assert [r.requested for r in resolve(stacked)] == [2, 2, 1]


def test_a_row_without_any_law_is_a_fault_of_ours():
    with pytest.raises(
        AssertionError, match="No noise of mean zero exists for the row of count 3"
    ):
        resolve_row(row((1, 2), 1))


def test_a_placed_row_cannot_be_changed():
    resolved = resolve_row(row(range(-1, 3), 1))
    with pytest.raises(AttributeError):
        resolved.note = "x"
