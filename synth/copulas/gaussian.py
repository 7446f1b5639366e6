"""The Gaussian copula, and correlation matrices that noise has bent."""

import numpy as np
from numpy.typing import ArrayLike

from footing.arrays import Floats
from synth.copulas.library import checked_uniforms
from synth.errors import SynthError

_LEAST_EIGENVALUE = 1e-8


def gaussian_density(u: ArrayLike, *, correlation: ArrayLike) -> Floats:
    """Return the density of the Gaussian copula.

    Parameters
    ----------
    u
        One row per point, in (0, 1).
    correlation
        The correlation matrix.

    Notes
    -----
    ``|R|**-0.5 exp(-z' (R**-1 - I) z / 2)`` with ``z`` the normal quantiles of ``u``: the
    density of the normal law over the product of its margins, not the former alone.

    Examples
    --------
    >>> gaussian_density([[0.5, 0.5]], correlation=[[1, 0.6], [0.6, 1]]).round(9)
    array([1.25])
    """
    from scipy.special import ndtri

    matrix = _checked_correlation(correlation)
    points = ndtri(checked_uniforms(u, columns=len(matrix)))
    sign, log_determinant = np.linalg.slogdet(matrix)
    if sign <= 0 or np.linalg.eigvalsh(matrix).min() <= 0:
        raise SynthError(
            "The correlation matrix must be positive definite.",
            hint="nearest_correlation repairs one",
        )
    inner = np.linalg.inv(matrix) - np.eye(len(matrix))
    exponent = np.einsum("ni,ij,nj->n", points, inner, points)
    return np.asarray(np.exp(-0.5 * (log_determinant + exponent)))


def nearest_correlation(matrix: ArrayLike) -> Floats:
    """Turn a symmetric matrix into a correlation matrix.

    Negative eigenvalues are replaced by their size, and the diagonal is scaled back to 1. A
    correlation matrix stays as it is.

    Parameters
    ----------
    matrix
        A square matrix, noisy correlations for instance.

    References
    ----------
    Rousseeuw, Molenberghs 1993; Li, Xiong, Jiang 2014.

    Examples
    --------
    >>> bent = [[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]]
    >>> bool(np.linalg.eigvalsh(nearest_correlation(bent)).min() > 0)
    True
    """
    values = np.asarray(matrix, dtype=np.float64)
    if values.ndim != 2 or values.shape[0] != values.shape[1] or not len(values):
        raise SynthError(f"A correlation matrix must be square, not of shape {values.shape}.")
    if not np.isfinite(values).all():
        raise SynthError("A correlation matrix must have finite entries.")
    values = (values + values.T) / 2
    np.fill_diagonal(values, 1.0)
    sizes, vectors = np.linalg.eigh(values)
    if sizes[0] >= _LEAST_EIGENVALUE:
        return values
    repaired = (vectors * np.maximum(np.abs(sizes), _LEAST_EIGENVALUE)) @ vectors.T
    scale = np.sqrt(np.diag(repaired))
    result: Floats = repaired / np.outer(scale, scale)
    np.fill_diagonal(result, 1.0)
    return result


def correlation_of_taus(taus: Floats, columns: int) -> Floats:
    """Return the correlation matrix that follows from Kendall's taus of all pairs."""
    matrix = np.eye(columns)
    matrix[np.triu_indices(columns, 1)] = np.sin(np.pi / 2 * taus)
    return nearest_correlation(matrix + matrix.T - np.eye(columns))


def _checked_correlation(correlation: ArrayLike) -> Floats:
    matrix = np.asarray(correlation, dtype=np.float64)
    is_square = matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1] and len(matrix) > 0
    if (
        not is_square
        or not np.allclose(matrix, matrix.T)
        or not np.allclose(np.diag(matrix), 1)
    ):
        raise SynthError(
            "A correlation matrix must be square, symmetric, with ones in its middle."
        )
    return matrix
