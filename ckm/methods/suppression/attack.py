"""How far a reader must believe a cell possible, and what limits it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from risk.reconstruction.program import Program, Rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ckm.methods.suppression.relations import Relations

    Numbers = NDArray[np.float64]

__all__ = ["Attack", "Reach"]


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

    Examples
    --------
    >>> Reach(distance=1.0, moves=np.zeros(1), weights=np.zeros(1)).distance
    1.0
    """

    distance: float
    moves: Numbers
    weights: Numbers


class Attack:
    """Move one cell as far as the others allow, over and over.

    Parameters
    ----------
    relations
        Which cells add up to which.

    Examples
    --------
    >>> from ckm.methods.suppression import Grid, Relations
    >>> attack = Attack(Relations.of_grids([Grid.full([[-1, 0, 0]])]))
    >>> free = np.array([0.0, 9.0, 2.0])
    >>> attack.reach(1, sign=1, down=free, up=free, most=5.0).distance
    2.0
    """

    def __init__(self, relations: Relations) -> None:
        self.relations = relations
        nothing = np.zeros(relations.n_relations)
        self._columns = np.arange(relations.n_cells)
        self._program = Program(
            Rows(
                starts=relations.starts,
                columns=relations.cells,
                weights=relations.signs.astype(np.float64),
                lower=nothing,
                upper=nothing,
            ),
            lower=np.zeros(relations.n_cells),
            upper=np.zeros(relations.n_cells),
        )

    def reach(self, cell: int, *, sign: int, down: Numbers, up: Numbers, most: float) -> Reach:
        """Move a cell up or down as far as it goes.

        Parameters
        ----------
        cell
            The cell.
        sign
            1 for up, -1 for down.
        down, up
            How far every cell may fall and rise.
        most
            How far to go at most.

        Examples
        --------
        See `Attack`.
        """
        low, high = -down, up.copy()
        if sign > 0:
            high[cell] = min(high[cell], most)
        else:
            low[cell] = max(low[cell], -most)
        self._program.hold(self._columns, low, high)
        answer = self._program.least([cell], [-float(sign)])
        if answer is None:  # nothing moves: always possible
            raise AssertionError
        weights = np.zeros(len(down))
        weights[cell] = -sign
        prices = self._program.prices
        parts = prices[self.relations.rows] * self.relations.signs
        weights -= np.bincount(self.relations.cells, parts, minlength=len(down))
        return Reach(distance=-answer.bound, moves=answer.point, weights=weights)
