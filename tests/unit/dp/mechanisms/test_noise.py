"""Noise: its law, its promise, its reach. OpenDP draws without a seed; errors are 1e-7."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binomtest, kstest, laplace, norm

from dp import (
    Adjacency,
    DiscreteGaussian,
    DPError,
    Gaussian,
    Geometric,
    Laplace,
    Sensitivity,
    audit,
    bounded_sum,
    count,
    counts,
    disjoint,
    gaussian_delta,
    gaussian_scale,
    histogram,
    maximum,
    mean,
)
from dp.sensitivity import together
from tests.unit.dp.support import ERROR, discrete_gaussian_delta, fits

MANY = 20_000
#: Of any number of numbers, so that the noise can be looked at many times at once.
ONE = Sensitivity(l1=1, adjacency=Adjacency.ADD_REMOVE)
#: What OpenDP draws is tested as it is drawn; each test fails by itself in one run of 10**7.
pytestmark = pytest.mark.system_randomness

KINDS = [
    Laplace(sensitivity=ONE, scale=3.0),
    Geometric(sensitivity=ONE, scale=3.0),
    Gaussian(sensitivity=ONE, scale=3.0),
    DiscreteGaussian(sensitivity=ONE, scale=3.0),
]


def zeros(noise, size=MANY):
    return np.zeros(size, dtype=np.int64 if noise.is_integer else np.float64)


@pytest.fixture(scope="module")
def draws():
    return {type(noise): noise.release(zeros(noise)) for noise in KINDS}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "law"), [(Laplace, laplace(scale=3)), (Gaussian, norm(scale=3))]
)
def test_noise_on_floats_follows_its_law(draws, kind, law):
    assert kstest(draws[kind], law.cdf).pvalue > ERROR


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Geometric, DiscreteGaussian])
def test_noise_on_integers_follows_its_law(draws, kind):
    support = np.arange(-60, 61)
    weights = np.exp(-np.abs(support) / 3) if kind is Geometric else np.exp(-(support**2) / 18)
    observed = [(draws[kind] == k).sum() for k in support]
    assert fits(observed, MANY * weights / weights.sum())


@pytest.mark.slow
@pytest.mark.parametrize("noise", KINDS, ids=lambda noise: type(noise).__name__)
def test_variance_and_accuracy_are_those_of_the_draws(draws, noise):
    found = draws[type(noise)]
    spread = np.mean(found.astype(float) ** 2)
    kurtosis = 6
    assert abs(spread / noise.variance - 1) < 6 * math.sqrt(kurtosis / MANY)
    for confidence in (0.5, 0.95):
        inside = np.mean(np.abs(found) <= noise.accuracy(confidence))
        slack = 6 * math.sqrt(confidence * (1 - confidence) / MANY)
        assert inside >= confidence - slack
        if not noise.is_integer:
            assert inside <= confidence + slack


@pytest.mark.parametrize("scale", [0.2, 1.0, 7.5, 2000.0, 50_000.0])
def test_accuracy_on_integers_is_the_least_that_holds(scale):
    geometric = Geometric(sensitivity=count(), scale=scale)
    ratio = math.exp(-1 / scale)
    for confidence in (0.5, 0.9, 0.999):
        reach = geometric.accuracy(confidence)

        def outside(distance):
            return 2 * ratio ** (distance + 1) / (1 + ratio)

        assert outside(reach) <= (1 - confidence) * (1 + 1e-9)
        assert reach == 0 or outside(reach - 1) > (1 - confidence) * (1 - 1e-9)


def test_accuracy_of_many_numbers_is_wider():
    noise = Laplace(sensitivity=count(), scale=1)
    assert noise.accuracy(0.9, numbers=100) == pytest.approx(-math.log(1 - 0.9**0.01))
    assert noise.accuracy(0.9, numbers=100) > noise.accuracy(0.9)


@pytest.mark.parametrize("kind", [Laplace, Geometric])
@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 0.3, 1 / 3, 1, 10])
def test_calibrated_noise_costs_what_was_asked_and_never_more(kind, epsilon):
    for sensitivity in (count(), counts(7), histogram(Adjacency.REPLACE)):
        promise = kind.calibrated(sensitivity, epsilon=epsilon).guarantee
        assert promise.epsilon <= epsilon
        assert promise.epsilon == pytest.approx(epsilon, rel=1e-12)
        assert promise.is_pure


@pytest.mark.parametrize("kind", [Gaussian, DiscreteGaussian])
@pytest.mark.parametrize("rho", [1e-6, 0.1, 1 / 3, 2])
def test_noise_calibrated_by_rho_costs_it_and_never_more(kind, rho):
    for sensitivity in (count(), counts(7)):
        promise = kind.calibrated(sensitivity, rho=rho).guarantee
        assert promise.rho <= rho
        assert promise.rho == pytest.approx(rho, rel=1e-12)
        assert not promise.is_pure


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1, 8])
def test_gaussian_noise_calibrated_by_epsilon_keeps_its_delta(epsilon):
    noise = Gaussian.calibrated(counts(4), epsilon=epsilon, delta=1e-6)
    assert gaussian_delta(epsilon, mu=2 / noise.scale) <= 1e-6
    assert gaussian_delta(epsilon, mu=2 / (noise.scale * 0.999)) > 1e-6
    assert noise.guarantee.epsilon <= epsilon * (1 + 1e-9)
    assert noise.guarantee.delta == 1e-6


@pytest.mark.parametrize("epsilon", [0.1, 1, 5])
def test_discrete_gaussian_noise_by_epsilon_is_safe(epsilon):
    noise = DiscreteGaussian.calibrated(count(), epsilon=epsilon, delta=1e-6)
    assert discrete_gaussian_delta(epsilon, scale=noise.scale) <= 1e-6
    assert noise.guarantee.at(1e-6).epsilon <= epsilon


def test_the_delta_of_discrete_gaussian_noise_is_that_of_its_matrix():
    support = np.arange(-200, 202)
    for scale, epsilon in [(0.6, 0.5), (2.0, 0.3), (5.0, 0.0)]:
        weights = np.exp(-(np.arange(-400, 401) ** 2) / (2 * scale**2))
        norming = weights.sum()
        law = np.exp(-(support**2) / (2 * scale**2)) / norming
        moved = np.exp(-((support - 1) ** 2) / (2 * scale**2)) / norming
        exact = np.maximum(0, law - np.exp(epsilon) * moved).sum()
        assert discrete_gaussian_delta(epsilon, scale=scale) == pytest.approx(exact)


def test_wide_discrete_gaussian_noise_is_like_gaussian_noise():
    scale = gaussian_scale(0.5, delta=1e-5)
    assert discrete_gaussian_delta(0.5, scale=100 * scale, sensitivity=100) == pytest.approx(
        1e-5, rel=1e-3
    )


def test_shapes_and_types_are_kept():
    assert isinstance(KINDS[0].release(3), float)
    assert isinstance(KINDS[0].release(3.0), float)
    assert isinstance(KINDS[1].release(3), int)
    assert KINDS[1].release(np.zeros((2, 3), dtype=np.uint8)).shape == (2, 3)
    assert KINDS[1].release(np.zeros(2, dtype=np.int32)).dtype == np.int64
    assert KINDS[3].release(np.zeros(0, dtype=int)).shape == (0,)
    assert KINDS[2].release([]).shape == (0,)


@pytest.mark.parametrize("kind", [Laplace, Geometric, Gaussian, DiscreteGaussian])
@pytest.mark.parametrize(
    ("sensitivity", "numbers"),
    [
        (count(), 1),
        (bounded_sum(0, 9), 1),
        (mean(0, 9, at_least=3), 1),
        (maximum(0, 9), 1),
        (counts(3), 3),
        (together([count(), bounded_sum(0, 9)]), 2),
        (disjoint([count(), counts(2)]), 3),
        (count().for_units(2, unit="person"), 1),
        (histogram(), None),
        (together([count(), histogram()]), None),
    ],
)
def test_a_release_has_as_many_numbers_as_its_sensitivity(kind, sensitivity, numbers):
    """A thousand counts under the sensitivity of one would cost a thousand times as much."""
    noise = kind(sensitivity=sensitivity, scale=3.0)
    assert sensitivity.numbers == numbers
    for size in (0, 1, 2, 3, 1000):
        answer = np.zeros(size, dtype=int)
        if numbers in {None, size}:
            assert noise.release(answer).shape == (size,)
        else:
            with pytest.raises(DPError, match="number") as caught:
                noise.release(answer)
            assert "histogram" in caught.value.hint


@pytest.mark.slow
def test_the_log_ratio_of_integer_noise_is_that_of_its_scale(draws):
    """What OpenDP before 0.14.2 fails: at scale 3, between .51 and .54 for 1/3."""
    found = draws[Geometric]
    steps = range(-4, 4)
    for low in steps:
        here, there = (int((found == k).sum()) for k in (low, low + 1))
        nearer = here if abs(low) < abs(low + 1) else there
        share = 1 / (1 + math.exp(-1 / 3))
        test = binomtest(nearer, here + there, share)
        assert test.pvalue > ERROR / len(steps)


def test_the_answer_is_left_alone():
    answer = np.arange(5)
    KINDS[1].release(answer)
    assert answer.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("answer", [math.nan, math.inf, [1.0, math.nan], "7", None, [True]])
def test_what_is_no_answer_is_refused(answer):
    with pytest.raises(DPError):
        KINDS[0].release(answer)


@pytest.mark.parametrize("answer", [2**62 + 1, 2**64 - 1, 1.5, [2.0]])
def test_integer_noise_takes_integers_of_a_size(answer):
    with pytest.raises(DPError):
        KINDS[1].release(answer)


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, "1", None, True])
def test_an_epsilon_is_positive_and_finite(epsilon):
    with pytest.raises(DPError, match="epsilon"):
        Laplace.calibrated(count(), epsilon=epsilon)


@pytest.mark.parametrize("delta", [0, 1, 2, -1e-9, math.nan])
def test_a_delta_lies_between_zero_and_one(delta):
    with pytest.raises(DPError, match="delta"):
        Gaussian.calibrated(count(), epsilon=1, delta=delta)


@pytest.mark.parametrize("scale", [0, -1, math.nan, math.inf])
def test_a_scale_is_positive_and_finite(scale):
    with pytest.raises(DPError, match="scale"):
        Laplace(sensitivity=count(), scale=scale)


def test_a_cost_is_given_once():
    with pytest.raises(DPError, match="missing"):
        Gaussian.calibrated(count())
    with pytest.raises(DPError, match="twice"):
        DiscreteGaussian.calibrated(count(), epsilon=1, delta=1e-6, rho=0.1)


def test_the_classic_formula_ends_at_one():
    from dp.accounting.gaussian import classic_gaussian_scale

    with pytest.raises(DPError, match="below 1"):
        classic_gaussian_scale(1.0, delta=1e-5)


@pytest.mark.parametrize("kind", [Laplace, Gaussian])
def test_integers_that_move_apart_as_floats_are_refused(kind):
    """As floats 2**53 + 2 and 2**53 + 3 are 2 apart, twice the sensitivity of a count."""
    assert float(2**53 + 3) - float(2**53 + 2) == 2
    noise = kind(sensitivity=count(), scale=1.0)
    assert isinstance(noise.release(2**53), float)
    for answer in (2**53 + 3, -(2**53) - 3, np.uint64(2**63)):
        with pytest.raises(DPError, match="rounded as a float"):
            noise.check(answer)


def test_a_fractional_sensitivity_of_integers_is_rounded_up():
    half = Sensitivity(l1=1.5, adjacency=Adjacency.ADD_REMOVE)
    assert Geometric.calibrated(half, epsilon=1).scale == 2


def naive(value, scale):
    """Return the floating-point noise of textbooks."""
    generator = np.random.default_rng(20)
    return lambda size: value + generator.laplace(0, scale, size)


def test_the_holes_of_floating_point_noise_are_found():
    """A result with digits below those of 1 can come from 0, and never from 1."""
    found = audit(naive(0.0, 1.0), naive(1.0, 1.0), runs=10_000)
    assert "digits" in found.event
    assert found.hits[1] == 0
    assert found.refutes(3.0)  # claimed: 1


@pytest.mark.slow
def test_our_noise_on_floats_has_no_such_holes():
    noise = Laplace(sensitivity=ONE, scale=1.0)
    sources = [lambda n, value=v: noise.release(np.full(n, value)) for v in (0.0, 1.0)]
    found = audit(*sources, runs=10_000, error=ERROR)
    assert not found.refutes(1.0)
    assert found.epsilon > 0.5  # the audit sees what is there


@pytest.mark.slow
@pytest.mark.parametrize("noise", KINDS[:2], ids=["Laplace", "Geometric"])
def test_noise_keeps_its_promise_under_audit(noise):
    one = zeros(noise) + 1
    assert not audit(
        lambda n: noise.release(zeros(noise, n)), lambda n: noise.release(one[:n]), error=ERROR
    ).refutes(1 / 3)


def test_averaging_repeated_answers_reveals_the_count():
    """The count of over-50s, asked 4,000 times at epsilon 0.1: 400 was spent, all is known."""
    over_50 = 28
    noise = Geometric.calibrated(ONE, epsilon=0.1)
    asked = noise.release(np.full(4000, over_50))
    assert round(float(np.mean(asked[:4000]))) in range(over_50 - 2, over_50 + 3)
    assert np.mean(np.abs(asked - over_50) <= 1) < 0.25  # one answer hides it


def test_clipping_keeps_counts_from_falling_below_zero_afterwards():
    noise = Geometric.calibrated(histogram(), epsilon=0.1)
    published = np.maximum(noise.release(np.zeros(1000, dtype=int)), 0)
    assert published.min() == 0


def test_the_differencing_example():
    """100 staff with mean 55,000, then 101 with 56,000: exact means give the newcomer away."""
    newcomer = 101 * 56_000 - 100 * 55_000
    assert newcomer == 156_000
    pay = bounded_sum(0, 200_000)
    noise = Laplace.calibrated(pay, epsilon=0.5)
    assert noise.accuracy(0.5) > newcomer
