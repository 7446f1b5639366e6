"""Additive tables of whole numbers, or of multiples of a base: controlled rounding."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ckm.errors import ReleaseError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ckm.methods.sums import TableSums

    Numbers = NDArray[np.float64]

__all__ = ["round_additive", "round_exactly"]

_MOST_SWEEPS = 20
_MOST_CELLS = 2_000


def round_additive(
    sums: TableSums, published: Numbers, start: Numbers, *, base: int = 1
) -> NDArray[np.int64]:
    """Find a near table of multiples of a base that adds up, of any size.

    Parameters
    ----------
    sums
        What adds up to what.
    published
        The published numbers, to which the result is near.
    start
        A table that adds up, such as that of `nearest_additive`.
    base
        Every number is a multiple of it.

    Notes
    -----
    Running sums of the inner cells are rounded, so that the sum of any run of neighbours is
    off by less than the base. Then single inner cells go up or down by the base as long as
    that brings the table nearer in least squares. The result is a local optimum.

    Examples
    --------
    >>> from ckm.published import PublishedTable
    >>> from ckm.methods.sums import TableSums
    >>> table = PublishedTable(
    ...     dimensions={"sex": (np.array([0, 1, 2], np.int32), ["Total", "F", "M"])},
    ...     measures={"count": np.array([12, 3, 6])},
    ... )
    >>> y = table.measures["count"].astype(float)
    >>> round_additive(TableSums.of_table(table), y, np.array([11.0, 4, 7])).tolist()
    [11, 4, 7]
    """
    running = np.rint(np.cumsum(start[sums.inner]) / base)
    inner = np.maximum(np.diff(running, prepend=0.0), 0.0) * base
    rest = (sums.matrix @ inner - published).tolist()
    columns = sums.matrix.tocsc()
    ends, rows = columns.indptr.tolist(), columns.indices.tolist()
    cells = inner.tolist()
    for _ in range(_MOST_SWEEPS):
        n_moved = 0
        for place, cell in enumerate(cells):
            held = rows[ends[place] : ends[place + 1]]
            slope = sum([rest[row] for row in held])
            least = base * len(held) / 2
            if slope > least + 1e-9 and cell >= base:
                step = -base
            elif slope < -least - 1e-9:
                step = base
            else:
                continue
            cells[place] = cell + step
            n_moved += 1
            for row in held:
                rest[row] += step
        if not n_moved:
            break
    whole: NDArray[np.int64] = np.rint(sums.matrix @ np.array(cells)).astype(np.int64)
    return whole


def round_exactly(
    sums: TableSums,
    published: Numbers,
    *,
    base: int,
    lower: Numbers,
    upper: Numbers,
    limit_s: float = 60.0,
) -> NDArray[np.int64]:
    """Find the table of multiples of a base that adds up and deviates least in total.

    Parameters
    ----------
    sums
        What adds up to what.
    published
        The published numbers.
    base
        Every number is a multiple of it.
    lower, upper
        The bounds of every cell.
    limit_s
        Seconds that the program may take.

    Raises
    ------
    ReleaseError
        If the table is too large for a program in whole numbers, if no such table lies within
        the bounds, or none was proven best in time.

    Notes
    -----
    Minimises ``Σ |z - y|`` over ``z = base · A n``, with ``n`` whole: controlled rounding
    where the bounds are the neighbouring multiples of the base. The first cells, which are
    totals, weigh up to 1 % more, so that of equally near tables one is chosen.

    References
    ----------
    J. J. Salazar-González (2006), Controlled rounding and cell perturbation: statistical
    disclosure limitation methods for tabular data, Mathematical Programming 105.

    Examples
    --------
    >>> from ckm.published import PublishedTable
    >>> from ckm.methods.sums import TableSums
    >>> table = PublishedTable(
    ...     dimensions={"sex": (np.array([0, 1, 2], np.int32), ["Total", "F", "M"])},
    ...     measures={"count": np.array([12, 3, 6])},
    ... )
    >>> y = table.measures["count"].astype(float)
    >>> round_exactly(TableSums.of_table(table), y, base=3, lower=y - 3, upper=y + 3).tolist()
    [12, 3, 9]
    """
    from scipy import sparse
    from scipy.optimize import Bounds, LinearConstraint, milp

    n_cells, n_inner = sums.matrix.shape
    if n_cells > _MOST_CELLS:
        raise ReleaseError(
            f"A program in whole numbers takes at most {_MOST_CELLS:,} cells.",
            hint="leave out exact=True for larger tables",
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
    found = milp(
        np.concatenate([np.zeros(n_inner), weights]),
        constraints=[above, below, inside],
        integrality=np.concatenate([np.ones(n_inner), np.zeros(n_cells)]),
        bounds=Bounds(0, np.inf),
        options={"time_limit": limit_s, "mip_rel_gap": 0.0},
    )
    if found.status != 0:
        raise ReleaseError(
            f"No table of multiples of {base} that adds up lies within the bounds."
            if found.status == 2
            else f"No best table was found within {limit_s:g} s.",
            hint="widen the bound, or leave out exact=True",
        )
    steps: NDArray[np.int64] = np.rint(sums.matrix @ np.rint(found.x[:n_inner])).astype(
        np.int64
    )
    return steps * base
