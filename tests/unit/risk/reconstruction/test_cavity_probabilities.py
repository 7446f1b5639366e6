"""Probabilities beside a Poisson mean are those of the rows of the p-table."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from ptable import NoiseSpec, solve
from risk.reconstruction.cavity_probabilities import cavity_probabilities
from risk.reconstruction.fitted_counts import fitted_cells
from risk.reconstruction.lattice import Lattice, Shown

PTABLE = solve(NoiseSpec(max_noise=3, variance=1.5, small=1))


def probabilities_of(published, *, most=2):
    groups = [[np.arange(len(published)), np.zeros(len(published), int)]]
    shown = {(0,): Shown(published=np.array(published), is_shown=np.ones(len(published), bool))}
    lattice = Lattice(groups, [(0,)])
    fit = fitted_cells(lattice, shown, variance=1.5)
    return cavity_probabilities(fit, ptable=PTABLE, variance=1.5, most=most), fit


def test_each_cell_has_a_distribution_over_counts_that_are_published_so():
    shares, _ = probabilities_of([0, 2, 3, 40, 0, 7])
    assert shares.shape == (6, 4)
    assert shares.sum(axis=1) == pytest.approx(np.ones(6))
    assert shares[:, 0].tolist() == pytest.approx([shares[0, 0], 0, 0, 0, shares[4, 0], 0])
    assert shares[3].tolist() == pytest.approx([0, 0, 0, 1])


def test_a_zero_is_less_often_a_one_than_the_other_tables_say_and_rarely_a_large_count():
    """The odds of 1 against 0 are the mean of the other tables times P(0 | 1)."""
    shares, fit = probabilities_of([0, 30, 30, 30])
    chance = PTABLE.transition[1, 0]
    mean = shares[0, 1] / shares[0, 0] / chance
    assert shares[0, 2] / shares[0, 0] == pytest.approx(mean**2 / 2 * PTABLE.transition[2, 0])
    assert 0 < mean < fit.total


def test_of_simulated_tables_as_many_counts_are_as_probable_as_said():
    """Independent variables with independent noises: calibrated, within three deviations."""
    rng = np.random.default_rng(1)
    means = 6000 * np.multiply.outer(rng.dirichlet(np.ones(60)), rng.dirichlet(np.ones(40)))
    joint = rng.poisson(means)
    groups = [[np.arange(size), np.zeros(size, int)] for size in joint.shape]
    tables = list(itertools.product((0, 1), repeat=2))
    lattice = Lattice(groups, tables)
    noise = {row: _noise_of(row) for row in range(len(PTABLE.noise))}

    def published(counts):
        flat = [n + rng.choice(*noise[min(n, len(noise) - 1)]) for n in counts.ravel().tolist()]
        return np.array(flat).reshape(counts.shape)

    truth = lattice.sums(joint)
    shown = {
        table: Shown(published=published(one), is_shown=np.ones(one.shape, bool))
        for table, one in truth.items()
    }
    fit = fitted_cells(lattice, shown, variance=1.5)
    shares = cavity_probabilities(fit, ptable=PTABLE, variance=1.5, most=2)
    flat = np.concatenate([truth[table].ravel() for table in shown])
    for count in (0, 1, 2):
        for low in (0.0, 0.2, 0.4, 0.6):
            some = (shares[:, count] >= low) & (shares[:, count] < low + 0.2)
            said, is_so = shares[some, count], (flat == count)[some]
            error = np.sqrt((said * (1 - said)).sum())
            assert abs(is_so.sum() - said.sum()) <= 3 * error + 5


def _noise_of(row):
    ends = np.diff([0, *PTABLE.upper[row]])
    return PTABLE.noise[row], None, True, ends / ends.sum()
