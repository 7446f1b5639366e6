"""Laws of sums and largest contributions: a second, slower way, and what must not matter."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from unittest.mock import patch

import numpy as np
import pyarrow as pa
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tables import Request, StoredKeys, cube, open_source
from tables.magnitudes.amounts import merge_top
from tables.magnitudes.limbs import exact_floats
from tests.strategies import (
    HIERARCHIES,
    MAY_BE_TINY,
    TREE,
    as_arrow,
    coded,
    examples,
    nested,
    plain,
    populations,
    stored_range,
)

pytestmark = MAY_BE_TINY

PATHS = {
    "sex": plain("sex"),
    "age": plain("age"),
    "geo": nested("region", "department"),
    "zone": coded("zone", TREE),
}
FIELDS = (
    "total",
    "raw_total",
    "contributors",
    "weighted_contributors",
    "records",
    "weight",
    "key",
    "top",
    "top_weight",
    "largest",
    "low",
    "high",
    "first_sizes",
    "first_keys",
)

whole = st.integers(-4, 4).map(float)
cents = st.integers(-(10**8), 10**8).map(lambda n: n / 100)
awkward = st.floats(-1e12, 1e12) | st.sampled_from([1e-17, 1 / 3, 0.1 + 0.2, 3e9 + 0.37, 2e15])
values = st.sampled_from([whole, cents, awkward, whole | awkward])
weights = st.sampled_from(
    [
        st.integers(0, 300).map(float),
        st.integers(0, 10**6).map(lambda n: n / 1000),
        st.floats(0, 1e4),
    ]
)
dimension_lists = st.lists(st.sampled_from(sorted(PATHS)), unique=True, max_size=3)


@st.composite
def amounts(draw, *, missing=False):
    """Draw records with a value and a weight, and the range of their keys."""
    records, key_range = draw(populations(max_size=20))
    value, weight = draw(values), draw(weights)
    if missing:
        value |= st.none()
    for record in records:
        record["value"], record["w"] = draw(value), draw(weight)
    return records, key_range


def table_of(records, key_range):
    base = as_arrow(records, key_range)
    for name in ("value", "w"):
        column = pa.array([record[name] for record in records], pa.float64())
        base = base.append_column(name, column)
    return base


def tabulate(data, requests, key_range, *, threads=1):
    return tabulate_each(data, [requests], key_range, threads=threads)[0]


def tabulate_each(data, lists, key_range, *, threads=1):
    """Tabulate several lists of requests, a scan for each."""
    keys = StoredKeys(column="key", key_range=stored_range(key_range))
    with open_source(data, threads=threads) as source:
        return [[decode(cells) for cells in cube(source, keys, some)] for some in lists]


def decode(cells):
    """Write magnitudes as cell → name → number."""
    columns = [
        labels[ranks]
        for axis, ranks in zip(cells.axes, cells.ranks, strict=True)
        for labels in axis.labels
    ]
    names = list(zip(*columns, strict=True)) if columns else [()] * len(cells)
    (found,) = cells.magnitudes.values()
    listed = {field: getattr(found, field).tolist() for field in FIELDS}
    assert {len(numbers) for numbers in listed.values()} == {len(cells)}
    return {n: {f: listed[f][i] for f in FIELDS} for i, n in enumerate(names)}


def request(dimensions, **options):
    options = {"sums": ["value"], "top": 3, "weight": "w"} | options
    return Request(dimensions=dimensions, hierarchies=HIERARCHIES, **options)


# --- the second way: the rule of `tables.magnitudes.exact` in fractions ----------------------


def is_on_grid(x):
    return abs(x) < 2e9 and round(x * 1e6) / 1e6 == x


def exact(x):
    """Return the number that a double stands for."""
    if is_on_grid(x):
        return Fraction(round(x * 1e6), 10**6)
    return as_it_is(x)


def as_it_is(x):
    """Return a double, rounded to 15 decimals."""
    fraction = (x - math.trunc(x)) * 1e15
    last = math.copysign(math.floor(abs(fraction) + 0.5), fraction)
    return math.trunc(x) + Fraction(int(last), 10**15)


def weighted(x, w):
    if is_on_grid(x) and is_on_grid(w):
        return exact(x) * exact(w)
    return as_it_is(x * w)  # 1/3 · 921.456 is the double 307.152, not that decimal


def rounded(x):
    """Return the nearest double, whole part and fraction apart."""
    whole, rest = divmod(abs(x), 1)
    return math.copysign(float(whole) + float(rest), x) if x else 0.0


def tabulate_directly(records, paths, *, key_range, top=3, is_weighted=True):
    cells = {}
    for record in records:
        for labels in itertools.product(*(path(record) for path in paths)):
            cells.setdefault(tuple(itertools.chain.from_iterable(labels)), []).append(record)
    return {
        n: directly(members, key_range, top=top, is_weighted=is_weighted)
        for n, members in cells.items()
    }


def directly(members, key_range, *, top, is_weighted):
    here = [
        (r["value"] if exact(r["value"]) else 0.0, r["w"], r["key"])
        for r in members
        if r["value"] is not None
    ]
    if not is_weighted:
        here = [(x, 1.0, key) for x, _, key in here]
    some = [(x, w, key) for x, w, key in here if x]
    largest = sorted(some, key=lambda c: (abs(c[0]), c[1], c[0]), reverse=True)[:top]
    pad = [0.0] * (top - len(largest))
    held = sorted(((abs(x * w), key) for x, w, key in some), reverse=True)[:3] if top else []
    held += [(0.0, 0)] * (3 * bool(top) - len(held))
    return {
        "total": rounded(sum((weighted(x, w) for x, w, _ in some), Fraction(0))),
        "raw_total": rounded(sum((exact(x) for x, _, _ in some), Fraction(0))),
        "contributors": len(some),
        "weighted_contributors": rounded(sum((exact(w) for _, w, _ in some), Fraction(0))),
        "records": len(here),
        "weight": rounded(sum((exact(w) for _, w, _ in here), Fraction(0))),
        "key": sum(key for _, _, key in some) % key_range,
        "top": [x for x, _, _ in largest] + pad,
        "top_weight": [w for _, w, _ in largest] + pad,
        "largest": max((abs(x * w) for x, w, _ in some), default=0.0),
        "low": min((x for x, _, _ in here), default=0.0),
        "high": max((x for x, _, _ in here), default=0.0),
        "first_sizes": [size for size, _ in held],
        "first_keys": [key for _, key in held],
    }


@given(amounts(missing=True), dimension_lists, st.booleans(), st.integers(1, 6))
@settings(max_examples=examples(20))
def test_magnitudes_and_their_margins_are_those_of_a_direct_tabulation(
    population, dimensions, is_weighted, top
):
    records, key_range = population
    wish = request(
        dimensions, weight="w" if is_weighted else None, top=top, missing_values="skip"
    )
    found = tabulate(table_of(records, key_range), [wish], key_range)[0]
    paths = [PATHS[d] for d in dimensions]
    assert found == tabulate_directly(
        records, paths, key_range=key_range, top=top, is_weighted=is_weighted
    )


@given(amounts(), dimension_lists, st.randoms(use_true_random=False))
@settings(max_examples=examples(10))
def test_neither_order_nor_chunks_nor_threads_change_a_magnitude(population, dimensions, rng):
    records, key_range = population
    shuffled = rng.sample(records, len(records))
    half = len(records) // 2
    chunked = pa.concat_tables(
        [table_of(shuffled[:half], key_range), table_of(shuffled[half:], key_range)]
    )
    wish = request(dimensions)
    assert tabulate(table_of(records, key_range), [wish], key_range) == tabulate(
        chunked, [wish], key_range, threads=4
    )


@given(amounts(), amounts())
@settings(max_examples=examples(10))
def test_records_of_other_cells_never_change_a_magnitude(population, others):
    records, key_range = population
    for record in records:
        record["sex"] = "F"
    strangers = [{**r, "sex": "M", "key": r["key"] % key_range} for r in others[0]]
    alone = tabulate(table_of(records, key_range), [request(["sex"])], key_range)[0]
    beside = tabulate(table_of(records + strangers, key_range), [request(["sex"])], key_range)[
        0
    ]
    assert beside.get(("F",)) == alone.get(("F",))


@given(
    amounts(),
    st.lists(
        st.tuples(dimension_lists, st.booleans(), st.integers(0, 6)), min_size=2, max_size=4
    ),
)
@example(
    (
        [
            {
                "sex": "F",
                "age": 1,
                "region": "11",
                "department": "01",
                "zone": None,
                "id": 0,
                "weight": 1,
                "key": 0,
                "value": 1.0,
                "w": 1.0,
            }
        ],
        16,
    ),
    [([], False, 0), ([], False, 1)],
)
@settings(max_examples=examples(10))
def test_requests_in_one_scan_get_what_each_gets_alone(population, wishes):
    records, key_range = population
    data = table_of(records, key_range)
    requests = [
        request(
            dimensions,
            weight="w" if is_weighted else None,
            top=top,
            where="sex = 'F'" if top % 2 else None,
        )
        for dimensions, is_weighted, top in wishes
    ]
    together, *alone = tabulate_each(data, [requests, *([r] for r in requests)], key_range)
    assert together == [found for (found,) in alone]


@given(amounts(), dimension_lists)
@settings(max_examples=examples(10))
def test_a_filter_leaves_the_magnitudes_of_the_records_that_meet_it(population, dimensions):
    records, key_range = population
    kept = [r for r in records if r["age"] is not None and r["age"] >= 2]
    wish = request(dimensions, where="age >= 2")
    found = tabulate(table_of(records, key_range), [wish], key_range)[0]
    paths = [PATHS[d] for d in dimensions]
    assert found == tabulate_directly(kept, paths, key_range=key_range)


wide = st.integers(-(10**36), 10**36)


@given(st.lists(wide, min_size=1, max_size=5), st.sampled_from([0, 5, 10, 15]))
@example([0, -1, 10**15 - 1, -(2**96)], 15)
@example([2**64 + 2**11, 2**64 + 2**11 + 1, -(2**90) - 2**37 - 1, 2**85 + 2**32 + 1], 0)
def test_wide_sums_become_the_number_that_they_stand_for(sums, decimals):
    limbs = [[n & (2**32 - 1), (n >> 32) & (2**32 - 1), n >> 64] for n in sums]
    columns = [np.array(limb, np.int64) for limb in zip(*limbs, strict=True)]
    found = exact_floats(columns, decimals=decimals).tolist()
    for number, total in zip(found, sums, strict=True):
        wanted = float(Fraction(total, 10**decimals))
        assert abs(number - wanted) <= math.ulp(wanted)
        if abs(total) < 2**93 * 10**decimals:
            assert number == rounded(Fraction(total, 10**decimals))
        if abs(total) < 2**53 * 10**decimals and total % 10**decimals == 0:
            assert number == wanted


@given(st.integers(-(2**60), 2**60), st.sampled_from([0, 2, 4, 6]))
def test_a_sum_is_the_same_number_in_whatever_unit_it_was_added_up(total, decimals):
    narrow = exact_floats([np.array([total])], decimals=decimals)
    larger = total * 10 ** (15 - decimals)
    limbs = [larger & (2**32 - 1), (larger >> 32) & (2**32 - 1), larger >> 64]
    wide = exact_floats([np.array([limb]) for limb in limbs], decimals=15)
    assert narrow.tolist() == wide.tolist()


@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.lists(st.integers(0, 9), min_size=3, max_size=3)),
        min_size=1,
        max_size=12,
    )
)
def test_merged_largest_are_the_largest_of_the_union(cells):
    place = np.array([place for place, _ in cells])
    top = np.array([ranks for _, ranks in cells])
    merged = merge_top(place, top, 5)
    for at in range(5):
        union = sorted(top[place == at].ravel().tolist(), reverse=True)[:3]
        assert merged[at].tolist() == union + [0] * (3 - len(union))


@given(amounts(missing=True), dimension_lists.filter(bool), st.sampled_from(["w", None]))
@settings(max_examples=examples(30))
def test_cells_of_records_that_duckdb_did_not_group_are_those_that_it_did(
    data, dimensions, weight
):
    records, key_range = data
    table = table_of(records, key_range)
    wish = request(dimensions, weight=weight, missing_values="skip")
    grouped, kept = {"_MOST_KEPT": -1}, {"_FEW_ALIKE": 2.0**60}
    answers = []
    for limits in (grouped, kept):
        with patch.multiple("tables.cells.cube", **limits):
            answers.append(tabulate(table, [wish], key_range))
    assert answers[0] == answers[1]
