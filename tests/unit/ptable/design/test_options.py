"""Each option of a specification by itself: what it does to the table that is solved."""

import warnings
from fractions import Fraction

import numpy as np
import pytest

from ptable import NoiseSpec, PTable, PTableError, PTableWarning, feasible, solve
from ptable.design.stack import StackedSpec
from ptable.solver.reach import stay_bounds


def test_every_option_may_differ_from_row_to_row():
    spec = NoiseSpec(
        max_noise=(2, 3, 3, 3),
        variance=(1.0, 1.2, 1.0, 2.0),
        p_stay=(None, 0.4, 0.5, None),
        p_stay_rule=("exact", "exact", "at-least", "exact"),
        symmetric=(False, False, True, False),
        monotone=("none", "left", "both", "unimodal"),
        variance_rule=("exact", "exact", "at-most", "nearest"),
        min_probability=(0.0, 1e-3, 0.0, 0.01),
    )
    table = solve(spec)
    assert [max(map(abs, row)) for row in table.noise[1:]] == [2, 3, 3, 3]
    law = table.transition
    assert law[2, 2] == pytest.approx(0.4, abs=2**-32)
    assert law[2, :6].min() >= 1e-3
    assert (np.diff(law[2, :3]) >= -(2**-30)).all()
    assert law[3, 3] >= 0.5
    assert list(law[3, :3]) == list(law[3, 6:3:-1])
    assert law[4, 1:8].min() >= 0.01
    assert table.certificate.rows[2].variance <= 1.0
    assert NoiseSpec.from_dict(spec.to_dict()) == spec


def test_staying_means_exactly_what_is_asked_or_a_refusal_with_the_range():
    """R ptable gives .389 here, and variance 1.302: it lowers what it cannot meet."""
    table = solve(NoiseSpec(max_noise=5, variance=2.0, p_stay=0.5))
    stays = [table.transition[count, count] for count in range(1, 6)]
    assert stays == [0.5] * 5
    assert [row.variance for row in table.certificate.rows] == pytest.approx([2.0] * 5)
    with pytest.raises(PTableError, match=r"p_stay 0.7 leaves too little freedom"):
        solve(NoiseSpec(max_noise=5, variance=2.0, p_stay=0.7, monotone="left"))
    row = feasible(NoiseSpec(max_noise=5, variance=2.0, monotone="left")).rows[0]
    low, high = stay_bounds(row.problem)
    assert low.value < 0.5 < high.value < 0.7


def test_a_bound_on_staying_binds_only_where_it_must():
    free = solve(NoiseSpec(max_noise=5, variance=2.0))
    bounded = solve(NoiseSpec(max_noise=5, variance=2.0, p_stay=0.25, p_stay_rule="at-least"))
    loose = [count for count in range(1, 6) if free.transition[count, count] > 0.25]
    assert loose
    assert len(loose) < 5
    for count in range(1, 6):
        if count in loose:
            assert bounded.units(count) == free.units(count)
        else:
            assert bounded.transition[count, count] == 0.25
    never = solve(NoiseSpec(max_noise=3, variance=2.0, p_stay=0.0))
    assert all(never.transition[count, count] == 0 for count in range(1, 4))


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("rule", ["at-least", "at-most"])
def test_a_bound_on_staying_that_the_law_just_touches_is_not_rounded_across(symmetric, rule):
    """Of five values a uniform law gives each 0.2, which no number of keys is."""
    table = solve(
        NoiseSpec(
            max_noise=2,
            variance=3.0,
            variance_rule="at-most",
            symmetric=(False, symmetric),
            p_stay=(None, 0.2),
            p_stay_rule=rule,
        )
    )
    asked, stays = Fraction("0.2"), Fraction(table.units(2)[0], 2**32)
    assert stays >= asked if rule == "at-least" else stays <= asked
    assert abs(stays - asked) * 2**32 < 2


def test_symmetric_rows_use_only_noise_whose_opposite_is_in_reach():
    spec = NoiseSpec(max_noise=3, variance=0.7, symmetric=True)
    assert spec.row(1).noise == (-1, 0, 1)
    table = solve(spec)
    for count in (1, 2, 3):
        units = table.units(count)
        assert all(units[v] == units[-v] for v in units)
    with pytest.raises(PTableError, match="symmetric noise of a count of 1 cannot go beyond"):
        solve(NoiseSpec(max_noise=3, variance=1.5, symmetric=True))


