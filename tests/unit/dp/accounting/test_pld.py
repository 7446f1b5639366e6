"""Distributions of the loss: what adds up, and what is refused."""

from __future__ import annotations

import math

import pytest

from dp import Adjacency, DPError, PrivacyLoss
from dp.accounting.gaussian import gaussian_epsilon
from dp.accounting.pld import fixed_batches_epsilon
from dp.accounting.rdp import RenyiCurve


@pytest.mark.slow
def test_sums_and_repetitions_agree():
    one = PrivacyLoss.gaussian(2, sampling_rate=0.1)
    assert (one * 3).epsilon(1e-5) == pytest.approx((one + one + one).epsilon(1e-5), rel=1e-3)
    assert (one + one).epsilon(1e-5) > one.epsilon(1e-5)
    both = one * 5 + PrivacyLoss.gaussian(3) * 2
    assert both.epsilon(1e-5) > (one * 5).epsilon(1e-5)


@pytest.mark.slow
def test_it_is_never_above_renyi_accounting():
    for rate, sigma, steps in [(0.05, 1.0, 100), (1.0, 5.0, 10)]:
        loss = PrivacyLoss.gaussian(sigma, sampling_rate=rate) * steps
        curve = RenyiCurve.subsampled_gaussian(sampling_rate=rate, noise_multiplier=sigma)
        assert loss.epsilon(1e-6) <= (curve * steps).epsilon(1e-6).epsilon


@pytest.mark.slow
def test_replacing_costs_more_than_adding():
    costs = {
        adjacency: (
            PrivacyLoss.gaussian(2, sampling_rate=0.1, adjacency=adjacency) * 10
        ).epsilon(1e-6)
        for adjacency in (Adjacency.ADD_REMOVE, Adjacency.ZERO_OUT, Adjacency.REPLACE)
    }
    assert costs[Adjacency.ADD_REMOVE] == pytest.approx(costs[Adjacency.ZERO_OUT])
    assert costs[Adjacency.REPLACE] > 1.5 * costs[Adjacency.ADD_REMOVE]


def test_nothing_done_costs_nothing():
    assert (PrivacyLoss.gaussian(1) * 0).epsilon(1e-9) == 0
    assert PrivacyLoss.gaussian(1, sampling_rate=0).epsilon(1e-9) == 0
    assert PrivacyLoss.gaussian(1, sampling_rate=0).true_positive_rate(0.3) == pytest.approx(
        0.3, abs=1e-6
    )


def test_laplace_noise_has_a_pure_epsilon():
    assert PrivacyLoss.laplace(4).epsilon(1e-15) <= 0.25 + 1e-4


@pytest.mark.slow
def test_rates_at_the_ends():
    loss = PrivacyLoss.gaussian(1)
    assert loss.true_positive_rate(1) == 1
    assert 0 <= loss.true_positive_rate(0) < 1e-4


@pytest.mark.parametrize(
    "call",
    [
        lambda: PrivacyLoss.gaussian(0),
        lambda: PrivacyLoss.gaussian(math.nan),
        lambda: PrivacyLoss.gaussian(1, sampling_rate=2),
        lambda: PrivacyLoss.gaussian(1, adjacency="local"),
        lambda: PrivacyLoss.gaussian(1, grid=0),
        lambda: PrivacyLoss.gaussian(1).epsilon(0),
        lambda: PrivacyLoss.gaussian(1).delta(-1),
        lambda: PrivacyLoss.gaussian(1) * -1,
        lambda: PrivacyLoss.gaussian(1) + PrivacyLoss.gaussian(1, unit="person"),
    ],
)
def test_what_makes_no_sense_is_refused(call):
    with pytest.raises(DPError):
        call()


def test_batches_of_a_fixed_size_cost_between_one_record_moved_and_none_hidden():
    run = {"noise_multiplier": 4.0, "steps": 100}
    drawn = fixed_batches_epsilon(1e-5, dataset_size=1000, batch_size=10, **run)
    assert round(drawn, 2) == 0.43
    whole = fixed_batches_epsilon(1e-5, dataset_size=1000, batch_size=1000, **run)
    assert whole > gaussian_epsilon(1e-5, mu=2 * math.sqrt(100) / 4) > drawn
    with pytest.raises(DPError, match="cannot be drawn"):
        fixed_batches_epsilon(1e-5, dataset_size=10, batch_size=11, **run)
