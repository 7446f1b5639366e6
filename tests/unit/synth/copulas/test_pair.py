"""Pair-copulas: what every family must satisfy, and fits that find the truth."""

import numpy as np
import pytest
from scipy.stats import kendalltau

from synth import SynthError
from synth.copulas import FAMILIES, PairCopula, fit_pair, nearest_correlation

PARAMETERS = {
    "indep": [],
    "gaussian": [0.6],
    "student": [0.5, 4.0],
    "clayton": [2.0],
    "gumbel": [1.8],
    "frank": [4.0],
    "joe": [2.2],
    "bb1": [0.8, 1.5],
    "bb6": [1.4, 1.3],
    "bb7": [1.5, 0.9],
    "bb8": [3.0, 0.7],
}
ROTATED = ("clayton", "gumbel", "joe", "bb1", "bb6", "bb7", "bb8")
CASES = [(name, 0) for name in PARAMETERS] + [(n, r) for n in ROTATED for r in (90, 180, 270)]
UP = np.array([0.0, 1.0])
GRID = np.array([(u, v) for u in (0.08, 0.35, 0.62, 0.93) for v in (0.05, 0.4, 0.71, 0.9)])


def written_out(family, u, v):
    """The distribution function and h(u | v) as the literature writes them."""
    p = PARAMETERS[family]
    if family == "indep":
        return u * v, u
    if family == "clayton":
        inner = u ** -p[0] + v ** -p[0] - 1
        return inner ** (-1 / p[0]), v ** (-p[0] - 1) * inner ** (-1 - 1 / p[0])
    if family == "gumbel":
        s = (-np.log(u)) ** p[0] + (-np.log(v)) ** p[0]
        c = np.exp(-(s ** (1 / p[0])))
        return c, c / v * (-np.log(v)) ** (p[0] - 1) * s ** (1 / p[0] - 1)
    if family == "frank":
        a, b, one = (np.expm1(-p[0] * x) for x in (u, v, 1.0))
        return -np.log1p(a * b / one) / p[0], np.exp(-p[0] * v) * a / (one + a * b)
    a, b = (1 - u) ** p[0], (1 - v) ** p[0]
    whole = a + b - a * b
    h = whole ** (1 / p[0] - 1) * (1 - a) * (1 - v) ** (p[0] - 1)
    return 1 - whole ** (1 / p[0]), h


@pytest.mark.parametrize("family", ["indep", "clayton", "gumbel", "frank", "joe"])
def test_functions_agree_with_the_formulas_of_the_literature(family):
    copula = PairCopula(family, PARAMETERS[family])
    c, h = written_out(family, GRID[:, 0], GRID[:, 1])
    np.testing.assert_allclose(copula.cdf(GRID), c, atol=1e-9)
    np.testing.assert_allclose(copula.h(GRID[:, 0], given=GRID[:, 1]), h, atol=1e-9)


@pytest.mark.parametrize(("family", "rotation"), CASES)
def test_every_family_is_a_copula_whose_h_is_its_derivative(family, rotation):
    copula = PairCopula(family, PARAMETERS[family], rotation=rotation)
    edge = np.linspace(0.05, 0.95, 7)
    almost = np.full(7, 1 - 1e-10)
    np.testing.assert_allclose(copula.cdf(np.column_stack([edge, almost])), edge, atol=1e-6)
    np.testing.assert_allclose(copula.cdf(np.column_stack([almost, edge])), edge, atol=1e-6)
    step = 1e-5
    rise = copula.cdf(GRID + UP * step) - copula.cdf(GRID - UP * step)
    # the library integrates the elliptical families numerically
    np.testing.assert_allclose(
        copula.h(GRID[:, 0], given=GRID[:, 1]), rise / (2 * step), atol=2e-3
    )
    back = copula.h_inverse(copula.h(GRID[:, 0], given=GRID[:, 1]), given=GRID[:, 1])
    np.testing.assert_allclose(back, GRID[:, 0], atol=1e-5)


@pytest.mark.parametrize(("family", "rotation"), CASES)
def test_the_density_of_every_family_has_mass_one(family, rotation):
    copula = PairCopula(family, PARAMETERS[family], rotation=rotation)
    x, weight = np.polynomial.legendre.leggauss(60)
    # denser in the corners: u = smooth step of t
    t, w = (x + 1) / 2, weight / 2
    u, du = t**3 * (10 - 15 * t + 6 * t**2), 30 * t**2 * (1 - t) ** 2
    points = np.array([(a, b) for a in u for b in u])
    mass = copula.density(points) @ np.outer(w * du, w * du).ravel()
    assert mass == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize(("family", "rotation"), [c for c in CASES if c[1] in {0, 90}])
