"""Laws of cell suppression over random tables with margins and hierarchies."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ckm.methods.suppression import (
    Frequency,
    Grid,
    Problem,
    Relations,
    primary_cells,
    suppress,
)

FLAT, TWO_LEVELS = [-1, 0, 0, 0], [-1, 0, 0, 1, 1, 2, 2]


def rolled_up(inner, trees):
    values = inner
    for axis, tree in enumerate(trees):
        leaves = [c for c in range(len(tree)) if c not in tree]
        above = np.zeros((len(tree), len(leaves)), np.int64)
        for place, category in enumerate(leaves):
            at = category
            while at >= 0:
                above[at, place] = 1
                at = tree[at]
        values = np.moveaxis(np.tensordot(above, values, axes=(1, axis)), 0, axis)
    return values.ravel()


@st.composite
def problems(draw):
    trees = draw(st.lists(st.sampled_from([FLAT, TWO_LEVELS]), min_size=1, max_size=2))
    shape = [len(set(range(len(tree))) - set(tree)) for tree in trees]
    counts = st.one_of(st.integers(0, 4), st.integers(0, 40))
    size = int(np.prod(shape))
    inner = draw(st.lists(counts, min_size=size, max_size=size))
    values = rolled_up(np.array(inner).reshape(shape), trees)
    grid = Grid.full(trees)
    there = values > 0
    assume(there.any())
    grid = Grid(parents=grid.parents, ranks=tuple(rank[there] for rank in grid.ranks))
    values = values[there]
    return Problem(
        relations=Relations.of_grids([grid], values=values),
        values=values,
        primary=primary_cells([Frequency(least=draw(st.integers(2, 5)))], counts=values),
        singles=values == 1 if draw(st.booleans()) else None,
    )


@settings(max_examples=40, deadline=None)
@given(problems(), st.sampled_from(["exact", "sequential", "hypercube"]))
def test_no_primary_cell_is_under_protected_and_published_cells_are_true(problem, method):
    found = suppress(problem, method=method)
    assert found.audit().is_safe
    assert found.hidden[problem.primary.is_primary].all()
    shown = found.masked()
    assert (shown.compressed() == problem.value[~found.hidden]).all()
    assert found.least <= found.cost + 1e-9


@settings(max_examples=15, deadline=None)
@given(problems())
def test_no_method_is_cheaper_than_the_exact_one(problem):
    exact = suppress(problem, method="exact")
    assert exact.is_optimal
    for method in ("sequential", "hypercube"):
        assert suppress(problem, method=method).cost >= exact.cost - 1e-6


@settings(max_examples=25, deadline=None)
@given(problems())
def test_the_audit_holds_the_truth(problem):
    seen = suppress(problem, method="hypercube").audit()
    values = problem.value[seen.cells]
    assert (seen.low <= values + 1e-6).all()
    assert (values <= seen.high + 1e-6).all()
