"""P-tables for amounts, with what is sensible to begin with."""

from functools import cache

from ptable import NoiseSpec, PTable, solve

MAX_NOISE = 5
VARIANCE = 2.0
STEP = 2


@cache
def magnitude_ptable(
    *, max_noise: int = MAX_NOISE, variance: float = VARIANCE, step: int = STEP
) -> PTable:
    """Build the p-table of greatest entropy for amounts, with a row for each whole ratio.

    Parameters
    ----------
    max_noise
        The largest noise, in units; a unit is the share of the base that the scale gives.
    variance
        The variance of the noise in every row, at most `max_noise`.
    step
        How many steps make a unit.

    Notes
    -----
    Rows are anchored at 1, 2, ..., `max_noise`: row i serves totals of i units or more, and
    never subtracts more than i.

    Examples
    --------
    >>> magnitude_ptable()
    PTable(n_rows=6, max_noise=10, key_range=2**32, step=2)
    """
    return solve(amount_spec(max_noise=max_noise, variance=variance, step=step))


def amount_spec(
    *, max_noise: int = MAX_NOISE, variance: float = VARIANCE, step: int = STEP
) -> NoiseSpec:
    """Specify the p-table that `magnitude_ptable` builds."""
    return NoiseSpec(
        max_noise=max_noise,
        variance=variance,
        step=step,
        anchors=tuple(range(1, max_noise + 1)),
    )
