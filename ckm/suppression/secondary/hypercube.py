"""Corners of boxes: cells that rise and fall together and leave every sum as it is."""

from __future__ import annotations

import functools
from typing import TypeAlias

import numpy as np

from ckm.suppression.grid import Grid
from ckm.suppression.secondary.cover import Change, Cover
from ckm.suppression.secondary.region import Incidence
from footing.arrays import Floats, Integers

#: for one axis, the categories that move with the cell and those that move against it
Sides: TypeAlias = tuple[list[int], list[int]]

#: Boxes of more candidates are left to linear programs.
_MAX_CANDIDATES = 300_000


def protect_by_hypercubes(cover: Cover) -> None:
    """Meet demands by boxes, as far as there are boxes that suit.

    Notes
    -----
    Take one other category on each axis, beside that of the cell under the same category
    above. The corners of the box that the two span rise and fall by turns; no sum changes.
    Where the cell is a total of parts, the categories under the two follow, down to the
    finest, and where it is a total over an axis, so do all along one path. The cheapest box is
    taken whose corners are large enough, hidden ones free. Demands without one stay open.

    References
    ----------
    Giessing and Repsilber (2002), Tools and strategies to protect multiple tables with the
    GHQUAR cell suppression engine, in Inference control in statistical databases.
    """
    boxes = [
        _Boxes(cover, grid, number)
        for grid, number in zip(
            cover.problem.relations.grids, cover.problem.relations.numbers, strict=True
        )
    ]
    incidence = Incidence(cover.problem.relations)
    for demand in cover.open_demands().tolist():
        for box in boxes:
            if cover.is_low_met[demand] and cover.is_high_met[demand]:
                break
            change = box.change(demand)
            if change is not None and incidence.keeps_sums(change):
                cover.add(change)


