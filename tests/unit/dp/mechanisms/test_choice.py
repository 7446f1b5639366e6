"""Choosing: the law of the exponential mechanism, and its promise."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from dp import Adjacency, DPError, Exponential
from tests.unit.dp.support import fits

#: What OpenDP draws is tested as it is drawn; each test fails by itself in one run of 10**7.
pytestmark = pytest.mark.system_randomness

ADD = Adjacency.ADD_REMOVE
MANY = 8000


def pick(**changes):
    return Exponential(**{"epsilon": 2.0, "sensitivity": 1.0, "adjacency": ADD} | changes)


@pytest.mark.slow
def test_nationalities_are_chosen_as_in_the_course():
    chances = pick().probabilities([6, 5, 3, 2])
    assert chances.round(2).tolist() == [0.70, 0.26, 0.03, 0.01]
    drawn = Counter(pick().choose([6, 5, 3, 2]) for _ in range(MANY))
    assert fits([drawn[i] for i in range(4)], MANY * chances)


def permute_and_flip(scores, rate):
    """Return the exact law, by all orders of candidates."""
    import itertools

    chances = np.exp(rate * (np.array(scores) - max(scores)))
    law = np.zeros(len(scores))
    orders = list(itertools.permutations(range(len(scores))))
    for order in orders:
        left = 1.0
        for candidate in order:
            law[candidate] += left * chances[candidate] / len(orders)
            left *= 1 - chances[candidate]
    return law


@pytest.mark.slow
def test_permute_and_flip_has_its_law_and_is_nearer_the_best():
    flip = pick(kind="permute-and-flip")
    law = permute_and_flip([6, 5, 3, 2], 1.0)
    assert law.sum() == pytest.approx(1)
    drawn = Counter(flip.choose([6, 5, 3, 2]) for _ in range(MANY))
    assert fits([drawn[i] for i in range(4)], MANY * law)
    assert law[0] > pick().probabilities([6, 5, 3, 2])[0]


def test_no_neighbours_differ_by_more_than_epsilon():
    generator = np.random.default_rng(3)
    worst = 0.0
    for _ in range(300):
        scores = generator.integers(0, 6, 5)
        moved = scores + generator.choice([-1, 0, 1], 5)
        ratio = np.log(pick().probabilities(scores) / pick().probabilities(moved))
        worst = max(worst, float(np.abs(ratio).max()))
    assert 1.5 < worst <= 2 + 1e-9


def test_counts_need_half_the_noise():
    counting = pick(is_monotonic=True)
    assert counting.scale == pytest.approx(0.5)
    generator = np.random.default_rng(4)
    for _ in range(300):
        scores = generator.integers(0, 6, 5)
        more = scores + generator.choice([0, 1], 5)
        ratio = np.log(counting.probabilities(scores) / counting.probabilities(more))
        assert np.abs(ratio).max() <= 2 + 1e-9
    with pytest.raises(DPError, match="monotonic"):
        pick(is_monotonic=True, adjacency=Adjacency.REPLACE)


def test_its_concentrated_loss_holds_at_every_order():
    from dp.accounting.rdp import renyi_divergence

    choice = pick()
    p, q = choice.probabilities([1, 0, 0]), choice.probabilities([0, 1, 1])
    for order in (1.01, 2, 8, 64):
        assert renyi_divergence(p, q, order=order) <= choice.guarantee.rho * order


def test_a_price_is_chosen_where_noise_would_ruin_it():
    """Offers 1, 1, 1 and 3.01: revenue at 3.01 is 3.01, a cent above it is nothing."""
    offers = np.array([1, 1, 1, 3.01])
    prices = np.array([1.0, 3.01, 3.02])
    revenue = np.array([price * (offers >= price).sum() for price in prices])
    assert revenue.tolist() == [4.0, 3.01, 0.0]
    choice = Exponential(epsilon=4, sensitivity=1, adjacency=ADD)
    assert choice.probabilities(revenue)[2] < 0.01


def test_the_choice_is_as_near_as_it_says():
    choice = pick(epsilon=0.5)
    scores = np.arange(20.0)
    for confidence in (0.5, 0.95):
        reach = choice.accuracy(confidence, candidates=20)
        near = choice.probabilities(scores)[scores >= scores.max() - reach].sum()
        assert near >= confidence


def test_scores_of_any_size_do_not_overflow():
    assert pick().choose([1e300, -1e300]) == 0
    assert pick().probabilities([1e6, 0]).tolist() == [1.0, 0.0]


@pytest.mark.parametrize("scores", [[], [math.nan], [1, math.inf], [[1, 2]], 3])
def test_what_is_no_list_of_scores_is_refused(scores):
    with pytest.raises(DPError):
        pick().choose(scores)


@pytest.mark.parametrize(
    "bad", [{"epsilon": 0}, {"epsilon": math.nan}, {"sensitivity": 0}, {"kind": "best"}]
)
def test_what_is_no_choice_is_refused(bad):
    with pytest.raises(DPError):
        pick(**bad)
