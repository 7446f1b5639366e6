"""Laws of cells: what a second, slower way to tabulate finds, and what must not matter."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from tables import Request, StoredKeys, cube, open_source
from tests.strategies import (
    HIERARCHIES,
    KEY_RANGES,
    MAY_BE_TINY,
    TREE,
    as_arrow,
    coded,
    decode,
    examples,
    nested,
    plain,
    populations,
    stored_range,
    tabulate_directly,
)

pytestmark = MAY_BE_TINY

PATHS = {
    "sex": plain("sex"),
    "age": plain("age"),
    "geo": nested("region", "department"),
    "zone": coded("zone", TREE),
}

FILTERS = {
    None: lambda _: True,
    "age >= 2": lambda r: r["age"] is not None and r["age"] >= 2,
    "sex = 'F' or region is missing": lambda r: r["sex"] == "F" or r["region"] is None,
    "not (sex = 'F')": lambda r: r["sex"] not in {"F", None},
    "age not in (0, 30)": lambda r: r["age"] not in {0, 30, None},
    "zone in ('A1', 'C') and age between 0 and 2": lambda r: (
        r["zone"] in {"A1", "C"} and r["age"] in {0, 1, 2}
    ),
}

dimension_lists = st.lists(st.sampled_from(sorted(PATHS)), unique=True, max_size=4)


def tabulate(source, requests, key_range):
    keys = StoredKeys(column="key", key_range=stored_range(key_range))
    return [decode(cells) for cells in cube(source, keys, requests)]


def request(dimensions, **options):
    return Request(dimensions=dimensions, hierarchies=HIERARCHIES, **options)


def integers(cells):
    return {name: numbers[:2] for name, numbers in cells.items()}


@given(populations(), dimension_lists, st.sampled_from(list(FILTERS)))
@settings(max_examples=examples(40))
def test_cells_and_all_their_margins_are_those_of_a_direct_tabulation(
    population, dimensions, where
):
    records, key_range = population
    with open_source(as_arrow(records, key_range), threads=1) as source:
        found = tabulate(
            source, [request(dimensions, where=where, weight="weight")], key_range
        )[0]
    wanted = tabulate_directly(
        records, [PATHS[d] for d in dimensions], key_range=key_range, where=FILTERS[where]
    )
    assert integers(found) == integers(wanted)
    for name, (_, _, weight) in wanted.items():
        assert abs(Fraction(found[name][2]) - weight) <= abs(weight) * Fraction(1, 10**14)


@given(
    populations(),
    st.lists(st.tuples(dimension_lists, st.sampled_from(list(FILTERS))), max_size=5),
)
@settings(max_examples=examples(20))
def test_tables_that_share_a_scan_are_the_tables_asked_for_alone(population, wishes):
    records, key_range = population
    requests = [request(dimensions, where=where) for dimensions, where in wishes]
    with open_source(as_arrow(records, key_range), threads=1) as source:
        together = tabulate(source, requests, key_range)
    for (dimensions, where), found in zip(wishes, together, strict=True):
        wanted = tabulate_directly(
            records,
            [PATHS[d] for d in dimensions],
            key_range=key_range,
            where=FILTERS[where],
        )
        assert integers(found) == integers(wanted)


@given(populations(), st.data())
@settings(max_examples=examples(12))
def test_row_order_chunks_and_threads_change_no_cell(population, data):
    records, key_range = population
    table = as_arrow(records, key_range)
    order = data.draw(st.permutations(range(len(records))))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(records)), max_size=4)))
    shuffled = table.take(pa.array(order, pa.int64()))
    pieces = [
        shuffled.slice(start, stop - start)
        for start, stop in zip([0, *cuts], [*cuts, len(records)], strict=True)
    ]
    wish = [request(["sex", "geo", "zone"], weight="weight")]
    with open_source(table, threads=1) as source:
        plainly = tabulate(source, wish, key_range)
    with open_source(pa.concat_tables(pieces), threads=2) as source:
        assert tabulate(source, wish, key_range) == plainly


@given(
    st.sampled_from(KEY_RANGES),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2**64 - 1)), min_size=1, max_size=60),
)
@settings(max_examples=examples(20))
def test_cell_keys_are_exact_sums_in_every_range(key_range, pairs):
    pairs = [(category, key % key_range) for category, key in pairs]
    records = [
        {"id": 0, "sex": None, "age": c, "region": None, "department": None, "zone": None}
        | {"weight": 0, "key": key}
        for c, key in pairs
    ]
    with open_source(as_arrow(records, key_range), threads=1) as source:
        found = tabulate(source, [request(["age"])], key_range)[0]
    for category in {c for c, _ in pairs}:
        exact = sum(key for c, key in pairs if c == category) % key_range
        assert found[(str(category),)][1] == exact
    assert found[("Total",)][1] == sum(key for _, key in pairs) % key_range


@given(
    st.lists(st.integers(0, 2**24), min_size=1, max_size=30),
    st.sampled_from([np.int32, np.int64, np.uint32, np.uint64]),
    st.sampled_from([np.int8, np.int16, np.int64, np.uint8, np.float32, np.float64]),
)
@settings(max_examples=examples(25))
def test_the_type_of_a_column_changes_no_cell(keys, key_type, category_type):
    categories = np.arange(len(keys)) % 3
    results = []
    for key_kind, category_kind in ((np.int64, np.int64), (key_type, category_type)):
        table = pa.table(
            {
                "age": pa.array(categories.astype(category_kind)),
                "key": pa.array(np.array(keys, key_kind)),
            }
        )
        with open_source(table, threads=1) as source:
            stored = StoredKeys(column="key", key_range=2**32)
            results.append(decode(cube(source, stored, [Request(dimensions=["age"])])[0]))
    assert results[0] == results[1]


@given(st.lists(st.tuples(st.sampled_from("ab"), st.decimals(0, 10**9, places=15)), min_size=1))
@settings(max_examples=examples(25))
def test_weights_add_up_exactly_whatever_their_order(pairs):
    def total(rows):
        table = pa.table(
            {
                "group": pa.array([g for g, _ in rows]),
                "w": pa.array([w for _, w in rows], pa.decimal128(30, 15)),
                "key": pa.array(np.zeros(len(rows), np.uint8)),
            }
        )
        with open_source(table, threads=1) as source:
            wish = Request(dimensions=["group"], weight="w")
            return decode(cube(source, StoredKeys(column="key"), [wish])[0])

    found = total(pairs)
    assert total(pairs[::-1]) == found
    for group in {g for g, _ in pairs}:
        exact = sum(Fraction(w) for g, w in pairs if g == group)
        assert abs(Fraction(found[(group,)][2]) - exact) <= exact * Fraction(1, 10**14)
