"""Declarations: what holds together is read back, what does not is named with its place."""

import contextlib
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth import (
    Budget,
    Category,
    Date,
    EditRule,
    Real,
    Schema,
    SchemaError,
    SimulatedNoise,
    Synthesizer,
    UndeclaredError,
    Unit,
    Whole,
    lint,
    schema_from,
)

FULL = Schema(
    columns=[
        Whole(name="age", low=0, high=120, missing={"refused": -8}, declared_by="code book"),
        Real(name="wage", low=0, high=1e5, bins=20, spacing="log", points=(0, 1000.5)),
        Date(name="moved", low="2000-01-01", high="2020-12-31", bins=30),
        Category(name="sex", values=["F", "M"], missing={"unknown": None, "n/a": "N"}),
        Category(name="rank", values=[1, 2, 3], is_ordered=True, other=3),
        Whole(name="w", low=1, high=900, law="middle", outside="clip"),
    ],
    rules=["age >= 0", EditRule(name="wages of children", text="if age < 16 then wage == 0")],
    unit=Unit(name="household", identifier="home", most_records=6, excess="truncate"),
    weight="w",
    ignored=["notes"],
    about="persons 2027",
)


def test_a_schema_is_the_same_after_writing_and_reading(tmp_path):
    FULL.write(tmp_path / "schema.json")
    read = Schema.read(tmp_path / "schema.json")
    assert read == FULL
    assert read.digest == FULL.digest


def test_the_digest_changes_with_every_declaration():
    other = FULL.with_column(Category(name="sex", values=["M", "F"]))
    assert other.digest != FULL.digest


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda d: d["columns"][0].update(high=-1), "columns[0]: low is above high"),
        (lambda d: d["columns"][0].update(hihg=3), "columns[0].hihg: no such entry"),
        (lambda d: d["columns"][0].update(low="0"), "columns[0]: Bounds"),
        (lambda d: d["columns"][0].update(low=True), "columns[0]: Bounds"),
        (lambda d: d["columns"][0].update(bins=0), "columns[0]: bins"),
        (lambda d: d["columns"][0].update(missing={"refused": 8}), "columns[0]: The code"),
        (lambda d: d["columns"][0].pop("name"), "columns[0].name: missing"),
        (lambda d: d["columns"][0].update(name=3), "columns[0]: A column has a name"),
        (lambda d: d["columns"][1].update(points=[5e9]), "columns[1]: An edge or a point"),
        (lambda d: d["columns"][1].update(decimals=2.5), "columns[1]: decimals"),
        (lambda d: d["columns"][1].update(high=1e300), "columns[1]: Bounds"),
        (lambda d: d["columns"][2].update(low="2000-13-01"), "columns[2]: Bounds"),
        (lambda d: d["columns"][3].update(values=["F", "F"]), "columns[3]: A value"),
        (lambda d: d["columns"][3].update(values=[]), "columns[3]: values"),
        (lambda d: d["columns"][3].update(values=[["F"]]), "columns[3]: "),
        (lambda d: d["columns"][4].update(other=9), "columns[4]: other"),
        (lambda d: d["columns"][5].update(kind="whale"), "columns[5].kind: one of"),
        (lambda d: d["columns"].append("age"), "columns[6]: an object"),
        (lambda d: d["columns"].append(dict(d["columns"][0])), "declared twice: age"),
        (lambda d: d["rules"].append("age >"), "cannot be read"),
        (lambda d: d["rules"].append("height > 3"), "not declared: ['height']"),
        (lambda d: d["rules"].append("sex > 'F'"), "come in no order"),
        (lambda d: d["unit"].update(most_records=0), "unit: most_records"),
        (lambda d: d["unit"].update(identifier=None), "unit: A household has up to 6"),
        (lambda d: d["unit"].update(identifier="age"), "would be synthesised"),
        (lambda d: d.update(weight="sex"), "no column of numbers"),
        (lambda d: d.update(wieght="w"), "schema.wieght: no such entry"),
        (lambda d: d.update(columns={}), "columns: a list"),
        (lambda d: d.update(version=2), "newer version"),
        (lambda d: d.update(format="csv"), "not a schema"),
    ],
)
def test_a_schema_that_is_wrong_is_refused_with_its_place(change, place):
    found = json.loads(FULL.to_json())
    change(found)
    with pytest.raises(SchemaError) as refused:
        Schema.from_json(json.dumps(found))
    assert place in str(refused.value)


@pytest.mark.parametrize("text", ["", "[]", "3", "{", '{"format": NaN}', "[" * 100_000, "null"])
def test_what_is_no_schema_is_refused(text):
    with pytest.raises(SchemaError):
        Schema.from_json(text)


def test_an_entry_that_stands_twice_is_refused():
    with pytest.raises(SchemaError, match="twice"):
        Schema.from_json('{"format": "ckm-synth-schema", "format": "ckm-synth-schema"}')


@pytest.mark.slow
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    ),
    st.sampled_from(["columns", "rules", "unit", "weight", "ignored", "about"]),
)
def test_any_json_gives_a_schema_or_a_schema_error(value, entry):
    found = json.loads(FULL.to_json())
    found[entry] = value
    with contextlib.suppress(SchemaError):
        Schema.from_json(json.dumps(found))


