"""The law of the noise on one count, and laws of sums of independent noises."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ptable.lookup import cycle_length
from risk.errors import RiskError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ptable import PTable

__all__ = ["NoiseLaw", "p_mean_rounds_to_zero", "row_of", "sum_law"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NoiseLaw:
    """Hold the probabilities of consecutive whole numbers.

    Parameters
    ----------
    lowest
        The number of the first probability.
    probabilities
        Of the numbers from `lowest` on.

    Examples
    --------
    >>> law = NoiseLaw(lowest=-1, probabilities=np.array([0.5, 0.0, 0.5]))
    >>> law.of(1), law.of(7), law.variance
    (0.5, 0.0, 1.0)
    """

    lowest: int
    probabilities: NDArray[np.float64]

    @classmethod
    def of_count(cls, ptable: PTable, *, count: int | None = None) -> NoiseLaw:
        """Give the law of the noise on a count.

        Parameters
        ----------
        ptable
            The p-table.
        count
            The original count; None for large counts. Counts of 0 are published as 0.

        Examples
        --------
        >>> from ptable import Mechanism
        >>> NoiseLaw.of_count(Mechanism.random_rounding(3).build(), count=4).of(-1)
        0.6666666666666666
        """
        if count == 0:
            return cls(lowest=0, probabilities=np.ones(1))
        units = ptable.units(row_of(ptable, count=count))
        lowest = min(units)
        probabilities = np.zeros(max(units) - lowest + 1)
        for noise, n_keys in units.items():
            probabilities[noise - lowest] = n_keys / ptable.key_range
        return cls(lowest=lowest, probabilities=probabilities)

    @property
    def highest(self) -> int:
        """The number of the last probability.

        Examples
        --------
        >>> NoiseLaw(lowest=-1, probabilities=np.array([0.5, 0.0, 0.5])).highest
        1
        """
        return self.lowest + len(self.probabilities) - 1

    @property
    def values(self) -> NDArray[np.int64]:
        """The numbers.

        Examples
        --------
        >>> NoiseLaw(lowest=-1, probabilities=np.array([0.5, 0.0, 0.5])).values.tolist()
        [-1, 0, 1]
        """
        return np.arange(self.lowest, self.highest + 1)

    @property
    def variance(self) -> float:
        """The variance.

        Examples
        --------
        >>> NoiseLaw(lowest=3, probabilities=np.array([0.5, 0.5])).variance
        0.25
        """
        mean = float(self.probabilities @ self.values)
        return float(self.probabilities @ (self.values - mean) ** 2)

    def of(self, value: int) -> float:
        """Give the probability of a number, 0 where it cannot occur.

        Parameters
        ----------
        value
            The number.

        Examples
        --------
        >>> NoiseLaw(lowest=0, probabilities=np.ones(1)).of(-1)
        0.0
        """
        place = value - self.lowest
        is_in = 0 <= place < len(self.probabilities)
        return float(self.probabilities[place]) if is_in else 0.0


def row_of(ptable: PTable, *, count: int | None = None) -> int:
    """Find the row of a p-table that serves a count.

    Parameters
    ----------
    ptable
        The p-table of counts.
    count
        The original count, 1 or more; None for large counts, if they have one row.

    Raises
    ------
    RiskError
        If the table is one of magnitudes, or large counts take its rows in turn.

    Examples
    --------
    >>> from ptable import Mechanism
    >>> table = Mechanism.random_rounding(3).build()
    >>> row_of(table, count=10)
    1
    """
    if ptable.step != 1 or ptable.anchors is not None:
        raise RiskError(
            "Attacks on counts need a p-table of counts, not one of magnitudes.",
            hint="solve(NoiseSpec(…)) without step and anchors makes one",
        )
    last = ptable.n_rows - 1
    cycle = cycle_length(ptable.large_counts, n_rows=ptable.n_rows)
    if count is None:
        if cycle > 1:
            raise RiskError(
                f"Large counts take {cycle} rows of this p-table in turn; the counts must be "
                "given.",
                hint="pass the counts that are attacked",
            )
        return last
    if count < 0:
        raise RiskError(f"A count must be 0 or more, not {count}.")
    if count <= last:
        return count
    return last - cycle + 1 + (count - last - 1) % cycle


def sum_law(terms: Sequence[tuple[NoiseLaw, int, int]]) -> NoiseLaw:
    """Give the law of a weighted sum of independent numbers.

    Parameters
    ----------
    terms
        Per term a law, a whole weight and how many independent copies there are.

    Notes
    -----
    The characteristic functions are multiplied, at as many places as the sum has values, so
    that nothing wraps around; the error is that of floating-point numbers.

    Examples
    --------
    >>> coin = NoiseLaw(lowest=0, probabilities=np.array([0.5, 0.5]))
    >>> law = sum_law([(coin, 1, 1), (coin, -1, 1)])
    >>> law.lowest, law.probabilities.round(3).tolist()
    (-1, [0.25, 0.5, 0.25])
    """
    lowest = highest = 0
    for law, weight, n_copies in terms:
        ends = (weight * law.lowest * n_copies, weight * law.highest * n_copies)
        lowest, highest = lowest + min(ends), highest + max(ends)
    size = highest - lowest + 1
    n_points = 1 << (size - 1).bit_length() if size > 1 else 1
    spectrum = np.ones(n_points // 2 + 1, np.complex128)
    for law, weight, n_copies in terms:
        spread = np.zeros(n_points)
        base = min(weight * law.lowest, weight * law.highest)
        np.add.at(spread, weight * law.values - base, law.probabilities)
        spectrum *= np.fft.rfft(spread) ** n_copies
    sums = np.fft.irfft(spectrum, n_points) if n_points > 1 else spectrum.real
    return NoiseLaw(lowest=lowest, probabilities=np.clip(sums[:size], 0.0, 1.0))


def p_mean_rounds_to_zero(law: NoiseLaw, *, divisor: int) -> float:
    """Give the probability that a sum, divided, rounds to 0, halves going up.

    Parameters
    ----------
    law
        The law of the sum.
    divisor
        By what it is divided, 1 or more.

    Examples
    --------
    >>> law = NoiseLaw(lowest=-1, probabilities=np.array([0.25, 0.5, 0.25]))
    >>> p_mean_rounds_to_zero(law, divisor=2)
    0.75
    """
    is_hit = (-divisor <= 2 * law.values) & (2 * law.values < divisor)
    return float(min(1.0, law.probabilities[is_hit].sum()))
