"""Means and ratios of published parts, and the names of noises."""

import json

import numpy as np
import pytest

from ckm.engine.magnitudes import (
    MagnitudeError,
    MagnitudeNoise,
    noise_identities,
    published_ratio,
)
from ckm.engine.magnitudes.measures import mean_decimals, noise_name, published_mean

NOISE = MagnitudeNoise.start(period="2027")


def test_a_ratio_needs_both_parts_alike_and_leaves_out_what_has_no_divisor():
    with pytest.raises(MagnitudeError, match=r"same shape, not \(2,\) and \(1,\)"):
        published_ratio([1.0, 2.0], [1.0])
    found = published_ratio([0.0, 5.0, -3.0, 7.0], [0, 0, 2, -2])
    assert np.isnan(found[:2]).all()
    assert found[2:].tolist() == [-1.5, -3.5]
    assert published_ratio([[1, 2], [3, 4]], [[2, 2], [2, 0]]).shape == (2, 2)


def test_the_total_of_a_weighted_variable_has_a_noise_of_its_own():
    assert noise_name("income", None) == "income"
    assert noise_name("income", "w") == "income weighted by w"


@pytest.mark.parametrize(
    ("of_sums", "of_means"),
    [(None, None), (0, 2), (1, 3), (-3, 2), (12, 14), (13, 15), (14, 15), (15, 15)],
)
def test_means_have_two_decimals_more_than_their_sums(of_sums, of_means):
    assert mean_decimals(of_sums) == of_means


def test_means_are_rounded_and_masked_where_nobody_is_published():
    total, count = np.array([10.0, 1.0, 7.0, 0.0, -1e-9]), np.array([3.0, 3.0, 0.0, 4.0, 4.0])
    mean = published_mean(total, count, count, NOISE)
    assert mean.tolist() == [3.33, 0.33, None, 0.0, 0.0]
    assert mean.data[2] == 0.0, "no original number lies below the mask"
    assert not np.signbit(mean.data).any()
    whole = published_mean(total, count, count, MagnitudeNoise.start(decimals=None))
    assert whole[:2].tolist() == [10 / 3, 1 / 3]
    fine = published_mean(total, count, count, MagnitudeNoise.start(decimals=3))
    assert fine[0] == 3.33333


def test_no_mean_is_published_of_one_or_two_unless_that_is_asked_for():
    total, count = np.array([10.0, 10.0, 12.0]), np.array([1.0, 2.0, 3.0])
    assert published_mean(total, count, count, NOISE).tolist() == [None, None, 4.0]
    every = MagnitudeNoise.start(mean_from=1)
    assert published_mean(total, count, count, every).tolist() == [10.0, 5.0, 4.0]
    assert every.fingerprint == MagnitudeNoise.start().fingerprint


def test_a_weight_makes_no_mean_of_one_or_two_records():
    total, weighted = np.array([900.0, 900.0, 900.0]), np.array([200.0, 3.0, 450.0])
    assert published_mean(total, weighted, [1, 3, 2], NOISE).tolist() == [None, 300.0, None]


def identities(noise, *, weight=None, variables=("income",)):
    return noise_identities(variables, dict.fromkeys(variables, noise), weight=weight)


def test_each_variable_is_named_with_its_weight_and_period():
    found = identities(NOISE, variables=("income", "tax"), weight="w")
    assert [json.loads(name) for name in found] == [
        ["income weighted by w", "2027"],
        ["tax weighted by w", "2027"],
    ]
    assert list(identities(MagnitudeNoise.start())) == ['["income", ""]']
    assert len(set(found.values())) == 1, "what noise is made of does not name its variable"


def test_another_noise_is_another_identity_and_rounding_is_none():
    (one,) = identities(NOISE).values()
    for changes in (
        {"spread": 0.2},
        {"jitter": False},
        {"rules": "cellkey"},
        {"least_noise": 2},
    ):
        (other,) = identities(MagnitudeNoise.start(period="2027", **changes)).values()
        assert other != one, changes
    for changes in ({"decimals": -3}, {"zero_with_count": True}, {"same_key": False}):
        assert identities(MagnitudeNoise.start(period="2027", **changes)) == identities(NOISE)


@pytest.mark.parametrize(
    "change", [{"zero_keys": True}, {"same_key": False}, {"key_decimals": 7}]
)
def test_the_digits_of_other_tools_depend_on_more(change):
    plain = identities(MagnitudeNoise.start(rules="cellkey"))
    other = identities(MagnitudeNoise.start(rules="cellkey", **change))
    assert list(plain) == list(other)
    assert plain != other


def test_an_identity_of_own_noise_is_what_ledgers_hold():
    """Ledgers compare these texts over years: they stay as they are."""
    (text,) = identities(NOISE).values()
    assert json.loads(text) == ["ckm", NOISE.fingerprint, "contributors"]
    other = MagnitudeNoise.start(rules="tauargus", key_decimals=5)
    (text,) = identities(other).values()
    assert json.loads(text) == ["tauargus", other.fingerprint, False, True, 5]
