"""How far a ratio, or any other figure of two counts, strays."""

import math
from collections import defaultdict
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from ptable import Mechanism, NoiseSpec, solve
from risk.distributions.noise_distributions import difference_law
from risk.distributions.prior import Prior
from risk.errors import RiskError
from risk.inference.inverse import Inverse
from risk.inference.ratios import (
    StatisticError,
    error_given_originals,
    error_given_published,
    percentage,
)
from tests.results import require_fixed
from tests.unit.risk.inference.support import TABLE, WEIGHTS, posterior, transition


def published(count):
    """Give what a count is published as, each with its probability."""
    return {j: p for j in range(count + 3) if (p := transition(count, j))}


def errors_of(first, second, figure):
    """Give the exact errors of a ratio in per cent; those of no ratio come last."""
    errors = defaultdict(Fraction)
    for (a, p), (b, q) in product(first.items(), second.items()):
        errors[abs(Fraction(100 * a, b) - figure) if b else math.inf] += p * q
    return dict(sorted(errors.items()))


def check(error, wanted):
    """Hold a law of errors and all that is read from it against exact fractions."""
    assert error.errors == pytest.approx([float(e) for e in wanted], rel=1e-12, abs=1e-9)
    assert error.probabilities == pytest.approx([float(p) for p in wanted.values()], abs=1e-14)
    assert error.undefined == pytest.approx(float(wanted.get(math.inf, 0)), abs=1e-14)
    for beta in (0, 1, 7.5, *(float(e) for e in wanted if e != math.inf), 1e6):
        above = sum(p for e, p in wanted.items() if e > beta + 1e-6)
        assert error.exceeds(beta) == pytest.approx(float(above), abs=1e-14)
        reached = sum(p for e, p in wanted.items() if e >= beta - 1e-6)
        assert error.reaches(beta) == pytest.approx(float(reached), abs=1e-14)
    tail, limits = Fraction(1), {Fraction(1): Fraction(0)}
    for size, chance in wanted.items():
        tail -= chance
        limits[tail] = size
    for level, limit in limits.items():  # at most this often: the level belongs to it
        assert error.smallest_beta(float(level)) == pytest.approx(float(limit), abs=1e-9)


@pytest.mark.parametrize("pair", [(3, 4), (1, 1), (0, 7), (0, 1), (6, 2), (8, 3), (12, 16)])
def test_errors_of_ratios_are_those_of_exact_fractions(pair):
    wanted = errors_of(published(pair[0]), published(pair[1]), Fraction(100 * pair[0], pair[1]))
    error = error_given_originals(TABLE, pair)
    check(error, wanted)
    assert error.figure == pytest.approx(100 * pair[0] / pair[1])


@pytest.mark.parametrize("pair", [(2, 4), (0, 3), (1, 2), (7, 4)])
def test_after_publication_each_count_has_its_prior(pair):
    other = (1, 1, 2, 3, 5, 8, 13)
    wanted = errors_of(
        posterior(pair[0]), posterior(pair[1], other), Fraction(100 * pair[0], pair[1])
    )
    first, second = (
        Inverse(table=TABLE, prior=Prior.supplied(weights)) for weights in (WEIGHTS, other)
    )
    check(error_given_published(first, pair, second=second), wanted)
    alone = errors_of(posterior(pair[0]), posterior(pair[1]), Fraction(100 * pair[0], pair[1]))
    check(error_given_published(first, pair), alone)


def test_percentages_are_of_the_second_count():
    assert percentage(np.array([20.0, 3.0]), np.array([80.0, 2.0])).tolist() == [25, 150]


def test_any_figure_of_two_counts_will_do():
    table = solve(NoiseSpec(max_noise=3, variance=2.0))
    error = error_given_originals(table, (40, 50), statistic=lambda a, b: b - a)
    difference = difference_law(table, (50, 40))
    for beta in range(7):
        wanted = difference.probabilities[np.abs(difference.numbers - 10) > beta].sum()
        assert error.exceeds(beta) == pytest.approx(wanted, abs=1e-12)
    frame = error.to_frame()
    assert frame["error"].tolist() == list(range(7))
    assert frame["probability"].sum() == pytest.approx(1)
    constant = error_given_originals(table, (4, 5), statistic=lambda _a, _b: 1.0)
    assert constant.errors.tolist() == [0]
    assert constant.smallest_beta(0.0) == 0


def test_statistics_are_asked_for_all_pairs_at_once_and_may_warn_as_they_like():
    shapes = []

    def statistic(a, b):
        shapes.append(np.broadcast_shapes(a.shape, b.shape))
        return np.log(a / (b - b % 2))

    error = error_given_originals(TABLE, (2, 4), statistic=statistic)
    assert shapes == [(1, 1), (5, 3)]
    assert error.undefined == pytest.approx(float(transition(2, 0)))


