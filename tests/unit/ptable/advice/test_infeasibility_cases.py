"""A request that cannot be met, what is changed about it, and how that is told."""

from dataclasses import replace

import pytest

from ptable import NoiseSpec, StackedSpec, feasible
from ptable.advice.infeasibility_cases import Alternative, Case, can, name_counts

FIELDS = {"max_noise": 2, "variance": 3.0}


def test_a_row_can_be_met_as_a_check_of_its_feasibility_says():
    for fields in (
        {"max_noise": 2, "variance": 2.0},
        {"max_noise": 2, "variance": 2.5},
        {"max_noise": 5, "variance": 1.0, "small": 2},
        {"max_noise": 3, "variance": 1.0, "min_probability": 0.1},
        {"max_noise": 4, "variance": 4.0, "small": 2, "monotone": "unimodal", "p_stay": 0.2},
    ):
        spec = NoiseSpec(**fields)
        rows = feasible(spec).rows
        assert [can(row.problem) for row in rows] == [row.is_feasible for row in rows]


def test_a_row_that_takes_the_nearest_variance_can_be_met_where_it_has_a_law():
    row = NoiseSpec(max_noise=2, variance=3.0).row(1)
    assert not can(row)
    assert can(replace(row, nearest=True))
    assert can(replace(row, nearest=True, variance=row.variance / 3))
    lawless = NoiseSpec(max_noise=2, variance=1.0, p_stay=0.95, min_probability=0.1).row(2)
    assert not can(lawless)
    assert not can(replace(lawless, nearest=True))


def test_a_variance_between_two_peaks_is_no_nearest_one():
    spec = NoiseSpec(max_noise=4, variance=4.0, small=2, monotone="unimodal", p_stay=0.2)
    # it lies between what single peaks reach, where no end is nearest to it
    assert not can(replace(spec.row(3), nearest=True))


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        ([3], "count 3"),
        ([1, 2], "counts 1, 2"),
        ([1, 2, 3, 4], "counts 1, 2, 3, 4"),
        ([1, 2, 3, 4, 5, 9], "counts 1, 2, 3, 4 and 2 more"),
    ],
)
def test_four_counts_are_named_and_the_others_counted(counts, text):
    assert name_counts(counts) == text


def test_an_option_that_is_not_given_has_its_default():
    case = Case(fields=FIELDS)
    assert (case.get("variance"), case.get("small"), case.get("monotone")) == (3.0, 0, "none")


def test_a_change_that_is_refused_gives_no_design():
    case = Case(fields=FIELDS)
    assert case.design(variance=1.0) == NoiseSpec(max_noise=2, variance=1.0)
    assert case.design(variance=-1.0) is None
    assert case.design(small=2) is None


def test_a_change_works_where_every_row_that_matters_can_be_met():
    case = Case(fields=FIELDS)
    assert case.works() is None
    assert case.tough == [1]
    assert case.works(variance=2.5) is None
    assert case.tough == [1]
    assert case.works(variance=2.0) == NoiseSpec(max_noise=2, variance=2.0)
    assert case.works(variance=-1.0) is None
    later = Case(fields=FIELDS, counts=(2, 3))
    assert later.works() == NoiseSpec(**FIELDS)
    assert [row.count for row in later.rows(NoiseSpec(**FIELDS))] == [2]
    assert len(case.rows(NoiseSpec(**FIELDS))) == 2


def test_rows_that_failed_last_are_tried_first():
    case = Case(fields={"max_noise": 3, "variance": (1.0, 9.0, 1.0)})
    assert case.works() is None
    assert case.works(variance=(5.0, 1.0, 1.0)) is None
    assert case.tough == [1, 2]
    # a count that has no row any more is passed over
    assert case.works(max_noise=1, variance=(1.0,)) is not None


def test_a_part_of_a_stack_is_changed_within_it():
    good = NoiseSpec(max_noise=2, variance=1.0)
    case = Case(
        fields=FIELDS,
        wrap=lambda spec: StackedSpec(parts=((0, spec), (9, good))),
        counts=range(9),
    )
    (offer,) = case.offer(0.5, variance=2.0)
    assert offer.spec.parts == ((0, replace(good, variance=2.0)), (9, good))


def test_an_offer_says_what_was_asked_and_what_works():
    case = Case(fields=FIELDS)
    assert list(case.offer(1.0, variance=2.5)) == []
    (offer,) = case.offer(1.0, note="so", variance=2.0, small=0)
    assert offer.changes == {"variance": (3.0, 2.0), "small": (0, 0)}
    assert (offer.distance, offer.note) == (1.0, "so")
    assert str(offer) == "variance 2 instead of 3 and small 0 instead of 0 (so)"
    (bare,) = case.offer(1.0, variance=2.0)
    assert str(bare) == "variance 2 instead of 3"


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"variance": (1, 1.23456789)}, "variance 1.23457 instead of 1"),
        ({"p_stay": (0.5, None)}, "p_stay free instead of 0.5"),
        ({"monotone": ("both", "left")}, "monotone 'left' instead of 'both'"),
        ({"symmetric": (True, False)}, "symmetric False instead of True"),
        ({"max_noise": ((1, 2), 3)}, "max_noise 3 instead of one per row"),
        (
            {"variance": (3.0, (3.0, 2.0, 1.0))},
            "variance per row, rows 2, 3 changed, instead of 3",
        ),
        (
            {"variance": ((3.0, 2.0), (3.0, 1.0))},
            "variance per row, row 2 changed, instead of one per row",
        ),
        (
            {"p_stay": (0.5, (None, 0.5, 0.4))},
            "p_stay per row, row 3 changed, instead of 0.5",
        ),
        (
            {"variance": (1.0, tuple(map(float, range(2, 9))))},
            "variance per row, rows 1, 2, 3, 4 and 3 more changed, instead of 1",
        ),
    ],
)
def test_a_change_is_told_with_its_value_before_and_after(change, text):
    spec = NoiseSpec(max_noise=2, variance=1.0)
    assert str(Alternative(changes=change, distance=1.0, note="", spec=spec)) == text
