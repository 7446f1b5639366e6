"""What a count may become, and what it may come from, before any data."""

import numpy as np
import pytest

from ptable import Mechanism, NoiseSpec, PTable, solve
from risk.errors import RiskError
from risk.inference.sets import NEGLIGIBLE, deviation_set, possible_set
from tests.unit.risk.inference.support import TABLE, transition


@pytest.mark.parametrize("floor", [0.0, 1 / 12, 2 / 12, 3 / 12, 0.3, 1.0])
def test_sets_are_the_rows_and_columns_of_the_probabilities(floor):
    """The floor belongs to what counts; rows beyond the last take turns."""
    for count in range(12):
        away = range(max(0, count - 3), count + 4)
        chances = {j: float(transition(count, j)) for j in away}
        wanted = [j for j in away if chances[j] and chances[j] >= floor]
        assert deviation_set(TABLE, count, floor=floor).tolist() == wanted
        chances = {i: float(transition(i, count)) for i in away}
        wanted = [i for i in away if chances[i] and chances[i] >= floor]
        assert possible_set(TABLE, count, floor=floor).tolist() == wanted


def test_deviation_and_possible_sets_are_those_of_the_seminar():
    rounding = Mechanism.random_rounding(10).build()
    assert deviation_set(rounding, 8).tolist() == [0, 10]
    assert possible_set(rounding, 0).tolist() == list(range(10))
    assert possible_set(rounding, 20).tolist() == list(range(11, 30))
    assert possible_set(rounding, 5).size == 0
    assert deviation_set(Mechanism.rounding(5).build(), 8).tolist() == [10]


def test_what_a_millionth_of_the_keys_brings_about_is_left_out():
    assert NEGLIGIBLE == 1e-6
    for units, is_listed in ((1001, True), (999, False)):
        table = PTable.from_units([{0: 10**9}, {0: 10**9 - units, 1: units}], key_range=10**9)
        assert (2 in deviation_set(table, 1).tolist()) == is_listed
        assert (1 in possible_set(table, 2).tolist()) == is_listed


def test_sets_leave_out_the_traces_that_whole_numbers_of_keys_need():
    # 10/11 and 1/11 are no whole numbers of 2**-32: a key on a third noise keeps the mean at 0.
    table = solve(NoiseSpec(max_noise=10, variance=10.0))
    traces = [v for v, n in table.units(1).items() if n < 10]
    assert traces
    assert deviation_set(table, 1).tolist() == [0, 11]
    assert set(deviation_set(table, 1, floor=0).tolist()) == {0, 11, *(1 + v for v in traces)}
    for trace in traces:
        assert 1 not in possible_set(table, 1 + trace).tolist()
        assert 1 in possible_set(table, 1 + trace, floor=0).tolist()


def test_sets_of_a_table_without_small_counts():
    table = solve(NoiseSpec(max_noise=5, variance=3.0, small=2))
    assert deviation_set(table, 1).tolist() == [0, 3, 4, 5, 6]
    assert possible_set(table, 1).size == possible_set(table, 2).size == 0
    assert possible_set(table, 3).tolist() == list(range(1, 9))


@pytest.mark.parametrize("sets", [deviation_set, possible_set])
def test_floors_are_probabilities_and_counts_are_counts(sets):
    for floor in (2, -0.1, np.nan, 1.01):
        with pytest.raises(RiskError, match="floor must be"):
            sets(TABLE, 1, floor=floor)
    for count in (-1, 0.5):
        with pytest.raises(RiskError, match="must be"):
            sets(TABLE, count)
    amounts = PTable(noise=[[0], [-1, 1]], upper=[[8], [4, 8]], key_range=8, step=2)
    with pytest.raises(RiskError, match="magnitudes"):
        sets(amounts, 1)
