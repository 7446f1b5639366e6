"""Cells as numbers, against pandas: groups, margins rolled up, and lists laid out."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from tables import CodeTree, Hierarchy, Request
from tables.cells.axes import build_axis
from tables.cells.blocks import Block, Cells, group, lay_out, roll_up, shown_cells
from tables.cells.sketch import PRIME, Sketch
from tables.magnitudes.amounts import Amounts, ExactSum, Holders, Ranking
from tests.results import require_fixed
from tests.strategies import TOTAL

SIZE = 60
KEY_RANGE = 1_000_003
ALL = np.arange(SIZE)


def axis_of(dimension, values, hierarchies=None):
    request = Request(dimensions=[dimension], hierarchies=hierarchies or {})
    columns = {name: pa.chunked_array([pa.array(column)]) for name, column in values.items()}
    return build_axis(request, dimension, columns)


def frame_of(seed=2):
    """Return records of a ragged code, of a path of two codes, and of a sex."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "zone": rng.choice(["a1", "a2", "b"], SIZE),
            "region": rng.choice(["1", "2"], SIZE),
            "town": rng.choice(["x", "y", "z"], SIZE),
            "sex": rng.choice(["F", "M"], SIZE, p=[0.9, 0.1]),
            "key": rng.integers(0, KEY_RANGE, SIZE),
            "weight": rng.integers(0, 4, SIZE),
            "amount": rng.integers(0, 50, SIZE),
        }
    )


RECORDS = frame_of()
HIERARCHIES = {
    "zone": Hierarchy(
        columns=("zone",), tree=CodeTree({"a": None, "a1": "a", "a2": "a", "b": None})
    ),
    "geo": Hierarchy(columns=("region", "town")),
}


def with_columns(records=RECORDS):
    """Build the axes of zone, geo and sex, and code the records."""
    pairs = [
        axis_of("zone", {"zone": records["zone"]}, HIERARCHIES),
        axis_of("geo", {n: records[n] for n in ("region", "town")}, HIERARCHIES),
        axis_of("sex", {"sex": records["sex"]}),
    ]
    return tuple(axis for axis, _ in pairs), tuple(codes for _, codes in pairs)


def amounts_of(values, keys):
    """Count the amounts of single records: one code for each value, 0 for none."""
    codes = np.array(values, np.int64)
    nothing = Holders(sizes=np.zeros(1), keys=np.zeros(1, np.uint64))
    return Amounts(
        variable="amount",
        raw=ExactSum(limbs=(codes,), decimals=0),
        contributors=(codes > 0).astype(np.int64),
        records=np.ones(len(codes), np.int64),
        weighted=None,
        weights=None,
        weight=None,
        key=np.array(keys, np.uint64),
        largest=None,
        low=codes.astype(float),
        high=codes.astype(float),
        top=codes[:, np.newaxis],
        ranking=Ranking(values=np.arange(51.0), weights=np.ones(51)),
        first=np.zeros((len(codes), 0), np.int64),
        holders=nothing,
    )


def sketch_of(keys):
    """Sketch single records: all keys in the upper of two partitions."""
    keys = np.array(keys, np.uint64)
    low = keys.astype(np.int64)
    return Sketch(
        partitions=np.stack([np.zeros_like(keys), keys], axis=1),
        power_sums=np.stack([low % PRIME, low**2 % PRIME], axis=1),
        member_cell=np.arange(len(keys)),
        member_key=keys,
    )


def block_of(codes, records=RECORDS, *, is_full=True):
    """Make a block in which each record is a cell."""
    keys = records["key"].to_numpy().astype(np.uint64)
    nothing = np.zeros(len(keys), np.int64)
    weight = records["weight"].to_numpy().astype(np.int64)
    limbs = (weight * 10**9, nothing, nothing, np.minimum(weight, 1))
    return Block(
        codes,
        np.ones(len(keys), np.int64),
        keys,
        limbs if is_full else (),
        sketch_of(keys) if is_full else None,
        (amounts_of(records["amount"], keys),) if is_full else (),
    )


