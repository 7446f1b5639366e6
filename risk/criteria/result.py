"""The criteria by which offices choose a method, and what was measured of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from footing.messages import Message, Name
from risk.errors import RiskError

if TYPE_CHECKING:
    import pandas as pd

#: Name → what the share is a share of. Of all but four, more is better.
MEANINGS = {
    "same_answer": Message("cells with the same number when a table is requested twice"),
    "same_by_another_route": Message(
        "cells with the same number in a margin, a filter or another table"
    ),
    "parts_below_totals": Message(
        "published parts that are no larger than their published total"
    ),
    "additive": Message("wholly published lines whose parts add up to their total"),
    "found_by_differencing": Message(
        "persons whose category the difference of two tables discloses (less is better)"
    ),
    "sure_but_wrong": Message(
        "persons for whom the difference of two tables indicates a wrong category"
    ),
    "on_demand": Message("cells shown in unplanned tables"),
    "decentral": Message(
        "cells with the same number in tables that two offices make independently"
    ),
    "cells_lost": Message("non-empty cells that are not shown (less is better)"),
    "small_counts_found": Message(
        "small counts that can be inferred from all planned tables (less is better)"
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion:
    """One criterion, as measured.

    Parameters
    ----------
    name
        Its name in `MEANINGS`.
    share
        The share; None where there was nothing to measure it on.
    base
        How many cells, parts, lines or persons it is a share of.
    """

    name: str
    share: float | None
    base: int

    @property
    def meaning(self) -> str:
        """What the share is a share of."""
        return MEANINGS[self.name]


@dataclass(frozen=True, slots=True, kw_only=True)
class Criteria:
    """All criteria of one method.

    Parameters
    ----------
    method
        What the method is called.
    simple
        Whether it is simple to run, in a word of whoever knows; nothing measures it.
    measured
        One per criterion.
    mean_change
        How far a cell shown lies from its true count; None where none is shown.
    mean_loss
        The same over all cells with records, as if those that are hidden were shown as 0.
    """

    method: str
    simple: str
    measured: tuple[Criterion, ...]
    mean_change: float | None = None
    mean_loss: float | None = None

    def share(self, name: str) -> float | None:
        """Give the share of one criterion."""
        for criterion in self.measured:
            if criterion.name == name:
                return criterion.share
        raise RiskError(
            Message("No criterion {name!r} was measured.", name=Name(name)),
            hint=Message("one of {meanings}", meanings=Name.each(MEANINGS)),
        )

    def to_frame(self) -> pd.DataFrame:
        """Give one line per criterion."""
        import pandas as pd

        return pd.DataFrame(
            {
                "criterion": [c.name for c in self.measured],
                "share": pd.array([c.share for c in self.measured], dtype="Float64"),
                "base": [c.base for c in self.measured],
                "meaning": [c.meaning for c in self.measured],
            }
        )
