"""What a noise on amounts may be, and what is said where it may not."""

import hashlib
import json
import math

import pytest

from ckm.engine.magnitudes import (
    Dominance,
    FewContributors,
    Flex,
    MagnitudeNoise,
    PPercent,
    Proportional,
    magnitude_ptable,
    plan_noise,
)
from ckm.engine.magnitudes.settings import VariableNoises
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


# --- what follows from the settings -------------------------------------------------------

NARROW = magnitude_ptable(max_noise=3, variance=1.0, step=4)
RULES = (FewContributors(least=3), Dominance(n=4, percent=90))


@pytest.mark.parametrize(
    ("fields", "n"),
    [
        ({}, 0),
        ({"factors": (1.0, 0.5)}, 2),
        ({"rules": "cellkey"}, 1),
        ({"rules": "tauargus", "factors": (1.0, 0.5, 0.5)}, 3),
        ({"rules": "cellkey", "base": "sum"}, 0),
        ({"sensitive": RULES}, 4),
        ({"sensitive": RULES, "factors": (1.0,) * 5}, 5),
        ({"sensitive": (PPercent(percent=5),), "rules": "cellkey"}, 2),
    ],
)
def test_the_aggregation_delivers_what_noise_and_conditions_look_at(fields, n):
    noise = MagnitudeNoise(**({"ptable": TABLE, "scale": SCALE} | fields))
    assert noise.n_top == n
    assert noise.n_components == len(fields.get("factors", (1.0,)))


def test_the_least_share_is_that_of_the_quietest_table_at_the_largest_amounts():
    def share(**fields):
        return MagnitudeNoise(**({"scale": SCALE} | fields)).least_share

    assert share(ptable=TABLE) == pytest.approx(0.1 * math.sqrt(2 + 1 / 48))
    assert share(ptable=TABLE, jitter=False) == pytest.approx(0.1 * math.sqrt(2))
    for both in ({"even": TABLE, "odd": NARROW}, {"even": NARROW, "odd": TABLE}):
        assert share(**both) == pytest.approx(0.1 * math.sqrt(1 + 1 / 16 / 12))
    flex = Flex(point=9.0, small=0.3, large=0.05)
    assert share(ptable=TABLE, scale=flex) == pytest.approx(0.05 * math.sqrt(2 + 1 / 48))
    assert share(ptable=TABLE, small_cells=NARROW) == share(ptable=TABLE)


def test_variances_of_both_sides_meet_at_the_separation_point():
    """``share**2 E x**2``, with E the sum of the squared factors, is the variance of small."""
    assert MagnitudeNoise(ptable=TABLE, scale=SCALE).separation == 0.0
    for factors in ((1.0,), (1.0, 0.5), (1.0, 1.0, 0.25)):
        noise = MagnitudeNoise(ptable=TABLE, scale=SCALE, factors=factors, small_cells=NARROW)
        squares = sum(f * f for f in factors)
        assert 0.1**2 * squares * noise.separation**2 == pytest.approx(1.0)
    flex = Flex(point=9.0, small=0.2, large=0.05)
    noise = MagnitudeNoise(ptable=TABLE, scale=flex, small_cells=NARROW)
    assert noise.separation == pytest.approx(5.0)


def test_every_field_that_makes_noise_is_in_the_fingerprint_and_no_other():
    fields = {"ptable": TABLE, "scale": SCALE}
    one = MagnitudeNoise(**fields).fingerprint
    made = [
        {"ptable": NARROW},
        {"ptable": None, "even": TABLE, "odd": TABLE},
        {"ptable": None, "even": TABLE, "odd": NARROW},
        {"small_cells": NARROW},
        {"scale": Proportional(share=0.2)},
        {"scale": Flex(point=1.0, small=0.1, large=0.1)},
        {"base": "mean"},
        {"factors": (1.0, 0.5)},
        {"least_noise": 1.0},
        {"sensitive": (FewContributors(least=3),)},
        {"sensitive": (FewContributors(least=4),)},
        {"signed": True},
        {"jitter": False},
    ]
    found = [MagnitudeNoise(**(fields | change)).fingerprint for change in made]
    assert len({one, *found}) == len(made) + 1
    for change in (
        {"decimals": None},
        {"period": "2027"},
        {"zero_with_count": True},
        {"named_cells": ({"x": "a"},)},
    ):
        assert MagnitudeNoise(**(fields | change)).fingerprint == one


def test_a_fingerprint_is_the_hash_of_a_list_that_stays_as_it_is():
    """The random numbers of releases depend on it, over years."""
    rules = (FewContributors(least=3), PPercent(percent=10))
    noise = MagnitudeNoise(ptable=TABLE, scale=SCALE, sensitive=rules, least_noise=0.5)
    made = [TABLE.id, None, None, None, ["Proportional", 0.1], "top", [1.0], 0.5]
    made += [[["FewContributors", 3], ["PPercent", 10.0, False]], False, True]
    text = json.dumps(made, separators=(",", ":"))
    assert noise.fingerprint == hashlib.sha256(text.encode()).hexdigest()


def test_start_has_what_its_page_says_unless_told_otherwise():
    noise = MagnitudeNoise.start()
    assert noise.ptable == TABLE
    assert noise.sensitive == (FewContributors(least=3), PPercent(percent=10))
    assert (noise.least_noise, noise.decimals, noise.jitter) == (1.0, 0, True)
    assert (noise.base, noise.factors, noise.rules) == ("top", (1.0,), "ckm")
    assert noise.scale.share == pytest.approx(0.15 / math.sqrt(2 + 1 / 48))
    assert noise.least_share == pytest.approx(0.15)
    signed = MagnitudeNoise.start(signed=True)
    assert signed.sensitive == (FewContributors(least=3),), "p % is for amounts from zero up"
    assert MagnitudeNoise.start(scale=SCALE).scale is SCALE
    assert MagnitudeNoise.start(spread=1).scale.share < 1.0
    tiny = magnitude_ptable(max_noise=1, variance=0.5, step=1)
    assert MagnitudeNoise.start(ptable=tiny, spread=1, jitter=False).scale.share == 1.0


