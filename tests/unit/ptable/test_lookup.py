import subprocess
import sys
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from ptable import NoiseSpec, PTable, PTableError, solve
from ptable.lookup import KeyIndex, MarginOfError, intervals, margin_of_error
from tests.strategies import worked_ptable

TABLE = PTable(noise=[[0], [-1, 1]], upper=[[8], [4, 8]], key_range=8)


@pytest.mark.parametrize(
    ("counts", "keys", "words"),
    [
        ([1.0], [1], "counts must be integers"),
        ([1], [1.0], "cell_keys must be integers"),
        ([True], [1], "counts must be integers"),
        ([-31], [1], "counts must not be negative"),
        ([1], [-77], r"cell_keys must lie in 0\.\.4294967295"),
        ([1], [2**32 + 77], r"cell_keys must lie in 0\.\.4294967295"),
        ([1, 2], [1], "the same shape"),
    ],
)
def test_wrong_cells_are_refused_without_showing_them(counts, keys, words):
    with pytest.raises(PTableError, match=words) as caught:
        TABLE.lookup(counts, keys)
    assert "31" not in str(caught.value).replace("2**31", "")
    assert "77" not in str(caught.value)


@pytest.mark.parametrize("key_range", [1, 2**64 + 1, 2.0, True])
def test_a_wrong_key_range_is_refused(key_range):
    with pytest.raises(PTableError, match="key_range must be"):
        TABLE.lookup([1], [0], key_range=key_range)


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.int32, np.uint32, np.uint64])
def test_every_integer_type_serves_as_a_count(kind):
    counts = np.array([0, 1, 100], dtype=kind)
    assert TABLE.lookup(counts, np.array([0, 0, 2**31], np.uint32)).tolist() == [0, -1, 1]


def test_nothing_in_gives_nothing_out():
    assert TABLE.lookup([], []).shape == (0,)
    assert TABLE.lookup([], []).dtype == np.int64


def test_shape_and_arguments_are_kept():
    counts = np.array([[1, 1], [0, 3]])
    keys = np.array([[0, 2**31], [5, 9]], dtype=np.uint32)
    before = counts.copy(), keys.copy()
    assert TABLE.lookup(counts, keys).tolist() == [[-1, 1], [0, -1]]
    assert (counts == before[0]).all()
    assert (keys == before[1]).all()
    assert TABLE.lookup(pd.Series([1, 1]), pd.Series([0, 2**31])).tolist() == [-1, 1]


def test_a_key_on_a_bound_belongs_to_the_next_interval():
    assert TABLE.lookup([1, 1], [3, 4], key_range=8).tolist() == [-1, 1]
    assert TABLE.lookup([1, 1], [2**31 - 1, 2**31]).tolist() == [-1, 1]


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
print([name for name in ("highspy", "scipy", "pandas", "pyarrow") if name in sys.modules])
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
