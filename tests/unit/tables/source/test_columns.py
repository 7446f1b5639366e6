"""Columns: whatever holds them, their names are exact and their types mean one thing."""

from __future__ import annotations

import datetime as dt
import re
import unicodedata
import uuid
import warnings
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tables import (
    DataWarning,
    Request,
    RequestError,
    Secret,
    SourceError,
    StoredKeys,
    cube,
    open_source,
)
from tables.keys import attach_keys, draw_keys
from tables.prepared.prepare import prepare
from tables.source.columns import common_type
from tables.source.files import free_name
from tests.strategies import decode

KEYS = StoredKeys(column="key", key_range=256)
MISSING = "(missing)"


def categories(data, dimension="v", *, table=None, where=None):
    """Return the categories of a column, as records are tabulated and as they are prepared."""
    with open_source(data, table=table) as source:
        wish = Request(dimensions=[dimension], margins="none")
        filtered = Request(dimensions=[dimension], margins="none", where=where)
        (cells,) = cube(source, KEYS, [filtered])
        direct = {name[0]: cell[0] for name, cell in decode(cells).items()}
        ready = prepare(source, KEYS, requests={dimension: wish})
        found = ready.scan({dimension: 0}, where=ready.conditions(where))
        prepared = ready.cells(found, [dimension], level_sets=[(0,)])
        counts = {name[0]: cell[0] for name, cell in decode(prepared).items() if cell[0]}
    assert counts == direct
    return direct


def outcome(data, dimension="v", **options):
    """Return the categories, or how their column is refused."""
    try:
        return categories(data, dimension, **options)
    except (RequestError, SourceError) as error:
        return str(error)


def keyed(**columns):
    rows = len(next(iter(columns.values())))
    return pa.table({**columns, "key": pa.array(range(rows), pa.uint8())})


def written(table, folder):
    """Return a table in every kind of source that can hold it."""
    sources = {"memory": table}
    try:
        pq.write_table(table, folder / "t.parquet")
        sources["Parquet"] = folder / "t.parquet"
    except (pa.ArrowException, OSError):
        pass
    with (
        pa.OSFile(str(folder / "t.arrow"), "wb") as sink,
        pa.ipc.new_file(sink, table.schema) as writer,
    ):
        writer.write_table(table)
    return sources | {"Arrow file": folder / "t.arrow"}


# --- types --------------------------------------------------------------------------------

_MOMENT, _DAY = pd.Timestamp("2020-01-01T05"), dt.date(2020, 1, 1)
_ID = "12345678-1234-5678-1234-567812345678"


def _extension(kind, values):
    return pa.ExtensionArray.from_storage(kind, pa.array(values, kind.storage_type))


READ = {
    "null": (pa.nulls(2), [MISSING, MISSING]),
    "bool": (pa.array([True, None]), ["true", MISSING]),
    "int8": (pa.array([1, None], pa.int8()), ["1", MISSING]),
    "uint64": (pa.array([2**64 - 1, None], pa.uint64()), [str(2**64 - 1), MISSING]),
    "float32": (pa.array([0.1, None], pa.float32()), ["0.1", MISSING]),
    "float64": (pa.array([0.1, None]), ["0.1", MISSING]),
    "decimal128": (pa.array([Decimal("1.50"), None]), ["1.5", MISSING]),
    "decimal256": (pa.array([Decimal("1.50"), None], pa.decimal256(20, 2)), ["1.5", MISSING]),
    "string": (pa.array(["a", None]), ["a", MISSING]),
    "large string": (pa.array(["a", None], pa.large_string()), ["a", MISSING]),
    "string view": (pa.array(["a", None], pa.string_view()), ["a", MISSING]),
    "date32": (pa.array([_DAY, None]), ["2020-01-01", MISSING]),
    "date64": (pa.array([_DAY, None], pa.date64()), ["2020-01-01", MISSING]),
    "seconds": (pa.array([_MOMENT, None], pa.timestamp("s")), ["2020-01-01 05:00:00", MISSING]),
    "nanoseconds": (
        pa.array([_MOMENT, None], pa.timestamp("ns")),
        ["2020-01-01 05:00:00", MISSING],
    ),
    "with a zone": (
        pa.array([_MOMENT, None], pa.timestamp("us", "Europe/Paris")),
        ["2020-01-01 05:00:00Z", MISSING],
    ),
    "time of day": (pa.array([dt.time(5, 30), None]), ["05:30:00", MISSING]),
    "run-end encoded": (
        pa.RunEndEncodedArray.from_arrays([1, 2], pa.array([5, None])),
        ["5", MISSING],
    ),
    "bool8": (_extension(pa.bool8(), [1, None]), ["true", MISSING]),
    "opaque text": (
        _extension(pa.opaque(pa.string(), "citext", "PostgreSQL"), ["x", None]),
        ["x", MISSING],
    ),
    "period": (pa.array(pd.PeriodIndex(["2020-01", "NaT"], freq="M")), ["2020-01", MISSING]),
}
if hasattr(pa, "json_"):  # from PyArrow 19 on
    READ["uuid"] = (_extension(pa.uuid(), [uuid.UUID(_ID).bytes, None]), [_ID, MISSING])
    READ["json"] = (_extension(pa.json_(), ['{"a":1}', None]), ['{"a":1}', MISSING])
    READ["decimal32"] = (
        pa.array([Decimal("1.50"), None], pa.decimal32(5, 2)),
        ["1.5", MISSING],
    )
    READ["decimal64"] = (
        pa.array([Decimal("1.50"), None], pa.decimal64(15, 2)),
        ["1.5", MISSING],
    )
