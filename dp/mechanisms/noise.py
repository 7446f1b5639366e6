"""Numbers plus noise: Laplace and Gaussian, on floats and on integers."""

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dp.accounting.concentrated import rho_of_epsilon
from dp.accounting.gaussian import gaussian_epsilon, gaussian_scale
from dp.checking import (
    checked_count,
    checked_delta,
    checked_epsilon,
    checked_positive,
    checked_probability,
)
from dp.errors import DPError
from dp.guarantee import Guarantee
from dp.mechanisms.opendp import add_noise, noise_loss, numbers_of
from dp.sensitivity import Sensitivity
from footing.messages import Message, Shape

_NUDGES = 64
_WIDE = 1e4
_EXACT = 2**53  # the integers up to here are floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """What the four kinds of noise have in common; build one of them.

    Parameters
    ----------
    sensitivity
        How far one unit moves the answer.
    scale
        Scale of the noise.

    Examples
    --------
    >>> issubclass(Laplace, Noise)
    True
    """

    law: ClassVar[str]
    is_integer: ClassVar[bool]

    sensitivity: Sensitivity
    scale: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", checked_positive(self.scale, "scale"))

    def release(self, answer: ArrayLike) -> Any:
        """Return the answer with noise: a number for a number, an array for an array.

        The randomness is the operating system's and has no seed. Every call is a release of
        its own and costs the guarantee again.

        Parameters
        ----------
        answer
            The true answer; all its numbers together have the stated sensitivity, and are as
            many as it says.

        Examples
        --------
        >>> from dp import count
        >>> isinstance(Geometric.calibrated(count(), epsilon=1).release(28), int)
        True
        """
        values = self._values(answer)
        noisy = add_noise(self.law, values, scale=self.scale)
        return noisy.item() if values.ndim == 0 else noisy

    def check(self, answer: ArrayLike) -> None:
        """Raise what `release` would raise, and release nothing.

        Parameters
        ----------
        answer
            The true answer.

        Examples
        --------
        >>> from dp import count
        >>> Geometric.calibrated(count(), epsilon=1).check([28, 3])
        Traceback (most recent call last):
        ...
        dp.DPError: The sensitivity is that of 1 number; the answer has 2.
          hint: state that of all numbers together: dp.histogram(), dp.counts(2), dp.together
        """
        numbers_of(self._values(answer))

    def _values(self, answer: ArrayLike) -> NDArray[Any]:
        values = np.asarray(answer)
        number = self.sensitivity.numbers
        if number is not None and values.size != number:
            raise DPError(
                Message(
                    "The sensitivity is that of {number:,} number{plural}; the answer has "
                    "{size:,}.",
                    number=number,
                    plural=Message() if number == 1 else Message("s"),
                    size=values.size,
                ),
                hint=Message(
                    "state that of all numbers together: dp.histogram(), dp.counts({size}), "
                    "dp.together",
                    size=max(1, values.size),
                ),
            )
        if self.is_integer and values.dtype.kind not in "iu":
            raise DPError(
                Message(
                    "{name} noise goes on integers, not on {dtype}.",
                    name=Shape(type(self)),
                    dtype=Shape(values.dtype),
                ),
                hint=Message("use Laplace or Gaussian for floats"),
            )
        if not self.is_integer and values.dtype.kind in "iu":
            if ((values > _EXACT) | (values < -_EXACT)).any():
                raise DPError(
                    Message(
                        "An integer beyond 2**53 is rounded as a float, and neighbours move "
                        "apart."
                    ),
                    hint=Message("use Geometric or DiscreteGaussian for integers"),
                )
            values = values.astype(np.float64)
        return values

    def accuracy(self, confidence: float = 0.95, *, numbers: int = 1) -> float:
        """Return how far the noise stays from 0, at a confidence.

        Parameters
        ----------
        confidence
            The chance that it stays within.
        numbers
            How many numbers stay within, all at once.

        Examples
        --------
        >>> from dp import count
        >>> round(Laplace.calibrated(count(), epsilon=0.5).accuracy(0.95), 3)
        5.991
        """
        confidence = checked_probability(confidence, "confidence", is_open=True)
        # 1 - confidence ** (1 / numbers), without losing digits
        beta = -math.expm1(math.log(confidence) / checked_count(numbers, "numbers"))
        return self._reach(beta)

    @property
    def variance(self) -> float:
        """The variance of the noise.

        Examples
        --------
        >>> from dp import count
        >>> Laplace(sensitivity=count(), scale=2).variance
        8.0
        """
        raise NotImplementedError

    @property
    def guarantee(self) -> Guarantee:
        """What one release promises.

        Examples
        --------
        >>> from dp import count
        >>> print(Laplace(sensitivity=count(), scale=2).guarantee)
        epsilon = 0.5 (add-remove, per record)
        """
        raise NotImplementedError

    def _reach(self, beta: float) -> float:
        raise NotImplementedError

    def _loss(self) -> float:
        s = self.sensitivity
        distance = s.l1 if self.law == "laplace" else s.l2
        return noise_loss(
            self.law, is_integer=self.is_integer, scale=self.scale, distance=distance
        )

    def _promise(self, **values: float) -> Guarantee:
        s = self.sensitivity
        return Guarantee(**values, adjacency=s.adjacency, unit=s.unit)

    @classmethod
    def _costing(cls, cost: float, *, sensitivity: Sensitivity, scale: float) -> Self:
        """Widen a scale by units in the last place until the rounded loss keeps a cost."""
        noise, step = cls(sensitivity=sensitivity, scale=scale), 0
        while noise._loss() > cost and step < _NUDGES:
            noise, step = replace(noise, scale=math.nextafter(noise.scale, math.inf)), step + 1
        return noise


@dataclass(frozen=True, slots=True, kw_only=True)
class _LaplaceNoise(Noise):
    """What noise of the Laplace law has in common, on floats and on integers."""

    law: ClassVar[str] = "laplace"

    @classmethod
    def calibrated(cls, sensitivity: Sensitivity, *, epsilon: float) -> Self:
        """Return the noise that costs an epsilon.

        Parameters
        ----------
        sensitivity
            How far one unit moves the answer.
        epsilon
            What a release may cost.

        Examples
        --------
        >>> from dp import count, histogram
        >>> Laplace.calibrated(count(), epsilon=0.5).scale
        2.0
        >>> Geometric.calibrated(histogram(), epsilon=1).scale
        1.0
        """
        epsilon = checked_epsilon(epsilon)
        distance = math.ceil(sensitivity.l1) if cls.is_integer else sensitivity.l1
        return cls._costing(epsilon, sensitivity=sensitivity, scale=distance / epsilon)

    @property
    def guarantee(self) -> Guarantee:
        """Pure epsilon: sensitivity over scale."""
        return self._promise(epsilon=self._loss())


@dataclass(frozen=True, slots=True, kw_only=True)
class _GaussianNoise(Noise):
    """What noise of the Gaussian law has in common, on floats and on integers."""

    law: ClassVar[str] = "gaussian"

    @classmethod
    def _of_rho(cls, sensitivity: Sensitivity, rho: float | None) -> Self:
        if rho is None:
            raise DPError(
                Message("The cost of a release is missing."),
                hint=Message("give epsilon and delta, or rho"),
            )
        rho = checked_positive(rho, "rho")
        scale = sensitivity.l2 / math.sqrt(2 * rho)
        return cls._costing(rho, sensitivity=sensitivity, scale=scale)


@dataclass(frozen=True, slots=True, kw_only=True)
class Laplace(_LaplaceNoise):
    """Laplace noise on floats.

    Parameters
    ----------
    sensitivity
        How far one unit moves the answer; its l1 counts.
    scale
        Scale of the noise.

    Examples
    --------
    >>> from dp import mean
    >>> Laplace.calibrated(mean(20, 100, at_least=9), epsilon=0.5).scale
    16.0
    """

    is_integer: ClassVar[bool] = False

    @property
    def variance(self) -> float:
        """Twice the square of the scale."""
        return 2 * self.scale**2

    def _reach(self, beta: float) -> float:
        return -self.scale * math.log(beta)


@dataclass(frozen=True, slots=True, kw_only=True)
class Geometric(_LaplaceNoise):
    """Two-sided geometric noise, the Laplace law on the integers.

    Parameters
    ----------
    sensitivity
        How far one unit moves the answer; its l1 counts.
    scale
        Scale of the noise: a step farther out is ``exp(1 / scale)`` times rarer.

    Examples
    --------
    >>> from dp import count
    >>> noise = Geometric.calibrated(count(), epsilon=0.5)
    >>> noise.scale, round(noise.variance, 3), noise.accuracy(0.95)
    (2.0, 7.835, 6.0)
    """

    is_integer: ClassVar[bool] = True

    @property
    def variance(self) -> float:
        """The variance of the noise, below Laplace's."""
        return 0.5 / math.sinh(min(700.0, 0.5 / self.scale)) ** 2

    def _reach(self, beta: float) -> float:
        ratio = math.exp(-1 / self.scale)
        # P(|noise| > a) = 2 ratio**(a + 1) / (1 + ratio)
        tail = math.log(beta * (1 + ratio) / 2) * -self.scale - 1
        return float(max(0, math.ceil(tail - 1e-12)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Gaussian(_GaussianNoise):
    """Gaussian noise on floats.

    Parameters
    ----------
    sensitivity
        How far one unit moves the answer; its l2 counts.
    scale
        Standard deviation.
    delta
        Where the guarantee states its epsilon; 0 to state rho alone.

    Examples
    --------
    >>> from dp import count
    >>> print(Gaussian(sensitivity=count(), scale=1, delta=1e-5).guarantee)
    epsilon = 4.37718, delta = 1e-05, rho = 0.5 (add-remove, per record)
    """

    is_integer: ClassVar[bool] = False

    delta: float = 0.0

    def __post_init__(self) -> None:
        Noise.__post_init__(self)
        object.__setattr__(self, "delta", checked_delta(self.delta, may_be_zero=True))

    @classmethod
    def calibrated(
        cls,
        sensitivity: Sensitivity,
        *,
        epsilon: float | None = None,
        delta: float = 0.0,
        rho: float | None = None,
    ) -> Self:
        """Return the least noise that costs (epsilon, delta), or rho.

        Parameters
        ----------
        sensitivity
            How far one unit moves the answer.
        epsilon, delta
            What a release may cost.
        rho
            The same as concentrated loss, in place of epsilon.

        Examples
        --------
        >>> from dp import count
        >>> round(Gaussian.calibrated(count(), epsilon=0.5, delta=1e-5).scale, 4)
        7.0318
        """
        if epsilon is None:
            return cls._of_rho(sensitivity, rho)
        _refuse_both(rho)
        scale = gaussian_scale(
            checked_epsilon(epsilon),
            delta=checked_delta(delta),
            sensitivity=sensitivity.l2,
        )
        return cls(sensitivity=sensitivity, scale=scale, delta=delta)

    @property
    def variance(self) -> float:
        """The square of the scale."""
        return self.scale**2

    @property
    def guarantee(self) -> Guarantee:
        """Concentrated loss, and the exact epsilon at the delta if one is set."""
        rho = self._loss()
        if not self.delta:
            return self._promise(rho=rho)
        epsilon = gaussian_epsilon(self.delta, mu=self.sensitivity.l2 / self.scale)
        return self._promise(rho=rho, epsilon=epsilon, delta=self.delta)

    def _reach(self, beta: float) -> float:
        from scipy.special import ndtri

        return -self.scale * float(ndtri(beta / 2))


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteGaussian(_GaussianNoise):
    """Discrete Gaussian noise on integers.

    Parameters
    ----------
    sensitivity
        How far one unit moves the answer; its l2 counts.
    scale
        Parameter of the noise; its standard deviation, but for very small ones.

    Examples
    --------
    >>> from dp import histogram
    >>> noise = DiscreteGaussian.calibrated(histogram(), rho=0.02)
    >>> noise.scale, noise.guarantee.rho
    (5.0, 0.02)
    """

    is_integer: ClassVar[bool] = True

    @classmethod
    def calibrated(
        cls,
        sensitivity: Sensitivity,
        *,
        epsilon: float | None = None,
        delta: float = 0.0,
        rho: float | None = None,
    ) -> Self:
        """Return the noise that costs rho, or (epsilon, delta) by way of rho.

        Parameters
        ----------
        sensitivity
            How far one unit moves the answer.
        epsilon, delta
            What a release may cost.
        rho
            The same as concentrated loss, in place of epsilon.

        Examples
        --------
        >>> from dp import count
        >>> noise = DiscreteGaussian.calibrated(count(), epsilon=1, delta=1e-6)
        >>> round(noise.guarantee.at(1e-6).epsilon, 9)
        1.0
        """
        if epsilon is not None:
            _refuse_both(rho)
            rho = rho_of_epsilon(checked_epsilon(epsilon), delta=checked_delta(delta))
        return cls._of_rho(sensitivity, rho)

    @property
    def variance(self) -> float:
        """The variance of the noise, never above the square of the scale."""
        if self.scale > _WIDE:  # the difference is far below the last digit
            return self.scale**2
        support, mass = self._law()
        return float(np.sum(support**2 * mass))

    @property
    def guarantee(self) -> Guarantee:
        """Concentrated loss: half the square of sensitivity over scale."""
        return self._promise(rho=self._loss())

    def _reach(self, beta: float) -> float:
        if self.scale > _WIDE:
            from scipy.special import ndtri

            return float(math.ceil(-self.scale * float(ndtri(beta / 2))) + 1)
        support, mass = self._law()
        outside = 2 * np.cumsum(mass[support > 0][::-1])[::-1]  # P(|noise| >= 1, 2, …)
        return float(np.count_nonzero(outside > beta))

    def _law(self) -> tuple[Any, Any]:
        reach = math.ceil(40 * self.scale) + 1
        support = np.arange(-reach, reach + 1, dtype=np.float64)
        mass = np.exp(-((support / self.scale) ** 2) / 2)
        return support, mass / mass.sum()


def _refuse_both(rho: float | None) -> None:
    if rho is not None:
        raise DPError(
            Message("The cost is given twice."), hint=Message("give epsilon and delta, or rho")
        )
