"""How soon the largest noise shows. Error rates: one comparison in 370; seeds are fixed."""

import numpy as np
import pytest

from ptable import PTable
from risk.attacks import HiddenBound, SimulatedOracle
from risk.errors import RiskError
from tests.unit.risk.attacks.support import agrees, r_table, uniform_table


@pytest.mark.parametrize(
    ("table", "reference"),
    [
        (uniform_table(2), 72),
        (uniform_table(5), 359),
        (uniform_table(10), 1318),
        (r_table(2, 1), 732),
        (r_table(5, 3), 2.1e5),
        (r_table(5, 2), 1e7),
    ],
)
def test_queries_until_a_gap_of_twice_the_bound_are_those_of_the_reference(table, reference):
    found = HiddenBound(n_pairs=1, rounds_up=False).queries_needed(table)
    assert found == pytest.approx(reference, rel=0.01 if reference > 1e4 else 0, abs=0.5)


def test_as_many_pairs_as_needed_succeed_with_that_probability():
    for rounds_up in (True, False):
        table = r_table(2, 1)
        attack = HiddenBound(n_pairs=1, rounds_up=rounds_up)
        pairs = int(np.ceil(attack.queries_needed(table, confidence=0.8) / 2))
        enough = HiddenBound(n_pairs=pairs, rounds_up=rounds_up)
        fewer = HiddenBound(n_pairs=pairs - 1, rounds_up=rounds_up)
        assert fewer.closed_form(table) < 0.8 <= enough.closed_form(table)


@pytest.mark.slow
@pytest.mark.parametrize("rounds_up", [True, False])
def test_the_bound_is_found_as_often_as_computed(rounds_up):
    table, n = r_table(2, 1), 700
    rng = np.random.default_rng(51)
    counts = rng.integers(20, 60, (n, 7))
    oracle = SimulatedOracle(table, counts, rng=rng)
    attack = HiddenBound(n_pairs=40, rounds_up=rounds_up)
    result = attack.run(oracle, truth=counts.sum(axis=1), max_noise=2, rng=rng)
    assert agrees(result.rate, attack.closed_form(table), trials=n)
    assert result.queries == 80 * n


def test_a_gap_one_below_twice_the_bound_proves_it_too_and_comes_much_sooner():
    # Two noises of at most D - 1 are off by at most 2D - 2: a gap of 2D - 1 leaves D alone.
    for setting in ((2, 1), (5, 3), (5, 2)):
        table = r_table(*setting)
        sharp = HiddenBound(n_pairs=1).queries_needed(table)
        patient = HiddenBound(n_pairs=1, rounds_up=False).queries_needed(table)
        assert patient > 8 * sharp


def test_thin_tails_hide_the_bound_and_no_noise_has_none():
    sharp = [HiddenBound(n_pairs=1).queries_needed(r_table(5, v)) for v in (2, 3)]
    assert sharp[0] > 20 * sharp[1]
    silent = PTable.from_units([{0: 8}], key_range=8)
    with pytest.raises(RiskError, match="never shows"):
        HiddenBound(n_pairs=3).closed_form(silent)
    with pytest.raises(RiskError, match="confidence must be a number above 0 and below 1"):
        HiddenBound(n_pairs=3).queries_needed(r_table(2, 1), confidence=1.0)
    with pytest.raises(RiskError, match="n_pairs must be an integer from 1 to 7, not 8"):
        HiddenBound(n_pairs=8, n_categories=4)


def test_a_bound_that_nobody_answers_about_is_not_found():
    rng = np.random.default_rng(1)
    result = HiddenBound(n_pairs=3).run(lambda _: None, truth=[9], max_noise=0, rng=rng)
    assert (result.successes, result.queries, result.refused) == (0, 6, 6)
