"""Columns of whole numbers as one: every record has its number, and reads as it was."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tables import Request, StoredKeys, cube, open_source
from tables.cells.packing import pack

REQUESTS = (
    Request(dimensions=["a", "b", "c", "word"]),
    Request(dimensions=["b", "a"], where="c >= 0"),
    Request(dimensions=["none", "wide", "a"], discrete=["wide"]),
)


def test_columns_grouped_as_one_number_give_the_same_cells(tmp_path):
    rng = np.random.default_rng(5)
    a = pa.array([None, -7, 120, 3, *rng.integers(-9, 5, 300)], pa.int8())
    records = pa.table(
        {
            "a": a,
            "b": pa.array([None, 2**40, 2**40 + 3, None, *(2**40 + rng.integers(0, 3, 300))]),
            "c": pa.array(rng.integers(-2, 2, 304), pa.int32()),
            "word": rng.choice(["x", "y"], 304),
            "none": pa.array([None] * 304, pa.int32()),
            "wide": pa.array([-(2**63), 2**63 - 1, *range(302)]),
            "key": rng.integers(0, 2**32, 304, dtype=np.uint64),
        }
    )
    path = tmp_path / "records.parquet"
    pq.write_table(records, path)
    for request in REQUESTS:
        found = []
        for data in (records, path):
            with open_source(data) as source:
                (cells,) = cube(source, StoredKeys(column="key"), [request])
            labels = [axis.labels[0].tolist() for axis in cells.axes]
            ranks = [rank.tolist() for rank in cells.ranks]
            found.append((labels, ranks, cells.count.tolist(), cells.cell_key.tolist()))
        assert found[0] == found[1]


def packed(tmp_path, **columns):
    """Return what columns of a Parquet file are packed into, by records, and what is read."""
    table = pa.table(columns)
    path = tmp_path / "records.parquet"
    pq.write_table(table, path)
    aliases = {name: f"d{place}" for place, name in enumerate(columns)}
    with open_source(path) as source:
        number, values = pack(source, aliases)
        if not number:
            assert values == {}
            return [], {}
        listed = ", ".join(f"{name} AS {alias}" for name, alias in aliases.items())
        inner = f"SELECT {listed} FROM {source.relation}"
        numbers = f"SELECT {number} AS p FROM ({inner})"
        read = ", ".join(f"{sql} AS {alias}" for alias, sql in values.items())
        rows = source.arrow(f"SELECT p, {read} FROM ({numbers})")
        types = source.fetch(f"DESCRIBE SELECT {read} FROM ({numbers})")
    names = {alias: name for name, alias in aliases.items()}
    back = {names[alias]: rows[alias].to_pylist() for alias in values}
    assert back == {name: table[name].to_pylist() for name in back}, "what was packed is read"
    held = {names[alias]: kind for alias, kind, *_ in types}
    return rows["p"].to_pylist(), held


def test_a_number_stands_for_each_combination_of_values(tmp_path):
    """Three values of a and 0 or 1 of b, as digits: the least value counts as 0."""
    numbers, types = packed(tmp_path, a=pa.array([5, 7, 6, 5], pa.int8()), b=[0, 1, 0, 1])
    assert numbers == [0, 2 + 3, 1, 3]
    assert types == {"a": "TINYINT", "b": "BIGINT"}


def test_missing_values_have_a_number_behind_all_others(tmp_path):
    numbers, _ = packed(tmp_path, a=[-1, None, 1], b=[8, 9, None], c=[3, 3, 3])
    assert numbers == [0 + 4 * 0, 3 + 4 * 1, 2 + 4 * 2]


@pytest.mark.parametrize(
    "columns",
    [
        {"a": [1, 2]},
        {"a": [1, 2], "b": ["x", "y"]},
        {"a": [1, 2], "b": pa.array([None, None], pa.int64())},
        {"a": [1.5, 2.5], "b": [True, False]},
        {"a": [0, 2**61], "b": [0, 1]},
    ],
    ids=["one", "texts", "nothing but missing", "no whole numbers", "too many"],
)
def test_nothing_is_packed_where_there_are_not_two_columns_of_few_values(tmp_path, columns):
    assert packed(tmp_path, **columns) == ([], {})


@pytest.mark.parametrize(("size", "is_packed"), [(2**60 - 1, True), (2**60, False)])
def test_numbers_stay_below_a_limit_of_62_bits(tmp_path, size, is_packed):
    """Four values of a, and so many between the least and the largest of b."""
    numbers, types = packed(tmp_path, a=[0, 3], b=[-5, size - 6], c=[1, 1])
    assert ("b" in types) == is_packed
    assert numbers == ([0, 3 + 4 * (size - 1)] if is_packed else [0, 3])


def test_a_column_that_is_too_wide_leaves_room_for_others(tmp_path):
    numbers, types = packed(tmp_path, a=[0, 2**62], b=[0, 4], c=[9, 8], d=[2**62, 0])
    assert list(types) == ["b", "c"]
    assert numbers == [5, 4]


def test_frames_are_not_looked_through_for_their_ends():
    with open_source(pa.table({"a": [1, 2], "b": [1, 2]})) as source:
        assert pack(source, {"a": "d0", "b": "d1"}) == ("", {})
        assert source.spans == {}


def test_ends_are_looked_up_once_for_all_columns(tmp_path):
    path = tmp_path / "records.parquet"
    pq.write_table(pa.table({"a": [1, None], "b": [7, 3], "c": ["x", "y"]}), path)
    with open_source(path) as source:
        first = pack(source, {"a": "d0", "b": "d1", "c": "d2"})
        assert source.spans == {"a": (1, 1, True), "b": (3, 7, False)}
        source.spans["b"] = (0, 99, False)
        assert pack(source, {"a": "d0", "b": "d1"}) != first
