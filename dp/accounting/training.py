"""What noisy training on batches costs, before it starts."""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

from dp.accounting.rdp import CLASSIC_ORDERS, RenyiCurve
from dp.checking import checked_count, checked_delta, checked_loss
from dp.errors import DPError, DPWarning
from footing.messages import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingCost:
    """The cost of a training run.

    It holds where every batch is a Poisson sample: each record is in it by its own coin. For
    batches cut from a shuffled file it does not, and can be far too low.

    Parameters
    ----------
    sampling_rate
        Chance of a record to be in a batch.
    steps
        How many batches.
    noise_multiplier
        Standard deviation of the noise over the clipping norm.
    epsilon, delta
        The cost.
    order
        The Rényi order that gave it.
    is_at_edge
        Whether another order, outside of those tried, may cost less.

    Examples
    --------
    >>> cost = training_cost(60_000, batch_size=64, noise_multiplier=1, epochs=15, strict=False)
    >>> cost.steps, cost.order, round(cost.epsilon, 2)
    (14070, 13.0, 1.17)
    """

    sampling_rate: float
    steps: int
    noise_multiplier: float
    epsilon: float
    delta: float
    order: float
    is_at_edge: bool


def steps_of(dataset_size: int, *, batch_size: int, epochs: int) -> int:
    """Count the steps of a run; the last, smaller batch of each pass counts as a whole one."""
    size = checked_count(dataset_size, "dataset_size")
    batch = checked_count(batch_size, "batch_size")
    if batch > size:
        raise DPError(
            Message(
                "batch_size must not exceed dataset_size, but {batch} exceeds {size}.",
                batch=batch,
                size=size,
            ),
            hint=Message("for one step on all records, make them equal"),
        )
    return checked_count(epochs, "epochs") * math.ceil(size / batch)


def training_cost(
    dataset_size: int,
    *,
    batch_size: int,
    noise_multiplier: float,
    epochs: int,
    delta: float = 1e-5,
    orders: Sequence[float] = CLASSIC_ORDERS,
    conversion: str = "classic",
    strict: bool = True,
) -> TrainingCost:
    """Return what a training run costs.

    Parameters
    ----------
    dataset_size
        Number of records; public.
    batch_size
        Expected number of records in a batch.
    noise_multiplier
        Standard deviation of the noise over the clipping norm.
    epochs
        Passes over the data.
    delta
        The delta.
    orders
        Rényi orders.
    conversion
        ``"classic"`` for published figures, ``"tight"`` for a lower epsilon that holds too.
    strict
        Warn where a choice weakens the account.

    Notes
    -----
    ``epochs * ceil(dataset_size / batch_size)`` steps.

    Examples
    --------
    >>> cost = training_cost(6552, batch_size=63, noise_multiplier=1.1, epochs=120, delta=1e-4)
    >>> round(cost.epsilon, 2)
    6.11
    """
    steps = steps_of(dataset_size, batch_size=batch_size, epochs=epochs)
    rate = batch_size / dataset_size
    delta = checked_delta(delta)
    sigma = checked_loss(noise_multiplier, "noise_multiplier")
    curve = RenyiCurve.subsampled_gaussian(
        sampling_rate=rate, noise_multiplier=sigma, orders=orders
    )
    cost = TrainingCost(
        sampling_rate=rate,
        steps=steps,
        noise_multiplier=sigma,
        delta=delta,
        **(curve * steps).epsilon(delta, conversion=conversion)._asdict(),
    )
    if strict:
        for note in weak_points(cost, dataset_size=dataset_size, batch_size=batch_size):
            warnings.warn(note, DPWarning, stacklevel=2)
    return cost


def weak_points(cost: TrainingCost, *, dataset_size: int, batch_size: int) -> list[str]:
    """Return what weakens an account, each with its cure."""
    notes: list[str] = []
    if cost.delta >= 1 / dataset_size:
        notes.append(
            Message(
                "A delta of {delta:g} is not below 1 / {dataset_size}: a mechanism that "
                "publishes one record may have it. Take a smaller one.",
                delta=cost.delta,
                dataset_size=dataset_size,
            )
        )
    if dataset_size % batch_size:
        notes.append(
            Message(
                "Batches of {batch_size} do not divide {dataset_size} records: the last "
                "one of each pass counts as a whole step. Take a divisor.",
                batch_size=batch_size,
                dataset_size=dataset_size,
            )
        )
    if cost.is_at_edge:
        notes.append(
            Message(
                "The best order, {order:g}, is the first or the last of those tried: "
                "epsilon may be lower. Give more orders, or use the tight account.",
                order=cost.order,
            )
        )
    return notes