def test_samples_have_the_tau_of_the_copula_and_the_same_seed_the_same_samples(
    family, rotation
):
    copula = PairCopula(family, PARAMETERS[family], rotation=rotation)
    drawn = copula.sample(2000, np.random.default_rng(11))
    assert kendalltau(*drawn.T).statistic == pytest.approx(copula.tau, abs=0.045)
    np.testing.assert_array_equal(drawn, copula.sample(2000, np.random.default_rng(11)))


def test_closed_forms_of_tau_and_tails():
    assert PairCopula("clayton", [2.0]).tau == pytest.approx(0.5)
    assert PairCopula("gumbel", [2.0]).tau == pytest.approx(0.5)
    assert PairCopula("gaussian", [0.6]).tau == pytest.approx(2 / np.pi * np.arcsin(0.6))
    assert PairCopula("clayton", [2.0]).tails == pytest.approx((2**-0.5, 0))
    assert PairCopula("joe", [2.0]).tails == pytest.approx((0, 2 - 2**0.5))


@pytest.mark.parametrize("family", ["gaussian", "clayton", "gumbel", "frank", "joe"])
@pytest.mark.parametrize("criterion", ["aic", "bic"])
def test_a_fit_finds_the_family_and_the_parameter_that_made_the_data(family, criterion):
    true = PairCopula(family, PARAMETERS[family])
    found = fit_pair(
        true.sample(3000, np.random.default_rng(7)),
        families=["indep", "gaussian", "clayton", "gumbel", "frank", "joe"],
        criterion=criterion,
    )
    # Joe is Clayton turned by 180 degrees, nearly; both have the same tau
    assert found.family == family
    assert found.parameters == pytest.approx(true.parameters, rel=0.1)


def test_independent_data_are_found_independent_by_bic():
    u = np.random.default_rng(2).random((1000, 2))
    found = fit_pair(u, families=["indep", "gaussian", "clayton", "frank"], criterion="bic")
    assert found.family == "indep"


def test_kernels_follow_a_dependence_that_no_family_has():
    rng = np.random.default_rng(3)
    x = rng.standard_normal(2000)
    y = np.abs(x) + 0.1 * rng.standard_normal(2000)
    u = np.column_stack([one.argsort().argsort() + 1 for one in (x, y)]) / 2001
    kernel = fit_pair(u, families=["tll"])
    assert kernel.family == "tll"
    assert kernel.parameters == ()
    at = kernel.density([[0.5, 0.05], [0.02, 0.95], [0.5, 0.95]])
    assert at[0] > 2
    assert at[1] > 2
    assert at[2] < 0.3


def test_a_bent_matrix_is_repaired_and_a_good_one_left_alone():
    good = np.array([[1, 0.3], [0.3, 1]])
    np.testing.assert_array_equal(nearest_correlation(good), good)
    for size in (2, 5, 9):
        noise = np.random.default_rng(size).uniform(-1, 1, (size, size))
        repaired = nearest_correlation(np.triu(noise, 1) + np.triu(noise, 1).T)
        assert np.linalg.eigvalsh(repaired).min() > 0
        np.testing.assert_allclose(np.diag(repaired), 1)


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: PairCopula("clay", [1.0]), "Unknown family"),
        (lambda: PairCopula("tll"), "fitted"),
        (lambda: PairCopula("gaussian", [1.5]), r"must lie in \[-1, 1\]"),
        (lambda: PairCopula("gaussian", [0.1, 0.2]), "1 finite parameters"),
        (lambda: PairCopula("clayton", [np.nan]), "parameters"),
        (lambda: PairCopula("frank", [1.0], rotation=90), "rotation"),
        (lambda: PairCopula("clayton", [1.0], rotation=45), "rotation"),
        (lambda: PairCopula("indep").sample(0), "at least 1"),
        (lambda: PairCopula("indep").cdf([[0.1, 0.2, 0.3]]), "2 columns"),
        (lambda: PairCopula("indep").cdf([[0.1, np.nan]]), "none missing"),
        (lambda: PairCopula("indep").h([0.1], given=[0.1, 0.2]), "against"),
        (lambda: fit_pair([["a", "b"]]), "numbers"),
        (lambda: fit_pair(np.empty((0, 2))), "no record"),
        (lambda: fit_pair([[0.1, 1.2]]), "between 0 and 1"),
        (lambda: fit_pair([[0.1, 0.2]], criterion="best"), "Unknown criterion"),
        (lambda: fit_pair([[0.1, 0.2]], families=[]), "No family"),
        (lambda: nearest_correlation([[1, np.inf], [np.inf, 1]]), "finite"),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_reason(make, problem):
    with pytest.raises(SynthError, match=problem):
        make()


def test_all_families_are_named_in_the_tests():
    assert set(PARAMETERS) | {"tll"} == set(FAMILIES)
