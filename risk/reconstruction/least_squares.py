"""What sums of cells take from the variance of each cell: the bounds of least squares."""

from collections.abc import Sequence

import numpy as np
from scipy.linalg import solve_triangular

from footing.arrays import Flags


def variance_left(categories: Sequence[Flags], sums: Flags) -> float:
    """Return the least share of the variance of any cell that sums of cells leave.

    Before them, all cells of all levels of some variables are published; every number has
    independent noise of one variance.

    Parameters
    ----------
    categories
        For each variable, the finest categories (columns) that each category of any level
        (rows) holds: the finest ones and the total among them, each set once.
    sums
        For each further number, the finest cells that it adds up, the last variable fastest.

    Notes
    -----
    Let the rows of ``G`` and ``A`` be the finest cells in each published cell and in each sum,
    and ``t`` those in one cell. By Gauss-Markov no linear unbiased estimate of that cell has a
    smaller variance than ``t'(G'G)⁻¹t`` before, and ``t'(G'G + A'A)⁻¹t`` after, in units of the
    noise's. ``G`` is a Kronecker product, and the inverse after is Woodbury's. Whatever the
    system, of the weights ``w`` of an unbiased estimate those of the ``m`` numbers that contain
    one finest cell of ``t`` sum to 1, so that its variance ``w'w`` is at least ``1/m``
    (Cauchy-Schwarz).

    References
    ----------
    Dinur and Nissim (2003), Revealing information while preserving privacy, PODS: with noise
    this small, it is the number of sums that decides.

    Examples
    --------
    >>> two = np.array([[1, 0], [0, 1], [1, 1]], bool)
    >>> float(np.round(variance_left([two, two], np.array([[1, 0, 0, 1]], bool)), 3))
    0.671
    """
    rows = np.asarray(sums, float).reshape(
        len(sums), *(matrix.shape[1] for matrix in categories)
    )
    solved = cells = rows
    before = np.ones(1)
    for axis, matrix in enumerate(np.asarray(of, float) for of in categories):
        inverse = np.linalg.inv(matrix.T @ matrix)
        solved = _along(solved, inverse, axis + 1)
        cells = _along(cells, inverse @ matrix.T, axis + 1)
        before = np.outer(before, (matrix @ inverse * matrix).sum(axis=1)).ravel()
    flat = rows.reshape(len(rows), -1)
    factor = np.linalg.cholesky(np.eye(len(rows)) + flat @ solved.reshape(flat.shape).T)
    solution = solve_triangular(factor, cells.reshape(len(rows), -1), lower=True)
    return float(np.min(1 - (solution**2).sum(axis=0) / before))


def are_cells(categories: Sequence[Flags], sums: Flags) -> Flags:
    """Tell which sums are a cell of some level: of one category of each variable.

    Parameters
    ----------
    categories, sums
        As for `variance_left`.

    Examples
    --------
    >>> two = np.array([[1, 0], [0, 1], [1, 1]], bool)
    >>> are_cells([two, two], np.array([[1, 0, 1, 0], [1, 0, 0, 1]], bool)).tolist()
    [True, False]
    """
    rows = sums.reshape(len(sums), *(matrix.shape[1] for matrix in categories))
    is_cell, sizes = np.ones(len(rows), bool), np.ones(len(rows), np.int64)
    for axis, matrix in enumerate(categories, start=1):
        others = tuple(n for n in range(1, rows.ndim) if n != axis)
        inside = np.asarray(rows.any(axis=others))
        sizes *= inside.sum(axis=1)
        patterns = {row.tobytes() for row in matrix}
        is_cell &= np.fromiter((row.tobytes() in patterns for row in inside), bool, len(rows))
    is_cell &= sizes == sums.sum(axis=1)
    return is_cell


def _along(rows: np.ndarray, matrix: np.ndarray, axis: int) -> np.ndarray:
    return np.moveaxis(np.tensordot(rows, matrix, (axis, 0)), -1, axis)
