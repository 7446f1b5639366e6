"""Logistic regression of a yes or no that was answered by randomised response."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dp.errors import DPError
from footing.messages import Message

_ROUNDS, _HALVINGS = 200, 40
_CLOSE = 1e-10  # gain of log-likelihood, by its own size, that ends the search
_ALIKE = 1e10  # condition of the information above which covariates depend on each other
_FAR = 30.0  # log-odds that no data support: the likelihood has no maximum


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class ResponseFit:
    """Coefficients of a logistic regression on randomised answers.

    Parameters
    ----------
    coefficients
        The intercept, then one for each covariate, of the log-odds of a true yes.
    covariance
        Their estimated covariances, from the information of the randomised answers.
    log_likelihood
        Of the answers.

    Examples
    --------
    >>> fit = ResponseFit(
    ...     coefficients=np.zeros(1), covariance=np.array([[0.04]]), log_likelihood=-1.0
    ... )
    >>> fit.standard_errors
    array([0.2])
    """

    coefficients: NDArray[np.float64]
    covariance: NDArray[np.float64]
    log_likelihood: float

    @property
    def standard_errors(self) -> NDArray[np.float64]:
        """Square roots of the variances."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))


def response_regression(
    answers: ArrayLike, covariates: ArrayLike, *, transition: ArrayLike
) -> ResponseFit:
    """Fit the log-odds of a true yes to covariates, by maximum likelihood.

    Parameters
    ----------
    answers
        0 or 1, as people answered.
    covariates
        A row for each answer, without a column of ones. They are not randomised: what is
        published of the fit protects the answers alone.
    transition
        ``transition[i][j]``, the chance to answer ``j`` if ``i`` is true, as
        `RandomisedResponse.transition`; for a Boolean of RAPPOR
        ``[[1 - p*, p*], [1 - q*, q*]]``.

    Raises
    ------
    DPError
        If the answers and covariates do not fit, or the likelihood has no maximum.

    Notes
    -----
    With the chance of a true yes ``y = 1 / (1 + exp(-x b))`` an answer is yes with
    ``m = t01 (1 - y) + t11 y``. Fisher's scoring on ``b`` with halved steps has the maximum
    that Blair, Imai and Zhou find by EM. The covariance is the inverse information,
    ``(t11 - t01)² y² (1 - y)² / (m (1 - m))`` a row: what noise costs is in it.

    References
    ----------
    Blair, Imai, Zhou 2015, "Design and analysis of the randomized response technique", JASA
    110.

    Examples
    --------
    >>> from dp import RandomisedResponse
    >>> design = RandomisedResponse.warner(direct=0.8)
    >>> rng = np.random.default_rng(1)
    >>> age = rng.normal(size=4000)
    >>> truths = (rng.random(4000) < 1 / (1 + np.exp(1 - age))).astype(int)
    >>> given = design.answer(truths, generator=rng)
    >>> fit = response_regression(given, age[:, None], transition=design.transition)
    >>> fit.coefficients.round(1), fit.standard_errors.round(2)
    (array([-1.1,  1.1]), array([0.08, 0.1 ]))
    """
    responses, rows, (low, high) = _checked(answers, covariates, transition)
    scale = np.maximum(np.abs(rows).max(axis=0), 1e-300)
    rows = rows / scale
    coefficients = np.zeros(rows.shape[1])
    gained = _likelihood(coefficients, responses, rows, low, high)
    for _ in range(_ROUNDS):
        score, information = _derivatives(coefficients, responses, rows, low, high)
        step = np.linalg.lstsq(information, score, rcond=None)[0]
        for _ in range(_HALVINGS):
            after = _likelihood(coefficients + step, responses, rows, low, high)
            if after >= gained:
                break
            step = step / 2
        else:
            break
        coefficients, before, gained = coefficients + step, gained, after
        if gained - before <= _CLOSE * abs(gained):
            break
    information = _derivatives(coefficients, responses, rows, low, high)[1]
    if np.abs(rows @ coefficients).max() > _FAR or not np.linalg.cond(information) < _ALIKE:
        raise DPError(
            Message(
                "The likelihood has no maximum: some group answers as if all of it meant "
                "yes, or no, or covariates depend on each other."
            ),
            hint=Message("leave covariates out, or join their categories"),
        )
    return ResponseFit(
        coefficients=coefficients / scale,
        covariance=np.linalg.inv(information) / np.outer(scale, scale),
        log_likelihood=gained,
    )


def _chances(
    coefficients: NDArray[np.float64], rows: NDArray[np.float64], low: float, high: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give the chance of a true yes, and of a yes as answered."""
    from scipy.special import expit

    true = expit(rows @ coefficients)
    return true, np.clip(low + (high - low) * true, 1e-300, 1 - 1e-16)


def _likelihood(
    coefficients: NDArray[np.float64],
    responses: NDArray[np.bool_],
    rows: NDArray[np.float64],
    low: float,
    high: float,
) -> float:
    yes = _chances(coefficients, rows, low, high)[1]
    return float(np.log(np.where(responses, yes, 1 - yes)).sum())


def _derivatives(
    coefficients: NDArray[np.float64],
    responses: NDArray[np.bool_],
    rows: NDArray[np.float64],
    low: float,
    high: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give the score and the expected information."""
    true, yes = _chances(coefficients, rows, low, high)
    slope = (high - low) * true * (1 - true)
    weight = slope / (yes * (1 - yes))
    return rows.T @ (weight * (responses - yes)), (rows.T * (weight * slope)) @ rows


def _checked(
    answers: ArrayLike, covariates: ArrayLike, transition: ArrayLike
) -> tuple[NDArray[np.bool_], NDArray[np.float64], tuple[float, float]]:
    responses, rows = np.asarray(answers), np.asarray(covariates, dtype=np.float64)
    chances = np.asarray(transition, dtype=np.float64)
    if responses.ndim != 1 or not responses.size or not np.isin(responses, (0, 1)).all():
        raise DPError(Message("Answers are 0 or 1, in one list."))
    if rows.ndim != 2 or len(rows) != len(responses) or not np.isfinite(rows).all():
        raise DPError(Message("Covariates are finite numbers, a row for each answer."))
    is_law = chances.shape == (2, 2) and np.allclose(chances.sum(axis=1), 1)
    if not is_law or (chances < 0).any() or chances[0, 1] == chances[1, 1]:
        raise DPError(
            Message(
                "The transition must be two rows of two chances, and the rows must differ."
            ),
            hint=Message("take the transition of a RandomisedResponse with two answers"),
        )
    ones = np.ones((len(rows), 1))
    return responses == 1, np.hstack([ones, rows]), (float(chances[0, 1]), float(chances[1, 1]))
