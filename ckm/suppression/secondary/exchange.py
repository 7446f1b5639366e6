"""Publish dear cells again where cheaper ones do, one after another."""

from __future__ import annotations

import time

import numpy as np

from ckm.suppression.secondary.cover import Change, Cover, Side
from ckm.suppression.secondary.region import Neighbourhood
from footing.arrays import Floats

#: What a cell that stays hidden costs, so that changes move few of them.
_NOTHING = 1e-2
#: How many cells around those that need another change a program sees.
_SIZE = 600
#: A round that saves a smaller share of the cost is the last.
_GAIN = 2e-3


def exchange(cover: Cover, *, deadline: float = np.inf) -> Cover:
    """Publish secondary cells again, hiding cheaper ones where that is needed.

    Notes
    -----
    For one cell after another, the dearest first: the demands whose proofs move it get another
    change, of cells that are hidden and as cheap as can be; where each has one, the cell is
    published. In later rounds the cells that only these proofs move are published as well,
    and others may be hidden; what comes out is kept if it is cheaper.

    References
    ----------
    Langsrud (2024), Secondary cell suppression by Gaussian elimination, publishes from the
    dearest cell down, too, but only guards against exact values.
    """
    found = _Exchange(cover)
    if not found.prove_all(deadline):
        return cover
    cost, before = found.round(deadline, may_hide=False), np.inf
    while 0 < cost < (1 - _GAIN) * before and time.monotonic() < deadline:
        before, cost = cost, found.round(deadline, may_hide=True)
    return found.cover()


class _Exchange:
    """What is hidden, and for each demand and direction a change that proves it met."""

    def __init__(self, cover: Cover) -> None:
        self.original, self.problem = cover, cover.problem
        self.near = Neighbourhood(cover.problem)
        self.proofs: dict[Side, Change] = {}
        self.users: dict[int, set[Side]] = {}
        self.hidden = cover.hidden.copy()
        #: hidden cells that no round looks at again
        self.settled = cover.problem.must_hide.copy()

    def prove_all(self, deadline: float) -> bool:
        """Take the smallest change at hand for every demand, or look for one."""
        demands = self.original.demands
        known = self.original.proofs()
        price = np.where(self.hidden, 1.0, np.inf)
        for number in range(len(demands)):
            for sign, need in ((1, demands.upper[number]), (-1, demands.lower[number])):
                if need <= 0:
                    continue
                change = known.get((number, sign)) or self._prove((number, sign), price)
                if change is None or time.monotonic() > deadline:
                    return False
                self._keep((number, sign), change)
        return True

    def round(self, deadline: float, *, may_hide: bool) -> float:
        """Try once to do without each secondary cell; return what the others cost."""
        secondary = np.flatnonzero(self.hidden & ~self.problem.must_hide)
        order = np.argsort(-self.problem.cost[secondary], kind="stable")
        self.settled = self.hidden.copy() if may_hide else self.problem.must_hide.copy()
        for cell in secondary[order].tolist():
            if time.monotonic() > deadline:
                break
            if self.hidden[cell]:
                self._without(cell, may_hide=may_hide)
                self.settled[cell] = True
        return float(self.problem.cost[self.hidden & ~self.problem.must_hide].sum())

    def cover(self) -> Cover:
        """Return what stays hidden, with its proofs."""
        made = Cover(self.problem, self.original.demands)
        for (number, sign), change in self.proofs.items():
            made.add(change)
            (made.is_high_met if sign > 0 else made.is_low_met)[number] = True
        return made

    def _without(self, cell: int, *, may_hide: bool) -> None:
        """Publish a cell if every demand whose proof moves it has another one, cheaply."""
        sides = self.users.get(cell, set())
        freed = [cell]
        if may_hide:
            near = {int(c) for side in sides for c in self.proofs[side].cells} - {cell}
            freed += [
                c for c in near if self.users[c] <= sides and not self.problem.must_hide[c]
            ]
        hidden = self.hidden.copy()
        hidden[freed] = False
        price = np.where(hidden | may_hide, self.problem.cost + _NOTHING, np.inf)
        price[~self.near.can_move | (price >= self.problem.cost[freed].sum())] = np.inf
        price[hidden & self.settled] = _NOTHING
        price[cell] = np.inf
        fresh = self._again(sides, cell, price)
        if fresh is None:
            return
        for change in fresh.values():
            hidden[change.cells] = True
        if self.problem.cost @ hidden < self.problem.cost @ self.hidden or not may_hide:
            self.hidden = hidden
            for side, change in fresh.items():
                self._keep(side, change)

    def _again(self, sides: set[Side], cell: int, price: Floats) -> dict[Side, Change] | None:
        """Prove some demands at a price for each cell."""
        demands, fresh = self.original.demands, dict[Side, Change]()
        if not sides:
            return fresh
        cells = [cell, *(int(demands.cell[number]) for number, _ in sides)]
        region = self.near.region(demands, cells, _SIZE, price)
        for side in sorted(sides, key=self._need, reverse=True):
            if side in fresh:
                continue
            change = region.change(*side, price)
            if change is None:
                return None
            price[change.cells] = _NOTHING
            for proven in self.original.proven_by(change):
                if proven in sides:
                    fresh.setdefault(proven, change)
            fresh[side] = change
        return fresh

    def _need(self, side: Side) -> tuple[float, Side]:
        demands = self.original.demands
        return float((demands.upper if side[1] > 0 else demands.lower)[side[0]]), side

    def _keep(self, side: Side, change: Change) -> None:
        if side in self.proofs:
            for cell in self.proofs[side].cells.tolist():
                self.users[cell].discard(side)
        self.proofs[side] = change
        for cell in change.cells.tolist():
            self.users.setdefault(cell, set()).add(side)

    def _prove(self, side: Side, price: Floats) -> Change | None:
        for region in self.near.regions(self.original.demands, side[0], price):
            change = region.change(*side, price)
            if change is not None:
                return change
        return None
