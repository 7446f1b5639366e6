"""What an attacker can reach against Gaussian noise: two ways to the same figures."""

from __future__ import annotations

import math

import pytest
from scipy.stats import norm

from dp import PrivacyLoss, gaussian_delta
from dp.belief import true_positive_bound


@pytest.mark.slow
@pytest.mark.parametrize("sigma", [0.7, 1.0, 3.0])
def test_rates_and_advantage_are_those_of_the_best_test(sigma):
    """Neyman and Pearson: the best test between N(0, s²) and N(1, s²)."""
    loss = PrivacyLoss.gaussian(sigma)
    for rate in (1e-4, 1e-2, 0.3):
        best = norm.cdf(norm.ppf(rate) + 1 / sigma)
        assert loss.true_positive_rate(rate) == pytest.approx(best, rel=1e-4)
        assert loss.true_positive_rate(rate) >= best * (1 - 1e-9)
        epsilon = 1.0
        simple = true_positive_bound(rate, epsilon=epsilon, delta=loss.delta(epsilon))
        assert simple >= best * (1 - 1e-9)
    advantage = 2 * norm.cdf(0.5 / sigma) - 1
    assert loss.advantage == pytest.approx(advantage, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("steps", [1, 7, 100])
def test_gaussian_steps_compose_to_gaussian_noise(steps):
    loss = PrivacyLoss.gaussian(2) * steps
    for epsilon in (0.0, 0.5, 4.0):
        exact = gaussian_delta(epsilon, mu=math.sqrt(steps) / 2)
        assert loss.delta(epsilon) == pytest.approx(exact, rel=1e-3, abs=1e-12)
        assert loss.delta(epsilon) >= exact * (1 - 1e-9)
