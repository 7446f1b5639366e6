"""Numbers that may be used, and the words for those that may not."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from footing.checks import is_integer, is_number, problems_of, require_integer, require_number
from footing.errors import ExplainedError


@pytest.mark.parametrize("value", [0, 7, 2**70, np.int8(3), np.uint64(2**63)])
def test_integers_of_any_width_are_integers(value):
    assert is_integer(value, minimum=0)
    assert require_integer(value, "n", minimum=0) == int(value)


@pytest.mark.parametrize("value", [True, np.bool_(1), 1.0, "1", None, math.nan, [1], 1j])
def test_what_merely_looks_like_an_integer_is_none(value):
    assert not is_integer(value)
    with pytest.raises(ExplainedError, match="n must be an integer of at least 1, not"):
        require_integer(value, "n", minimum=1)


@pytest.mark.parametrize("value", [1, 0.5, Fraction(1, 2), Decimal("0.5"), np.float32(0.5)])
def test_numbers_of_any_kind_are_numbers(value):
    assert is_number(value, above=0, maximum=1)
    assert require_number(value, "x", above=0) == float(value)


@pytest.mark.parametrize(
    "value", [True, np.bool_(1), "1", None, math.nan, Decimal("nan"), 10**400, [1.0], 1j]
)
def test_what_is_no_number_is_refused(value):
    assert not is_number(value)
    assert not is_number(value, may_be_infinite=True)


def test_ends_belong_to_an_interval_or_not():
    assert is_number(1, minimum=1, maximum=1)
    assert not is_number(1, above=1)
    assert not is_number(1, below=1)
    assert not is_number(2, maximum=1)
    assert not is_number(math.inf, minimum=0)
    assert is_number(math.inf, minimum=0, may_be_infinite=True)
    assert not is_integer(5, maximum=4)


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"is_whole": True}, "an integer"),
        ({"is_whole": True, "minimum": 2, "maximum": 2**64}, "an integer from 2 to 2**64"),
        ({"is_whole": True, "maximum": 9}, "an integer of at most 9"),
        ({}, "a finite number"),
        ({"above": 0}, "a finite number above 0"),
        ({"minimum": 0}, "a finite number of at least 0"),
        ({"minimum": 0, "may_be_infinite": True}, "a number of at least 0"),
        ({"minimum": 0, "maximum": 1}, "a number from 0 to 1"),
        ({"minimum": 0, "below": 0.5}, "a number from 0 to below 0.5"),
        ({"above": 0, "below": 1}, "a number above 0 and below 1"),
        ({"above": 0, "maximum": 1}, "a number above 0 and at most 1"),
    ],
)
def test_the_words_name_the_interval_and_the_value(limits, words):
    assert problems_of("x", "share", **limits) == [f"share must be {words}, not 'x'"]


def test_the_error_is_the_callers_and_has_its_way_out():
    class OurError(ExplainedError):
        pass

    with pytest.raises(OurError) as caught:
        require_number(2, "delta", error=OurError, hint="1e-6 for instance", above=0, below=1)
    assert caught.value.problem == "delta must be a number above 0 and below 1, not 2."
    assert caught.value.hint == "1e-6 for instance"
