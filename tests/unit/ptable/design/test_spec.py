import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from ptable import InfeasibleError, Limits, NoiseSpec, PTableError


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
        ({"min_probability": (0.0, 1e-10)}, "or be at least one key in 2\\*\\*32"),
        ({"min_probability": -0.1}, "min_probability must lie in"),
        ({"min_probability": (0.0, 0.5)}, "min_probability must lie in"),
        ({"p_stay": 1.0}, "p_stay must be a probability below 1, or None, not 1.0"),
        ({"p_stay": -0.1}, "p_stay must be a probability"),
        ({"p_stay": math.nan}, "p_stay must be a probability"),
        ({"p_stay": True}, "p_stay must be a probability"),
        ({"p_stay": (0.5,)}, "p_stay must be one value or 2 values, one for each count 1..2"),
        ({"p_stay_rule": "about"}, "p_stay_rule must be one of"),
        ({"symmetric": 1}, "symmetric must be True or False, not 1"),
        ({"variance_rule": ("exact",)}, "variance_rule must be one value or 2 values"),
        ({"variance": (1.0, math.inf)}, "variance must be a finite number above 0"),
        ({"max_noise": (2,)}, "max_noise must have at least 2 values, one for each count 1..2"),
        ({"max_noise": (3, 3, 3, 3), "small": 1}, "max_noise must have at least 5 values"),
        ({"max_noise": ()}, "max_noise must have a value per row"),
        ({"max_noise": (2, 0)}, "max_noise must be an integer of at least 1, not 0"),
        ({"max_noise": (2, 2), "anchors": (1, 2, 3)}, "3 values, one for each anchor, not 2"),
        ({"step": 0}, "step must be an integer of at least 1"),
        ({"step": 2.5}, "step must be an integer of at least 1"),
        ({"step": 2, "small": 1}, "small must be 0 where step is above 1"),
        ({"step": 2, "positive_bias": 0.5}, "positive_bias too: magnitudes are not counts"),
        ({"positive_bias": 2.0}, r"positive_bias must lie in \[0, 2\), not 2.0"),
        ({"positive_bias": 1.0, "small": 1}, r"positive_bias must lie in \[0, 1\), not 1.0"),
        ({"positive_bias": -0.5}, "positive_bias must lie in"),
        (
            {"anchors": (2, 3), "positive_bias": 0.5},
            "anchors .* with small and positive_bias 0",
        ),
        ({"anchors": (2, 3), "small": 1}, "anchors .* with small and positive_bias 0"),
        ({"anchors": (0, 2)}, "anchors must be rising counts from 1"),
        ({"anchors": (1,)}, "anchors must be rising counts"),
        ({"anchors": ()}, "anchors must be rising counts"),
        ({"anchors": (2, 1)}, "anchors must be rising counts"),
        ({"anchors": (2, 2)}, "anchors must be rising counts"),
        ({"anchors": (1, 2.5)}, "anchors must be rising counts"),
        ({"zero_bias": 2.0}, r"zero_bias must lie in \[0, 2\)"),
        ({"zero_bias": -0.1}, "zero_bias must lie in"),
        ({"zero_bias": math.nan}, "zero_bias must lie in"),
        ({"zero_bias": 1e-10}, "zero_bias must be 0 or be at least 2\\*\\*-32"),
        ({"zero_variance": 0.5}, "zero_variance must be .* together with a zero_bias"),
        (
            {"zero_variance": 0, "zero_bias": 0.1},
            "zero_variance must be a finite number above 0",
        ),
    ],
)
def test_a_wrong_setting_is_named_with_what_must_hold(fields, words):
    with pytest.raises(PTableError, match=words) as caught:
        NoiseSpec(**{"max_noise": 2, "variance": 1.0, **fields})
    assert "hint:" in str(caught.value)


PRIOR = (0.0, *(1 / (i * (i + 1)) for i in range(1, 40)))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"objective": "best"}, "objective must be one of"),
        ({"objective": "least-variance", "limits": Limits(posterior=None)}, "needs a prior"),
        ({"objective": "distance-to"}, "'distance-to' and a target go together"),
        ({"step": 2}, "limits are for counts: with steps or anchors"),
        ({"anchors": (2, 3)}, "limits are for counts: with steps or anchors"),
        ({"max_noise": (2,) * 5}, "max_noise must have at least 6 values: with limits"),
        ({"limits": Limits(priors=(PRIOR,), variance_floor=(1.0,))}, "variance_floor must be"),
        ({"limits": Limits(priors=(PRIOR,), variance_ceiling=(1.0,))}, "variance_ceiling must"),
        ({"limits": 3}, "limits must be Limits, not a int"),
        ({"limits": None, "variance": None}, "variance must be given"),
        ({"limits": None, "objective": "least-variance"}, "objective and target need limits"),
    ],
)
def test_limits_that_do_not_fit_the_noise_are_named(fields, words):
    fields = {"max_noise": 2, "variance": 2.0, "limits": Limits(priors=(PRIOR,)), **fields}
    with pytest.raises(PTableError, match=words) as caught:
        NoiseSpec(**fields)
    assert "hint:" in str(caught.value)


