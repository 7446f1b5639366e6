"""The original counts that a published count may come from."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from ptable import PTable


def all_margins(n_dimensions: int) -> list[tuple[int, ...]]:
    """List the dimensions kept by every margin of a cube, inner cells first, total last."""
    return [
        axes
        for kept in range(n_dimensions, -1, -1)
        for axes in itertools.combinations(range(n_dimensions), kept)
    ]


def possible_range(
    published: ArrayLike, *, max_noise: ArrayLike, zeros_stay: bool = True
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give the least and the largest original count of each published count."""
    seen = np.asarray(published, dtype=np.int64)
    noise = np.asarray(max_noise, dtype=np.int64)
    least = (seen > 0).astype(np.int64) if zeros_stay else np.zeros_like(seen)
    return np.maximum(least, seen - noise), seen + noise


def possible_origins(
    ptable: PTable, published: ArrayLike
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give the least and the largest original count of each published count, from a p-table."""
    from ptable.lookup import cycle_length, serving_row
    from ptable.proof.divergence import laws_of

    laws = laws_of(ptable, key_range=ptable.key_range)
    cycle = cycle_length(ptable.large_counts, n_rows=len(laws))
    different, place = np.unique(np.asarray(published), return_inverse=True)
    ranges = []
    for seen in different.tolist():
        origins = [
            y
            for y in range(max(0, seen - ptable.max_noise), seen + ptable.max_noise + 1)
            if seen - y in laws[serving_row(y, n_rows=len(laws), cycle=cycle)]
        ]
        ranges.append((origins[0], origins[-1]) if origins else (1, 0))
    lower, upper = np.array(ranges, dtype=np.int64).reshape(-1, 2)[place].T
    return lower, upper
