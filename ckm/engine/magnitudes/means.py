"""Means and ratios from published parts alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ckm.engine.magnitudes.errors import MagnitudeError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from footing.arrays import Floats


def published_ratio(published: ArrayLike, by: ArrayLike) -> NDArray[np.float64]:
    """Divide published numbers by published numbers: means, shares, rates.

    Parameters
    ----------
    published
        What is divided: published totals.
    by
        What it is divided by: published counts, weighted counts or totals, aligned.

    Returns
    -------
    numpy.ndarray
        The ratios; not a number where the divisor is published as 0: there is no ratio then,
        which is neither a missing nor a suppressed one.

    Notes
    -----
    A ratio of published numbers tells nothing beyond them. An original mean beside a published
    total would tell the original count to who divides, and the original total to who
    multiplies; so neither part may be an original one. The ratio is nearly unbiased where the
    divisor's noise is small beside it, and is not elsewhere.

    Examples
    --------
    >>> published_ratio([1200.0, 90.0, 5.0], [10, 3, 0]).tolist()
    [120.0, 30.0, nan]
    """
    above, below = np.asarray(published, np.float64), np.asarray(by, np.float64)
    if above.shape != below.shape:
        raise MagnitudeError(
            f"Both parts of a ratio must have the same shape, not {above.shape} and "
            f"{below.shape}."
        )
    found = np.full(above.shape, np.nan)
    np.divide(above, below, out=found, where=below != 0)
    return found


def mean_before_sum(published: ArrayLike, totals: ArrayLike) -> Floats:
    """Give the totals that cellKey publishes when asked for means before sums.

    ``P**2 / X``, and 0 for a total of 0: the relative noise counts twice. It is here to repeat
    past releases.
    """
    seen, total = np.asarray(published, np.float64), np.asarray(totals, np.float64)
    found = np.zeros_like(total)
    np.divide(seen * seen, total, out=found, where=total != 0)
    return found
