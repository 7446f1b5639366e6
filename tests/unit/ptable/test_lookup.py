import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from ptable import NoiseSpec, PTable, PTableError, solve

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
print([name for name in ("cvxpy", "scipy", "pandas", "pyarrow") if name in sys.modules])
"""
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "[]"