@pytest.mark.parametrize("figure", [0.25, 1.0, 40.0, 5000.0])
def test_errors_nearer_than_a_billionth_of_the_figure_are_one(figure):
    """The figure of the originals is known; that of the published ones is off by a little."""
    near = 1e-9 * max(1, figure)

    def statistic(a, _b):
        return figure + np.select([a == 2, a == 1, a == 3], [0, 1.0, 1.0 + off], 9.0)

    for share, sizes in ((0.6, [0, 1, 9]), (1.5, [0, 1, 1 + 1.5 * near, 9])):
        off = share * near
        error = error_given_originals(TABLE, (2, 0), statistic=statistic)
        assert error.errors == pytest.approx(sizes, rel=0, abs=1e-3 * near + 1e-12 * figure)
        assert len(error.errors) == len(sizes)
    for share, is_equal in ((0.6, True), (1.5, False)):
        limit = 9 - share * near
        assert (error.exceeds(limit) == 0) == is_equal
        assert (error.reaches(9 + share * near) > 0) == is_equal


def test_ties_do_not_depend_on_the_last_digit():
    error = error_given_originals(solve(NoiseSpec(max_noise=3, variance=2.0)), (10, 15))
    # 11/15 and 9/15 are both exactly 20/3 away.
    limit = 20 / 3
    near = np.isclose(error.errors, limit)
    assert near.sum() == 1
    for nudged in (limit, np.nextafter(limit, 0), np.nextafter(limit, 10)):
        assert error.exceeds(nudged) == error.exceeds(limit)
        assert error.reaches(nudged) == error.reaches(limit)
    assert error.reaches(limit) - error.exceeds(limit) == pytest.approx(
        error.probabilities[near][0]
    )


def test_a_level_that_a_sum_misses_by_its_last_digit_is_met():
    error = StatisticError(
        figure=1.0,
        errors=np.array([0.0, 1.0, 2.0]),
        probabilities=np.array([0.7, 0.1 + 2e-14, 0.2]),
    )
    assert error.smallest_beta(0.3) == 0
    assert error.smallest_beta(0.29) == 1
    assert error.smallest_beta(0.2) == 1
    assert error.smallest_beta(0.199) == 2
    assert error.smallest_beta() == 2


def test_probabilities_that_add_up_to_a_trace_more_are_1():
    tenths = StatisticError(
        figure=1.0, errors=np.arange(3.0), probabilities=np.array([0.7, 0.2, 0.1 + 1e-15])
    )
    assert tenths.probabilities.sum() > 1
    assert tenths.reaches(0) == 1


def test_a_figure_that_is_often_undefined_has_no_finite_limit():
    error = error_given_originals(TABLE, (1, 1))
    assert error.undefined == pytest.approx(1 / 3)
    assert error.smallest_beta(0.3) == error.smallest_beta() == math.inf
    assert error.smallest_beta(0.34) < math.inf
    assert error.exceeds(1e300) == pytest.approx(1 / 3)


def test_rounding_has_errors_without_noise():
    error = error_given_originals(Mechanism.rounding(5).build(), (20, 99))
    assert error.errors == pytest.approx([20 / 99 * 100 - 20])
    assert error.probabilities.tolist() == [1.0]


@pytest.mark.parametrize(
    ("ask", "problem"),
    [
        (lambda: error_given_originals(TABLE, (5, 0)), "defined where it is known"),
        (lambda: error_given_originals(TABLE, (0, 0)), "defined where it is known"),
        (lambda: error_given_originals(TABLE, (-5, 3)), "originals must be 0 or more"),
        (lambda: error_given_originals(TABLE, (5,)), "originals must be two counts"),
        (
            lambda: error_given_published(Inverse(table=TABLE, prior=Prior.flat()), (5, 3, 1)),
            "published must be two counts",
        ),
        (lambda: error_given_originals(TABLE, (5, 3)).exceeds(-1), "beta must be"),
        (lambda: error_given_originals(TABLE, (5, 3)).reaches(np.nan), "beta must be"),
        (lambda: error_given_originals(TABLE, (5, 3)).smallest_beta(2), "level must be"),
        (lambda: error_given_originals(TABLE, (5, 3)).smallest_beta(1.01), "level must be"),
    ],
)
def test_bad_questions_are_typed_errors(ask, problem):
    with pytest.raises(RiskError, match=problem):
        ask()


@pytest.mark.parametrize("shape", [(3, 3, 3), (2,), (1, 1, 1)])
def test_a_statistic_gives_one_figure_for_each_pair(shape):
    with pytest.raises(RiskError, match=r"one figure per pair of counts, \(1, 1\), not"):
        error_given_originals(TABLE, (5, 3), statistic=lambda _a, _b: np.zeros(shape))


def test_errors_cannot_be_changed():
    error = error_given_originals(TABLE, (2, 4))
    require_fixed(error)
    assert error != error_given_originals(TABLE, (2, 4)), "arrays are not compared"


def test_texts_show_no_count():
    error = error_given_originals(TABLE, (7, 4))
    assert repr(error) == f"StatisticError(n_errors={len(error.errors)})"
