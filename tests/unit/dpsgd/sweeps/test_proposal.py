"""Settings proposed from the budget, on records that nobody has to pay for."""

import math

import numpy as np
import pytest

from dpsgd import Category, Number, Plan, PlanError, Schema
from dpsgd.sweeps.proposal import (
    TrialRecords,
    better_rate,
    made_up_records,
    propose,
    trial_records,
    with_settings,
)

SCHEMA = Schema(
    columns=[
        *(Number(name=f"n{place}", low=0, high=9, cuts=(3, 6)) for place in range(6)),
        Category(name="code", values=[*"abcdef"]),
    ],
    target=Category(name="kind", values=["x", "y"]),
)


def plan(epsilon, size=1500, schema=None):
    return Plan.for_budget(
        epsilon,
        delta=1e-4,
        dataset_size=size,
        batch_size=size,  # quick to account for
        steps=40,
        schema=schema,
    )


def test_more_budget_is_offered_longer_steps_and_does_better():
    records = made_up_records(inputs=40, classes=4, length=10.0)
    found = [propose(plan(epsilon), records=records) for epsilon in (0.5, 8.0)]
    little, much = (one.best for one in found)
    assert much.accuracy > little.accuracy + 0.03
    assert (
        much.learning_rate * much.plan.clipping_norm
        > little.learning_rate * little.plan.clipping_norm
    )
    for one in found:
        assert one.best.accuracy >= one.planned.accuracy
        assert one.best.plan.cost().epsilon <= one.best.plan.epsilon
    # The settings of the smaller budget under the larger one: the gain would be left behind.
    kept = propose(
        Plan.for_budget(
            8.0, delta=1e-4, dataset_size=1500, batch_size=1500, steps=little.plan.steps,
            clipping_norm=little.plan.clipping_norm,
        ),
        records=records,
        learning_rate=little.learning_rate,
        average=little.average,
    )  # fmt: skip
    assert kept.best.accuracy > kept.planned.accuracy


def test_made_up_records_follow_from_the_schema_and_the_seed_alone():
    one, again = (made_up_records(schema=SCHEMA, seed=3) for _ in range(2))
    assert np.array_equal(one.x, again.x)
    assert np.array_equal(one.y, again.y)
    assert one.x.shape == (3000, 6 * 3 + 6 + 1)
    assert one.inputs == one.x.shape[1]
    assert set(one.y.tolist()) == {0, 1}
    wide = made_up_records(inputs=5184, classes=10)
    assert wide.x.shape[1] < wide.inputs == 5184 + 1


def test_a_rate_that_is_far_off_is_told_and_a_good_one_is_not():
    records = made_up_records(schema=SCHEMA)
    planned = plan(0.2, schema=SCHEMA)
    better = better_rate(planned, records=records, learning_rate=64.0)
    assert better is not None
    assert better.learning_rate < 20
    good = propose(planned, records=records).best
    assert better_rate(good.plan, records=records, learning_rate=good.learning_rate) is None
    plain = Plan.for_noise(
        0.0, delta=1e-4, dataset_size=50, batch_size=50, steps=2, clipping_norm=math.inf
    )
    assert better_rate(plain, records=records, learning_rate=1.0) is None
    with pytest.raises(PlanError, match="no noise"):
        propose(plain, records=records)


def test_public_records_take_the_place_of_made_up_ones():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(600, 5)).astype(np.float32)
    y = (x[:, 0] > 0).astype(int)
    records = trial_records(x, y, classes=2)
    assert isinstance(records, TrialRecords)
    assert len(records.x) == 400
    found = propose(plan(4.0), records=records)
    assert found.best.accuracy > 0.9
    assert found.epsilon_of_trials > 4.0
    assert "[network]" in [*with_settings(found.best)]
