"""The nearest requests that can be met, where one cannot."""

import itertools
import math

import pytest

from ptable import InfeasibleError, NoiseSpec, PTableError, StackedSpec, feasible, solve
from ptable.advice.alternatives import alternatives
from ptable.advice.figures import few_outcomes
from ptable.solver.reach import meets, reaches, variance_bounds

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


def test_blocked_counts_that_no_variance_suits_get_more_noise():
    (found,) = [
        one
        for one in alternatives(INFEASIBLE[1])
        if set(one.changes) == {"max_noise", "variance"}
    ]
    assert (found.spec.max_noise, found.spec.variance[1:]) == (6, (6.0,) * 10)
    assert 5 < found.spec.variance[0] < 6  # at 6 a count of 1 has two outcomes only


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
def test_the_nearest_requests_have_no_row_on_nearly_two_points():
    asked = NoiseSpec(max_noise=10, variance=15.0, small=4)  # an office's own design
    found = alternatives(asked)
    assert found[0].spec.variance == 8.11
    assert [one.spec for one in found if few_outcomes(one.spec)] == []


def test_what_is_asked_for_may_be_a_specification_or_its_fields():
    fields = {"max_noise": 2, "variance": 3.0}
    by_fields, by_spec = alternatives(fields), alternatives(NoiseSpec(**fields))
    assert [str(one) for one in by_fields] == [str(one) for one in by_spec]
    assert [one.spec for one in by_fields] == [one.spec for one in by_spec]


def test_changes_of_one_option_are_told_by_how_far_they_move():
    # at a variance of 2 count 1 would be 0 or 3: less is proposed, where it has more outcomes
    found = alternatives({"max_noise": 2, "variance": 3.0})
    assert [str(one) for one in found] == [
        "variance 1.97 instead of 3",
        "variance per row, row 1 changed, instead of 3",
        "variance_rule 'at-most' instead of 'exact'",
    ]
    assert [one.spec.variance for one in found] == [1.97, (1.97, 3.0), 3.0]
    assert [one.distance for one in found] == pytest.approx([1 / 3, 1 / 3, 1])


def test_requests_that_differ_in_what_is_said_alone_are_told_once():
    for fields in (*INFEASIBLE[:1], *INFEASIBLE[3:5]):
        found = alternatives(fields)
        assert len({one.spec for one in found}) == len(found)


def test_where_nothing_else_is_left_rows_on_two_points_are_told_in_the_note():
    # 1 and 2 blocked by noise of at most 3: count 1 goes to 0 or beyond 2, count 2 as well
    found = alternatives({"max_noise": 1, "variance": 3.0, "small": 0})
    assert found
    for one in found:
        rows = few_outcomes(one.spec)
        assert all(str(row) in one.note for row in rows)


def test_more_noise_with_one_variance_that_suits_all_rows_is_found_by_search():
    fields = {"max_noise": 5, "variance": 1.0, "small": 4}
    (one,) = [
        one for one in alternatives(fields) if set(one.changes) == {"max_noise", "variance"}
    ]
    noise = next(
        noise
        for noise in itertools.count(6)
        if max(
            row.variance_min
            for row in feasible(NoiseSpec(**fields | {"max_noise": noise})).rows
        )
        <= min(
            row.variance_max
            for row in feasible(NoiseSpec(**fields | {"max_noise": noise})).rows
        )
    )
    assert one.changes["max_noise"] == (5, noise)
    assert one.distance > 1  # a second option changes


def test_two_changes_are_told_in_the_order_in_which_they_are_made():
    fields = {
        "max_noise": 2,
        "variance": 3.0,
        "small": 1,
        "min_probability": 0.19,
        "p_stay": 0.9,
    }
    found = [one for one in alternatives(fields) if one.spec.variance_rule == "exact"]
    for one in found:
        assert one.distance > 1
        for name, (before, after) in one.changes.items():
            assert before == fields.get(
                name, getattr(NoiseSpec(max_noise=2, variance=1.0), name)
            )
            assert before != after


def test_parts_of_a_stack_are_named_by_their_first_count():
    good = NoiseSpec(max_noise=3, variance=1.0)
    bad = NoiseSpec(max_noise=2, variance=3.0)
    first = alternatives(StackedSpec(parts=((0, bad), (5, good))))
    assert str(first[0]).startswith("variance from count 0 on")
    assert all(one.spec.parts[1] == (5, good) for one in first)
    later = alternatives(StackedSpec(parts=((0, good), (1, bad))))
    assert {name for one in later for name in one.changes} >= {"variance from count 1 on"}
    assert [one.distance for one in later] == sorted(one.distance for one in later)
    # from count 2 on noise of 2 may have a variance of 3
    assert alternatives(StackedSpec(parts=((0, good), (2, bad)))) == ()


