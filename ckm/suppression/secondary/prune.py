"""Publish again what no demand needs hidden."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ckm.suppression.secondary.cover import Cover
from ckm.suppression.secondary.region import Incidence, Region

if TYPE_CHECKING:
    from ckm.suppression.secondary.cover import Change

    #: a demand's number, and 1 for up or -1 for down
    Side: TypeAlias = tuple[int, int]


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
