"""P-tables from the noise of every key, as SuperSTAR keeps them."""

import numpy as np
import pytest

from ptable import PTableError
from ptable.quantisation.key_matrix import table_from_key_matrix


def noise_of(table, count, n_keys):
    keys = np.arange(n_keys)
    return table.lookup(np.full(n_keys, count), keys, key_range=n_keys).tolist()


@pytest.mark.parametrize("small_n", [None, 1, 2, 3, 5])
def test_every_count_takes_the_column_that_the_rule_gives_it(small_n):
    matrix = np.random.default_rng(1).integers(0, 9, (12, 5))
    table = table_from_key_matrix(matrix, small_n=small_n, label="census")
    assert noise_of(table, 0, 12) == [0] * 12
    for count in range(1, 40):
        turn = 5 if small_n is None else 5 - small_n + 1 + count % small_n
        column = count if count <= 5 else turn
        assert noise_of(table, count, 12) == matrix[:, column - 1].tolist(), count
    assert table.n_rows == 6 + (small_n or 0)
    assert table.large_counts == ("last" if small_n in {None, 1} else f"cycle:{small_n}")
    assert (table.key_range, table.label) == (12, "census")


@pytest.mark.parametrize(
    ("count", "column"), [(30, 30), (31, 22), (39, 30), (40, 21), (41, 22), (50, 21), (131, 22)]
)
def test_larger_counts_take_the_last_columns_in_turn_as_in_superstar(count, column):
    matrix = np.random.default_rng(1).integers(-1, 3, (256, 30))
    table = table_from_key_matrix(matrix, small_n=10)
    assert noise_of(table, count, 256) == matrix[:, column - 1].tolist()


def test_a_single_column_serves_every_count():
    table = table_from_key_matrix(np.array([[0], [1], [2]], dtype=np.uint8))
    assert [noise_of(table, count, 3) for count in (0, 1, 7)] == [
        [0, 0, 0],
        [0, 1, 2],
        [0, 1, 2],
    ]


@pytest.mark.parametrize(
    "wrong",
    [[1, 2], [[]], [], [[0.5]], [[None]], [["a"]], [[True]], np.zeros((2, 2, 2), int)],
)
def test_what_is_no_matrix_of_noise_is_refused(wrong):
    with pytest.raises(PTableError, match="matrix must hold integers"):
        table_from_key_matrix(wrong)


def test_a_matrix_too_large_to_hold_is_refused():
    with pytest.raises(PTableError, match="at most 16777216 cells, not 16777217"):
        table_from_key_matrix(np.broadcast_to(np.int8(0), (2**24 + 1, 1)))


def test_a_matrix_of_as_many_cells_as_are_allowed_is_held(monkeypatch):
    monkeypatch.setattr("ptable.quantisation.key_matrix._MAX_CELLS", 4)
    assert table_from_key_matrix([[0, -1], [0, 1]]).n_rows == 3
    with pytest.raises(PTableError, match="at most 4 cells, not 6"):
        table_from_key_matrix([[0, -1], [0, 1], [0, 0]])


@pytest.mark.parametrize("wrong", [0, 3, True, 1.0])
def test_a_turn_of_no_columns_or_more_than_there_are_is_refused(wrong):
    with pytest.raises(PTableError, match=r"small_n must be an integer from 1 to 2, not"):
        table_from_key_matrix([[0, 0], [0, 0]], small_n=wrong)


def test_noise_that_leads_below_zero_is_refused():
    with pytest.raises(PTableError, match="count 1 would be published as -1"):
        table_from_key_matrix([[-2, 0], [0, 0]])
