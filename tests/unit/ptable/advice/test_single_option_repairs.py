"""The nearest change of one option that can be met, against a search of all."""

from dataclasses import replace
from fractions import Fraction

import pytest

from ptable import NoiseSpec, feasible
from ptable.advice.infeasibility_cases import Case
from ptable.advice.single_option_repairs import farthest, single_changes, variance_changes
from ptable.solver.reach import stay_bounds


def changes(fields, **options):
    """Give single changes as pairs of option and value; each differs in one option."""
    found = list(single_changes(Case(fields=fields), **options))
    assert all(len(one.changes) == 1 for one in found)
    return [(*one.changes, one) for one in found]


def values(fields, name):
    return [one.changes[name][1] for option, one in changes(fields) if option == name]


def is_met(**fields):
    return feasible(NoiseSpec(**fields)).ok


# --- variance ------------------------------------------------------------------------------


def test_a_variance_moves_to_the_end_of_what_all_rows_reach():
    fields = {"max_noise": 2, "variance": 3.0}
    one, per_row = (one for option, one in changes(fields) if option == "variance")
    assert (one.spec.variance, one.distance) == (2.0, pytest.approx(1 / 3))
    assert one.note == "count 1 has only one law there"
    # row 2 reaches 4 and keeps its 3
    assert per_row.spec.variance == (2.0, 3.0)
    assert (per_row.distance, per_row.note) == (one.distance, one.note)


def test_an_end_that_is_no_short_number_is_rounded_inward():
    spec = {"max_noise": 6, "variance": 4.0, "monotone": "both"}
    high = min(row.variance_max for row in feasible(NoiseSpec(**spec)).rows)
    (single,) = [v for v in values(spec, "variance") if not isinstance(v, tuple)]
    assert high - 0.01 < single < high
    (note,) = [one.note for option, one in changes(spec) if one.changes.get("variance")][:1]
    assert note == ""


def test_a_variance_below_what_blocked_counts_need_is_raised():
    fields = {"max_noise": 5, "variance": 1.0, "small": 2}
    single, per_row = values(fields, "variance")
    assert single == 2.0
    assert per_row == (2.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0)
    notes = [one.note for option, one in changes(fields) if option == "variance"]
    assert notes == ["counts 1, 2 have only one law there"] * 2


def test_variances_of_each_row_move_by_themselves():
    fields = {"max_noise": 2, "variance": (1.0, 5.0)}
    assert values(fields, "variance") == [(1.0, 4.0)]
    (one,) = [one for option, one in changes(fields) if option == "variance"]
    assert (one.distance, one.note) == (0.2, "count 2 has only one law there")


def test_no_single_variance_is_offered_where_rows_exclude_each_other():
    fields = {"max_noise": 5, "variance": 1.0, "small": 4}
    (per_row,) = values(fields, "variance")
    rows = feasible(NoiseSpec(**fields)).rows
    nearest = [min(max(1.0, row.variance_min), row.variance_max) for row in rows]
    assert per_row == tuple(nearest)


def test_a_bound_on_the_variance_has_no_upper_end():
    case = Case(
        fields={"max_noise": 5, "variance": 1.0, "small": 2, "variance_rule": "at-most"}
    )
    single, per_row = variance_changes(case)
    assert single.spec.variance == 2.0
    assert per_row.spec.variance[:3] == (2.0, 2.0, 1.0)
    assert [one.spec.variance for one in variance_changes(case, per_row=False)] == [2.0]


def test_variances_in_steps_are_told_in_units():
    fields = {"max_noise": 2, "variance": 3.0, "step": 2, "anchors": (1, 2)}
    assert values(fields, "variance")[0] == 2.0


def test_a_part_of_a_stack_gets_one_variance_only():
    case = Case(fields={"max_noise": 2, "variance": 3.0}, counts=range(3))
    assert [one.spec.variance for one in variance_changes(case)] == [2.0]


@pytest.mark.parametrize(
    "fields",
    [
        {"max_noise": 2, "variance": 1.0, "small": 2},  # refused whatever the variance
        {"max_noise": 2, "variance": 1.0, "p_stay": 0.95, "min_probability": 0.1},  # no law
    ],
)
def test_no_variance_is_offered_where_none_helps(fields):
    assert list(variance_changes(Case(fields=fields))) == []


# --- max_noise and small ---------------------------------------------------------------------


@pytest.mark.parametrize("monotone", ["none", "left", "both"])
@pytest.mark.parametrize("variance", [3.0, 4.5])
def test_the_largest_noise_offered_is_the_least_that_suffices(monotone, variance):
    fields = {"max_noise": 2, "variance": variance, "monotone": monotone}
    wider = next(
        noise
        for noise in range(3, 30)
        if variance <= noise**2 and is_met(**{**fields, "max_noise": noise})
    )
    found = [one for option, one in changes(fields) if option == "max_noise"]
    (one,) = found
    assert one.spec.max_noise == wider
    assert one.distance == (wider - 2) / 2


def test_noise_beyond_what_is_worth_looking_for_is_not_offered():
    fields = {"max_noise": 2, "variance": 14.0}
    assert values(fields, "max_noise") == [14]
    assert values({**fields, "variance": 14.1}, "max_noise") == []


