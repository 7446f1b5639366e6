"""Sources: every way to hold the same records gives the same records."""

from __future__ import annotations

import datetime as dt
import gzip
import io
import stat
import sys
import tempfile
import threading
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import dataset, feather

from tables import Request, RequestError, SourceError, StoredKeys, cube, open_source
from tables.source.source import read_categories
from tests.strategies import decode

KEYS = StoredKeys(column="key", key_range=256)


def cells(data, dimensions, *, table=None, **options):
    with open_source(data, table=table) as source:
        wish = Request(dimensions=dimensions, **options)
        return {n: c[:2] for n, c in decode(cube(source, KEYS, [wish])[0]).items()}


def frame(values):
    return pd.DataFrame({"x": values, "key": range(len(values))})


def labels(data):
    return [name[0] for name in cells(data, ["x"], margins="none")]


# --- kinds of sources ---------------------------------------------------------------------


@pytest.fixture
def every_kind(tmp_path):
    """The same records in every kind of source."""
    people = pd.DataFrame(
        {
            "x": ["F", "M", None, "F", "01"] * 20,
            "y": [1, 2, 3, 4, 5] * 20,
            "key": [(7 * n) % 256 for n in range(100)],
        }
    )
    arrow = pa.Table.from_pandas(people)
    pq.write_table(arrow, tmp_path / "one.parquet", row_group_size=7)
    folder = tmp_path / "parts"
    folder.mkdir()
    for part in range(3):
        pq.write_table(arrow.slice(34 * part, 34), folder / f"part{part}.parquet")
        people.iloc[34 * part : 34 * part + 34].to_csv(folder / f"p{part}.csv", index=False)
    people.to_csv(tmp_path / "one.csv", index=False)
    people.to_csv(tmp_path / "one.tsv", index=False, sep="\t")
    people.to_csv(tmp_path / "semicolon.csv", index=False, sep=";")
    with gzip.open(tmp_path / "one.csv.gz", "wt") as file:
        file.write(people.to_csv(index=False))
    with duckdb.connect(str(tmp_path / "one.duckdb")) as connection:
        connection.register("given", arrow)
        connection.execute("CREATE TABLE people AS SELECT * FROM given")
    return {
        "pandas": people,
        "pandas categorical": people.astype({"x": "category"}),
        "polars": pl.from_pandas(people),
        "Arrow": arrow,
        "Arrow dictionary": arrow.set_column(0, "x", arrow["x"].dictionary_encode()),
        "Arrow large": arrow.set_column(0, "x", arrow["x"].cast(pa.large_string())),
        "Arrow view": arrow.set_column(0, "x", arrow["x"].cast(pa.string_view())),
        "Arrow batches": pa.RecordBatchReader.from_batches(
            arrow.schema, arrow.to_batches(max_chunksize=9)
        ),
        "Parquet": tmp_path / "one.parquet",
        "Parquet glob": str(folder / "*.parquet"),
        "CSV": str(tmp_path / "one.csv"),
        "CSV glob": folder / "*.csv",
        "TSV": tmp_path / "one.tsv",
        "CSV with semicolons": tmp_path / "semicolon.csv",
        "CSV in gzip": tmp_path / "one.csv.gz",
        "DuckDB": tmp_path / "one.duckdb",
        **kinds_of_folders(arrow, tmp_path),
        "LazyFrame": pl.from_pandas(people).lazy(),
        "Dataset": dataset.dataset(str(folder), format="parquet", exclude_invalid_files=True),
    }


def kinds_of_folders(arrow, tmp_path):
    """Hold the records in Arrow files, in folders, in lists, and in folders of partitions."""
    parts = {name: tmp_path / name for name in ("arrow", "hive", "hive csv", "hive arrow")}
    for name in ("hive", "hive csv", "hive arrow"):
        form = {"hive csv": "csv", "hive arrow": "feather"}.get(name, "parquet")
        keys = dataset.partitioning(pa.schema([("x", pa.string())]), flavor="hive")
        dataset.write_dataset(arrow, parts[name], format=form, partitioning=keys)
    parts["arrow"].mkdir()
    feather.write_feather(arrow.slice(0, 50), parts["arrow"] / "one.feather")
    with pa.ipc.new_stream(parts["arrow"] / "two.arrows", arrow.schema) as stream:
        stream.write_table(arrow.slice(50, 25))
        stream.write_table(arrow.slice(75))
    (parts["arrow"] / "_SUCCESS").touch()
    return {
        "folder of Arrow": parts["arrow"],
        "list": sorted(map(str, (tmp_path / "parts").glob("*.parquet"))),
        "Hive": parts["hive"],
        "Hive of CSV": parts["hive csv"],
        "Hive of Arrow": f"{parts['hive arrow']}/*",
        "list of Hive": list(parts["hive"].rglob("*.parquet")),
    }


