"""Keys that add up. Error rates: one comparison in 370; seeds are fixed."""

from itertools import product

import numpy as np
import pytest

from ptable import PTable
from risk.attacks import AdditiveKeys, SimulatedOracle, joint_noise
from risk.errors import RiskError
from tests.unit.risk.attacks.support import agrees, r_table, reordered

ADDED, MIXED = AdditiveKeys(), AdditiveKeys(keys="mixed")


def from_zero_outwards(max_noise):
    return sorted(range(-max_noise, max_noise + 1), key=lambda v: (abs(v), v))


def test_the_leakage_is_that_of_the_reference():
    table = r_table(5, 3)
    outwards = reordered(table, from_zero_outwards(5))
    for figures, recovered, bits in (
        (MIXED.figures(table), 0.085, 2.55),
        (ADDED.figures(table), 0.093, 2.31),
        (ADDED.figures(outwards), 0.213, 2.19),
    ):
        assert figures.p_recovered == pytest.approx(recovered, abs=6e-4)
        assert figures.entropy == pytest.approx(2.84, abs=0.005)
        assert figures.entropy_given_gap == pytest.approx(bits, abs=0.0051)
    assert ADDED.figures(table).p_no_gap == pytest.approx(0.0, abs=5e-4)
    assert MIXED.figures(table).p_no_gap == pytest.approx(0.132, abs=5e-4)


def test_the_leakage_of_smaller_noise_is_that_of_the_reference():
    table = r_table(2, 1)
    assert MIXED.closed_form(table) == pytest.approx(0.213, abs=5e-4)
    assert ADDED.closed_form(table) == pytest.approx(0.193, abs=5e-4)
    outwards = reordered(table, from_zero_outwards(2))
    assert ADDED.closed_form(outwards) == pytest.approx(0.301, abs=5e-4)


def test_random_orders_of_the_intervals_spread_around_the_reference():
    # The reference shuffled once, with an unknown seed: .194 and 2.14 bits; .292 for D = 2.
    for setting, recovered in (((5, 3), 0.194), ((2, 1), 0.292)):
        table, rng = r_table(*setting), np.random.default_rng(81)
        orders = [
            rng.permutation(np.arange(-setting[0], setting[0] + 1)).tolist() for _ in range(40)
        ]
        found = [ADDED.closed_form(reordered(table, order)) for order in orders]
        assert min(found) < recovered < max(found)
        assert ADDED.closed_form(table) <= min(found)


def test_the_joint_law_counts_all_pairs_of_keys():
    table = PTable.from_units(
        [{0: 12}, {1: 5, -1: 7}, {-1: 3, 0: 4, 1: 2, -2: 3}, {0: 2, 1: 5, 0 - 3: 5}],
        key_range=12,
    )
    for counts in ((1, 2), (2, 1), (1, 1), (2, 2), None):
        first, second = counts or (3, 3)
        axes, law = joint_noise(table, counts=counts)
        expected = np.zeros_like(law)
        for x, y in product(range(12), range(12)):
            noise = [
                int(table.lookup([n], [k], key_range=12)[0])
                for n, k in ((first, x), (second, y), (first + second, (x + y) % 12))
            ]
            expected[tuple(v - axis.start for v, axis in zip(noise, axes, strict=True))] += 1
        assert law == pytest.approx(expected / 144, abs=1e-15)


def test_each_noise_and_each_pair_of_noises_keeps_its_own_law():
    table = r_table(5, 3)
    _, law = joint_noise(table)
    p = law.sum(axis=(1, 2))
    last = table.units(table.n_rows - 1)
    assert p == pytest.approx([last[v] / table.key_range for v in range(-5, 6)], abs=1e-9)
    for axis in range(3):  # any two keys of the three are independent
        assert law.sum(axis=axis) == pytest.approx(np.outer(p, p), abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("attack", [ADDED, MIXED])
@pytest.mark.parametrize("setting", [(2, 1), (5, 3)])
def test_lines_are_recovered_as_often_as_computed(attack, setting):
    table, n = r_table(*setting), 4000
    rng = np.random.default_rng(82)
    counts = rng.integers(20, 60, (n, 2))
    oracle = SimulatedOracle(table, counts, rng=rng, keys=attack.keys)
    result = attack.run(oracle, ptable=table, truth=counts)
    assert agrees(result.rate, attack.closed_form(table), trials=n)
    assert result.queries == 3 * n


@pytest.mark.slow
def test_the_mix_leaves_an_intruder_who_counts_on_addition_with_less():
    table, n = reordered(r_table(5, 3), from_zero_outwards(5)), 3000
    rng = np.random.default_rng(83)
    counts = rng.integers(20, 60, (n, 2))
    leaky = SimulatedOracle(table, counts, rng=rng, keys="additive")
    mixed = SimulatedOracle(table, counts, rng=rng)
    found = ADDED.run(leaky, ptable=table, truth=counts).rate
    assert found > 2 * ADDED.run(mixed, ptable=table, truth=counts).rate


def test_refusals_and_wrong_parameters_are_told_apart():
    table = r_table(2, 1)
    result = ADDED.run(lambda _: None, ptable=table, truth=[[20, 20]])
    assert (result.successes, result.refused) == (0, 3)
    far = ADDED.run(lambda _: [90, 90, 1], ptable=table, truth=[[20, 20]])
    assert far.successes == 0
    with pytest.raises(RiskError, match="keys must be"):
        AdditiveKeys(keys="none")
    with pytest.raises(RiskError, match="one is empty"):
        joint_noise(table, counts=(0, 3))
