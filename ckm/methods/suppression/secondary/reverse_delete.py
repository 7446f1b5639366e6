"""Publish again, from the dearest cell down, what cheaper cells make needless."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ckm.methods.suppression.secondary.cover import Change, Cover, Side
from ckm.methods.suppression.secondary.problem import ranges
from ckm.methods.suppression.secondary.region import STAYS, Neighbourhood
from ckm.methods.suppression.secondary.work import Work
from footing.arrays import Flags, Floats, Integers

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: By so much a sum may fall short, as a share of the demand, and of all that it adds up.
_NEAR, _ROUNDING = 1e-6, 1e-13
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
    stays = cover.problem.must_hide if needed is None else cover.problem.must_hide | needed
    choice = _Choice(cover, size, stays, work or Work())
    if is_wide:
        if size == _SIZES[-1][1] or cover.cost() == 0:
            return cover
        choice.hidden |= cover.problem.is_open
    if not choice.prove_all():
        return cover
    return min(cover, choice.reduced(crumbs, progress), key=Cover.cost)


class _Choice:
    """What is hidden, and for each demand and direction a change that proves it met."""

    def __init__(self, cover: Cover, size: int, stays: Flags, work: Work) -> None:
        self.work, self.stays = work, stays
        self.original, self.problem, self.size = cover, cover.problem, size
        self.near = Neighbourhood(cover.problem, work)
        self.hidden = cover.hidden.copy()
        self.pool = _Pool(stays)
        #: how often a side could not be proven without a cell
        self._failures: dict[Side, int] = {}

    def prove_all(self) -> bool:
        """Take the smallest change at hand for every demand, or look for one."""
        first, numbers = dict[Side, int](), dict[int, int]()
        for one in sorted(self.original.changes, key=lambda c: len(c.cells)):
            proven = self.original.proven_by(one)
            number = self.pool.add(one, proven)
            for side in proven:
                first.setdefault(side, number)
            numbers[id(one)] = number
        for side, one in self.original.claims.items():
            first.setdefault(side, numbers[id(one)])
        demands = self.original.demands
        price = np.where(self.hidden, 1.0, np.inf)
        for number in range(len(demands)):
            for sign, need in ((1, demands.upper[number]), (-1, demands.lower[number])):
                if need <= 0:
                    continue
                side = (number, sign)
                proof = first.get(side)
                if proof is None:
                    change = self.near.change(demands, np.array([number]), sign, price)
                    if change is None:
                        return False
                    proof = self.pool.add(change, [side])
                if self.work.is_over:
                    return False
                self.pool.use(side, proof)
        return True

    def reduced(self, crumbs: float, progress: Callable[[int, int], None]) -> Cover:
        """Try once to do without each secondary cell; give what stays hidden, with proofs."""
        secondary = np.flatnonzero(self.hidden & ~self.stays)
        order = np.argsort(-self.problem.cost[secondary], kind="stable")
        price = np.where(self.hidden, self.problem.cost + STAYS, np.inf)
        price[self.stays & self.hidden] = STAYS
        for done, cell in enumerate(secondary[order].tolist()):
            progress(done, len(order))
            if self.work.is_over:
                break
            is_asked = crumbs > 0 and done % _OFTEN == 0
            if is_asked and self._are_crumbs(secondary[order[done:]], crumbs):
                break
            price[cell] = np.inf
            self.hidden[cell] = False
            if self._is_published(cell, price):
                self.pool.publish(cell)
            else:
                self.hidden[cell] = True
                price[cell] = STAYS
                self.pool.stay(cell)
        cover = Cover(self.problem, self.original.demands)
        for change in self.pool.in_use():
            cover.add(change)
        for (number, sign), change in self.pool.proofs_in_use():
            cover.claim(change, np.array([number]), sign)
        return cover

    def _are_crumbs(self, cells: Integers, share: float) -> bool:
        """Tell whether cells cost less than a share of what proofs hide."""
        is_used = np.zeros(len(self.hidden), bool)
        for change in self.pool.in_use():
            is_used[change.cells] = True
        is_used &= ~self.problem.must_hide
        cost = self.problem.cost
        left = cost[cells[is_used[cells]]].sum()
        return bool(left <= share * cost[is_used].sum())

    def _is_published(self, cell: int, price: Floats) -> bool:
        """Prove the demands whose proofs move a cell without it, if that is possible."""
        sides = self.pool.sides_of(cell)
        if not sides:
            return True
        if self._is_short(cell):
            return False
        # changes at hand first, of cells that stay; a program finds others of cheaper cells
        proofs = {side: self.pool.proof(side) for side in sides}
        left = {side for side, proof in proofs.items() if proof is None}
        fresh = self._without(cell, left, price) if left else []
        if fresh is None:
            return False
        for side, proof in proofs.items():
            if proof is not None:
                self.pool.use(side, proof)
        for change, proven, own in fresh:
            number = self.pool.add(change, proven)
            for side in own:
                self.pool.use(side, number)
        return True

    def _is_short(self, cell: int) -> bool:
        """Tell whether a sum of the cell has too little left for some demand for a part of it.

        What a part must move, the others of the sum must make up for, as far as the reader of
        the demand believes that they can. That is a bound: it may be too little elsewhere, too.
        """
        relations, demands, problem = (
            self.problem.relations,
            self.original.demands,
            self.problem,
        )
        for row in self.near.incidence.rows_of(np.array([cell])).tolist():
            part = slice(relations.starts[row], relations.starts[row + 1])
            is_there = self.hidden[relations.cells[part]]
            cells, signs = relations.cells[part][is_there], relations.signs[part][is_there]
            order = np.argsort(cells)
            cells, is_plus = cells[order], signs[order] > 0
            numbers, own = demands.of_cells(cells)
            if not numbers.size:
                continue
            needs = demands.upper[numbers], demands.lower[numbers]
            # further than twice what is asked for, nothing has to be known
            most = 2 * max(float(need.max()) for need in needs)
            rise, room = (
                np.minimum(problem.rise[cells], most),
                np.minimum(problem.room[cells], most),
            )
            entries = ranges(demands.starts, numbers, np.arange(len(demands.known)))
            owner = np.repeat(
                np.arange(len(numbers)), demands.starts[numbers + 1] - demands.starts[numbers]
            )
            place = np.minimum(np.searchsorted(cells, demands.known[entries]), len(cells) - 1)
            is_here = cells[place] == demands.known[entries]
            entries, owner, place = entries[is_here], owner[is_here], place[is_here]
            less_rise = np.maximum(rise[place] - demands.rise[entries], 0.0)
            less_room = np.maximum(room[place] - demands.fall[entries], 0.0)
            for sign, need in zip((1, -1), needs, strict=True):
                # parts of the same sign go the other way, those of the other sign the same
                for is_own_plus in (True, False):
                    rises = is_plus != is_own_plus if sign > 0 else is_plus == is_own_plus
                    far = np.where(rises, rise, room)
                    less = np.where(rises[place], less_rise, less_room)
                    left = far.sum() - far[own]
                    left -= np.bincount(owner, less * (place != own[owner]), len(numbers))
                    is_own = is_plus[own] == is_own_plus
                    slack = _NEAR * need + _ROUNDING * most * len(cells)
                    if (is_own & (left < need - slack)).any():
                        return True
        return False

    def _without(
        self, cell: int, sides: set[Side], price: Floats
    ) -> list[tuple[Change, list[Side], list[Side]]] | None:
        """Find changes for some sides without a cell: each with what it proves, and is for."""
        demands = self.original.demands
        cells = [cell, *(int(demands.cell[number]) for number, _ in sides)]
        region = self.near.region(demands, cells, self.size, price)
        left = set(sides)
        fresh: list[tuple[Change, list[Side], list[Side]]] = []
        together: dict[Side, list[int]] = {}
        for number, sign in sorted(sides, key=self._need, reverse=True):
            together.setdefault((int(demands.cell[number]), sign), []).append(number)
        waiting = [(np.array(n), sign) for (_, sign), n in reversed(together.items())]
        # what could not be met without another cell is asked first, alone, the most often last
        hard = sorted(
            sides & self._failures.keys(), key=lambda side: (self._failures[side], side)
        )
        waiting += [(np.array([number]), sign) for number, sign in hard]
        while waiting:
            numbers, sign = waiting.pop()
            is_open = [(number, sign) in left for number in numbers.tolist()]
            numbers = numbers[np.array(is_open, bool)]
            change = region.change(numbers, sign, price) if numbers.size else None
            if change is not None:
                proven = dict.fromkeys((number, sign) for number in numbers.tolist())
                proven |= dict.fromkeys(self.original.proven_by(change))
                own = [side for side in proven if side in left]
                left.difference_update(own)
                fresh.append((change, list(proven), own))
            elif len(numbers) == 1:
                side = int(numbers[0]), sign
                self._failures[side] = self._failures.get(side, 0) + 1
                return None
            elif numbers.size:  # perhaps not all of one cell by one change
                half = len(numbers) // 2
                waiting += [(numbers[half:], sign), (numbers[:half], sign)]
        return fresh

    def _need(self, side: Side) -> tuple[float, Side]:
        demands = self.original.demands
        return float((demands.upper if side[1] > 0 else demands.lower)[side[0]]), side


class _Pool:
    """Changes of hidden cells: which are in use, and what others of cells that stay prove.

    Parameters
    ----------
    is_staying
        Which cells stay hidden; others may, see `stay`.
    """

    def __init__(self, is_staying: Flags) -> None:
        self.is_staying = is_staying.copy()
        #: for each side, the number of the change that proves it
        self.proofs: dict[Side, int] = {}
        self._changes: list[Change | None] = []
        self._sides: list[set[Side]] = []
        #: what each change would prove, and how many cells of it are not known to stay
        self._proven: list[tuple[NDArray[np.int32], NDArray[np.int8]]] = []
        self._n_open: list[int] = []
        self._moving: dict[int, list[int]] = {}
        #: for each side, changes of cells that stay
        self._ready: dict[Side, list[int]] = {}

    def add(self, change: Change, sides: Sequence[Side]) -> int:
        """Take a change that proves some sides, and return its number."""
        number = len(self._changes)
        self._changes.append(change)
        self._sides.append(set())
        array = np.array(sides, np.int32).reshape(-1, 2)
        self._proven.append((array[:, 0], array[:, 1].astype(np.int8)))
        self._n_open.append(int(np.sum(~self.is_staying[change.cells])))
        for cell in change.cells.tolist():
            self._moving.setdefault(cell, []).append(number)
        if not self._n_open[number]:
            self._note_ready(number)
        return number

    def stay(self, cell: int) -> None:
        """Note that a cell stays."""
        self.is_staying[cell] = True
        for number in self._moving.get(cell, ()):
            self._n_open[number] -= 1
            if not self._n_open[number] and self._changes[number] is not None:
                self._note_ready(number)

    def _note_ready(self, number: int) -> None:
        for side in zip(*(part.tolist() for part in self._proven[number]), strict=True):
            self._ready.setdefault(side, []).append(number)

    def proof(self, side: Side) -> int | None:
        """Return a change of cells that stay that proves a side."""
        return self._ready.get(side, [None])[0]

    def use(self, side: Side, number: int) -> None:
        """Let a change prove a side."""
        if side in self.proofs:
            self._sides[self.proofs[side]].discard(side)
        self.proofs[side] = number
        self._sides[number].add(side)

    def sides_of(self, cell: int) -> set[Side]:
        """Return the sides whose proofs move a cell."""
        sides: set[Side] = set()
        return sides.union(*(self._sides[number] for number in self._moving.get(cell, ())))

    def publish(self, cell: int) -> None:
        """Forget what moves a cell."""
        for number in self._moving.pop(cell, ()):
            self._changes[number] = None

    def proofs_in_use(self) -> Iterator[tuple[Side, Change]]:
        """Yield every side with the change that proves it."""
        for side, number in self.proofs.items():
            change = self._changes[number]
            if change is not None:
                yield side, change

    def in_use(self) -> Iterator[Change]:
        """Yield the changes that prove a side."""
        for change, sides in zip(self._changes, self._sides, strict=True):
            if change is not None and sides:
                yield change
