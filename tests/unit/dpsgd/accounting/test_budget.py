"""Costs before training: the calculator, the samplers, the series, and published figures."""

from __future__ import annotations

import csv
import math

import numpy as np
import pytest

from dp import Adjacency
from dp.accounting.rdp import WIDE_ORDERS, RenyiCurve
from dp.accounting.training import steps_of
from dp.errors import DPError
from dpsgd.accounting.budget import (
    apply_dp_sgd_analysis,
    compute_dp_sgd_privacy,
    epochs_for_budget,
)
from dpsgd.accounting.claims import Claim, claims
from dpsgd.accounting.cost import Sampling, cost_of
from dpsgd.accounting.published import PublishedRun, strong_composition
from dpsgd.accounting.sensitivity import Choices, study
from dpsgd.accounting.shuffling import shuffled_lower_bound

# batch, noise, passes, epsilon as printed; the noise of the fourth and fifth row is corrected
TABLE_1 = [
    (64, 1.0, 150, 8.3), (64, 1.0, 143, 8.1), (64, 1.0, 125, 7.5), (64, 1.1, 120, 6.2),
    (64, 1.1, 105, 5.8), (32, 0.9, 97, 5.4), (64, 1.2, 105, 5.0), (64, 1.2, 102, 4.9),
    (32, 0.9, 95, 5.3), (32, 0.9, 77, 4.8), (64, 1.2, 95, 4.7), (32, 0.9, 60, 4.2),
    (64, 1.2, 69, 4.0),
]  # fmt: skip
BASE = Choices(dataset_size=10_000, batch_size=4, noise_multiplier=0.8)


@pytest.fixture(scope="module")
def rows(shared):
    with (shared / "reference" / "accounting.csv").open(encoding="utf-8") as file:
        found = [row for row in csv.DictReader(file) if row["shuffle_eps_lower_bound"]]
    assert len(found) >= 15
    return found


@pytest.fixture(scope="module")
def studied():
    return study(BASE, batches=[16], noises=[1.0])


@pytest.mark.slow
@pytest.mark.parametrize(("batch", "noise", "epochs", "printed"), TABLE_1)
def test_the_epsilons_of_table_1_are_reproduced(batch, noise, epochs, printed):
    epsilon, _ = compute_dp_sgd_privacy(
        6552, batch_size=batch, noise_multiplier=noise, epochs=epochs, delta=1e-4
    )
    assert epsilon == pytest.approx(printed, abs=0.05)


@pytest.mark.parametrize(("epochs", "printed"), [(120, 6.2), (105, 5.8)])
def test_two_rows_of_table_1_do_not_hold_with_the_noise_printed(epochs, printed):
    epsilon, _ = compute_dp_sgd_privacy(
        6552, batch_size=64, noise_multiplier=1.0, epochs=epochs, delta=1e-4
    )
    assert epsilon > printed + 0.9


def test_the_calculator_tells_what_its_first_version_told():
    lines = []
    epsilon, order = compute_dp_sgd_privacy(
        60_000, batch_size=64, noise_multiplier=1.0, epochs=15, report_progress=lines.append
    )
    assert (round(epsilon, 10), order) == (1.1663206747, 13)
    assert "0.107 %" in lines[0]
    assert "14,070 steps" in lines[0]
    assert "epsilon 1.17 at delta 1e-05, order 13" in lines[1]
    same, _ = apply_dp_sgd_analysis(64 / 60_000, noise_multiplier=1.0, steps=14_070)
    assert same == epsilon


def test_each_pass_is_rounded_up_and_not_their_sum():
    assert steps_of(60_000, batch_size=64, epochs=15) == 14_070
    assert math.ceil(15 * 60_000 / 64) == 14_063