@pytest.mark.slow
def test_every_kind_of_source_gives_the_same_cells(every_kind):
    wish = {"dimensions": ["x", "y"], "where": "y >= 2 or x = 'F'"}
    wanted = cells(every_kind["pandas"], **wish)
    assert wanted["01", "5"] == (20, sum((7 * n) % 256 for n in range(4, 100, 5)) % 256)
    for kind, data in every_kind.items():
        assert cells(data, **wish) == wanted, kind


@pytest.mark.parametrize("kind", ["one.parquet", "one.csv", "one.csv.gz", "arrow/two.arrows"])
def test_standard_input_is_read_once_whatever_it_holds(every_kind, monkeypatch, tmp_path, kind):
    wanted = cells(tmp_path / kind, ["x", "y"])
    with (tmp_path / kind).open() as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        with open_source("-") as source:
            assert source.label == "standard input"
            wish = Request(dimensions=["x", "y"])
            for _ in range(2):
                found = decode(cube(source, KEYS, [wish])[0])
                assert {name: cell[:2] for name, cell in found.items()} == wanted
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO()))
    with pytest.raises(SourceError, match=r"^Standard input is empty"):
        open_source("-")


def test_keys_of_64_bits_come_back_from_csv(tmp_path):
    drawn = pd.DataFrame({"k": np.array([2**64 - 1, 2**63, 3], np.uint64), "x": [1, 2, 3]})
    drawn.to_csv(tmp_path / "k.csv", index=False)
    with open_source(tmp_path / "k.csv") as source:
        assert source.columns["k"] == "UBIGINT"
        assert StoredKeys(column="k", key_range=2**64).resolve(source) == 2**64
        assert source.fetch(f"SELECT max(k) FROM {source.relation}") == [(2**64 - 1,)]


def hive(tmp_path, *names, column="a"):
    for name in names:
        (tmp_path / name).mkdir(parents=True)
        table = pa.table({column: ["v"], "key": pa.array([1], pa.uint8())})
        pq.write_table(table, tmp_path / name / "part.parquet")
    return tmp_path


def test_partitions_are_texts_as_their_folders_are_called(tmp_path):
    folder = hive(
        tmp_path / "year=1999", "dep=01/z=%C3%8Ele%2F1", "dep=2A/z=__HIVE_DEFAULT_PARTITION__"
    )
    with open_source(folder) as source:
        assert source.kinds == {"a": "text", "key": "integer", "dep": "text", "z": "text"}
    assert set(cells(folder, ["dep", "z"], margins="none")) == {
        ("01", "Île/1"),
        ("2A", "(missing)"),
    }
    assert set(cells(f"{folder}/dep=0*", ["dep"], margins="none")) == {("01",)}


def test_partitions_that_are_not_clear_are_refused(tmp_path):
    with pytest.raises(SourceError, match="'Dep' is named by folders, and again"):
        open_source(hive(tmp_path / "one", "Dep=1", column="dEP"))
    with pytest.raises(SourceError, match="'dep' is named by folders, and again"):
        open_source(hive(tmp_path / "two", "dep=1/dep=2"))
    with pytest.raises(SourceError, match="must name the same partitions"):
        open_source(hive(tmp_path / "three", "dep=1", "year=2"))
    with pytest.raises(SourceError, match="nothing before its ="):
        open_source(hive(tmp_path / "four", "=1"))


