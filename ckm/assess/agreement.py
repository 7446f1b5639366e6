"""Does the drawn noise agree with its p-table? Bounds that hold for any number of cells.

Each of three tests calls sound noise unsound with a probability of at most a third of
`FAMILY`, so that all of them together do so at most once in a million releases. No bound
leans on a normal approximation: they hold for three cells as for three million.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ckm.assess.applied import Design
    from ckm.assess.observed import ObservedCells

__all__ = [
    "FAMILY",
    "SumTest",
    "mean_test",
    "share_limit",
    "share_p_value",
    "variance_test",
]

#: The chance that any of the tests rejects noise that is what the p-table says.
FAMILY = 1e-6
_SHARE = FAMILY / 3


@dataclass(frozen=True, slots=True, kw_only=True)
class SumTest:
    """A sum of independent terms with mean 0, in standard errors, and how large it may be.

    Parameters
    ----------
    z, allowed
        The sum over its standard error, and Bernstein's bound in the same unit.

    Examples
    --------
    >>> SumTest(z=-6.1, allowed=5.7).is_passed
    False
    """

    z: float
    allowed: float

    @property
    def is_passed(self) -> bool:
        """Whether the sum is within its bound."""
        return abs(self.z) <= self.allowed


def mean_test(cells: ObservedCells, design: Design) -> SumTest | None:
    """Compare the sum of the noise with its expectation; None where no noise is free.

    Parameters
    ----------
    cells
        Cells with independent noise.
    design
        The p-table.

    Notes
    -----
    Bernstein's inequality for independent terms of mean 0 and size at most b, whose variances
    add up to V: ``P(|S| >= t) <= 2 exp(-t² / (2 V + 2 b t / 3))``.

    References
    ----------
    Boucheron, Lugosi and Massart (2013), Concentration inequalities, section 2.8.

    Examples
    --------
    >>> from ckm.assess.applied import Design
    >>> from ckm.assess.observed import ObservedCells
    >>> from ptable import PTable
    >>> design = Design.of(PTable(noise=[[0], [-1, 1]], upper=[[8], [4, 8]], key_range=8))
    >>> cells = ObservedCells.of([4] * 100, noise=[-1, 1] * 50)
    >>> mean_test(cells, design).z
    0.0
    """
    rows = design.rows(cells.count)
    drift = float((cells.noise - design.mean[rows]).sum())
    size = np.maximum(design.most - design.mean, design.mean - design.least)
    return _bernstein(drift, design.variance, size, rows)


def variance_test(cells: ObservedCells, design: Design) -> SumTest | None:
    """Compare the sum of squared noise with its expectation; None where it is certain.

    Parameters
    ----------
    cells
        Cells with independent noise.
    design
        The p-table.

    Notes
    -----
    The terms are ``(v - μ)² - σ²`` with the moments of each cell's row; their variance is the
    fourth central moment less σ⁴. The bound is that of `mean_test`.

    Examples
    --------
    >>> from ckm.assess.applied import Design
    >>> from ckm.assess.observed import ObservedCells
    >>> from ptable import PTable
    >>> design = Design.of(PTable(noise=[[0], [-1, 1]], upper=[[8], [4, 8]], key_range=8))
    >>> cells = ObservedCells.of([4] * 100, noise=[-1, 1] * 50)
    >>> variance_test(cells, design) is None  # the square of this noise is always 1
    True
    """
    rows = design.rows(cells.count)
    excess = float(((cells.noise - design.mean[rows]) ** 2 - design.variance[rows]).sum())
    spread = np.maximum(design.fourth - design.variance**2, 0.0)
    spread[spread < 1e-12 * design.fourth] = 0.0
    away = np.maximum(design.most - design.mean, design.mean - design.least)
    size = np.maximum(away**2 - design.variance, design.variance)
    return _bernstein(excess, spread, size, rows)


def _bernstein(
    total: float,
    variance: NDArray[np.float64],
    size: NDArray[np.float64],
    rows: NDArray[np.int64],
) -> SumTest | None:
    cells = np.bincount(rows, minlength=len(variance))
    spread = math.sqrt(float(cells @ variance))
    if not spread:
        return None
    largest = float(size[(cells > 0) & (variance > 0)].max())
    log = math.log(2 / _SHARE)
    slope = largest * log / 3
    return SumTest(
        z=total / spread, allowed=(slope + math.sqrt(slope**2 + 2 * log * spread**2)) / spread
    )


def share_p_value(cells: ObservedCells, design: Design) -> float | None:
    """Bound the chance of shares of noise as far from the p-table; None without free noise.

    Parameters
    ----------
    cells
        Cells with independent noise.
    design
        The p-table.

    Notes
    -----
    The statistic adds up, over the rows, cells times the relative entropy of the drawn to
    the designed shares: half of the G statistic. For a row of k possible noises its moment
    generating function is at most that of a gamma law of shape k - 1, whatever the number of
    cells, so that rows with few cells need no pooling. With shape K over all rows,
    ``P(S >= x) <= exp(K - x) (x / K)^K`` for x above K.

    References
    ----------
    Agrawal (2020), Finite-sample concentration of the multinomial in relative entropy, IEEE
    Transactions on Information Theory 66(10).

    Examples
    --------
    >>> from ckm.assess.applied import Design
    >>> from ckm.assess.observed import ObservedCells
    >>> from ptable import PTable
    >>> design = Design.of(PTable(noise=[[0], [-1, 1]], upper=[[8], [4, 8]], key_range=8))
    >>> cells = ObservedCells.of([4] * 100, noise=[-1, 1] * 50)
    >>> share_p_value(cells, design)
    1.0
    >>> share_p_value(ObservedCells.of([4] * 100, noise=[1] * 100), design) < 1e-27
    True
    """
    n_rows, width = design.probabilities.shape
    rows, column = design.rows(cells.count), cells.noise - design.lowest
    is_possible = (column >= 0) & (column < width)
    if not is_possible.all():
        return 0.0
    seen = np.bincount(rows * width + column, minlength=n_rows * width).reshape(n_rows, width)
    totals = seen.sum(axis=1, keepdims=True)
    p = design.probabilities
    if (seen[p == 0] > 0).any():
        return 0.0
    shape = int(((p > 0).sum(axis=1) - 1)[totals[:, 0] > 0].sum())
    if not shape:
        return None
    some = seen > 0
    expected = (totals * p)[some]
    statistic = float((seen[some] * np.log(seen[some] / expected)).sum())
    if statistic <= shape:
        return 1.0
    return math.exp(shape - statistic + shape * math.log(statistic / shape))


def share_limit() -> float:
    """Give the p-value below which shares are called unsound.

    Examples
    --------
    >>> share_limit() < FAMILY
    True
    """
    return _SHARE
