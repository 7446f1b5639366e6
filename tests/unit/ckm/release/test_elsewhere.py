"""Records that do not lie in files of this machine: databases, S3, standard input."""

from __future__ import annotations

import contextlib
import json
import logging
import sys
import tempfile
import threading
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import dataset

from ckm.config import read_job
from ckm.release.perturbed import release
from footing.places import place_of
from tables import Request, SourceError, StoredKeys, cube, open_source
from tables.source.copies import LocalCopy
from tests.strategies import decode, worked_ptable

KEYS = StoredKeys(column="key", key_range=256)
JOB = """
schema = 1
[data]
{data}
record_key = "key"
key_range = 256
[keys]
mix = false
[ptable]
path = "pt.parquet"
[report]
languages = ["en"]
[[table]]
name = "first"
dimensions = ["sex", "area"]
"""


@pytest.fixture
def people():
    rng = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "sex": rng.choice(["F", "M"], 300),
            "area": rng.choice(["01", "2A"], 300),
            "age": rng.integers(0, 90, 300),
            "key": rng.integers(0, 256, 300),
        }
    )


@pytest.fixture
def spills(tmp_path, monkeypatch):
    """Return what lists the private folders of this test alone."""
    folder = tmp_path / "spill"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return lambda: list(folder.glob("ckm-spill-*"))


def cells(data, dimensions=("sex", "area"), **options):
    with open_source(data, **options) as source:
        found = cube(source, KEYS, [Request(dimensions=list(dimensions))])[0]
    return {name: cell[:2] for name, cell in decode(found).items()}


def released(folder, data, name):
    """Release a job; return what its public tables hold, and what it took in."""
    worked_ptable().write(folder / "pt.parquet", overwrite=True)
    (folder / f"{name}.toml").write_text(JOB.format(data=data))
    release(read_job(folder / f"{name}.toml"), folder / name)
    table = (folder / name / "public" / "first.csv").read_bytes()
    manifest = json.loads((folder / name / "internal" / "manifest.json").read_bytes())
    return table, manifest["inputs"][0]


# --- standard input -----------------------------------------------------------------------


def test_a_job_reads_standard_input_as_it_reads_a_file(people, tmp_path, monkeypatch, spills):
    people.to_csv(tmp_path / "people.csv", index=False)
    wanted, file = released(tmp_path, 'path = "people.csv"', "one")
    with (tmp_path / "people.csv").open() as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        found, read = released(tmp_path, 'path = "-"', "two")
    assert found == wanted
    assert read == {**file, "file": "standard input"}
    assert spills() == []


# --- databases ----------------------------------------------------------------------------


@pytest.fixture
def sqlite_file(people, tmp_path):
    import sqlite3

    pytest.importorskip("adbc_driver_sqlite")
    with contextlib.closing(sqlite3.connect(tmp_path / "people.db")) as connection:
        people.to_sql("people", connection, index=False)
    return f"sqlite://{tmp_path / 'people.db'}"


def test_a_database_is_copied_once_and_the_copy_goes_with_the_source(
    people, sqlite_file, tmp_path, spills
):
    query = """SELECT *, ';' AS "a;b" FROM people;\n"""
    with open_source(sqlite_file.replace("//", "///", 1), query=query) as source:
        (tmp_path / "people.db").unlink()
        for _ in range(2):
            assert source.fetch(f"SELECT count(*) FROM {source.records}") == [(300,)]
        assert [folder.stat().st_mode & 0o777 for folder in spills()] == [0o700, 0o700]
    assert spills() == []


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({}, "needs a table or a query"),
        ({"table": "people", "query": "SELECT 1 AS x"}, "needs a table or a query"),
        ({"table": "nobody"}, "has no table or column"),
        ({"query": "SELECT income FROM people"}, "has no table or column"),
        ({"query": "SELECT sex, sex FROM people"}, "differ in more than upper and lower case"),
        ({"query": "DELETE FROM people RETURNING *"}, "cannot be read"),
        ({"query": "SELECT ';' FROM people; DROP TABLE people;"}, "one statement"),
    ],
)
def test_what_a_database_cannot_give_is_told(sqlite_file, spills, options, problem):
    with pytest.raises(SourceError, match=problem):
        open_source(sqlite_file, **options)
    assert spills() == []


def test_a_database_that_is_not_there_is_told(sqlite_file):
    pytest.importorskip("adbc_driver_postgresql")
    with pytest.raises(SourceError, match="cannot be opened"):
        open_source(sqlite_file + "x", table="people")
    with pytest.raises(SourceError, match=r"me@127\.0\.0\.1:9/x' does not answer"):
        open_source("postgresql://me@127.0.0.1:9/x", table="people")


def test_a_missing_driver_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "adbc_driver_postgresql.dbapi", None)
    with pytest.raises(SourceError, match="needs the package adbc-driver-postgresql"):
        open_source("postgresql://me@host/db", table="people")


