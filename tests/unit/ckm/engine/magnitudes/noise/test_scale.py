"""The amounts that noise must hide, and the share of them that one step is."""

import math
from dataclasses import FrozenInstanceError
from fractions import Fraction

import numpy as np
import pytest

from ckm.engine.magnitudes import (
    Flex,
    MagnitudeNoise,
    Proportional,
    magnitude_ptable,
    perturb_magnitudes,
    plan_noise,
)
from ckm.engine.magnitudes.noise.scale import bases, bases_of_records, flex_curve
from ckm.errors import ConfigError, MagnitudeError
from tables import Secret
from tests.amounts import amounts

SECRET = Secret(bytes(range(32)))


def test_noise_is_made_for_the_largest_weighted_amount():
    values, weights = [[100.0, 90.0, 1.0]], [[1.0, 50.0, 2.0]]
    scale = Proportional(share=0.1)
    for n_top in (1, 2, 6):
        cells = amounts(values, weights=weights, n_top=n_top)
        noise = MagnitudeNoise(ptable=magnitude_ptable(), scale=scale)
        assert plan_noise(cells, noise).steps.tolist() == [[450.0]]
    several = MagnitudeNoise(ptable=magnitude_ptable(), scale=scale, factors=(1.0, 0.5))
    assert plan_noise(cells, several).steps.tolist() == [[450.0, 5.0]]
    hidden = amounts([[100.0, 90.0, 1.0, 1.0]], weights=[[1.0, 2.0, 999.0, 1.0]], n_top=2)
    assert plan_noise(hidden, several).steps.tolist() == [pytest.approx([99.9, 9.0])]
    by_range = MagnitudeNoise(ptable=magnitude_ptable(), scale=scale, base="range")
    assert plan_noise(cells, by_range).steps.tolist() == [[450.0]]


def test_flex_steps_fall_and_factors_always_count():
    flex = Flex(point=100.0, small=0.2, large=0.02, power=3)
    noise = MagnitudeNoise(
        ptable=magnitude_ptable(), scale=flex, factors=(1.0, 0.5), decimals=None
    )
    plan = plan_noise(amounts([[50.0, 40.0], [1e9, 1e9]]), noise)
    assert plan.steps[0].tolist() == pytest.approx([10.0, 4.0])
    assert plan.steps[1].tolist() == pytest.approx([0.02e9, 0.01e9], rel=1e-3)


def test_too_few_largest_contributors_are_noticed():
    cells = amounts([[5.0, 4.0, 3.0]], n_top=1)
    with pytest.raises(MagnitudeError, match="2 largest"):
        perturb_magnitudes(cells, MagnitudeNoise.start(), secret=SECRET)
    noise = MagnitudeNoise.start(sensitive=(), factors=(1.0, 1.0, 1.0))
    with pytest.raises(MagnitudeError, match="3 largest"):
        perturb_magnitudes(cells, noise, secret=SECRET)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Proportional(share=0),
        lambda: Proportional(share=1.01),
        lambda: Proportional(share=math.nan),
        lambda: Proportional(share="0.1"),
        lambda: Flex(point=0, small=0.1, large=0.1),
        lambda: Flex(point=math.inf, small=0.1, large=0.1),
        lambda: Flex(point=10, small=0.1, large=0.2),
        lambda: Flex(point=10, small=0.2, large=0.1, power=0),
        lambda: Flex(point=10, small=0.2, large=0.1, power=2.0),
        lambda: Flex(point=10**400, small=0.2, large=0.1),
    ],
)
def test_scales_are_checked(make):
    with pytest.raises(ConfigError):
        make()


@pytest.mark.parametrize("power", range(2, 8))
def test_shares_stay_between_large_and_what_small_says(power):
    flex = Flex(point=1000.0, small=0.25, large=0.05, power=power)
    sizes = np.geomspace(0.001, 1e15, 400)
    shares = flex.shares(sizes)
    assert (shares > 0).all()
    assert (shares[sizes < 1000] == 0.25).all()
    assert shares[-1] == pytest.approx(0.05, rel=1e-6)
    assert flex.shares([1000.0 - 1e-9])[0] == pytest.approx(flex.shares([1000.0])[0])


def test_a_share_of_one_and_a_power_of_one_or_twenty_are_allowed():
    assert Proportional(share=1).share == 1.0
    assert isinstance(Proportional(share=1).share, float)
    same = Flex(point=10, small=0.1, large=0.1)
    assert (same.power, same.point) == (3, 10.0)
    assert isinstance(same.point, float)
    for power in (1, 20):
        assert Flex(point=10, small=0.1, large=0.1, power=power).power == power
    with pytest.raises(ConfigError, match="power"):
        Flex(point=10, small=0.1, large=0.1, power=21)


def test_a_share_has_the_shape_of_its_amounts():
    for scale in (Proportional(share=0.2), Flex(point=10.0, small=0.2, large=0.1)):
        assert scale.small == 0.2
        assert scale.shares(np.array([[1.0, -2.0, 9.0]])).tolist() == [[0.2, 0.2, 0.2]]


