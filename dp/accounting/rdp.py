"""Rényi differential privacy: losses at many orders, which add up, turned into epsilon."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dp.accounting.subsampled import subsampled_gaussian_loss
from dp.adjacency import Adjacency, common
from dp.checking import (
    checked_count,
    checked_delta,
    checked_epsilon,
    checked_loss,
    checked_positive,
)
from dp.errors import DPError
from footing.messages import Argument, Message, Name

#: 1.1 to 10.9 by tenths, then 12 to 63: what the first libraries used.
CLASSIC_ORDERS = tuple([1 + x / 10 for x in range(1, 100)] + [float(x) for x in range(12, 64)])
#: Wide and dense enough that the best order lies inside for any budget in use.
WIDE_ORDERS = tuple(
    sorted(
        {round(1 + 10 ** (x / 20), 4) for x in range(-40, 20)}
        | {1 + x / 10 for x in range(1, 100)}
        | set(map(float, range(11, 65)))
        | {float(round(10 ** (x / 40))) for x in range(73, 161)}
    )
)


class Spent(NamedTuple):
    """An epsilon, and the order that gave it.

    Examples
    --------
    >>> Spent(epsilon=1.0, order=13.0, is_at_edge=False).order
    13.0
    """

    epsilon: float
    order: float
    is_at_edge: bool  #: another order, outside of those tried, may give less


@dataclass(frozen=True, eq=False, kw_only=True)
class RenyiCurve:
    """The Rényi loss of what was done so far, order by order.

    Curves of the same neighbours add up; a curve times a number is as many repetitions. Both
    also hold when each step is chosen after looking at the answers before.

    Parameters
    ----------
    orders
        Above 1, rising.
    losses
        The loss at each.
    adjacency, unit
        The neighbours, and who is protected.

    Examples
    --------
    >>> step = RenyiCurve.subsampled_gaussian(
    ...     sampling_rate=64 / 60000, noise_multiplier=1.0, orders=CLASSIC_ORDERS
    ... )
    >>> spent = (step * 14070).epsilon(1e-5, conversion="classic")
    >>> round(spent.epsilon, 10), spent.order
    (1.1663206747, 13.0)
    """

    orders: tuple[float, ...]
    losses: NDArray[np.float64]
    adjacency: Adjacency = Adjacency.ADD_REMOVE
    unit: str = "record"

    def __post_init__(self) -> None:
        orders = tuple(float(order) for order in self.orders)
        if not orders or not all(order > 1 for order in orders):
            raise DPError(
                Message("Orders must lie above 1."),
                hint=Message("for example 1.5, 2, 4, 8, 16, 32"),
            )
        if list(orders) != sorted(set(orders)):
            raise DPError(
                Message("Orders must rise."),
                hint=Message("sort them and leave repeated ones out"),
            )
        losses = np.array(self.losses, dtype=np.float64)
        if losses.shape != (len(orders),) or not bool((losses >= 0).all()):
            raise DPError(Message("Each order needs a loss of 0 or more."))
        losses.flags.writeable = False
        object.__setattr__(self, "orders", orders)
        object.__setattr__(self, "losses", losses)
        object.__setattr__(self, "adjacency", Adjacency(self.adjacency))

    @classmethod
    def subsampled_gaussian(
        cls,
        *,
        sampling_rate: float,
        noise_multiplier: float,
        orders: Sequence[float] = WIDE_ORDERS,
        unit: str = "record",
    ) -> RenyiCurve:
        """Return the loss of Gaussian noise on a Poisson sample; neighbours add or remove.

        Parameters
        ----------
        sampling_rate
            Chance of each record to be in the sample, independently of the others.
        noise_multiplier
            Standard deviation over l2-sensitivity; 0 for no noise.
        orders
            The orders.
        unit
            Who is protected.

        Examples
        --------
        >>> curve = RenyiCurve.subsampled_gaussian(
        ...     sampling_rate=0.01, noise_multiplier=4, orders=[2, 16]
        ... )
        >>> bool((curve.losses < 16 / (2 * 4**2)).all())
        True
        """
        sigma = checked_loss(noise_multiplier, "noise_multiplier")
        grid = _checked_orders(orders)
        losses = (
            np.zeros(len(grid))
            if math.isinf(sigma)
            else subsampled_gaussian_loss(
                grid, sampling_rate=sampling_rate, noise_multiplier=sigma
            )
        )
        return cls(orders=grid, losses=losses, unit=unit)

    @classmethod
    def concentrated(
        cls,
        rho: float,
        *,
        adjacency: Adjacency,
        orders: Sequence[float] = WIDE_ORDERS,
        unit: str = "record",
    ) -> RenyiCurve:
        """Return the loss of what has concentrated privacy: order times rho.

        Parameters
        ----------
        rho
            The concentrated loss; Gaussian noise has half the square of sensitivity over scale.
        adjacency, unit
            The neighbours, and who is protected.
        orders
            The orders.

        Examples
        --------
        >>> RenyiCurve.concentrated(0.5, adjacency=Adjacency.REPLACE, orders=[2, 4]).losses
        array([1., 2.])
        """
        grid = _checked_orders(orders)
        losses = np.array(grid) * checked_loss(rho, "rho")
        return cls(orders=grid, losses=losses, adjacency=adjacency, unit=unit)

    @classmethod
    def pure(
        cls,
        epsilon: float,
        *,
        adjacency: Adjacency,
        orders: Sequence[float] = WIDE_ORDERS,
        unit: str = "record",
    ) -> RenyiCurve:
        """Return the loss of what is epsilon-private: that of randomised response.

        Parameters
        ----------
        epsilon
            The epsilon.
        adjacency, unit
            The neighbours, and who is protected.
        orders
            The orders.

        Notes
        -----
        No mechanism that is epsilon-private loses more, at any order.

        Examples
        --------
        >>> curve = RenyiCurve.pure(1, adjacency=Adjacency.REPLACE, orders=[2, 1000])
        >>> curve.losses.round(4)
        array([0.7353, 0.9997])
        """
        epsilon = checked_epsilon(epsilon, may_be_zero=True)
        high = 1 / (1 + math.exp(-epsilon))
        grid = _checked_orders(orders)
        losses = [renyi_divergence([high, 1 - high], [1 - high, high], order=a) for a in grid]
        if high == 1:  # too far out for a float: the bound by epsilon itself
            losses = [epsilon] * len(grid)
        return cls(orders=grid, losses=np.array(losses), adjacency=adjacency, unit=unit)

    def __add__(self, other: RenyiCurve) -> RenyiCurve:
        """Add the loss of another mechanism on the same data."""
        common([(self.adjacency, self.unit), (other.adjacency, other.unit)])
        if self.orders != other.orders:
            raise DPError(
                Message("Losses add up at the same orders only."),
                hint=Message("give both one list"),
            )
        return replace(self, losses=self.losses + other.losses)

    def __mul__(self, times: int) -> RenyiCurve:
        """Repeat the mechanism."""
        if checked_count(times, "times", least=0) == 0:
            return replace(self, losses=np.zeros_like(self.losses))
        return replace(self, losses=self.losses * times)

    def epsilon(self, delta: float, *, conversion: str = "tight") -> Spent:
        """Return the least epsilon over the orders.

        Parameters
        ----------
        delta
            The delta.
        conversion
            ``"tight"``, or ``"classic"`` for the formula of the first libraries.

        Notes
        -----
        Classic: ``loss + ln(1/delta) / (a - 1)``. Tight:
        ``loss + ln(1 - 1/a) - ln(a delta) / (a - 1)``.

        References
        ----------
        Mironov 2017, proposition 3; Canonne, Kamath, Steinke 2020, proposition 12.

        Examples
        --------
        >>> step = RenyiCurve.subsampled_gaussian(
        ...     sampling_rate=64 / 60000, noise_multiplier=1.0
        ... )
        >>> round((step * 14070).epsilon(1e-5).epsilon, 4)
        0.8725
        """
        delta = checked_delta(delta)
        gap = np.array(self.orders) - 1
        if conversion == "classic":
            bounds = self.losses + math.log(1 / delta) / gap
        elif conversion == "tight":
            bounds = self.losses - np.log1p(1 / gap)  # ln(1 - 1/a)
            bounds -= (math.log(delta) + np.log1p(gap)) / gap
        else:
            raise DPError(
                Message("Unknown conversion {conversion!r}.", conversion=Name(conversion)),
                hint=Message("known: 'tight', 'classic'"),
            )
        best = int(np.argmin(bounds))
        is_at_edge = len(self.orders) > 1 and best in {0, len(self.orders) - 1}
        epsilon = max(0.0, float(bounds[best])) if self.losses.any() else 0.0
        return Spent(epsilon, self.orders[best], is_at_edge and 0 < epsilon < math.inf)

    def delta(self, epsilon: float) -> float:
        """Return the least delta over the orders.

        Parameters
        ----------
        epsilon
            The epsilon.

        Examples
        --------
        >>> curve = RenyiCurve.concentrated(0.5, adjacency=Adjacency.REPLACE)
        >>> f"{curve.delta(4.7285):.1e}"
        '1.0e-05'
        """
        epsilon = checked_epsilon(epsilon, may_be_zero=True)
        gap = np.array(self.orders) - 1
        logs = gap * (self.losses - epsilon) - gap * np.log1p(1 / gap) - np.log1p(gap)
        return float(np.exp(min(0.0, float(logs.min())))) if self.losses.any() else 0.0


def renyi_divergence(p: ArrayLike, q: ArrayLike, *, order: float) -> float:
    """Return the Rényi divergence of two finite distributions.

    Parameters
    ----------
    p, q
        Probabilities of the same outcomes.
    order
        1 for the Kullback-Leibler divergence, infinity for the largest log-ratio.

    Examples
    --------
    Randomised response with two coins:

    >>> coins = [0.75, 0.25], [0.25, 0.75]
    >>> [round(renyi_divergence(*coins, order=a), 4) for a in (1, 2, float("inf"))]
    [0.5493, 0.8473, 1.0986]
    """
    from scipy.special import logsumexp

    first, second = _law(p), _law(q)
    if first.shape != second.shape:
        raise DPError(Message("Both distributions must have the same outcomes."))
    if not order >= 1:
        raise DPError(
            Message("order must be at least 1, not {order!r}.", order=Argument(order))
        )
    first, second = first[first > 0], second[first > 0]
    if (second == 0).any():
        return math.inf
    ratio = np.log(first) - np.log(second)
    if order == 1:
        return max(0.0, float(np.sum(first * ratio)))
    if math.isinf(order):
        return max(0.0, float(ratio.max()))
    scaled = (order - 1) * ratio
    if np.abs(scaled).max() < 1:  # the logarithm of a sum near 1 would have few digits left
        return max(0.0, math.log1p(float(np.sum(first * np.expm1(scaled)))) / (order - 1))
    return max(0.0, float(logsumexp(scaled, b=first)) / (order - 1))


def _law(values: ArrayLike) -> NDArray[np.float64]:
    distribution = np.asarray(values, dtype=np.float64)
    if (
        distribution.ndim != 1
        or not (distribution >= 0).all()
        or not math.isclose(distribution.sum(), 1, abs_tol=1e-9)
    ):
        raise DPError(Message("Probabilities must be 0 or more and sum to 1."))
    return distribution


def _checked_orders(orders: Sequence[float]) -> tuple[float, ...]:
    grid = tuple(checked_positive(order, "order") for order in orders)
    if not grid or min(grid) <= 1:
        raise DPError(
            Message("Orders must lie above 1."),
            hint=Message("for example 1.5, 2, 4, 8, 16, 32"),
        )
    return grid
