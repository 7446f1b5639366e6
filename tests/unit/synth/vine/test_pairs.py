"""Pair-copulas from noisy tables."""

import numpy as np
import pytest

from synth.vine.pairs import (
    NORMAL,
    NoisyPair,
    bicop_of,
    choose_pair,
    common_freedom,
    correction_of,
    density_knots,
    rectangle_chances,
    tau_of_rho,
)

HEIGHTS = np.array([0, 0.05, 0.15, 0.3, 0.5, 0.7, 0.85, 0.95, 1.0])


def noisy_pair(bicop, *, scale, records=20_000, seed=1):
    chances = rectangle_chances(bicop, HEIGHTS, HEIGHTS)
    noise = np.random.default_rng(seed).normal(0, scale, chances.shape)
    return NoisyPair(records * chances + noise, scale, HEIGHTS, HEIGHTS, float(records))


def choice(table, tau, freedom=NORMAL):
    def chances(bicop):
        return rectangle_chances(bicop, table.rows, table.columns)

    return choose_pair(table, chances, start=tau, width=0.25, freedom=freedom)


@pytest.mark.parametrize(
    ("family", "rotation", "tau"),
    [("gaussian", 0, 0.5), ("clayton", 0, 0.4), ("clayton", 180, 0.4), ("gumbel", 90, -0.4)],
)
def test_the_family_and_the_strength_of_a_table_are_told_through_noise(family, rotation, tau):
    table = noisy_pair(bicop_of(family, tau, rotation=rotation), scale=20.0)
    bicop, _ = choice(table, tau + 0.05)
    assert (bicop.family.name, bicop.rotation) == (family, rotation)
    assert bicop.tau == pytest.approx(tau, abs=0.03)


def test_what_noise_explains_is_independent():
    table = noisy_pair(bicop_of("gaussian", 0.02), scale=400.0)
    assert choice(table, 0.0)[0].family.name == "indep"


def test_degrees_of_freedom_are_those_of_all_tables_together():
    taus = [0.3, 0.5, 0.4, 0.2]
    tables = [
        noisy_pair(bicop_of("student", tau, freedom=4.0), scale=30.0, seed=seed)
        for seed, tau in enumerate(taus)
    ]
    assert 3 <= common_freedom(tables, taus) <= 6.5
    normal = [
        noisy_pair(bicop_of("gaussian", t), scale=5.0, seed=s) for s, t in enumerate(taus)
    ]
    assert common_freedom(normal, taus) >= 14


def test_a_correction_follows_a_hump_and_leaves_margins_even():
    flat = rectangle_chances(bicop_of("gaussian", 0.0), HEIGHTS, HEIGHTS)
    signs = np.where(np.arange(8) < 4, 1, -1)
    hump = flat * (1 + 0.5 * np.outer(signs, [1, 1, -1, -1, -1, -1, 1, 1]))
    table = NoisyPair(20_000 * hump, 5.0, HEIGHTS, HEIGHTS, 20_000.0)
    bicop = correction_of(table, bicop_of("gaussian", 0.0), flat)
    assert bicop.family.name == "tll"
    points = np.asfortranarray([[0.1, 0.05], [0.1, 0.5], [0.9, 0.05], [0.9, 0.5]])
    density = bicop.pdf(points)
    assert density[[0, 3]].min() > 1.2
    assert density[[1, 2]].max() < 0.8
    grid = np.asfortranarray([[u, v] for u in density_knots()[3:-3] for v in [0.999999]])
    assert bicop.cdf(grid) == pytest.approx(grid[:, 0], abs=0.02)


def test_a_table_of_pure_noise_is_not_followed():
    bicop = bicop_of("gaussian", 0.3)
    table = noisy_pair(bicop, scale=60.0)
    chances = rectangle_chances(bicop, HEIGHTS, HEIGHTS)
    assert correction_of(table, bicop, chances).family.name == "gaussian"


def test_ranks_and_taus_of_a_normal_copula_agree():
    assert tau_of_rho(0.0) == 0
    assert tau_of_rho(1.0) == pytest.approx(1.0)
    assert tau_of_rho(-0.5) == pytest.approx(-tau_of_rho(0.5))
