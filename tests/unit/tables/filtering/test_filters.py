"""The filter language: what it means, what it refuses, and that it cannot reach SQL."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tables import FilterError, Request, RequestError, StoredKeys, cube, open_source
from tables.filtering.filters import parse_filter
from tables.filtering.values import text_of, texts_of
from tests.strategies import decode


def count(column, where, *, data=None):
    """Count the records that a filter keeps."""
    table = pa.table({"x": column, "key": pa.array([0] * len(column), pa.uint8())})
    with open_source(table if data is None else data) as source:
        (cells,) = cube(
            source,
            StoredKeys(column="key", key_range=256),
            [Request(dimensions=[], where=where)],
        )
    return decode(cells).get((), (0,))[0]


NUMBERS = [1, 2, 3, 10, None]
WORDS = ["a", "it's", 'say "x"', "", None]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("where", "kept"),
    [
        ("x = 2", 1),
        ("x == 2", 1),
        ("x != 2", 3),
        ("x <> 2", 3),
        ("x < 2.5", 2),
        ("x <= 2", 2),
        ("x>1", 3),
        ("x >= 1e1", 1),
        ("x between 2 and 10", 3),
        ("x not between 2 and 10", 1),
        ("x in (1, 10, 99)", 2),
        ("x not in (1, 10)", 2),
        ("x is missing", 1),
        ("x IS NOT NULL", 4),
        ("not x = 2", 3),
        ("not (x = 2 or x is missing)", 3),
        ("x = 1 or x = 2 and x = 3", 1),
        ("(x = 1 or x = 2) and x = 2", 1),
        ("`x` = -1 or x=+3", 1),
    ],
)
def test_filters_on_numbers_mean_what_they_say(where, kept):
    assert count(NUMBERS, where) == kept


@pytest.mark.parametrize(
    ("where", "kept"),
    [
        ("x = 'a'", 1),
        ('x = "a"', 1),
        ("x = 'it''s'", 1),
        ('x = "say ""x"""', 1),
        ("x = ''", 1),
        ("x > 'b'", 2),
        ("x in ('a', 'nobody')", 1),
        ("x = 'A'", 0),
    ],
)
def test_filters_on_texts_mean_what_they_say(where, kept):
    assert count(WORDS, where) == kept


def test_filters_on_categoricals_are_those_on_their_texts():
    codes = pd.Categorical(["b", "b", "a"], categories=["b", "unused", "a"])
    frame = pd.DataFrame({"x": codes, "key": [0, 0, 0]})
    for where, kept in {"x < 'b'": 1, "x = 'nobody'": 0, "x in ('b', 'nobody')": 2}.items():
        assert count([], where, data=frame) == kept


def test_filters_on_dates_and_truth_values():
    days = [dt.date(2020, 1, 1), dt.date(2021, 6, 1), None]
    assert count(days, "x >= '2020-06-01'") == 1
    moments = [dt.datetime(2020, 1, 1, 12), dt.datetime(2020, 1, 2)]  # noqa: DTZ001
    assert count(moments, "x < '2020-01-01T13:00:00'") == 1
    assert count([True, False, None], "x = true") == 1
    assert count([True, False, None], "x != TRUE") == 1


def test_a_moment_with_a_time_zone_is_read_in_utc_on_every_machine(monkeypatch):
    import time

    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        moment = dt.datetime(2020, 1, 1, 0, 30, tzinfo=dt.UTC)
        column = pa.array([moment], pa.timestamp("us", "UTC"))
        assert count(column, "x >= '2020-01-01T00:00:00'") == 1
        assert count(column, "x >= '2020-01-01T01:00:00'") == 0
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.slow
@pytest.mark.parametrize("where", ["x >= 0", "x != 5", "not x = 5", "x not in (5, 6)"])
def test_nan_is_missing_in_a_filter_whatever_holds_it(where):
    values = [1.0, float("nan"), None]
    keys = [0, 0, 0]
    assert count(values, where) == 1
    assert count([], where, data=pl.DataFrame({"x": values, "key": keys})) == 1
    assert count([], where, data=pd.DataFrame({"x": values, "key": keys})) == 1
    assert count(values, "x is missing") == 2


def test_large_whole_numbers_are_compared_exactly():
    column = pa.array([2**63, 2**63 + 1], pa.uint64())
    assert count(column, f"x = {2**63 + 1}") == 1
    assert count(column, f"x > {2**63}") == 1
    assert count(column, f"x < {10**37 - 1}") == 2
    assert count(column, f"x < {10**60}") == 2
    assert count(pa.array([5], pa.int8()), "x < 1000") == 1


def test_decimals_are_compared_by_value():
    column = pa.array([Decimal("0.10"), Decimal("0.20")], pa.decimal128(5, 2))
    assert count(column, "x = 0.1") == 1


@pytest.mark.parametrize(
    "where",
    [
        "x = 1; DROP TABLE ckm_records",
        "x = 1 -- ",
        "x = 1 /* */",
        "x in (select 1)",
        "1 = 1",
        "x = 1 or 1=1",
        "x = y",
        "x = $f0",
        "x = ?",
        "x like 'a%'",
        "x = 'open",
        "x = 1 2",
        "x between 1",
        "x in ()",
        "x in (1,",
        "x is",
        "x not 1",
        "and x = 1",
        "x = 1 and",
        "(x = 1",
        "x = 1)",
        "read_csv('/etc/passwd')",
        "",
        "   ",
        "not",
        "x = 12abc",
        "x ≥ 1",
    ],
)
def test_what_is_not_in_the_language_is_refused_with_an_example(where):
    with pytest.raises(FilterError, match="hint: write for example: age >= 15"):
        parse_filter(where)


