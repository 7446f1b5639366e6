"""Publish again what no demand needs hidden."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from ckm.methods.suppression.cover import Change, Cover
from ckm.methods.suppression.sequential import FARTHEST

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ckm.methods.suppression.attack import Attack

__all__ = ["prune"]

_NOTHING = 1e-7


def prune(cover: Cover, *, attack: Attack, deadline: float = np.inf) -> Cover:
    """Drop secondary cells one by one, the dearest first, where every demand stays met.

    Parameters
    ----------
    cover
        A cover that meets every demand.
    attack
        The linear program over its relations.
    deadline
        When to stop, as `time.monotonic` counts.

    Returns
    -------
    Cover
        A cover with the same demands met and no more cells.

    Examples
    --------
    >>> from ckm.methods.suppression import Frequency, Grid, Problem, Relations, primary_cells
    >>> from ckm.methods.suppression.attack import Attack
    >>> counts = np.array([9, 1, 8])
    >>> problem = Problem(
    ...     relations=Relations.of_grids([Grid.full([[-1, 0, 0]])]),
    ...     values=counts,
    ...     primary=primary_cells([Frequency(least=3)], counts=counts),
    ... )
    >>> cover = Cover(problem)
    >>> cover.hidden[:] = True
    >>> prune(cover, attack=Attack(problem.relations)).hidden
    array([False,  True,  True])
    """
    found = _Pruned(cover, attack)
    secondary = np.flatnonzero(cover.hidden & ~cover.problem.primary.is_primary)
    order = np.argsort(-cover.problem.cost[secondary], kind="stable")
    if not found.prove_all(deadline):
        return cover
    for cell in secondary[order].tolist():
        if time.monotonic() > deadline:
            break
        found.drop(cell)
    return found.cover()


class _Pruned:
    """What stays hidden, and for each demand and direction a change that proves it met."""

    def __init__(self, cover: Cover, attack: Attack) -> None:
        self.original, self.attack = cover, attack
        self.hidden = cover.hidden.copy()
        self.proofs: dict[tuple[int, int], Change] = {}
        self.users: dict[int, set[tuple[int, int]]] = {}

    def prove_all(self, deadline: float) -> bool:
        demands = self.original.demands
        for number in range(len(demands)):
            for sign, need in ((1, demands.upper[number]), (-1, demands.lower[number])):
                if need > 0:
                    change = self._prove(number, sign)
                    if change is None or time.monotonic() > deadline:
                        return False
                    self._keep((number, sign), change)
        return True

    def drop(self, cell: int) -> None:
        """Publish a cell if every demand whose proof moves it has another one."""
        self.hidden[cell] = False
        fresh = {}
        for number, sign in sorted(self.users.get(cell, ())):
            change = self._prove(number, sign)
            if change is None:
                self.hidden[cell] = True
                return
            fresh[number, sign] = change
        for key, change in fresh.items():
            self._keep(key, change)

    def cover(self) -> Cover:
        pruned = Cover(self.original.problem, self.original.demands)
        pruned.hidden |= self.hidden
        for (number, sign), change in self.proofs.items():
            pruned.add(change)
            (pruned.is_high_met if sign > 0 else pruned.is_low_met)[number] = True
        pruned.hidden = self.hidden | pruned.problem.primary.is_primary
        return pruned

    def _keep(self, key: tuple[int, int], change: Change) -> None:
        if key in self.proofs:
            for cell in self.proofs[key].cells.tolist():
                self.users[cell].discard(key)
        self.proofs[key] = change
        for cell in change.cells.tolist():
            self.users.setdefault(cell, set()).add(key)

    def _prove(self, number: int, sign: int) -> Change | None:
        demands, value = self.original.demands, self.original.problem.value
        need = float((demands.upper if sign > 0 else demands.lower)[number])
        free: NDArray[np.bool_] = self.hidden.copy()
        if demands.known[number] >= 0:
            free[demands.known[number]] = False
        reach = self.attack.reach(
            int(demands.cell[number]),
            sign=sign,
            down=np.where(free, np.minimum(value / need, FARTHEST), 0.0),
            up=np.where(free, FARTHEST, 0.0),
            most=1.0,
        )
        if reach.distance < 1 - _NOTHING:
            return None
        cells = np.flatnonzero(np.abs(reach.moves) > _NOTHING)
        return Change(cells=cells, moves=reach.moves[cells])
