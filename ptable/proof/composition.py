"""What several cells tell together of one record that is in all of them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from footing.arrays import Floats
    from ptable.proof.divergence import Outcomes

_GRID = 0.01
#: Steps of the grid on either side of a loss of 0: no ratio of 64-bit numbers goes farther.
_SIDE = 4_500
#: What transforms of floating-point numbers may be wrong by.
_SLACK = 1e-10


def composed_delta(pairs: Iterable[Outcomes], *, epsilon: float, times: int) -> float:
    """Bound the delta of several independent cells, whatever pair of laws each of them has.

    Notes
    -----
    Some pair of laws has the largest hockey-stick divergence of all pairs, both ways, at each
    epsilon of a grid, and straight lines in ``exp(epsilon)`` between. It dominates all, and
    many of it dominate many of these; its losses lie on the grid, and so do their sums.

    References
    ----------
    Zhu, Dong, Wang (2022), Optimal accounting of differential privacy via characteristic
    function. Doroshenko, Ghazi, Kamath, Kumar, Manurangsi (2022), Connect the dots: tighter
    discrete approximations of privacy loss distributions.
    """
    ratios = np.exp(_GRID * np.arange(-_SIDE, _SIDE + 1))
    curve = np.zeros(len(ratios))  # beyond 1 - ratio, where the ratio is below 1
    for pair in pairs:
        distributions = np.array(pair, np.float64)
        first, second = (distributions / distributions.sum(axis=0)).T[:, :, None]
        for p, q in ((first, second), (second, first)):
            more = np.where(ratios < 1, ratios * q - p, p - ratios * q)
            curve = np.maximum(curve, np.maximum(more, 0).sum(axis=0))
    lasting = float(curve[-1])
    if lasting >= 1:
        return 1.0
    slopes = np.diff(curve) / np.diff(ratios) - (ratios[1:] < 1)
    slopes[_SIDE - 1] = (curve[_SIDE] - curve[_SIDE - 1] - 1 + ratios[_SIDE - 1]) / (
        ratios[_SIDE] - ratios[_SIDE - 1]
    )
    mass = np.maximum(np.diff(slopes, prepend=-1.0, append=0.0) * ratios, 0)
    distribution = _power(mass, times)
    losses = _GRID * (np.arange(len(distribution)) - times * _SIDE)
    above = losses > epsilon
    finite = float(distribution[above] @ -np.expm1(epsilon - losses[above]))
    return min(1.0, finite - math.expm1(times * math.log1p(-lasting)) + _SLACK)


def _power(mass: Floats, times: int) -> Floats:
    """Give the law of a sum of so many independent steps."""
    length = times * (len(mass) - 1) + 1
    return np.maximum(np.fft.irfft(np.fft.rfft(mass, length) ** times, length), 0)
