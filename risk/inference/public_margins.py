"""Margins of figures of published counts that a service may tell everybody.

An exact interval (`count_intervals`) depends on the p-table: whoever sees many of them knows
the p-table. Here the half-width of one count is a step of a fixed ladder, found from the
p-table before anything is published. All else follows from published counts and from that
step, so that two p-tables on one step have the same intervals of the same published counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

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

#: Half-widths of one count. From 3 to 9.2 these are the fewest with which percentages are held
#: in 98 % of cases at most by noise of any variance from 2 to 20 (ADR 46); the others are eight
#: for a factor of two.
LADDER = (
    *(1.51, 2.01, 2.13, 2.26, 2.51, 2.76, 3.01, 3.17, 3.58, 3.76, 4.01, 4.13, 4.26, 4.65, 5.01),
    *(5.37, 6.01, 6.77, 7.51, 8.05, 9.18, 10.0, 10.9, 11.9, 13.0, 14.2, 15.4, 16.8, 18.3, 20.0),
    *(21.8, 23.8, 25.9, 28.3, 30.9, 33.6, 36.7, 40.0, 43.6, 47.6, 51.9, 56.6, 61.7, 67.3, 73.4),
    *(80.0, 87.3, 95.2),
)

# The noise of small counts is lopsided. A true count of 1 may be published as 5, so that what
# is published from one to 2.4 half-widths reaches further down; a 0 may be a true 4, so that
# what is published below one half-width reaches further up. The same whatever the p-table.
_SMALL, _SMALLEST = 2.4, 1.0
_DOWN, _UP = 2.25, 1.5
# Sums of so many counts are checked exactly; those of more have noise nearer to the normal.
_SUMS = (2, 4, 16)
_RATIOS = np.linspace(0, 1, 21)
# Ends are rounded outwards to 1, 2 or 5 times a power of ten: this part of the width, at most.
_FINE = 50
_STEPS = np.array([digit * 10.0**power for power in range(-16, 16) for digit in (1, 2, 5)])
_FEW = 100  # counts that are ranked pair by pair
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
    With A and B for published counts, a and b for true ones, the lower end of the interval of
    ``a / b`` is the least p with ``A - p B <= width * sqrt(s_A + p² t_B - 2 p s_AB)``, and the
    upper end the largest with ``p B - A <= width * sqrt(t_A + p² s_B - 2 p t_AB)``: s is the
    number of counts that a figure is the sum of as far as these may be smaller than published,
    t as far as they may be larger (`squares`: those of small counts are more than 1), s_AB of
    those in both. The interval of a sum, and of a difference, is the same with p = 0 and p = 1.

    Examples
    --------
    >>> from ptable import NoiseSpec, solve
    >>> margin = PublicMargin.of(solve(NoiseSpec(max_noise=5, variance=3.0, small=2)))
    >>> margin.width
    3.58
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
        """Say what counts add to the squares of half-widths, in those of one count.

        Returns
        -------
        numpy.ndarray
            With one axis more than the counts, of two: below a figure, and above it.
        """
        published = np.asarray(counts)
        squares = np.ones((*published.shape, 2))
        is_smallest = published < _SMALLEST * self.width
        squares[..., 0][~is_smallest & (published < _SMALL * self.width)] = _DOWN**2
        squares[..., 1][is_smallest] = _UP**2
        return squares

    def sums(self, totals: ArrayLike, squares: ArrayLike) -> tuple[Floats, Floats]:
        """Give the ends of intervals of sums of counts.

        Parameters
        ----------
        totals
            The sums of published counts.
        squares
            The sums of their `squares`.
        """
        total, below, above = np.asarray(totals, np.float64), *_sides(squares)
        low = np.maximum(np.ceil(total - self.half(below)), 0.0)
        return low, np.floor(total + self.half(above))

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
        (below, above), (other_below, other_above) = map(
            _sides, (first_squares, second_squares)
        )
        difference = one - other
        low = np.ceil(difference - self.half(below + other_above))
        return low, np.floor(difference + self.half(above + other_below))

    def ratios(
        self,
        first: ArrayLike,
        second: ArrayLike,
        *,
        squares: tuple[ArrayLike, ArrayLike] | None = None,
        shared: ArrayLike | None = None,
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
            The `squares` of counts that both sums have; looked at where the first is a part.
        part
            Whether the first is part of the second, so that no ratio is above 1.

        Returns
        -------
        tuple
            Ends, rounded outwards; from 0 to 1, or infinity, where the second is too small to
            tell anything.
        """
        a, b = np.asarray(first, np.float64), np.asarray(second, np.float64)
        own, whole = map(np.asarray, squares or (self.squares(a), self.squares(b)))
        both = np.zeros(2) if shared is None or not part else np.asarray(shared)
        largest = 1.0 if part else np.inf
        # Noise in both is that of the first, less a part of it: it is on the first's side.
        ends = [
            self._end(
                (a, b),
                own[..., side],
                whole[..., 1 - side] - both[..., 1 - side] + both[..., side],
                both[..., side],
                sign=2 * side - 1,
            )
            for side in (0, 1)
        ]
        low = np.where(np.isnan(ends[0]), 0.0, np.maximum(ends[0], 0.0))
        high = np.where(np.isnan(ends[1]), largest, np.minimum(ends[1], largest))
        return _outwards(np.minimum(low, high), high, largest)

    def _end(
        self, counts: tuple[Floats, Floats], own: Any, whole: Any, shared: Any, *, sign: int
    ) -> Floats:
        """Solve (a - p b)² = width² (own + p² whole - 2 p shared) for one p, or for none."""
        (a, b), unit = counts, self.width**2
        leading = b * b - unit * whole
        middle = a * b - unit * shared
        root = np.sqrt(np.maximum(middle * middle - leading * (a * a - unit * own), 0.0))
        end: Floats = (middle + sign * root) / np.where(leading > 0, leading, np.nan)
        return end

    def ranks(
        self, counts: ArrayLike, squares: ArrayLike | None = None
    ) -> tuple[Integers, Integers]:
        """Give the best and the worst rank, 1 for the largest, that differences leave open.

        Parameters
        ----------
        counts
            Published counts, ranked along the first axis, or sums of such.
        squares
            Their `squares`; by default those of single counts.
        """
        numbers = np.asarray(counts, np.float64)
        own = self.squares(numbers) if squares is None else np.asarray(squares, np.float64)
        rows = numbers.reshape(len(numbers), -1)
        own_rows = own.reshape(*rows.shape, 2)
        if len(rows) <= _FEW:
            larger, smaller = self._beyond_of_few(rows, own_rows)
        else:
            columns = [self._beyond(rows[:, n], own_rows[:, n]) for n in range(rows.shape[1])]
            larger, smaller = (np.stack(side, axis=1) for side in zip(*columns, strict=True))
        shape = numbers.shape
        return (larger + 1).reshape(shape), (len(rows) - smaller).reshape(shape)

    def _beyond(self, numbers: Floats, squares: Floats) -> tuple[Integers, Integers]:
        """Count the numbers that are surely larger, and smaller, than each of one column."""
        larger = np.zeros(len(numbers), np.int64)
        smaller = np.zeros(len(numbers), np.int64)
        kinds, places = np.unique(squares, axis=0, return_inverse=True)
        for place, (below, above) in enumerate(kinds):
            others = np.sort(numbers[places.ravel() == place])
            up, down = self.half(below + squares[:, 1]), self.half(above + squares[:, 0])
            larger += len(others) - np.searchsorted(others, numbers + up, side="right")
            smaller += np.searchsorted(others, numbers - down, side="left")
        return larger, smaller

    def _beyond_of_few(self, rows: Floats, squares: Floats) -> tuple[Integers, Integers]:
        """Count the same row by row, of few rows and many columns."""
        larger, smaller = np.zeros(rows.shape, np.int64), np.zeros(rows.shape, np.int64)
        below, above = _sides(squares)
        for place, (one, own) in enumerate(zip(rows, squares, strict=True)):
            larger[place] = (rows - one > self.half(below + own[:, 1])).sum(axis=0)
            smaller[place] = (one - rows > self.half(above + own[:, 0])).sum(axis=0)
        return larger, smaller

    def half(self, squares: Any) -> Any:
        """Give the half-widths of sums and differences, by their squares."""
        return self.width * np.sqrt(squares) + _TOLERANCE


