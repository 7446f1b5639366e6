"""How many cells of each count tables hold, against a tabulation in plain Python."""

import itertools
from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckm import Engine, Secret
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
    from ckm.engine.cell_histogram import count_histogram

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
