"""The law of the noise on one count, and what becomes of it in a mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ptable.lookup import cycle_length, serving_row
from risk.distributions.distribution import Law
from risk.errors import RiskError
from risk.wellformed import require_whole

if TYPE_CHECKING:
    from ptable import PTable


def noise_law(ptable: PTable, *, count: int | None = None) -> Law:
    """Give the law of the noise on a count.

    Parameters
    ----------
    ptable
        The p-table.
    count
        The original count; None for large counts. Counts of 0 are published as 0, whatever
        row 0 says, because the engine never touches empty cells.

    Examples
    --------
    >>> from ptable import Mechanism
    >>> noise_law(Mechanism.random_rounding(3).build(), count=4).at([-1, 2]).round(3)
    array([0.667, 0.333])
    """
    if count is not None and require_whole(count, name="count") == 0:
        return Law.certain(0)
    units = ptable.units(row_of(ptable, count=count))
    lowest = min(units)
    probabilities = np.zeros(max(units) - lowest + 1)
    for noise, n_keys in units.items():
        probabilities[noise - lowest] = n_keys / ptable.key_range
    return Law(lowest=lowest, probabilities=probabilities)


def row_of(ptable: PTable, *, count: int | None = None) -> int:
    """Find the row of a p-table that serves a count.

    Parameters
    ----------
    ptable
        The p-table of counts.
    count
        The original count, 1 or more; None for large counts, if they have one row.

    Raises
    ------
    RiskError
        If the table is one of magnitudes, or large counts take its rows in turn.

    Examples
    --------
    >>> from ptable import Mechanism
    >>> table = Mechanism.random_rounding(3).build()
    >>> row_of(table, count=10)
    1
    """
    if ptable.step != 1 or ptable.anchors is not None:
        raise RiskError(
            "Attacks on counts need a p-table of counts, not one of magnitudes.",
            hint="solve(NoiseSpec(…)) without step and anchors makes one",
        )
    cycle = cycle_length(ptable.large_counts, n_rows=ptable.n_rows)
    if count is None:
        if cycle > 1:
            raise RiskError(
                f"Large counts take {cycle} rows of this p-table in turn; the counts must be "
                "given.",
                hint="pass the counts that are attacked",
            )
        return ptable.n_rows - 1
    return serving_row(require_whole(count, name="count"), n_rows=ptable.n_rows, cycle=cycle)


def p_mean_rounds_to_zero(law: Law, *, divisor: int) -> float:
    """Give the probability that a sum, divided, rounds to 0, halves going up.

    Parameters
    ----------
    law
        The law of the sum.
    divisor
        By what it is divided, 1 or more.

    Examples
    --------
    >>> law = Law(lowest=-1, probabilities=[0.25, 0.5, 0.25])
    >>> p_mean_rounds_to_zero(law, divisor=2)
    0.75
    """
    is_hit = (-divisor <= 2 * law.numbers) & (2 * law.numbers < divisor)
    return float(min(1.0, law.probabilities[is_hit].sum()))
