"""Whatever holds the same records gives the same cells."""

from __future__ import annotations

import contextlib
import io
import sqlite3
import sys
import tempfile
from pathlib import Path
from unittest.mock import patch

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import csv, dataset, feather

from tables import Request, StoredKeys, cube, open_source
from tests.strategies import decode, examples

# Letters first: a column of CSV whose texts are all numbers is one of numbers.
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), max_size=4)
ROWS = st.lists(
    st.tuples(
        st.none() | TEXTS.map("a{}".format),
        st.none() | st.integers(-(2**40), 2**40),
        st.floats(-1e9, 1e9).map(lambda x: round(x, 3)),
        st.integers(0, 255),
    ),
    min_size=1,
    max_size=30,
)


def cells(data, **options):
    with open_source(data, **options) as source:
        wish = Request(dimensions=["x", "y"], sums=["z"])
        keys = StoredKeys(column="key", key_range=256)
        return decode(cube(source, keys, [wish], tolerate_missing_keys=False)[0])


def sources(table, folder):
    """Hold the records in every way; the key and the options of each."""
    pq.write_table(table, folder / "one.parquet", row_group_size=7)
    csv.write_csv(table, folder / "one.csv")
    (folder / "list").mkdir()
    for part in range(3):
        pq.write_table(table.slice(part * 10, 10), folder / "list" / f"{part}.parquet")
    feather.write_feather(table, folder / "one.feather", chunksize=5)
    coded = table.set_column(0, "x", table["x"].dictionary_encode())
    with pa.ipc.new_stream(folder / "one.arrows", coded.schema) as stream:
        stream.write_table(coded, max_chunksize=5)
    keys = dataset.partitioning(pa.schema([("x", pa.string())]), flavor="hive")
    dataset.write_dataset(table, folder / "hive", format="feather", partitioning=keys)
    rows = list(zip(*table.to_pydict().values(), strict=True))
    with contextlib.closing(sqlite3.connect(folder / "one.db")) as connection:
        connection.execute("CREATE TABLE people (x TEXT, y INTEGER, z REAL, key INTEGER)")
        connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", rows)
        connection.commit()
    return {
        "Parquet": (folder / "one.parquet", {}),
        "CSV": (folder / "one.csv", {}),
        "folder": (folder / "list", {}),
        "list": (sorted((folder / "list").iterdir(), reverse=True), {}),
        "Feather": (folder / "one.feather", {}),
        "Arrow stream": (folder / "one.arrows", {}),
        "Hive": (folder / "hive", {}),
        "pandas": (table.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get), {}),
        "polars": (pl.from_arrow(table), {}),
        "LazyFrame": (pl.from_arrow(table).lazy(), {}),
        "Dataset": (dataset.dataset(table), {}),
        "database": (f"sqlite://{folder / 'one.db'}", {"table": "people"}),
        "standard input": ("-", {}),
    }


@pytest.mark.slow
@settings(max_examples=examples(8), deadline=None)
@given(ROWS)
def test_every_source_of_the_same_records_gives_the_same_cells(rows):
    pytest.importorskip("adbc_driver_sqlite")
    kinds = [("x", pa.string()), ("y", pa.int64()), ("z", pa.float64()), ("key", pa.int64())]
    columns = zip(*rows, strict=True)
    table = pa.table(
        {name: pa.array(list(c), kind) for (name, kind), c in zip(kinds, columns, strict=True)}
    )
    wanted = cells(table)
    with tempfile.TemporaryDirectory() as name:
        for kind, (data, options) in sources(table, Path(name)).items():
            text = io.TextIOWrapper(io.BytesIO((Path(name) / "one.parquet").read_bytes()))
            with patch.object(sys, "stdin", text):
                assert cells(data, **options) == wanted, kind
