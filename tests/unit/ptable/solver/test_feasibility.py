import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from ptable import Mechanism, NoiseSpec, PTableError, feasible, solve
from ptable.advice.figures import few_outcomes
from ptable.solver.reach import variance_bounds


@pytest.mark.parametrize("small", range(6))
def test_the_least_variance_of_blocking_is_a_quarter_of_a_square(small):
    spec = NoiseSpec(max_noise=small + 3, variance=1.0, small=small)
    least = max(row.variance_min for row in feasible(spec).rows)
    assert least == (small + 1) ** 2 // 4


@pytest.mark.parametrize("max_noise", [1, 2, 5, 30])
def test_the_greatest_variance_of_a_count_of_one_has_a_closed_form(max_noise):
    free = feasible(NoiseSpec(max_noise=max_noise, variance=0.5)).rows[0]
    assert free.variance_max == max_noise
    tied = feasible(NoiseSpec(max_noise=max_noise, variance=0.5, monotone="left")).rows[0]
    assert tied.variance_max == float(Fraction(max_noise * (max_noise + 1), 2 * max_noise + 1))


@pytest.mark.parametrize(
    ("max_noise", "small", "monotone", "floor"),
    list(itertools.product([3, 6], [0, 2], ["none", "left"], [0.0, 0.004])),
)
def test_bounds_agree_with_a_linear_program(max_noise, small, monotone, floor):
    spec = NoiseSpec(
        max_noise=max_noise,
        variance=1.0,
        small=small,
        monotone=monotone,
        min_probability=floor,
    )
    for problem in spec.rows():
        noise = np.array(problem.noise, dtype=float)
        n = len(noise)
        climbs = (
            np.eye(n)[: max(problem.n_left - 1, 0)]
            - np.eye(n, k=1)[: max(problem.n_left - 1, 0)]
        )
        for bound, sign in zip(variance_bounds(problem), (1, -1), strict=True):
            program = linprog(
                sign * noise**2,
                A_eq=np.vstack([np.ones(n), noise]),
                b_eq=[1, 0],
                A_ub=climbs if len(climbs) else None,
                b_ub=np.zeros(len(climbs)) if len(climbs) else None,
                bounds=(floor, 1),
            )
            assert float(bound.value) == pytest.approx(sign * program.fun, abs=1e-6)
            law = np.array([float(p) for p in bound.law])
            assert sum(bound.law) == 1
            assert min(bound.law) >= problem.floor
            assert (climbs @ law <= 1e-15).all()


def test_an_infeasible_request_names_the_cause_and_the_cure():
    answer = feasible(NoiseSpec(max_noise=5, variance=1.0, small=2))
    assert [row.count for row in answer.rows if not row.is_feasible] == [1, 2]
    assert answer.rows[0].binding == "no noise strictly between -1 and 2 is allowed"
    assert answer.nearest_variance == 2.0
    assert "use variance=2" in str(answer)


def test_the_cure_of_a_variance_beyond_reach_is_no_noise_of_two_outcomes():
    spec = NoiseSpec(max_noise=10, variance=15.0, small=4)
    answer = feasible(spec)
    assert answer.nearest_variance == 10.0  # the end of the reach, where a 1 has two outcomes
    assert few_outcomes(replace(spec, variance=10.0)) != ()
    assert answer.advice == "use variance=8.11"
    assert few_outcomes(replace(spec, variance=8.11)) == ()
    with pytest.raises(PTableError) as refused:
        solve(spec)
    assert "use variance=8.11, or variance_rule='at-most'" in str(refused.value)
    assert few_outcomes(replace(spec, variance_rule="at-most")) == ()


def test_monotony_and_floor_are_named_when_they_stand_in_the_way():
    tied = feasible(NoiseSpec(max_noise=2, variance=1.5, monotone="left"))
    assert "monotone" in tied.rows[0].binding
    floored = feasible(NoiseSpec(max_noise=2, variance=0.1, min_probability=0.1))
    assert "min_probability" in floored.rows[0].binding


def test_a_row_without_any_law_has_no_variances():
    answer = feasible(NoiseSpec(max_noise=10, variance=1.0, min_probability=0.04))
    assert answer.rows[0].variance_min is None
    assert answer.nearest_variance is None
    assert "relax min_probability" in answer.advice


def test_where_no_single_variance_suits_the_advice_says_what_would():
    spec = NoiseSpec(max_noise=4, variance=2.0, small=3, monotone="left")
    answer = feasible(spec)
    if answer.nearest_variance is None:
        assert "max_noise=5" in answer.advice
    rows = feasible(NoiseSpec(max_noise=2, variance=(3.0, 1.0)))
    assert rows.nearest_variance == (2.0, 1.0)


def test_at_most_needs_only_the_least_variance():
    assert feasible(NoiseSpec(max_noise=2, variance=3.0, variance_rule="at-most")).ok
    assert not feasible(NoiseSpec(max_noise=2, variance=3.0)).ok


def test_the_frame_has_one_line_per_row():
    frame = feasible(NoiseSpec(max_noise=3, variance=1.0, small=1)).to_frame()
    assert list(frame["count"]) == [1, 2, 3, 4, 5]
    assert frame["is_feasible"].all()


@pytest.mark.parametrize("spec", ["x", None, {"max_noise": 2}, Mechanism.random_rounding(3)])
def test_only_specifications_are_solved(spec):
    for verb in (feasible, solve):
        with pytest.raises(PTableError, match="spec must be a NoiseSpec"):
            verb(spec)
