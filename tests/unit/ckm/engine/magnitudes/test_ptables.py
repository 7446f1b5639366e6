"""The p-table for amounts to begin with."""

from fractions import Fraction

import pytest

from ckm.engine.magnitudes.ptables import amount_spec, magnitude_ptable
from ptable import solve


def moments(table, anchor):
    units = table.units(anchor)
    mean = sum(Fraction(v * n, table.step * table.key_range) for v, n in units.items())
    square = sum(
        Fraction(v, table.step) ** 2 * Fraction(n, table.key_range) for v, n in units.items()
    )
    return float(mean), float(square - mean**2)


def test_to_begin_with_noise_is_at_most_five_units_in_half_steps_with_variance_two():
    table = magnitude_ptable()
    assert table.counts.tolist() == [0, 1, 2, 3, 4, 5]
    assert table.step == 2
    assert table.units(0) == {0: 2**32}
    assert max(table.units(5)) == 10
    for anchor in range(1, 6):
        mean, variance = moments(table, anchor)
        assert mean == pytest.approx(0, abs=1e-8)
        assert variance == pytest.approx(2, abs=1e-6)
        assert min(table.units(anchor)) == -2 * anchor, "a row of i units takes no more than i"


@pytest.mark.parametrize(("most", "variance", "step"), [(3, 1.0, 1), (2, 0.5, 4)])
def test_largest_noise_variance_and_steps_can_be_chosen(most, variance, step):
    table = magnitude_ptable(max_noise=most, variance=variance, step=step)
    assert table.counts.tolist() == list(range(most + 1))
    assert table.step == step
    assert max(map(abs, table.units(most))) == most * step
    assert moments(table, most)[1] == pytest.approx(variance, abs=1e-6)
    spec = amount_spec(max_noise=most, variance=variance, step=step)
    assert spec.anchors == tuple(range(1, most + 1))
    assert solve(spec) == table


def test_a_p_table_is_solved_once():
    assert magnitude_ptable() is magnitude_ptable()
    assert magnitude_ptable(max_noise=3, variance=1.0) is not magnitude_ptable()
    assert amount_spec() == amount_spec(max_noise=5, variance=2.0, step=2)
