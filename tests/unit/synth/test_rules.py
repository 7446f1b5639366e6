"""Edit rules: read or refused, judged as written, kept by construction or by redrawing."""

import contextlib
import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth import (
    Budget,
    Category,
    Certificate,
    Date,
    EditRule,
    Model,
    Real,
    RuleError,
    Schema,
    SimulatedNoise,
    SynthError,
    Synthesizer,
    TableSettings,
    Whole,
    code_hierarchy,
)
from synth.claims import Claim
from synth.methods import METHODS, is_unprotected, settings_of
from synth.sampling import Drawn, draw_kept
from synth.schema.coding import draw_numbers
from synth.schema.columns import Numeric
from synth.schema.rules.constraints import constraints_of, identities_of, judge_records
from synth.schema.rules.rules import parse_rule
from tests.strategies import examples

COLUMNS = [
    Whole(name="age", low=0, high=30, bins=7, missing={"refused": -8}),
    Real(name="pay", low=0, high=5, bins=5, decimals=1),
    Category(name="status", values=["single", "married"], missing={"n/a": None}),
    Category(name="level", values=["low", "mid", "high"], is_ordered=True),
    Date(name="begin", low="2020-01-01", high="2020-01-20", bins=4),
    Whole(name="hours-per-week", low=0, high=9),
]
BY_NAME = {column.name: column for column in COLUMNS}


def judge(text, **values):
    """Judge one record, given by codes of categories and numbers of the grid; None: missing."""
    codes, numbers = [], {}
    for column in COLUMNS:
        value = values.get(column.name.replace("-", "_"), 0)
        if isinstance(column, Numeric):
            numbers[column.name] = np.array([value or 0])
            codes.append(column.domain_size if value is None else 0)
        else:
            codes.append(column.domain_size if value is None else value)
    parsed = parse_rule(EditRule(text=text), BY_NAME)
    found = judge_records([parsed], np.array([codes]), numbers=numbers, columns=COLUMNS)[0]
    assert sum(int(one[0]) for one in found) == 1
    return ["true", "false", "neither"][[bool(one[0]) for one in found].index(True)]


@pytest.mark.parametrize(
    ("text", "values", "verdict"),
    [
        ("age < 16", {"age": 15}, "true"),
        ("age < 16", {"age": 16}, "false"),
        ("age < 16", {"age": None}, "neither"),
        ("16 > age", {"age": 15}, "true"),
        ("3 < age <= 5", {"age": 5}, "true"),
        ("3 < age <= 5", {"age": 3}, "false"),
        ("not age == 3", {"age": None}, "neither"),
        ("if age < 16 then status == 'single'", {"age": 10, "status": 1}, "false"),
        ("if age < 16 then status == 'single'", {"age": 20, "status": 1}, "true"),
        ("if age < 16 then status == 'single'", {"age": None, "status": 0}, "true"),
        ("if age < 16 then status == 'single'", {"age": None, "status": 1}, "neither"),
        ("missing(age)", {"age": None}, "true"),
        ("missing(age, 'refused') or age > 3", {"age": 2}, "false"),
        ("status in ('single', 'married')", {"status": None}, "neither"),
        ("status not in ('single',)", {"status": 1}, "true"),
        ("status == 'if then'.strip", {}, None),
        ("level >= 'mid'", {"level": 0}, "false"),
        ("level >= 'mid'", {"level": 2}, "true"),
        ("'mid' <= level", {"level": 2}, "true"),
        ("pay == 0.3", {"pay": 3}, "true"),
        ("pay * 2 + 1 == 1.6", {"pay": 3}, "true"),
        ("age - pay > -1", {"age": 1, "pay": 15}, "true"),
        ("begin >= '2020-01-10'", {"begin": 18271}, "true"),
        ("begin >= '2020-01-10'", {"begin": 18270}, "false"),
        ("`hours-per-week` > 3 and age > 1", {"hours_per_week": 4, "age": 2}, "true"),
    ],
)
def test_rules_say_what_they_read(text, values, verdict):
    if verdict is None:
        with pytest.raises(RuleError):
            judge(text, **values)
    else:
        assert judge(text, **values) == verdict


