import itertools
import math
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction

import pytest

from ptable import InfeasibleError, NoiseSpec, PTableError, feasible, solve
from ptable.advice.advice import advise, conflicts
from ptable.advice.alternatives import alternatives
from ptable.advice.figures import few_outcomes, figures, figures_of, laws, name_few_outcomes
from ptable.design.goal import Goal
from ptable.design.stack import StackedSpec
from ptable.solver.integer.rounding import inward
from ptable.solver.reach import meets, reaches, stay_bounds, variance_bounds
from ptable.solver.unimodal import has_one_peak

INFEASIBLE = [
    {"max_noise": 5, "variance": 1.0, "small": 2},
    {"max_noise": 5, "variance": 1.0, "small": 4},
    {"max_noise": 5, "variance": 3.0, "small": 5},
    {"max_noise": 2, "variance": 9.0},
    {"max_noise": 2, "variance": 3.0},
    {"max_noise": 6, "variance": 4.0, "monotone": "both"},
    {"max_noise": 6, "variance": 3.0, "p_stay": 0.4, "monotone": "both"},
    {"max_noise": 8, "variance": 5.0, "p_stay": 0.95, "small": 3},
    {"max_noise": 8, "variance": 5.0, "p_stay": 0.95, "p_stay_rule": "at-least"},
    {"max_noise": 5, "variance": 3.0, "symmetric": True},
    {"max_noise": 10, "variance": 1.0, "min_probability": 0.04},
    {"max_noise": 5, "variance": 1.0, "zero_bias": 0.5, "zero_variance": 30.0},
    {"max_noise": 2, "variance": (1.0, 5.0)},
    {"max_noise": 3, "variance": 5.0, "monotone": "unimodal"},
]


def changed(one):
    return {name: after for name, (_, after) in one.changes.items()}


@pytest.mark.slow
@pytest.mark.parametrize("fields", INFEASIBLE, ids=str)
def test_every_alternative_can_be_met(fields):
    found = alternatives(fields)
    assert found
    for one in found:
        answer = feasible(one.spec)
        if one.spec.variance_rule == "nearest":
            assert all(row.variance_min is not None for row in answer.rows)
        else:
            assert answer.ok, one
        assert {name: getattr(one.spec, name) for name in changed(one)} == changed(one)


@pytest.mark.slow
@pytest.mark.parametrize("fields", INFEASIBLE, ids=str)
def test_an_alternative_differs_in_what_it_says_and_nothing_else(fields):
    for one in alternatives(fields):
        kept = {k: v for k, v in fields.items() if k not in one.changes}
        assert {name: getattr(one.spec, name) for name in kept} == kept


@pytest.mark.slow
@pytest.mark.parametrize("fields", INFEASIBLE[:8], ids=str)
def test_alternatives_can_be_solved(fields):
    for one in alternatives(fields):
        if one.spec.variance_rule == "nearest":
            continue
        table = solve(one.spec)
        table.certificate.check(table)


def test_nearest_comes_first():
    distances = [one.distance for one in alternatives(INFEASIBLE[0])]
    assert distances == sorted(distances)
    assert len(distances) > 2


def test_a_request_that_can_be_met_has_no_alternatives():
    assert alternatives(NoiseSpec(max_noise=2, variance=1.0)) == ()


@pytest.mark.slow
def test_no_smaller_noise_than_the_one_offered_suffices():
    spec = NoiseSpec(max_noise=6, variance=4.0, monotone="both")
    (found,) = [one for one in alternatives(spec) if "max_noise" in one.changes]
    least = next(
        d
        for d in itertools.count(7)
        if feasible(NoiseSpec(max_noise=d, variance=4.0, monotone="both")).ok
    )
    assert found.spec.max_noise == least


def test_the_probability_of_staying_offered_is_next_to_the_exact_end():
    spec = NoiseSpec(max_noise=8, variance=5.0, p_stay=0.95)
    (found,) = [
        one
        for one in alternatives(spec)
        if set(one.changes) == {"p_stay"} and one.spec.p_stay is not None
    ]
    ends = [stay_bounds(row) for row in spec.rows()]
    end = float(min(high.value for _, high in ends))
    assert end - 0.002 < found.spec.p_stay < end


def test_blocked_counts_that_no_variance_suits_get_more_noise():
    (found,) = [
        one
        for one in alternatives(INFEASIBLE[1])
        if set(one.changes) == {"max_noise", "variance"}
    ]
    assert (found.spec.max_noise, found.spec.variance[1:]) == (6, (6.0,) * 10)
    assert 5 < found.spec.variance[0] < 6  # at 6 a count of 1 has two outcomes only


