"""How far a percentage of two published counts may lie from the true one."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from ptable.lookup import cycle_length
from risk.errors import RiskError
from risk.utility.noise import row_moments

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ptable import PTable

__all__ = ["RatioPrecision", "noise_law", "ratio_precision"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioPrecision:
    """How far ``100 A'/B'`` may lie from ``100 A/B``, in points of percent.

    Parameters
    ----------
    ratio
        ``100 A/B``, in percent.
    bounds
        Bounds of the error, in points.
    p_off
        Per bound the probability that the error is at least as large, given B' > 0; None
        where B' is always 0, and `p_undefined` 1.
    p_undefined
        The probability that B' is 0, so that there is no ratio.

    Examples
    --------
    >>> from ptable import PTable
    >>> table = PTable(noise=[[0], [-1, 1]], upper=[[8], [4, 8]], key_range=8)
    >>> ratio_precision(1, 2, ptable=table, bounds=[50]).p_off
    (0.75,)
    """

    ratio: float
    bounds: tuple[float, ...]
    p_off: tuple[float | None, ...]
    p_undefined: float


def ratio_precision(
    numerator: int,
    denominator: int,
    *,
    ptable: PTable,
    bounds: Sequence[float] = (0, 1, 5, 10, 20),
) -> RatioPrecision:
    """Compute how likely a percentage is off by a bound or more.

    Parameters
    ----------
    numerator, denominator
        The original counts A and B; B above 0.
    ptable
        The p-table that makes the noise.
    bounds
        Bounds of the error, in points of percent.

    Notes
    -----
    Both noises are independent and follow the rows of A and B. INSEE's ckm computes the same
    and counts errors equal to the bound, hence 1 at bound 0. Comparisons and sums are exact.

    Examples
    --------
    >>> from ptable import NoiseSpec, solve
    >>> table = solve(NoiseSpec(max_noise=2, variance=1.0))
    >>> [round(p, 3) for p in ratio_precision(20, 100, ptable=table).p_off]
    [1.0, 0.466, 0.0, 0.0, 0.0]
    """
    limits = [Fraction(bound) for bound in bounds]
    if numerator < 0 or denominator < 1 or any(limit < 0 for limit in limits):
        raise RiskError(
            "A ratio takes a numerator of at least 0, a denominator of at least 1 and bounds "
            f"of at least 0, not {numerator}, {denominator} and {list(bounds)}."
        )
    off = [0] * len(limits)
    lost = total = 0
    for v, n in noise_law(ptable, numerator).items():
        for w, m in noise_law(ptable, denominator).items():
            a, b = numerator + v, denominator + w
            total += n * m
            if b <= 0:
                lost += n * m
                continue
            error = abs(Fraction(100 * a, b) - Fraction(100 * numerator, denominator))
            for place, limit in enumerate(limits):
                off[place] += n * m * (error >= limit)
    kept = total - lost
    return RatioPrecision(
        ratio=100 * numerator / denominator,
        bounds=tuple(map(float, bounds)),
        p_off=tuple(float(Fraction(n, kept)) if kept else None for n in off),
        p_undefined=float(Fraction(lost, total)),
    )


def noise_law(ptable: PTable, count: int) -> Mapping[int, int]:
    """Give the number of keys per noise of any count, however large.

    Parameters
    ----------
    ptable
        The p-table.
    count
        The original count.

    Examples
    --------
    >>> from ptable import PTable
    >>> table = PTable(noise=[[0], [-1, 1]], upper=[[8], [4, 8]], key_range=8)
    >>> noise_law(table, 700)
    {-1: 4, 1: 4}
    """
    if ptable.step != 1 or ptable.anchors is not None:
        row_moments(ptable)  # refuses tables for magnitudes
    n_rows = ptable.n_rows
    cycle = cycle_length(ptable.large_counts, n_rows=n_rows)
    row = count if count < n_rows else n_rows - cycle + (count - n_rows) % cycle
    return ptable.units(row)
