"""Files of one table: columns by name, integers widened, and what differs named by file."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tables import (
    HashedKeys,
    Request,
    RequestError,
    Secret,
    SourceError,
    StoredKeys,
    cube,
    open_source,
)
from tests.strategies import decode

KEYS = StoredKeys(column="key", key_range=256)
MISSING = "(missing)"


def counts(data, dimension="v", **wish):
    with open_source(data) as source:
        wish = Request(dimensions=[dimension], margins="none", **wish)
        return {
            name[0]: cell[0] for name, cell in decode(cube(source, KEYS, [wish])[0]).items()
        }


def store(path, table):
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        pq.write_table(table, path)
        return
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


def folder(path, *columns, form="parquet"):
    """Write files 1, 2, … that each have one record, its key and the columns given."""
    for place, given in enumerate(columns, start=1):
        table = pa.table({**given, "key": pa.array([place], pa.uint8())})
        store(path / f"{place}.{form}", table)
    return path


FORMS = ["parquet", "arrow"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ([pa.array([5], pa.int32()), pa.array([2**40])], ["5", str(2**40)]),
        ([pa.array([2**63], pa.uint64()), pa.array([-1])], [str(2**63), "-1"]),
        ([pa.array(["a"]), pa.nulls(1)], ["a", MISSING]),
        ([pa.nulls(1), pa.array(["a"])], [MISSING, "a"]),
        ([pa.nulls(1), pa.array([7], pa.int8())], [MISSING, "7"]),
        ([pa.nulls(1), pa.nulls(1)], [MISSING, MISSING]),
        ([pa.array(["a"]), pa.array(["b"]).dictionary_encode()], ["a", "b"]),
        ([pa.array(["a"]), pa.array(["b"], pa.large_string())], ["a", "b"]),
        (
            [pa.array([Decimal("1.50")]), pa.array([Decimal("1.125")], pa.decimal128(9, 3))],
            ["1.5", "1.125"],
        ),
        (
            [pa.array([0], pa.timestamp(unit)) for unit in ("s", "us")],
            ["1970-01-01 00:00:00"] * 2,
        ),
        (
            [pa.array(pd.PeriodIndex(["2020-01"], freq="M")), pa.nulls(1)],
            ["2020-01", MISSING],
        ),
    ],
)
def test_types_of_files_that_can_be_one_are_read_as_one(form, values, labels, tmp_path):
    data = folder(tmp_path / "f", *({"v": value} for value in values), form=form)
    assert counts(data) == {label: labels.count(label) for label in labels}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("values", "what"),
    [
        (
            [pa.array(["a"]), pa.array([1])],
            r"text \(VARCHAR\) .* integer \(BIGINT\)",
        ),
        ([pa.array([1.5]), pa.array([1.5], pa.float32())], r"number \(DOUBLE\) .*\(FLOAT\)"),
        ([pa.array([1.5]), pa.array([1])], r"number \(DOUBLE\) .* integer \(BIGINT\)"),
        ([pa.array([Decimal("1.5")]), pa.array([1])], r"DECIMAL.* integer \(BIGINT\)"),
        ([pa.array([True]), pa.array([1])], r"boolean \(BOOLEAN\) .* integer \(BIGINT\)"),
        ([pa.array([dt.date(2020, 1, 1)]), pa.array(["2020-01-01"])], r"date .* text"),
        ([pa.array([[1]]), pa.array([["a"]])], "nested values .* nested values"),
        (
            [pa.array(pd.PeriodIndex(["2020"], freq=freq)) for freq in ("M", "Y")],
            r"periods \(M\) .* periods \(Y-DEC\)",
        ),
    ],
)
def test_a_used_column_whose_type_differs_is_named_with_files_and_types(
    form, values, what, tmp_path
):
    same = {"u": pa.array(["x"])}
    data = folder(tmp_path / "f", *({"v": value, **same} for value in values), form=form)
    with pytest.raises(
        RequestError, match=f"'v' must have one type .*{what.format(form)}"
    ) as e:
        counts(data)
    assert f"'1.{form}'" in str(e.value)
    assert f"'2.{form}'" in str(e.value)
    assert str(tmp_path) not in str(e.value)
    assert counts(data, "u") == {"x": 2}


@pytest.mark.parametrize("form", FORMS)
def test_columns_are_read_by_name_whatever_their_order(form, tmp_path):
    data = folder(tmp_path / "f", {"v": ["a"], "u": ["x"]}, {"u": ["y"], "v": ["b"]}, form=form)
    assert counts(data) == {"a": 1, "b": 1}
    assert counts(data, "u", where="v = 'b'") == {"y": 1}
    partitioned = tmp_path / "h"
    for place, (name, columns) in enumerate({"r=1": ["v", "u"], "r=2": ["u", "v"]}.items()):
        table = pa.table({c: [f"{c}{place}"] for c in columns} | {"key": [place]})
        store(partitioned / name / f"one.{form}", table)
    assert counts(partitioned, "r", where="u = 'u1'") == {"2": 1}
    assert counts(partitioned, where="r = '1'") == {"v0": 1}


@pytest.mark.parametrize("form", FORMS)
def test_a_file_without_a_column_is_named(form, tmp_path):
    whole, part = {"v": [1], "u": [1]}, {"u": [1]}
    for place, (lacking, having) in enumerate([(2, 1), (1, 2)]):
        tables = [whole, part] if lacking == 2 else [part, whole]
        data = folder(tmp_path / str(place), *tables, form=form)
        problem = f"'{lacking}.{form}' has no 'v', which '{having}.{form}' has"
        with pytest.raises(SourceError, match=problem) as caught:
            open_source(data)
        assert str(tmp_path) not in str(caught.value)


def test_names_that_differ_in_case_between_files_are_two_columns(tmp_path):
    data = folder(tmp_path / "f", {"v": ["a"]}, {"V": ["b"]})
    with pytest.raises(SourceError, match=r"'2.parquet' has no 'v', which '1.parquet' has"):
        open_source(data)
    store(tmp_path / "h" / "V=1" / "a.parquet", pa.table({"v": [1], "key": [1]}))
    with pytest.raises(SourceError, match="'V' is named by folders, and again"):
        open_source(tmp_path / "h")


def test_the_keys_of_records_do_not_depend_on_how_their_files_are_written(tmp_path):
    rows = {"id": list(range(300)), "v": [str(n % 7) for n in range(300)]}
    whole = pa.table(rows)
    pq.write_table(whole, tmp_path / "one.parquet")
    parts = tmp_path / "parts"
    for place in range(3):
        part = whole.slice(100 * place, 100)
        kind, order = [pa.int16(), pa.int64(), pa.uint32()][place], ["id", "v"]
        part = part.set_column(0, "id", part["id"].cast(kind))
        store(parts / f"{place}.parquet", part.select(order[::-1] if place == 1 else order))
    keys = HashedKeys(column="id", secret=Secret(bytes(16)))
    found = []
    for data in (tmp_path / "one.parquet", parts):
        with open_source(data, threads=4) as source:
            found.append(decode(cube(source, keys, [Request(dimensions=["v"])])[0]))
    assert found[0] == found[1]


def test_a_column_called_like_that_of_the_files_of_ours_stands_beside_partitions(tmp_path):
    for place, name in enumerate(["r=1", "r=2"]):
        table = pa.table({"ckm_file": [f"c{place}"], "CKM_FILE_": ["x"], "key": [place]})
        store(tmp_path / name / "a.parquet", table)
    assert counts(tmp_path, "ckm_file", where="r = '2'") == {"c1": 1}
    assert counts(tmp_path, "CKM_FILE_") == {"x": 2}


def test_times_of_day_that_are_marked_as_of_utc_are_times_of_day(tmp_path):
    times = pa.table({"t": pa.array([dt.time(3, 4), None], pa.time64("us"))})
    file = tmp_path / "times.parquet"
    try:
        pq.write_table(times, file, write_time_adjusted_to_utc=True)
    except TypeError:  # PyArrow marked them always, up to version 20
        pq.write_table(times, file)
    with open_source(file) as source:
        assert source.kinds == {"t": "time"}
        assert source.fetch(f"SELECT t FROM {source.relation}") == [(dt.time(3, 4),), (None,)]