def table_of(block):
    """Write a block as lines of codes and numbers."""
    numbers = [*block.codes, block.count, block.key, *block.weight]
    for amounts in block.amounts:
        numbers += [amounts.raw.limbs[0], amounts.contributors, amounts.top[:, 0]]
    if block.sketch is not None:
        numbers += [*block.sketch.partitions.T, *block.sketch.power_sums.T]
    return list(zip(*(column.tolist() for column in numbers), strict=True))


def grouped(codes, records=RECORDS):
    """Do what `group` does, with pandas: the lines of `table_of`."""
    frame = records.assign(**{f"c{n}": code for n, code in enumerate(codes)})
    lines = []
    for name, cell in frame.groupby([f"c{n}" for n in range(len(codes))], sort=True):
        keys = cell["key"].tolist()
        xor = 0
        for key in keys:
            xor ^= key
        weight, amount = cell["weight"], cell["amount"]
        numbers = [len(cell), sum(keys) % KEY_RANGE]
        numbers += [int(weight.sum()) * 10**9, 0, 0, int((weight > 0).sum())]
        numbers += [int(amount.sum()), int((amount > 0).sum()), amount.max()]
        numbers += [0, xor, sum(keys) % PRIME, sum(key**2 for key in keys) % PRIME]
        lines.append((*name, *numbers))
    return lines


# --- groups -------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [1, 300, 10**6, 2**40], ids=str)
def test_cells_of_equal_codes_are_added_up_in_the_order_of_their_codes(factor):
    """Few or many combinations, up to more than a word numbers: the sums are the same."""
    axes, codes = with_columns()
    sizes = tuple(axis.levels[0].size for axis in axes)
    spread = tuple(code.astype(np.int64) * factor for code in codes)
    wide = tuple((size - 1) * factor + 1 for size in sizes)
    assert table_of(group(block_of(spread), wide, KEY_RANGE)) == grouped(spread)


def test_cells_known_to_be_distinct_are_sorted_and_nothing_else():
    axes, codes = with_columns()
    sizes = tuple(axis.levels[0].size for axis in axes)
    once = group(block_of(codes), sizes, KEY_RANGE)
    order = np.random.default_rng(1).permutation(len(once.count))
    again = group(once.take(order), sizes, KEY_RANGE, is_distinct=True)
    assert table_of(again) == table_of(once)
    assert again.amounts[0].top.tolist() == once.amounts[0].top.tolist()


def test_a_block_without_cells_or_axes_is_grouped_as_well():
    none = np.zeros(0, np.int64)
    empty = group(Block((none, none), none, none.astype(np.uint64), ()), (0, 0), 256)
    assert table_of(empty) == []
    whole = group(block_of((), is_full=False), (), KEY_RANGE)
    assert table_of(whole) == [(SIZE, int(RECORDS["key"].sum()) % KEY_RANGE)]


@pytest.mark.parametrize(
    ("size", "width"), [(3, 1), (255, 1), (256, 2), (65535, 2), (65536, 4)]
)
def test_codes_take_as_few_bytes_as_their_number_allows(size, width):
    codes = (np.array([size - 1, 0, size - 1], np.int64),)
    found = group(Block(codes, np.ones(3, np.int64), np.ones(3, np.uint64), ()), (size,), 256)
    assert found.codes[0].tolist() == [0, size - 1]
    assert found.codes[0].dtype.itemsize == width
    assert found.count.tolist() == [1, 2]


def test_cells_taken_from_a_block_bring_all_that_they_hold():
    _, codes = with_columns()
    block = block_of(codes)
    places = np.array([7, 3, 20])
    lines = table_of(block)
    assert table_of(block.take(places)) == [lines[place] for place in places]
    bare = block_of(codes, is_full=False).take(places)
    assert bare.sketch is None
    assert bare.weight == bare.amounts == ()


# --- margins ------------------------------------------------------------------------------


def wanted_cells(axes, codes, levels):
    raised = [
        axis.raised(code, 0, level)
        for axis, code, level in zip(axes, codes, levels, strict=True)
    ]
    return grouped(raised)


def finest_of(axes, codes):
    sizes = tuple(axis.levels[0].size for axis in axes)
    return group(block_of(codes), sizes, KEY_RANGE)


