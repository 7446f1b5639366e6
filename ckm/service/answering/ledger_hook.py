"""Where the ledger of publications joins in: after the rules, before an answer leaves."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ckm.service.answering.query import are_in_margins

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from ckm.service.answering.query import Query, Selection
    from ckm.service.answering.variables import Variable
    from ckm.service.rules.finding import Finding
    from tables import Cells, Prepared, PreparedCells


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Publication:
    """A table about to be published. Disclosive: the ledger keeps digests of it alone.

    Parameters
    ----------
    query
        What was asked for.
    selections
        The categories of the variables that are not summed over, without withheld areas.
    levels
        For each of these variables the levels of the table, finest first.
    found
        The finest cells that meet the filter, over all categories of these variables.
    prepared
        The records they are from.
    variables
        What the service offers.
    """

    query: Query
    selections: tuple[Selection, ...]
    levels: tuple[tuple[int, ...], ...]
    found: PreparedCells
    prepared: Prepared
    variables: Mapping[str, Variable]

    @property
    def dimensions(self) -> tuple[str, ...]:
        """The variables that are not summed over."""
        return tuple(selection.variable for selection in self.selections)

    def cells(self) -> tuple[Cells, NDArray[np.bool_]]:
        """Return the cells of all categories, each once, and which of them are published."""
        level_sets = list(itertools.product(*self.levels))
        cells = self.prepared.cells(self.found, self.dimensions, level_sets=level_sets)
        is_shown = np.ones(len(cells), bool)
        for selection, axis, ranks in zip(
            self.selections, cells.axes, cells.ranks, strict=True
        ):
            is_wanted = np.zeros(axis.size, bool)
            is_wanted[list(selection.ranks)] = True
            is_shown &= is_wanted[ranks]
        if self.query.margins is not None:
            is_shown &= self._is_in_margins(cells)
        return cells, is_shown

    def _is_in_margins(self, cells: Cells) -> NDArray[np.bool_]:
        """Tell which cells belong to the combinations of levels that were asked for."""
        ranks = dict(zip(self.dimensions, cells.ranks, strict=True))
        nothing = np.zeros(len(cells), np.int32)  # a variable summed over has its total
        levels = [
            self.variables[s.variable].level_of[ranks.get(s.variable, nothing)]
            for s in self.query.selections
        ]
        return are_in_margins(levels, self.query.margins or (), size=len(cells))


class Ledger(Protocol):
    """Knows what was published, and judges what is about to be."""

    policy: str  # "refuse" or "flag"
    width: int  # of the sketches that it needs

    def review(self, publication: Publication) -> Finding | None:
        """Return what speaks against a publication; record it where nothing does.

        With the policy to flag, record it in any case.
        """
