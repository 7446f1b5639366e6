"""What a mechanism promises: epsilon, delta, rho, to whom, and against which neighbours."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from dp.accounting.concentrated import epsilon_of_rho
from dp.adjacency import Adjacency
from dp.checking import checked_count, checked_delta, checked_loss
from dp.errors import DPError
from footing.messages import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarantee:
    """What holds for a mechanism: (epsilon, delta), concentrated privacy (rho), or both.

    Both are statements about the same mechanism, and each holds by itself. Infinity says
    that nothing of the kind is known; with both infinite there is no protection.

    Parameters
    ----------
    epsilon
        ``P(S) <= exp(epsilon) P'(S) + delta`` for every set S of outcomes of two neighbours.
    delta
        As above. The privacy loss may exceed epsilon with a chance far above delta: see
        `dp.tail_bound`.
    rho
        Zero-concentrated loss.
    adjacency
        What the neighbours are.
    unit
        Who is protected: a record, a person, a household, an enterprise.

    Examples
    --------
    >>> promise = Guarantee(epsilon=1, adjacency=Adjacency.ADD_REMOVE, unit="person")
    >>> print(promise)
    epsilon = 1 (add-remove, per person)
    >>> promise.concentrated
    0.5
    """

    epsilon: float = math.inf
    delta: float = 0.0
    rho: float = math.inf
    adjacency: Adjacency
    unit: str = "record"

    def __post_init__(self) -> None:
        for name in ("epsilon", "rho"):
            object.__setattr__(self, name, checked_loss(getattr(self, name), name))
        object.__setattr__(self, "delta", checked_delta(self.delta, may_be_zero=True))
        object.__setattr__(self, "adjacency", Adjacency(self.adjacency))
        if not self.unit.strip():
            raise DPError(
                Message("unit must name who is protected."),
                hint=Message("for example 'person'"),
            )

    @property
    def is_private(self) -> bool:
        """Whether anything is promised at all.

        Examples
        --------
        >>> Guarantee(adjacency="local").is_private
        False
        """
        return math.isfinite(self.epsilon) or math.isfinite(self.rho)

    @property
    def is_pure(self) -> bool:
        """Whether epsilon holds without exception.

        Examples
        --------
        >>> Guarantee(epsilon=1, delta=1e-6, adjacency="replace").is_pure
        False
        """
        return math.isfinite(self.epsilon) and self.delta == 0

    @property
    def concentrated(self) -> float:
        """The smallest rho that holds: the stated one, or half the square of a pure epsilon.

        Examples
        --------
        >>> Guarantee(epsilon=2, rho=0.5, adjacency="replace").concentrated
        0.5
        """
        return min(self.rho, self.epsilon**2 / 2 if self.is_pure else math.inf)

    def at(self, delta: float) -> Guarantee:
        """Return the smallest epsilon that holds at a delta.

        Parameters
        ----------
        delta
            The delta.

        Examples
        --------
        >>> print(Guarantee(rho=0.5, adjacency="replace", unit="person").at(1e-5))
        epsilon = 4.72839, delta = 1e-05, rho = 0.5 (replace, per person)
        """
        delta = checked_delta(delta)
        epsilon = self.epsilon if self.delta <= delta else math.inf
        rho = self.concentrated
        if rho == 0:
            epsilon = 0.0
        elif math.isfinite(rho):
            epsilon = min(epsilon, epsilon_of_rho(rho, delta=delta))
        if not math.isfinite(epsilon):
            raise DPError(
                Message("No epsilon is known at delta {delta:g}.", delta=delta),
                hint=Message("the guarantee is stated at delta {delta:g}", delta=self.delta)
                if math.isfinite(self.epsilon)
                else Message("the mechanism gives no protection"),
            )
        is_pure = epsilon == self.epsilon and self.is_pure
        return replace(self, epsilon=epsilon, delta=0.0 if is_pure else delta)

    def for_group(self, size: int) -> Guarantee:
        """Return what holds for a group of units together, a household for instance.

        Parameters
        ----------
        size
            How many units.

        Notes
        -----
        Epsilon grows with the size, rho with its square, delta by a sum of powers of
        ``exp(epsilon)``.

        Examples
        --------
        >>> Guarantee(epsilon=0.5, adjacency="replace", unit="person").for_group(4).epsilon
        2.0
        """
        size = checked_count(size, "size")
        delta = self.delta
        if delta > 0 and size > 1:
            try:
                delta *= sum(math.exp(step * self.epsilon) for step in range(size))
            except OverflowError:
                delta = 1.0
        is_useful = delta < 1
        return replace(
            self,
            epsilon=self.epsilon * size if is_useful else math.inf,
            delta=delta if is_useful else 0.0,
            rho=self.rho * size**2,
            unit=self.unit if size == 1 else f"group of {size} ({self.unit})",
        )

    def __str__(self) -> str:
        parts = []
        if math.isfinite(self.epsilon):
            parts.append(f"epsilon = {self.epsilon:.6g}")
            if self.delta:
                parts.append(f"delta = {self.delta:g}")
        if math.isfinite(self.rho):
            parts.append(f"rho = {self.rho:.6g}")
        promise = ", ".join(parts) or "no protection"
        return f"{promise} ({self.adjacency}, per {self.unit})"
