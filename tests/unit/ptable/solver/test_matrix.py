"""A matrix of which nothing is asked but what is named."""

import numpy as np
import pytest

from ptable import InfeasibleError, PTable, PTableError
from ptable.design.shapes import fairness, largest_noise, privacy, row_monotony, unbiasedness
from ptable.solver.matrix import solve_matrix


def test_without_a_constraint_nothing_is_lost():
    design = solve_matrix(3)
    assert (design.loss, design.status) == (0.0, "optimal")
    assert np.array_equal(design.transition, np.eye(4))


def test_the_greatest_entropy_is_a_draw_of_all():
    design = solve_matrix(3, objective="entropy")
    # Clarabel 0.9 comes as near as 1.1e-6, later versions nearer.
    assert design.transition == pytest.approx(np.full((4, 4), 0.25), abs=5e-6)
    assert design.loss == pytest.approx(-np.log(4))


def test_weights_say_which_counts_matter():
    heavy = solve_matrix(1, weights=[9, 1], constraints=[privacy(1.0)])
    assert heavy.transition[0, 0] > heavy.transition[1, 1]
    assert solve_matrix(1, constraints=[privacy(1.0)]).transition[0, 0] == pytest.approx(
        np.e / (1 + np.e)
    )


def test_a_matrix_becomes_a_p_table():
    design = solve_matrix(
        6,
        published=range(9),
        constraints=[unbiasedness, largest_noise(2), fairness, row_monotony],
    )
    assert PTable.from_probabilities(design.transition).n_rows == 7
    assert design.words[:2] == (
        "Give noise the mean 0.",
        "Keep noise to 2 in either direction.",
    )


@pytest.mark.parametrize("objective", ["least-deviation", "least-variance", "least-hellinger"])
def test_each_objective_is_that_of_its_name(objective):
    losses = {
        "least-deviation": lambda i, j: abs(i - j),
        "least-variance": lambda i, j: (i - j) ** 2,
        "least-hellinger": lambda i, j: (np.sqrt(i) - np.sqrt(j)) ** 2 / 2,
    }
    design = solve_matrix(4, objective=objective, constraints=[privacy(0.7)])
    i, j = np.arange(5)[:, None], np.arange(5)[None, :]
    wanted = (design.transition * losses[objective](i, j)).sum() / 5
    assert design.loss == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"objective": "least"}, "objective must be one of"),
        ({"weights": [1.0, -1.0, 1.0]}, "weights must be"),
        ({"weights": [1.0]}, "weights must be"),
        ({"published": [2, 1]}, "counts must be whole numbers"),
        ({"published": []}, "counts must be whole numbers"),
        ({"published": [-1, 0, 1]}, r"counts must lie in 0\.\.400"),
    ],
)
def test_what_no_matrix_has_is_refused(options, problem):
    with pytest.raises(PTableError, match=problem):
        solve_matrix(2, **options)


def test_constraints_that_exclude_each_other_are_named_infeasible():
    with pytest.raises(InfeasibleError, match="No matrix has all of this"):
        solve_matrix(3, constraints=[unbiasedness, privacy(0.1)])  # row 0 must stay
