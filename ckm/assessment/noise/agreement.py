"""Does the drawn noise agree with its p-table? Bounds that hold for any number of cells.

Each of three tests calls sound noise unsound with a probability of at most a third of
`FAMILY`, so that all of them together do so at most once in a million releases. No bound
leans on a normal approximation: they hold for three cells as for three million.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ckm.assessment.noise.applied import Design
from ckm.assessment.observed import ObservedCells

#: The chance that any of the tests rejects noise that is what the p-table says.
FAMILY = 1e-6
#: The p-value below which shares are called unsound.
SHARE = FAMILY / 3
#: Fewest expected cells of a class of Pearson's test.
_EXPECTED = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SumTest:
    """A sum of independent terms with mean 0, in standard errors, and how large it may be.

    Parameters
    ----------
    z, allowed
        The sum over its standard error, and Bernstein's bound in the same unit.
    """

    z: float
    allowed: float

    @property
    def is_passed(self) -> bool:
        """Whether the sum is within its bound."""
        return abs(self.z) <= self.allowed


def mean_test(cells: ObservedCells, design: Design) -> SumTest | None:
    """Compare the sum of the noise with its expectation; None where no noise is free.

    Notes
    -----
    Bernstein's inequality for independent terms of mean 0 and size at most b, whose variances
    add up to V: ``P(|S| >= t) <= 2 exp(-t² / (2 V + 2 b t / 3))``.

    References
    ----------
    Boucheron, Lugosi and Massart (2013), Concentration inequalities, section 2.8.
    """
    rows = design.rows(cells.count)
    drift = float((cells.noise - design.mean[rows]).sum())
    size = np.maximum(design.most - design.mean, design.mean - design.least)
    return _bernstein(drift, design.variance, size, rows)


def variance_test(cells: ObservedCells, design: Design) -> SumTest | None:
    """Compare the sum of squared noise with its expectation; None where it is certain.

    The terms are ``(v - μ)² - σ²`` with the moments of each cell's row; their variance is the
    fourth central moment less σ⁴. The bound is that of `mean_test`.
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
    log = math.log(2 / SHARE)
    slope = largest * log / 3
    return SumTest(
        z=total / spread, allowed=(slope + math.sqrt(slope**2 + 2 * log * spread**2)) / spread
    )


def share_p_value(cells: ObservedCells, design: Design) -> float | None:
    """Bound the chance of shares of noise as far from the p-table; None without free noise.

    Notes
    -----
    The statistic adds up, over the rows, cells times the relative entropy of the drawn to
    the designed shares: half of the G statistic. For a row of k possible noises its moment
    generating function is at most that of a gamma law of shape k - 1, whatever the number of
    cells, so that rows with few cells need no pooling. With shape K over all rows,
    ``P(S >= x) <= exp(K - x) (x / K)^K`` for x above K. The same holds for each row by itself,
    which finds a single unsound row where the sum drowns it: the answer is twice the lesser of
    the bound for the sum and of the least bound of a row times the number of rows.

    References
    ----------
    Agrawal (2020), Finite-sample concentration of the multinomial in relative entropy, IEEE
    Transactions on Information Theory 66(10).
    """
    n_rows, width = design.probabilities.shape
    rows, column = design.rows(cells.count), cells.noise - design.lowest
    is_possible = (column >= 0) & (column < width)
    if not is_possible.all():
        return 0.0
    counts = np.bincount(rows * width + column, minlength=n_rows * width).reshape(n_rows, width)
    totals = counts.sum(axis=1, keepdims=True)
    p = design.probabilities
    if (counts[p == 0] > 0).any():
        return 0.0
    shapes = np.where(totals[:, 0] > 0, (p > 0).sum(axis=1) - 1, 0)
    some = counts > 0
    terms = np.zeros(counts.shape)
    terms[some] = counts[some] * np.log(counts[some] / (totals * p)[some])
    statistics = terms.sum(axis=1)
    free = np.flatnonzero(shapes)
    if not len(free):
        return None
    together = _gamma_bound(float(statistics[free].sum()), int(shapes.sum()))
    single = min(_gamma_bound(float(statistics[row]), int(shapes[row])) for row in free)
    return min(1.0, 2 * min(together, single * len(free)))


def share_fit(cells: ObservedCells, design: Design) -> dict[str, float]:
    """Test the shares of noise by Pearson's χ², for a reader; nothing where it does not apply.

    Beside χ² over all rows, its degrees of freedom and its plain p-value stand how many rows
    have classes enough, and the smallest p-value among them.

    Neighbouring noise values of a row share a class until five cells are expected in it. Rows
    without two such classes are left out. The expectation of χ² is then exactly the degrees of
    freedom; its p-value is that of a continuous law, and approximate.
    """
    from scipy.special import chdtrc

    tests = []
    rows, column = design.rows(cells.count), cells.noise - design.lowest
    n_columns = design.probabilities.shape[1]
    if ((column < 0) | (column >= n_columns)).any():
        return {}
    for row in np.unique(rows).tolist():
        counts = np.bincount(column[rows == row], minlength=n_columns)
        expected = design.probabilities[row] * counts.sum()
        ends = _class_ends(expected)
        if len(ends) > 1:
            starts = [0, *ends[:-1]]
            class_counts = np.add.reduceat(counts, starts).astype(float)
            expectations = np.add.reduceat(expected, starts)
            tests.append(
                (
                    float(((class_counts - expectations) ** 2 / expectations).sum()),
                    len(ends) - 1,
                )
            )
    if not tests:
        return {}
    statistic, degrees = (sum(column) for column in zip(*tests, strict=True))
    return {
        "chi2": statistic,
        "df": degrees,
        "p": float(chdtrc(degrees, statistic)),
        "rows": len(tests),
        "least": min(float(chdtrc(*test[::-1])) for test in tests),
    }


def _class_ends(expected: NDArray[np.float64]) -> list[int]:
    """Cut values into classes of enough expected cells; the last takes the rest."""
    ends, total = [], 0.0
    for place, number in enumerate(expected.tolist(), start=1):
        total += number
        if total >= _EXPECTED:
            ends.append(place)
            total = 0.0
    return [*ends[:-1], len(expected)] if ends else []


def _gamma_bound(statistic: float, shape: int) -> float:
    """Bound the chance that a gamma variable of this shape reaches a value."""
    if statistic <= shape:
        return 1.0
    return math.exp(shape - statistic + shape * math.log(statistic / shape))
