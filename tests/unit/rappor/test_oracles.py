"""Frequency oracles: losses and variances beside enumeration and simulation."""

import itertools
import math
from typing import get_args

import numpy as np
import pytest
from scipy.stats import chi2, chisquare

from dp import RandomisedResponse
from rappor import (
    Candidates,
    Counts,
    Goal,
    Parameters,
    RapporError,
    Reports,
    decode,
    encode,
    epsilon_after,
    joint,
    predict,
)
from rappor.client.bloom import every_bit
from rappor.client.simulate import simulate_counts
from rappor.oracles import Oracle, bits_sent, compare_oracles, oracle, oracle_variance
from tables.secret import Secret

ORACLES = get_args(Oracle)
#: Every comparison with chance errs with this probability in all.
LEVEL = 1e-4


def names_of(shape, n_values):
    return [*range(n_values)] if shape.is_numbered else [f"v{i}" for i in range(n_values)]


def chances(shape, value, cohort):
    """The law of a report of one cohort, over all reports there are."""
    bits = every_bit([value], parameters=shape)[0]
    own = bits[cohort if len(bits) > 1 else 0]
    if shape.response == "symbol":
        return np.where(np.arange(shape.n_bits) == own, shape.q, shape.p)
    laws = [[1 - c, c] for c in np.where(np.arange(shape.n_bits) == own, shape.q, shape.p)]
    return np.array([math.prod(outcome) for outcome in itertools.product(*laws)])


@pytest.mark.parametrize("name", ORACLES)
@pytest.mark.parametrize("epsilon", [0.1, 1, 3])
def test_a_report_costs_what_was_asked_by_all_outcomes(name, epsilon):
    shape = oracle(name, 6, epsilon=epsilon)
    assert epsilon - 1e-7 < shape.epsilon_one <= epsilon
    worst = 0.0
    for cohort in range(min(4, shape.n_cohorts)):
        laws = [chances(shape, value, cohort) for value in names_of(shape, 6)]
        for law in laws:
            assert law.sum() == pytest.approx(1)
        worst = max(np.abs(np.log(a / b)).max() for a in laws for b in laws)
        assert worst <= shape.epsilon_one + 1e-9
    assert worst == pytest.approx(shape.epsilon_one, abs=1e-6)
    assert epsilon_after(shape, reports=3) == pytest.approx(3 * shape.epsilon_one)


def test_generalised_randomised_response_is_that_of_dp():
    shape = oracle("grr", 5, epsilon=1)
    expected = RandomisedResponse.k_ary(5, epsilon=1).transition[2]
    assert chances(shape, 2, 0) == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("name", ["grr", "olh", "hadamard"])
def test_clients_show_one_symbol_by_its_chances(name):
    shape = oracle(name, 5, epsilon=1)
    value = names_of(shape, 5)[3]
    rng = np.random.default_rng(4)
    n = 40_000
    reports = encode(
        [value] * n,
        [*range(n)],
        parameters=shape,
        secret=Secret(bytes(16)),
        metric="m",
        cohorts=np.full(n, shape.n_cohorts - 1),
        rng=rng,
    )
    shown = reports.bits()
    assert (shown.sum(axis=1) == 1).all()
    expected = n * chances(shape, value, shape.n_cohorts - 1)
    assert chisquare(shown.sum(axis=0), expected).pvalue > LEVEL


@pytest.mark.parametrize("name", ["grr", "olh"])
def test_simulated_symbols_have_the_law_of_encoded_ones(name):
    shape = oracle(name, 4, epsilon=1)
    held, runs = np.array([700, 300, 0, 0]), 400
    drawn = [
        simulate_counts(
            names_of(shape, 4), held, parameters=shape, rng=np.random.default_rng(seed)
        )
        for seed in range(runs)
    ]
    assert all((one.ones.sum(axis=1) == one.n).all() for one in drawn)
    found = np.array([one.ones.sum(axis=0) for one in drawn])
    bits = every_bit(names_of(shape, 4), parameters=shape)
    laws = [
        np.mean([chances(shape, v, c) for c in range(bits.shape[1])], axis=0)
        for v in names_of(shape, 4)
    ]
    expected = held @ np.array(laws)
    error = np.sqrt(expected / runs)
    assert (np.abs(found.mean(axis=0) - expected) < 4.5 * error).all()


