"""The ledger answers as a comparison of all pairs of record sets does, by whatever route."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ckm.ledger import CellProtection, Definition, Ledger
from tables import CodeTree, Hierarchy, Request, Secret, StoredKeys, cube, open_source
from tests.strategies import examples

SECRET = Secret(bytes(16))
KEYS = StoredKeys(column="key")
PARENTS = {"y1": "young", "y2": "young", "o1": "old", "o2": "old", "o3": "old"}
TREE = CodeTree(parents={"young": None, "old": None, "alone": None, **PARENTS})
LEAVES = ("y1", "y2", "o1", "o2", "o3", "alone")
HIERARCHIES = {
    "geo": Hierarchy(columns=("region", "commune")),
    "zones": Hierarchy(columns=("zone", "block")),  # another vintage of zones
    "age": Hierarchy(columns=("age",), tree=TREE),
}
DIMENSIONS = ("geo", "zones", "age", "sex")
FILTERS = {
    None: lambda _: True,
    "n > 0": lambda r: r["n"] > 0,
    "n > 1": lambda r: r["n"] > 1,
    "n between 1 and 8": lambda r: 1 <= r["n"] <= 8,
    "not (region = 'r0')": lambda r: r["region"] is not None and r["region"] != "r0",
    "sex = 'F' and n < 9": lambda r: r["sex"] == "F" and r["n"] < 9,
    "commune <> 'c1'": lambda r: r["commune"] != "c1",
}


@st.composite
def registers(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    size = draw(st.integers(1, 90))
    skew = draw(st.sampled_from([0.3, 1.0, 5.0]))
    people = []
    for _ in range(size):
        commune = min(int(rng.exponential(skew)), 5)
        block = min(commune * 2 + int(rng.integers(0, 2)), 9)
        people.append(
            {
                "region": None if commune == 5 else f"r{commune // 2}",
                "commune": f"c{commune}",
                "zone": f"z{block // 3}",
                "block": f"b{block}",
                "age": LEAVES[min(int(rng.exponential(skew)), 5)],
                "sex": "FM"[int(rng.random() < 0.8)],
                "n": int(rng.integers(0, 10)),
                "key": int(rng.integers(0, 2**64, dtype=np.uint64)),
            }
        )
    return people


tables = st.tuples(
    st.lists(st.sampled_from(DIMENSIONS), max_size=2, unique=True),
    st.sampled_from(list(FILTERS)),
)


def holds(person, column, label):
    if label == "Total":
        return True
    if column == "age":
        return code_holds(person["age"], label)
    return (person[column] or "(missing)") == label


def code_holds(leaf, code):
    while leaf is not None and leaf != code:
        leaf = PARENTS.get(leaf)
    return leaf == code


def members(people, name, where):
    """Evaluate the words of a cell on the records."""
    test = FILTERS[where]
    inside = {
        n
        for n, p in enumerate(people)
        if test(p) and all(holds(p, c, label) for c, label in name.categories)
    }
    if name.without:
        inside -= {
            n for n in inside if all(holds(people[n], c, label) for c, label in name.without)
        }
    return frozenset(inside)


def labels_of(person, dimension):
    """Return the labels, at every level, of the cells of a dimension that hold a person."""
    if dimension == "sex":
        return [(person["sex"],), ("Total",)]
    if dimension == "age":
        chain, code = [], person["age"]
        while code is not None:
            chain.append((code,))
            code = PARENTS.get(code)
        return [*chain, ("Total",)]
    broad, fine = HIERARCHIES[dimension].columns
    region = person[broad] or "(missing)"
    return [(region, person[fine]), (region, "Total"), ("Total", "Total")]


def published_sets(people, dimensions, where):
    cells: dict[tuple, set[int]] = {}
    for number, person in enumerate(people):
        if not FILTERS[where](person):
            continue
        names = [()]
        for dimension in dimensions:
            names = [(*n, label) for n in names for label in labels_of(person, dimension)]
        for name in names:
            cells.setdefault(name, set()).add(number)
    return {name: frozenset(inside) for name, inside in cells.items()}


def derived_sets(people, dimensions, where):
    cells = published_sets(people, dimensions, where)
    found = set()
    for number, person in enumerate(people):
        for name in cells:
            if number not in cells[name]:
                continue
            for axis, dimension in enumerate(dimensions):
                chain = labels_of(person, dimension)
                for broader in chain[chain.index(name[axis]) + 1 :]:
                    whole = (*name[:axis], broader, *name[axis + 1 :])
                    found.add(cells[whole] - cells[name])
    return found - {frozenset()}


def table_of(people):
    columns = {c: [p[c] for p in people] for c in people[0] if c != "key"}
    return pa.table(
        {
            **{
                c: pa.array(v, pa.int64() if c == "n" else pa.string())
                for c, v in columns.items()
            },
            "key": pa.array([p["key"] for p in people], pa.uint64()),
        }
    )


def make(ledger, source, dimensions, where, name):
    request = Request(dimensions=dimensions, hierarchies=HIERARCHIES, where=where)
    (cells,) = cube(source, KEYS, [request], sketch=ledger.width)
    return ledger.entry(cells, Definition.of(request, name=name, where=where))


def sets_of_pairs(people, pairs):
    return {
        (
            members(people, pair.cell, pair.cell.where),
            members(people, pair.published, pair.published.where),
        )
        for pair in pairs
    }


@settings(max_examples=examples(25))
@given(
    registers(),
    st.lists(tables, min_size=2, max_size=5),
    st.integers(1, 4),
    st.fixed_dictionaries(
        {"with_complements": st.booleans(), "smallest": st.sampled_from([1, 1, 5])}
    ),
)
def test_the_ledger_finds_exactly_the_thin_differences_of_a_comparison_of_all_pairs(
    tmp_path_factory, people, wishes, threshold, rules
):
    path = tmp_path_factory.mktemp("ledger") / "ledger.db"
    history: set[frozenset[int]] = set()
    expected_audit, seen = set(), []
    with (
        open_source(table_of(people), threads=1) as source,
        Ledger.open(
            path,
            secret=SECRET,
            threshold=threshold,
            **rules,
        ) as ledger,
    ):
        for number, (dimensions, where) in enumerate(wishes):
            entry = make(ledger, source, dimensions, where, f"t{number}")
            checked = ledger.check([entry])
            pairs = ledger.publish([entry], policy="flag")
            assert checked == pairs
            if (dimensions, where) in seen:
                assert not pairs
                continue
            seen.append((dimensions, where))
            mine = set(published_sets(people, dimensions, where).values())
            if rules["with_complements"]:
                mine |= derived_sets(people, dimensions, where)
            mine = {one for one in mine if len(one) >= rules["smallest"]}
            expected = {
                (new, old)
                for new in mine - history
                for old in history - mine
                if new & old and 1 <= len(new ^ old) <= threshold
            }
            assert sets_of_pairs(people, pairs) == expected
            assert len(pairs) == len(expected)
            expected_audit |= expected
            history |= mine
        assert sets_of_pairs(people, ledger.audit()) == expected_audit
        for smaller in range(1, threshold):
            assert sets_of_pairs(people, ledger.audit(threshold=smaller)) == {
                (new, old) for new, old in expected_audit if len(new ^ old) <= smaller
            }


def rounded(entry, base):
    """Return the same table in another rounding: other numbers for every set."""
    own = CellProtection(
        method="rounding", settings=str(base), numbers=entry.cells.count * base
    )
    return entry.protected_by(own)


@settings(max_examples=examples(25))
@given(
    registers(),
    st.lists(st.tuples(tables, st.sampled_from([0, 0, 3, 5])), min_size=2, max_size=6),
)
def test_the_ledger_finds_every_set_that_was_published_in_another_way(
    tmp_path_factory, people, wishes
):
    path = tmp_path_factory.mktemp("ledger") / "ledger.db"
    ways: dict[frozenset[int], set[int]] = {}  # base of a rounding, 0 for noise
    with open_source(table_of(people), threads=1) as source:
        for number, ((dimensions, where), base) in enumerate(wishes):
            mine = set(published_sets(people, dimensions, where).values())
            mine |= derived_sets(people, dimensions, where)
            expected = any(base not in ways.get(one, {base}) for one in mine)
            with Ledger.open(path, secret=SECRET) as ledger:  # another program each time
                entry = make(ledger, source, dimensions, where, f"t{number}")
                entry = rounded(entry, base) if base else entry
                assert bool(ledger.second_methods([entry])) == expected
                ledger.publish([entry], policy="flag", second_method="flag")
                assert not ledger.second_methods([entry])
            for one in mine:
                ways.setdefault(one, set()).add(base)


@settings(max_examples=examples(15))
@given(registers(), st.lists(tables, min_size=2, max_size=4, unique_by=repr))
@example(
    [
        {
            "region": "r0",
            "commune": "c0",
            "zone": "z0",
            "block": "b0",
            "age": "y1",
            "sex": "F",
            "n": 1,
            "key": 7,
        }
    ],
    [([], None), (["sex"], None)],
)
def test_one_release_is_the_same_as_its_tables_one_by_one(tmp_path_factory, people, wishes):
    folder = tmp_path_factory.mktemp("ledger")
    with (
        open_source(table_of(people), threads=1) as source,
        Ledger.open(folder / "one.db", secret=SECRET) as one,
        Ledger.open(folder / "all.db", secret=SECRET) as together,
    ):
        entries = [make(one, source, *wish, f"t{n}") for n, wish in enumerate(wishes)]
        singly = [p for e in entries for p in one.publish([e], policy="flag")]
        at_once = together.publish(entries, policy="flag")
        assert sets_of_pairs(people, at_once) == sets_of_pairs(people, singly)
        assert sets_of_pairs(people, together.audit()) == sets_of_pairs(people, one.audit())


@settings(max_examples=examples(10))
@given(registers(), st.lists(tables, min_size=2, max_size=4), st.integers(0, 3))
def test_a_ledger_that_is_opened_again_answers_the_same(tmp_path_factory, people, wishes, cut):
    folder = tmp_path_factory.mktemp("ledger")
    answers = []
    with open_source(table_of(people), threads=1) as source:
        for name, reopened in (("a.db", False), ("b.db", True)):
            ledger = Ledger.open(folder / name, secret=SECRET)
            found = []
            for number, wish in enumerate(wishes):
                if reopened and number >= cut:
                    ledger.close()
                    ledger = Ledger.open(folder / name, secret=SECRET)
                entry = make(ledger, source, *wish, f"t{number}")
                found.append(ledger.publish([entry], policy="flag"))
            ledger.close()
            answers.append(found)
    assert answers[0] == answers[1]
