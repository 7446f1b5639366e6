"""Cuts that nobody declared: found in the records once, at a price that the plan states."""

from __future__ import annotations

import math

import dp_accounting
import numpy as np
import pytest
import torch
from dp_accounting.pld import PLDAccountant

from dp import BudgetLedger, gaussian_epsilon
from dpsgd import Category, Number, Plan, Schema
from dpsgd.card import card_of
from dpsgd.cuts import FoundCuts, _edges, _starts
from dpsgd.encoding import features
from dpsgd.errors import PlanError
from dpsgd.estimators import DPClassifier
from dpsgd.sweeps.trials import Trials

RUN = {"dataset_size": 1000, "sampling_rate": 0.1, "steps": 20, "delta": 1e-4}
PAY = Number(name="pay", low=0, high=1000)
AGE = Number(name="age", low=17, high=90)
GOAL = Category(name="rich", values=["no", "yes"])
SCHEMA = Schema(columns=[Category(name="sex", values="FM"), PAY, AGE], target=GOAL)


def table(number=600, seed=0):
    rng = np.random.default_rng(seed)
    pay = np.where(rng.random(number) < 0.8, 0, rng.integers(400, 800, number))
    rich = np.where((pay > 500) & (pay < 600), "yes", "no")
    sex, age = rng.choice(["F", "M"], number), rng.integers(17, 91, number)
    return {"sex": sex, "pay": pay, "age": age, "rich": rich}


def found_in(rows, *, scale=0.0):
    layer, x = FoundCuts(SCHEMA), torch.from_numpy(features(rows, schema=SCHEMA))
    layer.find(x, schema=SCHEMA, scale=scale, noise=np.zeros)
    return layer, x


def test_whole_numbers_are_not_cut_apart_and_fractions_are():
    assert _edges(AGE).tolist() == list(range(18, 91))
    assert len(_edges(Number(name="share", low=0, high=1))) == 255
    wide = np.diff(_edges(Number(name="gain", low=0, high=100_000)))
    assert set(wide.tolist()) == {391.0}


def test_a_value_of_many_stands_alone_and_others_are_put_together():
    counts = np.array([900.0, 1, 1, 1, 200, 5, 5, 5])
    assert _starts(counts, 0.0) == [1, 3, 4, 5, 6, 7]
    assert _starts(counts, 10.0) == [1, 4, 5]
    assert _starts(np.zeros(8), 10.0) == []


def test_indicators_say_between_which_cuts_a_number_lies():
    layer, x = found_in(table())
    within = layer(x)[:, x.shape[1] :].view(len(x), 2, -1) * layer.divisor
    assert set(within.unique().round(decimals=5).tolist()) == {0.0, 1.0}
    assert int(within.sum(2).max()) == 1
    pay = np.asarray(table()["pay"])
    assert not within[torch.from_numpy(pay == 0), 0].any()
    assert within[torch.from_numpy(pay > 0), 0].any()
    again = FoundCuts(SCHEMA)(x)[:, x.shape[1] :]
    assert not again.any()  # before they are found


def test_one_record_more_changes_one_count_of_each_column(monkeypatch):
    seen = []
    monkeypatch.setattr(
        "dpsgd.cuts._starts", lambda noisy, scale: seen.append((noisy, scale)) or []
    )
    rows = table(200)
    for number in (200, 199):
        found_in({name: values[:number] for name, values in rows.items()})
    (pay, _), (age, _), (less_pay, _), (less_age, _) = seen
    moved = [np.abs(a - b) for a, b in ((pay, less_pay), (age, less_age))]
    assert [float(m.sum()) for m in moved] == [1.0, 1.0]


def test_noise_is_as_large_as_the_account_assumes(monkeypatch):
    scales = []
    monkeypatch.setattr(FoundCuts, "find", lambda *_, **given: scales.append(given["scale"]))
    plan = Plan(**RUN, noise_multiplier=2.0, schema=SCHEMA, seed=1)
    DPClassifier(plan).fit(table())
    assert scales == [pytest.approx(plan.cuts_noise * math.sqrt(2))]  # two columns are cut


def test_the_price_of_cuts_is_that_of_another_accountant():
    plan = Plan(**RUN, noise_multiplier=2.0, schema=SCHEMA)
    accountant = PLDAccountant()
    gaussian = dp_accounting.GaussianDpEvent
    step = dp_accounting.PoissonSampledDpEvent(0.1, gaussian(2.0))
    accountant.compose(dp_accounting.SelfComposedDpEvent(step, 20))
    without = accountant.get_epsilon(1e-4)
    accountant.compose(gaussian(plan.cuts_noise))
    assert plan.cost().epsilon == pytest.approx(accountant.get_epsilon(1e-4), rel=1e-3)
    assert without < plan.cost().epsilon < 1.15 * without
    assert plan.cost(0).epsilon == 0
    assert "cuts found" in str(plan.cost())


