"""Checks that attacks share: parameters, and what the intruder is measured against."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from footing.checks import problems_of
from risk.errors import RiskError
from risk.wellformed import read_array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def require_integers(what: str, **limits: tuple[Any, int, int | None]) -> None:
    """Raise one error that names every parameter outside its limits."""
    problems = [
        problem
        for name, (value, least, most) in limits.items()
        for problem in problems_of(value, name, is_whole=True, minimum=least, maximum=most)
    ]
    if problems:
        raise RiskError(f"Parameters of {what}: " + "; ".join(problems) + ".")


def truth_of(values: ArrayLike, *, n_columns: int | None = None) -> NDArray[np.int64]:
    """Return what the guesses are compared with, one line per target."""
    truth = read_array(values, name="truth")
    shape = "one per line" if n_columns is None else f"{n_columns} per line"
    fits = truth.ndim == 1 if n_columns is None else truth.shape[1:] == (n_columns,)
    if not fits or not len(truth) or truth.dtype.kind not in "iu" or (truth < 0).any():
        raise RiskError(f"truth must hold whole numbers of 0 or more, {shape}.")
    if int(truth.max()) > 2**53:
        raise RiskError("truth must hold counts of at most 2**53; some are larger.")
    return truth.astype(np.int64)
