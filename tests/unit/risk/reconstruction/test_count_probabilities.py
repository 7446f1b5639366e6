"""Probabilities of counts are those of enumeration, and as often right as said."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import risk.reconstruction.count_probabilities as module
from ptable import NoiseSpec, solve
from risk.reconstruction.count_probabilities import count_probabilities
from risk.reconstruction.fitted_counts import fitted_cells
from risk.reconstruction.lattice import Lattice, Shown

PTABLE = solve(NoiseSpec(max_noise=3, variance=1.5, small=1))


def probabilities_of(groups, published, *, most=2, is_over=lambda: False, hidden=()):
    tables = {table: np.array(one) for table, one in published.items()}
    shown = {
        table: Shown(published=one, is_shown=np.ones(one.shape, bool))
        for table, one in tables.items()
    }
    for table, place in hidden:
        shown[table].is_shown[place] = False
    lattice = Lattice(groups, list(tables))
    fit = fitted_cells(lattice, shown, variance=1.5).fitted_to_sums(lattice, variance=1.5)
    return count_probabilities(fit, lattice, ptable=PTABLE, most=most, is_over=is_over), fit


def of_one_variable(cells, total=None):
    groups = [[np.arange(len(cells)), np.zeros(len(cells), int)]]
    return groups, {(0,): cells} | ({} if total is None else {(1,): [total]})


def noise_of(row):
    ends = np.diff([0, *PTABLE.upper[row]])
    return PTABLE.noise[row], ends / ends.sum()


def chance(count, published):
    noise, shares = noise_of(min(count, len(PTABLE.noise) - 1))
    return sum(shares[place] for place, of in enumerate(noise) if count + of == published)


def enumerated(means, cells, total, *, most=2):
    """Sum up all counts of the cells; where one has all records, its noise is the total's."""
    shares = np.zeros((len(cells) + 1, most + 2))
    for counts in itertools.product(range(8), repeat=len(cells)):
        whole = sum(counts)
        chances = [chance(n, p) for n, p in zip(counts, cells, strict=True)]
        weight = math.prod(m**n / math.factorial(n) for m, n in zip(means, counts, strict=True))
        weight *= math.prod(chances)
        if whole in counts and whole:  # one cell has all records
            weight *= cells[counts.index(whole)] == total
        else:
            weight *= chance(whole, total)
        for place, count in enumerate((*counts, whole)):
            shares[place, min(count, most + 1)] += weight
    return shares / shares.sum(axis=1, keepdims=True)


@pytest.mark.parametrize(
    ("cells", "total"),
    [([0, 2, 3], 5), ([0, 3, 0], 3), ([0, 0, 0], 2), ([0, 4, 2], 3), ([0, 3, 3, 0], 3)],
)
def test_a_sum_and_its_parts_have_the_probabilities_of_enumeration(cells, total, monkeypatch):
    monkeypatch.setattr(module, "_ENOUGH", 1e-7)
    monkeypatch.setattr(module, "_STEPS", 60)
    result, fit = probabilities_of(*of_one_variable(cells, total))
    means = fit.sums()[0,]
    assert result.is_settled
    assert result.shares == pytest.approx(enumerated(means, cells, total), abs=2e-3)


def test_a_part_published_like_its_sum_leaves_less_for_the_others():
    """Were the noises of all cells independent, a total of 3 or 4 would say the same."""
    alike, _ = probabilities_of(*of_one_variable([3, 0], 3))
    unlike, _ = probabilities_of(*of_one_variable([3, 0], 4))
    assert alike.shares[1, 0] > 0.5
    assert unlike.shares[1, 0] < 1e-2  # somebody is in the other one


def test_each_cell_has_a_distribution_over_counts_that_are_published_so():
    result, _ = probabilities_of(*of_one_variable([0, 2, 3, 40, 0, 7]))
    shares = result.shares
    assert result.is_settled
    assert shares.shape == (6, 4)
    assert shares.sum(axis=1) == pytest.approx(np.ones(6))
    assert shares[:, 0].tolist() == pytest.approx([shares[0, 0], 0, 0, 0, shares[4, 0], 0])
    assert shares[3].tolist() == pytest.approx([0, 0, 0, 1])


def test_a_cell_that_is_not_shown_may_hold_what_is_missing_in_its_sum():
    """Its own number says nothing, whatever it is."""
    groups, published = of_one_variable([0, 0, 6], 6)
    results = []
    for number in (0, 9):
        published[0,][1] = number
        results.append(probabilities_of(groups, published, hidden=[((0,), (1,))])[0].shares)
    assert results[0].shape == (3, 4)
    assert results[0].tolist() == results[1].tolist()


def test_messages_that_were_cut_short_have_not_settled():
    published = {(0, 0): [[0, 2], [3, 0]], (1, 0): [[3, 2]], (0, 1): [[2], [3]], (1, 1): [[5]]}
    groups = [[np.arange(2), np.zeros(2, int)]] * 2
    assert probabilities_of(groups, published)[0].is_settled
    assert not probabilities_of(groups, published, is_over=lambda: True)[0].is_settled


def test_of_simulated_tables_as_many_counts_are_as_probable_as_said():
    """Independent variables with the noise of their cell keys: within three deviations."""
    rng = np.random.default_rng(1)
    means = 3000 * np.multiply.outer(rng.dirichlet(np.ones(40)), rng.dirichlet(np.ones(30)))
    joint = rng.poisson(means)
    groups = [[np.arange(size), np.zeros(size, int)] for size in joint.shape]
    tables = list(itertools.product((0, 1), repeat=2))
    lattice = Lattice(groups, tables)

    def published(counts):
        flat = []
        for n in counts.ravel().tolist():
            noise, shares = noise_of(min(n, len(PTABLE.noise) - 1))
            flat.append(n + rng.choice(noise, p=shares))
        return np.array(flat).reshape(counts.shape)

    truth = lattice.sums(joint)
    shown = {table: published(one) for table, one in truth.items()}
    shares = probabilities_of(groups, shown)[0].shares
    flat = np.concatenate([truth[table].ravel() for table in shown])
    for count in (0, 1, 2):
        for low in (0.0, 0.2, 0.4, 0.6):
            some = (shares[:, count] >= low) & (shares[:, count] < low + 0.2)
            said, is_so = shares[some, count], (flat == count)[some]
            error = np.sqrt((said * (1 - said)).sum())
            assert abs(is_so.sum() - said.sum()) <= 3 * error + 5