def test_a_single_peak_is_placed_where_entropy_is_greatest():
    free = solve(NoiseSpec(max_noise=5, variance=4.0)).transition[1, :7]
    assert free[-1] > free[-2]
    table = solve(NoiseSpec(max_noise=5, variance=2.6, monotone="unimodal"))
    row = table.certificate.rows[0]
    assert row.peak == -1
    law = table.transition[1, :7]
    assert (np.diff(law) <= 2**-30).all()
    both = solve(NoiseSpec(max_noise=5, variance=(1.9, 2.6, 2.6, 2.6, 2.6), monotone="both"))
    assert (np.diff(both.transition[1, :2]) >= -(2**-30)).all()


@pytest.mark.parametrize("small", [1, 2, 3])
def test_zeros_with_a_single_noise_value_keep_the_nearest_mean_that_integers_have(small):
    least = (small + 1) ** 2 // 4
    table = solve(NoiseSpec(max_noise=small + 1, variance=least, small=small, zero_bias=0.47))
    units = table.units(0)
    assert set(units) == {0, small + 1}
    exact = Fraction("0.47") * 2**32
    assert abs(units[small + 1] * (small + 1) - exact) <= Fraction(small + 1, 2)
    table.certificate.check(table)


def test_a_bound_on_the_variance_beyond_all_reach_is_no_bound():
    free = solve(NoiseSpec(max_noise=2, variance=4.0, variance_rule="at-most"))
    assert solve(NoiseSpec(max_noise=2, variance=5.0, variance_rule="at-most")) == free
    with pytest.warns(PTableWarning, match="variance 2 instead of 5"):
        solve(NoiseSpec(max_noise=2, variance=5.0, variance_rule="nearest"))
    with pytest.raises(PTableError, match="No p-table has max_noise 2 and variance 5"):
        NoiseSpec(max_noise=2, variance=5.0)


def test_zeros_get_noise_only_with_a_declared_bias():
    table = solve(NoiseSpec(max_noise=3, variance=1.0, small=1, zero_bias=0.1))
    units = table.units(0)
    assert set(units) == {0, 2, 3}
    assert sum(v * n for v, n in units.items()) == round(0.1 * 2**32)
    row = table.certificate.rows[0]
    assert (row.count, row.bias) == (0, row.requested_bias)
    wider = solve(NoiseSpec(max_noise=3, variance=1.0, zero_bias=0.1, zero_variance=0.2))
    assert wider.certificate.rows[0].variance == pytest.approx(0.2, abs=1e-8)
    assert solve(NoiseSpec(max_noise=3, variance=1.0)).units(0) == {0: 2**32}


def test_magnitudes_have_steps_and_anchors():
    spec = NoiseSpec(max_noise=2, variance=0.8, step=4, anchors=(1, 2, 5))
    table = solve(spec)
    assert table.anchors == (0, 1, 2, 5)
    assert table.step == 4
    assert [row.variance for row in table.certificate.rows] == pytest.approx([0.8] * 3)
    frame = table.to_frame()
    assert sorted(set(frame["v"] * 4)) == list(range(-8, 9))
    assert list(table.lookup([1, 5, 9], [0, 0, 0])) == [-4, -8, -8]
    with pytest.raises(PTableError, match="counts must be anchors"):
        table.lookup([3], [0])


@pytest.mark.slow
@pytest.mark.parametrize(("max_noise", "step"), [(5, 20), (20, 10), (100, 10)])
def test_there_is_no_limit_on_noise_times_steps(max_noise, step):
    """R ptable stops at 50."""
    spec = NoiseSpec(
        max_noise=max_noise,
        variance=0.4 * max_noise,
        step=step,
        anchors=(1, max_noise),
        monotone="left",
    )
    certificate = solve(spec).certificate
    assert certificate.largest_bias == 0
    assert certificate.largest_gap < 1e-7
    assert certificate.largest_drift < 1e-8


