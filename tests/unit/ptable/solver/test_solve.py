import itertools
import logging
import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from ptable import (
    InfeasibleError,
    InternalError,
    NoiseSpec,
    PTableError,
    PTableWarning,
    feasible,
    solve,
)
from ptable.design.stack import StackedSpec
from ptable.solver import solve as solving
from ptable.solver.reach import variance_bounds
from ptable.solver.statement import Answer


@pytest.mark.slow
def test_every_feasible_setting_of_a_grid_is_solved():
    n_solved = 0
    for max_noise, variance, small, monotone in itertools.product(
        [1, 2, 3, 5, 10], [0.05, 0.5, 1, 2, 3, 7], [0, 1, 2, 3], ["none", "left"]
    ):
        if max_noise <= small or variance > max_noise**2:
            continue
        spec = NoiseSpec(max_noise=max_noise, variance=variance, small=small, monotone=monotone)
        if feasible(spec).ok:
            assert solve(spec).certificate.largest_bias == 0
            n_solved += 1
    assert n_solved == 77


@pytest.mark.slow
@pytest.mark.parametrize(
    "spec",
    [
        NoiseSpec(max_noise=100, variance=0.05),
        NoiseSpec(max_noise=100, variance=99.9, monotone="none"),
        NoiseSpec(max_noise=60, variance=30.0, monotone="left", variance_rule="at-most"),
        NoiseSpec(max_noise=31, variance=2.0001085, small=2, min_probability=1e-8),
        NoiseSpec(max_noise=1, variance=0.00020000066646666667, min_probability=0.0001),
        NoiseSpec(max_noise=50, variance=50 - 1e-9),
    ],
)
def test_extreme_settings_are_solved_and_certified(spec):
    proof = solve(spec).certificate
    assert proof.largest_bias == 0
    assert proof.largest_residual < 1e-9
    assert proof.largest_gap < 1e-6


SHAPES = ("none", "left", "both", "unimodal")
RULES = ("exact", "at-most", "nearest")


def drawn_spec(rng, *, most):
    """Draw a specification whose variance is often at, beyond or a hair inside an end."""
    largest = int(rng.integers(2, most + 1))
    fields = {
        "max_noise": largest,
        "small": int(min(rng.choice([0, 0, 1, 2, 4]), largest - 1)),
        "monotone": str(rng.choice(SHAPES)),
        "variance_rule": str(rng.choice(RULES)),
    }
    row = NoiseSpec(**{**fields, "variance_rule": "nearest"}, variance=0.5).row(1)
    low, high = (float(end.value) for end in variance_bounds(row))
    variance = rng.choice(
        [
            2 ** rng.uniform(-2, 6),
            high,
            high * rng.uniform(1, 1.2),
            high * (1 - 10 ** rng.uniform(-13, -2)),
            low * (1 + 10 ** rng.uniform(-13, -2)) + 1e-3,
        ]
    )
    return NoiseSpec(**{**fields, "variance_rule": "nearest"}, variance=variance), fields


def solve_or_refuse(spec, fields):
    """Solve under the rule that was drawn; a refusal names rows and never asks for a report."""
    try:
        asked = replace(spec, variance_rule=fields["variance_rule"])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PTableWarning)
            table = solve(asked)
    except InfeasibleError:
        return "refused"
    table.certificate.check(table)
    assert table.certificate.largest_bias == 0
    return "solved"


@pytest.mark.slow
def test_a_few_drawn_specifications_are_solved_or_refused():
    rng = np.random.default_rng(20261122)
    ends = [solve_or_refuse(*drawn_spec(rng, most=12)) for _ in range(16)]
    assert set(ends) == {"solved", "refused"}


@pytest.mark.slow
def test_many_drawn_specifications_are_solved_or_refused():
    rng = np.random.default_rng(7)
    ends = [solve_or_refuse(*drawn_spec(rng, most=24)) for _ in range(60)]
    assert set(ends) == {"solved", "refused"}


@pytest.mark.slow
@pytest.mark.parametrize("largest", [42, 43])
def test_the_nearest_variance_of_a_single_peak_is_solved(largest):
    spec = NoiseSpec(
        max_noise=largest, variance=28.98, monotone="unimodal", variance_rule="nearest"
    )
    with pytest.warns(PTableWarning, match="count 1: variance"):
        table = solve(spec)
    assert table.certificate.rows[0].shape_excess <= 8 / 2**32
    assert table.certificate.largest_bias == 0