def test_a_variance_at_the_end_of_the_reach_is_said_to_leave_one_law():
    (found,) = [one for one in alternatives(INFEASIBLE[0]) if one.spec.variance == 2.0]
    assert found.note == "counts 1, 2 have only one law there"


def test_only_the_parts_of_a_stack_that_fail_are_changed():
    good = NoiseSpec(max_noise=3, variance=1.0, small=1)
    bad = NoiseSpec(max_noise=5, variance=1.0, small=1, min_probability=0.08)
    found = alternatives(StackedSpec(parts=((0, good), (20, bad))))
    assert found
    for one in found:
        assert feasible(one.spec).ok or "nearest" in str(one)
        assert one.spec.parts[0] == (0, good)
        assert all("from count 20 on" in name for name in one.changes)


def test_all_failing_parts_of_a_stack_are_changed_together():
    first = NoiseSpec(max_noise=5, variance=1.0, small=2)
    later = NoiseSpec(max_noise=5, variance=24.0, small=2, monotone="both")
    found = alternatives(StackedSpec(parts=((0, first), (20, later))))
    assert found
    assert all(
        row.is_feasible or row.problem.nearest
        for one in found
        for row in feasible(one.spec).rows
    )
    assert len({one.spec for one in found}) == len(found)


def test_two_options_change_where_one_is_never_enough():
    fields = {
        "max_noise": 2,
        "variance": 3.0,
        "small": 1,
        "min_probability": 0.19,
        "p_stay": 0.9,
    }
    found = alternatives(fields)
    assert found
    assert all(
        len(one.changes) > 1 and feasible(one.spec).ok
        for one in found
        if one.spec.variance_rule == "exact"
    )


@pytest.mark.parametrize(
    "fields", [{"max_noise": 2, "variance": math.nan}, {"max_noise": 0, "variance": 1.0}]
)
def test_a_wrong_request_is_refused_not_repaired(fields):
    with pytest.raises(PTableError) as caught:
        alternatives(fields)
    assert not isinstance(caught.value, InfeasibleError)


@pytest.mark.parametrize(
    ("wish", "low", "high", "strict", "answer"),
    [
        ("5", "1", "10", False, 5.0),
        ("12", "0", "31/3", False, 10.3),
        ("0", "31/3", "20", False, 10.4),
        ("1", "6", "10", True, 6.01),
        ("20", "6", "10", True, 9.9),
        ("1", "6", "6", True, 6.0),
        ("0", "1/3", "1001/3000", False, 0.3334),
    ],
)
def test_numbers_are_shortened_inward(wish, low, high, strict, answer):
    assert inward(Fraction(wish), Fraction(low), Fraction(high), strict=strict) == answer


GOALS = [
    Goal(max_noise=5, p_stay=0.4),
    Goal(max_noise=5, small=2, p_stay=0.4),
    Goal(max_noise=5, small=4, p_stay=0.4),
    Goal(max_noise=8, p_stay=0.9, monotone="both"),
    Goal(max_noise=6, small=2, p_stay=0.2, monotone="unimodal"),
    Goal(max_noise=6, p_stay=0.2, monotone="left", min_probability=0.001),
    Goal(max_noise=5, variance=(1.0, 2.0)),
    Goal(max_noise=2, small=2),
    Goal(max_noise=1, p_stay=0.01, symmetric=True),
]


@pytest.mark.slow
@pytest.mark.parametrize("goal", GOALS, ids=str)
def test_every_proposal_for_a_goal_can_be_met_and_built(goal):
    found = advise(goal)
    assert 1 <= len(found) <= 12
    assert len({one.spec for one in found}) == len(found)
    for one in found:
        assert feasible(one.spec).ok
        assert one.spec.monotone == goal.monotone
    table = solve(found[0].spec)
    table.certificate.check(table)


@pytest.mark.slow
@pytest.mark.parametrize("goal", GOALS[:6], ids=str)
def test_the_first_proposal_keeps_a_count_as_often_as_wished(goal):
    best = advise(goal)[0]
    assert best.missed == ()
    table = solve(best.spec)
    stays = table.units(table.n_rows - 1)[0] / table.key_range
    assert abs(stays - goal.p_stay) <= goal.tolerance
    assert stays == pytest.approx(best.figures.p_stay, abs=1e-8)


