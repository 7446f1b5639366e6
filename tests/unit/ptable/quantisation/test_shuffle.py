import logging
from collections import Counter
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from ptable import NoiseSpec, PTable, PTableError, solve
from ptable.quantisation.key_matrix import table_from_key_matrix
from ptable.quantisation.shuffle import _pieces, _size, shuffle


@pytest.fixture(scope="module")
def table():
    return solve(NoiseSpec(max_noise=5, variance=3.0, small=2))


def key_matrix(table, *, n_counts):
    """Give the noise of each key (row) and count (column, from 1 on), as SuperSTAR has it."""
    counts, keys = np.meshgrid(np.arange(1, n_counts + 1), np.arange(table.key_range))
    return table.lookup(counts, keys, key_range=table.key_range)


def _intervals(table, count):
    ends = (0, *table.upper[count])
    return [(v, b - a) for v, (a, b) in zip(table.noise[count], pairwise(ends), strict=True)]


def test_probabilities_stay_and_intervals_move(table):
    new = table.shuffle(np.random.default_rng(1))
    assert new != table
    assert new.noise[0] == (0,)
    for count in range(table.n_rows):
        assert new.units(count) == table.units(count)
    assert new.spec == table.spec
    new.certificate.check(new)


def test_the_same_generator_gives_the_same_table_and_is_all_that_changes(table):
    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    first = table.shuffle(np.random.default_rng(7))
    rng = np.random.default_rng(7)
    assert table.shuffle(rng) == first
    assert table.shuffle(rng) != first
    assert table.shuffle(np.random.default_rng(8)) != first
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002


def test_rows_are_shuffled_independently():
    alike = PTable.from_units(
        [{0: 100}, *[{-1: 50, 1: 50}] * 5], key_range=100, large_counts="cycle:5"
    )
    new = alike.shuffle(np.random.default_rng(1), piece="key")
    assert len(set(new.upper[1:])) == 5


def test_an_exact_multiple_leaves_no_empty_piece():
    table = PTable.from_units([{0: 10}, {-1: 4, 0: 2, 1: 4}], key_range=10)
    for seed in range(20):
        new = shuffle(table, np.random.default_rng(seed), piece=0.2)
        assert all(size in {2, 4} for _, size in _intervals(new, 1))
        assert new.units(1) == table.units(1)


@pytest.mark.parametrize(
    ("piece", "key_range", "keys"),
    [
        (0.29, 100, 29),
        (0.57, 100, 57),
        (Fraction(1, 3), 300, 100),
        (Fraction(1, 300), 300, 1),
        ("key", 300, 1),
        (1, 7, 7),
    ],
)
def test_a_piece_is_the_probability_that_is_written(piece, key_range, keys):
    assert _size(piece, key_range) == keys


@pytest.mark.slow
def test_every_order_of_pieces_comes_up_equally_often():
    table = PTable.from_units([{0: 3}, {-1: 1, 0: 1, 1: 1}], key_range=3)
    rng = np.random.default_rng(20270301)
    seen = Counter(shuffle(table, rng, piece="key").noise[1] for _ in range(6000))
    assert len(seen) == 6
    assert max(abs(n - 1000) for n in seen.values()) < 130


@pytest.mark.slow
def test_single_keys_are_all_moved(table):
    few = table.quantise(256).shuffle(np.random.default_rng(3), piece="key")
    assert _longest_run(few) < 40
    assert max(len(row) for row in few.noise) > 100
    same = shuffle(few, np.random.default_rng(4), piece=Fraction(1, 256))
    assert same == shuffle(few, np.random.default_rng(4), piece="key")


def _longest_run(table):
    runs = [size for count in range(1, table.n_rows) for _, size in _intervals(table, count)]
    return max(runs)


def test_pieces_are_those_of_the_reference(shared):
    """From ``modify_cnt_ptable(threshold = 0.2, seed = 123)`` of R's ptable 1.0.0."""
    folder = shared / "reference/ptable"
    plain = PTable.from_frame(pd.read_csv(folder / "cnt_D5_V300_js2.csv"), key_range=10**8)
    theirs = pd.read_csv(folder / "cnt_D5_V300_js2_ptable_modified_t020_s123.csv")
    n_compared = 0
    for count, lines in theirs[(theirs["i"] > 0) & (theirs["p"] > 1e-9)].groupby("i"):
        expected = sorted(
            (v, round(p * 10**8)) for v, p in zip(lines["v"], lines["p"], strict=True)
        )
        values, sizes = _pieces(plain.units(count), 20_000_000)
        ours = sorted(zip(values, sizes, strict=True))
        assert [v for v, _ in ours] == [v for v, _ in expected]
        # their thresholds are rounded to eight digits, each piece by itself
        gaps = [abs(a - b) for (_, a), (_, b) in zip(ours, expected, strict=True)]
        assert max(gaps) <= 1
        n_compared += len(ours)
    assert n_compared > 70


def test_the_log_counts_pieces_and_joined_ones(caplog):
    table = PTable.from_units([{0: 10}, {-1: 5, 1: 5}], key_range=10)
    with caplog.at_level(logging.INFO, logger="ptable.quantisation.shuffle"):
        new = shuffle(table, np.random.default_rng(1), piece="key")
    (record,) = caplog.records
    assert (record.rows, record.pieces) == (2, 10)
    assert record.joined == 10 - len(new.noise[1])


@pytest.mark.parametrize(
    "wrong", [0, -0.1, 1.1, 1e-12, float("nan"), float("inf"), "x", None, True]
)
def test_a_piece_that_is_none_is_refused(wrong):
    table = PTable.from_units([{0: 10}, {-1: 5, 1: 5}], key_range=10)
    with pytest.raises(PTableError, match="piece must be a probability"):
        table.shuffle(np.random.default_rng(1), piece=wrong)


def test_only_a_generator_gives_the_order(table):
    for wrong in (1, None, np.random, np.random.RandomState(1)):
        with pytest.raises(PTableError, match=r"must be a numpy\.random\.Generator"):
            table.shuffle(wrong)


def test_too_many_pieces_are_refused_with_a_way_out(table):
    with pytest.raises(PTableError, match="quantise the table"):
        table.shuffle(np.random.default_rng(1), piece="key")


@pytest.mark.slow
def test_a_key_matrix_looks_up_what_its_table_does(table):
    few = table.quantise(256).shuffle(np.random.default_rng(5), piece="key")
    matrix = key_matrix(few, n_counts=30)
    counts, keys = np.meshgrid(np.arange(1, 31), np.arange(256))
    assert (matrix == few.lookup(counts, keys, key_range=256)).all()
    again = table_from_key_matrix(matrix)
    assert (
        again.lookup(counts + 20, keys, key_range=256)
        == few.lookup(counts + 20, keys, key_range=256)
    ).all()
    assert table_from_key_matrix(key_matrix(few, n_counts=few.n_rows - 1)) == few
