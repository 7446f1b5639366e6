"""Records as numbers: where a usual value is declared, records that have it are all zero."""

from __future__ import annotations

import numpy as np
import pytest

from dpsgd import Category, Number, Plan, PlanError, Schema
from dpsgd.cuts import FoundCuts
from dpsgd.encoding import features, widths

GOAL = Category(name="rich", values=["no", "yes"])
HOURS = Number(name="hours", low=0, high=100, cuts=[35, 41], reference=40)
CIVIL = Category(name="civil", values=["single", "married", 3], reference="married")


def encoded(*columns, **table):
    schema = Schema(columns=columns, target=GOAL)
    rows = features(table, schema=schema)
    assert sum(widths(schema)) == rows.shape[1] - 1
    return rows * np.sqrt(len(columns) + 1)


def test_a_record_of_usual_values_has_nothing_but_the_one():
    rows = encoded(HOURS, CIVIL, hours=[40, 50, 20, None], civil=["married", "single", 3, None])
    assert rows.round(5).tolist() == [
        [0, 0, 0, 0, 0, 1],
        [np.float32(0.2).round(5), 0, 1, 1, 0, 1],
        [np.float32(-0.4).round(5), -1, 0, 0, 1, 1],
        [0, 0, 0, 0, 0, 1],  # what is absent without being declared counts as usual
    ]


def test_absence_keeps_its_feature_beside_a_reference():
    column = Category(name="civil", values="ab", reference="a", may_be_missing=True)
    rows = encoded(column, civil=["a", "b", None])[:, :2]
    assert rows.round(5).tolist() == [[0, 0], [1, 0], [0, 1]]


def test_cuts_are_looked_for_where_numbers_lie_from_the_reference():
    import torch

    def cuts(reference):
        pay = Number(name="pay", low=0, high=90, reference=reference)
        schema = Schema(columns=[pay, CIVIL], target=GOAL)
        rows = {"pay": [0, 10, 10, 20, 70, 90] * 50, "civil": ["single"] * 300}
        x, layer = torch.from_numpy(features(rows, schema=schema)), FoundCuts(schema)
        layer.find(x, schema=schema, scale=0.0, noise=np.zeros)
        return layer(x)[:, x.shape[1] :]

    assert cuts(None).any()
    assert torch.equal(cuts(None), cuts(0))
    assert torch.equal(cuts(None), cuts(10))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Number(name="hours", low=0, high=100, reference=101),
        lambda: Number(name="hours", low=0, high=100, reference="40"),
        lambda: Number(name="hours", low=0, high=100, reference=float("nan")),
        lambda: Category(name="civil", values="ab", reference="c"),
        lambda: Schema(columns=[CIVIL], target=Category(name="a", values="ab", reference="a")),
    ],
)
def test_a_reference_is_one_of_the_values_that_are_declared(wrong):
    with pytest.raises(PlanError, match="reference"):
        wrong()


def test_a_plan_keeps_its_references_and_one_without_them_has_the_text_it_always_had():
    run = {"dataset_size": 100, "sampling_rate": 0.1, "steps": 10, "delta": 1e-3}
    schema = Schema(columns=[HOURS, CIVIL], target=GOAL)
    plan = Plan(**run, noise_multiplier=2, schema=schema)
    assert Plan.from_json(plan.to_json()) == plan
    plain = Schema(columns=[Number(name="hours", low=0, high=100, cuts=[])], target=GOAL)
    assert "reference" not in Plan(**run, noise_multiplier=2, schema=plain).to_json()


def test_a_linear_model_of_a_table_has_one_intercept():
    """A bias beside the number that is always 1 would lengthen every gradient."""
    from dpsgd.estimators import DPClassifier

    schema = Schema(columns=[HOURS], target=GOAL)
    plan = Plan.for_noise(
        1.0, delta=1e-3, dataset_size=90, batch_size=90, steps=9, schema=schema, seed=1
    )
    hours = np.arange(90)
    table = {"hours": hours, "rich": np.where(hours > 40, "yes", "no")}
    linear = DPClassifier(plan).fit(table).network_[-1]
    assert not linear.bias.any()
    assert linear.weight[:, -1].any()
    assert DPClassifier(plan, hidden=[2]).fit(table).network_[-1].bias.any()
