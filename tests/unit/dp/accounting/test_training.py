"""Costs of training: steps, warnings, and noise for a budget."""

from __future__ import annotations

import math

import pytest

from dp import DPError, DPWarning, training_cost

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


def test_no_noise_costs_everything():
    assert run(noise_multiplier=0).epsilon == math.inf


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
