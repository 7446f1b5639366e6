"""What it costs to try several settings and keep the best.

The best of many private models is not as private as each: which one is best tells something
about the data. Where the number of trials is drawn at random, and nobody sees more than the
best, the whole costs far less than the sum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dp.accounting.rdp import WIDE_ORDERS, RenyiCurve
from dp.accounting.training import steps_of
from dp.bisection import bisected
from dp.checking import checked_count, checked_delta
from dp.errors import DPError
from dpsgd.errors import DPSGDError
from footing.checks import require_number
from footing.messages import Message

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dp.accounting.rdp import Spent
    from dpsgd.sweeps.sweep import Outcome

_ROUNDS = 64
_MAX_TRIALS = 10**6
_KNOWN = ("batch_size", "noise_multiplier", "epochs")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoosingCost:
    """What one way to keep the best costs.

    Parameters
    ----------
    way
        ``"one"``: a single run, settled beforehand. ``"sum"``: all private runs, by Rényi
        orders. ``"basic"``: the sum of all epsilons and deltas. ``"geometric"``,
        ``"logarithmic"``: a number of runs drawn at random, see `best_of_random`.
    runs
        How many, or their mean.
    epsilon, delta
        The cost.
    """

    way: str
    runs: int
    epsilon: float
    delta: float


def cost_of_choosing(
    outcomes: Sequence[Outcome],
    *,
    delta: float,
    dataset_size: int | None = None,
) -> tuple[ChoosingCost, ...]:
    """Return what keeping the most accurate private run costs, the least first.

    Notes
    -----
    Where the number of runs is drawn at random, each run draws its setting as well. Its loss is
    then at most that of the dearest setting, order by order, because a divergence of mixtures
    is at most the largest of its parts.

    References
    ----------
    Papernot, Steinke 2022, theorem 2.
    """
    delta = checked_delta(delta)
    private = [o for o in outcomes if o.is_private]
    if any(o.epsilon is None for o in private):
        raise DPSGDError(
            Message("A private run has no epsilon on record."),
            hint=Message("run the sweep with run_sweep"),
        )
    if not private:
        return ()
    best = max(private, key=lambda outcome: outcome.mean)
    runs = sum(outcome.runs for outcome in private)
    one = ChoosingCost(way="one", runs=1, epsilon=best.epsilon or 0.0, delta=delta)
    if runs == 1:
        return (one,)
    ways = [*_by_orders(private, runs, delta, dataset_size)]
    if not ways:
        total = sum((o.epsilon or 0.0) * o.runs for o in private)
        ways = [
            ChoosingCost(way="basic", runs=runs, epsilon=total, delta=min(1.0, runs * delta))
        ]
    return (one, *sorted(ways, key=lambda cost: cost.epsilon))


def _by_orders(
    private: Sequence[Outcome], runs: int, delta: float, dataset_size: int | None
) -> Iterator[ChoosingCost]:
    if dataset_size is None or not all(set(_KNOWN) <= set(o.choices) for o in private):
        return
    size = checked_count(dataset_size, "dataset_size")
    curves = [_curve(outcome, size) for outcome in private]
    losses = np.array([curve.losses for curve in curves])
    number = np.array([outcome.runs for outcome in private])[:, None]
    if not np.isfinite(losses).any(axis=1).all():
        return

    def whole(values: np.ndarray) -> RenyiCurve:
        return RenyiCurve(orders=curves[0].orders, losses=values)

    by_way = {"sum": whole((number * losses).sum(axis=0))}
    dearest = whole(losses.max(axis=0))
    for name, shape in (("geometric", 1.0), ("logarithmic", 0.0)):
        by_way[name] = best_of_random(dearest, mean_trials=runs, shape=shape)
    for name, curve in by_way.items():
        epsilon = curve.epsilon(delta).epsilon
        if math.isfinite(epsilon):
            yield ChoosingCost(way=name, runs=runs, epsilon=epsilon, delta=delta)


def _curve(outcome: Outcome, size: int) -> RenyiCurve:
    batch, epochs = int(outcome.choices["batch_size"]), int(outcome.choices["epochs"])
    step = RenyiCurve.subsampled_gaussian(
        sampling_rate=batch / size,
        noise_multiplier=outcome.choices["noise_multiplier"],
        orders=WIDE_ORDERS,
    )
    return step * steps_of(size, batch_size=batch, epochs=epochs)


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
    extra = float(second.min()) + math.log(mean_trials) / (orders - 1)
    return RenyiCurve(
        orders=trial.orders, losses=losses + extra, adjacency=trial.adjacency, unit=trial.unit
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
    way = Message("for a single trial no tuning is accounted: its own epsilon holds")
    mean = require_number(
        mean_trials, "mean_trials", error=DPError, hint=way, above=1, maximum=_MAX_TRIALS
    )
    require_number(shape, "shape", error=DPError, hint=Message("0 or 1 is usual"), above=-1)

    # the mean falls as the parameter rises
    def is_low(log_gamma: float) -> bool:
        return _mean(math.exp(log_gamma), shape) > mean

    return math.exp(bisected(is_low, math.log(1e-300), 0.0, rounds=_ROUNDS)[0])


def _mean(gamma: float, shape: float) -> float:
    if gamma >= 1:
        return 1.0
    if shape == 0:
        return (1 / gamma - 1) / math.log(1 / gamma)
    # -expm1: of numbers near to 0, and of either sign
    power = -math.expm1(min(700.0, shape * math.log(gamma)))
    return shape * (1 - gamma) / (gamma * power)