REFUSED = {
    "half float": (pa.array(np.array([1, 2], np.float16)), "half floats", "float32"),
    "decimal of 50 digits": (
        pa.array([Decimal(1), None], pa.decimal256(50, 2)),
        r"type decimal256\(50, 2\)",
        "at most 38 digits",
    ),
    "decimal of a negative scale": (
        pa.array([Decimal(100), None], pa.decimal128(20, -2)),
        "type decimal128",
        "as text",
    ),
    "duration": (pa.array([5, None], pa.duration("us")), "durations", "of one unit"),
    "duration in ns": (pa.array([5, None], pa.duration("ns")), "durations", "of one unit"),
    "calendar duration": (
        pa.array([(1, 2, 3), None], pa.month_day_nano_interval()),
        "durations",
        "of one unit",
    ),
    "binary": (pa.array([b"a", None]), "binary values", "as text"),
    "binary view": (pa.array([b"a", None], pa.binary_view()), "binary values", "as text"),
    "seconds far away": (
        pa.array([9 * 10**14, None], pa.timestamp("s")),
        "years beyond 290,000",
        "leave",
    ),
    # older PyArrow writes the least of 64 bits to Parquet as 0 milliseconds
    "seconds farther away": (
        pa.array([-(10**16), None], pa.timestamp("s")),
        "years beyond 290,000",
        "leave",
    ),
    "milliseconds far away with a zone": (
        pa.array([-(2**62), None], pa.timestamp("ms", "UTC")),
        "years beyond 290,000",
        "leave",
    ),
    "microseconds far away": (
        pa.array([-(2**63) + 1000, None], pa.timestamp("us")),
        "years beyond 290,000",
        "leave",
    ),
    "list": (pa.array([[1], None]), "nested values", "columns of their own"),
    "list of half floats": (
        pa.array([[np.float16(1)], None], pa.list_(pa.float16())),
        "nested values",
        "columns of their own",
    ),
    "struct": (pa.array([{"a": 1}, None]), "nested values", "columns of their own"),
    "map": (
        pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int8())),
        "nested values",
        "columns of their own",
    ),
    "union": (
        pa.UnionArray.from_sparse(
            pa.array([0, 1], pa.int8()), [pa.array([1, 2]), pa.array(["a", "b"])]
        ),
        "nested values",
        "columns of their own",
    ),
    "interval": (
        pa.array(pd.arrays.IntervalArray.from_breaks([0, 1, 2])),
        "intervals",
        r"\.astype\(str\)",
    ),
    "opaque numbers": (
        _extension(pa.opaque(pa.int64(), "money", "PostgreSQL"), [5, None]),
        "type arrow.opaque",
        "as text",
    ),
}


@pytest.mark.parametrize("kind", READ)
def test_a_type_that_is_read_means_the_same_in_every_source(kind, tmp_path):
    values, labels = READ[kind]
    for name, data in written(keyed(v=values), tmp_path).items():
        assert categories(data) == {label: labels.count(label) for label in labels}, name