def test_the_bounds_of_every_field_are_allowed():
    for fields in (
        {"factors": (1.0,) * 6},
        {"factors": (1.0, 0.001)},
        {"decimals": -15},
        {"decimals": 15},
        {"decimals": None},
        {"rules": "tauargus", "key_decimals": 1},
        {"rules": "tauargus", "key_decimals": 15},
        {"least_noise": 0},
        {"signed": True, "base": "range"},
        {"signed": True, "base": "mean", "rules": "cellkey"},
        {"scale": Flex(point=9.0, small=0.2, large=0.1, power=2)},
        {"scale": Flex(point=9.0, small=0.2, large=0.1, power=1), "rules": "cellkey"},
        {"base": "sum"},
    ):
        MagnitudeNoise(**({"ptable": TABLE, "scale": SCALE} | fields))
    for fields, said in (
        ({"decimals": 16}, "decimals"),
        ({"decimals": -16}, "decimals"),
        ({"key_decimals": 16}, "key_decimals"),
        ({"factors": (1.0, 1.5)}, "factors"),
        ({"factors": (1.0, 0)}, "factors"),
    ):
        with pytest.raises(ConfigError, match=said):
            MagnitudeNoise(**({"ptable": TABLE, "scale": SCALE} | fields))


@pytest.mark.parametrize("name", ["ptable", "even", "odd", "small_cells"])
def test_every_p_table_needs_rows_from_zero_whose_last_serves_all_larger_amounts(name):
    fields = {"ptable": TABLE, "scale": SCALE}
    if name in ("even", "odd"):
        fields = {"even": TABLE, "odd": TABLE, "scale": SCALE}
    odd = {
        "others": PTable(noise=[[0]], upper=[[8]], key_range=8),
        "alone": PTable(noise=[[0, 1], [-1, 1]], upper=[[1, 8], [4, 8]], key_range=8),
    }
    for words, table in odd.items():
        with pytest.raises(ConfigError, match=f"{name} must .*{words}"):
            MagnitudeNoise(**(fields | {name: table}))
    with pytest.raises(ConfigError, match=f"{name} must be a p-table"):
        MagnitudeNoise(**(fields | {name: 5}))


@pytest.mark.parametrize(
    "name", ["signed", "zero_keys", "jitter", "zero_with_count", "same_key"]
)
def test_switches_are_on_or_off(name):
    with pytest.raises(ConfigError, match=f"{name} must be True or False, not 'yes'"):
        MagnitudeNoise(ptable=TABLE, scale=SCALE, **{name: "yes"})


def test_one_of_two_tables_by_parity_beside_a_common_one_is_one_too_many():
    for extra in ({"even": TABLE}, {"odd": TABLE}):
        for ptable in (TABLE, None):
            with pytest.raises(ConfigError, match="either ptable, or even and odd"):
                MagnitudeNoise(ptable=ptable, scale=SCALE, **extra)
    MagnitudeNoise(even=TABLE, odd=TABLE, scale=SCALE)


# --- the noise of every variable ----------------------------------------------------------


def test_every_variable_has_noise_of_its_own_that_of_all_or_one_to_begin_with():
    common, own = MagnitudeNoise.start(decimals=1), MagnitudeNoise.start(decimals=2)
    assert VariableNoises(common)["x"] is common
    noises = VariableNoises({"x": own})
    assert noises["x"] is own
    assert noises["y"] == MagnitudeNoise.start()
    assert noises["y"] is noises["z"], "made once"
    assert (noises.named, list(noises), len(noises)) == (("x",), ["x"], 1)
    assert (VariableNoises(None).named, len(VariableNoises(common))) == ((), 0)
    assert "anything" in noises
    assert 3 not in noises
    assert repr(noises) == "VariableNoises('x')"


def test_the_period_of_a_variable_needs_no_p_table():
    own, common = MagnitudeNoise.start(period="2026"), MagnitudeNoise.start(period="2027")
    assert VariableNoises({"x": own}).period("x") == "2026"
    assert VariableNoises({"x": own}).period("y") == ""
    assert VariableNoises(common).period("y") == "2027"
    assert VariableNoises(None).period("y") == ""


@pytest.mark.parametrize("given", [5, "income", {"income": 5}, {3: MagnitudeNoise.start()}, []])
def test_what_is_no_noise_of_variables_is_refused(given):
    with pytest.raises(ConfigError, match="must be a MagnitudeNoise, or map variables"):
        VariableNoises(given)


def test_no_more_than_six_contributors_are_looked_at():
    def noise(n):
        rule = (Dominance(n=n, percent=90),)
        return MagnitudeNoise(ptable=TABLE, scale=SCALE, sensitive=rule)

    VariableNoises(noise(6))
    for given in (noise(7), {"x": noise(7)}):
        with pytest.raises(ConfigError, match=r"the 7 largest contributors .*at most 6"):
            VariableNoises(given)


def test_named_cells_are_kept_in_one_form_however_they_are_written():
    noise = MagnitudeNoise.start(named_cells=[{"b": "x", "a": "y"}])
    assert noise.named_cells == ((("a", "y"), ("b", "x")),)
    assert isinstance(hash(noise.named_cells), int)
