"""A vine between numbers, from noisy rank correlations and noisy tables of its first trees."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from footing.arrays import Columns, Floats
from synth.copulas.gaussian import nearest_correlation
from synth.copulas.pair import PairCopula
from synth.copulas.structure import Edge, Vine, grow_structure
from synth.copulas.vine import FittedVine
from synth.vine.pairs import (
    NORMAL,
    NoisyPair,
    bicop_of,
    choose_pair,
    common_freedom,
    correction_of,
    heights_given,
    mixed_chances,
    nodes_of,
    rectangle_chances,
    tau_of_rho,
)

#: How many trees have tables; rank correlations alone decide what is behind them.
TREES = 2
_DEEP = 20  # so many numbers have all trees, more have the first few
_FEW_TREES = 4
_LAYERS = np.array([0, 0.02, 0.06, 0.14, 0.26, 0.42, 0.58, 0.74, 0.86, 0.94, 0.98, 1.0])
_WIDTH = 0.25  # of Kendall's tau, around what noisy ranks say
_POINTS = 2048
_ROUNDS = 2
_MOST = 0.98


def structure_of(correlation: Floats) -> Vine:
    """Choose a vine by rank correlations, then by partial ones; nothing else is looked at."""
    matrix = pearson_of(correlation)
    n = len(matrix)
    depth = n - 1 if n <= _DEEP else _FEW_TREES
    return grow_structure(n, lambda edge: abs(_partial(matrix, edge)), depth=depth)


def measured_edges(structure: Vine) -> list[Edge]:
    """Return the edges whose tables are measured."""
    return [edge for tree in structure.trees[:TREES] for edge in tree]


def fit_numbers(
    structure: Vine,
    correlation: Floats,
    tables: Mapping[Columns, NoisyPair],
    scores: Sequence[tuple[Floats, Floats]],
) -> FittedVine:
    """Return a vine: pair-copulas of the first trees from tables, the others from ranks.

    Parameters
    ----------
    structure
        The trees.
    correlation
        Noisy rank correlations.
    tables
        The noisy table of each pair of the first trees, by places from 0.
    scores
        Of each number, the heights at which its codes end, and the score of each code.
    """
    matrix = pearson_of(correlation)
    pairs: dict[str, Any] = {}
    first = [_places(edge) for edge in structure.trees[0]]
    freedom = common_freedom(
        [tables[one] for one in first], [tau_of_rho(correlation[one]) for one in first]
    )
    for edge in structure.trees[0]:
        place = _places(edge)
        pairs[str(edge)] = _first(tables[place], correlation[place], freedom)
    for edge in structure.trees[1] if structure.depth > 1 else ():
        pairs[str(edge)] = _second(edge, tables[_places(edge)], pairs, matrix, freedom + 1)
    deep = [
        (level, edge)
        for level, tree in enumerate(structure.trees)
        for edge in tree
        if level >= TREES
    ]
    target, current = correlation, matrix.copy()
    for step in range(_ROUNDS + 1):
        for level, edge in deep:
            tau = 2 / math.pi * math.asin(_partial(current, edge))
            pairs[str(edge)] = (
                bicop_of("student", tau, freedom=freedom + level)
                if freedom < NORMAL
                else bicop_of("gaussian", tau)
            )
        vine = _vine(structure, pairs)
        if not deep or step == _ROUNDS:
            break
        ranks = rank_correlations(drawn_points(vine, _POINTS), scores)
        for _, edge in deep:
            a, b = _places(edge)
            miss = target[a, b] - ranks[a, b]
            current[a, b] = current[b, a] = np.clip(current[a, b] + miss, -_MOST, _MOST)
        current = nearest_correlation(current)
    return vine


def pearson_of(correlation: Floats) -> Floats:
    """Return the correlation matrix of a Gaussian copula with these rank correlations."""
    matrix = 2 * np.sin(np.pi / 6 * np.clip(correlation, -_MOST, _MOST))
    np.fill_diagonal(matrix, 1.0)
    return nearest_correlation(matrix)


def drawn_points(vine: FittedVine, number: int, *, seed: int = 0) -> Floats:
    """Return points of a vine, spread evenly; nothing here is confidential."""
    from scipy.stats import qmc

    uniform = qmc.Sobol(vine.n, rng=np.random.default_rng(seed)).random(number)  # 2**k points
    return vine.of_uniforms(uniform)


def rank_correlations(points: Floats, scores: Sequence[tuple[Floats, Floats]]) -> Floats:
    """Return the rank correlations of numbers at these heights."""
    values = np.column_stack(
        [
            score[np.searchsorted(heights, u).clip(max=len(score) - 1)]
            for u, (heights, score) in zip(points.T, scores, strict=True)
        ]
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        matrix = np.corrcoef(values, rowvar=False).reshape(len(scores), -1)
    return np.asarray(np.nan_to_num(matrix))


def _vine(structure: Vine, pairs: Mapping[str, Any]) -> FittedVine:
    return FittedVine.of(
        structure, {name: PairCopula.wrapped(bicop) for name, bicop in pairs.items()}
    )


def _first(table: NoisyPair, correlation: float, freedom: float) -> Any:
    def chances(bicop: Any) -> Floats:
        return rectangle_chances(bicop, table.rows, table.columns)

    start = tau_of_rho(correlation)
    return correction_of(
        table, *choose_pair(table, chances, start=start, width=_WIDTH, freedom=freedom)
    )


def _second(
    edge: Edge, table: NoisyPair, pairs: Mapping[str, Any], matrix: Floats, freedom: float
) -> Any:
    """Return the pair-copula of two numbers given a third, from the table of the two."""
    (middle,) = edge.given
    one, other = edge.pair
    nodes, weights = nodes_of(_LAYERS)
    rows = heights_given(_towards(pairs, one, middle), table.rows, nodes)
    columns = heights_given(_towards(pairs, other, middle), table.columns, nodes)
    start = 2 / math.pi * math.asin(_partial(matrix, edge))
    return choose_pair(
        table, mixed_chances(weights, rows, columns), start=start, width=_WIDTH, freedom=freedom
    )[0]


def _towards(pairs: Mapping[str, Any], one: int, middle: int) -> Any:
    """Return the pair-copula of two numbers with the second as that which is given."""
    bicop = pairs[str(Edge.of(one, middle))]
    return bicop if one < middle else bicop.flip()


def _partial(matrix: Floats, edge: Edge) -> float:
    places = [one - 1 for one in (*edge.pair, *sorted(edge.given))]
    precision = np.linalg.inv(matrix[np.ix_(places, places)])
    size = -precision[0, 1] / np.sqrt(precision[0, 0] * precision[1, 1])
    return float(np.clip(size, -_MOST, _MOST))


def _places(edge: Edge) -> tuple[int, int]:
    return edge.pair[0] - 1, edge.pair[1] - 1
