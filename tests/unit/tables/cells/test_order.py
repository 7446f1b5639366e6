"""The values of given ranks in every cell, against sorted lists."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from tables import CodeTree, DataError, Hierarchy, Request, StoredKeys, cube, open_source
from tables.cells.order import values_at

KEYS = StoredKeys(column="key", key_range=256)
ZONES = Hierarchy(
    columns=("zone",), tree=CodeTree({"a": None, "a1": "a", "a2": "a", "b": None})
)
GEO = Hierarchy(columns=("region", "town"))


def people(size=240):
    rng = np.random.default_rng(6)
    return pd.DataFrame(
        {
            "sex": rng.choice(["F", "M", None], size, p=[0.5, 0.4, 0.1]),
            "zone": rng.choice(["a1", "a2", "b"], size, p=[0.6, 0.1, 0.3]),
            "region": rng.choice(["1", "2"], size),
            "town": rng.choice(["x", "y", "z"], size),
            "age": rng.integers(0, 99, size),
            "income": rng.choice([-3.25, 0.0, 7.5, 7.5000001, 1e9, 2e-9, 40.0], size),
            "key": rng.integers(0, 256, size),
        }
    )


def found_and_wanted(records, request, column, ranks, kept=None):
    """Return the values of cells, and those of sorted lists of their records."""
    with open_source(records) as source:
        (cells,) = cube(source, KEYS, [request])
        asked = np.array([ranks] * len(cells), np.int64).reshape(len(cells), len(ranks))
        found = values_at(source, request, cells, column, asked)
    records = records if kept is None else records[kept]
    tree = ZONES.tree.parents
    wanted = []
    for number in range(len(cells)):
        inside = np.ones(len(records), bool)
        for axis, ranks_of in zip(cells.axes, cells.ranks, strict=True):
            for name, labels in zip(axis.columns, axis.labels, strict=True):
                label = labels[ranks_of[number]]
                codes = records[name].fillna("(missing)").astype(str)
                inside &= (label == "Total") | (codes == label) | (codes.map(tree.get) == label)
        values = sorted(records[column][inside])
        wanted.append([float(values[min(max(rank, 1), len(values)) - 1]) for rank in ranks])
    return found, wanted


@pytest.mark.parametrize("column", ["income", "age"])
@pytest.mark.parametrize(
    "request_",
    [
        {"dimensions": ["sex", "zone"], "hierarchies": {"zone": ZONES}},
        {
            "dimensions": ["geo", "sex"],
            "hierarchies": {"geo": GEO},
            "margins": [["region"], []],
        },
        {"dimensions": ["geo", "sex"], "hierarchies": {"geo": GEO}, "margins": "none"},
        {"dimensions": []},
    ],
    ids=["tree", "two margins", "finest alone", "grand total"],
)
def test_values_of_ranks_are_those_of_sorted_lists_in_every_margin(column, request_):
    """Ranks below 1 and beyond the cell are brought into it."""
    ranks = [1, 2, 5, 30, 10**6, 0, -7]
    found, wanted = found_and_wanted(people(), Request(**request_), column, ranks)
    assert found.tolist() == wanted


def test_a_filter_holds_for_the_values_as_for_the_cells():
    records = people()
    request = Request(dimensions=["sex"], where="age >= 40 and zone != 'b'")
    kept = (records["age"] >= 40) & (records["zone"] != "b")
    found, wanted = found_and_wanted(records, request, "income", [1, 3, 9], kept)
    assert found.tolist() == wanted


def test_equal_values_count_as_often_as_they_occur():
    records = pd.DataFrame({"x": list("aaaab"), "v": [2, 1, 2, 2, 9], "key": range(5)})
    found, _ = found_and_wanted(records, Request(dimensions=["x"]), "v", [1, 2, 3, 4])
    assert found.tolist() == [[1, 2, 2, 2], [9, 9, 9, 9], [1, 2, 2, 2]]


def test_no_record_has_no_value_to_give():
    found, _ = found_and_wanted(people(0), Request(dimensions=["age"]), "income", [1])
    assert found.shape == (0, 1)


@pytest.mark.parametrize("value", [None, float("nan"), float("inf"), -float("inf")])
def test_values_that_are_missing_or_infinite_are_refused_with_a_filter(value):
    records = pa.table({"x": ["a", "b"], "v": [1.0, value], "key": [1, 2]})
    request = Request(dimensions=["x"])
    with open_source(records) as source:
        (cells,) = cube(source, KEYS, [request])
        with pytest.raises(DataError, match="no value in 'v', or an infinite one") as caught:
            values_at(source, request, cells, "v", np.ones((3, 1), np.int64))
    assert caught.value.hint == "leave them out: where = 'v is not missing'"


@pytest.mark.parametrize(("size", "is_refused"), [(7, True), (6, False)])
def test_combinations_beyond_a_word_are_refused(size, is_refused):
    """1,000 categories and a total on each axis: six of them make 10**18 combinations."""
    names = [f"c{n}" for n in range(size)]
    records = pa.table({name: np.arange(1000) for name in names} | {"v": np.arange(1000.0)})
    records = records.append_column("key", pa.array(np.arange(1000) % 256))
    request = Request(dimensions=names, margins="none", discrete=names)
    with open_source(records) as source:
        (cells,) = cube(source, KEYS, [request])
        ranks = np.ones((1000, 1), np.int64)
        if is_refused:
            with pytest.raises(DataError, match="too many combinations") as caught:
                values_at(source, request, cells, "v", ranks)
            assert caught.value.hint == "ask for fewer dimensions"
        else:
            found = values_at(source, request, cells, "v", ranks)
            assert sorted(found[:, 0]) == list(range(1000))