def test_cells_begin_where_rules_say():
    schema = Schema(
        columns=[
            Whole(name="age", low=0, high=99, bins=5),
            Real(name="x", low=0, high=1, bins=2),
        ],
        rules=["age < 18 or x <= 0.25"],
    ).cut_at_rules()
    assert 18 in schema.column("age").grid.starts
    assert 26 in schema.column("x").grid.starts
    assert schema.cut_at_rules() == schema


def test_points_are_cells_of_their_own():
    hours = Whole(name="hours", low=0, high=99, bins=4, points=(0, 40))
    assert {(0, 0), (40, 40)} <= set(hours.grid.cells())


@pytest.mark.slow
def test_too_many_cells_are_refused():
    with pytest.raises(SchemaError, match="100000"):
        Whole(name="x", low=0, high=10**6, bins=10**6)


def test_lint_tells_what_would_leak_and_never_asks_for_values():
    schema = Schema(columns=[Whole(name="age"), Category(name="sex", values=["F", "M"])])
    found = lint(schema, names=["age", "surprise"])
    errors = {(one.place, one.level) for one in found if one.level == "error"}
    assert errors == {("age", "error"), ("surprise", "error"), ("sex", "error")}
    assert not [one for one in lint(FULL) if one.level == "error"]


def test_lint_tells_what_bins_will_cost_that_nobody_declares():
    wide = {"low": 0, "high": 99_999, "declared_by": "code book"}
    columns = [
        Whole(name="alone", **wide),
        Whole(name="narrow", low=0, high=99),
        Whole(name="bins", bins=40, **wide),
        Whole(name="points", points=(0,), **wide),
        Real(name="edges", edges=(0, 10, 1000), **wide),
    ]
    found = [one for one in lint(Schema(columns=columns)) if "10.0% of the budget" in one.text]
    assert [(one.place, one.level) for one in found] == [("alone", "note"), ("points", "note")]


def test_lint_tells_how_much_of_a_column_will_be_noise():
    schema = Schema(
        columns=[
            Whole(name="age", low=0, high=99),
            Category(name="sex", values=["F", "M"]),
            Whole(name="pay", low=0, high=99_999),
        ],
        unit=Unit(name="home", identifier="home", most_records=2),
    )
    budget, number = Budget(epsilon=1, delta=1e-6), 2000
    frame = pd.DataFrame({"home": range(number), "age": 40, "sex": "F", "pay": 7})
    fitted = Synthesizer(schema=schema, method="tables").fit(
        frame, budget, noise=SimulatedNoise(seed=1)
    )
    found = {one.place: one for one in lint(schema, records=number, budget=budget)}
    scale = next(call.scale for call in fitted.calls if call.what == "margin")
    noise = np.random.default_rng(1).normal(0, scale, (4000, 100))
    moved = np.abs(noise).sum(axis=1).mean() / 2 / number
    told = float(found["age"].text.split("%")[0].rsplit(" ", 1)[1]) / 100
    assert told == pytest.approx(moved, rel=0.25)  # how many bins pay will have is not known
    assert (found["age"].level, found["sex"].level) == ("warning", "note")
    assert "noise moves" not in found["pay"].text
    table = next(call.scale for call in fitted.calls if call.what == "table")
    assert f"noise of scale {table:.3g}" in found["tables"].text


def test_lint_names_rules_that_the_model_cannot_know():
    wide = {"low": 0, "high": 10**6, "bins": 600}
    schema = Schema(
        columns=[Whole(name="a", **wide), Whole(name="b", **wide)], rules=["a <= b"]
    )
    assert any("drawn again" in one.text for one in lint(schema))


def test_undeclared_columns_are_named():
    with pytest.raises(UndeclaredError, match="'age'"):
        Schema(columns=[Whole(name="age"), Whole(name="x", low=0, high=1)]).require_declared()


def test_schemas_of_other_tools_become_ours():
    nist = {
        "schema": {
            "MSP": {
                "has_null": True,
                "null_value": "N",
                "dtype": "object",
                "values": ["N", "1"],
            },
            "AGEP": {"dtype": "int64", "min": 0, "max": 95},
            "DENSITY": {"dtype": "float64", "min": 16, "max": 52864},
        }
    }
    made = schema_from(nist, declared_by="NIST")
    assert [column.kind for column in made.columns] == ["category", "whole", "real"]
    assert made.column("MSP").missing == {"not applicable": "N"}
    assert made.is_declared
    sdv = {"tables": {"t": {"columns": {"a": {"sdtype": "numerical"}, "i": {"sdtype": "id"}}}}}
    assert schema_from(sdv).undeclared == ["a"]
    for wrong in ({}, {"columns": 3}, {"categories": {"a": 3}}, {"tables": {}}):
        with pytest.raises(SchemaError):
            schema_from(wrong)


def test_lint_tells_what_follows_from_others_and_what_it_cannot_tell_yet():
    columns = [Whole(name=name, low=0, high=10_000) for name in ("total", "one", "two")]
    schema = Schema(columns=columns, rules=["total == one + two"])
    given = {"records": 5000, "budget": Budget(rho=0.1)}
    told = [one.text for one in lint(schema, **given) if one.place == "total"]
    assert told == ["follows from other columns by a rule, and costs nothing"]
    undeclared = lint(Schema(columns=[*columns, Category(name="sex")]), **given)
    assert "all domains are declared" in {one.place: one.text for one in undeclared}["tables"]
