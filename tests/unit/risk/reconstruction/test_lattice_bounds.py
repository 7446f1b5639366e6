"""Bounds of all counts of a lattice: checked against all tables that fit, one by one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from risk.errors import RiskError
from risk.reconstruction import lattice_bounds
from risk.reconstruction.lattice import Lattice, Shown
from risk.reconstruction.lattice_bounds import count_bounds, equal_siblings

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


def of_parts(parts, total):
    groups = [[np.arange(len(parts)), np.zeros(len(parts), int)]]
    known = {(0,): np.array(parts), (1,): np.array([total])}
    shown = {
        table: Shown(published=one, is_shown=np.ones(one.shape, bool))
        for table, one in known.items()
    }
    return Lattice(groups, list(shown)), shown


@pytest.mark.parametrize("most_whole", [0, 150])
def test_a_part_published_unlike_its_sum_is_not_all_of_it(monkeypatch, most_whole):
    """Equal records would have equal noise: somebody is in another part, if there is one."""
    monkeypatch.setattr(lattice_bounds, "_MOST_WHOLE", most_whole)
    for parts, is_equal, lower, upper in (
        ([4, 0, 0], False, [3, 0, 0], [4, 1, 1]),
        ([4, 0, 0], True, [3, 0, 0], [3, 1, 1]),
        ([4, 0], False, [3, 0], [4, 1]),
        ([4, 0], True, [3, 1], [3, 1]),
        ([3, 0], True, [2, 0], [4, 1]),
    ):
        given = of_parts(parts, 3)
        found = count_bounds(*given, origins=origins, equal_noise=is_equal)[0,]
        assert (found.lower.tolist(), found.upper.tolist()) == (lower, upper)


def test_bounds_by_equal_noise_hold_for_the_truth_and_are_closer():
    """Each set of joint cells with records has one noise."""
    width = {True: 0, False: 0}
    for seed in range(4):
        rng, noises = np.random.default_rng(seed), {}
        joint = rng.poisson(0.4, SHAPE)
        lattice, shown = released(seed)
        truth = lattice.sums(joint)
        sets = lattice.sums((1 << np.arange(12).reshape(SHAPE)) * (joint > 0))
        for table, true in truth.items():
            noise = [
                noises.setdefault(s, rng.integers(-1, 2) * (s > 0)) for s in sets[table].flat
            ]
            shown[table] = Shown(
                published=true + np.reshape(noise, true.shape),
                is_shown=np.ones(true.shape, bool),
            )
        for is_equal in width:
            bounds = count_bounds(lattice, shown, origins=origins, equal_noise=is_equal)
            for table, found in bounds.items():
                assert (found.lower <= truth[table]).all()
                assert (found.upper >= truth[table]).all()
                width[is_equal] += (found.upper - found.lower).sum()
    assert width[True] < width[False]


def test_beside_a_part_published_like_its_sum_there_is_mostly_nobody():
    assert equal_siblings(*of_parts([5, 0, 1], 5))[0,].tolist() == [False, True, True]
    assert equal_siblings(*of_parts([5, 5, 0], 5))[0,].tolist() == [True, True, True]
    assert not equal_siblings(*of_parts([5, 0, 0], 4))[0,].any()
