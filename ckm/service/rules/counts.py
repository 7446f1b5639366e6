"""Rules on protected counts, area by area: each tells in which areas its limit is broken.

With c cells, of which c0, c1 and c2 hold no, one and two persons, sparsity A is
c1 / (c - c0) and sparsity B is (c1 + c2) / (c - c0), as in SuperSTAR.

A group is disclosed when all its persons but k are in one category: each of the others then
learns about each of them. In the terms of the Handbook on Statistical Disclosure Control
(2nd edition, 5.9), a cell c is k-disclosive in its marginal p when p - k <= c.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ckm.service.rules.slices import distinct, summed

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from ckm.config.service.rules import RuleSettings
    from ckm.service.rules.slices import Integers, Slices

    Fails: TypeAlias = NDArray[np.bool_]

#: Rule on the cells of an area → where its limit is broken.
RULES: dict[str, Callable[[Slices, float], Fails]] = {
    # Persons per cell, empty ones included.
    "mean_cell_size": lambda slices, limit: slices.population < limit * slices.cells,
    "sparsity_a": lambda slices, limit: slices.count_of(1) > limit * slices.count_of(),
    "sparsity_b": lambda slices, limit: (
        slices.count_of(1) + slices.count_of(2) > limit * slices.count_of()
    ),
    "permille_zeros": lambda slices, limit: (
        1000 * (slices.cells - slices.count_of()) > limit * slices.cells
    ),
    "permille_ones": lambda slices, limit: 1000 * slices.count_of(1) > limit * slices.cells,
}


def permille_dominant(slices: Slices, settings: RuleSettings, *, variable: str) -> Fails:
    """Tell in which areas one category of a variable holds too large a share of the persons."""
    group, size = distinct(slices.area, slices.codes[variable])
    inside = summed(group, slices.published, size=size)
    largest = np.zeros(slices.n_areas, np.int64)
    np.maximum.at(largest, _areas(slices, group, size), inside)
    every = summed(slices.area, slices.published, size=slices.n_areas)
    return 1000 * largest > (settings.permille_dominant or 0) * every


def group_disclosure(slices: Slices, settings: RuleSettings, *, variable: str) -> Fails:
    """Tell in which areas too many groups are all but k in one category of a variable.

    A group is a combination of categories of the other variables in an area.
    """
    others = (code for name, code in slices.codes.items() if name != variable)
    group, size = distinct(slices.area, *others)
    persons = summed(group, slices.published, size=size)
    largest = np.zeros(size, np.int64)
    np.maximum.at(largest, group, slices.published)
    area = _areas(slices, group, size)
    is_there = persons > 0
    is_disclosed = is_there & (persons - (settings.group_disclosure or 0) <= largest)
    groups = np.bincount(area[is_there], minlength=slices.n_areas)
    disclosed = np.bincount(area[is_disclosed], minlength=slices.n_areas)
    return 1000 * disclosed > settings.permille_disclosive * groups


def _areas(slices: Slices, group: Integers, size: int) -> Integers:
    """Return the area of each group."""
    area = np.zeros(size, np.int64)
    area[group] = slices.area
    return area