def test_limits_that_fit_the_noise_are_settled():
    limits = Limits(priors=(PRIOR,), variance_floor=(0.5,) * 6)
    spec = NoiseSpec(max_noise=(2,) * 6, variance=2.0, limits=limits)
    assert spec.limits.sensitive == (1, 2)
    assert (spec.last_count, len(spec.limits.priors[0])) == (6, 40)


def test_the_ends_of_what_may_be_asked_for_belong_to_it():
    key = 2.0**-32
    spec = NoiseSpec(max_noise=2, variance=4.0, min_probability=key, zero_bias=key, p_stay=0)
    assert (spec.variance, spec.min_probability, spec.zero_bias) == (4, key, key)
    assert NoiseSpec(max_noise=1, variance=1.0).last_count == 1
    assert NoiseSpec(max_noise=3, variance=2.0, small=2, positive_bias=0.99).small == 2
    assert (
        NoiseSpec(max_noise=7, variance=6.0, small=1, zero_bias=49 * key).zero_bias == 49 * key
    )
    with pytest.raises(
        PTableError, match=r"zero_bias must be 0 or at least 49 / 2\*\*32 where"
    ):
        NoiseSpec(max_noise=7, variance=6.0, small=1, zero_bias=48 * key)
    assert NoiseSpec(max_noise=7, variance=6.0, zero_bias=48 * key).zero_bias == 48 * key
    anchors = (1, 10**12)
    assert NoiseSpec(max_noise=1000, variance=1.0, step=100, anchors=anchors).anchors == anchors
    for wrong in ({"max_noise": 1001, "step": 100}, {"small": 100_001}):
        with pytest.raises(
            PTableError, match="max_noise times step must be at most 100000, and"
        ):
            NoiseSpec(**{"max_noise": 2, "variance": 1.0, **wrong})
    with pytest.raises(
        PTableError, match=f"anchors must be at most {10**12}; the last one is not"
    ):
        NoiseSpec(max_noise=1, variance=1.0, anchors=(1, 10**12 + 1))
    with pytest.raises(InfeasibleError):
        NoiseSpec(max_noise=2, variance=1.0, small=100_000)


def test_plain_values_are_kept():
    spec = NoiseSpec(
        max_noise=np.array([2, 3, 3]),
        variance=[1, Fraction(1, 2), Decimal("0.25")],
        small=np.int64(0),
        p_stay=(None, 0, np.float64(0.5)),
        step=np.int64(1),
    )
    assert (spec.max_noise, spec.variance) == ((2, 3, 3), (1.0, 0.5, 0.25))
    assert spec.p_stay == (None, 0.0, 0.5)
    assert hash(spec) == hash(NoiseSpec.from_dict(spec.to_dict()))
    assert type(NoiseSpec(max_noise=2, variance=1, zero_bias=1).zero_bias) is float
    values = (*spec.max_noise, *spec.variance, spec.small, *spec.p_stay[1:], spec.step)
    assert {type(value) for value in values} == {int, float}
    assert NoiseSpec(max_noise=2, variance=1, zero_bias=1, zero_variance=2).to_dict() == {
        "max_noise": 2,
        "variance": 1.0,
        "small": 0,
        "monotone": "none",
        "variance_rule": "exact",
        "min_probability": 0.0,
        "zero_bias": 1.0,
        "zero_variance": 2.0,
    }
    with pytest.raises(AttributeError):
        spec.small = 1
    with pytest.raises(TypeError):
        NoiseSpec(2, 1.0)


def test_all_wrong_settings_are_named_together():
    with pytest.raises(PTableError, match=r"variance must.*monotone must.*variance_rule must"):
        NoiseSpec(max_noise=2, variance=-1, monotone="up", variance_rule="about")


def test_too_little_noise_to_cross_the_blocked_counts_is_explained():
    with pytest.raises(InfeasibleError, match="a count of 3 can only go down to 0") as caught:
        NoiseSpec(max_noise=2, variance=1.0, small=2)
    assert "max_noise=3" in str(caught.value)


