"""Designs of others are the optimum of constraints that are named: known-designs.md."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
from scipy.optimize import brentq, linprog

from ptable import NoiseSpec, PTableWarning, StackedSpec, solve
from ptable.design.presets import spelled_out
from ptable.design.shapes import (
    column_honesty,
    column_monotony,
    fairness,
    invariance,
    largest_noise,
    privacy,
    row_honesty,
    row_monotony,
    smoothness,
    symmetry,
    unbiasedness,
    weak_honesty,
)
from ptable.solver.matrix import solve_matrix

EXACT = 1e-9
SHAPES = (
    symmetry, fairness, weak_honesty,
    row_honesty, column_honesty, row_monotony, column_monotony,
)  # fmt: skip
SIZES = [1, 2, 3, 4, 7, 10]
ALPHAS = [0.3, 0.5, 0.62, 0.9]


def off(*matrices):
    return float(np.abs(matrices[0] - matrices[1]).max())


def truncated_geometric(n, alpha):
    """Ghosh, Roughgarden and Sundararajan (2009): what falls beyond an end is put there."""
    i, j = np.arange(n + 1)[:, None], np.arange(n + 1)[None, :]
    matrix = (1 - alpha) / (1 + alpha) * alpha ** np.abs(i - j)
    for end in (0, n):
        matrix[:, end] = alpha ** np.abs(np.arange(n + 1) - end) / (1 + alpha)
    return matrix


def explicit_fair(n, alpha):
    """Cormode, Kulkarni and Srivastava (2018): powers that grow by halves at the ends."""
    matrix = np.zeros((n + 1, n + 1))
    for i in range(n + 1):
        for j in range(n + 1):
            distance, room = abs(i - j), min(i, n - i)
            power = distance if distance <= room else math.ceil((distance + room) / 2)
            matrix[i, j] = alpha**power
    return matrix / matrix.sum(axis=1, keepdims=True)


def breach(matrix, constraints):
    """Say by how much a matrix breaks constraints, at most."""
    P = cp.Variable(matrix.shape)  # noqa: N806
    P.value = matrix
    i, j = (np.arange(size) for size in matrix.shape)
    asked = [one for some in constraints for one in some(P, i[:, None], j[None, :])]
    return max(float(np.max(one.violation())) for one in asked)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("n", SIZES)
def test_what_changes_least_under_privacy_alone_is_the_truncated_geometric(n, alpha):
    design = solve_matrix(n, constraints=[privacy(-math.log(alpha))])
    assert off(design.transition, truncated_geometric(n, alpha)) < EXACT


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("n", SIZES)
def test_with_every_shape_the_explicit_fair_matrix_changes_least(n, alpha):
    """The optimum is not the only one from n = 3 on: its loss and its diagonal are."""
    constraints = [privacy(-math.log(alpha)), *SHAPES]
    design, known = solve_matrix(n, constraints=constraints), explicit_fair(n, alpha)
    assert breach(known, constraints) < EXACT
    assert off(np.diag(design.transition), np.diag(known)) < EXACT
    assert design.loss == pytest.approx(1 - known[0, 0], abs=EXACT)


def test_fairness_alone_costs_as_much_as_all_shapes_together():
    for n in (3, 6, 10):
        alone = solve_matrix(n, constraints=[privacy(0.5), fairness])
        assert alone.loss == pytest.approx(
            1 - explicit_fair(n, math.exp(-0.5))[0, 0], abs=EXACT
        )


@pytest.mark.parametrize("n", [4, 10])
def test_the_geometric_has_symmetry_and_the_honesty_of_columns_for_nothing(n):
    free = solve_matrix(n, constraints=[privacy(0.2)]).loss
    for shape in (symmetry, column_honesty, column_monotony):
        assert solve_matrix(n, constraints=[privacy(0.2), shape]).loss == pytest.approx(
            free, abs=EXACT
        )
    assert solve_matrix(n, constraints=[privacy(0.2), row_monotony]).loss > free + 1e-4


def test_the_geometric_is_weakly_honest_from_a_size_on():
    """From 2 a / (1 - a) on, as Cormode and others prove: 4 where a is 2/3."""
    for n, is_free in ((3, False), (4, True), (5, True)):
        alpha = 2 / 3
        one, other = (
            solve_matrix(n, constraints=[privacy(-math.log(alpha)), *more]).loss
            for more in ([], [weak_honesty])
        )
        assert (abs(one - other) < EXACT) == is_free


def test_without_any_privacy_left_every_count_is_a_draw_of_all():
    design = solve_matrix(6, constraints=[privacy(0.0), fairness])
    assert off(design.transition, np.full((7, 7), 1 / 7)) < EXACT


def invariant_optimum(shares, epsilon):
    """State the invariant matrix a second time, as dense rows for scipy."""
    n = len(shares)
    at = np.arange(n * n).reshape(n, n)
    equal, goals, below = [], [], []
    for k in range(n):
        row, column = np.zeros(n * n), np.zeros(n * n)
        row[at[k]], column[at[:, k]] = 1, shares
        equal += [row, column]
        goals += [1, shares[k]]
    for i in range(n - 1):
        for j in range(n):
            for one, other in ((i, i + 1), (i + 1, i)):
                line = np.zeros(n * n)
                line[at[one, j]], line[at[other, j]] = 1, -math.exp(epsilon)
                below.append(line)
    cost = np.zeros(n * n)
    cost[at[np.arange(n), np.arange(n)]] = -1 / n
    answer = linprog(cost, below, np.zeros(len(below)), equal, goals, method="highs")
    return 1 + answer.fun


@pytest.mark.parametrize("n", [2, 5, 10, 15])
def test_an_invariant_matrix_leaves_the_distribution_of_counts_as_it_is(n):
    """Kohli and Laskowski (2026): a fixed point under privacy, at ε = ln 2."""
    shares = 1 / np.arange(1, n + 2) ** 1.3
    shares /= shares.sum()
    design = solve_matrix(n, constraints=[privacy(math.log(2)), invariance(shares)])
    assert off(shares @ design.transition, shares) < EXACT
    assert breach(design.transition, [privacy(math.log(2))]) < EXACT
    assert design.loss == pytest.approx(invariant_optimum(shares, math.log(2)), abs=EXACT)


@pytest.mark.parametrize("share", [0.5, 0.6, 0.9])
def test_of_two_counts_the_invariant_matrix_is_known(share):
    """Of p ≥ q the first changes with probability 1 / (e^ε + p / q)."""
    odds = share / (1 - share)
    design = solve_matrix(1, constraints=[privacy(math.log(3)), invariance([share, 1 - share])])
    change = 1 / (3 + odds)
    known = np.array([[1 - change, change], [odds * change, 1 - odds * change]])
    assert off(design.transition, known) < EXACT


@pytest.mark.parametrize(("epsilon", "printed"), [(0.5, "0.008"), (1.5, "2e-05")])
def test_a_discrete_laplace_cut_at_seven_deviates_least_of_smooth_noise(epsilon, printed):
    """Rinott, O'Keefe, Shlomo and Skinner (2018): δ is the probability of the largest noise."""
    design = solve_matrix(
        [7], published=range(15), objective="least-deviation",
        constraints=[smoothness(epsilon), unbiasedness, largest_noise(7)],
    )  # fmt: skip
    weights = np.exp(-epsilon * np.abs(np.arange(-7, 8)))
    assert off(design.transition[0], weights / weights.sum()) < EXACT
    assert f"{design.transition[0, 0]:.0e}" == f"{float(printed):.0e}"


