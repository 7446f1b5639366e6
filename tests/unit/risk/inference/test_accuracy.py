"""Intervals of the original: with a prior, and for every original without one."""

from fractions import Fraction

import numpy as np
import pytest

from ptable import Mechanism, NoiseSpec, solve
from risk.distributions.prior import Prior
from risk.errors import RiskError
from risk.inference.accuracy import accuracy_table
from risk.inference.credible import credible_intervals
from risk.inference.inverse import Inverse
from tests.results import require_fixed
from tests.unit.risk.inference.support import TABLE, WEIGHTS, posterior

TABLES = {
    "entropy": solve(NoiseSpec(max_noise=5, variance=3.0)),
    "blocked": solve(NoiseSpec(max_noise=5, variance=3.0, small=2)),
    "rounding": Mechanism.rounding(4).build(),
    "ons": Mechanism.ons_10_5().build(),
    "random rounding": Mechanism.random_rounding(7).build(),
    "laplace": Mechanism.discrete_laplace(1.0, max_noise=12).build(),
}
LEVELS = (0.0, 0.3, 0.5, 0.9, 0.95, 1.0)


@pytest.mark.parametrize("base", [3, 5, 8])
def test_random_rounding_under_a_flat_prior_has_a_triangle_of_originals(base):
    inverse = Inverse(table=Mechanism.random_rounding(base).build(), prior=Prior.flat())
    found = accuracy_table(inverse, [0, base, 9 * base], levels=LEVELS)
    triangle = [base - k for k in range(base)]
    inside = [triangle[0] + 2 * sum(triangle[1 : h + 1]) for h in range(base)]
    for column, level in enumerate(LEVELS):
        least = next(h for h, n in enumerate(inside) if n >= level * base**2 - 1e-9)
        assert found.half_widths[1:, column].tolist() == [least, least]
        one_sided = np.cumsum(triangle) >= level * sum(triangle) - 1e-9
        assert found.half_widths[0, column] == np.argmax(one_sided)


@pytest.mark.parametrize("name", TABLES)
def test_with_a_prior_half_widths_are_the_least_that_hold_the_level(name):
    inverse = Inverse(table=TABLES[name], prior=Prior.supplied(0.9 ** np.arange(80)))
    found = accuracy_table(inverse, levels=LEVELS)
    for line, j in enumerate(found.published.tolist()):
        law = inverse.given(j)
        for column, level in enumerate(LEVELS):
            h = int(found.half_widths[line, column])
            held = [law.at(np.arange(j - w, j + w + 1)).sum() for w in (h, h - 1)]
            assert held[0] >= level - 1e-9
            assert h == 0 or held[1] < level
    for column, level in enumerate(LEVELS):
        same = credible_intervals(inverse, found.published, level=level)
        assert np.array_equal(found.lower[:, column], same.lower)
        assert np.array_equal(found.upper[:, column], same.upper)


@pytest.mark.parametrize("flat", [False, True])
def test_half_widths_are_those_of_exact_fractions(flat):
    """A level that a half-width holds exactly belongs to it; those between need one more."""
    weights = (1,) * 40 if flat else WEIGHTS
    prior = Prior.flat() if flat else Prior.supplied(weights)
    seen = [j for j in range(10) if posterior(j, weights)]
    levels = [Fraction(n, 12) for n in range(13)]
    found = accuracy_table(Inverse(table=TABLE, prior=prior), seen, levels=map(float, levels))
    assert found.levels == tuple(map(float, levels))
    for line, published in enumerate(seen):
        chances = posterior(published, weights)
        for column, level in enumerate(levels):
            h = 0
            while sum(p for i, p in chances.items() if abs(i - published) <= h) < level:
                h += 1
            assert found.half_widths[line, column] == h


def test_intervals_hold_the_originals_of_a_simulated_register_as_often_as_they_say():
    # Per level a correct program falls below the bound, 4 standard errors, once in 30,000.
    rng = np.random.default_rng(20)
    table, n = TABLES["blocked"], 40_000
    weights = 0.95 ** np.arange(120)
    prior = Prior.supplied(weights)
    originals = rng.choice(120, size=n, p=prior.probabilities)
    keys = rng.integers(0, table.key_range, n, dtype=np.uint64)
    seen = originals + table.lookup(originals, keys, key_range=table.key_range)
    occurring, place = np.unique(seen, return_inverse=True)
    found = accuracy_table(Inverse(table=table, prior=prior), occurring)
    for column, level in enumerate(found.levels):
        lower, upper = found.lower[place, column], found.upper[place, column]
        share = ((lower <= originals) & (originals <= upper)).mean()
        assert share > level - 4 * np.sqrt(level * (1 - level) / n)


def test_default_lines_are_the_counts_that_occur():
    inverse = Inverse(table=TABLES["blocked"], prior=Prior.flat())
    found = accuracy_table(inverse)
    assert found.published.tolist() == [0, *range(3, 21)]
    assert found.levels == (0.5, 0.9, 0.95)
    assert accuracy_table(inverse, [[3, 4], [5, 6]]).published.tolist() == [3, 4, 5, 6]
    assert accuracy_table(inverse, []).half_widths.shape == (0, 3)


def test_a_table_of_intervals_cannot_be_changed_and_shows_no_count():
    inverse = Inverse(table=TABLE, prior=Prior.flat())
    found = accuracy_table(inverse, [2, 3], levels=[0.5])
    require_fixed(found)
    assert found != accuracy_table(inverse, [2, 3], levels=[0.5]), "arrays are not compared"
    assert repr(found) == "Accuracy(n_published=2, levels=(0.5,))"


def test_a_frame_has_one_line_per_count_and_level():
    inverse = Inverse(table=TABLES["entropy"], prior=Prior.flat())
    found = accuracy_table(inverse, [30, 40], levels=[0.5, 0.9])
    frame = found.to_frame()
    assert frame.columns.tolist() == ["published", "level", "lower", "upper", "half_width"]
    assert frame["published"].tolist() == [30, 30, 40, 40]
    assert frame["level"].tolist() == [0.5, 0.9, 0.5, 0.9]
    assert frame["half_width"].tolist() == found.half_widths.ravel().tolist()


def test_what_cannot_be_is_refused():
    inverse = Inverse(table=TABLES["ons"], prior=Prior.flat())
    with pytest.raises(RiskError, match="never publish"):
        accuracy_table(inverse, [7])
    with pytest.raises(RiskError, match="at least one level"):
        accuracy_table(inverse, levels=[])
    with pytest.raises(RiskError, match="levels must be"):
        accuracy_table(inverse, levels=[1.2])
    with pytest.raises(RiskError, match="whole numbers"):
        accuracy_table(inverse, [0.5])