def test_columns_of_hadamard_have_nothing_in_common():
    shape = oracle("hadamard", 7, epsilon=1)
    assert (shape.n_cohorts, shape.n_bits) == (64, 2)
    signs = 1 - 2 * every_bit([*range(7)], parameters=shape)[:, :, 0]
    assert (signs @ signs.T == 64 * np.eye(7)).all()
    assert (signs.sum(axis=1) == 0).all()
    assert (Candidates.of([*"abc"], parameters=shape).bits[:, :, 0] * -2 + 1 == signs[:3]).all()
    assert oracle("hadamard", 32, epsilon=1).n_cohorts == 128
    with pytest.raises(RapporError, match=r"0\.\.62"):
        every_bit([63], parameters=shape)


def simulated(name, epsilon, runs, *, n_values=30, clients=50_000):
    """Estimates of many samples of a population, a value of 0.3 first and ten without."""
    shape = oracle(name, n_values, epsilon=epsilon)
    law = np.array([0.3, *[0.7 / (n_values - 11)] * (n_values - 11), *[0.0] * 10])
    known = Candidates.of(names_of(shape, n_values), parameters=shape)
    found = []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        held = rng.multinomial(clients, law)
        counts = simulate_counts(names_of(shape, n_values), held, parameters=shape, rng=rng)
        found.append(decode(counts, known))
    return shape, found


@pytest.mark.slow
@pytest.mark.parametrize("name", ORACLES)
@pytest.mark.parametrize("epsilon", [1.0, 2.0])
def test_variances_are_the_closed_forms(name, epsilon):
    """Of 300 decodings; each comparison errs with probability 1e-4."""
    runs, clients = 300, 50_000
    shape, found = simulated(name, epsilon, runs, clients=clients)
    estimates = np.array([one.estimates for one in found])
    closed = clients * oracle_variance(name, 30, epsilon=epsilon)
    goal = Goal(
        epsilon_one=epsilon, epsilon_permanent=math.inf, population=clients, n_candidates=30
    )
    predicted = predict(shape, goal).standard_error ** 2
    assert closed * 0.999 <= predicted <= closed * 1.16
    freedom = 10 * (runs - 1)
    ratio = estimates[:, -10:].var(axis=0, ddof=1).mean() / predicted
    low, high = chi2.ppf([LEVEL / 2, 1 - LEVEL / 2], freedom) / freedom
    # Hash functions and collisions make OLH's differ by the draw of the pool.
    room = 1.12 if name == "olh" else 1.0
    assert low / room < ratio < high * room
    error = np.sqrt(estimates.var(axis=0, ddof=1) / runs)
    truth = clients * np.array([0.3, *[0.7 / 19] * 19, *[0.0] * 10])
    assert (np.abs(estimates.mean(axis=0) - truth) < 4.7 * error).all()
    frequent = estimates[:, 0].var(ddof=1) / clients
    low, high = chi2.ppf([LEVEL / 2, 1 - LEVEL / 2], runs - 1) / (runs - 1)
    # The marginal estimator of the closed form; least squares may do better, never worse.
    assert frequent / oracle_variance(name, 30, epsilon=epsilon, share=0.3) < high * room
    held = np.mean(
        [
            [lo <= t <= hi for (lo, hi), t in zip(one.intervals, truth, strict=True)]
            for one in found
        ]
    )
    assert 0.94 < held < 0.98


