"""Averaging over pairs of complementary groups, and over repeats.

Rates are compared with their probabilities within three binomial standard errors: a correct
program fails one comparison in 370. Seeds are fixed.
"""

import numpy as np
import pytest

from risk.attacks import (
    RepeatedAnswers,
    SimulatedOracle,
    SmallCell,
    TwoPartition,
    pairs_available,
    pairs_needed,
)
from risk.attacks.pairs import complementary_groups, rounded_mean
from risk.errors import RiskError
from tests.unit.risk.attacks.support import agrees, r_table, uniform_table


def attack_totals(table, counts, *, seed, keys="mixed", n_pairs=None, **limits):
    rng = np.random.default_rng(seed)
    oracle = SimulatedOracle(table, counts, rng=rng, keys=keys, **limits)
    attack = TwoPartition(n_categories=counts.shape[1], n_pairs=n_pairs)
    return attack, attack.run(oracle, truth=counts.sum(axis=1), rng=rng)


def large_counts(n_lines, n_categories, seed):
    return np.random.default_rng(seed).integers(20, 60, (n_lines, n_categories))


# --- two partitions -----------------------------------------------------------------------


def test_pairs_are_all_ways_to_split_categories_in_two():
    for m in range(2, 8):
        pairs = complementary_groups(m)
        assert (
            len({frozenset(pair) for pair in pairs}) == pairs_available(m) == 2 ** (m - 1) - 1
        )
        assert all(sorted(first + second) == list(range(m)) for first, second in pairs)
        assert all(first and second for first, second in pairs)


@pytest.mark.parametrize(
    ("variance", "queries"), [(1, 62), (2, 124), (3, 186), (4, 246), (10, 616)]
)
def test_pairs_for_95_percent_are_those_of_the_reference(variance, queries):
    # The reference rounds 2V(1.96/0.5)² up or down to whole pairs.
    assert abs(2 * pairs_needed(variance) - queries) <= 2
    assert pairs_needed(variance) == pytest.approx(2 * variance * (1.96 / 0.5) ** 2, rel=1e-4)


def test_the_law_of_the_mean_agrees_with_its_normal_approximation():
    for table, variance in ((r_table(2, 1), 1), (r_table(5, 3), 3), (uniform_table(2), 2)):
        k = round(pairs_needed(variance))
        attack = TwoPartition(n_categories=k.bit_length() + 1, n_pairs=k)
        assert attack.closed_form(table) == pytest.approx(0.95, abs=0.006)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("setting", "n_categories", "n_lines"),
    [((5, 3), 7, 500), ((2, 1), 6, 750), ((8, 4), 6, 500)],
)
def test_totals_are_found_as_often_as_computed(setting, n_categories, n_lines):
    table = r_table(*setting)
    counts = large_counts(n_lines, n_categories, seed=21)
    attack, result = attack_totals(table, counts, seed=22)
    assert agrees(result.rate, attack.closed_form(table), trials=n_lines)
    assert result.queries == n_lines * 2 * pairs_available(n_categories)


@pytest.mark.slow
def test_totals_of_small_counts_are_found_as_often_as_computed():
    table = r_table(5, 3)
    counts = np.tile([1, 1, 1, 1], (1500, 1))
    attack, result = attack_totals(table, counts, seed=23)
    p = attack.closed_form(table, counts=[1, 1, 1, 1])
    assert agrees(result.rate, p, trials=1500)
    assert not agrees(result.rate, attack.closed_form(table), trials=1500)


@pytest.mark.slow
def test_a_choice_of_pairs_is_found_as_often_as_computed():
    table = r_table(5, 3)
    attack, result = attack_totals(table, large_counts(700, 7, seed=3), seed=24, n_pairs=20)
    assert result.queries == 700 * 40
    assert agrees(result.rate, attack.closed_form(table), trials=700)
    same = attack.closed_form(table, counts=[50] * 7)
    assert same == pytest.approx(attack.closed_form(table), abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("setting", "n_categories", "reference", "n_lines"),
    [
        ((5, 3), 7, 0.92, 1000),
        ((5, 3), 8, 0.97, 500),
        ((5, 3), 9, 0.99, 250),
        ((2, 1), 6, 0.95, 1000),
    ],
)
def test_additive_keys_give_the_rates_of_the_reference(
    setting, n_categories, reference, n_lines
):
    # Reference: simulated, printed to two digits, its number of trials unknown.
    counts = large_counts(n_lines, n_categories, seed=25)
    _, result = attack_totals(r_table(*setting), counts, seed=11, keys="additive")
    error = np.sqrt(reference * (1 - reference) / n_lines)
    assert abs(result.rate - reference) <= 3 * error + 0.005


