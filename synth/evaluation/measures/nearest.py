"""Distances between records, and to the nearest of others."""

from collections.abc import Iterator
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from footing.arrays import Floats
from footing.messages import Message, Name
from synth.errors import EvaluationError
from synth.evaluation.records import Records

#: How far two records are: share of columns that differ; Euclid on scaled numbers, with 1 for
#: different categories; or the mean of scaled differences.
Metric: TypeAlias = Literal["hamming", "euclidean", "gower"]
_CELLS = 2**18  # distances at a time: as many as stay in the cache
_NOTHING = -1.7e308  # stands for missing where only equality counts
#: Farther than this is not farther; its square is still a number.
_FAR = 1e9


class Space:
    """Put records where distances can be taken: numbers in units of their range.

    Parameters
    ----------
    real
        Whose ranges are taken.
    metric
        The distance.
    """

    def __init__(self, real: Records, *, metric: Metric) -> None:
        if metric not in ("hamming", "euclidean", "gower"):
            raise EvaluationError(
                Message("There is no distance {metric!r}.", metric=Name(metric)),
                hint=Message("take 'hamming', 'euclidean' or 'gower'"),
            )
        self.metric = metric
        self.is_category = real.is_category
        there = np.isfinite(real.values)
        low = np.where(there, real.values, np.inf).min(axis=0)
        high = np.where(there, real.values, -np.inf).max(axis=0)
        span = np.where(high > low, high - low, 1.0)
        self.scale = np.where(self.is_category, 1.0, span)

    def place(self, records: Records) -> Floats:
        """Give the coordinates of records; missing stays NaN."""
        if self.metric == "hamming":
            return records.values
        return np.clip(records.values / self.scale, -_FAR, _FAR)

    def distances(self, first: Floats, second: Floats) -> Floats:
        """Give the distances between coordinates: one row per record of the first.

        Missing is as far from a value as values can be, and equal to missing.
        """
        if self.metric == "hamming":
            return _shares_apart(first, second)
        total: Floats = np.zeros((len(first), len(second)))
        for place in range(first.shape[1]):
            one, other = first[:, place, None], second[None, :, place]
            if self.is_category[place]:
                apart = (one != other).astype(np.float64)
            else:
                apart = np.abs(one - other)
                if self.metric == "euclidean":
                    apart *= apart
            lacks, has_not = np.isnan(one), np.isnan(other)
            if lacks.any() or has_not.any():
                apart[lacks | has_not] = 1.0
                apart[lacks & has_not] = 0.0
            total += apart
        if self.metric == "euclidean":
            np.sqrt(total, out=total)
            return total
        total /= max(first.shape[1], 1)
        return total

    def blocks(self, first: Records, second: Records) -> Iterator[tuple[slice, Floats]]:
        """Give the distances in blocks of rows of the first."""
        one, other = self.place(first), self.place(second)
        step = max(1, _CELLS // max(len(other), 1))
        for start in range(0, len(one), step):
            rows = slice(start, start + step)
            yield rows, self.distances(one[rows], other)


def _shares_apart(first: Floats, second: Floats) -> Floats:
    """Give the share of columns that differ."""
    one, other = (np.where(np.isnan(some), _NOTHING, some) for some in (first, second))
    number: NDArray[np.uint16] = np.zeros((len(one), len(other)), np.uint16)
    for place in range(one.shape[1]):
        number += one[:, place, None] != other[None, :, place]
    return np.asarray(number / max(one.shape[1], 1))


def pairwise(space: Space, first: Records, second: Records) -> Floats:
    """Give all distances between two sets of records."""
    return np.vstack([block for _, block in space.blocks(first, second)])


def nearest_two(space: Space, first: Records, second: Records) -> Floats:
    """Give the distances to the nearest and the second nearest record of another set."""
    distances = np.empty((len(first), 2))
    for rows, block in space.blocks(first, second):
        if block.shape[1] == 1:
            distances[rows] = block
        else:
            distances[rows] = np.sort(np.partition(block, 1, axis=1)[:, :2], axis=1)
    return distances