class _Boxes:
    """Boxes in one table."""

    def __init__(self, cover: Cover, grid: Grid, number: Integers) -> None:
        self.cover, self.grid, self.number = cover, grid, number
        self.room = cover.problem.room[number]
        self.can_move = (cover.problem.is_open | cover.problem.must_hide)[number]
        self.base_cost = cover.problem.cost[number]
        self.local = np.full(cover.problem.relations.n_cells, -1)
        self.local[number] = np.arange(len(number))
        self.children = [
            np.split(
                np.argsort(tree, kind="stable"),
                np.searchsorted(np.sort(tree), np.arange(len(tree))),
            )[1:]
            for tree in grid.parents
        ]

    def change(self, demand: int) -> Change | None:
        """Find a cheap box for a demand."""
        demands = self.cover.demands
        cell = int(self.local[demands.cell[demand]])
        if cell < 0:
            return None
        known = self.local[demands.known[demands.known_to(demand)]]
        self.known = known[known >= 0]
        self.need = (float(demands.lower[demand]), float(demands.upper[demand]))
        own = [int(rank[cell]) for rank in self.grid.ranks]
        sides = self._across(own)
        if sides is None or not self._down(sides):
            return None
        cells, signs = self._corners(sides)
        number, place = np.unique(self.number[cells], return_inverse=True)
        moves = np.bincount(place, signs, minlength=len(number))  # cells of the same records
        if not moves[number == demands.cell[demand]].all():
            return None
        return Change(cells=number[moves != 0], moves=moves[moves != 0])

    def _look(self, ranks: list[Integers]) -> tuple[Integers, Floats, Floats]:
        """Return cells, costs and values over a product of categories."""
        cells = self.grid.find(list(np.ix_(*ranks)))
        usable = (cells >= 0) & self.can_move[cells] & ~np.isin(cells, self.known)
        hidden = self.cover.hidden[self.number[cells]]
        cost = np.where(hidden, 0.0, self.base_cost[cells] + 1e-9)
        return cells, np.where(usable, cost, np.inf), np.where(usable, self.room[cells], 0.0)

    def _across(self, own: list[int]) -> list[Sides] | None:
        """Choose the other category on each axis; none where the cell is a total over it."""
        paths: list[Integers] = []
        others: list[Integers] = []
        for axis, rank in enumerate(own):
            path, tree, siblings = [rank], self.grid.parents[axis], np.zeros(0, np.int64)
            while tree[path[-1]] >= 0:
                under = self.children[axis][tree[path[-1]]]
                siblings = under[under != path[-1]]
                if siblings.size:
                    break
                path.append(int(tree[path[-1]]))
            paths.append(np.array(path))
            others.append(siblings)
        sizes = [len(p) + len(o) for p, o in zip(paths, others, strict=True)]
        if np.prod([float(size) for size in sizes]) > _MAX_CANDIDATES:
            return None
        _, cost, value = self._look(
            [np.concatenate(pair) for pair in zip(paths, others, strict=True)]
        )
        rise, fall = value, np.full(value.shape, np.inf)
        for axis, (way, other) in enumerate(zip(paths, others, strict=True)):
            cost, rise, fall = _fold(
                (cost, rise, fall), axis, n_path=len(way), has_other=bool(other.size)
            )
        good = (rise >= self.need[0]) & (fall >= self.need[1]) & np.isfinite(cost)
        if not good.any():
            return None
        best = np.unravel_index(int(np.argmin(np.where(good, cost, np.inf))), cost.shape)
        return [
            (way.tolist(), [int(other[place])] if other.size else [])
            for way, other, place in zip(paths, others, best, strict=True)
        ]

    def _down(self, sides: list[Sides]) -> bool:
        """Follow both categories of each axis down to the finest that the table shows."""
        for axis in range(len(sides)):
            for side in (0, 1):
                while sides[axis][side]:
                    # paths lead up, so the finest stands first
                    children = self.children[axis][sides[axis][side][0]]
                    if not children.size:
                        break
                    chosen = self._child(sides, axis, side, children)
                    if chosen is None:
                        return False
                    if chosen < 0:
                        break
                    sides[axis][side].insert(0, chosen)
        return True

    def _child(
        self, sides: list[Sides], axis: int, side: int, children: Integers
    ) -> int | None:
        """Choose the cheapest large enough; -1 if none is shown, None if none will do."""
        ranks = [np.array([*plus, *minus]) for plus, minus in sides]
        signs = [np.array([1] * len(plus) + [-1] * len(minus)) for plus, minus in sides]
        ranks[axis] = children
        signs[axis] = np.full(len(children), 1 - 2 * side)
        cells, cost, value = self._look(ranks)
        if (cells < 0).all():
            return -1
        sign = functools.reduce(np.multiply.outer, signs)
        rest = tuple(a for a in range(len(sides)) if a != axis)
        total = cost.sum(axis=rest)
        rise = np.where(sign > 0, value, np.inf).min(axis=rest)
        fall = np.where(sign < 0, value, np.inf).min(axis=rest)
        good = (rise >= self.need[0]) & (fall >= self.need[1]) & np.isfinite(total)
        if not good.any():
            return None
        return int(children[int(np.argmin(np.where(good, total, np.inf)))])

    def _corners(self, sides: list[Sides]) -> tuple[Integers, Integers]:
        cells = self.grid.find(
            list(np.ix_(*(np.array([*plus, *minus]) for plus, minus in sides)))
        )
        signs = [np.array([1] * len(plus) + [-1] * len(minus)) for plus, minus in sides]
        sign = functools.reduce(np.multiply.outer, signs)
        shown = cells >= 0
        return cells[shown], sign[shown]


def _fold(
    sums: tuple[Floats, Floats, Floats], axis: int, *, n_path: int, has_other: bool
) -> tuple[Floats, Floats, Floats]:
    """Join the path of an axis with each other category of it.

    Of all cells so far: cost, the least value of those that move with the cell, and against.
    """
    cost, rise, fall = sums
    own = [slice(None)] * cost.ndim
    own[axis] = slice(0, n_path)
    path = tuple(own)
    own[axis] = slice(n_path, None)
    other = tuple(own)
    sum_, with_, against = (
        cost[path].sum(axis=axis, keepdims=True),
        rise[path].min(axis=axis, keepdims=True),
        fall[path].min(axis=axis, keepdims=True),
    )
    if not has_other:
        return sum_, with_, against
    return (
        sum_ + cost[other],
        np.minimum(with_, fall[other]),
        np.minimum(against, rise[other]),
    )
