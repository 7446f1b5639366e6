"""Tables of the same records: which of their cells are combinations of others.

Records that stand in the same cells of all tables are one group, so that every cell is a set
of groups, and a relation between cells one between these sets.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ckm.errors import CheckFailedError
from ckm.methods.suppression.grid import Grid
from footing.arrays import Integers
from footing.messages import Message

#: Cells and their weights, whose sum is 0.
Sum = tuple[Integers, Integers]

#: Sums of 2**15 products stay below 2**63.
_PRIME = 2**24 - 3
_MAX_DENSE = 3_000
_MAX_FILL = 300_000_000
_MAX_WEIGHT, _MAX_DIVISOR = 10_000, 60
_TRIES = 3


def same_cells(grids: Sequence[Grid], leaves: Sequence[Integers]) -> list[Integers]:
    """Give the cells of some tables numbers, those of the same records the same.

    Every group has a random number of 64 bits; cells of the same sum are taken for the same.
    Among a million cells, two others agree with a probability below 1e-7.
    """
    n_groups = len(leaves[0]) if leaves else 0
    rng = np.random.default_rng(0)
    mark = rng.integers(0, 2**63, n_groups, np.uint64) * 2 + 1
    sums = []
    for grid, leaf in zip(grids, leaves, strict=True):
        own = np.zeros(len(grid), np.uint64)
        is_in = leaf >= 0
        np.add.at(own, leaf[is_in], mark[is_in])
        sums.append(roll_up(grid, np.unique(leaf[is_in])) @ own)
    _, first, number = np.unique(np.concatenate(sums), return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))  # whatever the order of groups is
    ends = np.cumsum([len(part) for part in sums])[:-1]
    return np.split(rank[number.ravel()], ends)


def roll_up(grid: Grid, leaves: Integers) -> Any:
    """Return a sparse matrix that adds up the finest cells to every cell of a table."""
    from scipy.sparse import csr_array

    rows, columns = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for ranks in _above(grid, [rank[leaves] for rank in grid.ranks], 0):
        is_there = np.all([rank >= 0 for rank in ranks], axis=0)
        cell = grid.find([rank[is_there] for rank in ranks])
        rows.append(cell[cell >= 0])
        columns.append(leaves[is_there][cell >= 0])
    place = (np.concatenate(rows), np.concatenate(columns))
    ones = np.ones(len(place[0]), np.uint64)
    return csr_array((ones, place), shape=(len(grid), len(grid)))


def _above(grid: Grid, ranks: list[Integers], axis: int) -> Iterator[list[Integers]]:
    """Yield the categories of cells, and those above them, in every combination of axes."""
    if axis == len(ranks):
        yield ranks
        return
    tree, own = grid.parents[axis], ranks[axis]
    while (own >= 0).any():
        yield from _above(grid, [*ranks[:axis], own, *ranks[axis + 1 :]], axis + 1)
        own = np.where(own >= 0, tree[own], -1)


def sums_between(
    grids: Sequence[Grid], leaves: Sequence[Integers], numbers: Sequence[Integers]
) -> list[Sum]:
    """Find sums over cells of several tables, from which all others follow.

    With ``A`` the finest cells of all tables by groups, 1 where a group is in a cell, every
    sum that holds whatever the groups are is a vector of the null space of ``A'``. With ``W``
    random weights of the groups, that of ``A W A'`` is the same, but for bad luck. Computed
    modulo a prime it may only be larger: no sum is missed, and each is checked in whole
    numbers. Tables all of whose finest cells another table shows add nothing.
    """
    tables = _needed(leaves, numbers)
    if len(tables) < 2 or not leaves[0].size:
        return []
    from scipy.sparse import csr_array

    starts = np.cumsum([0, *(len(grids[t]) for t in tables)])
    groups = np.stack(
        [
            np.where(leaves[t] >= 0, leaves[t] + start, -1)
            for t, start in zip(tables, starts[:-1], strict=True)
        ]
    )
    groups = np.unique(groups, axis=1)
    table, group = np.nonzero(groups >= 0)
    cells, column = np.unique(groups[table, group], return_inverse=True)
    inside = csr_array(
        (np.ones(len(group), np.int64), (column.ravel(), group)),
        shape=(len(cells), groups.shape[1]),
    )
    vectors = _null_space(inside)
    parts = []
    for t, start, end in zip(tables, starts[:-1], starts[1:], strict=True):
        mine = np.flatnonzero((cells >= start) & (cells < end))
        up = roll_up(grids[t], np.unique(leaves[t][leaves[t] >= 0])).astype(np.int64)
        parts.append((numbers[t], up, cells[mine] - start, vectors[:, mine]))
    sums, keys = [], set()
    for r in range(vectors.shape[0]):
        cell, weight = _added_up([_shortened(*part, r) for part in parts])
        key = (cell.tobytes(), weight.tobytes())
        if len(cell) and key not in keys:
            keys.add(key)
            sums.append((cell, weight))
    return sums


def sums_of_groups(
    grids: Sequence[Grid],
    leaves: Sequence[Integers],
    numbers: Sequence[Integers],
    rest: Sequence[Sum],
) -> list[Sum]:
    """Write finest cells and remainders as sums of groups, the cells of the last table.

    All sums between tables follow from these, and that no group holds less than nothing.
    """
    from scipy.sparse import csr_array, vstack

    is_in = leaves[-1] >= 0
    own = numbers[-1][leaves[-1][is_in]]
    pairs = list(zip(grids, [leaf[is_in] for leaf in leaves[:-1]], strict=False))
    inside = vstack([by_group(grid, leaf) for grid, leaf in pairs]).tocsr()
    starts = np.cumsum([0, *(len(grid) for grid, _ in pairs)])
    row = np.zeros(1 + max(int(number.max(initial=-1)) for number in numbers), np.int64)
    row[np.concatenate(numbers[:-1])] = np.arange(starts[-1])
    finest = [
        np.unique(leaf[leaf >= 0]) + s for (_, leaf), s in zip(pairs, starts, strict=False)
    ]
    whole = np.concatenate(numbers[:-1])[np.concatenate(finest)]
    parts = [(int(cell), inside[[row[cell]]]) for cell in np.unique(whole).tolist()]
    parts += [
        (int(cell[-1]), csr_array(weight[None, :-1]) @ inside[row[cell[:-1]]])
        for cell, weight in rest
    ]
    sums = []
    for cell, groups in parts:
        part = own[groups.indices[groups.data != 0]]
        if part.tolist() != [cell]:
            cells = np.append(cell, np.sort(part))
            sums.append((cells, np.array([1] + [-1] * len(part))))
    return sums


def remainders(
    grids: Sequence[Grid],
    leaves: Sequence[Integers],
    numbers: Sequence[Integers],
    *,
    n_cells: int,
) -> list[Sum]:
    """Find what is left of the cells of a table without those of another that lie in them."""
    tables = _needed(leaves, numbers)
    if len(tables) < 2 or not leaves[0].size:
        return []
    groups = np.unique(np.stack([leaves[t] for t in tables]), axis=1)
    rng = np.random.default_rng(1)
    mark = rng.integers(0, 2**62, groups.shape[1], np.int64)
    inside = [by_group(grids[t], leaf) for t, leaf in zip(tables, groups, strict=True)]
    marks = [matrix @ mark for matrix in inside]
    earlier = {int(m) for part in marks for m in part}
    sums: list[Sum] = []
    for t, u in itertools.permutations(range(len(tables)), 2):
        sizes, own_numbers = inside[u].sum(axis=1), numbers[tables[u]]
        both = (inside[t] @ inside[u].T).tocsr()
        for cell in range(both.shape[0]):
            part = slice(both.indptr[cell], both.indptr[cell + 1])
            within = both.indices[part][both.data[part] == sizes[both.indices[part]]]
            parts = _disjoint(inside[u], within[np.argsort(-sizes[within], kind="stable")])
            remainder = int((marks[t][[cell]] - marks[u][parts].sum())[0])  # arrays wrap around
            if not parts or remainder == 0 or remainder in earlier:
                continue
            earlier.add(remainder)
            new = [numbers[tables[t]][cell], *own_numbers[parts], n_cells + len(sums)]
            sums.append((np.array(new), np.array([1] + [-1] * (len(new) - 1))))
    return sums


def by_group(grid: Grid, leaf: Integers) -> Any:
    """Return a sparse matrix of a table's cells by groups, 1 where a group is in a cell."""
    from scipy.sparse import csr_array

    is_in = np.flatnonzero(leaf >= 0)
    own = csr_array(
        (np.ones(len(is_in), np.int64), (leaf[is_in], is_in)), shape=(len(grid), len(leaf))
    )
    return (roll_up(grid, np.unique(leaf[is_in])).astype(np.int64) @ own).tocsr()


