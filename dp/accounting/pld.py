"""The tightest account: distributions of the privacy loss, through dp-accounting.

Losses are rounded up to a grid, so the epsilon is an upper bound; a finer grid lowers it in
the fourth digit.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dp.adjacency import Adjacency, common
from dp.checking import (
    checked_count,
    checked_delta,
    checked_epsilon,
    checked_positive,
    checked_probability,
)
from dp.errors import DPError, MissingPackageError
from dp.guarantee import Guarantee
from footing.messages import Message, Name

_RELATIONS = {
    Adjacency.ADD_REMOVE: "ADD_OR_REMOVE_ONE",
    Adjacency.REPLACE: "REPLACE_ONE",
    Adjacency.ZERO_OUT: "REPLACE_SPECIAL",
}
_LEAST_EPSILON, _MOST_EPSILON = -20.0, 40.0


@dataclass(frozen=True, eq=False, kw_only=True)
class PrivacyLoss:
    """The loss of what was done so far, as a whole distribution.

    Losses of the same neighbours add up; a loss times a number is as many repetitions.

    Parameters
    ----------
    event
        What was done, in the words of dp-accounting.
    adjacency, unit
        The neighbours, and who is protected.
    grid
        Distance between two losses told apart.

    Examples
    --------
    >>> step = PrivacyLoss.gaussian(4, sampling_rate=0.01)
    >>> round((step * 10_000).epsilon(1e-5), 3)
    0.947
    """

    event: Any
    adjacency: Adjacency = Adjacency.ADD_REMOVE
    unit: str = "record"
    grid: float = 1e-4

    def __post_init__(self) -> None:
        object.__setattr__(self, "adjacency", Adjacency(self.adjacency))
        if self.adjacency not in _RELATIONS:
            raise DPError(
                Message(
                    "No account is kept of neighbours {adjacency!r}.",
                    adjacency=Name(self.adjacency.value),
                ),
                hint=Message("known: {relations}", relations=Name.each(_RELATIONS)),
            )
        checked_positive(self.grid, "grid")

    @classmethod
    def gaussian(
        cls,
        noise_multiplier: float,
        *,
        sampling_rate: float = 1.0,
        adjacency: Adjacency = Adjacency.ADD_REMOVE,
        unit: str = "record",
        grid: float = 1e-4,
    ) -> PrivacyLoss:
        """Return the loss of Gaussian noise on a sum over a Poisson sample.

        Parameters
        ----------
        noise_multiplier
            Standard deviation over the largest norm of one record's part of the sum. Where
            records are replaced, the sum moves twice as far; that is taken into account.
        sampling_rate
            Chance of each record to be in the sample, independently of the others.
        adjacency, unit
            The neighbours, and who is protected.
        grid
            Distance between two losses told apart.

        Examples
        --------
        >>> round(PrivacyLoss.gaussian(1).epsilon(1e-5), 4)
        4.3772
        """
        events = accounting_library()
        rate = checked_probability(sampling_rate, "sampling_rate")
        event = events.GaussianDpEvent(checked_positive(noise_multiplier, "noise_multiplier"))
        if rate < 1:
            event = events.PoissonSampledDpEvent(rate, event) if rate else events.NoOpDpEvent()
        return cls(event=event, adjacency=Adjacency(adjacency), unit=unit, grid=grid)

    @classmethod
    def laplace(
        cls, noise_multiplier: float, *, unit: str = "record", grid: float = 1e-4
    ) -> PrivacyLoss:
        """Return the loss of Laplace noise on one number; neighbours add or remove.

        Parameters
        ----------
        noise_multiplier
            Scale over l1-sensitivity.
        unit
            Who is protected.
        grid
            Distance between two losses told apart.

        Examples
        --------
        >>> round(PrivacyLoss.laplace(2).epsilon(1e-12), 6)
        0.5
        """
        scale = checked_positive(noise_multiplier, "noise_multiplier")
        return cls(event=accounting_library().LaplaceDpEvent(scale), unit=unit, grid=grid)

    def __add__(self, other: PrivacyLoss) -> PrivacyLoss:
        """Add the loss of another mechanism on the same data."""
        common([(self.adjacency, self.unit), (other.adjacency, other.unit)])
        both = accounting_library().ComposedDpEvent([self.event, other.event])
        return replace(self, event=both, grid=min(self.grid, other.grid))

    def __mul__(self, times: int) -> PrivacyLoss:
        """Repeat the mechanism."""
        library = accounting_library()
        if checked_count(times, "times", least=0) == 0:
            return replace(self, event=library.NoOpDpEvent())
        return replace(self, event=library.SelfComposedDpEvent(self.event, int(times)))

    def epsilon(self, delta: float) -> float:
        """Return the epsilon at a delta.

        Parameters
        ----------
        delta
            The delta.

        Examples
        --------
        >>> PrivacyLoss.gaussian(1).epsilon(0.9)
        0.0
        """
        loss = self._distribution.get_epsilon_for_delta(checked_delta(delta))
        return max(0.0, float(loss))

    def delta(self, epsilon: float) -> float:
        """Return the delta at an epsilon.

        Parameters
        ----------
        epsilon
            The epsilon.

        Examples
        --------
        >>> f"{PrivacyLoss.gaussian(1).delta(4.3772):.2e}"
        '1.00e-05'
        """
        epsilon = checked_epsilon(epsilon, may_be_zero=True)
        return float(self._distribution.get_delta_for_epsilon(epsilon))

    def guarantee(self, delta: float) -> Guarantee:
        """Return epsilon and delta as a guarantee, for a ledger.

        Parameters
        ----------
        delta
            The delta.

        Examples
        --------
        >>> print(PrivacyLoss.gaussian(1, unit="person").guarantee(1e-5))
        epsilon = 4.37718, delta = 1e-05 (add-remove, per person)
        """
        return Guarantee(
            epsilon=self.epsilon(delta), delta=delta, adjacency=self.adjacency, unit=self.unit
        )

    def true_positive_rate(self, false_positive_rate: float) -> float:
        """Return how often an attacker can be right about members, at most.

        Parameters
        ----------
        false_positive_rate
            How often the attacker may be wrong about others.

        Notes
        -----
        The least over epsilon, of any sign, of ``exp(epsilon) f + delta(epsilon)``; each
        epsilon gives a valid bound.

        Examples
        --------
        >>> round(PrivacyLoss.gaussian(1).true_positive_rate(0.01), 4)
        0.0924
        """
        from scipy.optimize import minimize_scalar

        rate = checked_probability(false_positive_rate, "false_positive_rate")
        curve = self._distribution.get_delta_for_epsilon

        def bound(epsilon: float) -> float:
            return math.exp(epsilon) * rate + float(curve(epsilon))

        # Convex in exp(epsilon), so that there is one minimum.
        optimum = minimize_scalar(
            bound, bounds=(_LEAST_EPSILON, _MOST_EPSILON), method="bounded"
        )
        return float(min(1.0, optimum.fun))

    @property
    def advantage(self) -> float:
        """How far an attacker's rates of right and wrong alarms can lie apart, at most.

        Examples
        --------
        >>> round(PrivacyLoss.gaussian(1).advantage, 4)
        0.3829
        """
        return self.delta(0.0)

    @cached_property
    def _distribution(self) -> Any:
        library = accounting_library()
        relation = library.NeighboringRelation[_RELATIONS[self.adjacency]]
        accountant = library.pld.PLDAccountant(relation, self.grid)
        if not accountant.supports(self.event):
            raise DPError(
                Message(
                    "No account is kept of this mechanism for neighbours {adjacency}.",
                    adjacency=self.adjacency,
                ),
                hint=Message("state its epsilon or rho and compose those"),
            )
        accountant.compose(self.event)
        return accountant._pld  # noqa: SLF001 (deltas of negative epsilons have no other way)


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
        raise DPError(
            Message(
                "A batch of {batch} cannot be drawn from {size} records.",
                batch=batch,
                size=size,
            )
        )
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

    upper, lower = (
        dict(enumerate(np.log(distribution).tolist())) for distribution in (first, second)
    )
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


def accounting_library() -> ModuleType:
    """Import dp-accounting, with its accounts; it is no need of this package."""
    try:
        import dp_accounting
        import dp_accounting.pld
        import dp_accounting.rdp
    except ImportError:
        raise MissingPackageError(
            Message("Distributions of the loss need the package dp-accounting."),
            hint=Message("in the project's folder: pip install '.[dp]'"),
        ) from None
    module: ModuleType = dp_accounting
    return module
