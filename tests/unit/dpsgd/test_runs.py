"""Sweeps, the cost of choosing among them, memory, and the card of a model."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch

from bench.residual_network import residual_network
from dp.accounting.rdp import RenyiCurve
from dp.errors import DPError
from dpsgd import Plan
from dpsgd.accounting.choosing import best_of_random, draw_trials, sum_of_trials
from dpsgd.card import PrivacyCard, card_of, disagreements
from dpsgd.errors import DPSGDError
from dpsgd.sweeps.sweep import Sweep, outcomes, run_sweep
from dpsgd.training.memory import advice, flowers_estimate, measure
from tests.unit.dpsgd import memory_stages

TRIAL = RenyiCurve.subsampled_gaussian(sampling_rate=0.0314, noise_multiplier=3.0) * 640
CARD = {
    "epsilon": 1.0, "delta": 1e-6, "unit": "person", "adjacency": "add-remove",
    "sampling": "poisson", "accounted_sampling": "poisson", "accountant": "loss distribution",
    "sampling_rate": 0.01, "noise_multiplier": 1.1, "clipping_norm": 1.0, "steps": 1000,
    "expected_batch": 320.0,
}  # fmt: skip


def trained(choices, is_private, seed):
    for epoch in range(int(choices.get("epochs", 2))):
        yield 0.5 + 0.01 * seed + 0.1 * epoch - 0.2 * is_private, (epoch + 1) * 1.0


def test_a_sweep_records_every_epoch_and_means_over_repetitions(tmp_path):
    sweep = Sweep(
        values={"batch_size": [64, 32], "noise_multiplier": [1.0, 2.0]},
        repetitions=3,
        with_plain=True,
    )
    file = tmp_path / "runs.csv"
    assert run_sweep(sweep, trained, file=file) == 18  # plain runs know no noise
    assert len(file.read_text().splitlines()) == 1 + 18 * 2
    found = outcomes(file, classes=10)
    assert [outcome.runs for outcome in found] == [3] * 6
    plain, private = found[0], found[-1]
    assert (plain.is_private, private.is_private) == (False, True)
    assert plain.mean == pytest.approx(0.61)
    assert private.mean == pytest.approx(0.41)
    assert private.sd == pytest.approx(0.01)
    assert private.times_chance == pytest.approx(4.1)
    assert private.epsilon == 2.0


def test_an_interrupted_sweep_loses_the_run_it_was_at_and_goes_on_there(tmp_path):
    sweep = Sweep(values={"learning_rate": [0.1, 0.05, 0.01]}, repetitions=2)
    seen = []

    def stops_at_the_fourth(choices, is_private, seed):
        seen.append((choices["learning_rate"], seed))
        if len(seen) == 4:
            yield 0.9, 1.0
            raise KeyboardInterrupt
        yield 0.5, 1.0

    with pytest.raises(KeyboardInterrupt):
        run_sweep(sweep, stops_at_the_fourth, file=tmp_path / "runs.csv")
    assert len((tmp_path / "runs.csv").read_text().splitlines()) == 4
    assert [path.name for path in tmp_path.iterdir()] == ["runs.csv"]
    assert run_sweep(sweep, trained, file=tmp_path / "runs.csv") == 3
    assert run_sweep(sweep, trained, file=tmp_path / "runs.csv") == 0


def test_one_choice_at_a_time_leaves_the_others_usual():
    sweep = Sweep(values={"batch_size": [64, 32, 8], "epochs": [10, 20]}, one_at_a_time=True)
    assert sweep.combinations() == [
        {"batch_size": 64, "epochs": 10},
        {"batch_size": 32, "epochs": 10},
        {"batch_size": 8, "epochs": 10},
        {"batch_size": 64, "epochs": 20},
    ]


@pytest.mark.parametrize(
    "values",
    [{}, {"momentum": [1]}, {"batch_size": []}, {"batch_size": [1.5]}, {"epochs": [0]},
     {"learning_rate": [math.nan]}, {"learning_rate": ["=1"]}, {"batch_size": [True]},
     {"batch_size": [8, 8]}, {"batch_size": list(range(1, 100_002))}],
)  # fmt: skip
def test_a_sweep_over_what_cannot_be_is_refused(values):
    with pytest.raises(DPSGDError):
        Sweep(values=values)


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", "\x00", "accuracy\nnan\n"])
def test_a_foreign_file_is_neither_read_nor_overwritten(tmp_path, text):
    file = tmp_path / "runs.csv"
    file.write_text(text)
    with pytest.raises(DPSGDError):
        run_sweep(Sweep(values={"epochs": [1]}), trained, file=file)
    assert file.read_text() == text


@pytest.mark.parametrize("epochs", [[], [(1.5, 1.0)], [(math.nan, 1.0)], [(0.5, None)]])
def test_a_run_without_accuracy_or_epsilon_is_not_recorded(tmp_path, epochs):
    with pytest.raises(DPSGDError):
        run_sweep(
            Sweep(values={"epochs": [1]}),
            lambda *_: iter(epochs),
            file=tmp_path / "runs.csv",
        )
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("shape", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("mean", [10, 100])
def test_the_cost_of_tuning_is_that_of_dp_accounting(shape, mean):
    import dp_accounting
    from dp_accounting import dp_event, rdp

    accountant = rdp.RdpAccountant(orders=list(TRIAL.orders))
    step = dp_accounting.PoissonSampledDpEvent(0.0314, dp_accounting.GaussianDpEvent(3.0))
    run = dp_accounting.SelfComposedDpEvent(step, 640)
    accountant.compose(dp_event.RepeatAndSelectDpEvent(run, mean, shape))
    found = best_of_random(TRIAL, mean_trials=mean, shape=shape).epsilon(1e-5).epsilon
    assert found == pytest.approx(accountant.get_epsilon(1e-5), rel=3e-3)


def test_the_best_of_many_costs_more_than_one_and_less_than_the_sum():
    one = TRIAL.epsilon(1e-5).epsilon
    best = best_of_random(TRIAL, mean_trials=30).epsilon(1e-5).epsilon
    total = sum_of_trials(TRIAL, trials=30, delta=1e-5).epsilon
    assert one < best < 0.5 * total


@pytest.mark.parametrize("shape", [0.0, 0.5, 1.0, 2.0])
def test_the_number_of_trials_has_the_mean_asked_for(shape):
    generator = np.random.default_rng(1)
    drawn = [draw_trials(10, generator=generator, shape=shape) for _ in range(400)]
    error = np.std(drawn) / np.sqrt(len(drawn))
    assert abs(np.mean(drawn) - 10) < 4 * error
    assert min(drawn) == 1


@pytest.mark.parametrize(("mean", "shape"), [(1, 1), (0, 1), (math.nan, 1), (10, -1)])
def test_trials_without_a_law_are_refused(mean, shape):
    with pytest.raises(DPError):
        best_of_random(TRIAL, mean_trials=mean, shape=shape)


@pytest.mark.slow
def test_memory_is_measured_in_stages_and_grows_with_the_batch_where_gradients_are_kept():
    configurations = [
        {"hidden_units": 100, "batch_size": batch, "is_private": is_private}
        for batch, is_private in ((20, False), (20, True), (40, True))
    ]
    plain, small, large = measure(memory_stages.stages, configurations)
    one = 100 * 1000 * 8
    assert plain.step - plain.backward < 5 * one
    assert small.step - small.backward == pytest.approx(20 * one, rel=0.2)
    assert large.step - large.backward == pytest.approx(40 * one, rel=0.2)
    assert large.peak >= large.step > large.start


@pytest.mark.slow
def test_a_measurement_that_breaks_says_so_without_the_words_of_the_data():
    for stages in (memory_stages.breaks, memory_stages.stops):
        with pytest.raises(DPSGDError) as caught:
            measure(stages, [{"batch_size": 64}])
        assert "777" not in str(caught.value)
        assert "parts of 31" in str(caught.value)


@pytest.mark.parametrize(("units", "stage"), [(26, 63_386_062), (4096, 476_031_152)])
def test_the_formula_of_the_model_gives_the_figures_of_the_spreadsheet(units, stage):
    found = flowers_estimate(hidden_units=units, batch_size=1, is_private=False)
    assert found["model"] == stage


def test_the_formulas_bound_the_rows_that_were_measured():
    measured = {
        64: (112_417_280, 122_051_584, 180_380_672, 3_585_267_712),
        32: (112_417_280, 117_234_688, 172_195_840, 1_926_231_040),
    }
    for batch, held in measured.items():
        found = flowers_estimate(
            hidden_units=512, batch_size=batch, image_factor=2, is_private=True
        )
        gains = (
            held[0],
            *(after - before for before, after in pairwise(held)),
        )
        for stage, gain in zip(found.values(), gains, strict=True):
            assert gain <= stage


def test_keeping_gradients_of_16_records_costs_889_megabytes():
    private, _ = (
        flowers_estimate(hidden_units=512, batch_size=16, is_private=is_private)
        for is_private in (True, False)
    )
    assert pytest.approx(889e6, rel=1e-3) == 108_500 * 16 * 512
    assert private["step"] - 108_500 * 2 * 512 == 108_500 * 16 * 512
    few = [flowers_estimate(hidden_units=100, batch_size=1, is_private=p)["backward"]
           for p in (True, False)]  # fmt: skip
    assert few[0] - few[1] == 6_150_000


def test_advice_never_grows_the_batch():
    for batch in range(2, 300):
        parts = [
            int(word.strip(",:"))
            for word in advice(batch).split()
            if word.strip(",:").isdigit()
        ]
        assert all(1 <= part < batch for part in parts)
    assert "single record" in advice(1)


def test_a_card_comes_back_from_its_text():
    card = PrivacyCard(**CARD, touches=("scaling by public bounds",), limits=("drift",))
    assert PrivacyCard.from_json(card.to_json()) == card
    assert (
        card.to_json()
        == PrivacyCard(**CARD, touches=card.touches, limits=card.limits).to_json()
    )


@pytest.mark.parametrize(
    ("change", "doubt"),
    [({"sampling": "shuffled"}, "sampling"), ({"trials": 30}, "trials"),
     ({"randomness": "seed"}, "seed"), ({"touches": ("class counts",)}, "touches"),
     ({"noise_multiplier": 0.0}, "no-noise")],
)  # fmt: skip
def test_a_card_tells_what_contradicts_its_promise(change, doubt):
    assert PrivacyCard(**{**CARD, **change}).doubts == (doubt,)


@pytest.mark.parametrize(
    "change",
    [{"epsilon": math.inf}, {"epsilon": math.nan}, {"delta": 2}, {"unit": ""},
     {"unit": "a\nb"}, {"steps": 1.5}, {"adjacency": "near"}, {"sampling_rate": "x"},
     {"trials": 0}, {"limits": ("\x00",)}, {"accountant": "x" * 2000}, {"epsilon": True}],
)  # fmt: skip
def test_a_card_that_says_nothing_is_refused(change):
    with pytest.raises(DPSGDError):
        PrivacyCard(**{**CARD, **change})


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", "null", "{" * 5000, json.dumps({"format": 1}), "[" * 99_999,
     json.dumps({"format": 1, "other": 1}), json.dumps({"format": 2, **CARD})],
)  # fmt: skip
def test_a_text_that_is_no_card_is_refused(text):
    with pytest.raises(DPSGDError):
        PrivacyCard.from_json(text)


def test_a_card_that_understates_its_cost_is_found_out():
    plan = Plan(dataset_size=1000, sampling_rate=0.1, steps=100, noise_multiplier=2, delta=1e-4)
    card = card_of(plan)
    assert disagreements(card, plan=plan) == ()
    assert disagreements(replace(card, epsilon=card.epsilon * 0.99), plan=plan) == ("epsilon",)
    assert disagreements(replace(card, epsilon=card.epsilon * 2), plan=plan) == ()
    assert "steps" in disagreements(replace(card, steps=50), plan=plan)


def test_the_residual_network_halves_its_images_twice():
    network = residual_network(7)
    images = torch.rand(2, 3, 32, 32)
    assert network(images).shape == (2, 7)
    assert network[:-3](images).shape == (2, 64, 8, 8)
    convolutions = [part for part in network.modules() if isinstance(part, torch.nn.Conv2d)]
    assert len(convolutions) == 19 + 2  # and two beside the blocks that widen
