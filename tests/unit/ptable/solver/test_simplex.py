"""Exact linear programs: every answer is held against the proof that comes with it."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from ptable.solver.simplex import _Program, minimise_exactly


def hold(columns, costs, goal):
    """Prove an answer: it meets the constraints, and at its prices nothing costs less."""
    answer = minimise_exactly(columns, costs, goal)
    assert answer is not None
    amounts, prices = answer
    assert all(x > 0 for x in amounts.values())
    for row, wanted in zip(columns.tolist(), goal, strict=True):
        assert sum((x * row[index] for index, x in amounts.items()), Fraction(0)) == wanted
    for cost, column in zip(costs, columns.T.tolist(), strict=True):
        assert sum(p * n for p, n in zip(prices, column, strict=True)) <= cost
    paid = sum((x * costs[index] for index, x in amounts.items()), Fraction(0))
    assert paid == sum(p * g for p, g in zip(prices, goal, strict=True))
    return amounts


def test_an_answer_comes_with_the_prices_that_prove_it():
    columns, costs = np.array([[1, 1, 1], [-1, 0, 2]]), [-1, 0, -4]
    goal = [Fraction(1), Fraction(0)]
    assert hold(columns, costs, goal) == {0: Fraction(2, 3), 2: Fraction(1, 3)}
    assert minimise_exactly(columns, costs, [Fraction(1), Fraction(3)]) is None


@pytest.mark.parametrize("n_rows", [1, 2, 3, 4])
@pytest.mark.parametrize("n_columns", [3, 6, 15])
def test_answers_are_proved_and_refusals_agree_with_floating_point(n_rows, n_columns):
    rng = np.random.default_rng(100 * n_rows + n_columns)
    n_empty = 0
    for _ in range(12):
        columns = rng.integers(-6, 7, (n_rows, n_columns))
        columns[0] = 1  # bounded: the amounts add up
        costs = rng.integers(-9, 10, n_columns).tolist()
        goal = [Fraction(1), *(Fraction(int(n), 7) for n in rng.integers(-9, 10, n_rows - 1))]
        if rng.integers(0, 2):
            weights = rng.integers(0, 5, n_columns) + 1
            goal = [Fraction(int(n), int(weights.sum())) for n in columns @ weights]
        floats = linprog(costs, A_eq=columns, b_eq=[float(g) for g in goal], bounds=(0, None))
        if floats.status == 2:
            n_empty += 1
            assert minimise_exactly(columns, costs, goal) is None
            continue
        amounts = hold(columns, costs, goal)
        assert float(sum(x * costs[i] for i, x in amounts.items())) == pytest.approx(floats.fun)
    assert n_empty < 12


def test_goals_below_zero_and_at_zero_are_met_as_well():
    columns = np.array([[1, 1, 1], [-2, 1, 5]])
    assert hold(columns, [0, 0, 0], [Fraction(1), Fraction(-2)]) == {0: Fraction(1)}
    assert hold(columns, [1, 1, 1], [Fraction(0), Fraction(0)]) == {}
    assert hold(np.array([[-1, -2]]), [3, 5], [Fraction(-3)]) == {1: Fraction(3, 2)}


def test_a_constraint_told_twice_changes_nothing():
    columns = np.array([[1, 1, 1], [-1, 0, 2], [1, 1, 1], [0, 1, 3]])
    goal = [Fraction(1), Fraction(0), Fraction(1), Fraction(1)]
    assert hold(columns, [-1, 0, -4], goal) == {0: Fraction(2, 3), 2: Fraction(1, 3)}
    assert minimise_exactly(columns, [0, 0, 0], [*goal[:3], Fraction(2)]) is None


@pytest.mark.parametrize("size", [10**12, 10**15, 2**52])
def test_costs_that_floats_hold_for_equal_are_told_apart(size):
    columns = np.array([[1, 1, 1]])
    goal = [Fraction(1)]
    assert hold(columns, [size, size - 1, size], goal) == {1: Fraction(1)}
    assert hold(columns, [-size, -size, -size - 1], goal) == {2: Fraction(1)}
    assert hold(columns, [size, size, size], goal) == {0: Fraction(1)}


def test_ties_of_many_columns_end():
    """Points of a circle's square grid: degenerate steps, hundreds of columns."""
    noise = np.arange(-40, 41)
    columns = np.stack([np.ones_like(noise), noise, noise % 7])
    costs = (noise**2 // 5 * 5).tolist()
    hold(columns, costs, [Fraction(1), Fraction(1, 3), Fraction(3)])
    hold(columns, [-c for c in costs], [Fraction(1), Fraction(0), Fraction(0)])


@pytest.mark.parametrize("most", [0, 2, 60])
def test_a_program_of_many_steps_goes_on_to_its_optimum(monkeypatch, most):
    """A cube cut askew (Klee and Minty): the steepest column leads along many edges.

    After so many steps the first column that helps is taken, which cannot go in circles.
    """
    monkeypatch.setattr("ptable.solver.simplex._DANTZIG_STEPS", most)
    rules, entering = [], _Program._entering
    monkeypatch.setattr(
        _Program,
        "_entering",
        lambda *words, first: rules.append(first) or entering(*words, first=first),
    )
    n = 8
    columns = np.zeros((n, 2 * n), dtype=np.int64)
    for row in range(n):
        for before in range(row):
            columns[row, before] = 2 ** (row - before + 1)
        columns[row, row] = columns[row, n + row] = 1
    costs = [-(2 ** (n - 1 - k)) for k in range(n)] + [0] * n
    goal = [Fraction(5 ** (row + 1)) for row in range(n)]
    amounts = hold(columns, costs, goal)
    assert sum(x * costs[i] for i, x in amounts.items()) == -(5**n)
    # two phases, each with so many steps by the steepest column and one more
    assert not any(rules[: most + 1])
    assert rules.count(False) == min(len(rules), 2 * (most + 1))


def test_with_the_first_rule_the_first_column_that_helps_is_taken():
    columns = np.array([[1, 1, 1, 1]])
    program = _Program(columns, [1], [Fraction(1)])
    costs = [5, 4, 1, 3]
    floats = np.array(costs, dtype=float)
    steepest = program._entering([Fraction(5)], costs, floats, [0], first=False)
    first = program._entering([Fraction(5)], costs, floats, [0], first=True)
    assert (steepest, first) == (2, 1)
