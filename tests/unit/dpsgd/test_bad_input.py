"""Data and runs that go wrong: refused by name or borne, and never counted short."""

from __future__ import annotations

import math
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
import torch
from torch import nn

from dpsgd import (
    Category,
    DPSGDError,
    Number,
    Plan,
    PlanError,
    Schema,
    TrainingDataError,
    UnsupportedLayerError,
)
from dpsgd.estimators import DPClassifier, DPRegressor
from dpsgd.files.checkpoint import resume, save
from dpsgd.training.loop import privatise
from dpsgd.training.training import PrivateTraining

EACH = nn.CrossEntropyLoss(reduction="none")
RUN = {
    "dataset_size": 100,
    "sampling_rate": 0.2,
    "steps": 10,
    "noise_multiplier": 1.0,
    "delta": 1e-3,
    "seed": 5,
}
COLUMNS = [
    Number(name="age", low=0, high=100),
    Category(name="sex", values=["female", "male"], may_be_missing=True),
]
GRADE = Category(name="grade", values=["a", "b"])
PAY = Number(name="pay", low=0, high=10)


def data(size=100):
    generator = torch.Generator().manual_seed(2)
    return torch.randn(size, 3, generator=generator), torch.arange(size) % 2


def begun(plan, model=None, **settings):
    if model is None:
        torch.manual_seed(1)
        model = nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
    return PrivateTraining(plan, model=model, optimizer=optimizer, **settings)


def weights(training):
    return torch.cat([p.detach().flatten() for p in training.model.parameters()])


def table(**changes):
    usual = {
        "age": [20 + number % 60 for number in range(100)],
        "sex": ["female", "male"] * 50,
        "grade": ["a", "b"] * 50,
        "pay": [number % 10 for number in range(100)],
    }
    return usual | changes


def classifier(sampling_rate=0.2, **settings):
    run = RUN | {"sampling_rate": sampling_rate}
    return DPClassifier(Plan(**run, schema=Schema(columns=COLUMNS, target=GRADE)), **settings)


def test_a_batch_larger_than_the_data_is_refused():
    with pytest.raises(PlanError, match="batch_size must not exceed"):
        Plan.for_budget(1, delta=1e-4, dataset_size=100, batch_size=101, steps=10)


@pytest.mark.parametrize("delta", [0.01, 0.5])
def test_a_delta_of_one_over_the_records_or_more_is_refused(delta):
    with pytest.raises(PlanError, match="delta must lie below"):
        Plan(**RUN | {"delta": delta})


def test_a_model_with_a_batch_norm_is_refused_before_a_step():
    with pytest.raises(UnsupportedLayerError, match="BatchNorm1d"):
        begun(Plan(**RUN), nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)))


def test_losses_that_are_not_numbers_move_nothing_but_are_counted():
    plan = Plan(**RUN | {"noise_multiplier": 0.0})
    training = begun(plan)
    before = weights(training)
    training.run(*data(), criterion=lambda outputs, _: outputs.sum(1) * math.nan)
    assert torch.equal(weights(training), before)
    assert training.steps_taken == 10


def test_a_model_that_diverges_says_that_its_budget_is_spent():
    with pytest.raises(DPSGDError, match="budget is spent"):
        classifier(learning_rate=3e38, sampling_rate=0.01).fit(table())


@pytest.mark.parametrize(
    "settings",
    [
        {"learning_rate": 0},
        {"learning_rate": math.nan},
        {"learning_rate": 1e45},
        {"momentum": 1},
    ],
)
def test_settings_that_cannot_train_are_refused_before_a_step(settings):
    with pytest.raises(PlanError, match="learning_rate"):
        classifier(**settings).fit(table())


def test_labels_out_of_range_are_refused_without_the_label_in_the_words():
    with pytest.raises(TrainingDataError) as caught:
        classifier().fit(table(grade=["a", "marker777"] * 50))
    x, y = data()
    with pytest.raises(TrainingDataError) as other:
        begun(Plan(**RUN)).run(x, y + 777, criterion=EACH)
    assert caught.value.hint
    assert "777" not in str(caught.value) + str(other.value)
    with pytest.raises(TrainingDataError):
        classifier().fit(table(), y=["a"] * 99)


@pytest.mark.parametrize("bad", [None, math.nan, math.inf, -math.inf, 1e30, 1e308])
def test_a_value_beyond_the_bounds_or_absent_is_borne(bad):
    rows = table(age=[bad, *table()["age"][1:]], sex=[None, *table()["sex"][1:]])
    model = classifier().fit(rows)
    assert np.isfinite(model.predict_proba(rows)).all()
    pay = Schema(columns=COLUMNS, target=PAY)
    found = DPRegressor(Plan(**RUN, schema=pay)).fit(rows).predict(rows)
    assert ((found >= 0) & (found <= 10)).all()


def test_one_class_and_constant_columns_are_borne():
    rows = table(age=[50] * 100, sex=["male"] * 100, grade=["b"] * 100)
    model = classifier().fit(rows)
    assert np.isfinite(model.predict_proba(rows)).all()
    assert model.cost() == model.plan.cost()


