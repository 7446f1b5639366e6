"""Derived variables of a source: what is made, and what is refused."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tables import (
    DataError,
    DerivedVariable,
    FilterError,
    Hierarchy,
    Request,
    RequestError,
    StoredKeys,
    cube,
    open_source,
)
from tables.cells.given import GivenCells
from tables.prepared.prepare import prepare
from tables.recoding.derive import derive_variables

AGES = [0, 4, 5, 17, 85, 99, None]
KEYS = StoredKeys(column="key", key_range=256)


def records(**columns):
    size = len(next(iter(columns.values())))
    return pa.table({**columns, "key": pa.array(range(size), pa.uint8())})


def derived(source, **settings):
    derive_variables(source, [DerivedVariable(name="new", **settings)])
    return [text for (text,) in source.fetch(f"SELECT new FROM {source.relation} ORDER BY key")]


def in_every_form(table, folder):
    """Give the same records as Arrow, pandas, Parquet and CSV."""
    yield table
    yield table.to_pandas()
    pq.write_table(table, folder / "p.parquet")
    yield folder / "p.parquet"
    table.to_pandas().astype({"age": "Int64"}).to_csv(folder / "p.csv", index=False)
    yield folder / "p.csv"


def test_bands_are_the_same_from_every_source(tmp_path):
    expected = ["0–4", "0–4", "5–84", "5–84", "85+", "85+", None]
    for data in in_every_form(records(age=AGES), tmp_path):
        with open_source(data) as source:
            found = derived(source, of="age", bands=[0, 5, 85])
            if isinstance(data, pd.DataFrame):  # missing values make them floats
                found = [
                    label and label.replace("–<5", "–4").replace("–<85", "–84")
                    for label in found
                ]
            assert found == expected, data
            assert source.kinds["new"] == "text"
            assert list(source.derived) == ["new"]


def test_tenths_lie_in_the_band_that_they_begin(tmp_path):
    tenths = [n / 10 for n in range(10)]
    exact = [Decimal(n).scaleb(-1) for n in range(10)]
    pd.DataFrame({"x": tenths, "key": range(10)}).to_csv(tmp_path / "x.csv", index=False)
    for data in (records(x=tenths), records(x=exact), tmp_path / "x.csv"):
        with open_source(data) as source:
            found = derived(source, of="x", width=0.1)
        assert found == [f"{n / 10:.1f}–<{(n + 1) / 10:.1f}" for n in range(10)]


def in_csv(folder, *values):
    path = folder / "v.csv"
    path.write_text("v,key\n" + "".join(f"{v},{n}\n" for n, v in enumerate(values)))
    return path


def test_texts_of_csv_are_cut_as_numbers_and_recoded_as_texts(tmp_path):
    with open_source(in_csv(tmp_path, "10.10", "10.1", "9.9", "1e1", "")) as source:
        bands = derived(source, of="v", bands=[0, 10.1])
    assert bands == ["10.1+", "10.1+", "0.0–<10.1", "0.0–<10.1", None]
    with open_source(in_csv(tmp_path, "10.10", "10.1", "1E2", "100", "")) as source:
        recode = {"10.10": "a", "10.1": "b", "1E2": "c", "100": "d"}
        assert derived(source, of="v", recode=recode) == ["a", "b", "c", "d", None]
    with open_source(in_csv(tmp_path, "0_4", "5_9")) as source:
        assert derived(source, of="v", recode={"0_4": "a"}, keep=True) == ["a", "5_9"]


def test_whole_numbers_and_dates_of_csv_are_cut_as_such(tmp_path):
    with open_source(in_csv(tmp_path, "0", "7", "90")) as source:
        assert derived(source, of="v", bands=[0, 5, 85]) == ["0–4", "5–84", "85+"]
    with open_source(in_csv(tmp_path, "2020-05-01", "2021-01-31")) as source:
        assert derived(source, of="v", width="quarter") == ["2020-Q2", "2021-Q1"]


def test_texts_of_csv_that_are_no_numbers_have_no_bands(tmp_path):
    for values in (("F", "M"), ("1", "2", "9.9x")):
        with open_source(in_csv(tmp_path, *values)) as source:
            with pytest.raises((RequestError, DataError)) as caught:
                derived(source, of="v", bands=[0, 5])
            assert "'v'" in str(caught.value)
            assert "9.9x" not in str(caught.value)


def test_not_a_number_is_missing_and_zero_has_one_sign():
    with open_source(records(x=[float("nan"), -0.0, 0.0, -1.0])) as source:
        found = derived(source, of="x", bands=[0, 1], open="both")
    assert found == [None, "0–<1", "0–<1", "<0"]


@pytest.mark.parametrize(
    ("values", "recode", "expected"),
    [
        (["01", "1", "é", None], {"01": "a", "1": "b", "é": "a"}, ["a", "b", "a", None]),
        ([1, 2, None], {"1": "a", "2": "b"}, ["a", "b", None]),
        (
            [1.0, 2.0, 2.5, float("nan")],
            {"1": "a", "2": "b", "2.5": "c"},
            ["a", "b", "c", None],
        ),
        ([True, False, None], {"true": "a", "false": "b"}, ["a", "b", None]),
        ([dt.date(2020, 1, 1), None], {"2020-01-01": "a"}, ["a", None]),
        ([Decimal("1.50"), Decimal("2.00")], {"1.5": "a", "2": "b"}, ["a", "b"]),
        (["a'b", "a\\b", 'a"b'], {"a'b": "'", "a\\b": "\\", 'a"b': '"'}, ["'", "\\", '"']),
    ],
)
def test_codes_are_what_tables_print(values, recode, expected):
    with open_source(records(c=values)) as source:
        assert derived(source, of="c", recode=recode) == expected


def test_a_recode_that_is_no_number_fits_no_number():
    with open_source(records(c=[1, 2])) as source:
        assert derived(source, of="c", recode={"01": "a", "x": "b", "2": "c"}) == [None, "c"]
    with open_source(records(c=[1.0, 2.0])) as source:
        assert derived(source, of="c", recode={"01": "a", "x": "b", "2": "c"}) == [None, "c"]


def test_other_codes_stay_or_become_one():
    with open_source(records(c=["a", "b", None])) as source:
        assert derived(source, of="c", recode={"a": "x"}, keep=True) == ["x", "b", None]
    with open_source(records(c=["a", "b", None])) as source:
        assert derived(source, of="c", recode={"a": "x"}, other="?") == ["x", "?", None]


def test_a_variable_can_be_made_of_one_before_it():
    with open_source(records(age=AGES)) as source:
        derive_variables(source, [DerivedVariable(name="age5", of="age", bands=[0, 5, 85])])
        found = derived(source, of="age5", recode={"0–4": "a", "5–84": "b", "85+": "b"})
        assert found == ["a", "a", "b", "b", "b", "b", None]


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ([{"name": "AGE", "of": "age", "width": 5}], "a column of the data has this name"),
        ([{"name": "sex", "of": "age", "width": 5}], "a column of the data has this name"),
        ([{"name": "new", "of": "agee", "width": 5}], "did you mean 'age'?"),
        (
            [
                {"name": "b", "of": "a", "recode": {"0–4": "x"}},
                {"name": "a", "of": "age", "width": 5},
            ],
            "put 'a' before 'b'",
        ),
        ([{"name": "new", "of": "sex", "width": 5}], "column 'sex' holds texts"),
        ([{"name": "new", "of": "sex", "bands": [0, 5]}], "column 'sex' holds texts"),
        (
            [{"name": "new", "of": "age", "width": "year"}],
            "of dates, and column 'age' holds num",
        ),
        (
            [{"name": "new", "of": "day", "bands": [0, 5]}],
            "of numbers, and column 'day' holds d",
        ),
        (
            [{"name": "new", "of": "age", "bands": [dt.date(2000, 1, 1), dt.date(2001, 1, 1)]}],
            "of dates, and column 'age' holds numbers",
        ),
        ([{"name": "new", "of": "day", "width": "week"}], "'year', 'quarter' or 'month'"),
        (
            [{"name": "new", "of": "x", "recode": {"1": "a"}, "keep": True}],
            "holds numbers with decimals, or times",
        ),
    ],
)
def test_what_does_not_fit_the_columns_is_said(variables, said):
    data = records(age=[1], sex=["F"], day=[dt.date(2020, 1, 1)], x=[0.5])
    with open_source(data) as source, pytest.raises(RequestError) as caught:
        derive_variables(source, [DerivedVariable(**v) for v in variables])
    assert said in str(caught.value)


def test_bands_cannot_reach_infinity_by_steps():
    with (
        open_source(records(x=[1.0, float("inf")])) as source,
        pytest.raises(DataError) as caught,
    ):
        derived(source, of="x", width=5)
    assert "infinite values" in str(caught.value)
    with open_source(records(x=[1.0, 1e9])) as source, pytest.raises(RequestError) as caught:
        derived(source, of="x", width=5)
    assert "more than 1,000" in str(caught.value)


def test_records_without_a_value_need_no_bands():
    with open_source(records(x=pa.array([None, None], pa.int64()))) as source:
        assert derived(source, of="x", width=5) == [None, None]


def tabulated(data, request, *variables):
    with open_source(data) as source:
        derive_variables(source, [DerivedVariable(**v) for v in variables])
        (cells,) = cube(source, KEYS, [request])
    (axis,), (ranks,) = cells.axes, cells.ranks
    pairs = sorted(zip(ranks.tolist(), cells.count.tolist(), strict=True))
    return {axis.labels[0][rank]: count for rank, count in pairs}


NEW = {"name": "new", "of": "age", "bands": [5, 10]}


def test_values_outside_are_refused_unless_it_is_said_where_they_go():
    data, request = records(age=[1, 2, 7, None]), Request(dimensions=["new"])
    with pytest.raises(DataError, match="holds values outside the bands of 'new'") as caught:
        tabulated(data, request, NEW)
    assert caught.value.inside == "2 records"
    assert "2" not in str(caught.value)
    assert tabulated(data, request, {**NEW, "open": "both"}) == {
        "Total": 4,
        "<5": 2,
        "5–9": 1,
        "(missing)": 1,
    }
    assert tabulated(data, request, {**NEW, "other": "?"})["?"] == 2


def test_values_outside_that_a_filter_leaves_out_do_no_harm():
    request = Request(dimensions=["new"], where="age >= 5")
    assert tabulated(records(age=[1, 2, 7]), request, NEW) == {"Total": 1, "5–9": 1}
    with pytest.raises(DataError, match="outside the bands"):
        tabulated(records(age=[1]), Request(dimensions=["age"], where="new = '5–9'"), NEW)


def test_a_variable_that_no_table_uses_refuses_nothing():
    assert tabulated(records(age=[1]), Request(dimensions=["age"]), NEW) == {"Total": 1, "1": 1}


def test_codes_that_are_not_recoded_are_counted_and_not_named():
    data = records(c=["a", "b", "c", None])
    variable = {"name": "new", "of": "c", "recode": {"a": "x"}}
    with pytest.raises(DataError, match="holds 2 codes that the recode of 'new' does not") as e:
        tabulated(data, Request(dimensions=["new"]), variable)
    assert "'b'" not in str(e.value)
    found = tabulated(data, Request(dimensions=["new"], where="c = 'a'"), variable)
    assert found == {"Total": 1, "x": 1}


def test_codes_that_no_record_has_are_taken_for_slips():
    data = records(c=["a", None])
    variable = {"name": "new", "of": "c", "recode": {"a": "x", "aa": "x", "A": "y"}}
    with pytest.raises(DataError, match="names 2 codes that no record has in 'c'") as caught:
        tabulated(data, Request(dimensions=["new"]), variable)
    assert caught.value.inside == "'A', 'aa'"
    found = tabulated(data, Request(dimensions=["new"]), {**variable, "absent": "allow"})
    assert found == {"Total": 2, "x": 1, "(missing)": 1}


def test_where_there_is_no_record_no_code_is_absent():
    empty = pa.table({"c": pa.array([], pa.string()), "key": pa.array([], pa.uint8())})
    variable = {"name": "new", "of": "c", "recode": {"a": "x", "b": "y"}}
    request = Request(dimensions=["new"])
    assert set(tabulated(empty, request, variable).values()) <= {0}
    missing = records(c=pa.array([None, None], pa.string()))
    with pytest.raises(DataError, match="names 2 codes that no record has"):
        tabulated(missing, request, variable)


def test_categories_come_in_the_order_of_bands_and_of_codes():
    data = records(age=[100, 60, 5, 30, 7])
    found = tabulated(data, Request(dimensions=["new"]), {**NEW, "bands": [5, 10, 50, 100]})
    assert list(found) == ["Total", "5–9", "10–49", "50–99", "100+"]
    found = tabulated(
        records(c=["1", "2", "3"]),
        Request(dimensions=["new"]),
        {"name": "new", "of": "c", "recode": {"3": "z", "1": "a"}, "other": "m"},
    )
    assert list(found) == ["Total", "z", "a", "m"]


def test_levels_of_bands_nest_or_are_refused():
    data = records(age=list(range(30)))
    fine = {"name": "fine", "of": "age", "width": 5}
    nested = Request(
        dimensions=["h"], hierarchies={"h": Hierarchy(columns=("new", "fine", "age"))}
    )
    with open_source(data) as source:
        derive_variables(
            source, [DerivedVariable(**v) for v in (fine, {**NEW, "bands": [0, 15]})]
        )
        (cells,) = cube(source, KEYS, [nested])
        assert len(cells) == 1 + 2 + 6 + 30
    for bands in ([0, 8, 16], [0, 3, 15]):
        with open_source(data) as source:
            derive_variables(
                source, [DerivedVariable(**v) for v in (fine, {**NEW, "bands": bands})]
            )
            with pytest.raises(DataError, match="of the categories of 'fine' lie in several"):
                cube(source, KEYS, [nested])


def test_a_label_is_no_reserved_name():
    data = records(c=["a"])
    for label in ("Total", "(missing)"):
        with pytest.raises(RequestError, match=f"called '{label.strip('()')}|'.missing.'"):
            tabulated(
                data,
                Request(dimensions=["new"]),
                {"name": "new", "of": "c", "recode": {"a": label}},
            )


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("new = '5-9'", "did you mean '5–9'?"),
        ("new in ('5–9', '10 +')", "did you mean '10+'?"),
        ("new <> 'x'", "has no category 'x'; it has '5–9', '10+'"),
        ("new >= '5–9'", "by order"),
        ("new = 5", "a text column, with a number"),
    ],
)
def test_a_filter_names_categories_that_there_are(where, said):
    with open_source(records(age=[7, 8])) as source:
        derive_variables(source, [DerivedVariable(**NEW)])
        request = Request(dimensions=["age"], where=where)
        with pytest.raises(RequestError) as caught:
            cube(source, KEYS, [request])
        assert said in str(caught.value)
        ready = prepare(source, KEYS, requests={"new": Request(dimensions=["new"])})
        with pytest.raises(FilterError):
            ready.conditions(where)


def test_a_variable_is_not_summed_by_its_own_bands():
    with open_source(records(age=[7, 8])) as source:
        derive_variables(source, [DerivedVariable(**NEW)])
        with pytest.raises(RequestError, match="The dimension 'new' is made of 'age'"):
            cube(source, KEYS, [Request(dimensions=["new"], sums=["age"])])


def test_cells_have_no_records_to_derive_from():
    data = pa.table({"age": [1], "count": [1]})
    with open_source(data) as source:
        GivenCells(dimensions=("age",)).take(source)
        with pytest.raises(RequestError, match="the data are cells"):
            derive_variables(source, [DerivedVariable(**NEW)])


def test_many_codes_are_recoded_without_a_join(tmp_path):
    codes = np.array([f"{n:05d}" for n in range(5000)])
    recode = {code: code[:2] for code in codes.tolist()}
    data = pa.table({"c": codes, "key": pa.array(np.arange(5000) % 256, pa.uint8())})
    with open_source(data) as source:
        derive_variables(source, [DerivedVariable(name="new", of="c", recode=recode)])
        plan = source.fetch(f"EXPLAIN SELECT new FROM {source.relation}")
        assert "JOIN" not in str(plan).upper()
        rows = source.fetch(f"SELECT count(*) FROM {source.relation} WHERE new = left(c, 2)")
    assert rows == [(5000,)]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"bands": [0, 5, 85], "missing": "?"}, ["0–4", "85+", "?"]),
        ({"bands": [0, 5, 85], "missing": "85+"}, ["0–4", "85+", "85+"]),
        ({"recode": {"0": "a", "99": "b"}, "missing": "b"}, ["a", "b", "b"]),
        ({"recode": {"0": "a"}, "keep": True, "missing": "none"}, ["a", "99", "none"]),
        ({"recode": {"0": "a"}, "other": "rest", "missing": "rest"}, ["a", "rest", "rest"]),
    ],
)
def test_records_without_a_value_may_have_a_category(settings, expected):
    with open_source(records(age=pa.array([0, 99, None], pa.int64()))) as source:
        assert derived(source, of="age", **settings) == expected
        request = Request(dimensions=["new"])
        (cells,) = cube(source, KEYS, [request])
    (axis,) = cells.axes
    assert set(axis.labels[0]) >= {"Total", *expected}
    assert request.missing_label not in axis.labels[0]


def test_values_outside_are_still_refused_where_missing_ones_have_a_category():
    with open_source(records(age=pa.array([-1, 99, None], pa.int64()))) as source:
        derived(source, of="age", bands=[0, 5], missing="?")
        with pytest.raises(DataError, match="values outside the bands"):
            cube(source, KEYS, [Request(dimensions=["new"])])
