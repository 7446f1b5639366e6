"""Intervals of ratios and differences hold the original figure as often as they say."""

import numpy as np
import pytest

from ptable import NoiseSpec, solve
from risk import RiskError, count_intervals, published_law

PAIRS = [(0, 5), (1, 3), (2, 2), (3, 8), (5, 20), (20, 20), (20, 100), (99, 100), (0, 1)]


def tables():
    return [
        solve(NoiseSpec(max_noise=5, variance=3.0)),
        solve(NoiseSpec(max_noise=5, variance=3.0, small=2)),
        solve(NoiseSpec(max_noise=2, variance=1.0)),
    ]


def drawn(table, first, second):
    """Give every pair of published counts with its probability, noises independent."""
    one, two = published_law(table, first), published_law(table, second)
    left, right = np.meshgrid(one.numbers, two.numbers, indexing="ij")
    chances = np.outer(one.probabilities, two.probabilities)
    kept = chances > 0
    return left[kept], right[kept], chances[kept]


@pytest.mark.parametrize("figure", ["ratio", "difference"])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_the_original_figure_is_held_at_least_as_often_as_stated(figure, level):
    for table in tables():
        for pair in PAIRS:
            left, right, chances = drawn(table, *pair)
            found = count_intervals(
                (table, table), left, right, figure=figure, level=level, part=pair[0] <= pair[1]
            )
            true = pair[0] / pair[1] if figure == "ratio" else pair[0] - pair[1]
            is_held = (found.lower - 1e-9 <= true) & (true <= found.upper + 1e-9)
            missed = chances[~is_held & ~np.isnan(found.figure)].sum()
            assert missed <= 1 - level + 1e-9, (pair, missed)


@pytest.mark.parametrize("figure", ["ratio", "difference"])
def test_intervals_for_any_dependence_hold_where_two_noises_are_opposite(figure):
    """One key decides both noises: the second is drawn from the other end of its row."""
    for table in tables():
        for first, second in PAIRS[3:]:
            keys = (np.arange(20_000) + 0.5) / 20_000 * 2**32
            left = first + table.lookup(np.full(20_000, first), keys.astype(np.uint32))
            other = (2**32 - 1 - keys).astype(np.uint32)
            right = second + table.lookup(np.full(20_000, second), other)
            found = count_intervals(
                (table, table), left, right, figure=figure, independent=False
            )
            true = first / second if figure == "ratio" else first - second
            is_held = (found.lower - 1e-9 <= true) & (true <= found.upper + 1e-9)
            assert np.mean(~is_held & ~np.isnan(found.figure)) <= 0.05


def test_an_interval_is_no_longer_than_the_noise_needs():
    table = tables()[0]
    found = count_intervals((table, table), [100], [100], figure="difference")
    assert (found.lower[0], found.upper[0]) == (-5, 5), (
        "P(|v - w| > 5) is 0.025, of 4 it is 0.06"
    )
    part = count_intervals((table, table), [99], [100], part=True)
    assert part.upper[0] == 1, "a part is no larger than the whole"


def test_counts_that_cannot_be_published_and_other_figures_are_refused():
    table = tables()[1]
    with pytest.raises(RiskError, match="never publishes"):
        count_intervals((table, table), [1], [10])
    with pytest.raises(RiskError, match="a ratio or a difference"):
        count_intervals((table, table), [5], [10], figure="sum")
