"""Randomised response: designs, estimators, variances, and what repeating does."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dp import DPError, RandomisedResponse, exact_epsilon
from tests.unit.dp.support import fits

DESIGNS = [
    RandomisedResponse.forced(),
    RandomisedResponse.two_coins(),
    RandomisedResponse.warner(direct=0.7),
    RandomisedResponse.warner(direct=0.2),
    RandomisedResponse.k_ary(2, epsilon=1),
    RandomisedResponse.k_ary(5, epsilon=0.5),
    RandomisedResponse.k_ary(3, epsilon=60),
]


@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design.name)
def test_the_epsilon_is_that_of_the_matrix(design):
    found = exact_epsilon(design.transition).epsilon
    assert design.guarantee.epsilon == pytest.approx(found, rel=1e-12)


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1, 3, 20, 43, 800])
@pytest.mark.parametrize("answers", [2, 3, 17])
def test_k_ary_response_never_costs_more_than_asked(epsilon, answers):
    found = RandomisedResponse.k_ary(answers, epsilon=epsilon).guarantee.epsilon
    assert found <= epsilon
    if epsilon < 30:
        assert found == pytest.approx(epsilon, rel=1e-6)


def test_warners_epsilon_is_the_log_of_the_odds():
    found = RandomisedResponse.warner(direct=0.2).guarantee.epsilon
    assert found == pytest.approx(math.log(4))


def test_a_forced_yes_protects_nobody_who_says_no():
    forced = RandomisedResponse.forced()
    assert not forced.guarantee.is_private
    assert forced.answer([1] * 200).tolist() == [1] * 200


def test_the_estimators_are_those_of_the_books():
    answers = np.array([1] * 62 + [0] * 38)
    r = 0.62
    assert RandomisedResponse.forced().estimate(answers).shares[1] == pytest.approx(2 * r - 1)
    coins = RandomisedResponse.two_coins().estimate(answers)
    assert coins.shares[1] == pytest.approx(2 * r - 0.5)
    assert coins.standard_errors[1] == pytest.approx(2 * math.sqrt(r * (1 - r) / 100))
    warner = RandomisedResponse.warner(direct=0.7).estimate(answers)
    assert warner.shares[1] == pytest.approx((r - 0.3) / 0.4)


@pytest.mark.parametrize("design", DESIGNS[:6], ids=lambda design: design.name)
def test_the_estimator_is_unbiased_and_has_its_variance(design):
    generator = np.random.default_rng(11)
    size, repeats = 400, 300
    number = len(design.weights)
    truths = np.arange(size) % number
    shares = np.bincount(truths, minlength=number) / size
    found = np.array(
        [
            design.estimate(design.answer(truths, generator=generator)).shares
            for _ in range(repeats)
        ]
    )
    # The people are fixed, so the spread is below that of a sample of them.
    most = design.variance(shares, respondents=size)
    assert (np.abs(found.mean(axis=0) - shares) < 5 * np.sqrt(most / repeats)).all()
    assert (found.var(axis=0) < 1.5 * most).all()
    assert (found.var(axis=0) > 0.2 * most).all()


@pytest.mark.slow
def test_the_variance_is_that_of_people_drawn_too():
    generator = np.random.default_rng(12)
    design, size = RandomisedResponse.two_coins(), 300
    found = [
        design.estimate(
            design.answer((generator.random(size) < 0.3).astype(int), generator=generator)
        ).shares[1]
        for _ in range(2000)
    ]
    expected = design.variance([0.7, 0.3], respondents=size)[1]
    assert np.var(found) == pytest.approx(expected, rel=0.2)


@pytest.mark.parametrize("design", DESIGNS[1:6], ids=lambda design: design.name)
def test_answers_from_secure_randomness_follow_the_design(design):
    size = 20_000
    for truth, row in enumerate(design.transition):
        drawn = np.bincount(design.answer(np.full(size, truth)), minlength=len(row))
        assert fits(drawn, size * row)


def test_the_same_generator_gives_the_same_answers():
    design = RandomisedResponse.two_coins()
    first, second = (
        design.answer([0, 1] * 50, generator=np.random.default_rng(5)) for _ in range(2)
    )
    assert first.tolist() == second.tolist()


def test_repeated_answers_average_out():
    """One answer of a person hides; 400 on 400 days tell."""
    design = RandomisedResponse.two_coins()
    generator = np.random.default_rng(6)
    truths = np.array([0, 1] * 50)
    days = np.array([design.answer(truths, generator=generator) for _ in range(400)])
    assert ((days.mean(axis=0) > 0.5) == truths).all()
    assert 0.6 < (days[0] == truths).mean() < 0.9


@pytest.mark.parametrize("answers", [[2], [-1], [0.5], ["yes"], [[0, 1]]])
def test_what_is_no_answer_is_refused(answers):
    with pytest.raises(DPError):
        RandomisedResponse.two_coins().answer(answers)


def test_nobody_answers():
    assert RandomisedResponse.two_coins().answer([]).shape == (0,)
    with pytest.raises(DPError, match="No answer"):
        RandomisedResponse.two_coins().estimate([])


def test_a_fair_coin_between_opposites_says_nothing():
    design = RandomisedResponse.warner(direct=0.5)
    assert design.guarantee.epsilon == 0
    with pytest.raises(DPError, match="nothing"):
        design.estimate([0, 1])


@pytest.mark.parametrize("chance", [-0.1, 1.1, math.nan])
def test_a_chance_lies_between_zero_and_one(chance):
    with pytest.raises(DPError):
        RandomisedResponse.warner(direct=chance)
