"""Means from the distances to both bounds: one sensitivity, and half the interval of before."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import binom

from dp import Question
from dp.aggregates.ends import mean_of
from dp.aggregates.scope import Scope
from tests.unit.dp.support import ERROR

RUNS = 2_000


def noise_of(law="laplace", *, width, cost=1.0):
    return Scope(groups=1, rows=1, law=law).noise(cost, per_row=width)


def drawn(values, bounds, *, runs=RUNS, law="laplace", cost=1.0):
    low, high = bounds
    ones = np.ones(runs, np.int64)
    noise = noise_of(law, width=high - low, cost=cost)
    return mean_of(noise, len(values) * ones, int(values.sum()) * ones, steps=bounds, beta=0.05)


def test_every_value_moves_both_numbers_by_the_width_in_all():
    """By enumeration: all values within small bounds, all files of two rows."""

    class Kept:
        law, scale = "laplace", 1.0

        def release(self, sides):
            self.sides = sides
            return sides

    def sides(values, low, high):
        kept = Kept()
        totals, counts = np.array([sum(values)]), np.array([len(values)])
        mean_of(kept, counts, totals, steps=(low, high), beta=0.05)
        return kept.sides[:, 0]

    for low, high in ((0, 4), (-3, 2), (5, 9), (-4, -1)):
        for pair in itertools.product(range(low, high + 1), repeat=2):
            moved = sides(pair, low, high) - sides(pair[:1], low, high)
            assert (moved >= 0).all()
            assert moved.sum() == high - low
    asked = Question(kind="mean", column="x", lower=-3, upper=2, step=1)
    stated = asked.noises(Scope(groups=2, rows=3), 1.0)["ends"].sensitivity
    assert (stated.l1, stated.l2) == (30, pytest.approx(15 * 2**0.5))


SKEWED = np.minimum(np.random.default_rng(4).exponential(5.4, 1_000), 5_000).astype(np.int64)
CASES = {
    "skewed": (SKEWED, (0, 5_000)),
    "middle": (np.random.default_rng(5).integers(-20, 21, 400), (-20, 20)),
    "at an end": (np.full(50, 30), (-10, 30)),
    "few rows": (np.array([3, 4]), (0, 10)),
}


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
@pytest.mark.parametrize("case", CASES)
def test_intervals_hold_the_mean_as_often_as_they_say(case, law):
    values, bounds = CASES[case]
    found, least, most = drawn(values, bounds, law=law)
    truth = values.mean()
    is_within = (least <= truth + 1e-9) & (truth - 1e-9 <= most)
    assert is_within.sum() >= binom.ppf(ERROR, RUNS, 0.95)
    assert (bounds[0] <= least).all()
    assert (least <= found).all()
    assert (found <= most).all()
    assert (most <= bounds[1]).all()


def of_half_costs(values, bounds, *, runs):
    """The interval of before: rows and distances from the middle, each for half the cost."""
    low, high = bounds
    half = (high - low + 1) // 2
    noises = [noise_of(width=1, cost=0.5), noise_of(width=half, cost=0.5)]
    rows = noises[0].release(np.full(runs, len(values)))
    offsets = noises[1].release(np.full(runs, int((values - (low + high) // 2).sum())))
    off, shift = (noise.accuracy(0.975) for noise in noises)

    def end(total, sign):
        fewest, most = np.maximum(rows - off, 1e-9), np.maximum(rows + off, 1.0)
        ratio = total / np.where(sign * total > 0, fewest, most)
        return np.clip((low + high) // 2 + ratio, low, high)

    return end(offsets - shift, -1), end(offsets + shift, 1)


@pytest.mark.parametrize(("case", "part"), [("skewed", 0.5), ("middle", 0.6)])
def test_an_interval_is_half_as_wide_as_that_of_rows_and_sum_apart(case, part):
    values, bounds = CASES[case]
    _, least, most = drawn(values, bounds)
    before = of_half_costs(values, bounds, runs=RUNS)
    assert np.median(most - least) < part * np.median(before[1] - before[0])


def test_no_rows_at_all_give_a_mean_within_its_bounds():
    found, least, most = drawn(np.zeros(0, np.int64), (2, 7), runs=200)
    assert ((found >= 2) & (found <= 7)).all()
    assert (least <= most).all()
