"""Accounts of laws other than Poisson samples, through dp-accounting."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from dp.accounting.pld import accounting_library
from dp.checking import checked_count, checked_delta, checked_positive
from dp.errors import DPError

if TYPE_CHECKING:
    from numpy.typing import NDArray


def fixed_batches_epsilon(
    delta: float, *, dataset_size: int, batch_size: int, noise_multiplier: float, steps: int
) -> float:
    """Return the epsilon of Gaussian noise on batches of a fixed size; neighbours replace.

    Notes
    -----
    A record and the one that takes its place in the batch move the sum twice as far as one.

    References
    ----------
    Wang, Balle, Kasiviswanathan 2019.
    """
    size, batch = checked_count(dataset_size, "dataset_size"), checked_count(batch_size, "size")
    if batch > size:
        raise DPError(f"A batch of {batch} cannot be drawn from {size} records.")
    dp_accounting = accounting_library()
    noise = dp_accounting.GaussianDpEvent(
        checked_positive(noise_multiplier, "noise_multiplier") / 2
    )
    event = dp_accounting.SampledWithoutReplacementDpEvent(size, batch, noise)
    relation = dp_accounting.NeighboringRelation.REPLACE_ONE
    accountant = dp_accounting.rdp.RdpAccountant(neighboring_relation=relation)
    accountant.compose(event, checked_count(steps, "steps"))
    return float(accountant.get_epsilon(checked_delta(delta)))


def finite_epsilon_below(
    first: NDArray[np.float64],
    second: NDArray[np.float64],
    *,
    times: int,
    delta: float,
    grid: float,
) -> float:
    """Return an epsilon that repetitions of two finite laws do not go below."""
    accounting_library()
    from dp_accounting.pld import privacy_loss_distribution as distributions

    upper, lower = (dict(enumerate(np.log(law).tolist())) for law in (first, second))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)  # empty cells, inside dp-accounting
        loss: Any = distributions.from_two_probability_mass_functions(
            lower,
            upper,
            pessimistic_estimate=False,
            value_discretization_interval=checked_positive(grid, "grid"),
            symmetric=False,
        )
        return float(loss.self_compose(times).get_epsilon_for_delta(checked_delta(delta)))
