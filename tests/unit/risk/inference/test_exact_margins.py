"""Exact intervals for the office: at least the level for every kind of figure, over secrets."""

from functools import reduce

import numpy as np
import pytest

from ptable import Mechanism, NoiseSpec, solve
from risk import RiskError, count_intervals
from risk.inference.exact_margins import ExactMargin
from risk.inference.public_margins import PublicMargin

JOB = solve(NoiseSpec(max_noise=5, variance=3.0, small=2))
LOPSIDED = solve(NoiseSpec(max_noise=15, variance=15.0, small=3))
TABLES = {"job": JOB, "lopsided": LOPSIDED}


def published(table, counts, generator):
    keys = generator.integers(0, table.key_range, size=counts.shape, dtype=np.uint64)
    return counts + table.lookup(counts, keys)


def share_held(ends, figure):
    low, high = ends
    return float(((low - 1e-9 <= figure) & (figure <= high + 1e-9)).mean())


def largest_standard_error(level, size):
    return np.sqrt(level * (100 - level) / size)


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("level", [90, 99])
def test_single_counts_ratios_and_differences_are_held_as_often_as_they_say(name, level):
    # seeded; the limit is four standard errors below the level
    generator, table = np.random.default_rng(1), TABLES[name]
    size = 4000 if name == "job" else 400
    margin = ExactMargin.of(table, level=level)
    whole = generator.choice([1, 3, 9, 30, 200], size)
    part = generator.binomial(whole, generator.random(size))
    a, b = published(table, part, generator), published(table, whole, generator)
    is_told = b > 0
    limit = level - 4 * largest_standard_error(level, size)
    low, high = margin.ratios(a, b)
    held = (low - 1e-9 <= part / whole) & (part / whole <= high + 1e-9)
    assert 100 * held[is_told].mean() >= limit
    assert 100 * share_held(margin.differences(a, b), part - whole) >= limit
    assert 100 * share_held(margin.sums(a, margin.squares(a)), part) >= limit


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("number", [2, 7, 60, 500])
def test_sums_are_held_whatever_their_counts_are(name, number):
    generator, table = np.random.default_rng(2), TABLES[name]
    margin = ExactMargin.of(table, level=95)
    for counts in ([1], [4], [500], [0, 1, 500]):
        true = generator.choice(counts, (1500, number))
        seen = published(table, true, generator)
        ends = margin.sums(seen.sum(axis=1), margin.squares(seen).sum(axis=1))
        assert share_held(ends, true.sum(axis=1)) >= 0.95 - 4 * 0.0057


def test_the_bound_of_sums_is_that_of_the_convolution_where_all_rows_are_alike():
    """Closed form: random rounding of counts that are 1 above a multiple of 3, or 1 below."""
    table = Mechanism.random_rounding(3).build()
    margin = ExactMargin.of(table, level=95)
    law = {-1: 2 / 3, 2: 1 / 3}
    up = reduce(np.convolve, [np.array([law[-1], 0, 0, law[2]])] * 2)  # from -2 to 4
    tail = np.cumsum(up[::-1])[::-1]
    least = [x for x in range(-2, 5) if tail[x + 2] > 0.025]
    low, _ = margin.sums([60], [[2, 2]])
    # the other row, of noise 1 or -2, and adverse choices of both only widen the interval
    assert low[0] <= 60 - max(least)
    assert low[0] >= 60 - 4


def test_pairs_are_those_of_the_intervals_of_the_office():
    margin = ExactMargin.of(JOB, level=90)
    low, high = margin.ratios([50, 3], [100, 40])
    found = count_intervals((JOB, JOB), [50, 3], [100, 40], part=True, level=0.9)
    assert (low == found.lower).all()
    assert (high == found.upper).all()


def test_ratios_of_sums_and_of_parts_of_a_sum_are_held():
    generator = np.random.default_rng(3)
    margin = ExactMargin.of(JOB, level=95)
    true = generator.integers(0, 40, (1500, 8))
    seen = published(JOB, true, generator)
    squares = margin.squares(seen)
    part, whole = true[:, :3].sum(axis=1), np.maximum(true.sum(axis=1), 1)
    ends = margin.ratios(
        seen[:, :3].sum(axis=1),
        seen.sum(axis=1),
        squares=(squares[:, :3].sum(axis=1), squares.sum(axis=1)),
        shared=squares[:, :3].sum(axis=1),
    )
    assert share_held(ends, part / whole) >= 0.95
    apart = margin.ratios(
        seen[:, :3].sum(axis=1),
        seen[:, 3:].sum(axis=1),
        squares=(squares[:, :3].sum(axis=1), squares[:, 3:].sum(axis=1)),
        part=False,
    )
    assert share_held(apart, part / np.maximum(true[:, 3:].sum(axis=1), 1)) >= 0.95
    assert (ends[1] <= 1).all()


def test_the_true_rank_is_among_those_that_are_open():
    generator = np.random.default_rng(4)
    margin = ExactMargin.of(JOB, level=90)
    true = generator.integers(30, 120, (40, 300))
    best, worst = margin.ranks(published(JOB, true, generator))
    first = 1 + (true[np.newaxis] > true[:, np.newaxis]).sum(axis=1)
    last = (true[np.newaxis] >= true[:, np.newaxis]).sum(axis=1)
    assert ((best <= last) & (first <= worst)).mean() >= 0.9
    assert (worst > best).any()


def test_a_base_that_may_be_empty_leaves_everything_open():
    margin = ExactMargin.of(JOB, level=95)
    low, high = margin.ratios([4, 5], [0, 0], part=False)
    assert np.isinf(high).all()
    assert (low <= [4 / 4, 5 / 4]).all()  # a published 0 is a 4 at most
    low, high = margin.ratios([0], [0])
    assert (low.tolist(), high.tolist()) == ([0], [1])


def test_higher_levels_have_wider_intervals_and_others_are_refused():
    counts = np.arange(0, 60, 7)
    widths = []
    for level in (80, 95, 99.9):
        low, high = (m := ExactMargin.of(JOB, level=level)).sums(counts, m.squares(counts))
        widths.append(high - low)
    assert (widths[0] <= widths[1]).all()
    assert (widths[1] <= widths[2]).all()
    assert widths[0].sum() < widths[2].sum()
    for level in (49, 100, float("nan")):
        with pytest.raises(RiskError, match=r"50 to 99\.9"):
            ExactMargin.of(JOB, level=level)


def test_work_that_shall_end_ends():
    def stop():
        raise TimeoutError

    margin = ExactMargin.of(JOB, level=95, check=stop)
    with pytest.raises(TimeoutError):
        margin.ratios([5], [9])


def test_exact_intervals_are_no_wider_than_those_for_everybody_for_single_counts():
    counts = np.array([40, 90, 400])
    exact, public = ExactMargin.of(JOB, level=95), PublicMargin.of(JOB)
    own, others = (m.sums(counts, m.squares(counts)) for m in (exact, public))
    assert (own[1] - own[0] <= others[1] - others[0]).all()
