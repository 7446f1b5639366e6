"""Linear reconstruction: one bit per person from counts of many subsets of them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from footing.checks import is_integer, is_number
from risk.attacks._solvers.linear import least_squares, read_sums
from risk.errors import RiskError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Method = Literal["least-squares", "linear-program"]


def decode_bits(
    queries: ArrayLike, answers: ArrayLike, *, method: Method = "least-squares"
) -> NDArray[np.bool_]:
    """Guess each person's bit from counts of subsets, whoever published them.

    References
    ----------
    C. Dwork, F. McSherry, K. Talwar (2007), The price of privacy and the limits of LP
    decoding, STOC.
    """
    if method not in {"least-squares", "linear-program"}:
        raise RiskError(f"method must be 'least-squares' or 'linear-program', not {method!r}.")
    if method == "least-squares":
        return least_squares(queries, answers) > 0.5
    asked, seen = read_sums(queries, answers)
    from scipy.optimize import linprog
    from scipy.sparse import csr_matrix, hstack, identity

    n_queries, n_people = asked.shape
    slack = identity(n_queries, format="csr")
    equations: Any = hstack([csr_matrix(asked), slack, -slack])
    solved = linprog(
        np.concatenate([np.zeros(n_people), np.ones(2 * n_queries)]),
        A_eq=equations,
        b_eq=seen,
        bounds=[(0, 1)] * n_people + [(0, None)] * (2 * n_queries),
        method="highs",
    )
    if solved.x is None:
        raise RiskError("The linear program of the bits has no solution.")
    return np.asarray(solved.x[:n_people]) > 0.5


def expected_share_right(
    *, n_people: int, n_queries: int, variance: float, share_asked: float = 0.5
) -> float:
    """Approximate the share of bits that least squares gets right.

    A solution is off by a normal error of variance ``V / (s (1 - s) (q - n - 1))``, the mean of
    the inverse Wishart law of the queries, and a bit is right while the error is below a half.
    """
    fits = is_integer(n_people, minimum=1) and is_integer(n_queries, minimum=n_people + 2)
    is_noise = is_number(variance, above=0)
    if not fits or not is_noise or not is_number(share_asked, above=0, below=1):
        raise RiskError(
            "The approximation needs n_queries above n_people + 1, a positive variance and "
            "share_asked between 0 and 1."
        )
    spare = n_queries - n_people - 1
    deviation = math.sqrt(variance / (share_asked * (1 - share_asked) * spare))
    return 0.5 * (1 + math.erf(0.5 / deviation / math.sqrt(2)))
