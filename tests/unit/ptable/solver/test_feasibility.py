import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from ptable import Mechanism, NoiseSpec, PTableError, feasible, solve
from ptable.advice.figures import few_outcomes
from ptable.design.stack import StackedSpec
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


# --- what stands in the way, in words --------------------------------------------------------

BELOW_1 = "the noise of a count of 1 cannot go below -1"
BELOW_2 = "the noise of a count of 2 cannot go below -2"
NOT_NEGATIVE = "a variance cannot be negative"


@pytest.mark.parametrize(
    ("fields", "lines"),
    [
        (
            {"max_noise": 2, "variance": 2.5},
            [f"1  0   2  2.5  no: {BELOW_1}", "2  0   4  2.5  yes", "use variance=1.97"],
        ),
        (
            {"max_noise": 2, "variance": 3.9, "step": 2, "anchors": (1, 3)},
            [f"1  0   2  3.9  no: {BELOW_1}", "3  0   4  3.9  yes", "use variance=2"],
        ),
        (
            {"max_noise": 3, "variance": 1.0, "p_stay": 0.9},
            [
                "1  0.1  0.3  1  no: p_stay 0.9 leaves too little freedom",
                "2  0.1  0.6  1  no: p_stay 0.9 leaves too little freedom",
                "3  0.1  0.9  1  no: p_stay 0.9 leaves too little freedom",
                "use variance=0.3",
            ],
        ),
        (
            {"max_noise": 2, "variance": 3.0, "symmetric": True},
            [
                "1  0  1  3  no: symmetric noise of a count of 1 cannot go beyond ±1",
                "2  0  4  3  yes",
                "use variance=0.999",
            ],
        ),
        (
            {"max_noise": 3, "variance": 1.0, "small": 2, "symmetric": True},
            [
                "1  none  none  1  no: a count of 1 has no noise whose opposite is in reach",
                "2  4  4  1  no: no noise strictly between -2 and 2 is allowed",
                *(
                    f"{count}  0  {most}  1  yes"
                    for count, most in zip("3456", "9149", strict=True)
                ),
                "relax the noise values: no noise of mean zero exists for count 1",
            ],
        ),
        (
            {"max_noise": 2, "variance": (3.0, 1.0)},
            [f"1  0  2  3  no: {BELOW_1}", "2  0  4  1  yes", "use variance=(2, 1)"],
        ),
        (
            {"max_noise": 3, "variance": 4.0, "monotone": "both"},
            [
                f"1  0  1.33333  4  no: {BELOW_1}",
                '2  0  2.66667  4  no: monotone = "both" leaves too little freedom',
                "3  0  4  4  yes",
                "use variance=1.33333",
            ],
        ),
    ],
    ids=str,
)
def test_each_row_says_how_far_it_reaches_and_what_is_in_its_way(fields, lines):
    answer = feasible(NoiseSpec(**fields))
    head, *rest = (" ".join(line.split()) for line in str(answer).splitlines())
    assert head == "count variance from to requested feasible"
    assert rest == [" ".join(line.split()) for line in lines]
    assert answer.ok == all(row.is_feasible for row in answer.rows) is False
    html = answer._repr_html_()
    assert "<caption>Variances that each row can reach</caption>" in html
    assert "<td>none</td>" in html or "none" not in str(answer)


def test_columns_of_text_end_below_each_other():
    lines = str(feasible(NoiseSpec(max_noise=10, variance=10.5))).splitlines()[:-1]
    ends = {
        line.index(word)
        for line in lines
        for word in ("feasible", "no:", "yes")
        if word in line
    }
    assert len(ends) == 1


@pytest.mark.parametrize(
    ("fields", "count", "limits"),
    [
        ({"max_noise": 2}, 1, (NOT_NEGATIVE, BELOW_1)),
        ({"max_noise": 2}, 2, (NOT_NEGATIVE, "the largest noise is 2")),
        (
            {"max_noise": 2, "step": 2, "anchors": (1, 3)},
            3,
            (NOT_NEGATIVE, "the largest noise is 2"),
        ),
        (
            {"max_noise": 3, "small": 1},
            1,
            ("no noise strictly between -1 and 1 is allowed", BELOW_1),
        ),
        ({"max_noise": 3, "monotone": "left"}, 1, (NOT_NEGATIVE, 'monotone = "left"')),
        ({"max_noise": 3, "monotone": "unimodal"}, 1, (NOT_NEGATIVE, 'monotone = "unimodal"')),
        ({"max_noise": 2, "min_probability": 0.1}, 1, ("min_probability", "min_probability")),
        (
            {"max_noise": 3, "p_stay": 0.2, "p_stay_rule": "at-most"},
            2,
            ("p_stay at most 0.2", BELOW_2),
        ),
        (
            {"max_noise": 3, "p_stay": 0.7, "p_stay_rule": "at-least"},
            2,
            (NOT_NEGATIVE, "p_stay at least 0.7"),
        ),
        (
            {"max_noise": 3, "positive_bias": 0.3},
            1,
            ("its mean noise is 0.3", "the noise of a count of 1 cannot go below 0"),
        ),
        (
            {"max_noise": 3, "small": 2, "symmetric": True},
            2,
            (
                "no noise strictly between -2 and 2 is allowed",
                "symmetric noise of a count of 2 cannot go beyond ±2",
            ),
        ),
        (
            {"max_noise": 3, "zero_bias": 0.5},
            0,
            ("its mean noise is 0.5", "the noise of a count of 0 cannot go below 0"),
        ),
        (
            {"max_noise": 3, "zero_bias": 0.25, "step": 2, "anchors": (1, 3)},
            0,
            ("its mean noise is 0.25", "the noise of a count of 0 cannot go below 0"),
        ),
        (
            {"max_noise": 3, "small": 2, "symmetric": True},
            1,
            ("a count of 1 has no noise whose opposite is in reach",) * 2,
        ),
    ],
    ids=str,
)
def test_what_limits_a_variance_is_named_at_both_ends(fields, count, limits):
    rows = feasible(NoiseSpec(variance=1.0, **fields)).rows
    assert next(row for row in rows if row.count == count).limits == limits


