"""One cell after another: hide what lets it move at the least further cost."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from ckm.suppression.secondary.region import Incidence, Region, ranges

if TYPE_CHECKING:
    from ckm.suppression.secondary.cover import Change, Cover
    from footing.arrays import Floats, Integers


_NOTHING = 1e-7
_SIZES = (500, 4_000, 32_000)


def protect_in_turn(
    cover: Cover, *, cost: Floats | None = None, deadline: float = np.inf
) -> Integers:
    """Meet every demand that is open, hiding further cells.

    Notes
    -----
    For each demand a linear program finds the change that takes the cell far enough at the
    least cost per unit moved, hidden cells free. It sees the neighbourhood of the cell first,
    and more where that does not do. The order is from the most valuable cell down.

    References
    ----------
    Kelly, Golden and Assad (1992), Cell suppression: disclosure protection for sensitive
    tabular data, Networks 22.
    """
    search = _Search(cover, cover.problem.cost if cost is None else cost)
    failed = []
    for demand in cover.open_demands().tolist():
        for sign, is_met in ((1, cover.is_high_met), (-1, cover.is_low_met)):
            if is_met[demand] or time.monotonic() > deadline:
                continue
            change = search.change(demand, sign)
            if change is None:
                failed.append(demand)
                break
            cover.add(change)
            is_met[demand] = True  # by the program's own account, to its tolerance
    return np.array(failed, np.int64)


class _Search:
    """Cheapest changes, found in a part of the table where that is enough."""

    def __init__(self, cover: Cover, cost: Floats) -> None:
        self.cover, self.problem, self.cost = cover, cover.problem, cost
        self.incidence = Incidence(cover.problem.relations)
        self.can_move = cover.problem.is_open | cover.problem.must_hide
        self.whole: Region | None = None

    def change(self, demand: int, sign: int) -> Change | None:
        """Find a cheap change that meets a demand on one side."""
        n_cells = self.problem.relations.n_cells
        cost = np.where(self.cover.hidden, 0.0, self.cost + _NOTHING)
        for size in _SIZES:
            if size >= n_cells:
                break
            cells = self._near(int(self.cover.demands.cell[demand]), size)
            region = Region(self.problem, self.cover.demands, self.incidence, cells)
            found = region.change(demand, sign, cost)
            if found is not None:
                return found
        if self.whole is None:
            every = np.flatnonzero(self.can_move)
            self.whole = Region(self.problem, self.cover.demands, self.incidence, every)
        return self.whole.change(demand, sign, cost)

    def _near(self, cell: int, size: int) -> Integers:
        """Collect cells by their distance in relations, cheap ones first on the last round."""
        relations = self.problem.relations
        cost = np.where(self.cover.hidden, 0.0, self.cost)
        inside = np.zeros(relations.n_cells, bool)
        inside[cell] = True
        edge, n_inside = np.array([cell]), 1
        while edge.size and n_inside < size:
            rows = np.unique(self.incidence.rows_of(edge))
            new = np.unique(ranges(relations.starts, rows, relations.cells))
            new = new[~inside[new] & self.can_move[new]]
            if n_inside + len(new) > size:
                new = new[np.argsort(cost[new], kind="stable")][: size - n_inside]
            inside[new] = True
            edge, n_inside = new, n_inside + len(new)
        return np.flatnonzero(inside)
