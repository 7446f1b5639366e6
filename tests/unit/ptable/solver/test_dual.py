"""Laws of greatest entropy, from closed forms and beside a general convex solver."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize

from ptable.solver.dual import _Dual, _root, dual_bound, maximise, residual_at
from ptable.solver.row import RowProblem


def entropy(law):
    return -math.fsum(float(p) * math.log(p) for p in law if p > 0)


def exponential(noise, a, b, *, stay=0.0, floor=0.0):
    """Give the law ``max(floor, c exp(a v + b v² + stay [v = 0]))``, with c by bisection."""
    noise = np.array(noise, float)
    score = np.exp(a * noise + b * noise**2 + stay * (noise == 0))
    low, high = 0.0, 1 / score.max()
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (
            (middle, high) if np.maximum(floor, middle * score).sum() < 1 else (low, middle)
        )
    return np.maximum(floor, low * score)


def row_of(noise, law, *, count=9, **other):
    """Ask for the mean and variance of a law."""
    exact = [Fraction(float(p)) for p in law]
    total = sum(exact)
    mean = sum(p * v for p, v in zip(exact, noise, strict=True)) / total
    square = sum(p * v * v for p, v in zip(exact, noise, strict=True)) / total
    return RowProblem(
        count=count, noise=tuple(noise), mean=mean, variance=square - mean**2, **other
    )


NOISES = {
    "even": range(-5, 6),
    "short": range(-1, 7),
    "blocked": (-4, -3, 0, 1, 2, 3),
    "far": (-9, -2, -1, 0, 1, 12),
}


@pytest.mark.parametrize("noise", NOISES.values(), ids=NOISES)
@pytest.mark.parametrize(("a", "b"), [(0.0, -0.3), (0.2, -0.05), (-0.3, 0.04), (0.0, 0.0)])
def test_a_quadratic_exponent_is_found_back_from_its_moments(noise, a, b):
    law = exponential(noise, a, b)
    answer = maximise(row_of(noise, law))
    assert [float(p) for p in answer.law] == pytest.approx(law.tolist(), abs=1e-12)
    assert answer.multipliers == pytest.approx((a, b), abs=1e-7)
    assert answer.residual < 1e-9
    assert sum(answer.law) == pytest.approx(1, abs=1e-15)


@pytest.mark.parametrize("stay", [-1.2, 0.7])
@pytest.mark.parametrize("rule", ["exact", "at-least", "at-most"])
def test_the_price_of_staying_is_found_back_where_it_binds(stay, rule):
    noise = range(-4, 6)
    law = exponential(noise, 0.1, -0.1, stay=stay)
    problem = row_of(noise, law, p_stay=Fraction(float(law[4])), p_stay_rule=rule)
    answer = maximise(problem)
    binds = rule == "exact" or (stay > 0) == (rule == "at-least")
    if binds:
        assert answer.multipliers == pytest.approx((0.1, -0.1, stay), abs=1e-7)
        assert [float(p) for p in answer.law] == pytest.approx(law.tolist(), abs=1e-12)
    else:  # the bound is met without a price, by the law of mean and variance alone
        assert answer.multipliers[2] == 0
        free = maximise(replace(problem, p_stay=None))
        assert [float(p) for p in answer.law] == pytest.approx([float(p) for p in free.law])


@pytest.mark.parametrize("bind", [True, False])
def test_an_upper_bound_on_the_variance_has_a_price_only_where_it_binds(bind):
    noise = range(-3, 5)
    law = exponential(noise, 0.0, -0.2 if bind else 0.1)
    problem = replace(row_of(noise, law), mean=Fraction(0), at_most=True)
    answer = maximise(problem)
    variance = sum(p * v * v for p, v in zip(answer.law, noise, strict=True))
    assert sum(p * v for p, v in zip(answer.law, noise, strict=True)) == pytest.approx(0)
    if bind:
        assert answer.multipliers[1] < 0
        assert float(variance) == pytest.approx(float(problem.variance))
    else:
        assert answer.multipliers[1] == 0
        assert variance < problem.variance


def test_without_a_binding_constraint_the_law_is_uniform():
    problem = RowProblem(count=9, noise=(-2, -1, 0, 1, 2), variance=Fraction(3), at_most=True)
    answer = maximise(problem)
    assert [float(p) for p in answer.law] == pytest.approx([0.2] * 5)
    assert answer.multipliers == pytest.approx((0, 0), abs=1e-12)


@pytest.mark.parametrize(
    ("floor", "b"), [(0.001, -0.4), (0.01, -0.1), (0.05, -0.4), (0.05, -0.1)]
)
def test_values_that_would_be_too_rare_have_the_least_probability(floor, b):
    noise = range(-6, 7)
    law = exponential(noise, 0.1, b, floor=floor)
    answer = maximise(row_of(noise, law, floor=Fraction(floor)))
    assert [float(p) for p in answer.law] == pytest.approx(law.tolist(), abs=1e-11)
    assert min(answer.law) == Fraction(floor)
    assert answer.multipliers == pytest.approx((0.1, b), abs=1e-6)


def test_a_symmetric_row_needs_no_price_of_the_mean():
    noise = range(-4, 5)
    law = exponential(noise, 0.0, -0.2)
    answer = maximise(replace(row_of(noise, law), mean=Fraction(0), symmetric=True))
    assert answer.multipliers[0] == 0
    assert answer.law == answer.law[::-1]
    assert [float(p) for p in answer.law] == pytest.approx(law.tolist(), abs=1e-12)


SHAPED = [
    RowProblem(count=2, noise=(-2, -1, 0, 1, 2, 3), variance=Fraction(5, 2), n_left=3),
    RowProblem(count=1, noise=(-1, 0, 1, 2, 3, 4), variance=Fraction(2), n_left=2),
    RowProblem(count=1, noise=(-1, 0, 1, 2), variance=Fraction(1, 2), n_left=2, n_right=3),
    RowProblem(count=9, noise=tuple(range(-3, 4)), variance=Fraction(3), n_left=4, n_right=4),
    RowProblem(count=9, noise=tuple(range(-3, 6)), variance=Fraction(5), n_right=7),
    RowProblem(count=9, noise=tuple(range(-2, 6)), variance=Fraction(5), n_left=1, n_right=8),
    RowProblem(count=9, noise=tuple(range(-5, 3)), variance=Fraction(5), n_left=8, n_right=1),
    RowProblem(count=9, noise=tuple(range(-4, 5)), variance=Fraction(6), n_left=5, n_right=5,
               p_stay=Fraction(1, 6)),
    RowProblem(count=3, noise=tuple(range(-3, 6)), variance=Fraction(4), n_left=4,
               floor=Fraction(1, 100)),
    RowProblem(count=3, noise=tuple(range(-3, 7)), variance=Fraction(3), n_left=4,
               p_stay=Fraction(1, 4), p_stay_rule="at-most"),
    RowProblem(count=9, noise=tuple(range(-2, 6)), variance=Fraction(4), mean=Fraction(1),
               n_left=5, n_right=4),
]  # fmt: skip


def general(problem):
    """Maximise the entropy by a general solver (SLSQP), from the constraints alone."""
    noise = np.array(problem.noise, float)
    equal = [
        (np.ones(len(noise)), 1.0),
        (noise, float(problem.mean)),
        (noise**2, float(problem.second_moment)),
    ]
    more = [
        (np.eye(len(noise))[b] - np.eye(len(noise))[a], 0.0) for a, b in problem.rising_pairs
    ]
    if problem.p_stay is not None:
        stay = ((noise == 0).astype(float), float(problem.p_stay))
        if problem.p_stay_rule == "exact":
            equal.append(stay)
        else:
            sign = 1 if problem.p_stay_rule == "at-least" else -1
            more.append((sign * stay[0], sign * stay[1]))
    constraints = [
        {"type": kind, "fun": lambda p, w=w, g=g: w @ p - g, "jac": lambda _, w=w: w}
        for kind, some in (("eq", equal), ("ineq", more))
        for w, g in some
    ]
    least = max(float(problem.floor), 1e-12)
    answer = minimize(
        lambda p: float(p @ np.log(p)),
        np.full(len(noise), 1 / len(noise)),
        jac=lambda p: 1 + np.log(p),
        bounds=[(least, 1)] * len(noise),
        constraints=constraints,
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-13},
    )
    assert answer.success, answer.message
    return -answer.fun


@pytest.mark.filterwarnings("ignore:Values in x were outside bounds")  # older SciPy's SLSQP
@pytest.mark.parametrize("problem", SHAPED)
def test_shaped_rows_have_the_entropy_that_a_general_solver_finds(problem):
    answer = maximise(problem)
    law = answer.law
    assert sum(law) == pytest.approx(1)
    assert float(sum(p * v for p, v in zip(law, problem.noise, strict=True))) == pytest.approx(
        float(problem.mean), abs=1e-12
    )
    assert float(sum(p * v * v for p, v in zip(law, problem.noise, strict=True))) == (
        pytest.approx(float(problem.second_moment))
    )
    assert all(law[low] <= law[high] for low, high in problem.rising_pairs)
    assert min(law) >= problem.floor
    assert entropy(law) == pytest.approx(general(problem), abs=1e-7)
    # and the multipliers prove it: no law of this row has more
    assert dual_bound(problem, answer.multipliers) == pytest.approx(entropy(law), abs=1e-10)
    assert residual_at(problem, answer.multipliers) < 1e-10


@pytest.mark.parametrize("problem", SHAPED)
def test_at_any_multipliers_the_bound_is_no_less_than_the_greatest_entropy(problem):
    answer = maximise(problem)
    rng = np.random.default_rng(1)
    signs = {"exact": 0, "at-least": 1, "at-most": -1}
    for _ in range(10):
        prices = np.array(answer.multipliers) + rng.normal(0, 0.3, len(answer.multipliers))
        if len(prices) == 3 and signs[problem.p_stay_rule]:
            prices[2] = signs[problem.p_stay_rule] * abs(prices[2])
        assert dual_bound(problem, tuple(prices.tolist())) >= entropy(answer.law) - 1e-12


def test_multipliers_of_the_wrong_number_or_sign_bound_nothing():
    noise = range(-2, 3)
    free = RowProblem(count=9, noise=tuple(noise), variance=Fraction(1))
    assert dual_bound(free, (0.0, -0.3)) < math.inf
    assert dual_bound(free, (0.0, 0.3)) < math.inf
    assert dual_bound(free, (0.0, -0.3, 0.0)) == math.inf
    assert residual_at(free, (0.0,)) == math.inf
    bound = replace(free, at_most=True, p_stay=Fraction(1, 4), p_stay_rule="at-least")
    assert dual_bound(bound, (0.0, -0.3, 0.2)) < math.inf
    assert dual_bound(bound, (0.0, 0.3, 0.2)) == math.inf
    assert dual_bound(bound, (0.0, -0.3, -0.2)) == math.inf
    assert dual_bound(replace(bound, p_stay_rule="at-most"), (0.0, -0.3, 0.2)) == math.inf
    assert residual_at(bound, (0.0, 0.3, 0.2)) == math.inf


def test_the_residual_is_the_largest_miss_of_a_constraint():
    problem = RowProblem(count=9, noise=(-1, 0, 1), variance=Fraction(1, 2))
    # the uniform law has a variance of 2/3
    assert residual_at(problem, (0.0, 0.0)) == pytest.approx(1 / 6)
    tilted = exponential((-1, 0, 1), 0.4, 0.0)
    assert residual_at(problem, (0.4, 0.0)) == pytest.approx(tilted[2] - tilted[0])
    # above 1 the second moment is compared with the one asked for
    wide = RowProblem(count=9, noise=(-4, 0, 4), variance=Fraction(8))
    assert residual_at(wide, (0.0, 0.0)) == pytest.approx((32 / 3 - 8) / 8)
    # bounds that hold with room miss nothing; those that do not miss by what they lack
    roomy = replace(problem, variance=Fraction(9, 10), at_most=True)
    assert residual_at(roomy, (0.0, 0.0)) == pytest.approx(0, abs=1e-15)
    tight = replace(problem, at_most=True)
    assert residual_at(tight, (0.0, 0.0)) == pytest.approx(1 / 6)
    stays = replace(problem, p_stay=Fraction(1, 2), p_stay_rule="at-least")
    assert residual_at(stays, (0.0, 0.0, 0.0)) == pytest.approx(1 / 6)
    assert residual_at(replace(stays, variance=Fraction(2, 3)), (0.0, 0.0, 0.0)) == (
        pytest.approx(1 / 6)
    )


@pytest.mark.parametrize("hair", [1e-3, 1e-6, 1e-9])
def test_a_variance_a_hair_from_the_end_of_its_reach_is_solved(hair):
    # on -1, 0, 1, 2 a variance of 2 leaves -1 and 2 alone
    problem = RowProblem(count=1, noise=(-1, 0, 1, 2), variance=2 - Fraction(hair))
    law = maximise(problem).law
    moments = [sum(p * v**k for p, v in zip(law, problem.noise, strict=True)) for k in range(3)]
    for moment, wanted in zip(moments, (1, 0, problem.variance), strict=True):
        assert abs(moment - wanted) < Fraction(1, 10**30)
    assert law[0] > law[3] > law[1] > 0


def test_wide_rows_are_solved():
    problem = RowProblem(count=500, noise=tuple(range(-300, 301)), variance=Fraction(900))
    answer = maximise(problem)
    # far from its ends the law is the discrete normal one
    beta = answer.multipliers[1]
    assert beta == pytest.approx(-1 / 1800, rel=1e-6)
    assert answer.residual < 1e-12


def test_without_decimals_the_law_is_that_of_floats():
    problem = RowProblem(count=9, noise=(-2, -1, 0, 1, 2), variance=Fraction(1))
    rough, fine = maximise(problem, polish=False), maximise(problem)
    assert rough.multipliers == pytest.approx(fine.multipliers)
    assert (rough.is_polished, fine.is_polished) == (False, True)
    assert [float(p) for p in rough.law] == pytest.approx([float(p) for p in fine.law])
    assert all(p.denominator & (p.denominator - 1) == 0 for p in rough.law)
    square = sum(p * v * v for p, v in zip(fine.law, problem.noise, strict=True))
    assert abs(square - 1) < Fraction(1, 10**40)


@pytest.mark.parametrize("start", [(0.0, -0.4), (0.3, 0.5), (0.0, 0.0), (9.0, -80.0)])
def test_the_answer_is_the_same_wherever_newton_begins(start):
    problem = RowProblem(count=2, noise=(-2, -1, 0, 1, 2, 3, 4, 5), variance=Fraction(3))
    assert maximise(problem, start=start).law == maximise(problem).law
    assert maximise(problem, start=start).multipliers == maximise(problem).multipliers


def test_a_start_of_another_length_is_not_used():
    problem = RowProblem(count=2, noise=(-2, -1, 0, 1, 2, 3), variance=Fraction(2))
    assert maximise(problem, start=(0.0, -0.2, 0.1)) == maximise(problem)


# --- both ways to the multipliers ------------------------------------------------------------

WAYS = [
    ((0.0, -0.3), range(-5, 6)),
    ((0.2, -0.05), range(-1, 7)),
    ((-0.3, 0.04), (-4, -3, 0, 1, 2, 3)),
    ((1.5, -0.4), range(-2, 9)),
    ((0.1, -0.1, 0.7), range(-4, 6)),
    ((0.0, -0.2, -1.2), range(-3, 4)),
    ((0.0, -2.5), range(-3, 4)),
]


def dual_of(prices, noise):
    a, b, *stay = prices
    law = exponential(noise, a, b, stay=stay[0] if stay else 0.0)
    zero = float(law[list(noise).index(0)])
    problem = row_of(noise, law, p_stay=Fraction(zero) if stay else None)
    return _Dual(problem), (True,) * len(prices)


@pytest.mark.parametrize(("prices", "noise"), WAYS)
def test_newtons_method_alone_finds_the_multipliers(prices, noise):
    dual, active = dual_of(prices, noise)
    point = dual.minimise(dual.start_at(active), active)
    assert dual.size_at(point, active) < 1e-14
    assert point == pytest.approx(prices, abs=1e-8)


@pytest.mark.parametrize(("prices", "noise"), WAYS)
def test_bisection_alone_finds_the_multipliers(prices, noise):
    dual, active = dual_of(prices, noise)
    point = dual.bisect(active)
    assert dual.size_at(point, active) < 1e-12
    assert point == pytest.approx(prices, abs=1e-6)


def test_both_ways_leave_what_does_not_bind_at_0():
    dual, _ = dual_of((0.0, -0.2, -1.2), range(-3, 4))
    for active in itertools.product([False, True], repeat=3):
        newton = dual.minimise(dual.start_at(active), active)
        slow = dual.bisect(active)
        for point in (newton, slow):
            assert all(x == 0 for x, here in zip(point, active, strict=True) if not here)
        assert newton == pytest.approx(slow, abs=1e-6)


@pytest.mark.parametrize("root", [-70_000.0, -3.3, -1e-9, 0.0, 0.4, 12.0, 5000.25])
@pytest.mark.parametrize("start", [0.0, -2.0, 3.0])
@pytest.mark.parametrize(
    "shape", [math.atan, lambda x: x, lambda x: x**3 + x, lambda x: math.expm1(min(x, 600.0))]
)
def test_a_rising_function_crosses_0_where_it_does(root, start, shape):
    assert _root(lambda x: shape(x - root), start) == pytest.approx(root, rel=1e-9, abs=1e-9)


def test_a_function_that_never_crosses_0_ends_far_out():
    assert _root(lambda x: -1.0 - 1 / (2 + x * x), 0.0) > 1e5
    assert _root(lambda x: 1.0 + 1 / (2 + x * x), 0.0) < -1e5


def test_a_step_is_found_between_two_neighbours():
    place = _root(lambda x: 1.0 if x > 1 / 3 else -1.0, 0.0)
    assert abs(place - 1 / 3) < 1e-9