@pytest.mark.parametrize("power", [1, 2, 3, 5])
def test_the_flex_function_is_its_formula_in_exact_arithmetic(power):
    """``l (1 + ((s x - l f) / (l f)) (2 f / (f + x))**q)``, also below the point."""
    point, small, large = Fraction(50), Fraction(1, 4), Fraction(1, 16)
    sizes = [0, 10, 50, 51, 70, 200, 10**6]
    wanted = [
        large
        * (
            1
            + (small * x - large * point) / (large * point) * (2 * point / (point + x)) ** power
        )
        for x in sizes
    ]
    parts = {"point": 50.0, "small": 0.25, "large": 0.0625}
    found = flex_curve(np.array(sizes, float), **parts, power=power)
    assert found.tolist() == pytest.approx([float(w) for w in wanted], rel=1e-12)
    scale = Flex(**parts, power=power)
    shares = [w if x >= 50 else small for x, w in zip(sizes, wanted, strict=True)]
    for sign in (1, -1):
        assert scale.shares(sign * np.array(sizes, float)).tolist() == pytest.approx(
            [float(s) for s in shares], rel=1e-12
        )


#: Values and weights of records, with what the four bases are for them.
MIXED = [
    ([4.0, -10.0, 0.0], [1.0, 2.0, 3.0]),
    ([4.0, 10.0], [5.0, 1.0]),
    ([-4.0, -10.0], [1.0, 1.0]),
    ([7.0], [2.0]),
    ([], []),
    ([0.0], [1.0]),
]


def mixed(n_top=6):
    values, weights = zip(*MIXED, strict=True)
    return amounts(values, weights=weights, n_top=n_top)


@pytest.mark.parametrize(
    ("base", "wanted"),
    [
        ("top", [20, 20, 10, 14, 0, 0]),  # the largest weighted value
        ("mean", [16 / 3, 5, 7, 7, 0, 0]),  # over contributors
        ("range", [20, 20, 10, 14, 0, 0]),  # with 0, and no less than the largest
        ("sum", [16, 30, 14, 14, 0, 0]),
    ],
)
def test_own_noise_is_scaled_to_sizes_of_contributors(base, wanted):
    found = bases(mixed(), base=base, components=1)
    assert found.tolist() == [[pytest.approx(w)] for w in wanted]


def test_the_range_of_own_noise_reaches_from_zero_to_the_farthest_value():
    cells = amounts([[4.0, -10.0], [4.0, 10.0], [-4.0, -10.0]])
    assert bases(cells, base="range", components=1).ravel().tolist() == [14.0, 10.0, 10.0]


@pytest.mark.parametrize(
    ("base", "wanted"),
    [
        ("top", [-20, 10, -10, 7 * 2, 0, 0]),  # the largest value, times its weight
        ("mean", [-16 / 6, 5, -7, 7, 0, 0]),  # over all records
        ("range", [14, 6, 6, 0, 0, 0]),  # zeros count where there are some
        ("sum", [-16, 30, -14, 14, 0, 0]),
    ],
)
def test_other_tools_scale_noise_to_all_records_with_their_sign(base, wanted):
    found = bases_of_records(mixed(), base=base, components=1)
    assert found.tolist() == [[pytest.approx(w)] for w in wanted]


def test_zeros_widen_the_range_of_other_tools_on_either_side():
    cells = amounts([[4.0, 10.0, 0.0], [-4.0, -10.0, 0.0], [4.0, 10.0], [-4.0, -10.0]])
    # `amounts` takes the ends of the contributors; those of the records have the zeros.
    found = bases_of_records(cells, base="range", components=1)
    assert found.ravel().tolist() == [10.0, 10.0, 6.0, 6.0]


def test_several_components_are_the_largest_contributors_in_order():
    cells = mixed()
    assert bases(cells, base="top", components=3).tolist() == [
        [20.0, 4.0, 0.0],
        [20.0, 10.0, 0.0],  # by weighted values
        [10.0, 4.0, 0.0],
        [14.0, 0.0, 0.0],
        [0.0] * 3,
        [0.0] * 3,
    ]
    assert bases_of_records(cells, base="top", components=2).tolist() == [
        [-20.0, 4.0],
        [10.0, 20.0],  # by values alone
        [-10.0, -4.0],
        [14.0, 0.0],
        [0.0] * 2,
        [0.0] * 2,
    ]


def test_the_very_largest_comes_first_where_the_others_lack_it():
    lacking = amounts([[100.0, 90.0, 1.0]], weights=[[1.0, 2.0, 999.0]], n_top=3)
    assert bases(lacking, base="top", components=2).tolist() == [[999.0, 180.0]]
    equal = amounts([[5.0, 5.0, 5.0]], n_top=3)
    assert bases(equal, base="top", components=2).tolist() == [[5.0, 5.0]]


def test_scales_hold_plain_numbers_by_name_and_do_not_change():
    flex = Flex(point=np.float32(0.5), small=1, large=1, power=np.int64(3))
    assert [type(v) for v in (flex.point, flex.small, flex.large, flex.power)] == [
        float,
        float,
        float,
        int,
    ]
    assert flex == Flex(point=0.5, small=1.0, large=1.0)
    with pytest.raises(TypeError):
        Flex(10.0, 0.2, 0.1)
    with pytest.raises(TypeError):
        Proportional(0.2)
    for scale, name in ((flex, "point"), (Proportional(share=0.2), "share")):
        assert not hasattr(scale, "__dict__")
        with pytest.raises(FrozenInstanceError):
            setattr(scale, name, 0.3)
