"""Means: the distances of all values to both bounds, and what follows from them."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from dp.aggregates.scope import reach_of_sum
from footing.arrays import Floats, Integers

if TYPE_CHECKING:
    from dp.mechanisms.noise import DiscreteGaussian, Geometric

#: Places between the bounds at which the reach of noise is computed.
_PLACES = 64
_LARGEST = 2**62


def mean_of(
    noise: Geometric | DiscreteGaussian,
    counts: Integers,
    totals: Integers,
    *,
    steps: tuple[int, int],
    beta: float,
) -> tuple[Floats, Floats, Floats]:
    """Draw means within bounds, their least and their most, in steps.

    Parameters
    ----------
    noise
        For numbers that a row moves by the width of the bounds, all together.
    counts, totals
        Rows of each group, and the sum of their values.
    steps
        The bounds.
    beta
        The chance that an interval misses.

    Notes
    -----
    A row with the value v adds v - L to one number, A, and U - v to another, B: U - L in all,
    wherever it lies. The mean is L + (U - L) p, where (1 - p) A = p B. Its interval has all p
    at which noise explains the difference of the two sides; no centre has to be found, and a
    mean near one bound has the noise of one number alone.
    """
    low, high = steps
    sides = np.stack([totals - low * counts, high * counts - totals])
    below, above = noise.release(np.clip(sides, 0, _LARGEST)).astype(np.float64)
    whole = below + above
    width = float(high - low)
    share = np.clip(below / np.maximum(whole, width), 0.0, 1.0)
    least, most = _interval(noise, below, whole, beta=beta)
    return low + width * share, low + width * least, low + width * most


def _interval(
    noise: Geometric | DiscreteGaussian, below: Floats, whole: Floats, *, beta: float
) -> tuple[Floats, Floats]:
    """Return the least and the most share at which noise explains what was drawn."""
    ends = np.arange(_PLACES + 1) / _PLACES
    least, most = np.full(below.shape, np.inf), np.full(below.shape, -np.inf)
    size = np.where(whole > 0, whole, np.nan)
    for start, end in itertools.pairwise(ends.tolist()):
        # Noise reaches farthest where its two parts are most unequal: at the outer end.
        outer = start if start + end < 1 else end
        reach = reach_of_sum(noise, [1 - outer, outer], beta=beta)
        from_, to = (below - reach) / size, (below + reach) / size
        is_held = (from_ <= end) & (to >= start)
        least = np.where(is_held, np.minimum(least, np.maximum(from_, start)), least)
        most = np.where(is_held, np.maximum(most, np.minimum(to, end)), most)
    is_told = least <= most
    return np.where(is_told, least, 0.0), np.where(is_told, most, 1.0)