def test_reach_is_told_in_units_whatever_the_step():
    row = feasible(NoiseSpec(max_noise=2, variance=1.0, step=3, anchors=(1, 3))).rows[0]
    assert (row.variance_min, row.variance_max, row.requested) == (0, 2, 1)
    # half of all noise is none: the rest is at ±1 at least, which is a third of a count
    half = NoiseSpec(max_noise=2, variance=1.0, step=3, anchors=(1, 3), p_stay=0.5)
    row = feasible(half).rows[0]
    assert row.variance_min == pytest.approx(1 / 2 / 9)
    assert row.variance_max == pytest.approx(1)


def test_where_no_row_has_a_law_the_constraints_to_relax_are_named():
    answer = feasible(
        NoiseSpec(max_noise=4, variance=2.0, small=3, monotone="left", p_stay=0.1)
    )
    assert answer.nearest_variance is None
    assert answer.advice == (
        'relax p_stay 0.1 or monotone = "left": no noise of mean zero exists for count 4'
    )


def test_where_rows_exclude_each_other_every_way_out_is_named():
    free = feasible(NoiseSpec(max_noise=4, variance=2.0, small=3))
    assert free.nearest_variance == 4.0
    spec = NoiseSpec(max_noise=4, variance=2.0, small=3, p_stay=0.95, monotone="left")
    if all(row.variance_min is not None for row in feasible(spec).rows):
        assert "another p_stay" in feasible(spec).advice
    tight = feasible(NoiseSpec(max_noise=4, variance=2.0, small=3, p_stay=0.9))
    assert tight.nearest_variance is None
    assert tight.advice == (
        "no single variance suits every row; use max_noise=5 or more, small=2 or less, "
        "another p_stay"
    )


@pytest.mark.parametrize("shape", ["left", "both", "unimodal"])
def test_a_shape_that_is_in_the_way_may_be_given_up(shape):
    p_stay = 0.3 if shape == "unimodal" else 0.9
    spec = NoiseSpec(max_noise=2, small=1, variance=1.0, p_stay=p_stay, monotone=shape)
    assert feasible(spec).advice == (
        "no single variance suits every row; use max_noise=3 or more, small=0 or less, "
        'another p_stay, monotone = "none"'
    )


@pytest.mark.parametrize("variance", [1.0, 9.0])
def test_no_variance_of_other_counts_cures_the_noise_of_zeros(variance):
    answer = feasible(
        NoiseSpec(max_noise=3, variance=variance, zero_bias=0.5, zero_variance=1.5)
    )
    assert [row.count for row in answer.rows] == [0, 1, 2, 3]
    # a mean of 1/2 from 0 to 3 has a variance of 5/4 at most
    assert (answer.rows[0].variance_max, answer.rows[0].is_feasible) == (1.25, False)
    assert answer.nearest_variance == min(variance, 3.0)
    assert "use variance" not in answer.advice
    assert "use max_noise=4 or more" in answer.advice
    met = feasible(NoiseSpec(max_noise=3, variance=9.0, zero_bias=0.5, zero_variance=1.0))
    assert met.rows[0].is_feasible
    assert met.advice.startswith("use variance=")


def test_parts_of_a_stack_are_advised_to_change():
    stack = StackedSpec(
        parts=(
            (0, NoiseSpec(max_noise=2, variance=3.0)),
            (3, NoiseSpec(max_noise=2, variance=1.5)),
        )
    )
    answer = feasible(stack)
    assert answer.nearest_variance is None
    assert answer.advice == "change the variance of the parts that these rows belong to"
    assert [row.is_feasible for row in answer.rows] == [False, True, True]


def test_a_request_that_can_be_met_needs_no_advice():
    answer = feasible(NoiseSpec(max_noise=3, variance=2.0))
    assert (answer.ok, answer.advice, answer.nearest_variance) == (True, "", 2.0)
    assert str(answer).splitlines()[-1].endswith("yes")


def test_an_upper_bound_may_lie_above_every_reach():
    answer = feasible(NoiseSpec(max_noise=2, variance=3.9, variance_rule="at-most"))
    assert (answer.ok, answer.nearest_variance) == (True, 3.9)
    low = feasible(NoiseSpec(max_noise=5, variance=1.0, small=2, variance_rule="at-most"))
    assert (low.ok, low.nearest_variance, low.advice) == (False, 2.0, "use variance=2")
