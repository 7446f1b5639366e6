"""Records made ready: whatever way cells are found, they are those of a direct scan."""

from __future__ import annotations

import math
from contextlib import ExitStack
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tables import (
    CodeTree,
    DataError,
    FilterError,
    HashedKeys,
    Hierarchy,
    KeyQualityError,
    Request,
    RequestError,
    Secret,
    StoredKeys,
    cube,
    open_source,
)
from tables.errors import StoppedError
from tables.filtering.filters import parse_filter
from tables.prepared.prepare import prepare
from tables.prepared.prepared import POPULATIONS
from tests.strategies import examples

KEYS = HashedKeys(column="id", secret=Secret(bytes(range(16))))
TREE = CodeTree({"young": None, "old": None, "0": "young", "1": "young", "2": "old", "9": None})
HIERARCHIES = {
    "geo": Hierarchy(columns=("region", "town")),
    "years": Hierarchy(columns=("age",), tree=TREE),
}
DIMENSIONS = ("geo", "years", "sex", "score")
FILTERS = (
    None,
    "sex = 'F'",
    "not sex = 'F'",
    "sex is missing or region = 'A'",
    "age between 1 and 2 and not (sex in ('F', 'X') or town <> 'a')",
    "not (sex = 'F' and age > 0)",
    "score > 0.5 and sex is not missing",
    "sex in ('nobody')",
    "not (sex = 'F' or town = 'a') or not (sex <> 'M' and score > 0.5)",
    "not (sex is missing or not (age > 0 and town = 'a')) or not (not sex = 'M')",
)


def records(n=400, seed=1):
    rng = np.random.Generator(np.random.PCG64(seed))
    sex = rng.choice(np.array(["F", "M", None], object), n)
    return pa.table(
        {
            "id": np.arange(n),
            "region": rng.choice(["A", "B"], n),
            "town": rng.choice(["a", "b", "c"], n),
            "age": rng.choice([0, 1, 2, 9], n),
            "sex": pa.array(sex, pa.string()),
            "score": rng.choice([0.0, -0.0, 0.5, 1.5, np.nan], n),
            "w": rng.choice([0.0, 1.5, 2.25], n),
        }
    )


def ready(source, dimensions=DIMENSIONS, *, weight="w", keys=KEYS, **options):
    requests = {n: Request(dimensions=[n], hierarchies=HIERARCHIES) for n in dimensions}
    return prepare(source, keys, requests=requests, weight=weight, **options)


def content(cells):
    """Return category texts → everything else of a cell."""
    texts = [
        [tuple(column[rank] for column in axis.labels) for rank in ranks]
        for axis, ranks in zip(cells.axes, cells.ranks, strict=True)
    ]
    keys = list(zip(*texts, strict=True)) if texts else [()] * len(cells)
    numbers = [cells.count, cells.cell_key]
    if cells.weight is not None:
        numbers += [cells.weight, cells.weighted_count]
    found = dict(zip(keys, zip(*(n.tolist() for n in numbers), strict=True), strict=True))
    assert len(found) == len(cells)
    return found


@pytest.fixture(scope="module")
def opened():
    with open_source(records(), threads=2) as source:
        yield source, ready(source)


def direct(source, dimensions, where):
    request = Request(dimensions=dimensions, hierarchies=HIERARCHIES, where=where, weight="w")
    return request, content(cube(source, KEYS, [request])[0])


@pytest.mark.parametrize("where", FILTERS)
@pytest.mark.parametrize("dimensions", [[], ["sex"], ["geo", "years"], ["score", "geo", "sex"]])
def test_a_scan_of_prepared_records_finds_the_cells_of_a_direct_scan(opened, dimensions, where):
    source, prepared = opened
    request, wanted = direct(source, dimensions, where)
    found = prepared.scan(dict.fromkeys(dimensions, 0), where=prepared.conditions(where))
    sets = request.level_sets([len(prepared.axes[d].levels) for d in dimensions])
    assert content(prepared.cells(found, dimensions, level_sets=sets)) == wanted
    assert wanted or where == "sex in ('nobody')"


