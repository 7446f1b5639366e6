"""Lookups against a cell-by-cell computation with Python's own integers."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ptable import PTable
from tests.strategies import examples

RANGES = st.one_of(
    st.sampled_from([2, 3, 256, 10**7, 10**8, 2**31, 2**32, 10**18, 2**63, 2**64 - 1, 2**64]),
    st.integers(2, 2**64),
)


@st.composite
def tables(draw):
    key_range = draw(RANGES)
    noise, upper = [], []
    for count in range(draw(st.integers(1, 6))):
        cuts = draw(st.lists(st.integers(0, key_range), max_size=7))
        upper.append((*sorted(cuts), key_range))
        values = st.integers(-count, 6)
        noise.append(tuple(draw(values) for _ in upper[-1]))
    n_rows = len(noise)
    rules = ["last", *(f"cycle:{n}" for n in range(2, n_rows + 1))]
    return PTable(
        noise=tuple(noise),
        upper=tuple(upper),
        key_range=key_range,
        large_counts=draw(st.sampled_from(rules)),
    )


def _row(table, count):
    last = table.n_rows - 1
    if count <= last:
        return count
    n = 1 if table.large_counts == "last" else int(table.large_counts.split(":")[1])
    return last + 1 - n + (count - last - 1) % n


def _naive(table, count, key, key_range):
    row = _row(table, count)
    for v, upper in zip(table.noise[row], table.upper[row], strict=True):
        if key * table.key_range < upper * key_range:
            return v
    raise AssertionError


@settings(max_examples=examples(300))
@given(tables(), RANGES, st.data())
def test_lookup_equals_the_naive_one(table, key_range, data):
    on_bounds = [
        min(key_range - 1, max(0, upper * key_range // table.key_range + shift))
        for row in table.upper
        for upper in row
        for shift in (-1, 0, 1)
    ]
    drawn = data.draw(st.lists(st.integers(0, key_range - 1), max_size=20))
    keys = on_bounds + drawn
    counts = data.draw(
        st.lists(st.integers(0, 40), min_size=len(keys), max_size=len(keys)), label="counts"
    )
    ours = table.lookup(counts, np.array(keys, dtype=np.uint64), key_range=key_range)
    assert ours.dtype == np.int64
    expected = [_naive(table, n, key, key_range) for n, key in zip(counts, keys, strict=True)]
    assert ours.tolist() == expected


@settings(max_examples=examples(30))
@given(tables(), st.integers(0, 2**32 - 1))
def test_order_and_chunks_do_not_matter(table, seed):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 10, 1000)
    keys = rng.integers(0, 2**32, 1000, dtype=np.uint32)
    whole = table.lookup(counts, keys)
    order = rng.permutation(1000)
    assert (table.lookup(counts[order], keys[order]) == whole[order]).all()
    parts = [table.lookup(counts[i : i + 7], keys[i : i + 7]) for i in range(0, 1000, 7)]
    assert (np.concatenate(parts) == whole).all()


@given(tables())
def test_equal_tables_have_equal_ids_and_frames_round_trip(table):
    if table.large_counts != "last":
        return
    again = PTable.from_frame(table.to_frame(), key_range=table.key_range)
    assert again == table
    assert again.id == table.id
    assert hash(again) == hash(table)
