"""Rules on small and empty cells.

With c cells, of which c0, c1 and c2 hold no, one and two persons, sparsity A is
c1 / (c - c0) and sparsity B is (c1 + c2) / (c - c0), as in SuperSTAR.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ckm.config.service.rules import RuleSettings
    from ckm.service.rules.slices import Slices

__all__ = ["empty", "permille_ones", "permille_zeros", "sparsity_a", "sparsity_b"]


def empty(slices: Slices, settings: RuleSettings) -> NDArray[np.bool_] | None:
    """Tell which areas have no cell that is not empty; part of sparsity A and B.

    Parameters
    ----------
    slices, settings
        The table, and the rules; None where the rule is off.
    """
    if settings.sparsity_a is None and settings.sparsity_b is None:
        return None
    return np.asarray(slices.count_of() == 0)


def sparsity_a(slices: Slices, settings: RuleSettings) -> NDArray[np.bool_] | None:
    """Tell in which areas too many of the cells that are not empty hold one person.

    Parameters
    ----------
    slices, settings
        The table, and the rules; None where the rule is off.
    """
    limit = settings.sparsity_a
    return None if limit is None else slices.count_of(1) > limit * slices.count_of()


def sparsity_b(slices: Slices, settings: RuleSettings) -> NDArray[np.bool_] | None:
    """Tell in which areas too many of the cells that are not empty hold one or two persons.

    Parameters
    ----------
    slices, settings
        The table, and the rules; None where the rule is off.
    """
    limit = settings.sparsity_b
    if limit is None:
        return None
    small = slices.count_of(1) + slices.count_of(2)
    return np.asarray(small > limit * slices.count_of())


def permille_zeros(slices: Slices, settings: RuleSettings) -> NDArray[np.bool_] | None:
    """Tell in which areas too many cells are empty.

    Parameters
    ----------
    slices, settings
        The table, and the rules; None where the rule is off.
    """
    limit = settings.permille_zeros
    if limit is None:
        return None
    return 1000 * (slices.cells - slices.count_of()) > limit * slices.cells


def permille_ones(slices: Slices, settings: RuleSettings) -> NDArray[np.bool_] | None:
    """Tell in which areas too many cells hold one person.

    Parameters
    ----------
    slices, settings
        The table, and the rules; None where the rule is off.
    """
    limit = settings.permille_ones
    return None if limit is None else 1000 * slices.count_of(1) > limit * slices.cells
