"""How many cells of each count tables hold, against a tabulation in plain Python."""

import itertools
from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckm import Engine, Secret
from ckm.engine.cell_histogram import CountHistogramBuilder, count_histogram
from ckm.engine.request import TableRequest
from ptable import NoiseSpec, solve
from tables import CodeTree, Hierarchy, Request, StoredKeys, cube, open_source
from tests.strategies import examples

PTABLE = solve(NoiseSpec(max_noise=2, variance=1.0))
GEO = ("region", "town")
SEXES = ("F", "M", "X")
PEOPLE = st.lists(
    st.tuples(st.sampled_from(["a1", "a2", "b1"]), st.sampled_from("FM"), st.integers(15, 18)),
    min_size=1,
    max_size=25,
)
REQUESTS = {
    "places": TableRequest(dimensions=["geo", "sex"]),
    "ages": TableRequest(dimensions=["sex", "age"]),
    "adults": TableRequest(dimensions=["geo", "sex"], where="age >= 18"),
    "again": TableRequest(dimensions=["sex", "geo"], margins=[["region"]]),
}


def records(people):
    return [
        {"id": n, "region": town[0], "town": town, "sex": sex, "age": age}
        for n, (town, sex, age) in enumerate(people)
    ]


def engine(rows, **hierarchies):
    return Engine(
        pa.Table.from_pylist(rows),
        id="id",
        secret=Secret(bytes(32)),
        ptable=PTABLE,
        hierarchies={"geo": list(GEO), **hierarchies},
        categories={"sex": list(SEXES)},
        checks="skip",
    )


def described(rows, paths, where=None):
    """List the cells of a table: what describes each, and who is in it."""
    people = [row for row in rows if where is None or where(row)]
    for shown in itertools.product(*paths):
        columns = tuple(sorted(itertools.chain.from_iterable(shown)))
        groups = {}
        for row in people:
            key = tuple((column, row[column]) for column in columns)
            groups.setdefault(key, set()).add(row["id"])
        for key, members in groups.items():
            yield (key, where is not None), frozenset(members)


PLACES = ((), ("region",), GEO)
TABLES = (
    ((PLACES, ((), ("sex",))), None),
    ((((), ("sex",)), ((), ("age",))), None),
    ((PLACES, ((), ("sex",))), lambda row: row["age"] >= 18),
    ((((),), (("region",),)), None),
    (((("sex",),), (GEO,)), None),
)


@pytest.mark.slow
@settings(max_examples=examples(25))
@given(PEOPLE)
def test_distinct_cells_and_record_sets_are_those_of_plain_python(people):
    rows = records([*people, ("a1", "F", 18)])
    with engine(rows) as source:
        found = source.count_histogram(REQUESTS)
    cells = [pair for paths, where in TABLES for pair in described(rows, paths, where)]
    distinct = dict(cells)
    assert found.listed == len(cells)
    assert found.distinct == len(distinct)
    assert found.record_sets == len(set(distinct.values()))
    assert len(set(distinct.values())) < found.distinct < found.listed
    counts = Counter(len(members) for members in distinct.values())
    somebody = found.together.within(1, None)
    assert dict(zip(somebody.counts.tolist(), somebody.cells.tolist(), strict=True)) == counts


@pytest.mark.slow
@settings(max_examples=examples(25))
@given(PEOPLE)
def test_a_variable_takes_the_distinct_cells_of_each_category(people):
    rows = records([*people, ("a1", "F", 18)])
    with engine(rows) as source:
        found = source.count_histogram(REQUESTS)
    distinct = dict(pair for paths, where in TABLES for pair in described(rows, paths, where))
    assert set(found.variables) == {"sex", "age"}
    for variable, categories in found.variables.items():
        expected = {}
        for (key, _), members in distinct.items():
            if variable in dict(key):
                name = str(dict(key)[variable])
                expected.setdefault(name, Counter())[len(members)] += 1
        assert {
            name: dict(zip(h.counts.tolist(), h.cells.tolist(), strict=True))
            for name, h in categories.items()
        } == expected


def test_empty_cells_count_and_those_that_no_table_lists_are_told_apart():
    rows = records([("a1", "F", 18), ("a2", "F", 18)])
    with engine(rows) as source:
        shown = source.count_histogram({"t": TableRequest(dimensions=["sex"])})
        dropped = source.count_histogram(
            {"t": TableRequest(dimensions=["sex"], empty_cells="drop")}
        )
        both = source.count_histogram(
            {
                "t": TableRequest(dimensions=["sex"], empty_cells="drop"),
                "u": TableRequest(dimensions=["sex"]),
            }
        )
    assert shown.tables["t"].n_cells == shown.together.n_cells == 4  # F, M, X and all
    assert shown.tables["t"].unlisted == shown.together.unlisted == 0
    assert dropped.tables["t"].n_cells == dropped.together.n_cells == 4
    assert dropped.tables["t"].as_listed().n_cells == dropped.together.as_listed().n_cells == 2
    assert both.together.n_cells == both.together.as_listed().n_cells == 4
    assert both.distinct == 2