@pytest.mark.parametrize(
    "text",
    [
        "",
        "age",
        "age <",
        "age < height",
        "age.__class__ == 3",
        "__import__('os').system('x') == 0",
        "age < 3 if True else False",
        "[age for age in (1, 2)] == 3",
        "(lambda: 1)() == 1",
        "age ** 9 == 1",
        "age / 0 == 1",
        "age // 2 == 1",
        "status == 'widowed'",
        "status < 'single'",
        "status + 1 == 2",
        "age == 'single'",
        "age == None",
        "age == True",
        "age is None",
        "age in 3",
        "age in ()",
        "missing()",
        "missing(age, 'because')",
        "missing(3)",
        "begin == 'yesterday'",
        "if age < 3",
        "if age < 3 then",
        "if if age then age < 3",
        "age < 3 then age < 4",
        "age == 9" + "9" * 400,
        "(" * 900 + "age < 3" + ")" * 900,
        "not " * 400 + "age < 3",
        "x" * 3000,
        "age < 3\x00",
        "if age < 3\x00 then age < 4",
        "'\\d' == status",
        "level == status + level",
    ],
)
def test_what_is_no_rule_is_refused(text):
    with pytest.raises(RuleError):
        parse_rule(EditRule(text=text), BY_NAME)


@given(st.text(max_size=40) | st.text("age()<>=!'\"+-*`~ifthenotrds09. ", max_size=40))
def test_any_text_is_a_rule_or_a_rule_error(text):
    with contextlib.suppress(RuleError):
        parse_rule(EditRule(text=text), BY_NAME)


RULES = [
    "age < 16",
    "age == 7",
    "age != 7",
    "if age < 16 then status == 'single'",
    "if status == 'married' then age >= 16 and pay > 0.5",
    "age >= pay",
    "pay * 2 == age",
    "missing(age) or age > 3",
    "level >= 'mid' or pay <= 2.5",
]


@pytest.mark.parametrize("text", RULES)
def test_forbidden_cells_hold_no_record_that_keeps_the_rule(text):
    schema = Schema(columns=COLUMNS[:4], rules=[text]).cut_at_rules()
    constraint = constraints_of(schema)[0]
    names = sorted(constraint.rule.columns, key=schema.names.index)
    columns = [schema.column(name) for name in names]
    options = [
        [
            (code, n)
            for code, (low, high) in enumerate(c.grid.cells())
            for n in range(low, high + 1)
        ]
        + [(c.domain_size, 0)] * len(c.missing)
        if isinstance(c, Numeric)
        else [(code, 0) for code in range(c.size)]
        for c in columns
    ]
    every = list(itertools.product(*options))
    codes = np.array([[one[0] for one in record] for record in every])
    numbers = {
        c.name: np.array([record[at][1] for record in every])
        for at, c in enumerate(columns)
        if isinstance(c, Numeric)
    }
    parsed = parse_rule(schema.rules[0], {c.name: c for c in columns})
    broken = judge_records([parsed], codes, numbers=numbers, columns=columns)[0].false
    assert broken.any()
    forbidden = np.zeros(len(every), bool)
    if constraint.table is not None:
        forbidden = constraint.table.forbidden[tuple(codes.T)]
    assert not (forbidden & ~broken).any()
    if constraint.how == "construction":
        np.testing.assert_array_equal(forbidden, broken)


def test_rules_with_constants_are_kept_by_construction():
    schema = Schema(columns=COLUMNS[:4], rules=RULES[:5]).cut_at_rules()
    assert {one.how for one in constraints_of(schema)} == {"construction"}


def test_a_rule_that_nothing_satisfies_is_refused():
    with pytest.raises(RuleError, match="No record"):
        constraints_of(Schema(columns=COLUMNS[3:4], rules=["level < 'low'"]))


def _draw(rng):
    column = BY_NAME["age"]

    def draw(number):
        codes = rng.integers(0, column.domain_size, (number, 1)).astype(np.int32)
        return Drawn(codes, {"age": draw_numbers(codes[:, 0], column, rng=rng)})

    return draw


