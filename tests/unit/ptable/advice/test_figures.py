"""Figures of protection and of use, against tables and by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from ptable import NoiseSpec, PTableError, StackedSpec, figures, solve
from ptable.advice.figures import (
    FewOutcomes,
    cautions,
    few_outcomes,
    figures_of,
    last_stay,
    laws,
    name_few_outcomes,
    smaller_variance,
    variance_of,
)

# --- figures -----------------------------------------------------------------------------


def test_figures_are_those_worked_out_by_hand():
    rows = {
        1: {-1: 0.5, 0: 0.25, 1: 0.25},
        2: {-2: 0.125, -1: 0.25, 0: 0.25, 1: 0.125, 2: 0.25},
    }
    found = figures_of(rows, last_count=2)
    assert found.variance == 4 * 0.375 + 0.375
    assert found.mean_size == 2 * 0.375 + 0.375
    assert (found.p_stay, found.p_stay_range) == (0.25, (0.25, 0.25))
    assert found.entropy == 3 * 2 / 4 + 2 * 3 / 8
    assert found.p_same_difference == 3 / 16 + 2 / 64
    assert found.p_true == ((1, 0.25), (2, 0.25))
    # published 1: counts 1 (no noise), 2 (-1), 3 (-2), from 2 on with the row of 2
    assert found.p_source == (
        (1, 0.25 / (0.25 + 0.25 + 0.125)),
        (2, 0.25 / (0.25 + 0.25 + 0.25 + 0.125)),
    )
    assert found.prior == 1
    # a prior of 1/2: each count half as likely as the one before
    half = figures_of(rows, last_count=2, prior=0.5).p_source
    assert half[0][1] == pytest.approx(0.25 / (0.25 + 0.125 + 0.125 / 4))
    assert half[1][1] == pytest.approx(0.25 / (0.5 + 0.25 + 0.125 + 0.125 / 4))


def test_blocked_counts_are_counts_that_never_stay():
    rows = {1: {-1: 0.6, 2: 0.4}, 2: {-2: 0.5, 1: 0.3, 2: 0.2}, 3: {-3: 0.1, 0: 0.8, 3: 0.1}}
    found = figures_of(rows, last_count=3)
    assert found.p_true == ((1, 0), (2, 0), (3, 0.8), (4, 0.8))
    assert [published for published, _ in found.p_source] == [3, 4]
    assert found.p_stay_range == (0.8, 0.8)
    # published 3: counts 1 (+2), 2 (+1), 3 (0) and 6 (-3)
    assert found.p_source[0][1] == pytest.approx(0.8 / (0.4 + 0.3 + 0.8 + 0.1))


def test_the_least_and_the_greatest_probability_of_staying_are_those_of_counts_above_0():
    rows = {0: {0: 1.0}, 1: {-1: 0.3, 0: 0.4, 1: 0.3}, 2: {-1: 0.1, 0: 0.8, 1: 0.1}}
    assert figures_of(rows, last_count=2).p_stay_range == (0.4, 0.8)
    never = {1: {-1: 0.5, 1: 0.5}}
    assert figures_of(never, last_count=1).p_stay_range == (0, 0)
    assert figures_of(never, last_count=1).p_stay == 0


def test_up_to_ten_counts_are_named():
    rows = {count: {-1: 0.5, 1: 0.5} for count in range(1, 13)}
    assert [count for count, _ in figures_of(rows, last_count=12).p_true] == list(range(1, 11))


def test_figures_of_a_row_without_noise_are_certain():
    risk = figures_of({1: {0: 1.0}}, last_count=1)
    assert (risk.p_stay, risk.entropy, risk.p_same_difference) == (1.0, 0.0, 1.0)
    assert [p for _, p in risk.p_source] == [1.0, 1.0]
    assert figures_of({1: {0: 1.0, 1: 0.0}}, last_count=1).entropy == 0


def test_figures_are_read_in_one_line():
    rows = {1: {-1: 0.5, 0: 0.25, 1: 0.25}, 2: {-1: 0.25, 0: 0.5, 1: 0.25}}
    assert str(figures_of(rows, last_count=2)) == (
        "variance 0.5, stays 50.0% (rows 25.0% to 50.0%), mean size 0.50, 1.50 bits, same "
        "difference 37.5%, true: 50% of published 1, 50% of published 2"
    )


def test_figures_are_those_of_the_certified_table():
    spec = NoiseSpec(max_noise=5, variance=3.0, small=2)
    risk, table = figures(spec), solve(spec)
    last = {v: n / table.key_range for v, n in table.units(table.n_rows - 1).items()}
    assert risk.variance == pytest.approx(sum(v * v * p for v, p in last.items()), abs=1e-8)
    assert risk.p_stay == pytest.approx(last[0], abs=1e-8)
    assert risk.mean_size == pytest.approx(sum(abs(v) * p for v, p in last.items()), abs=1e-7)
    assert risk.p_same_difference == pytest.approx(sum(p * p for p in last.values()), abs=1e-8)
    entropy = -sum(p * math.log2(p) for p in last.values())
    assert risk.entropy == pytest.approx(entropy, abs=1e-6)
    for count, p in risk.p_true:
        assert p == pytest.approx(table.units(count).get(0, 0) / table.key_range, abs=1e-8)
    assert figures(spec, prior=0.5).prior == 0.5


def test_the_source_of_a_published_count_follows_bayes_rule():
    spec = NoiseSpec(max_noise=3, variance=2.0, small=1)
    transition = solve(spec).transition
    rows = [transition[min(i, len(transition) - 1)] for i in range(30)]
    last = len(transition) - 1
    for prior in (1.0, 0.6):
        for j, p in figures(spec, prior=prior).p_source:
            weights = {
                i: (rows[i][j] if i <= last else rows[last][j - i + last]) * prior**i
                for i in range(1, j + 4)
            }
            assert p == pytest.approx(weights[j] / sum(weights.values()), abs=1e-6)
    assert [j for j, _ in figures(spec).p_source] == [2, 3]


@pytest.mark.parametrize("prior", [0, -1, 1.5, math.nan])
def test_a_prior_that_grows_or_vanishes_is_refused(prior):
    with pytest.raises(PTableError, match=r"prior must lie in \(0, 1\]"):
        figures_of({1: {0: 1.0}}, last_count=1, prior=prior)


@pytest.mark.parametrize("settings", [{"step": 2}, {"anchors": (1, 2)}])
def test_figures_of_magnitudes_are_refused(settings):
    with pytest.raises(PTableError, match="for counts, not for magnitudes"):
        figures(NoiseSpec(max_noise=1, variance=0.4, **settings))


def test_laws_at_an_end_of_the_reach_are_exact():
    assert laws(NoiseSpec(max_noise=2, variance=2.0))[1] == pytest.approx(
        {-1: 2 / 3, 0: 0, 1: 0, 2: 1 / 3}
    )


@pytest.mark.parametrize("monotone", ["none", "unimodal"])
def test_laws_are_those_of_the_solved_table(monotone):
    spec = NoiseSpec(max_noise=3, variance=1.2, monotone=monotone)
    table = solve(spec)
    for count, law in laws(spec).items():
        units = table.units(count)
        assert law == pytest.approx({v: units.get(v, 0) / 2**32 for v in law}, abs=1e-8)


def test_a_count_far_from_zero_stays_less_often_at_a_larger_variance():
    for monotone in ("none", "unimodal"):
        spec = NoiseSpec(max_noise=3, variance=1.0, monotone=monotone)
        row = spec.row(3)
        for variance in (0.5, 1.5):
            table = solve(replace(spec, variance=variance))
            stays = table.units(3)[0] / table.key_range
            assert last_stay(row, variance) == pytest.approx(stays, abs=1e-7)


def test_a_row_has_the_variance_asked_for_or_what_a_bound_leaves():
    assert variance_of(NoiseSpec(max_noise=3, variance=1.2).row(2)) == pytest.approx(1.2)
    # at most 9: the law of greatest entropy is uniform on -2..2 then
    bound = NoiseSpec(max_noise=2, variance=9.0, variance_rule="at-most").row(2)
    assert variance_of(bound) == pytest.approx(2)
    biased = NoiseSpec(max_noise=5, variance=0.5, positive_bias=0.8).row(1)
    assert variance_of(biased) == pytest.approx(0.5)


# --- rows on nearly two points ---------------------------------------------------------------


def test_a_row_on_nearly_two_points_is_named_with_the_nearest_smaller_variance():
    spec = NoiseSpec(max_noise=10, variance=10.0)
    (row,) = few_outcomes(spec)
    assert str(row) == "count 1 becomes 0 (91%) or 11 (9%), 1.4 effective outcomes"
    assert (row.count, [published for published, _ in row.outcomes]) == (1, [0, 11])
    assert [p for _, p in row.outcomes] == pytest.approx([10 / 11, 1 / 11], abs=1e-6)
    entropy = math.log(11) - math.log(10) * 10 / 11
    assert row.effective == pytest.approx(math.exp(entropy), abs=1e-6)
    assert name_few_outcomes(spec) == (
        f"The noise has two outcomes or hardly more: {row}. A variance of 8.7 is the nearest "
        "smaller one where no row is so, and barely: less variance spreads small counts over "
        "more outcomes."
    )
    assert smaller_variance(spec) == replace(spec, variance=8.7)
    assert few_outcomes(replace(spec, variance=8.7)) == ()
    assert few_outcomes(replace(spec, variance=8.8)) != ()


def test_a_certificate_tells_which_rows_are_looked_at():
    spec = NoiseSpec(max_noise=3, variance=3.0)
    proof = solve(spec).certificate
    assert few_outcomes(spec, proof=proof) == few_outcomes(spec) != ()
    assert few_outcomes(spec, proof=replace(proof, rows=proof.rows[1:])) == ()
    assert name_few_outcomes(spec, proof=replace(proof, rows=proof.rows[1:])) == ""
    first = few_outcomes(spec)[0]
    assert math.exp(proof.fewest_outcomes.entropy) == pytest.approx(first.effective, abs=1e-6)


def test_a_variance_of_its_own_is_proposed_for_the_rows_that_need_it():
    spec = NoiseSpec(max_noise=3, variance=(3.0, 2.0, 2.0))
    (row,) = few_outcomes(spec)
    other = smaller_variance(spec)
    assert other.variance[1:] == (2.0, 2.0)
    assert other.variance[0] < 3
    assert few_outcomes(other) == ()
    assert name_few_outcomes(spec) == (
        f"The noise has two outcomes or hardly more: {row}. With one variance per row, "
        f"{other.variance[0]:g} for count 1 is the nearest smaller one that is not so."
    )
    # one variance for all rows is out of reach of others: each gets its own
    blocked = NoiseSpec(max_noise=4, variance=4.0, small=3)
    assert isinstance(smaller_variance(blocked).variance, tuple)
    assert smaller_variance(NoiseSpec(max_noise=5, variance=3.0)).variance == 3.0


def test_parts_of_a_stack_are_told_to_take_less_variance():
    spec = StackedSpec(
        parts=(
            (0, NoiseSpec(max_noise=3, variance=3.0)),
            (3, NoiseSpec(max_noise=3, variance=1.0)),
        )
    )
    (row,) = few_outcomes(spec)
    assert name_few_outcomes(spec) == (
        f"The noise has two outcomes or hardly more: {row}. Take a smaller variance in these "
        "rows."
    )


@pytest.mark.parametrize(
    "fields",
    [
        {"max_noise": 5, "variance": 3.0},
        {"max_noise": 5, "variance": 0.05},  # little noise
        {"max_noise": 3, "variance": 2.0, "small": 2, "variance_rule": "at-most"},
        {"max_noise": 10, "variance": 7.0, "small": 4},  # as many as blocked counts leave
        {"max_noise": 3, "variance": 3.0, "step": 2, "anchors": (1, 3)},
        {"max_noise": 3, "variance": 3.0, "anchors": (1, 3)},
    ],
)
def test_little_noise_and_blocked_counts_are_not_taken_for_two_points(fields):
    assert name_few_outcomes(NoiseSpec(**fields)) == ""


def test_a_row_is_read_in_one_line():
    row = FewOutcomes(count=2, outcomes=((0, 0.75), (5, 0.25)), effective=1.75)
    assert str(row) == "count 2 becomes 0 (75%) or 5 (25%), 1.8 effective outcomes"


def test_three_rows_are_named_and_the_others_counted():
    spec = NoiseSpec(max_noise=6, variance=(6.0, 12.0, 18.0, 24.0, 30.0, 36.0))
    rows = few_outcomes(spec)
    assert len(rows) > 3
    text = name_few_outcomes(spec)
    assert f"{rows[2]}; and {len(rows) - 3} more rows. " in text
    assert str(rows[3]) not in text


# --- cautions ------------------------------------------------------------------------------


def test_nothing_is_cautioned_of_a_sound_table():
    spec = NoiseSpec(max_noise=3, variance=1.0)
    assert cautions(spec, proof=solve(spec).certificate) == ()


def test_rows_short_of_variance_are_named_with_what_they_have():
    spec = NoiseSpec(max_noise=2, variance=3.0, variance_rule="at-most", zero_bias=0.1)
    proof = solve(spec).certificate
    (text,) = cautions(spec, proof=proof)
    kept = [f"{row.variance:.3g} for count {row.count}" for row in proof.rows if row.count]
    assert text == (
        "The rule 'at-most' leaves rows less variance than asked for: " + ", ".join(kept) + "."
    )
    assert cautions(spec) == ()


def test_a_declared_bias_is_told_with_its_means():
    spec = NoiseSpec(max_noise=5, variance=3.0, small=1, positive_bias=0.8)
    assert cautions(spec)[-1] == (
        "No positive count is published as 0. The mean noise is +1.8 for count 1, +0.8 for "
        "count 2, and a published 0 is a true one: empty cells are not protected."
    )
    assert cautions(StackedSpec(parts=((0, NoiseSpec(max_noise=3, variance=1.0)),))) == ()
