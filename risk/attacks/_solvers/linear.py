"""Least squares over published sums: counts from noisy sums that overlap."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from risk.errors import RiskError
from risk.wellformed import read_array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_HALF = 0.5 + 1e-9  # halves go up, whatever the last digits


def read_sums(
    queries: ArrayLike, answers: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Read sums of columns and what was published for them."""
    asked, seen = read_array(queries, name="queries"), read_array(answers, name="answers")
    fits = asked.ndim == 2 and seen.shape == asked.shape[:1] and 0 not in asked.shape
    if not fits or asked.dtype.kind not in "biuf" or seen.dtype.kind not in "biuf":
        raise RiskError("queries must have one row of numbers per answer, which is a number.")
    asked, seen = asked.astype(np.float64), seen.astype(np.float64)
    if not np.isfinite(asked).all() or not np.isfinite(seen).all():
        raise RiskError(
            "queries and answers must be finite numbers.", hint="leave out what was refused"
        )
    return asked, seen


def least_squares(queries: ArrayLike, answers: ArrayLike) -> NDArray[np.float64]:
    """Solve for what each column holds; the shortest solution where several are as good."""
    asked, seen = read_sums(queries, answers)
    return np.asarray(np.linalg.lstsq(asked, seen, rcond=None)[0], np.float64)


def rebuild_counts(queries: ArrayLike, answers: ArrayLike) -> NDArray[np.int64]:
    """Guess counts from noisy counts of sums of them, rounded, halves going up."""
    rounded = np.floor(least_squares(queries, answers) + _HALF)
    return np.maximum(rounded, 0).astype(np.int64)
