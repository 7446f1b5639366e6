"""Laws of published counts, of their sums and differences, and of ratios."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from ptable import NoiseSpec, solve
from ptable.design.mechanisms import Mechanism
from risk.distributions.distribution import Law
from risk.distributions.noise_distributions import difference_law, published_law, sum_law
from risk.distributions.prior import Prior
from risk.errors import RiskError
from risk.inference.inverse import Inverse
from risk.inference.ratios import error_given_originals, error_given_published


@pytest.fixture(scope="module")
def table():
    return solve(NoiseSpec(max_noise=3, variance=2.0))


def test_a_published_law_is_the_row_of_its_count(table):
    law = published_law(table, 2)
    assert law.at(table.targets) == pytest.approx(table.transition[2], abs=1e-15)
    assert law.mean == pytest.approx(2, abs=1e-8)
    assert law.variance == pytest.approx(2, abs=1e-7)
    assert published_law(table, 10**9).numbers[0] == 10**9 - 3
    assert published_law(table, 0).support.tolist() == [0]


def test_sums_add_means_and_variances(table):
    counts = [1, 2, 2, 50, 0, 7, 7, 7]
    law = sum_law(table, counts)
    assert law.mean == pytest.approx(sum(counts), abs=1e-6)
    assert law.variance == pytest.approx(2.0 * 7, abs=1e-5)
    assert sum_law(table, []).support.tolist() == [0]


def test_the_gap_between_a_total_and_its_parts_has_the_surveyed_variance(table):
    parts = [20, 30, 40]
    gap = published_law(table, sum(parts)).minus(sum_law(table, parts))
    assert gap.mean == pytest.approx(0, abs=1e-6)
    assert gap.variance == pytest.approx((3 + 1) * 2.0, abs=1e-5)


def test_thousands_of_cells_add_up_without_loss(table):
    law = sum_law(table, np.full(3000, 9))
    assert law.probabilities.sum() == pytest.approx(1, abs=1e-12)
    assert law.mean == pytest.approx(27000, abs=1e-3)
    assert law.variance == pytest.approx(6000, rel=1e-6)


def test_one_cell_differs_from_itself_by_nothing(table):
    assert difference_law(table, (5, 5), nested=True).support.tolist() == [0]
    assert difference_law(table, (5, 5)).variance == pytest.approx(4, abs=1e-6)


def test_a_sliver_makes_the_noises_independent(table):
    law = difference_law(table, (6, 5), nested=True)
    first, second = published_law(table, 6), published_law(table, 5)
    for number in law.numbers.tolist():
        wanted = sum(
            float(first.at(a)) * float(second.at(b))
            for a, b in product(first.support, second.support)
            if a - b == number
        )
        assert law.at(number) == pytest.approx(wanted, abs=1e-15)


def test_a_part_cannot_be_larger_than_its_whole(table):
    with pytest.raises(RiskError, match="must hold the others"):
        difference_law(table, (5, 6), nested=True)


@pytest.mark.parametrize(
    ("lowest", "probabilities"),
    [(0, []), (0, [0.5]), (0, [2, -1]), (0, [np.nan]), (0, [[1.0]]), (0, [0.0, 0.0])],
)
def test_numbers_that_are_no_law_are_refused(lowest, probabilities):
    with pytest.raises(RiskError):
        Law(lowest=lowest, probabilities=probabilities)


def test_a_law_drops_empty_ends_and_repeats():
    law = Law(lowest=-2, probabilities=[0, 0.5, 0, 0.5, 0])
    assert law.lowest == -1
    assert law.numbers.tolist() == [-1, 0, 1]
    assert law.repeated(0).support.tolist() == [0]
    assert law.repeated(3).probabilities == pytest.approx(law.plus(law).plus(law).probabilities)
    assert law.shifted(4).support.tolist() == [3, 5]
    assert law.minus(law).at([-2, 0, 2]).tolist() == [0.25, 0.5, 0.25]
    assert law.to_frame()["number"].tolist() == [-1, 0, 1]


def brute_error(first, second, figure, beta, statistic):
    """Give P(error > beta) by looping over both laws; an undefined figure is an error."""
    total = 0.0
    for a, b in product(first.support.tolist(), second.support.tolist()):
        chance = float(first.at(a)) * float(second.at(b))
        if b == 0 or abs(statistic(a, b) - figure) > beta + 1e-8:
            total += chance
    return total


@pytest.mark.parametrize("pair", [(3, 4), (1, 1), (0, 7), (50, 20)])
def test_errors_of_ratios_are_those_of_the_loop(table, pair):
    error = error_given_originals(table, pair)
    laws = [published_law(table, count) for count in pair]
    for beta in (0, 1, 7.5, 20, 33.3, 1000):
        wanted = brute_error(*laws, 100 * pair[0] / pair[1], beta, lambda a, b: 100 * a / b)
        assert error.exceeds(beta) == pytest.approx(wanted, abs=1e-12)
    assert error.undefined == pytest.approx(float(laws[1].at(0)), abs=1e-15)
    assert error.probabilities.sum() == pytest.approx(1, abs=1e-12)
    assert not np.isnan(error.errors).any()


def test_after_publication_the_prior_counts(table):
    sparse = Inverse(table=table, prior=Prior.supplied([80, 10, 5, 3, 2], beyond="last"))
    flat = Inverse(table=table, prior=Prior.flat())
    here = error_given_published(sparse, (2, 60), second=flat)
    laws = sparse.given(2), flat.given(60)
    wanted = brute_error(*laws, 100 * 2 / 60, 1.0, lambda a, b: 100 * a / b)
    assert here.exceeds(1.0) == pytest.approx(wanted, abs=1e-12)
    assert here.exceeds(1.0) != pytest.approx(error_given_published(flat, (2, 60)).exceeds(1.0))


def test_any_figure_of_two_counts_will_do(table):
    error = error_given_originals(table, (40, 50), statistic=lambda a, b: b - a)
    difference = difference_law(table, (50, 40))
    for beta in range(7):
        wanted = difference.probabilities[np.abs(difference.numbers - 10) > beta].sum()
        assert error.exceeds(beta) == pytest.approx(wanted, abs=1e-12)
    assert error.to_frame()["error"].tolist() == list(range(7))
    constant = error_given_originals(table, (4, 5), statistic=lambda _a, _b: 1.0)
    assert constant.smallest_beta(0.0) == 0


def test_ties_do_not_depend_on_the_last_digit(table):
    error = error_given_originals(table, (10, 15))
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


def test_the_smallest_limit_is_attained_and_smallest(table):
    error = error_given_originals(table, (12, 35))
    for level in (0.0, 0.01, 0.05, 0.3, 1.0):
        beta = error.smallest_beta(level)
        assert error.exceeds(beta) <= level + 1e-12
        smaller = error.errors[error.errors < beta - 1e-7]
        if smaller.size:
            assert error.exceeds(smaller[-1]) > level
    assert error.smallest_beta(1.0) == 0


def test_a_figure_that_is_often_undefined_has_no_finite_limit(table):
    error = error_given_originals(table, (1, 1))
    assert error.undefined > 0.05
    assert error.smallest_beta(0.05) == math.inf


@pytest.mark.parametrize(
    "ask",
    [
        lambda table: error_given_originals(table, (5, 0)),
        lambda table: error_given_originals(table, (0, 0)),
        lambda table: error_given_originals(table, (-5, 3)),
        lambda table: error_given_originals(
            table, (5, 3), statistic=lambda _a, _b: np.zeros((3, 3, 3))
        ),
        lambda table: error_given_originals(table, (5, 3)).exceeds(-1),
        lambda table: error_given_originals(table, (5, 3)).smallest_beta(2),
    ],
)
def test_bad_questions_are_typed_errors(table, ask):
    with pytest.raises(RiskError):
        ask(table)


def test_rounding_has_errors_without_noise():
    error = error_given_originals(Mechanism.rounding(5).build(), (20, 99))
    assert error.errors == pytest.approx([20 / 99 * 100 - 20])
    assert error.probabilities.tolist() == [1.0]


def test_texts_show_no_count(table):
    assert repr(published_law(table, 77)) == "Law(n_numbers=7, variance=2)"
    error = error_given_originals(table, (77, 99))
    assert repr(error) == f"StatisticError(n_errors={len(error.errors)})"
