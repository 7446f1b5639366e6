"""Controlled rounding of true counts, and what it keeps from who knows all but the records."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ckm.errors import ReleaseError
from ckm.methods.additivity.controlled_rounding import round_additive, round_exactly
from footing.messages import Message

if TYPE_CHECKING:
    from ckm.methods.additivity.equations import TableSums
    from footing.arrays import Integers


def round_counts(
    sums: TableSums,
    counts: Integers,
    *,
    leaf: Integers,
    base: int,
    bound: int | None = None,
    exact: bool = False,
) -> Integers:
    """Round true counts to multiples of a base that add up.

    `leaf` has, for each group of records, a finest cell that holds it.
    """
    reach, true = np.inf if bound is None else float(bound), counts.astype(np.float64)
    lower, upper = np.maximum(true - reach, 0.0), true + reach
    if exact and len(leaf):  # without records nothing is to be found
        return round_exactly(sums, true, base=base, lower=lower, upper=upper)
    start = true[leaf] / np.bincount(leaf)[leaf]
    rounded = round_additive(sums, true, start=start, base=base)
    if ((rounded < lower) | (rounded > upper)).any():
        raise ReleaseError(
            Message(
                "No table of multiples of {base} that adds up was found within {bound}.",
                base=base,
                bound=bound,
            ),
            hint=Message("leave out bound, or set exact = true for a small table"),
        )
    return rounded


def kept_within(rounded: Integers, counts: Integers, *, base: int) -> tuple[Integers, Integers]:
    """Return how far the possible counts of each cell reach at least: for inside use.

    Notes
    -----
    For whoever knows all but the records, of one table or an exact rounding. Let ``d`` be at
    most ``(base - 1) / 2``. The published table with ``d`` more, or fewer, records in one
    finest cell is one of counts, too, and the published numbers are the nearest multiples of
    all of them: the sum of deviations is least, running sums are rounded back to them, and no
    move brings them nearer. So it is published alike. The true count is possible as well.
    """
    reach = (base - 1) // 2
    least = np.minimum(np.maximum(rounded - reach, 0), counts)
    return least, np.maximum(rounded + reach, counts)
