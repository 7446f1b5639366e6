"""What is lost between a table and its file, in exact numbers."""

from dataclasses import replace

import pytest

from ptable import Mechanism, NoiseSpec, PTable, solve
from ptable.dialects.losses import losses_between


def table(noise, upper, **settings):
    return PTable(noise=noise, upper=upper, key_range=upper[0][-1], **settings)


SMALL = {"noise": [[0], [-1, 1]], "upper": [[100], [50, 100]]}


def test_nothing_is_lost_between_equal_tables():
    assert losses_between(table(**SMALL), table(**SMALL)) == ()
    assert losses_between(table(**SMALL, label="a"), table(**SMALL, label="a")) == ()
    assert losses_between(table(**SMALL), table(**SMALL, label="pt")) == ()


def test_thresholds_that_move_are_measured_by_keys_mean_and_mean_square():
    before = table([[0], [-1, 1], [-2, 0, 1]], [[100], [50, 100], [10, 50, 100]])
    after = table([[0], [-1, 1], [-2, 0, 1]], [[100], [51, 100], [10, 54, 100]])
    # count 1: 1 % of the keys get -1 for 1; count 2: 4 % of the keys get 0 for 1
    assert losses_between(before, after) == (
        (
            "probabilities are rounded: thresholds move by at most 0.04, at most 0.04 of a "
            "row's keys get other noise, a row's mean noise moves by at most 0.04 and its "
            "mean square by at most 0.04"
        ),
    )


def test_the_largest_move_of_each_figure_is_told_wherever_it_is():
    before = table([[0], [-1, 5], [0, 3, 0]], [[100], [50, 100], [40, 60, 100]])
    after = table([[0], [-1, 5], [0, 3, 0]], [[100], [48, 100], [30, 50, 100]])
    # count 1: mean 0.02 * 6 = .12, mean square .02 * 24 = .48; count 2: 20 % of the keys
    (loss,) = losses_between(before, after)
    assert "thresholds move by at most 0.1, at most 0.2 of" in loss
    assert "mean noise moves by at most 0.12 and its mean square by at most 0.48" in loss


def test_keys_with_other_noise_are_counted_wherever_they_lie():
    before = table([[0], [-1, 0, 1]], [[100], [20, 70, 100]])
    for noise, share in (([0, 0, 1], "0.2"), ([-1, 1, 1], "0.5"), ([1, 2, 3], "1")):
        (loss,) = losses_between(before, table([[0], noise], [[100], [20, 70, 100]]))
        assert f"at most {share} of a row's keys" in loss


def test_intervals_that_a_file_adds_do_not_make_up_for_those_it_loses():
    ends = [[8], [2, 6, 8], [8]]
    before = table([[0], [-1, 0, 1], [0]], ends)
    after = table([[0], [0], [-1, 0, 1]], [[8], [8], [2, 6, 8]])
    (loss,) = losses_between(before, after)
    assert "2 intervals are too narrow to be kept, at most 0.5 of a row's keys" in loss


def test_the_rows_of_a_shorter_file_are_those_that_serve_the_counts():
    long = table([[0], [-1, 1], [-1, 1]], [[100], [50, 100], [50, 100]])
    assert losses_between(long, table(**SMALL)) == ()
    assert losses_between(table(**SMALL), long) == ()


def test_another_key_range_with_the_same_noise_is_told_as_that():
    fine = table(SMALL["noise"], [[200], [100, 200]])
    assert losses_between(table(**SMALL), fine) == (
        (
            "the key range, 100, is not kept: it reads back as 200, with the same noise for "
            "every key"
        ),
    )
    moved = losses_between(table(**SMALL), table(SMALL["noise"], [[200], [101, 200]]))
    assert moved[0].startswith("probabilities are rounded")
    assert moved[1:] == ("the key range, 100, is not kept: it reads back as 200",)


def test_another_step_is_told():
    halves = table([[0], [-2, 2]], [[100], [50, 100]], step=2)
    assert losses_between(halves, table(**SMALL)) == (
        "the step, 1/2, is not kept: the noise needs 1/1",
    )
    assert losses_between(halves, halves) == ()


