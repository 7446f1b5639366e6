"""A smaller problem with the same solutions: equal cells are one, and no sum is told twice."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ckm.methods.suppression.secondary.cover import Change
from ckm.methods.suppression.secondary.problem import Demands, Problem, ranges

if TYPE_CHECKING:
    from ckm.methods.suppression.relations import Relations
    from footing.arrays import Flags, Integers

#: No table has as many levels one above the other.
_MOST_LEVELS = 200


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Merging:
    """A problem whose cells are classes of cells of another one that are always equal.

    Parameters
    ----------
    whole
        The other problem.
    problem
        The smaller one.
    of_cell
        For every cell of the other problem, the class that it is in.
    """

    whole: Problem
    problem: Problem
    of_cell: Integers

    def hidden(self, hidden: Flags) -> Flags:
        """Tell which cells are hidden where these classes are: all but the unseen ones."""
        problem = self.whole
        is_unseen = problem.must_hide & ~problem.primary.is_primary
        return np.asarray(hidden[self.of_cell] | is_unseen)

    def change(self, change: Change) -> Change:
        """Move every cell of each class."""
        order, starts = self._members()
        sizes = np.diff(starts)[change.cells]
        cells = ranges(starts, change.cells, order)
        place = np.argsort(cells)
        return Change(cells=cells[place], moves=np.repeat(change.moves, sizes)[place])

    def demands(self, demands: Demands) -> Demands:
        """Ask the same of one primary cell of each class, with all that readers know."""
        order, starts = self._members()
        is_primary = self.whole.primary.is_primary
        first = np.full(len(starts) - 1, -1)
        primary = np.flatnonzero(is_primary)[::-1]
        first[self.of_cell[primary]] = primary
        sizes = np.diff(starts)[demands.known]
        ends = np.concatenate([[0], np.cumsum(sizes)])
        return Demands(
            cell=first[demands.cell],
            lower=demands.lower,
            upper=demands.upper,
            starts=ends[demands.starts],
            known=ranges(starts, demands.known, order),
            fall=np.repeat(demands.fall, sizes),
            rise=np.repeat(demands.rise, sizes),
        )

    def _members(self) -> tuple[Integers, Integers]:
        order = np.argsort(self.of_cell, kind="stable")
        n_classes = self.problem.relations.n_cells
        return order, np.searchsorted(self.of_cell[order], np.arange(n_classes + 1))


def merged(problem: Problem) -> Merging:
    """Take cells that every table that adds up has equal for one.

    Notes
    -----
    Each total is written as one of its sums, that of the fewest parts, so that every cell is a
    sum of cells that are no totals. Cells of the same sum are one class, and a relation that
    follows from these sums is left out. Where a class would have to be hidden and published,
    nothing is merged.
    """
    relations, n = problem.relations, problem.relations.n_cells
    alone = Merging(whole=problem, problem=problem, of_cell=np.arange(n))
    if problem.insiders is not None or not relations.n_relations:
        return alone
    own = _by_leaves(relations)
    if own is None:
        return alone
    leaves, _ = own
    marks = np.random.default_rng(0).integers(1, 2**62, leaves.shape[1]).astype(np.uint64)
    key = leaves.astype(np.int64).astype(np.uint64) @ marks
    _, first, number = np.unique(key, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    of_cell = rank[number.ravel()]
    is_primary = problem.primary.is_primary
    if _any(of_cell, _visible(problem))[of_cell[is_primary]].any():
        return alone
    smaller = _of_classes(problem, of_cell)
    return Merging(whole=problem, problem=smaller, of_cell=of_cell)


def _totals(relations: Relations) -> Integers:
    """Return the total of each relation, which is all other cells together; -1 for none."""
    rows, signs = relations.rows, relations.signs
    n_rows = relations.n_relations
    is_unit = np.bincount(rows, np.abs(signs) != 1, minlength=n_rows) == 0
    totals = np.full(n_rows, -1)
    for sign in (-1, 1):
        mask = signs == sign
        once = is_unit & (np.bincount(rows, mask, minlength=n_rows) == 1)
        entries = np.flatnonzero(mask & once[rows])
        totals[rows[entries]] = relations.cells[entries]
    return totals


def _by_leaves(relations: Relations) -> tuple[Any, Integers] | None:
    """Write every cell as a sum of cells that are no totals; and by which relations."""
    from scipy.sparse import coo_array, eye_array

    n, totals = relations.n_cells, _totals(relations)
    order = np.lexsort((np.arange(len(totals)), np.diff(relations.starts)))
    order = order[totals[order] >= 0]
    cells, place = np.unique(totals[order], return_index=True)
    rows = order[place]
    part = relations.matrix[rows].tocoo()
    row, column = part.coords
    total = cells[row]
    sign = np.ones(len(rows), np.int64)
    sign[row[column == total]] = part.data[column == total]
    other = column != total
    weight = -part.data[other] * sign[row[other]]
    below = coo_array((weight, (total[other], column[other])), shape=(n, n)).tocsr()
    is_leaf = np.ones(n, bool)
    is_leaf[cells] = False
    unit = eye_array(n, dtype=np.int64, format="csr")[:, np.flatnonzero(is_leaf)].tocsr()
    leaves = unit
    for _ in range(_MOST_LEVELS):
        higher = (unit + below @ leaves).tocsr()
        if higher.nnz == leaves.nnz and not abs(higher - leaves).count_nonzero():
            return leaves, rows
        leaves = higher
    return None


def _of_classes(problem: Problem, of_cell: Integers) -> Problem:
    """State the problem of the classes."""
    n, primary = int(of_cell.max()) + 1, problem.primary
    relations = _distinct(problem.relations, of_cell, n)
    first = np.zeros(n, np.int64)
    first[of_cell[::-1]] = np.arange(len(of_cell))[::-1]
    is_primary = _any(of_cell, primary.is_primary)
    unseen = np.zeros(len(of_cell), bool) if problem.unseen is None else problem.unseen
    is_unseen = ~_any(of_cell, ~np.asarray(unseen, bool))
    value = problem.value[first]
    floor = _most(of_cell, problem.value - problem.room, n)
    if not np.any(primary.floor):
        floor = np.zeros(n)
    return Problem(
        relations=relations,
        values=value,
        primary=replace(
            primary,
            is_primary=is_primary,
            lower=_most(of_cell, primary.lower, n),
            upper=_most(of_cell, primary.upper, n),
            floor=np.minimum(floor, value),
            ceiling=np.maximum(value, -_most(of_cell, -(problem.value + problem.rise), n)),
            contributions=_contributions(problem, of_cell, n),
        ),
        costs=np.bincount(of_cell, problem.cost, minlength=n),
        kept=_any(of_cell, _visible(problem)) & ~is_primary,
        coalition=problem.coalition,
        unseen=is_unseen,
        hides_zeros=problem.hides_zeros,
    )


def _contributions(problem: Problem, of_cell: Integers, n: int) -> Any:
    """Take of each class what is known of the cell of which most is."""
    contributions = problem.primary.contributions
    if contributions is None:
        return None
    return replace(
        contributions,
        number=-_most(of_cell, -contributions.number, n).astype(np.int64),
        first=_most(of_cell, contributions.first, n),
        second=_most(of_cell, contributions.second, n),
        lower=np.stack([_most(of_cell, line, n) for line in contributions.lower]),
        upper=np.stack([_most(of_cell, line, n) for line in contributions.upper]),
        held=None
        if contributions.held is None
        else (contributions.held[0], of_cell[contributions.held[1]], contributions.held[2]),
    )


def _distinct(relations: Relations, of_cell: Integers, n: int) -> Relations:
    """Return the sums of classes, without those that follow from others."""
    from scipy.sparse import coo_array

    place = (relations.rows, of_cell[relations.cells])
    shape = (relations.n_relations, n)
    matrix = coo_array((relations.signs, place), shape=shape).tocsr()
    matrix.eliminate_zeros()
    matrix.sort_indices()
    matrix = matrix[np.diff(matrix.indptr) > 0]
    every = _with(relations, matrix, n)
    own = _by_leaves(every)
    if own is None:
        return every
    leaves, rows = own
    left = np.abs(matrix @ leaves).sum(axis=1) != 0
    left[rows] = True
    return _with(relations, matrix[np.flatnonzero(left)], n)


def _with(relations: Relations, matrix: Any, n: int) -> Relations:
    starts, cells = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64)
    signs = matrix.data.astype(np.int64)
    return replace(relations, starts=starts, cells=cells, signs=signs, n_cells=n, left=())


def _visible(problem: Problem) -> Flags:
    none = np.zeros(len(problem.value), bool)
    return none if problem.kept is None else np.asarray(problem.kept, bool)


def _any(of_cell: Integers, flags: Any) -> Flags:
    return np.asarray(np.bincount(of_cell, flags) > 0)


def _most(of_cell: Integers, numbers: Any, n: int) -> Any:
    most = np.full(n, -np.inf)
    np.maximum.at(most, of_cell, np.asarray(numbers, np.float64))
    return most