def test_an_end_of_the_reach_is_solved_exactly():
    row = solve(NoiseSpec(max_noise=2, variance=2.0)).transition[1]
    assert np.abs(row - [2 / 3, 0, 0, 1 / 3, 0]).max() < 1e-9
    spec = NoiseSpec(max_noise=3, variance=12 / 7, monotone="left")
    proof = solve(spec).certificate
    assert proof.rows[0].place == "greatest"
    assert proof.rows[0].multipliers is None


def test_infeasible_rows_are_named_with_reach_and_cure():
    with pytest.raises(InfeasibleError) as caught:
        solve(NoiseSpec(max_noise=5, variance=1.0, small=2))
    assert caught.value.code == "ptable-infeasible"
    assert [row.count for row in caught.value.rows] == [1, 2]
    text = str(caught.value)
    assert "count 1 reaches 2 to 5" in text
    assert "use variance=2" in text
    assert "variance_rule='nearest'" in text


def test_the_message_stays_short_for_many_rows():
    with pytest.raises(InfeasibleError) as caught:
        solve(NoiseSpec(max_noise=50, variance=2400.0))
    assert len(str(caught.value)) < 900
    assert "more rows" in str(caught.value)


@pytest.mark.parametrize(
    ("spec", "problem", "hint"),
    [
        (
            StackedSpec(
                parts=(
                    (0, NoiseSpec(max_noise=2, variance=3.0)),
                    (3, NoiseSpec(max_noise=2, variance=1.5)),
                )
            ),
            (
                "No p-table has the noise of these 2 parts. Out of reach: count 1 reaches "
                "0 to 2 (the noise of a count of 1 cannot go below -1)."
            ),
            (
                "change the variance of the parts that these rows belong to, or "
                "variance_rule='at-most', where these rows have less"
            ),
        ),
        (
            NoiseSpec(
                max_noise=(1, 2, 3),
                variance=(1.5, 1.0, 2.0),
                variance_rule=("exact", "at-most", "exact"),
            ),
            (
                "No p-table has max_noise a value per row, small 0 and variance a variance per "
                "row (a rule per row). Out of reach: count 1 reaches 0 to 1 (the largest noise "
                "is 1)."
            ),
            "use variance=(1, 1, 2), or variance_rule='at-most', where these rows have less",
        ),
        (
            NoiseSpec(max_noise=3, variance=1.0, small=1, p_stay=0.9),
            (
                "No p-table has max_noise 3, small 1 and variance 1 (exact). Out of reach: "
                "count 2 reaches 0.2 to 0.6 (p_stay 0.9 leaves too little freedom); "
                "count 3 reaches 0.1 to 0.9 (p_stay 0.9 leaves too little freedom); "
                "count 4 reaches 0.1 to 0.6 (p_stay 0.9 leaves too little freedom); "
                "count 5 reaches 0.1 to 0.9 (p_stay 0.9 leaves too little freedom)."
            ),
            None,
        ),
    ],
    ids=["stack", "per row", "stay"],
)
def test_a_refusal_repeats_the_request_and_names_reach_and_cure(spec, problem, hint):
    with pytest.raises(InfeasibleError) as caught:
        solve(spec)
    assert caught.value.problem == problem
    assert hint is None or caught.value.hint == hint


@pytest.mark.parametrize(("variance", "named"), [(42.0, 5), (46.0, 5), (60.0, 6)])
def test_at_most_six_rows_are_named(variance, named):
    spec = NoiseSpec(max_noise=8, variance=variance)
    lost = [row for row in feasible(spec).rows if not row.is_feasible]
    with pytest.raises(InfeasibleError) as caught:
        solve(spec)
    assert caught.value.rows == tuple(lost)
    text = caught.value.problem
    assert text.count(" reaches ") == min(len(lost), 6)
    assert ("more rows" in text) == (len(lost) > 6)
    if len(lost) > 6:
        assert text.endswith(f"; and {len(lost) - 6} more rows.")


def test_at_most_six_relaxed_rows_are_named():
    spec = NoiseSpec(max_noise=8, variance=60.0, variance_rule="nearest")
    with pytest.warns(PTableWarning) as caught:
        table = solve(spec)
    text = str(caught[0].message)
    n_relaxed = len(table.certificate.relaxed)
    assert n_relaxed > 6
    assert text.count("instead of 60") == 6
    assert text.endswith(f"; and {n_relaxed - 6} more.")
    assert caught[0].filename == __file__


@pytest.mark.parametrize("rule", ["exact", "at-least", "at-most"])
@pytest.mark.parametrize("p_stay", [0.1, 0.35, 0.3989, 0.6])
def test_a_probability_of_staying_is_kept_to_the_key(rule, p_stay):
    spec = NoiseSpec(max_noise=4, variance=1.0, p_stay=p_stay, p_stay_rule=rule)
    table = solve(spec)
    asked = Fraction(str(p_stay)) * 2**32
    for count in range(1, 5):
        stays = table.units(count)[0]
        if rule == "exact":
            assert abs(stays - asked) <= Fraction(1, 2)
        elif rule == "at-least":
            assert stays >= asked
        else:
            assert stays <= asked


