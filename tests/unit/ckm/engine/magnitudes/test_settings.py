"""What a noise on amounts may be, and what is said where it may not."""

import math

import pytest

from ckm.engine.magnitudes import (
    Flex,
    MagnitudeNoise,
    PPercent,
    Proportional,
    magnitude_ptable,
    plan_noise,
)
from ckm.errors import ConfigError
from ptable import PTable
from tests.amounts import amounts

TABLE = magnitude_ptable()

SCALE = Proportional(share=0.1)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "either ptable, or even and odd"),
        ({"ptable": TABLE, "even": TABLE, "odd": TABLE}, "either ptable, or even and odd"),
        ({"even": TABLE}, "either ptable, or even and odd"),
        ({"ptable": "pt.parquet"}, "ptable must be a p-table"),
        ({"ptable": TABLE, "scale": 0.1}, "scale must be Flex or Proportional"),
        ({"ptable": TABLE, "rules": "argus"}, "rules must be one of ckm, cellkey, tauargus"),
        ({"ptable": TABLE, "base": "median"}, "base must be one of top, mean, range, sum"),
        ({"ptable": TABLE, "factors": ()}, "factors must be a tuple of 1 to 6 numbers"),
        ({"ptable": TABLE, "factors": (1.0,) * 7}, "factors must be a tuple of 1 to 6"),
        ({"ptable": TABLE, "factors": [1.0]}, "factors must be a tuple"),
        ({"ptable": TABLE, "factors": (1.0, math.nan)}, "factors must be a tuple"),
        ({"ptable": TABLE, "factors": (0.5, 0.5)}, "first of the factors must be 1"),
        ({"ptable": TABLE, "factors": (1.0, 0.5), "base": "sum"}, "has one component, not 2"),
        ({"even": TABLE, "odd": TABLE, "factors": (1.0, 0.5)}, "are for one component"),
        ({"ptable": TABLE, "least_noise": -1.0}, "least_noise must be a finite number"),
        ({"ptable": TABLE, "least_noise": math.inf}, "least_noise must be a finite number"),
        ({"ptable": TABLE, "decimals": 0.5}, "decimals must be an integer from -15 to 15"),
        ({"ptable": TABLE, "decimals": True}, "decimals must be an integer"),
        ({"ptable": TABLE, "key_decimals": 0}, "key_decimals must be an integer from 1 to 15"),
        ({"ptable": TABLE, "period": 2027}, "period must be text"),
        ({"ptable": TABLE, "signed": 1}, "signed must be True or False"),
        ({"ptable": TABLE, "sensitive": [PPercent(percent=10)]}, "must be a tuple of cond"),
        ({"ptable": TABLE, "sensitive": ("p%",)}, "sensitive must be a tuple of conditions"),
        ({"ptable": TABLE, "zero_keys": True}, "people who contribute zero would change"),
        ({"ptable": TABLE, "signed": True, "base": "sum"}, "may be 0 for a signed variable"),
        (
            {"ptable": TABLE, "scale": Flex(point=9.0, small=0.2, large=0.1, power=1)},
            "power must be at least 2",
        ),
        ({"ptable": PTable(noise=[[0]], upper=[[8]], key_range=8)}, "have a row for 0 and oth"),
    ],
)
def test_what_cannot_be_used_is_named(fields, said):
    with pytest.raises(ConfigError, match=said):
        MagnitudeNoise(**({"scale": SCALE} | fields))


def test_all_problems_of_a_kind_are_shown_together():
    with pytest.raises(ConfigError) as caught:
        MagnitudeNoise(ptable=TABLE, scale=SCALE, least_noise=-1.0, decimals=99)
    assert "least_noise" in str(caught.value)
    assert "decimals" in str(caught.value)


def test_other_tools_rules_keep_their_options():
    noise = MagnitudeNoise(ptable=TABLE, scale=SCALE, rules="cellkey", zero_keys=True)
    assert noise.zero_keys


@pytest.mark.parametrize("spread", [0, -0.1, 1.5, math.nan, "0.1", None, True])
def test_a_spread_is_a_share(spread):
    with pytest.raises(ConfigError, match="spread"):
        MagnitudeNoise.start(spread=spread)


def test_start_names_unknown_fields():
    with pytest.raises(ConfigError, match="no field 'spred'"):
        MagnitudeNoise.start(spred=0.1)


def test_start_makes_the_spread_with_whatever_ptable_there_is():
    wide = magnitude_ptable(max_noise=8, variance=4.0)
    for changes in (
        {},
        {"ptable": wide},
        {"even": wide, "odd": wide},
        {"jitter": False},
        {"signed": True},
    ):
        noise = MagnitudeNoise.start(spread=0.2, **changes)
        plan = plan_noise(amounts([[10.0, 9.0, 8.0, 7.0]]), noise)
        assert plan.variances()[0] == pytest.approx(4.0)
    with pytest.raises(ConfigError, match="must be a p-table"):
        MagnitudeNoise.start(ptable="pt.parquet")


def test_equal_noise_is_equal():
    assert MagnitudeNoise.start() == MagnitudeNoise.start()
    assert MagnitudeNoise.start() != MagnitudeNoise.start(spread=0.1)
