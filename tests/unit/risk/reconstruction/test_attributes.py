"""Guesses of a category of single persons, by hand."""

from __future__ import annotations

import numpy as np

from risk.reconstruction.attributes import FoundAttributes, found_attributes
from risk.reconstruction.lattice import Lattice, Shown


def test_persons_alone_in_a_cell_are_guessed_three_ways():
    """Of three rows the first two have one person each; ill is rarer than well."""
    lattice = Lattice([[np.arange(3), np.zeros(3, int)], [np.arange(2), np.zeros(2, int)]], [])
    truth = {(0, 0): np.array([[1, 0], [0, 1], [1, 9]])}
    published = np.array([[0, 0], [0, 0], [0, 9]])
    fitted = {(0, 0): np.array([[0.6, 0.5], [0.3, 0.4], [1.0, 9.0]])}
    shown = {(0, 0): Shown(published=published, is_shown=np.ones((3, 2), bool))}

    def found(axes):
        return found_attributes(lattice, shown, truth=truth, estimates=fitted, axes=axes)

    assert found([1]) == FoundAttributes(n=2, by_frequency=1, alone=1, together=2)
    assert found([]).n == found([0]).n == 0  # no column has one person
    shown[0, 0].is_shown[0, 0] = False  # of whom not every category is published
    assert found([1]) == FoundAttributes(n=1, by_frequency=1, alone=1, together=1)
