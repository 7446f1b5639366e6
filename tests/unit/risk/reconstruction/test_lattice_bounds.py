"""Bounds of all counts of a lattice: checked against all tables that fit, one by one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from risk.errors import RiskError
from risk.reconstruction import lattice_bounds
from risk.reconstruction.lattice import Lattice, Shown
from risk.reconstruction.lattice_bounds import count_bounds

SHAPE = (3, 2, 2)
NOISE = 1


def origins(published):
    return np.maximum(published - NOISE, published > 0), published + NOISE


def released(seed, *, tables=None, hidden=()):
    """Publish random counts of 12 joint cells with noise of one, and tell the counts."""
    rng = np.random.default_rng(seed)
    groups = [[np.arange(n), np.zeros(n, int)] for n in SHAPE]
    lattice = Lattice(groups, tables or list(itertools.product((0, 1), repeat=3)))
    shown = {}
    for table, true in lattice.sums(rng.poisson(0.5, SHAPE)).items():
        noise = rng.integers(-NOISE, NOISE + 1, true.shape) * (true > 0)
        shown[table] = Shown(
            published=true + noise, is_shown=np.full(true.shape, table not in hidden)
        )
    return lattice, shown


def all_that_fit(lattice, shown):
    """Enumerate the joint counts that fit what is published."""
    lower, upper = origins(shown[0, 0, 0].published.ravel())
    ranges = [range(a, b + 1) for a, b in zip(lower, upper, strict=True)]
    joint = np.array(list(itertools.product(*ranges)))
    fits = np.ones(len(joint), bool)
    sums = {}
    for table, one in shown.items():
        axes = tuple(axis + 1 for axis, level in enumerate(table) if level)
        sums[table] = joint.reshape(-1, *SHAPE).sum(axis=axes, keepdims=True)
        least, most = origins(one.published)
        inside = (sums[table] >= least) & (sums[table] <= most) | ~one.is_shown
        fits &= inside.all(axis=(1, 2, 3))
    return {table: some[fits] for table, some in sums.items()}


@pytest.mark.parametrize("seed", range(4))
def test_few_cells_have_the_bounds_of_all_tables_that_fit(seed):
    lattice, shown = released(seed, hidden=[(0, 0, 1)])
    fitting = all_that_fit(lattice, shown)
    for table, found in count_bounds(lattice, shown, origins=origins).items():
        assert (found.lower == fitting[table].min(axis=0)).all()
        assert (found.upper == fitting[table].max(axis=0)).all()


def test_of_many_cells_the_bounds_hold_and_are_closer_than_those_of_a_table(monkeypatch):
    monkeypatch.setattr(lattice_bounds, "_MOST_WHOLE", 0)
    width = alone = 0
    for seed in range(4):
        lattice, shown = released(seed)
        fitting = all_that_fit(lattice, shown)
        for table, found in count_bounds(lattice, shown, origins=origins).items():
            assert (found.lower <= fitting[table].min(axis=0)).all()
            assert (found.upper >= fitting[table].max(axis=0)).all()
            width += (found.upper - found.lower).sum()
            least, most = origins(shown[table].published)
            alone += (most - least).sum()
    assert width < 0.8 * alone


def test_tables_that_cross_bound_each_other_through_the_joint_cells():
    """No person in a row leaves one cell of a column, which the row's table does not show."""
    groups = [[np.arange(2), np.zeros(2, int)], [np.arange(2), np.zeros(2, int)]]
    lattice = Lattice(groups, [(0, 1), (1, 0)])
    shown = {
        (0, 1): Shown(published=np.array([[0], [3]]), is_shown=np.ones((2, 1), bool)),
        (1, 0): Shown(published=np.array([[3, 9]]), is_shown=np.array([[True, False]])),
    }
    found = count_bounds(lattice, shown, origins=lambda seen: (seen, seen))
    assert found[1, 0].lower.tolist() == found[1, 0].upper.tolist() == [[3, 0]]


def test_numbers_that_no_counts_fit_are_named():
    groups = [[np.arange(2), np.zeros(2, int)]]
    lattice = Lattice(groups, [(0,), (1,)])
    shown = {
        (0,): Shown(published=np.array([1, 1]), is_shown=np.ones(2, bool)),
        (1,): Shown(published=np.array([9]), is_shown=np.ones(1, bool)),
    }
    with pytest.raises(RiskError, match="No true counts fit"):
        count_bounds(lattice, shown, origins=origins)
