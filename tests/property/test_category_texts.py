"""The text of a category, in a filter, stands for that category and no other."""

from __future__ import annotations

import datetime as dt
import operator
import struct
from decimal import Context, Decimal

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tables import DataError, Request, StoredKeys, cube, open_source
from tables.prepared.prepare import prepare
from tests.strategies import TOTAL

KEYS = StoredKeys(column="key", key_range=256)
UTC = dt.UTC
SIGNS = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def singles():
    return st.integers(0, 2**32 - 1).map(lambda n: struct.unpack("<f", struct.pack("<I", n))[0])


def whole(bits, *, is_signed):
    low = -(2 ** (bits - 1)) if is_signed else 0
    return st.integers(low, low + 2**bits - 1)


def decimals(digits, places):
    units = st.integers(1 - 10**digits, 10**digits - 1)
    return units.map(lambda n: Decimal(n).scaleb(-places, Context(prec=60)))


def moments(unit, zone=None):
    per = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    low, high = (-2_000_000_000, 4_000_000_000)
    return st.integers(low * per, high * per), pa.timestamp(unit, zone)


TYPES = {
    **{
        f"int{b}": (whole(b, is_signed=True), getattr(pa, f"int{b}")()) for b in (8, 16, 32, 64)
    },
    **{
        f"uint{b}": (whole(b, is_signed=False), getattr(pa, f"uint{b}")())
        for b in (8, 16, 32, 64)
    },
    "float32": (
        st.one_of(st.sampled_from([0.1, 0.2, 16777216.0, 1e10, np.inf, -np.inf]), singles()),
        pa.float32(),
    ),
    "float64": (
        st.one_of(st.sampled_from([0.1, 1e22, np.inf, 5e-324]), st.floats()),
        pa.float64(),
    ),
    "decimal5": (decimals(5, 2), pa.decimal128(5, 2)),
    "decimal18": (decimals(18, 17), pa.decimal128(18, 17)),
    "decimal38": (decimals(38, 10), pa.decimal128(38, 10)),
    "date": (st.dates(), pa.date32()),
    "date64": (st.dates(), pa.date64()),
    "time32s": (st.integers(0, 86_399), pa.time32("s")),
    "time64us": (st.integers(0, 86_400 * 10**6 - 1), pa.time64("us")),
    "time64ns": (st.integers(0, 86_400 * 10**9 - 1), pa.time64("ns")),
    "moment_s": moments("s"),
    "moment_ms": moments("ms"),
    "moment_us": moments("us"),
    "moment_ns": moments("ns"),
    "zoned_us": moments("us", "Asia/Kolkata"),
    "zoned_ns": moments("ns", "UTC"),
    "bool": (st.booleans(), pa.bool_()),
    "text": (
        st.one_of(
            st.sampled_from(
                ["01", "1", " a", "it's", 'say "x"', "1.0", "true", "é", "2020-01-01"]
            ),
            st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=4),
        ),
        pa.string(),
    ),
    "dictionary": (st.sampled_from(["b", "a", "B", ""]), pa.dictionary(pa.int8(), pa.string())),
}


def literal(text, kind):
    """Write a category's text as a filter takes it: numbers, true and false bare."""
    is_number = kind in {"integer", "number"} and not text.endswith("inf")
    if is_number or kind == "boolean":
        return text
    return "'" + text.replace("'", "''") + "'"


def conditions(labels, kind):
    """Give conditions on the first category and one amid, each with those that it means."""
    places = range(len(labels))
    first, last = literal(labels[0], kind), literal(labels[-1], kind)
    yield f"x = {first}", {labels[0]}
    yield f"x < {first}", set()
    yield f"x not in ({first})", set(labels[1:])
    place = len(labels) // 2
    at = literal(labels[place], kind)
    for sign, holds in SIGNS.items():
        yield f"x {sign} {at}", {labels[p] for p in places if holds(p, place)}
    yield f"x in ({at})", {labels[place]}
    yield f"x between {at} and {last}", set(labels[place:])


def categories(cells):
    (axis,) = cells.axes
    return [text for text in axis.labels[0][cells.ranks[0]] if text != TOTAL]


def require_texts_and_filters_agree(data, table=None):
    with open_source(data, table=table) as source:
        (cells,) = cube(source, KEYS, [Request(dimensions=["x"])])
        labels = [text for text in categories(cells) if text != "(missing)"]
        assert len(set(labels)) == len(labels)
        if not labels:
            return
        kind = source.kinds["x"]
        if kind == "text":  # also those that the table shows in an order of their own
            labels.sort(key=str.encode)
        wanted = dict(conditions(labels, kind))
        found = cube(source, KEYS, [Request(dimensions=["x"], where=where) for where in wanted])
        ready = prepare(source, KEYS, requests={"x": Request(dimensions=["x"])})
        for (where, kept), one in zip(wanted.items(), found, strict=True):
            assert set(categories(one)) == kept, where
            scanned = ready.scan({"x": 0}, where=ready.conditions(where))
            again = ready.cells(scanned, ["x"], level_sets=[(0,)])
            assert set(categories(again)) == kept, where