def test_refused_queries_count_and_weaken_the_attack():
    table = r_table(2, 1)
    counts = large_counts(60, 6, seed=5)
    _, free = attack_totals(table, counts, seed=6)
    _, limited = attack_totals(table, counts, seed=6, most_queries=62 * 30)
    assert limited.queries == free.queries == 62 * 60
    assert limited.refused == 62 * 30
    assert limited.successes <= 30 < free.successes


def test_groups_fixed_to_a_few_leave_little_to_average():
    table = r_table(5, 3)
    assert TwoPartition(n_categories=2).closed_form(table) < 0.2
    assert TwoPartition(n_categories=9).closed_form(table) > 0.99


def test_attacks_by_pairs_refuse_what_they_cannot_do():
    with pytest.raises(RiskError, match="n_categories must be an integer from 2 to 16"):
        TwoPartition(n_categories=1)
    with pytest.raises(RiskError, match="n_pairs must be an integer from 1 to 3, not 4"):
        TwoPartition(n_categories=3, n_pairs=4)
    with pytest.raises(RiskError, match="3 whole numbers of 1 or more"):
        TwoPartition(n_categories=3).closed_form(r_table(2, 1), counts=[1, 0, 2])
    with pytest.raises(RiskError, match="the pairs drawn decide"):
        TwoPartition(n_categories=3, n_pairs=1).closed_form(r_table(2, 1), counts=[1, 1, 9])
    with pytest.raises(
        RiskError, match="variance must be a finite number of at least 0, not -1"
    ):
        pairs_needed(-1)
    with pytest.raises(RiskError, match="truth must hold"):
        TwoPartition(n_categories=3).run(
            lambda _: None, truth=[1.5], rng=np.random.default_rng(1)
        )


def test_means_of_whole_numbers_round_without_error():
    assert rounded_mean([2**62, 2**62 + 1]) == 2**62 + 1
    assert [rounded_mean([a, b]) for a, b in ((-3, 0), (0, -1), (4, 4))] == [-1, 0, 4]


# --- a small cell -------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("cell", [0, 1, 3, 40])
@pytest.mark.parametrize("setting", [(2, 1), (5, 3)])
def test_small_cells_are_found_as_often_as_computed(setting, cell):
    table = r_table(*setting)
    counts = large_counts(400, 6, seed=30)
    counts[:, -1] = cell
    oracle = SimulatedOracle(table, counts, rng=np.random.default_rng(31))
    attack = SmallCell(n_categories=6)
    result = attack.run(oracle, truth=counts[:, -1])
    assert agrees(result.rate, attack.closed_form(table, cell=cell), trials=400)
    assert result.queries == 400 * 62


def test_a_small_cell_costs_little_more_than_a_total():
    # The variance of the difference of both means is close to that of one mean.
    for setting in ((2, 1), (5, 3)):
        table = r_table(*setting)
        cell = SmallCell(n_categories=7).closed_form(table)
        total = TwoPartition(n_categories=7).closed_form(table)
        assert total - 0.01 < cell < total


# --- repeats ------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["fresh", "consistent"])
def test_repeats_are_right_as_often_as_computed(noise):
    table = r_table(5, 3)
    counts = np.full((400, 1), 25)
    keys = "fresh" if noise == "fresh" else "mixed"
    oracle = SimulatedOracle(table, counts, rng=np.random.default_rng(41), keys=keys)
    attack = RepeatedAnswers(n_repeats=30)
    result = attack.run(oracle, truth=counts[:, 0])
    assert agrees(result.rate, attack.closed_form(table, noise=noise), trials=400)


def test_consistent_noise_makes_repeats_worthless():
    table = r_table(5, 3)
    n = round(pairs_needed(3.0) / 2)
    fresh = RepeatedAnswers(n_repeats=n).closed_form(table, noise="fresh")
    assert fresh == pytest.approx(0.95, abs=0.01)
    once = RepeatedAnswers(n_repeats=1).closed_form(table, noise="fresh")
    many = RepeatedAnswers(n_repeats=n).closed_form(table, noise="consistent")
    assert many == pytest.approx(once, abs=1e-12)


def test_noise_of_no_known_kind_is_refused():
    with pytest.raises(RiskError, match="noise must be"):
        RepeatedAnswers(n_repeats=2).closed_form(r_table(2, 1), noise="none")