def _disjoint(inside: Any, cells: Integers) -> list[int]:
    """Take cells one after another that share no group with those before."""
    choice, covered = [], np.zeros(inside.shape[1], bool)
    for cell in cells.tolist():
        own = inside.indices[inside.indptr[cell] : inside.indptr[cell + 1]]
        if len(own) and not covered[own].any():
            covered[own] = True
            choice.append(cell)
    return choice


def _needed(leaves: Sequence[Integers], numbers: Sequence[Integers]) -> list[int]:
    """List the tables whose finest cells are not all cells of a table that is listed."""
    finest = [np.unique(n[leaf[leaf >= 0]]) for n, leaf in zip(numbers, leaves, strict=True)]
    tables: list[int] = []
    for t in sorted(range(len(finest)), key=lambda t: (-len(finest[t]), -len(numbers[t]))):
        if not any(np.isin(finest[t], numbers[c]).all() for c in tables):
            tables.append(t)
    return tables


def _shortened(number: Integers, up: Any, leaves: Integers, vectors: Any, row: int) -> Sum:
    """Write a sum over finest cells with as few cells of the table as a greedy choice finds."""
    part = slice(vectors.indptr[row], vectors.indptr[row + 1])
    place, weight = leaves[vectors.indices[part]], vectors.data[part]
    if len(place) < 2:
        return number[place], weight
    values = np.zeros(up.shape[1], np.int64)
    values[place] = weight
    touched = np.unique(up[:, place].tocoo().coords[0].astype(np.int64))
    sub = up[touched]
    size, first, second = sub.sum(axis=1), sub @ values, sub @ values**2
    alike = np.flatnonzero((size * second == first**2) & (first != 0))
    cells, weights = [], []
    for candidate in alike[np.argsort(-size[alike], kind="stable")].tolist():
        own = sub.indices[sub.indptr[candidate] : sub.indptr[candidate + 1]]
        if (values[own] == 0).any():
            continue
        cells.append(int(touched[candidate]))
        weights.append(int(values[own[0]]))
        values[own] = 0
    return number[cells], np.array(weights, np.int64)