def test_a_filter_is_bounded_in_length_and_depth():
    with pytest.raises(FilterError, match="at most 20,000 characters"):
        parse_filter("x = 1 or " * 3000 + "x = 1")
    for deep in ("(" * 60 + "x = 1" + ")" * 60, "not " * 60 + "x = 1"):
        with pytest.raises(FilterError, match="at most 50 levels"):
            parse_filter(deep)
    long = " or ".join(f"x = {n}" for n in range(1000))
    assert count(NUMBERS, long) == 4


@pytest.mark.parametrize(
    ("column", "where", "problem"),
    [
        ([1], "x = 'a'", "'x', an integer column, with a text"),
        (["a"], "x = 1", "'x', a text column, with a number"),
        (["a"], "x = true", "'x', a text column, with a true/false"),
        ([True], "x = 1", "'x', a true/false column, with a number"),
        ([dt.date(2020, 1, 1)], "x > 5", "'x', a date column, with a number"),
        ([dt.date(2020, 1, 1)], "x > '5.5.20'", "'x', a date column, with a text"),
        ([[1]], "x = 1", "'x' holds nested values, which are not read"),
        ([1], "X = 1", "Column 'X' is not in the data"),
        ([1], "xx = 1", "Column 'xx' is not in the data"),
    ],
)
def test_a_filter_that_does_not_fit_its_column_says_so(column, where, problem):
    with pytest.raises(RequestError, match=problem) as caught:
        count(column, where)
    assert "hint:" in str(caught.value)


def test_values_never_enter_the_sql_text():
    values = {}
    text = "'; DROP TABLE ckm_records; --"
    sql = parse_filter(f'x = "{text}" and y in ("$f0", "?")').sql(
        {"x": "VARCHAR", "y": "VARCHAR"}, values
    )
    assert "DROP" not in sql
    assert list(values.values()) == [text, "$f0", "?"]
    assert count([text, "a"], f'x = "{text}"') == 1


def test_equal_filters_are_equal_and_share_a_hash():
    one, other = parse_filter("a=1 AND b in ('x')"), parse_filter("`a` == 1 and (b IN ('x'))")
    assert one == other
    assert hash(one) == hash(other)
    assert one != parse_filter("a = 2 and b in ('x')")
    assert one.columns == {"a", "b"}


@pytest.mark.slow
@pytest.mark.parametrize("mark", ["`", '"'])
def test_column_names_in_quotes_may_hold_anything(mark):
    for name in (
        "two words",
        "back`tick",
        'quote"',
        "it's",
        "and",
        "é漢😀",
        "a\nb",
        "n-1",
        "1st",
    ):
        table = pa.table({name: [1, 2], "key": pa.array([0, 0], pa.uint8())})
        quoted = mark + name.replace(mark, mark * 2) + mark
        conditions = ("= 2", "in (2)", "not in (1)", "between 2 and 3", "is not missing")
        assert [count([], f"{quoted} {rest}", data=table) for rest in conditions] == [
            *(1, 1, 1, 1, 2)
        ]
        assert count([], f"not ({quoted} = 1 or {quoted} is missing)", data=table) == 1


def test_a_text_in_double_quotes_is_a_column_before_a_comparison_and_a_value_behind_it():
    assert parse_filter('"sex" = "F"') == parse_filter("sex = 'F'")
    for where in ("'sex' = 'F'", '"sex" = `sex`', "'sex' is missing", '"" = 1'):
        with pytest.raises(FilterError):
            parse_filter(where)


def test_whoever_writes_a_name_with_blanks_or_signs_is_told_of_quotes():
    for where in ("n-1 = 2", "age group = '0–4'", "wage € > 5"):
        with pytest.raises(FilterError, match='stands in quotes: "age group" = '):
            parse_filter(where)


def test_a_whole_number_is_the_same_however_it_is_written():
    """Else two texts are one filter, and compare with floats and large integers differently."""
    written = ["16777217", "16777217.0", "+16777217", "1677721.7e1"]
    assert len({parse_filter(f"x >= {text}") for text in written}) == 1
    for text in written:
        values = {}
        parse_filter(f"x = {text}").sql({"x": "BIGINT"}, values)
        assert values == {"f0": "16777217"}
    assert parse_filter("x < 1e300") != parse_filter("x < 1.5")
    parse_filter("x < 1e999999999 and x > 1e-999999999 and x <> -0.0")
    with pytest.raises(FilterError, match="needs"):
        parse_filter("x < 1e99999999999999999999")


NOON = dt.datetime.fromisoformat("2020-01-01T12:00:00")


@pytest.mark.parametrize(
    ("category", "values"),
    [
        (2.0, pa.array([2.0])),
        (np.float32(0.1), pa.array([0.1], pa.float32())),
        (True, pa.array([True])),
        (Decimal("1.50"), pa.array([Decimal("1.50")])),
        (dt.date(2020, 2, 1), pa.array([dt.date(2020, 2, 1)])),
        (NOON, pa.array([NOON])),
        (NOON.replace(microsecond=500_000), pa.array([1577880000500], pa.timestamp("ms"))),
        (dt.time(6, 30), pa.array([dt.time(6, 30)])),
        ("a'b", pa.array(["a'b"])),
    ],
)  # fmt: skip
def test_a_declared_category_is_written_as_the_same_value_from_the_data(category, values):
    assert [text_of(category)] == texts_of(values, "x")


def test_moments_of_a_zone_are_written_in_universal_time():
    zone = dt.timezone(dt.timedelta(hours=2))
    assert text_of(dt.datetime(2020, 1, 1, 12, tzinfo=zone)) == "2020-01-01 10:00:00Z"
