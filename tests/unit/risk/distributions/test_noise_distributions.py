"""Laws of published counts, and of their sums and differences."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from ptable import NoiseSpec, solve
from risk.distributions.distribution import Law
from risk.distributions.noise_distributions import difference_law, published_law, sum_law
from risk.errors import RiskError


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


def test_texts_show_no_count(table):
    assert repr(published_law(table, 77)) == "Law(n_numbers=7, variance=2)"
