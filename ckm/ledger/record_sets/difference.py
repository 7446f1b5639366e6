"""How many records two sets differ by, told from the powers of their sketches."""

import numpy as np

from footing.arrays import Flags, Integers
from tables.cells.sketch import PRIME


def differ_by_at_most(threshold: int, first: Integers, second: Integers) -> Flags:
    """Tell which pairs of sets differ by at most a few records.

    Notes
    -----
    Let u run through what is in the first set alone, v through what is in the second alone.
    The differences of power sums fix the series F(z) = Π (1 - u z) / Π (1 - v z), since
    log F(z) = - Σ P_i z**i / i. With a factors above and b below, a + b = threshold, the
    series is a Padé fraction of type [a/b], so that the determinant of the (b + 1)**2
    coefficients c[a + 1 + row - column] is zero. One determinant for each b decides.

    References
    ----------
    Baker and Graves-Morris (1996), Padé Approximants, 2nd edition, section 1.4.
    """
    series = _series(threshold, (first - second) % PRIME)
    flags = np.zeros(len(first), bool)
    for below in range(threshold + 1):
        above = threshold - below
        square = [
            [above + 1 + row - column for column in range(below + 1)]
            for row in range(below + 1)
        ]
        flags |= _determinant(series, square) == 0
    return flags


def _series(threshold: int, power_sums: Integers) -> list[Integers]:
    """Return the coefficients c[0] to c[threshold + 1]: n c[n] = -Σ P_i c[n - i]."""
    series = [np.ones(len(power_sums), np.int64)]
    for n in range(1, threshold + 2):
        total = np.zeros(len(power_sums), np.int64)
        for i in range(1, n + 1):
            total = (total + power_sums[:, i - 1] * series[n - i]) % PRIME
        series.append((PRIME - total) * pow(n, -1, PRIME) % PRIME)
    return series


def _determinant(series: list[Integers], square: list[list[int]]) -> Integers:
    """Expand row by row over sets of columns; coefficients before the first are zero."""
    size = len(square)
    minors: dict[frozenset[int], Integers] = {frozenset(): np.ones_like(series[0])}
    for row in square:
        larger: dict[frozenset[int], Integers] = {}
        for used, minor in minors.items():
            for column in set(range(size)) - used:
                if row[column] < 0:
                    continue
                swaps = sum(other > column for other in used)
                term = minor * series[row[column]] % PRIME
                before = larger.get(used | {column}, 0)
                larger[used | {column}] = (before + (-term if swaps % 2 else term)) % PRIME
        minors = larger
    return minors.get(frozenset(range(size)), np.zeros_like(series[0]))
