"""Codes that nest: what is declared, what is refused, and that nothing impossible is drawn."""

import json
import math

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
    SchemaError,
    SimulatedNoise,
    SynthError,
    Synthesizer,
    Whole,
    lint,
)
from synth.marginals.spending import TableSettings, gaussian_price
from synth.schema.discovery import Discovery
from synth.schema.migration import read_dictionary
from synth.schema.nesting import Parents, nested_looking, parents_from_tree
from synth.schema.nesting_count import COUNTED, SHARE

QUICK = TableSettings(steps=8, rounds=1)
REGIONS = ["A", "B", "C"]
DISTRICTS = [f"{region}{one}" for region in REGIONS for one in range(1, 7)]
TOWNS = [f"{district}{one}" for district in DISTRICTS for one in range(10, 18)]
COLUMNS = [
    Category(name="town", values=TOWNS, missing={"unknown": None}),
    Category(name="region", values=REGIONS),
    Category(name="district", values=DISTRICTS, missing={"unknown": None, "secret": "S"}),
    Whole(name="age", low=0, high=99, bins=5),
]
PARENTS = (
    Parents(child="town", parent="district", prefix=2),
    Parents(child="district", parent="region", prefix=1),
)
DECLARED = Schema(columns=COLUMNS, parents=PARENTS)


def people(number=3000, *, seed=1):
    rng = np.random.default_rng(seed)
    towns = rng.choice(TOWNS, number, p=rng.dirichlet(np.full(len(TOWNS), 0.3)))
    frame = pd.DataFrame({"town": towns, "age": rng.integers(0, 100, number)})
    frame["district"] = frame["town"].str[:2]
    frame["region"] = frame["town"].str[0]
    frame.loc[rng.random(number) < 0.1, "town"] = None
    frame.loc[rng.random(number) < 0.05, "district"] = "S"
    return frame


def impossible(frame):
    """Return how many records have a code that does not lie in their coarser one."""
    town, district, region = (frame[name] for name in ("town", "district", "region"))
    is_known = ~district.isin(["S"]) & district.notna()
    return int(
        (is_known & town.notna() & (town.str[:2] != district)).sum()
        + (is_known & (district.str[0] != region)).sum()
    )


def fitted(schema=DECLARED, *, method="tables", epsilon=1.0, frame=None, seed=1):
    adjacency = "replace" if method in {"copula", "priv-bayes"} else "add-remove"
    return Synthesizer(
        schema=schema, method=method, settings=QUICK if method == "tables" else None
    ).fit(
        people() if frame is None else frame,
        Budget(epsilon=epsilon, delta=1e-5, adjacency=adjacency),
        noise=SimulatedNoise(seed=seed),
    )


@pytest.mark.parametrize("method", ["tables", "histogram", "copula", "priv-bayes"])
def test_no_method_draws_a_code_outside_its_declared_parent(method):
    model = fitted(method=method, epsilon=0.3)
    records = model.draw(4000, rng=np.random.default_rng(1))
    drawn = model.sample(4000, rng=np.random.default_rng(1))
    assert impossible(drawn) == 0
    assert model.violations(records) == {"town in district": 0, "district in region": 0}
    how = "construction" if method == "tables" else "repair"
    assert model.report()["rules"] == {"town in district": how, "district in region": how}
    assert set(drawn["region"]) == {*REGIONS}
    assert drawn["town"].isna().any()


def test_nesting_holds_after_saving_and_under_conditions(tmp_path):
    model = fitted()
    model.save(tmp_path / "model.json")
    again = Model.load(tmp_path / "model.json")
    pd.testing.assert_frame_equal(
        model.sample(300, rng=np.random.default_rng(1)),
        again.sample(300, rng=np.random.default_rng(1)),
    )
    conditions = (
        {"conditions": {"district": "B3"}},
        {"conditions": {"town": "B311"}},
        {"conditions": {"region": "B"}},
        {"where": "district in ('A1', 'B3')"},
    )
    for one in conditions:
        for each in (again, fitted(method="histogram")):
            drawn = each.sample(60, rng=np.random.default_rng(2), **one)
            assert impossible(drawn) == 0
            for name, value in one.get("conditions", {}).items():
                assert set(drawn[name]) == {value}