@pytest.mark.slow
def test_the_passes_of_a_budget_keep_it_and_one_more_does_not():
    run = {"batch_size": 100, "noise_multiplier": 1.2}
    found = epochs_for_budget(2.0, delta=1e-5, dataset_size=10_000, **run, conversion="classic")
    cost = [compute_dp_sgd_privacy(10_000, **run, epochs=epochs)[0] for epochs in (1, 200)]
    assert cost[0] < cost[1]
    short = epochs_for_budget(0.1, delta=1e-9, dataset_size=100, batch_size=50,
                              noise_multiplier=0.5)  # fmt: skip
    assert short == 0
    assert found > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "value", "epsilon"),
    [
        ("dataset_size", 500, 3.8944), ("dataset_size", 500_000, 0.8877),
        ("batch_size", 1, 1.1847), ("batch_size", 64, None), ("batch_size", 250, 6.8731),
        ("noise_multiplier", 0.6, 3.1143), ("noise_multiplier", 2.6, 0.2059),
        ("epochs", 1, 1.3426), ("epochs", 100, 2.1597),
        ("delta", 1e-7, 2.0102), ("delta", 1e-3, 0.9167),
    ],
)  # fmt: skip
def test_the_series_hold_the_reference_values(studied, name, value, epsilon):
    found = next(s for s in studied.series if s.name == name)
    points = {point.value: point for point in found.points}
    if value in points and epsilon is not None:
        assert points[value].epsilon == pytest.approx(epsilon, abs=5e-5)
    epsilons = [point.epsilon for point in found.points]
    falls = name in {"dataset_size", "noise_multiplier", "delta"}
    assert epsilons == sorted(epsilons, reverse=falls)
    if name == "noise_multiplier":
        assert points[2.6].is_at_edge
        assert points[2.6].order == 63


@pytest.mark.slow
def test_the_least_of_the_curve_over_orders_is_the_cost(studied):
    found = studied
    orders = found.series[0].points
    assert min(point.epsilon for point in orders) == found.epsilon
    assert found.epsilon == pytest.approx(1.46561338, abs=1e-8)


def test_strong_composition_gives_the_figures_of_its_time(shared):
    assert strong_composition(4, sampling_rate=0.01, steps=40_000, delta=1e-5) == pytest.approx(
        24.22, abs=0.03
    )


def test_shuffled_batches_cannot_promise_less_than_the_reference_bound(rows):
    for row in rows[::3]:
        found = shuffled_lower_bound(
            float(row["sigma"]),
            steps_per_epoch=int(row["shuffle_steps_per_epoch"]),
            epochs=int(row["shuffle_epochs"]),
            delta=float(row["delta"]),
        )
        # The reference looks in one direction of neighbours, this bound in both.
        assert found >= float(row["shuffle_eps_lower_bound"]) * 0.995, row["id"]
        assert found <= float(row["dpa_pld_no_amplification"]) * (1 + 1e-6), row["id"]


def test_shuffled_batches_are_not_given_the_account_of_poisson_batches():
    found = claims(
        60_000, batch_size=240, noise_multiplier=1.3, epochs=15, sampling=Sampling.SHUFFLED
    )
    usual = next(claim for claim in found if claim.worth == "customary")
    floor = next(claim for claim in found if claim.worth == "floor")
    promise = next(claim for claim in found if claim.worth == "promise")
    assert usual.epsilon < floor.epsilon < promise.epsilon
    with pytest.raises(DPError, match="no guarantee"):
        usual.guarantee()
    assert promise.guarantee(unit="person").adjacency == Adjacency.ZERO_OUT


def test_a_replaced_record_costs_more_than_an_added_one():
    found = claims(1000, batch_size=100, noise_multiplier=2.0, epochs=2, delta=1e-4)
    by = {(c.adjacency, c.account): c.epsilon for c in found if c.worth == "promise"}
    losses = {a: e for (a, account), e in by.items() if "renyi" not in account}
    assert losses[Adjacency.REPLACE] > 1.5 * losses[Adjacency.ADD_REMOVE]
    assert losses[Adjacency.ZERO_OUT] == pytest.approx(losses[Adjacency.ADD_REMOVE], rel=1e-3)
    assert min(by.values()) == losses[Adjacency.ADD_REMOVE]


@pytest.mark.parametrize("bad", [0, -1, 1.5, True, "64", math.nan, 10_001])
def test_a_batch_that_cannot_be_is_refused(bad):
    with pytest.raises(DPError):
        steps_of(10_000, batch_size=bad, epochs=1)
    with pytest.raises(DPError):
        claims(10_000, batch_size=bad, noise_multiplier=1.0, epochs=1)


