"""Joint distributions: the maximum of the likelihood, and honest deviations."""

import numpy as np
import pytest
from scipy.optimize import minimize

from rappor.client.client import bloom_filter
from rappor.decoding.candidates import Candidates
from rappor.decoding.joint import joint, likelihoods
from rappor.encoded import Reports
from rappor.errors import MismatchError, RapporError
from rappor.parameters import Parameters

TEXT = Parameters(n_bits=16, n_hashes=2, n_cohorts=8, f=0.0, p=0.2, q=0.8)
COIN = Parameters.basic(1, f=0.0, p=0.2, q=0.8)
NAMES = ["s0", "s1", "s2"]
TRUTH = np.array([[0.1, 0.3], [0.25, 0.05], [0.12, 0.18]])


def sent(values, parameters, rng):
    cohorts = rng.integers(0, parameters.n_cohorts, len(values))
    is_set = bloom_filter(values, cohorts, parameters=parameters)
    chance = np.where(is_set, parameters.q_star, parameters.p_star)
    return Reports.from_bits(rng.random(is_set.shape) < chance, cohorts, parameters=parameters)


def pairs(rng, n, truth=TRUTH):
    cell = rng.choice(truth.size, n, p=truth.ravel())
    first = [NAMES[i] for i in cell // 2]
    second = (cell % 2 == 0).tolist()
    return sent(first, TEXT, rng), sent(second, COIN, rng), cell


def named(parameters, names):
    return Candidates.of(names, parameters=parameters)


def test_shares_maximise_the_likelihood():
    one, two, _ = pairs(np.random.default_rng(1), 400)
    known = (named(TEXT, NAMES), named(COIN, ["yes"]))
    found = joint((one, two), known, tolerance=1e-10, max_rounds=20_000)
    left, right = (likelihoods(r, c)[1] for r, c in zip((one, two), known, strict=True))

    def loss(free):
        shares = np.exp(free - free.max())
        shares = (shares / shares.sum()).reshape(left.shape[1], right.shape[1])
        return -np.log(np.einsum("ij,ij->i", left @ shares, right)).sum()

    best = minimize(loss, np.zeros(8), method="BFGS", options={"gtol": 1e-6}).fun
    assert found.is_converged
    assert -found.log_likelihood == pytest.approx(best, abs=0.01)
    assert found.shares.sum() == pytest.approx(1)


def test_likelihoods_are_those_of_every_bit():
    rng = np.random.default_rng(2)
    one = sent(NAMES * 5, TEXT, rng)
    names, table = likelihoods(one, named(TEXT, NAMES))
    assert names == (*NAMES, None)
    bits = one.bits()
    for column, name in enumerate(NAMES):
        is_set = bloom_filter([name] * 15, one.cohorts, parameters=TEXT)
        chance = np.where(is_set, 0.8, 0.2)
        direct = np.log(np.where(bits, chance, 1 - chance)).sum(axis=1)
        if column == 0:
            first = direct
        assert np.allclose(np.log(table[:, column] / table[:, 0]), direct - first)
    height = 1 - (15 / 16) ** 2
    chance = 0.2 + 0.6 * height
    other = np.log(np.where(bits, chance, 1 - chance)).sum(axis=1)
    assert np.allclose(np.log(table[:, 3] / table[:, 0]), other - first)


@pytest.mark.slow
def test_deviations_cover_the_truth():
    known = (named(TEXT, NAMES), named(COIN, ["yes"]))
    scores = []
    for seed in range(30):
        one, two, _ = pairs(np.random.default_rng(seed), 3_000)
        found = joint((one, two), known)
        # Nobody holds another string: cells well above 0 are judged.
        scores.append(((found.shares[:3] - TRUTH) / found.sds[:3])[TRUTH > 0.08])
    # 150 scores; the boundary of the other strings makes them a little small.
    assert 0.75 < np.sqrt(np.mean(np.square(scores))) < 1.2


@pytest.mark.slow
def test_independence_is_told_from_dependence():
    known = (named(TEXT, NAMES), named(COIN, ["yes"]))
    low = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        flat = np.outer(TRUTH.sum(axis=1), [0.5, 0.5])
        one, two, _ = pairs(rng, 2_000, flat)
        low += joint((one, two), known).independence < 0.05
    assert low <= 5  # 1 of 20 expected; 6 has a chance below 1e-3
    one, two, _ = pairs(np.random.default_rng(1), 3_000)
    assert joint((one, two), known).independence < 1e-6


def test_basic_values_without_a_name_are_one_value():
    sure = Parameters.basic(4, f=0.0, p=0.0, q=1.0)
    one = Reports.from_texts(["0001", "0010", "0100", "1000"], [0] * 4, parameters=sure)
    known = named(sure, [0, 1])
    found = joint((one, one), (known, known))
    assert found.first == ("0", "1", None)
    assert np.allclose(np.diag(found.shares), [0.25, 0.25, 0.5])
    assert found.to_frame().iloc[0]["share"] == pytest.approx(0.5)


def test_one_pair_of_reports_is_decoded():
    rng = np.random.default_rng(1)
    one, two, _ = pairs(rng, 1)
    found = joint((one, two), (named(TEXT, NAMES), named(COIN, ["yes"])))
    assert found.shares.sum() == pytest.approx(1)
    assert np.isfinite(found.sds).all()


def test_reports_that_do_not_go_together_are_refused():
    rng = np.random.default_rng(1)
    one, two, _ = pairs(rng, 5)
    known = (named(TEXT, NAMES), named(COIN, ["yes"]))
    three, _, _ = pairs(rng, 4)
    with pytest.raises(RapporError, match="in pairs"):
        joint((three, two), known)
    with pytest.raises(MismatchError):
        joint((one, two), (known[1], known[1]))
    none, nothing = sent([], TEXT, rng), sent([], COIN, rng)
    with pytest.raises(RapporError, match="no report"):
        joint((none, nothing), known)
    with pytest.raises(RapporError, match="two variables"):
        joint((one, two, one), known)
