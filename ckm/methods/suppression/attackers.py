"""Contributors who attack: who of them finds more than an outsider, alone or with another."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from ckm.methods.suppression.doubters import Doubters
from ckm.methods.suppression.primary import Contributions
from ckm.methods.suppression.relations import Relations
from ckm.methods.suppression.secondary.cover import Change
from ckm.methods.suppression.secondary.problem import Demands, Problem
from ckm.methods.suppression.secondary.region import Attack
from footing.arrays import Floats, Integers

#: a contributor: a finest cell, and 0 for the largest in it or 1 for the second; or the number
#: of a holding, and -1
Who: TypeAlias = tuple[int, int]

_EXACT = 1e-9
_LEAST = 1e-6


class Attackers:
    """The largest contributors of the finest cells, and pairs of them.

    Each knows what he gave himself: a cell with him is worth that or more, and a cell of
    nobody else is known. What the rules ask for against him is what they ask of the rest of a
    cell, see `Contributions`. Whoever gave less knows less, and is not looked at.

    Parameters
    ----------
    problem
        The problem; its `coalition` says how many join.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.over = _containing(problem.relations)
        self.under = self.over.T.tocsr()
        #: what every holding gave to every cell, and the other way round
        self.held, self.holders = _by_holding(problem.primary.contributions, self.over)
        self.doubters = self._doubters()
        self.asked: set[tuple[int, tuple[Who, ...]]] = set()
        #: for cells and directions, changes in one or another of which everybody else believes
        self.enough: dict[tuple[int, int], list[Change]] = {}

    def unguarded(self, changes: Sequence[Change]) -> Demands | None:
        """Find demands that none of some changes proves met, and that were not found before."""
        contributions, pairs = self.problem.primary.contributions, []
        if contributions is None or not self.problem.coalition:
            return None
        of_cell: dict[int, list[Change]] = {}
        is_primary = self.problem.primary.is_primary
        for change in changes:
            for cell in change.cells[is_primary[change.cells]].tolist():
                of_cell.setdefault(cell, []).append(change)
        for cell in np.flatnonzero(is_primary).tolist():
            own = sorted(of_cell.get(cell, []), key=lambda change: len(change.cells))
            present = set(map(id, own))
            for sign in (1, -1):
                if present.issuperset(map(id, self.enough.get((cell, sign), [None]))):
                    continue
                groups = self._groups(cell, sign, own)
                new = [(cell, group) for group in groups if (cell, group) not in self.asked]
                self.asked.update(new)
                pairs += new
        return self._demands(pairs) if pairs else None

    def _groups(self, cell: int, sign: int, changes: Sequence[Change]) -> list[tuple[Who, ...]]:
        """List who believes in none of the changes of a cell, alone or together."""
        if self.doubters is None:
            side = _Side(self, cell, sign, changes)
            groups = list(side.unguarded())
            if side.is_complete:
                self.enough[cell, sign] = [changes[number] for number in side.used]
            return groups
        numbers, used = self.doubters.unguarded(cell, sign, changes)
        if used is not None:
            self.enough[cell, sign] = [changes[number] for number in used]
        if self.held is not None:
            return [((number, -1),) for number in numbers.tolist()]
        n = self.problem.relations.n_cells
        return [((number % n, number // n),) for number in numbers.tolist()]

    def _doubters(self) -> Doubters | None:
        """Return what finds single contributors, where cells alone tell who is in them."""
        from scipy.sparse import vstack

        contributions, relations = self.problem.primary.contributions, self.problem.relations
        is_other = len(relations.grids) > 1 and not relations.is_joint
        if contributions is None or self.problem.coalition != 1 or is_other:
            return None
        gifts = self.held
        if gifts is None:
            over = self.over.astype(np.float64)
            both = (contributions.first, contributions.second)
            gifts = vstack([over.multiply(amount[:, None]) for amount in both]).tocsr()
            gifts.eliminate_zeros()
        return Doubters(self.problem, gifts)

    def gifts(self, who: Who) -> tuple[Integers, Any]:
        """List the cells of a contributor, and what he gave to each."""
        of_holding = who[1] < 0
        matrix = self.held if of_holding else self.over
        part = slice(matrix.indptr[who[0]], matrix.indptr[who[0] + 1])
        contributions: Any = self.problem.primary.contributions
        single = contributions.second if who[1] else contributions.first
        amounts = matrix.data[part] if of_holding else single[who[0]]
        return matrix.indices[part], np.broadcast_to(amounts, part.stop - part.start)

    def largest(self, cell: int, least: float = -1.0) -> list[Who]:
        """List the contributors of a cell who gave more to it than something, largest first."""
        if self.held is not None:
            part = slice(self.holders.indptr[cell], self.holders.indptr[cell + 1])
            gave, units = self.holders.data[part], self.holders.indices[part]
            order = np.argsort(-gave, kind="stable")
            return [(int(units[i]), -1) for i in order.tolist() if gave[i] > least]
        contributions: Any = self.problem.primary.contributions
        leaves = self.under.indices[self.under.indptr[cell] : self.under.indptr[cell + 1]]
        both = np.stack([contributions.first[leaves], contributions.second[leaves]], axis=1)
        place, k = np.nonzero(both > least)
        order = np.argsort(-both[place, k], kind="stable")
        pairs = zip(leaves[place[order]].tolist(), k[order].tolist(), strict=True)
        return list(pairs)

    def needs(self, cell: int, group: tuple[Who, ...]) -> tuple[float, float]:
        """Return how far below and above its value a group must believe a cell possible."""
        contributions: Any = self.problem.primary.contributions
        inside = [who for who in group if self._is_in(who, cell)]
        if len(inside) > 1:  # the rules think of one contributor of the cell itself
            return 0.0, 0.0
        own = sum(self.gave(who, cell) for who in inside)
        room = min(self.problem.room[cell], self.problem.value[cell] - own)
        lower, upper = contributions.levels(cell, own)
        rest = self.problem.primary
        return min(lower, rest.lower[cell], room), min(upper, float(rest.upper[cell]))

    def gave(self, who: Who, cell: int) -> float:
        """Return what a contributor gave to a cell."""
        cells, amounts = self.gifts(who)
        return float(amounts[min(np.searchsorted(cells, cell), len(cells) - 1)])

    def _is_in(self, who: Who, cell: int) -> bool:
        """Tell whether a contributor stands in a cell; in another table, by his amount."""
        if cell in self.gifts(who)[0]:
            return True
        contributions: Any = self.problem.primary.contributions
        relations, floor = self.problem.relations, self.problem.primary.floor
        is_other = len(relations.grids) > 1 and not relations.is_joint and not np.any(floor)
        return is_other and self.gave(who, cell) in {
            contributions.first[cell],
            contributions.second[cell],
        }

    def known(self, group: tuple[Who, ...], cells: Integers) -> tuple[Floats, Integers]:
        """Return what a group gave to each of some cells, and how many of it did."""
        gave, number = np.zeros(len(cells)), np.zeros(len(cells), np.int64)
        for who in group:
            part, amounts = self.gifts(who)
            place = np.minimum(np.searchsorted(part, cells), len(part) - 1)
            is_in = part[place] == cells
            gave[is_in] += amounts[place[is_in]]
            number[is_in] += 1
        return gave, number

    def _demands(self, pairs: Sequence[tuple[int, tuple[Who, ...]]]) -> Demands:
        contributions: Any = self.problem.primary.contributions
        parts: list[tuple[Integers, Floats, Floats]] = []
        for cell, group in pairs:
            every = [self.gifts(who)[0] for who in group]
            cells = np.unique(np.concatenate(every)).astype(np.int64)
            cells = cells[cells != cell]
            gave, number = self.known(group, cells)
            is_whole = number >= contributions.number[cells]
            fall = np.where(is_whole, 0.0, np.maximum(self.problem.value[cells] - gave, 0.0))
            is_told = is_whole | (fall < self.problem.room[cells])
            rise = np.where(is_whole, 0.0, np.inf)
            parts.append((cells[is_told], fall[is_told], rise[is_told]))
        needs = np.array([self.needs(cell, group) for cell, group in pairs])
        demands = Demands(
            cell=np.array([cell for cell, _ in pairs]),
            lower=needs[:, 0],
            upper=needs[:, 1],
            starts=np.cumsum([0, *(len(part[0]) for part in parts)]),
            known=np.concatenate([part[0] for part in parts]),
            fall=np.concatenate([part[1] for part in parts]),
            rise=np.concatenate([part[2] for part in parts]),
        )
        is_told = np.any(self.problem.primary.floor) and np.any(self.problem.unseen)
        return self._without_floors(demands) if is_told else demands

    def _without_floors(self, demands: Demands) -> Demands:
        """Ask for no less than each reader knows a cell to be at least, were all hidden.

        Who is in a part that no table shows knows of one more than readers of the other parts.
        """
        attack, lower = Attack(self.problem.relations), demands.lower.copy()
        can_move = self.problem.value != 0
        room = np.where(can_move, self.problem.room, 0.0)
        rise = np.where(can_move, self.problem.rise, 0.0)
        for d in np.flatnonzero(lower > 0).tolist():
            down, up = demands.limited(d, room, rise)
            cell, most = int(demands.cell[d]), float(lower[d])
            reach = attack.reach(cell, sign=-1, down=down, up=up, most=most)
            lower[d] = (
                max(reach.distance, 0.0) if reach.distance < most * (1 - _LEAST) else most
            )
        return replace(demands, lower=np.where(lower > _LEAST, lower, 0.0))


class _Side:
    """One cell, up or down: the changes that move it so, and who does not believe in them."""

    def __init__(
        self, attackers: Attackers, cell: int, sign: int, changes: Sequence[Change]
    ) -> None:
        self.attackers, self.problem = attackers, attackers.problem
        self.cell, self.sign = cell, sign
        self.given: Any = self.problem.primary.contributions
        #: cells and their moves, that of the cell one up or down
        self.ways: list[tuple[Integers, Floats]] = []
        self.used: set[int] = set()
        #: whether all who are not listed believe in changes that were used
        self.is_complete = True
        for change in changes:
            own = float(change.moves[np.searchsorted(change.cells, cell)])
            self.ways.append((change.cells, change.moves * (sign / own)))
        self.own = attackers.largest(cell)[:2]

    def unguarded(self) -> Iterator[tuple[Who, ...]]:
        """Find contributors, and pairs, who believe in none of the changes.

        A group that believes in none does not believe in the first, and one that stays when
        one of it is taken out does not believe in the first that this one believes in.
        """
        most = max(self._needs((who,)) for who in (*self.own, None))
        way = self._first((), most)
        if most <= 0:
            return
        if way is None:
            self.is_complete = False
            return
        first, alone = self._doubting(way, most), set()
        for who in first:
            if self._is_unguarded((who,)):
                alone.add(who)
                yield (who,)
        if self.problem.coalition > 1:
            self.is_complete = not alone
            pairs = {*self._together(way, most)}
            for who in first:
                pairs |= {*self._partners(who)}
            for pair in sorted(tuple(sorted(pair)) for pair in pairs):
                if not alone & {*pair} and self._is_unguarded(pair):
                    yield pair

    def _partners(self, who: Who) -> Iterator[tuple[Who, Who]]:
        """Yield pairs of one with all who may not believe in what he believes in."""
        is_inside = self._is_inside(who)
        for other in (None,) if is_inside else (None, *self.own):
            # what the rules ask for against him and the largest of the cell, and so on
            need = self._needs((who,) if other is None else (who, other))
            if need <= 0:
                continue
            way = self._first((who,), need)
            if way is None:
                if other is not None:
                    yield who, other
                continue
            for partner in self._doubting(way, need, beside=who):
                yield who, partner

    def _is_inside(self, who: Who) -> bool:
        return self.cell in self.attackers.gifts(who)[0]

    def _needs(self, group: tuple[Who | None, ...]) -> float:
        members = tuple(who for who in group if who is not None)
        return self.attackers.needs(self.cell, members)[self.sign > 0]

    def _is_unguarded(self, group: tuple[Who, ...]) -> bool:
        need = self._needs(group)
        return need > 0 and self._first(group, need) is None

    def _first(self, group: tuple[Who, ...], need: float) -> tuple[Integers, Floats] | None:
        """Return the first change that a group believes in, so far."""
        for number, way in enumerate(self.ways):
            if self._suits(way, need, group):
                self.used.add(number)
                return way
        return None

    def _suits(self, way: tuple[Integers, Floats], need: float, group: tuple[Who, ...]) -> bool:
        cells, moves = way[0], way[1] * need
        value, room = self.problem.value[cells], self.problem.room[cells]
        near = _EXACT * np.abs(value) + 1e-6 * need
        if ((-moves > room + near) | (moves > self.problem.rise[cells] + near)).any():
            return False
        if not group:
            return True
        gave, number = self.attackers.known(group, cells)
        doubts = (number > 0) & (
            (number >= self.given.number[cells]) | (-moves > value - gave + near)
        )
        return not doubts[cells != self.cell].any()

    def _doubting(
        self, way: tuple[Integers, Floats], need: float, *, beside: Who | None = None
    ) -> list[Who]:
        """List all who may not believe in a change, alone or beside somebody, in order."""
        cells = way[0]
        remainder = self.problem.value[cells] + np.minimum(way[1] * need, 0.0)
        group = () if beside is None else (beside,)
        gave, number = self.attackers.known(group, cells)
        is_whole = self.given.number[cells] <= 1 + number
        doubtful = (is_whole | (self.given.first[cells] + gave > remainder)) & (
            cells != self.cell
        )
        contributors: set[Who] = set()
        for cell, least in zip(
            cells[doubtful].tolist(),
            np.where(is_whole, 0.0, remainder - gave)[doubtful].tolist(),
            strict=True,
        ):
            contributors |= set(self._above(cell, least, beside=beside))
        return sorted(contributors - {beside})

    def _above(self, cell: int, least: float, *, beside: Who | None = None) -> Iterator[Who]:
        """Yield the contributors of a cell who gave more than something."""
        for who in self.attackers.largest(cell, least):
            # of the contributors of a cell elsewhere, the largest knows most; then the second
            is_next = beside == (who[0], 0) and self.given.number[who[0]] > 1
            if who[1] < 1 or is_next or self._is_inside(who):
                yield who

    def _second(self, who: Who, cell: int, least: float) -> Iterator[Who]:
        """Yield the second largest of the finest cell of the largest, if he gave as much."""
        other = (who[0], 1)
        is_there = who[1] == 0 and self.given.number[who[0]] > 1
        if is_there and other in self.attackers.largest(cell, least):
            yield other

    def _together(self, way: tuple[Integers, Floats], need: float) -> Iterator[tuple[Who, Who]]:
        """Yield pairs in one cell that moves, of whom one alone may believe in the change."""
        cells = way[0]
        remainder = self.problem.value[cells] + np.minimum(way[1] * need, 0.0)
        is_two = self.given.number[cells] == 2
        both = self.given.first[cells] + self.given.second[cells]
        doubtful = (is_two | (both > remainder)) & (cells != self.cell)
        rest = np.where(is_two, 0.0, remainder - self.given.first[cells])
        for cell, least, most in zip(
            cells[doubtful].tolist(), rest[doubtful], remainder[doubtful], strict=True
        ):
            single = [*self._above(cell, least)]
            both_of = {second for one in single for second in self._second(one, cell, least)}
            for one, other in itertools.combinations(sorted({*single} | both_of), 2):
                if (
                    not least
                    or sum(self.attackers.gave(who, cell) for who in (one, other)) > most
                ):
                    yield one, other


def _by_holding(contributions: Contributions | None, over: Any) -> tuple[Any, Any]:
    """Return what every holding gave to every cell, by holding and by cell, if any attack."""
    from scipy.sparse import csr_array

    if contributions is None or contributions.held is None:
        return None, None
    units, cells, amounts = contributions.held
    shape = (int(units.max(initial=-1)) + 1, over.shape[0])
    product = (csr_array((amounts, (units, cells)), shape=shape) @ over).tocsr()
    product.sort_indices()
    return product, product.T.tocsr()


def _containing(relations: Relations) -> Any:
    """Return a sparse matrix, 1 where a finest cell lies in a cell; itself is in itself."""
    from scipy.sparse import coo_array, csr_array, eye_array

    n, rows = relations.n_cells, relations.rows
    child, parent = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for sign in (1, -1):
        is_total = relations.signs == sign
        times = np.bincount(rows, relations.signs * sign > 0, minlength=relations.n_relations)
        total = np.full(relations.n_relations, -1)
        total[rows[is_total]] = relations.cells[is_total]
        total[times != 1] = -1
        if sign < 0:  # of two cells that are the same, the first is the total
            total[np.diff(relations.starts) == 2] = -1
        part = (total[rows] >= 0) & (relations.signs * sign < 0)
        child.append(relations.cells[part])
        parent.append(total[rows[part]])
    up = coo_array(
        (
            np.ones(sum(map(len, child)), np.int8),
            (np.concatenate(child), np.concatenate(parent)),
        ),
        shape=(n, n),
    ).tocsr()
    is_finest = np.bincount(np.concatenate(parent), minlength=n) == 0
    matrix = eye_array(n, dtype=np.int8, format="csr").multiply(is_finest[:, None]).tocsr()
    matrix.eliminate_zeros()
    while True:
        closure = csr_array(matrix + matrix @ up)
        closure.data[:] = 1
        if closure.nnz == matrix.nnz:
            closure.sort_indices()
            return closure
        matrix = closure
