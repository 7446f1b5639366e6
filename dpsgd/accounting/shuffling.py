"""What no promise for batches cut from a shuffled file can be below.

The usual account holds for batches that every record joins by its own coin. For shuffled
batches it can be far too low; this bound shows by how much.
"""

import math

import numpy as np

from dp.accounting.pld import finite_epsilon_below
from dp.checking import checked_count, checked_delta, checked_positive
from footing.arrays import Floats

_CUTS = 1500
_NEGLIGIBLE = 1e-14
_FINEST, _COARSEST = 1e-4, 1e-2


def shuffled_lower_bound(
    noise_multiplier: float, *, steps_per_epoch: int, epochs: int, delta: float
) -> float:
    """Return an epsilon below which no promise for shuffled batches can be true.

    Notes
    -----
    The other records pull against the one in question, and the attacker looks at the largest
    released sum of each pass. With the record blank that maximum has one coordinate of mean 1
    among coordinates of mean 0, with it one of mean 2. The law of the maximum is cut into
    cells, and the loss of all passes is rounded towards less.

    References
    ----------
    Chua, Ghazi, Kamath, Kumar, Manurangsi, Sinha, Zhang 2024, "How private are DP-SGD
    implementations?", section 4.
    """
    sigma = checked_positive(noise_multiplier, "noise_multiplier")
    steps = checked_count(steps_per_epoch, "steps_per_epoch")
    epochs = checked_count(epochs, "epochs")
    delta = checked_delta(delta)
    top = 2 + sigma * (math.sqrt(2 * math.log(steps + 1)) + 9)
    cuts = np.linspace(-sigma, top, _CUTS)
    present = _masses(cuts, 2.0, steps, sigma)
    blank = _masses(cuts, 1.0, steps, sigma)
    mask = (present > _NEGLIGIBLE) & (blank > _NEGLIGIBLE)
    if mask.sum() < 2:
        return 0.0
    present, blank = present[mask], blank[mask]
    losses = np.log(present) - np.log(blank)
    # Fine enough that rounding every pass towards less costs a few per cent at most.
    grid = float(np.clip(np.abs(losses).max() / 4000, _FINEST, _COARSEST))
    epsilon = finite_epsilon_below(present, blank, times=epochs, delta=delta, grid=grid)
    return max(0.0, epsilon)


def _masses(cuts: Floats, mean: float, steps: int, sigma: float) -> Floats:
    """Return the chances of the maximum to lie between the cuts."""
    from scipy.special import log_ndtr

    log_below = log_ndtr((cuts - mean) / sigma) + (steps - 1) * log_ndtr(cuts / sigma)
    below = np.concatenate(([0.0], np.exp(log_below), [1.0]))
    above = np.concatenate(([1.0], -np.expm1(log_below), [0.0]))
    return np.where(below[1:] > 0.5, -np.diff(above), np.diff(below))
