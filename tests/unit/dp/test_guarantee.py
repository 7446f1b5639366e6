"""Guarantees: what is refused, and what follows from what."""

from __future__ import annotations

import math

import pytest

from dp import Adjacency, DPError, Guarantee, epsilon_of_rho, rho_of_epsilon

ADD = Adjacency.ADD_REMOVE


@pytest.mark.parametrize(
    "bad",
    [
        {"epsilon": -0.1},
        {"epsilon": math.nan},
        {"epsilon": "1"},
        {"epsilon": True},
        {"epsilon": 1, "delta": 1.0},
        {"epsilon": 1, "delta": 1.5},
        {"epsilon": 1, "delta": -1e-9},
        {"epsilon": 1, "delta": math.nan},
        {"rho": -1},
        {"rho": math.nan},
        {"epsilon": 1, "adjacency": "neighbours"},
        {"epsilon": 1, "unit": "  "},
    ],
)
def test_what_is_no_guarantee_is_refused(bad):
    with pytest.raises(DPError):
        Guarantee(**{"adjacency": ADD} | bad)


def test_adjacency_has_no_default():
    with pytest.raises(TypeError, match="adjacency"):
        Guarantee(epsilon=1)


def test_a_pure_epsilon_is_concentrated_by_half_its_square():
    assert Guarantee(epsilon=0.4, adjacency=ADD).concentrated == pytest.approx(0.08)
    assert Guarantee(epsilon=0.4, delta=1e-9, adjacency=ADD).concentrated == math.inf


def test_at_a_delta_the_better_of_both_statements_counts():
    both = Guarantee(epsilon=0.1, rho=0.5, adjacency=ADD)
    assert both.at(1e-6).epsilon == 0.1
    assert both.at(1e-6).delta == 0
    small = Guarantee(epsilon=10, rho=0.01, adjacency=ADD)
    assert small.at(1e-6).epsilon < 1
    assert small.at(1e-6).delta == 1e-6


def test_no_epsilon_is_made_up():
    with pytest.raises(DPError, match="delta"):
        Guarantee(epsilon=1, delta=1e-5, adjacency=ADD).at(1e-6)
    with pytest.raises(DPError):
        Guarantee(adjacency=ADD).at(1e-6)


def test_a_group_pays_for_each_of_its_members():
    one = Guarantee(epsilon=0.5, delta=1e-6, rho=0.1, adjacency=ADD, unit="person")
    four = one.for_group(4)
    assert four.epsilon == 2.0
    assert four.rho == pytest.approx(1.6)
    assert four.delta == pytest.approx(1e-6 * sum(math.exp(0.5 * k) for k in range(4)))
    assert one.for_group(1) == one
    assert not Guarantee(epsilon=500, delta=0.1, adjacency=ADD).for_group(5).is_private


def test_the_classic_conversion_of_rho_is_the_formula_and_the_tight_one_below():
    for rho in (1e-4, 0.1, 5.0):
        for delta in (1e-3, 1e-9):
            classic = epsilon_of_rho(rho, delta=delta, conversion="classic")
            assert classic == pytest.approx(rho + 2 * math.sqrt(rho * math.log(1 / delta)))
            assert 0 <= epsilon_of_rho(rho, delta=delta) < classic


def test_rho_of_an_epsilon_never_costs_more_than_the_epsilon():
    for epsilon in (1e-3, 0.1, 1, 10):
        for delta in (1e-12, 1e-5, 0.1):
            rho = rho_of_epsilon(epsilon, delta=delta)
            assert epsilon_of_rho(rho, delta=delta) <= epsilon
            assert epsilon_of_rho(rho * 1.001, delta=delta) > epsilon


def test_gaussian_noise_never_costs_more_than_its_rho_says():
    from dp import gaussian_epsilon

    for mu in (0.01, 0.3, 2.0):
        exact = gaussian_epsilon(1e-6, mu=mu)
        assert exact <= epsilon_of_rho(mu**2 / 2, delta=1e-6)
