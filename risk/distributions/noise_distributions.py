"""The law of published counts, of their sums and of their differences, given the originals."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from footing.messages import Argument, Message
from ptable import PTable
from ptable.lookup import cycle_length, serving_row
from risk.distributions.band import Band
from risk.distributions.distribution import Law
from risk.errors import RiskError
from risk.wellformed import require_counts, require_plain, require_whole


def published_law(table: PTable, count: int) -> Law:
    """Give the law of what one original count is published as.

    Parameters
    ----------
    table
        The p-table.
    count
        The original count; ``.shifted(-count)`` is the law of its noise.

    Examples
    --------
    >>> from ptable import Mechanism
    >>> published_law(Mechanism.random_rounding(3).build(), 7).support
    array([6, 9])
    """
    return sum_law(table, [require_whole(count, name="count")])


def sum_law(table: PTable, counts: ArrayLike) -> Law:
    """Give the law of the sum of the published counts of different cells.

    Parameters
    ----------
    table
        The p-table.
    counts
        The original counts of the cells.

    Notes
    -----
    Cells that differ in their records have independent keys, as the keyed mix makes them, so
    the law is the convolution of their laws. Sums of keys that are not mixed are independent
    too, unless one cell is the sum of others in the same table.

    Examples
    --------
    >>> from ptable import Mechanism
    >>> law = sum_law(Mechanism.random_rounding(3).build(), [1, 2, 2, 4])
    >>> round(law.mean, 4), round(law.variance, 4)
    (9.0, 8.0)
    """
    numbers = require_counts(counts, name="counts").ravel()
    band = Band.of(table)
    rows, cells = np.unique(band.rows(numbers), return_counts=True)
    total = sum(numbers.tolist())
    distribution = Law.certain(total)
    for row, n_cells in zip(rows.tolist(), cells.tolist(), strict=True):
        noise = Law(lowest=band.lowest, probabilities=band.probabilities[row])
        distribution = distribution.plus(noise.repeated(n_cells))
    return distribution


def difference_law(table: PTable, originals: Sequence[int], *, nested: bool = False) -> Law:
    """Give the law of a published count less the published counts of other cells.

    Parameters
    ----------
    table
        The p-table.
    originals
        The original counts, two or more; all but the first are subtracted.
    nested
        Whether the first cell holds all records of the others, which share none. One with the
        count of the first is then the same cell.

    Notes
    -----
    One cell has one key: where nothing lies between two nested cells, their published counts
    are equal for certain. A sliver of a single record changes the key, and the noises are
    independent. So any difference other than 0 proves that the sliver is not empty, and more
    noise proves it more often: noise does not protect a sliver, only the ledger of what was
    published does. Several cells inside a larger one never have its key alone, so that their
    sum differs from it even where nothing lies between.

    Examples
    --------
    >>> from ptable import Mechanism
    >>> table = Mechanism.random_rounding(3).build()
    >>> difference_law(table, (8, 8), nested=True).support
    array([0])
    >>> difference_law(table, (8, 7), nested=True).at([-3, 0, 3]).round(4)
    array([0.1111, 0.4444, 0.4444])
    >>> difference_law(table, (8, 4, 4), nested=True).support
    array([-6, -3,  0,  3])
    """
    counts = require_counts(originals, name="originals")
    if counts.ndim != 1 or len(counts) < 2:
        raise RiskError(
            Message(
                "A difference needs a list of two counts or more, not {size}.",
                size=Argument(counts.size),
            )
        )
    whole, *parts = (require_whole(count, name="originals") for count in originals)
    if nested and sum(parts) > whole:
        raise RiskError(
            Message("The first cell must hold the others, but its count is below their sum."),
            hint=Message("put the larger cell first"),
        )
    if nested and whole in parts:
        parts.remove(whole)
        return Law.certain(0).minus(sum_law(table, parts))
    return published_law(table, whole).minus(sum_law(table, parts))


def noise_law(ptable: PTable, *, count: int | None = None) -> Law:
    """Give the law of the noise on a count."""
    if count is not None and require_whole(count, name="count") == 0:
        return Law.certain(0)
    units = ptable.units(row_of(ptable, count=count))
    lowest = min(units)
    probabilities = np.zeros(max(units) - lowest + 1)
    for noise, n_keys in units.items():
        probabilities[noise - lowest] = n_keys / ptable.key_range
    return Law(lowest=lowest, probabilities=probabilities)


def row_of(ptable: PTable, *, count: int | None = None) -> int:
    """Find the row of a p-table that serves a count."""
    require_plain(ptable)
    cycle = cycle_length(ptable.large_counts, n_rows=ptable.n_rows)
    if count is None:
        if cycle > 1:
            raise RiskError(
                Message(
                    "Large counts take {cycle} rows of this p-table in turn; the counts must "
                    "be given.",
                    cycle=cycle,
                ),
                hint=Message("pass the counts that are attacked"),
            )
        return ptable.n_rows - 1
    return serving_row(require_whole(count, name="count"), n_rows=ptable.n_rows, cycle=cycle)


def p_mean_rounds_to_zero(distribution: Law, *, divisor: int) -> float:
    """Give the probability that a sum, divided, rounds to 0, halves going up."""
    is_hit = (-divisor <= 2 * distribution.numbers) & (2 * distribution.numbers < divisor)
    return float(min(1.0, distribution.probabilities[is_hit].sum()))