def test_every_combination_of_levels_is_what_the_records_give():
    axes, codes = with_columns()
    level_sets = list(itertools.product(*(range(len(axis.levels)) for axis in axes)))
    blocks = roll_up(axes, finest_of(axes, codes), level_sets, KEY_RANGE)
    assert set(blocks) == set(level_sets)
    for levels, block in blocks.items():
        assert table_of(block) == wanted_cells(axes, codes, levels), levels


@pytest.mark.parametrize(
    "level_sets", [[(2, 2, 1)], [(0, 1, 1), (2, 0, 0)], [(1, 2, 0), (0, 0, 1), (2, 2, 0)]]
)
def test_margins_need_no_others_on_the_way(level_sets):
    axes, codes = with_columns()
    blocks = roll_up(axes, finest_of(axes, codes), level_sets, KEY_RANGE)
    assert set(blocks) == {(0, 0, 0), *level_sets}
    for levels in level_sets:
        assert table_of(blocks[levels]) == wanted_cells(axes, codes, levels)


def test_rolling_up_may_start_above_the_finest_level():
    axes, codes = with_columns()
    start = (2, 1, 0)
    finest = finest_of(axes, codes)
    block = roll_up(axes, finest, [start], KEY_RANGE)[start]
    for levels in ((2, 1, 1), (2, 2, 0), (2, 2, 1)):
        found = roll_up(axes, block, [start, levels], KEY_RANGE, start=start)
        assert set(found) == {start, levels}
        assert table_of(found[levels]) == wanted_cells(axes, codes, levels)
    # The parent is chosen by its cells among those that are finer on every axis alone.
    both = roll_up(axes, finest, [(2, 0, 1), (0, 2, 0), (0, 2, 1)], KEY_RANGE)
    assert table_of(both[0, 2, 1]) == wanted_cells(axes, codes, (0, 2, 1))


def test_the_argument_of_rolling_up_is_left_alone():
    axes, codes = with_columns()
    finest = finest_of(axes, codes)
    before = table_of(finest)
    roll_up(axes, finest, [(0, 0, 0), (2, 2, 1)], KEY_RANGE)
    assert table_of(finest) == before


# --- lists of cells -----------------------------------------------------------------------


def test_shown_cells_stand_at_the_ranks_of_their_categories():
    """On the middle level of zones, b stands in for itself, and is shown with the finest."""
    axes, codes = with_columns()
    blocks = roll_up(axes, finest_of(axes, codes), [(0, 2, 1), (1, 2, 1)], KEY_RANGE)
    names = {}
    for levels in ((0, 2, 1), (1, 2, 1)):
        block = shown_cells(axes, levels, blocks[levels])
        names[levels] = [axes[0].labels[0][rank] for rank in block.codes[0]]
        for axis, ranks in zip(axes[1:], block.codes[1:], strict=True):
            assert all(labels[ranks[0]] == TOTAL for labels in axis.labels)
            assert ranks.dtype.itemsize == 1
    assert names == {(0, 2, 1): ["a1", "a2", "b"], (1, 2, 1): ["a"]}
    whole = shown_cells(axes, (1, 2, 1), blocks[1, 2, 1], is_whole=True)
    assert [axes[0].labels[0][rank] for rank in whole.codes[0]] == ["a", "b"]
    by_zone = RECORDS.groupby("zone").size()
    assert whole.count.tolist() == [by_zone["a1"] + by_zone["a2"], by_zone["b"]]


def test_cells_hidden_on_any_axis_are_left_out():
    axes, codes = with_columns()
    hidden = replace(axes[2].levels[0], is_shown=np.array([True, False]))
    axes = (*axes[:2], replace(axes[2], levels=(hidden, axes[2].levels[1])))
    block = shown_cells(axes, (0, 0, 0), finest_of(axes, codes))
    assert set(axes[2].labels[0][block.codes[2]]) == {"F"}
    assert block.count.sum() == (RECORDS["sex"] == "F").sum()