def test_a_stack_has_other_noise_from_a_count_on():
    below = NoiseSpec(max_noise=5, variance=2.0)
    above = NoiseSpec(max_noise=10, variance=9.0)
    table = solve(StackedSpec(parts=((0, below), (7, above), (40, below))))
    plain = solve(below)
    assert table.n_rows == 41
    assert all(table.units(count) == plain.units(count) for count in range(6))
    assert table.units(6) == plain.units(5)
    assert table.units(40) == plain.units(5)
    assert table.units(7)[-7] > 0
    variances = [row.variance for row in table.certificate.rows]
    assert variances == pytest.approx([2.0] * 6 + [9.0] * 33 + [2.0])
    assert [row.problem.count for row in feasible(table.spec).rows] == list(range(1, 41))


def test_the_stack_of_the_french_office_is_covered():
    """Its last row alone has another variance, and does not block anything."""
    spec = StackedSpec(
        parts=(
            (0, NoiseSpec(max_noise=5, variance=3.0, small=2)),
            (8, NoiseSpec(max_noise=5, variance=6.0)),
        )
    )
    table = solve(spec)
    assert [row.variance for row in table.certificate.rows] == pytest.approx([3.0] * 7 + [6.0])
    assert PTable.from_frame(table.to_frame(), key_range=2**32) == table


def test_an_infeasible_part_of_a_stack_is_named():
    spec = StackedSpec(
        parts=(
            (0, NoiseSpec(max_noise=2, variance=1.0)),
            (3, NoiseSpec(max_noise=2, variance=4.0, monotone="both")),
        )
    )
    with pytest.raises(PTableError, match="count 3 reaches 0 to 2"):
        solve(spec)


def test_nearest_rows_are_named_in_a_warning():
    spec = NoiseSpec(
        max_noise=5, variance=4.0, monotone="left", variance_rule="nearest", p_stay=0.4
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        table = solve(spec)
    assert [warning.category for warning in caught] == [PTableWarning]
    assert "count 1" in str(caught[0].message)
    assert table.certificate.relaxed[0].count == 1


def test_a_variance_between_what_two_peaks_reach_is_refused_or_moved():
    """Count 3 reaches 2.4, and 4.6 to 6.5: nothing between."""
    fields = {"max_noise": 4, "variance": 4.0, "small": 2, "p_stay": 0.2}
    with pytest.raises(PTableError, match="count 3"):
        solve(NoiseSpec(**fields, monotone="unimodal"))
    with pytest.warns(PTableWarning, match=r"count 3: variance 4.6 instead of 4"):
        table = solve(NoiseSpec(**fields, monotone="unimodal", variance_rule="nearest"))
    row = table.certificate.rows[2]
    assert row.variance == pytest.approx(4.6, abs=1e-7)
    assert abs(row.gap) < 1e-7


@pytest.mark.parametrize(("max_noise", "small"), [(3, 2), (5, 4), (7, 6)])
@pytest.mark.parametrize("bias", [0.01, 0.5, 1.99])
def test_zeros_that_can_only_stay_or_go_to_one_value_have_the_nearest_bias(
    max_noise, small, bias
):
    spec = NoiseSpec(
        max_noise=max_noise,
        variance=1.0,
        small=small,
        zero_bias=bias,
        variance_rule="nearest",
    )
    with pytest.warns(PTableWarning, match="nearest"):
        table = solve(spec)
    moved = sum(n * v for v, n in table.units(0).items())
    assert set(table.units(0)) == {0, max_noise}
    assert abs(moved - bias * 2**32) <= max_noise / 2


@pytest.mark.parametrize(
    "fields",
    [
        {
            "max_noise": 3,
            "variance": 1e-6,
            "p_stay": 0.3,
            "monotone": "both",
            "p_stay_rule": "at-least",
            "min_probability": 0.001,
        },
        {
            "max_noise": 2,
            "variance": 1e-6,
            "p_stay": 0.5,
            "monotone": "left",
            "p_stay_rule": "at-least",
            "min_probability": 0.001,
        },
        {
            "max_noise": 7,
            "variance": 49,
            "monotone": "both",
            "step": 5,
            "anchors": (19, 29),
        },
    ],
)
def test_laws_whose_every_value_is_tied_are_rounded(fields):
    with pytest.warns(PTableWarning, match="took the nearest one"):
        table = solve(NoiseSpec(**fields, variance_rule="nearest"))
    table.certificate.check(table)
