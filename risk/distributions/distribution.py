"""Laws of whole numbers: sums and differences of independent ones."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np

from footing.messages import Argument, Message
from risk.errors import RiskError
from risk.wellformed import read_numbers, require_whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

_NEGLIGIBLE = 1e-150


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Law:
    """Hold the probabilities of consecutive whole numbers.

    Parameters
    ----------
    lowest
        The first number; may be negative.
    probabilities
        Of ``lowest, lowest + 1, ...``; they sum to 1 within 1e-9 and are divided by their
        sum.

    Examples
    --------
    >>> law = Law(lowest=-1, probabilities=[0.5, 0, 0.5])
    >>> law
    Law(n_numbers=3, variance=1)
    """

    lowest: int
    probabilities: NDArray[np.float64]

    def __post_init__(self) -> None:
        array = read_numbers(self.probabilities, name="probabilities")
        if array.ndim != 1 or not array.size:
            raise RiskError(
                Message("probabilities must be a list of finite numbers, not empty.")
            )
        if (array < 0).any() or abs(array.sum() - 1) > 1e-9:
            raise RiskError(
                Message(
                    "probabilities must be 0 or more and sum to 1 within 1e-9; the smallest is "
                    "{min:g}, the sum {sum:.12g}.",
                    min=array.min(),
                    sum=array.sum(),
                )
            )
        if not isinstance(self.lowest, Integral):
            raise RiskError(
                Message(
                    "lowest must be a whole number, not {lowest!r}.",
                    lowest=Argument(self.lowest),
                )
            )
        places = np.flatnonzero(array)
        array = array[places[0] : places[-1] + 1] / array.sum()
        array.setflags(write=False)
        object.__setattr__(self, "lowest", int(self.lowest) + int(places[0]))
        object.__setattr__(self, "probabilities", array)

    @classmethod
    def certain(cls, number: int) -> Law:
        """Give a number that is known.

        Parameters
        ----------
        number
            The number.

        Examples
        --------
        >>> Law.certain(3)
        Law(n_numbers=1, variance=0)
        """
        return cls(lowest=number, probabilities=np.ones(1))

    @classmethod
    def weighted_sum(cls, terms: Sequence[tuple[Law, int, int]]) -> Law:
        """Give the law of a weighted sum of independent numbers.

        Parameters
        ----------
        terms
            Per term a law, a whole weight and how many independent copies there are.

        Notes
        -----
        The characteristic functions are multiplied, at as many places as the sum has values,
        so that nothing wraps around. This serves sums of any length, but the error of about
        1e-15 is absolute: thin tails drown. `plus` and `repeated` keep them.

        Examples
        --------
        >>> coin = Law(lowest=0, probabilities=[0.5, 0.5])
        >>> law = Law.weighted_sum([(coin, 1, 1), (coin, -2, 1)])
        >>> law.numbers, law.probabilities.round(3)
        (array([-2, -1,  0,  1]), array([0.25, 0.25, 0.25, 0.25]))
        """
        lowest = highest = 0
        for distribution, weight, n_copies in terms:
            ends = (
                weight * distribution.lowest * n_copies,
                weight * distribution.highest * n_copies,
            )
            lowest, highest = lowest + min(ends), highest + max(ends)
        size = highest - lowest + 1
        n_points = 1 << (size - 1).bit_length() if size > 1 else 1
        spectrum = np.ones(n_points // 2 + 1, np.complex128)
        for distribution, weight, n_copies in terms:
            spread = np.zeros(n_points)
            base = min(weight * distribution.lowest, weight * distribution.highest)
            np.add.at(spread, weight * distribution.numbers - base, distribution.probabilities)
            spectrum *= np.fft.rfft(spread) ** n_copies
        sums = np.fft.irfft(spectrum, n_points) if n_points > 1 else spectrum.real
        return cls(lowest=lowest, probabilities=np.clip(sums[:size], 0.0, 1.0))

    @property
    def highest(self) -> int:
        """The last number.

        Examples
        --------
        >>> Law(lowest=-1, probabilities=[0.5, 0, 0.5]).highest
        1
        """
        return self.lowest + len(self.probabilities) - 1

    @property
    def numbers(self) -> NDArray[np.int64]:
        """All numbers from the first to the last, those of probability 0 included.

        Examples
        --------
        >>> Law(lowest=-1, probabilities=[0.5, 0, 0.5]).numbers
        array([-1,  0,  1])
        """
        return np.arange(self.lowest, self.highest + 1)

    @property
    def support(self) -> NDArray[np.int64]:
        """The numbers of positive probability.

        Examples
        --------
        >>> Law(lowest=-1, probabilities=[0.5, 0, 0.5]).support
        array([-1,  1])
        """
        return self.numbers[self.probabilities > 0]

    @property
    def mean(self) -> float:
        """The mean.

        Examples
        --------
        >>> Law(lowest=0, probabilities=[0.25, 0.75]).mean
        0.75
        """
        steps = np.arange(len(self.probabilities))
        return self.lowest + float(steps @ self.probabilities)

    @property
    def variance(self) -> float:
        """The variance.

        Examples
        --------
        >>> Law(lowest=0, probabilities=[0.5, 0.5]).variance
        0.25
        """
        away = np.arange(len(self.probabilities)) - (self.mean - self.lowest)
        return float(away**2 @ self.probabilities)

    def at(self, numbers: ArrayLike) -> NDArray[np.float64]:
        """Give the probability of each number.

        Parameters
        ----------
        numbers
            Whole numbers.

        Examples
        --------
        >>> Law(lowest=-1, probabilities=[0.5, 0, 0.5]).at([-1, 0, 9])
        array([0.5, 0. , 0. ])
        """
        places = np.asarray(numbers, dtype=np.int64) - self.lowest
        inside = (places >= 0) & (places < len(self.probabilities))
        return np.where(inside, self.probabilities[np.where(inside, places, 0)], 0.0)

    def plus(self, other: Law) -> Law:
        """Add an independent number.

        Parameters
        ----------
        other
            Its law.

        Notes
        -----
        The convolution. Probabilities below 1e-150 become 0, which keeps sums of thousands
        of numbers short and their products clear of underflow.

        Examples
        --------
        >>> coin = Law(lowest=0, probabilities=[0.5, 0.5])
        >>> coin.plus(coin).probabilities
        array([0.25, 0.5 , 0.25])
        """
        mixed = np.convolve(self.probabilities, other.probabilities)
        probabilities = np.where(mixed < _NEGLIGIBLE, 0.0, mixed)
        return Law(lowest=self.lowest + other.lowest, probabilities=probabilities)

    def minus(self, other: Law) -> Law:
        """Subtract an independent number.

        Parameters
        ----------
        other
            Its law.

        Examples
        --------
        >>> coin = Law(lowest=0, probabilities=[0.5, 0.5])
        >>> coin.minus(coin).numbers
        array([-1,  0,  1])
        """
        return self.plus(Law(lowest=-other.highest, probabilities=other.probabilities[::-1]))

    def shifted(self, by: int) -> Law:
        """Add a known number.

        Parameters
        ----------
        by
            The number.

        Examples
        --------
        >>> Law.certain(3).shifted(-5).lowest
        -2
        """
        return Law(lowest=self.lowest + int(by), probabilities=self.probabilities)

    def repeated(self, times: int) -> Law:
        """Add up independent numbers of this law.

        Parameters
        ----------
        times
            How many.

        Examples
        --------
        >>> Law(lowest=-1, probabilities=[0.5, 0, 0.5]).repeated(4).variance
        4.0
        """
        rest = require_whole(times, name="times")
        answer, power = Law.certain(0), self
        while rest:
            if rest & 1:
                answer = answer.plus(power)
            rest >>= 1
            if rest:
                power = power.plus(power)
        return answer

    def to_frame(self) -> pd.DataFrame:
        """Give one line per number.

        Examples
        --------
        >>> Law.certain(3).to_frame().values.tolist()
        [[3.0, 1.0]]
        """
        import pandas as pd

        return pd.DataFrame({"number": self.numbers, "probability": self.probabilities})

    def __repr__(self) -> str:
        return f"Law(n_numbers={len(self.probabilities)}, variance={self.variance:g})"
