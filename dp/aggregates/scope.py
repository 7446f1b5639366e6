"""How far one unit moves the numbers of a table, and the noise that hides it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dp.adjacency import Adjacency
from dp.mechanisms.noise import DiscreteGaussian, Geometric
from dp.sensitivity import Sensitivity

_POINTS = 1 << 14


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What bounds a unit in a table, and which noise stands against it.

    Parameters
    ----------
    groups, rows
        In how many groups a unit is at most, with how many rows in each.
    law
        ``"laplace"``, whose costs are epsilons, or ``"gaussian"``, whose costs are rhos.
    unit
        Who is protected.
    confidence
        Of an interval.

    Examples
    --------
    >>> Scope(groups=2, rows=3).noise(1.0, per_row=5).sensitivity.l1
    30.0
    """

    groups: int
    rows: int
    law: str = "laplace"
    unit: str = "unit"
    confidence: float = 0.95

    def noise(
        self, cost: float, *, per_row: float = 1, levels: int = 1, is_pooled: bool = False
    ) -> Geometric | DiscreteGaussian:
        """Return noise for whole numbers that a row moves by so much, each level once.

        In one group a unit has several rows, which may all move one number. Numbers of
        different groups are different, but where groups are pooled.
        """
        l1 = self.groups * self.rows * levels * per_row
        l2 = self.rows * per_row * math.sqrt(levels) * math.sqrt(self.groups)
        return self.noise_of(cost, l1=l1, l2=l1 if is_pooled else l2)

    def noise_of(self, cost: float, *, l1: float, l2: float) -> Geometric | DiscreteGaussian:
        """Return noise for a sensitivity."""
        sensitivity = Sensitivity(l1=l1, l2=l2, adjacency=Adjacency.ADD_REMOVE, unit=self.unit)
        if self.law == "laplace":
            return Geometric.calibrated(sensitivity, epsilon=cost)
        return DiscreteGaussian.calibrated(sensitivity, rho=cost)

    def one_row(self) -> Scope:
        """Return the same, where units are counted."""
        return replace(self, rows=1)


def tail_of(noise: Geometric | DiscreteGaussian, chance: float) -> float:
    """Return how far noise stays from 0 but for a small chance, to its last digit."""
    return noise._reach(min(chance, 1.0))  # noqa: SLF001  (accuracy takes 1 - chance)


def reach_of_sum(
    noise: Geometric | DiscreteGaussian, weights: Sequence[float], *, beta: float
) -> float:
    """Return how far a weighted sum of independent noises stays from 0, but for a chance.

    Notes
    -----
    The law of the sum comes from its characteristic function, on a grid by FFT. That of the
    continuous law, rounded outwards by half a step, stands for that of the discrete one.
    """
    pairs = np.unique(np.abs(np.asarray(weights, dtype=np.float64)), return_counts=True)
    sizes, numbers = (tuple(part.tolist()) for part in pairs)
    return _reach(noise.law, noise.scale, sizes, numbers, beta)


@lru_cache(maxsize=8192)
def _reach(
    law: str, scale: float, sizes: tuple[float, ...], numbers: tuple[int, ...], beta: float
) -> float:
    """Return the reach of a sum in which each weight stands so many times."""
    weights, times = np.array(sizes), np.array(numbers)
    sd = math.sqrt(float(times @ weights**2) * max(scale, 0.5) ** 2 * 2)
    if sd == 0:
        return 0.0
    step = 60 * sd / _POINTS
    frequencies = 2 * math.pi * np.fft.rfftfreq(_POINTS, d=step)
    squares = (weights[:, None] * frequencies * scale) ** 2
    logs = -np.log1p(squares) if law == "laplace" else -squares / 2
    mass = np.fft.irfft(np.exp(times @ logs), n=_POINTS)
    half = np.clip(mass[: _POINTS // 2], 0, None)
    outside = 1 - (half[0] + 2 * np.cumsum(np.append(0, half[1:])))
    return float(np.argmax(outside <= beta)) * step + step + float(weights.max()) / 2


def spread(
    groups: NDArray[np.int64],
    bins: NDArray[np.int64],
    values: NDArray[np.int64],
    shape: tuple[int, int],
) -> NDArray[np.int64]:
    """Return values of groups and bins as a matrix."""
    matrix = np.zeros(shape, np.int64)
    np.add.at(matrix, (groups, bins), values)
    return matrix