@pytest.mark.parametrize(("reach", "variance"), [(2, 1.0), (2, 2.0), (5, 3.0), (5, 9.5)])
def test_rows_of_the_abs_are_a_gauss_curve_in_whole_numbers(reach, variance):
    """Sadeghi and Chien (2024): on a symmetric support p is proportional to exp(-λ v²)."""
    noise = np.arange(-reach, reach + 1)

    def curve(rate):
        weights = np.exp(-rate * noise**2.0)
        return weights / weights.sum()

    rate = brentq(lambda rate: curve(rate) @ noise**2.0 - variance, -3, 9, xtol=1e-15)
    table = solve(NoiseSpec(max_noise=reach, variance=variance, variance_rule="at-most"))
    row = table.transition[reach]
    free = reach * (reach + 1) / 3  # that of noise that is equally likely
    wanted = curve(rate) if variance <= free else np.full(len(noise), 1 / len(noise))
    assert off(row, wanted) < EXACT


def test_the_noise_of_tablebuilder_is_equally_likely():
    """Asghar and Kaafar (2020): -2 to 2, a fifth each."""
    table = solve(NoiseSpec(**spelled_out({"preset": "abs-tablebuilder"})))
    assert off(table.transition[2], np.full(5, 0.2)) < EXACT


def test_draws_of_abs_tables_are_those_of_the_rows(shared):
    """R ptable writes 256 draws a count; all rows together agree to five standard errors."""
    for name, fields in (
        ("abs_D2_V100_js0", (2, 1.0, 0)),
        ("abs_D5_V300_js2", (5, 3.0, 2)),
    ):
        draws = pd.read_csv(shared / "reference" / "ptable" / f"{name}.csv")
        reach, variance, small = fields
        table = solve(NoiseSpec.r_ptable(reach, variance, small=small))
        square = 0.0
        for place, column in enumerate(draws, start=1):
            law = table.units(min(place, table.n_rows - 1))
            assert {*draws[column]} <= {*law}
            square += sum(
                ((draws[column] == v).sum() - 256 * n / 2**32) ** 2 / (256 * n / 2**32)
                for v, n in law.items()
            ) - (len(law) - 1)
        degrees = sum(len(table.units(min(k, table.n_rows - 1))) - 1 for k in range(1, 71))
        assert abs(square) < 5 * math.sqrt(2 * degrees) * 1.5


