"""Noise of sensitive cells: never none, none on average."""

from fractions import Fraction

import pytest

from ckm.engine.magnitudes import MagnitudeError, magnitude_ptable
from ckm.engine.magnitudes.noise.plan import two_sided
from ptable import PTable

SKEWED = PTable(
    noise=[[0], [-1, 0, 2], [-2, -1, 1, 2], [-4, 0, 4]],
    upper=[[24], [12, 18, 24], [4, 12, 20, 24], [4, 20, 24]],
    key_range=24,
    anchors=(0, 1, 2, 4),
)


def means(table, least_noise):
    """Give the exact mean of every row but the first, in units."""
    found = []
    for count in table.counts[1:].tolist():
        total = Fraction(0)
        for v, n in table.units(count).items():
            assert v != 0
            size = Fraction(v, table.step) + least_noise * (1 if v > 0 else -1)
            total += size * n
        found.append(total / table.key_range)
    return found


@pytest.mark.parametrize("least_noise", [Fraction(0), Fraction(1, 2), Fraction(3)])
@pytest.mark.parametrize("table", [SKEWED, magnitude_ptable()], ids=["skewed", "start"])
def test_means_are_zero_to_a_few_keys_and_no_row_holds_no_noise(table, least_noise):
    found = two_sided(table, least_noise=float(least_noise))
    assert found.counts.tolist() == table.counts.tolist()
    assert all(abs(mean) < Fraction(1, 2**55) for mean in means(found, least_noise))


def test_the_rule_of_other_tools_has_a_bias():
    """They add sign(v) (m + |v|) to the law as it is, and take no noise for upward noise."""
    units = magnitude_ptable().units(5)
    biased = sum(Fraction(n, 2**32) * (1 if v >= 0 else -1) for v, n in units.items())
    assert float(biased) == pytest.approx(float(Fraction(units[0], 2**32)), rel=1e-6)
    assert biased > Fraction(14, 100)


def test_given_its_side_noise_keeps_its_law():
    found = two_sided(SKEWED, least_noise=1.0)
    before, after = SKEWED.units(2), found.units(2)
    for first, second in ((-2, -1), (1, 2)):
        ratio = Fraction(before[first], before[second])
        assert float(Fraction(after[first], after[second]) / ratio) == pytest.approx(1, 1e-15)


def test_a_row_without_noise_on_both_sides_is_refused():
    table = PTable(noise=[[0], [0], [-2, 2]], upper=[[8], [8], [4, 8]], key_range=8)
    with pytest.raises(MagnitudeError, match="both sides"):
        two_sided(table, least_noise=1.0)