def test_a_variance_beyond_every_row_is_refused_with_the_reach():
    assert NoiseSpec(max_noise=3, variance=9.0).variance == 9
    with pytest.raises(InfeasibleError, match="at most 9, and all rows together at most 3"):
        NoiseSpec(max_noise=3, variance=9.01)
    for variance in (4.01, (1.0, 10.0)):
        with pytest.raises(InfeasibleError, match="at most 4, and all rows together at most 2"):
            NoiseSpec(max_noise=2, variance=variance)
    assert NoiseSpec(max_noise=2, variance=5.0, variance_rule="at-most").variance == 5
    bounds = NoiseSpec(max_noise=2, variance=(5.0, 1.0), variance_rule=("nearest", "exact"))
    assert bounds.variance == (5, 1)
    # where the largest noise differs by row, each row is asked by itself
    assert NoiseSpec(max_noise=(1, 2), variance=9.0).variance == 9


def test_numbers_of_numpy_are_taken_and_decimals_stay_exact():
    spec = NoiseSpec(max_noise=np.int64(2), variance=np.float64(1.05))
    assert spec == NoiseSpec(max_noise=2, variance=1.05)
    assert spec.row(1).variance == Fraction(105, 100)


@pytest.mark.parametrize("max_noise", [1, 2, 5])
@pytest.mark.parametrize("small", [0, 1, 3])
@pytest.mark.parametrize("step", [1, 3])
def test_noise_reaches_every_published_value_but_blocked_ones(max_noise, small, step):
    if max_noise <= small or (small and step > 1):
        return
    spec = NoiseSpec(max_noise=max_noise, variance=0.5, small=small, step=step, zero_bias=0.1)
    for count in (0, *range(1, spec.last_count + 1)):
        everything = (Fraction(v, step) for v in range(-200, 201))
        allowed = [
            v * step
            for v in everything
            if abs(v) <= max_noise and count + v >= 0 and not 1 <= count + v <= small
        ]
        assert spec.row(count).noise == tuple(allowed)
    last = spec.row(spec.last_count).noise
    assert last == tuple(range(-max_noise * step, max_noise * step + 1))
    if spec.last_count > 1:
        assert spec.row(spec.last_count - 1).noise != last


def test_rows_are_in_steps_and_exact():
    spec = NoiseSpec(
        max_noise=(1, 2),
        variance=(0.3, 0.7),
        step=4,
        anchors=(2, 5),
        min_probability=(0.01, 0.0),
        p_stay=(None, 0.4),
        p_stay_rule=("exact", "at-least"),
        variance_rule=("at-most", "nearest"),
        monotone=("both", "unimodal"),
    )
    first, second = spec.rows()
    assert (first.count, first.variance, first.floor, first.p_stay) == (
        *(2, Fraction(3, 10) * 16, Fraction(1, 100), None),
    )
    assert (first.at_most, first.nearest, second.at_most, second.nearest) == (
        *(True, False, False, True),
    )
    assert (first.n_left, first.n_right, first.unimodal) == (5, 5, False)
    assert (second.n_left, second.n_right, second.unimodal) == (0, 0, True)
    assert (second.p_stay, second.p_stay_rule) == (Fraction(2, 5), "at-least")
    assert (first.step, first.mean, first.symmetric) == (4, 0, False)
    assert second.noise == tuple(range(-8, 9))
    assert (spec.counts, spec.last_count, spec.max_noises) == ((2, 5), 5, (1, 2))
    for count in (0, 1, 3, 6):
        with pytest.raises(PTableError, match=rf"count must lie in 1\.\.5, not {count}"):
            spec.row(count)


def test_symmetric_rows_use_only_noise_whose_opposite_is_in_reach():
    spec = NoiseSpec(max_noise=3, variance=0.7, symmetric=True, monotone="left")
    assert [row.noise for row in spec.rows()] == [
        *((-1, 0, 1), (-2, -1, 0, 1, 2), (-3, -2, -1, 0, 1, 2, 3)),
    ]
    # what rises on one side falls on the other
    assert [(row.n_left, row.n_right, row.symmetric) for row in spec.rows()] == [
        *((2, 2, True), (3, 3, True), (4, 4, True)),
    ]
    peaked = replace(spec, monotone="unimodal").row(3)
    assert (peaked.n_left, peaked.n_right, peaked.unimodal) == (4, 4, False)
    free = replace(spec, monotone="none").row(3)
    assert (free.n_left, free.n_right) == (0, 0)
    mixed = replace(spec, symmetric=(False, True, False)).rows()
    assert [row.symmetric for row in mixed] == [False, True, False]


