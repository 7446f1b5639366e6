"""The question put to the integer solver, and what comes back, beside all numbers tried."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import linprog

from ptable.solver.integer.integers import Model, Program


def program(costs, rows, goals, *, most=6, **other):
    n = len(costs)
    fields = {"lower": (0,) * n, "upper": (most,) * n, "near": (0,) * n} | other
    return Program(costs=tuple(costs), rows=tuple(rows), goals=tuple(goals), **fields)


def bowl(at, width=1.0):
    return lambda n: width * (n - at) ** 2


def every(question):
    ranges = (range(a, b + 1) for a, b in zip(question.lower, question.upper, strict=True))
    return [way for way in itertools.product(*ranges) if not question.misses(way)]


def test_costs_are_functions_or_prices_of_a_unit():
    question = program([bowl(2), 3.0], [(1, 1)], [5])
    assert question.cost((4, 5)) == 4 + 15
    assert question.cost((2, 0)) == 0


def test_what_numbers_miss_is_named():
    question = program(
        [1.0, 1.0, 1.0], [(1, 1, 1), (0, 2, -1)], [6, 1], lower=(1, 0, 0), orders=((0, 2),)
    )
    assert question.misses((2, 2, 3)) == ["sum 0"]
    assert question.misses((1, 2, 3)) == []
    assert question.misses((3, 1, 1)) == ["sum 0", "order 0-2"]
    assert question.misses((0, 7, 13)) == ["sum 0", "range 0", "range 1", "range 2"]
    assert question.misses((2, 1, 2)) == ["sum 0", "sum 1"]


def test_slack_counts_in_the_last_row_alone_and_has_its_price():
    question = program([bowl(0), bowl(0)], [(1, 1), (2, 5)], [3, 11], orders=((0, 1),))
    loose = question.with_slack(-2, price=0.5, most=7)
    assert loose.rows == ((1, 1, 0), (2, 5, -2))
    assert (loose.lower, loose.upper, loose.near) == ((0, 0, 0), (6, 6, 7), (0, 0, 0))
    assert (loose.goals, loose.orders) == (question.goals, question.orders)
    assert loose.cost((1, 1, 4)) == 1 + 1 + 2
    assert loose.misses((1, 2, 1)) == ["sum 1"]
    assert loose.misses((0, 3, 2)) == []


def costs_along(model, place):
    """Give the cost by number at one place, as the columns in order add it up."""
    start = model.start[place]
    costs = {start: model.program.costs[place](start)}
    for sign in (1, -1):
        n, cost = start, costs[start]
        for where, way, often, price in model.columns:
            if where == place and way == sign:
                for _ in range(often):
                    n, cost = n + sign, cost + price
                    costs[n] = cost
    return costs


@pytest.mark.parametrize("window", [(0, 9), (3, 5), (0, 2), (7, 9), (4, 4)])
@pytest.mark.parametrize("with_outside", [False, True])
def test_inside_its_window_a_cost_is_followed_and_outside_a_line(window, with_outside):
    curve = bowl(4.4)
    question = program([curve], [(1,)], [5], most=9)
    model = Model.of(question, [window], with_outside=with_outside)
    first, last = window
    costs = costs_along(model, 0)
    assert set(costs) == set(range(10) if with_outside else range(first, last + 1))
    for n, cost in costs.items():
        if n > last + 1:
            line = curve(last) + (n - last) * (curve(last + 1) - curve(last))
        elif n < first - 1:
            line = curve(first) + (first - n) * (curve(first - 1) - curve(first))
        else:
            line = curve(n)
        assert cost == pytest.approx(line)
        assert cost <= curve(n) + 1e-9  # a convex cost lies above its lines


def test_prices_of_a_unit_need_no_window():
    question = program([2.5, bowl(1)], [(1, 1)], [5], lower=(2, 0))
    model = Model.of(question, [None, None], with_outside=False)
    assert model.columns == ((0, 1, 4, 2.5), (1, 1, 6, 0.0))
    assert model.start == (2, 0)


@pytest.mark.parametrize("near", [0, 3, 9, 50, 100])
def test_coarse_steps_cover_everything_and_meet_the_cost_at_their_ends(near):
    curve = bowl(41.5)
    model = Model.coarse(program([curve], [(1,)], [5], most=100), [near])
    n, cost = 0, curve(0)
    stops = [0]
    for _, sign, often, price in model.columns:
        assert sign == 1
        n, cost = n + often, cost + often * price
        assert cost == pytest.approx(curve(n))
        stops.append(n)
    assert n == 100
    assert near in stops
    # steps double away from the place
    away = [abs(stop - near) for stop in stops if stop not in {0, 100}]
    assert all(step == 0 or step & (step - 1) == 0 for step in away)
    assert len(model.columns) <= 16


@pytest.mark.parametrize("seed", range(5))
def test_prices_prove_a_bound_for_all_numbers_and_are_as_good_as_fractions(seed):
    rng = np.random.default_rng(seed)
    n = 4
    rows = rng.integers(-3, 4, (2, n))
    some = rng.integers(0, 7, n)
    some[1] = max(some[0], some[1])
    orders = ((0, 1),)
    costs = rng.uniform(-2, 3, n).tolist()
    question = program(costs, map(tuple, rows.tolist()), (rows @ some).tolist(), orders=orders)
    charges, bound = Model.of(question, [None] * n, with_outside=True).prices()
    for way in every(question):
        assert sum(c * k for c, k in zip(charges, way, strict=True)) >= bound - 1e-9
    least = bound + sum(min(0.0, 6 * (c - y)) for c, y in zip(costs, charges, strict=True))
    fractions = linprog(
        costs, A_eq=rows, b_eq=rows @ some, A_ub=[[1, -1, 0, 0]], b_ub=[0], bounds=(0, 6)
    )
    assert least == pytest.approx(fractions.fun, abs=1e-6)


def test_sums_that_not_even_fractions_have_get_no_prices():
    question = program([1.0, 2.0], [(1, 1)], [13])
    model = Model.of(question, [None, None], with_outside=True)
    assert model.prices() is None
    assert model.relaxed() is None
    assert model.search(100) == (None, True, -math.inf)


def test_a_model_without_columns_has_its_start_alone():
    question = program([bowl(1), bowl(2)], [(1, 1)], [5])
    right = Model.of(question, [(2, 2), (3, 3)], with_outside=False)
    assert right.search(9) == ((2, 3), True, 2.0)
    assert right.prices() == ([0.0, 0.0], 0.0)
    wrong = Model.of(question, [(2, 2), (2, 2)], with_outside=False)
    assert wrong.search(9)[:2] == (None, True)


@pytest.mark.parametrize("seed", range(5))
def test_fractions_of_least_cost_are_rounded_into_their_ranges(seed):
    rng = np.random.default_rng(seed)
    costs = rng.uniform(0, 3, 3).tolist()
    question = program(costs, [(1, 1, 1), (0, 1, 3)], [10, 13], lower=(0, 1, 1))
    numbers = Model.of(question, [None] * 3, with_outside=True).relaxed()
    fractions = linprog(
        costs, A_eq=question.rows, b_eq=question.goals, bounds=[(0, 6), (1, 6), (1, 6)]
    )
    assert numbers == pytest.approx(fractions.x, abs=0.51)
    assert all(low <= n <= 6 for n, low in zip(numbers, question.lower, strict=True))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("with_outside", [False, True])
def test_a_search_finds_the_least_cost_inside_its_windows(seed, with_outside):
    rng = np.random.default_rng(seed)
    n = 3
    rows = rng.integers(-2, 4, (1, n)).tolist()
    some = rng.integers(1, 6, n)
    some[1] = max(some[0], some[1])
    costs = [bowl(float(rng.uniform(0, 6)), float(rng.uniform(0.2, 2))) for _ in range(n)]
    question = program(
        costs, map(tuple, rows), [int(some @ rows[0])], orders=((0, 1),), lower=(0, 0, 1)
    )
    windows = [(max(1, k - 1), min(5, k + 1)) for k in some.tolist()]
    model = Model.of(question, windows, with_outside=with_outside)
    numbers, is_finished, bound = model.search(10_000)
    assert is_finished
    assert question.misses(numbers) == []
    inside = [
        way
        for way in every(question)
        if with_outside or all(a <= k <= b for k, (a, b) in zip(way, windows, strict=True))
    ]

    def lined(way):
        return sum(costs_along(model, place)[k] for place, k in enumerate(way))

    assert lined(numbers) <= min(map(lined, inside)) + 1e-6
    assert bound == pytest.approx(lined(numbers), abs=1e-4)


@pytest.mark.parametrize(("lower", "numbers"), [((0, 3), (3, 3)), ((3, 0), (3, 3))])
def test_an_order_holds_for_numbers_wherever_they_start(lower, numbers):
    question = program([-1.0, 2.0], [(0, 0)], [0], lower=lower, orders=((0, 1),))
    model = Model.of(question, [None, None], with_outside=False)
    assert model.search(100)[0] == numbers


def test_ties_are_settled_the_same_way_each_time():
    question = program([bowl(3)] * 4, [(1, 1, 1, 1)], [14])
    model = Model.of(question, [(2, 5)] * 4, with_outside=False)
    first, again = (model.search(1000)[0] for _ in range(2))
    assert first == again
    assert sorted(first) == [3, 3, 4, 4]


def test_a_search_of_no_nodes_is_not_finished():
    rng = np.random.default_rng(3)
    rows = rng.integers(1, 50, (2, 12)).tolist()
    some = rng.integers(0, 40, 12)
    goals = [int(some @ row) for row in np.array(rows)]
    question = program([bowl(7.3)] * 12, map(tuple, rows), goals, most=40)
    model = Model.of(question, [(5, 9)] * 12, with_outside=True)
    numbers, is_finished, bound = model.search(0)
    assert not is_finished
    assert numbers is None or bound <= question.cost(numbers)
