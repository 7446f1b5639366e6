"""Sketches summarise exactly the records of each cell, and cost nothing when not asked for."""

from __future__ import annotations

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from tables import (
    HashedKeys,
    KeyQualityError,
    Request,
    RequestError,
    Secret,
    StoredKeys,
    cube,
    open_source,
)
from tables.cells.sketch import (
    MAX_WIDTH,
    PRIME,
    Sketch,
    join_sketches,
    merged_columns,
    read_sketch,
    require_sketchable,
    smallest_members,
)
from tests.results import require_fixed

KEYS = StoredKeys(column="key")


def register(size=400, seed=1, **more):
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "a": rng.integers(0, 3, size),
            "b": pa.array([None if x == 0 else f"x{x}" for x in rng.integers(0, 40, size)]),
            "x": rng.choice([0.1, -0.0, 0.0, np.nan, 2.5], size),
            "key": rng.integers(0, 2**64, size, dtype=np.uint64),
            **more,
        }
    )


def tabulate(data, requests, width, keys=KEYS, **options):
    with open_source(data, threads=2) as source:
        return cube(source, keys, requests, sketch=width, **options)


def expected(keys, width, *, key_range=2**64):
    """Sketch a list of keys by the definition."""
    partitions, shift = [0] * (width + 1), max((key_range - 1).bit_length() - 31, 0)
    starts = [place * key_range // (width + 1) for place in range(width + 1)]
    for key in keys:
        partitions[max(place for place, start in enumerate(starts) if start <= key)] ^= key
    power_sums = [sum((key >> shift) ** i for key in keys) % PRIME for i in range(1, width + 2)]
    return partitions, power_sums, sorted(keys)[: width + 1] if 0 in partitions else []


def sketch_of(cells, number):
    sketch = cells.sketch
    mine = sketch.member_cell == number
    return (
        sketch.partitions[number].tolist(),
        sketch.power_sums[number].tolist(),
        sketch.member_key[mine].tolist(),
    )


def records_of(data, cells, number, keep=lambda _: True):
    wanted = {
        axis.columns[0]: axis.labels[0][ranks[number]]
        for axis, ranks in zip(cells.axes, cells.ranks, strict=True)
    }
    rows = [row for row in data.to_pylist() if keep(row)]
    return [
        row["key"]
        for row in rows
        if all(label in {"Total", text(row[c])} for c, label in wanted.items())
    ]


def text(code):
    if code is None or code != code:  # noqa: PLR0124  (missing or not a number)
        return "(missing)"
    return "0" if code == 0 else f"{code:g}" if isinstance(code, float) else str(code)


@pytest.mark.parametrize("width", [1, 2, 3, 4])
def test_every_cell_and_margin_has_the_sketch_of_its_records(width):
    data = register(60)
    wishes = [
        Request(dimensions=["a", "b"]),
        Request(dimensions=["b", "x"], where="a > 0"),
        Request(dimensions=[]),
        Request(dimensions=["a"], where="a < 2"),
        Request(dimensions=["a"], margins="none"),
    ]
    tests = [lambda _: True, lambda r: r["a"] > 0, lambda _: True, lambda r: r["a"] < 2]
    tests.append(tests[0])
    small = 0
    for cells, test in zip(tabulate(data, wishes, width), tests, strict=True):
        for number in range(len(cells)):
            keys = records_of(data, cells, number, test)
            assert len(keys) == cells.count[number]
            assert sketch_of(cells, number) == expected(keys, width)
        small += int(cells.sketch.is_small.sum())
    assert small > 20


def test_a_width_of_nought_sketches_nothing():
    (cells,) = tabulate(register(), [Request(dimensions=["a"])], 0)
    assert cells.sketch is None


def test_categories_that_came_in_an_order_are_joined_to_their_members():
    names = pa.array(["low", "high", None] * 10).dictionary_encode()
    data = register(30).append_column("level", names)
    (cells,) = tabulate(data, [Request(dimensions=["level", "a"])], 2)
    for number in range(len(cells)):
        keys = records_of(data, cells, number)
        assert sketch_of(cells, number) == expected(keys, 2)


@pytest.mark.slow
def test_columns_of_any_name_are_joined_to_their_members():
    hostile = ['k" OR 1=1 --', "{beside}", "row", "x", "u", "k", "keys", "ckm_beside", "$f0"]
    rng = np.random.default_rng(3)
    columns = {name: rng.integers(0, 3, 12) for name in hostile}
    data = pa.table({**columns, "key": rng.integers(0, 2**64, 12, dtype=np.uint64)})
    for name in hostile:
        (cells,) = tabulate(data, [Request(dimensions=[name], where=f"`{name}` < 2")], 3)
        for number in range(len(cells)):
            keys = records_of(data, cells, number, lambda row, n=name: row[n] < 2)
            assert sketch_of(cells, number) == expected(keys, 3)


def test_hashed_keys_give_the_same_sketches_in_any_order_and_with_any_threads():
    data = pa.table({"id": list(range(500)), "a": [n % 7 for n in range(500)]})
    keys = HashedKeys(column="id", secret=Secret(bytes(16)))
    wish = [Request(dimensions=["a"])]
    (first,) = tabulate(data, wish, 2, keys)
    order = np.random.default_rng(2).permutation(500)
    (second,) = tabulate(data.take(pa.array(order)), wish, 2, keys)
    assert first.sketch.partitions.any()
    assert (first.sketch.partitions == second.sketch.partitions).all()
    assert (first.sketch.power_sums == second.sketch.power_sums).all()
    assert (first.sketch.member_key == second.sketch.member_key).all()


def test_keys_of_another_range_use_all_lanes():
    data = register(key=pa.array(np.random.default_rng(4).integers(0, 2**40, 400)))
    keys = StoredKeys(column="key", key_range=2**40)
    (cells,) = tabulate(data, [Request(dimensions=["a"])], 2, keys)
    for number in range(len(cells)):
        members = records_of(data, cells, number)
        assert sketch_of(cells, number) == expected(members, 2, key_range=2**40)
    assert cells.sketch.partitions.all()


def test_keys_that_cannot_tell_records_apart_are_refused():
    data = pa.table({"a": [1, 2], "key": pa.array([1, 2], pa.uint8())})
    with pytest.raises(RequestError, match=r"2\*\*32 or more, not 256"):
        tabulate(data, [Request(dimensions=["a"])], 1)


@pytest.mark.parametrize("width", [-1, 5])
def test_a_width_out_of_range_is_refused(width):
    with pytest.raises(RequestError, match="width from 1 to 4"):
        tabulate(register(), [Request(dimensions=["a"])], width)


def test_missing_keys_are_refused_even_when_tolerated_elsewhere():
    data = pa.table({"a": [1, 2], "key": pa.array([1, None], pa.uint64())})
    wish = [Request(dimensions=["a"])]
    assert len(tabulate(data, wish, 0, tolerate_missing_keys=True)) == 1
    with pytest.raises(KeyQualityError, match="have no 'key'"):
        tabulate(data, wish, 1, tolerate_missing_keys=True)


def test_no_records_give_no_sketches():
    data = register().slice(0, 0)
    for dimensions in ([], ["a"], ["a", "b"]):
        (cells,) = tabulate(data, [Request(dimensions=dimensions)], 2)
        assert len(cells.sketch) == len(cells) == 0


def test_a_sketch_shows_nothing_of_itself():
    (cells,) = tabulate(register(), [Request(dimensions=["a"])], 2)
    assert repr(cells.sketch) == "Sketch(width 2)"


# --- sketches of sets of keys -------------------------------------------------------------


def sketch_of_sets(sets, width=2):
    """Sketch sets of keys of 64 bits by the definition."""
    found = [expected(sorted(keys), width) for keys in sets]
    return Sketch(
        partitions=np.array([f[0] for f in found], np.uint64).reshape(-1, width + 1),
        power_sums=np.array([f[1] for f in found], np.int64).reshape(-1, width + 1),
        member_cell=np.repeat(np.arange(len(found)), [len(f[2]) for f in found]),
        member_key=np.array([key for f in found for key in f[2]], np.uint64),
    )


def same(one, other):
    return all(
        a.dtype == b.dtype and a.tolist() == b.tolist()
        for a, b in zip(one.arrays, other.arrays, strict=True)
    )


def sets_of_keys(sizes, seed=5):
    rng = np.random.default_rng(seed)
    return [set(rng.integers(1, 2**64, size, dtype=np.uint64).tolist()) for size in sizes]


SIZES = (0, 1, 30, 2, 3, 40, 1, 5)


@pytest.mark.parametrize("width", [1, 2, 4])
def test_merged_sketches_are_those_of_the_unions(width):
    """In the order of places, which need not follow each other; members of large sets go."""
    sets = sets_of_keys(SIZES)
    place = np.array([7, 2, 2, 9, 7, 4, 9, 4])
    merged = sketch_of_sets(sets, width).merge(place)
    unions = [
        set().union(*(keys for keys, at in zip(sets, place, strict=True) if at == each))
        for each in (2, 4, 7, 9)
    ]
    assert same(merged, sketch_of_sets(unions, width))
    assert merged.is_small.tolist() == [len(expected(sorted(u), width)[2]) > 0 for u in unions]


def test_sketches_taken_keep_their_members_in_the_new_order():
    sets = sets_of_keys(SIZES)
    sketch = sketch_of_sets(sets)
    for cells in ([3, 0, 7, 6], [5], [], list(range(8))):
        taken = sketch.take(np.array(cells, np.int64))
        assert same(taken, sketch_of_sets([sets[cell] for cell in cells]))
        assert len(taken) == len(cells)


def test_lists_of_sketches_are_joined_one_behind_the_other():
    sets = sets_of_keys(SIZES)
    parts = [sketch_of_sets(sets[:3]), sketch_of_sets(sets[3:4]), sketch_of_sets(sets[4:])]
    assert same(join_sketches(parts), sketch_of_sets(sets))
    assert same(join_sketches(parts[:1]), parts[0])


def test_sketches_merge_in_sql_as_they_do_here():
    """Columns hold what is at or behind the start of a partition, so that they add up."""
    sketch = sketch_of_sets(sets_of_keys(SIZES))
    place = np.array([7, 2, 2, 9, 7, 4, 9, 4])
    behind = np.bitwise_xor.accumulate(sketch.partitions[:, ::-1], axis=1)[:, ::-1]
    columns = {f"x{n}": behind[:, n] for n in range(3)}
    columns |= {f"p{n + 1}": sketch.power_sums[:, n] for n in range(3)}
    with duckdb.connect() as connection:
        connection.register("cells", pa.table({**columns, "place": place}))
        listed = ", ".join(merged_columns(2))
        sql = f"SELECT {listed} FROM cells GROUP BY place ORDER BY place"
        found = read_sketch(connection.sql(sql).to_arrow_table(), 2)
    merged = sketch.merge(place)
    assert found.partitions.tolist() == merged.partitions.tolist()
    assert found.power_sums.tolist() == merged.power_sums.tolist()


def test_no_cells_merge_into_none():
    nothing = sketch_of_sets([])
    assert len(nothing.merge(np.zeros(0, np.int64))) == 0


def test_the_smallest_members_of_each_cell_are_kept():
    cell = np.array([3, 0, 3, 3, 0, 3, 8])
    key = np.array([9, 5, 2, 7, 1, 4, 2**64 - 1], np.uint64)
    for width, wanted in (
        (1, [(0, 1), (0, 5), (3, 2), (3, 4), (8, 2**64 - 1)]),
        (2, [(0, 1), (0, 5), (3, 2), (3, 4), (3, 7), (8, 2**64 - 1)]),
        (4, [(0, 1), (0, 5), (3, 2), (3, 4), (3, 7), (3, 9), (8, 2**64 - 1)]),
    ):
        found = smallest_members(cell, key, width)
        assert list(zip(*(column.tolist() for column in found), strict=True)) == wanted
    none = smallest_members(cell[:0], key[:0], 2)
    assert [len(column) for column in none] == [0, 0]


def test_sketches_tell_their_width_and_cannot_be_changed():
    sketch = sketch_of_sets(sets_of_keys(SIZES), 3)
    assert sketch.width == 3
    require_fixed(sketch)
    assert sketch != sketch_of_sets(sets_of_keys(SIZES), 3), "arrays are not compared"


@pytest.mark.parametrize(("key_range", "is_refused"), [(2**32, False), (2**32 - 1, True)])
def test_keys_of_32_bits_are_enough(key_range, is_refused):
    for width in range(1, MAX_WIDTH + 1):
        if is_refused:
            with pytest.raises(RequestError, match=f"or more, not {key_range}"):
                require_sketchable(width, key_range)
        else:
            require_sketchable(width, key_range)
    assert MAX_WIDTH == 4


def test_keys_of_32_bits_are_sketched_by_their_upper_31():
    keys = np.random.default_rng(9).integers(0, 2**32, 60)
    data = register(60, key=pa.array(keys))
    (cells,) = tabulate(
        data, [Request(dimensions=["a"])], 3, StoredKeys(column="key", key_range=2**32)
    )
    for number in range(len(cells)):
        members = records_of(data, cells, number)
        assert sketch_of(cells, number) == expected(members, 3, key_range=2**32)
