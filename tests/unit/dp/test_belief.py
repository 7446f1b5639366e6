"""Meaning: bounds that some mechanism reaches, and none passes."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import norm

from dp import (
    Adjacency,
    DPError,
    Gaussian,
    Geometric,
    Guarantee,
    RandomisedResponse,
    bounded_sum,
    count,
    epsilon_for_belief,
    meaning,
)
from dp.belief import (
    advantage_bound,
    belief_bounds,
    belief_table,
    distance_bound,
    premium_bound,
    tail_bound,
    true_positive_bound,
)
from tests.unit.dp.support import exact_delta


@pytest.mark.parametrize("prior", [0.01, 0.3, 0.5, 0.99])
def test_two_coins_reach_the_bounds_of_belief(prior):
    yes, no = RandomisedResponse.two_coins().transition[[1, 0]][:, 1]
    after_yes = prior * yes / (prior * yes + (1 - prior) * no)
    after_no = prior * (1 - yes) / (prior * (1 - yes) + (1 - prior) * (1 - no))
    bounds = belief_bounds(prior, epsilon=math.log(3), adjacency=Adjacency.LOCAL)
    assert bounds == pytest.approx((after_no, after_yes))


@pytest.mark.parametrize("about", ["value", "membership"])
@pytest.mark.parametrize("adjacency", ["add-remove", "replace", "zero-out"])
@pytest.mark.parametrize(("prior", "most"), [(0.01, 0.02), (0.1, 0.25), (0.5, 0.999)])
def test_the_epsilon_of_a_belief_is_the_one_that_just_keeps_it(about, adjacency, prior, most):
    epsilon = epsilon_for_belief(prior, most=most, about=about, adjacency=adjacency)
    after = belief_bounds(prior, epsilon=epsilon, about=about, adjacency=adjacency)[1]
    assert after == pytest.approx(most, rel=1e-12)


@pytest.mark.parametrize(("prior", "most"), [(0, 0.1), (0.2, 0.2), (0.3, 0.2), (0.5, 1)])
def test_a_belief_that_does_not_rise_or_is_certain_has_no_epsilon(prior, most):
    with pytest.raises(DPError, match="rises from above 0 to below 1"):
        epsilon_for_belief(prior, most=most)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.5])
@pytest.mark.parametrize("prior", [0.01, 0.5, 0.9])
def test_a_value_can_be_believed_beyond_the_bound_of_membership(epsilon, prior):
    """A sum of values from -1 to 1 with noise: the record is absent, -1 or 1."""
    noise = Geometric.calibrated(bounded_sum(-1, 1), epsilon=epsilon)
    results = np.arange(-60, 61)
    law = {s: np.exp(-np.abs(results - s) / noise.scale) for s in (-1, 0, 1)}

    def after(one, other):
        return (prior * law[one] / (prior * law[one] + (1 - prior) * law[other])).max()

    member = belief_bounds(prior, epsilon=epsilon, about="membership")[1]
    value = belief_bounds(prior, epsilon=epsilon, about="value")[1]
    assert after(1, 0) == pytest.approx(member)
    assert after(1, -1) == pytest.approx(value)
    assert value > member
    if (epsilon, prior) == (1.0, 0.5):
        assert after(1, -1) == pytest.approx(0.8808, abs=5e-5)
        assert member == pytest.approx(0.7311, abs=5e-5)
    # Mixed statements, "present and 1" against "absent or -1", stay within the wider bound.
    mixed = (law[0] + law[-1]) / 2
    belief = prior * law[1] / (prior * law[1] + (1 - prior) * mixed)
    assert member < belief.max() <= value


def test_statements_about_a_value_are_the_default_and_the_wider():
    assert belief_bounds(0.5, epsilon=1) == belief_bounds(0.5, epsilon=2, about="membership")
    same = belief_bounds(0.5, epsilon=1, adjacency=Adjacency.REPLACE)
    assert same == belief_bounds(0.5, epsilon=1, about="membership")
    assert belief_table(priors=[0.5], epsilons=[1])[0, 0] == belief_bounds(0.5, epsilon=1)[1]
    with pytest.raises(DPError, match="statement"):
        belief_bounds(0.5, epsilon=1, about="nonsense")
    with pytest.raises(DPError, match="member"):
        belief_bounds(0.5, epsilon=1, about="membership", adjacency=Adjacency.LOCAL)


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0.1, 1e-5), (1.0, 1e-5), (1.0, 1e-9), (4, 1e-6)]
)
def test_the_loss_of_gaussian_noise_passes_epsilon_far_more_often_than_delta(epsilon, delta):
    noise = Gaussian.calibrated(count(), epsilon=epsilon, delta=delta)
    mu = 1 / noise.scale  # the loss is normal with mean mu**2 / 2 and deviation mu

    def passes(loss):
        return norm.sf(loss / mu - mu / 2) + norm.cdf(-loss / mu - mu / 2)

    assert passes(epsilon) > 5 * delta
    assert tail_bound(epsilon, epsilon=epsilon, delta=delta) == 1
    for more in (0.01, 0.1, math.log(2), 2.0):
        assert passes(epsilon + more) <= tail_bound(
            epsilon + more, epsilon=epsilon, delta=delta
        )
    found = meaning(Guarantee(epsilon=epsilon, delta=delta, adjacency="add-remove"))
    assert passes(math.log(found.membership.factor)) <= found.membership.chance < 3 * delta
    # A value from -1 to 1: two units of l2 apart.
    mu *= 2
    assert passes(math.log(found.value.factor)) <= found.value.chance


@pytest.mark.parametrize("seed", range(60))
def test_odds_pass_their_factor_no_more_often_than_said(seed):
    """Any matrix of chances for absent and two values; epsilon any, delta exact."""
    rng = np.random.default_rng(seed)
    low, absent, high = matrix = rng.dirichlet(np.full(6, 0.5), size=3)
    epsilon = rng.uniform(0.1, 2)
    delta = exact_delta(matrix, epsilon=epsilon, neighbours=[(0, 1), (1, 2)])
    found = meaning(Guarantee(epsilon=epsilon, delta=delta, adjacency="add-remove"))

    def passes(one, other, factor):
        with np.errstate(divide="ignore"):
            return one[np.abs(np.log(one / other)) > math.log(factor) + 1e-12].sum()

    for value in (low, high):
        for pair in ((value, absent), (absent, value)):
            assert passes(*pair, found.membership.factor) <= found.membership.chance + 1e-12
    for pair in ((low, high), (high, low), (low, (absent + high) / 2)):
        assert passes(*pair, found.value.factor) <= found.value.chance + 1e-12
    # The mean of any number from 0 that follows from the answer.
    if delta == 0:
        scores = rng.random(6)
        assert high @ scores <= premium_bound(float(absent @ scores), epsilon=epsilon)


def test_the_chance_is_that_of_the_belief_and_not_of_one_rare_value():
    """A result that ends a belief in membership: rare for the mixture, not for one value."""
    epsilon, delta, rare = 1.0, 1e-5, 1e-9
    absent, usual, unusual = delta, 0.0, (1 + math.exp(epsilon)) * delta
    for here, there in itertools.permutations((absent, usual)):
        assert here <= math.exp(epsilon) * there + delta
    assert unusual <= math.exp(epsilon) * absent + delta + 1e-18
    member = rare * unusual + (1 - rare) * usual
    stated = meaning(Guarantee(epsilon=epsilon, delta=delta, adjacency="add-remove")).membership
    assert member * stated.factor < absent  # the odds fall by more than the factor
    assert max(member, absent) <= stated.chance < unusual


def test_the_tail_bound_is_reached():
    """A set of results that has the given loss, and all of delta: no larger one is likelier."""
    delta, epsilon, loss = 1e-3, 1.0, 1.5
    # The likelier set has loss exactly `loss`: P = chance, P' = chance * exp(-loss).
    chance = delta / (1 - math.exp(epsilon - loss))
    one = np.array([chance, 1 - chance])
    other = np.array([chance * math.exp(-loss), 1 - chance * math.exp(-loss)])
    assert exact_delta([one, other], epsilon=epsilon, neighbours=[(0, 1)]) == pytest.approx(
        delta
    )
    near = tail_bound(loss - 1e-9, epsilon=epsilon, delta=delta)
    assert chance <= near <= chance * (1 + math.exp(-loss)) * (1 + 1e-6)
    assert tail_bound(1.0, epsilon=1.0, delta=0) == 0
    assert tail_bound(0.5, epsilon=1.0, delta=0) == 1


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
    assert found.value.factor == found.membership.factor == pytest.approx(2 * math.e)
    wide = belief_bounds(0.5, epsilon=1 + math.log(2), about="membership")
    assert found.value.beliefs[1][1:] == pytest.approx(wide)
    pure = meaning(Guarantee(epsilon=1, adjacency=Adjacency.ADD_REMOVE))
    assert pure.membership.factor == pytest.approx(math.e)
    assert pure.value.factor == pytest.approx(math.e**2)
    assert pure.value.chance == pure.membership.chance == 0
    assert meaning(Guarantee(epsilon=1, adjacency=Adjacency.LOCAL)).membership is None
    assert found.advantage == pytest.approx(math.tanh(0.5), abs=2e-5)
    with pytest.raises(DPError, match="epsilon"):
        meaning(Guarantee(rho=1, adjacency=Adjacency.REPLACE))


@pytest.mark.parametrize("prior", [-0.1, 1.1, math.nan, "a"])
def test_a_prior_is_a_probability(prior):
    with pytest.raises(DPError, match="prior"):
        belief_bounds(prior, epsilon=1)


def test_factors_beyond_floats_are_without_bound():
    from ckm.cli.dp.meaning import explained

    facts = meaning(Guarantee(epsilon=1e6, adjacency="add-remove"))
    assert facts.value.factor == facts.membership.factor == float("inf")
    for language in ("en", "fr"):
        lines = explained(facts, adjacency="add-remove", unit="person", language=language)
        assert "\N{INFINITY}" in lines[0]