def _added_up(parts: Sequence[Sum]) -> Sum:
    """Join the parts of a sum, cells that are the same once."""
    cell = np.concatenate([part[0] for part in parts])
    cells, place = np.unique(cell, return_inverse=True)
    weight = np.zeros(len(cells), np.int64)
    np.add.at(weight, place, np.concatenate([part[1] for part in parts]))
    cells, weight = cells[weight != 0], weight[weight != 0]
    if len(cells):
        weight = weight // np.gcd.reduce(weight)
    return cells, weight


class _BadLuckError(Exception):
    """A random number was 0 modulo the prime."""


def _null_space(inside: Any) -> Any:
    """Return whole vectors, one a row, from which all follow that are 0 on every group."""
    rng = np.random.default_rng(0)
    for _ in range(_TRIES):
        weight = rng.integers(1, _PRIME, inside.shape[1])
        scaled = inside.copy()
        scaled.data = weight[inside.indices]
        try:
            vectors = _whole(_modular_null_space(_reduced(scaled @ inside.T)))
        except _BadLuckError:
            continue
        if not (vectors @ inside).count_nonzero():
            return vectors
    raise CheckFailedError(_UNSETTLED, hint=_HINT)


_UNSETTLED = Message(
    "How the tables are linked cannot be settled: they have too many cells in common"
)
_HINT = Message("release fewer tables together, or tables of fewer categories")


def _reduced(matrix: Any) -> Any:
    matrix.data %= _PRIME
    matrix.eliminate_zeros()
    return matrix.tocsr()


