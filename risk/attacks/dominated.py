"""Averaging the published sums of several cells that one contributor makes up nearly alone."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from footing.messages import Message
from risk.errors import RiskError
from risk.wellformed import read_numbers, require_between


@dataclass(frozen=True, slots=True, kw_only=True)
class DominatedCells:
    """How often a contributor of several cells is found, by one of them and by all.

    Parameters
    ----------
    contributors
        Contributors who dominate two different cells or more.
    cells
        These cells.
    alone
        The share of these cells whose estimate is near; None without any.
    together
        The share of these contributors to whom the mean of their cells' estimates is near.
    """

    contributors: int
    cells: int
    alone: float | None = None
    together: float | None = None


def average_dominated(
    contributors: ArrayLike, sets: ArrayLike, estimates: ArrayLike, *, percent: float
) -> DominatedCells:
    """Estimate every contributor from each of several cells, and from the mean of them.

    Parameters
    ----------
    contributors
        Who dominates each cell: any identity, such as a record key.
    sets
        All who contribute to it: cells of one set have one noise and count once.
    estimates
        What the intruder takes for the contributor's amount, as a share of the true one.
    percent
        How near an estimate is that finds it, in per cent.

    Notes
    -----
    Where the noises of different cells are independent, the mean of two has half the variance.
    Where the contributor is multiplied by one number in all of them, it has the same.

    Examples
    --------
    >>> average_dominated([1, 1, 2], [7, 8, 9], [1.2, 0.8, 1.0], percent=10)
    DominatedCells(contributors=1, cells=2, alone=0.0, together=1.0)
    """
    near = require_between(percent, name="percent") / 100
    ratios = read_numbers(estimates, name="estimates")
    who, which = np.asarray(contributors), np.asarray(sets)
    if not who.shape == which.shape == ratios.shape or ratios.ndim != 1:
        raise RiskError(
            Message("contributors, sets and estimates must be three lists of one length.")
        )
    order = np.lexsort((which, who))
    is_new = np.ones(len(order), bool)
    same = (who[order[1:]] == who[order[:-1]]) & (which[order[1:]] == which[order[:-1]])
    is_new[1:] = ~same
    places = order[is_new]
    _, group, sizes = np.unique(who[places], return_inverse=True, return_counts=True)
    several = sizes >= 2
    here = several[group]
    if not here.any():
        return DominatedCells(contributors=0, cells=0)
    means = np.bincount(group, ratios[places]) / sizes
    return DominatedCells(
        contributors=int(several.sum()),
        cells=int(here.sum()),
        alone=float((np.abs(ratios[places][here] - 1) <= near).mean()),
        together=float((np.abs(means[several] - 1) <= near).mean()),
    )