@pytest.mark.slow
@pytest.mark.parametrize("name", TYPES)
@settings(max_examples=settings.default.max_examples // 25)  # each asks some twenty questions
@given(data=st.data())
def test_the_text_of_a_category_in_a_filter_selects_it_and_no_other(name, data):
    values, kind = TYPES[name]
    drawn = data.draw(st.lists(st.one_of(st.none(), values), min_size=1, max_size=5))
    column = pa.array(drawn, kind)
    keys = pa.array([0] * len(drawn), pa.uint8())
    require_texts_and_filters_agree(pa.table({"x": column, "key": keys}))


@pytest.mark.parametrize(
    ("sql_type", "values"),
    [
        ("HUGEINT", ["-99999999999999999999999999999999999999", "9007199254740993", "5"]),
        ("UHUGEINT", ["99999999999999999999999999999999999999", "0", "18446744073709551617"]),
        ("UUID", ["00000000-0000-0000-0000-00000000000a", "f" * 32, "7" * 32]),
        ("ENUM('z', 'a', 'it''s')", ["z", "a", "it's"]),
        ("TIMESTAMP_S", ["2020-01-01 00:00:01", "1969-12-31 23:59:59"]),
        ("TIME_NS", ["01:02:03.123456789", "01:02:03.123456788"]),
        ("DECIMAL(4,1)", ["0.5", "-999.9", "10"]),
    ],
)
def test_types_of_a_duckdb_file_keep_it_too(sql_type, values, tmp_path):
    path = tmp_path / "people.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE t (x {sql_type}, key UTINYINT)")
        connection.executemany("INSERT INTO t VALUES (?, 0)", [[value] for value in values])
    require_texts_and_filters_agree(path, table="t")


@pytest.mark.parametrize(
    ("where", "kept"),
    [
        ("f = 0.1", {"0.1"}),
        ("f > 0.1", {"0.2", "0.3"}),
        ("f between 0.1 and 0.2", {"0.1", "0.2"}),
        ("f in (0.3, 7)", {"0.3"}),
        ("not f = 0.1", {"0.2", "0.3"}),
    ],
)
def test_a_number_in_single_precision_is_the_one_that_is_printed(where, kept):
    people = pa.table(
        {"f": pa.array([0.1, 0.2, 0.3], pa.float32()), "key": pa.array([0] * 3, pa.uint8())}
    )
    with open_source(people) as source:
        (cells,) = cube(source, KEYS, [Request(dimensions=["f"], where=where)])
    assert set(categories(cells)) == kept


@pytest.mark.parametrize(
    ("column", "where", "kept"),
    [
        (pa.array([2**53, 2**53 + 1]), f"x in ({2**53 + 1}, 0.5)", {str(2**53 + 1)}),
        (pa.array([1, 2], pa.uint8()), "x > 1.5", {"2"}),
        (pa.array([1, 2], pa.uint8()), "x < -1", set()),
        (pa.array([1, 2], pa.uint8()), "x <> 1.5 and x < 1e300", {"1", "2"}),
        (pa.array([1e308, np.inf]), "x < 1e999", {"1e+308"}),
        (pa.array([0.0, 5e-324]), "x >= 1e-999", {"5e-324"}),
        (pa.array([dt.date(2020, 1, 1)]), "x < '2020-01-01 12:00'", {"2020-01-01"}),
        (pa.array([dt.time(9), dt.time(9, 0, 0, 1)]), "x <= '09:00'", {"09:00:00"}),
        (
            pa.array([dt.datetime(2020, 1, 1, 1, tzinfo=UTC)], pa.timestamp("us", "UTC")),
            "x = '2020-01-01T02:00:00+01:00'",
            {"2020-01-01 01:00:00Z"},
        ),
    ],
)  # fmt: skip
def test_a_literal_between_two_values_lies_between_them(column, where, kept):
    people = pa.table({"x": column, "key": pa.array([0] * len(column), pa.uint8())})
    with open_source(people) as source:
        (cells,) = cube(source, KEYS, [Request(dimensions=["x"], where=where)])
    assert set(categories(cells)) == kept


@pytest.mark.parametrize(
    ("sql_type", "value", "said"),
    [
        ("DATE", "infinity", "dates beyond the years"),
        ("TIMESTAMP", "12020-01-01", "dates beyond the years"),
        ("TIME", "24:00:00", "times of day from 24:00"),
        ("HUGEINT", str(2**127 - 1), "more than 38 digits"),
        ("BLOB", "a", "binary values"),
        ("TIME WITH TIME ZONE", "01:02:03+02", "type TIME WITH TIME ZONE"),
    ],
)
def test_what_no_filter_could_name_is_refused_by_the_name_of_its_column(
    sql_type, value, said, tmp_path
):
    path = tmp_path / "people.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            f"CREATE TABLE t AS SELECT '{value}'::{sql_type} AS x, 0::UTINYINT AS key"
        )
    with (
        open_source(path, table="t") as source,
        pytest.raises((DataError, ValueError), match=said) as caught,
    ):
        cube(source, KEYS, [Request(dimensions=["x"])])
    assert "'x'" in str(caught.value)


def test_a_time_of_day_that_is_none_is_told():
    people = pa.table({"x": pa.array([dt.time(9)]), "key": pa.array([0], pa.uint8())})
    with (
        open_source(people) as source,
        pytest.raises(ValueError, match="times of day") as caught,
    ):
        cube(source, KEYS, [Request(dimensions=["x"], where="x > '25:00'")])
    assert "09:30:00" in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("is_empty", [True, False])
def test_a_dimension_that_no_record_is_left_of_gives_an_empty_table(name, is_empty):
    column = pa.array([] if is_empty else [None], TYPES[name][1])
    people = pa.table({"x": column, "key": pa.array([0] * len(column), pa.uint8())})
    with open_source(people) as source:
        (cells,) = cube(source, KEYS, [Request(dimensions=["x"], where="key > 5")])
        assert len(cells) == 0
        ready = prepare(source, KEYS, requests={"x": Request(dimensions=["x"])})
        found = ready.scan({"x": 0}, where=ready.conditions("x is not missing"))
        assert len(ready.cells(found, ["x"], level_sets=[(0,), (1,)])) == 0
