"""What a training run costs before it starts, and how long a budget allows it to go on."""

from bisect import bisect_right
from collections.abc import Callable, Sequence

from dp.accounting.rdp import CLASSIC_ORDERS, WIDE_ORDERS, RenyiCurve
from dp.accounting.training import steps_of
from dp.checking import checked_epsilon
from dp.errors import DPError
from footing.messages import Message

_MAX_EPOCHS = 1 << 40


def compute_dp_sgd_privacy(
    dataset_size: int,
    *,
    batch_size: int,
    noise_multiplier: float,
    epochs: int,
    delta: float = 1e-5,
    alphas: Sequence[float] = CLASSIC_ORDERS,
    report_progress: Callable[[str], None] | None = None,
) -> tuple[float, float]:
    """Return epsilon by the classic formula, and the order that gave it.

    The figure of the first libraries, for Poisson batches and neighbours with a record more or
    less; `dpsgd.accounting.claims` states it beside those of other samplers and neighbours.
    """
    steps = steps_of(dataset_size, batch_size=batch_size, epochs=epochs)
    return apply_dp_sgd_analysis(
        batch_size / dataset_size,
        noise_multiplier=noise_multiplier,
        steps=steps,
        delta=delta,
        alphas=alphas,
        report_progress=report_progress,
    )


def apply_dp_sgd_analysis(
    sample_rate: float,
    *,
    noise_multiplier: float,
    steps: int,
    delta: float = 1e-5,
    alphas: Sequence[float] = CLASSIC_ORDERS,
    report_progress: Callable[[str], None] | None = None,
) -> tuple[float, float]:
    """Return epsilon after a number of steps by the classic formula, and the order used."""
    curve = RenyiCurve.subsampled_gaussian(
        sampling_rate=sample_rate, noise_multiplier=noise_multiplier, orders=alphas
    )
    loss = (curve * steps).epsilon(delta, conversion="classic")
    if report_progress is not None:
        report_progress(
            Message(
                "sampling rate {sample_rate:.3g} %, noise multiplier {noise_multiplier:g}, "
                "{steps:,} steps",
                sample_rate=100 * sample_rate,
                noise_multiplier=noise_multiplier,
                steps=steps,
            )
        )
        report_progress(
            Message(
                "epsilon {epsilon:.3g} at delta {delta:g}, order {order:g} (Poisson "
                "batches, add-remove)",
                epsilon=loss.epsilon,
                delta=delta,
                order=loss.order,
            )
        )
    return loss.epsilon, loss.order


def epochs_for_budget(
    epsilon: float,
    *,
    delta: float,
    dataset_size: int,
    batch_size: int,
    noise_multiplier: float,
    orders: Sequence[float] = WIDE_ORDERS,
    conversion: str = "tight",
) -> int:
    """Return how many passes over the data a budget allows; 0 if not even one."""
    target = checked_epsilon(epsilon)
    steps = steps_of(dataset_size, batch_size=batch_size, epochs=1)
    step = RenyiCurve.subsampled_gaussian(
        sampling_rate=batch_size / dataset_size,
        noise_multiplier=noise_multiplier,
        orders=orders,
    )

    def spent(epochs: int) -> float:
        return (step * (epochs * steps)).epsilon(delta, conversion=conversion).epsilon

    high = 1
    while spent(high) <= target:
        high *= 2
        if high > _MAX_EPOCHS:
            raise DPError(
                Message("This budget never ends."),
                hint=Message("the noise is infinite, or nothing is sampled"),
            )
    return bisect_right(range(high), target, lo=max(1, high // 2), key=spent) - 1