@pytest.mark.parametrize(
    "data",
    [[1, 2], [], ["a", 1], None, {"x": [1]}, 5, pd.Series([1]), np.zeros(3)],
    ids=["numbers", "no path", "mixed", "None", "dict", "int", "Series", "array"],
)
def test_what_is_no_table_is_refused_by_its_type(data):
    with pytest.raises(SourceError, match="Records cannot be read from") as caught:
        open_source(data)
    assert "hint: give a path, a list of paths, or a pandas, polars or Arrow table" in str(
        caught.value
    )


def test_files_that_cannot_be_read_say_why(tmp_path):
    (tmp_path / "empty.parquet").touch()
    (tmp_path / "nothing").mkdir()
    (tmp_path / "notes.xlsx").write_bytes(b"PK..........")
    cases = {
        "absent.parquet": "No file matches",
        "empty.parquet": "is empty",
        "notes.xlsx": "damaged, incomplete or not of its format",
        "": "is empty",
        "nothing": "No file matches",
    }
    for name, problem in cases.items():
        with pytest.raises(SourceError, match=problem):
            open_source(tmp_path / name)
    with pytest.raises(SourceError, match="cannot be read from https"):
        open_source("https://example.org/people.parquet")
    with pytest.raises(SourceError, match="No file matches 's3://bucket"):
        open_source(["s3://bucket/people.parquet"])
    with pytest.raises(SourceError, match="query goes with a database"):
        open_source(tmp_path / "notes.xlsx", query="SELECT 1")