@pytest.mark.parametrize("kind", REFUSED)
def test_a_type_that_is_not_read_is_refused_by_name_with_a_cure_when_used(kind, tmp_path):
    values, what, cure = REFUSED[kind]
    for data in written(keyed(v=values, u=["x", "y"]), tmp_path).values():
        assert categories(data, "u") == {"x": 1, "y": 1}
        for wish in (
            {"dimensions": ["v"]},
            {"dimensions": ["u"], "where": "v = 1"},
            {"dimensions": ["u"], "sums": ["v"]},
        ):
            with (
                open_source(data) as source,
                pytest.raises(RequestError, match=f"'v' holds .*{what}") as caught,
            ):
                cube(source, KEYS, [Request(**wish)])
            assert re.search(f"hint: .*{cure}", str(caught.value))


@pytest.mark.parametrize("kind", [*READ, *REFUSED])
def test_dictionaries_are_read_as_their_values(kind, tmp_path):
    values = {**READ, **REFUSED}[kind][0]
    if pa.types.is_run_end_encoded(values.type):
        pytest.skip("a dictionary of run ends is none that programs write")
    coded = pa.DictionaryArray.from_arrays(pa.array([0, 1, None], pa.int8()), values)
    table = keyed(v=coded)
    # Arrow itself reads no codes of extensions from files.
    is_own = isinstance(values.type, pa.BaseExtensionType)
    for data in [table] if is_own else written(table, tmp_path).values():
        if kind in READ:
            labels = [*READ[kind][1], MISSING]
            assert outcome(data) == {label: labels.count(label) for label in labels}
        else:
            assert re.search(f"'v' holds .*{REFUSED[kind][1]}", outcome(data))


def test_years_too_far_away_are_named_without_statistics_of_a_file(tmp_path):
    far = pa.array([9 * 10**14, 0], pa.timestamp("s"))
    table = keyed(u=["x", "y"], near=pa.array([0, 0], pa.timestamp("s")), v=far)
    pq.write_table(table, tmp_path / "t.parquet", write_statistics=False)
    assert categories(tmp_path / "t.parquet", "u") == {"x": 1, "y": 1}
    assert "'v' holds years beyond 290,000" in outcome(tmp_path / "t.parquet")


def test_years_too_far_away_in_some_groups_of_rows_of_some_files_are_named(tmp_path):
    for place, far in enumerate([[0, 0], [0, 9 * 10**14]]):
        table = keyed(u=["x", "y"], v=pa.array(far, pa.timestamp("s")))
        pq.write_table(table, tmp_path / f"{place}.parquet", row_group_size=1)
    assert categories(tmp_path, "u") == {"x": 2, "y": 2}
    assert "'v' holds years beyond 290,000" in outcome(tmp_path)


def test_integers_of_128_bits_are_exact(tmp_path):
    large = 2**100
    frame = pl.DataFrame(
        {"v": [str(large), None, "5"], "key": pl.Series([1, 2, 3], dtype=pl.UInt8)}
    ).with_columns(pl.col("v").cast(pl.Int128))
    for data in (frame, frame.lazy()):
        assert categories(data) == {str(large): 1, "5": 1, MISSING: 1}
        assert categories(data, where=f"v > {large - 1}") == {str(large): 1}
    path = tmp_path / "wide.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            f"CREATE TABLE t AS SELECT {large}::HUGEINT AS v, 1::UTINYINT AS key, "
            f"{large}::UHUGEINT AS u, {2**128 - 1}::UHUGEINT AS w"
        )
    assert categories(path) == categories(path, "u") == {str(large): 1}
    with pytest.raises(SourceError, match="do not fit their column's type"):
        categories(path, "w")


def test_a_copy_with_keys_keeps_integers_of_128_bits(tmp_path):
    large = 2**100
    path = tmp_path / "wide.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            f"CREATE TABLE t AS SELECT {large}::HUGEINT AS v, 1::UTINYINT AS key, 7 AS id"
        )
    with open_source(path) as source:
        attach_keys(source, id="id", secret=Secret(bytes(16)), path=tmp_path / "k.parquet")
        draw_keys(source, path=tmp_path / "d.parquet")
    for copy in ("k.parquet", "d.parquet"):
        assert categories(tmp_path / copy) == {str(large): 1}