@settings(max_examples=examples(20))
@given(st.integers(0, 500), st.integers(0, 30))
def test_drawing_ends_with_records_that_are_all_kept(number, bound):
    rng = np.random.default_rng(1)
    drawn = draw_kept(number, draw=_draw(rng), is_kept=lambda d: d.numbers["age"] >= bound)
    assert len(drawn.codes) == number == len(drawn.numbers["age"])
    assert (drawn.numbers["age"] >= bound).all()


def test_drawing_ends_when_nothing_is_kept():
    rng = np.random.default_rng(1)
    with pytest.raises(RuleError, match="Only 0 of"):
        draw_kept(5, draw=_draw(rng), is_kept=lambda d: np.zeros(len(d.codes), bool))


def test_drawing_says_that_it_cannot_and_copies_no_record():
    rng = np.random.default_rng(1)

    def is_rare(drawn):
        return rng.random(len(drawn.codes)) < 0.001

    with pytest.raises(RuleError, match=r"Only \d+ of 60000 .* 200 are wanted.\n.*ask for"):
        draw_kept(200, draw=_draw(rng), is_kept=is_rare)


def test_no_code_is_drawn_with_another_than_its_own_parent():
    """Codes so rare that the engine puts them together: with those of their parent alone."""
    parents = {f"{parent}{code}": parent for parent in "ABC" for code in range(60)}
    schema = Schema(
        columns=[
            Category(name="industry", values=list(parents)),
            Category(name="section", values=["A", "B", "C"]),
        ],
        rules=code_hierarchy("industry", "section", parents=parents),
    )
    assert len(schema.rules) == 6
    assert {one.how for one in constraints_of(schema)} == {"construction"}
    rng = np.random.default_rng(1)
    codes = rng.choice(list(parents), 300)
    frame = pd.DataFrame({"industry": codes, "section": [parents[code] for code in codes]})
    model = Synthesizer(schema=schema, settings=TableSettings(steps=5, rounds=1)).fit(
        frame, Budget(epsilon=0.5, delta=1e-6), noise=SimulatedNoise(seed=1)
    )
    drawn = model.sample(2000, rng=rng)
    assert (drawn["industry"].map(parents) == drawn["section"]).all()
    assert drawn["section"].nunique() == 3


SUMS = [
    Whole(name="total", low=0, high=60_000, bins=20),
    Whole(name="one", low=0, high=50_000, bins=20),
    Whole(name="two", low=0, high=3000, bins=10, missing={"none": None}),
    Real(name="inch", low=0, high=30, decimals=1),
    Real(name="cm", low=0, high=60, decimals=1),
    Whole(name="half", low=0, high=30_000, bins=5, missing={"none": -1}),
]
SAID = ["half == total * 0.5", "cm == inch * 2.54", "one == total - two"]


def sums(number=600):
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(
        {
            "one": rng.integers(0, 50_000, number),
            "two": rng.integers(0, 3000, number),
            "inch": rng.integers(100, 200, number) / 10,
        }
    )
    frame["total"] = frame["one"] + frame["two"]
    frame["cm"] = (frame["inch"] * 2.54).round(1)
    frame["half"] = np.rint(frame["total"] * 0.5).astype(int)
    return frame[[column.name for column in SUMS]]


def test_a_column_that_follows_from_others_is_worked_out_and_costs_nothing(tmp_path):
    columns = [replace(one, missing={}) if one.name == "two" else one for one in SUMS]
    schema = Schema(columns=columns, rules=["total == one + two", *SAID])
    model = Synthesizer(schema=schema, settings=TableSettings(steps=5, rounds=2)).fit(
        sums(), Budget(rho=0.1)
    )
    model.save(tmp_path / "model.json")
    drawn = Model.load(tmp_path / "model.json").sample(500, rng=np.random.default_rng(1))
    assert (drawn["total"] == drawn["one"] + drawn["two"]).all()
    assert (drawn["half"] == np.rint(drawn["total"] * 0.5)).all()
    np.testing.assert_allclose(drawn["cm"], (drawn["inch"] * 2.54).round(1))
    assert {name for call in model.calls for name in call.columns} == {"one", "two", "inch"}
    assert Certificate.of(model).verify() == []
    how = {rule.text: kept for rule, kept in model.kept_rules()}
    assert [how[rule.text] for rule in schema.rules] == ["construction"] * 3 + ["redrawing"]
    some = model.sample(20, rng=np.random.default_rng(1), where="total < 20000 and two > 100")
    assert some["total"].max() < 20_000
    assert (some["total"] == some["one"] + some["two"]).all()