@pytest.mark.parametrize("dimensions", [[], ["geo", "sex"]])
def test_a_population_has_the_cells_of_its_filter(opened, dimensions):
    """Over a column that is no dimension, too; what is unknown is not in it."""
    source, _ = opened
    wheres = ("w > 1", "not sex = 'F'", "w > 1 and town = 'a'")
    populations = [parse_filter(where) for where in wheres]
    prepared = ready(source, ("geo", "sex"), populations=populations)
    axis = prepared.axes[POPULATIONS]
    patterns = axis.labels[0]
    assert patterns.tolist() == ["Total", "000", "010", "100", "101", "110", "111"]
    for place, where in enumerate(wheres):
        inside = [rank for rank, text in enumerate(patterns) if text[place] == "1"]
        condition = prepared.members(POPULATIONS, inside)
        request, wanted = direct(source, dimensions, where)
        found = prepared.scan(dict.fromkeys(dimensions, 0), where=frozenset([condition]))
        sets = request.level_sets([len(prepared.axes[d].levels) for d in dimensions])
        assert content(prepared.cells(found, dimensions, level_sets=sets)) == wanted


@pytest.fixture(scope="module")
def several():
    with ExitStack() as stack:
        sources = [
            stack.enter_context(open_source(records(120, seed=seed), threads=1))
            for seed in range(3)
        ]
        yield [ready(source) for source in sources]


@settings(max_examples=examples(60))
@given(data=st.data())
def test_cells_rolled_up_from_cells_are_those_of_a_scan(several, data):
    prepared = data.draw(st.sampled_from(several))
    tops = {name: len(axis.levels) - 1 for name, axis in prepared.axes.items()}
    fine = {
        name: data.draw(st.integers(0, tops[name] - 1))
        for name in data.draw(st.sets(st.sampled_from(DIMENSIONS), min_size=1))
    }
    coarse = {
        name: data.draw(st.integers(fine[name], tops[name] - 1))
        for name in data.draw(st.sets(st.sampled_from(sorted(fine))))
    }
    first = prepared.conditions(data.draw(st.sampled_from(FILTERS)))
    more = first | prepared.conditions(data.draw(st.sampled_from(FILTERS)))
    parent = prepared.scan(fine, where=first)
    scanned = prepared.scan(coarse, where=more)
    if not parent.covers(coarse, more):
        places = {p for c in more - first for p in c.places}
        assert any(fine.get(name, 99) > level for name, level in places)
        return
    rolled = prepared.roll(parent, coarse, where=more)
    names = sorted(coarse)
    sets = [tuple(coarse[name] for name in names)]
    assert content(prepared.cells(rolled, names, level_sets=sets)) == content(
        prepared.cells(scanned, names, level_sets=sets)
    )


def test_cells_do_not_cover_what_is_finer_or_filtered_otherwise(opened):
    _, prepared = opened
    everybody, women = frozenset(), prepared.conditions("sex = 'F'")
    cells = prepared.scan({"geo": 1, "sex": 0})
    assert cells.covers({"geo": 1}, everybody)
    assert cells.covers({"geo": 1}, women)
    assert cells.covers({}, everybody)
    assert not cells.covers({"geo": 0}, everybody)
    assert not cells.covers({"years": 0}, everybody)
    assert not cells.covers({"geo": 1}, prepared.conditions("age > 0"))
    assert not prepared.scan({"sex": 0}, where=women).covers({"sex": 0}, everybody)


def test_equal_filters_are_equal_conditions_whatever_their_words(opened):
    _, prepared = opened
    assert prepared.conditions("age >= 1") == prepared.conditions("age>0")
    both = prepared.conditions("sex = 'F' and age > 0")
    assert both == prepared.conditions("age >= 1 and (sex = 'F')")
    assert len(both) == 2


