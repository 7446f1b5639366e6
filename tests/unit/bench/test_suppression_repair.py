"""Patterns of other tools are repaired to the safety that our audit asks for."""

from types import SimpleNamespace

import numpy as np
import pytest

from bench.suppression_repair import _by_duals, _by_programs, _settled, repaired
from ckm.methods.suppression import (
    Grid,
    Percent,
    Problem,
    Relations,
    audit,
    primary_cells,
    suppress,
)

TREE = [-1, 0, 0, 0, 0]


def problem_of(seed, coalition):
    rng = np.random.default_rng(seed)
    grid = Grid.full([TREE, TREE])
    firms = {place: np.ceil(rng.lognormal(3, 1.2, 4)) for place in np.ndindex(4, 4)}
    parts = []
    for i, j in zip(*grid.ranks, strict=True):
        inside = [own for (a, b), own in firms.items() if i in {0, a + 1} and j in {0, b + 1}]
        parts.append(np.sort(np.concatenate(inside))[::-1])
    amounts = SimpleNamespace(
        total=np.array([part.sum() for part in parts]),
        contributors=np.array([len(part) for part in parts]),
        top=np.array([part[:2] for part in parts]),
        top_weight=np.ones((len(parts), 2)),
    )
    return Problem(
        relations=Relations.of_grids([grid], values=amounts.total),
        values=amounts.total,
        primary=primary_cells([Percent(p=30)], amounts=amounts),
        coalition=coalition,
    )


@pytest.mark.parametrize("coalition", [0, 1])
@pytest.mark.parametrize("way", [_by_programs, _by_duals])
def test_a_repaired_pattern_is_as_safe_as_ours_and_hides_what_it_hid(way, coalition):
    for seed in range(4):
        problem = problem_of(seed, coalition)
        pattern = problem.primary.is_primary.copy()
        pattern[np.flatnonzero(problem.is_open)[-1]] = True
        mask = _settled(problem, pattern, way)
        assert (mask >= pattern).all()
        assert audit(problem, mask).is_safe


def test_a_safe_pattern_stays_as_it_is_and_the_cheaper_way_counts():
    problem = problem_of(1, 0)
    best = suppress(problem, method="exact").hidden
    assert (repaired(problem, best) == best).all()
    pattern = problem.primary.is_primary
    costs = [
        problem.cost[_settled(problem, pattern, way)].sum() for way in (_by_programs, _by_duals)
    ]
    assert problem.cost[repaired(problem, pattern)].sum() == min(costs)
