"""Every option of a row, in every mixture, against a linear program and a convex solver."""

import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from ptable import NoiseSpec, PTable, PTableError, feasible, solve
from ptable.solver.reach import stay_bounds, variance_bounds
from tests.strategies import examples


@st.composite
def specs(draw):
    """Draw specifications with any option, feasible or not."""
    max_noise = draw(st.sampled_from([1, 2, 3, 5, 8]))
    fields = {
        "max_noise": max_noise,
        "variance": draw(st.integers(2, 10 * max_noise)) / 10,
        "monotone": draw(st.sampled_from(["none", "left", "both", "unimodal"])),
        "variance_rule": draw(st.sampled_from(["exact", "at-most", "nearest"])),
        "min_probability": draw(st.sampled_from([0.0, 0.0, 1e-8, 1e-3])),
    }
    if draw(st.booleans()):
        fields["p_stay"] = draw(st.integers(5, 80)) / 100
        fields["p_stay_rule"] = draw(st.sampled_from(["exact", "at-least", "at-most"]))
    kind = draw(st.sampled_from(["plain", "small", "symmetric", "steps", "zeros"]))
    if kind == "small":
        fields["small"] = draw(st.integers(1, 2))
        assume(max_noise > fields["small"])
    elif kind == "symmetric":
        fields["symmetric"] = True
    elif kind == "steps":
        fields["step"] = draw(st.sampled_from([2, 3]))
        fields["anchors"] = (1, max_noise + 1)
    elif kind == "zeros":
        fields["zero_bias"] = draw(st.integers(1, 50)) / 100
    return NoiseSpec(**fields)


