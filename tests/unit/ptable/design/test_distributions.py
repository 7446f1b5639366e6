"""Laws of noise in whole numbers of keys, against fractions and by counting."""

from __future__ import annotations

import decimal
import math
from decimal import Decimal
from fractions import Fraction
from itertools import combinations

import pytest

from ptable.design.distributions import (
    bounded_rows,
    gaussian_weights,
    laplace_weights,
    share,
    share_even,
)


def test_laplace_weights_fall_by_the_same_factor():
    weights = laplace_weights(0.7, max_noise=5)
    assert [float(w) for w in weights] == pytest.approx([math.exp(-0.7 * v) for v in range(6)])
    assert abs(weights[1] * weights[1] - weights[2]) < Decimal("1e-27")
    assert weights[0] == 1


def test_gaussian_weights_fall_by_squares():
    weights = gaussian_weights(2.5, max_noise=4)
    expected = [math.exp(-v * v / 5) for v in range(5)]
    assert [float(w) for w in weights] == pytest.approx(expected)
    # to sixty digits: exp(-4/5) is exp(-1/5)^4
    with decimal.localcontext(prec=70):
        assert abs(weights[1] ** 4 - weights[2]) < Decimal("1e-58")


def test_weights_have_sixty_digits_of_the_printed_rate():
    weight = laplace_weights(0.1, max_noise=1)[1]
    with decimal.localcontext(prec=80):
        assert abs(weight - (-Decimal("0.1")).exp()) < Decimal("1e-60")
        assert len(weight.as_tuple().digits) == 60


def distances(units, weights, total):
    sum_of_weights = sum(weights.values())
    return {v: Fraction(n) - weights[v] * total / sum_of_weights for v, n in units.items()}


def exact(weights):
    return {v: Fraction(w) for v, w in weights.items()}


@pytest.mark.parametrize("total", [1, 4, 7, 10, 23, 100])
@pytest.mark.parametrize("weights", [(1, 1, 1), (5, 2, 1), (1, 0, 3), (7, 7, 2), (1, 10, 100)])
def test_keys_are_shared_out_as_near_to_the_weights_as_whole_numbers_are(weights, total):
    """By hand: of all ways to raise some shares to the next whole number, none is nearer."""
    given = {v: Decimal(w) for v, w in zip((-1, 0, 2), weights, strict=True)}
    units = share(given, total=total)
    assert list(units) == [-1, 0, 2]
    assert sum(units.values()) == total
    wanted = exact(given)
    mean = sum(wanted.values())
    floors = {v: int(w * total / mean) for v, w in wanted.items()}
    left = total - sum(floors.values())
    best = min(
        sum(abs(d) for d in distances(trial, wanted, total).values())
        for raised in combinations(floors, left)
        for trial in [{v: n + (v in raised) for v, n in floors.items()}]
    )
    assert sum(abs(d) for d in distances(units, wanted, total).values()) == best


def test_ties_go_to_the_smaller_noise_and_then_to_the_lower():
    one = Decimal(1)
    assert share({-1: one, 0: one, 1: one}, total=4) == {-1: 1, 0: 2, 1: 1}
    assert share({-1: one, 0: one, 1: one}, total=5) == {-1: 2, 0: 2, 1: 1}
    assert share({-2: one, 1: one}, total=3) == {-2: 1, 1: 2}
    assert share({0: one, 1: Decimal(0)}, total=5) == {0: 5, 1: 0}


def test_symmetric_noise_gets_as_many_keys_on_either_side():
    one = Decimal(1)
    assert share_even([one], total=7) == {0: 7}
    for total in range(2, 60):
        units = share_even([Decimal(3), Decimal(2), one], total=total)
        assert list(units) == [-2, -1, 0, 1, 2]
        assert sum(units.values()) == total
        assert [units[v] for v in (1, 2)] == [units[v] for v in (-1, -2)]
        law = {v: Fraction(3 - abs(v)) for v in units}
        assert all(abs(d) <= 1 for d in distances(units, law, total).values())


def test_pairs_with_the_largest_remainders_get_two_keys_more():
    one = Decimal(1)
    # shares 8/5 = 1.6 each: of two pairs one is raised, the smaller noise by preference
    assert share_even([one, one, one], total=8) == {-2: 1, -1: 2, 0: 2, 1: 2, 2: 1}
    # shares 7/3 = 2.33: no pair is raised
    assert share_even([one, one], total=7) == {-1: 2, 0: 3, 1: 2}
    # shares 8/3 = 2.67: the pair is raised
    assert share_even([one, one], total=8) == {-1: 3, 0: 2, 1: 3}
    # weights 4, 1, 2 of 10 keys each of ten: 4, 1, 2 exactly
    assert share_even([Decimal(4), one, Decimal(2)], total=10) == {
        -2: 2,
        -1: 1,
        0: 4,
        1: 1,
        2: 2,
    }


HALF = [Decimal(4), Decimal(2), Decimal(1)]  # noise -2..2 with 1, 2, 4, 2, 1 of 10


@pytest.mark.parametrize(
    ("edge", "rows"),
    [
        (
            "clamp",
            [
                {0: 7, 1: 2, 2: 1},
                {-1: 3, 0: 4, 1: 2, 2: 1},
                {-2: 1, -1: 2, 0: 4, 1: 2, 2: 1},
            ],
        ),
        (
            "fold",
            [
                {0: 4, 1: 4, 2: 2},
                {-1: 2, 0: 5, 1: 2, 2: 1},
                {-2: 1, -1: 2, 0: 4, 1: 2, 2: 1},
            ],
        ),
        (
            "truncate",
            [
                # of 10 keys 40/7 = 5.71, 20/7 = 2.86, 10/7 = 1.43
                {0: 6, 1: 3, 2: 1},
                # of 10 keys 20/9 = 2.22, 40/9 = 4.44, 2.22, 10/9 = 1.11
                {-1: 2, 0: 5, 1: 2, 2: 1},
                {-2: 1, -1: 2, 0: 4, 1: 2, 2: 1},
            ],
        ),
    ],
)
def test_what_would_be_published_below_zero_is_treated_as_the_edge_says(edge, rows):
    found = bounded_rows(HALF, edge=edge, total=10)
    assert found == rows
    assert [list(row) for row in found] == [sorted(row) for row in rows]


def test_shares_do_not_depend_on_the_context_of_the_caller():
    weights = laplace_weights(0.7, max_noise=9)
    expected = bounded_rows(weights, edge="truncate", total=2**32)
    with decimal.localcontext() as context:
        context.prec = 2
        context.rounding = decimal.ROUND_UP
        context.traps[decimal.Inexact] = True
        context.traps[decimal.FloatOperation] = True
        assert laplace_weights(0.7, max_noise=9) == weights
        assert gaussian_weights(0.7, max_noise=9)
        assert bounded_rows(weights, edge="truncate", total=2**32) == expected


@pytest.mark.parametrize("rate", [5e-324, 1e6, 1.7e308])
def test_rates_of_any_size_give_weights_between_0_and_1(rate):
    for weights in (laplace_weights(rate, max_noise=3), gaussian_weights(rate, max_noise=3)):
        assert weights[0] == 1
        assert all(0 <= weight <= 1 for weight in weights)
    assert share_even(laplace_weights(1.7e308, max_noise=3), total=2**32)[0] == 2**32
