"""Rules on persons who are nearly all alike: a dominant category, group disclosure.

A group is disclosed when all its persons but k are in one category: each of the others then
learns about each of them. In the terms of the Handbook on Statistical Disclosure Control
(2nd edition, 5.9), a cell c is k-disclosive in its marginal p when p - k <= c.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ckm.service.rules.slices import distinct, summed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from ckm.config.service.rules import RuleSettings
    from ckm.service.rules.slices import Slices

__all__ = ["group_disclosure", "permille_dominant"]


def permille_dominant(
    slices: Slices, settings: RuleSettings, *, variable: str
) -> NDArray[np.bool_] | None:
    """Tell in which areas one category of a variable holds too large a share of the persons.

    Parameters
    ----------
    slices, settings
        The table, and the rules; None where the rule is off.
    variable
        The variable.
    """
    limit = settings.permille_dominant
    if limit is None:
        return None
    group, size = distinct(slices.area, slices.codes[variable])
    inside = summed(group, slices.published, size=size)
    area = np.zeros(size, np.int64)
    area[group] = slices.area
    largest = np.zeros(slices.n_areas, np.int64)
    np.maximum.at(largest, area, inside)
    every = summed(slices.area, slices.published, size=slices.n_areas)
    return 1000 * largest > limit * every


def group_disclosure(
    slices: Slices, settings: RuleSettings, *, variable: str
) -> NDArray[np.bool_] | None:
    """Tell in which areas too many groups are all but k in one category of a variable.

    A group is a combination of categories of the other variables in an area.

    Parameters
    ----------
    slices, settings
        The table, and the rules; None where the rule is off.
    variable
        A sensitive variable.
    """
    k = settings.group_disclosure
    if k is None:
        return None
    others: Iterable[NDArray[np.int64]] = [
        code for name, code in slices.codes.items() if name != variable
    ]
    group, size = distinct(slices.area, *others)
    persons = summed(group, slices.published, size=size)
    largest = np.zeros(size, np.int64)
    np.maximum.at(largest, group, slices.published)
    area = np.zeros(size, np.int64)
    area[group] = slices.area
    is_there = persons > 0
    is_disclosed = is_there & (persons - k <= largest)
    groups = np.bincount(area[is_there], minlength=slices.n_areas)
    disclosed = np.bincount(area[is_disclosed], minlength=slices.n_areas)
    return 1000 * disclosed > settings.permille_disclosive * groups
