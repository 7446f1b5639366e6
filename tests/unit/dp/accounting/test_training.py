"""Costs of training: steps, warnings, and noise for a budget."""

from __future__ import annotations

import math

import pytest

from dp import DPError, DPWarning, noise_for_training, training_cost

RUN = {"batch_size": 50, "noise_multiplier": 1.0, "epochs": 2, "delta": 1e-5}


def run(size=1000, **changes):
    return training_cost(size, **(RUN | changes))


def test_a_part_of_a_batch_is_a_step():
    assert run().steps == 40
    with pytest.warns(DPWarning, match="divisor"):
        assert run(1001).steps == 42


def test_a_delta_that_allows_a_record_to_be_published_is_told():
    with pytest.warns(DPWarning, match="delta"):
        run(delta=1e-3)


def test_the_edge_of_the_orders_is_told():
    with pytest.warns(DPWarning, match="order"):
        run(noise_multiplier=20.0, delta=1e-6)
    assert not run(noise_multiplier=1.0).is_at_edge


def test_an_account_that_leans_on_nothing_is_silent():
    run()


def test_the_cost_is_a_guarantee_for_a_ledger():
    promise = run().guarantee
    assert promise.adjacency == "add-remove"
    assert promise.epsilon == run().epsilon
    assert promise.delta == 1e-5


def test_no_noise_costs_everything():
    assert run(noise_multiplier=0).epsilon == math.inf
    assert not run(noise_multiplier=0).guarantee.is_private


def test_the_tight_formula_is_never_above_the_classic_one():
    for noise in (0.5, 1.0, 5.0):
        classic, tight = (
            run(noise_multiplier=noise, conversion=kind, strict=False).epsilon
            for kind in ("classic", "tight")
        )
        assert tight < classic


@pytest.mark.parametrize(
    "bad",
    [
        {"batch_size": 1001},
        {"batch_size": 0},
        {"batch_size": 2.5},
        {"epochs": 0},
        {"epochs": True},
        {"delta": 0},
        {"delta": 1},
        {"noise_multiplier": -1},
        {"noise_multiplier": math.nan},
        {"orders": [1.0]},
        {"orders": [math.nan]},
        {"conversion": "loose"},
    ],
)
def test_what_is_no_run_is_refused(bad):
    with pytest.raises(DPError):
        run(**bad)


@pytest.mark.parametrize("epsilon", [0.2, 5.0])
def test_the_noise_for_a_budget_keeps_it_and_wastes_nothing(epsilon):
    orders = [1.25, 1.5, 2, 3, 5, 9, 17, 33, 65]
    found = noise_for_training(epsilon, delta=1e-5, sampling_rate=0.05, steps=40, orders=orders)

    def cost(noise):
        return run(
            noise_multiplier=noise, orders=orders, conversion="tight", strict=False
        ).epsilon

    assert cost(found) <= epsilon
    assert cost(found * 0.999) > epsilon


def test_a_budget_that_no_noise_keeps_is_refused():
    with pytest.raises(DPError, match="No noise"):
        noise_for_training(0.01, delta=1e-9, sampling_rate=0.1, steps=10, orders=[2.0, 3.0])