def test_less_noise_is_offered_where_each_value_has_a_least_probability():
    fields = {"max_noise": 10, "variance": 1.0, "min_probability": 0.04}
    (below,) = values(fields, "max_noise")
    assert not is_met(**{**fields, "max_noise": below + 1})
    assert below < 10
    assert is_met(**{**fields, "max_noise": below})
    wide = {"max_noise": 2, "variance": 3.0, "min_probability": 0.01}
    above = next(n for n in range(3, 15) if is_met(**{**wide, "max_noise": n}))
    assert values(wide, "max_noise") == [above]
    both = {"max_noise": 4, "variance": 6.0, "min_probability": 0.08}
    for largest in values(both, "max_noise"):
        assert largest != 4
        between = range(min(4, largest) + 1, max(4, largest))
        assert not any(is_met(**{**both, "max_noise": n}) for n in between)
    assert values({**fields, "max_noise": below + 1}, "max_noise") == [below]


def test_noise_that_differs_by_row_is_left_alone():
    assert values({"max_noise": (2, 2), "variance": 3.0}, "max_noise") == []


@pytest.mark.parametrize(
    ("fields", "most"),
    [
        ({"max_noise": 3}, 16),
        ({"max_noise": 3, "small": 2}, 20),
        ({"max_noise": 495}, 1000),
        ({"max_noise": 494}, 998),
    ],
)
def test_noise_is_looked_for_up_to_some_size(fields, most):
    assert farthest(Case(fields={"variance": 1.0, **fields})) == most


def test_fewer_blocked_counts_are_offered_as_few_less_as_can_be():
    for small, variance in ((2, 1.0), (4, 1.0), (4, 2.5)):
        fields = {"max_noise": 5, "variance": variance, "small": small}
        best = max(s for s in range(small) if is_met(**{**fields, "small": s}))
        assert values(fields, "small") == [best]
    (one,) = [one for option, one in changes(fields) if option == "small"]
    assert one.distance == (4 - one.spec.small) / 4
    assert not [option for option, _ in changes(fields, sizes=False) if option == "small"]
    assert not [option for option, _ in changes(fields, sizes=False) if option == "max_noise"]


def test_more_blocked_counts_are_offered_where_these_are_free_of_staying():
    fields = {"max_noise": 3, "variance": 2.0, "p_stay": 0.5}
    assert is_met(**{**fields, "small": 1})
    assert values(fields, "small") == [1]
    # of 1 and 2 blocked counts, which is as far as noise of 3 goes, none helps
    assert values({**fields, "p_stay": 0.9}, "small") == []


# --- staying ---------------------------------------------------------------------------------


def test_the_probability_of_staying_moves_next_to_the_exact_end():
    fields = {"max_noise": 8, "variance": 5.0, "p_stay": 0.95}
    ends = [stay_bounds(row) for row in NoiseSpec(**fields).rows()]
    end = float(min(high.value for _, high in ends))
    one, free = values(fields, "p_stay")
    assert end - 0.002 < one < end
    assert free is None


def test_a_probability_of_staying_below_the_reach_is_raised():
    fields = {"max_noise": 1, "variance": 0.3, "p_stay": 0.5}
    # two values ±1 of probability .3 together leave .7
    ends = [stay_bounds(row) for row in NoiseSpec(**fields).rows()]
    assert {end.value for pair in ends for end in pair} == {Fraction(7, 10)}
    assert values(fields, "p_stay") == [0.7, None]


def test_an_exact_probability_may_become_a_bound():
    fields = {"max_noise": 1, "variance": 0.3, "p_stay": 0.5}
    assert values(fields, "p_stay_rule") == ["at-least"]
    assert values({**fields, "p_stay": 0.9}, "p_stay_rule") == ["at-most"]
    assert values({**fields, "p_stay": 0.9, "p_stay_rule": "at-least"}, "p_stay_rule") == []
    low = {**fields, "p_stay_rule": "at-most"}
    assert values(low, "p_stay")[0] > 0.6
    high = {**fields, "p_stay": 0.9, "p_stay_rule": "at-least"}
    assert values(high, "p_stay")[0] < 0.71


def test_probabilities_of_each_row_move_by_themselves():
    fields = {"max_noise": 2, "variance": 1.0, "p_stay": (None, 0.95)}
    first, free = values(fields, "p_stay")
    assert first[0] is None
    _, high = stay_bounds(NoiseSpec(**fields).row(2))
    assert float(high.value) - 0.01 < first[1] < float(high.value)
    assert free is None
    (one, _) = [one for option, one in changes(fields) if option == "p_stay"]
    assert one.distance == pytest.approx((0.95 - first[1]) / 0.95)


def test_nothing_is_said_about_staying_where_nobody_asked():
    for option in ("p_stay", "p_stay_rule"):
        assert values({"max_noise": 2, "variance": 3.0}, option) == []


# --- rules -----------------------------------------------------------------------------------


