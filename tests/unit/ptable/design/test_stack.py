"""Other noise for larger counts."""

from dataclasses import replace

import numpy as np
import pytest

from ptable import NoiseSpec, PTableError, StackedSpec


@pytest.fixture
def narrow():
    return NoiseSpec(max_noise=2, variance=1.0)


@pytest.fixture
def wide():
    return NoiseSpec(max_noise=5, variance=6.0)


def stack(*parts):
    return StackedSpec(parts=parts)


def test_every_count_follows_the_last_part_not_beyond_it(narrow, wide):
    spec = stack((0, narrow), (4, wide), (20, narrow))
    for count in range(1, 21):
        part = wide if 4 <= count < 20 else narrow
        asked = part.row(min(count, part.last_count))
        assert spec.row(count) == replace(asked, count=count)
    assert spec.row(np.int64(7)).count == 7
    assert [row.count for row in spec.rows()] == list(range(1, 21))
    assert [row.variance for row in spec.rows()] == [1] * 3 + [6] * 16 + [1]


def test_the_last_row_is_that_of_the_last_part_or_where_it_starts(narrow, wide):
    assert stack((0, narrow), (1, wide)).last_count == 5
    assert stack((0, narrow), (9, wide)).last_count == 9
    assert stack((0, narrow), (9, wide)).counts == tuple(range(1, 10))
    assert stack((0, replace(narrow, zero_bias=0.1)), (9, wide)).counts == tuple(range(10))
    assert stack((0, replace(narrow, zero_bias=0.1)), (9, wide)).row(0).count == 0


def test_a_stack_is_for_counts_in_whole_steps(narrow):
    spec = stack((0, narrow))
    assert (spec.step, spec.anchors) == (1, None)


@pytest.mark.parametrize("count", [-1, 1.0, "1", None])
def test_only_counts_have_rows(narrow, count):
    with pytest.raises(PTableError, match=rf"count must lie in 1\.\.2, not {count}"):
        stack((0, narrow)).row(count)


@pytest.mark.parametrize("parts", [5, ((0,),), ((0, 1, 2),), (5,)])
def test_parts_are_pairs(parts):
    with pytest.raises(
        PTableError, match="parts must be pairs of a first count and a NoiseSpec"
    ):
        StackedSpec(parts=parts)


@pytest.mark.parametrize(
    "firsts", [(), (1,), (0, 0), (0, 5, 3), (0, 100_001), (0, 2.5), (0, "1"), (False, True)]
)
def test_parts_start_at_counts_that_rise_from_0(narrow, firsts):
    with pytest.raises(PTableError, match="must start at counts that rise from 0 to at most 1"):
        stack(*((first, narrow) for first in firsts))


def test_parts_may_be_lists_and_start_as_late_as_a_hundred_thousand(narrow):
    spec = StackedSpec(parts=[[0, narrow], [100_000, narrow]])
    assert spec.parts == ((0, narrow), (100_000, narrow))
    assert spec.last_count == 100_000
    assert hash(spec) == hash(stack((0, narrow), (100_000, narrow)))


def test_parts_hold_specifications_of_counts(narrow):
    with pytest.raises(PTableError, match="Every part must hold a NoiseSpec, not a str"):
        stack((0, "D2V1"))
    for magnitudes in (
        replace(narrow, step=2),
        replace(narrow, anchors=(1, 2)),
    ):
        with pytest.raises(PTableError, match="magnitudes cannot be stacked"):
            stack((0, magnitudes))
    biased = replace(narrow, zero_bias=0.1)
    with pytest.raises(PTableError, match="zero_bias belongs to the first part"):
        stack((0, narrow), (9, biased))
    assert stack((0, biased), (9, narrow)).row(0).mean > 0


def is_refused(first, below, above):
    parts = [NoiseSpec(max_noise=3, variance=2.0, small=small) for small in (below, above)]
    try:
        stack((0, parts[0]), (first, parts[1]))
    except PTableError as error:
        return error.problem == (
            f"The part from count {first} on blocks 1..{above} and the first part 1..{below}: "
            "a count blocked here and published there gives itself away."
        )
    return False


@pytest.mark.parametrize("first", range(1, 10))
@pytest.mark.parametrize(("below", "above"), [(2, 0), (2, 1), (1, 0)])
def test_what_the_first_part_blocks_is_not_published_by_a_later_one(first, below, above):
    later = NoiseSpec(max_noise=3, variance=2.0, small=above)
    reached = {
        count + v
        for count in range(first, 20)
        for v in later.row(min(count, later.last_count)).noise
    }
    blocked = set(range(above + 1, below + 1))
    assert is_refused(first, below, above) == bool(reached & blocked)


def test_a_later_part_that_blocks_more_starts_beyond_the_reach_of_what_the_first_blocks():
    assert [is_refused(first, 1, 2) for first in range(1, 8)] == [True] * 4 + [False] * 3
    assert [is_refused(first, 0, 2) for first in range(1, 8)] == [True] * 3 + [False] * 4


def test_equal_parts_may_follow_anywhere(narrow):
    blocked = NoiseSpec(max_noise=3, variance=2.0, small=2)
    for first in (1, 2, 3, 6, 9):
        assert stack((0, blocked), (first, blocked)).last_count >= 6


def test_a_stack_comes_back_from_plain_values(narrow, wide):
    spec = stack((0, narrow), (7, wide))
    plain = spec.to_dict()
    assert plain["kind"] == "stacked"
    assert plain["parts"] == [[0, narrow.to_dict()], [7, wide.to_dict()]]
    assert StackedSpec.from_dict(plain) == spec
    assert spec != stack((0, narrow), (8, wide))


def test_a_page_shows_every_part_with_its_first_count(narrow, wide):
    page = stack((0, narrow), (7, wide))._repr_html_()
    assert "<p>From count 0 on:</p>" + narrow._repr_html_() in page
    assert "<p>From count 7 on:</p>" + wide._repr_html_() in page
