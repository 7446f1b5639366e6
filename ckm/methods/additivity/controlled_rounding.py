"""Additive tables of whole numbers, or of multiples of a base: controlled rounding."""

import numpy as np

from ckm.errors import ReleaseError
from ckm.methods.additivity.equations import TableSums
from footing.arrays import Floats, Integers
from footing.messages import Message

_MAX_SWEEPS = 20
_FEW = 1e-4  # moves per inner cell that are not worth another sweep
_LONGEST_LINE = 60
_MAX_CELLS = 2_000


def round_additive(
    sums: TableSums, published: Floats, *, start: Floats, base: int = 1
) -> Integers:
    """Find a near table of multiples of a base that adds up, of any size.

    Running sums of the inner cells are rounded, so that the sum of any run of neighbours is
    off by less than the base. Then single inner cells go up or down by the base, and pairs in
    one line go against each other, as long as that brings the table nearer in least squares.
    The result is near a local optimum.
    """
    inner = round_inner(sums, published, start=start[sums.inner], base=base)
    whole: Integers = np.rint(sums.matrix @ inner).astype(np.int64)
    return whole


def round_inner(sums: TableSums, published: Floats, *, start: Floats, base: int) -> Floats:
    """Return the inner cells of such a table; `start` has a number for each of them."""
    running = np.rint(np.cumsum(start) / base)
    inner = np.maximum(np.diff(running, prepend=0.0), 0.0) * base
    return nearer_by_moves(sums, inner, published, base=base)


def nearer_by_moves(
    sums: TableSums, inner: Floats, published: Floats, *, base: int, most: float = np.inf
) -> Floats:
    """Move inner cells by the base, alone and in pairs, while that brings the table nearer."""
    search = _Search(sums, inner, published, base=float(base), most=most)
    for _ in range(_MAX_SWEEPS):
        n_moved = search.move_cells() + search.move_pairs()
        if n_moved <= _FEW * len(inner):
            break
    return search.inner


class _Search:
    """Local search among tables that add up."""

    def __init__(
        self, sums: TableSums, inner: Floats, published: Floats, *, base: float, most: float
    ) -> None:
        self.inner = inner
        self._base, self._most = base, most - base
        n_cells, n_inner = sums.matrix.shape
        # what is left over, and a 0 for cells that are part of fewer sums than others
        self._rest = np.append(sums.matrix @ inner - published, 0.0)
        columns = sums.matrix.tocsc()
        self._adds = columns.T.tocsr()
        self._n_sums = np.diff(columns.indptr)
        self._sums = np.full((n_inner, int(self._n_sums.max(initial=1))), n_cells)
        place = np.arange(len(columns.indices)) - np.repeat(columns.indptr[:-1], self._n_sums)
        self._sums[np.repeat(np.arange(n_inner), self._n_sums), place] = columns.indices
        ends = sums.matrix.indptr
        sizes = np.diff(ends)
        rows = np.flatnonzero((sizes > 1) & (sizes <= _LONGEST_LINE))
        self._lines = [sums.matrix.indices[ends[row] : ends[row + 1]] for row in rows]
        self._starts = np.cumsum([0, *sizes[rows][:-1].tolist()])
        self._line_cells = np.concatenate([*self._lines, np.zeros(0, np.int32)])
        self._apart = np.array([self._n_apart(line[0], line[1]) for line in self._lines])

    def move_cells(self) -> int:
        """Move single cells up or down by the base where that brings the table nearer."""
        least = self._base * self._n_sums / 2 + 1e-9
        n_moved = 0
        for cell in np.flatnonzero(np.abs(self._slopes()) > least).tolist():
            slope = float(self._rest[self._sums[cell]].sum())
            if slope > least[cell] and self.inner[cell] >= self._base:
                self._move(cell, -self._base)
            elif slope < -least[cell] and self.inner[cell] <= self._most:
                self._move(cell, self._base)
            else:
                continue
            n_moved += 1
        return n_moved

    def move_pairs(self) -> int:
        """Move two cells of one line against each other, which leaves the line's total."""
        n_moved = 0
        for number in self._uneven_lines().tolist():
            line = self._lines[number]
            slope = self._rest[self._sums[line]].sum(axis=1)
            high = np.where(self.inner[line] >= self._base, slope, -np.inf)
            low = np.where(self.inner[line] <= self._most, slope, np.inf)
            down, up = int(line[high.argmax()]), int(line[low.argmin()])
            gain = float(high.max() - low.min())
            if gain > self._base * self._n_apart(down, up) / 2 + 1e-9:
                self._move(down, -self._base)
                self._move(up, self._base)
                n_moved += 1
        return n_moved

    def _uneven_lines(self) -> Integers:
        """Find the lines where moving a pair may pay."""
        if not self._lines:
            return np.zeros(0, np.int64)
        slopes = self._slopes()
        high = np.where(self.inner >= self._base, slopes, -np.inf)
        low = np.where(self.inner <= self._most, slopes, np.inf)
        gain = np.maximum.reduceat(high[self._line_cells], self._starts)
        gain -= np.minimum.reduceat(low[self._line_cells], self._starts)
        return np.flatnonzero(gain > self._base * self._apart / 2 + 1e-9)

    def _slopes(self) -> Floats:
        """Add up what is left over of the sums that each inner cell is part of."""
        slopes: Floats = self._adds @ self._rest[:-1]
        return slopes

    def _n_apart(self, one: int, other: int) -> int:
        """Count the sums that hold one of two cells."""
        return len({*self._sums[one].tolist()} ^ {*self._sums[other].tolist()})

    def _move(self, cell: int, step: float) -> None:
        self.inner[cell] += step
        self._rest[self._sums[cell]] += step
        self._rest[-1] = 0.0


