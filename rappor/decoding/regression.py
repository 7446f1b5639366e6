"""Weighted least squares of the bits on the candidates, some fitted together, others alone."""

from __future__ import annotations  # the lowest scipy has no csc_array[…]

from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.lapack import dpstrf
from scipy.sparse import csc_array, hstack

from footing.arrays import Floats, Integers
from footing.messages import Message
from rappor.counts import Counts
from rappor.errors import RapporError
from rappor.parameters import Parameters

#: A share of all clients, and its variance.
Share: TypeAlias = tuple[float, float]
#: A column of which the others leave less than this share is one of their combinations.
_DEPENDENT = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Observed:
    """The bits of the cohorts that sent a report.

    Parameters
    ----------
    rows
        Their places, cohort after cohort.
    ones, n
        Reports with a 1 there, and all reports of the cohort.
    share
        The unbiased share of clients whose value sets the bit; noise may take it out of [0, 1].
    parameters
        What the reports were made with.
    """

    rows: Integers
    ones: Floats
    n: Floats
    share: Floats
    parameters: Parameters

    def expected(self, share: Floats) -> Floats:
        """Give the probability of a 1 where this share of clients sets the bit."""
        p, q = self.parameters.p_star, self.parameters.q_star
        return p + (q - p) * np.clip(share, 0.0, 1.0)

    def weights(self, share: Floats) -> Floats:
        """Give one over the binomial variance where this share of clients sets the bit.

        A bit that is certain to be 0 or 1 counts as if half a report said otherwise. Shares
        of hashed symbols add up to 1 in a cohort: weights without the second factor are
        those of generalised least squares with their covariance.
        """
        p, q = self.parameters.p_star, self.parameters.q_star
        least = 0.5 / (self.n + 1)
        chance = np.clip(self.expected(share), least, 1 - least)
        is_alone = self.parameters.response == "bits" or self.parameters.hash == "index"
        return self.n * (q - p) ** 2 / (chance * (1 - chance) if is_alone else chance)


def observe(counts: Counts) -> Observed:
    """Free counts of the noise; cohorts without reports say nothing and are left out.

    A bit that a share x of the clients sets is reported as 1 with probability
    p* + (q* - p*) x, hence x is estimated as (ones / n - p*) / (q* - p*).
    """
    if counts.total == 0:
        raise RapporError(
            Message("There is no report to decode."), hint=Message("sum reports first")
        )
    shape = counts.parameters
    cohorts = np.flatnonzero(counts.n)
    rows = (cohorts[:, None] * shape.n_bits + np.arange(shape.n_bits)).ravel()
    ones = counts.ones[cohorts].ravel().astype(float)
    n = np.repeat(counts.n[cohorts], shape.n_bits).astype(float)
    share = (ones / n - shape.p_star) / (shape.q_star - shape.p_star)
    return Observed(rows=rows, ones=ones, n=n, share=share, parameters=shape)


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
    sums
        Rows that the others tell: one a cohort of symbols, but for the sum of all shares.
    """

    columns: csc_array[np.float64]
    weighted: csc_array[np.float64]
    target: Floats
    weights: Floats
    projected: Floats
    squares: Floats
    sums: int

    @classmethod
    def of(
        cls, design: csc_array[np.float64], observed: Observed, share: Floats | float
    ) -> Self:
        """Set up the equations of one period."""
        weights = observed.weights(np.broadcast_to(share, design.shape[0]))
        return cls.weighing(
            design,
            observed.share,
            weights,
            height=rest_height(observed),
            sums=_sums(observed),
        )

    @classmethod
    def weighing(
        cls,
        design: csc_array[np.float64],
        target: Floats,
        weights: Floats,
        *,
        height: float,
        sums: int,
    ) -> Self:
        """Set up the equations of any sum of shares, whose variances are known."""
        n_rows = design.shape[0]
        rest = csc_array(np.full((n_rows, 1), height))
        columns = csc_array(hstack([design, rest], format="csc"))
        weighted = columns.copy()
        weighted.data *= weights[weighted.indices]
        n_columns = columns.shape[1]
        places = np.repeat(np.arange(n_columns), np.diff(columns.indptr))
        return cls(
            columns=columns,
            weighted=weighted,
            target=target,
            weights=weights,
            projected=np.asarray(weighted.T @ target),
            squares=np.bincount(places, weighted.data * columns.data, n_columns).astype(float),
            sums=sums,
        )

    @property
    def n_candidates(self) -> int:
        """How many columns are candidates."""
        return int(self.columns.shape[1]) - 1

    def gram(self, places: Integers) -> Floats:
        """Give chosen columns times each other, weighted."""
        product = self.columns[:, places].T @ self.weighted[:, places]
        return np.asarray(product.todense())

    def products(self, places: Integers) -> Floats:
        """Give chosen columns times all columns, weighted."""
        few = self.columns[:, places]
        if len(places) < self.n_candidates / 8:  # columns of a dense array are faster then
            return np.asarray(self.weighted.T @ few.toarray()).T
        return np.asarray((few.T @ self.weighted).todense())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fit:
    """An estimate for every candidate, as shares of all clients.

    Parameters
    ----------
    estimates, variances
        Of each candidate; not a number and infinite where the bits cannot tell.
    rest
        The share of all that was not fitted; None where the bits cannot tell.
    total
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

    estimates: Floats
    variances: Floats
    rest: Share | None
    total: Share
    dispersion: float | None
    freedom: int
    fitted: Floats
    kept: Integers
    gram: Floats

    @property
    def inflation(self) -> float:
        """What variances are multiplied by: the dispersion, and never less than 1."""
        return max(1.0, self.dispersion or 1.0)


