"""How far published counts lie from the original ones, and how their order changed."""

import math

import numpy as np
from numpy.typing import NDArray

from risk.utility.catalogue import Measure, defined, undefined
from risk.utility.pairs import Pairs

_NAMES = ("hellinger_raw", "hd_utility", "hellinger_probability", "euclid", "manhattan")


def distances(pairs: Pairs) -> tuple[Measure, ...]:
    """Measure Hellinger distances, raw and on shares, Euclid's and Manhattan's.

    Parameters
    ----------
    pairs
        The cells.

    Notes
    -----
    Two distances go by Hellinger's name and cannot be compared. ``hellinger_raw`` takes counts
    as they are (Shlomo, Antal and Elliot 2015; SDC Handbook, 2nd ed., 4.7); ``hd_utility``
    scales it to at most 1. ``hellinger_probability`` divides both sides by their sums first
    (INSEE's ckm). ``hd_utility`` may fall below 0 where the published sum
    is far above the original.

    Examples
    --------
    >>> from risk.utility import Pairs
    >>> found = distances(Pairs(original=[1, 2, 3, 4, 5, 6], published=[0, 3, 3, 3, 6, 6]))
    >>> {m.name: round(m.value, 4) for m in found[:3]}
    {'hellinger_raw': 0.7805, 'hd_utility': 0.8297, 'hellinger_probability': 0.1703}
    """
    n = pairs.n_cells
    if not n:
        return tuple(undefined(name, "there are no cells") for name in _NAMES)
    before, after = int(pairs.o.sum()), int(pairs.p.sum())
    raw = math.sqrt(float(np.square(pairs.root_gap).sum()) / 2)
    return (
        defined("hellinger_raw", raw, base=n),
        defined("hd_utility", 1 - raw / math.sqrt(before), base=n)
        if before
        else undefined("hd_utility", "the original counts add up to 0", base=n),
        _on_shares(pairs, before, after),
        defined("euclid", math.sqrt(float(np.square(pairs.noise, dtype=float).sum())), base=n),
        defined("manhattan", int(pairs.size.sum()), base=n),
    )


def _on_shares(pairs: Pairs, before: int, after: int) -> Measure:
    name, n = "hellinger_probability", pairs.n_cells
    for total, word in ((before, "original"), (after, "published")):
        if not total:
            return undefined(name, f"the {word} counts add up to 0", base=n)
    gap = np.sqrt(pairs.p / after) - np.sqrt(pairs.o / before)
    return defined(name, math.sqrt(float(np.square(gap).sum()) / 2), base=n)


def ranks(pairs: Pairs) -> tuple[Measure, ...]:
    """Measure Spearman's correlation and the share of cells that change decile.

    Parameters
    ----------
    pairs
        The cells.

    Notes
    -----
    Equal counts share their mean rank. The decile of a cell is ⌈10 r / n⌉ with r its mean
    rank, so that equal counts lie in one decile.

    Examples
    --------
    >>> from risk.utility import Pairs
    >>> [m.value for m in ranks(Pairs(original=[1, 2, 3], published=[2, 2, 5]))]
    [0.8660254037844387, 66.66666666666667]
    """
    n = pairs.n_cells
    if n < 2:
        reason = "an order takes at least two cells"
        names = ("spearman", "decile_changes_pct")
        return tuple(undefined(name, reason, base=n) for name in names)
    before, after = double_ranks(pairs.o), double_ranks(pairs.p)
    n_changes = np.count_nonzero(_deciles(before) != _deciles(after))
    changes = defined("decile_changes_pct", 100 * n_changes / n, base=n)
    for counts, word in ((pairs.o, "original"), (pairs.p, "published")):
        if not np.ptp(counts):
            reason = f"the {word} counts are all alike"
            return undefined("spearman", reason, base=n), changes
    x, y = (rank - (n + 1.0) for rank in (before, after))  # twice the mean of ranks
    # Sums instead of products of BLAS, which depend on the number of threads.
    rho = float((x * y).sum()) / math.sqrt(float(np.square(x).sum()) * np.square(y).sum())
    return defined("spearman", min(1.0, max(-1.0, rho)), base=n), changes


def double_ranks(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Give twice the mean rank of each count, a whole number."""
    if len(counts) and int(counts.max()) <= 4 * len(counts) + 1_000_000:
        codes, numbers = counts, np.bincount(counts)
    else:
        _, codes, numbers = np.unique(counts, return_inverse=True, return_counts=True)
    last = np.cumsum(numbers)
    doubled: NDArray[np.int64] = (2 * last - numbers + 1)[codes]
    return doubled


def _deciles(doubled: NDArray[np.int64]) -> NDArray[np.int64]:
    return -(-10 * doubled // (2 * len(doubled)))