def test_columns_that_only_look_nested_stay_as_they_are():
    frame = people()
    frame["region"] = np.random.default_rng(3).permutation(frame["region"].to_numpy())
    model = fitted(Schema(columns=COLUMNS), frame=frame)
    assert [one.label for one in model.schema.parents] == ["town in district"]
    drawn = model.sample(3000, rng=np.random.default_rng(1))
    outside = drawn["district"].notna() & (drawn["district"].str[0] != drawn["region"])
    assert outside.mean() > 0.4


def test_what_nobody_declared_is_counted_at_a_price_and_then_holds():
    model = fitted(Schema(columns=COLUMNS), epsilon=3.0)
    calls = [one for one in model.calls if one.what == "nesting"]
    assert {one.columns for one in calls} == {("town", "district"), ("district", "region")}
    budget = Budget(epsilon=3.0, delta=1e-5).concentrated()
    assert sum(one.rho for one in calls) <= SHARE * budget
    assert all(one.rho >= gaussian_price(1.0, one.scale) * (1 - 1e-9) for one in calls)
    assert sum(one.rho for one in model.calls) <= budget
    assert impossible(model.sample(3000, rng=np.random.default_rng(1))) == 0
    assert all(one.declared_by == COUNTED for one in model.schema.parents)
    facts = Certificate.of(model).facts
    assert [one["kept_by"] for one in facts["parents"]] == ["construction"] * 2
    without = {**facts, "calls": [one for one in facts["calls"] if one["what"] != "nesting"]}
    assert any("not paid for" in one for one in Certificate(without).verify())


class Listening(SimulatedNoise):
    """Noise that is none, and remembers pairs of counts."""

    def __init__(self):
        super().__init__(seed=1)
        self.pairs = []

    def add(self, counts, mechanism):
        if counts.shape == (2,):
            self.pairs.append((counts.copy(), mechanism))
        return counts


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_a_neighbour_moves_the_counts_of_nesting_no_farther_than_stated(adjacency):
    frame = people(400)
    schema = Schema(columns=COLUMNS)
    other = frame.copy()
    other.loc[0, ["town", "district", "region"]] = ["A110", "C6", "B"]
    neighbours = [frame, frame.iloc[1:]] if adjacency == "add-remove" else [frame, other]
    answers = []
    for one in neighbours:
        noise = Listening()
        Synthesizer(schema=schema, settings=QUICK).fit(
            one.reset_index(drop=True),
            Budget(epsilon=1, delta=1e-5, adjacency=Adjacency(adjacency)),
            noise=noise,
        )
        answers.append(noise.pairs[:2])
    for (one, how), (two, _) in zip(*answers, strict=True):
        assert math.dist(one, two) <= how.sensitivity.l2 + 1e-9


def test_rules_and_parents_that_are_declared_cost_nothing():
    said = [
        DECLARED,
        Schema(columns=COLUMNS, parents=[]),
        Schema(
            columns=COLUMNS,
            rules=[
                "if district == 'A1' then region == 'A'",
                "if town == 'A110' then district == 'A1'",
            ],
        ),
    ]
    for schema in said:
        assert "nesting" not in {one.what for one in fitted(schema).calls}


def test_rules_hold_beside_parents():
    schema = Schema(
        columns=COLUMNS, parents=PARENTS, rules=["if age < 20 then district != 'A1'"]
    )
    drawn = fitted(schema).sample(3000, rng=np.random.default_rng(1))
    assert not ((drawn["age"] < 20) & (drawn["district"] == "A1")).any()
    assert impossible(drawn) == 0
    never = Schema(
        columns=COLUMNS[:2],
        parents=[Parents(child="town", parent="region", prefix=1)],
        rules=["if region == 'A' then missing(town)", "not missing(town)", "region == 'A'"],
    )
    with pytest.raises(SynthError, match="No record can satisfy"):
        Synthesizer(schema=never).check(
            people()[["town", "region"]].dropna(), Budget(epsilon=1, delta=1e-5)
        )


