"""Places: the law of planar Laplace noise, its grid, its box."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import dblquad, quad
from scipy.stats import kstest

from dp import Adjacency, DPError, PlanarLaplace, audit, basic
from dp.mechanisms.planar import radius_at

NOISE = PlanarLaplace(epsilon=0.01, spacing=1, reach=1e5)


def test_the_radius_is_the_inverse_of_its_law():
    for chance in (1e-6, 0.1, 0.5, 0.99, 1 - 1e-9):
        x = 0.3 * radius_at(chance, epsilon=0.3)
        assert -math.expm1(math.log1p(x) - x) == pytest.approx(chance, rel=1e-6)
    assert radius_at(0, epsilon=1) == 0
    assert radius_at(1, epsilon=1) == math.inf


def test_the_density_is_one_and_falls_by_epsilon_with_distance():
    epsilon = 0.7

    def density(y, x):
        return epsilon**2 / (2 * math.pi) * math.exp(-epsilon * math.hypot(x, y))

    total, _ = dblquad(density, -60, 60, -60, 60, epsabs=1e-4)
    assert total == pytest.approx(1, abs=1e-3)
    inside, _ = quad(lambda r: epsilon**2 * r * math.exp(-epsilon * r), 0, 3)
    assert radius_at(inside, epsilon=epsilon) == pytest.approx(3)


def test_distances_and_directions_follow_their_law():
    generator = np.random.default_rng(7)
    moved = NOISE.perturb(np.zeros((20_000, 2)), generator=generator)
    distance = np.hypot(*moved.T)
    assert kstest(distance, lambda r: 1 - (1 + 0.01 * r) * np.exp(-0.01 * r)).pvalue > 1e-3
    angle = np.arctan2(moved[:, 1], moved[:, 0])
    assert kstest(angle, lambda a: (a + math.pi) / (2 * math.pi)).pvalue > 1e-3
    assert distance.mean() == pytest.approx(2 / NOISE.noise_epsilon, rel=0.02)
    assert np.mean(distance <= NOISE.accuracy(0.9)) == pytest.approx(0.9, abs=0.01)


def test_secure_randomness_has_the_same_law():
    moved = NOISE.perturb(np.zeros((20_000, 2)))
    inside = np.mean(np.hypot(*moved.T) <= radius_at(0.5, epsilon=0.01))
    assert abs(inside - 0.5) < 6 * math.sqrt(0.25 / 20_000)


def test_reports_lie_on_the_grid():
    noise = PlanarLaplace(epsilon=0.1, spacing=5, reach=1e4)
    moved = noise.perturb([[3.3, 7.1]] * 100, generator=np.random.default_rng(1))
    assert (moved % 5 == 0).all()


def test_the_grid_costs_little_and_is_accounted_for():
    assert NOISE.noise_epsilon < NOISE.epsilon
    assert NOISE.noise_epsilon == pytest.approx(NOISE.epsilon, rel=1e-4)
    with pytest.raises(DPError, match="digits"):
        PlanarLaplace(epsilon=1e-12, spacing=1e-9, reach=1e9)


def test_reports_outside_of_the_box_go_to_its_border():
    box = (0.0, 0.0, 100.0, 50.0)
    noise = PlanarLaplace(epsilon=0.01, spacing=1, reach=200, box=box)
    moved = noise.perturb([[50.0, 25.0]] * 500, generator=np.random.default_rng(2))
    assert moved.min() == 0
    assert moved[:, 0].max() == 100
    assert moved[:, 1].max() == 50


def test_the_guarantee_counts_per_metre_and_adds_up_over_reports():
    assert NOISE.guarantee.adjacency == Adjacency.DISTANCE
    assert basic([NOISE.guarantee] * 10).epsilon == pytest.approx(0.1)


def test_two_places_apart_keep_the_promise_under_audit():
    noise = PlanarLaplace(epsilon=0.02, spacing=1, reach=1e5)
    generator = np.random.default_rng(3)

    def report(east):
        return lambda n: noise.perturb(np.tile([east, 0.0], (n, 1)), generator=generator)[:, 0]

    found = audit(report(0.0), report(50.0), runs=20_000, error=1e-6)
    assert not found.refutes(0.02 * 50)
    assert found.epsilon > 0.4


def test_repeated_reports_of_one_place_average_out():
    moved = NOISE.perturb([[1000.0, 2000.0]] * 5000, generator=np.random.default_rng(4))
    assert np.hypot(*(moved.mean(axis=0) - [1000, 2000])) < 15
    assert 2 / NOISE.noise_epsilon == pytest.approx(200, rel=1e-3)


@pytest.mark.parametrize("places", [[[1, 2, 3]], [1, 2], [[math.nan, 0]], [[math.inf, 0]], 5])
def test_what_is_no_place_is_refused(places):
    with pytest.raises(DPError):
        NOISE.perturb(places)


def test_no_places_give_no_reports():
    assert NOISE.perturb([]).shape == (0, 2)


def test_a_place_outside_of_the_box_is_refused():
    noise = PlanarLaplace(epsilon=0.1, spacing=1, reach=200, box=(0, 0, 100, 100))
    with pytest.raises(DPError, match="outside"):
        noise.perturb([[101, 5]])


@pytest.mark.parametrize(
    "bad",
    [
        {"epsilon": 0},
        {"spacing": 0},
        {"reach": math.inf},
        {"box": (0, 0, 0, 1)},
        {"box": (0, 0, 9e4, 9e4)},
    ],
)
def test_what_is_no_noise_is_refused(bad):
    with pytest.raises(DPError):
        PlanarLaplace(**{"epsilon": 0.1, "spacing": 1, "reach": 1e5} | bad)


def test_the_loss_by_rounding_is_bounded_as_stated(monkeypatch):
    # Errors a million times as large as they are, so that numbers show them.
    monkeypatch.setattr("dp.mechanisms.planar._ERROR", 1e-3)
    noise = PlanarLaplace(epsilon=0.9, spacing=1, reach=10)
    error, inner = 10 * 1e-3, noise.noise_epsilon
    assert inner < 0.85

    def mass(side, centre):
        def density(y, x):
            return inner**2 / (2 * math.pi) * math.exp(-inner * math.hypot(x, y))

        a, b = centre
        half = side / 2
        return dblquad(density, a - half, a + half, b - half, b + half)[0]

    for far in (1.0, 3.0):
        for near in (0.6, 2.0, 4.0):
            widest = mass(1 + 2 * error, (near, 0.3))
            narrowest = mass(1 - 2 * error, (near + far, 0.3))
            assert math.log(widest / narrowest) <= 0.9 * far


def test_coordinates_whose_digits_do_not_carry_the_promise_are_refused():
    noise = PlanarLaplace(epsilon=0.1, spacing=1, reach=100)
    with pytest.raises(DPError, match="512 times"):
        noise.perturb([[60_000.0, 0.0]])
