"""Tables of the same records at many levels: sums, their adjoint, the fit to all of them."""

import itertools

import numpy as np
import pytest

from risk.reconstruction.fitted_counts import most_probable_counts
from risk.reconstruction.lattice import (
    Found,
    Lattice,
    Shown,
    guessed_counts,
)

# A tree of seven districts in three regions, out of order, and two plain variables.
TREE = [np.arange(7), np.array([2, 0, 1, 0, 2, 1, 0]), np.zeros(7, int)]
SEX = [np.arange(2), np.zeros(2, int)]
AGE = [np.arange(3), np.zeros(3, int)]


def test_tables_are_the_sums_of_their_joint_cells():
    rng = np.random.default_rng(1)
    tables = list(itertools.product(range(3), range(2), range(2)))
    lattice = Lattice([TREE, SEX, AGE], tables)
    joint = rng.integers(0, 9, (7, 2, 3))
    found = lattice.sums(joint)
    assert set(found) == set(tables)
    for table, sums in found.items():
        direct = np.zeros(lattice.shape_of(table), int)
        for cell in np.ndindex(*joint.shape):
            at = tuple(g[t][c] for g, t, c in zip(lattice.groups, table, cell, strict=True))
            direct[at] += joint[cell]
        assert (sums == direct).all()


def test_spreading_is_the_adjoint_of_summing():
    rng = np.random.default_rng(2)
    lattice = Lattice([TREE, SEX, AGE], [(1, 0, 1), (2, 0, 0), (0, 1, 1), (2, 1, 1)])
    joint = rng.normal(size=(7, 2, 3))
    weights = {t: rng.normal(size=lattice.shape_of(t)) for t in lattice.tables}
    sums = lattice.sums(joint)
    wanted = sum(float((sums[t] * weights[t]).sum()) for t in lattice.tables)
    assert float((lattice.spread(weights) * joint).sum()) == pytest.approx(wanted)


def _objective(joint, lattice, shown, means, variance):
    sums = lattice.sums(joint)
    misfit = sum(
        (((sums[t] - one.published) ** 2) * one.is_shown).sum() for t, one in shown.items()
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        entropy = np.where(joint > 0, joint * np.log(joint / means), 0) - joint
    return misfit / (2 * variance) + entropy.sum()


def test_twelve_cells_are_fitted_better_than_by_any_whole_numbers():
    """Sex by age with all margins: the fit has no equal among all 4^6 tables of 0 to 3."""
    tables = list(itertools.product(range(2), range(2)))
    lattice = Lattice([SEX, AGE], tables)
    truth = np.array([[1, 0, 2], [3, 1, 0]])
    noise = np.random.default_rng(4)
    shown = {
        t: Shown(
            published=np.maximum(sums + noise.integers(-1, 2, sums.shape), 0),
            is_shown=np.ones(sums.shape, bool),
        )
        for t, sums in lattice.sums(truth).items()
    }
    assert sum(one.published.size for one in shown.values()) == 12
    fitted = most_probable_counts(lattice, shown, variance=2 / 3)
    rows, columns = (np.maximum(shown[t].published, 0.5) for t in ((0, 1), (1, 0)))
    means = rows / rows.sum() * columns / columns.sum() * max(rows.sum(), columns.sum())
    best = _objective(fitted[0, 0], lattice, shown, means, 2 / 3)
    every = (
        _objective(np.reshape(cells, (2, 3)).astype(float), lattice, shown, means, 2 / 3)
        for cells in itertools.product(range(4), repeat=6)
    )
    assert best < min(every)
    # What is left over is what the prior holds: (Ax - p) A / s = log(m / x).
    sums = lattice.sums(fitted[0, 0])
    off = lattice.spread({t: (sums[t] - one.published) / (2 / 3) for t, one in shown.items()})
    assert off == pytest.approx(np.log(means / fitted[0, 0]), abs=1e-3)


def test_a_cell_that_is_not_shown_may_hold_anything():
    lattice = Lattice([SEX, AGE], [(0, 0), (0, 1), (1, 0), (1, 1)])
    sums = lattice.sums(np.array([[9, 9, 9], [9, 9, 9]]))
    shown = {t: Shown(published=s, is_shown=np.ones(s.shape, bool)) for t, s in sums.items()}
    hidden = np.ones((2, 3), bool)
    hidden[0, 0] = False
    wrong = sums[0, 0].copy()
    wrong[0, 0] = 1000
    shown[0, 0] = Shown(published=wrong, is_shown=hidden)
    fitted = most_probable_counts(lattice, shown, variance=1.0)
    assert fitted[0, 0] == pytest.approx(np.full((2, 3), 9.0), abs=0.2)


def test_together_many_tables_tell_more_than_one():
    """600 Poisson cells of mean 2 in a tree of areas: the fit is nearer than the noise."""
    rng = np.random.default_rng(5)
    area = [np.arange(100), np.arange(100) // 10, np.zeros(100, int)]
    tables = list(itertools.product(range(3), range(2), range(2)))
    lattice = Lattice([area, SEX, AGE], tables)
    truth = rng.poisson(2.0, lattice.shape)
    shown = {
        t: Shown(
            published=np.maximum(s + np.rint(rng.normal(0, 1.7, s.shape)).astype(int), 0),
            is_shown=np.ones(s.shape, bool),
        )
        for t, s in lattice.sums(truth).items()
    }
    fitted = most_probable_counts(lattice, shown, variance=3.0)
    finest = (0, 0, 0)
    alone = np.mean((shown[finest].published - truth) ** 2)
    assert np.mean((fitted[finest] - truth) ** 2) < 0.55 * alone


def test_guesses_are_made_by_others_alone():
    """41 cells published as 3: 39 of the others hold 2, and one 5."""
    truth = np.array([2] * 40 + [5])
    seen = np.full(41, 3)
    found = guessed_counts(truth, seen, [seen], small=2, confidence=0.95).found
    assert found == Found(n_small=40, guessed=41, right=40, sure=41, sure_wrong=1)
    strict = guessed_counts(truth, seen, [seen], small=2, confidence=0.98).found
    assert (strict.sure, strict.sure_wrong) == (1, 1)  # that of 5: all others hold 2


def test_few_others_tell_nothing():
    truth, guess = np.array([1, 1, 4]), np.array([1, 2, 3])
    found = guessed_counts(truth, guess, [np.zeros(3, int)], small=2, confidence=0.9).found
    assert found == Found(n_small=2, guessed=2, right=1, sure=0, sure_wrong=0)
    none = guessed_counts(truth[:0], guess[:0], [guess[:0]], small=2, confidence=0.9).found
    assert (none + found).share == 0.5
    assert none.share == 0.0


def test_bounds_make_certain_what_they_leave_alone_and_keep_guesses_within():
    """Of three cells that look alike, bounds leave the first one count, the second no 1."""
    truth, lower, upper = np.array([1, 2, 3]), np.array([1.0, 2, 0]), np.array([1.0, 9, np.inf])
    found = guessed_counts(
        truth,
        np.array([2, 1, 1]),
        [np.zeros(3, int)],
        small=2,
        confidence=0.9,
        bounds=(lower, upper),
    ).found
    assert found == Found(n_small=2, guessed=3, right=2, sure=1, sure_wrong=0, certain=1)
