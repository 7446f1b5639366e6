"""Sketches of prepared records: those of a direct scan, whatever way the cells are found."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckm.ledger.record_sets.complement import (
    complement_members,
    nested_difference_sums,
    nested_differences,
)
from tables import Request, RequestError, StoredKeys, cube, open_source
from tables.cells.sketch import smallest_members
from tests.strategies import examples
from tests.unit.tables.prepared.test_prepared import (
    DIMENSIONS,
    FILTERS,
    HIERARCHIES,
    KEYS,
    content,
    ready,
    records,
)


def sketched(cells):
    """Return category texts → everything of a cell's sketch."""
    members = [[] for _ in range(len(cells))]
    for cell, key in zip(cells.sketch.member_cell, cells.sketch.member_key, strict=True):
        members[cell].append(int(key))
    rows = zip(
        cells.sketch.partitions.tolist(), cells.sketch.power_sums.tolist(), members, strict=True
    )
    return dict(zip(content(cells), rows, strict=True))


@pytest.fixture(scope="module", params=[1, 2, 4])
def opened(request):
    width = request.param
    with open_source(records(), threads=2) as source:
        yield source, ready(source, sketch=width, weight=None), width


@pytest.mark.slow
@settings(deadline=None, max_examples=examples(10))
@given(st.data())
def test_scanned_and_rolled_cells_have_the_sketches_of_a_direct_scan(opened, data):
    source, prepared, width = opened
    names = data.draw(st.lists(st.sampled_from(DIMENSIONS), max_size=3, unique=True))
    where = data.draw(st.sampled_from(FILTERS))
    request = Request(dimensions=names, hierarchies=HIERARCHIES, where=where)
    (wanted,) = cube(source, KEYS, [request], sketch=width)
    conditions = prepared.conditions(where)
    level_sets = request.level_sets([len(prepared.axes[n].levels) for n in names])
    levels = dict.fromkeys(names, 0)
    scanned = prepared.scan(levels, where=conditions)
    parent = prepared.scan(dict.fromkeys(DIMENSIONS, 0))
    rolled = prepared.roll(parent, levels, where=conditions)
    for found in (scanned, rolled):
        assert sketched(prepared.cells(found, names, level_sets=level_sets)) == sketched(wanted)
    assert sketched(wanted) or where == "sex in ('nobody')"


@settings(deadline=None, max_examples=examples(15))
@given(st.data())
def test_what_is_left_of_a_cell_has_its_own_members_at_whatever_level(opened, data):
    """The sketch of a complement is that of its records, found by a filter."""
    _, prepared, _ = opened
    names = data.draw(
        st.lists(st.sampled_from(DIMENSIONS), min_size=1, max_size=2, unique=True)
    )
    where = prepared.conditions(data.draw(st.sampled_from(FILTERS)))
    tops = [len(prepared.axes[n].levels) - 1 for n in names]
    fine = [data.draw(st.integers(0, top - 1)) for top in tops]
    level_sets = [
        tuple(at)
        for at in np.ndindex(*[top + 1 for top in tops])
        if all(a >= b for a, b in zip(at, fine, strict=True))
    ]
    found = prepared.scan(dict(zip(names, fine, strict=True)), where=where)
    cells = prepared.cells(found, names, level_sets=level_sets)
    pairs = nested_differences(cells, np.ones(len(cells), bool))
    partitions, power_sums = nested_difference_sums(cells.sketch, pairs)
    for number in range(len(pairs)):
        whole = cells.sketch.partitions[pairs.whole[number]]
        part = cells.sketch.partitions[pairs.part[number]]
        assert (partitions[number] == whole ^ part).all()
    small = np.flatnonzero((partitions == 0).any(axis=1))
    owner, key = complement_members(cells, pairs[small])
    owner, key = smallest_members(small[owner], key, cells.sketch.width)
    pick = data.draw(st.integers(0, max(len(pairs) - 1, 0)))
    if not len(pairs):
        return
    axis = int(pairs.axis[pick])
    inside = {names[a]: int(cells.ranks[a][pairs.whole[pick]]) for a in range(len(names))}
    without = int(cells.ranks[axis][pairs.part[pick]])
    conditions = {prepared.members(name, [rank]) for name, rank in inside.items()} - {None}
    everything = prepared.scan({names[axis]: 0}, where=where | conditions)
    level = prepared.axes[names[axis]].levels
    code = everything.block.codes[0]
    is_part = np.zeros(len(code), bool)
    for place, step in enumerate(level):
        is_part |= step.ranks[code] == without
        code = code if step.up is None else step.up[code]
        assert place < len(level)
    rest = everything.block.take(np.flatnonzero(~is_part))
    keys = sorted(
        int(key)
        for cell, key in zip(rest.sketch.member_cell, rest.sketch.member_key, strict=True)
    )
    mine = key[owner == pick].tolist()
    assert (power_sums[pick] == rest.sketch.power_sums.sum(axis=0) % (2**31 - 1)).all()
    if pick in small:
        assert mine == keys[: cells.sketch.width + 1]
    else:
        assert mine == []


def test_a_filter_within_the_scan_leaves_members_out():
    with open_source(records(60), threads=1) as source:
        prepared = ready(source, sketch=2, weight=None)
        where = prepared.conditions("sex = 'F'")
        cells = prepared.cells(prepared.scan({}, where=where), [], level_sets=[()])
        request = Request(dimensions=[], where="sex = 'F'")
        (wanted,) = cube(source, KEYS, [request], sketch=2)
        assert sketched(cells) == sketched(wanted)


def test_nobody_has_no_sketch():
    with open_source(records().slice(0, 0)) as source:
        prepared = ready(source, sketch=2, weight=None)
        found = prepared.scan({"sex": 0})
        cells = prepared.cells(found, ["sex"], level_sets=[(0,), (1,)])
        assert len(cells) == len(cells.sketch) == 0


def test_cells_without_sketch_are_the_same_cells(opened):
    _, prepared, _ = opened
    found = prepared.scan({"sex": 0, "geo": 0})
    plain = found.without_sketch()
    assert plain.nbytes < found.nbytes
    options = {"level_sets": [(0, 0), (1, 1)]}
    with_one = prepared.cells(found, ["sex", "geo"], **options)
    without = prepared.cells(plain, ["sex", "geo"], **options)
    assert content(with_one) == content(without)
    assert without.sketch is None


def test_keys_of_few_bits_cannot_be_sketched():
    people = records().append_column("k", [np.arange(400) % 256])
    keys = StoredKeys(column="k", key_range=256)
    with open_source(people) as source, pytest.raises(RequestError, match="tell records apart"):
        ready(source, keys=keys, sketch=2)