def test_no_record_at_all_is_a_run_like_any_other():
    empty = {name: [] for name in table()}
    model = classifier().fit(empty)
    assert model.cost() == model.plan.cost()


@pytest.mark.parametrize("column", [["x"] * 100, [[1]] * 100, [object()] * 100])
def test_numbers_that_are_none_are_refused_by_the_name_of_the_column(column):
    with pytest.raises(TrainingDataError, match="'age'"):
        classifier().fit(table(age=column))


def test_batches_that_the_plan_did_not_draw_are_refused():
    x, y = data()
    training = begun(Plan(**RUN))
    training.accumulate(EACH(training.model(x), y))
    with pytest.raises(DPSGDError, match="that the plan drew"):
        training.step()
    assert training.steps_taken == 0


def test_a_batch_taken_twice_or_by_half_is_refused():
    x, y = data()
    for times in (0, 2):
        training = begun(Plan(**RUN))
        rows = next(training.draws(100))
        (batch,) = training.pieces(rows, x, y)
        for _ in range(times):
            training.accumulate(EACH(training.model(batch[0]), batch[1]))
        with pytest.raises(DPSGDError, match="whole and once"):
            training.step()


def test_what_a_broken_batch_left_behind_is_not_in_the_next_step():
    x, y = data()
    settings = Plan(**RUN | {"noise_multiplier": 0.0, "steps": 1, "sampling_rate": 1})
    clean, broken = begun(settings, micro_batch=256), begun(settings, micro_batch=30)
    clean.run(x, y, criterion=EACH)

    class Stopped(Exception):  # noqa: N818 (stands for a key press)
        pass

    def stops(outputs, labels):
        if not broken._rows_seen:
            return EACH(outputs, labels)
        raise Stopped

    with pytest.raises(Stopped):
        broken.run(x, y, criterion=stops)
    broken.micro_batch = 256
    broken.run(x, y, criterion=EACH)
    assert torch.equal(weights(clean), weights(broken))


def test_a_run_that_stops_within_a_pass_resumes_with_its_account(tmp_path):
    x, y = data()
    file = tmp_path / "run.safetensors"
    whole, first = begun(Plan(**RUN)), begun(Plan(**RUN))
    whole.run(x, y, criterion=EACH)
    first.run(x, y, criterion=EACH, until=3)
    save(first, file)

    def stops(outputs, labels):
        if first.steps_taken == 5:
            raise KeyboardInterrupt
        return EACH(outputs, labels)

    with pytest.raises(KeyboardInterrupt):
        first.run(x, y, criterion=stops)
    assert first.steps_taken == 5
    again = begun(Plan(**RUN))
    resume(again, file)
    assert again.cost() == Plan(**RUN).cost(3)
    again.run(x, y, criterion=EACH)
    assert torch.equal(weights(again), weights(whole))
    assert again.cost() == Plan(**RUN).cost()


@pytest.mark.long
def test_a_killed_run_leaves_a_file_that_resumes(tmp_path):
    file = tmp_path / "run.safetensors"
    code = f"""
        import sys
        sys.path.insert(0, ".")
        from tests.unit.dpsgd.test_bad_input import EACH, RUN, begun, data
        from dpsgd import Plan
        from dpsgd.files.checkpoint import save
        training = begun(Plan(**RUN | {{"steps": 100_000}}))
        for step in range(1, 100_001):
            training.run(*data(), criterion=EACH, until=step)
            save(training, {str(file)!r})
    """
    child = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)])
    try:
        for _ in range(6000):
            if file.exists() or child.poll() is not None:
                break
            time.sleep(0.02)
        time.sleep(0.1)
    finally:
        child.kill()
        child.wait()
    plan = Plan(**RUN | {"steps": 100_000})
    again = begun(plan)
    resume(again, file)
    taken = again.steps_taken
    assert taken >= 1
    assert again.cost().epsilon == plan.cost(taken).epsilon > 0
    again.run(*data(), criterion=EACH, until=taken + 1)
    assert again.cost().steps == taken + 1


def test_a_loader_refuses_labels_out_of_range_and_shapes_that_differ():
    x, y = data()
    model = nn.Linear(3, 2)
    shared = {
        "model": model,
        "optimizer": torch.optim.SGD(model.parameters(), lr=0.1),
        "criterion": nn.CrossEntropyLoss(),
    }
    with pytest.raises(TrainingDataError, match="row for each record"):
        privatise(Plan(**RUN), data=(x, y[:-1]), **shared)
    with pytest.raises(TrainingDataError, match="label"):
        privatise(Plan(**RUN), data=(x, y + 9), **shared)


def test_logs_warnings_and_output_hold_no_loss_and_no_record(caplog, capsys):
    caplog.set_level(0)
    rows = table(age=[77.725, *table()["age"][1:]])
    model = classifier().fit(rows)
    shown = capsys.readouterr()
    said = caplog.text + shown.out + shown.err + repr(model) + repr(vars(model).keys())
    assert "77.725" not in said
    assert not caplog.records
    assert not shown.out + shown.err