@pytest.mark.parametrize("text", [b"", b"\xef\xbb\xbf", b"\n", b"  \r\n\r\n", b"\n" * 99])
@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.tsv.gz", "a.txt.gz"])
def test_a_text_without_a_line_is_empty_compressed_or_not(name, text, tmp_path):
    (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    with pytest.raises(SourceError, match=rf"'{name}' is empty(: it holds no line|\.)"):
        open_source(tmp_path / name)


def test_a_blank_line_before_the_header_is_not_taken_for_an_empty_file(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"\na,b\n1,2\n")
    with pytest.raises(SourceError, match="must name every column"):
        open_source(tmp_path / "a.csv")


@pytest.mark.parametrize("size", [1, 15, 25])
def test_a_compressed_file_that_ends_too_early_says_so(size, tmp_path):
    data = gzip.compress(b"a,b\n1,2\n" * 9)
    (tmp_path / "a.csv.gz").write_bytes(data[:size])
    with pytest.raises(SourceError, match=r"'a\.csv\.gz' is no whole file of gzip"):
        open_source(tmp_path / "a.csv.gz")


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
def test_files_without_columns_say_so(name, tmp_path):
    nothing = pa.schema([]).empty_table()
    if name == "a.parquet":
        pq.write_table(nothing, tmp_path / name)
    else:
        with pa.ipc.new_file(str(tmp_path / name), nothing.schema) as writer:
            writer.write_table(nothing)
    with pytest.raises(SourceError, match=r"The data have no columns"):
        open_source(tmp_path / name)


def test_files_of_a_glob_must_agree(tmp_path):
    pq.write_table(pa.table({"x": [1]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": ["a"]}), tmp_path / "b.parquet")
    with pytest.raises(SourceError, match=r"'x' must have one type .* in 'a.parquet', and"):
        cells(tmp_path / "*.parquet", ["x"])
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    (tmp_path / "b.csv").write_text("x,z\n1,2\n")
    with pytest.raises(SourceError, match=r"'b\.csv' has no 'y', which 'a\.csv' has"):
        open_source(tmp_path / "*.csv")
    with pytest.raises(SourceError, match="one format"):
        open_source(tmp_path / "a.*")


def test_the_table_of_a_duckdb_file_is_chosen_by_name(tmp_path):
    file = tmp_path / "data.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute("CREATE TABLE one AS SELECT 1 AS x, 5::UTINYINT AS key")
        connection.execute("CREATE VIEW two AS SELECT 2 AS x, 6::UTINYINT AS key")
        connection.execute('CREATE SCHEMA s; CREATE TABLE s."o""dd" AS SELECT 3 AS x, 7 AS key')
    assert cells(file, ["x"], table="two") == {("2",): (1, 6), ("Total",): (1, 6)}
    assert cells(file, ["x"], table='s.o"dd') == {("3",): (1, 7), ("Total",): (1, 7)}
    with pytest.raises(SourceError, match="has 3 tables; name one"):
        open_source(file)
    with pytest.raises(SourceError, match="did you mean 'one'"):
        open_source(file, table="onee")
    broken = tmp_path / "broken.duckdb"
    broken.write_bytes(b"no database at all" * 100)
    with pytest.raises(SourceError, match="cannot be opened as a DuckDB file"):
        open_source(broken)


def test_memory_and_threads_must_make_sense():
    for options in ({"memory_limit": "much"}, {"threads": 0}, {"threads": -1}):
        with pytest.raises(SourceError, match=r"like '3GB' and threads be a positive"):
            open_source(pa.table({"x": [1]}), **options)


# --- columns and names --------------------------------------------------------------------

NAMES = [
    'a"; DROP TABLE ckm_records; --',
    "'",
    "$f0",
    "?",
    "é漢😀",
    "a\nb",
    " ",
    "`",
    "rowid",
    "select",
    "--",
    "x" * 5000,
]


@pytest.mark.parametrize("name", NAMES)
def test_a_column_may_have_any_name(name):
    values = ["'; DROP TABLE ckm_records; --", 'w"']
    table = pa.table({name: values, "key": pa.array([1, 2], pa.uint8())})
    assert cells(table, [name]) == {
        (values[0],): (1, 1),
        (values[1],): (1, 2),
        ("Total",): (2, 3),
    }


@pytest.mark.parametrize("other", NAMES)
def test_names_survive_files(tmp_path, other):
    table = pa.table({other: ["a"], "key": pa.array([1], pa.uint8())})
    pq.write_table(table, tmp_path / "odd ' name.parquet")
    assert cells(tmp_path / "odd ' name.parquet", [other])["a",] == (1, 1)


@pytest.mark.slow
def test_columns_named_like_our_own_aliases_are_not_mixed_up():
    names = ["k", "d0", "d1", "f0", "w0", "n", "g", "ckm_records", "ckm_clean_records"]
    rows = {name: [10 * place, 10 * place + 1] for place, name in enumerate(names)}
    table = pa.table({**rows, "key": pa.array([1, 2], pa.uint8())})
    with open_source(table) as source:
        for name, values in rows.items():
            for other in names:
                where = f"{other} = {rows[other][1]}"
                wish = Request(dimensions=[name], margins="none", where=where)
                (found,) = cube(source, KEYS, [wish])
                assert {n: c[:2] for n, c in decode(found).items()} == {
                    (str(values[1]),): (1, 2)
                }
    found = cells(table, names, margins="none", where="d1 = 20")
    assert list(found.values()) == [(1, 1)]


def test_columns_need_distinct_names():
    for data in (
        pa.table({"x": [1], "X": [2]}),
        pd.DataFrame([[1, 2]], columns=["sex", "Sex"]),
    ):
        with pytest.raises(SourceError, match="differ in upper and lower case alone"):
            open_source(data)
    with pytest.raises(SourceError, match="two columns called 'a'"):
        open_source(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(SourceError, match="Every column needs a name"):
        open_source(pa.table({"": [1], "x": [1]}))


def test_data_without_columns_are_refused():
    for data in (pa.table({}), pd.DataFrame(), pl.DataFrame()):
        with pytest.raises(SourceError, match="The data have no columns"):
            open_source(data)


@pytest.mark.parametrize(
    ("index", "what"),
    [
        ([0, 0], "has labels"),
        (["a", "b"], "has labels"),
        (pd.RangeIndex(1, 3), "has labels"),
        (pd.RangeIndex(2, name="person"), "is called 'person'"),
        (pd.MultiIndex.from_tuples([(0, 0), (0, 1)], names=["h", None]), "is called 'h'"),
    ],
)
def test_a_pandas_index_that_carries_something_is_refused(index, what):
    with pytest.raises(SourceError, match=f"index must be a plain range .* {what}") as caught:
        open_source(pd.DataFrame({"x": [1, 2]}, index=index))
    assert "call df.reset_index()" in str(caught.value)


@pytest.mark.parametrize(
    ("column", "what"),
    [([[1], [2]], "nested"), ([{"a": 1}, {"a": 2}], "nested"), ([b"x", b"y"], "binary")],
    ids=["list", "struct", "binary"],
)
def test_nested_and_binary_columns_have_no_categories(column, what):
    table = pa.table({"x": column, "key": pa.array([1, 2], pa.uint8())})
    with pytest.raises(ValueError, match=f"'x' holds {what} values, which are not") as caught:
        cells(table, ["x"])
    hint = {"nested": "hint: take out of it what is needed", "binary": "hint: write it as text"}
    assert hint[what] in str(caught.value)
    assert cells(table, [])[()] == (2, 3)


# --- categories of every type -------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ([1, 10, 2], ["1", "2", "10"]),
        ([1, 2, None], ["1", "2", "(missing)"]),
        ([True, False], ["false", "true"]),
        (["b", "a", None], ["a", "b", "(missing)"]),
        (["", "a"], ["", "a"]),
        ([2.5, 1.0], ["1", "2.5"]),
        ([0.0, -0.0, 0.0], ["0"]),
        ([float("inf"), 1.0], ["1", "inf"]),
        ([dt.date(2021, 1, 1), dt.date(2020, 1, 1)], ["2020-01-01", "2021-01-01"]),
        ([Decimal("1.50"), Decimal("0.10")], ["0.1", "1.5"]),
        ([1, "1", "a", None], ["1", "a", "(missing)"]),
        ([1, "b", 2.5], ["1", "2.5", "b"]),
        ([2**70, 1], ["1", str(2**70)]),
        ([None, None], ["(missing)"]),
        (pd.Categorical([None, None]), ["(missing)"]),
        (pd.Categorical(["b", None, "a"], ["b", "a"]), ["b", "a", "(missing)"]),
        (pd.array([1, None], "Int64"), ["1", "(missing)"]),
        (pd.array([True, None], "boolean"), ["true", "(missing)"]),
        (pd.array(["a", None], "string"), ["a", "(missing)"]),
        (pd.Categorical(["b", "a"], ["b", "unused", "a"], ordered=True), ["b", "a"]),
        (pd.Categorical([3, 1, 3], [3, 2, 1]), ["3", "1"]),
        (pd.to_datetime(["2020-01-01 10:00", "2020-01-01 00:00"]),
         ["2020-01-01 00:00:00", "2020-01-01 10:00:00"]),
    ],
)  # fmt: skip
def test_pandas_columns_of_every_type_become_categories(values, wanted):
    assert labels(frame(values)) == wanted


def test_the_name_of_a_category_depends_on_its_value_alone():
    table = pa.table({"x": [1.0, 2.5], "key": pa.array([1, 2], pa.uint8())})
    assert ("1",) in cells(table, ["x"])
    assert ("1",) in cells(table, ["x"], where="x < 2")
    moment = dt.datetime(2020, 1, 1, 10, 0, 0, 500_000)  # noqa: DTZ001
    for unit in ("ms", "us", "ns"):
        column = pa.array([moment], pa.timestamp(unit))
        data = pa.table({"x": column, "key": pa.array([1], pa.uint8())})
        assert ("2020-01-01 10:00:00.5",) in cells(data, ["x"])


def test_zeros_of_both_signs_are_one_category_in_every_order():
    for values in ([0.0, -0.0, 1.0], [-0.0, 0.0, 1.0]):
        data = pa.table({"x": values, "y": [1, 2, 1], "key": pa.array([1, 2, 4], pa.uint8())})
        assert cells(data, ["x", "y"])["0", "Total"] == (2, 3)


@pytest.mark.slow
def test_declared_categories_match_values_of_every_type():
    moment = dt.datetime(2020, 1, 1)  # noqa: DTZ001
    aware = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    for values, kind in (
        ([1.0, 2.5], pa.float64()),
        ([Decimal("1.5")], pa.decimal128(5, 2)),
        ([moment], pa.timestamp("us")),
        ([aware], pa.timestamp("ns", "UTC")),
        ([dt.date(2020, 1, 1)], pa.date32()),
        ([dt.time(1, 2, 3)], pa.time64("us")),
        ([True, False], pa.bool_()),
        (["", "a"], pa.string()),
        ([7], pa.int8()),
    ):
        table = pa.table(
            {"x": pa.array(values, kind), "key": pa.array([1] * len(values), pa.uint8())}
        )
        found = cells(table, ["x"], categories={"x": values})
        assert len(found) == len(values) + 1


@pytest.mark.slow
def test_many_categories_are_tabulated():
    size = 2 * 10**5  # more than 16 bits can number
    table = pa.table({"x": np.arange(size)[::-1].astype(str), "key": np.zeros(size, np.uint8)})
    with open_source(table) as source:
        (found,) = cube(source, KEYS, [Request(dimensions=["x"], discrete=["x"])])
    assert len(found) == size + 1
    assert found.axes[0].labels[0][1:4].tolist() == ["0", "1", "10"]


# --- CSV ----------------------------------------------------------------------------------


def kinds(tmp_path, text):
    file = tmp_path / "data.csv"
    file.write_bytes(text.encode())
    with open_source(file) as source:
        return source.kinds


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["01", "75"], "text"),
        (["1", "75", ""], "integer"),
        (["1.5", "2"], "text"),
        (["1.50", "2.25"], "text"),
        (["10.1", "10.10"], "text"),
        (["1.0", "2.25"], "text"),
        (["+1", "2"], "text"),
        ([" 1", "2"], "text"),
        (["2020-01-01", ""], "date"),
        (["1", "a"], "text"),
        (["99999999999999999999", "1"], "text"),
        (["nan", "1"], "text"),
        (["inf", "1"], "text"),
        (["", ""], "text"),
    ],
)
def test_a_csv_column_gets_a_type_only_where_no_two_codes_merge(tmp_path, values, kind):
    assert kinds(tmp_path, "x,y\n" + "".join(f"{v},a\n" for v in values))["x"] == kind


