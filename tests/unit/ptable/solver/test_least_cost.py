"""Whole numbers of least cost beside all others, tried one by one."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from ptable.solver.integer.integers import Program
from ptable.solver.least_cost import Answer, cheapest, least_cost

NODES = 10_000


def program(costs, rows, goals, *, most=6, **other):
    n = len(costs)
    fields = {"lower": (0,) * n, "upper": (most,) * n, "near": (0,) * n} | other
    return Program(costs=tuple(costs), rows=tuple(rows), goals=tuple(goals), **fields)


def bowl(at, width=1.0, least=0.0):
    return lambda n: least + width * (n - at) ** 2


def every(question):
    """Give the costs of all numbers that satisfy a question."""
    ranges = (range(a, b + 1) for a, b in zip(question.lower, question.upper, strict=True))
    ways = itertools.product(*ranges)
    return {way: question.cost(way) for way in ways if not question.misses(way)}


def hold(question):
    """Prove an answer by trying all."""
    answer, costs = least_cost(question, most_nodes=NODES), every(question)
    assert answer.is_finished
    assert answer.gap == 0
    if not costs:
        assert (answer.numbers, answer.cost) == (None, math.inf)
        return None
    assert answer.numbers in costs
    assert answer.cost == pytest.approx(costs[answer.numbers])
    assert answer.cost <= min(costs.values()) + 1e-6
    return answer.numbers


@pytest.mark.parametrize("least", [0.0, -900.0])
@pytest.mark.parametrize("seed", range(4))
def test_no_other_numbers_cost_less(seed, least):
    rng = np.random.default_rng(seed)
    answers = []
    for _ in range(6):
        n = int(rng.integers(2, 5))
        costs = [
            bowl(float(rng.uniform(-2, 8)), float(rng.uniform(0.1, 2)), least) for _ in range(n)
        ]
        if rng.integers(0, 2):
            costs[0] = float(rng.uniform(-1, 2))
        rows = rng.integers(-3, 4, (2, n)).tolist()
        some = rng.integers(0, 7, n)
        goals = [int(some @ row) + int(rng.integers(0, 3) == 0) for row in np.array(rows)]
        orders = ((0, 1),) if rng.integers(0, 2) else ()
        near = tuple(rng.integers(0, 7, n).tolist())
        answers.append(hold(program(costs, map(tuple, rows), goals, near=near, orders=orders)))
    assert any(answers)


@pytest.mark.parametrize("least", [0.0, -900.0])
@pytest.mark.parametrize("seed", range(3))
def test_no_other_numbers_of_sums_that_few_have_cost_less(seed, least):
    rng = np.random.default_rng(seed + 100)
    for _ in range(8):
        costs = [
            bowl(float(rng.uniform(0, 13)), float(rng.uniform(0.1, 3)), least) for _ in range(3)
        ]
        row = rng.integers(5, 14, 3)
        goal = int(rng.integers(0, 14, 3) @ row)
        near = tuple(rng.integers(0, 14, 3).tolist())
        hold(program(costs, [tuple(row.tolist())], [goal], most=13, near=near))


def test_the_search_leaves_its_windows_where_numbers_elsewhere_cost_less():
    # the sums force numbers far from where each would cost least by itself
    far = program([bowl(0), bowl(0, 0.01)], [(1, 1)], [40], most=40)
    assert hold(far) == (0, 40)
    assert hold(replace(far, near=(40, 0))) == (0, 40)


def test_numbers_far_from_where_they_are_expected_are_found():
    question = program([bowl(900), bowl(50)], [(1, 1)], [1000], most=1000, near=(3, 3))
    answer = least_cost(question, most_nodes=NODES)
    assert (answer.numbers, answer.cost, answer.is_finished) == ((925, 75), 1250.0, True)


def test_flat_costs_over_wide_ranges_are_searched_without_following_each_number():
    def log_cost(n):
        return n * math.log(n) if n else 0.0

    question = program([log_cost] * 3, [(1, 1, 1), (-1, 0, 2)], [30_000, 7], most=30_000)
    answer = least_cost(question, most_nodes=NODES)
    assert answer.is_finished
    x, y, z = answer.numbers
    assert (x + y + z, 2 * z - x) == (30_000, 7)
    beside = [question.cost((x + 2 * k, y - 3 * k, z + k)) for k in (-1, 1)]
    assert answer.cost <= min(beside) + 1e-7


@pytest.mark.parametrize("most", [1, 8, 30])
def test_where_windows_would_hold_too_much_the_answer_is_the_same(monkeypatch, most):
    questions = [
        program([bowl(0), bowl(0, 0.01)], [(1, 1)], [40], most=40),
        program([bowl(0), bowl(0, 0.01)], [(1, 1)], [40], most=40, near=(40, 0)),
        program([bowl(4), bowl(2), bowl(1)], [(6, 10, 15)], [119], most=12, near=(12, 0, 0)),
        program([bowl(4, 0.02, -8.0), bowl(9, 0.03), bowl(1)], [(3, 2, 5)], [61], most=12),
    ]
    wide = [least_cost(question, most_nodes=NODES) for question in questions]
    monkeypatch.setattr("ptable.solver.least_cost._MAX_COLUMNS", most)
    assert [least_cost(question, most_nodes=NODES) for question in questions] == wide
    for question in questions:
        hold(question)


def test_prices_per_unit_alone_need_no_windows():
    answer = least_cost(program([3.0, 1.0], [(2, 1)], [7]), most_nodes=NODES)
    assert answer.numbers == (1, 5)
    assert answer.cost == 8.0


@pytest.mark.parametrize(
    "question",
    [
        program([bowl(1), bowl(1)], [(2, 4)], [7]),  # odd sums of even numbers
        program([bowl(1), bowl(1)], [(1, 1)], [13]),  # beyond the ranges
        program([bowl(1)], [(1,)], [2], lower=(3,), upper=(2,)),  # an empty range
        program([bowl(0), bowl(0)], [(2, 2), (1, 0)], [8, 3], orders=((1, 0),), upper=(6, 0)),
        program([1.0, 1.0], [(3, 5)], [7]),  # no window, and a lattice that has it
    ],
)
def test_that_no_numbers_have_the_sums_is_an_answer(question):
    answer = least_cost(question, most_nodes=NODES)
    assert answer == Answer(numbers=None, is_finished=True)
    assert hold(question) is None


def test_a_number_whose_range_is_a_single_one_is_that():
    question = program([bowl(1), bowl(1)], [(1, 1)], [7], lower=(3, 0), upper=(3, 6))
    assert hold(question) == (3, 4)


def test_numbers_that_only_fractions_have_inside_a_window_are_searched_for_outside():
    # 6 x + 10 y + 15 z = 29 has no solution from 0 on, 6 x + 10 y + 15 z = 59 a single few
    costs = [bowl(4), bowl(2), bowl(1)]
    assert hold(program(costs, [(6, 10, 15)], [29], most=9)) is None
    hold(program(costs, [(6, 10, 15)], [59], most=9))
    hold(program(costs, [(6, 10, 15)], [119], most=12, near=(12, 0, 0)))


def test_a_search_that_may_look_at_nothing_says_that_it_did_not_end():
    rng = np.random.default_rng(3)
    rows = rng.integers(1, 50, (2, 12)).tolist()
    some = rng.integers(0, 40, 12)
    goals = [int(some @ row) for row in np.array(rows)]
    question = program([bowl(7.3)] * 12, map(tuple, rows), goals, most=40)
    answer = least_cost(question, most_nodes=0)
    assert not answer.is_finished
    assert answer.gap > 0
    assert (answer.numbers, answer.gap) == (None, math.inf)
    # the first node has numbers, and a bound that is some way below
    answer = least_cost(question, most_nodes=1)
    assert not answer.is_finished
    assert question.misses(answer.numbers) == []
    assert answer.cost == question.cost(answer.numbers)
    assert 0 < answer.gap < answer.cost / 100


def test_the_cheapest_of_answers_is_as_sure_as_all_of_them():
    done = Answer(numbers=(1,), is_finished=True, cost=2.0)
    cheap = replace(done, numbers=(2,), cost=1.0)
    nothing = Answer(numbers=None, is_finished=True)
    assert cheapest([done, cheap, nothing]) == cheap
    assert cheapest([nothing, nothing]) == nothing
    rough = replace(done, numbers=(5,), is_finished=False, cost=2.5, gap=1.0)
    assert cheapest([done, rough]) == replace(done, is_finished=False, gap=0.5)
    assert cheapest([nothing, rough]) == rough
    assert cheapest([cheap, rough]) == replace(cheap, is_finished=False, gap=0.0)
    lost = replace(rough, numbers=None, gap=math.inf, cost=math.inf)
    assert cheapest([done, lost]) == replace(done, is_finished=False, gap=math.inf)
    assert cheapest([nothing, lost]) == replace(nothing, is_finished=False, gap=math.inf)
