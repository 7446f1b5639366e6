"""From records to a model and back: within the budget, the domain and the rules."""

import datetime as dt
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dp import DPError
from synth import (
    Budget,
    Category,
    Date,
    DomainError,
    Model,
    RuleError,
    Schema,
    SchemaError,
    SimulatedNoise,
    SynthError,
    Synthesizer,
    TableSettings,
    UndeclaredError,
    Unit,
    UnitError,
    Whole,
)
from synth.frames import read_records
from synth.picture import draw_structure, structure
from synth.schema.discovery import Discovery
from synth.schema.public import Prior

QUICK = TableSettings(steps=5, rounds=1)
BUDGET = Budget(epsilon=4, delta=1e-6)
SCHEMA = Schema(
    columns=[
        Whole(name="age", low=0, high=99, bins=10, missing={"refused": -8}),
        Category(name="status", values=["single", "married"], missing={"unknown": None}),
        Whole(name="hours", low=0, high=60, bins=6, points=(0, 40)),
        Date(name="moved", low="2000-01-01", high="2020-12-31", bins=6),
    ],
    rules=[
        "if age < 16 then status == 'single'",
        "if age < 14 then hours == 0",
        "hours <= age",
    ],
)


def people(number=2000, seed=1):
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 99, number)
    status = np.where((age > 20) & (rng.random(number) < 0.7), "married", "single")
    hours = np.where(age < 20, 0, np.where(rng.random(number) < 0.5, 40, 30))
    return pd.DataFrame(
        {
            "age": np.where(rng.random(number) < 0.05, -8, age),
            "status": pd.Series(status).where(rng.random(number) > 0.03, None),
            "hours": np.minimum(hours, age),
            "moved": pd.to_datetime("2000-01-01")
            + pd.to_timedelta(rng.integers(0, 7000, number), "D"),
        }
    )


def fit(frame=None, schema=SCHEMA, budget=BUDGET, **options):
    synthesizer = Synthesizer(schema=schema, settings=QUICK)
    frame = people() if frame is None else frame
    return synthesizer.fit(frame, budget, noise=SimulatedNoise(seed=1), **options)


@pytest.fixture(scope="module")
def model():
    return fit()


def sampled(model, number=500, seed=1, **options):
    return model.sample(number, rng=np.random.default_rng(seed), **options)


def test_synthetic_records_look_like_records_and_break_no_rule(model):
    found = sampled(model, 3000)
    assert found.dtypes.drop("moved").to_dict() == people().dtypes.drop("moved").to_dict()
    assert {type(day) for day in found["moved"].dropna()} == {dt.date}
    age, hours = found["age"], found["hours"]
    known = age >= 0
    assert set(found["status"].dropna()) == {"single", "married"}
    assert not ((age < 16) & known & (found["status"] == "married")).any()
    assert not ((age < 14) & known & (hours != 0)).any()
    assert not (known & (hours > age)).any()
    assert (age == -8).any()
    assert found["status"].isna().any()
    assert (hours == 40).mean() > 0.2


def test_what_was_drawn_has_no_violations_and_what_was_not_has(model):
    drawn = model.draw(500, rng=np.random.default_rng(1))
    assert set(model.violations(drawn).values()) == {0}
    drawn.numbers["hours"][:] = 60
    drawn.numbers["age"][:] = 1
    drawn.codes[:, 0] = 0
    assert model.violations(drawn)["hours <= age"] == 500


def test_the_bill_is_within_the_budget(model):
    spent = sum(call.price()[0] for call in model.calls)
    assert 0.5 * BUDGET.concentrated() < spent <= BUDGET.concentrated()
    assert all(call.price()[0] <= call.rho * (1 + 1e-12) for call in model.calls)


def test_the_same_seed_draws_the_same_records(model):
    assert sampled(model, seed=3).equals(sampled(model, seed=3))
    assert not sampled(model, seed=3).equals(sampled(model, seed=4))


@pytest.mark.parametrize("name", ["model.json", "model.parquet"])
def test_a_saved_model_draws_the_same_records(model, tmp_path, name):
    model.save(tmp_path / name)
    read = Model.load(tmp_path / name)
    assert sampled(read).equals(sampled(model))
    assert read.calls == model.calls
    assert read.report() == model.report()