def test_a_late_surprise_in_a_csv_column_is_seen(tmp_path):
    lines = "".join(f"{n}\n" for n in range(30_000))
    assert kinds(tmp_path, f"x\n{lines}late\n") == {"x": "text"}


def test_csv_files_keep_quotes_line_breaks_and_byte_order_marks(tmp_path):
    file = tmp_path / "data.csv"
    file.write_bytes('\ufeffx,key\r\n"a,""b""\nc",1\r\nd,2\r\n'.encode())
    assert cells(file, ["x"]) == {('a,"b"\nc',): (1, 1), ("d",): (1, 2), ("Total",): (2, 3)}


def test_csv_files_that_are_broken_say_where(tmp_path):
    for text, problem in (
        (b"x,y\n1,2\n3\n", r"\(line 3\)"),
        (b"x,y\n1,2\n3,4,5\n", r"\(line 3\)"),
        (b"x,,z\n1,2,3\n", "must name every column"),
        (b"x,X\n1,2\n", "upper and lower case"),
        (b"\xff\xfex\n", "not a text in UTF-8"),
    ):
        file = tmp_path / "bad.csv"
        file.write_bytes(text)
        with pytest.raises(SourceError, match=problem):
            open_source(file)


def test_a_csv_file_with_a_header_alone_has_no_records(tmp_path):
    file = tmp_path / "data.csv"
    file.write_text("x,key\n")
    with open_source(file) as source:
        assert source.kinds == {"x": "text", "key": "text"}


