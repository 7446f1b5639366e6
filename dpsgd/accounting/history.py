"""Accounts of the past, to check published figures; no promise rests on them."""

from __future__ import annotations

import math

import numpy as np

from dp.checking import checked_count, checked_delta, checked_positive, checked_probability

_SPLITS = 99


def strong_composition(
    noise_multiplier: float, *, sampling_rate: float, steps: int, delta: float
) -> float:
    """Return the epsilon that strong composition gave training runs in 2016.

    No promise: where the noise of a step is small, a step's own epsilon is above 1, its
    formula does not hold, and the true loss is larger.

    Notes
    -----
    A step is taken to have epsilon ``q e`` and delta ``q d`` with ``e = sqrt(2 ln(1.25 / d)) /
    s``; the steps are put together by the advanced theorem, with the best share of delta.

    References
    ----------
    Abadi et al. 2016, section 5.1.
    """
    sigma = checked_positive(noise_multiplier, "noise_multiplier")
    rate = checked_probability(sampling_rate, "sampling_rate")
    steps = checked_count(steps, "steps")
    delta = checked_delta(delta)
    if rate == 0:
        return 0.0
    shares = np.linspace(0, 1, _SPLITS + 2)[1:-1]
    chance = np.minimum(shares * delta / (steps * rate), 1.0)
    step = rate * np.sqrt(2 * np.log(1.25 / chance)) / sigma
    spread = step * np.sqrt(2 * steps * np.log(1 / ((1 - shares) * delta)))
    found = spread + steps * step * np.expm1(np.minimum(step, 700.0))
    return float(found.min()) if math.isfinite(found.min()) else math.inf