def test_counts_whose_value_is_blocked_have_no_wish_to_stay():
    spec = NoiseSpec(max_noise=4, variance=4.0, small=2, p_stay=0.3, monotone="both")
    rows = spec.rows()
    assert [row.p_stay for row in rows] == [None] * 2 + [Fraction(3, 10)] * 5
    assert [(row.n_left, row.n_right) for row in rows[:3]] == [(0, 0), (0, 0), (2, 5)]
    words = ("none", "left", "both", "unimodal")
    blocked = [NoiseSpec(max_noise=4, variance=4.0, small=2, monotone=w).row(1) for w in words]
    assert blocked[1:] == blocked[:-1]


def test_zeros_have_a_row_only_with_a_declared_bias():
    plain = NoiseSpec(max_noise=3, variance=1.0)
    assert plain.counts == (1, 2, 3)
    with pytest.raises(PTableError, match=r"count must lie in 1\.\.3, not 0"):
        plain.row(0)
    row = replace(plain, zero_bias=0.1, min_probability=(0.01, 0.0, 0.0)).row(0)
    assert (row.count, row.noise, row.mean) == (0, (0, 1, 2, 3), Fraction(1, 10))
    # without a variance of its own its variance is free up to what there is
    assert (row.variance, row.at_most, row.nearest) == (9, True, False)
    assert row.floor == Fraction(1, 100)
    own = replace(plain, zero_bias=0.1, zero_variance=0.5, variance_rule="nearest").row(0)
    assert (own.variance, own.at_most, own.nearest) == (Fraction(1, 2), False, True)
    assert not replace(plain, zero_bias=0.1, zero_variance=0.5).row(0).nearest
    first = replace(
        replace(plain, zero_bias=0.1, zero_variance=0.5),
        variance_rule=("nearest", "exact", "exact"),
    )
    assert first.row(0).nearest
    others = replace(
        replace(plain, zero_bias=0.1, zero_variance=0.5),
        variance_rule=("exact", "nearest", "nearest"),
    )
    assert not others.row(0).nearest
    assert not replace(plain, zero_bias=0.1, variance_rule="nearest").row(0).nearest
    steps = NoiseSpec(
        max_noise=1, variance=0.4, step=2, anchors=(1,), zero_bias=0.25, zero_variance=0.5
    ).row(0)
    assert (steps.noise, steps.mean, steps.variance, steps.step) == ((0, 1, 2), 0.5, 2, 2)


def test_a_mean_is_one_that_whole_keys_can_have():
    # zeros go up by 3 only: the keys that move sum to a multiple of 3 of 2**32
    row = NoiseSpec(max_noise=3, variance=2.0, small=2, zero_bias=0.47).row(0)
    assert row.noise == (0, 3)
    assert (row.mean * 2**32 / 3).denominator == 1
    assert abs(row.mean - Fraction("0.47")) <= Fraction(3, 2**33)
    assert NoiseSpec(max_noise=4, variance=2.0, small=2, zero_bias=0.47).row(
        0
    ).mean == Fraction("0.47")


@pytest.mark.parametrize(("small", "means"), [(0, ["0.8"]), (2, ["2.8", "1.8", "0.8"])])
def test_counts_stay_positive_with_the_bias_that_is_declared(small, means):
    spec = NoiseSpec(max_noise=5, variance=3.0, small=small, positive_bias=0.8)
    assert spec.last_count == 5 + small + 1
    assert [row.mean for row in spec.rows()] == [*map(Fraction, means), *[0] * 5]
    assert all(row.count + row.noise[0] == max(row.count - 5, small + 1) for row in spec.rows())


def test_a_page_lists_every_option():
    page = NoiseSpec(max_noise=5, variance=3.25, small=2)._repr_html_()
    assert "<caption>NoiseSpec</caption>" in page
    assert '<th scope="row">variance</th><td>3.25</td>' in page
    assert '<th scope="row">anchors</th><td>None</td>' in page


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
    rules = NoiseSpec.r_ptable(2, 1.0, exact=[True, False], monotone=False)
    assert (rules.variance_rule, rules.monotone) == (("exact", "at-most"), "none")
    assert (rules.p_stay, rules.p_stay_rule) == (None, "exact")
    assert NoiseSpec.r_ptable(2, 1.0).monotone == "left"
    staying = NoiseSpec.r_ptable(2, 1.0, p_stay=0.5)
    assert (staying.p_stay, staying.p_stay_rule) == (0.5, "at-least")
    magnitudes = NoiseSpec.r_ptable(2, 1.0, step=2, anchors=[1, 2])
    assert (magnitudes.step, magnitudes.anchors, magnitudes.small) == (2, (1, 2), 0)


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
