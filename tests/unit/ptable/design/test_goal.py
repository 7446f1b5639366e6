"""What a p-table is wanted for, where not every option is settled."""

import math
from decimal import Decimal
from fractions import Fraction

import pytest

from ptable import Goal, NoiseSpec, PTableError


def test_what_is_not_wished_for_is_left_open():
    goal = Goal(max_noise=5)
    assert (goal.p_stay, goal.variance, goal.tolerance) == (None, None, 0.05)
    assert goal.fields() == {
        "max_noise": 5,
        "small": 0,
        "monotone": "none",
        "symmetric": False,
        "min_probability": 0.0,
    }
    assert NoiseSpec(**goal.fields(), variance=1.0) == NoiseSpec(max_noise=5, variance=1.0)


def test_what_every_table_has_in_common_is_kept():
    kept = {
        "max_noise": 6,
        "small": 2,
        "monotone": "left",
        "symmetric": True,
        "min_probability": 0.001,
    }
    assert Goal(**kept, p_stay=0.3, variance=2.0).fields() == kept


@pytest.mark.parametrize(
    ("variance", "ends"),
    [
        (None, (0, None)),
        (0.7, (Fraction(7, 10), Fraction(7, 10))),
        ((0.5, 1), (Fraction(1, 2), 1)),
        ((1, 1), (1, 1)),
        (Decimal("0.1"), (Fraction(1, 10), Fraction(1, 10))),
    ],
)
def test_a_variance_is_a_range_in_exact_numbers(variance, ends):
    assert Goal(max_noise=5, variance=variance).variance_range == ends


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"max_noise": 0}, "max_noise must be an integer of at least 1, not 0"),
        ({"max_noise": True}, "max_noise must be an integer"),
        ({"max_noise": 2.5}, "max_noise must be an integer"),
        ({"small": -1}, "small must be an integer of at least 0, not -1"),
        ({"small": 1.0}, "small must be an integer"),
        ({"p_stay": 1.0}, "p_stay must be a number from 0 to below 1"),
        ({"p_stay": -0.1}, "p_stay must be a number from 0"),
        ({"p_stay": math.nan}, "p_stay must be a number"),
        ({"tolerance": 0}, "tolerance must be a number above 0 and below 1, not 0"),
        ({"tolerance": 1}, "tolerance must be a number above 0 and below 1, not 1"),
        ({"variance": (2.0, 1.0)}, "variance must be above 0, or two such numbers, rising"),
        ({"variance": (1.0, 2.0, 3.0)}, "variance must be above 0, or two"),
        ({"variance": (1.0,)}, "variance must be above 0, or two"),
        ({"variance": (0, 1.0)}, "variance must be above 0, or two"),
        ({"variance": (1.0, None)}, "variance must be above 0, or two"),
        ({"variance": -1.0}, "variance must be above 0, or two"),
        ({"variance": 0}, "variance must be above 0, or two"),
        ({"variance": [1.0, 2.0]}, "variance must be above 0, or two"),
        ({"variance": math.inf}, "variance must be above 0, or two"),
        ({"monotone": "up"}, "monotone must be one of"),
        ({"min_probability": 0.9}, "min_probability must lie in"),
        ({"symmetric": 1}, "symmetric must be True or False"),
    ],
)
def test_a_wrong_wish_is_named_with_what_must_hold(wrong, words):
    with pytest.raises(PTableError, match=words):
        Goal(**{"max_noise": 5, **wrong})


def test_all_wrong_wishes_are_named_together():
    with pytest.raises(
        PTableError, match=r"small .*; tolerance .*; p_stay .*; monotone .*; var"
    ):
        Goal(max_noise=5, small=-1, tolerance=2, p_stay=2, monotone="up", variance=-1)


def test_the_ends_of_what_may_be_wished_for_belong_to_it():
    assert Goal(max_noise=1, small=0, p_stay=0).p_stay == 0
    assert Goal(max_noise=1, p_stay=0.999, tolerance=0.999).tolerance == 0.999


def test_a_goal_that_no_table_meets_can_be_stated():
    assert Goal(max_noise=2, small=2).small == 2
    assert Goal(max_noise=1, variance=30.0).variance == 30.0


def test_goals_are_equal_by_what_they_say():
    assert Goal(max_noise=5, p_stay=0.4) == Goal(max_noise=5, p_stay=0.4)
    assert len({Goal(max_noise=5), Goal(max_noise=5), Goal(max_noise=6)}) == 2
