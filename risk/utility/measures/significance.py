"""Whether the noise that is seen agrees with what was promised."""

import math
from bisect import bisect_left

import numpy as np
from numpy.typing import NDArray

from ptable import PTable
from risk.distributions.band import Band
from risk.utility.catalogue import Measure, defined, undefined
from risk.utility.measures.distances import double_ranks
from risk.utility.pairs import Pairs

_EXACT = 50
#: Whole numbers of keys seldom allow exact symmetry.
_ASYMMETRY = 1e-8


def significance(pairs: Pairs, *, ptable: PTable | None = None) -> tuple[Measure, ...]:
    """Test the number of changed cells, and the location of the noise.

    Parameters
    ----------
    pairs
        The cells.
    ptable
        The p-table that made the noise; the binomial tests need it.

    Notes
    -----
    Both tests take the noises of different cells for independent: leave out totals that have
    but one part, as these repeat its noise. Wilcoxon's test asks for symmetry about 0, which
    the noise of counts below the largest noise does not have: with a p-table, cells of rows
    that are not symmetric are left out. For the mean of noise look at `bias`.

    Examples
    --------
    >>> from risk.utility import Pairs
    >>> found = significance(Pairs(original=[9, 8, 7, 6], published=[10, 10, 8, 6]))
    >>> {m.name: m.value for m in found[1:]}
    {'wilcoxon_w': 6.0, 'wilcoxon_p_value': 0.25}
    """
    name = "changed_p_value"
    if ptable is None:
        test = undefined(name, "no p-table was given", base=pairs.n_cells)
    elif not pairs.n_cells:
        test = undefined(name, "there are no cells")
    else:
        p_values = _by_row(pairs, ptable)
        test = defined(name, min(1.0, len(p_values) * min(p_values)), base=pairs.n_cells)
    if ptable is None or not np.any(pairs.noise):
        return (test, *_wilcoxon(pairs.noise))
    even = _symmetric(pairs, ptable)
    reason = "no cell that was changed has noise symmetric about 0"
    return (test, *_wilcoxon(even, reason=reason))


def _by_row(pairs: Pairs, ptable: PTable) -> list[float]:
    """Test the number of changed cells of each row of a p-table that serves any."""
    band = Band.of(ptable)
    rows, p_stay = band.rows(pairs.o), band.p_stay
    cells = np.bincount(rows, minlength=ptable.n_rows)
    changes = np.bincount(rows[pairs.noise != 0], minlength=ptable.n_rows)
    return [
        _binomial_p_value(int(changes[row]), int(cells[row]), 1 - float(p_stay[row]))
        for row in np.flatnonzero(cells)
    ]


def _binomial_p_value(x: int, n: int, p: float) -> float:
    """Sum the chances of all numbers out of `n` that are no more likely than `x`.

    As `scipy.stats.binomtest`, whose package takes longer to import than a release takes.
    """
    from scipy.special import betainc, betaincc, gammaln, xlog1py, xlogy

    def is_rare(k: int) -> bool:
        return relative(k) <= limit

    def relative(k: int) -> float:
        ways = gammaln(k + 1) + gammaln(n - k + 1)
        return float(xlogy(k, p) + xlog1py(n - k, -p) - ways)

    limit = relative(x) + math.log1p(1e-7)
    if x < p * n:
        low, high = x, bisect_left(range(n + 1), 1, math.ceil(p * n), key=is_rare)
    elif x > p * n:
        others = range(math.floor(p * n), -1, -1)
        low, high = others.start - bisect_left(others, 1, key=is_rare), x
    else:
        return 1.0
    below = 0.0 if low < 0 else betaincc(low + 1, n - low, p)
    above = 0.0 if high > n else betainc(high, n - high + 1, p)
    return min(1.0, float(below + above))


def _symmetric(pairs: Pairs, ptable: PTable) -> NDArray[np.int64]:
    """Keep the noise of the cells whose row is symmetric about 0."""
    least = _ASYMMETRY * ptable.key_range
    distributions = [ptable.units(row) for row in range(ptable.n_rows)]
    is_even = [
        all(abs(n - distribution.get(-v, 0)) <= least for v, n in distribution.items())
        for distribution in distributions
    ]
    is_kept = np.array(is_even, bool)[Band.of(ptable).rows(pairs.o)]
    return np.asarray(pairs.noise[is_kept], np.int64)


def _wilcoxon(
    noise: NDArray[np.int64], *, reason: str = "no cell was changed"
) -> tuple[Measure, Measure]:
    names = ("wilcoxon_w", "wilcoxon_p_value")
    noise = noise[noise != 0]
    n = len(noise)
    if not n:
        return undefined(names[0], reason), undefined(names[1], reason)
    doubled = double_ranks(np.abs(noise))
    twice_w, twice_total = int(doubled[noise > 0].sum()), n * (n + 1)
    if n <= _EXACT:
        p_value = _exact(doubled, min(twice_w, twice_total - twice_w))
    else:
        # Var W = Σ r² / 4, which is the usual formula with its correction for ties.
        spread = math.sqrt(float(np.square(doubled, dtype=float).sum()) / 4)
        z = (twice_w - twice_total / 2) / spread
        p_value = math.erfc(abs(z) / math.sqrt(2))
    return defined(names[0], twice_w / 2, base=n), defined(names[1], p_value, base=n)


def _exact(doubled: NDArray[np.int64], smaller: int) -> float:
    """Count the ways to give signs to ranks, in whole numbers."""
    ways = [1]
    for rank in doubled.tolist():
        longer = ways + [0] * rank
        for total, number in enumerate(ways):
            longer[total + rank] += number
        ways = longer
    p_value: float = 2 * sum(ways[: smaller + 1]) / 2 ** len(doubled)
    return min(1.0, p_value)