def laid_out(*, is_full=True):
    axes, codes = with_columns()
    sizes = tuple(axis.levels[0].size for axis in axes)
    finest = group(block_of(codes, is_full=is_full), sizes, KEY_RANGE)
    level_sets = [(0, 0, 0), (1, 2, 1), (2, 2, 0)]
    blocks = roll_up(axes, finest, level_sets, KEY_RANGE)
    shown = (shown_cells(axes, levels, blocks[levels]) for levels in level_sets)
    return lay_out(axes, shown, level_sets, key_range=KEY_RANGE), blocks


def test_cells_of_several_levels_are_one_list():
    cells, blocks = laid_out()
    assert isinstance(cells, Cells)
    assert cells.level_sets == ((0, 0, 0), (1, 2, 1), (2, 2, 0))
    n_finest = len(blocks[0, 0, 0].count)
    assert len(cells) == n_finest + 1 + 2
    assert cells.count[:n_finest].tolist() == blocks[0, 0, 0].count.tolist()
    in_a = RECORDS[RECORDS["zone"] != "b"]
    by_sex = RECORDS.groupby("sex")
    assert cells.count[n_finest:].tolist() == [len(in_a), *by_sex.size()]
    keys = [in_a["key"].sum(), *by_sex["key"].sum()]
    assert cells.cell_key[n_finest:].tolist() == [key % KEY_RANGE for key in keys]
    weights = [in_a["weight"].sum(), *by_sex["weight"].sum()]
    assert cells.weight[n_finest:] * 1e6 == pytest.approx(weights)
    weighted = [
        (in_a["weight"] > 0).sum(),
        *(RECORDS["weight"] > 0).groupby(RECORDS["sex"]).sum(),
    ]
    assert cells.weighted_count[n_finest:].tolist() == weighted
    amounts = cells.magnitudes["amount"]
    assert amounts.total[n_finest:].tolist() == [in_a["amount"].sum(), *by_sex["amount"].sum()]
    assert amounts.top[n_finest:, 0].tolist() == [in_a["amount"].max(), *by_sex["amount"].max()]
    assert {ranks.dtype for ranks in cells.ranks} == {np.dtype(np.int32)}
    assert [
        axis.labels[0][rank] for axis, (*_, rank) in zip(cells.axes, cells.ranks, strict=True)
    ] == [
        TOTAL,
        TOTAL,
        "M",
    ]
    assert cells.key_range == KEY_RANGE
    assert len(cells.sketch) == len(cells)
    last = RECORDS[RECORDS["sex"] == "M"]["key"]
    assert cells.sketch.partitions[-1, 1] == np.bitwise_xor.reduce(last)


def test_the_finest_cells_alone_are_a_list_as_well():
    axes, codes = with_columns()
    finest = shown_cells(axes, (0, 0, 0), finest_of(axes, codes))
    cells = lay_out(axes, iter([finest]), [(0, 0, 0)], key_range=KEY_RANGE)
    assert cells.count.tolist() == finest.count.tolist()
    assert cells.level_sets == ((0, 0, 0),)


def test_counts_beyond_those_of_32_bits_are_kept():
    axes, codes = with_columns()
    finest = finest_of(axes, codes)
    many = replace(finest, count=finest.count + 2**40)
    cells = lay_out(axes, iter([many]), [(0, 0, 0)], key_range=KEY_RANGE)
    assert cells.count.tolist() == many.count.tolist()


def test_what_nobody_asked_for_is_none():
    cells, _ = laid_out(is_full=False)
    assert cells.weight is None
    assert cells.weighted_count is None
    assert cells.sketch is None
    assert cells.magnitudes is None


def test_cells_and_blocks_cannot_be_changed():
    cells, blocks = laid_out()
    require_fixed(cells)
    assert cells != laid_out()[0], "arrays are not compared"
    require_fixed(blocks[0, 0, 0], is_positional=True)
    assert blocks[0, 0, 0] != laid_out()[1][0, 0, 0]


def test_cells_show_their_shape_alone():
    cells, _ = laid_out()
    assert repr(cells) == "Cells(3 dimensions, 3 margins)"
    assert "array" not in repr(block_of(with_columns()[1]))