def _program(problem, objective, *, keep_variance=False):
    """Minimise over the laws of a row, from its definition and in floating point."""
    noise = np.array(problem.noise, dtype=float)
    size = len(noise)
    equal = [np.ones(size), noise]
    goal = [1.0, float(problem.mean)]
    below, limits = [], []
    if keep_variance:
        (below if problem.at_most else equal).append(noise**2)
        (limits if problem.at_most else goal).append(float(problem.second_moment))
    if problem.p_stay is not None:
        stay = (noise == 0).astype(float)
        asked = float(problem.p_stay)
        if problem.p_stay_rule == "exact":
            equal.append(stay)
            goal.append(asked)
        else:
            sign = 1 if problem.p_stay_rule == "at-most" else -1
            below.append(sign * stay)
            limits.append(sign * asked)
    steps = np.eye(size)
    for place in range(problem.n_left - 1):
        below.append(steps[place] - steps[place + 1])
        limits.append(0.0)
    for place in range(size - problem.n_right, size - 1):
        below.append(steps[place + 1] - steps[place])
        limits.append(0.0)
    if problem.symmetric:
        for place in range(size // 2):
            equal.append(steps[place] - steps[size - 1 - place])
            goal.append(0.0)
    answer = linprog(
        objective,
        A_eq=np.array(equal),
        b_eq=goal,
        A_ub=np.array(below) if below else None,
        b_ub=limits or None,
        bounds=(float(problem.floor), 1),
    )
    return answer.fun if answer.status == 0 else None


@settings(max_examples=examples(30))
@given(specs())
def test_the_reach_is_what_a_linear_program_finds(spec):
    """Ends of the variance, and of the probability of staying, for every row and shape."""
    for problem in spec.rows():
        noise = np.array(problem.noise, dtype=float)
        places = range(len(noise))
        shapes = [problem] if not problem.unimodal else list(map(problem.with_peak, places))
        ends = variance_bounds(problem)
        found = [(_program(shape, noise**2), _program(shape, -(noise**2))) for shape in shapes]
        known = [(low, -high) for low, high in found if low is not None and high is not None]
        if ends is None:  # a program that meets its rows to 1e-7 may find a point beside them
            assert all(high - low < 1e-6 for low, high in known)
        else:
            assert known
            square = float(problem.mean) ** 2
            slack = 1e-6 * max(1.0, float(ends[1].value))
            assert float(ends[0].value) + square == pytest.approx(
                min(low for low, _ in known), abs=slack
            )
            assert float(ends[1].value) + square == pytest.approx(
                max(high for _, high in known), abs=slack
            )
            for end in ends:
                assert sum(end.law) == 1
                assert min(end.law) >= problem.floor
                assert sum(p * v for p, v in zip(end.law, problem.noise, strict=True)) == (
                    problem.mean
                )
        if 0 in problem.noise and not problem.unimodal:
            free = problem if problem.p_stay is None else _without_stay(problem)
            stay = (noise == 0).astype(float)
            low = _program(free, stay, keep_variance=True)
            high = _program(free, -stay, keep_variance=True)
            between = stay_bounds(problem)
            if low is not None and high is not None and between is not None:
                assert float(between[0].value) == pytest.approx(low, abs=1e-6)
                assert float(between[1].value) == pytest.approx(-high, abs=1e-6)


def _without_stay(problem):
    from dataclasses import replace

    return replace(problem, p_stay=None)


@settings(max_examples=examples(60))
@given(specs())
@example(NoiseSpec(max_noise=5, variance=2.0, p_stay=0.5, variance_rule="nearest"))
@example(NoiseSpec(max_noise=5, variance=4.9, monotone="unimodal", zero_bias=0.2))
@example(
    NoiseSpec(
        max_noise=1,
        variance=1.0,
        p_stay=0.05,
        p_stay_rule="at-most",
        symmetric=True,
        min_probability=0.001,
        variance_rule="nearest",
    )
)
def test_every_feasible_mixture_is_solved_and_every_other_refused(spec):
    """Constraints in integers; the certificate bounds what any other law could gain."""
    answer = feasible(spec)
    reachable = all(
        row.is_feasible or (row.problem.nearest and row.variance_min is not None)
        for row in answer.rows
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not reachable:
            with pytest.raises(PTableError, match="Out of reach"):
                solve(spec)
            return
        table = solve(spec)
    certificate = table.certificate
    assert certificate.largest_bias == 0
    assert abs(certificate.largest_gap) < 1e-7
    assert certificate.largest_residual < 1e-9
    for row, problem in zip(certificate.rows, spec.rows(), strict=True):
        _hold(table, row, problem, spec)


def _hold(table: PTable, row, problem, spec):
    units = table.units(problem.count)
    total = table.key_range
    law = [units.get(v, 0) for v in problem.noise]
    assert sum(law) == total
    assert set(units) <= set(problem.noise)
    bias = Fraction(sum(n * v for v, n in units.items()), total)
    assert abs(bias - problem.mean) <= Fraction(1, total)
    moment = Fraction(sum(n * v * v for v, n in units.items()), total)
    wide = sum(v * v for v in problem.noise)
    if not row.note:
        assert moment - problem.second_moment <= Fraction(4 * wide, total)
        if not problem.at_most:
            assert moment - problem.second_moment >= -Fraction(4 * wide, total)
    assert min(law) >= int(problem.floor * total)
    if problem.p_stay is not None:
        stay = Fraction(units.get(0, 0), total)
        if problem.p_stay_rule != "at-least":
            assert stay <= problem.p_stay + Fraction(1, total)
        if problem.p_stay_rule != "at-most":
            assert stay >= problem.p_stay - Fraction(1, total)
    if problem.symmetric:
        assert law == law[::-1]
    slack = 8
    size = len(law)
    assert all(law[k] <= law[k + 1] + slack for k in range(problem.n_left - 1))
    assert all(law[k] >= law[k + 1] - slack for k in range(size - problem.n_right, size - 1))
    if problem.unimodal:
        top = law.index(max(law))
        assert all(law[k] <= law[k + 1] + slack for k in range(top))
        assert all(law[k] >= law[k + 1] - slack for k in range(top, size - 1))
    assert spec.row(problem.count) == problem


@settings(max_examples=examples(25))
@given(specs())
def test_a_table_with_any_option_survives_its_file(tmp_path_factory, spec):
    if not feasible(spec).ok:
        return
    table = solve(spec)
    for suffix in ("json", "parquet"):
        path = tmp_path_factory.mktemp("tables") / f"pt.{suffix}"
        table.write(path)
        again = PTable.read(path)
        assert again == table
        assert again.spec == spec
        assert again.certificate == table.certificate