def test_levels_of_a_code_tree_are_different_cells():
    tree = CodeTree({"a1": "a", "a2": "a", "b1": "b", "a": None, "b": None})
    nested = Hierarchy(columns=("town",), tree=tree)
    with engine(records([("a1", "F", 18), ("b1", "F", 18)]), town=nested) as source:
        found = source.count_histogram(
            {
                "t": TableRequest(dimensions=["town"]),
                "u": TableRequest(dimensions=["town"], margins="none"),
            }
        )
    # All, a, b, a1, b1 in the one; a1, b1 in the other.
    assert (found.listed, found.distinct, found.record_sets) == (7, 5, 3)


def test_few_stored_keys_cannot_tell_sets_of_records_apart():
    data = pa.table({"sex": ["F", "M"], "key": pa.array([1, 2], pa.uint8())})
    wanted = Request(dimensions=["sex"])
    with open_source(data) as source:
        (cells,) = cube(source, StoredKeys(column="key"), [wanted])
    assert (
        count_histogram({"t": wanted}, {"t": cells}, empty_cells={"t": "auto"}).record_sets
        is None
    )


def test_a_tally_shows_no_count():
    with engine(records([("a1", "F", 18)])) as source:
        assert repr(source.count_histogram(REQUESTS)) == "CountHistogram(…)"


@pytest.mark.parametrize("where", ["age > 90"])
def test_a_table_of_nobody_counts_its_grid_or_is_refused(where):
    from ckm.errors import ConfigError

    with engine(records([("a1", "F", 18)])) as source:
        empty = source.count_histogram({"t": TableRequest(dimensions=["sex"], where=where)})
        assert empty.tables["t"].cells.tolist() == [4]
        assert (empty.listed, empty.distinct, empty.record_sets) == (0, 0, 0)
        with pytest.raises(ConfigError, match="Table 't' has no cells"):
            source.count_histogram({"t": TableRequest(dimensions=["geo"], where=where)})


# --- the same for one population, without an engine ---------------------------------------