def test_without_sampling_both_are_one_gaussian():
    changes = {"sampling_rate": 1.0, "adjacency": "replace", "noise_multiplier": 8.0}
    plan = Plan(**{**RUN, **changes}, schema=SCHEMA)
    mu = 2 * math.sqrt(20 / 64 + plan.cuts_noise**-2)
    assert plan.cost().epsilon == pytest.approx(gaussian_epsilon(1e-4, mu=mu))
    twice = 2 * math.sqrt(40 / 64 + 2 * plan.cuts_noise**-2)
    assert card_of(plan, trials=2).epsilon == pytest.approx(gaussian_epsilon(1e-4, mu=twice))


def test_a_budget_pays_for_cuts_and_the_card_says_so():
    run = {"delta": 1e-4, "dataset_size": 600, "batch_size": 600, "steps": 20}
    plan = Plan.for_budget(1.0, **run, schema=SCHEMA)
    by_hand = Schema.from_dict(
        {**SCHEMA.to_dict(), "columns": [{"name": "age", "low": 17, "high": 90, "cuts": []}]}
    )
    other = Plan.for_budget(1.0, **run, schema=by_hand)
    assert other.cuts_noise == 0
    assert plan.noise_multiplier > 1.02 * other.noise_multiplier
    assert 0.999 < plan.cost().epsilon <= 1
    assert "found" in card_of(plan).released
    assert "found" not in card_of(other).released
    pay = Number(name="rich", low=0, high=1)
    assert not Schema(columns=[AGE], target=pay).uncut
    assert Plan.from_json(plan.to_json()) == plan


def test_cuts_are_found_once_and_kept_with_run_and_model(tmp_path, monkeypatch):
    monkeypatch.setattr("dpsgd.training.callbacks._PAUSE_S", 0.0)
    plan = Plan(**RUN, noise_multiplier=0.2, schema=SCHEMA)  # chance from the system
    rows, file = table(), tmp_path / "model.run"

    def stops(done, _):
        if done == 7:
            raise KeyboardInterrupt

    found, whole = [], FoundCuts.find

    def find(layer, *args, **settings):
        whole(layer, *args, **settings)
        found.append(layer.cuts.clone())

    monkeypatch.setattr(FoundCuts, "find", find)
    with pytest.raises(KeyboardInterrupt):
        DPClassifier(plan).fit(rows, checkpoint=file, progress=stops)
    model = DPClassifier(plan).fit(rows, checkpoint=file, is_resumed=True)
    assert len(found) == 1
    assert bool((found[0] < 1).any())
    assert torch.equal(model.network_[0].cuts, found[0])
    model.save(tmp_path / "model.safetensors")
    again = DPClassifier.load(tmp_path / "model.safetensors")
    assert np.array_equal(again.predict_proba(rows), model.predict_proba(rows))


def test_no_file_holds_cuts_that_are_looked_for_again(tmp_path, monkeypatch):
    monkeypatch.setattr("dpsgd.training.callbacks._PAUSE_S", 0.0)
    plan, file, found = Plan(**RUN, noise_multiplier=0.2, schema=SCHEMA), tmp_path / "run", []

    def find(layer, *_, **__):
        layer.cuts.fill_(0.5)
        found.append(file.read_bytes())

    monkeypatch.setattr(FoundCuts, "find", find)

    def stops(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("dpsgd.training.training.PrivateTraining.step", stops)
    with pytest.raises(KeyboardInterrupt):
        DPClassifier(plan).fit(table(), checkpoint=file)
    assert found == [file.read_bytes()]


def test_each_run_of_a_sweep_finds_cuts_once(monkeypatch):
    found = []
    monkeypatch.setattr(FoundCuts, "find", lambda *_, **given: found.append(given["scale"]))
    plan = Plan(**RUN, noise_multiplier=2.0, schema=SCHEMA, seed=1)
    trials = Trials(lambda **_: plan, table=table(), test=table(50), schema=SCHEMA)
    epsilon = [epsilon for _, epsilon in trials({}, is_private=True, seed=1)][-1]
    assert found == [pytest.approx(plan.cuts_noise * math.sqrt(2))]
    assert epsilon == plan.cost().epsilon


@pytest.mark.parametrize("ends", [(-1e308, 1e308), (1e308, 1.7e308), (0, 5e-324)])
def test_bounds_between_which_nothing_can_be_scaled_are_refused(ends):
    with pytest.raises(PlanError, match="bounds"):
        Number(name="pay", low=ends[0], high=ends[1])


def test_images_have_no_columns_and_are_charged_no_cuts(tmp_path):
    columns = [Number(name=f"p{place}", low=0, high=1) for place in range(784)]
    plan = Plan(**RUN, noise_multiplier=2, schema=Schema(columns=columns, target=GOAL))
    ledger = BudgetLedger.create(
        tmp_path / "budget.db", epsilon=9, delta=1e-2, adjacency="add-remove"
    )
    images, labels = np.zeros((10, 784)), ["no", "yes"] * 5
    with pytest.raises(PlanError, match="without columns"):
        DPClassifier(plan, model="images").fit(images, labels, ledger=ledger, who="Ada")
    assert ledger.entries() == ()
