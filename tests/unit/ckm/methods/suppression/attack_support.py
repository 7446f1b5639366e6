"""Tables of records, and what outsiders and contributors work out; shares no code with ours."""

from __future__ import annotations

import functools
import itertools

import numpy as np
from scipy.optimize import linprog

from ckm.methods.suppression import Frequency, Grid, Percent, Problem, Relations, primary_cells
from tests.unit.ckm.methods.suppression.suppression_support import Given

FLAT, DEEP = [-1, 0, 0, 0], [-1, 0, 0, 1, 1, 2, 2]
SHAPES = [(FLAT,), (DEEP,), (FLAT, FLAT), (DEEP, FLAT), ([-1, 0, 0],) * 3, ([-1, 0, 0],) * 4]
P, MARGIN, LEAST = 10.0, 10.0, 3


class Drawn:
    """A table of records: which of them stand in which cells."""

    def __init__(self, rng, trees, *, is_count=False, largest=3):
        self.is_count = is_count
        leaves = [[c for c in range(len(tree)) if c not in tree] for tree in trees]
        places = list(itertools.product(*leaves))
        sizes = rng.integers(0, largest + 1, len(places))
        sizes[0] = max(sizes[0], 1)
        records = [p for p, n in zip(places, sizes, strict=True) for _ in range(n)]
        amounts = np.ceil(rng.lognormal(3, 1.5, len(records)))
        self.amounts = np.ones(len(records)) if is_count else amounts
        cells = list(itertools.product(*(range(len(tree)) for tree in trees)))
        inside = np.array(
            [
                [
                    all(_lies(tree, own, at) for tree, own, at in zip(trees, r, c, strict=True))
                    for r in records
                ]
                for c in cells
            ]
        )
        there = inside.any(axis=1)
        self.inside = inside[there]
        full = Grid.full(trees)
        grid = Grid(parents=full.parents, ranks=tuple(rank[there] for rank in full.ranks))
        self.values = self.inside @ self.amounts
        self.relations = Relations.of_grids([grid], values=self.values)
        self.first = [records.index(place) for place in records]  # a finest cell's number

    def problem(self, coalition=2, **options):
        if self.is_count:
            primary = primary_cells([Frequency(least=LEAST)], counts=self.values)
        else:
            given = Given.of(*(self.amounts[row] for row in self.inside))
            rules = [Frequency(least=LEAST, margin=MARGIN), Percent(p=P)]
            primary = primary_cells(rules, amounts=given)
        return Problem(
            relations=self.relations,
            values=self.values,
            primary=primary,
            coalition=coalition,
            **options,
        )

    def needs(self, cell, group):
        """Return what a group of contributors must believe possible of a cell; None if all."""
        inside = self.inside[cell]
        others = [r for r in np.flatnonzero(inside) if r not in group]
        number, total = int(inside.sum()), self.values[cell]
        if not others:
            return None
        if self.is_count:
            return (1.0, LEAST - total) if number < LEAST else None
        own = sorted(self.amounts[inside], reverse=True)
        need, rest = 0.0, self.amounts[others].sum()
        if number < LEAST:
            need = MARGIN / 100 * rest
        if total - sum(own[:2]) < P / 100 * own[0]:
            target = self.amounts[others].max()
            need = max(need, P / 100 * target - (rest - target))
        return (need, need) if need > 0 else None

    def groups(self, coalition):
        """Yield nobody, every contributor and every two."""
        yield ()
        n = len(self.amounts)
        if coalition:
            yield from ((r,) for r in range(n))
        if coalition > 1:
            yield from itertools.combinations(range(n), 2)

    def failures(self, hidden, coalition=2):
        """List the cells, sides and groups for whom a cell is not far enough from known."""
        found = []
        cells = np.flatnonzero(hidden)
        matrix = self.relations.matrix.toarray()[:, cells]
        believed = {group: self._believed(group, cells) for group in self.groups(coalition)}
        seen = self.values[None, cells].astype(float)  # tables that somebody believes in
        for own, cell in enumerate(cells):
            for group, ends in believed.items():
                needs = self.needs(cell, group)
                if needs is None or self.inside[cell][list(group)].sum() > 1:
                    continue
                for sign, need in zip((-1, 1), needs, strict=True):
                    value = self.values[cell]
                    aim = max(value - need, ends[own, 0]) if sign < 0 else value + need
                    point = self._farthest(seen, matrix, ends, own, sign, aim)
                    if point is None:
                        continue
                    if sign * (point[own] - aim) < -1e-6 * max(1.0, abs(aim)):
                        found.append((int(cell), sign, group))
                    seen = np.vstack([seen, point])
        return found

    def _believed(self, group, cells):
        """Return between which ends a group knows some cells."""
        gave = self.inside[:, group] @ self.amounts[list(group)]
        floor = np.maximum(gave, self._n_leaves * self.is_count)
        whole = self.inside[:, group].sum(axis=1) == self.inside.sum(axis=1)
        ends = [np.where(whole, self.values, end) for end in (floor, np.inf)]
        return np.stack(ends, axis=1)[cells]

    @functools.cached_property
    def _n_leaves(self):
        """How many finest cells each cell has: none of them is empty."""
        return np.array([len({self.first[r] for r in np.flatnonzero(i)}) for i in self.inside])

    def _farthest(self, seen, matrix, ends, own, sign, aim):  # noqa: PLR0917
        """Move a cell as far as a group believes; None where a table that was seen will do."""
        near = 1e-7 * max(1.0, abs(aim))
        is_in = ((seen >= ends[:, 0] - near) & (seen <= ends[:, 1] + near)).all(axis=1)
        if (is_in & (sign * (seen[:, own] - aim) >= -near)).any():
            return None
        # a point between the truth and a vertex is one as well: ask for no more than the aim
        bounds = ends.copy()
        bounds[own, int(sign > 0)] = min(aim, ends[own, 1]) if sign > 0 else aim
        goal = np.zeros(len(ends))
        goal[own] = -sign
        done = linprog(goal, A_eq=matrix, b_eq=matrix @ seen[0], bounds=bounds)  # the truth
        assert done.status == 0, done.message
        return done.x


def _lies(tree, own, at):
    while own >= 0 and own != at:
        own = tree[own]
    return own == at