@pytest.mark.parametrize(
    ("rules", "derived"),
    [
        (["total == one + two"], []),  # two may be missing, total may not
        (["half == two + one"], ["half"]),
        (["one == total + 1", "total == one - 1"], ["one"]),
        (["total == one * 2", "one == cm + 1", "cm == total"], ["one", "total"]),
        (["one == one + 0"], []),
        (["total >= one"], []),
        (["if one > 3 then total == one"], []),
    ],
)
def test_no_column_follows_from_itself_or_from_what_may_be_missing(rules, derived):
    schema = Schema(columns=SUMS, rules=rules)
    assert list(identities_of(schema)) == derived


@pytest.mark.parametrize("method", METHODS)
def test_every_method_works_out_what_follows_from_others(method, tmp_path):
    names = ["total", "one", "two"]
    given = (
        {"families": ["gaussian"]}
        if method in {"copula-shirley", "vine-without-privacy"}
        else {}
    )
    columns = [replace(one, missing={}) for one in SUMS if one.name in names]
    synthesizer = Synthesizer(
        schema=Schema(columns=columns, rules=["total == one + two"]),
        method=method,
        settings=settings_of(method, given),
    )
    claim = Claim(epsilon=None if method == "vine-without-privacy" else 1)
    budget = claim if is_unprotected(method) else Budget(rho=0.1, adjacency="replace")
    model = synthesizer.fit(sums(200)[names], budget, noise=SimulatedNoise(seed=1))
    model.save(tmp_path / "model.json")
    drawn = Model.load(tmp_path / "model.json").sample(99, rng=np.random.default_rng(1))
    assert (drawn["total"] == drawn["one"] + drawn["two"]).all()
    assert [how for _, how in model.kept_rules()] == ["construction"]
    if not is_unprotected(method):
        assert not any("total" in call.columns for call in model.calls)
        assert 0 < sum(call.rho for call in model.calls) <= 0.1


def complete(rule):
    return Schema(columns=[replace(one, missing={}) for one in SUMS], rules=[rule])


@pytest.mark.parametrize("rule", ["total == one + two + 60001", "cm == inch * -1 - 0.1"])
def test_a_sum_that_always_leaves_its_bounds_is_refused_before_anything_is_paid(rule):
    synthesizer = Synthesizer(schema=complete(rule), method="histogram")
    with pytest.raises(RuleError, match="No record can satisfy the rule"):
        synthesizer.check(sums(), Budget(rho=0.1))


def test_a_sum_that_can_be_at_a_bound_or_missing_is_kept():
    can_miss = Schema(columns=SUMS, rules=["half == two + 90000"])
    for schema in (complete("total == one + two + 60000"), can_miss):
        assert [one.how for one in constraints_of(schema)] == ["construction"]


def test_a_workload_names_no_column_that_follows_from_others():
    schema = complete("total == one + two")
    synthesizer = Synthesizer(schema=schema, workload=[("one", "total")])
    with pytest.raises(SynthError, match="'total' of the workload follows from others"):
        synthesizer.check(sums(), Budget(rho=0.1))


def test_a_column_whose_parts_are_missing_is_missing():
    frame = sums().assign(two=lambda one: one["two"].where(one["two"] > 1500))
    schema = Schema(columns=SUMS, rules=["half == two + 1"])
    model = Synthesizer(schema=schema, settings=TableSettings(steps=5, rounds=2)).fit(
        frame.assign(half=-1), Budget(rho=0.1)
    )
    drawn = model.sample(300, rng=np.random.default_rng(1))
    assert ((drawn["half"] == -1) == drawn["two"].isna()).all()
    kept = drawn[drawn["two"].notna()]
    assert (kept["half"] == kept["two"] + 1).all()
