"""What a count may become and what it may come from, before any data."""

import numpy as np
from numpy.typing import NDArray

from ptable.table import PTable
from risk.distributions.band import Band
from risk.wellformed import require_between, require_whole

#: Whole numbers of keys keep a mean only with a key or two on noise that the design rules out,
#: such as 2**-32 of a 1 becoming a 4; sets leave out what comes less often than this.
NEGLIGIBLE = 1e-6


def deviation_set(table: PTable, count: int, *, floor: float = NEGLIGIBLE) -> NDArray[np.int64]:
    """List what an original count may be published as.

    Parameters
    ----------
    table
        The p-table.
    count
        The original count.
    floor
        The least probability that counts; 0 lists whatever a single key can bring about.

    Examples
    --------
    >>> from ptable import Mechanism
    >>> deviation_set(Mechanism.random_rounding(10).build(), 8)
    array([ 0, 10])
    """
    band = Band.of(table)
    number = require_whole(count, name="count")
    row = band.probabilities[band.rows([number])[0]]
    published: NDArray[np.int64] = number + band.lowest + np.flatnonzero(_counts(row, floor))
    return published


def possible_set(
    table: PTable, published: int, *, floor: float = NEGLIGIBLE
) -> NDArray[np.int64]:
    """List the original counts that may be published as a count; none where none is.

    Parameters
    ----------
    table
        The p-table.
    published
        The published count.
    floor
        The least P(published | original) that counts; 0 lists whatever a key can bring about.

    Examples
    --------
    >>> from ptable import Mechanism
    >>> possible_set(Mechanism.random_rounding(10).build(), 0)
    array([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    """
    number = require_whole(published, name="published")
    originals, chances = Band.of(table).windows(np.array([number]))
    possible: NDArray[np.int64] = originals[0, _counts(chances[0], floor)]
    return possible


def _counts(chances: NDArray[np.float64], floor: float) -> NDArray[np.bool_]:
    least = require_between(floor, name="floor", most=1.0)
    return (chances > 0) & (chances >= least)
