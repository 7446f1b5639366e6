"""Bounds and totals. Error rates: one comparison in 370; seeds are fixed."""

from itertools import product

import numpy as np
import pytest

from risk.attacks import MarginBounds, SimulatedOracle, joint_noise, reveal
from risk.errors import RiskError
from tests.unit.risk.attacks.support import agrees, r_table


@pytest.mark.parametrize(
    ("setting", "reference"),
    [((2, 1), 5.2e-4), ((3, 1), 1.8e-7), ((5, 3), 1.1e-7), ((5, 2), 3.3e-10)],
)
def test_lines_are_revealed_as_often_as_in_the_reference(setting, reference):
    table = r_table(*setting)
    attack = MarginBounds(max_noise=setting[0])
    assert attack.closed_form(table) == pytest.approx(reference, rel=0.02)
    p_most = table.units(table.n_rows - 1)[setting[0]] / table.key_range
    assert attack.closed_form(table) == pytest.approx(2 * p_most**3, rel=1e-6)


def test_a_census_of_a_million_lines_has_the_hits_of_the_reference():
    hits = MarginBounds(max_noise=2).expected_hits(r_table(2, 1), n_lines=10**6)
    assert hits == pytest.approx(520, abs=1)
    few = MarginBounds(max_noise=5).expected_hits(r_table(5, 3), n_lines=10**6)
    assert few == pytest.approx(0.1, abs=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("counts", [(1, 1), (1, 2), (2, 2, 1), (0, 1), (9, 9)])
def test_lines_of_any_counts_are_revealed_as_often_as_computed(counts):
    table, n = r_table(2, 1), 6000
    lines = np.tile(counts, (n, 1))
    oracle = SimulatedOracle(table, lines, rng=np.random.default_rng(71))
    attack = MarginBounds(max_noise=2, n_categories=len(counts))
    result = attack.run(oracle, truth=lines)
    assert agrees(result.rate, attack.closed_form(table, counts=counts), trials=n)


def test_large_counts_given_or_not_are_the_same():
    table = r_table(5, 3)
    for n_categories in (2, 3):
        attack = MarginBounds(max_noise=5, n_categories=n_categories)
        given = attack.closed_form(table, counts=[40] * n_categories)
        assert given == pytest.approx(attack.closed_form(table), rel=1e-9)


def test_a_line_is_revealed_just_when_a_single_possibility_is_left():
    def possible(published, max_noise):
        least = 1 if published else 0
        return range(max(least, published - max_noise), published + max_noise + 1)

    for max_noise in (1, 2):
        for first, second, total in product(range(6), range(6), range(10)):
            ways = [
                (a, b)
                for a in possible(first, max_noise)
                for b in possible(second, max_noise)
                if a + b in possible(total, max_noise)
            ]
            found = reveal((first, second), total=total, max_noise=max_noise)
            assert found == (ways[0] if len(ways) == 1 else None)


@pytest.mark.slow
def test_ascending_additive_keys_never_let_extremes_coincide():
    # Both parts down takes two keys below p_D each, and their sum lies below 2 p_D < 1 - p_D.
    for setting in ((2, 1), (5, 3)):
        (first, second, total), law = joint_noise(r_table(*setting))
        assert law[0, 0, -1] == law[-1, -1, 0] == 0
        assert first[0] == second[0] == -total[-1]
    lines = np.full((3000, 2), 40)
    oracle = SimulatedOracle(
        r_table(2, 1), lines, rng=np.random.default_rng(72), keys="additive"
    )
    assert MarginBounds(max_noise=2).run(oracle, truth=lines).successes == 0


def test_refusals_count_and_parameters_are_checked_together():
    result = MarginBounds(max_noise=2).run(lambda _: [7, None, 9], truth=[[5, 6]])
    assert (result.successes, result.queries, result.refused) == (0, 3, 1)
    with pytest.raises(RiskError, match=r"max_noise must .* n_categories must"):
        MarginBounds(max_noise=0, n_categories=1)
    with pytest.raises(RiskError, match="2 whole numbers"):
        MarginBounds(max_noise=2).closed_form(r_table(2, 1), counts=[1, 2, 3])
