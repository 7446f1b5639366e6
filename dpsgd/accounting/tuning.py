"""What it costs to try several settings and keep the best.

The best of many private models is not as private as each: which one is best tells something
about the data. Where the number of trials is drawn at random, and nobody sees more than the
best, the whole costs far less than the sum.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dp.accounting.rdp import RenyiCurve
from dp.checking import checked_count, checked_delta
from dp.errors import DPError
from footing.checks import require_number

if TYPE_CHECKING:
    from dp.accounting.rdp import Spent

_ROUNDS = 64
_MAX_TRIALS = 10**6


def best_of_random(trial: RenyiCurve, *, mean_trials: float, shape: float = 1.0) -> RenyiCurve:
    """Return the loss of keeping the best of a random number of trials.

    Notes
    -----
    With ``K`` from the truncated negative binomial law of shape ``h`` and parameter ``g``, and
    losses ``e(a)`` of one trial, the loss at an order ``a`` is, for every second order ``b``,
    at most ``e(a) + (1 + h) (1 - 1/b) e(b) + (1 + h) ln(1/g) / b + ln(E[K]) / (a - 1)``.

    The derivation in short: the chance of an answer is that of one trial times the derivative
    of the law's generating function at the chance to be beaten; for this family the derivative
    is a power, which Hölder's inequality splits between the orders ``a`` and ``b``.

    References
    ----------
    Papernot, Steinke 2022, theorem 2.
    """
    gamma = _gamma(mean_trials, shape)
    orders, losses = np.array(trial.orders), np.array(trial.losses)
    weight = 1 + shape
    second = weight * ((1 - 1 / orders) * losses + math.log(1 / gamma) / orders)
    added = float(second.min()) + math.log(mean_trials) / (orders - 1)
    return RenyiCurve(
        orders=trial.orders, losses=losses + added, adjacency=trial.adjacency, unit=trial.unit
    )


def sum_of_trials(trial: RenyiCurve, *, trials: int, delta: float) -> Spent:
    """Return what a fixed number of trials costs: all of them, whichever is kept."""
    return (trial * checked_count(trials, "trials")).epsilon(checked_delta(delta))


def draw_trials(
    mean_trials: float, *, generator: np.random.Generator, shape: float = 1.0
) -> int:
    """Draw how many trials to run; before the first, and kept secret after the last."""
    gamma = _gamma(mean_trials, shape)
    chance = float(generator.random())
    # P(1), then P(k + 1) = P(k) (1 - g) (k + h) / (k + 1)
    if shape == 0:
        share = (1 - gamma) / math.log(1 / gamma)
    else:
        share = shape * (1 - gamma) / (gamma**-shape - 1)
    below, number = share, 1
    while below < chance and number < _MAX_TRIALS:
        share *= (1 - gamma) * (number + shape) / (number + 1)
        number += 1
        below += share
    return number


def _gamma(mean_trials: float, shape: float) -> float:
    """Return the parameter of the law with this mean."""
    way = "a single trial costs what it costs"
    mean = require_number(
        mean_trials, "mean_trials", error=DPError, hint=way, above=1, maximum=_MAX_TRIALS
    )
    require_number(shape, "shape", error=DPError, hint="0 or 1 is usual", above=-1)
    low, high = math.log(1e-300), 0.0
    for _ in range(_ROUNDS):  # the mean falls as the parameter rises
        middle = (low + high) / 2
        low, high = (middle, high) if _mean(math.exp(middle), shape) > mean else (low, middle)
    return math.exp(low)


def _mean(gamma: float, shape: float) -> float:
    if gamma >= 1:
        return 1.0
    if shape == 0:
        return (1 / gamma - 1) / math.log(1 / gamma)
    # -expm1: of numbers near to 0, and of either sign
    power = -math.expm1(min(700.0, shape * math.log(gamma)))
    return shape * (1 - gamma) / (gamma * power)
