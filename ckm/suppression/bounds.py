"""How far a reader must believe a cell possible, and what limits it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ckm.errors import InternalError
from risk.reconstruction.program import Program, Rows

if TYPE_CHECKING:
    from ckm.suppression.relations import Relations
    from footing.arrays import Floats, Integers


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Reach:
    """How far a cell can move, by which change, and what holds it.

    Parameters
    ----------
    distance
        How far, at most as far as asked.
    moves
        The change of every cell.
    weights
        The weights of a bound on the distance: over all changes that leave the sums as they
        are, it is at most the sum of the parts above 0 times how far each cell may fall, and
        of those below 0, without sign, times how far it may rise.
    """

    distance: float
    moves: Floats
    weights: Floats


class Attack:
    """Move one cell as far as the others allow, over and over.

    Parameters
    ----------
    relations
        Which cells add up to which.
    cells
        Cells that may move, rising; by default all.
    """

    def __init__(self, relations: Relations, cells: Integers | None = None) -> None:
        self.relations = relations
        self.cells = np.arange(relations.n_cells) if cells is None else cells
        place = np.full(relations.n_cells, -1)
        place[self.cells] = np.arange(len(self.cells))
        column = place[relations.cells]
        rows, row = np.unique(relations.rows[column >= 0], return_inverse=True)
        self._rows = rows
        nothing = np.zeros(len(rows))
        self._program = Program(
            Rows(
                starts=np.searchsorted(row, np.arange(len(rows) + 1)),
                columns=column[column >= 0],
                weights=relations.signs[column >= 0].astype(np.float64),
                lower=nothing,
                upper=nothing,
            ),
            lower=np.zeros(len(self.cells)),
            upper=np.zeros(len(self.cells)),
        )
        self._place = place

    def reach(self, cell: int, *, sign: int, down: Floats, up: Floats, most: float) -> Reach:
        """Move a cell up or down as far as it goes."""
        own, n = int(self._place[cell]), len(self.cells)
        low, high = -down[self.cells], up[self.cells]
        if sign > 0:
            high[own] = min(high[own], most)
        else:
            low[own] = max(low[own], -most)
        self._program.hold(np.arange(n), low, high)
        answer = self._program.least([own], [-float(sign)])
        if answer is None:
            raise InternalError("No change at all keeps the sums, though none does.")
        prices = np.zeros(self.relations.n_relations)
        prices[self._rows] = self._program.prices
        parts = prices[self.relations.rows] * self.relations.signs
        sums = np.bincount(self.relations.cells, parts, minlength=len(down))
        weights = -sums.astype(np.float64)
        weights[cell] -= sign
        moves = np.zeros(len(down))
        moves[self.cells] = answer.point
        return Reach(distance=-answer.bound, moves=moves, weights=weights)
