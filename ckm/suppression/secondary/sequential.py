"""One cell after another: hide what lets it move cheaply, then publish what none needs."""

from __future__ import annotations

import time
from collections import Counter
from typing import TypeAlias

import numpy as np

from ckm.suppression.secondary.cover import Change, Cover
from ckm.suppression.secondary.region import Incidence, Region, ranges
from footing.arrays import Floats, Integers

#: a demand's number, and 1 for up or -1 for down
Side: TypeAlias = tuple[int, int]

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


def prune(cover: Cover, *, deadline: float = np.inf) -> Cover:
    """Drop secondary cells one by one, the dearest first, where every demand stays met."""
    found = _Pruned(cover)
    secondary = np.flatnonzero(cover.hidden & ~cover.problem.must_hide)
    order = np.argsort(-cover.problem.cost[secondary], kind="stable")
    if not found.prove_all(deadline):
        return cover
    for cell in secondary[order].tolist():
        if time.monotonic() > deadline:
            break
        found.drop(cell)
    return found.cover()


def thin(cover: Cover) -> Cover:
    """Drop changes that others make needless, the oldest first, and publish their cells.

    Nothing is solved: a demand is as well met by any change that proves it.
    """
    proven = [cover.proven_by(change) for change in cover.changes]
    left = Counter(side for sides in proven for side in sides)
    kept = [True] * len(proven)
    for place, sides in enumerate(proven):
        if all(left[side] > 1 for side in sides):
            kept[place] = False
            left.subtract(sides)
    thinned = Cover(cover.problem, cover.demands)
    for change, is_kept in zip(cover.changes, kept, strict=True):
        if is_kept:
            thinned.add(change)
    # a program may meet a demand by less than what counts as proof
    return cover if len(thinned.open_demands()) > len(cover.open_demands()) else thinned


class _Pruned:
    """What stays hidden, and for each demand and direction a change that proves it met."""

    def __init__(self, cover: Cover) -> None:
        self.original, self.problem = cover, cover.problem
        self.hidden = cover.hidden.copy()
        self.proofs: dict[Side, Change] = {}
        self.users: dict[int, set[Side]] = {}
        self.region = Region(
            cover.problem,
            cover.demands,
            Incidence(cover.problem.relations),
            np.flatnonzero(cover.hidden),
        )

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

    def drop(self, cell: int) -> None:
        """Publish a cell if every demand whose proof moves it has another one."""
        self.hidden[cell] = False
        fresh = {}
        for side in sorted(self.users.get(cell, ())):
            change = self._prove(side)
            if change is None:
                self.hidden[cell] = True
                return
            fresh[side] = change
        for side, change in fresh.items():
            self._keep(side, change)

    def cover(self) -> Cover:
        """Return what stays hidden, with its proofs."""
        pruned = Cover(self.problem, self.original.demands)
        for (number, sign), change in self.proofs.items():
            pruned.add(change)
            (pruned.is_high_met if sign > 0 else pruned.is_low_met)[number] = True
        return pruned

    def _keep(self, side: Side, change: Change) -> None:
        if side in self.proofs:
            for cell in self.proofs[side].cells.tolist():
                self.users[cell].discard(side)
        self.proofs[side] = change
        for cell in change.cells.tolist():
            self.users.setdefault(cell, set()).add(side)

    def _prove(self, side: Side) -> Change | None:
        """Look for a change of few cells."""
        return self.region.change(*side, np.where(self.hidden, 1.0, np.inf))