@pytest.mark.parametrize(
    "content",
    [b"", b"{}", b"[]", b"\x80\x04.", b'{"format": "ckm-synth-fitted", "version": 1}'],
)
@pytest.mark.parametrize("name", ["model.json", "model.parquet"])
def test_what_is_no_model_is_refused(tmp_path, content, name):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(SynthError):
        Model.load(tmp_path / name)
    with pytest.raises(SynthError):
        Model.load(tmp_path / "absent.json")


def test_a_model_that_does_not_fit_its_schema_is_refused(model, tmp_path):
    model.save(tmp_path / "m.json")
    found = json.loads((tmp_path / "m.json").read_text())
    found["schema"]["columns"][1]["values"] = ["single"]
    (tmp_path / "m.json").write_text(json.dumps(found))
    with pytest.raises(SynthError):
        Model.load(tmp_path / "m.json")


def test_conditions_hold_exactly(model):
    found = sampled(model, 200, conditions={"age": 33, "status": "married"})
    assert set(found["age"]) == {33}
    assert set(found["status"]) == {"married"}
    assert set(sampled(model, 50, conditions={"age": -8})["age"]) == {-8}
    assert sampled(model, 50, conditions={"status": None})["status"].isna().all()
    some = sampled(model, 200, where="age >= 60 and hours == 40")
    assert len(some) == 200
    assert (some["age"] >= 60).all()


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"conditions": {"age": 3, "status": "married"}}, SynthError),
        ({"conditions": {"age": 1, "hours": 40}}, SynthError),
        ({"conditions": {"height": 3}}, SchemaError),
        ({"conditions": {"age": 300}}, DomainError),
        ({"conditions": {"status": ["single"]}}, DomainError),
        ({"where": "height > 3"}, RuleError),
        ({"where": "age > 300"}, RuleError),
    ],
)
def test_conditions_that_cannot_hold_are_refused(model, options, error):
    with pytest.raises(error):
        sampled(model, 10, **options)


def test_numbers_of_records_are_whole_and_from_zero(model):
    assert len(sampled(model, 0)) == 0
    for number in (-1, 1.5, True, "3"):
        with pytest.raises(SynthError):
            sampled(model, number)


def test_the_model_does_not_tell_whether_null_occurred():
    schema = Schema(
        columns=[
            Whole(name="a", low=0, high=9, missing={"unknown": None}),
            Category(name="b", values=["x"], missing={"unknown": None}),
            Category(name="c", values=[True, False], missing={"unknown": None}),
        ]
    )
    frames = [
        pd.DataFrame({"a": [1, 2], "b": ["x", "x"], "c": [True, False]}),
        pd.DataFrame({"a": [1, None], "b": ["x", None], "c": [True, None]}),
        pd.DataFrame({"a": [None, None], "b": [None, None], "c": [None, None]}),
    ]
    models = [fit(frame, schema) for frame in frames]
    assert len({str(sampled(model).dtypes.to_dict()) for model in models}) == 1


ODD = Schema(
    columns=[
        Whole(name="a", low=0, high=9, missing={"unknown": None}),
        Whole(name="b", low=0, high=9, outside="clip"),
        Category(name="c", values=[1, 2, 3], other=3),
        Category(name="d", values=["x", "y"], missing={"unknown": None}),
    ]
)


@pytest.mark.parametrize("way", ["pandas", "parquet", "dictionary"])
def test_one_odd_value_does_not_change_the_model(way, tmp_path):
    plain = pd.DataFrame({"a": [1, 2], "b": [3, 4], "c": [1, 2], "d": ["x", "y"]})
    odd = pd.DataFrame(
        {"a": [1, None], "b": [3, np.inf], "c": [1.0, 7.0], "d": [None, None]},
    )
    if way == "pandas":
        odd = odd.astype({"c": object})
        odd.loc[0, "c"] = "one"
    files, types = set(), set()
    for frame in (plain, odd):
        records = frame
        if way != "pandas":
            frame.to_parquet(tmp_path / "records.parquet")
            records = read_records(tmp_path / "records.parquet")
        if way == "dictionary":
            index = pa.int8() if frame is plain else pa.int16()
            coded = (
                pa.array(["x", "y"]).dictionary_encode().cast(pa.dictionary(index, pa.string()))
            )
            records = records.set_column(3, "d", coded)
        model = fit(records, ODD)
        files.add(json.dumps(model._content()["schema"]))
        drawn = sampled(model, 50)
        types.add(str(drawn.dtypes if way == "pandas" else drawn.schema))
    assert len(files) == 1
    assert len(types) == 1, types


