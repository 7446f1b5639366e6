"""Rényi accounting: closed forms, limits and what is refused."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad

from dp import Adjacency, DPError, Guarantee, concentrated
from dp.accounting.rdp import RenyiCurve, renyi_divergence
from dp.accounting.subsampled import subsampled_gaussian_loss

ADD = Adjacency.ADD_REMOVE


def integrated(rate, sigma, order):
    """Return the loss of one step by adaptive integration."""

    def integrand(z):
        ratio = rate * math.expm1((2 * z - 1) / (2 * sigma**2))
        log_density = -(z**2) / (2 * sigma**2) - math.log(sigma * math.sqrt(2 * math.pi))
        density, power = math.exp(log_density), order * math.log1p(ratio)
        if power > 1:
            return math.exp(log_density + power) - density * (1 + order * ratio)
        return density * (math.expm1(power) - order * ratio)

    edge = 14 * sigma
    parts = np.linspace(-edge, order + edge, 40)
    excess = sum(
        quad(integrand, a, b, epsabs=0, epsrel=1e-12, full_output=1)[0]
        for a, b in pairwise(parts)
    )
    return math.log1p(excess) / (order - 1)


@pytest.mark.parametrize("rate", [0.001, 0.05, 0.6])
@pytest.mark.parametrize("sigma", [0.6, 1.3, 6.0])
@pytest.mark.parametrize("order", [1.05, 2, 3.7, 9, 17.5])
def test_one_step_equals_numerical_integration(rate, sigma, order):
    ours = subsampled_gaussian_loss([order], sampling_rate=rate, noise_multiplier=sigma)[0]
    assert ours == pytest.approx(integrated(rate, sigma, order), rel=1e-9)


def test_the_ends_of_the_sampling_rate():
    orders = np.array([1.5, 2, 64])
    none = subsampled_gaussian_loss(orders, sampling_rate=0, noise_multiplier=1)
    assert none.tolist() == [0, 0, 0]
    every = subsampled_gaussian_loss(orders, sampling_rate=1, noise_multiplier=2)
    assert every.tolist() == (orders / 8).tolist()
    nearly = subsampled_gaussian_loss(orders, sampling_rate=1 - 1e-9, noise_multiplier=2)
    assert nearly == pytest.approx(every, rel=1e-7)


def test_the_ends_of_the_noise():
    assert np.isinf(subsampled_gaussian_loss([2], sampling_rate=0.1, noise_multiplier=0)).all()
    quiet = subsampled_gaussian_loss([1.5, 2], sampling_rate=0.1, noise_multiplier=0.02)
    assert (quiet > 100).all()
    assert quiet[0] <= quiet[1]
    loud = subsampled_gaussian_loss([1.5, 2], sampling_rate=0.1, noise_multiplier=1e4)
    expected = np.array([1.5, 2]) / 2 * 0.1**2 / 1e8
    assert loud == pytest.approx(expected, rel=1e-5)
    assert subsampled_gaussian_loss([math.inf], sampling_rate=0.1, noise_multiplier=1)[0] == (
        math.inf
    )


def test_fractional_orders_lie_between_whole_ones():
    orders = np.arange(2, 9, 0.25)
    loss = subsampled_gaussian_loss(orders, sampling_rate=0.01, noise_multiplier=0.9)
    assert (np.diff(loss) > 0).all()
    # (order - 1) times the loss is convex in the order
    assert (np.diff((orders - 1) * loss, 2) > -1e-15).all()


def test_composition_adds_at_each_order():
    one = RenyiCurve.subsampled_gaussian(sampling_rate=0.01, noise_multiplier=1)
    two = RenyiCurve.subsampled_gaussian(sampling_rate=0.02, noise_multiplier=2)
    whole = one * 100 + two * 50
    assert whole.losses == pytest.approx(100 * one.losses + 50 * two.losses)
    assert (one * 0).epsilon(1e-5).epsilon == 0
    assert (one * 0).delta(0.0) == 0


def test_no_noise_costs_everything_and_infinite_noise_nothing():
    none = RenyiCurve.subsampled_gaussian(sampling_rate=0.1, noise_multiplier=0)
    assert none.epsilon(1e-5).epsilon == math.inf
    much = RenyiCurve.subsampled_gaussian(sampling_rate=0.1, noise_multiplier=math.inf)
    assert much.epsilon(1e-5).epsilon == 0


def test_rho_by_way_of_orders_is_rho():
    curve = RenyiCurve.concentrated(0.1, adjacency=ADD)
    direct = Guarantee(rho=0.1, adjacency=ADD).at(1e-6).epsilon
    found = curve.epsilon(1e-6).epsilon
    assert direct <= found <= direct * 1.002
    pure = [Guarantee(epsilon=0.1, adjacency=ADD)] * 20
    assert (RenyiCurve.pure(0.1, adjacency=ADD) * 20).epsilon(1e-6).epsilon <= (
        concentrated(pure).at(1e-6).epsilon * 1.002
    )


def test_a_pure_loss_is_never_above_epsilon_nor_half_its_square_by_order():
    for epsilon in (0.01, 1, 10, 800):
        curve = RenyiCurve.pure(epsilon, adjacency=ADD)
        assert (curve.losses <= epsilon * (1 + 1e-12)).all()
        assert (curve.losses <= np.array(curve.orders) * epsilon**2 / 2 + 1e-12).all()


def test_epsilon_and_delta_are_inverse():
    curve = RenyiCurve.subsampled_gaussian(sampling_rate=0.01, noise_multiplier=1) * 500
    epsilon = curve.epsilon(1e-6).epsilon
    assert curve.delta(epsilon) == pytest.approx(1e-6, rel=1e-6)


def test_divergence_of_gaussians_on_a_grid():
    z = np.linspace(-12, 13, 200_001)
    p, q = (np.exp(-((z - m) ** 2) / 2) for m in (1.0, 0.0))
    p, q = p / p.sum(), q / q.sum()
    for order in (1, 2, 3.5):
        assert renyi_divergence(p, q, order=order) == pytest.approx(order / 2, rel=1e-6)


def test_divergence_runs_from_kullback_leibler_to_the_largest_ratio():
    p, q = [0.5, 0.3, 0.2], [0.2, 0.2, 0.6]
    orders = [1, 1 + 1e-9, 1.5, 2, 10, 1e4, math.inf]
    found = [renyi_divergence(p, q, order=order) for order in orders]
    assert found == sorted(found)
    assert found[-1] == pytest.approx(math.log(2.5))
    assert found[-2] == pytest.approx(found[-1], rel=1e-3)


@pytest.mark.parametrize(
    "p", [[0.5, 0.3, 0.2], [0.5, 0.3, 0.2 - 5e-10]], ids=["law", "rounded law"]
)
def test_divergence_near_order_one_is_that_of_kullback_and_leibler(p):
    q = [0.2, 0.2, 0.6]
    at_one = renyi_divergence(p, q, order=1)
    for above in (1e-7, 1e-9, 1e-12, 1e-15):
        # The slope in the order is half the variance of the log-ratio, here .29.
        near = renyi_divergence(p, q, order=1 + above)
        assert near == pytest.approx(at_one, rel=1e-12, abs=above)


def test_an_outcome_of_one_only_is_infinitely_far():
    assert renyi_divergence([0.5, 0.5], [1, 0], order=2) == math.inf
    assert renyi_divergence([1, 0], [0.5, 0.5], order=math.inf) == pytest.approx(math.log(2))


@pytest.mark.parametrize(
    "call",
    [
        lambda: RenyiCurve(orders=(), losses=[]),
        lambda: RenyiCurve(orders=(1.0, 2.0), losses=[0, 0]),
        lambda: RenyiCurve(orders=(3.0, 2.0), losses=[0, 0]),
        lambda: RenyiCurve(orders=(2.0,), losses=[-1]),
        lambda: RenyiCurve(orders=(2.0,), losses=[math.nan]),
        lambda: RenyiCurve(orders=(2.0,), losses=[0, 0]),
        lambda: RenyiCurve.subsampled_gaussian(sampling_rate=1.2, noise_multiplier=1),
        lambda: RenyiCurve.subsampled_gaussian(sampling_rate=0.1, noise_multiplier=-1),
        lambda: RenyiCurve.subsampled_gaussian(sampling_rate=0.1, noise_multiplier=math.nan),
        lambda: RenyiCurve.pure(1, adjacency=ADD) * -1,
        lambda: RenyiCurve.pure(1, adjacency=ADD) * 1.5,
        lambda: RenyiCurve.pure(1, adjacency=ADD).epsilon(0),
        lambda: RenyiCurve.pure(1, adjacency=ADD).epsilon(1e-5, conversion="best"),
        lambda: RenyiCurve.pure(1, adjacency=ADD) + RenyiCurve.pure(1, adjacency="replace"),
        lambda: (
            RenyiCurve.pure(1, adjacency=ADD) + RenyiCurve.pure(1, adjacency=ADD, orders=[2])
        ),
        lambda: renyi_divergence([0.5, 0.6], [0.5, 0.5], order=2),
        lambda: renyi_divergence([1.0], [0.5, 0.5], order=2),
        lambda: renyi_divergence([1.0], [1.0], order=0.5),
    ],
)
def test_what_makes_no_sense_is_refused(call):
    with pytest.raises(DPError):
        call()


def test_huge_noise_costs_hardly_anything_and_breaks_nothing():
    for noise in (1e7, 1e200, 1e300):
        for rate in (0.01, 1.0):
            loss = subsampled_gaussian_loss(
                [1.5, 4], sampling_rate=rate, noise_multiplier=noise
            )
            assert (loss >= 0).all()
            assert (loss < 1e-11).all()
