"""The cube: one scan for all tables, whatever its plan."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tables import (
    DataError,
    DataWarning,
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
SECRET = Secret(bytes(16))


def tabulate(data, requests, **options):
    with open_source(data, threads=1) as source:
        return [decode(cells) for cells in cube(source, KEYS, requests, **options)]


def keyed(**columns):
    size = len(next(iter(columns.values())))
    key = pa.array([(37 * n) % 256 for n in range(size)], pa.uint8())
    return pa.table({**columns, "key": key})


@pytest.mark.slow
def test_very_many_tables_are_tabulated_together():
    columns = {f"c{n}": [n, 1, 2] for n in range(80)}
    wishes = [Request(dimensions=[f"c{n}", f"c{(n + 1) % 80}"]) for n in range(80)]
    seen = []
    found = tabulate(keyed(**columns), wishes, progress=seen.append)
    for number in (0, 59, 60, 79):
        assert found[number] == tabulate(keyed(**columns), [wishes[number]])[0]
    assert seen == sorted(seen)
    assert all(0 <= share <= 1 for share in seen)


@pytest.mark.slow
def test_very_many_filters_are_applied_together():
    data = keyed(x=list(range(100)), y=["a", "b"] * 50)
    wishes = [Request(dimensions=["y"], where=f"x < {n}") for n in range(100)]
    found = tabulate(data, [*wishes, Request(dimensions=["y"])])
    assert [cells.get(("Total",), (0,))[0] for cells in found] == list(range(101))


def test_very_many_dimensions_are_refused_and_24_are_not():
    names = [f"c{n}" for n in range(25)]
    data = keyed(**{name: [1, 2] for name in names})
    (found,) = tabulate(data, [Request(dimensions=names[:24], margins=[[]])])
    assert len(found) == 3
    with pytest.raises(RequestError, match="at most 24 dimensions"):
        Request(dimensions=names)


def test_combinations_beyond_64_bits_are_kept_apart():
    rng = np.random.default_rng(7)
    names = [f"c{n}" for n in range(6)]
    columns = {name: rng.permutation(5000) for name in names}
    request = Request(dimensions=names, margins=[["c0"], []], discrete=names)
    (found,) = tabulate(keyed(**columns), [request])
    assert len(found) == 5000 + 5000 + 1
    assert found[("Total",) * 6][0] == 5000


@pytest.mark.parametrize("where", [None, "x > 5"])
@pytest.mark.parametrize("dimensions", [[], ["x"], ["x", "y"]])
def test_no_record_gives_no_cell(dimensions, where):
    empty = pa.table({"x": pa.array([], pa.int64()), "y": pa.array([], pa.string())})
    empty = empty.append_column("key", pa.array([], pa.uint8()))
    assert tabulate(empty, [Request(dimensions=dimensions, where=where)]) == [{}]
    one = keyed(x=[1], y=["a"])
    assert tabulate(one, [Request(dimensions=dimensions, where="x > 5")]) == [{}]


def test_all_problems_of_all_requests_come_together():
    wishes = {
        "a": Request(dimensions=["regoin", "x"], where="age > 5"),
        "b": Request(dimensions=["y"], where="x = 'a'", weight="y"),
    }
    from tables import require_fit

    with (
        open_source(keyed(x=[1], y=["a"], region=["b"])) as source,
        pytest.raises(RequestError) as caught,
    ):
        require_fit(wishes, source)
    for part in ("'regoin'", "did you mean 'region'", "'age'", "'x', an integer", "weight 'y'"):
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("weights", "problem"),
    [
        ([1.0, None], "Some records have no weight in 'w'"),
        ([1.0, float("nan")], "Some records have no weight in 'w'"),
        ([1.0, -0.5], "not finite and non-negative in 'w'"),
        ([1.0, float("inf")], "not finite and non-negative in 'w'"),
    ],
)
def test_weights_that_are_none_are_refused(weights, problem):
    with pytest.raises(DataError, match=problem):
        tabulate(keyed(x=[1, 2], w=weights), [Request(dimensions=["x"], weight="w")])


def test_weights_of_zero_and_whole_numbers_are_weights():
    data = keyed(x=["a", "a", "b"], w=[0, 3, 0])
    (found,) = tabulate(data, [Request(dimensions=["x"], weight="w")])
    assert {name: c[2] for name, c in found.items()} == {("a",): 3, ("b",): 0, ("Total",): 3}


@pytest.mark.parametrize("weight", [4.25e22, 4.25e30, 4.25e300])
def test_weights_too_large_to_add_exactly_are_refused_without_showing_one(weight):
    with pytest.raises(DataError, match=r"'w' are too large.*less than 10\*\*22") as caught:
        tabulate(keyed(x=[1, 2], w=[1.0, weight]), [Request(dimensions=["x"], weight="w")])
    assert "4.25" not in str(caught.value)
    assert "4.25" not in str(caught.value.__context__)


@pytest.mark.parametrize("options", [{"weight": "w"}, {"sums": ["w"]}])
def test_numbers_too_small_to_add_are_warned_of_by_name(options):
    with pytest.warns(DataWarning, match="'w' are nearer to zero than 5e-16"):
        tabulate(keyed(x=[1, 2], w=[1e-17, 0.0]), [Request(dimensions=["x"], **options)])
    tabulate(keyed(x=[1, 2], w=[1e-17, 1e-9]), [Request(dimensions=["x"], **options)])


@pytest.mark.parametrize("column", ["x", "y"])
def test_a_category_with_a_reserved_name_is_refused_with_a_way_out(column):
    data = keyed(x=["Total", "a"], y=["(missing)", "a"])
    with pytest.raises(RequestError, match=rf"'{column}' has a category called") as caught:
        tabulate(data, [Request(dimensions=[column])])
    assert "_label" in str(caught.value)
    wish = Request(dimensions=["x", "y"], total_label="All", missing_label="n/a")
    assert tabulate(data, [wish])[0]["All", "All"][0] == 2
    with pytest.raises(RequestError, match="two different texts"):
        Request(dimensions=["x"], total_label="n/a", missing_label="n/a")


def test_several_threads_may_use_one_source_and_several():
    rng = np.random.default_rng(8)
    data = keyed(x=rng.integers(0, 50, 20_000), y=rng.integers(0, 3, 20_000))
    wishes = [Request(dimensions=["x", "y"]), Request(dimensions=["y"], where="x < 25")]
    wanted = tabulate(data, wishes)
    barrier = threading.Barrier(4)

    def work(source):
        barrier.wait()
        return [decode(cells) for cells in cube(source, KEYS, wishes)]

    with open_source(data) as one, open_source(data) as other, ThreadPoolExecutor(4) as pool:
        for found in pool.map(work, [one, one, other, other]):
            assert found == wanted


@pytest.mark.slow
def test_little_memory_changes_no_cell(tmp_path):
    rng = np.random.default_rng(9)
    size = 250_000
    table = pa.table(
        {
            "id": rng.permutation(size),
            "x": rng.integers(0, 50_000, size),
            "y": rng.integers(0, 4, size),
        }
    )
    path = tmp_path / "people.parquet"
    pq.write_table(table, path)
    keys = HashedKeys(column="id", secret=SECRET)
    wish = Request(dimensions=["x", "y"], margins=[["y"], []])
    found = []
    for memory_limit, threads in (("15MB", 1), ("4GB", 2)):  # the lesser spills to disk
        with open_source(path, memory_limit=memory_limit, threads=threads) as source:
            found.append(cube(source, keys, [wish])[0])
    one, other = found
    assert np.array_equal(one.count, other.count)
    assert np.array_equal(one.cell_key, other.cell_key)
    assert all(map(np.array_equal, one.ranks, other.ranks))
    assert one.count.sum() == 3 * size


def test_memory_that_is_too_little_says_so():
    rng = np.random.default_rng(10)
    size = 400_000
    table = pa.table({"x": rng.permutation(size).astype(str), "key": np.zeros(size, np.uint8)})
    with (
        open_source(table, memory_limit="1MB", threads=1) as source,
        pytest.raises(SourceError, match="does not fit into the memory") as caught,
    ):
        cube(source, KEYS, [Request(dimensions=["x"])])
    assert "raise memory_limit" in str(caught.value)


def test_cells_do_not_show_themselves():
    data = pd.DataFrame({"x": ["MARKER", "b"], "key": [77, 78]})
    with open_source(data) as source:
        (cells,) = cube(source, KEYS, [Request(dimensions=["x"])])
        shown = repr(cells) + str(cells) + repr(cells.axes) + repr(cells.axes[0].levels)
        shown += repr(source)
    assert "MARKER" not in shown
    assert "77" not in shown
    assert "array" not in shown