def test_the_strongest_weaker_shape_that_works_is_offered():
    def weaker(monotone, variance):
        fields = {"max_noise": 6, "variance": variance, "monotone": monotone}
        return values(fields, "monotone")

    def works(monotone, variance):
        return is_met(max_noise=6, variance=variance, monotone=monotone)

    for variance in (2.5, 3.2, 3.5, 4.0, 5.0):
        for monotone, weaker_words in (
            ("both", ("left", "unimodal", "none")),
            ("left", ("none",)),
            ("unimodal", ("none",)),
            ("none", ()),
        ):
            if works(monotone, variance):
                continue
            expected = [word for word in weaker_words if works(word, variance)][:1]
            assert weaker(monotone, variance) == expected, (monotone, variance)
    mixed = {"max_noise": 2, "variance": 1.9, "monotone": ("both", "none")}
    assert values(mixed, "monotone") == ["none"]


def test_giving_a_rule_up_counts_as_one():
    fields = {"max_noise": 5, "variance": 3.0, "symmetric": True}
    (one,) = [one for option, one in changes(fields) if option == "symmetric"]
    assert one.distance == 1.0
    assert one.spec == NoiseSpec(max_noise=5, variance=3.0)
    assert values({"max_noise": 2, "variance": 3.0}, "symmetric") == []


def test_an_exact_variance_may_become_a_bound_or_the_nearest():
    fields = {"max_noise": 2, "variance": 3.0}
    assert values(fields, "variance_rule") == ["at-most", "nearest"]
    (note,) = [one.note for _, one in changes(fields) if one.spec.variance_rule == "nearest"]
    assert note == "rows out of reach take their nearest variance"
    bound = {"max_noise": 5, "variance": 1.0, "small": 2, "variance_rule": "at-most"}
    assert values(bound, "variance_rule") == []
    near = {
        "max_noise": 2,
        "variance": 1.0,
        "p_stay": 0.95,
        "min_probability": 0.1,
        "variance_rule": "nearest",
    }
    assert values(near, "variance_rule") == []


# --- least probabilities and zeros -----------------------------------------------------------


def test_a_least_probability_is_lowered_to_two_digits_within_a_two_hundredth_of_it():
    fields = {"max_noise": 10, "variance": 1.0, "min_probability": 0.04}
    (low,) = values(fields, "min_probability")
    assert 0 < low < 0.04
    assert is_met(**{**fields, "min_probability": low})
    assert low == float(f"{low:.2g}")
    assert not is_met(**{**fields, "min_probability": low + 0.04 / 200})
    (one,) = [one for option, one in changes(fields) if option == "min_probability"]
    assert one.distance == pytest.approx((0.04 - low) / 0.04)


def test_least_probabilities_of_each_row_are_given_up_together():
    fields = {"max_noise": 2, "variance": 0.3, "min_probability": (0.1, 0.19)}
    assert not is_met(**fields)
    (one,) = [one for option, one in changes(fields) if option == "min_probability"]
    assert (one.spec.min_probability, one.distance) == (0.0, 1.0)


def test_a_least_probability_that_is_not_in_the_way_is_left_alone():
    assert values({"max_noise": 2, "variance": 3.0}, "min_probability") == []
    other = {"max_noise": 2, "variance": 3.0, "min_probability": 0.001}
    assert values(other, "min_probability") == []


def test_the_variance_of_zeros_moves_into_reach_or_is_left_free():
    fields = {"max_noise": 5, "variance": 1.0, "zero_bias": 0.5, "zero_variance": 30.0}
    one, free = [one for option, one in changes(fields) if option == "zero_variance"]
    # noise of 0 or 5 with mean 0.5: 0.1 * 25 - 0.25
    assert one.spec.zero_variance == 2.25
    assert one.distance == pytest.approx(27.75 / 30)
    assert (free.spec.zero_variance, free.distance) == (None, 1.0)
    assert values({"max_noise": 2, "variance": 3.0, "zero_bias": 0.1}, "zero_variance") == []
    steps = {
        "max_noise": 1,
        "variance": 0.4,
        "step": 2,
        "anchors": (1,),
        "zero_bias": 0.25,
        "zero_variance": 5.0,
    }
    # noise of 0 or 1 with mean 1/4: 1/4 - 1/16 is 0.1875, rounded inward
    assert values(steps, "zero_variance") == [0.187, None]


@pytest.mark.parametrize(
    "fields",
    [
        {"max_noise": 5, "variance": 1.0, "small": 2},
        {"max_noise": 2, "variance": 3.0},
        {"max_noise": 6, "variance": 3.0, "p_stay": 0.4, "monotone": "both"},
        {"max_noise": 10, "variance": 1.0, "min_probability": 0.04},
        {"max_noise": 5, "variance": 1.0, "zero_bias": 0.5, "zero_variance": 30.0},
    ],
    ids=str,
)
def test_every_change_can_be_met_and_nothing_else_changes(fields):
    found = changes(fields)
    assert found
    for option, one in found:
        (before, after) = one.changes[option]
        assert before == getattr(NoiseSpec(**fields), option)
        assert one.spec == replace(NoiseSpec(**fields), **{option: after})
        assert feasible(one.spec).ok or one.spec.variance_rule == "nearest"
        assert one.distance > 0
