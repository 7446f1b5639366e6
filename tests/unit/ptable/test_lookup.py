import subprocess
import sys
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from ptable import NoiseSpec, PTable, PTableError, solve
from ptable.design.mechanisms import Mechanism
from ptable.lookup import (
    KeyIndex,
    MarginOfError,
    cycle_length,
    intervals,
    look_up,
    margin_of_error,
    moments,
    rounding_base,
    row_of,
    serving_row,
)
from tests.strategies import worked_ptable


@pytest.fixture
def table():
    return PTable(noise=[[0], [-1, 1]], upper=[[8], [4, 8]], key_range=8)


@pytest.mark.parametrize(
    ("counts", "keys", "words"),
    [
        ([1.0], [1], "counts must be integers"),
        ([1], [1.0], "cell_keys must be integers"),
        ([True], [1], "counts must be integers"),
        ([-31], [1], "counts must not be negative"),
        ([1], [-77], r"cell_keys must lie in 0\.\.4294967295"),
        ([1], [2**32 + 77], r"cell_keys must lie in 0\.\.4294967295"),
        ([1], [2**32], r"cell_keys must lie in 0\.\.4294967295"),
        ([1, 2], [1], "the same shape"),
    ],
)
def test_wrong_cells_are_refused_without_showing_them(table, counts, keys, words):
    with pytest.raises(PTableError, match=words) as caught:
        table.lookup(counts, keys)
    assert "31" not in str(caught.value).replace("2**31", "")
    assert "77" not in str(caught.value)


@pytest.mark.parametrize("key_range", [1, 2**64 + 1, 2.0, True])
def test_a_wrong_key_range_is_refused(table, key_range):
    with pytest.raises(PTableError, match="key_range must be"):
        table.lookup([1], [0], key_range=key_range)


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.int32, np.uint32, np.uint64])
def test_every_integer_type_serves_as_a_count(table, kind):
    counts = np.array([0, 1, 100], dtype=kind)
    assert table.lookup(counts, np.array([0, 0, 2**31], np.uint32)).tolist() == [0, -1, 1]


def test_nothing_in_gives_nothing_out(table):
    assert table.lookup([], []).shape == (0,)
    assert table.lookup([], []).dtype == np.int64
    with pytest.raises(PTableError, match="the same shape"):
        table.lookup([], [1])


def test_shape_and_arguments_are_kept(table):
    counts = np.array([[1, 1], [0, 3]])
    keys = np.array([[0, 2**31], [5, 9]], dtype=np.uint32)
    before = counts.copy(), keys.copy()
    assert table.lookup(counts, keys).tolist() == [[-1, 1], [0, -1]]
    assert (counts == before[0]).all()
    assert (keys == before[1]).all()
    assert table.lookup(pd.Series([1, 1]), pd.Series([0, 2**31])).tolist() == [-1, 1]


def test_a_key_on_a_bound_belongs_to_the_next_interval(table):
    assert table.lookup([1, 1], [3, 4], key_range=8).tolist() == [-1, 1]
    assert table.lookup([1, 1], [2**31 - 1, 2**31]).tolist() == [-1, 1]


# --- another way of computing: interval by interval, in Python's integers -------------------


