import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from ptable import InfeasibleError, NoiseSpec, PTableError


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"max_noise": True}, "max_noise must be an integer"),
        ({"max_noise": 2.0}, "max_noise must be an integer"),
        ({"max_noise": 0}, "at least 1, not 0"),
        ({"small": -1}, "small must be an integer of at least 0"),
        ({"variance": math.nan}, "variance must be a finite number above 0"),
        ({"variance": math.inf}, "variance must be a finite number above 0"),
        ({"variance": 0}, "variance must be a finite number above 0"),
        ({"variance": -1.0}, "variance must be a finite number above 0"),
        ({"variance": True}, "variance must be a finite number above 0"),
        ({"variance": "1"}, "variance must be a finite number above 0"),
        ({"variance": (1.0, 1.0, 1.0)}, "one for each count 1..2, not 3"),
        ({"monotone": True}, "monotone must be one of"),
        ({"monotone": "right"}, "monotone must be one of"),
        ({"monotone": ("left",)}, "one for each count 1..2, not 1"),
        ({"variance_rule": "about"}, "variance_rule must be one of"),
        ({"min_probability": 0.2}, r"\[0, 0.2\), because a row has up to 5"),
        ({"min_probability": math.nan}, "min_probability must lie in"),
        ({"min_probability": 1e-10}, "or be at least one key in 2\\*\\*32"),
    ],
)
def test_a_wrong_setting_is_named_with_what_must_hold(fields, words):
    with pytest.raises(PTableError, match=words) as caught:
        NoiseSpec(**{"max_noise": 2, "variance": 1.0, **fields})
    assert "hint:" in str(caught.value)


def test_all_wrong_settings_are_named_together():
    with pytest.raises(PTableError, match=r"variance must.*monotone must.*variance_rule must"):
        NoiseSpec(max_noise=2, variance=-1, monotone="up", variance_rule="about")


def test_too_little_noise_to_cross_the_blocked_counts_is_explained():
    with pytest.raises(InfeasibleError, match="a count of 3 can only go down to 0") as caught:
        NoiseSpec(max_noise=2, variance=1.0, small=2)
    assert "max_noise=3" in str(caught.value)


def test_a_variance_beyond_every_row_is_refused_with_the_reach():
    with pytest.raises(InfeasibleError, match="at most 4, and all rows together at most 2"):
        NoiseSpec(max_noise=2, variance=10.0)


def test_numbers_of_numpy_are_taken_and_decimals_stay_exact():
    spec = NoiseSpec(max_noise=np.int64(2), variance=np.float64(1.05))
    assert spec == NoiseSpec(max_noise=2, variance=1.05)
    assert spec.row(1).variance == Fraction(105, 100)


def test_rows_skip_the_blocked_counts():
    spec = NoiseSpec(max_noise=5, variance=3.0, small=2)
    assert [row.count for row in spec.rows()] == list(range(1, 9))
    assert spec.row(4).noise == (-4, -1, 0, 1, 2, 3, 4, 5)
    assert spec.row(8).noise == tuple(range(-5, 6))
    assert NoiseSpec(max_noise=3, variance=1.0).last_count == 3


def test_monotony_binds_only_where_the_count_may_be_published():
    spec = NoiseSpec(max_noise=5, variance=3.0, small=2, monotone="left")
    assert [row.n_left for row in spec.rows()] == [0, 0, 2, 3, 4, 4, 5, 6]
    with pytest.raises(PTableError, match=r"count must lie in 1\.\.8, not 9"):
        spec.row(9)


def test_settings_may_differ_by_row():
    spec = NoiseSpec(max_noise=2, variance=(0.5, 1.0), monotone=("none", "left"))
    assert [(float(row.variance), row.n_left) for row in spec.rows()] == [(0.5, 0), (1.0, 3)]
    assert NoiseSpec.from_dict(spec.to_dict()) == spec


def test_settings_of_r_ptable_are_replayed():
    spec = NoiseSpec.r_ptable(2, 1.05, small=1, monotone=[True, True, False, True])
    assert spec.monotone == ("left", "left", "none", "left")
    assert (spec.variance_rule, spec.min_probability) == ("at-most", 1e-8)
    assert NoiseSpec.r_ptable(2, 1.0, exact=True).variance_rule == "exact"


@pytest.mark.parametrize(
    "value",
    [
        {1: 1.0, 2: 0.5},
        {1.0, 0.5},
        np.array(1.0),
        np.True_,
        np.str_("1.0"),
        np.complex128(1),
        10**400,
        Fraction(10**400),
        Decimal("sNaN"),
        Decimal("1e400"),
        b"1",
    ],
    ids=repr,
)
@pytest.mark.parametrize("name", ["variance", "p_stay", "min_probability", "zero_bias"])
def test_what_only_looks_like_numbers_is_refused(name, value):
    with pytest.raises(PTableError, match=f"{name} must"):
        NoiseSpec(**{"max_noise": 2, "variance": 1.0, name: value})


@pytest.mark.parametrize("value", [Decimal("1.5"), Fraction(3, 2), np.float64(1.5)])
def test_exact_numbers_and_those_of_numpy_are_taken(value):
    assert NoiseSpec(max_noise=2, variance=value).variance == 1.5


@pytest.mark.parametrize("option", ["monotone", "exact"])
@pytest.mark.parametrize("value", ["no", None, 5])
def test_replaying_r_takes_only_true_and_false(option, value):
    with pytest.raises(PTableError, match=f"{option} must be True or False"):
        NoiseSpec.r_ptable(2, 1.0, **{option: value})


def test_counts_and_blocked_counts_have_an_upper_limit():
    with pytest.raises(PTableError, match="and small too"):
        NoiseSpec(max_noise=2, variance=1.0, small=10**70)
    with pytest.raises(PTableError, match="anchors must be at most"):
        NoiseSpec(max_noise=2, variance=1.0, anchors=(2, 10**30))