def _modular_null_space(matrix: Any) -> Any:
    """Solve by elimination, sparse while that takes out many unknowns at once, then dense."""
    from scipy.sparse import csr_array

    n, alive, stages = matrix.shape[0], np.arange(matrix.shape[0]), []
    while True:
        sizes = np.diff(matrix.indptr)
        is_linked = sizes > 0
        out = _apart(matrix)
        if len(out) < max(1, int(0.05 * is_linked.sum())) or (
            int((sizes[out].astype(np.int64) ** 2).sum()) > _MAX_FILL
        ):
            break
        keep = np.setdiff1d(np.arange(matrix.shape[0]), out)
        pivots = matrix.diagonal()[out].tolist()
        inverse = np.array([pow(pivot, -1, _PRIME) for pivot in pivots], np.int64)
        across = matrix[out][:, keep]
        across.data = across.data * np.repeat(inverse, np.diff(across.indptr)) % _PRIME
        stages.append((alive[out], alive[keep], across))
        matrix = _reduced(matrix[keep][:, keep] - matrix[out][:, keep].T @ across)
        alive = alive[keep]
    linked = np.flatnonzero(np.diff(matrix.indptr) > 0)
    if len(linked) > _MAX_DENSE:
        raise CheckFailedError(_UNSETTLED, hint=_HINT)
    solved = _dense_null_space(matrix[linked][:, linked].toarray())
    free = np.setdiff1d(np.arange(len(alive)), linked)
    row, column = np.nonzero(solved)
    rows = np.concatenate([alive[linked[row]], alive[free]])
    columns = np.concatenate([column, solved.shape[1] + np.arange(len(free))])
    data = np.concatenate([solved[row, column], np.ones(len(free), np.int64)])
    vectors = csr_array((data, (rows, columns)), shape=(n, solved.shape[1] + len(free)))
    for out, keep, across in reversed(stages):
        part = (across @ vectors[keep]).tocoo()
        added = csr_array(
            (-part.data, (out[part.coords[0]], part.coords[1])), shape=vectors.shape
        )
        vectors = _reduced(vectors + added)
    return vectors


def _apart(matrix: Any) -> Integers:
    """Choose unknowns of which no two are linked, of few links first."""
    sizes = np.diff(matrix.indptr)
    order = np.empty(len(sizes), np.int64)
    order[np.lexsort((np.arange(len(sizes)), sizes))] = np.arange(len(sizes))
    row = np.repeat(np.arange(len(sizes)), sizes)
    least = np.full(len(sizes), len(sizes))
    other = matrix.indices != row
    np.minimum.at(least, row[other], order[matrix.indices[other]])
    is_chosen = (sizes > 0) & (order < least)
    if (matrix.diagonal()[is_chosen] == 0).any():
        raise _BadLuckError
    return np.flatnonzero(is_chosen)


def _dense_null_space(matrix: Integers) -> Integers:
    """Return vectors, one a column, that a symmetric matrix maps to 0 modulo the prime."""
    n, free, pivots = len(matrix), [], []
    for c in range(n):
        if matrix[c, c] == 0:
            if matrix[c, c:].any():
                raise _BadLuckError
            free.append(c)
            continue
        pivots.append(c)
        rows = c + 1 + np.flatnonzero(matrix[c + 1 :, c])
        factor = matrix[rows, c] * pow(int(matrix[c, c]), -1, _PRIME) % _PRIME
        columns = c + np.flatnonzero(matrix[c, c:])
        block = np.ix_(rows, columns)
        matrix[block] = (matrix[block] - factor[:, None] * matrix[c, columns]) % _PRIME
    vectors = np.zeros((n, len(free)), np.int64)
    vectors[free, np.arange(len(free))] = 1
    for c in reversed(pivots):
        total = matrix[c, c + 1 :] @ vectors[c + 1 :] % _PRIME
        vectors[c] = -total * pow(int(matrix[c, c]), -1, _PRIME) % _PRIME
    return vectors


def _whole(matrix: Any) -> Any:
    """Write vectors modulo the prime, one a column, in small whole numbers, one a row."""
    vectors = matrix.T.tocsr()
    owner = np.repeat(np.arange(vectors.shape[0]), np.diff(vectors.indptr))
    is_open = np.ones(vectors.shape[0], bool)
    data = vectors.data.copy()
    for divisor in range(1, _MAX_DIVISOR + 1):
        numerators = vectors.data * divisor % _PRIME
        numerators = np.where(numerators > _PRIME // 2, numerators - _PRIME, numerators)
        is_small = np.ones(vectors.shape[0], bool)
        is_small[owner[np.abs(numerators) > _MAX_WEIGHT]] = False
        now = (is_open & is_small)[owner]
        data[now] = numerators[now]
        is_open &= ~is_small
        if not is_open.any():
            break
    else:
        raise _BadLuckError
    vectors.data = data
    return vectors