def round_exactly(
    sums: TableSums,
    published: Floats,
    *,
    base: int,
    lower: Floats,
    upper: Floats,
    limit_s: float = 60.0,
) -> Integers:
    """Find the table of multiples of a base that adds up and deviates least in total.

    Notes
    -----
    Minimises ``Σ |z - y|`` over ``z = base · A n``, with ``n`` whole: controlled rounding
    where the bounds are the neighbouring multiples of the base. The first cells, which are
    totals, weigh up to 1 % more, so that of equally near tables one is chosen.

    References
    ----------
    J. J. Salazar-González (2006), Controlled rounding and cell perturbation: statistical
    disclosure limitation methods for tabular data, Mathematical Programming 105.
    """
    from scipy import sparse
    from scipy.optimize import Bounds, LinearConstraint, milp

    n_cells, n_inner = sums.matrix.shape
    if n_cells > _MAX_CELLS:
        raise ReleaseError(
            Message(
                "A program in whole numbers takes at most {max_cells:,} cells.",
                max_cells=_MAX_CELLS,
            ),
            hint=Message("leave out exact=True for larger tables"),
        )
    adds = sums.matrix * base
    weights = 1 + np.arange(n_cells, 0, -1) / (100 * n_cells)
    off = sparse.eye_array(n_cells)
    above = LinearConstraint(sparse.hstack([adds, -off]), ub=published)
    below = LinearConstraint(sparse.hstack([adds, off]), lb=published)
    inside = LinearConstraint(
        sparse.hstack([adds, sparse.csr_array((n_cells, n_cells))]),
        lb=lower - 1e-9,
        ub=upper + 1e-9,
    )
    solution = milp(
        np.concatenate([np.zeros(n_inner), weights]),
        constraints=[above, below, inside],
        integrality=np.concatenate([np.ones(n_inner), np.zeros(n_cells)]),
        bounds=Bounds(0, np.inf),
        options={"time_limit": limit_s, "mip_rel_gap": 0.0},
    )
    if solution.status != 0:
        raise ReleaseError(
            Message(
                "No table of multiples of {base} that adds up lies within the bounds.",
                base=base,
            )
            if solution.status == 2
            else Message("No best table was found within {limit_s:g} s.", limit_s=limit_s),
            hint=Message("widen the bound, or leave out exact=True"),
        )
    steps: Integers = np.rint(sums.matrix @ np.rint(solution.x[:n_inner])).astype(np.int64)
    return steps * base
