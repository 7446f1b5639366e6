"""Noise on counts as the methods have it, seeded for simulations or from the system."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dp import Adjacency, Gaussian, Geometric, Laplace, Sensitivity
from synth.errors import SynthError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

Mechanism = Literal["laplace", "geometric", "gaussian"]

_KINDS = ("laplace", "geometric", "gaussian")


def noise_of(
    mechanism: Mechanism, *, epsilon: float, sensitivity: float = 2.0, delta: float = 1e-3
) -> Laplace | Geometric | Gaussian:
    """Return the noise of a mechanism."""
    if mechanism not in _KINDS:
        raise SynthError(
            f"Unknown mechanism {mechanism!r}.", hint=f"known: {', '.join(_KINDS)}"
        )
    moved = Sensitivity(l1=sensitivity, adjacency=Adjacency.REPLACE)
    if mechanism == "laplace":
        return Laplace.calibrated(moved, epsilon=epsilon)
    if mechanism == "geometric":
        return Geometric.calibrated(moved, epsilon=epsilon)
    return Gaussian.calibrated(moved, epsilon=epsilon, delta=delta)


def noisy(
    answer: ArrayLike, noise: Any, *, rng: np.random.Generator | None
) -> NDArray[np.float64]:
    """Add noise."""
    values = np.asarray(answer)
    if rng is None:
        return np.asarray(noise.release(values), dtype=np.float64)
    drawn: NDArray[Any]
    if noise.law == "gaussian":
        drawn = rng.normal(0.0, noise.scale, values.shape)
    elif noise.is_integer:
        stop = -math.expm1(-1 / noise.scale)
        drawn = rng.geometric(stop, values.shape) - rng.geometric(stop, values.shape)
    else:
        drawn = rng.laplace(0.0, noise.scale, values.shape)
    return np.asarray(values + drawn, dtype=np.float64)


def choose(scores: Sequence[float], mechanism: Any, *, rng: np.random.Generator | None) -> int:
    """Choose by the exponential mechanism."""
    if rng is None:
        return int(mechanism.choose(scores))
    drawn = np.asarray(scores) / mechanism.scale + rng.gumbel(size=len(scores))
    return int(np.argmax(drawn))