def test_an_unknown_sampler_is_refused_by_name():
    with pytest.raises(DPError, match="poisson, fixed, shuffled"):
        claims(100, batch_size=10, noise_multiplier=1.0, epochs=1, sampling="weighted")


def test_without_noise_every_claim_is_infinite():
    for sampling in Sampling:
        found = claims(100, batch_size=10, noise_multiplier=0, epochs=1, sampling=sampling)
        assert found
        assert all(claim.epsilon == math.inf for claim in found)


def test_a_claim_names_sampler_neighbours_and_worth():
    claim = Claim(
        epsilon=1, delta=1e-5, sampling="fixed", adjacency="replace", account="x", worth="floor"
    )
    assert all(word in str(claim) for word in ("fixed", "replace", "x", "floor"))


@pytest.mark.parametrize("rate", [1.0, 0.1])
@pytest.mark.parametrize(
    ("adjacency", "other"), [("add-remove", 0), ("zero-out", 0), ("replace", -1)]
)
def test_the_epsilon_of_a_step_is_that_of_an_integral_for_all_neighbours(
    adjacency, other, rate
):
    """A record moves the sum by 1 or not at all; the one that replaces it, by -1."""
    cost = cost_of(
        delta=1e-5, sampling_rate=rate, noise_multiplier=2.0, steps=1, adjacency=adjacency
    )
    grid = np.linspace(-40, 40, 400_001)
    bell, laws = np.exp(-(grid**2) / 8), []
    for centre in (1, other):
        law = rate * np.exp(-((grid - centre) ** 2) / 8) + (1 - rate) * bell
        laws.append(law / law.sum())

    def delta(epsilon):
        pairs = (laws, laws[::-1])
        return max(np.maximum(0, p - math.exp(epsilon) * q).sum() for p, q in pairs)

    assert delta(cost.epsilon) <= 1e-5 * (1 + 1e-6)
    assert delta(0.99 * cost.epsilon) > 1e-5


def test_the_passes_of_a_budget_are_the_last_that_it_allows():
    run = {"delta": 1e-5, "dataset_size": 60_000, "batch_size": 64, "noise_multiplier": 1.0}
    passes = epochs_for_budget(1, **run)
    steps = 60_000 // 64 + (60_000 % 64 > 0)
    step = RenyiCurve.subsampled_gaussian(
        sampling_rate=64 / 60_000, noise_multiplier=1.0, orders=WIDE_ORDERS
    )
    spent = [(step * (steps * n)).epsilon(1e-5, conversion="tight").epsilon for n in (24, 25)]
    assert passes == 24
    assert spent[0] <= 1 < spent[1]
    assert epochs_for_budget(1e-3, **run) == 0
    with pytest.raises(DPError, match="never ends"):
        epochs_for_budget(1, **{**run, "noise_multiplier": 1e9})


def test_a_published_run_costs_what_was_printed():
    run = PublishedRun(
        batch_size=64, noise_multiplier=1, epochs=150, clipping_norm=10, learning_rate=8e-4,
        printed=8.3, accuracy=0.57,
    )  # fmt: skip
    assert round(run.epsilon(), 1) == 8.3


def test_each_series_moves_one_choice_and_meets_the_run_itself():
    found = study(Choices(dataset_size=400, batch_size=4, noise_multiplier=2.0), batches=[4, 8])
    assert {s.name for s in found.series} == {
        "order", "dataset_size", "batch_size", "noise_multiplier", "epochs", "delta",
    }  # fmt: skip
    for series in found.series:
        epsilons = [point.epsilon for point in series.points]
        if series.name == "order":
            assert min(epsilons) == pytest.approx(found.epsilon)
            continue
        assert found.epsilon in epsilons
        rises = series.name in {"batch_size", "epochs"}
        assert epsilons == sorted(epsilons, reverse=not rises)
    assert found.surface[1][0] > found.surface[0][0] > found.surface[0][-1]
