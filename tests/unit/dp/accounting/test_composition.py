"""Composition: what adds up, and what does not."""

from __future__ import annotations

import math

import pytest

from dp import (
    Adjacency,
    DPError,
    Guarantee,
    advanced,
    basic,
    concentrated,
    exact_epsilon,
    parallel,
)

ADD, REPLACE = Adjacency.ADD_REMOVE, Adjacency.REPLACE


def pure(epsilon, adjacency=ADD):
    return Guarantee(epsilon=epsilon, adjacency=adjacency)


def test_basic_composition_adds():
    found = basic([pure(0.5), Guarantee(epsilon=1, delta=1e-6, adjacency=ADD)])
    assert (found.epsilon, found.delta) == (1.5, 1e-6)


def test_the_two_query_example_costs_one():
    from dp import Laplace, count, mean

    first = Laplace.calibrated(count(), epsilon=0.5)
    second = Laplace.calibrated(mean(20, 100, at_least=9), epsilon=0.5)
    assert (first.scale, second.scale) == (2, 16)
    assert basic([first.guarantee, second.guarantee]).epsilon == 1


def test_two_answers_cost_exactly_the_sum():
    import numpy as np

    coins = np.array([[0.75, 0.25], [0.25, 0.75]])
    twice = np.kron(coins, coins)[[0, 3]]
    both = basic([pure(math.log(3), Adjacency.LOCAL)] * 2)
    assert exact_epsilon(twice).epsilon == pytest.approx(both.epsilon)


def test_losses_of_other_neighbours_or_units_do_not_add():
    with pytest.raises(DPError, match="adjacency"):
        basic([pure(1), pure(1, REPLACE)])
    person = Guarantee(epsilon=1, adjacency=ADD, unit="person")
    with pytest.raises(DPError, match="unit"):
        basic([pure(1), person])
    with pytest.raises(DPError):
        basic([])


def test_deltas_that_add_up_to_one_promise_nothing():
    with pytest.raises(DPError, match="delta"):
        basic([Guarantee(epsilon=1, delta=0.5, adjacency=ADD)] * 2)


def test_rhos_add_up_beside_epsilons():
    gauss = Guarantee(rho=0.1, adjacency=ADD)
    found = basic([gauss, pure(0.2)])
    assert found.rho == pytest.approx(0.12)
    assert found.epsilon == math.inf
    assert concentrated([gauss, pure(0.2)]).rho == pytest.approx(0.12)


def test_an_epsilon_with_a_delta_has_no_concentrated_loss():
    with pytest.raises(DPError, match="rho"):
        concentrated([Guarantee(epsilon=1, delta=1e-9, adjacency=ADD)])


def test_parallel_composition_takes_the_largest():
    parts = [pure(0.5), pure(1), pure(0.75)]
    assert parallel(parts).epsilon == 1


def test_a_replaced_record_costs_twice_the_largest_part_as_it_may_stay_there():
    assert parallel([pure(1)], adjacency=REPLACE).epsilon == 2
    assert parallel([pure(0.5), pure(1), pure(0.75)], adjacency=REPLACE).epsilon == 2
    gauss = parallel([Guarantee(rho=0.1, adjacency=ADD)], adjacency=REPLACE)
    assert gauss.rho == pytest.approx(0.4)


@pytest.mark.parametrize("adjacency", [REPLACE, Adjacency.ZERO_OUT])
def test_a_changed_record_may_leave_its_part(adjacency):
    """Exact sizes of parts cost nothing under replacement, but tell who moved."""
    with pytest.raises(DPError, match="part"):
        parallel([pure(0.5, adjacency)] * 2)
    assert parallel([pure(0.5, adjacency)] * 2, is_fixed=True).epsilon == 0.5


@pytest.mark.parametrize("adjacency", [Adjacency.LOCAL, Adjacency.DISTANCE])
def test_one_respondent_has_no_parts(adjacency):
    with pytest.raises(DPError):
        parallel([pure(1, adjacency)] * 2)


def test_advanced_composition_beats_the_sum_for_many_small_ones_only():
    assert advanced(pure(0.01), times=10_000, slack=1e-6).epsilon < 100
    assert advanced(pure(1), times=3, slack=1e-6).epsilon > 3


@pytest.mark.parametrize("slack", [0, 1, -1, math.nan])
def test_advanced_composition_needs_a_slack(slack):
    with pytest.raises(DPError, match="delta"):
        advanced(pure(1), times=2, slack=slack)


def test_advanced_composition_of_huge_losses_does_not_overflow():
    assert advanced(pure(900), times=2, slack=1e-6).epsilon > 1800