def test_a_copy_of_records_names_the_columns_that_it_leaves_out(tmp_path):
    copies = [tmp_path / "k.parquet", tmp_path / "d.parquet"]
    with open_source(keyed(id=[1, 2], v=pa.array(np.array([1, 2], np.float16)))) as source:
        with pytest.warns(DataWarning, match=r"leaves out columns that are not read: 'v'\."):
            attach_keys(source, id="id", secret=Secret(bytes(16)), path=copies[0])
        with pytest.warns(DataWarning, match=r"leaves out columns that are not read: 'v'\."):
            draw_keys(source, path=copies[1])
    for copy in copies:
        assert pq.read_schema(copy).names == ["id", "key", "record_key"]


# --- pandas and polars --------------------------------------------------------------------


def test_cuts_of_pandas_are_printed_as_pandas_writes_them_in_their_order():
    ages = pd.Series([1, 15, 25, None])
    frame = pd.DataFrame({"v": pd.cut(ages, [0, 5, 20, 30]), "key": range(4)})
    assert list(categories(frame)) == ["(0, 5]", "(5, 20]", "(20, 30]", MISSING]
    plain = pd.arrays.IntervalArray.from_breaks([0, 9, 10, 11, 100])
    frame = pd.DataFrame({"v": plain, "key": range(4)})
    assert list(categories(frame)) == ["(0, 9]", "(9, 10]", "(10, 11]", "(11, 100]"]


