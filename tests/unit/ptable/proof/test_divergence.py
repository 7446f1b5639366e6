"""Divergences of neighbouring laws: their definitions, tried set by set and key by key."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from ptable import PTable, PTableError
from ptable.proof.divergence import (
    blocked_counts,
    hockey_stick,
    laws_of,
    neighbours,
    outcomes,
    require_delta,
    require_epsilon,
    smallest_epsilon,
)


def drawn_pairs(seed, *, n_outcomes=5, total=40):
    """Draw two laws over a few outcomes, some of which only one of them has."""
    rng = np.random.default_rng(seed)
    laws = [rng.multinomial(total, rng.dirichlet(np.full(n_outcomes, 0.5))) for _ in range(2)]
    return [(int(p), int(q)) for p, q in zip(*laws, strict=True)]


def of_sets(pairs, ratio):
    """Give the greatest ``P(A) - ratio * Q(A)`` over all sets of outcomes."""
    total = sum(p for p, _ in pairs)
    sets = itertools.product([False, True], repeat=len(pairs))
    return max(
        sum((p - ratio * q for (p, q), used in zip(pairs, some, strict=True) if used), 0)
        / total
        for some in sets
    )


def test_outcomes_are_paired_by_what_is_published():
    assert outcomes({2: 5, -1: 3}, {0: 7, 2: 1}) == [(3, 0), (0, 7), (5, 1)]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 2.5])
def test_the_divergence_is_the_greatest_over_all_sets_of_outcomes(seed, epsilon):
    pairs = drawn_pairs(seed)
    exact = of_sets(pairs, math.exp(epsilon))
    assert hockey_stick(pairs, epsilon=epsilon) == pytest.approx(exact, rel=1e-13, abs=1e-15)


def test_beyond_all_ratios_what_one_law_alone_has_is_left():
    pairs = [(3, 0), (5, 8)]
    for epsilon in (44.0, 63.0, 64.0, 65.0, 1e6, math.inf):
        assert hockey_stick(pairs, epsilon=epsilon) == 0.375
    most = 2**64 - 1
    assert hockey_stick([(most, 1), (1, most)], epsilon=64 * math.log(2) - 1e-9) > 0
    assert hockey_stick([(most, 1), (1, most)], epsilon=64 * math.log(2) + 1e-9) == 0


def test_divergences_are_rounded_upwards_and_by_no_more_than_a_float():
    assert hockey_stick([(3, 2), (0, 1)], epsilon=0.0) == math.nextafter(1 / 3, 1)
    assert hockey_stick([(3, 1), (5, 7)], epsilon=0.0) == 0.25
    for seed in range(40):
        pairs = drawn_pairs(seed, total=49)
        exact = of_sets(pairs, Fraction(1))
        delta = hockey_stick(pairs, epsilon=0.0)
        assert Fraction(delta) >= exact
        assert exact == delta or Fraction(math.nextafter(delta, 0)) < exact


def test_the_epsilon_of_two_known_laws_is_a_logarithm():
    pairs = [(6, 3), (2, 5)]
    assert smallest_epsilon(pairs, delta=0.0) == math.nextafter(math.log(2), 1)
    # (6 - 3t) / 8 = 1/4 at t = 4/3, and nothing else exceeds t there.
    assert smallest_epsilon(pairs, delta=0.25) == pytest.approx(math.log(4 / 3), rel=1e-15)
    assert smallest_epsilon(pairs, delta=0.375) == 0
    assert smallest_epsilon([(3, 0), (5, 8)], delta=0.375) == 0
    assert smallest_epsilon([(3, 0), (5, 8)], delta=0.3749) == math.inf


def test_the_epsilon_of_the_longest_ratio_is_exact():
    total = 2**64
    pairs = [(total - 1, 1), (1, total - 1)]
    assert smallest_epsilon(pairs, delta=0.0) == pytest.approx(64 * math.log(2), rel=1e-15)


@pytest.mark.parametrize("delta", [0.0, 0.01, 0.125, 0.3, 0.7])
def test_no_smaller_epsilon_has_the_delta(delta):
    for seed in range(30):
        pairs = drawn_pairs(seed)
        epsilon = smallest_epsilon(pairs, delta=delta)
        if epsilon == math.inf:
            assert hockey_stick(pairs, epsilon=math.inf) > delta
            continue
        assert hockey_stick(pairs, epsilon=epsilon) <= delta
        assert epsilon == 0 or hockey_stick(pairs, epsilon=epsilon * (1 - 1e-12)) > delta


@pytest.mark.parametrize("key_range", [64, 16, 37, 256])
def test_laws_count_the_keys_that_a_lookup_gives_each_noise(key_range):
    table = PTable(
        noise=[[0], [1, -1, 0, 1], [2, 0, -2, -2]],
        upper=[[64], [5, 20, 33, 64], [1, 2, 40, 64]],
        key_range=64,
    )
    keys = np.arange(key_range)
    laws = laws_of(table, key_range=key_range)
    for count, law in enumerate(laws):
        noise = table.lookup(np.full(key_range, count), keys, key_range=key_range)
        values, numbers = np.unique(noise, return_counts=True)
        assert law == dict(zip(values.tolist(), numbers.tolist(), strict=True))


@pytest.mark.parametrize(("large_counts", "follower"), [("last", 2), ("cycle:3", 0)])
def test_every_count_stands_beside_the_next_one_both_ways(large_counts, follower):
    laws = [{0: 4}, {-1: 1, 0: 3}, {-1: 2, 1: 2}]
    both = list(neighbours(laws, large_counts=large_counts))
    assert len(both) == 3
    followers = [laws[1], laws[2], laws[follower]]
    for count, (there, back) in enumerate(both):
        published = {count + v for v in laws[count]} | {count + 1 + v for v in followers[count]}
        assert there == [
            (laws[count].get(j - count, 0), followers[count].get(j - count - 1, 0))
            for j in sorted(published)
        ]
        assert back == [(q, p) for p, q in there]


@pytest.mark.parametrize(
    "table",
    [
        PTable.from_units([{0: 2}, {-1: 2}, {1: 2}], key_range=2, large_counts="cycle:3"),
        PTable.from_units([{0: 3}, {-1: 2, 2: 1}, {-2: 1, 1: 2}, {0: 3}], key_range=3),
        PTable.from_units([{0: 4}, {-1: 2, 3: 2}, {2: 4}], key_range=4),
        PTable.from_units([{5: 2}, {4: 1, 5: 1}], key_range=2, large_counts="cycle:2"),
        PTable.from_units([{0: 2}, {-1: 2}, {-2: 1, -1: 1}], key_range=2),
    ],
)
@pytest.mark.parametrize("up_to", [0, 1, 9])
def test_blocked_counts_are_those_that_no_count_is_published_as(table, up_to):
    counts = np.repeat(np.arange(60), table.key_range)
    keys = np.tile(np.arange(table.key_range), 60)
    published = set((counts + table.lookup(counts, keys, key_range=table.key_range)).tolist())
    blocked = blocked_counts(
        laws_of(table, key_range=table.key_range),
        large_counts=table.large_counts,
        up_to=up_to,
    )
    assert blocked == tuple(count for count in range(up_to + 1) if count not in published)


def test_an_epsilon_is_any_number_from_0_on_and_a_delta_any_below_1():
    assert [require_epsilon(x) for x in (0, 0.5, math.inf)] == [0.0, 0.5, math.inf]
    assert [require_delta(x) for x in (0, 0.25, 1 - 1e-9)] == [0.0, 0.25, 1 - 1e-9]
    with pytest.raises(PTableError, match="epsilon must be a number of at least 0, not -1e-09"):
        hockey_stick([(1, 1)], epsilon=-1e-9)
    for delta in (-1e-9, 1.0):
        with pytest.raises(PTableError, match="delta must be a number from 0 to below 1"):
            smallest_epsilon([(1, 1)], delta=delta)
