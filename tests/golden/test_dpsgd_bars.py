"""The bars B1, B2, B3, B8, B9 and B11 that a survey of other libraries set.

B7 and B12 are in tests/unit/dpsgd/test_bad_input.py; B3 also in test_defects.py there.
Error of B9: an audit of one run is wrong once in twenty; of ten, two may be; seeds are fixed.
"""

from __future__ import annotations

import csv

import numpy as np
import pytest
import torch
from torch import nn

from dp import gaussian_scale
from dp.accounting.rdp import RenyiCurve
from dpsgd import Plan, PlanError, Schema, cost_of
from dpsgd.accounting.budget import compute_dp_sgd_privacy
from dpsgd.accounting.claims import claims
from dpsgd.audits import one_run_audit
from dpsgd.estimators import DPClassifier
from dpsgd.schema import Category, Number
from dpsgd.training.randomness import Randomness
from dpsgd.training.training import PrivateTraining

WHOLE = [2.0, 3.0, 8.0, 20.0, 33.0]
SLOW = 0.9  # seconds that the reference took


@pytest.fixture(scope="module")
def rows(shared):
    with (shared / "reference" / "accounting.csv").open(encoding="utf-8") as file:
        found = list(csv.DictReader(file))
    assert len(found) >= 20
    return found


def test_b1_whole_orders_equal_dp_accounting(rows):
    import dp_accounting
    from dp_accounting import rdp

    for row in rows:
        rate, sigma = float(row["q"]), float(row["sigma"])
        accountant = rdp.RdpAccountant(orders=WHOLE)
        event = dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(sigma))
        accountant.compose(event, 1)
        curve = RenyiCurve.subsampled_gaussian(
            sampling_rate=rate, noise_multiplier=sigma, orders=WHOLE
        )
        assert curve.losses == pytest.approx(accountant._rdp, rel=1e-9), row["id"]


@pytest.mark.slow
def test_b1_costs_of_runs_lie_at_the_reference_and_not_below_its_fine_figure(rows):
    chosen = [row for row in rows if float(row["dpa_pld_s"]) < SLOW]
    assert len(chosen) > 10
    for row in chosen:
        found = cost_of(
            sampling_rate=float(row["q"]),
            noise_multiplier=float(row["sigma"]),
            steps=int(row["steps"]),
            delta=float(row["delta"]),
        ).epsilon
        coarse, estimate = float(row["dpa_pld"]), float(row["ms_prv_est"])
        assert found <= coarse + 1e-3, row["id"]
        assert found == pytest.approx(coarse, rel=1e-3) or coarse < 0.01, row["id"]
        assert found >= float(row["dpa_pld_fine"] or 0) - 1e-4, row["id"]
        assert found >= estimate - 1e-3, row["id"]
        if row["q"] == "1.0":
            assert found == pytest.approx(coarse, rel=1e-6), row["id"]


@pytest.mark.parametrize(
    ("size", "batch", "noise", "epochs", "printed"),
    [(60_000, 240, 1.3, 15, 1.16), (60_000, 240, 1.1, 60, 2.91), (60_000, 240, 0.7, 45, 6.86),
     (60_000, 600, 4.0, 100, 1.26), (60_000, 256, 1.1, 60, 3.01)],
)  # fmt: skip
def test_b2_figures_of_the_moments_accountant_are_reproduced(
    size, batch, noise, epochs, printed
):
    found, _ = compute_dp_sgd_privacy(
        size, batch_size=batch, noise_multiplier=noise, epochs=epochs,
        alphas=[float(order) for order in range(2, 34)],
    )  # fmt: skip
    assert found == pytest.approx(printed, abs=0.006)


@pytest.mark.parametrize(
    ("size", "batch", "noise", "epochs", "printed"),
    [(10_000, 4, 0.8, 10, 1.4656), (60_000, 64, 1.0, 10, 1.0974), (60_000, 64, 1.0, 15, 1.17)],
)
def test_b2_figures_of_the_source_are_reproduced(size, batch, noise, epochs, printed):
    run = {"batch_size": batch, "noise_multiplier": noise, "epochs": epochs}
    found, _ = compute_dp_sgd_privacy(size, **run)
    assert found == pytest.approx(printed, abs=0.004)


def test_b3_the_noise_for_a_small_budget_is_near_the_least():
    run = {"dataset_size": 50_000, "batch_size": 500, "steps": 1000}
    plan = Plan.for_budget(0.01, delta=1e-5, **run)
    assert plan.noise_multiplier <= 78
    assert 0.999 * 0.01 < plan.cost().epsilon <= 0.01


@pytest.mark.slow
def test_b8_a_sampler_of_ones_own_has_no_amplified_epsilon():
    run = {"batch_size": 100, "noise_multiplier": 0.8, "epochs": 10}
    found = claims(10_000, sampling="shuffled", **run)
    promise = min(c.epsilon for c in found if c.worth == "promise")
    floor = next(c.epsilon for c in found if c.worth == "floor")
    poisson = claims(10_000, **run)
    assert min(c.epsilon for c in poisson if c.worth == "promise") < floor < promise
    with pytest.raises(PlanError):
        Plan(dataset_size=10_000, sampling_rate=0.01, steps=10, noise_multiplier=1,
             delta=1e-5, sampling="weighted")  # fmt: skip


CANARIES = 2000


class OwnRow(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(CANARIES, 1)

    def forward(self, rows):
        return 3 * self.table(rows)[:, 0]


def audited(seed):
    """Audit one training of epsilon 1, in which each canary takes part by a coin."""
    plan = Plan(
        dataset_size=CANARIES, sampling_rate=1.0, steps=1, delta=1e-5, seed=seed,
        noise_multiplier=gaussian_scale(1.0, delta=1e-5),
    )  # fmt: skip
    coins = np.random.default_rng(seed).random(CANARIES) < 0.5
    model = OwnRow()
    training = PrivateTraining(
        plan, model=model, optimizer=torch.optim.SGD(model.parameters(), lr=0.0)
    )
    training.run(torch.from_numpy(np.flatnonzero(coins)), criterion=lambda outputs: outputs)
    scores = model.table.weight.grad[:, 0].numpy()
    return one_run_audit(scores, is_in=coins, delta=1e-5, shares=[0.1])


@pytest.mark.slow
def test_b9_an_audit_of_one_run_keeps_below_the_claim_and_catches_noise_over_four(monkeypatch):
    assert sum(audited(seed).refutes(1) for seed in range(10)) <= 2
    sound = Randomness.noise
    monkeypatch.setattr(Randomness, "noise", lambda self, size: sound(self, size) / 4)
    assert sum(audited(seed).refutes(1) for seed in range(10)) >= 8


@pytest.mark.slow
def test_b11_equal_seeds_give_one_model_to_the_last_bit_and_others_do_not():
    schema = Schema(
        columns=[Number(name="age", low=0, high=100)],
        target=Category(name="grade", values=["a", "b"]),
    )
    table = {"age": list(range(100)), "grade": ["a", "b"] * 50}

    def trained(seed):
        plan = Plan(dataset_size=100, sampling_rate=0.2, steps=5, noise_multiplier=1,
                    delta=1e-3, schema=schema, seed=seed)  # fmt: skip
        model = DPClassifier(plan, hidden=(4,)).fit(table)
        held = [p.detach().numpy().tobytes() for p in model.network_.parameters()]
        return held, plan.id, str(model.cost())

    assert trained(1) == trained(1)
    assert trained(1)[0] != trained(2)[0]
    assert trained(None)[0] != trained(None)[0]
