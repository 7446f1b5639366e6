"""Bounds on base cells by passing the bounds of sums back and forth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from risk.reconstruction.counts import PublishedCounts


def propagate(
    counts: PublishedCounts, *, rounds: int = 50
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Bound every base cell by the sums that it is part of, until nothing changes.

    From ``lo <= sum a_k x_k <= hi`` follows, for ``a_j > 0``, that ``x_j`` is at most ``hi``
    less the least that the other parts may be, over ``a_j``, and at least ``lo`` less the most
    that they may be. Every table that fits stays inside, so a linear program between these
    bounds has the same optima as without. Bounds are not rounded to whole numbers here.
    """
    if counts.is_contradictory:
        return None
    row = np.repeat(np.arange(counts.n_sums), np.diff(counts.starts))
    cell, a = counts.cells, counts.weights.astype(np.float64)
    is_up = a > 0
    low, high = counts.lower.astype(np.float64), counts.upper.astype(np.float64)
    least, most = np.zeros(counts.n_cells), np.full(counts.n_cells, np.inf)
    for _ in range(rounds):
        smallest = np.where(is_up, a * least[cell], a * most[cell])
        largest = np.where(is_up, a * most[cell], a * least[cell])
        room_up = high[row] - _others(smallest, row, counts.n_sums)
        room_down = low[row] - _others(largest, row, counts.n_sums)
        new_most, new_least = most.copy(), least.copy()
        np.minimum.at(new_most, cell, np.where(is_up, room_up, room_down) / a)
        np.maximum.at(new_least, cell, np.where(is_up, room_down, room_up) / a)
        if (new_least > new_most + 1e-9).any():
            return None
        if (new_least == least).all() and (new_most == most).all():
            break
        least, most = new_least, np.maximum(new_least, new_most)
    return least, most


def _others(
    part: NDArray[np.float64], row: NDArray[np.int64], n_rows: int
) -> NDArray[np.float64]:
    """Sum the parts of each row other than the one at hand, infinite ones included."""
    is_open = np.isinf(part)
    finite = np.where(is_open, 0.0, part)
    sums = np.bincount(row, finite, minlength=n_rows)[row] - finite
    n_open = np.bincount(row, is_open, minlength=n_rows)[row] - is_open
    sign = np.bincount(row, np.where(is_open, np.sign(part), 0.0), minlength=n_rows)[row]
    return np.where(n_open > 0, np.copysign(np.inf, sign), sums)
