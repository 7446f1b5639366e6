"""Tables that add up brought within a bound, block by block, by programs in whole numbers."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from footing.messages import Message

if TYPE_CHECKING:
    from ckm.methods.additivity.equations import TableSums
    from footing.arrays import Floats, Integers

logger = logging.getLogger(__name__)

_BLOCK = 60  # inner counts that a program may change, at first
_LARGEST_BLOCK = 500
_REACH = 1  # multiples by which it may change each
_MAX_PROGRAMS = 400
_NODES = 2_000
_OFF = 1_000.0  # what one more beyond the bound weighs against one nearer to the truth


def within_bound(
    sums: TableSums,
    inner: Integers,
    true: Integers,
    *,
    base: int,
    bound: int,
    is_small: bool,
    limit_s: float,
) -> Integers:
    """Change inner counts by the base until no cell is farther from the truth than the bound.

    Parameters
    ----------
    sums
        Which inner counts every cell adds up.
    inner
        The inner counts as rounded so far; those that are no 0 and no base stay as they are
        where `is_small`.
    true
        The true count of every cell.
    base, bound
        What counts change by, and how far a cell may lie from its true count.
    is_small
        Whether inner counts are 0, the base, or what they were.
    limit_s
        When the search ends at the latest; the number of programs and of their nodes is
        limited before.

    Returns
    -------
    numpy.ndarray
        Inner counts with fewer cells beyond the bound, none if they were found.

    Notes
    -----
    The cell that is farthest beyond the bound, and inner counts of it that lie in other cells
    beyond it or next to it, make a block. Each program is exact for its block: the least sum of
    what is beyond the bound, and then of all deviations, while counts outside stay. A block
    that brings nothing is tried again with twice as many counts.
    """
    ends, size, start = sums.matrix.tocsc(), _BLOCK, time.monotonic()
    inner, n_programs = inner.astype(np.int64), 0
    may_move = np.isin(inner, (0, base)) if is_small else np.ones(len(inner), bool)
    while n_programs < _MAX_PROGRAMS and time.monotonic() - start < limit_s:
        off = np.rint(sums.matrix @ inner).astype(np.int64) - true
        beyond = np.maximum(np.abs(off) - bound, 0)
        if not beyond.any():
            break
        block = _block(sums, beyond, off, may_move, size=size, turn=n_programs)
        left_s = max(limit_s - (time.monotonic() - start), 0.1)
        moved = _moved(
            ends, inner, off, block, base=base, bound=bound, is_small=is_small, limit_s=left_s
        )
        n_programs += 1
        better = np.maximum(np.abs(off + sums.matrix @ (moved - inner)) - bound, 0)
        if better.sum() < beyond.sum():
            inner, size = moved, _BLOCK
        elif size >= min(_LARGEST_BLOCK, int(may_move.sum())):
            break
        else:
            size *= 2
    else:
        logger.info(
            "%s",
            Message(
                "The search for a table within the bound ended after {number} programs.",
                number=n_programs,
            ),
            extra={"event": "rounding out of time"},
        )
    return inner


def _block(
    sums: TableSums,
    beyond: Integers,
    off: Integers,
    may_move: np.ndarray,
    *,
    size: int,
    turn: int,
) -> Integers:
    """Choose the inner counts that may change: those of the worst cell, then their neighbours.

    Of them, those come first whose cells lie on the wrong side most.
    """
    worst = np.flatnonzero(beyond == beyond.max())
    cell = int(worst[turn % len(worst)])
    ends = sums.matrix.indptr
    own = sums.matrix.indices[ends[cell] : ends[cell + 1]]
    score = np.abs(sums.matrix.T @ (beyond * np.sign(off))) + np.abs(sums.matrix.T @ off) / (
        1.0 + np.abs(off).max(initial=0) * len(off)
    )
    is_own = np.zeros(len(may_move), bool)
    is_own[own] = True
    own = np.flatnonzero(is_own & may_move)
    own = own[np.argsort(-score[own], kind="stable")][: max(size // 2, 1)]
    near = np.zeros(len(off))
    near[np.unique(sums.matrix[:, own].tocoo().row)] = 1.0
    width = np.maximum(np.diff(ends), 1)
    closeness = np.where(may_move, sums.matrix.T @ (near / width), 0.0)
    closeness[own] = -1.0
    others = np.argsort(-(closeness + 1e-3 * score * (closeness > 0)), kind="stable")
    others = others[closeness[others] > 0][: size - len(own)]
    return np.concatenate([own, others])


def _moved(
    columns: Any,
    inner: Integers,
    off: Integers,
    block: Integers,
    *,
    base: int,
    bound: int,
    is_small: bool,
    limit_s: float,
) -> Integers:
    """Solve the program of a block; what it finds no better is left as it is."""
    from scipy import sparse
    from scipy.optimize import Bounds, LinearConstraint, milp

    part = sparse.csc_array(columns)[:, block].tocsr()
    rows = np.flatnonzero(np.diff(part.indptr))
    adds, n, m = base * part[rows], len(block), len(rows)
    least = np.maximum(-_REACH, -(inner[block] // base)).astype(np.float64)
    most = np.full(n, float(_REACH))
    if is_small:
        least, most = -(inner[block] == base).astype(float), (inner[block] == 0).astype(float)
    one, none = sparse.eye_array(m), sparse.csr_array((m, m))
    # changes of inner counts, then how far cells lie from the truth, and beyond the bound
    off_float: Floats = off[rows].astype(np.float64)
    constraints = [
        LinearConstraint(sparse.hstack([adds, -one, none]), ub=-off_float),
        LinearConstraint(sparse.hstack([adds, one, none]), lb=-off_float),
        LinearConstraint(sparse.hstack([sparse.csr_array((m, n)), one, -one]), ub=float(bound)),
    ]
    solution = milp(
        np.concatenate([np.zeros(n), np.ones(m), np.full(m, _OFF)]),
        constraints=constraints,
        integrality=np.concatenate([np.ones(n), np.zeros(2 * m)]),
        bounds=Bounds(
            np.concatenate([least, np.zeros(2 * m)]),
            np.concatenate([most, np.full(2 * m, np.inf)]),
        ),
        options={"node_limit": _NODES, "mip_rel_gap": 1e-4, "time_limit": limit_s},
    )
    moved = inner.copy()
    if solution.x is not None:
        moved[block] += base * np.rint(solution.x[:n]).astype(np.int64)
    return moved
