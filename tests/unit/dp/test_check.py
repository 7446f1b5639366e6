"""The checker of finite mechanisms."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dp import DPError, RandomisedResponse, exact_epsilon
from tests.unit.dp.support import exact_delta

_NEXT = [(i, i + 1) for i in range(5)]


def clipped_geometric(epsilon, size=6):
    """Return geometric noise on counts 0 to size - 1, clipped to them."""
    wide = np.arange(-400, 400 + size)
    matrix = np.zeros((size, size))
    for true in range(size):
        law = np.exp(-epsilon * np.abs(wide - true))
        np.add.at(matrix[true], np.clip(wide, 0, size - 1), law / law.sum())
    return matrix


def test_geometric_noise_has_its_epsilon_between_next_counts():
    matrix = clipped_geometric(0.7)
    assert exact_epsilon(matrix, neighbours="next").epsilon == pytest.approx(0.7)
    assert exact_epsilon(matrix).epsilon == pytest.approx(5 * 0.7)
    assert exact_epsilon(matrix, neighbours=[(0, 2)]).epsilon == pytest.approx(1.4)


def test_it_says_where_the_worst_is():
    matrix = [[0.5, 0.5, 0.0], [0.5, 0.4, 0.1], [0.1, 0.4, 0.5]]
    found = exact_epsilon(matrix, neighbours=[(1, 2)])
    assert (found.inputs, found.outcome) in [((1, 2), 0), ((2, 1), 2)]
    assert found.epsilon == pytest.approx(math.log(5))
    hole = exact_epsilon(matrix)
    assert hole.epsilon == math.inf
    assert hole.outcome == 2
    assert hole.inputs[1] == 0


def test_post_processing_never_costs():
    generator = np.random.default_rng(8)
    matrix = clipped_geometric(1.0)
    for _ in range(50):
        channel = generator.dirichlet(np.ones(4), size=6)
        after = exact_epsilon(matrix @ channel, neighbours="next").epsilon
        assert after <= 1.0 + 1e-9
        for epsilon in (0.0, 0.4):
            before = exact_delta(matrix, epsilon=epsilon, neighbours=_NEXT)
            assert exact_delta(matrix @ channel, epsilon=epsilon, neighbours=_NEXT) <= (
                before + 1e-12
            )


def test_delta_vanishes_at_epsilon_and_is_the_distance_at_zero():
    coins = RandomisedResponse.two_coins().transition
    assert exact_delta(coins, epsilon=math.log(3), neighbours=[(0, 1)]) == pytest.approx(
        0, abs=1e-12
    )
    assert exact_delta(coins, epsilon=0, neighbours=[(0, 1)]) == pytest.approx(0.5)
    assert (
        exact_delta(RandomisedResponse.forced().transition, epsilon=30, neighbours=[(0, 1)])
        == 0.5
    )


def test_one_input_or_equal_rows_lose_nothing():
    assert exact_epsilon([[0.2, 0.8]]).epsilon == 0
    assert exact_epsilon([[0.2, 0.8]] * 3).epsilon == 0


@pytest.mark.parametrize(
    "matrix", [[], [[0.5, 0.6]], [[-0.5, 1.5]], [[math.nan, 1]], [0.5, 0.5]]
)
def test_what_is_no_mechanism_is_refused(matrix):
    with pytest.raises(DPError):
        exact_epsilon(matrix)


@pytest.mark.parametrize("neighbours", ["near", [(0, 5)], [(-1, 0)]])
def test_neighbours_are_inputs(neighbours):
    with pytest.raises(DPError):
        exact_epsilon([[1.0], [1.0]], neighbours=neighbours)
