"""Figures of the past, to count them again; no promise rests on them."""

import math
from dataclasses import dataclass

import numpy as np

from dp.checking import checked_count, checked_delta, checked_positive, checked_probability
from dpsgd.accounting.budget import compute_dp_sgd_privacy
from footing.data_files import read_data

RECORDS, DELTA = 6552, 1e-4
_SPLITS = 99


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedRun:
    """A run on 6,552 images of flowers of 102 kinds, as printed.

    Parameters
    ----------
    batch_size, noise_multiplier, epochs, clipping_norm, learning_rate
        As printed.
    printed, accuracy
        Epsilon and accuracy as printed.
    corrected_noise
        The noise that gives the epsilon printed; None where that printed does.
    """

    batch_size: int
    noise_multiplier: float
    epochs: int
    clipping_norm: float
    learning_rate: float
    printed: float
    accuracy: float
    corrected_noise: float | None = None

    @property
    def choices(self) -> dict[str, float]:
        """The row as choices of a sweep, with the noise that gives the epsilon printed."""
        names = ("batch_size", "epochs", "clipping_norm", "learning_rate")
        noise = self.corrected_noise or self.noise_multiplier
        return {"noise_multiplier": noise, **{name: getattr(self, name) for name in names}}

    def epsilon(self, noise_multiplier: float | None = None) -> float:
        """Return the epsilon by the classic formula, at the delta of the publication."""
        epsilon, _ = compute_dp_sgd_privacy(
            RECORDS,
            batch_size=self.batch_size,
            noise_multiplier=noise_multiplier or self.noise_multiplier,
            epochs=self.epochs,
            delta=DELTA,
        )
        return epsilon


#: In the order printed.
PUBLISHED = tuple(
    PublishedRun(**run) for run in read_data("dpsgd.accounting", "published.toml")["runs"]
)


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
    epsilons = spread + steps * step * np.expm1(np.minimum(step, 700.0))
    return float(epsilons.min()) if math.isfinite(epsilons.min()) else math.inf