def _sides(squares: ArrayLike) -> tuple[Floats, Floats]:
    """Return the squares below figures, and those above."""
    numbers = np.asarray(squares, np.float64)
    return numbers[..., 0], numbers[..., 1]


def _outwards(low: Floats, high: Floats, largest: float) -> tuple[Floats, Floats]:
    """Round the ends of intervals outwards, by a small part of their width."""
    width = np.where(np.isfinite(high), high - low, 1.0)
    step = _step(np.maximum(width, 1e-12) / _FINE)
    down = np.maximum(np.floor(low / step + _TOLERANCE) * step, 0.0)
    up = np.where(np.isfinite(high), np.ceil(high / step - _TOLERANCE) * step, high)
    return down, np.minimum(up, largest)


def _step(width: Floats) -> Floats:
    """Return the next of 1, 2, 5, 10, 20, … and 0.5, 0.2, 0.1, … at or below a width."""
    step: Floats = _STEPS[np.searchsorted(_STEPS, width * (1 + _TOLERANCE), side="right") - 1]
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
    squares = margin.squares(counts[:, np.newaxis] + band.noise)
    kinds = np.unique(squares.reshape(-1, 2), axis=0)
    laws = [
        (below, above, np.where((squares == (below, above)).all(axis=-1), chances, 0.0))
        for below, above in kinds
    ]
    least = 1.0
    for ratio in _RATIOS:
        off = noise[:, np.newaxis] - ratio * noise
        held = np.zeros((len(counts), len(counts)))
        for below, above, one in laws:
            for other_below, other_above, other in laws:
                is_held = (off <= margin.half(below + ratio**2 * other_above)) & (
                    -off <= margin.half(above + ratio**2 * other_below)
                )
                held += one @ is_held.astype(np.float64) @ other.T
        least = min(least, float(held.min()))
        if 100 * least < margin.level - _TOLERANCE:
            return least
    for number in _SUMS:
        if 100 * least < margin.level - _TOLERANCE:
            return least
        least = min(least, _least_coverage_of_sums(chances, squares, noise, number, margin))
    return least


def _least_coverage_of_sums(
    chances: Floats, squares: Floats, noise: Floats, number: int, margin: PublicMargin
) -> float:
    """Convolve noise and number of small published counts, for equal true counts."""
    shape = (number * (len(noise) - 1) + 1, number + 1)
    sums = number * noise[0] + np.arange(shape[0])
    n_small = np.arange(number + 1)
    missed = np.zeros(len(chances))
    # What a sum is too large by must be held below it, and the other way round.
    for side, wider, off in ((0, _DOWN, sums), (1, _UP, -sums)):
        is_small = squares[..., side] > 1
        split = np.where(
            np.stack([~is_small, is_small], axis=-1), chances[..., np.newaxis], 0.0
        )
        spectrum = np.fft.rfft2(split, s=shape, axes=(1, 2))
        convolved = np.fft.irfft2(spectrum**number, s=shape, axes=(1, 2))
        half = margin.half(number - n_small + wider**2 * n_small)
        missed += (convolved * (off[:, np.newaxis] > half)).sum(axis=(1, 2))
    return 1.0 - float(missed.max())
