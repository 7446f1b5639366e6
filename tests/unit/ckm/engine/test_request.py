"""Measures of a variable: how they are written, and how far they reach."""

from __future__ import annotations

import pyarrow as pa
import pytest

import ckm
from ckm.engine.request import variable_of
from tables import RequestError, Secret
from tests.strategies import worked_ptable


@pytest.fixture
def engine():
    people = pa.table(
        {
            "id": list(range(6)),
            "sex": ["F", "M"] * 3,
            "income": [10, 20, 30, 40, 50, 60],
            "w": [1.5] * 6,
        }
    )
    with ckm.Engine(
        people, id="id", weight="w", secret=Secret(bytes(16)), ptable=worked_ptable()
    ) as opened:
        yield opened


@pytest.mark.parametrize(
    ("measure", "variable"),
    [
        ("sum:income", "income"),
        ("mean:income", "income"),
        ("range:income", None),
        ("sum:a:b", "a:b"),
        ("sum: income", " income"),
        ("sum:", None),
        ("sum", None),
        ("total:income", None),
        (":income", None),
        ("count", None),
        (5, None),
    ],
)
def test_the_variable_of_a_measure_stands_after_the_first_colon(measure, variable):
    assert variable_of(measure) == variable


def test_a_variable_of_several_measures_is_named_once():
    wish = ckm.TableRequest(
        dimensions=["sex"], measures=["sum:b", "count", "mean:b", "mean:a", "sum:a"]
    )
    assert wish.variables == ("b", "a")
    assert ckm.TableRequest(dimensions=["sex"]).variables == ()


@pytest.mark.parametrize(
    ("measure", "hint"),
    [
        ("total:income", "of a variable there are"),
        ("summ:income", "did you mean 'sum:income'"),
        ("Mean:income", "did you mean 'mean:income'"),
        ("sum", "did you mean 'sum:…'"),
        ("sum:", "did you mean 'sum:…'"),
        ("counts", "did you mean 'count'"),
        ("Weighted", "did you mean 'weighted'"),
        ("", "for example"),
        (5, "for example"),
        (None, "for example"),
    ],
)
def test_an_unknown_measure_is_refused_with_what_was_meant(measure, hint):
    with pytest.raises(ckm.ConfigError, match=f"each once, not(?s:.*)hint: {hint}"):
        ckm.TableRequest(dimensions=["sex"], measures=["count", measure])


def test_one_measure_twice_is_refused():
    with pytest.raises(ckm.ConfigError, match="each once"):
        ckm.TableRequest(dimensions=["sex"], measures=["sum:income", "sum:income"])


def test_variables_reach_the_scan_with_the_weight_of_the_engine(engine):
    wish = ckm.TableRequest(dimensions=["sex"], measures=["sum:income", "mean:income"])
    (built,) = engine._fitter.fit({"": wish}).values()
    assert (built.sums, built.weight) == (("income",), "w")
    (cells,) = engine._cells([built], None)
    found = cells.magnitudes["income"]
    assert found.total.tolist() == [135.0, 180.0, 315.0]
    assert found.top[-1].tolist() == [60.0, 50.0], "as many as the reports look at"


def test_counts_alone_ask_for_no_sum(engine):
    (built,) = engine._fitter.fit({"": ckm.TableRequest(dimensions=["sex"])}).values()
    assert (built.sums, built.top, built.weight) == ((), 0, None)


@pytest.mark.parametrize(
    ("measure", "problem"),
    [
        ("sum:incme", "did you mean 'income'"),
        ("mean:sex", "'sex' holds texts"),
        ("sum:id", "'id' tells persons apart"),
    ],
)
def test_a_variable_that_has_no_sum_is_refused_by_name(engine, measure, problem):
    with pytest.raises(RequestError, match=problem):
        engine.tabulate([], measures=[measure])


def test_a_range_is_refused_with_the_reason_and_what_to_ask_for_instead():
    with pytest.raises(ckm.ConfigError, match=r'two persons\' amounts(?s:.*)base = "range"'):
        ckm.TableRequest(dimensions=["sex"], measures=["count", "range:income"])


def test_a_mean_of_records_without_values_is_refused_with_the_filter_to_write():
    wish = {"dimensions": ["sex"], "missing_values": "skip"}
    assert ckm.TableRequest(measures=["sum:income"], **wish).missing_values == "skip"
    with pytest.raises(ckm.ConfigError, match='where = "income is not missing"'):
        ckm.TableRequest(measures=["mean:income"], **wish)
    with pytest.raises(ckm.ConfigError, match="'stop' or 'skip', not 'drop'"):
        ckm.TableRequest(dimensions=["sex"], missing_values="drop")