def test_categories_are_read_in_the_order_of_the_file(tmp_path):
    file = tmp_path / "areas.csv"
    file.write_text("region,area\n2,b\n1,a\n2,b\n1,c\n")
    assert read_categories(file, ["area"]) == ["b", "a", "c"]
    assert read_categories(file, ["region", "area"]) == [("2", "b"), ("1", "a"), ("1", "c")]
    with pytest.raises(RequestError, match=r"'areas\.csv' has no column 'zone'"):
        read_categories(file, ["zone"])
    file.write_text("area\n")
    with pytest.raises(SourceError, match="lists no category"):
        read_categories(file, ["area"])


# --- what is left behind ------------------------------------------------------------------


@pytest.fixture
def spills(tmp_path, monkeypatch):
    """Return what lists the spill folders of this test alone."""
    folder = tmp_path / "spill"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return lambda: set(folder.glob("ckm-spill-*"))


@pytest.mark.slow
def test_what_spills_to_disk_is_for_the_owner_alone_and_goes_with_the_source(spills):
    before = spills()
    rng = np.random.default_rng(1)
    size = 200_000
    table = pa.table({"x": rng.permutation(size), "y": rng.permutation(size).astype(str)})
    table = table.append_column("key", pa.array(np.zeros(size, np.uint8)))
    modes, written, done = set(), set(), threading.Event()

    def watch():
        while not done.wait(0.005):
            for folder in spills() - before:
                modes.add(stat.S_IMODE(folder.stat().st_mode))
                written.update(file.suffix for file in folder.iterdir())

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        with open_source(table, memory_limit="15MB", threads=1) as source:
            request = Request(dimensions=["x", "y"], margins="none", discrete=["x", "y"])
            (found,) = cube(source, KEYS, [request])
    finally:
        done.set()
        watcher.join()
    assert len(found) == size
    assert modes == {0o700}
    assert ".tmp" in written
    assert spills() == before


