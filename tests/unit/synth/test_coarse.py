"""Shares within a group: equal where noise explains all, falling in a tail, free else."""

import numpy as np
import pytest

from synth.marginals.coarse import shrink_within

TRUE = np.array([40.0, 25, 14, 8, 4, 2, 1, 0, 0, 0])
ONE_GROUP = np.zeros(10, np.int64)


def mean_place(shares):
    return float(shares @ np.arange(len(shares)))


def test_the_tail_of_an_amount_falls_instead_of_staying_level():
    rng = np.random.default_rng(1)
    gaps = {True: [], False: []}
    for _ in range(200):
        noisy = TRUE + rng.normal(0, 15, 10)
        for is_ordered, found in gaps.items():
            shares = shrink_within(noisy, ONE_GROUP, scale=15, is_ordered=is_ordered)
            found.append(abs(mean_place(shares) - mean_place(TRUE / TRUE.sum())))
    assert np.mean(gaps[True]) < 0.7 * np.mean(gaps[False])


@pytest.mark.parametrize("is_ordered", [False, True])
def test_a_peak_that_noise_does_not_explain_stays(is_ordered):
    counts = np.array([0.0, 0, 900, 0, 0])
    shares = shrink_within(counts, np.zeros(5, np.int64), scale=10, is_ordered=is_ordered)
    assert shares[2] > 0.95


def test_shares_of_each_group_sum_to_one():
    rng = np.random.default_rng(2)
    groups = np.repeat([0, 1, 2], [4, 1, 5])
    shares = shrink_within(rng.normal(0, 9, 10), groups, scale=9, is_ordered=True)
    assert np.bincount(groups, weights=shares) == pytest.approx(np.ones(3))
    assert (shares >= 0).all()
