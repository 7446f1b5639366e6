"""Regression on randomised answers: beside a direct optimum, EM, and by coverage."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import binom

from dp import DPError, RandomisedResponse, response_regression
from rappor import Parameters, encode
from tables.secret import Secret

BETA = np.array([-0.5, 1.0, -0.8])
DESIGNS = [
    RandomisedResponse.two_coins(),
    RandomisedResponse.warner(direct=0.25),
    RandomisedResponse.forced(truth=0.6),
]


def drawn(seed, n=2000):
    rng = np.random.default_rng(seed)
    rows = np.column_stack([rng.normal(size=n), rng.integers(0, 2, n)])
    truths = (rng.random(n) < expit(BETA[0] + rows @ BETA[1:])).astype(int)
    return rng, rows, truths


def loss(beta, given, rows, transition):
    said = transition[0, 1] + (transition[1, 1] - transition[0, 1]) * expit(
        beta[0] + rows @ beta[1:]
    )
    return -np.log(np.where(given == 1, said, 1 - said)).sum()


@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design.name)
def test_the_fit_is_the_optimum_of_the_likelihood(design):
    rng, rows, truths = drawn(3)
    given = design.answer(truths, generator=rng)
    fit = response_regression(given, rows, transition=design.transition)
    best = minimize(loss, np.zeros(3), args=(given, rows, design.transition))
    assert fit.coefficients == pytest.approx(best.x, abs=1e-3)
    assert fit.log_likelihood == pytest.approx(-best.fun, abs=1e-6)


def test_the_fit_is_where_em_stands_still():
    """One round of Blair, Imai and Zhou: who said so and so meant yes with a chance."""
    design = RandomisedResponse.two_coins()
    rng, rows, truths = drawn(4)
    given = design.answer(truths, generator=rng)
    fit = response_regression(given, rows, transition=design.transition)
    yes = expit(fit.coefficients[0] + rows @ fit.coefficients[1:])
    likely = design.transition[:, given]
    meant = likely[1] * yes / (likely[1] * yes + likely[0] * (1 - yes))
    columns = np.column_stack([np.ones(len(rows)), rows])
    # the score of a logistic regression on these chances
    assert columns.T @ (meant - yes) == pytest.approx(np.zeros(3), abs=1e-2)


def test_the_scale_of_covariates_does_not_matter():
    rng, rows, truths = drawn(3)
    design = DESIGNS[0]
    given = design.answer(truths, generator=rng)
    fit = response_regression(given, rows, transition=design.transition)
    wide = response_regression(given, rows * [1e9, 1e-9], transition=design.transition)
    assert wide.coefficients * [1, 1e9, 1e-9] == pytest.approx(fit.coefficients)
    assert wide.standard_errors * [1, 1e9, 1e-9] == pytest.approx(fit.standard_errors)


def test_without_noise_it_is_a_logistic_regression():
    _, rows, truths = drawn(5)
    fit = response_regression(truths, rows, transition=np.eye(2))
    yes = expit(fit.coefficients[0] + rows @ fit.coefficients[1:])
    columns = np.column_stack([np.ones(len(rows)), rows])
    assert columns.T @ (truths - yes) == pytest.approx(np.zeros(3), abs=1e-2)
    expected = np.linalg.inv((columns.T * (yes * (1 - yes))) @ columns)
    assert fit.covariance == pytest.approx(expected)
    noisy = response_regression(
        DESIGNS[0].answer(truths, generator=np.random.default_rng(1)),
        rows,
        transition=DESIGNS[0].transition,
    )
    assert (noisy.standard_errors > 1.5 * fit.standard_errors).all()


@pytest.mark.slow
def test_intervals_hold_as_often_as_they_say():
    """Of 400 samples; errs with probability 1e-4 for each coefficient."""
    design, runs = RandomisedResponse.two_coins(), 400
    held = np.zeros(3)
    for seed in range(runs):
        rng, rows, truths = drawn(seed)
        given = design.answer(truths, generator=rng)
        fit = response_regression(given, rows, transition=design.transition)
        held += np.abs(fit.coefficients - BETA) < 1.96 * fit.standard_errors
    low, high = binom.ppf([5e-5, 1 - 5e-5], runs, 0.95)
    assert ((low <= held) & (held <= high)).all()


def test_reports_of_a_boolean_of_rappor_are_answers():
    shape = Parameters.basic(1, f=0.2, p=0.1, q=0.9)
    rng, rows, truths = drawn(6, 4000)
    reports = encode(
        truths,
        [*range(4000)],
        parameters=shape,
        secret=Secret(bytes(16)),
        metric="m",
        rng=rng,
    )
    transition = [[1 - shape.p_star, shape.p_star], [1 - shape.q_star, shape.q_star]]
    fit = response_regression(reports.bits()[:, 0], rows, transition=transition)
    assert (np.abs(fit.coefficients - BETA) < 4 * fit.standard_errors).all()


@pytest.mark.parametrize(
    ("answers", "rows", "transition", "said"),
    [
        ([0, 2], [[1], [2]], np.eye(2), "0 or 1"),
        ([0, 1], [[1]], np.eye(2), "a row for each"),
        ([0, 1], [[1], [math.nan]], np.eye(2), "finite"),
        ([0, 1], [[1], [2]], [[0.5, 0.5], [0.5, 0.5]], "must differ"),
        ([0, 1], [[1], [2]], np.eye(3), "two rows"),
        ([0] * 50, np.arange(50)[:, None] % 7, [[0.75, 0.25], [0.25, 0.75]], "no maximum"),
        (
            [0, 1] * 50 + [0] * 50,
            np.arange(150)[:, None] // 100,
            [[0.75, 0.25], [0.25, 0.75]],
            "no maximum",
        ),
        ([], np.zeros((0, 1)), np.eye(2), "0 or 1"),
        ([0, 1] * 50, np.ones((100, 1)), np.eye(2), "depend on each other"),
    ],
)
def test_what_cannot_be_fitted_is_said(answers, rows, transition, said):
    with pytest.raises(DPError, match=said):
        response_regression(answers, rows, transition=transition)
