"""Whether the order of the cells survives."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from risk.utility.catalogue import Measure, defined, undefined

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from risk.utility.pairs import Pairs


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
    moved = np.count_nonzero(_deciles(before) != _deciles(after))
    changes = defined("decile_changes_pct", 100 * moved / n, base=n)
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
    if len(counts) and int(counts.max()) <= 4 * len(counts) + 1000:
        codes, numbers = counts, np.bincount(counts)
    else:
        _, codes, numbers = np.unique(counts, return_inverse=True, return_counts=True)
    last = np.cumsum(numbers)
    doubled: NDArray[np.int64] = (2 * last - numbers + 1)[codes]
    return doubled


def _deciles(doubled: NDArray[np.int64]) -> NDArray[np.int64]:
    return -(-10 * doubled // (2 * len(doubled)))