def test_members_of_an_area_are_selected_and_its_total_selects_nobody_less(opened):
    source, prepared = opened
    axis = prepared.axes["geo"]
    region = next(
        r for r in range(axis.size) if axis.labels[0][r] == "A" and axis.labels[1][r] == "Total"
    )
    only = prepared.members("geo", [region])
    found = prepared.scan({"geo": 1}, where=frozenset({only}))
    (_, wanted) = direct(source, [], "region = 'A'")
    assert int(found.block.count.sum()) == next(iter(wanted.values()))[0]
    assert prepared.members("geo", [0, region]) is None
    assert prepared.members("geo", range(1, axis.size)) is None


AREAS = 400


@pytest.fixture(scope="module")
def areas():
    rng = np.random.Generator(np.random.PCG64(5))
    table = pa.table(
        {
            "id": np.arange(3000),
            "area": [f"{n:03}" for n in rng.integers(0, AREAS, 3000)],
            "sex": rng.choice(np.array(["F", "M", None], object), 3000),
        }
    )
    with open_source(table, threads=1) as source:
        yield source, ready(source, ["area", "sex"], weight=None)


def test_comparisons_of_one_variable_fold_into_one_set_of_a_bit_for_each_category(areas):
    _, prepared = areas
    names = [f"{n:03}" for n in range(0, AREAS, 4)]
    (one,) = prepared.conditions("area <> '000'")
    assert one.nbytes < 600
    for word in (" or ", " and "):
        (many,) = prepared.conditions(word.join(f"area <> '{name}'" for name in names))
        assert many.nbytes == one.nbytes
    listed = ", ".join(f"'{name}'" for name in names)
    wanted = prepared.conditions(f"area not in ({listed})")
    folded = " and ".join(f"not area = '{name}'" for name in names)
    assert prepared.conditions(folded) == wanted
    # What cannot fold is bounded by the number of comparisons.
    pairs = " or ".join(f"(area = '{name}' and sex = 'F')" for name in names[:50])
    (mixed,) = prepared.conditions(pairs)
    assert mixed.nbytes < 100 * 2 * one.nbytes


def test_sets_of_many_ranges_count_the_records_that_they_let_through(areas):
    source, prepared = areas
    listed = ", ".join(f"'{n:03}'" for n in range(0, AREAS, 2))
    where = f"area in ({listed}) or sex is missing"
    request = Request(dimensions=["sex"], where=where)
    found = prepared.scan({"sex": 0}, where=prepared.conditions(where))
    wanted = content(cube(source, KEYS, [request])[0])
    assert content(prepared.cells(found, ["sex"], level_sets=request.level_sets([2]))) == wanted
    rolled = prepared.roll(
        prepared.scan({"area": 0, "sex": 0}), {"sex": 0}, where=prepared.conditions(where)
    )
    assert rolled.block.count.tolist() == found.block.count.tolist()


def test_cells_count_all_bytes_that_they_keep_and_keep_no_answer_of_a_scan(opened):
    _, prepared = opened
    where = prepared.conditions("town = 'a' and sex = 'F'")
    found = prepared.scan({"geo": 0, "sex": 0}, where=where)
    block = found.block
    arrays = [*block.codes, block.count, block.key, *block.weight]
    assert all(array.base is None for array in arrays)
    least = sum(array.nbytes for array in arrays) + sum(c.nbytes for c in where)
    assert least < found.nbytes < least + 10_000
    assert found.nbytes - prepared.scan({"geo": 0, "sex": 0}).nbytes < 10_000


@pytest.mark.parametrize(
    ("column", "key_range"),
    [
        (pa.array([3, 250, 7, 9] * 5, pa.uint8()), None),
        (pa.array([3, 999, 7, 9] * 5, pa.int32()), 1000),
        (pa.array([2**64 - 1, 2**63, 5, 9] * 5, pa.uint64()), None),
        (pa.array([2**60 - 1, 7, 5, 9] * 5, pa.uint64()), 3**38),
        (pa.array([0.25, 0.5, 0.125, 0.75] * 5), None),
        (pa.array([Decimal("0.1"), Decimal("0.9")] * 10, pa.decimal128(12, 6)), None),
    ],
)
def test_stored_keys_of_every_kind_add_up(column, key_range):
    keys = StoredKeys(column="key", key_range=key_range)
    table = pa.table({"key": column, "x": ["a", "b", "a", "c", "c"] * 4})
    with open_source(table) as source:
        request = Request(dimensions=["x"])
        prepared = prepare(source, keys, requests={"x": request})
        found = prepared.scan({"x": 0})
        sets = request.level_sets([2])
        wanted = content(cube(source, keys, [request])[0])
        assert content(prepared.cells(found, ["x"], level_sets=sets)) == wanted
        rolled = prepared.roll(found, {}, where=frozenset())
        total = content(prepared.cells(rolled, [], level_sets=[()]))
        assert total[()] == wanted[("Total",),]


