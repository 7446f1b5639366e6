"""How much counts vary, within a table and between groups."""

import numpy as np
from numpy.typing import NDArray

from risk.errors import RiskError
from risk.utility.catalogue import Measure, defined, undefined
from risk.utility.pairs import Pairs


def variation(pairs: Pairs) -> tuple[Measure, ...]:
    """Compare the variance of the counts of a table, a row or a column.

    Parameters
    ----------
    pairs
        The cells of the table, the row or the column.

    Notes
    -----
    The ratio of variances follows Shlomo and Young (2005) as the SDC Handbook (2nd ed., 5.8)
    tells it in words.

    Examples
    --------
    >>> from risk.utility import Pairs
    >>> [m.value for m in variation(Pairs(original=[1, 3], published=[0, 4]))]
    [2.0, 8.0, 300.0]
    """
    names, n = ("variance_original", "variance_published", "rv_pct"), pairs.n_cells
    if n < 2:
        reason = "a variance takes at least two cells"
        return tuple(undefined(name, reason, base=n) for name in names)
    before, after = (float(np.var(counts, ddof=1)) for counts in (pairs.o, pairs.p))
    found = [defined(names[0], before, base=n), defined(names[1], after, base=n)]
    if not np.ptp(pairs.o):
        return (*found, undefined(names[2], "the original counts are all alike", base=n))
    return (*found, defined(names[2], 100 * (after - before) / before, base=n))


def between_groups(target: Pairs, *, total: Pairs) -> tuple[Measure, ...]:
    """Compare how much the share of a target varies between groups, such as areas.

    Parameters
    ----------
    target
        How many persons of each group have the characteristic.
    total
        How many persons each group has, in the same order.

    Notes
    -----
    With P_k = target / total and n_k the total of group k, N their sum and P the share over
    all groups: between variance BV = Σ n_k (P_k - P)² / (K - 1), and R² divides the same sum
    by N P (1 - P), the total sum of squares of a characteristic one has or has not. Shares
    of published data divide published targets by published totals. Groups of total 0 have no
    share and are left out, on each side by its own totals.

    Examples
    --------
    >>> from risk.utility import Pairs
    >>> found = between_groups(
    ...     Pairs(original=[2, 8], published=[3, 7]),
    ...     total=Pairs(original=[10, 10], published=[10, 10]),
    ... )
    >>> [round(m.value, 4) for m in found]
    [1.8, 0.8, -55.5556, 0.36, 0.16]
    """
    if target.n_cells != total.n_cells:
        raise RiskError(
            "target and total must have the same groups, "
            f"not {target.n_cells} and {total.n_cells} of them."
        )
    if np.any(target.o > total.o):
        raise RiskError(
            "An original target must not exceed its total.",
            hint="give both in the same order of groups",
        )
    before = _between(target.o, total.o, "original")
    after = _between(target.p, total.p, "published")
    name, change = "bvr_pct", (before[0].value, after[0].value)
    base = min(before[0].base, after[0].base)
    if change[0] is None or change[1] is None:
        ratio = undefined(name, before[0].reason or after[0].reason, base=base)
    elif not change[0]:
        ratio = undefined(name, "the original shares are all alike", base=base)
    else:
        ratio = defined(name, 100 * (change[1] - change[0]) / change[0], base=base)
    return (before[0], after[0], ratio, before[1], after[1])


def _between(
    target: NDArray[np.int64], total: NDArray[np.int64], word: str
) -> tuple[Measure, Measure]:
    names = f"between_{word}", f"r2_{word}"
    kept = total > 0
    n = int(np.count_nonzero(kept))
    if n < 2:
        reason = "fewer than two groups have an original total above 0"
        if word == "published":
            reason = "fewer than two groups have a published total above 0"
        return undefined(names[0], reason, base=n), undefined(names[1], reason, base=n)
    target, total = target[kept], total[kept]
    persons = int(total.sum())
    share = int(target.sum()) / persons
    alike = bool(np.all(target * persons == int(target.sum()) * total))
    spread = 0.0 if alike else float((total * (target / total - share) ** 2).sum())
    variance = defined(names[0], spread / (n - 1), base=n)
    if not 0 < share < 1:
        reason = "the share over all groups does not lie between 0 and 1"
        return variance, undefined(names[1], reason, base=n)
    return variance, defined(names[1], spread / (persons * share * (1 - share)), base=n)
