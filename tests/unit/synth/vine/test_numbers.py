"""The vine of the numbers, from ranks and tables."""

import numpy as np
import pytest

from synth.vine.numbers import (
    drawn_points,
    fit_numbers,
    measured_edges,
    rank_correlations,
    structure_of,
)
from synth.vine.pairs import NoisyPair

EDGES = np.linspace(0, 1, 11)


def test_the_first_tree_joins_what_hangs_together_most():
    strong = np.array(
        [[1, 0.9, 0.5, 0.2], [0.9, 1, 0.8, 0.1], [0.5, 0.8, 1, 0.7], [0.2, 0.1, 0.7, 1]]
    )
    structure = structure_of(strong)
    assert {str(edge) for edge in structure.trees[0]} == {"1,2", "2,3", "3,4"}
    assert len(measured_edges(structure)) == 5  # of two trees


def test_a_vine_from_ranks_and_tables_has_the_ranks_of_its_source():
    loads = np.array([0.9, 0.8, 0.7, 0.6])
    matrix = np.outer(loads, loads)
    np.fill_diagonal(matrix, 1)
    drawn = np.random.default_rng(1).multivariate_normal(np.zeros(4), matrix, 20_000)
    u = (np.argsort(np.argsort(drawn, axis=0), axis=0) + 0.5) / len(drawn)
    scores = [(EDGES[1:], EDGES[1:] + EDGES[:-1] - 1)] * 4
    ranks = rank_correlations(u, scores)
    cells = np.floor(u * 10).astype(int)
    structure = structure_of(ranks)
    tables = {}
    for edge in measured_edges(structure):
        a, b = (one - 1 for one in edge.pair)
        counts = np.zeros((10, 10))
        np.add.at(counts, (cells[:, a], cells[:, b]), 1.0)
        tables[a, b] = NoisyPair(counts, 1.0, EDGES, EDGES, 20_000.0)
    vine = fit_numbers(structure, ranks, tables, scores)
    again = rank_correlations(drawn_points(vine, 4096), scores)
    assert np.abs(again - ranks).max() < 0.02


def test_points_of_a_vine_are_spread_evenly():
    structure = structure_of(np.array([[1.0, 0.0], [0.0, 1.0]]))
    counts = np.full((10, 10), 10.0)
    table = NoisyPair(counts, 5.0, EDGES, EDGES, 1000.0)
    scores = [(EDGES[1:], EDGES[1:] + EDGES[:-1] - 1)] * 2
    vine = fit_numbers(structure, np.eye(2), {(0, 1): table}, scores)
    points = drawn_points(vine, 1024)
    assert np.histogram(points[:, 1], 8, (0, 1))[0].tolist() == pytest.approx([128] * 8, abs=2)
