"""What the baselines cost, and who sees which record."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dp import Exponential
from synth import OverspentError, SynthError
from synth.baselines import (
    Account,
    Charge,
    copula_shirley,
    dp_copula,
    priv_bayes,
    vine_without_privacy,
)
from synth.baselines.coded import code_frame
from synth.baselines.copulas.copula_shirley import split_records
from synth.baselines.networks.network import information_of
from synth.baselines.noise import choose, kendall, noise_of, noisy, noisy_margins
from tests.strategies import examples

RNG = np.random.default_rng


def people(n=400, *, seed=1):
    rng = RNG(seed)
    rich = rng.integers(0, 2, n)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 40, n),
            "job": rng.choice(["a", "b", "c", "d"], n, p=[0.4, 0.3, 0.2, 0.1]),
            "sex": rng.choice(["F", "M"], n),
            "rich": rich,
        }
    )


DOMAINS = {"age": range(18, 40), "job": list("abcd"), "sex": ["F", "M"], "rich": [0, 1]}
FEW = {"families": ["gaussian"]}

#: scale of Laplace, alpha and deviation of the geometric, deviation of the Gaussian
NOISE = {
    8: (0.25, 0.3536, 0.018316, 0.1950, 0.9600),
    1: (2, 2.828, 0.606531, 2.799, 5.1493),
    0.1: (20, 28.28, 0.951229, 28.281, 34.8088),
    0.01: (200, 282.8, 0.995012, 282.842, 187.8148),
}


@pytest.mark.parametrize("epsilon", NOISE)
def test_the_noise_is_that_of_the_published_table(epsilon):
    scale, spread, alpha, of_integers, gaussian = NOISE[epsilon]
    laplace = noise_of("laplace", epsilon=epsilon)
    assert laplace.scale == pytest.approx(scale)
    assert math.sqrt(laplace.variance) == pytest.approx(spread, rel=2e-4)
    geometric = noise_of("geometric", epsilon=epsilon)
    assert math.exp(-1 / geometric.scale) == pytest.approx(alpha, rel=1e-4)
    assert math.sqrt(geometric.variance) == pytest.approx(of_integers, rel=3e-4)
    assert noise_of("gaussian", epsilon=epsilon).scale == pytest.approx(gaussian, rel=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["laplace", "geometric", "gaussian"])
def test_drawn_noise_has_the_law_it_should_have_with_and_without_a_seed(mechanism):
    noise = noise_of(mechanism, epsilon=0.5)
    for rng in (RNG(3), None):
        drawn = noisy(np.zeros(6000, dtype=np.int64), noise, rng=rng)
        assert abs(drawn.mean()) < 5 * math.sqrt(noise.variance / 6000)
        assert drawn.std() == pytest.approx(math.sqrt(noise.variance), rel=0.1)
        assert (drawn == np.rint(drawn)).all() == (mechanism == "geometric")


def test_neighbouring_histograms_are_as_likely_as_epsilon_says():
    noise, n = noise_of("geometric", epsilon=1.0), 200_000
    one = noisy(np.full(n, 10), noise, rng=RNG(1))
    two = noisy(np.full(n, 11), noise, rng=RNG(2))  # one bin of the two that a record moves
    for value in range(7, 15):
        shares = [max((drawn == value).mean(), 1e-9) for drawn in (one, two)]
        assert abs(math.log(shares[0] / shares[1])) < 0.5 + 0.06


def test_the_published_method_costs_every_column_and_the_vine_without_bound():
    model = copula_shirley(people(), epsilon=0.5, **FEW, rng=RNG(1))
    assert "NOT DP as claimed" in model.label
    assert model.account.by_part() == {
        "bins": "unbounded",
        "margins": 4 * 0.5,
        "dependence": "unbounded",
    }
    assert not model.account.is_private
    assert not model.account.is_as_claimed
    declared = copula_shirley(people(), epsilon=0.5, domains=DOMAINS, **FEW, rng=RNG(1))
    assert "bins" not in declared.account.by_part()
    learned = copula_shirley(
        people(), epsilon=0.5, encoder="woe", target="rich", **FEW, rng=RNG(1)
    )
    assert learned.account.by_part()["encoders"] == "unbounded"


def test_indicators_cost_one_histogram_per_category():
    model = copula_shirley(people(), epsilon=1, encoder="one-hot", **FEW, rng=RNG(1))
    assert model.account.spent("margins") == 1 + 4 + 2 + 1


@pytest.mark.parametrize("epsilon", [0.1, 1, 7.3])
@pytest.mark.parametrize(
    "fit",
    [
        lambda e, r: dp_copula(people(), epsilon=e, domains=DOMAINS, rng=r),
        lambda e, r: priv_bayes(people(), epsilon=e, domains=DOMAINS, rng=r),
    ],
)
def test_corrected_methods_cost_what_was_given_and_no_more(fit, epsilon):
    account = fit(epsilon, RNG(1)).account
    assert account.spent() == pytest.approx(epsilon, rel=1e-9)
    assert account.is_as_claimed
    assert account.delta == 0


def test_gaussian_noise_adds_up_its_delta():
    given = {"mechanism": "gaussian", "delta": 1e-4}
    model = copula_shirley(people(), epsilon=1, domains=DOMAINS, rng=RNG(1), **given, **FEW)
    assert model.account.delta == pytest.approx(4e-4)


def test_a_domain_read_from_the_records_is_never_silent():
    for fit in (dp_copula, priv_bayes):
        model = fit(people(), epsilon=1, domains=None, rng=RNG(1))
        assert "NOT DP as claimed" in model.label
        assert model.account.by_part()["bins"] == "unbounded"
    with pytest.raises(SynthError, match="No domain is declared for 'rich'"):
        dp_copula(people(), epsilon=1, domains={k: DOMAINS[k] for k in ("age", "job", "sex")})


@pytest.mark.parametrize("encoder", ["ordinal", "one-hot", "woe", "glmm"])
def test_no_record_serves_two_steps_whatever_the_encoder(encoder):
    model = copula_shirley(
        people(), epsilon=1, encoder=encoder, target="rich", **FEW, rng=RNG(1)
    )
    seen = np.concatenate(list(model.folds.values()))
    assert len(np.unique(seen)) == len(seen) == 400
    assert (len(model.folds["encoder"]) > 0) == (encoder in {"woe", "glmm"})
    outside = copula_shirley(
        people(),
        epsilon=1,
        encoder=encoder,
        target="rich",
        encoder_records=people(100, seed=2),
        **FEW,
        rng=RNG(1),
    )
    assert len(outside.folds["encoder"]) == 0


@given(st.integers(8, 300), st.floats(0.05, 0.9), st.floats(0, 0.5), st.integers(0, 99))
@settings(max_examples=examples(30), deadline=None)
def test_folds_are_disjoint_and_hold_everybody(n, histogram, encoder, seed):
    try:
        folds = split_records(
            n, histogram_share=histogram, encoder_share=encoder, rng=RNG(seed)
        )
    except SynthError:
        assert n < 50
        return
    together = np.sort(np.concatenate(list(folds.values())))
    np.testing.assert_array_equal(together, np.arange(n))


def test_histograms_see_their_half_alone():
    frame = people()
    model = copula_shirley(frame, epsilon=1e6, **FEW, rng=RNG(1))
    half = frame["age"].to_numpy()[model.folds["histogram"]]
    ages = code_frame(frame)[0].domain
    wanted = [(half <= age).mean() for age in ages]
    np.testing.assert_allclose(model.details["margins"]["age"].cumulative, wanted, atol=1e-4)


@given(st.data())
@settings(max_examples=examples(60), deadline=None)
def test_a_replaced_record_moves_kendalls_tau_by_four_over_n_at_most(data):
    n = data.draw(st.integers(2, 12))
    cell = st.tuples(st.integers(0, 4), st.integers(0, 4))
    records = data.draw(st.lists(cell, min_size=n, max_size=n))
    other = [data.draw(cell), *records[1:]]
    taus = [kendall(*np.array(one).T) for one in (records, other)]
    assert abs(taus[0] - taus[1]) <= 4 / n + 1e-12
    pairs = [
        np.sign((a[0] - b[0]) * (a[1] - b[1]))
        for i, a in enumerate(records)
        for b in records[:i]
    ]
    assert taus[0] == pytest.approx(np.mean(pairs), abs=1e-12)


@given(st.data())
@settings(max_examples=examples(60), deadline=None)
def test_a_replaced_record_moves_the_information_by_its_sensitivity_at_most(data):
    n = data.draw(st.integers(3, 25))
    size = data.draw(st.integers(2, 4))
    cell = st.tuples(st.integers(0, size - 1), st.integers(0, 3))
    records = data.draw(st.lists(cell, min_size=n, max_size=n))
    other = [data.draw(cell), *records[1:]]
    found = [
        information_of(np.array(one), (0, (1,)), sizes=(size, 4)) for one in (records, other)
    ]
    assert abs(found[0] - found[1]) <= 1 + 1e-9


def test_priv_bayes_has_noise_of_its_stated_scale_on_counts():
    frame = people(2000)
    right = priv_bayes(frame, epsilon=1, domains=DOMAINS, rng=RNG(1))
    assert right.details["scale"] == pytest.approx(2 * (4 - 3) / 0.5)
    wide = frame.assign(x=frame["age"] % 3, y=frame["age"] % 2, z=0)
    domains = DOMAINS | {"x": range(3), "y": range(2), "z": range(2)}
    assert priv_bayes(wide, epsilon=1, domains=domains, rng=RNG(1)).details[
        "scale"
    ] == pytest.approx(2 * (7 - 3) / 0.5)
    legacy = priv_bayes(frame, epsilon=1, domains=DOMAINS, is_legacy=True, rng=RNG(1))
    assert legacy.details["scale"] == pytest.approx(2 / 0.5 / 2000)
    assert legacy.account.spent() == pytest.approx(0.5 + 0.5 * 2000 + 1)
    assert "NOT DP as claimed" in legacy.label


def test_priv_bayes_noise_is_in_the_tables():
    """A count of 0 with noise: positive half of the time, then of the size of the noise."""
    frame = pd.DataFrame({"a": np.zeros(1000, dtype=int)})
    shares = []
    for seed in range(60):
        model = priv_bayes(frame, epsilon=0.05, domains={"a": [0, 1]}, rng=RNG(seed))
        shares.append((model.sample(4000, RNG(seed))["a"] == 1).mean())
    # scale 2 / 0.05 = 40: the mean of max(0, noise) is 20 of 1000
    assert np.mean(shares) == pytest.approx(20 / 1000, rel=0.6)
    assert np.mean(np.array(shares) > 0) == pytest.approx(0.5, abs=0.2)


def test_network_has_as_many_parents_as_allowed_and_no_circle():
    model = priv_bayes(people(), epsilon=4, domains=DOMAINS, degree=2, rng=RNG(1))
    known = set()
    for child, parents in model.details["network"]:
        assert len(parents) == min(len(known), 2)
        assert set(parents) <= known
        known.add(child)
    assert known == set(DOMAINS)


def test_choices_follow_the_exponential_mechanism():
    pick = Exponential(epsilon=2, sensitivity=1, adjacency="replace")
    rng = RNG(1)
    for source in (rng, None):
        chosen = [choose([0.0, 1.0, 2.0], pick, rng=source) for _ in range(1500)]
        shares = np.bincount(chosen, minlength=3) / 1500
        np.testing.assert_allclose(shares, pick.probabilities([0, 1, 2]), atol=0.05)


def test_an_account_refuses_what_exceeds_its_limit():
    account = Account(claimed=1.0, limit=1.0)
    for _ in range(10):
        account.pay(Charge(part="margins", what="x", epsilon=0.1))
    with pytest.raises(OverspentError, match="is left"):
        account.pay(Charge(part="margins", what="x", epsilon=0.01))
    assert len(account.charges) == 10
    for bad in (0, -1, math.nan):
        with pytest.raises(SynthError):
            account.pay(Charge(part="margins", what="x", epsilon=bad))


def test_a_noisy_margin_of_zero_counts_is_a_margin():
    account = Account(claimed=1.0)
    for seed in range(30):
        (margin,) = noisy_margins(
            [np.zeros(1, dtype=np.int64)],
            [3],
            names=["x"],
            epsilon=0.01,
            account=account,
            rng=RNG(seed),
        )
        assert margin.cumulative[-1] == 1
        assert margin.cumulative[0] >= 0


def test_the_ceiling_says_that_it_protects_nobody():
    model = vine_without_privacy(people(), **FEW)
    assert model.account.by_part() == {"dependence": "unbounded"}
    assert "without privacy" in model.label


@pytest.mark.parametrize("epsilon", [-1, math.nan, math.inf, "1", None, True])
def test_no_budget_that_makes_no_sense(epsilon):
    for fit in (copula_shirley, dp_copula, priv_bayes):
        options = {} if fit is copula_shirley else {"domains": DOMAINS}
        with pytest.raises(SynthError, match="epsilon must be a finite number"):
            fit(people(), epsilon=epsilon, **options)


def test_zero_stands_for_no_noise_in_the_published_modes_alone():
    with pytest.raises(SynthError, match="published methods alone"):
        dp_copula(people(), epsilon=0, domains=DOMAINS)
    plain = copula_shirley(people(), epsilon=0, **FEW)
    assert not plain.account.is_private
    assert (plain.folds["histogram"] == plain.folds["copula"]).all()
    counts = people()["sex"].value_counts(normalize=True)
    assert plain.details["margins"]["sex"].cumulative[0] == pytest.approx(counts["F"])