def test_no_larger_variance_keeps_counts_as_often():
    best = next(one for one in advise(GOALS[0]) if one.spec.p_stay is None)
    stays = [figures(NoiseSpec(max_noise=5, variance=v)).p_stay for v in (0.9, 0.995, 1.1)]
    assert stays[0] > stays[1] > stays[2]
    assert best.figures.p_stay == pytest.approx(stays[1])


@pytest.mark.slow
def test_wishes_that_are_not_fulfilled_are_named():
    found = advise(GOALS[2])
    assert any("small is" in " ".join(one.missed) for one in found)
    for one in found:
        assert (one.spec.small != 4) == any("small is" in text for text in one.missed)
        assert (one.spec.max_noise != 5) == any("max_noise is" in text for text in one.missed)


@pytest.mark.parametrize(
    ("goal", "words"),
    [
        (Goal(max_noise=5, small=4), ("count 2 needs", "at least 6", "count 1 has at most 5")),
        (Goal(max_noise=2, small=2), ("needs max_noise of at least 3",)),
        (Goal(max_noise=5, small=2, p_stay=0.4), ("p_stay 0.4", "0.995", "at least 2")),
        (Goal(max_noise=5, variance=30.0), ("at least 30", "at most 5")),
        (Goal(max_noise=5, small=2, variance=1.0), ("at most 1", "at least 2")),
    ],
)
def test_conflicting_wishes_are_named_with_their_ends(goal, words):
    (text,) = conflicts(goal)
    assert all(word in text for word in words)


def test_wishes_that_go_together_do_not_conflict():
    assert conflicts(Goal(max_noise=5, p_stay=0.4)) == ()


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_noise": 0},
        {"max_noise": True},
        {"max_noise": 2.5},
        {"max_noise": 5, "small": -1},
        {"max_noise": 5, "p_stay": 1.0},
        {"max_noise": 5, "p_stay": math.nan},
        {"max_noise": 5, "tolerance": 0},
        {"max_noise": 5, "variance": (2.0, 1.0)},
        {"max_noise": 5, "variance": (1.0, 2.0, 3.0)},
        {"max_noise": 5, "variance": -1.0},
        {"max_noise": 5, "variance": math.inf},
        {"max_noise": 5, "monotone": "up"},
        {"max_noise": 5, "min_probability": 0.9},
    ],
)
def test_a_wrong_goal_is_refused(wrong):
    with pytest.raises(PTableError):
        Goal(**wrong)


def test_figures_are_those_of_the_certified_table():
    spec = NoiseSpec(max_noise=5, variance=3.0, small=2)
    risk, table = figures(spec), solve(spec)
    last = {v: n / table.key_range for v, n in table.units(table.n_rows - 1).items()}
    assert risk.variance == pytest.approx(sum(v * v * p for v, p in last.items()), abs=1e-8)
    assert risk.p_stay == pytest.approx(last[0], abs=1e-8)
    assert risk.mean_size == pytest.approx(sum(abs(v) * p for v, p in last.items()), abs=1e-7)
    assert risk.p_same_difference == pytest.approx(sum(p * p for p in last.values()), abs=1e-8)
    entropy = -sum(p * math.log2(p) for p in last.values())
    assert risk.entropy == pytest.approx(entropy, abs=1e-6)
    for count, p in risk.p_true:
        assert p == pytest.approx(table.units(count).get(0, 0) / table.key_range, abs=1e-8)


def test_the_source_of_a_published_count_follows_bayes_rule():
    spec = NoiseSpec(max_noise=3, variance=2.0, small=1)
    transition = solve(spec).transition
    rows = [transition[min(i, len(transition) - 1)] for i in range(30)]
    last = len(transition) - 1
    for prior in (1.0, 0.6):
        for j, p in figures(spec, prior=prior).p_source:
            weights = {
                i: (rows[i][j] if i <= last else rows[last][j - i + last]) * prior**i
                for i in range(1, j + 4)
            }
            assert p == pytest.approx(weights[j] / sum(weights.values()), abs=1e-6)
    assert [j for j, _ in figures(spec).p_source] == [2, 3]


def test_figures_of_a_row_without_noise_are_certain():
    risk = figures_of({1: {0: 1.0}}, last_count=1)
    assert (risk.p_stay, risk.entropy, risk.p_same_difference) == (1.0, 0.0, 1.0)
    assert [p for _, p in risk.p_source] == [1.0, 1.0]


@pytest.mark.parametrize("prior", [0, -1, 1.5, math.nan])
def test_a_prior_that_grows_or_vanishes_is_refused(prior):
    with pytest.raises(PTableError):
        figures(NoiseSpec(max_noise=2, variance=1.0), prior=prior)


