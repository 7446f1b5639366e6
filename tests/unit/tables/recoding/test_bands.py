"""Bands of numbers and dates: bounds, labels, and the SQL that cuts."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from itertools import pairwise

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tables import RequestError
from tables.recoding.bands import (
    anchored,
    bands_between,
    bands_sql,
    labels_of,
    named_bands,
    period_sql,
    read_bound,
    require_rising,
    steps,
)


def labels(*bounds, opens="end", is_whole=True):
    read = [read_bound(bound, "x") for bound in bounds]
    return list(labels_of(bands_between(read, opens, is_whole=is_whole)))


def cut(values, bands, sql_type, outside="NULL"):
    sql = bands_sql(bands, "v", sql_type, outside)
    query = f"SELECT {sql} FROM (SELECT unnest($v)::{sql_type} AS v)"
    return [label for (label,) in duckdb.sql(query, params={"v": values}).fetchall()]


def test_bands_of_whole_numbers_are_called_by_their_first_and_last_number():
    assert labels(0, 5, 6, 85) == ["0–4", "5", "6–84", "85+"]
    assert labels(0, 5, 10, opens="both") == ["<0", "0–4", "5–9", "10+"]
    assert labels(-10, -5, 0, opens="none") == ["-10 – -6", "-5 – -1"]


def test_bands_of_other_numbers_are_half_open_and_written_with_as_many_decimals():
    assert labels(0, 0.5, 1, is_whole=False) == ["0.0–<0.5", "0.5–<1.0", "1.0+"]
    assert labels(0, 2.5, 5) == ["0.0–<2.5", "2.5–<5.0", "5.0+"]


def test_bands_of_dates_are_called_by_their_first_and_last_day():
    dates = [dt.date(2000, 1, 1), dt.date(2000, 1, 2), dt.date(2010, 1, 1)]
    assert labels(*dates, opens="both") == [
        "<2000-01-01",
        "2000-01-01",
        "2000-01-02 – 2009-12-31",
        "≥2010-01-01",
    ]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), True, "5", None, [1]])
def test_a_bound_is_a_finite_number_or_a_date(value):
    with pytest.raises(RequestError, match="must be a number or a date, and finite"):
        read_bound(value, "x")
    assert read_bound(0.1, "x") == Decimal("0.1")


def test_bounds_rise_and_are_of_one_kind():
    with pytest.raises(RequestError, match="must rise: 5 comes after 5"):
        require_rising([Decimal(5), Decimal(5)], "x")
    with pytest.raises(RequestError, match="mixes numbers and dates"):
        require_rising([Decimal(5), dt.date(2000, 1, 1)], "x")


def test_steps_reach_the_end_without_drifting():
    bounds = steps(Decimal("0.1"), Decimal(0), Decimal(1))
    assert bounds == [Decimal(n) / 10 for n in range(11)]
    assert steps(Decimal(5), Decimal(0), Decimal(12))[-1] == 15
    with pytest.raises(RequestError, match="more than 1,000"):
        steps(Decimal(1), Decimal(0), Decimal(10**9))


@pytest.mark.parametrize(
    ("value", "bound"), [(7, 5), (5, 5), (-1, -5), ("-0.1", -5), ("4.9999999999999999999", 0)]
)
def test_the_anchor_of_a_value_is_the_multiple_at_or_below_it(value, bound):
    assert anchored(Decimal(5), Decimal(0), Decimal(value)) == bound


def test_named_bands_neither_overlap_nor_leave_a_gap():
    bands = named_bands({"young": {"end": 18}, "old": {"start": 18}}, "x")
    assert [(b.lower, b.upper, b.label) for b in bands] == [
        (None, 18, "young"),
        (18, None, "old"),
    ]
    for first, second in (
        ({"start": 0, "end": 14}, {"start": 15}),
        ({"start": 0, "end": 16}, {"start": 15}),
        ({"start": 0}, {"start": 15}),
        ({"start": 15, "end": 20}, {"start": 0, "end": 15}),
    ):
        with pytest.raises(RequestError, match="overlap or leave a gap"):
            named_bands({"a": first, "b": second}, "x")
    with pytest.raises(RequestError, match="has a start, an end or both"):
        named_bands({"a": {"from": 0}, "b": {"start": 15}}, "x")
    with pytest.raises(RequestError, match="must rise"):
        named_bands({"a": {"start": 5, "end": 0}, "b": {"start": 0}}, "x")


def test_tenths_fall_into_the_band_that_they_begin_whatever_the_type():
    tenths = [f"{n / 10:.1f}" for n in range(10)]
    bands = bands_between(steps(Decimal("0.1"), Decimal(0), Decimal(1)), "none", is_whole=False)
    expected = [f"{n / 10:.1f}–<{(n + 1) / 10:.1f}" for n in range(10)]
    for kind in ("DOUBLE", "FLOAT", "DECIMAL(9,1)", "DECIMAL(38,10)"):
        assert cut(tenths, bands, kind) == expected, kind


def test_bounds_beyond_a_type_hold_all_of_its_values_or_none():
    bands = bands_between([Decimal(-1000), Decimal(0), Decimal(1000)], "end", is_whole=True)
    assert cut([-128, 0, 127, None], bands, "TINYINT") == ["-1000 – -1", *["0–999"] * 2, None]
    assert cut([0, 255], bands, "UTINYINT") == ["0–999"] * 2


def test_values_outside_become_what_is_said():
    bands = bands_between([Decimal(0), Decimal(5), Decimal(10)], "none", is_whole=True)
    assert cut([-1, 0, 10, None], bands, "BIGINT") == [None, "0–4", None, None]
    assert cut([-1, 0, 10, None], bands, "BIGINT", "'?'") == ["?", "0–4", "?", None]


@given(
    st.lists(st.decimals(-100, 100, places=1), min_size=2, max_size=8, unique=True),
    st.lists(st.decimals(-120, 120, places=2), max_size=20),
    st.sampled_from(["end", "start", "both", "none"]),
)
def test_every_value_lies_in_the_one_band_that_holds_it(bounds, values, opens):
    bands = bands_between(sorted(bounds), opens, is_whole=False)
    found = cut([str(v) for v in values], bands, "DECIMAL(9,2)")
    for value, label in zip(values, found, strict=True):
        held = [
            b.label
            for b in bands
            if (b.lower is None or b.lower <= value) and (b.upper is None or value < b.upper)
        ]
        assert held == ([] if label is None else [label])
    assert len(set(labels_of(bands))) == len(bands)
    assert all(a.upper == b.lower for a, b in pairwise(bands))


@pytest.mark.parametrize("kind", ["DATE", "TIMESTAMP", "TIMESTAMP_NS", "TIMESTAMPTZ"])
def test_dates_are_cut_by_year_quarter_and_month(kind):
    dates = ["2024-03-31", "2024-04-01", "1999-12-31", None]
    found = {
        period: [
            label
            for (label,) in duckdb.sql(
                f"SELECT {period_sql(period, 'v', 'NULL')} FROM "
                f"(SELECT unnest($v)::{kind} AS v)",
                params={"v": dates},
            ).fetchall()
        ]
        for period in ("year", "quarter", "month")
    }
    assert found["year"] == ["2024", "2024", "1999", None]
    assert found["quarter"] == ["2024-Q1", "2024-Q2", "1999-Q4", None]
    assert found["month"] == ["2024-03", "2024-04", "1999-12", None]


def test_dates_beyond_four_digits_of_a_year_lie_outside():
    sql = period_sql("year", "v", "NULL")
    values = "VALUES (DATE '12024-01-01'), (DATE '0044-03-15 (BC)'), (DATE 'infinity')"
    assert duckdb.sql(f"SELECT {sql} FROM ({values}) t(v)").fetchall() == [(None,)] * 3