def noise_of(table, count, key, key_range):
    """Find the first threshold u of T that key k of K falls below: k T < u K."""
    counts = table.counts.tolist()
    if count in counts:
        row = counts.index(count)
    elif table.large_counts == "last":
        row = table.n_rows - 1
    else:
        turn = int(table.large_counts.removeprefix("cycle:"))
        row = count
        while row >= table.n_rows:
            row -= turn * max(1, (row - table.n_rows) // turn)
    pairs = zip(table.noise[row], table.upper[row], strict=True)
    return next(v for v, upper in pairs if key * table.key_range < upper * key_range)


def random_table(seed, **settings):
    rng = np.random.default_rng(seed)
    keys = int(rng.choice([8, 100, 256, 2**32]))
    noise, upper = [[0]], [[keys]]
    for count in settings.get("anchors", range(int(rng.integers(4, 9))))[1:]:
        ends = sorted({int(x) for x in rng.integers(1, keys, rng.integers(1, 9))} | {keys})
        noise.append([int(v) for v in rng.integers(-count, 40, len(ends))])
        upper.append(ends)
    return PTable(noise=noise, upper=upper, key_range=keys, **settings)


SETTINGS = [
    {},
    {"large_counts": "cycle:2"},
    {"large_counts": "cycle:3"},
    {"anchors": (0, 2, 9)},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("key_range", [2, 3, 8, 257, 10_007])
def test_every_key_of_a_small_range_gets_the_noise_of_its_interval(settings, key_range):
    for seed in (1, 2):
        table = random_table([seed, key_range], **settings)
        counts = [*table.counts.tolist(), *range(table.counts[-1] + 1, table.counts[-1] + 7)]
        keys = np.unique(np.linspace(0, key_range - 1, 300).astype(np.int64))
        for count in counts:
            noise = table.lookup(np.full(len(keys), count), keys, key_range=key_range)
            expected = [noise_of(table, count, int(key), key_range) for key in keys]
            assert noise.tolist() == expected, count


@pytest.mark.parametrize("key_range", [2**32, 2**61 - 1, 2**63 - 25, 2**63, 2**64])
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_keys_beside_every_threshold_of_a_large_range_get_the_noise_of_their_interval(
    settings, key_range
):
    table = random_table(key_range % 1000, **settings)
    cells = []
    for count in (*table.counts.tolist(), table.counts[-1] + 1, 2**40 + 3, 2**64 - 1):
        edges = {0, key_range - 1}
        for ends in table.upper:
            middles = [end * key_range // table.key_range for end in ends]
            edges |= {middle + by for middle in middles for by in (-1, 0, 1)}
        cells += [(int(count), key) for key in sorted(edges) if 0 <= key < key_range]
    counts, keys = (np.array(side, dtype=np.uint64) for side in zip(*cells, strict=True))
    expected = [noise_of(table, count, key, key_range) for count, key in cells]
    assert table.lookup(counts, keys, key_range=key_range).tolist() == expected


def test_two_rows_of_half_of_all_words_do_not_overflow(table):
    keys = np.array([0, 2**62 - 1, 2**62, 2**63 - 1], dtype=np.uint64)
    assert table.lookup([1] * 4, keys, key_range=2**63).tolist() == [-1, -1, 1, 1]
    assert not KeyIndex.build(table, 2**63).shared.size


@pytest.mark.parametrize("largest", [2**31 - 1, 2**31, 2**40])
def test_noise_of_any_size_keeps_its_value(largest):
    wide = PTable(noise=[[0, largest], [-1, 1]], upper=[[5, 8], [4, 8]], key_range=8)
    assert wide.lookup([0, 0, 1], [4, 5, 0], key_range=8).tolist() == [0, largest, -1]
    assert wide.lookup([0, 0], [2**31, 2**32 - 1]).tolist() == [0, largest]


def test_cells_beyond_one_chunk_are_looked_up_like_the_others(table):
    n = 2 * 2**17 + 5
    keys = np.arange(n) % 8
    noise = table.lookup(np.ones(n, np.int64), keys, key_range=8)
    assert (noise == np.where(keys < 4, -1, 1)).all()
    refused = np.ones(n, np.int64)
    refused[-1] = -1
    with pytest.raises(PTableError, match="counts must not be negative"):
        table.lookup(refused, keys, key_range=8)


def test_counts_between_anchors_are_refused_and_larger_ones_take_the_last():
    magnitudes = PTable(
        noise=[[0], [-1, 1], [-3, 3]],
        upper=[[8], [4, 8], [2, 8]],
        key_range=8,
        anchors=(0, 2, 300),
    )
    keys = [0, 0, 3, 3, 3]
    assert magnitudes.lookup([0, 2, 300, 301, 10**9], keys, key_range=8).tolist() == [
        *(0, -1, 3, 3, 3)
    ]
    for count in (1, 3, 299):
        with pytest.raises(PTableError, match="counts must be anchors of the p-table"):
            magnitudes.lookup([2, count], [0, 0], key_range=8)
    # a type of 8 bits holds no 300, so that 127 is below the last anchor
    with pytest.raises(PTableError, match="counts must be anchors"):
        magnitudes.lookup(np.array([127], np.int8), [0], key_range=8)
    assert magnitudes.lookup(np.array([2], np.int8), [0], key_range=8).tolist() == [-1]


def test_an_index_has_the_key_range_and_the_rows_it_was_built_for(table):
    index = KeyIndex.build(table, 16)
    assert (index.key_range, index.cycle, index.anchors.tolist()) == (16, 1, [])
    assert [uppers.tolist() for uppers in index.uppers] == [[], [8]]
    assert index.noise.tolist() == [0, -1, 1]
    assert index.starts.tolist() == [0, 1, 3]
    assert look_up(index, [1, 1], [7, 8]).tolist() == [-1, 1]
    with pytest.raises(AttributeError):
        index.cycle = 2
    assert index != KeyIndex.build(table, 16)


# --- rows and their keys ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "length"), [("last", 1), ("cycle:2", 2), ("cycle:5", 5), ("cycle:10", 10)]
)
def test_the_rule_for_large_counts_says_how_many_rows_take_turns(rule, length):
    assert cycle_length(rule, n_rows=10) == length


@pytest.mark.parametrize(
    "rule",
    [
        "first",
        "cycle",
        "cycle:",
        "cycle:1",
        "cycle:11",
        "cycle:0",
        "cycle:-2",
        "cycle:02",
        "cycle:2.0",
        "cycle:٢",
        "turn:2",
        "cycle:2:3",
        " cycle:2",
        None,
        2,
    ],
)
def test_another_rule_for_large_counts_is_refused_with_those_there_are(rule):
    with pytest.raises(PTableError, match=r"with N from 2 to the number of rows, 10, not"):
        cycle_length(rule, n_rows=10)


def test_rows_beyond_the_last_are_served_in_turn():
    turns = [serving_row(count, n_rows=5, cycle=3) for count in range(12)]
    assert turns == [0, 1, 2, 3, 4, 2, 3, 4, 2, 3, 4, 2]
    assert [serving_row(count, n_rows=5, cycle=1) for count in (4, 5, 10**30)] == [4, 4, 4]
    rows = PTable(noise=[[0]] * 5, upper=[[8]] * 5, key_range=8, large_counts="cycle:3")
    assert [row_of(rows, count) for count in range(12)] == turns


def test_intervals_follow_each_other():
    assert list(intervals([3, -1], [5, 8])) == [(3, 0, 5), (-1, 5, 8)]
    assert list(intervals([0], [8])) == [(0, 0, 8)]


def test_moments_are_those_of_the_keys():
    # noise -1 (6 keys of 9) and 2 (3 of 9): mean 0, variance (6 + 12) / 9
    assert moments({-1: 6, 2: 3}, 9) == (0, 2)
    # a throw of 0 or 3: mean 1, variance (2/3)(1/3) 9
    assert moments({0: 2, 3: 1}, 3) == (1, 2)


@pytest.mark.parametrize(
    ("mechanism", "base"),
    [
        (Mechanism.rounding, 5),
        (Mechanism.random_rounding, 3),
        (lambda base: Mechanism.rounding(base, ties="even"), 4),
        (lambda _: Mechanism.ons_10_5(), 5),
    ],
)
def test_the_base_of_rounded_counts_is_found(mechanism, base):
    assert rounding_base(mechanism(base).build()) == base


def test_counts_that_are_not_rounded_have_base_1(table):
    assert rounding_base(table) == 1
    # counts 0 and 3 only, but a count of 4 would be published as 4
    assert rounding_base(Mechanism.small_count_rounding(3).build()) == 1


# --- thresholds of solved tables ----------------------------------------------------------


# Rows of 2**32 keys share one list of thresholds; those of 2**63 are too long for it, and are
# searched one by one. The exact share of each noise is `PTable.units`.
@pytest.mark.parametrize("key_range", [2**32, 2**63])
@pytest.mark.parametrize("spec", [(5, 3.0, 2), (2, 1.0, 0), (12, 4.0, 1)])
def test_an_interval_of_a_solved_table_holds_its_first_and_its_last_key_and_no_other(
    spec, key_range
):
    table = solve(NoiseSpec(max_noise=spec[0], variance=spec[1], small=spec[2]))
    scale = key_range // table.key_range
    counts, keys, expected = [], [], []
    for row, (values, uppers) in enumerate(zip(table.noise, table.upper, strict=True)):
        for v, lower, upper in intervals(values, uppers):
            counts += [row, row]
            keys += [lower * scale, upper * scale - 1]
            expected += [v, v]
    index = KeyIndex.build(table, key_range)
    assert bool(index.shared.size) == (key_range == 2**32)
    assert len(set(expected)) > 2 * spec[0]  # of noise that differs from its neighbour's
    looked_up = table.lookup(counts, np.array(keys, np.uint64), key_range=key_range)
    assert looked_up.tolist() == expected


def test_keys_follow_the_stated_probabilities():
    table = solve(NoiseSpec(max_noise=3, variance=1.5))
    keys = np.arange(0, 2**32, 2**12, dtype=np.uint32)
    for count in (1, 2, 3, 50):
        noise = table.lookup(np.full(len(keys), count), keys)
        shares = np.bincount(count + noise, minlength=len(table.targets) + 50) / len(keys)
        row = table.transition[min(count, 3)]
        start = max(count - 3, 0)
        assert np.abs(shares[start : start + len(row)] - row).max() < 2e-6


@pytest.mark.slow
def test_lookups_load_no_solver_and_no_data_frames():
    program = """
import sys
from ptable import PTable
table = PTable(noise=[[0], [-1, 1]], upper=[[8], [4, 8]], key_range=8)
table.lookup([1, 2], [3, 4])
table.transition, table.id
heavy = ("cvxpy", "highspy", "scipy", "pandas", "pyarrow")
print([name for name in heavy if name in sys.modules])
"""
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "[]"


# --- the margin of error --------------------------------------------------------------------


def test_the_margin_of_error_of_small_tables_is_that_worked_out_by_hand():
    rare = PTable(noise=[[0], [-1, 0, 1]], upper=[[40], [1, 39, 40]], key_range=40)
    # P(no noise) is 38/40 = 95 %; P(two cells differ by nothing) is 0.9025 + 2/1600
    assert margin_of_error(rare) == MarginOfError(largest=1, count=0, difference=1)
    # P(-1 <= noise <= 1) is 90 % at most; of two cells of 2 P(difference of 3 or 4) is
    # 2 (2 * 0.06 * 0.25 + 0.06²) = 6.7 %, P(difference of 4) 0.7 %
    assert margin_of_error(worked_ptable()) == MarginOfError(largest=2, count=2, difference=3)
    lopsided = PTable(noise=[[0], [-1, 3]], upper=[[8], [6, 8]], key_range=8)
    assert margin_of_error(lopsided) == MarginOfError(largest=3, count=3, difference=4)


def test_margins_of_error_are_plain_values_given_by_name():
    margin = MarginOfError(largest=3, count=2, difference=3)
    with pytest.raises(AttributeError):
        margin.count = 1
    with pytest.raises(TypeError):
        MarginOfError(3, 2, 3)


@pytest.mark.parametrize("spec", [(5, 3.0, 2), (8, 7.0, 0), (12, 4.0, 1)])
def test_margins_of_error_cover_every_row_and_every_two_rows_and_no_smaller_ones_do(spec):
    table = solve(NoiseSpec(max_noise=spec[0], variance=spec[1], small=spec[2]))
    found = margin_of_error(table)
    rows = [table.units(count) for count in range(table.n_rows)]

    def least(others, width):
        shares = (
            Fraction(
                sum(n * m for v, n in a.items() for u, m in b.items() if abs(v - u) <= width),
                sum(a.values()) * sum(b.values()),
            )
            for a in rows
            for b in others
        )
        return min(shares)

    for others, width in (([{0: 1}], found.count), (rows, found.difference)):
        assert least(others, width) >= Fraction(95, 100) > least(others, width - 1)
