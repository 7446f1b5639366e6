"""How much of a table's value is hidden, and the word of whoever wants more than most of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ckm.errors import CELL_COLUMNS, CheckFailedError, Places
from footing.messages import Message, Name, joined

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike

    from footing.arrays import Flags

#: A share that is as large as another one, but for the rounding of sums.
_NEAR = 1e-9


class HiddenShare(NamedTuple):
    """How much of a table's value is hidden, for one measure; disclosive.

    That of all its cells, totals among them, as an overview tells what is lost: a level counts
    as much as another one.
    """

    table: str
    measure: str
    share: float


def hidden_share(values: ArrayLike, hidden: Flags) -> float:
    """Return which share of a value is hidden; 0 of nothing."""
    amounts = np.abs(np.asarray(values, np.float64))
    total = float(amounts.sum())
    return float(amounts[hidden].sum()) / total if total else 0.0


def require_share(shares: Iterable[HiddenShare], largest: float) -> None:
    """Refuse tables of which more is hidden, unless somebody says so."""
    failed = [one for one in shares if one.share > largest + _NEAR]
    if not failed:
        return
    words = [
        Message("{measure!r} of {table!r}", measure=Name(one.measure), table=Name(one.table))
        for one in failed
    ]
    raise CheckFailedError(
        Message(
            "More than {largest:.0%} of the value would be hidden: {tables}.",
            largest=largest,
            tables=joined(", ", words),
        ),
        hint=Message(
            "fewer levels, coarser categories, fewer tables together or coalition = 0 hide "
            "less; or say that you want such tables: a higher largest_hidden_share, up to 1.0, "
            "in [suppression]"
        ),
        places=Places(
            CELL_COLUMNS,
            tuple((one.table, one.measure, f"share hidden: {one.share:.3f}") for one in failed),
        ),
    )
