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
        self.price = self._prices(may_hide=False)

    def prove_all(self, deadline: float) -> bool:
        """Take the smallest change at hand for every demand, or look for one."""
        demands = self.original.demands
        known = self.original.proofs()
        for number in range(len(demands)):
            for sign, need in ((1, demands.upper[number]), (-1, demands.lower[number])):
                if need <= 0:
                    continue
                change = known.get((number, sign)) or self._prove((number, sign))
                if change is None or time.monotonic() > deadline:
                    return False
                self._keep((number, sign), change)
        return True

    def round(self, deadline: float, *, may_hide: bool) -> float:
        """Try once to do without each secondary cell; return what the others cost."""
        secondary = np.flatnonzero(self.hidden & ~self.problem.must_hide)
        order = np.argsort(-self.problem.cost[secondary], kind="stable")
        self.price = self._prices(may_hide=may_hide)
        for cell in secondary[order].tolist():
            if time.monotonic() > deadline:
                break
            if self.hidden[cell]:
                self._without(cell, may_hide=may_hide)
        return float(self.problem.cost[self.hidden & ~self.problem.must_hide].sum())

    def cover(self) -> Cover:
        """Return what stays hidden, with its proofs."""
        made = Cover(self.problem, self.original.demands)
        for (number, sign), change in self.proofs.items():
            made.add(change)
            (made.is_high_met if sign > 0 else made.is_low_met)[number] = True
        return made

    def _prices(self, *, may_hide: bool) -> Floats:
        """Price cells: what stays hidden costs nothing, what no change may move, infinity."""
        price = self.problem.cost + _NOTHING
        price[~self.near.can_move | ~(self.hidden | may_hide)] = np.inf
        price[self.hidden if may_hide else self.problem.must_hide] = _NOTHING
        return price

    def _without(self, cell: int, *, may_hide: bool) -> None:
        """Publish a cell if every demand whose proof moves it has another one, cheaply."""
        sides = self.users.get(cell, set())
        freed = np.array([cell, *(self._only_for(sides, cell) if may_hide else ())])
        kept_price = self.price[freed]
        self.hidden[freed] = False
        self.price[freed] = self.problem.cost[freed] + _NOTHING
        self.price[cell] = np.inf
        fresh = self._again(sides, cell)
        cost = self.problem.cost
        moved = [change.cells for change in fresh.values()] if fresh else [freed[:0]]
        new = np.unique(np.concatenate(moved))
        new = new[~self.hidden[new]]
        if fresh is None or (may_hide and cost[new].sum() >= cost[freed].sum()):
            self.hidden[freed] = True
            self.price[freed] = kept_price
            self.price[cell] = _NOTHING
            return
        self.hidden[new] = True
        if may_hide:
            self.price[new] = _NOTHING
        for side, change in fresh.items():
            self._keep(side, change)

    def _only_for(self, sides: set[Side], cell: int) -> list[int]:
        """List secondary cells, but for one, that only the proofs of some demands move."""
        moved = {int(c) for side in sides for c in self.proofs[side].cells} - {cell}
        is_free = self.problem.is_open
        return sorted(c for c in moved if is_free[c] and self.users[c] <= sides)

    def _again(self, sides: set[Side], cell: int) -> dict[Side, Change] | None:
        """Prove some demands at the prices of the moment."""
        demands, fresh = self.original.demands, dict[Side, Change]()
        if not sides:
            return fresh
        cells = [cell, *(int(demands.cell[number]) for number, _ in sides)]
        region = self.near.region(demands, cells, _SIZE, self.price)
        price = self.price.copy()
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

    def _prove(self, side: Side) -> Change | None:
        for region in self.near.regions(self.original.demands, side[0], self.price):
            change = region.change(*side, self.price)
            if change is not None:
                return change
        return None