@pytest.mark.parametrize("name", ["olh", "hadamard"])
def test_the_fit_of_symbols_knows_that_they_add_up(name):
    _, found = simulated(name, 1.0, 12)
    dispersion = [one.dispersion * one.freedom for one in found]
    freedom = sum(one.freedom for one in found)
    low, high = chi2.ppf([LEVEL / 2, 1 - LEVEL / 2], freedom)
    assert low < sum(dispersion) < high


def test_the_best_oracle_changes_with_the_alphabet():
    """GRR below 3 e^epsilon + 2 values (Wang et al. 2017), here 10.15."""
    goal = {"epsilon_one": 1.0, "epsilon_permanent": math.inf, "population": 10**5}
    first = [next(iter(compare_oracles(Goal(**goal, n_candidates=d)))) for d in (10, 11)]
    assert first == ["grr", "oue"]
    assert oracle_variance("oue", 9, epsilon=1, share=0.3) == pytest.approx(
        oracle_variance("oue", 9, epsilon=1) + 0.3 + 0.3 * 0.7, rel=1e-6
    )
    assert oracle_variance("hadamard", 9, epsilon=0.01) == pytest.approx(
        oracle_variance("oue", 9, epsilon=0.01), rel=1e-4
    )
    whole = math.log(3)
    assert oracle_variance("olh", 99, epsilon=whole) == pytest.approx(
        oracle_variance("oue", 99, epsilon=whole)
    )
    assert [bits_sent(oracle(name, 1000, epsilon=1)) for name in ORACLES] == [10, 1000, 14, 12]


SYMBOL = {"n_bits": 4, "n_hashes": 1, "n_cohorts": 4, "f": 0.0, "p": 0.1, "q": 0.7}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"f": 0.5}, "f=0"),
        ({"n_hashes": 2}, "n_hashes=1"),
        ({"q": 0.6}, "sum to 0.9"),
        ({"p": 0.3, "q": 0.1}, "p below q"),
        ({"hash": "hadamard"}, "two symbols"),
        ({"hash": "hadamard", "n_bits": 2, "p": 0.3, "n_cohorts": 6}, "power of 2"),
        ({"response": "word"}, "'bits' or 'symbol'"),
    ],
)
def test_parameters_of_symbols_that_make_no_sense_are_refused(change, said):
    with pytest.raises(RapporError, match=said):
        Parameters(**{"response": "symbol", **SYMBOL, **change})


def test_parameters_of_symbols_are_kept_in_json_alone(tmp_path):
    shape = Parameters(**SYMBOL, response="symbol")
    shape.write(tmp_path / "params.json")
    assert Parameters.read(tmp_path / "params.json") == shape
    with pytest.raises(RapporError, match=r"\.csv"):
        shape.write(tmp_path / "params.csv")
    bits = Parameters(**SYMBOL)
    assert shape.fingerprint != bits.fingerprint
    assert "response" not in bits.to_dict()


def test_reports_and_counts_of_symbols_must_hold_one_each():
    shape = oracle("grr", 3, epsilon=1)
    for texts in (["011"], ["000"], ["001", "111"]):
        with pytest.raises(RapporError, match="exactly one bit"):
            Reports.from_texts(texts, [0] * len(texts), parameters=shape)
    assert Reports.from_texts(["010"], [0], parameters=shape).sum().total == 1
    with pytest.raises(RapporError, match="add up"):
        Counts(n=[5], ones=[[3, 2, 1]], parameters=shape)


@pytest.mark.parametrize(("name", "epsilon"), [("best", 1), ("oue", 0), ("oue", math.nan)])
def test_oracles_that_are_none_are_refused(name, epsilon):
    with pytest.raises(RapporError):
        oracle(name, 4, epsilon=epsilon)


def test_joint_distributions_of_symbols_are_refused():
    shape = oracle("grr", 3, epsilon=1)
    reports = encode([1], [1], parameters=shape, secret=Secret(bytes(16)), metric="m")
    known = Candidates.of([0, 1, 2], parameters=shape)
    with pytest.raises(RapporError, match="one symbol"):
        joint((reports, reports), (known, known))
