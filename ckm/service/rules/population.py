"""Rules on how many persons an area has, and how many its cells have on average."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ckm.config.service.rules import RuleSettings
    from ckm.service.rules.slices import Slices

__all__ = ["mean_cell_size", "minimum_population"]


def minimum_population(slices: Slices, settings: RuleSettings) -> NDArray[np.bool_] | None:
    """Tell which areas have too few persons.

    Parameters
    ----------
    slices, settings
        The table, and the rules; None where the rule is off.
    """
    limit = settings.minimum_population
    return None if limit is None else slices.population < limit


def mean_cell_size(slices: Slices, settings: RuleSettings) -> NDArray[np.bool_] | None:
    """Tell in which areas cells hold too few persons on average, empty ones included.

    Parameters
    ----------
    slices, settings
        The table, and the rules; None where the rule is off.
    """
    limit = settings.mean_cell_size
    return None if limit is None else slices.population < limit * slices.cells
