"""Where the ledger of publications joins in: after the rules, before an answer leaves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ckm.service.query import Query
    from ckm.service.rules.finding import Finding
    from tables import Cells, Condition

__all__ = ["Ledger", "Publication"]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Publication:
    """A table about to be published. Disclosive: the ledger keeps digests of it alone.

    Parameters
    ----------
    query
        What was asked for.
    dimensions
        The variables that are not summed over, in the order of `cells`.
    cells
        Combination of levels → its cells.
    where
        The conditions of the filter and of the areas.
    withheld
        Ranks of the areas that stay out.
    """

    query: Query
    dimensions: tuple[str, ...]
    cells: Mapping[tuple[int, ...], Cells]
    where: frozenset[Condition]
    withheld: Sequence[int]


class Ledger(Protocol):
    """Knows what was published, and judges what is about to be."""

    policy: str  # "refuse" or "flag"

    def review(self, publication: Publication) -> Finding | None:
        """Return what speaks against a publication; record it where nothing does."""
