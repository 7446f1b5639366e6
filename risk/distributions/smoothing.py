"""Lend the weight of each count to the counts nearby."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def spread(
    counts: NDArray[np.int64], weights: NDArray[np.int64], *, reach: float
) -> NDArray[np.float64]:
    """Spread weights over neighbouring counts by triangular kernels; zeros stay."""
    if counts.size == 0:
        return np.zeros(1)
    largest = int(counts[-1])
    answer = np.zeros(largest + _half_width(largest, reach) + 1)
    if reach == 0:
        answer[counts] = weights
        return answer
    for count, weight in zip(counts.tolist(), weights.tolist(), strict=True):
        half = _half_width(count, reach)
        low = max(min(count, 1), count - half)
        places = np.arange(low, count + half + 1)
        kernel = half + 1.0 - np.abs(places - count)
        answer[low : count + half + 1] += weight * kernel / kernel.sum()
    return answer


def _half_width(count: int, reach: float) -> int:
    return math.ceil(reach * math.sqrt(count))
