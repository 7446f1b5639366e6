"""Small counts rounded so that all tables add up, larger ones as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ckm.methods.additivity.controlled_rounding import nearer_by_moves
from ckm.methods.additivity.equations import TableSums

if TYPE_CHECKING:
    from footing.arrays import Flags, Floats, Integers


def round_small(sums: TableSums, inner: Integers, *, base: int) -> Integers:
    """Round the inner counts below the base to it or to 0, near the true table.

    Parameters
    ----------
    sums
        Which inner counts every cell adds up.
    inner
        The inner counts, all above 0.
    base
        What small counts become, or 0.

    Returns
    -------
    numpy.ndarray
        The inner counts, of which those of the base and more are as they were.

    Notes
    -----
    As many counts become the base as keep the sum of all of them to the nearest multiple. One
    after the other, that count is raised which lies in the cells with most left over: the
    column that has the largest product with what is not yet explained. Then single counts and
    pairs change as long as that brings the table nearer in least squares.

    References
    ----------
    Ø. Langsrud and J. Heldal (2018), An Algorithm for Small Count Rounding of Tabular Data,
    Privacy in Statistical Databases 2018, Valencia; the package SmallCountRounding of R.
    """
    places = np.flatnonzero(inner < base)
    output = inner.copy()
    if places.size:
        part = TableSums(matrix=sums.matrix[:, places].tocsr(), inner=np.arange(len(places)))
        counts = inner[places].astype(np.float64)
        start = np.where(_raised(part, counts, base=base), float(base), 0.0)
        near = nearer_by_moves(part, start, part.matrix @ counts, base=base, most=base)
        output[places] = np.rint(near).astype(np.int64)
    return output


def _raised(part: TableSums, counts: Floats, *, base: int) -> Flags:
    """Choose which counts become the base, one after the other."""
    lines, columns = part.matrix, part.matrix.tocsc()
    slopes = columns.T @ (lines @ counts)  # of what is left over in the cells of each count
    is_raised = np.zeros(len(counts), bool)
    for _ in range(int(np.floor(counts.sum() / base + 0.5))):
        place = int(np.where(is_raised, -np.inf, slopes).argmax())
        is_raised[place] = True
        for cell in columns.indices[columns.indptr[place] : columns.indptr[place + 1]]:
            slopes[lines.indices[lines.indptr[cell] : lines.indptr[cell + 1]]] -= base
    return is_raised