@pytest.mark.parametrize(("rule", "units"), [("exact", 3865470566), ("at-least", 3865470567)])
def test_at_the_end_of_its_reach_a_row_keeps_its_probability_of_staying(rule, units):
    # the others are -1 and 3, with the greatest variance that nine in ten who stay leave
    table = solve(NoiseSpec(max_noise=3, variance=0.3, p_stay=0.9, p_stay_rule=rule))
    assert table.units(1)[0] == units
    assert sum(n for v, n in table.units(1).items() if v in {-1, 0, 3}) >= 2**32 - 2


def test_rows_that_are_the_same_problem_are_solved_once():
    steps = []
    table = solve(
        NoiseSpec(max_noise=2, variance=1.0, step=1, anchors=(1, 2, 30, 400)),
        progress=lambda *step: steps.append(step),
    )
    assert steps == [(1, 2), (2, 2)]
    assert table.units(30) == table.units(400) == table.units(2)
    assert [row.count for row in table.certificate.rows] == [1, 2, 30, 400]


def test_a_count_of_0_is_left_alone_unless_noise_on_it_is_asked_for():
    assert solve(NoiseSpec(max_noise=2, variance=1.0)).units(0) == {0: 2**32}
    noisy = solve(NoiseSpec(max_noise=2, variance=1.0, zero_bias=0.25))
    assert set(noisy.units(0)) == {0, 1, 2}
    assert noisy.n_rows == 3
    assert noisy.certificate.rows[0].count == 0


def test_the_programs_that_took_part_are_told():
    solver = solve(NoiseSpec(max_noise=1, variance=0.5)).certificate.solver
    assert solver.keys() == {"cvxpy", "Clarabel", "numpy"}
    assert solver["numpy"] == np.__version__
    single = solve(
        NoiseSpec(max_noise=1, variance=1.0)
    ).certificate  # one law: nothing to solve
    assert (single.solver, single.record) == ({"numpy": np.__version__}, None)


@pytest.mark.parametrize("status", ["failed", "optimal_inaccurate"])
def test_without_a_useful_answer_newton_begins_by_itself_and_the_certificate_says_so(
    status, monkeypatch
):
    spec = NoiseSpec(max_noise=3, variance=1.5)
    plain = solve(spec)
    laws = {"failed": (), "optimal_inaccurate": (np.full(6, 1 / 6),)}

    def useless(rows):
        for row in rows:
            law = tuple(law[: len(row.noise)] for law in laws[status][: len(row.noise) == 6])
            yield row, Answer(status=status, laws=law, multipliers=((9.0, 9.0),) * len(law))

    monkeypatch.setattr(solving, "answers", useless)
    table = solving.build(spec)
    assert table == plain
    assert table.certificate.rows == plain.certificate.rows
    record = table.certificate.record
    assert (record.status, record.unsolved) == (status, (1, 2, 3))
    assert "solved without it" in str(record)
    assert plain.certificate.record.unsolved == ()
    assert plain.certificate.record.distance <= 1e-3


def test_the_nearest_rule_relaxes_by_row_and_says_so():
    spec = NoiseSpec(max_noise=5, variance=1.0, small=2, variance_rule="nearest")
    with pytest.warns(PTableWarning, match="count 1: variance 2 instead of 1"):
        table = solve(spec)
    relaxed = table.certificate.relaxed
    assert [row.count for row in relaxed] == [1, 2]
    assert [row.requested_variance for row in relaxed] == [1.0, 1.0]
    assert relaxed[0].variance == pytest.approx(2.0, abs=1e-8)
    assert "2 rows differ" in table.certificate.summary()


def test_no_rule_helps_a_row_without_any_law():
    spec = NoiseSpec(max_noise=10, variance=1.0, min_probability=0.04, variance_rule="nearest")
    with pytest.raises(PTableError, match="reaches no variance") as caught:
        solve(spec)
    assert "nearest'" not in str(caught.value)


def test_a_specification_is_solved_once_in_a_process_and_keeps_its_wording(caplog):
    spec = NoiseSpec(max_noise=3, variance=0.71875)
    with caplog.at_level(logging.INFO, logger="ptable"):
        assert solve(spec) is solve(replace(spec))
        stated = solve(replace(spec, zero_bias=0))  # an equal one, in other words
    assert stated == solve(spec)
    solved_again = repr(replace(spec, zero_bias=0)) != repr(spec)
    assert len([r for r in caplog.records if r.message == "p-table solved"]) == 1 + solved_again


