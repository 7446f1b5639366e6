"""Where cells stand: the trees of axes, and cells found by the ranks of their categories."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tables import CodeTree, Hierarchy, Request
from tables.cells.axes import build_axis
from tables.cells.places import CellPlaces, factors_of, level_of, numbered, tree_of
from tests.strategies import TREE

#: Parents by rank; the total, rank 0, has none. In the second a leaf lies right below it.
REGIONS = np.array([-1, 0, 1, 1, 0, 4])
SEXES = np.array([-1, 0, 0])


def axis_of(dimension, values, hierarchy):
    request = Request(dimensions=[dimension], hierarchies={dimension: hierarchy})
    columns = {name: pa.chunked_array([pa.array(column)]) for name, column in values.items()}
    return build_axis(request, dimension, columns)[0]


def names_above(axis):
    """Give each category of a tree's axis with the one that `tree_of` puts above it."""
    labels = axis.labels[0]
    return {
        labels[rank]: None if above < 0 else labels[above]
        for rank, above in enumerate(tree_of(axis))
    }


def test_the_tree_of_a_code_tree_is_that_tree():
    """Short branches too: a leaf lies right below its parent, wherever it stands in."""
    axis = axis_of("zone", {"zone": ["C", None]}, Hierarchy(columns=("zone",), tree=TREE))
    assert names_above(axis) == {**TREE.parents, "(missing)": "all"}
    levels = dict(zip(axis.labels[0], level_of(axis).tolist(), strict=True))
    finest = dict.fromkeys([*TREE.leaves, "(missing)"], 0)
    assert levels == {"all": 3, "A": 2, "B": 2, "A2": 1, **finest}
    two_tops = CodeTree({"x": None, "x1": "x", "y": None})
    axis = axis_of("zone", {"zone": ["y"]}, Hierarchy(columns=("zone",), tree=two_tops))
    assert names_above(axis) == {"Total": None, "x": "Total", "x1": "x", "y": "Total"}
    assert level_of(axis).tolist() == [2, 1, 0, 0]


def test_the_tree_of_nested_columns_goes_column_by_column():
    values = {"region": list("112"), "town": list("aba")}
    axis = axis_of("geo", values, Hierarchy(columns=("region", "town")))
    assert tree_of(axis).tolist() == [-1, 0, 1, 1, 0, 4]
    assert level_of(axis).tolist() == [2, 1, 0, 0, 1, 0]


cells_of = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 2)), unique=True, min_size=1, max_size=12
)


def ancestors(tree, rank):
    """Give the categories above one, from near to far."""
    while (rank := int(tree[rank])) >= 0:
        yield rank


def columns_of(cells, width=2):
    return [np.array([cell[axis] for cell in cells], np.int32) for axis in range(width)]


@given(cells_of)
def test_cells_around_others_are_those_of_a_dictionary(cells):
    places = CellPlaces([REGIONS, SEXES], columns_of(cells))
    where = {cell: number for number, cell in enumerate(cells)}
    for axis, tree in enumerate((REGIONS, SEXES)):
        climbs = {number: [] for number in where.values()}
        for some, around in places.around(axis):
            for number, other in zip(some.tolist(), around.tolist(), strict=True):
                climbs[number].append(other)
        nearest = places.nearest(axis).tolist()
        for cell, number in where.items():
            above = [
                where.get((*cell[:axis], rank, *cell[axis + 1 :]), -1)
                for rank in ancestors(tree, cell[axis])
            ]
            assert climbs[number] == above
            assert nearest[number] == next((other for other in above if other >= 0), -1)


@given(cells_of)
def test_cells_are_found_at_their_places_and_others_are_not(cells):
    columns = columns_of(cells)
    places = CellPlaces([REGIONS, SEXES], columns)
    grid = list(itertools.product(range(6), range(3)))
    where = {cell: number for number, cell in enumerate(cells)}
    factors = np.array([3, 1], np.uint64)  # places keep the order of cells
    asked = numbered(columns_of(grid), factors)
    assert asked.tolist() == list(range(18))
    assert places.at(asked).tolist() == [where.get(cell, -1) for cell in grid]
    assert places.at(asked.reshape(6, 3)).shape == (6, 3)


def test_places_of_a_grid_number_its_cells_row_by_row():
    tree = np.append(-1, np.zeros(39, int))
    cells = [(7, 39), (39, 0), (0, 12), (7, 3)]
    places = CellPlaces([tree, tree], columns_of(cells))
    asked = np.array([7 * 40 + 39, 39 * 40, 12, 7 * 40 + 3, 7 * 40 + 4], np.uint64)
    assert places.at(asked).tolist() == [0, 1, 2, 3, -1]


def test_combinations_beyond_a_word_are_found_too():
    """Nine axes of 300 categories: products wrap around, and differ all the same."""
    rng = np.random.default_rng(4)
    tree = np.append(-1, np.repeat(0, 299))
    columns = [rng.integers(1, 300, 500).astype(np.int32) for _ in range(9)]
    columns[4][250:] = 0  # totals over the fifth axis of others
    for place, column in enumerate(columns):
        if place != 4:
            column[250:] = column[:250]
    places = CellPlaces([tree] * 9, columns)
    assert places.nearest(4).tolist() == [*range(250, 500), *[-1] * 250]
    assert places.nearest(0).tolist() == [-1] * 500
    asked = numbered(columns, factors_of(9))
    assert places.at(asked).tolist() == list(range(500))
    assert (places.at(asked + np.uint64(1)) == -1).all()


def test_numbers_of_rows_are_sums_that_wrap_around():
    factors = factors_of(3)
    assert factors.dtype == np.uint64
    assert all(int(factor) % 2 for factor in factors), "an odd factor loses no bit"
    assert len(set(factors.tolist())) == 3
    assert min(factors.tolist()) > 2**32
    assert factors_of(3).tolist() == factors.tolist()
    rows = [[7, 2**31 - 1], [0, 5], [2**31 - 1, 1]]
    wanted = [
        sum(int(column[n]) * int(factor) for column, factor in zip(rows, factors, strict=True))
        for n in range(2)
    ]
    found = numbered([np.array(column, np.int32) for column in rows], factors)
    assert found.tolist() == [number % 2**64 for number in wanted]


def test_a_table_without_dimensions_or_cells_has_no_cell_around_any():
    assert numbered([], np.zeros(0, np.uint64)).tolist() == []
    empty = CellPlaces([REGIONS, SEXES], columns_of([]))
    assert empty.nearest(0).tolist() == []
    assert list(empty.around(1)) == []
    assert empty.at(np.array([0, 3], np.uint64)).tolist() == [-1, -1]
    with pytest.raises(ValueError, match="zip"):
        numbered([np.zeros(2, np.int32)], np.zeros(2, np.uint64))
