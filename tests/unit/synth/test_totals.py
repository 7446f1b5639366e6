"""Totals of weights and amounts: what they cost, how a unit moves them, how they are met."""

import math

import numpy as np
import pandas as pd
import pytest

from dp import Adjacency
from synth import (
    Amount,
    Budget,
    Category,
    Certificate,
    Real,
    Schema,
    SchemaError,
    SimulatedNoise,
    Synthesizer,
    Unit,
    Whole,
    lint,
)
from synth.marginals.spending import TableSettings, gaussian_price
from synth.totals import WEIGHT_SHARE as SHARE

QUICK = TableSettings(steps=5, rounds=2)
SCHEMA = Schema(
    columns=[
        Whole(name="w", low=1, high=2000, bins=20, outside="clip", missing={"none": None}),
        Category(name="k", values=["a", "b"]),
    ],
    unit=Unit(name="household", identifier="home", most_records=2),
    weight="w",
)


def people(number=1000, *, seed=1):
    rng = np.random.default_rng(seed)
    weights = np.rint(np.minimum(rng.lognormal(3.5, 0.8, number) + 1, 2000))
    kinds = np.where(weights + rng.normal(0, 30, number) > 50, "a", "b")
    return pd.DataFrame({"home": np.arange(number) // 2, "w": weights, "k": kinds})


class Listening(SimulatedNoise):
    """Noise that is the same for all files, and remembers what was asked."""

    def __init__(self):
        super().__init__(seed=1)
        self.totals = []

    def add(self, counts, mechanism):
        if counts.shape in ((1,), (3, 2)):
            self.totals.append((counts.copy(), mechanism))
            return counts * 0 + 1
        return np.full(counts.shape, 300)

    def choose(self, scores, mechanism):  # noqa: ARG002
        return 0


def asked(frame, adjacency=Adjacency.ADD_REMOVE, schema=SCHEMA):
    noise = Listening()
    budget = Budget(epsilon=1, delta=1e-6, adjacency=adjacency)
    model = Synthesizer(schema=schema, settings=QUICK).fit(frame, budget, noise=noise)
    (found,) = noise.totals
    return *found, model


@pytest.mark.parametrize("adjacency", [Adjacency.ADD_REMOVE, Adjacency.REPLACE])
def test_a_unit_moves_the_total_by_its_sensitivity_at_most(adjacency):
    frame = people(40)
    totals = []
    for weight in (1, 7, 2000, 10**9, -5, None):
        other = frame.copy()
        other.loc[[38, 39], "w"] = weight
        total, how, _ = asked(other, adjacency)
        totals.append(int(total[0]))
    if adjacency is Adjacency.ADD_REMOVE:
        totals.append(int(asked(frame.iloc[:38])[0][0]))
    assert max(totals) - min(totals) <= how.sensitivity.l2
    assert max(totals) - min(totals) >= how.sensitivity.l2 / math.sqrt(2) * (1 - 1e-9)
    assert (
        gaussian_price(how.sensitivity.l2, how.scale)
        <= SHARE * Budget(epsilon=1, delta=1e-6).concentrated()
    )


def test_the_total_is_on_the_bill_and_the_certificate_reckons_it():
    model = Synthesizer(schema=SCHEMA, settings=QUICK).fit(
        people(60), Budget(epsilon=1, delta=1e-6)
    )
    (call,) = [call for call in model.calls if call.what == "total"]
    assert call.columns == ("w",)
    assert call.rho == pytest.approx(SHARE * model.budget["rho"])
    assert sum(call.rho for call in model.calls) <= model.budget["rho"]
    paper = Certificate.of(model)
    assert paper.verify() == []
    for one in paper.facts["calls"]:
        if one["what"] == "total":
            one["scale"] /= 2
    assert any("(total) costs more" in wrong for wrong in paper.verify())


@pytest.mark.parametrize("kind", [Whole, Real])
def test_weights_come_to_their_total_where_bins_alone_do_not(kind):
    frame = people(20_000)
    decimals = {"decimals": 1} if kind is Real else {}
    edges = [0, 10, 20, 50, 100, 200, 800]
    bounds = {"low": 0, "high": 2000, "edges": edges}
    coarse = kind(name="w", **bounds, law="uniform", outside="clip", **decimals)
    misses = {}
    for weight in ("w", None):
        schema = Schema(columns=[coarse, SCHEMA.columns[1]], ignored=["home"], weight=weight)
        model = Synthesizer(schema=schema, settings=QUICK).fit(
            frame, Budget(rho=1.0), noise=SimulatedNoise(seed=2)
        )
        drawn = model.sample(20_000, rng=np.random.default_rng(1))
        misses[weight] = abs(drawn["w"].sum() / frame["w"].sum() - 1)
    assert misses["w"] < 0.03
    assert misses[None] > 0.1


@pytest.mark.parametrize(
    "frame", [people(1), people(2).assign(w=1.0), people(2).assign(w=None), people(4)]
)
def test_few_records_or_none_with_a_weight_make_no_error(frame):
    model = Synthesizer(schema=SCHEMA, settings=QUICK).fit(frame, Budget(rho=0.001))
    assert len(model.sample(5, rng=np.random.default_rng(1))) == 5


def test_weights_that_follow_from_others_have_no_total():
    parts = [Whole(name=name, low=0, high=9) for name in "ab"]
    total = Whole(name="w", low=0, high=18)
    schema = Schema(columns=[*parts, total], weight="w", rules=["w == a + b"])
    frame = pd.DataFrame({"a": [1, 2] * 50, "b": 3, "w": [4, 5] * 50})
    model = Synthesizer(schema=schema, settings=QUICK).fit(frame, Budget(rho=1.0))
    assert "w" not in {name for call in model.calls for name in call.columns}
    assert sum(call.rho for call in model.calls) <= model.budget["rho"]
    assert Certificate.of(model).verify() == []


TRADE = Schema(
    columns=[
        Whole(name="x", low=-5000, high=90_000, edges=[-5000, -50, 0, 50, 300, 5000],
              outside="clip", missing={"none": None}),
        Category(name="k", values=["a", "b", "c"]),
    ],
    unit=Unit(name="firm", identifier="home", most_records=2),
    amounts=[Amount(column="x", by="k", most=40_000)],
)  # fmt: skip


def firms(number=40, *, seed=1):
    rng = np.random.default_rng(seed)
    amounts = np.rint(rng.pareto(1.5, number) * 40 - 20)
    return pd.DataFrame(
        {"home": np.arange(number) // 2, "x": amounts, "k": rng.choice(["a", "b", "c"], number)}
    )


@pytest.mark.parametrize("adjacency", [Adjacency.ADD_REMOVE, Adjacency.REPLACE])
def test_a_unit_moves_totals_by_category_by_their_sensitivity_at_most(adjacency):
    frame, tables = firms(), []
    for kind in ("a", "b"):
        for values in ([10**9] * 2, [-(10**9)] * 2, [0, 40_000], [None, -50], [5000, 7]):
            other = frame.copy()
            other.loc[[38, 39], "x"] = np.array(values, float)
            other.loc[[38, 39], "k"] = kind
            table, how, _ = asked(other, adjacency, TRADE)
            tables.append(table)
    assert tables[0].shape == (3, 2)  # a row a category, a column a sign
    if adjacency is Adjacency.ADD_REMOVE:
        bare = asked(frame.iloc[:38], schema=TRADE)[0]
        moves = [np.linalg.norm(one - bare) for one in tables]
    else:
        moves = [np.linalg.norm(one - other) for one in tables for other in tables]
    assert max(moves) <= how.sensitivity.l2 * (1 + 1e-12)
    assert max(moves) >= how.sensitivity.l2 * 0.999
    assert how.sensitivity.l2 == pytest.approx(
        2 * 40_000 * (1 if adjacency is Adjacency.ADD_REMOVE else math.sqrt(2))
    )


def test_totals_by_category_are_met():
    rng = np.random.default_rng(3)
    number = 20_000
    kinds = rng.choice(["a", "b", "c"], number, p=[0.6, 0.3, 0.1])
    amounts = np.rint(rng.lognormal(4, 1, number) * np.where(kinds == "c", 8, 1))
    frame = pd.DataFrame({"home": np.arange(number), "x": amounts, "k": kinds})
    schema = Schema(
        columns=TRADE.columns, ignored=["home"], amounts=[Amount(column="x", by="k")]
    )
    model = Synthesizer(schema=schema, settings=QUICK).fit(
        frame, Budget(rho=0.5), noise=SimulatedNoise(seed=2)
    )
    drawn = model.sample(number, rng=np.random.default_rng(1))
    totals = drawn.groupby("k")["x"].sum() / frame.groupby("k")["x"].sum()
    assert abs(totals - 1).max() < 0.12
    (note,) = model.report()["amounts"]
    assert note["total"] == pytest.approx(frame["x"].sum(), rel=0.1)
    assert Certificate.of(model).facts["amounts"][0]["by"] == "k"


@pytest.mark.parametrize("method", ["tables", "histogram", "copula", "priv-bayes"])
def test_one_far_cell_of_noise_does_not_make_the_total(method):
    rng = np.random.default_rng(5)
    amounts = np.minimum(np.floor(rng.pareto(1.5, 6000) + 1) * 10, 10**6).astype(int)
    frame = pd.DataFrame({"x": amounts, "g": rng.choice(["a", "b"], 6000)})
    column = Whole(name="x", low=0, high=10**6)
    schema = Schema(columns=[column, Category(name="g", values=["a", "b"])])
    adjacency = "replace" if method in ("copula", "priv-bayes") else "add-remove"
    model = Synthesizer(schema=schema, method=method).fit(
        frame,
        Budget(epsilon=1, delta=1e-6, adjacency=adjacency),
        noise=SimulatedNoise(seed=1),
    )
    drawn = model.sample(6000, rng=np.random.default_rng(1))
    assert 0.6 < drawn["x"].sum() / frame["x"].sum() < 1.6
    (call,) = [call for call in model.calls if call.what == "total"]
    assert call.columns == ("x",)
    (note,) = model.report()["amounts"]
    assert 0 <= note["beyond_records"] < 0.05
    assert sum(call.rho for call in model.calls) <= model.budget["rho"]


def test_no_amount_is_measured_where_none_is_wanted():
    frame = pd.DataFrame({"x": np.arange(900), "g": ["a", "b"] * 450})
    wide = Whole(name="x", low=0, high=10**6)
    for columns, amounts in (([wide], ()), ([Whole(name="x", low=0, high=999, bins=9)], None)):
        schema = Schema(
            columns=[*columns, Category(name="g", values=["a", "b"])], amounts=amounts
        )
        model = Synthesizer(schema=schema, settings=QUICK).fit(frame, Budget(rho=1.0))
        assert "total" not in {call.what for call in model.calls}


@pytest.mark.parametrize(
    "amount",
    [
        {"column": "x", "most": -5},
        {"column": "x", "least": 5},
        {"column": "x", "most": float("nan")},
        {"column": "x", "most": True},
        {"column": "x", "by": "x"},
        {"column": "x", "by": "none"},
        {"column": "k"},
        {"column": ""},
    ],
)
def test_amounts_that_cannot_be_meant_are_refused_when_declared(amount):
    with pytest.raises(SchemaError):
        Schema(columns=TRADE.columns, amounts=[Amount(**amount)])


def test_a_limit_on_the_side_where_no_amount_is_costs_nothing():
    schema = Schema(
        columns=[Whole(name="x", low=-900, high=0)], amounts=[Amount(column="x", most=7)]
    )
    with pytest.raises(SchemaError, match="wrong sign"):
        Synthesizer(schema=schema).check(pd.DataFrame({"x": [-4]}), Budget(rho=1.0))


@pytest.mark.parametrize("values", [("é", "e\u0301"), ("a", "a "), ("a b", "a\u00a0b")])
def test_categories_that_collide_are_refused_before_anything_is_paid(values):
    schema = Schema(columns=[Category(name="k", values=values)])
    noise = Listening()
    with pytest.raises(SchemaError, match="'k'"):
        Synthesizer(schema=schema).fit(
            pd.DataFrame({"k": [values[0]] * 9}), Budget(rho=1.0), noise=noise
        )
    assert not noise.totals


def test_amounts_survive_their_file_and_so_does_what_is_told_of_them(tmp_path):
    model = Synthesizer(schema=TRADE, settings=QUICK).fit(firms(400), Budget(rho=1.0))
    model.save(tmp_path / "model.json")
    again = type(model).load(tmp_path / "model.json")
    assert again.schema.amounts == TRADE.amounts
    assert again.report() == model.report()
    one, other = (m.sample(50, rng=np.random.default_rng(1)) for m in (model, again))
    assert one.equals(other)


def test_a_check_warns_before_payment_where_one_record_of_noise_outweighs_the_file():
    wide, near = Whole(name="x", low=0, high=10**6), Whole(name="y", low=0, high=5000)
    schema = Schema(columns=[wide, near])
    findings = [one for one in lint(schema, records=6000) if one.level == "warning"]
    assert [one.place for one in findings if "one record of noise" in one.text] == ["x"]
    notes = {one.place for one in lint(schema) if "its total is measured" in one.text}
    assert notes == {"x", "y"}


def test_a_check_names_amounts_that_contradict_their_bounds():
    schema = Schema(
        columns=[Whole(name="x", low=-900, high=0)], amounts=[Amount(column="x", most=7)]
    )
    assert [(one.level, "wrong sign" in one.text) for one in lint(schema)] == [("error", True)]