CROWD = records(
    [(("a1", "a2", "b1")[n // 2 % 3], "FM"[n % 7 < 3], 15 + n % 4) for n in range(40)]
)
NESTED = {"geo": Hierarchy(columns=GEO)}


def counted(rows, requests, *, empty_cells="drop", wide=True):
    """Count the cells of requests of cells over records with keys of 64 bits, or of 8."""
    keys = np.random.default_rng(1).integers(0, 2**64, len(rows), np.uint64)
    kind = pa.uint64() if wide else pa.uint8()
    data = pa.Table.from_pylist(rows).append_column(
        "key", pa.array((keys >> np.uint64(0 if wide else 56)).tolist(), kind)
    )
    with open_source(data) as source:
        found = cube(source, StoredKeys(column="key"), [*requests.values()])
    return count_histogram(
        requests,
        dict(zip(requests, found, strict=True)),
        empty_cells=dict.fromkeys(requests, empty_cells),
    )


def wish(*dimensions, **options):
    nested = NESTED if "geo" in dimensions else {}
    return Request(dimensions=list(dimensions), hierarchies=nested, **options)


def numbers(histogram):
    return dict(zip(histogram.counts.tolist(), histogram.cells.tolist(), strict=True))


def test_distinct_cells_record_sets_and_variables_are_those_of_plain_python():
    requests = {
        "places": wish("geo", "sex"),
        "ages": wish("sex", "age"),
        "adults": wish("geo", "sex", where="age >= 18"),
        "again": wish("sex", "geo", margins=[["region"]]),
    }
    found = counted(CROWD, requests)
    cells = [pair for paths, where in TABLES for pair in described(CROWD, paths, where)]
    distinct = dict(cells)
    assert (found.listed, found.distinct) == (len(cells), len(distinct))
    assert found.record_sets == len(set(distinct.values()))
    assert numbers(found.together.within(1, None)) == Counter(map(len, distinct.values()))
    assert set(found.variables) == {"sex", "age"}
    for variable, categories in found.variables.items():
        expected = {}
        for (key, _), members in distinct.items():
            if variable in dict(key):
                name = str(dict(key)[variable])
                expected.setdefault(name, Counter())[len(members)] += 1
        assert {name: numbers(h) for name, h in categories.items()} == expected
    for name, (paths, where) in zip(["places", "ages", "adults"], TABLES[:3], strict=True):
        own = Counter(len(members) for _, members in described(CROWD, paths, where))
        assert numbers(found.tables[name].within(1, None)) == own


def test_a_variable_of_more_than_twenty_categories_is_not_looked_at():
    for n, names in ((20, {"x"}), (21, set())):
        rows = [{"x": f"c{k:02}"} for k in range(n)]
        assert set(counted(rows, {"t": wish("x")}).variables) == names


def test_columns_of_hierarchies_and_trees_are_no_variables():
    tree = CodeTree({"a1": "a", "a2": "a", "b1": "b", "a": None, "b": None})
    nested = Hierarchy(columns=("town",), tree=tree)
    requests = {
        "t": Request(dimensions=["town"], hierarchies={"town": nested}),
        "u": wish("geo"),
    }
    found = counted(CROWD, requests)
    assert found.variables == {}
    # All, a, b and three towns; then all, two regions and three towns within these.
    assert (found.listed, found.distinct) == (12, 11)
    assert found.record_sets == 5, "b1 is all of b"


def test_keys_of_sixty_bits_tell_sets_of_records_apart_and_shorter_ones_do_not():
    rows = [{"sex": "F", "x": "a"}, {"sex": "M", "x": "b"}]
    requests = {"t": wish("sex"), "u": wish("x")}
    found = counted(rows, requests)
    assert (found.listed, found.distinct, found.record_sets) == (6, 5, 3)
    assert counted(rows, requests, wide=False).record_sets is None


def test_sets_of_one_key_and_another_number_are_told_apart():
    """Keys are summed modulo 2**64: those of two may add up to that of one."""
    data = pa.table({"x": ["a", "b", "b"], "key": pa.array([5, 2**63, 2**63 + 5], pa.uint64())})
    asked = Request(dimensions=["x"], margins="none")
    with open_source(data) as source:
        (cells,) = cube(source, StoredKeys(column="key"), [asked])
    assert cells.cell_key.tolist() == [5, 5]
    found = count_histogram({"t": asked}, {"t": cells}, empty_cells={"t": "drop"})
    assert found.record_sets == 2


def test_the_wider_grid_and_the_longer_list_of_a_block_count():
    wide = Request(dimensions=["x"], categories={"x": ["a", "b", "c", "d"]}, margins="none")
    narrow = Request(dimensions=["x"], margins="none")
    data = pa.table({"x": ["a", "b"], "key": pa.array([1, 2], pa.uint64())})
    with open_source(data) as source:
        one, two = cube(source, StoredKeys(column="key"), [wide, narrow])
    for lists, listed in (("grid", 4), ("drop", 2)):
        for order in ([("w", one), ("n", two)], [("n", two), ("w", one)]):
            builder = CountHistogramBuilder()
            news = [
                builder.add(n, c, where=None, empty_cells=lists if n == "w" else "drop")
                for n, c in order
            ]
            assert [flags.tolist() for flags in news] == [[True, True], [False, False]]
            found = builder.result()
            assert found.together.n_cells == 4
            assert found.together.as_listed().n_cells == listed
            assert (found.listed, found.distinct) == (4, 2)


def test_filters_make_cells_of_their_own():
    builder = CountHistogramBuilder()
    data = pa.table({"x": ["a", "b"], "key": pa.array([1, 2], pa.uint64())})
    asked = Request(dimensions=["x"])
    with open_source(data) as source:
        (cells,) = cube(source, StoredKeys(column="key"), [asked])
    for where in (None, "x = 'a'", None):
        builder.add(str(where), cells, where=where, empty_cells="drop")
    found = builder.result()
    assert (found.listed, found.distinct, found.record_sets) == (9, 6, 3)


def test_nothing_counted_is_no_cell():
    found = CountHistogramBuilder().result()
    assert (found.listed, found.distinct, found.record_sets) == (0, 0, 0)
    assert found.together.n_cells == 0
    assert found.tables == found.variables == {}
    assert found != CountHistogramBuilder().result()
    assert not hasattr(found, "__dict__")


def test_a_level_of_nested_columns_is_the_column_itself():
    found = counted(CROWD, {"t": wish("geo"), "u": wish("region")})
    # All, two regions and three towns; then all and two regions again.
    assert (found.listed, found.distinct) == (9, 6)


def test_cells_may_come_in_any_order():
    data = pa.table({"x": list("aabbbc"), "y": list("uvuuvv")})
    data = data.append_column("key", pa.array(range(6), pa.uint64()))
    asked = Request(dimensions=["x", "y"])
    with open_source(data) as source:
        (cells,) = cube(source, StoredKeys(column="key"), [asked])
    order = np.random.default_rng(3).permutation(len(cells))
    mixed = replace(
        cells,
        ranks=tuple(rank[order] for rank in cells.ranks),
        count=cells.count[order],
        cell_key=cells.cell_key[order],
    )
    one, other = (
        count_histogram({"t": asked}, {"t": some}, empty_cells={"t": "drop"})
        for some in (cells, mixed)
    )
    for variable, categories in one.variables.items():
        again = other.variables[variable]
        assert {c: numbers(h) for c, h in categories.items()} == {
            c: numbers(h) for c, h in again.items()
        }
    assert numbers(one.together) == numbers(other.together)


@pytest.mark.parametrize(("key_range", "told"), [(2**60 - 1, None), (2**60, 3)])
def test_keys_below_sixty_bits_meet_by_chance(key_range, told):
    data = pa.table({"x": ["a", "b"], "key": pa.array([5, 7], pa.int64())})
    asked = Request(dimensions=["x"])
    with open_source(data) as source:
        (cells,) = cube(source, StoredKeys(column="key", key_range=key_range), [asked])
    found = count_histogram({"t": asked}, {"t": cells}, empty_cells={"t": "drop"})
    assert found.record_sets == told
