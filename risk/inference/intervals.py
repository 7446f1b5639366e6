"""Intervals of the ratio or the difference of two counts, from published counts alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from footing.messages import Message
from risk.distributions.band import Band
from risk.errors import RiskError
from risk.wellformed import require_between, require_counts

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from ptable.table import PTable

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

Figure = Literal["ratio", "difference"]
_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class FigureIntervals:
    """Hold a figure of two counts, pair by pair, with its interval.

    Parameters
    ----------
    figure
        The figure of the published counts; not a number where there is none.
    lower, upper
        The ends, which belong to the interval; not a number where there is no figure.
    level
        How often, at least, intervals hold the figure of the original counts.

    Examples
    --------
    >>> from ptable import Mechanism
    >>> table = Mechanism.random_rounding(3).build()
    >>> found = count_intervals((table, table), [30], [60], figure="difference")
    >>> found.figure, found.lower, found.upper
    (array([-30.]), array([-34.]), array([-26.]))
    """

    figure: Floats
    lower: Floats
    upper: Floats
    level: float


def count_intervals(
    tables: tuple[PTable, PTable],
    first: ArrayLike,
    second: ArrayLike,
    *,
    figure: Figure = "ratio",
    level: float = 0.95,
    part: bool = False,
    independent: bool = True,
) -> FigureIntervals:
    """Find intervals that hold the ratio or the difference of two original counts.

    Parameters
    ----------
    tables
        The p-tables of the first and of the second counts.
    first, second
        Published counts, aligned.
    figure
        ``"ratio"``, first over second, or ``"difference"``, first less second.
    level
        How often, above 0 and below 1.
    part
        Whether the first cell is part of the second: its count is not larger.
    independent
        Whether the noises of cells with different records are independent, as with mixed keys
        and one p-table. False holds whatever their dependence is, with longer intervals.

    Notes
    -----
    The interval spans the figures of all pairs of originals (a, b) that a test at
    ``1 - level`` does not reject. With k = a / b for ratios and 1 for differences, the test
    rejects where ``P(|v - k w| >= |V - k W|) <= 1 - level``, with v and w the noises of the
    rows of a and b, and V and W what the published counts say they were. If dependence is not
    known, each noise has a test of its own, at half of that. So whatever the originals, their
    figure is held with at least the level, over the draw of the noise; not for each published
    pair. Two cells of the same records have the same published count and are held for certain.

    Examples
    --------
    >>> from ptable import NoiseSpec, solve
    >>> table = solve(NoiseSpec(max_noise=5, variance=3.0))
    >>> found = count_intervals((table, table), [50, 3], [100, 0])
    >>> found.figure, found.lower.round(3), found.upper.round(3)
    (array([0.5, nan]), array([0.462,   nan]), array([0.54,  nan]))
    """
    error = 1 - require_between(level, name="level", most=1.0)
    published_counts = [require_counts(n, name="published").ravel() for n in (first, second)]
    if len(published_counts[0]) != len(published_counts[1]) or figure not in {
        "ratio",
        "difference",
    }:
        raise RiskError(
            Message("count_intervals needs two aligned lists, and a ratio or a difference.")
        )
    pairs, back = np.unique(np.stack(published_counts), axis=1, return_inverse=True)
    sides = [_Side(Band.of(table), counts) for table, counts in zip(tables, pairs, strict=True)]
    ends = np.array(
        [
            _ends(sides[0], sides[1], n, error, is_ratio=figure == "ratio", part=part)
            if independent
            else _ends_of_each(sides, n, error, is_ratio=figure == "ratio", part=part)
            for n in range(pairs.shape[1])
        ]
    ).reshape(-1, 2)
    with np.errstate(all="ignore"):
        number = pairs[0] / pairs[1] if figure == "ratio" else pairs[0] - pairs[1]
    lines = np.column_stack([np.where(np.isfinite(number), number, np.nan), ends])
    lines[np.isnan(lines).any(axis=1)] = np.nan
    values, lower, upper = lines[back.ravel()].T
    return FigureIntervals(figure=values, lower=lower, upper=upper, level=level)


class _Side:
    """The originals of published counts, and the noise that each would have."""

    def __init__(self, band: Band, published: Integers) -> None:
        originals, chances = band.windows(published)
        if not chances.any(axis=1).all():
            raise RiskError(Message("This table never publishes some of the counts asked for."))
        self.noise = band.noise.astype(np.float64)
        self.originals, self.leads = originals, chances > 0
        self.laws = band.probabilities[band.rows(np.maximum(originals, 0))]
        self.drawn = published[:, np.newaxis] - originals

    def at(self, place: int) -> tuple[Integers, Integers, Floats]:
        """Return the originals of one published count, their noises and their laws."""
        places = self.leads[place]
        return (
            self.originals[place][places],
            self.drawn[place][places],
            self.laws[place][places],
        )


def _ends(
    one: _Side, other: _Side, place: int, error: float, *, is_ratio: bool, part: bool
) -> tuple[float, float]:
    """Test pairs of originals by the law of the noise of their figure."""
    (a, v, laws_a), (b, w, laws_b) = one.at(place), other.at(place)
    figure, pairs = _figures(a, b, is_ratio=is_ratio, part=part)
    if not len(figure):
        return np.nan, np.nan
    i, j = pairs
    slope = figure if is_ratio else np.ones(len(figure))
    off = np.abs(v[i] - slope * w[j])
    sizes = np.abs(one.noise[:, np.newaxis] - slope[:, np.newaxis, np.newaxis] * other.noise)
    chances = laws_a[i][:, :, np.newaxis] * laws_b[j][:, np.newaxis, :]
    tails = (chances * (sizes >= off[:, np.newaxis, np.newaxis] - _TOLERANCE)).sum(axis=(1, 2))
    return _span(figure[tails > error + _TOLERANCE])


def _ends_of_each(
    sides: list[_Side], place: int, error: float, *, is_ratio: bool, part: bool
) -> tuple[float, float]:
    """Test each original by itself, at half the error."""
    candidates = []
    for side in sides:
        originals, noises, distributions = side.at(place)
        tails = (distributions * (np.abs(side.noise) >= np.abs(noises)[:, np.newaxis])).sum(
            axis=1
        )
        candidates.append(originals[tails > error / 2 + _TOLERANCE])
    return _span(_figures(candidates[0], candidates[1], is_ratio=is_ratio, part=part)[0])


def _figures(
    a: Integers, b: Integers, *, is_ratio: bool, part: bool
) -> tuple[Floats, tuple[Integers, ...]]:
    """Return the figure of each pair of originals that has one, and the pairs."""
    has_one = ((b > 0) | (not is_ratio)) & ((a[:, np.newaxis] <= b) | (not part))
    pairs = np.nonzero(has_one)
    first, second = a[pairs[0]], b[pairs[1]]
    return (first / second if is_ratio else (first - second).astype(np.float64)), pairs


def _span(figures: Floats) -> tuple[float, float]:
    return (figures.min(), figures.max()) if len(figures) else (np.nan, np.nan)
