"""The plan, and what it costs."""

from __future__ import annotations

import csv
import json
import math

import pytest

from dpsgd import AdaptiveClipping, Category, Number, Plan, PlanError, Schema, cost_of

RUN = {"dataset_size": 1000, "sampling_rate": 0.1, "steps": 100, "delta": 1e-4}


def test_a_plan_goes_through_json_whole():
    schema = Schema(
        columns=[
            Number(name="age", low=0, high=100, cuts=[18, 65]),
            Category(name="a", values="xy"),
        ],
        target=Category(name="y", values=[0, 1]),
    )
    plan = Plan(
        **RUN,
        noise_multiplier=1.5,
        adaptive=AdaptiveClipping(),
        schema=schema,
        unit="person",
        adjacency="replace",
        sampling="fixed",
        seed=3,
        epsilon=4,
        augmentations=2,
    )
    again = Plan.from_json(plan.to_json())
    assert again == plan
    assert again.id == plan.id
    endless = Plan(**RUN, noise_multiplier=0, clipping_norm=math.inf)
    assert Plan.from_json(endless.to_json()) == endless


@pytest.mark.parametrize(
    "text", ["", "[]", "3", "{}", '{"format": 1}', '{"format": 2}', '{"format": 1, "no": 1}']
)
def test_a_text_that_is_no_plan_is_refused(text):
    with pytest.raises(PlanError):
        Plan.from_json(text)


@pytest.mark.slow
def test_an_edited_plan_that_costs_more_than_it_says_is_refused():
    plan = Plan.for_budget(1, delta=1e-4, dataset_size=1000, batch_size=100, steps=100)
    plan.check_budget()
    content = json.loads(plan.to_json())
    content["noise_multiplier"] /= 2
    with pytest.raises(PlanError, match="costs"):
        Plan.from_json(json.dumps(content)).check_budget()


@pytest.mark.parametrize(
    "change",
    [
        {"delta": 1e-3},
        {"delta": 0},
        {"sampling_rate": 1.1},
        {"sampling_rate": 0},
        {"steps": 0},
        {"steps": 1.5},
        {"steps": True},
        {"noise_multiplier": -1},
        {"noise_multiplier": math.nan},
        {"clipping_norm": 0},
        {"clipping_norm": math.nan},
        {"clipping_norm": math.inf},
        {"sampling": "sorted"},
        {"adjacency": "local"},
        {"sampling": "shuffled"},
        {"sampling": "fixed", "adjacency": "zero-out", "sampling_rate": 0.00015},
        {"adaptive": AdaptiveClipping(count_noise=0.4)},
        {"unit": " "},
        {"seed": -1},
        {"epsilon": 0},
    ],
)
def test_a_plan_that_contradicts_itself_is_refused(change):
    with pytest.raises(PlanError):
        Plan(**{**RUN, "noise_multiplier": 1, **change})


@pytest.mark.slow
def test_the_calibrated_noise_never_overshoots():
    for epsilon in (0.1, 1):
        for size, passes in ((75, 3), (1000, 7)):
            plan = Plan.for_budget(
                epsilon, delta=1e-4, dataset_size=size, batch_size=25, epochs=passes
            )
            assert plan.steps == passes * math.ceil(size / 25)
            assert 0.99 * epsilon < plan.cost().epsilon <= epsilon


@pytest.mark.slow
def test_small_budgets_do_not_ask_for_too_much_noise():
    plan = Plan.for_budget(0.01, delta=1e-5, dataset_size=10_000, batch_size=100, steps=1000)
    assert plan.noise_multiplier <= 78


@pytest.mark.slow
def test_costs_equal_the_reference(shared):
    with (shared / "reference" / "accounting.csv").open() as file:
        row = next(row for row in csv.DictReader(file) if row["id"] == "tfp_mnist_tut_15ep")
    run = {
        "sampling_rate": float(row["q"]),
        "noise_multiplier": float(row["sigma"]),
        "steps": int(row["steps"]),
        "delta": float(row["delta"]),
    }
    assert cost_of(**run).epsilon == pytest.approx(float(row["dpa_pld"]), rel=1e-3)
    twice = cost_of(**run, adjacency="replace").epsilon
    assert twice == pytest.approx(float(row["dpa_pld_replace_one"]), rel=1e-3)
    drawn = {"sampling": "fixed", "adjacency": "replace", "dataset_size": 60_000}
    fixed = cost_of(**run, **drawn).epsilon
    assert fixed == pytest.approx(float(row["dpa_rdp_wor_replace_one_sens2"]), rel=1e-3)
    run["sampling_rate"] = 1 / 234  # the reference counts 234 batches a pass, so 16 passes
    plain = cost_of(**run, sampling="shuffled", adjacency="zero-out").epsilon
    assert plain == pytest.approx(float(row["dpa_pld_no_amplification"]), rel=1e-3)


def test_shuffled_batches_are_charged_by_noise_alone():
    poisson = cost_of(**_run()).epsilon
    shuffled = cost_of(**_run(), sampling="shuffled", adjacency="zero-out").epsilon
    assert shuffled > 2 * poisson


def test_no_noise_or_no_clipping_protects_nobody():
    assert cost_of(**{**_run(), "noise_multiplier": 0}).epsilon == math.inf
    assert str(Plan(**RUN, noise_multiplier=0).cost()).startswith("no protection")


def _run():
    return {"sampling_rate": 0.01, "noise_multiplier": 1, "steps": 1000, "delta": 1e-5}
