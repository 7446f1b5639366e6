"""Exact intervals of figures of published counts, from the p-table; for the office alone.

They have the methods of `PublicMargin`, whose half-width tells everybody little. These depend
on every row of the p-table: forty of them, with their published counts, tell which it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from footing.messages import Message
from risk.distributions.band import Band
from risk.errors import RiskError
from risk.inference.intervals import count_intervals

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from ptable.table import PTable

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

#: The least and the largest level, in per cent.
EXACT_LEVELS = (50.0, 99.9)

_CONVOLVED = 400  # counts of a sum; those of more have bounds by their moments
_CHUNK = 500  # pairs of counts between two looks at the clock
_SPREAD = 12.0  # standard deviations beyond which tails are not told apart
_TOLERANCE = 1e-9
_HUNDRED = 100.0


def _no_check() -> None:
    """Go on."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ExactMargin:
    """Intervals that hold the figure of the true counts as often as stated, or more.

    Parameters
    ----------
    level
        How often, in per cent, 50 to 99.9; whatever the true counts are, over the draw of the
        noise.
    table
        The p-table of the counts.
    check
        Called now and then; raises where the work shall end.

    Notes
    -----
    Single counts, and ratios and differences of two, by tests of every pair of true counts
    that could have been published so (`count_intervals`). Sums of n counts by the largest
    probability of their noise: ``U_n(x) = max over rows of sum_v P(v | row) U_{n-1}(x - v)``
    bounds P(noise of n counts >= x) whatever their rows, each tail with half of what the level
    leaves; beyond 400 counts by Chernoff's bound with the largest moments of any row. Ratios
    and differences of sums from the intervals of both, each with half of what the level leaves
    (Bonferroni); a ratio of a sum to one that has all its counts, from those and the others.
    Ranks from differences to all others at once.

    Examples
    --------
    >>> from ptable import Mechanism
    >>> margin = ExactMargin.of(Mechanism.random_rounding(3).build(), level=95)
    >>> margin.sums([30], margin.squares([30]))
    (array([28.]), array([32.]))
    """

    level: float
    table: PTable
    check: Callable[[], None] = _no_check
    _band: Band = field(repr=False)

    @classmethod
    def of(
        cls, table: PTable, *, level: float = 95.0, check: Callable[[], None] | None = None
    ) -> Self:
        """Prepare the rows of a p-table.

        Parameters
        ----------
        table, level, check
            See above.

        Raises
        ------
        RiskError
            If the level is not from 50 to 99.9.
        """
        if not EXACT_LEVELS[0] <= level <= EXACT_LEVELS[1]:
            raise RiskError(
                Message("Exact intervals are of 50 to 99.9 per cent."), hint=Message("level=95")
            )
        return cls(level=level, table=table, check=check or _no_check, _band=Band.of(table))

    def squares(self, counts: ArrayLike) -> Floats:
        """Say of how many counts each is the sum, as `PublicMargin.squares` in two columns."""
        return np.ones((*np.asarray(counts).shape, 2))

    def sums(self, totals: ArrayLike, squares: ArrayLike) -> tuple[Floats, Floats]:
        """Give the ends of intervals of sums of counts.

        Parameters
        ----------
        totals
            The sums of published counts.
        squares
            The sums of their `squares`.
        """
        return self._sums(_floats(totals), _numbers(squares), self._error)

    def differences(
        self,
        first: ArrayLike,
        second: ArrayLike,
        *,
        squares: tuple[ArrayLike, ArrayLike] | None = None,
    ) -> tuple[Floats, Floats]:
        """Give the ends of intervals of differences, first less second; whole numbers."""
        one, other = np.broadcast_arrays(_floats(first), _floats(second))
        n, m = self._sizes(one, other, squares)
        low, high = np.empty(one.shape), np.empty(one.shape)
        is_single = (n == 1) & (m == 1)
        low[is_single], high[is_single] = self._pairs(
            one[is_single], other[is_single], figure="difference", part=False
        )
        (a_low, a_high), (b_low, b_high) = (
            self._sums(numbers[~is_single], sizes[~is_single], self._error / 2)
            for numbers, sizes in ((one, n), (other, m))
        )
        low[~is_single], high[~is_single] = a_low - b_high, a_high - b_low
        return low, high

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
        first, second, squares, shared, part
            As for `PublicMargin.ratios`.

        Returns
        -------
        tuple
            Ends; from 0 to 1, or infinity, where the second may be 0.
        """
        a, b = np.broadcast_arrays(_floats(first), _floats(second))
        n, m = self._sizes(a, b, squares)
        both = (
            np.zeros(a.shape) if shared is None else np.broadcast_to(_numbers(shared), a.shape)
        )
        largest = 1.0 if part else np.inf
        low, high = np.zeros(a.shape), np.full(a.shape, largest)
        is_single = (n == 1) & (m == 1) & (both == 0) & (b > 0)
        ends = self._pairs(a[is_single], b[is_single], figure="ratio", part=part)
        low[is_single], high[is_single] = ends
        is_inside = (both == n) & ~is_single
        rest = np.where(is_inside, b - a, b)
        (a_low, a_high), (b_low, b_high) = (
            self._sums(numbers[~is_single], sizes[~is_single], self._error / 2)
            for numbers, sizes in ((a, n), (rest, np.where(is_inside, m - n, m)))
        )
        more = is_inside[~is_single]
        with np.errstate(all="ignore"):
            smallest = a_low / (b_high + np.where(more, a_low, 0.0))
            most = a_high / (b_low + np.where(more, a_high, 0.0))
        low[~is_single] = np.where(np.isfinite(smallest), smallest, 0.0)
        high[~is_single] = np.where(np.isnan(most), largest, np.minimum(most, largest))
        return np.minimum(low, largest), high

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
        numbers = _floats(counts)
        own = np.ones(numbers.shape) if squares is None else _numbers(squares)
        # All differences hold together: each tail of each noise has its part of the error.
        below, above = self._tails(own, self._error / (2 * len(numbers)))
        larger, smaller = np.zeros(numbers.shape, np.int64), np.zeros(numbers.shape, np.int64)
        for place, one in enumerate(numbers):
            self.check()
            larger[place] = (numbers - one > below + above[place]).sum(axis=0)
            smaller[place] = (one - numbers > above + below[place]).sum(axis=0)
        return larger + 1, len(numbers) - smaller

    @property
    def _error(self) -> float:
        return 1 - self.level / _HUNDRED

    def _sizes(
        self, one: Floats, other: Floats, squares: tuple[ArrayLike, ArrayLike] | None
    ) -> list[Floats]:
        """Return of how many counts each number is the sum."""
        sizes = squares or (self.squares(one), self.squares(other))
        return [np.broadcast_to(_numbers(own), one.shape) for own in sizes]

    def _pairs(
        self, first: Floats, second: Floats, *, figure: Any, part: bool
    ) -> tuple[Floats, Floats]:
        """Test pairs of true counts, some hundred pairs of published ones at a time."""
        pairs, places = np.unique(
            np.stack([first, second]).astype(np.int64), axis=1, return_inverse=True
        )
        ends = [np.zeros((2, 0))]
        for start in range(0, pairs.shape[1], _CHUNK):
            self.check()
            one, other = pairs[:, start : start + _CHUNK]
            intervals = count_intervals(
                (self.table, self.table),
                one,
                other,
                figure=figure,
                level=self.level / _HUNDRED,
                part=part,
            )
            ends.append(np.stack([intervals.lower, intervals.upper]))
        low, high = np.concatenate(ends, axis=1)[:, places.ravel()]
        return low, high

    def _sums(self, totals: Floats, sizes: Floats, error: float) -> tuple[Floats, Floats]:
        """Give intervals of sums of so many counts."""
        low, high = np.empty(totals.shape), np.empty(totals.shape)
        is_single = sizes == 1
        low[is_single], high[is_single] = self._singles(totals[is_single], error)
        below, above = self._tails(sizes[~is_single], error / 2)
        low[~is_single] = np.maximum(totals[~is_single] - below, 0.0)
        high[~is_single] = totals[~is_single] + above
        return low, high

    def _singles(self, published: Floats, error: float) -> tuple[Floats, Floats]:
        """Test the true counts of single published ones, by the size of their noise."""
        numbers, places = np.unique(published.astype(np.int64), return_inverse=True)
        originals, chances = self._band.windows(numbers)
        laws = self._band.probabilities[self._band.rows(np.maximum(originals, 0))]
        sizes = np.abs(numbers[:, np.newaxis] - originals)
        tails = (laws * (np.abs(self._band.noise) >= sizes[..., np.newaxis])).sum(axis=-1)
        is_open = (chances > 0) & (tails > error + _TOLERANCE)
        if not is_open.any(axis=1).all():
            raise RiskError(Message("This table never publishes some of the counts asked for."))
        low = np.where(is_open, originals, np.inf).min(axis=1, initial=np.inf)
        high = np.where(is_open, originals, -np.inf).max(axis=1, initial=-np.inf)
        return low[places.ravel()], high[places.ravel()]

    def _tails(self, sizes: Floats, error: float) -> tuple[Floats, Floats]:
        """Return what the noise of sums of so many counts exceeds at most so often.

        Upwards and downwards, whatever the rows of the counts are.
        """
        kinds, places = np.unique(np.rint(sizes).astype(np.int64), return_inverse=True)
        shape = sizes.shape
        laws = np.unique(self._band.probabilities, axis=0)
        noise = self._band.noise
        halves = [
            self._largest(own, values, kinds.tolist(), error)[places].reshape(shape)
            for own, values in ((laws, noise), (laws[:, ::-1], -noise[::-1]))
        ]
        return halves[0], halves[1]

    def _largest(self, laws: Floats, noise: Integers, sizes: list[int], error: float) -> Floats:
        """Return the least x that the noise of n counts is above with at most the error."""
        found = {0: 0.0}
        few = [n for n in sizes if 0 < n <= _CONVOLVED]
        if few:
            most = max(few)
            deviation = np.sqrt((laws @ (noise.astype(np.float64) ** 2)).max())
            reach = int(np.ceil(_SPREAD * deviation * np.sqrt(most))) + int(np.abs(noise).max())
            steps = np.arange(-reach, reach + 1)
            # P(noise >= x): 1 below the reach, and beyond it at most what it is there.
            chances = (steps <= 0).astype(np.float64)
            sources = np.clip(np.arange(len(steps)) - noise[:, np.newaxis], 0, len(steps) - 1)
            for n in range(1, most + 1):
                self.check()
                chances = np.minimum((laws @ chances[sources]).max(axis=0), 1.0)
                if n in few:
                    found[n] = float(steps[np.argmax(chances <= error + _TOLERANCE)] - 1)
        for n in sizes:
            if n > _CONVOLVED:
                found[n] = _chernoff(laws, noise.astype(np.float64), n, error)
        return np.array([found[n] for n in sizes])


def _chernoff(laws: Floats, noise: Floats, n: int, error: float) -> float:
    """Bound the noise of n counts by the moments of rows: x = min (n log M(t) - log e) / t."""
    deviation = np.sqrt((laws @ noise**2).max())
    rates = np.sqrt(-2 * np.log(error) / n) / deviation * np.geomspace(0.25, 4, 65)
    moments = np.log((laws @ np.exp(noise[:, np.newaxis] * rates)).max(axis=0))
    return float(np.floor(((n * moments - np.log(error)) / rates).min()))


def _floats(numbers: ArrayLike) -> Floats:
    return np.asarray(numbers, np.float64)


def _numbers(squares: ArrayLike) -> Floats:
    """Return of how many counts sums are."""
    return np.asarray(squares, np.float64)[..., 0]
