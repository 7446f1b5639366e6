"""The auditor: it finds planted faults, and accuses nobody wrongly."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from dp import DPError, audit
from dp.auditor import one_run_bound


def laplace(value, scale, seed):
    generator = np.random.default_rng(seed)
    return lambda n: generator.laplace(value, scale, n).round(6)  # no telling digits


def test_half_the_noise_is_caught():
    """A planted fault: epsilon 1 is claimed, and the noise is that of 2."""
    found = audit(laplace(0, 0.5, 1), laplace(1, 0.5, 2), runs=20_000)
    assert found.refutes(1.0)
    assert not found.refutes(2.0)


def test_a_forgotten_second_record_is_caught():
    """A planted fault: one person has two records, the noise is for one."""
    assert audit(laplace(0, 1, 3), laplace(2, 1, 4)).refutes(1.0)


def test_noise_with_a_seed_of_the_day_is_caught():
    """A planted fault: the same noise for both, so that the difference shows."""
    noise = np.random.default_rng(5).laplace(0, 1, 1)
    found = audit(lambda n: np.full(n, 0 + noise), lambda n: np.full(n, 1 + noise), runs=2000)
    assert found.refutes(4.0)


def test_rare_full_disclosure_is_caught_where_no_delta_is_claimed():
    def leaking(value, seed):
        generator = np.random.default_rng(seed)

        def release(n):
            noisy = (value + generator.laplace(0, 1, n)).round(6)
            return np.where(generator.random(n) < 0.02, 1000.0 + value, noisy)

        return release

    assert audit(leaking(0, 6), leaking(1, 7)).refutes(2.0)
    assert not audit(leaking(0, 6), leaking(1, 7), delta=0.03).refutes(1.0)


def test_discrete_outcomes_are_told_apart_too():
    generator = np.random.default_rng(8)
    rates = {0: [0.1, 0.8, 0.1], 1: [0.45, 0.1, 0.45]}  # no threshold shows it
    sources = [lambda n, r=r: generator.choice(3, n, p=r) for r in rates.values()]
    found = audit(*sources)
    assert found.event.startswith("equal to 1")
    assert found.refutes(1.5)
    assert not found.refutes(math.log(8))


@pytest.mark.slow
def test_the_bound_is_wrong_no_oftener_than_stated():
    """200 audits of an honest mechanism at its exact epsilon, error 0.1 each."""
    wrong = sum(
        audit(laplace(0, 1, 100 + k), laplace(1, 1, 900 + k), runs=400, error=0.1).refutes(1)
        for k in range(200)
    )
    assert wrong <= binom.isf(1e-6, 200, 0.1)


def test_equal_inputs_show_nothing():
    found = audit(laplace(0, 1, 9), laplace(0, 1, 10), runs=2000)
    assert found.epsilon == 0


def test_few_runs_can_show_little():
    sure = audit(np.zeros, np.ones, runs=600, error=0.05)
    assert 3 < sure.epsilon < math.log(300)


@pytest.mark.parametrize(
    "source", [lambda n: np.zeros(n - 1), lambda n: np.full(n, math.nan), lambda _: 3.0]
)
def test_a_mechanism_returns_one_number_for_each_run(source):
    with pytest.raises(DPError, match="one number"):
        audit(source, source, runs=100)


@pytest.mark.parametrize("bad", [{"runs": 3}, {"error": 0}, {"error": 1}, {"delta": 1}])
def test_what_is_no_audit_is_refused(bad):
    with pytest.raises(DPError):
        audit(np.zeros, np.zeros, **bad)


def test_one_run_proves_what_the_binomial_law_says():
    bound = one_run_bound(canaries=500, guesses=100, right=90, error=0.05)
    chance = math.exp(bound) / (1 + math.exp(bound))
    assert binom.sf(89, 100, chance) == pytest.approx(0.05, abs=1e-6)


def test_one_run_with_a_delta_proves_less():
    bounds = [
        one_run_bound(canaries=500, guesses=100, right=90, delta=delta)
        for delta in (0.0, 1e-5, 1e-3)
    ]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[0] > bounds[2]


def test_guessing_proves_nothing():
    assert one_run_bound(canaries=100, guesses=100, right=50) == 0
    assert one_run_bound(canaries=100, guesses=0, right=0) == 0
    with pytest.raises(DPError):
        one_run_bound(canaries=10, guesses=5, right=6)


def test_one_run_never_claims_beyond_measure():
    assert one_run_bound(canaries=10**4, guesses=10**4, right=10**4) < 10