def test_arrow_records_give_arrow_records():
    table = pa.table(
        {"status": pa.array(["single", "married", None] * 100).dictionary_encode()}
    )
    schema = Schema(columns=[SCHEMA.columns[1]])
    found = sampled(fit(table, schema))
    assert isinstance(found, pa.Table)
    assert found.schema.field("status").type == pa.string()


@pytest.mark.parametrize("values", [[7] * 50, [None] * 50, [7], [None]])
def test_constant_missing_and_single_records_are_handled(values):
    schema = Schema(columns=[Whole(name="a", low=7, high=7, missing={"unknown": None})])
    frame = pd.DataFrame({"a": pd.Series(values, dtype="float64")})
    assert len(sampled(fit(frame, schema), 20)) == 20


@pytest.mark.slow
def test_a_column_of_a_hundred_thousand_categories_is_handled():
    values = [f"v{i}" for i in range(100_000)]
    schema = Schema(columns=[Category(name="a", values=values), SCHEMA.columns[1]])
    frame = pd.DataFrame({"a": values[:1000], "status": ["single"] * 1000})
    assert len(sampled(fit(frame, schema), 20)) == 20


def test_no_records_are_refused():
    with pytest.raises(DomainError, match="no records"):
        fit(people().iloc[:0])


@pytest.mark.parametrize(
    "amounts",
    [
        {},
        {"epsilon": 0, "delta": 1e-6},
        {"epsilon": -1, "delta": 1e-6},
        {"epsilon": float("nan"), "delta": 1e-6},
        {"epsilon": float("inf"), "delta": 1e-6},
        {"epsilon": 1},
        {"epsilon": 1, "delta": 1},
        {"rho": 0},
        {"rho": -1},
        {"rho": float("nan")},
        {"rho": float("inf")},
        {"rho": 1, "epsilon": 1},
        {"rho": 1, "delta": 1e-6},
        {"rho": 1, "adjacency": "local"},
        {"rho": 1, "adjacency": "near"},
    ],
)
def test_a_budget_that_is_none_is_refused(amounts):
    with pytest.raises((SynthError, DPError)):
        Budget(**amounts)


def test_undeclared_domains_are_refused_before_records_are_read():
    schema = Schema(columns=[Category(name="status")])
    with pytest.raises(UndeclaredError, match="'status'"):
        Synthesizer(schema=schema).fit(None, BUDGET)


def test_found_domains_are_on_the_bill_and_rare_values_are_not_shown():
    frame = people(5000)
    frame["city"] = ["rare"] + ["large"] * 3000 + ["small"] * 1999
    schema = Schema(
        columns=[Whole(name="age", missing={"refused": -8}), Category(name="city")],
        ignored=["status", "hours", "moved"],
    )
    model = fit(frame, schema, discovery=Discovery(share=0.3))
    city, age = model.schema.column("city"), model.schema.column("age")
    assert set(city.known) == {"large", "small", "other"}
    assert (age.low, age.high) == (0, 99)
    assert {call.what for call in model.calls} >= {"categories", "bounds"}
    assert sum(call.delta for call in model.calls) == pytest.approx(BUDGET.delta / 2)
    assert sum(call.rho for call in model.calls) <= model.budget["rho"]
    assert "rare" not in json.dumps(model.report())


