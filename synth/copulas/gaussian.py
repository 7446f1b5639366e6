"""The Gaussian copula, and correlation matrices that noise has bent."""

import numpy as np
from numpy.typing import ArrayLike

from footing.arrays import Floats
from footing.messages import Message, Shape
from synth.errors import SynthError

_LEAST_EIGENVALUE = 1e-8


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
        raise SynthError(
            Message(
                "A correlation matrix must be square, not of shape {shape}.",
                shape=Shape(values.shape),
            )
        )
    if not np.isfinite(values).all():
        raise SynthError(Message("A correlation matrix must have finite entries."))
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
