"""A map of where people are: shares with intervals, and cells too uncertain withheld."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np

from footing.arrays import Flags, Floats
from footing.checks import require_number
from footing.messages import Argument, Message
from rappor.counts import Counts
from rappor.errors import MismatchError, RapporError
from rappor.location.areas import Areas


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LevelMap:
    """The cells of one level.

    Parameters
    ----------
    shares
        Unbiased estimates of the share of people in each cell; some may be negative.
    errors
        Their standard errors.
    low, high
        Intervals that hold the share with the confidence asked for, one cell at a time.
    is_shown
        Whether a cell was found with certainty enough to publish it; the others are withheld.

    Examples
    --------
    >>> from rappor import Counts
    >>> from rappor.location.areas import Areas
    >>> from rappor import Parameters
    >>> coin = Parameters.basic(2, f=0.5, p=0.25, q=0.75)
    >>> day = Counts(n=[10_000], ones=[[6_250, 3_750]], parameters=coin)
    >>> (level,) = population_map([(day,)], areas=Areas(parents=[], n_coarsest=2))
    >>> level.shares.round(3).tolist(), level.is_shown.tolist()
    ([1.0, 0.0], [True, False])
    """

    shares: Floats
    errors: Floats
    low: Floats
    high: Floats
    is_shown: Flags


def population_map(
    periods: Sequence[Sequence[Counts]],
    *,
    areas: Areas,
    alpha: float = 0.05,
    confidence: float = 0.95,
) -> tuple[LevelMap, ...]:
    """Estimate where people are from the counts of one period or more.

    A fine cell is shown only when the cell around it is, so that whoever reads the map goes
    from coarse to fine as far as the reports carry.

    Parameters
    ----------
    periods
        For each period, the counts of each level, from the same people.
    areas
        The cells.
    alpha
        Chance that a level shows one empty cell or more (Bonferroni, one-sided).
    confidence
        Of the intervals.

    Raises
    ------
    RapporError
        If there is no period or no report, or alpha or confidence is out of range.
    MismatchError
        If the counts do not fit the areas or each other.

    Notes
    -----
    A share is ``(c/N - p*) / (q* - p*)``, also where nobody is. Its error is that of
    `rate_errors`.

    Examples
    --------
    >>> from rappor import Counts
    >>> from rappor.location.areas import Areas
    >>> from rappor import Parameters
    >>> coin = Parameters.basic(1, f=0.5, p=0.25, q=0.75)
    >>> day = Counts(n=[10_000], ones=[[6_250]], parameters=coin)
    >>> (level,) = population_map([(day,)], areas=Areas(parents=[], n_coarsest=1))
    >>> bool(level.low[0] < 1 < level.high[0])
    True
    """
    from scipy.special import ndtri

    for name, value in (("alpha", alpha), ("confidence", confidence)):
        require_number(value, name, error=RapporError, above=0, below=1)
    if not periods or any(len(counts) != areas.n_levels for counts in periods):
        raise MismatchError(
            Message("Each period needs counts of {n_levels} levels.", n_levels=areas.n_levels)
        )
    width = float(ndtri((1 + confidence) / 2))
    levels: list[LevelMap] = []
    for level in range(areas.n_levels):
        counts = reduce(add, (period[level] for period in periods))
        if counts.total == 0:
            raise RapporError(Message("There is no report to make a map of."))
        parameters = counts.parameters
        if parameters.hash != "index" or parameters.n_bits != areas.n_cells(level):
            raise MismatchError(
                Message(
                    "Level {level} has {n_cells} cells, and its reports have {n_bits} bits.",
                    level=level,
                    n_cells=areas.n_cells(level),
                    n_bits=parameters.n_bits,
                )
            )
        rates = counts.ones[0] / counts.total
        lift = parameters.q_star - parameters.p_star
        shares = (rates - parameters.p_star) / lift
        errors = rate_errors(counts, n_periods=len(periods)) / abs(lift)
        mask = shares > float(ndtri(1 - alpha / shares.size)) * errors
        if level:
            mask &= levels[-1].is_shown[areas.parents[level - 1]]
        half = width * errors
        levels.append(
            LevelMap(
                shares=shares,
                errors=errors,
                low=shares - half,
                high=shares + half,
                is_shown=mask,
            )
        )
    return tuple(levels)


def rate_errors(counts: Counts, *, n_periods: int) -> Floats:
    """Give the standard errors of the rates of ones in counts of several periods.

    The same people answer in every period with the same permanent responses, so that only
    the instantaneous noise averages out.

    With ``b = (r - p) / (q - p)``, the share of permanent ones behind a rate r, and T
    periods, the variance of one person's mean is at most
    ``(q - p)² b (1 - b) + (b q (1 - q) + (1 - b) p (1 - p)) / T``: that of a person who never
    moves. It is exact for T = 1.
    """
    if n_periods < 1:
        raise RapporError(
            Message(
                "There must be at least one period, not {n_periods}.",
                n_periods=Argument(n_periods),
            )
        )
    p, q = counts.parameters.p, counts.parameters.q
    half = counts.parameters.f / 2
    rates = counts.ones.sum(axis=0) / counts.total
    parents = np.clip((rates - p) / (q - p), half, 1 - half)
    between = (q - p) ** 2 * parents * (1 - parents)
    within = parents * q * (1 - q) + (1 - parents) * p * (1 - p)
    people = counts.total / n_periods
    floor = 1 / people**2  # no rate is known without error
    variance = np.maximum((between + within / n_periods) / people, floor)
    return np.asarray(np.sqrt(variance), np.float64)


def finest_shares(levels: Sequence[LevelMap], *, areas: Areas) -> Floats:
    """Spread what the map shows over the finest cells: shares that sum to 1.

    What a shown cell holds beyond its own shown cells is spread evenly over the withheld ones
    within it; what no shown cell holds, over the whole map.

    Parameters
    ----------
    levels
        From `population_map`.
    areas
        The cells.

    Examples
    --------
    >>> from rappor import Counts
    >>> from rappor.location.areas import Areas
    >>> from rappor import Parameters
    >>> coin = Parameters.basic(2, f=0.5, p=0.25, q=0.75)
    >>> day = Counts(n=[10_000], ones=[[6_250, 3_750]], parameters=coin)
    >>> regions = Areas(parents=[], n_coarsest=2)
    >>> finest_shares(population_map([(day,)], areas=regions), areas=regions).tolist()
    [1.0, 0.0]
    """
    mask = levels[0].is_shown
    masses = _filled(np.where(mask, np.clip(levels[0].shares, 0, None), 0.0), ~mask, 1.0)
    for level, parent in enumerate(areas.parents, start=1):
        here = levels[level]
        below = np.empty(parent.size)
        for cell, mass in enumerate(masses):
            inside = np.flatnonzero(parent == cell)
            if inside.size:
                parts = np.where(here.is_shown[inside], here.shares[inside], 0.0)
                below[inside] = _filled(parts, ~here.is_shown[inside], float(mass))
        masses = below
    total = math.fsum(masses)
    return masses / total if total else np.full(masses.size, 1 / masses.size)


def _filled(parts: Floats, is_open: Flags, mass: float) -> Floats:
    """Make parts sum to a mass: the open ones take what is left, or all shrink."""
    total = float(parts.sum())
    if total > mass or not is_open.any():
        even = np.full(parts.size, mass / parts.size)
        return parts * (mass / total) if total else even
    return np.asarray(parts + is_open * ((mass - total) / is_open.sum()), np.float64)
