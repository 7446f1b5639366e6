"""A plan has a price before any data, and what cannot be kept is refused."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from dp import DPError, Plan, Question, TablePlan, basic, concentrated, epsilon_of_rho
from dp.aggregates.plan import warnings_of
from dp.aggregates.scope import tail_of

ROWS = Question(kind="rows")
MEAN = Question(kind="mean", column="age")
ALL = (
    Question(kind="units"),
    ROWS,
    MEAN,
    Question(kind="sum", column="age", lower=0, upper=100),
    Question(kind="histogram", column="age", edges=(0, 18, 100)),
    Question(kind="quantiles", column="age", lower=0, upper=100, at=(0.25, 0.5)),
    Question(kind="top", column="job", categories=("a", "b", "c"), k=2),
    Question(kind="left-out"),
)


def plan(questions=ALL, *, by=None, groups=2, rows=3, **words):
    table = TablePlan(
        name="t",
        by={"sex": ("F", "M")} if by is None else by,
        questions=questions,
        groups_per_unit=groups,
        rows_per_group=rows,
    )
    return Plan(
        **{"unit": "id", "protects": "person", "epsilon": 1.0, "tables": (table,)} | words
    )


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_parts_cost_the_budget_and_no_more(delta):
    made = plan(delta=delta)
    promises = [part.guarantee for part in made.parts]
    if delta:
        assert concentrated(promises).at(delta).epsilon == pytest.approx(1, rel=1e-6)
        assert concentrated(promises).at(delta).epsilon <= 1
    else:
        assert basic(promises).epsilon == pytest.approx(1, rel=1e-6)
        assert basic(promises).epsilon <= 1


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_found_keys_are_charged_their_delta(noise):
    made = plan((ROWS,), by={"sex": None}, delta=1e-6, noise=noise)
    keys = made.parts[0]
    assert keys.what == "keys"
    assert made.guarantee.delta == 1e-6
    assert math.isinf(made.guarantee.rho)
    left = 1e-6 - keys.delta
    if noise == "gaussian":
        whole = concentrated([part.guarantee for part in made.parts])
        assert whole.at(left).epsilon <= 1
    else:
        assert left == pytest.approx(0, abs=1e-14)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_a_key_of_one_unit_passes_with_the_chance_of_delta_and_no_more(noise):
    made = plan((ROWS,), by={"sex": None}, delta=1e-6, noise=noise)
    table = made.tables[0]
    law, threshold = made.keys_noise(table, made.costs["t", "keys"])
    least = int(threshold)  # noise beyond threshold - 1 passes
    if noise == "laplace":
        ratio = math.exp(-1 / law.scale)
        tail = [ratio**n / (1 + ratio) for n in (least, least - 1)]
    else:
        support, mass = law._law()
        tail = [mass[support >= n].sum() for n in (least, least - 1)]
    allowed = made.parts[0].delta / table.groups_per_unit
    assert tail[0] <= allowed < tail[1]
    assert tail_of(law, 1e-300) > tail_of(law, 1e-6)


def test_a_unit_in_more_groups_costs_more_noise():
    one, four = (plan((ROWS,), groups=groups, rows=1) for groups in (1, 4))
    assert four.parts[0].error > 3 * one.parts[0].error


def test_shares_divide_the_budget():
    costs = plan((ROWS, Question(kind="units", share=3.0))).costs
    assert costs["t", "units"] == pytest.approx(0.75)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": -1}, "epsilon"),
        ({"epsilon": math.nan}, "epsilon"),
        ({"delta": 1.0}, "delta"),
        ({"confidence": 1.0}, "confidence"),
        ({"noise": "gaussian"}, "need a delta"),
        ({"noise": "round"}, "Unknown noise"),
        ({"by": {"sex": None}}, "need a delta"),
        ({"by": {"sex": ("F", "F")}}, "none, or repeat"),
        ({"by": {"sex": ()}}, "none, or repeat"),
        ({"questions": ()}, "asks nothing"),
        ({"questions": (ROWS, ROWS)}, "one question twice"),
        ({"groups": 0}, "groups_per_unit"),
        ({"rows": 2**20}, "2\\*\\*20 rows"),
        ({"tables": ()}, "has tables"),
        ({"people": 0}, "people"),
        ({"epsilon": 1e300}, "at most 1,000,000"),
        ({"rho": 0.1, "delta": 1e-6}, "in place of epsilon"),
        ({"rho": 0.1, "epsilon": 0}, "in place of epsilon"),
        ({"rho": 0.1, "epsilon": 0, "delta": 1e-6, "noise": "laplace"}, "in place of epsilon"),
        ({"rho": 0, "epsilon": 0, "delta": 1e-6}, "rho"),
        ({"rho": 0.1, "epsilon": 0, "delta": 1e-6, "by": {"sex": None}}, "declared keys"),
    ],
)
def test_what_cannot_be_kept_is_refused(words, said):
    with pytest.raises(DPError, match=said):
        plan(**words)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"kind": "median"}, "Unknown question"),
        ({"kind": "mean"}, "needs column"),
        ({"kind": "units", "column": "age"}, "no use for column"),
        ({"kind": "sum", "column": "x", "lower": 0}, "one bound"),
        ({"kind": "sum", "column": "x", "lower": 1, "upper": 1}, "rise"),
        ({"kind": "sum", "column": "x", "lower": 0, "upper": math.inf}, "a bound"),
        ({"kind": "sum", "column": "x", "lower": math.nan, "upper": 1}, "a bound"),
        ({"kind": "sum", "column": "x", "lower": 0, "upper": 2**33}, "steps"),
        ({"kind": "sum", "column": "x", "lower": 0, "upper": 1, "step": 0}, "step"),
        ({"kind": "histogram", "column": "x"}, "edges or categories"),
        ({"kind": "histogram", "column": "x", "edges": (1,)}, "rise"),
        ({"kind": "histogram", "column": "x", "edges": (2, 1)}, "rise"),
        ({"kind": "quantiles", "column": "x", "lower": 0, "upper": 9, "at": (1.0,)}, "at"),
        ({"kind": "top", "column": "x", "categories": ("a",), "k": 2}, "k exceeds"),
        ({"kind": "top", "column": "x", "categories": ("a", "a"), "k": 1}, "twice"),
        ({"kind": "rows", "share": 0}, "share"),
        ({"kind": "rows", "share": 1e308}, "share"),
        ({"kind": "sum", "column": "x", "lower": -1e308, "upper": 1e308}, "steps"),
        ({"kind": "sum", "column": "x", "lower": 0, "upper": 1e-300}, "steps"),
        ({"kind": "sum", "column": "x", "lower": 0, "upper": 9, "step": 0.7}, "not 0.7"),
        ({"kind": "sum", "column": "x", "lower": 0, "upper": 9, "step": 1e-300}, "not 1e-300"),
        ({"kind": "histogram", "column": "x", "edges": (0, 1e-9, 10)}, "at least a step"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(words, said):
    with pytest.raises(DPError, match=said):
        Question(**words)


def test_a_delta_that_protects_nobody_is_warned_of():
    assert "state people" in warnings_of(plan((ROWS,), delta=1e-6))[0]
    assert "not below 1 / people" in warnings_of(plan((ROWS,), delta=1e-6, people=10**6))[0]
    assert warnings_of(plan((ROWS,), delta=1e-6, people=10**4)) == ()
    assert warnings_of(plan((ROWS,))) == ()


def test_a_budget_of_rho_is_spent_to_the_last_and_its_epsilon_told():
    made = plan(epsilon=0.0, rho=0.3, delta=1e-6)
    assert concentrated([part.guarantee for part in made.parts]).rho == pytest.approx(0.3)
    assert concentrated([part.guarantee for part in made.parts]).rho <= 0.3
    assert (made.guarantee.rho, made.guarantee.delta) == (0.3, 1e-6)
    assert made.epsilon == made.guarantee.epsilon == epsilon_of_rho(0.3, delta=1e-6)
    assert replace(made, confidence=0.9).rho == 0.3