def test_anchors_are_compared_row_by_row():
    anchored = table(**SMALL, anchors=(0, 5))
    assert losses_between(anchored, anchored) == ()
    other = table([[0], [-1, 2]], SMALL["upper"], anchors=(0, 5))
    (loss,) = losses_between(anchored, other)
    assert "mean noise moves by at most 0.5 and its mean square by at most 1.5" in loss
    assert "at most 0.5 of a row's keys" in loss
    assert losses_between(table(**SMALL), other) == (loss,)


def test_what_a_table_was_built_from_and_its_label_are_told():
    solved = solve(NoiseSpec(max_noise=2, variance=1.0))
    assert losses_between(solved, solved) == ()
    assert losses_between(solved, solved.with_proof(None, None)) == (
        "the specification and the certificate are not kept",
    )
    assert losses_between(solved, solved.with_proof(solved.spec, None)) == (
        "the certificate is not kept",
    )
    rounding = Mechanism.rounding(5).build()
    assert losses_between(rounding, replace(rounding, spec=None, label="")) == (
        "the specification is not kept",
        f"the label, {rounding.label!r}, is not kept",
    )


def cycle(n_rows, rule, differing=True):  # noqa: FBT002
    noise = [[0], *([n if differing else 1] for n in range(1, n_rows))]
    return table(noise, [[8]] * n_rows, large_counts=rule)


@pytest.mark.parametrize(
    ("before", "after", "count"),
    [
        ((4, "cycle:2"), (4, "last"), 4),
        ((4, "last"), (4, "cycle:2"), 4),
        ((5, "cycle:4"), (5, "cycle:2"), 5),
        ((4, "cycle:2"), (4, "cycle:2"), None),
        ((4, "cycle:2", False), (4, "last", False), None),
    ],
)
def test_another_rule_for_large_counts_is_told_with_the_first_count_it_changes(
    before, after, count
):
    losses = losses_between(cycle(*before), cycle(*after))
    expected = (
        (
            f"the rule for large counts, {before[1]!r}, is not kept: from count {count} on "
            "the noise is that of other rows"
        ),
    )
    assert losses == (() if count is None else expected)


def test_rows_beyond_the_first_table_belong_to_the_rule_for_large_counts():
    longer = table([[0], [-1, 1], [-2, 2]], [[100], [50, 100], [50, 100]])
    (loss,) = losses_between(table(**SMALL), longer)
    assert loss.startswith("the rule for large counts, 'last', is not kept: from count 2 on")


def test_rows_in_turn_that_a_file_writes_out_are_the_same_rule():
    # rows 1, 2 in turn, and 1, 2, 1, 2 in turn
    short = table([[0], [1], [2]], [[8]] * 3, large_counts="cycle:2")
    long = table([[0], [1], [2], [1], [2]], [[8]] * 5, large_counts="cycle:4")
    assert losses_between(short, long) == ()
    assert losses_between(long, short) == ()
    # the third row that takes its turn first shows beyond both tables
    longest = table([[0], [1], [2], [1], [2], [1], [1]], [[8]] * 7, large_counts="cycle:6")
    (loss,) = losses_between(short, longest)
    assert "from count 6 on" in loss


def test_rounding_alone_is_no_change_of_the_rule():
    fine = table([[0], [-1, 1], [-1, 1]], [[1000], [333, 1000], [444, 1000]])
    coarse = table([[0], [-1, 1], [-1, 1]], [[100], [33, 100], [44, 100]])
    losses = losses_between(fine, coarse)
    assert len(losses) == 2
    assert not [loss for loss in losses if "large counts" in loss]


@pytest.mark.slow
def test_rules_that_agree_as_far_as_is_looked_may_differ():
    """Turns of 4999 and 5003 rows meet after 25 million counts."""
    noise = [[0], *[[1]] * 5003]
    first, second = (
        table(noise, [[8]] * 5004, large_counts=f"cycle:{n}") for n in (4999, 5003)
    )
    assert losses_between(first, second) == (
        "the rule for large counts, 'cycle:4999', may not be kept",
    )
    assert losses_between(first, first) == ()