def test_figures_of_magnitudes_are_refused():
    with pytest.raises(PTableError):
        figures(NoiseSpec(max_noise=1, variance=0.4, step=2, anchors=(1,)))


def test_laws_at_an_end_of_the_reach_are_exact():
    assert laws(NoiseSpec(max_noise=2, variance=2.0))[1] == pytest.approx(
        {-1: 2 / 3, 0: 0, 1: 0, 2: 1 / 3}
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("p_stay", "rule", "floor"),
    [(None, "exact", 0), (0.2, "exact", 0), (0.3, "at-least", 0), (0.2, "at-most", 0.01)],
)
def test_one_peaked_rows_reach_what_the_best_peak_reaches(p_stay, rule, floor):
    spec = NoiseSpec(
        max_noise=4,
        variance=1.0,
        small=1,
        monotone="unimodal",
        p_stay=p_stay,
        p_stay_rule=rule,
        min_probability=floor,
    )
    for row in spec.rows()[spec.small :]:  # a blocked count has no shape
        for bounds in (variance_bounds, stay_bounds):
            places = [bounds(row.with_peak(place)) for place in range(len(row.noise))]
            ends = [pair for pair in places if pair is not None]
            found = bounds(row)
            if found is None:
                assert not ends
                continue
            assert found[0].value == min(low.value for low, _ in ends)
            assert found[1].value == max(high.value for _, high in ends)
            assert all(has_one_peak(end.law) for end in found)


@pytest.mark.slow
def test_a_variance_between_what_two_peaks_reach_is_out_of_reach():
    spec = NoiseSpec(max_noise=4, variance=4.0, small=2, monotone="unimodal", p_stay=0.2)
    row = spec.row(3)
    assert meets(row, variance_bounds(row))
    assert not reaches(row)
    answer = feasible(spec)
    assert 3 in [one.count for one in answer.rows if not one.is_feasible]
    with pytest.raises(InfeasibleError):
        solve(spec)
    assert all(feasible(one.spec).ok for one in alternatives(spec) if "nearest" not in str(one))


@pytest.mark.slow
def test_advice_loads_no_solver():
    code = (
        "import sys; from ptable import Goal, advise, alternatives\n"
        "advise(Goal(max_noise=3, p_stay=0.4))\n"
        "alternatives({'max_noise': 2, 'variance': 3.0})\n"
        "sys.exit(', '.join({'highspy', 'scipy', 'pandas', 'pyarrow'} & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_row_on_nearly_two_points_is_named_with_the_nearest_smaller_variance():
    spec = NoiseSpec(max_noise=10, variance=10.0)
    (row,) = few_outcomes(spec)
    assert str(row) == "count 1 becomes 0 (91%) or 11 (9%), 1.4 effective outcomes"
    assert "A variance of 8.7 is the nearest" in name_few_outcomes(spec)
    assert few_outcomes(replace(spec, variance=8.7)) == ()
    assert few_outcomes(replace(spec, variance=8.8)) != ()
    proof = solve(spec).certificate
    assert few_outcomes(spec, proof=proof) == (row,)
    assert math.exp(proof.fewest_outcomes.entropy) == pytest.approx(row.effective, abs=1e-6)
    assert "fewest effective outcomes 1.36 (count 1)" in proof.summary()


@pytest.mark.parametrize(
    "spec",
    [
        NoiseSpec(max_noise=5, variance=3.0),
        NoiseSpec(max_noise=5, variance=0.05),  # little noise
        NoiseSpec(max_noise=3, variance=2.0, small=2, variance_rule="at-most"),
        NoiseSpec(max_noise=10, variance=7.0, small=4),  # as many as blocked counts leave
    ],
)
def test_little_noise_and_blocked_counts_are_not_taken_for_two_points(spec):
    assert name_few_outcomes(spec) == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    "goal", [Goal(max_noise=10, variance=15.0, small=4), Goal(max_noise=10, variance=10.0)]
)
def test_nobody_is_advised_a_row_on_nearly_two_points_unasked(goal):
    found = advise(goal)
    assert found
    assert [one.spec for one in found if few_outcomes(one.spec)] == []


@pytest.mark.slow
def test_the_nearest_requests_have_no_row_on_nearly_two_points():
    asked = NoiseSpec(max_noise=10, variance=15.0, small=4)  # an office's own design
    found = alternatives(asked)
    assert found[0].spec.variance == 8.11
    assert [one.spec for one in found if few_outcomes(one.spec)] == []
