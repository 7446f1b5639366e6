"""Baselines behind Synthesizer: one ledger, one certificate, one file."""

import json

import numpy as np
import pandas as pd
import pytest

from dp import Adjacency
from synth import (
    Budget,
    Category,
    Certificate,
    Model,
    Schema,
    SynthError,
    Synthesizer,
    TableSettings,
    Unit,
    Whole,
)
from synth.baselines.copulas.vine_engines import VineModel
from synth.baselines.engines import CopulaModel, fit_copula
from synth.baselines.networks.network_engines import NetworkModel
from synth.certificate import _digest
from synth.claims import Claim
from synth.guarantee import guarantee_of
from synth.marginals.measuring import Neighbours, SimulatedNoise
from synth.methods import settings_of
from synth.picture import draw_structure

SCHEMA = Schema(
    columns=[
        Whole(name="age", low=0, high=39, bins=8),
        Whole(name="pay", low=0, high=39, bins=8),
        Category(name="sex", values=["F", "M"]),
    ],
    rules=["pay <= age + 30"],
    ignored=["home"],
)
BUDGET = Budget(epsilon=4, delta=1e-6, adjacency="replace")


def people(number=2000):
    rng = np.random.default_rng(1)
    age = rng.integers(0, 40, number)
    pay = (age + rng.integers(0, 9, number)).clip(0, 39)
    home = np.arange(number) // 2
    return pd.DataFrame(
        {"age": age, "pay": pay, "sex": rng.choice(["F", "M"], number), "home": home}
    )


@pytest.mark.parametrize("method", ["histogram", "copula", "priv-bayes"])
def test_a_baseline_is_fitted_saved_drawn_and_certified(method, tmp_path):
    model = Synthesizer(schema=SCHEMA, method=method).fit(people(), BUDGET)
    assert sum(call.rho for call in model.calls) <= BUDGET.concentrated()
    assert sum(call.rho for call in model.calls) > 0.99 * BUDGET.concentrated()
    for name in ("model.json", "model.parquet"):
        model.save(tmp_path / name)
        read = Model.load(tmp_path / name)
        drawn = read.draw(2000, rng=np.random.default_rng(1))
        assert set(read.violations(drawn).values()) == {0}
    frame = read.sample(2000, rng=np.random.default_rng(1))
    found = frame["age"].corr(frame["pay"])
    assert (found > 0.8) == (method != "histogram")
    paper = Certificate.of(read)
    assert paper.verify(schema=SCHEMA) == []
    assert paper.facts["method"] == method
    assert paper.facts["rules"][0]["kept_by"] == "redrawing"
    assert len(read.sample(9, rng=np.random.default_rng(1), where="sex == 'F'")) == 9
    assert set(read.sample(9, conditions={"sex": "F"})["sex"]) == {"F"}
    with pytest.raises(SynthError, match="No structure"):
        draw_structure(read)


def test_a_margin_that_nobody_paid_for_is_seen():
    model = Synthesizer(schema=SCHEMA, method="histogram").fit(people(), BUDGET)
    facts = dict(Certificate.of(model).facts)
    facts["calls"] = facts["calls"][1:]
    assert any("how columns were counted: 'age'" in one for one in Certificate(facts).verify())


def test_priv_bayes_charges_every_choice_and_every_table():
    model = Synthesizer(schema=SCHEMA, method="priv-bayes").fit(people(), BUDGET)
    by_kind = model.report()["spent"]["by_kind"]
    shares = [by_kind[what] / BUDGET.concentrated() for what in ("margin", "choice", "table")]
    assert shares == pytest.approx([0.3, 0.7 * 0.2, 0.7 * 0.8], rel=1e-5)
    kinds = [call.what for call in model.calls]
    assert kinds == ["margin"] * 3 + ["choice"] * 2 + ["table"] * kinds.count("table")
    facts = dict(Certificate.of(model).facts)
    facts["calls"] = facts["calls"][1:]
    assert any("how columns were counted" in one for one in Certificate(facts).verify())


