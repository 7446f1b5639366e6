"""How much the counts of a table vary."""

import numpy as np

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
    measures = [defined(names[0], before, base=n), defined(names[1], after, base=n)]
    if not np.ptp(pairs.o):
        return (*measures, undefined(names[2], "the original counts are all alike", base=n))
    return (*measures, defined(names[2], 100 * (after - before) / before, base=n))