def fit(normal: Normal, members: Integers) -> Fit:
    """Fit some candidates together, and every other one beside them.

    With all candidates as members this is weighted least squares. A candidate that is not one
    is estimated by the fit of the members and itself, all others counting as noise, which the
    dispersion measures.
    """
    last, squares = normal.n_candidates, normal.squares
    offered = np.append(np.asarray(members, np.int64), last)
    products = normal.products(offered)
    keep = _independent(products[:, offered], most=len(normal.target))
    basis, products = offered[keep], products[keep]
    factor = _factor(products[:, basis])
    own = _solve(factor, normal.projected[basis])
    prediction = np.asarray(normal.columns[:, basis] @ own)
    residual = normal.target - prediction
    freedom = len(residual) - len(basis) - normal.sums
    chi2 = float(normal.weights @ residual**2)
    dispersion = chi2 / freedom if freedom > 0 else None
    inflation = max(1.0, dispersion or 1.0)
    residuals = squares - (products * _solve(factor, products)).sum(axis=0)
    alone = residuals > _DEPENDENT * squares
    alone[basis] = False
    estimates, variances = np.full(last + 1, np.nan), np.full(last + 1, np.inf)
    score = np.asarray(normal.weighted.T @ residual)
    estimates[alone] = score[alone] / residuals[alone]
    variances[alone] = inflation / residuals[alone]
    inverse = _solve(factor, np.eye(len(basis))) * inflation
    estimates[basis], variances[basis] = own, np.diag(inverse)
    has_rest = bool(basis.size) and basis[-1] == last
    return Fit(
        estimates=estimates[:last],
        variances=variances[:last],
        rest=(float(own[-1]), float(inverse[-1, -1])) if has_rest else None,
        total=(float(own.sum()), float(inverse.sum())),
        dispersion=dispersion,
        freedom=freedom,
        fitted=prediction,
        kept=basis,
        gram=products[:, basis],
    )


def _sums(observed: Observed) -> int:
    """Count rows that the others tell."""
    shape = observed.parameters
    if shape.response == "bits":
        return 0
    return max(0, len(observed.rows) // shape.n_bits - 1)


def rest_height(observed: Observed) -> float:
    """Give the chance that a string nobody knows sets a given bit."""
    shape = observed.parameters
    if shape.hash == "index":
        return 0.0  # a value without a name has a bit of its own
    return 1.0 - (1.0 - 1.0 / shape.n_bits) ** shape.n_hashes


def solved(gram: Floats, right: Floats) -> Floats:
    """Solve normal equations; of columns that depend on each other any solution will do."""
    try:
        return np.asarray(cho_solve(cho_factor(gram), right))
    except LinAlgError:
        return np.asarray(np.linalg.lstsq(gram, right, rcond=None)[0], np.float64)


def _factor(gram: Floats) -> Any:
    return cho_factor(gram) if gram.size else None


def _solve(factor: Any, right: Floats) -> Floats:
    return cho_solve(factor, right) if factor is not None else np.zeros_like(right)


def _independent(gram: Floats, *, most: int) -> Integers:
    """Choose columns that are no combinations of others; the last one comes last."""
    basis = np.empty(0, np.int64)
    members = np.flatnonzero(np.diag(gram)[:-1] > 0)
    if members.size:
        scale = np.sqrt(np.diag(gram)[members])
        scaled = gram[np.ix_(members, members)] / np.outer(scale, scale)
        _, pivots, rank, _ = dpstrf(scaled, tol=_DEPENDENT)
        basis = np.sort(members[pivots[:rank] - 1])
    square, last = gram[-1, -1], len(gram) - 1
    if square == 0 or len(basis) >= most:
        return basis
    if basis.size:
        across = gram[basis, -1]
        residual = square - across @ cho_solve(cho_factor(gram[np.ix_(basis, basis)]), across)
        if residual <= _DEPENDENT * square:
            return basis
    return np.append(basis, last)