@pytest.mark.parametrize("mechanism", ["laplace", "geometric"])
def test_dp_histogram_spends_its_whole_epsilon_on_each_column_and_says_so(mechanism):
    settings = settings_of("dp-histogram", {"mechanism": mechanism})
    frame = people()
    model = Synthesizer(schema=SCHEMA, method="dp-histogram", settings=settings).fit(
        frame, Claim(epsilon=2), noise=SimulatedNoise(seed=1)
    )
    assert model.account["label"] == "DP-Histogram as published"
    assert model.account["parts"] == {"bins": None, "margins": 2.0 * len(SCHEMA.columns)}
    assert model.account["epsilon"] is None
    assert not model.is_private
    drawn = model.sample(4000, rng=np.random.default_rng(1))
    assert drawn["age"].mean() == pytest.approx(frame["age"].mean(), abs=3)


def test_a_kind_of_missing_keeps_its_own_bin_in_priv_bayes():
    column = Whole(name="age", low=0, high=99, bins=50, missing={"refused": -8})
    frame = pd.DataFrame({"age": [99] * 500 + [-8] * 500})
    model = Synthesizer(schema=Schema(columns=[column]), method="priv-bayes").fit(frame, BUDGET)
    drawn = model.sample(4000, rng=np.random.default_rng(1))["age"]
    assert (drawn == -8).mean() == pytest.approx(0.5, abs=0.05)
    assert (drawn[drawn != -8] > 90).mean() > 0.9


@pytest.mark.parametrize("method", ["copula-shirley", "vine-without-privacy"])
@pytest.mark.parametrize("ending", ["json", "parquet"])
def test_a_model_without_a_guarantee_is_drawn_from_and_never_certified_as_private(
    method, ending, tmp_path
):
    claim = Claim() if method == "vine-without-privacy" else Claim(epsilon=8)
    settings = settings_of(method, {"families": ["gaussian"]})
    synthesizer = Synthesizer(schema=SCHEMA, method=method, settings=settings)
    model = synthesizer.fit(people(), claim)
    model.save(tmp_path / f"model.{ending}")
    read = Model.load(tmp_path / f"model.{ending}")
    frame = read.sample(2000, rng=np.random.default_rng(1))
    assert frame["age"].corr(frame["pay"]) > 0.4  # the vine does not know the steps of margins
    assert (frame["pay"] <= frame["age"] + 30).all()
    assert len(read.sample(0, rng=np.random.default_rng(1))) == 0
    assert not read.is_private
    assert read.report()["spent"] is None
    paper = Certificate.of(read)
    assert "NOT differentially private" in paper.facts["warning"]
    assert guarantee_of(paper).status == "unprotected"
    whole = json.dumps(paper.facts["account"])
    for change in (
        {},
        {"account": None},
        {"method": "copula"},
        {"method": "other", "account": None},
        {"total": {"rho": 0.01, "delta_aside": 0, "epsilon": 1, "delta": 1e-6}},
        {"account": {**json.loads(whole), "epsilon": 0.5}},
        {"account": []},
    ):
        facts = {**paper.facts, **change}
        forged = Certificate({**facts, "digest": _digest(facts)})
        assert forged.verify(), change
        assert guarantee_of(forged).status in ("unprotected", "wrong"), change


def test_a_budget_and_a_claim_are_not_taken_for_each_other():
    for method, budget, match in (
        ("copula-shirley", BUDGET, "keeps to no budget"),
        ("tables", Claim(epsilon=1), "keeps to a budget"),
    ):
        with pytest.raises(SynthError, match=match):
            Synthesizer(schema=SCHEMA, method=method).fit(people(20), budget)


