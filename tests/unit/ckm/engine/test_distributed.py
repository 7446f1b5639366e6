"""What workers make of cells is what one machine publishes."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ckm.engine import distributed
from ckm.engine.engine import Engine
from ckm.engine.request import TableRequest
from ckm.errors import ConfigError
from tables import (
    HashedKeys,
    KeyQualityError,
    KeyQualityWarning,
    Request,
    RequestError,
    Secret,
    SourceError,
    open_source,
)
from tests.environments import s3_store
from tests.environments.spark_cluster import OPTIONS, REQUEST, people, rows
from tests.environments.spark_support import both, require_same

ABSENT = (
    "an S3 store and Hadoop's connector are not here: "
    "python tests/environments/s3_store.py fetches them"
)
PRESENT = "the S3 connector itself is on this machine"
REQUESTS = (
    REQUEST,
    TableRequest(dimensions=["geo"], margins="none"),
    TableRequest(dimensions=["sex", "geo"], margins=[["region"]], where="age > 20"),
    TableRequest(dimensions=["age", "count"], measures=["count"]),
)


def written(engine, request):
    """Let DuckDB stand in for Spark: the statement is the same, and so is what changes it."""
    found = []

    def write(sql, parameters, _place, *, change, columns, order, progress):
        assert progress is None
        assert list(order) == [name for name, kind in columns.items() if kind == "STRING"]
        parts = engine._source.arrow(sql, parameters).to_batches(max_chunksize=100)
        found.extend(change(pa.Table.from_batches([part])) for part in parts)
        return sum(part.num_rows for part in found)

    engine._source.write_changed = write
    n = engine.write_distributed(request, "anywhere")
    table = pa.concat_tables(found)
    assert n == table.num_rows
    return table


@pytest.mark.parametrize("request_", REQUESTS, ids=range(len(REQUESTS)))
@pytest.mark.parametrize("mix", [True, False])
def test_cells_one_by_one_are_published_as_a_whole_table_is(monkeypatch, request_, mix):
    monkeypatch.setattr(distributed, "SparkSource", object)
    with Engine(people(), mix=mix, **OPTIONS) as engine:
        wanted = engine.tabulate_all({"": request_})[""].to_arrow()
        found = written(engine, request_)
    assert found.column_names == wanted.column_names
    assert len(rows(wanted)) > 20
    assert rows(found) == rows(wanted)


@pytest.mark.parametrize("checks", ["warn", "stop", "skip"])
def test_records_without_a_key_are_accepted_as_on_one_machine(monkeypatch, checks):
    monkeypatch.setattr(distributed, "SparkSource", object)
    drawn = np.random.default_rng(5).integers(0, 2**32, 1498).tolist()
    records = people().append_column("key", pa.array([None, None, *drawn], pa.uint32()))
    options = {k: v for k, v in OPTIONS.items() if k != "id"}
    with Engine(records, record_key="key", checks=checks, **options) as engine:
        if checks != "warn":
            with pytest.raises(KeyQualityError):
                engine.write_distributed(REQUEST, "anywhere")
            return
        with pytest.warns(KeyQualityWarning, match="no key"):
            wanted = engine.tabulate_all({"": REQUEST})[""].to_arrow()
        assert rows(written(engine, REQUEST)) == rows(wanted)


def test_what_workers_are_given_holds_no_secret(monkeypatch):
    monkeypatch.setattr(distributed, "SparkSource", object)
    with Engine(people(), **OPTIONS) as engine:

        def write(sql, parameters, _place, *, change, **_told):
            assert isinstance(change, partial)
            assert not [v for v in change.keywords.values() if isinstance(v, (bytes, Secret))]
            assert sorted(k for k, v in parameters.items() if isinstance(v, bytes)) == [
                "mix_key"
            ]
            assert parameters["mix_key"].hex() not in sql
            return 0

        engine._source.write_changed = write
        engine.write_distributed(REQUEST, "anywhere")


@pytest.mark.parametrize(
    ("change", "options"),
    [
        ({"dimensions": []}, {}),
        ({"measures": ["count", "sum:w"]}, {}),
        ({"empty_cells": "grid"}, {}),
        ({"dimensions": ["sex"]}, {"categories": {"sex": ["F", "M"]}}),
    ],
)
def test_what_needs_a_whole_table_is_refused(change, options):
    asked = {"dimensions": ["sex"], **change}
    with (
        Engine(people(), **{**OPTIONS, **options}) as engine,
        pytest.raises(ConfigError, match="counts and weighted counts"),
    ):
        engine.write_distributed(TableRequest(**asked), "anywhere")


def test_one_machine_has_no_workers():
    with Engine(people(), **OPTIONS) as engine, pytest.raises(ConfigError, match="Workers"):
        engine.write_distributed(REQUEST, "anywhere")


def test_folders_are_columns_and_workers_write_what_one_machine_publishes(tmp_path, master):
    pq.write_to_dataset(people(), tmp_path / "people", partition_cols=["region"])
    keys = HashedKeys(column="person", secret=OPTIONS["secret"])
    wish = Request(dimensions=["region", "age", "area"])  # alone, with two of whole numbers
    require_same(*both(tmp_path / "people", keys, [wish], master=master))
    with Engine(tmp_path / "people", **OPTIONS) as engine:
        wanted = rows(engine.tabulate_all({"": REQUEST})[""].to_arrow())
    with Engine(tmp_path / "people", engine="spark", master=master, **OPTIONS) as engine:
        assert engine.write_distributed(REQUEST, str(tmp_path / "out")) == len(wanted)
        with pytest.raises(SourceError, match="There is something"):
            engine.write_distributed(REQUEST, str(tmp_path / "out"))
    assert rows(pq.read_table(tmp_path / "out")) == wanted
    for file in (tmp_path / "out").glob("*.parquet"):
        keys = rows(pq.read_table(file, columns=["region", "area"]))
        assert pq.read_table(file, columns=["region", "area"]).to_pylist() == [
            dict(zip(("region", "area"), key, strict=True)) for key in sorted(keys)
        ]


def test_a_table_that_two_runs_wrote_at_once_is_refused(tmp_path, master, monkeypatch):
    from pyspark.sql import DataFrameWriter

    write = DataFrameWriter.parquet
    pq.write_table(people(), tmp_path / "a.parquet")

    def twice(writer, path):
        write(writer, path)
        write(writer.mode("append"), path)

    with Engine(tmp_path / "a.parquet", engine="spark", master=master, **OPTIONS) as engine:
        n = engine.write_distributed(REQUEST, str(tmp_path / "once"))
        monkeypatch.setattr(DataFrameWriter, "parquet", twice)
        with pytest.raises(SourceError, match="Two runs wrote this table"):
            engine.write_distributed(REQUEST, str(tmp_path / "twice"))
    assert pq.read_table(tmp_path / "twice").num_rows == 2 * n


def test_a_category_called_like_the_total_is_refused(tmp_path, master):
    pq.write_table(pa.table({"id": [1, 2], "x": ["a", "Total"]}), tmp_path / "a.parquet")
    options = {"id": "id", "secret": OPTIONS["secret"], "ptable": OPTIONS["ptable"]}
    with (
        Engine(tmp_path / "a.parquet", engine="spark", master=master, **options) as engine,
        pytest.raises(RequestError, match="called like the totals") as caught,
    ):
        engine.write_distributed(TableRequest(dimensions=["x"]), str(tmp_path / "out"))
    assert caught.value.__context__ is None


def test_folders_of_encoded_letters_are_refused(tmp_path, master):
    folder = tmp_path / "people" / "x=%C3%A9"
    folder.mkdir(parents=True)
    pq.write_table(pa.table({"id": [1]}), folder / "a.parquet")
    with open_source(tmp_path / "people") as source:
        assert source.fetch(f"SELECT x FROM {source.relation}") == [("é",)]
    options = {"id": "id", "secret": OPTIONS["secret"], "ptable": OPTIONS["ptable"]}
    with pytest.raises(SourceError, match="encoded letters"):
        Engine(tmp_path / "people", engine="spark", master=master, **options)


def is_free(port):
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) != 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "store",
    [
        pytest.param(
            "connector", marks=pytest.mark.skipif(not s3_store.is_here(), reason=ABSENT)
        ),
        pytest.param("view", marks=pytest.mark.skipif(s3_store.is_here(), reason=PRESENT)),
    ],
)
def test_a_cluster_and_its_server_publish_the_same_and_write_no_secret_down(tmp_path, store):
    pytest.importorskip("pyspark", reason="PySpark is not installed")
    pytest.importorskip("grpc", reason="gRPC, for Spark Connect, is not installed")
    if shutil.which("java") is None:
        pytest.skip("Java is not installed")
    # None of those that the system gives to whoever asks: it would be gone when Spark is up.
    port = next(port for port in range(20_000 + os.getpid() % 9_000, 32_000) if is_free(port))
    told = subprocess.run(
        [sys.executable, "-m", "tests.environments.spark_cluster", str(tmp_path), str(port)],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[4],
        timeout=900,
        check=True,
    )
    found = json.loads(told.stdout.splitlines()[-1])
    assert found["rows"] > 1000
    wrong = [what for what, is_right in found["right"].items() if is_right is not True]
    assert not wrong
    assert found["leaks"] == found["passwords"] == []
    assert bool(found["store"]) == (store == "connector")
    assert {"events", "driver.log"} <= set(found["decoys"])
    assert found["largest answer"] <= 256 < found["rows"]  # of the look at the keys
