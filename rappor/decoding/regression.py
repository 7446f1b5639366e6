"""Weighted least squares of the bits on the candidates, some fitted together, others alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.lapack import dpstrf
from scipy.sparse import csc_array, hstack

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rappor.decoding.observed import Observed

#: A column of which the others leave less than this share is one of their combinations.
_DEPENDENT = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Normal:
    """The weighted normal equations; the last column stands for all that is not a candidate.

    Parameters
    ----------
    columns
        Bits by candidates, and the last column.
    weighted
        The same, each row times its weight.
    target
        The observed shares.
    weights
        One over the variance of each.
    projected
        Every column times the weighted target.
    squares
        Every column's weighted sum of squares.
    """

    columns: csc_array[np.float64]
    weighted: csc_array[np.float64]
    target: NDArray[np.float64]
    weights: NDArray[np.float64]
    projected: NDArray[np.float64]
    squares: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        design: csc_array[np.float64],
        observed: Observed,
        share: NDArray[np.float64] | float,
    ) -> Normal:
        """Set up the equations."""
        n_rows = design.shape[0]
        height = rest_height(observed)
        rest = csc_array(np.full((n_rows, 1), height))
        columns = csc_array(hstack([design, rest], format="csc"))
        weights = observed.weights(np.broadcast_to(share, n_rows))
        weighted = columns.copy()
        weighted.data *= weights[weighted.indices]
        n_columns = columns.shape[1]
        places = np.repeat(np.arange(n_columns), np.diff(columns.indptr))
        return cls(
            columns=columns,
            weighted=weighted,
            target=observed.share,
            weights=weights,
            projected=np.asarray(weighted.T @ observed.share),
            squares=np.bincount(places, weighted.data * columns.data, n_columns).astype(float),
        )

    @property
    def n_candidates(self) -> int:
        """How many columns are candidates."""
        return int(self.columns.shape[1]) - 1

    def gram(self, chosen: NDArray[np.int64]) -> NDArray[np.float64]:
        """Give chosen columns times each other, weighted."""
        made = self.columns[:, chosen].T @ self.weighted[:, chosen]
        return np.asarray(made.todense())

    def products(self, chosen: NDArray[np.int64]) -> NDArray[np.float64]:
        """Give chosen columns times all columns, weighted."""
        few = self.columns[:, chosen]
        if len(chosen) < self.n_candidates / 8:  # columns of a dense array are faster then
            return np.asarray(self.weighted.T @ few.toarray()).T
        return np.asarray((few.T @ self.weighted).todense())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fit:
    """An estimate for every candidate, as shares of all clients.

    Parameters
    ----------
    estimates, variances
        Of each candidate; not a number and infinite where the bits cannot tell.
    rest, rest_variance
        The share of all that was not fitted; None where the bits cannot tell.
    total, total_variance
        The sum of all that was fitted together, the rest among it.
    dispersion
        Weighted squares of the residuals per degree of freedom; None without one. The
        variances hold it where it is above 1.
    freedom
        Degrees of freedom left.
    fitted
        The share of clients that sets each bit, by the fit.
    kept, gram
        The columns fitted together, the rest as the last one, and their weighted products.
    """

    estimates: NDArray[np.float64]
    variances: NDArray[np.float64]
    rest: float | None
    rest_variance: float | None
    total: float
    total_variance: float
    dispersion: float | None
    freedom: int
    fitted: NDArray[np.float64]
    kept: NDArray[np.int64]
    gram: NDArray[np.float64]

    @property
    def inflation(self) -> float:
        """What variances are multiplied by: the dispersion, and never less than 1."""
        return max(1.0, self.dispersion or 1.0)


def fit(normal: Normal, members: NDArray[np.int64]) -> Fit:
    """Fit some candidates together, and every other one beside them.

    With all candidates as members this is weighted least squares. A candidate that is not one
    is estimated by the fit of the members and itself, all others counting as noise, which the
    dispersion measures.
    """
    last, squares = normal.n_candidates, normal.squares
    offered = np.append(np.asarray(members, np.int64), last)
    products = normal.products(offered)
    keep = _independent(products[:, offered], most=len(normal.target))
    kept, products = offered[keep], products[keep]
    factor = _factor(products[:, kept])
    solved = _solve(factor, normal.projected[kept])
    fitted = np.asarray(normal.columns[:, kept] @ solved)
    residual = normal.target - fitted
    freedom = len(residual) - len(kept)
    chi2 = float(normal.weights @ residual**2)
    dispersion = chi2 / freedom if freedom > 0 else None
    inflation = max(1.0, dispersion or 1.0)
    left = squares - (products * _solve(factor, products)).sum(axis=0)
    alone = left > _DEPENDENT * squares
    alone[kept] = False
    estimates, variances = np.full(last + 1, np.nan), np.full(last + 1, np.inf)
    score = np.asarray(normal.weighted.T @ residual)
    estimates[alone] = score[alone] / left[alone]
    variances[alone] = inflation / left[alone]
    inverse = _solve(factor, np.eye(len(kept))) * inflation
    estimates[kept], variances[kept] = solved, np.diag(inverse)
    has_rest = bool(kept.size) and kept[-1] == last
    return Fit(
        estimates=estimates[:last],
        variances=variances[:last],
        rest=float(solved[-1]) if has_rest else None,
        rest_variance=float(inverse[-1, -1]) if has_rest else None,
        total=float(solved.sum()),
        total_variance=float(inverse.sum()),
        dispersion=dispersion,
        freedom=freedom,
        fitted=fitted,
        kept=kept,
        gram=products[:, kept],
    )


def rest_height(observed: Observed) -> float:
    """Give the chance that a string nobody knows sets a given bit."""
    shape = observed.parameters
    if shape.hash == "index":
        return 0.0  # a value without a name has a bit of its own
    return 1.0 - (1.0 - 1.0 / shape.n_bits) ** shape.n_hashes


def _factor(gram: NDArray[np.float64]) -> Any:
    return cho_factor(gram) if gram.size else None


def _solve(factor: Any, right: NDArray[np.float64]) -> NDArray[np.float64]:
    return cho_solve(factor, right) if factor is not None else np.zeros_like(right)


def _independent(gram: NDArray[np.float64], *, most: int) -> NDArray[np.int64]:
    """Choose columns that are no combinations of others; the last one comes last."""
    kept = np.empty(0, np.int64)
    members = np.flatnonzero(np.diag(gram)[:-1] > 0)
    if members.size:
        scale = np.sqrt(np.diag(gram)[members])
        scaled = gram[np.ix_(members, members)] / np.outer(scale, scale)
        _, pivots, rank, _ = dpstrf(scaled, tol=_DEPENDENT)
        kept = np.sort(members[pivots[:rank] - 1])
    square, last = gram[-1, -1], len(gram) - 1
    if square == 0 or len(kept) >= most:
        return kept
    if kept.size:
        across = gram[kept, -1]
        left = square - across @ cho_solve(cho_factor(gram[np.ix_(kept, kept)]), across)
        if left <= _DEPENDENT * square:
            return kept
    return np.append(kept, last)
