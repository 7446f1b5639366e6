"""Controlled rounding of true counts, and what it keeps from who knows all but the records."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ckm.errors import ReleaseError
from ckm.methods.additivity.block_programs import within_bound
from ckm.methods.additivity.controlled_rounding import round_exactly, round_inner
from ckm.methods.additivity.small_counts import round_small
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
    limit_s: float = 60.0,
    small: Integers | None = None,
) -> Integers:
    """Round true counts, to multiples of a base or small ones alone, so that they add up.

    `leaf` has, for each group of records, a finest cell that holds it. `small` has, for each
    group, how many records it has: then groups below the base become it or 0, and all others
    stay as they are.
    """
    reach, true = np.inf if bound is None else float(bound), counts.astype(np.float64)
    lower, upper = np.maximum(true - reach, 0.0), true + reach
    if exact and len(leaf):  # without records nothing is to be found
        return round_exactly(sums, true, base=base, lower=lower, upper=upper, limit_s=limit_s)
    if small is not None:
        inner = round_small(sums, small, base=base)
    else:
        start = true[leaf] / np.bincount(leaf)[leaf]
        nearest = round_inner(sums, true, start=start, base=base)
        inner = np.rint(nearest).astype(np.int64)
    if bound is not None and len(leaf):
        inner = within_bound(
            sums,
            inner,
            counts,
            base=base,
            bound=bound,
            is_small=small is not None,
            limit_s=limit_s,
        )
    rounded: Integers = np.rint(sums.matrix @ inner).astype(np.int64)
    if ((rounded < lower) | (rounded > upper)).any():
        raise ReleaseError(
            Message(
                "No table that adds up was found within {bound}; the nearest one has numbers "
                "off by {largest}.",
                bound=bound,
                largest=np.abs(rounded - counts).max(),
            ),
            hint=Message("widen bound, raise limit_s, or leave bound out"),
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
