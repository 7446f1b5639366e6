"""Tables to suppress, and a second way to judge that shares no code with ours."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from ckm.methods.suppression import Grid, Problem, Relations

#: Investments by activity (lines) and region (columns), totals first, of Fischetti and
#: Salazar (2001); the sensitive cell holds 22.
INVESTMENTS = np.array([190, 45, 101, 44, 80, 20, 50, 10, 49, 8, 19, 22, 61, 17, 32, 12])
SENSITIVE = 11


@dataclass
class Given:
    """Amounts as rules read them."""

    total: np.ndarray
    contributors: np.ndarray
    top: np.ndarray
    top_weight: np.ndarray

    @classmethod
    def of(cls, *cells, width=3):
        top = np.zeros((len(cells), width))
        for row, parts in zip(top, cells, strict=True):
            largest = sorted(parts, reverse=True)[:width]
            row[: len(largest)] = largest
        return cls(
            total=np.array([float(sum(parts)) for parts in cells]),
            contributors=np.array([len(parts) for parts in cells]),
            top=top,
            top_weight=(top > 0).astype(float),
        )


def with_margins(inner, trees=None):
    """Lay a table out with all its totals: relations and values."""
    inner = np.asarray(inner)
    trees = trees or [[-1] + [0] * size for size in inner.shape]
    values = inner
    for axis, tree in enumerate(trees):
        leaves = [c for c in range(len(tree)) if c not in tree]
        above = np.zeros((len(tree), len(leaves)), np.int64)
        for place, category in enumerate(leaves):
            at = category
            while at >= 0:
                above[at, place] = 1
                at = tree[at]
        values = np.moveaxis(np.tensordot(above, values, axes=(1, axis)), 0, axis)
    grid = Grid.full(trees)
    is_there = values.ravel() > 0
    if not is_there.all():
        grid = Grid(parents=grid.parents, ranks=tuple(r[is_there] for r in grid.ranks))
    values = values.ravel()[is_there]
    return Relations.of_grids([grid], values=values), values


def interval(matrix, values, hidden, cell, floor=0):
    """Bound one hidden cell by two programs of scipy's."""
    floors = np.broadcast_to(floor, len(values))
    columns = np.flatnonzero(hidden)
    goal = (columns == cell).astype(float)
    right = -(matrix @ np.where(hidden, 0, values))
    bounds = [(low, None) for low in floors[columns]]
    ends = []
    for sign in (1, -1):
        found = linprog(sign * goal, A_eq=matrix[:, columns], b_eq=right, bounds=bounds)
        ends.append(-sign * np.inf if found.status == 3 else sign * found.fun)
    return ends


def is_protected(problem: Problem, hidden) -> bool:
    """Tell whether a choice of hidden cells meets every demand."""
    matrix, primary = problem.relations.matrix.toarray(), problem.primary
    values, floor = problem.value, np.array(primary.floor, float) * np.ones(len(problem.value))
    while (parts := -(np.minimum(matrix, 0) @ floor)).any():  # a total is not below its parts
        above = np.array(floor)
        for row, least in zip(matrix, parts, strict=True):
            above[row > 0] = np.maximum(above[row > 0], least)
        if (above == floor).all():
            break
        floor = above
    for cell in np.flatnonzero(primary.is_primary):
        for known in [np.zeros(len(values), bool), *_singles(problem)]:
            if known[cell]:
                continue
            seen = np.array(hidden) & ~known
            low, high = interval(matrix, values, seen, cell, floor)
            least = max(values[cell] - primary.lower[cell], floor[cell])
            if low > least + 1e-6 or high < values[cell] + primary.upper[cell] - 1e-6:
                return False
    return True


def _singles(problem: Problem):
    """Give, for everybody who is alone in a finest cell of counts, the cells that he knows."""
    matrix = problem.relations.matrix.toarray()
    if not problem.coalition:
        return
    for cell in np.flatnonzero((problem.value == 1) & ~(matrix > 0).any(axis=0)):
        known = np.arange(len(problem.value)) == cell
        for _ in range(len(known)):  # up, as far as nobody else is
            rows = (matrix[:, known] < 0).any(axis=1)
            known |= (matrix[rows] > 0).any(axis=0) & (problem.value == 1)
        yield known


def cheapest(problem: Problem) -> float:
    """Try every choice of cells, cheapest first; infinite where none protects."""
    cells = np.flatnonzero(problem.is_open)
    choices = sorted(
        (float(problem.cost[list(chosen)].sum()), chosen)
        for size in range(len(cells) + 1)
        for chosen in itertools.combinations(cells.tolist(), size)
    )
    part = problem.relations.matrix.toarray() != 0
    is_primary = problem.primary.is_primary
    for cost, chosen in choices:
        hidden = is_primary.copy()
        hidden[list(chosen)] = True
        alone = (part & hidden).sum(axis=1) == 1
        if (part[alone] & is_primary).any():
            continue
        if is_protected(problem, hidden):
            return cost
    return np.inf