def test_a_source_that_could_not_be_opened_leaves_nothing(tmp_path, spills):
    before = spills()
    (tmp_path / "bad.csv").write_text("x,y\n1\n")
    for data in (tmp_path / "bad.csv", tmp_path / "absent.csv", 5):
        with pytest.raises(SourceError):
            open_source(data)
    with pytest.raises(SourceError):
        open_source(pa.table({"x": [1]}), memory_limit="much")
    assert spills() == before


def test_a_closed_source_says_so_and_may_be_closed_again():
    source = open_source(pa.table({"x": [1], "key": pa.array([1], pa.uint8())}))
    source.close()
    source.close()
    with pytest.raises(SourceError):
        cube(source, KEYS, [Request(dimensions=["x"])])


def test_what_a_killed_process_spilled_is_removed_by_the_next_source(spills):
    with open_source(pa.table({"x": [1]})) as living:
        abandoned = Path(tempfile.mkdtemp(prefix="ckm-spill-"))
        (abandoned / "lock").touch()
        (abandoned / "records.tmp").write_text("somebody's record")
        with open_source(pa.table({"x": [1]})):
            assert not abandoned.exists()
            assert len(spills()) == 2
        assert living.fetch("SELECT 1") == [(1,)]
    assert spills() == set()


def test_nan_is_missing_whatever_the_statistics_of_a_parquet_file_say(tmp_path):
    values = [1.0, 2.0, float("nan")] * 100
    table = pa.table({"x": values, "key": pa.array([1] * 300, pa.uint8())})
    pq.write_table(table, tmp_path / "x.parquet")
    assert cells(tmp_path / "x.parquet", ["x"]) == cells(table, ["x"])
    assert ("nan",) not in cells(tmp_path / "x.parquet", ["x"])


@pytest.mark.slow
def test_a_csv_file_may_have_many_columns(tmp_path):
    names = ["key", *(f"c{i}" for i in range(1, 200))]
    lines = [",".join(names), *(",".join(["7"] + ["a1"] * 199) for _ in range(5))]
    (tmp_path / "wide.csv").write_text("\n".join(lines))
    with open_source(tmp_path / "wide.csv") as source:
        assert source.kinds["key"] == "integer"
        assert source.kinds["c199"] == "text"


def test_a_long_query_tells_its_progress_and_can_be_interrupted():
    with open_source(pa.table({"x": [1]})) as source:
        slow = (
            "SELECT count(*) FROM range(3000000) a, range(4000) b WHERE a.range * b.range = 7"
        )
        seen = []

        def stop(share):
            seen.append(share)
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            source.arrow(slow, progress=stop)
        assert seen
        assert source.fetch("SELECT 1") == [(1,)]


@pytest.mark.slow
def test_tables_of_a_duckdb_file_are_found_by_either_name(tmp_path):
    with duckdb.connect(str(tmp_path / "x.duckdb")) as connection:
        connection.execute('CREATE TABLE "a.b" AS SELECT 1 AS x')
        connection.execute("CREATE TABLE people AS SELECT 2 AS x")
        connection.execute("CREATE SCHEMA s; CREATE TABLE s.people AS SELECT 3 AS x")
    for name, x in {"a.b": 1, "people": 2, "main.people": 2, "s.people": 3}.items():
        with open_source(tmp_path / "x.duckdb", table=name) as source:
            assert source.fetch(f"SELECT x FROM {source.relation}") == [(x,)]