def test_parts_that_are_changed_together_share_their_notes():
    low = NoiseSpec(max_noise=5, variance=1.0, small=2)
    high = NoiseSpec(max_noise=5, variance=26.0, small=2, variance_rule="nearest")
    only = alternatives(StackedSpec(parts=((0, low), (20, high))))
    assert all(one.spec.parts[1] == (20, high) for one in only)
    asked = NoiseSpec(max_noise=5, variance=24.0, small=2, monotone="both")
    both = alternatives(StackedSpec(parts=((0, low), (20, asked))))
    for one in both:
        assert {name.rpartition(" from ")[2] for name in one.changes} == {
            *("count 0 on", "count 20 on"),
        }
        assert one.spec.parts[0][1] != low
        assert one.spec.parts[1][1] != asked
        assert not one.note.startswith("; ")


#: Requests of which no single option can be blamed; the last ones need every rule given up.
TANGLED = [
    {"max_noise": 2, "variance": 1.0, "small": 1, "p_stay": 0.95, "min_probability": 0.13},
    {"max_noise": 2, "variance": 1.0, "p_stay": 0.9, "symmetric": True, "min_probability": 0.1},
    {
        "max_noise": 3,
        "variance": 1.0,
        "small": 2,
        "p_stay": 0.95,
        "symmetric": True,
        "min_probability": 0.1,
    },
    {
        "max_noise": 3,
        "variance": 3.0,
        "small": 2,
        "p_stay": 0.3,
        "monotone": "both",
        "symmetric": True,
        "min_probability": 0.05,
    },
]


@pytest.mark.parametrize("fields", TANGLED, ids=str)
def test_as_few_options_change_together_as_help(fields):
    found = alternatives(fields)
    assert found
    n_changes = 2 if fields in TANGLED[:2] else 3
    for one in found:
        assert feasible(one.spec).ok or one.spec.variance_rule == "nearest"
        assert len(one.changes) >= n_changes
        assert len(one.changes) == 2 or n_changes == 3
        kept = {name: value for name, value in fields.items() if name not in one.changes}
        assert {name: getattr(one.spec, name) for name in kept} == kept
    if n_changes == 3:
        assert all(one.spec.small == 2 for one in found)


@pytest.mark.parametrize("fields", TANGLED, ids=str)
def test_what_stays_as_it_was_is_not_told_as_a_change(fields):
    for one in alternatives(fields):
        assert all(before != after for before, after in one.changes.values())
        assert "row  changed" not in str(one)


@pytest.mark.parametrize("small", [2, 4])
def test_fewer_counts_are_blocked_than_noise_is_large_where_that_and_another_change_help(small):
    found = alternatives(
        {
            "max_noise": 2,
            "variance": 3.0,
            "small": small,
            "monotone": "both",
            "min_probability": 0.05,
        }
    )
    assert found
    assert {one.changes["small"] for one in found} == {(small, 1)}


def test_each_part_of_a_stack_changes_while_the_others_take_their_nearest():
    bad = NoiseSpec(max_noise=2, variance=3.0)
    worse = NoiseSpec(max_noise=3, variance=5.0, monotone="both")
    good = NoiseSpec(max_noise=2, variance=1.0)
    first = alternatives(StackedSpec(parts=((0, bad), (2, good))))
    later = alternatives(StackedSpec(parts=((0, good), (2, worse))))
    found = alternatives(StackedSpec(parts=((0, bad), (2, worse))))
    assert [str(one) for one in first[:2]] == [
        "variance from count 0 on 2 instead of 3 (count 1 has only one law there)",
        "max_noise from count 0 on 3 instead of 2",
    ]
    nearest = first[0].spec.parts[0], later[0].spec.parts[1]
    pairs = [one.spec.parts for one in found]
    assert set(pairs) == {
        *((one.spec.parts[0], nearest[1]) for one in first),
        *((nearest[0], one.spec.parts[1]) for one in later),
    }
    for one in found:
        alone = [
            *(each for each in first if each.spec.parts[0] == one.spec.parts[0]),
            *(each for each in later if each.spec.parts[1] == one.spec.parts[1]),
        ]
        assert one.distance == max(each.distance for each in alone)
        assert one.note == "; ".join(each.note for each in alone if each.note)
    assert [one.distance for one in found] == sorted(one.distance for one in found)
