"""What it costs to keep the best run of a sweep, by the ways in which that can be done."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dp.accounting.rdp import WIDE_ORDERS, RenyiCurve
from dp.checking import checked_count, checked_delta
from dpsgd.accounting.budget import steps_of
from dpsgd.accounting.tuning import best_of_random
from dpsgd.errors import DPSGDError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dpsgd.sweeps.sweep import Outcome

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
            "A private run has no epsilon on record.", hint="run the sweep with run_sweep"
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

    found = {"sum": whole((number * losses).sum(axis=0))}
    dearest = whole(losses.max(axis=0))
    for name, shape in (("geometric", 1.0), ("logarithmic", 0.0)):
        found[name] = best_of_random(dearest, mean_trials=runs, shape=shape)
    for name, curve in found.items():
        spent = curve.epsilon(delta).epsilon
        if math.isfinite(spent):
            yield ChoosingCost(way=name, runs=runs, epsilon=spent, delta=delta)


def _curve(outcome: Outcome, size: int) -> RenyiCurve:
    batch, epochs = int(outcome.choices["batch_size"]), int(outcome.choices["epochs"])
    step = RenyiCurve.subsampled_gaussian(
        sampling_rate=batch / size,
        noise_multiplier=outcome.choices["noise_multiplier"],
        orders=WIDE_ORDERS,
    )
    return step * steps_of(size, batch_size=batch, epochs=epochs)
