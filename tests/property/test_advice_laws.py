"""Laws of the adviser, for random requests and goals."""

from fractions import Fraction

import pytest
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st

from ptable import InfeasibleError, NoiseSpec, PTableError, feasible
from ptable.advice.advice import advise, conflicts
from ptable.advice.alternatives import alternatives
from ptable.design.goal import Goal
from ptable.solver.integer.rounding import inward
from ptable.solver.reach import _Rays, _unshaped
from ptable.solver.row import RowProblem
from tests.strategies import examples

requests = st.fixed_dictionaries(
    {"max_noise": st.integers(1, 6), "variance": st.floats(0.01, 40.0)},
    optional={
        "small": st.integers(0, 5),
        "p_stay": st.floats(0.0, 0.99),
        "p_stay_rule": st.sampled_from(["exact", "at-least", "at-most"]),
        "monotone": st.sampled_from(["none", "left", "both", "unimodal"]),
        "symmetric": st.booleans(),
        "min_probability": st.sampled_from([0.0, 1e-6, 0.01, 0.05]),
    },
)
goals = st.builds(
    Goal,
    max_noise=st.integers(1, 6),
    small=st.integers(0, 4),
    p_stay=st.one_of(st.none(), st.floats(0.0, 0.99)),
    variance=st.one_of(st.none(), st.floats(0.1, 9.0)),
    monotone=st.sampled_from(["none", "left", "both"]),
)
ratios = st.fractions(Fraction(-9), Fraction(9), max_denominator=12)


def is_met(spec):
    return all(
        row.is_feasible or (row.problem.nearest and row.variance_min is not None)
        for row in feasible(spec).rows
    )


@pytest.mark.slow
@given(requests)
@settings(max_examples=examples(30))
def test_there_are_alternatives_just_where_a_request_cannot_be_met(fields):
    try:
        spec = NoiseSpec(**fields)
        ok = is_met(spec)
    except InfeasibleError:
        ok = False
    except PTableError:
        reject()
    found = alternatives(fields)
    assert bool(found) != ok
    assert all(is_met(one.spec) for one in found)


@pytest.mark.slow
@given(goals)
@settings(max_examples=examples(15))
def test_proposals_can_be_met_and_say_what_they_miss(goal):
    found = advise(goal)
    for one in found:
        assert feasible(one.spec).ok
        is_near = goal.p_stay is None or (
            abs(one.figures.p_stay - goal.p_stay) <= goal.tolerance
        )
        assert is_near or one.missed
    assert all(isinstance(text, str) and text for text in conflicts(goal))


@given(st.fractions(0, 50), st.fractions(0, 50), st.fractions(0, 50), st.booleans())
def test_shortened_numbers_stay_inside(wish, one, other, strict):
    low, high = sorted((one, other))
    value = Fraction(repr(inward(wish, low, high, strict=strict)))
    slack = Fraction(1, 10**12) * max(1, high)
    assert low - slack <= value <= high + slack
    if low <= wish <= high:
        assert float(value) == float(wish)


@given(
    st.sets(st.integers(-9, 9), min_size=1),
    ratios,
    st.one_of(st.none(), st.fractions(0, Fraction(9, 10), max_denominator=20)),
    st.sampled_from(["exact", "at-least", "at-most"]),
)
def test_rows_without_shape_reach_what_a_linear_program_says(values, mean, p_stay, rule):
    noise = tuple(sorted(values))
    if p_stay is not None:
        assume(0 in noise)
        mean = Fraction(0)
    row = RowProblem(
        count=1, noise=noise, variance=Fraction(1), mean=mean, p_stay=p_stay, p_stay_rule=rule
    )
    rays = _Rays.of(row)
    others = [rays.end("squares", sign) for sign in (1, -1)]
    found = _unshaped(row)
    assert (found is None) == (others[0] is None)
    for end, other in zip(found or (), others, strict=False):
        moment = sum((p * v * v for p, v in zip(other.law, noise, strict=True)), Fraction(0))
        assert end.value == moment - mean**2
        assert sum(end.law) == 1
        assert min(end.law) >= 0
