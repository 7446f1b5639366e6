"""Periods: each moment has one, and the next begins where it ends."""

import datetime as dt

import pytest

from rappor.receiver.periods import PERIODS, period_end, period_of

MOMENTS = [
    dt.datetime(*parts, tzinfo=dt.UTC).timestamp()
    for parts in (
        (2027, 1, 1),
        (2026, 12, 31, 23, 59, 59),
        (2028, 2, 29, 12),
        (2027, 10, 31, 1),
    )
]


@pytest.mark.parametrize("kind", PERIODS)
def test_a_period_ends_where_the_next_begins(kind):
    for moment in MOMENTS:
        end = period_end(moment, kind)
        assert moment < end
        assert period_of(end - 0.001, kind) == period_of(moment, kind)
        assert period_of(end, kind) > period_of(moment, kind)  # names sort as moments do


def test_weeks_are_those_of_the_standard():
    assert period_of(MOMENTS[0], "week") == "2026-W53"