def test_a_code_may_lie_in_no_single_parent():
    columns = [
        Category(name="town", values=["a1", "b1", "abroad"]),
        Category(name="region", values=["a", "b"]),
    ]
    codes = {"a1": "a", "b1": "b", "abroad": None}
    schema = Schema(
        columns=columns, parents=[Parents(child="town", parent="region", codes=codes)]
    )
    frame = pd.DataFrame({"town": ["a1", "b1", "abroad", "abroad"] * 500})
    frame["region"] = np.where(frame["town"] == "a1", "a", "b")
    frame.loc[frame.index % 8 == 3, "region"] = "a"
    drawn = fitted(schema, frame=frame, epsilon=5.0).sample(2000, rng=np.random.default_rng(1))
    assert set(drawn.loc[drawn["town"] == "abroad", "region"]) == {"a", "b"}
    assert set(drawn.loc[drawn["town"] == "a1", "region"]) == {"a"}
    assert Schema.from_json(schema.to_json()) == schema


WRONG = {
    "own parent": [{"child": "town", "parent": "town", "prefix": 1}],
    "no codes that nest": [{"child": "age", "parent": "region", "prefix": 1}],
    "not declared": [{"child": "town", "parent": "county", "prefix": 1}],
    "codes or by a prefix": [{"child": "town", "parent": "region"}],
    "have no parent": [{"child": "town", "parent": "district", "prefix": 3}],
    "no values of": [{"child": "district", "parent": "region", "codes": {"Z9": "A"}}],
    "declared twice": [{"child": "town", "parent": "region", "prefix": 1}] * 2,
    "circle": [
        {"child": "town", "parent": "district", "prefix": 2},
        {"child": "district", "parent": "town", "prefix": 1},
    ],
    "different codes": [
        {"child": "town", "parent": "district", "prefix": 2},
        {"child": "district", "parent": "region", "prefix": 1},
        {"child": "town", "parent": "region", "codes": dict.fromkeys(TOWNS, "A")},
    ],
    "whole number from 1": [{"child": "town", "parent": "region", "prefix": 0}],
    "no such entry": [{"child": "town", "parent": "region", "prefix": 1, "level": 2}],
}


@pytest.mark.parametrize("problem", WRONG)
def test_parents_that_contradict_are_refused_as_the_schema_is_read(problem):
    content = Schema(columns=COLUMNS).to_dict() | {"parents": WRONG[problem]}
    with pytest.raises(SchemaError, match=problem):
        Schema.from_json(json.dumps(content))


def test_a_code_with_two_parents_is_refused():
    town, region = COLUMNS[0], COLUMNS[1]
    with pytest.raises(SchemaError, match="two parents"):
        parents_from_tree(town, region, tree=[("A110", "A"), ("A110", "B")])
    with pytest.raises(SchemaError, match="two parents"):
        Parents(child="t", parent="r", codes={1: "A", "1": "B"})
    with pytest.raises(SchemaError, match="circle"):
        parents_from_tree(town, region, tree=[("A110", "x"), ("x", "A110")])


def test_lint_names_codes_that_look_nested_and_reads_no_record():
    findings = {one.place: one.text for one in lint(Schema(columns=COLUMNS))}
    assert "look nested in 'district'" in findings["town"]
    assert '{"child": "town", "parent": "district", "prefix": 2}' in findings["town"]
    assert "look nested in 'region'" in findings["district"]
    for schema in (DECLARED, Schema(columns=COLUMNS, parents=[])):
        assert not [one for one in lint(schema) if "look nested" in one.text]
    lonely = Schema(
        columns=[
            Category(name="town", values=["a1", "a2"]),
            Category(name="region", values=["a", "b"]),
        ],
        parents=[Parents(child="town", parent="region", prefix=1)],
    )
    assert [one.place for one in lint(lonely) if "never drawn" in one.text] == ["region"]


@pytest.mark.parametrize(
    ("child", "parent"),
    [
        (["10", "11"], ["1", "2"]),  # no code lies in 2
        (["A", "B"], ["A", "B"]),
        ([11, 12, 21, 22], [1, 2]),  # every number begins with a digit
        (["A1", "B1", "C1"], ["A", "B"]),
        (["A1", "A2"], ["A"]),
    ],
)
def test_lists_that_are_alike_by_accident_do_not_look_nested(child, parent):
    columns = [Category(name="c", values=child), Category(name="p", values=parent)]
    assert nested_looking(columns) == []


def test_a_coarse_code_in_which_nothing_lies_does_not_hide_that_others_nest():
    regions = [*"ABCDE", "Z"]
    towns = [f"{one}{two}" for one in "ABCDE" for two in (1, 2)]
    columns = [Category(name="t", values=towns), Category(name="r", values=regions)]
    assert [one.label for one in nested_looking(columns)] == ["t in r"]


