"""What a replay of another tool did in every cell, component by component."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ptable import PTable

__all__ = ["Trace", "interpolated"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Trace:
    """What a replay did, cells by components. Disclosive: never write or print it.

    Parameters
    ----------
    keys
        The keys that were looked up.
    steps
        One unit of noise, with its sign.
    tables
        The p-tables: ``"all"``, ``"even"``, ``"odd"``, ``"small_cells"`` or ``""`` for none.
    noise
        The noise.
    totals
        Per cell the total with all noise.
    """

    keys: NDArray[np.float64]
    steps: NDArray[np.float64]
    tables: NDArray[np.str_]
    noise: NDArray[np.float64]
    totals: NDArray[np.float64]


def interpolated(
    table: PTable,
    ratios: NDArray[np.float64],
    keys: NDArray[np.uint64],
    *,
    key_range: int,
    tolerance: float = 0.0,
) -> NDArray[np.float64]:
    """Look up noise, mixed between the two anchors around each ratio at one key.

    Parameters
    ----------
    table
        The p-table.
    ratios
        Total over unit, at least 0; what lies beyond the last anchor is taken as that.
    keys
        Keys, integers in [0, key_range).
    key_range
        How many keys there are.
    tolerance
        A ratio this near above an anchor takes nothing from the next.

    Notes
    -----
    ``(1 - l) v_low + l v_high`` with ``l = (a - a_low) / (a_high - a_low)``. Mixed in this way
    the noise keeps its mean; its variance, between the anchors, is not that of either row.

    Examples
    --------
    >>> from ptable import PTable
    >>> rows = {"noise": [[0], [-1, 1], [-3, 3]], "upper": [[8], [4, 8], [4, 8]]}
    >>> table = PTable(**rows, key_range=8, anchors=(0, 1, 3))
    >>> keys = np.array([0, 0, 7], np.uint64)
    >>> interpolated(table, np.array([1.0, 2.0, 9.0]), keys, key_range=8).tolist()
    [-1.0, -2.0, 3.0]
    """
    anchors = table.counts
    ratio = np.minimum(ratios, float(anchors[-1]))
    place = np.searchsorted(anchors, ratio, side="right") - 1
    above = np.minimum(place + 1, len(anchors) - 1)
    low, high = (
        table.lookup(anchors[at], keys, key_range=key_range) / table.step
        for at in (place, above)
    )
    gap = np.maximum(anchors[above] - anchors[place], 1)
    share = (ratio - anchors[place]) / gap
    high = np.where(ratio - anchors[place] > tolerance, high, 0.0)
    return np.asarray((1 - share) * low + share * high, np.float64)
