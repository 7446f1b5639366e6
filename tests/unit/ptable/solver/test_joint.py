"""The linear program of limits: its unknowns, its lines, the row that serves larger counts."""

import math

import numpy as np
import pytest

from ptable import Limits, NoiseSpec
from ptable.solver.joint import Joint, Linear, limits_of

PRIOR = tuple(0.0 if i == 0 else 1 / (i * (i + 1)) for i in range(60))


def joint(**options):
    limits = Limits(**{"priors": (PRIOR,), "variance_floor": 0.5, **options})
    return Joint.of(
        NoiseSpec(max_noise=2, variance=2.0, limits=limits, objective="least-variance")
    )


def line(stated, name):
    (found,) = (one for one in stated.lines() if one.name == name)
    return found


def sums(stated, one, values):
    return np.bincount(one.row, weights=one.weight * values[one.place], minlength=len(one.goal))


def test_there_is_a_row_for_every_origin_of_what_a_sensitive_count_is_published_as():
    stated = joint()
    assert stated.limits.sensitive == (1, 2)
    assert stated.counts.tolist() == [1, 2, 3, 4, 5, 6]  # 2 + 2 * 2
    assert stated.origins[4] == [2, 3, 4, 5, 6]
    assert stated.last == 6


def test_the_count_after_the_last_has_the_last_row_shifted():
    stated = joint()
    assert stated.at(7, 9) == stated.at(6, 8) == stated.place[6, 8]
    assert stated.at(7, 4) is None
    assert (6, 7) in stated.pairs
    assert (7, 6) in stated.pairs


def test_posteriors_are_linear_in_the_probabilities():
    stated = joint(posterior=0.8, posterior_set=0.9)
    rng = np.random.default_rng(1)
    values = rng.random(stated.size)
    for name, limit, some in (
        ("posterior", 0.8, (1,)),
        ("posterior of the set", 0.9, (1, 2)),
    ):
        one = line(stated, name)
        first = sums(stated, one, values)[0]  # of published 0
        shown = {k: PRIOR[k] * values[stated.place[k, 0]] for k in stated.origins[0]}
        inside = sum(shown[k] for k in some)
        scale = max(stated.share(0, k) for k in some) / stated.share(0, 1) * PRIOR[1]
        assert first == pytest.approx((inside - limit * sum(shown.values())) / scale)


def test_zeros_count_in_a_posterior_by_name_alone():
    prior = (1.0, *PRIOR[1:])
    with_zeros = joint(zeros_in_prior=True, priors=(prior,))
    one = line(with_zeros, "posterior")
    assert one.goal[0] == pytest.approx(0.75 * 1.0 / PRIOR[1])  # a true zero is published as 0
    assert not line(joint(priors=(prior,)), "posterior").goal.any()


def test_neighbours_are_held_by_auxiliaries():
    stated = joint(neighbours=(1.0, 0.1))
    one = line(stated, "excess over a neighbour")
    values = np.zeros(stated.size)
    values[stated.place[1, 0]], values[stated.place[2, 0]] = 0.5, 0.1
    first = sums(stated, one, values)[0]
    assert first == pytest.approx(0.5 - math.e * 0.1)
    assert (line(stated, "neighbours").goal == 0.1).all()
    assert not joint(neighbours=None).extras


def test_margins_tighten_what_they_are_for():
    stated, plain = joint(), joint()
    tight = Joint(spec=stated.spec, limits=stated.limits, rows=stated.rows, margin=1e-3)
    for name in ("variance ceiling", "variance floor", "neighbours", "stay"):
        assert (line(tight, name).goal < line(plain, name).goal).all()
    assert line(tight, "posterior").weight.sum() > line(plain, "posterior").weight.sum()


def test_a_row_counts_by_its_cells_and_the_last_by_all_larger_ones():
    weights = joint().weights
    assert sum(weights[i] for i in range(1, 7)) == pytest.approx(1)
    assert weights[6] == pytest.approx(sum(PRIOR[6:]) / sum(PRIOR))


def test_a_row_keeps_to_the_variance_that_it_can_have():
    limits = Limits(priors=(PRIOR,))
    stated = Joint.of(NoiseSpec(max_noise=4, variance=1.0, small=2, limits=limits))
    low, high = stated.variance_limits(stated.rows[0])  # noise of -1, 2, 3, 4
    assert float(high) == pytest.approx(2, rel=2e-3)
    assert low == 1


def test_a_specification_without_limits_has_none():
    spec = NoiseSpec(max_noise=2, variance=1.0)
    assert limits_of(spec) is None
    assert [one.name for one in Joint.of(spec).lines()] == ["distribution", "mean", "variance"]
    assert Linear.of("nothing", "", "=", []) is None
