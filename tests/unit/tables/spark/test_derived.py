"""Derived variables on Spark: the same categories as DuckDB's, of every type."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tables import DerivedVariable, Hierarchy, Request, StoredKeys, cube, open_source
from tables.recoding.derive import derive_variables
from tables.spark.spark import open_spark
from tests.environments.spark_support import require_same

N = 400
YEARS = [dt.date(2000, 1, 1), dt.date(2001, 1, 1)]
MOMENTS = [dt.datetime(2000, 1, 1, 23), dt.datetime(2001, 6, 30)]  # noqa: DTZ001
DATES = [dt.date(2000, 1, 1), dt.date(2001, 6, 30), dt.date(1, 1, 1), dt.date(9999, 12, 31)]
COLUMNS = {
    "i8": ([-5, 0, 5, 9], pa.int8()),
    "u64": ([0, 5, 2**63, 2**64 - 1], pa.uint64()),
    "f64": ([0.1, 0.2, 0.3, -0.0, float("nan"), float("inf"), -2.5], pa.float64()),
    "f32": ([0.1, 0.2, 0.3], pa.float32()),
    "dec": ([Decimal("0.10"), Decimal("0.25")], pa.decimal128(9, 2)),
    "date": (DATES, pa.date32()),
    "moment": (MOMENTS, pa.timestamp("us")),
    "utc": (MOMENTS, pa.timestamp("us", "UTC")),
    "bool": ([True, False], pa.bool_()),
    "text": (["a\\", "b'c", 'd"', "é", "x\ny"], pa.string()),
    "code": ([f"{n:05d}" for n in range(3000)], pa.string()),
}
MADE = [
    {"of": "i8", "bands": [-1000, 0, 5]},
    {"of": "u64", "bands": [0, 5, 2**63]},
    {"of": "f64", "bands": [0, 0.1, 0.2, 0.3], "open": "both"},
    {"of": "f32", "width": 0.1, "start": 0, "end": 0.4},
    {"of": "dec", "width": 0.05},
    {"of": "date", "bands": YEARS, "open": "both"},
    {"of": "moment", "bands": YEARS},
    {"of": "utc", "bands": YEARS},
    {"of": "date", "width": "quarter"},
    {"of": "moment", "width": "month"},
    {"of": "utc", "width": "year"},
    {"of": "bool", "recode": {"true": "y\\es", "false": "n'o"}},
    {"of": "v11", "recode": {"y\\es": "a", "n'o": "b"}},
    {"of": "text", "recode": {"a\\": "1'", "b'c": "2\\", 'd"': '3"', "é": "é"}, "other": "o"},
    {"of": "text", "recode": {"a\\": "é"}, "keep": True},
    {"of": "i8", "recode": {"-5": "neg", "0": "z"}, "other": "pos"},
    {"of": "f64", "recode": {"0.1": "a", "0": "z"}, "other": "o"},
    {"of": "dec", "recode": {"0.1": "a", "0.25": "z"}},
    {"of": "date", "recode": {"2000-01-01": "x"}, "other": "o"},
    {
        "of": "code",
        "recode": {f"{n:05d}": f"{n // 100}" for n in range(3000)},
        "absent": "allow",
    },
]


def test_every_type_is_cut_and_recoded_alike(master, tmp_path):
    rng = np.random.default_rng(1)
    columns = {
        name: pa.array([[*values, None][i] for i in rng.integers(0, len(values) + 1, N)], kind)
        for name, (values, kind) in COLUMNS.items()
    }
    path = tmp_path / "records.parquet"
    pq.write_table(pa.table(columns | {"key": pa.array(np.arange(N) % 256, pa.uint8())}), path)
    variables = [DerivedVariable(name=f"v{n}", **made) for n, made in enumerate(MADE)]
    requests = [Request(dimensions=[variable.name]) for variable in variables]
    requests.append(
        Request(dimensions=["h"], hierarchies={"h": Hierarchy(columns=("v12", "v11"))})
    )
    where = "v2 in ('<0.0', '0.3+') and v13 <> '1'''"
    requests.append(Request(dimensions=["v11"], where=where))
    found = []
    for source in (open_source(path), open_spark(path, master=master)):
        with source:
            derive_variables(source, variables)
            found.append(cube(source, StoredKeys(column="key"), requests))
    require_same(*found)
    assert len(found[0][2]) == 1 + 5 + 1