@pytest.mark.parametrize(
    ("name", "reach", "variance", "small"),
    [
        ("ptable/cnt_D2_V100_js0", 2, 1.0, 0),
        ("ptable/cnt_D5_V300_js2", 5, 3.0, 2),
        ("inseeckm/ptable_D5V2", 5, 2.0, 0),
        ("inseeckm/ptable_D5V3js2", 5, 3.0, 2),
    ],
)
def test_tables_of_r_are_rebuilt_to_the_accuracy_of_their_solver(
    shared, name, reach, variance, small
):
    theirs = pd.read_csv(shared / "reference" / f"{name}.csv")
    table = solve(NoiseSpec.r_ptable(reach, variance, small=small))
    ours = [
        table.units(int(i)).get(int(v), 0) / 2**32 for i, v in theirs[["i", "v"]].to_numpy()
    ]
    assert off(np.array(ours), theirs["p"].to_numpy()) < 2e-6


def test_the_row_of_the_slides_has_their_two_digits():
    table = solve(NoiseSpec.r_ptable(2, 1.0))
    assert table.transition[1].round(2).tolist() == [0.37, 0.37, 0.17, 0.10, 0.0]


def test_the_stack_of_insee_is_two_laws_with_one_row_for_all_large_counts():
    """Jamme (2026): D = 15, V = 35, js = 10, and V = 5 from the last row on."""
    small = NoiseSpec(max_noise=15, variance=35.0, small=10, variance_rule="nearest")
    first = small.last_count
    large = NoiseSpec(max_noise=15, variance=5.0, small=10, variance_rule="nearest")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PTableWarning)
        table = solve(StackedSpec(parts=((0, small), (first, large))))
        alone = solve(small)
    noise = np.arange(-15, 16)
    rate = brentq(
        lambda rate: (w := np.exp(-rate * noise**2.0)) @ (noise**2.0 - 5) / w.sum(), 0, 2,
        xtol=1e-15,
    )  # fmt: skip
    curve = np.exp(-rate * noise**2.0)
    last = [table.units(table.n_rows - 1).get(v, 0) / 2**32 for v in noise.tolist()]
    assert off(np.array(last), curve / curve.sum()) < EXACT
    for count in range(1, first):
        assert table.units(count) == alone.units(count)
        mean = sum(Fraction(v * n, 2**32) for v, n in table.units(count).items())
        assert mean == 0
    full = [count for count in range(1, first) if table.certificate.rows[count - 1].note == ""]
    assert all(
        sum(v * v * n for v, n in table.units(count).items()) / 2**32
        == pytest.approx(35, abs=1e-7)
        for count in full
    )
    assert len(full) > 20
