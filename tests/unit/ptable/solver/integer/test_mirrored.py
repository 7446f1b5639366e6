"""Integers for symmetric rows: their sums, and how near they are to their law."""

import hashlib
import math
import random
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from ptable import InternalError
from ptable.solver.integer.mirrored import apportion_symmetric
from ptable.solver.thresholds import UnitRow


def row_of(weights, *, with_zero=True, **other):
    """Give a symmetric row whose right half has these weights, from 0 or 1 on."""
    half = list(weights[1:]) if with_zero else list(weights)
    centre = [weights[0]] if with_zero else []
    every = [*reversed(half), *centre, *half]
    noise = [v for v in range(-len(half), len(half) + 1) if v or with_zero]
    law = tuple(Fraction(w, sum(every)) for w in every)
    variance = sum(p * v * v for p, v in zip(law, noise, strict=True))
    fields = {"variance": variance} | other
    return UnitRow(noise=tuple(noise), law=law, symmetric=True, **fields)


def hold(row, total, *, slack=0):
    """Check sum, symmetry, least probability and second moment; give the units."""
    units = apportion_symmetric(row, total=total)
    assert sum(units) == total
    assert units == units[::-1]
    assert min(units) >= math.floor(row.floor * total)
    second = sum(n * v * v for n, v in zip(units, row.noise, strict=True))
    # both halves move together: the sum of squares is even
    goal = row.second_moment * total
    assert abs(second - goal) <= 1 + slack
    assert second <= goal or not row.at_most
    return units


@pytest.mark.parametrize("total", [2**32, 10**6, 4097])
@pytest.mark.parametrize("seed", range(4))
def test_sum_and_second_moment_are_kept_and_every_value_stays_near(seed, total):
    rng = np.random.default_rng(seed)
    for size in (2, 4, 7, 12):
        row = row_of(rng.integers(20, 100, size + 1).tolist())
        units = hold(row, total)
        assert max(abs(n - p * total) for n, p in zip(units, row.law, strict=True)) <= 12


def test_an_upper_bound_is_kept_from_below():
    for seed in range(6):
        weights = np.random.default_rng(seed).integers(20, 100, 6).tolist()
        hold(row_of(weights, at_most=True), 10_007, slack=1)  # and even: within 2


def test_rows_without_no_noise_split_an_even_total():
    units = hold(row_of([5, 3, 2, 1], with_zero=False), 2**16)
    assert len(units) == 8


def test_a_prescribed_centre_is_kept_to_the_nearest_that_halves_allow():
    for weights in ([40, 30, 20, 10], [31, 17, 29, 5], [10, 30, 25, 20, 3]):
        row = row_of(weights)
        centre = len(weights) - 1
        for way in (-1, 0, 1):
            total = 2**32
            units = hold(UnitRow(**_fields(row), held=(centre, way)), total)
            exact = row.law[centre] * total
            assert units[centre] % 2 == total % 2
            rounded = {-1: math.floor, 0: round, 1: math.ceil}[way](exact / 2) * 2
            assert units[centre] == rounded


def test_an_odd_total_leaves_an_odd_centre():
    row = row_of([40, 30, 20, 10])
    for way, rounder in ((-1, math.floor), (1, math.ceil)):
        total = 10_001
        units = hold(UnitRow(**_fields(row), held=(3, way)), total)
        assert units[3] == 2 * rounder((row.law[3] * total - 1) / 2) + 1


def _fields(row):
    return {name: getattr(row, name) for name in row.__dataclass_fields__ if name != "held"}


def test_the_least_probability_is_kept_at_the_centre_too():
    # 0 has the least probability, which an odd number of keys rounds down
    least = Fraction(7, 1000)
    law = (Fraction(1, 2) - least / 2, least, Fraction(1, 2) - least / 2)
    row = UnitRow(
        noise=(-1, 0, 1), law=law, variance=1 - least, floor=least, symmetric=True, held=(1, -1)
    )
    for total in (1000, 1001, 3001, 4000):
        units = apportion_symmetric(row, total=total)
        assert sum(units) == total
        assert units[0] == units[2]
        assert units[1] >= math.floor(least * total)


def test_values_at_the_least_probability_stay_there():
    least = Fraction(1, 1000)
    rest = 1 - 2 * least
    weights = [rest * Fraction(1, 2), rest / 8, rest / 8, least]
    law = (*reversed(weights[1:]), *weights)
    noise = tuple(range(-3, 4))
    variance = sum(p * v * v for p, v in zip(law, noise, strict=True))
    row = UnitRow(noise=noise, law=law, variance=variance, floor=least, symmetric=True)
    units = hold(row, 2**20)
    assert min(units) >= math.floor(least * 2**20)


def test_falling_probabilities_stay_in_order():
    uniform = (Fraction(1, 13),) * 13
    row = UnitRow(
        noise=tuple(range(-6, 7)), law=uniform, variance=Fraction(14), symmetric=True,
        n_left=7, n_right=7,
    )  # fmt: skip
    units = hold(row, 2**32, slack=1)
    assert max(after - n for n, after in pairwise(units[6:])) <= 2


def test_far_values_of_hardly_any_probability_are_left_alone():
    noise = tuple(range(-9, 10))
    weights = [Fraction(1, 4 ** (v * v)) for v in range(10)]
    every = [*reversed(weights[1:]), *weights]
    law = tuple(w / sum(every) for w in every)
    variance = sum(p * v * v for p, v in zip(law, noise, strict=True))
    units = hold(UnitRow(noise=noise, law=law, variance=variance, symmetric=True), 2**20)
    assert units[:4] == (0, 0, 0, 0)


def test_that_no_integers_fit_is_a_fault_of_ours():
    # an odd total cannot be split over values that come in pairs
    with pytest.raises(InternalError, match="keep a symmetric row's sum"):
        apportion_symmetric(row_of([5, 3], with_zero=False), total=1001)


def test_the_integers_of_a_symmetric_row_are_those_of_earlier_versions():
    every = []
    for seed in range(60):
        rng = random.Random(seed)
        weights = [
            rng.choice((0, 2, 40, 900, 9_001, 10**5)) for _ in range(rng.randrange(2, 9))
        ]
        weights[0] += 1  # somewhere a row has probability
        fields = {"at_most": seed % 4 == 1}
        if seed % 4 == 2:
            weights.sort(reverse=True)
            fields |= {"n_left": len(weights), "n_right": len(weights)}
        row = row_of(weights, with_zero=seed % 5 > 0, **fields)
        if seed % 4 == 3 and 0 in row.noise:
            held = (row.noise.index(0), rng.choice((-1, 0, 1)))
            row = UnitRow(**_fields(row), held=held)
        total = rng.choice((258, 4096, 10**6, 2**32))
        units = apportion_symmetric(row, total=total)
        assert units == units[::-1]
        every.append(units)
    assert hashlib.sha256(repr(every).encode()).hexdigest()[:12] == "9e68c4318579"
