"""What least squares leave of a cell's variance, against pseudo-inverses."""

from __future__ import annotations

import itertools
import tracemalloc

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from risk.reconstruction.least_squares import are_cells, variance_left

PLAIN = np.array([[1, 0], [0, 1], [1, 1]], bool)
NESTED = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]], bool)
CELLS = np.kron(PLAIN, NESTED)  # of all levels
seeds = st.integers(0, 2**32 - 1)


def variances(system, targets):
    """Return the least-squares variance of sums of cells; infinite where none is determined."""
    inverse = np.linalg.pinv(system.T @ system, hermitian=True)
    is_known = np.isclose(targets @ inverse @ (system.T @ system), targets).all(axis=1)
    return np.where(is_known, np.einsum("ij,jk,ik->i", targets, inverse, targets), np.inf)


def sums_of(seed, size):
    rng = np.random.Generator(np.random.PCG64(seed))
    return rng.random((rng.integers(1, 6), size)) < rng.uniform(0.2, 0.8)


@given(seeds)
def test_the_share_is_that_of_a_pseudo_inverse_over_all_cells_of_all_levels(seed):
    sums = sums_of(seed, 6)
    before = variances(CELLS.astype(float), CELLS.astype(float))
    after = variances(np.vstack([CELLS, sums]).astype(float), CELLS.astype(float))
    assert np.isclose(variance_left([PLAIN, NESTED], sums), (after / before).min())


@given(seeds)
def test_no_cell_has_less_variance_than_one_over_the_number_of_sums_that_contain_it(seed):
    """Whatever else is known: the bound behind `project_sets`."""
    sums = sums_of(seed, 5).astype(float)
    contain = sums.sum(axis=0)
    alone = variances(sums, np.eye(5))
    assert (alone[contain > 0] * contain[contain > 0] >= 1 - 1e-9).all()
    assert np.isinf(alone[contain == 0]).all()


@given(seeds)
def test_a_block_by_itself_has_no_more_variance_than_within_the_whole(seed):
    sums = sums_of(seed, 6).astype(float)
    whole = np.vstack([np.eye(6), sums])
    inside = whole[:, :3]  # as if the other three cells were known
    assert (variances(inside, np.eye(3)) <= variances(whole, np.eye(6))[:3] + 1e-9).all()


def test_a_sum_is_a_cell_where_it_is_one_category_of_each_variable():
    every = np.array(list(itertools.product([False, True], repeat=6)))
    listed = {row.tobytes() for row in CELLS}
    assert are_cells([PLAIN, NESTED], every).tolist() == [r.tobytes() in listed for r in every]


def test_many_sums_of_many_categories_take_no_memory_for_every_pair_of_them():
    tracemalloc.start()
    try:
        assert not are_cells([np.eye(1000, dtype=bool)], np.ones((400, 1000), bool)).any()
        assert (
            tracemalloc.get_traced_memory()[1] < 20_000_000
        )  # not 400 times 1,000 times 1,000
    finally:
        tracemalloc.stop()
