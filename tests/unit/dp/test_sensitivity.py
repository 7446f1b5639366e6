"""The catalogue: each bound is reached by some data, and passed by none."""

from __future__ import annotations

import itertools
import math

import pytest

from dp import (
    Adjacency,
    DPError,
    Sensitivity,
    UnboundedError,
    bounded_sum,
    count,
    counts,
    disjoint,
    histogram,
    maximum,
    mean,
)
from dp.sensitivity import together

ADD, REPLACE, ZERO = Adjacency.ADD_REMOVE, Adjacency.REPLACE, Adjacency.ZERO_OUT
VALUES = (2.0, 3.0, 7.0)  # in [2, 7]


def neighbours(adjacency, sizes):
    """Yield pairs of small data sets that differ in one record."""
    for size in sizes:
        for data in itertools.product(VALUES, repeat=size):
            if adjacency == ADD:
                for more in VALUES:
                    yield data, (*data, more)
            elif size:
                for other in VALUES if adjacency == REPLACE else (0.0,):
                    yield data, (*data[1:], other)


def farthest(query, adjacency, sizes=(0, 1, 2, 3)):
    return max(abs(query(a) - query(b)) for a, b in neighbours(adjacency, sizes))


@pytest.mark.parametrize("adjacency", [ADD, REPLACE, ZERO])
def test_the_bound_of_a_sum_is_reached(adjacency):
    assert bounded_sum(2, 7, adjacency=adjacency).l1 == farthest(sum, adjacency)


@pytest.mark.parametrize("adjacency", [ADD, REPLACE, ZERO])
@pytest.mark.parametrize("least", [1, 2])
def test_the_bound_of_a_mean_is_reached(adjacency, least):
    moved = farthest(lambda data: sum(data) / len(data), adjacency, sizes=(least, least + 1))
    bound = mean(2, 7, at_least=least, adjacency=adjacency).l1
    assert bound == pytest.approx(moved)


def test_a_mean_over_its_actual_number_does_not_cover_leaving():
    """Nine patients: 8 against one more, 10 against one fewer."""
    assert mean(20, 100, at_least=9).l1 == 8
    assert mean(20, 100, at_least=8).l1 == pytest.approx(80 / 9)


@pytest.mark.parametrize("adjacency", [ADD, REPLACE])
def test_the_bound_of_a_maximum_is_reached(adjacency):
    assert maximum(2, 7, adjacency=adjacency).l1 == farthest(max, adjacency, sizes=(1, 2))


@pytest.mark.parametrize("adjacency", [ADD, REPLACE, ZERO])
def test_the_bound_of_a_histogram_is_reached(adjacency):
    def cells(data):
        return [data.count(value) for value in VALUES]

    pairs = list(neighbours(adjacency, (0, 1, 2)))
    moves = [[a - b for a, b in zip(cells(x), cells(y), strict=True)] for x, y in pairs]
    found = histogram(adjacency)
    assert found.l1 == max(sum(map(abs, move)) for move in moves)
    assert found.l2 == pytest.approx(max(math.hypot(*move) for move in moves))


def test_examples_of_the_course():
    assert count().l1 == 1  # blue eyes
    assert histogram().l1 == 1  # blue eyes, black eyes
    assert counts(2).l1 == 2  # blue eyes, taller than 1.60 m
    assert counts(2).l2 == pytest.approx(math.sqrt(2))
    assert histogram(REPLACE).l1 == 2


@pytest.mark.parametrize(
    "query",
    [
        maximum,
        lambda: maximum(lower=0),
        lambda: bounded_sum(0, math.inf),
        lambda: bounded_sum(-math.inf, 0),
        lambda: mean(0, math.inf, at_least=10),
        lambda: bounded_sum(math.nan, 1),
        lambda: Sensitivity(l1=math.inf, adjacency=ADD),
    ],
)
def test_what_has_no_bound_is_refused(query):
    with pytest.raises(UnboundedError) as caught:
        query()
    assert caught.value.hint


@pytest.mark.parametrize("l1", [0, -1, math.nan, "1", None, True])
def test_a_sensitivity_is_positive(l1):
    with pytest.raises(DPError):
        Sensitivity(l1=l1, adjacency=ADD)


def test_l2_cannot_exceed_l1():
    with pytest.raises(DPError, match="l1"):
        Sensitivity(l1=1, l2=2, adjacency=ADD)


def test_bounds_must_be_in_order():
    with pytest.raises(DPError, match="lower"):
        bounded_sum(3, 3)
    with pytest.raises(DPError):
        mean(0, 1, at_least=0)


def test_the_largest_part_counts_once_and_twice_where_a_record_is_replaced():
    parts = [bounded_sum(50, 100), bounded_sum(0, 10), count()]
    assert disjoint(parts).l1 == 100
    assert disjoint(parts, adjacency=REPLACE).l1 == 200
    assert disjoint(parts, adjacency=REPLACE).l2 == 200
    assert disjoint([bounded_sum(-100, 100)], adjacency=REPLACE).l1 == 200


def test_parts_stated_for_replacement_say_nothing_about_a_record_that_moves():
    """A sum in [50, 100] moves by 50 when a record changes, by 100 when it leaves."""
    parts = [bounded_sum(50, 100, adjacency=REPLACE)] * 2
    with pytest.raises(DPError, match="part"):
        disjoint(parts)
    assert disjoint(parts, is_fixed=True).l1 == 50


def test_answers_together_add_up():
    both = together([count(), bounded_sum(0, 3)])
    assert both.l1 == 4
    assert both.l2 == pytest.approx(math.hypot(1, 3))
    with pytest.raises(DPError, match="adjacency"):
        together([count(), count(REPLACE)])
    with pytest.raises(DPError):
        together([])


def test_a_person_with_several_records_moves_an_answer_as_often():
    found = counts(4).for_units(3, unit="person")
    assert (found.l1, found.l2, found.unit, found.numbers) == (12, 6, "person", 4)


@pytest.mark.parametrize(
    "stated",
    [
        bounded_sum(50, 100, adjacency=REPLACE),
        mean(-1, 1, at_least=5, adjacency=REPLACE),
        Sensitivity(l1=1, adjacency=REPLACE),
        together([count(REPLACE), bounded_sum(50, 100, adjacency=REPLACE)]),
    ],
)
def test_a_person_may_be_replaced_by_one_with_fewer_records(stated):
    """Of two records in [50, 100] none may be left: the sum moves by 200, not by 2 * 50."""
    assert stated.for_units(1, unit="person").l1 == stated.l1
    with pytest.raises(DPError, match="fewer records") as caught:
        stated.for_units(2, unit="person")
    assert "disjoint" in caught.value.hint
    way_out = bounded_sum(50, 100).for_units(2, unit="person")
    assert disjoint([way_out], adjacency=REPLACE).l1 == 400
