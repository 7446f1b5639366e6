"""The law of the noise on one count, and what becomes of it in a mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ptable.lookup import cycle_length, serving_row
from risk.distributions.distribution import Law
from risk.errors import RiskError
from risk.wellformed import require_plain, require_whole

if TYPE_CHECKING:
    from ptable import PTable


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
                f"Large counts take {cycle} rows of this p-table in turn; the counts must be "
                "given.",
                hint="pass the counts that are attacked",
            )
        return ptable.n_rows - 1
    return serving_row(require_whole(count, name="count"), n_rows=ptable.n_rows, cycle=cycle)


def p_mean_rounds_to_zero(law: Law, *, divisor: int) -> float:
    """Give the probability that a sum, divided, rounds to 0, halves going up."""
    is_hit = (-divisor <= 2 * law.numbers) & (2 * law.numbers < divisor)
    return float(min(1.0, law.probabilities[is_hit].sum()))
