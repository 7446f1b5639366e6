"""Meaning: bounds that some mechanism reaches, and none passes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dp import (
    Adjacency,
    DPError,
    Guarantee,
    RandomisedResponse,
    advantage_bound,
    belief_bounds,
    distance_bound,
    meaning,
    premium_bound,
    true_positive_bound,
)


@pytest.mark.parametrize("prior", [0.01, 0.3, 0.5, 0.99])
def test_two_coins_reach_the_bounds_of_belief(prior):
    yes, no = RandomisedResponse.two_coins().transition[[1, 0]][:, 1]
    after_yes = prior * yes / (prior * yes + (1 - prior) * no)
    after_no = prior * (1 - yes) / (prior * (1 - yes) + (1 - prior) * (1 - no))
    assert belief_bounds(prior, epsilon=math.log(3)) == pytest.approx((after_no, after_yes))


def test_who_is_certain_stays_so_and_no_loss_teaches_nothing():
    assert belief_bounds(0, epsilon=5) == (0, 0)
    assert belief_bounds(1, epsilon=5) == (1, 1)
    assert belief_bounds(0.3, epsilon=0) == pytest.approx((0.3, 0.3))
    assert belief_bounds(0.5, epsilon=1e6)[1] == 1


@pytest.mark.parametrize("delta", [0.0, 1e-3, 0.2])
def test_the_best_attack_on_the_worst_mechanism_reaches_the_rates(delta):
    """With chance delta all is told, else randomised response: no mechanism leaks more."""
    epsilon = 1.2
    high = math.exp(epsilon) / (1 + math.exp(epsilon))
    member = np.array([delta, (1 - delta) * high, (1 - delta) * (1 - high), 0])
    other = np.array([0, (1 - delta) * (1 - high), (1 - delta) * high, delta])
    right, wrong = np.cumsum(member), np.cumsum(other)
    for rate in np.linspace(0, 1, 41):
        best = np.interp(rate, np.append(0, wrong), np.append(0, right))
        if rate == 0:
            best = delta
        bound = true_positive_bound(rate, epsilon=epsilon, delta=delta)
        assert bound == pytest.approx(min(1, best), abs=1e-9)
    assert advantage_bound(epsilon, delta=delta) == pytest.approx((right - wrong).max())


def test_rates_and_advantage_agree():
    for epsilon in (0.0, 0.1, 2.0):
        rates = np.linspace(0, 1, 100_001)
        gaps = [true_positive_bound(r, epsilon=epsilon, delta=0.01) - r for r in rates[::50]]
        assert max(gaps) <= advantage_bound(epsilon, delta=0.01) + 1e-12
        assert max(gaps) == pytest.approx(advantage_bound(epsilon, delta=0.01), abs=1e-3)


def test_large_losses_do_not_overflow():
    assert true_positive_bound(0.5, epsilon=5000) == 1
    assert advantage_bound(5000, delta=0.5) == 1
    assert distance_bound(5000) == 1
    assert premium_bound(1, epsilon=5000) > 1e300


def test_meaning_gathers_the_facts():
    found = meaning(Guarantee(epsilon=1, delta=1e-5, adjacency=Adjacency.REPLACE))
    assert found.odds_factor == pytest.approx(math.e)
    assert found.beliefs[1][1:] == pytest.approx(belief_bounds(0.5, epsilon=1))
    assert found.advantage == pytest.approx(math.tanh(0.5), abs=2e-5)
    with pytest.raises(DPError, match="epsilon"):
        meaning(Guarantee(rho=1, adjacency=Adjacency.REPLACE))


@pytest.mark.parametrize("prior", [-0.1, 1.1, math.nan, "a"])
def test_a_prior_is_a_probability(prior):
    with pytest.raises(DPError, match="prior"):
        belief_bounds(prior, epsilon=1)


def test_factors_beyond_floats_are_without_bound():
    from ckm.dp_words import explained

    facts = meaning(Guarantee(epsilon=1e6, adjacency="add-remove"))
    assert facts.odds_factor == float("inf")
    for language in ("en", "fr"):
        lines = explained(facts, adjacency="add-remove", unit="person", language=language)
        assert "\N{INFINITY}" in lines[0]