@pytest.mark.parametrize(
    "address",
    ["POSTGRESQL://me:hunter2@127.0.0.1/r", "host=h password = hunter2", "x://me:hunter2@h"],
)
def test_a_password_in_an_address_is_refused_and_never_shown(address, tmp_path):
    for given in (address, [address]):
        with pytest.raises(SourceError, match=r"must not hold a password|No file") as caught:
            open_source(given)
        assert "hunter2" not in "".join(traceback.format_exception(caught.value))
    (tmp_path / "token=3").mkdir()
    pd.DataFrame({"x": [1]}).to_parquet(tmp_path / "token=3" / "a.parquet")
    with open_source(str(tmp_path / "token=3")) as source:
        assert source.label == "token=3"


@pytest.fixture
def people_url(people, postgres_url):
    """Put the people into PostgreSQL, in types whose values other systems write otherwise."""
    import psycopg

    pytest.importorskip("adbc_driver_postgresql")
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA s")
        connection.execute(
            'CREATE TABLE s.people (sex char(3), area text, age numeric, key int2, "Of" uuid)'
        )
        with connection.cursor() as cursor:
            rows = [[*map(str, row), None] for row in people.itertuples(index=False)]
            cursor.executemany("INSERT INTO s.people VALUES (%s, %s, %s, %s, %s)", rows)
    return postgres_url


@pytest.mark.slow
def test_postgresql_gives_the_cells_of_the_data_frame(people, people_url, spills):
    for dimensions in (["sex", "area"], ["age"]):
        assert cells(people_url, dimensions, table="s.people") == cells(people, dimensions)
    with open_source(people_url, query="SELECT sex, age / 2 AS half FROM s.people") as source:
        assert source.kinds == {"sex": "text", "half": "number"}
    numbers = "VALUES (1e20::numeric, 'nan'::numeric, 2::numeric), (1, 2.50, 3)"
    with open_source(people_url, query=f"SELECT * FROM ({numbers}) AS n(id, x, y)") as source:
        assert source.kinds == {"id": "number", "x": "number", "y": "integer"}
        assert source.columns["id"] == "DECIMAL(21,0)"
        assert source.columns["x"] == "DECIMAL(3,2)"
    assert spills() == []


@pytest.mark.slow
def test_rows_in_another_order_give_the_same_release_and_the_same_digest(
    people, people_url, tmp_path, spills
):
    people.to_parquet(tmp_path / "people.parquet")
    wanted, _ = released(tmp_path, 'path = "people.parquet"', "file")
    found = []
    for order in ("age, key", "key DESC"):
        query = f"SELECT * FROM s.people ORDER BY {order}"
        data = f'database = "{people_url}"\nquery = "{query}"'
        found.append(released(tmp_path, data, f"by{len(found)}"))
    assert found[0] == found[1]
    assert found[0][0] == wanted
    assert found[0][1]["file"] == people_url.split("?")[0] + ": query"
    assert spills() == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("SELECT * FROM nobody", "SQLSTATE 42P01"),
        ("SELECT income FROM s.people", "SQLSTATE 42703"),
        ("SELEC 'a record'", "SQLSTATE 42601"),
        ("DELETE FROM s.people RETURNING *", "SQLSTATE 25006"),
        ("SELECT 1::money AS income", "'income' is of the type money"),
        ("SELECT sex::int FROM s.people WHERE area <> 'x'", "cannot be read"),
    ],
)
def test_what_postgresql_refuses_is_told_without_its_text_or_a_password(
    people_url, caplog, spills, query, problem
):
    caplog.set_level(logging.DEBUG)
    url = people_url.replace("ckm@", "ckm:hunter2@")
    with pytest.raises(SourceError, match=problem) as caught:
        LocalCopy(place_of(url), query=query)
    told = "".join(traceback.format_exception(caught.value)) + caplog.text
    told += repr(caught.value.__context__)
    assert "hunter2" not in told
    assert "Query was" not in told
    assert spills() == []


@pytest.mark.slow
def test_the_password_of_a_source_is_nowhere_to_be_seen(people_url):
    url = people_url.replace("ckm@", "ckm:hunter2@")
    with pytest.raises(SourceError, match="refuses the user, the password or the database"):
        LocalCopy(place_of(url.replace("ckm:", "stranger:")), table="s.people")
    copy = LocalCopy(place_of(url.replace("postgresql", "PostgreSQL")), table="s.people")
    assert copy.label == people_url.split("?")[0]
    assert "hunter2" not in str(copy.names)


# --- S3 -----------------------------------------------------------------------------------


