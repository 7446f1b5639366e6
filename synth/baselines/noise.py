"""Noise on counts, margins and ranks, seeded for simulations or from the system."""

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dp import Adjacency, Gaussian, Geometric, Laplace, Sensitivity
from footing.arrays import Floats, Integers
from footing.checks import require_one_of
from synth.baselines.model import Account, Charge
from synth.copulas.gaussian import correlation_of_taus
from synth.copulas.margins import Margin
from synth.errors import SynthError

Mechanism = Literal["laplace", "geometric", "gaussian"]


def noise_of(
    mechanism: Mechanism, *, epsilon: float, delta: float = 1e-3
) -> Laplace | Geometric | Gaussian:
    """Return the noise of a mechanism on counts, two of which one replaced record moves."""
    require_one_of(mechanism, "mechanism", get_args(Mechanism), error=SynthError)
    sensitivity = Sensitivity(l1=2.0, adjacency=Adjacency.REPLACE)
    if mechanism == "laplace":
        return Laplace.calibrated(sensitivity, epsilon=epsilon)
    if mechanism == "geometric":
        return Geometric.calibrated(sensitivity, epsilon=epsilon)
    return Gaussian.calibrated(sensitivity, epsilon=epsilon, delta=delta)


def noisy(answer: ArrayLike, noise: Any, *, rng: np.random.Generator | None) -> Floats:
    """Add noise."""
    values = np.asarray(answer)
    if rng is None:
        return np.asarray(noise.release(values), dtype=np.float64)
    draws: NDArray[Any]
    if noise.law == "gaussian":
        draws = rng.normal(0.0, noise.scale, values.shape)
    elif noise.is_integer:
        stop = -math.expm1(-1 / noise.scale)
        draws = rng.geometric(stop, values.shape) - rng.geometric(stop, values.shape)
    else:
        draws = rng.laplace(0.0, noise.scale, values.shape)
    return np.asarray(values + draws, dtype=np.float64)


def choose(scores: Sequence[float], mechanism: Any, *, rng: np.random.Generator | None) -> int:
    """Choose by the exponential mechanism."""
    if rng is None:
        return int(mechanism.choose(scores))
    noisy_scores = np.asarray(scores) / mechanism.scale + rng.gumbel(size=len(scores))
    return int(np.argmax(noisy_scores))


def exact_margins(bins: Sequence[Integers], sizes: Sequence[int]) -> list[Margin]:
    """Return the margins as they are."""
    return [
        Margin.of_counts(np.arange(size), counts=np.bincount(one, minlength=size))
        for one, size in zip(bins, sizes, strict=True)
    ]


def noisy_margins(
    bins: Sequence[Integers],
    sizes: Sequence[int],
    *,
    names: Sequence[str],
    epsilon: float,
    account: Account,
    mechanism: Mechanism = "laplace",
    delta: float = 1e-3,
    rng: np.random.Generator | None = None,
) -> list[Margin]:
    """Return margins from counts with noise, each for the whole epsilon given; 0 for none."""
    if epsilon == 0:
        account.pay(Charge(part="margins", what="exact margins", epsilon=math.inf))
        return exact_margins(bins, sizes)
    noise = noise_of(mechanism, epsilon=epsilon, delta=delta)
    price = delta if mechanism == "gaussian" else 0.0
    margins = []
    for one, size, name in zip(bins, sizes, names, strict=True):
        account.pay(Charge(part="margins", what=name, epsilon=epsilon, delta=price))
        counts = noisy(np.bincount(one, minlength=size), noise, rng=rng)
        highest = math.inf if mechanism == "gaussian" else len(one)
        margins.append(Margin.of_counts(np.arange(size), counts=counts.clip(0, highest)))
    return margins


def kendall(one: NDArray[Any], other: NDArray[Any]) -> float:
    """Return Kendall's tau of all pairs of records, ties counting 0.

    Over all pairs, not over those without ties: so a record that is replaced moves it by at
    most ``4 / n``, whatever the data.
    """
    from scipy.stats import kendalltau

    n = len(one)
    if n < 2:
        return 0.0
    pairs = n * (n - 1) / 2
    free = 1.0
    for column in (one, other):
        ties = np.unique(column, return_counts=True)[1].astype(np.float64)
        free *= pairs - (ties * (ties - 1) / 2).sum()
    if free <= 0:
        return 0.0
    return float(kendalltau(one, other).statistic * math.sqrt(free) / pairs)


def noisy_correlation(
    columns: Sequence[NDArray[Any]],
    *,
    epsilon: float,
    account: Account,
    rng: np.random.Generator | None = None,
) -> Floats:
    """Return the correlation matrix of a Gaussian copula, from noisy Kendall's taus.

    ``sin(pi tau / 2)`` of each noisy tau, then the repair of `nearest_correlation`.
    """
    n, records = len(columns), len(columns[0])
    if n == 1:
        return np.eye(n)
    taus = np.array([kendall(one, other) for one, other in combinations(columns, 2)])
    sensitivity = Sensitivity(l1=4 * len(taus) / records, adjacency=Adjacency.REPLACE)
    account.pay(Charge(part="dependence", what="Kendall's tau of all pairs", epsilon=epsilon))
    noisy_taus = noisy(taus, Laplace.calibrated(sensitivity, epsilon=epsilon), rng=rng).clip(
        -1, 1
    )
    return correlation_of_taus(noisy_taus, n)