def test_a_unit_with_several_records_costs_as_many_times_as_much():
    unit = Unit(name="household", identifier="home", most_records=2)
    prices = []
    for schema in (SCHEMA, Schema(columns=SCHEMA.columns, unit=unit)):
        synthesizer = Synthesizer(
            schema=schema,
            method="copula-shirley",
            settings=settings_of("copula-shirley", {"families": ["indep"]}),
        )
        model = synthesizer.fit(people(), Claim(epsilon=1))
        prices.append(model.account["parts"]["margins"])
    assert prices[1] == pytest.approx(2 * prices[0])


@pytest.mark.parametrize("encoder", ["one-hot", "woe", "glmm"])
def test_the_encoders_of_the_source_work_on_a_schema(encoder):
    schema = Schema(
        columns=[
            Whole(name="age", low=0, high=39, bins=8),
            Category(name="job", values=["a", "b", "c"]),
            Category(name="sex", values=["F", "M"]),
        ]
    )
    rng = np.random.default_rng(3)
    frame = people(600)[["age", "sex"]].assign(job=rng.choice(["a", "b", "c"], 600))
    given = {"families": ["gaussian"], "encoder": encoder}
    synthesizer = Synthesizer(
        schema=schema,
        method="copula-shirley",
        label=None if encoder == "one-hot" else "sex",
        settings=settings_of("copula-shirley", given),
    )
    model = synthesizer.fit(frame, Claim(epsilon=8), noise=SimulatedNoise(seed=1))
    drawn = model.sample(300, rng=np.random.default_rng(1))
    assert set(drawn["job"]) == {"a", "b", "c"}
    assert len(drawn) == 300


@pytest.mark.parametrize("reader", [NetworkModel, VineModel])
@pytest.mark.parametrize("text", ["", "{}", "[]", '{"format": "ckm-synth-vine"}'])
def test_other_texts_are_no_network_and_no_vine(reader, text):
    with pytest.raises(SynthError):
        reader.from_json(text)


@pytest.mark.parametrize("rows", [1, 2])
def test_a_replaced_unit_moves_the_ranks_no_farther_than_declared(rows):
    class Spy(SimulatedNoise):
        def add(self, counts, mechanism):
            seen.append((counts, mechanism.sensitivity.l2))
            return super().add(counts, mechanism)

    rng = np.random.default_rng(3)
    farthest = 0.0
    for _ in range(20):
        one = rng.integers(0, 30, (12, 3))
        other = one.copy()
        one[:rows], other[:rows] = (0, 29, 29), (29, 29, 29)
        seen = []
        for codes in (one, other):
            fit_copula(
                codes, sizes=[30] * 3, rho=1.0, noise=Spy(seed=1),
                neighbours=Neighbours(adjacency=Adjacency.REPLACE, rows=rows, unit="home"),
            )  # fmt: skip
        (first, reach), (second, _) = seen[3], seen[7]
        moved = np.linalg.norm(first - second)
        assert moved <= reach
        farthest = max(farthest, moved / reach)
    assert farthest > 0.3


@pytest.mark.parametrize(
    ("options", "budget", "match"),
    [
        ({}, Budget(epsilon=1, delta=1e-6), "public number"),
        ({"label": "sex"}, BUDGET, "label"),
        ({"workload": [("age", "sex")]}, BUDGET, "workload"),
        ({"settings": TableSettings()}, BUDGET, "settings"),
    ],
)
def test_what_a_baseline_cannot_do_is_refused(options, budget, match):
    with pytest.raises(SynthError, match=match):
        Synthesizer(schema=SCHEMA, method="copula", **options).fit(people(50), budget)


def test_households_and_single_records_are_handled():
    unit = Unit(name="household", identifier="home", most_records=2)
    schema = Schema(columns=SCHEMA.columns, unit=unit)
    for number in (1, 2, 60):
        model = Synthesizer(schema=schema, method="copula").fit(people(number), BUDGET)
        assert Certificate.of(model).verify() == []
        assert len(model.sample(5, rng=np.random.default_rng(1))) == 5


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"format": "ckm-synth-copula"}'])
def test_other_texts_are_no_copula(text):
    with pytest.raises(SynthError):
        CopulaModel.from_json(text)
