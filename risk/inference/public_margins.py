"""Margins of figures of published counts that a service may tell everybody.

An exact interval (`count_intervals`) depends on the p-table: whoever sees many of them knows
the p-table. Here the half-width of one count is a step of a fixed ladder, found from the
p-table before anything is published. All else follows from published counts and from that
step, so that two p-tables on one step have the same intervals of the same published counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self

import numpy as np

from footing.messages import Message
from risk.distributions.band import Band
from risk.errors import RiskError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from ptable.table import PTable

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

Level = Literal[90, 95]

#: Half-widths of one count, four steps for a factor of two: each is for a variance up to half
#: as large again as that of the step before.
LADDER = (
    *(1.53, 1.83, 2.17, 2.58, 3.07, 3.65, 4.34, 5.16, 6.14, 7.3, 8.68, 10.3, 12.3, 14.6),
    *(17.4, 20.6, 24.5, 29.2, 34.7, 41.3, 49.1, 58.4, 69.4, 82.6, 98.2),
)

# The noise of small counts is lopsided: a published count below _SMALL half-widths has _WIDER
# times the half-width. Both are the same whatever the p-table.
_SMALL, _WIDER = 2, 1.5
# Sums of so many counts are checked exactly; those of more have noise nearer to the normal.
_SUMS = (2, 4, 16)
_RATIOS = np.linspace(0, 1, 21)
# Ends are rounded outwards to 1, 2 or 5 times a power of ten: this part of the width, at most.
_FINE = 50
_MAX_NOISES = 4 * LADDER[-1]  # no p-table of more is looked at, which would take long
_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicMargin:
    """The half-width of one count, from which those of all figures follow.

    Parameters
    ----------
    level
        How often, in per cent and at least, intervals hold the figure of the true counts.
    width
        A step of `LADDER`.

    Notes
    -----
    With A and B for published counts, a and b for true ones, the interval of ``a / b`` holds
    all p with ``|A - p B| <= width * sqrt(s_A + p² s_B - 2 p s_AB)``: s is the number of counts
    that a figure is the sum of (`squares`; small ones count more), s_AB of those in both. The
    interval of a sum, and of a difference, is the same with p = 0 and p = 1.

    Examples
    --------
    >>> from ptable import NoiseSpec, solve
    >>> margin = PublicMargin.of(solve(NoiseSpec(max_noise=5, variance=3.0, small=2)))
    >>> margin.width
    3.65
    >>> low, high = margin.ratios([130], [1000])
    >>> f"{low[0]:.2%} to {high[0]:.2%}"
    '12.63% to 13.37%'
    """

    level: Level = 95
    width: float

    @classmethod
    def of(cls, table: PTable, *, level: Level = 95) -> Self:
        """Find the step for a p-table: the first that is wide enough for every true count.

        Parameters
        ----------
        table
            The p-table of the counts.
        level
            90 or 95.

        Raises
        ------
        RiskError
            If no step is wide enough.
        """
        if level not in {90, 95}:
            raise RiskError(
                Message("Public margins are of 90 or 95 per cent."), hint=Message("level=95")
            )
        band = Band.of(table)
        steps = LADDER if band.width < _MAX_NOISES else ()
        for width in steps:
            margin = cls(level=level, width=width)
            if 100 * _least_coverage(band, margin) >= level - _TOLERANCE:
                return margin
        raise RiskError(Message("The noise of this p-table is beyond the ladder of margins."))

    def squares(self, counts: ArrayLike) -> Floats:
        """Say what counts add to the square of a half-width, in those of one count."""
        published = np.asarray(counts)
        return np.where(published < _SMALL * self.width, _WIDER**2, 1.0)

    def sums(self, totals: ArrayLike, squares: ArrayLike) -> tuple[Floats, Floats]:
        """Give the ends of intervals of sums of counts.

        Parameters
        ----------
        totals
            The sums of published counts.
        squares
            The sums of their `squares`.
        """
        half = self.half(squares)
        total = np.asarray(totals, np.float64)
        return np.maximum(np.ceil(total - half), 0.0), np.floor(total + half)

    def differences(
        self,
        first: ArrayLike,
        second: ArrayLike,
        *,
        squares: tuple[ArrayLike, ArrayLike] | None = None,
    ) -> tuple[Floats, Floats]:
        """Give the ends of intervals of differences, first less second; whole numbers."""
        one, other = np.asarray(first, np.float64), np.asarray(second, np.float64)
        first_squares, second_squares = squares or (self.squares(one), self.squares(other))
        half = self.half(np.asarray(first_squares) + np.asarray(second_squares))
        return np.ceil(one - other - half), np.floor(one - other + half)

    def ratios(
        self,
        first: ArrayLike,
        second: ArrayLike,
        *,
        squares: tuple[ArrayLike, ArrayLike] | None = None,
        shared: ArrayLike = 0.0,
        part: bool = True,
    ) -> tuple[Floats, Floats]:
        """Give the ends of intervals of ratios, first over second.

        Parameters
        ----------
        first, second
            Published counts, or sums of such.
        squares
            Of both; by default those of single counts.
        shared
            The `squares` of counts that both sums have.
        part
            Whether the first is part of the second, so that no ratio is above 1.

        Returns
        -------
        tuple
            Ends, rounded outwards; from 0 to 1, or infinity, where the second is too small to
            tell anything.
        """
        a, b = np.asarray(first, np.float64), np.asarray(second, np.float64)
        own, whole = squares or (self.squares(a), self.squares(b))
        unit = self.width**2
        # (a - p b)² <= width² (own + p² whole - 2 p shared), a quadratic in p
        leading = b**2 - unit * np.asarray(whole)
        middle = a * b - unit * np.asarray(shared)
        last = a**2 - unit * np.asarray(own)
        is_told = leading > 0
        divisor = np.where(is_told, leading, 1.0)
        root = np.sqrt(np.maximum(middle**2 - leading * last, 0.0))
        largest = 1.0 if part else np.inf
        low = np.where(is_told, np.maximum((middle - root) / divisor, 0.0), 0.0)
        high = np.where(is_told, np.minimum((middle + root) / divisor, largest), largest)
        return _outwards(np.minimum(low, high), high, largest)

    def ranks(
        self, counts: ArrayLike, squares: ArrayLike | None = None
    ) -> tuple[Integers, Integers]:
        """Give the best and the worst rank, 1 for the largest, that differences leave open."""
        numbers = np.asarray(counts, np.float64)
        own = self.squares(numbers) if squares is None else np.asarray(squares, np.float64)
        larger = np.zeros(len(numbers), np.int64)
        smaller = np.zeros(len(numbers), np.int64)
        for square in np.unique(own):
            others = np.sort(numbers[own == square])
            half = self.half(own + square)
            larger += len(others) - np.searchsorted(others, numbers + half, side="right")
            smaller += np.searchsorted(others, numbers - half, side="left")
        return larger + 1, len(numbers) - smaller

    def half(self, squares: ArrayLike) -> Floats:
        """Give the half-widths of sums and differences, by their squares."""
        half: Floats = self.width * np.sqrt(np.asarray(squares, np.float64)) + _TOLERANCE
        return half


def _outwards(low: Floats, high: Floats, largest: float) -> tuple[Floats, Floats]:
    """Round the ends of intervals outwards, by a small part of their width."""
    width = np.where(np.isfinite(high), high - low, 1.0)
    step = _step(np.maximum(width, 1e-12) / _FINE)
    down = np.maximum(np.floor(low / step + _TOLERANCE) * step, 0.0)
    up = np.where(np.isfinite(high), np.ceil(high / step - _TOLERANCE) * step, high)
    return down, np.minimum(up, largest)


def _step(width: Floats) -> Floats:
    """Return the next of 1, 2, 5, 10, 20, … and 0.5, 0.2, 0.1, … at or below a width."""
    power = 10.0 ** np.floor(np.log10(width) + _TOLERANCE)
    first = width / power
    step: Floats = power * np.where(first >= 5, 5.0, np.where(first >= 2, 2.0, 1.0))
    return step


def _least_coverage(band: Band, margin: PublicMargin) -> float:
    """Return how often intervals hold, for the true counts for which they do so least often.

    All pairs of true counts with noise of their own, for ratios up to 1 (differences are
    those of 1, counts those of 0), and sums of several counts that are equal.
    """
    noise = band.noise.astype(np.float64)
    most = int(np.ceil(_SMALL * margin.width)) + max(0, -band.lowest)
    counts = np.arange(1, max(most + 1, len(band.probabilities)) + band.cycle)
    chances = band.probabilities[band.rows(counts)]
    is_small = counts[:, np.newaxis] + band.noise < _SMALL * margin.width
    laws = {
        _WIDER**2: np.where(is_small, chances, 0.0),
        1.0: np.where(is_small, 0.0, chances),
    }
    least = 1.0
    for ratio in _RATIOS:
        off = np.abs(noise[:, np.newaxis] - ratio * noise)
        held = np.zeros((len(counts), len(counts)))
        for own, one in laws.items():
            for whole, other in laws.items():
                half = margin.width * np.sqrt(own + ratio**2 * whole) + _TOLERANCE
                held += one @ (off <= half).astype(np.float64) @ other.T
        least = min(least, float(held.min()))
        if 100 * least < margin.level - _TOLERANCE:
            return least
    one_of_each = np.stack([laws[1.0], laws[_WIDER**2]], axis=-1)
    for number in _SUMS:
        if 100 * least < margin.level - _TOLERANCE:
            return least
        least = min(least, _least_coverage_of_sums(one_of_each, noise, number, margin))
    return least


def _least_coverage_of_sums(
    distributions: Floats, noise: Floats, number: int, margin: PublicMargin
) -> float:
    """Convolve noise and number of small published counts, for equal true counts."""
    shape = (number * (len(noise) - 1) + 1, number + 1)
    spectrum = np.fft.rfft2(distributions, s=shape, axes=(1, 2))
    chances = np.fft.irfft2(spectrum**number, s=shape, axes=(1, 2))
    sums = number * noise[0] + np.arange(shape[0])
    n_small = np.arange(number + 1)
    squares = number - n_small + _WIDER**2 * n_small
    is_held = np.abs(sums)[:, np.newaxis] <= margin.width * np.sqrt(squares) + _TOLERANCE
    return float((chances * is_held).sum(axis=(1, 2)).min())
