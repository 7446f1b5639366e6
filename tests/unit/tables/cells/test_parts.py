"""A table part by part: together the parts are the cube, each small enough."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

from tables import (
    CodeTree,
    DataError,
    Hierarchy,
    KeyQualityError,
    Request,
    RequestError,
    StoredKeys,
    cube,
    open_source,
)
from tables.cells.parts import cube_parts
from tests.strategies import decode

KEYS = StoredKeys(column="key", key_range=256)
ZONES = Hierarchy(
    columns=("zone",), tree=CodeTree({"a": None, "a1": "a", "a2": "a", "b": None, "c": None})
)
GEO = Hierarchy(columns=("region", "town"))
DEEP = Hierarchy(columns=("region", "town", "zone"))


def people(size=200, **more):
    rng = np.random.default_rng(12)
    return pa.table(
        {
            "zone": rng.choice(["a1", "a2", "b", "c"], size),
            "region": pa.array(rng.choice(["1", "2", "3", None], size).tolist()),
            "town": rng.choice(["x", "y", "z"], size),
            "sex": pa.array(rng.choice(["F", "M", None], size).tolist()),
            "age": rng.integers(0, 5, size),
            "w": rng.integers(0, 3, size),
            "pay": rng.integers(0, 90, size),
            "key": rng.integers(0, 256, size),
            **more,
        }
    )


def in_parts(request, *, data=None, **options):
    with open_source(people() if data is None else data, threads=1) as source:
        return list(cube_parts(source, KEYS, request, **options))


REQUESTS = {
    "plain": Request(dimensions=["age", "sex"]),
    "one dimension": Request(dimensions=["sex"]),
    "nested": Request(dimensions=["geo", "sex"], hierarchies={"geo": GEO}),
    "tree": Request(dimensions=["zone", "age"], hierarchies={"zone": ZONES}),
    "second nested": Request(dimensions=["sex", "geo"], hierarchies={"geo": GEO}),
    "three levels": Request(dimensions=["deep", "sex"], hierarchies={"deep": DEEP}),
    "filter": Request(dimensions=["age", "sex"], where="town != 'x' and sex = 'F'"),
    "no margins": Request(dimensions=["geo", "sex"], hierarchies={"geo": GEO}, margins="none"),
    "some margins": Request(
        dimensions=["age", "geo"], hierarchies={"geo": GEO}, margins=[["age"], []]
    ),
    "weights": Request(dimensions=["age", "sex"], weight="w"),
    "declared": Request(
        dimensions=["age", "sex"], categories={"age": range(7), "sex": ["M", "X", "F"]}
    ),
}


@pytest.mark.parametrize("most", [1, 12])
@pytest.mark.parametrize("name", REQUESTS)
def test_parts_together_are_the_cube(name, most):
    request = REQUESTS[name]
    parts = in_parts(request, most=most)
    with open_source(people(), threads=1) as source:
        (whole,) = cube(source, KEYS, [request])
    together = {}
    for _, cells in parts:
        mine = decode(cells)
        assert not together.keys() & mine.keys(), "a cell is in two parts"
        together |= mine
        top = len(cells.axes[0].levels) - 1
        assert len({levels[0] == top for levels in cells.level_sets}) == 1
        for axis, other in zip(cells.axes, whole.axes, strict=True):
            assert [labels.tolist() for labels in axis.labels] == [
                labels.tolist() for labels in other.labels
            ]
    assert together == decode(whole)
    first = 2 if name == "no margins" else 1  # that of the total has no cells
    shares = np.arange(first, len(parts) + first) / (len(parts) + first - 1)
    assert [share for share, _ in parts] == pytest.approx(shares)


@pytest.mark.parametrize("name", ["plain", "nested", "tree", "second nested"])
def test_parts_follow_each_other_in_the_order_of_published_rows(name):
    """First the total over the first dimension, then its broadest categories by rank."""
    parts = in_parts(REQUESTS[name], most=1)
    total = parts[0][1]
    assert set(total.ranks[0].tolist()) == {0}
    broadest = []
    for _, cells in parts[1:]:
        axis = cells.axes[0]
        labels = set(axis.labels[0][cells.ranks[0]])
        if name == "tree":
            labels = {ZONES.tree.parents[label] or label for label in labels}
        assert len(labels) == 1, "a part for each broadest category"
        broadest.append(min(cells.ranks[0]))
    assert broadest == sorted(broadest)
    assert len(broadest) == {"plain": 5, "nested": 4, "tree": 3, "second nested": 3}[name]


def categories(cells):
    return len(set(cells.ranks[0].tolist()))


def test_a_part_holds_as_many_categories_as_fit():
    """Of 5 ages, an age holds 3 sexes and their total."""
    ages = {"age": [n % 5 for n in range(60)], "sex": ["F", "M", "X"] * 20}
    data = pa.table({**ages, "key": [0] * 60})
    request = Request(dimensions=["age", "sex"], margins="none")
    for most, sizes in (
        (1, [1, 1, 1, 1, 1]),
        (7, [1, 1, 1, 1, 1]),
        (8, [2, 2, 1]),
        (11, [2, 2, 1]),
        (12, [3, 2]),
        (19, [4, 1]),
        (20, [5]),
    ):
        parts = in_parts(request, data=data, most=most, lists_empty=True)
        assert [categories(cells) for _, cells in parts] == sizes, most


def test_cells_that_are_not_listed_take_no_room():
    """A cell of the finest level has a record or more, and as many margins as there are."""
    data = pa.table({"age": [0, 1, 2, 3, 3, 3], "sex": list("FMFMFX"), "key": [0] * 6})
    request = Request(dimensions=["age", "sex"])

    def sizes(**options):
        return [categories(c) for _, c in in_parts(request, data=data, **options)[1:]]

    # 4 cells of the grid of each age, and as many of the only record of the first three
    assert sizes(most=8) == sizes(most=8, lists_empty=False) == [2, 2]
    wide = pa.table({"age": [1, 2, 3, 3], "place": list("abcd"), "key": [0] * 4})
    request = Request(dimensions=["age", "place"])
    # 5 places of the grid of each age; listed are at most 4 cells for a record
    assert [categories(c) for _, c in in_parts(request, data=wide, most=8)[1:]] == [2, 1]
    assert [
        categories(c) for _, c in in_parts(request, data=wide, most=8, lists_empty=True)[1:]
    ] == [1, 1, 1]


def test_empty_cells_are_counted_where_all_categories_are_declared():
    ages = {"age": list(range(4)), "sex": list("FM") * 2, "key": [0] * 4}
    every = {"age": list(range(4)), "sex": ["F", "M", "X", "Y"]}
    for categories_, sizes in (
        (every, [1] * 4),
        ({"age": every["age"]}, [3, 1]),
        ({"sex": every["sex"]}, [2, 2]),
    ):
        request = Request(dimensions=["age", "sex"], categories=categories_)
        parts = in_parts(request, data=pa.table(ages), most=9)
        found = [categories(cells) for _, cells in parts[1:]]
        assert found == sizes, categories_


def test_deeper_categories_count_with_those_that_they_lie_in():
    """Of the grid, 1 has its towns and itself: 4 cells with a total of sex, 2 has 3."""
    data = pa.table({"region": list("1112"), "town": list("xyzx"), "key": [0] * 4})
    request = Request(dimensions=["geo"], hierarchies={"geo": GEO})
    for most, sizes in ((5, [4, 2]), (6, [6])):
        parts = in_parts(request, data=data, most=most, lists_empty=True)
        assert [len(cells) for _, cells in parts[1:]] == sizes


def test_a_grid_beyond_all_numbers_has_a_part_for_each_category():
    names = [f"c{n}" for n in range(9)]
    rng = np.random.default_rng(1)
    columns = {name: rng.permutation(200) for name in names}
    data = pa.table({"x": ["a", "b"] * 100, **columns, "key": [0] * 200})
    request = Request(dimensions=["x", *names], margins=[["x"], []], discrete=names)
    assert math.prod([201] * 9) > 2**62
    parts = in_parts(request, data=data, most=10**6, lists_empty=True)
    assert [len(cells) for _, cells in parts] == [1, 101, 101]


def test_no_record_leaves_the_total_without_a_cell():
    parts = in_parts(REQUESTS["plain"], data=people(0), most=5)
    assert [len(cells) for _, cells in parts] == [0]
    assert in_parts(REQUESTS["no margins"], data=people(0), most=5) == []


def test_sums_come_part_by_part_as_well():
    request = Request(
        dimensions=["zone", "sex"], hierarchies={"zone": ZONES}, sums=["pay"], top=2
    )
    parts = in_parts(request, most=1)
    with open_source(people(), threads=1) as source:
        (whole,) = cube(source, KEYS, [request])
    found = {}
    for cells in [cells for _, cells in parts] + [whole]:
        amounts = cells.magnitudes["pay"]
        rows = zip(decode(cells), amounts.total.tolist(), amounts.top.tolist(), strict=True)
        lines = {name: (total, top) for name, total, top in rows}
        if cells is whole:
            assert found == lines
        found |= lines


def test_a_table_without_dimensions_has_no_parts():
    with pytest.raises(RequestError, match="without dimensions"):
        in_parts(Request(dimensions=[]), most=5)


def test_continuous_dimensions_are_refused_of_all_records_whatever_the_filter():
    pay = np.arange(200) / 4
    for where in (None, "pay < 5"):
        request = Request(dimensions=["sex", "pay"], where=where)
        with pytest.raises(DataError, match="'pay' cannot be a dimension: it has 200 values"):
            in_parts(request, data=people().set_column(6, "pay", pa.array(pay)), most=10**6)
    enough = pa.table({"n": np.arange(900) % 150, "id": np.arange(900), "key": [0] * 900})
    few = Request(dimensions=["n"], where="id < 300")
    assert len(in_parts(few, data=enough, most=10**6)) == 2


def test_missing_keys_are_refused_unless_tolerated():
    data = pa.table({"sex": ["F", "M"], "key": pa.array([7, None], pa.uint8())})
    request = Request(dimensions=["sex"])
    with pytest.raises(KeyQualityError, match="have no 'key'"):
        in_parts(request, data=data, most=5)
    parts = in_parts(request, data=data, most=5, tolerate_missing_keys=True)
    assert parts[0][1].cell_key.tolist() == [7]
