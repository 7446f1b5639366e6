"""Margins as steps: distribution functions of counted values, both ways."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footing.arrays import Floats
from footing.messages import Message, Shape
from synth.errors import SynthError


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Margin:
    """A distribution function that rises in steps.

    Parameters
    ----------
    values
        Where it rises, in rising order.
    cumulative
        How high it is there and up to the next; the last is 1.

    Examples
    --------
    >>> margin = Margin.of_counts([10, 20, 30], counts=[1, 0, 3])
    >>> margin.pit([5, 10, 25, 40]).tolist(), margin.inverse([0.2, 0.3]).tolist()
    ([0.0, 0.25, 0.25, 1.0], [10.0, 30.0])
    """

    values: Floats
    cumulative: Floats

    def __post_init__(self) -> None:
        if len(self.values) == 0 or len(self.values) != len(self.cumulative):
            raise SynthError(
                Message("A margin needs as many heights as values, and at least one.")
            )
        if not np.isfinite(self.values).all() or (np.diff(self.values) <= 0).any():
            raise SynthError(Message("The values of a margin must be finite and rise."))
        falls = (np.diff(self.cumulative) < 0).any()
        if falls or self.cumulative[0] < 0 or self.cumulative[-1] != 1:
            raise SynthError(
                Message("The heights of a margin must not fall, and must end at 1.")
            )

    @classmethod
    def of_counts(cls, values: ArrayLike, *, counts: ArrayLike) -> Margin:
        """Make the margin of counts, noisy ones too: what is below 0 counts as 0.

        Where no count is positive, all values are alike.

        Parameters
        ----------
        values
            In rising order.
        counts
            One per value.

        Examples
        --------
        >>> Margin.of_counts([1, 2], counts=[-3, -1]).cumulative.tolist()
        [0.5, 1.0]
        """
        heights = np.asarray(counts, dtype=np.float64).clip(min=0)
        if len(heights) and not heights.any():
            heights = np.ones(len(heights))
        total = heights.sum() if len(heights) else 1.0
        if not np.isfinite(total):
            raise SynthError(Message("The counts of a margin must be finite numbers."))
        cumulative = np.minimum(np.cumsum(heights) / total, 1.0)
        if len(cumulative):
            last = np.flatnonzero(heights)[-1]
            cumulative[last:] = 1.0  # the sum of shares may miss 1 by a rounding
        return cls(values=np.asarray(values, dtype=np.float64), cumulative=cumulative)

    @classmethod
    def empirical(cls, data: ArrayLike) -> Margin:
        """Make the margin of data: the share of records at or below each value.

        Parameters
        ----------
        data
            Numbers, none missing.

        Examples
        --------
        >>> Margin.empirical([3, 1, 2, 4]).cumulative.tolist()
        [0.25, 0.5, 0.75, 1.0]
        """
        numbers = np.asarray(data, dtype=np.float64).ravel()
        if not len(numbers) or not np.isfinite(numbers).all():
            raise SynthError(
                Message("A margin needs finite numbers, at least one, none missing.")
            )
        values, counts = np.unique(numbers, return_counts=True)
        return cls.of_counts(values, counts=counts)

    def pit(self, data: ArrayLike) -> Floats:
        """Return how high the margin is at the data.

        Parameters
        ----------
        data
            Numbers; below the smallest value the height is 0.

        Examples
        --------
        >>> Margin.empirical([1, 2]).pit([1, 1.5, 2]).tolist()
        [0.5, 0.5, 1.0]
        """
        return self._height(np.searchsorted(self.values, np.asarray(data), side="right"))

    def pit_before(self, data: ArrayLike) -> Floats:
        """Return how high the margin is just below the data.

        Parameters
        ----------
        data
            Numbers.

        Examples
        --------
        >>> Margin.empirical([1, 2]).pit_before([1, 1.5, 2]).tolist()
        [0.0, 0.5, 0.5]
        """
        return self._height(np.searchsorted(self.values, np.asarray(data), side="left"))

    def inverse(self, u: ArrayLike) -> Floats:
        """Return the smallest value at which the margin reaches a height.

        Parameters
        ----------
        u
            Heights in [0, 1].

        Examples
        --------
        >>> Margin.empirical([1, 2]).inverse([0, 0.5, 0.51, 1]).tolist()
        [1.0, 1.0, 2.0, 2.0]
        """
        heights = np.asarray(u, dtype=np.float64)
        if not ((heights >= 0) & (heights <= 1)).all():
            raise SynthError(Message("Heights must lie between 0 and 1, none missing."))
        # height 0 stands for the first value that can occur
        least = self.cumulative[self.cumulative > 0][0]
        places = np.searchsorted(self.cumulative, np.maximum(heights, least), side="left")
        return np.asarray(self.values[places])

    def _height(self, places: NDArray[np.intp]) -> Floats:
        return np.asarray(np.concatenate([[0.0], self.cumulative])[places])

    def __repr__(self) -> str:
        return f"Margin(n_values={len(self.values)})"


def pseudo_observations(data: ArrayLike, *, is_open: bool = False) -> Floats:
    """Replace every value by the share of its column at or below it.

    Parameters
    ----------
    data
        One row per record, numbers without missing ones.
    is_open
        Whether to divide by one more than the number of records, so that none is 1.

    Examples
    --------
    >>> pseudo_observations([[5, 1], [7, 1], [6, 3], [9, 2]]).tolist()
    [[0.25, 0.5], [0.75, 0.5], [0.5, 1.0], [1.0, 0.75]]
    """
    values = np.asarray(data, dtype=np.float64)
    if values.ndim != 2:
        raise SynthError(
            Message("Data must be a matrix, not of shape {shape}.", shape=Shape(values.shape))
        )
    shares = np.column_stack([Margin.empirical(one).pit(one) for one in values.T])
    return shares * len(values) / (len(values) + 1) if is_open else shares