def test_values_that_differ_by_capitals_alone_are_refused_before_anything_is_paid():
    values = ["Paris", "paris"]
    schema = Schema(columns=[Category(name="town", values=values)])
    frame = pd.DataFrame({"town": values * 50})
    with pytest.raises(SchemaError, match="differ by capitals") as refusal:
        Synthesizer(schema=schema).check(frame, Budget(epsilon=1, delta=1e-5))
    assert values[0] not in str(refusal.value)
    assert [one.level for one in lint(schema) if "differ by" in one.text] == ["error"]


@pytest.mark.parametrize("values", [["Lyon", "Lyon "], ["Orl\u00e9ans", "Orle\u0301ans"]])
def test_values_that_are_written_alike_are_refused_before_anything_is_paid(values):
    schema = Schema(columns=[Category(name="town", values=values)])
    frame = pd.DataFrame({"town": values * 50})
    with pytest.raises(SchemaError, match="alike"):
        Synthesizer(schema=schema).check(frame, Budget(epsilon=1, delta=1e-5))


def test_capitals_tell_values_apart_where_that_is_declared():
    schema = Schema(columns=[Category(name="s", values=["a", "A"], is_case_sensitive=True)])
    Synthesizer(schema=schema).check(
        pd.DataFrame({"s": ["a", "A"]}), Budget(epsilon=1, delta=1e-5)
    )


def test_parents_of_values_that_are_to_be_found_are_refused_before_they_are_paid_for():
    columns = [Category(name="town"), Category(name="region", values=REGIONS)]
    schema = Schema(columns=columns, parents=[Parents(child="town", parent="region", prefix=1)])
    with pytest.raises(SchemaError, match="without declared values: town"):
        Synthesizer(schema=schema).check(
            people()[["town", "region"]],
            Budget(epsilon=1, delta=1e-5),
            discovery=Discovery(share=0.1),
        )


SDMX = """<Structure><Codelist id="CL_R"><Code id="R1"/><Code id="R2"/></Codelist>
<Codelist id="CL_D"><Code id="D1"><Parent><Ref id="R1"/></Parent></Code>
<Code id="D2"><Parent>R1</Parent></Code>
<Code id="D3"><Parent><Ref id="R2"/></Parent></Code></Codelist>
<DataStructure id="S"><Dimension id="district"><LocalRepresentation><Enumeration>
<Ref id="CL_D"/></Enumeration></LocalRepresentation></Dimension>
<Dimension id="region"><LocalRepresentation><Enumeration><Ref id="CL_R"/></Enumeration>
</LocalRepresentation></Dimension></DataStructure></Structure>"""
DDI = """<codeBook><var name="district">
<catgry ID="c1"><catValu>D1</catValu></catgry><catgry ID="c2"><catValu>D2</catValu></catgry>
<catgry ID="c3"><catValu>D3</catValu></catgry>
<catgryGrp catgry="c1 c2"><labl>R1</labl></catgryGrp>
<catgryGrp catgry="c3"><labl>R2</labl></catgryGrp></var>
<var name="region"><catgry><catValu>R1</catValu></catgry><catgry><catValu>R2</catValu></catgry>
</var></codeBook>"""
CSVW = json.dumps(
    {
        "@context": "http://www.w3.org/ns/csvw",
        "tableSchema": {
            "columns": [
                {
                    "name": "district",
                    "qb:codeList": {
                        "skos:memberList": [
                            {"skos:notation": "D1", "skos:broader": "R1"},
                            {"skos:notation": "D2", "skos:broader": "R1"},
                            {"skos:notation": "D3", "skos:broader": "R2"},
                        ]
                    },
                },
                {"name": "region", "datatype": {"base": "string", "format": "R1|R2"}},
            ]
        },
    }
)


@pytest.mark.parametrize(("name", "text"), [("s.xml", SDMX), ("d.xml", DDI), ("c.json", CSVW)])
def test_dictionaries_tell_which_codes_nest(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    schema = read_dictionary(tmp_path / name)
    codes = {"D1": "R1", "D2": "R1", "D3": "R2"}
    assert schema.parents == (
        Parents(child="district", parent="region", codes=codes, declared_by=name),
    )