class Bucket(BaseHTTPRequestHandler):
    """As much of S3 as readers ask for: lists, heads and parts of objects."""

    objects: dict[str, bytes]

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        url = urlsplit(self.path)
        bucket, _, key = unquote(url.path).lstrip("/").partition("/")
        asked = {name: values[0] for name, values in parse_qs(url.query).items()}
        if "AWS4-HMAC-SHA256 Credential=me/" not in self.headers.get("Authorization", ""):
            self.answer(403, b"<Error><Code>AccessDenied</Code></Error>")
        elif not key:
            self.answer(200, self.listed(bucket, asked.get("prefix", "")))
        elif f"{bucket}/{key}" not in self.objects:
            self.answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
        else:
            body = self.objects[f"{bucket}/{key}"]
            first, _, last = (
                self.headers.get("Range", "bytes=0-").removeprefix("bytes=").partition("-")
            )
            part = body[int(first) : int(last or len(body) - 1) + 1]
            self.answer(206 if "Range" in self.headers else 200, part, size=len(body))

    def listed(self, bucket, prefix):
        keys = [
            name.partition("/")[2] for name in self.objects if name.startswith(bucket + "/")
        ]
        return (
            '<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
            "<IsTruncated>false</IsTruncated>"
            + "".join(
                f"<Contents><Key>{key}</Key><Size>{len(self.objects[f'{bucket}/{key}'])}</Size>"
                "<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"
                for key in keys
                if key.startswith(prefix)
            )
            + "</ListBucketResult>"
        ).encode()

    def answer(self, status, body, size=None):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")
        if status == 206:
            self.send_header("Content-Range", f"bytes 0-{len(body) - 1}/{size}")
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def bucket(people, tmp_path, monkeypatch):
    """Serve the people as objects: one file, and a folder of partitions."""
    keys = dataset.partitioning(pa.schema([("area", pa.string())]), flavor="hive")
    arrow = pa.Table.from_pandas(people)
    dataset.write_dataset(arrow, tmp_path / "b" / "hive", format="parquet", partitioning=keys)
    people.to_csv(tmp_path / "b" / "people.csv", index=False)
    pq.write_table(arrow, tmp_path / "b" / "people.parquet")
    (tmp_path / "b" / "hive" / "_SUCCESS").touch()
    files = [file for file in (tmp_path / "b").rglob("*") if file.is_file()]
    names = {str(file.relative_to(tmp_path)): file.read_bytes() for file in files}
    server = ThreadingHTTPServer(
        ("127.0.0.1", 0), type("Handler", (Bucket,), {"objects": names})
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "me")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hunter2")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    yield names
    server.shutdown()
    server.server_close()


@pytest.mark.slow
@pytest.mark.parametrize(
    "path", ["hive", "hive/area=*", "hive/**/*.parquet", "people.csv", "people.parq*"]
)
def test_objects_give_the_cells_of_the_data_frame(bucket, people, spills, path):
    assert cells(f"s3://b/{path}") == cells(people)
    assert spills() == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["a[1]", "d [v1]", "b*", "c?", "g[!x]", "k%20l", "é#[1]", "{x,y}"]
)
def test_an_object_of_any_name_is_that_object(bucket, people, spills, name):
    whole = bucket["b/people.parquet"]
    others = [name for name in bucket if name.endswith(".parquet") and "hive" in name]
    for other in ("a1", "d v", "bx", "cx", "gy", "k l", "é#1", "x"):
        bucket[f"b/one/{other}.parquet"] = bucket[f"b/in/{other}/p.parquet"] = bucket[others[0]]
    bucket[f"b/one/{name}.parquet"] = bucket[f"b/in/{name}/p.parquet"] = whole
    whole_paths = (f"one/{name}.parquet", f"in/{name}", f"in/{name}/*.parquet")
    for path in (*whole_paths, f"i*/{name}", f"*n/{name}/*.parquet"):
        assert cells(f"s3://b/{path}") == cells(people)
    copy = LocalCopy(place_of(f"s3://b/in/{name}"))
    assert list(copy.names.values()) == [f"s3://b/in/{name}/p.parquet"]
    copy.remove()
    assert spills() == []


@pytest.mark.slow
def test_a_job_tells_which_objects_it_read(bucket, tmp_path):
    found, read = released(tmp_path, 'path = "s3://b/people.parquet"', "objects")
    assert found == released(tmp_path, 'path = "b/people.parquet"', "files")[0]
    assert read["file"] == "s3://b/people.parquet"
    assert read["bytes"] == len(bucket["b/people.parquet"])


@pytest.mark.slow
def test_objects_that_cannot_be_read_say_why(bucket, monkeypatch, spills):
    for name, content in (("empty.csv", b""), ("broken.csv", b"x,y\n1\n"), ("x.doc", b"?")):
        bucket[f"b/bad/{name}"] = content
    for path, problem in {
        "nothing": "No object matches 's3://b/nothing'",
        "bad/empty.csv": "is empty",
        "bad/broken.csv": r"\(line 2\)",
        "bad/x.doc": "neither Parquet, Arrow, CSV",
    }.items():
        with pytest.raises(SourceError, match=problem):
            open_source(f"s3://b/{path}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "stranger")
    with pytest.raises(SourceError, match="look at the address and rights") as caught:
        open_source("s3://b/people.csv")
    assert "cannot be read from S3" in str(caught.value)
    assert "hunter2" not in "".join(traceback.format_exception(caught.value))
    assert spills() == []