@pytest.mark.parametrize("freq", ["M", "Q", "Y", "Y-JUN", "W", "W-FRI", "D", "h", "s", "2M"])
def test_periods_are_printed_as_pandas_writes_them(freq, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        periods = pd.PeriodIndex(pd.to_datetime(["1969-12-31", "2020-02-29"]), freq=freq)
    frame = pd.DataFrame({"v": [*periods, pd.NaT], "key": range(3)})
    frame["v"] = frame["v"].astype(periods.dtype)
    frame.to_parquet(tmp_path / "p.parquet")
    wanted = {str(period): 1 for period in periods} | {MISSING: 1}
    coded = frame.astype({"v": "category"})
    for data in (frame, coded, tmp_path / "p.parquet", pa.Table.from_pandas(frame)):
        assert categories(data) == wanted
        assert categories(data, where=f"v = '{periods[1]}'") == {str(periods[1]): 1}


def test_a_copy_with_keys_keeps_periods(tmp_path):
    frame = pd.DataFrame({"v": pd.PeriodIndex(["2020-01"], freq="M"), "id": [1], "key": [3]})
    frame.to_parquet(tmp_path / "p.parquet")
    with open_source(tmp_path / "p.parquet") as source:
        attach_keys(source, id="id", secret=Secret(bytes(16)), path=tmp_path / "k.parquet")
    assert categories(tmp_path / "k.parquet") == {"2020-01": 1}


def test_unused_columns_of_frames_never_stop_a_run():
    rare = {
        "half": np.array([1, 2], np.float16),
        "complex": np.array([1j, 2j]),
        "delta": pd.to_timedelta([1, 2], "h"),
        "mixed": [{"a": 1}, [1]],
        "sparse": pd.arrays.SparseArray([0, 1]),
        "interval": pd.arrays.IntervalArray.from_breaks([0, 1, 2]),
        "bytes": [b"a", b"b"],
        "surrogate": pd.Series(["\ud800", None], dtype=object),
    }
    frame = pd.DataFrame({"v": ["a", "b"], "key": [1, 2], **rare})
    assert categories(frame) == {"a": 1, "b": 1}
    assert "'surrogate' holds binary values" in outcome(frame, "surrogate")
    assert categories(frame, "sparse") == {"0": 1, "1": 1}
    objects = pl.DataFrame(
        {
            "v": ["a", "b"],
            "key": [1, 2],
            "object": pl.Series([object(), object()], dtype=pl.Object),
            "half": pl.Series([1, 2]).cast(pl.Float16),
            "wide": pl.Series([1, 2]).cast(pl.UInt128),
            "list": [[1], [2]],
            "duration": pl.Series([1, 2]).cast(pl.Duration("ms")),
        }
    )
    assert categories(objects) == {"a": 1, "b": 1}
    assert categories(objects.drop("object").lazy()) == {"a": 1, "b": 1}
    assert "'object' holds values of the type Object" in outcome(objects, "object")


# --- names --------------------------------------------------------------------------------

_COMPOSED, _DECOMPOSED = (unicodedata.normalize(form, "é") for form in ("NFC", "NFD"))
EXACT = [
    *("v", "É", _COMPOSED, _DECOMPOSED, "v ", " v", "v\N{NO-BREAK SPACE}", "v\u200b", "V_1"),
    *("ckm_file", "CKM_FILES", "ckm_records", "filename", "rowid", "file_row_number"),
    *(
        "file_index",
        'a"b',
        "a.b",
        "a\nb",
        "n",
        "k",
        "v0",
        "w0",
        "p",
        "g",
        "value",
        "r",
        "x" * 300,
    ),
]


def test_names_are_exact_in_every_source(tmp_path):
    table = keyed(**{name: [place, place] for place, name in enumerate(EXACT)})
    sources = written(table, tmp_path) | {
        "pandas": table.to_pandas(),
        "polars": pl.from_arrow(table),
    }
    for kind, data in sources.items():
        with open_source(data) as source:
            assert [*source.columns] == [*EXACT, "key"], kind
            wishes = [Request(dimensions=[name], margins="none") for name in EXACT]
            for place, cells in enumerate(cube(source, KEYS, wishes)):
                assert list(decode(cells)) == [(str(place),)], (kind, EXACT[place])


COLLIDING = {
    "case": (
        ["v", "V", "V_1"],
        "V",
        "Columns 'v' and 'V' differ in upper and lower case alone",
    ),
    "three": (["v", "V", "u"], "v", "Columns 'v' and 'V' differ in upper and lower case alone"),
    "twice": (["v", "v", "v_1"], "v", "The data have two columns called 'v'"),
}


@pytest.mark.parametrize("kind", COLLIDING)
def test_names_that_sql_cannot_tell_apart_are_refused_by_name_when_used(kind, tmp_path):
    names, asked, problem = COLLIDING[kind]
    columns = [pa.array([place, 10 + place]) for place in range(3)]
    table = pa.table([*columns, pa.array([1, 2], pa.uint8())], names=[*names, "key"])
    frame = pd.DataFrame({n: range(2) for n in range(4)})
    frame.columns = [*names, "key"]
    sources = written(table, tmp_path) | {"pandas": frame}
    for data in sources.values():
        with pytest.raises(RequestError, match=problem):
            categories(data, asked)
        with pytest.raises(RequestError, match=problem):
            categories(data, names[2], where=f"{asked} = 1")
    for name in ("memory", "Parquet", "Arrow file"):
        assert categories(sources[name], names[2]) == {"2": 1, "12": 1}


def test_a_column_without_a_name_is_refused(tmp_path):
    table = pa.table([[1], [2]], names=["", "key"])
    for data in written(table, tmp_path).values():
        with pytest.raises(SourceError, match="Every column needs a name"):
            open_source(data)


def test_columns_of_ours_get_a_name_that_no_other_has():
    assert free_name("ckm_file", ["a", "É"]) == "ckm_file"
    assert free_name("ckm_file", ["CKM_file", "ckm_file_"]) == "ckm_file__"


@pytest.mark.parametrize(
    ("types", "common"),
    [
        (["INTEGER", "BIGINT"], "BIGINT"),
        (["UTINYINT", "TINYINT"], "SMALLINT"),
        (["UBIGINT", "BIGINT"], "HUGEINT"),
        (["UTINYINT", "UINTEGER"], "UINTEGER"),
        (['"NULL"', "VARCHAR"], "VARCHAR"),
        (['"NULL"', '"NULL"'], '"NULL"'),
        (["DECIMAL(5,2)", "DECIMAL(4,3)"], "DECIMAL(6,3)"),
        (["DECIMAL(38,2)", "DECIMAL(38,3)"], None),
        (["FLOAT", "DOUBLE"], None),
        (["BIGINT", "DOUBLE"], None),
        (["BIGINT", "VARCHAR"], None),
        (["DATE", "TIMESTAMP"], None),
        (["TIMESTAMP_MS", "TIMESTAMP"], "TIMESTAMP"),
        (["BOOLEAN", "TINYINT"], None),
    ],
)
def test_types_of_files_are_widened_where_no_text_changes(types, common):
    assert common_type(types) == common_type(types[::-1]) == common
