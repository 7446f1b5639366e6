"""Baselines behind Synthesizer: one ledger, one certificate, one file."""

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
    Settings,
    SynthError,
    Synthesizer,
    Unit,
    Whole,
    draw_structure,
)
from synth.baselines.engines import CopulaModel, fit_copula
from synth.measuring import Neighbours
from synth.noise import SimulatedNoise

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


@pytest.mark.parametrize("method", ["histogram", "copula"])
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
    assert (found > 0.8) == (method == "copula")
    paper = Certificate.of(read)
    assert paper.verify(schema=SCHEMA) == []
    assert paper.facts["method"] == method
    assert paper.facts["rules"][0]["kept_by"] == "redrawing"
    assert len(read.sample(9, rng=np.random.default_rng(1), where="sex == 'F'")) == 9
    with pytest.raises(SynthError, match="given the values"):
        read.sample(9, rng=np.random.default_rng(1), conditions={"sex": "F"})
    with pytest.raises(SynthError, match="No structure"):
        draw_structure(read)


def test_a_margin_that_nobody_paid_for_is_seen():
    model = Synthesizer(schema=SCHEMA, method="histogram").fit(people(), BUDGET)
    facts = dict(Certificate.of(model).facts)
    facts["calls"] = facts["calls"][1:]
    assert any("how columns were counted: age" in one for one in Certificate(facts).verify())


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
        ({"settings": Settings()}, BUDGET, "settings"),
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