def test_hostile_names_and_categories_are_only_names_and_categories():
    hostile = 'x"; DROP TABLE ckm_prepared; --'
    table = pa.table(
        {
            "id": range(6),
            hostile: ["a'b", "a'b", '"', "$f0", "", "é"],
            "k": [1] * 6,
            "a1 k": [1] * 6,
            "n": [2] * 6,
            "w": [1.5] * 6,
            "CKM level 0": [1] * 6,
        }
    )
    with open_source(table) as source:
        prepared = ready(source, [hostile, "k", "a1 k", "n"], weight="w")
        where = f"`{hostile}` = 'a''b' and k = 1"
        found = prepared.scan({hostile: 0}, where=prepared.conditions(where))
        assert found.block.count.tolist() == [2]
    for name in ("CKM level 0", "ckm Populations"):
        taken = (
            table.append_column(name, [[1] * 6]) if name not in table.schema.names else table
        )
        with open_source(taken) as source, pytest.raises(RequestError, match="kept for coding"):
            ready(source, [name], weight=None)


def test_no_records_make_no_cells():
    table = pa.table({"id": pa.array([], pa.int64()), "sex": pa.array([], pa.string())})
    with open_source(table) as source:
        prepared = ready(source, ["sex"], weight=None)
        for levels in ({}, {"sex": 0}):
            found = prepared.scan(levels)
            assert len(found) == 0
            sets = [tuple(levels.values())]
            assert len(prepared.cells(found, list(levels), level_sets=sets)) == 0


def test_a_filter_speaks_of_the_offered_columns_alone(opened):
    _, prepared = opened
    for where in ("w > 1", "id = 3", "nothing = 1", "sex = 1", "sex ="):
        with pytest.raises(FilterError) as caught:
            prepared.conditions(where)
        assert "'w'" not in str(caught.value).partition("it has")[2]


@pytest.mark.parametrize("weight", [None, -1.0, math.inf])
def test_weights_that_are_none_are_refused(weight):
    table = pa.table({"id": [1, 2], "x": ["a", "b"], "w": [1.0, weight]})
    with open_source(table) as source, pytest.raises(DataError, match="'w'"):
        ready(source, ["x"])


def test_unsound_keys_and_endless_variables_are_refused():
    table = pa.table({"id": [1, None], "x": ["a", "b"]})
    with open_source(table) as source, pytest.raises(KeyQualityError):
        ready(source, ["x"], weight=None)
    twice = [f"x{n // 2}" for n in range(200_002)]  # else they would tell records apart
    many = pa.table({"id": range(200_002), "x": twice})
    with open_source(many) as source, pytest.raises(RequestError, match="more than 100,000"):
        ready(source, ["x"], weight=None)


def test_a_scan_that_takes_too_long_is_stopped():
    with open_source(pa.table({"x": [1]}), threads=1) as source:
        with pytest.raises(StoppedError, match="too long"):
            source.aside(
                "SELECT sum(a.range) FROM range(10000000) a, range(10000000) b", timeout_s=0.3
            )
        assert source.fetch("SELECT 1") == [(1,)]


def test_prepared_records_show_nothing_of_themselves(opened):
    _, prepared = opened
    cells = prepared.scan({"sex": 0})
    (condition,) = prepared.conditions("age > 0")
    shown = f"{prepared!r} {cells!r} {condition!r}"
    assert not any(sign.isdigit() for sign in shown.replace("@0", "").replace("1 dim", ""))
