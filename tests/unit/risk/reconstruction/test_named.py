"""Cells published as 0 that hold records, and statements that all of a cell have a category."""

from __future__ import annotations

import numpy as np

from risk.reconstruction.attributes import FoundGroups, found_groups
from risk.reconstruction.lattice import FoundZeros, Lattice, Shown, named_zeros


def test_zeros_are_named_by_others_that_look_alike():
    """Of 30 zeros fitted at 2, 27 hold records; of 30 fitted at 0 one does; three are no 0."""
    truth = np.array([1] * 27 + [0] * 3 + [0] * 29 + [1] + [4] * 3)
    published = np.array([0] * 60 + [4] * 3)
    fit = np.array([2] * 30 + [0] * 30 + [4] * 3)
    named = named_zeros(truth, published, [fit], confidence=0.95, lower=np.zeros(63)).found
    assert named == FoundZeros(n=60, n_occupied=28, named=30, right=27)
    assert named.share == 27 / 28
    less = named_zeros(truth, published, [fit], confidence=0.85, lower=np.zeros(63)).found
    assert (less.sure, less.sure_wrong) == (30, 3)


def test_few_zeros_are_named_where_no_count_of_0_fits_alone():
    lower = np.array([0.0, 1.0, 1.0])
    truth, published = np.array([1, 2, 5]), np.array([0, 0, 5])
    clues = [np.zeros(3, int)]
    named = named_zeros(truth, published, clues, confidence=0.95, lower=lower).found
    assert named == FoundZeros(n=2, n_occupied=2, named=1, right=1, sure=1, certain=1)


def test_a_part_of_the_zeros_has_its_own_figures():
    zeros = named_zeros(
        np.array([1, 0]), np.zeros(2, int), [np.zeros(2, int)], confidence=1.0, lower=np.ones(2)
    )
    assert zeros.part(slice(0, 1)).found.right == 1
    assert zeros.part(slice(1, 2)).found == FoundZeros(
        n=1, named=1, sure=1, sure_wrong=1, certain=1
    )


def test_all_of_a_cell_have_the_category_that_is_published_like_it():
    """Three of five cells are published like a category alone; one of these has another."""
    groups = [[np.arange(5), np.zeros(5, int)], [np.arange(2), np.zeros(2, int)]]
    truth = np.array([[4, 0], [0, 6], [3, 1], [3, 3], [1, 0]])
    published = np.array([[5, 0], [0, 4], [3, 0], [3, 3], [0, 0]])
    sums = np.array([[5], [4], [3], [7], [0]])
    shown = {
        (0, 0): Shown(published=published, is_shown=np.ones((5, 2), bool)),
        (0, 1): Shown(published=sums, is_shown=np.ones((5, 1), bool)),
    }
    lattice = Lattice(groups, list(shown))
    true = {(0, 0): truth, (0, 1): truth.sum(axis=1, keepdims=True)}
    assert found_groups(lattice, shown, truth=true, axes=[1]) == FoundGroups(n=3, right=2)
    assert found_groups(lattice, shown, truth=true, axes=[0]).n == 0
    shown[0, 0].is_shown[0, 1] = False  # what is not published may be more than nothing
    assert found_groups(lattice, shown, truth=true, axes=[1]) == FoundGroups(n=2, right=1)
