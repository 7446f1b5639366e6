"""Several cells of one record: the bound holds for all pairs of laws, and is tight."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from ptable import Mechanism, NoiseSpec, guarantee, solve
from ptable.proof.composition import composed_delta
from ptable.proof.divergence import laws_of, neighbours

TABLES = {
    "entropy": solve(NoiseSpec(max_noise=3, variance=1.5)),
    "blocked": solve(NoiseSpec(max_noise=4, variance=3.0, small=1)),
    "laplace": Mechanism.discrete_laplace(0.7, max_noise=6).build(),
    "rounding": Mechanism.random_rounding(3).build(),
}


def pairs_of(table):
    both = neighbours(
        laws_of(table, key_range=table.key_range), large_counts=table.large_counts
    )
    return [sides[0] for sides in both]


def joint(pairs, *, epsilon):
    """Give the exact delta of cells with these laws, the larger of both ways."""
    first, second = np.ones(1), np.ones(1)
    for pair in pairs:
        law = np.array(pair, float)
        law /= law.sum(axis=0)
        first = np.outer(first, law[:, 0]).ravel()
        second = np.outer(second, law[:, 1]).ravel()
    ratio = math.exp(epsilon)
    return max(
        np.maximum(p - ratio * q, 0).sum() for p, q in ((first, second), (second, first))
    )


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
@pytest.mark.parametrize("epsilon", [0.0, 1.0, 2.5])
def test_one_cell_is_the_exact_delta(table, epsilon):
    proof = guarantee(table)
    found = proof.delta_of_cells(1, epsilon=epsilon)
    assert proof.delta_at(epsilon) <= found <= proof.delta_at(epsilon) + 1e-6


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_no_choice_of_counts_exceeds_the_bound(table):
    pairs = pairs_of(table)
    for epsilon in (0.0, 0.73, 2.0):
        bound = guarantee(table).delta_of_cells(2, epsilon=epsilon)
        for some in itertools.product(pairs, repeat=2):
            assert joint(some, epsilon=epsilon) <= bound


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_the_bound_of_one_pair_is_tight(table):
    pair = pairs_of(table)[-1]
    for epsilon in (0.0, 1.0):
        exact = joint([pair] * 3, epsilon=epsilon)
        found = composed_delta([pair], epsilon=epsilon, times=3)
        assert exact <= found <= exact + 2e-3


def test_what_no_epsilon_ends_grows_as_the_tail_says():
    proof = guarantee(TABLES["entropy"])
    tail = max(
        max(p for p, q in pair if q == 0) / TABLES["entropy"].key_range
        for pair in pairs_of(TABLES["entropy"])[-1:]
    )
    for n_cells in (1, 7, 40):
        found = proof.delta_of_cells(n_cells, epsilon=math.inf, are_large=True)
        assert found == pytest.approx(1 - (1 - tail) ** n_cells, abs=1e-8)


def test_a_record_that_is_certain_stays_so():
    assert guarantee(Mechanism.rounding(5).build()).delta_of_cells(3, epsilon=1.0) == 1.0


def test_cells_that_differ_by_a_record_are_published_apart_as_often_as_drawn():
    table = TABLES["entropy"]
    rng = np.random.default_rng(1)
    keys = rng.integers(0, 2**32, (2, 100_000), dtype=np.uint64)
    with_her, without = (
        n + table.lookup(np.full(keys.shape[1], n), own, key_range=2**32)
        for n, own in zip((40, 39), keys, strict=True)
    )
    found = float(np.mean(with_her != without))
    assert found == pytest.approx(guarantee(table).chance_apart, abs=0.006)


def test_two_cells_of_known_losses_have_the_delta_of_their_sums():
    # losses lie on the grid: exp(±0.5) with probabilities p and q
    high = 1 / (1 + math.exp(-0.5))
    keys = 2**40
    pair = [(round(high * keys), keys - round(high * keys))]
    pair.append((pair[0][1], pair[0][0]))
    for epsilon, times in ((0.0, 2), (0.7, 2), (0.3, 4)):
        found = composed_delta([pair], epsilon=epsilon, times=times)
        assert found == pytest.approx(joint([pair] * times, epsilon=epsilon), abs=1e-8)


def test_pairs_that_are_alike_tell_nothing():
    assert composed_delta([[(3, 3), (5, 5)]], epsilon=0.0, times=7) == pytest.approx(
        0, abs=1e-9
    )


def test_laws_of_different_totals_are_compared_as_probabilities():
    one = composed_delta([[(3, 1), (1, 3)]], epsilon=0.4, times=2)
    assert composed_delta([[(30, 1), (10, 3)]], epsilon=0.4, times=2) == pytest.approx(one)


def test_the_bound_never_exceeds_1_and_never_falls_with_more_cells():
    pair = [(9, 1), (1, 9)]
    deltas = [composed_delta([pair], epsilon=0.0, times=n) for n in (1, 2, 5, 20)]
    assert deltas == sorted(deltas)
    assert deltas[-1] <= 1
    assert deltas[-1] == pytest.approx(1, abs=1e-4)
