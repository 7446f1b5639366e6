from fractions import Fraction

import numpy as np
import pytest

from ptable import NoiseSpec, solve
from ptable.solver.thresholds import UnitRow, apportion


@pytest.mark.parametrize("total", [10**4, 10**6, 2**32, 10**9])
def test_units_keep_sum_mean_and_variance(total):
    rng = np.random.default_rng(20270301)
    noise = tuple(range(-9, 12))
    for _ in range(20):
        weights = rng.dirichlet(np.full(len(noise), 2.0))
        mean = float(weights @ noise)
        law = [Fraction(w) for w in weights.tolist()]
        law[10 if mean < 0 else 8] += Fraction(abs(mean))
        scale = sum(law)
        law = [p / scale for p in law]
        rest = sum(p * v for p, v in zip(law, noise, strict=True))
        law[8] += rest
        law[9] -= rest
        variance = sum(p * v * v for p, v in zip(law, noise, strict=True))
        units = apportion(UnitRow(noise=noise, law=tuple(law), variance=variance), total=total)
        assert sum(units) == total
        assert sum(n * v for n, v in zip(units, noise, strict=True)) == 0
        drift = sum(n * v * v for n, v in zip(units, noise, strict=True)) - variance * total
        assert abs(drift) <= 1
        assert max(abs(n - p * total) for n, p in zip(units, law, strict=True)) <= 4


def test_an_upper_bound_on_the_variance_is_never_exceeded():
    law = (Fraction(1, 7), Fraction(5, 7), Fraction(1, 7))
    for total in (100, 101, 2**32):
        row = UnitRow(noise=(-1, 0, 1), law=law, variance=Fraction(2, 7), at_most=True)
        units = apportion(row, total=total)
        assert Fraction(units[0] + units[2], total) <= Fraction(2, 7)


def test_two_values_borrow_from_the_others_when_they_do_not_divide():
    law = (Fraction(2, 3), Fraction(0), Fraction(0), Fraction(1, 3))
    row = UnitRow(noise=(-1, 0, 1, 2), law=law, variance=Fraction(2))
    units = apportion(row, total=2**32)
    assert units == (2863311530, 1, 0, 1431655765)


@pytest.mark.parametrize("spec", [NoiseSpec.r_ptable(30, 10.0), NoiseSpec.r_ptable(2, 1.0)])
def test_pooled_probabilities_stay_in_order(spec):
    table = solve(spec)
    for problem in spec.rows():
        left = [table.units(problem.count).get(v, 0) for v in problem.noise[: problem.n_left]]
        assert left == sorted(left)


@pytest.mark.parametrize("most", [41, 42, 43, 58, 100])
@pytest.mark.parametrize("floor", [Fraction(0), Fraction(1, 10**6)])
def test_one_heavy_value_before_a_long_pool_leaves_the_shape(most, floor):
    size = most + 2
    rest = Fraction(2, size * (size - 1))  # mean 0: one value at -1, a uniform tail from 0 on
    law = (1 - (size - 1) * rest, *[rest] * (size - 1))
    noise = tuple(range(-1, most + 1))
    variance = sum(p * v * v for p, v in zip(law, noise, strict=True))
    row = UnitRow(noise=noise, law=law, variance=variance, floor=floor, n_left=1, n_right=size)
    units = apportion(row, total=2**32)
    assert sum(units) == 2**32
    assert sum(n * v for n, v in zip(units, noise, strict=True)) == 0
    assert max(abs(n - p * 2**32) for n, p in zip(units, law, strict=True)) <= 4
    drift = sum(n * v * v for n, v in zip(units, noise, strict=True)) - variance * 2**32
    assert abs(drift) <= 1
