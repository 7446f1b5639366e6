"""Columns of Parquet files mean the same to Spark as to DuckDB: their names and types."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tables import HashedKeys, Request, RequestError, Secret, cube
from tables.spark.spark import open_spark
from tests.environments.spark_support import both, require_same

pytestmark = pytest.mark.slow

ID = HashedKeys(column="id", secret=Secret(b"sixteen bytes or more"))


def periods(freq):
    days = pd.to_datetime(
        ["1969-12-31", "2020-02-29", "1960-01-01 13:05:07.123456"], format="ISO8601"
    )
    return pa.array(days.to_period(freq))


PERIODS = ["M", "Q", "Q-JUN", "Y", "W", "W-FRI", "D", "h", "min", "s", "ms", "us", "ns"]
READ = {
    **{f"period {freq}": periods(freq) for freq in PERIODS},
    "null": pa.nulls(3),
    "bool8": pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, 0, None], pa.int8())),
    "json": pa.ExtensionArray.from_storage(pa.json_(), pa.array(['{"a":1}', None, "1"])),
    "text view": pa.array(["a", None, "b"], pa.string_view()),
    "decimal": pa.array([Decimal("1.50"), None, Decimal(2)], pa.decimal256(20, 2)),
    "é": pa.array(["x", "y", None]),
    "e\u0301": pa.array(["z", "y", None]),
    "v ": pa.array([1, 2, None]),
}
_UUIDS = pa.array([b"1" * 16, None, b"2" * 16], pa.binary(16))
REFUSED = {
    "half": (pa.array([1, 2, None], pa.float16()), "half floats"),
    "wide": (pa.array([Decimal(1), None, None], pa.decimal256(50, 2)), "decimal256"),
    "duration": (pa.array([1, 2, None], pa.duration("us")), "durations"),
    "list": (pa.array([[1], None, [2]]), "nested values"),
    "binary": (pa.array([b"a", None, b"b"]), "binary values"),
    "time": (pa.array([dt.time(1), None, dt.time(2)]), "type TIME, which Spark"),
    "ns": (pa.array([1, None, 2], pa.timestamp("ns")), "type TIMESTAMP_NS, which Spark"),
    "uuid": (
        pa.ExtensionArray.from_storage(pa.uuid(), _UUIDS),
        "type UUID, which Spark",
    ),
    "interval": (pa.array(pd.arrays.IntervalArray.from_breaks([0, 1, 2, 3])), "intervals"),
}


def test_types_and_names_are_read_as_duckdb_reads_them(tmp_path, master):
    table = pa.table({**READ, "id": [1, 2, 3]})
    pq.write_table(table, tmp_path / "t.parquet")
    wishes = [Request(dimensions=[name]) for name in READ]
    wishes += [Request(dimensions=["null"], where="`period M` = '2020-02'")]
    ours, theirs = both(tmp_path / "t.parquet", ID, wishes, master=master)
    require_same(ours, theirs)


def test_columns_that_are_not_read_stop_nothing_and_are_refused_when_used(tmp_path, master):
    columns = {name: values for name, (values, _) in REFUSED.items()}
    table = pa.table({**columns, "u": ["x", "y", "x"], "id": [1, 2, 3]})
    table = table.append_column("V", [[1, 1, 2]]).append_column("v", [[3, 3, 4]])
    pq.write_table(table, tmp_path / "t.parquet")
    ours, theirs = both(tmp_path / "t.parquet", ID, [Request(dimensions=["u"])], master=master)
    require_same(ours, theirs)
    wanted = {name: what for name, (_, what) in REFUSED.items()}
    wanted["V"] = "Columns 'V' and 'v' differ in upper and lower case alone"
    with open_spark(tmp_path / "t.parquet", master=master) as source:
        for name, what in wanted.items():
            for wish in ({"dimensions": [name]}, {"dimensions": [], "where": f"{name} = 1"}):
                with pytest.raises(RequestError, match=what):
                    cube(source, ID, [Request(**wish)])


def test_files_that_differ_are_read_as_duckdb_reads_them(tmp_path, master):
    folder = tmp_path / "f"
    folder.mkdir()
    one = {
        "n": pa.array([1, 2], pa.int32()),
        "t": pa.nulls(2),
        "d": pa.array([Decimal("1.5"), None]),
        "m": pa.array(pd.PeriodIndex(["2020-01", "2020-02"], freq="M")),
        "u": pa.array([1, 2], pa.uint8()),
        "x": pa.array(["a", "b"]),
        "id": pa.array([1, 2]),
    }
    other = {
        "x": pa.array([1, 2]),
        "m": pa.nulls(2),
        "d": pa.array([Decimal("1.125"), None], pa.decimal128(9, 3)),
        "t": pa.array(["a", None]),
        "n": pa.array([2**40, None]),
        "u": pa.array([-1, None], pa.int8()),
        "id": pa.array([3, 4], pa.uint16()),
    }
    pq.write_table(pa.table(one), folder / "1.parquet")
    pq.write_table(pa.table(other), folder / "2.parquet")
    wishes = [Request(dimensions=[name]) for name in "ntdmu"]
    wishes.append(Request(dimensions=["t"], where="n > 1"))
    wishes.append(Request(dimensions=[], sums=["n"], missing_values="skip"))
    ours, theirs = both(folder, ID, wishes, master=master)
    require_same(ours, theirs)
    with (
        open_spark(folder, master=master) as source,
        pytest.raises(RequestError, match=r"'x' must have one type .* '1.parquet', and"),
    ):
        source.require("x")
