"""Publish again, from the dearest cell down, what cheaper cells make needless."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ckm.methods.suppression.secondary.cover import Change, Cover, Side
from ckm.methods.suppression.secondary.region import STAYS, Neighbourhood
from ckm.methods.suppression.secondary.work import Work
from footing.arrays import Flags, Floats, Integers

#: Every so many cells it is asked whether the rest is worth it.
_OFTEN = 25
#: How many cells around those that need another change a program sees, by the table's size.
_SIZES = ((12_000, 1_500), (np.inf, 600))


def reverse_delete(
    cover: Cover,
    *,
    work: Work | None = None,
    is_wide: bool = False,
    needed: Flags | None = None,
    crumbs: float = 0.0,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Cover:
    """Publish secondary cells again, the dearest first, where every demand stays met.

    Cells that are `needed` are not tried: they were before, with fewer demands. Nor are the
    cheapest that together cost less than a share, `crumbs`, of all that are hidden.

    Notes
    -----
    The demands whose proofs move a cell get other changes, of cells that are hidden and as
    cheap as can be; where each has one, the cell is published. A wide search starts from all
    that may be hidden, in tables that are not too large, and not from what the cover hides.
    The cheaper of the cover and what is found is returned.

    References
    ----------
    Langsrud (2024), Secondary cell suppression by Gaussian elimination, publishes from the
    dearest cell down, too, and guards against exact values.
    """
    n_cells = cover.problem.relations.n_cells
    size = next(size for most, size in _SIZES if n_cells <= most)
    choice = _Choice(cover, size, progress, work or Work())
    if is_wide:
        if size == _SIZES[-1][1] or cover.cost() == 0:
            return cover
        choice.hidden |= cover.problem.is_open
    if not choice.prove_all():
        return cover
    return min(cover, choice.reduced(needed, crumbs), key=Cover.cost)


class _Choice:
    """What is hidden, and for each demand and direction a change that proves it met."""

    def __init__(
        self, cover: Cover, size: int, progress: Callable[[int, int], None], work: Work
    ) -> None:
        self.progress, self.work = progress, work
        self.original, self.problem, self.size = cover, cover.problem, size
        self.near = Neighbourhood(cover.problem, work)
        self.proofs: dict[Side, Change] = {}
        self.users: dict[int, set[Side]] = {}
        self.hidden = cover.hidden.copy()

    def prove_all(self) -> bool:
        """Take the smallest change at hand for every demand, or look for one."""
        demands, proofs = self.original.demands, self.original.proofs()
        price = np.where(self.hidden, 1.0, np.inf)
        for number in range(len(demands)):
            for sign, need in ((1, demands.upper[number]), (-1, demands.lower[number])):
                if need <= 0:
                    continue
                side = (number, sign)
                change = proofs.get(side) or self.near.change(
                    demands, np.array([number]), sign, price
                )
                if change is None or self.work.is_over:
                    return False
                self._keep(side, change)
        return True

    def reduced(self, needed: Flags | None = None, crumbs: float = 0.0) -> Cover:
        """Try once to do without each secondary cell; give what stays hidden, with proofs."""
        stays = self.problem.must_hide if needed is None else self.problem.must_hide | needed
        secondary = np.flatnonzero(self.hidden & ~stays)
        order = np.argsort(-self.problem.cost[secondary], kind="stable")
        price = np.where(self.hidden, self.problem.cost + STAYS, np.inf)
        price[self.problem.must_hide] = STAYS
        for done, cell in enumerate(secondary[order].tolist()):
            self.progress(done, len(order))
            if self.work.is_over:
                break
            is_asked = crumbs > 0 and done % _OFTEN == 0
            if is_asked and self._are_crumbs(secondary[order[done:]], crumbs):
                break
            price[cell] = np.inf
            fresh = self._without(cell, price)
            self.hidden[cell] = fresh is None
            price[cell] = STAYS if fresh is None else np.inf
            for side, change in (fresh or {}).items():
                self._keep(side, change)
        cover = Cover(self.problem, self.original.demands)
        for change in {id(change): change for change in self.proofs.values()}.values():
            cover.add(change)
        for number, sign in self.proofs:  # by the programs' own account
            (cover.is_high_met if sign > 0 else cover.is_low_met)[number] = True
        return cover

    def _are_crumbs(self, cells: Integers, share: float) -> bool:
        """Tell whether cells cost less than a share of what proofs hide."""
        is_used = np.zeros(len(self.hidden), bool)
        is_used[[cell for cell, sides in self.users.items() if sides]] = True
        is_used &= ~self.problem.must_hide
        cost = self.problem.cost
        left = cost[cells[is_used[cells]]].sum()
        return bool(left <= share * cost[is_used].sum())

    def _without(self, cell: int, price: Floats) -> dict[Side, Change] | None:
        """Prove the demands whose proofs move a cell without it, if that is possible."""
        sides, demands = self.users.get(cell, set()), self.original.demands
        fresh: dict[Side, Change] = {}
        if not sides:
            return fresh
        cells = [cell, *(int(demands.cell[number]) for number, _ in sides)]
        region = self.near.region(demands, cells, self.size, price)
        price = price.copy()
        together: dict[Side, list[int]] = {}
        for number, sign in sorted(sides, key=self._need, reverse=True):
            together.setdefault((int(demands.cell[number]), sign), []).append(number)
        waiting = [(np.array(n), sign) for (_, sign), n in reversed(together.items())]
        while waiting:
            numbers, sign = waiting.pop()
            is_open = [(number, sign) not in fresh for number in numbers.tolist()]
            numbers = numbers[np.array(is_open, bool)]
            change = region.change(numbers, sign, price) if numbers.size else None
            if change is not None:
                price[change.cells] = STAYS
                own = dict.fromkeys([(number, sign) for number in numbers.tolist()], change)
                proven = {*self.original.proven_by(change)} & sides
                fresh = dict.fromkeys(proven, change) | fresh | own
            elif len(numbers) == 1:
                return None
            elif numbers.size:  # perhaps not all of one cell by one change
                half = len(numbers) // 2
                waiting += [(numbers[half:], sign), (numbers[:half], sign)]
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