def test_a_value_of_one_unit_shows_through_with_delta_at_most():
    from synth.marginals.measuring import Neighbours
    from synth.marginals.spending import Call
    from synth.schema.discovery import discover

    near = Neighbours(rows=3, unit="household")
    _, calls = discover(
        pd.DataFrame({"c": ["x"] * 900}),
        Schema(columns=[Category(name="c")]),
        rho=0.5,
        delta=0.01,
        neighbours=near,
        noise=SimulatedNoise(seed=1),
    )
    call = calls[0]
    assert call == Call.from_dict(call.to_dict())
    assert call.price()[0] <= 0.5
    assert call.price()[1] <= 0.01
    # By the law itself: a geometric of this scale carries a count of 3 over the threshold.
    ratio = np.exp(-1 / call.scale)
    steps = np.ceil(call.threshold - 3)
    assert 3 * ratio**steps / (1 + ratio) <= 0.01


def test_finding_categories_needs_a_delta():
    schema = Schema(columns=[Category(name="a")])
    with pytest.raises(SynthError, match="delta"):
        fit(pd.DataFrame({"a": ["x"]}), schema, Budget(rho=1), discovery=Discovery())


def test_finding_domains_in_odd_columns_raises_typed_errors():
    for values in ([[1]], [1.5], [b"x"]):
        with pytest.raises(DomainError):
            fit(
                pd.DataFrame({"a": pd.Series(values, dtype=object)}),
                Schema(columns=[Category(name="a")]),
                discovery=Discovery(),
            )
    with pytest.raises(SynthError, match="stand out"):
        fit(pd.DataFrame({"a": [5]}), Schema(columns=[Whole(name="a")]), discovery=Discovery())


def test_households_pay_for_all_their_records():
    frame = people(600)
    frame["home"] = np.arange(600) // 3
    unit = {"name": "household", "identifier": "home"}
    by_home = Schema(columns=SCHEMA.columns, unit=Unit(**unit, most_records=3))
    model = fit(frame, by_home)
    assert {call.sensitivity for call in model.calls if call.what == "margin"} == {3.0}
    assert model.schema.unit.name == "household"
    tight = Schema(columns=SCHEMA.columns, unit=Unit(**unit, most_records=2))
    with pytest.raises(UnitError):
        fit(frame, tight)


def test_published_tables_cost_nothing():
    table = people().groupby("age").size().rename("count").reset_index()
    model = fit(priors=[Prior(table=table, source="yearbook")])
    margins = {call.columns for call in model.calls if call.what == "margin"}
    assert ("age",) not in margins
    assert ("hours",) in margins
    assert model.priors[0]["source"] == "yearbook"


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"age": [1]}),
        pd.DataFrame({"count": [1]}),
        pd.DataFrame({"height": [1], "count": [1]}),
        pd.DataFrame({"age": [1], "count": [np.nan]}),
        pd.DataFrame({"age": [999], "count": [1]}),
    ],
)
def test_a_published_table_that_does_not_fit_is_refused(table):
    with pytest.raises(SynthError):
        fit(priors=[Prior(table=table)])


@pytest.mark.parametrize(
    "options",
    [
        {"method": "magic"},
        {"label": "height"},
        {"workload": ["age"]},
        {"workload": [("age", "height")]},
    ],
)
def test_a_synthesizer_that_makes_no_sense_is_refused(options):
    with pytest.raises(SynthError):
        Synthesizer(schema=SCHEMA, **options)


def test_the_workload_reaches_the_engine():
    only = Synthesizer(schema=SCHEMA, settings=QUICK, workload={("age", "hours"): 2.0})
    model = only.fit(people(), BUDGET, noise=SimulatedNoise(seed=1))
    assert {call.columns for call in model.calls if call.what == "table"} == {("age", "hours")}


def test_the_structure_is_drawn_and_hostile_names_are_harmless():
    name = "<script>&\u202e\x07"
    schema = Schema(columns=[Category(name=n, values=["x", "y"]) for n in (name, "b")])
    frame = pd.DataFrame({name: ["x", "y"] * 500, "b": ["x", "y"] * 500})
    model = fit(frame, schema)
    assert structure(model)["links"][0]["cramers_v"] > 0.9
    picture = draw_structure(model)
    assert "<script" not in picture
    assert "\x07" not in picture
    import xml.etree.ElementTree as ET

    assert ET.fromstring(picture).tag.endswith("svg")  # noqa: S314
    assert "V de Cramér" in draw_structure(model, language="fr")