def test_a_relaxed_row_is_warned_of_each_time():
    spec = NoiseSpec(max_noise=5, variance=1.03125, small=2, variance_rule="nearest")
    for _ in range(2):
        with pytest.warns(PTableWarning, match="count 1: variance 2 instead of 1.0"):
            solve(spec)


def test_newton_alone_gives_the_same_table_and_the_certificate_names_no_solver():
    spec = NoiseSpec(max_noise=4, variance=1.75, small=1)
    table = solving.polished(spec)
    assert table == solve(spec)
    table.certificate.check(table)
    assert (table.certificate.solver, table.certificate.record) == (
        {"numpy": np.__version__},
        None,
    )
    assert table.certificate.rows == solve(spec).certificate.rows
    with pytest.raises(InfeasibleError):
        solving.polished(replace(spec, variance=99.0))


def test_progress_is_told_row_by_row(caplog):
    seen = []
    with caplog.at_level(logging.INFO, logger="ptable"):
        solve(NoiseSpec(max_noise=3, variance=1.0), progress=lambda *step: seen.append(step))
    assert seen == [(1, 3), (2, 3), (3, 3)]
    assert [r.rows for r in caplog.records if r.message == "p-table solved"] == [3]


def test_variance_may_differ_by_row():
    proof = solve(NoiseSpec(max_noise=3, variance=(0.5, 1.0, 2.0))).certificate
    assert [round(row.variance, 9) for row in proof.rows] == [0.5, 1.0, 2.0]


@pytest.mark.parametrize("rule", ["exact", "at-least", "at-most"])
def test_positives_with_a_bias_may_be_asked_to_stay(rule):
    spec = NoiseSpec(max_noise=3, variance=0.5, positive_bias=0.3, p_stay=0.8, p_stay_rule=rule)
    table = solve(spec)
    row = table.certificate.rows[0]
    assert row.bias == pytest.approx(0.3, abs=1e-9)
    assert row.variance == pytest.approx(0.5, abs=1e-8)
    stays = table.units(1)[0] / 2**32 - 0.8
    assert abs(stays) < 1e-9 or (stays > 0) == (rule == "at-least") != (rule == "exact")
    (reach, *_) = feasible(spec).rows
    # others than 0 have a mean of 3/2 among 1, 2, 3: their squares lie between 5/2 and 3
    if rule == "exact":
        assert reach.variance_min == pytest.approx(0.2 * 2.5 - 0.09)
        assert reach.variance_max == pytest.approx(0.2 * 3 - 0.09)


def test_a_bound_a_hair_above_the_variance_of_a_row_leaves_it_its_own():
    table = solve(NoiseSpec(max_noise=2, variance=2 + 1e-9, variance_rule="at-most"))
    # the row of 2 is uniform from -2 to 2, whose variance is 2
    units = table.units(2)
    assert max(units.values()) - min(units.values()) <= 2
    assert sum(n * v * v for v, n in units.items()) == 2 * 2**32


def test_at_most_keeps_the_variance_of_rows_where_it_does_not_bind():
    spec = NoiseSpec(max_noise=5, variance=2.0, monotone="left", variance_rule="at-most")
    variances = [row.variance for row in solve(spec).certificate.rows]
    assert variances[0] == pytest.approx(1.30247, abs=1e-5)
    assert max(variances) <= 2.0


@pytest.mark.parametrize("above", [1e-11, 1e-10, 2e-9])
def test_a_bound_that_no_integers_meet_is_passed_by_a_few_keys_only(above):
    spec = NoiseSpec(
        max_noise=6, variance=6 + above, small=4, variance_rule="at-most", monotone="left"
    )
    rows = solve(spec).certificate.rows
    assert max(row.variance for row in rows) <= 6 + above + 1e-7
    assert all(row.bias == 0 for row in rows)


def test_integers_too_far_from_the_optimum_are_a_fault_of_ours(monkeypatch):
    monkeypatch.setattr("ptable.proof.certificate._LARGEST_GAP", -1.0)
    with pytest.raises(InternalError, match="No integers near enough") as caught:
        solving.build(NoiseSpec(max_noise=2, variance=1.0))
    assert "the entropy gap of count 1" in str(caught.value)
    assert "was changed" not in str(caught.value)


def test_a_row_with_one_peak_keeps_its_shape_in_keys():
    table = solve(NoiseSpec(max_noise=3, variance=2.0, monotone="unimodal"))
    for row in table.certificate.rows:
        assert row.shape_excess <= 8 / 2**32
