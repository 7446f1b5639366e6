"""Axes: the categories of one dimension at every level, without a source of records."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tables import CodeTree, DataError, Hierarchy, Request, RequestError
from tables.cells.axes import build_axis, encode
from tests.results import require_fixed
from tests.strategies import MISSING, TOTAL, TREE, coded, nested, plain

NESTED = {"geo": Hierarchy(columns=("region", "area", "town"))}
ZONES = {"zone": Hierarchy(columns=("zone",), tree=TREE)}


def axis_of(dimension, values, *, hierarchies=None, **options):
    """Build an axis over cells, as column → values."""
    request = Request(dimensions=[dimension], hierarchies=hierarchies or {}, **options)
    columns = {name: pa.chunked_array([pa.array(column)]) for name, column in values.items()}
    return build_axis(request, dimension, columns)


def paths_of(axis, codes):
    """Give for each cell what it is called on every level, finest first."""
    found = []
    for code in codes:
        ranks = [
            int(level.ranks[axis.raised(np.array([code]), 0, height)[0]])
            for height, level in enumerate(axis.levels)
        ]
        found.append([tuple(labels[rank] for labels in axis.labels) for rank in ranks])
    return found


def shown(axis):
    """Give the names of all categories, by rank."""
    return list(zip(*(labels.tolist() for labels in axis.labels), strict=True))


def cells_of(values):
    return [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]


# --- plain dimensions ---------------------------------------------------------------------


def test_a_plain_axis_has_its_categories_in_order_below_the_total():
    axis, codes = axis_of("age", {"age": [30, 5, 100, 5]})
    assert shown(axis) == [(TOTAL,), ("5",), ("30",), ("100",)]
    assert codes.tolist() == [1, 0, 2, 0]
    assert paths_of(axis, codes) == [plain("age")({"age": n}) for n in (30, 5, 100, 5)]
    assert [level.size for level in axis.levels] == [3, 1]
    assert axis.size == 4
    assert axis.columns == ("age",)
    assert axis.levels[0].is_shown.tolist() == [True] * 3
    assert axis.levels[-1].is_shown.tolist() == [True]
    assert axis.levels[-1].up is None
    assert not axis.is_declared
    assert axis.is_found.tolist() == [False, True, True, True]


def test_missing_values_are_a_category_behind_all_others():
    axis, codes = axis_of("sex", {"sex": ["F", None, "M", None]}, missing_label="n/a")
    assert shown(axis) == [(TOTAL,), ("F",), ("M",), ("n/a",)]
    assert codes.tolist() == [0, 2, 1, 2]
    assert codes.dtype == np.int32
    without, _ = axis_of("sex", {"sex": ["F", "M"]})
    assert shown(without) == [(TOTAL,), ("F",), ("M",)]


def test_declared_categories_keep_their_order_and_those_without_a_cell():
    axis, codes = axis_of("age", {"age": [5, None, 30]}, categories={"age": [30, 7, 5]})
    assert shown(axis) == [(TOTAL,), ("30",), ("7",), ("5",), (MISSING,)]
    assert codes.tolist() == [2, 3, 0]
    assert axis.is_declared
    assert axis.is_found.tolist() == [False, False, False, False, True]


def test_no_cell_leaves_the_total_and_what_was_declared():
    empty = {"sex": pa.array([], pa.string())}
    axis, codes = axis_of("sex", empty)
    assert (shown(axis), len(codes)) == ([(TOTAL,)], 0)
    axis, _ = axis_of("sex", empty, categories={"sex": ["F", "M"]})
    assert shown(axis) == [(TOTAL,), ("F",), ("M",)]


@pytest.mark.parametrize(
    ("values", "problem", "inside"),
    [
        (["a", "x"], "'sex' holds 1 category that is not declared.", "'x'"),
        (list("axyz"), "'sex' holds 3 categories that are not declared.", "'x', 'y', 'z'"),
        (list("uvwxy"), "'sex' holds 5 categories that", "'u', 'v', 'w', 'x', 'y'"),
        (list("uvwxyz"), "'sex' holds 6 categories that", "'u', 'v', 'w', 'x', 'y', …"),
    ],
)
def test_categories_that_nobody_declared_are_counted_and_named_inside(values, problem, inside):
    with pytest.raises(DataError) as caught:
        axis_of("sex", {"sex": values}, categories={"sex": ["a", "b"]})
    assert problem in caught.value.problem
    assert caught.value.inside == inside
    assert "where" in caught.value.hint


def test_an_undeclared_category_that_looks_like_a_declared_one_is_told_by_code_points():
    with pytest.raises(DataError) as caught:
        axis_of(
            "town", {"town": ["Aix", "Aix ", "Aix\u00a0", "Pau"]}, categories={"town": ["Aix"]}
        )
    assert caught.value.inside.endswith("; written otherwise than declared: nothing / U+0020")
    with pytest.raises(DataError) as caught:
        axis_of("town", {"town": ["Pau"]}, categories={"town": ["Aix"]})
    assert "otherwise" not in caught.value.inside


def test_categories_declared_twice_are_refused():
    for categories in (["a", "b", "a"], [1, "1"]):
        with pytest.raises(RequestError, match="declared categories of 'sex' repeat"):
            axis_of("sex", {"sex": ["a"]}, categories={"sex": categories})


@pytest.mark.parametrize(
    ("word", "options", "hint"),
    [
        (TOTAL, {}, "total_label"),
        (MISSING, {}, "missing_label"),
        ("All", {"total_label": "All"}, "total_label"),
    ],
)
def test_a_category_called_like_total_or_missing_is_refused(word, options, hint):
    values = {"sex": [word, "F"], "region": ["1", "1"], "area": [word, "2"], "town": ["x", "y"]}
    for dimension in ("sex", "geo"):
        with pytest.raises(RequestError, match="has a category called") as caught:
            axis_of(dimension, values, hierarchies=NESTED, **options)
        assert hint in caught.value.hint
    tree = CodeTree({word: None, "F": word, "x": None})
    with pytest.raises(RequestError, match="'sex' has a category called"):
        axis_of(
            "sex",
            {"sex": ["F"]},
            hierarchies={"sex": Hierarchy(columns=("sex",), tree=tree)},
            **options,
        )


# --- nested columns -----------------------------------------------------------------------

codes_of = st.sampled_from(["1", "2", "3", None])
rows_of = st.lists(st.tuples(codes_of, codes_of, codes_of), max_size=25)


@given(rows_of)
def test_nested_codes_count_within_their_parents_only(rows):
    """Every path and its parents, missing codes on any level, ordered from broad to fine."""
    values = {
        name: pa.array([row[place] for row in rows], pa.string())
        for place, name in enumerate(("region", "area", "town"))
    }
    axis, codes = axis_of("geo", values, hierarchies=NESTED)
    path = nested("region", "area", "town")
    wanted = [path(cell) for cell in cells_of({n: v.to_pylist() for n, v in values.items()})]
    assert paths_of(axis, codes) == wanted
    order = ["", TOTAL, "1", "2", "3", MISSING]
    names = {name for each in wanted for name in each} | {(TOTAL,) * 3}
    assert shown(axis) == sorted(names, key=lambda name: [order.index(part) for part in name])
    assert axis.is_found.tolist() == [name[0] != TOTAL for name in shown(axis)]
    for height, level in enumerate(axis.levels):
        assert level.is_shown.all()
        above = {each[height] for each in wanted} or ({(TOTAL,) * 3} if height == 3 else set())
        assert level.size == len(above)


PATHS = [["2", "x", "a"], ["1", "x", "a"], ["1", "z", "c"]]


def test_declared_paths_are_the_categories_in_their_order():
    """Regions come as they are first named, areas and towns as well."""
    values = {"region": ["1", "2"], "area": ["x", "x"], "town": ["a", "a"]}
    axis, codes = axis_of("geo", values, hierarchies=NESTED, categories={"geo": PATHS})
    assert axis.is_declared
    assert not axis.is_found.any()
    assert shown(axis) == [
        (TOTAL, TOTAL, TOTAL),
        ("2", TOTAL, TOTAL),
        ("2", "x", TOTAL),
        ("2", "x", "a"),
        ("1", TOTAL, TOTAL),
        ("1", "x", TOTAL),
        ("1", "x", "a"),
        ("1", "z", TOTAL),
        ("1", "z", "c"),
    ]
    assert [path[0] for path in paths_of(axis, codes)] == [("1", "x", "a"), ("2", "x", "a")]


def test_paths_with_missing_parts_stand_beside_the_declared_ones():
    values = {
        "region": ["1", None, "2", "1"],
        "area": ["x", "x", None, "z"],
        "town": ["a", "a", None, None],
    }
    axis, codes = axis_of("geo", values, hierarchies=NESTED, categories={"geo": PATHS})
    path = nested("region", "area", "town")
    assert paths_of(axis, codes) == [path(cell) for cell in cells_of(values)]
    missing = [
        name for name, is_found in zip(shown(axis), axis.is_found, strict=True) if is_found
    ]
    assert missing == [name for name in shown(axis) if MISSING in name]
    assert len(missing) == 6


@pytest.mark.parametrize(
    ("values", "problem", "inside"),
    [
        ((["2"], ["z"], ["c"]), "hold 1 path of 'geo' that is not declared", "2 / z / c"),
        (
            (["2", "1", "1"], ["z", "z", "x"], ["c", "a", "a"]),
            "hold 2 paths of 'geo' that are not declared",
            "'2 / z / c', '1 / z / a'",
        ),
        ((["3"], ["x"], ["a"]), "'region' holds 1 category that is not declared", "'3'"),
        ((["1"], ["x"], ["b"]), "'town' holds 1 category that is not declared", "'b'"),
    ],
)
def test_paths_that_nobody_declared_are_refused(values, problem, inside):
    columns = dict(zip(("region", "area", "town"), values, strict=True))
    with pytest.raises(DataError) as caught:
        axis_of("geo", columns, hierarchies=NESTED, categories={"geo": PATHS})
    assert problem in caught.value.problem
    assert inside in caught.value.inside


@pytest.mark.parametrize("path", [["1", "x"], ["1", "x", "a", "b"], "1xa", 5, {"1", "x", "a"}])
def test_a_declared_path_has_a_code_for_each_column(path):
    values = {"region": ["1"], "area": ["x"], "town": ["a"]}
    with pytest.raises(RequestError, match="'geo' are lists of 3 codes"):
        axis_of("geo", values, hierarchies=NESTED, categories={"geo": [path]})


# --- code trees ---------------------------------------------------------------------------


@given(st.lists(st.sampled_from([*TREE.leaves, None]), max_size=12))
def test_a_cell_is_shown_once_under_every_code_above_it(zones):
    axis, codes = axis_of("zone", {"zone": pa.array(zones, pa.string())}, hierarchies=ZONES)
    assert axis.columns == ("zone",)
    missing = [MISSING] if None in zones else []
    assert axis.labels[0].tolist() == ["all", *(name for name, _ in TREE.walk()), *missing]
    path = coded("zone", TREE)
    for zone, code in zip(zones, codes, strict=True):
        names = []
        for height, level in enumerate(axis.levels):
            place = axis.raised(np.array([code]), 0, height)[0]
            if level.is_shown[place]:
                names.append((axis.labels[0][level.ranks[place]],))
        assert names == path({"zone": zone})
    assert not axis.raised(codes, 0, len(axis.levels) - 1).any(), "all lie in the total"
    assert axis.is_declared
    assert axis.is_found.tolist() == [False] * (1 + len(TREE.walk())) + [True] * len(missing)


def test_a_short_branch_stands_in_for_itself_on_finer_levels():
    axis, _ = axis_of("zone", {"zone": ["C"]}, hierarchies=ZONES)
    names = [
        [
            (axis.labels[0][rank], bool(is_shown))
            for rank, is_shown in zip(level.ranks, level.is_shown, strict=True)
        ]
        for level in axis.levels
    ]
    assert names == [
        [(leaf, True) for leaf in ("A1", "A2x", "B1", "B2", "C")],
        [("A1", False), ("A2", True), ("B1", False), ("B2", False), ("C", False)],
        [("A", True), ("B", True), ("C", False)],
        [("all", True)],
    ]


def test_a_tree_of_one_level_is_a_plain_axis_below_the_total():
    tree = CodeTree({"F": None, "M": None, "X": None})
    nesting = {"sex": Hierarchy(columns=("sex",), tree=tree)}
    axis, codes = axis_of("sex", {"sex": ["M", None]}, hierarchies=nesting)
    assert shown(axis) == [(TOTAL,), ("F",), ("M",), ("X",), (MISSING,)]
    assert codes.tolist() == [1, 3]
    assert [level.ranks.tolist() for level in axis.levels] == [[1, 2, 3, 4], [0]]
    assert [level.is_shown.tolist() for level in axis.levels] == [[True] * 4, [True]]


def test_codes_that_are_no_leaves_are_refused_by_the_name_of_their_column():
    tree = Hierarchy(columns=("age",), tree=CodeTree({"all": None, "1": "all", "2": "all"}))
    axis, codes = axis_of("band", {"age": [2, 1, 2]}, hierarchies={"band": tree})
    assert axis.columns == ("band",)
    assert codes.tolist() == [1, 0, 1]
    for age in (3, 12):
        with pytest.raises(DataError, match="'age' holds 1 category that is not among the"):
            axis_of("band", {"age": [1, age]}, hierarchies={"band": tree})


# --- raising codes ------------------------------------------------------------------------


def test_codes_are_raised_from_any_level_to_any_coarser_one():
    values = {"region": list("1122"), "area": list("xyxx"), "town": list("aaab")}
    axis, codes = axis_of("geo", values, hierarchies=NESTED)
    for have, want in itertools.combinations_with_replacement(range(4), 2):
        below = axis.raised(codes, 0, have)
        assert axis.raised(below, have, want).tolist() == axis.raised(codes, 0, want).tolist()
    assert [axis.raised(codes, 0, height).tolist() for height in range(4)] == [
        [0, 1, 2, 3],
        [0, 1, 2, 2],
        [0, 0, 1, 1],
        [0, 0, 0, 0],
    ]
    assert codes.tolist() == [0, 1, 2, 3], "the argument is left alone"


def test_axes_and_levels_show_no_category():
    axis, _ = axis_of("town", {"town": ["MARKER", "b"]})
    assert repr(axis) == "Axis(town; 2 levels)"
    assert {repr(level) for level in axis.levels} == {"Level(…)"}


def test_axes_and_levels_cannot_be_changed():
    values = {"town": ["b", "c"]}
    axis, _ = axis_of("town", values)
    require_fixed(axis)
    require_fixed(axis.levels[0])
    other, _ = axis_of("town", values)
    assert axis != other, "arrays are not compared"
    assert axis.levels[0] != other.levels[0]


# --- coding values ------------------------------------------------------------------------


def encoded(*chunks, kind=None):
    labels, codes = encode(pa.chunked_array(list(chunks), kind), "c")
    assert codes.dtype == np.int32
    return labels, codes.tolist()


def test_values_are_coded_by_their_order_and_missing_ones_by_minus_1():
    assert encoded(pa.array(["b", None, "a"]), pa.array(["c", "b"])) == (
        ["a", "b", "c"],
        [1, -1, 0, 2, 1],
    )
    assert encoded(pa.array([10, 9, None, -1])) == (["-1", "9", "10"], [2, 1, -1, 0])
    assert encoded(pa.array([True, False])) == (["false", "true"], [1, 0])
    assert encoded(kind=pa.int64()) == ([], [])
    assert encoded(pa.array([None, None], pa.string())) == ([], [-1, -1])


def test_categories_that_came_in_an_order_keep_it_and_unused_ones_go():
    low = pa.DictionaryArray.from_arrays(pa.array([2, 0, None]), ["low", "none", "high"])
    assert encoded(low) == (["low", "high"], [1, 0, -1])
    more = pa.DictionaryArray.from_arrays(pa.array([1, 1]), ["high", "top"])
    assert encoded(low, more) == (["low", "high", "top"], [1, 0, -1, 2, 2])
    first = pa.DictionaryArray.from_arrays(pa.array([1, 2]), ["a", "c", "b"])
    assert encoded(first) == (["c", "b"], [0, 1])
    whole = pa.DictionaryArray.from_arrays(pa.array([1, 0]), ["b", "a"])
    assert encoded(whole) == (["b", "a"], [1, 0])
