"""From published counts back to originals."""

from __future__ import annotations

import time

import numpy as np
import pytest

from ptable import NoiseSpec, PTable, solve
from ptable.design.mechanisms import Mechanism
from risk.distributions.distribution import Law
from risk.distributions.prior import Prior
from risk.errors import RiskError
from risk.inference.credible import credible_intervals, credible_set
from risk.inference.inverse import Inverse
from risk.inference.inverse_matrix import inverse_matrix
from risk.inference.sets import deviation_set, possible_set
from risk.inference.worst import worst_posterior


@pytest.fixture(scope="module")
def table():
    return solve(NoiseSpec(max_noise=5, variance=3.0, small=2))


@pytest.fixture(scope="module")
def prior():
    return Prior.from_counts(
        np.random.default_rng(5).geometric(0.1, 800), grid_size=1500, added=0.5
    )


@pytest.fixture
def inverse(table, prior):
    return Inverse(table=table, prior=prior)


def by_hand(table, prior, original, published):
    """Bayes' rule, one loop at a time, with the table's row for each count."""

    def joint(count):
        row = min(count, table.n_rows - 1)
        chance = table.units(row).get(published - count, 0) / table.key_range
        return float(prior.at([count])[0]) * chance

    return joint(original) / sum(joint(count) for count in range(200))


def test_probabilities_follow_bayes_rule_far_beyond_the_last_row(table, prior, inverse):
    for published in (0, 3, 4, 8, 30, 47):
        for original in range(max(0, published - 6), published + 7):
            found = inverse.probability(original, published)
            assert found == pytest.approx(by_hand(table, prior, original, published), abs=1e-14)


def test_counts_beyond_the_last_row_take_their_turns():
    table = PTable(
        noise=[[0], [0, 1], [-1, 0], [-1, 2]],
        upper=[[8], [4, 8], [2, 8], [6, 8]],
        key_range=8,
        large_counts="cycle:2",
    )
    inverse = Inverse(table=table, prior=Prior.flat())
    # Count 6 has row 2 and count 7 row 3; 4 and 5 likewise.
    assert inverse.probability([5, 6, 7, 8], 6).tolist() == [0, 0.5, 0.5, 0]
    assert inverse.probability([5, 6, 7, 8], 7).tolist() == [0.5, 0, 0, 0.5]
    assert inverse.probability([4, 5, 6], 4).tolist() == [0.5, 0.5, 0]
    assert inverse.probability([10**9, 10**9 + 1], 10**9).tolist() == [0.5, 0.5]


def test_the_matrix_holds_the_same_probabilities(inverse):
    matrix = inverse_matrix(inverse)
    assert matrix.probabilities.sum(axis=0) == pytest.approx(1, abs=1e-12)
    wanted = inverse.probability(matrix.originals[:, None], matrix.published[None, :])
    assert matrix.probabilities == pytest.approx(wanted, abs=1e-15)
    assert 1 not in matrix.published
    assert 2 not in matrix.published
    frame = matrix.to_frame()
    assert frame.loc[1, 3] == inverse.probability(1, 3)


def test_sets_of_one_are_single_probabilities(inverse):
    assert inverse.of_sets([2], [4]) == pytest.approx(float(inverse.probability(2, 4)))
    assert inverse.of_sets(2, 4) == inverse.of_sets([2, 2], [4, 4])


def test_the_mean_and_the_truth_follow_the_law(inverse):
    for published in (0, 3, 9, 50):
        law = inverse.given(published)
        assert inverse.expected(published) == pytest.approx(law.mean, abs=1e-12)
        assert inverse.unchanged(published) == pytest.approx(law.at(published), abs=1e-15)
    assert inverse.expected([[0, 3], [9, 50]]).shape == (2, 2)
    assert inverse.expected([]).shape == (0,)


def test_a_flat_prior_gives_the_mirrored_noise_for_large_counts(table):
    law = Inverse(table=table, prior=Prior.flat()).given(10**9)
    noise = {v: n / table.key_range for v, n in table.units(table.n_rows - 1).items()}
    assert {
        int(v) - 10**9: p for v, p in zip(law.numbers, law.probabilities, strict=True)
    } == pytest.approx({-v: p for v, p in noise.items()}, abs=1e-12)


def test_what_is_never_published_is_a_typed_error(inverse):
    for ask in (
        lambda: inverse.probability(1, [3, 1]),
        lambda: inverse.expected([2]),
        lambda: inverse.unchanged(1),
        lambda: inverse.given(2),
        lambda: inverse.windows([2]),
        lambda: inverse.of_sets([1], [1, 2]),
        lambda: credible_set(inverse, 1),
        lambda: credible_intervals(inverse, [3, 1]),
        lambda: inverse.probability(1, 10**6),
    ):
        with pytest.raises(RiskError, match="never publish"):
            ask()


def test_counts_that_no_cell_has_are_gaps_and_no_obstacle(table):
    """The reference answers NA where a count within reach is absent from the data."""
    inverse = Inverse(table=table, prior=Prior.from_counts([1, 1, 4, 9], grid_size=6))
    found = inverse.probability(np.arange(10), 5)
    assert found.sum() == pytest.approx(1, abs=1e-15)
    assert np.flatnonzero(found).tolist() == [1, 4, 9]
    assert inverse.of_sets([2, 3], [3, 4, 5]) == 0


def test_sets_may_hold_counts_that_are_never_published(inverse):
    assert inverse.of_sets([1, 2], [1, 2, 3]) == pytest.approx(inverse.of_sets([1, 2], [3]))


@pytest.mark.parametrize(
    "ask",
    [
        lambda inverse: inverse.probability(-1, 3),
        lambda inverse: inverse.probability(1.0, 3),
        lambda inverse: inverse.of_sets([], [3]),
        lambda inverse: inverse.forward([1000], [3]),
        lambda inverse: inverse.given(-1),
        lambda inverse: inverse.possible(-1),
        lambda inverse: worst_posterior(inverse, [1000]),
        lambda inverse: worst_posterior(inverse, []),
        lambda inverse: credible_set(inverse, 3, level=1.5),
        lambda inverse: credible_intervals(inverse, [3], level=np.nan),
    ],
)
def test_bad_questions_are_typed_errors(inverse, ask):
    with pytest.raises(RiskError):
        ask(inverse)


def test_tables_of_magnitudes_are_refused():
    table = PTable(noise=[[0], [-1, 1]], upper=[[8], [4, 8]], key_range=8, step=2)
    with pytest.raises(RiskError, match="magnitudes"):
        Inverse(table=table, prior=Prior.flat())
    with pytest.raises(RiskError, match="magnitudes"):
        deviation_set(table, 1)


def test_deviation_and_possible_sets_are_those_of_the_seminar():
    rounding = Mechanism.random_rounding(10).build()
    assert deviation_set(rounding, 8).tolist() == [0, 10]
    assert possible_set(rounding, 0).tolist() == list(range(10))
    assert possible_set(rounding, 20).tolist() == list(range(11, 30))
    assert possible_set(rounding, 5).size == 0
    assert deviation_set(Mechanism.rounding(5).build(), 8).tolist() == [10]


def test_sets_leave_out_the_traces_that_whole_numbers_of_keys_need():
    # 10/11 and 1/11 are no whole numbers of 2**-32: a key on a third noise keeps the mean at 0.
    table = solve(NoiseSpec(max_noise=10, variance=10.0))
    traces = [v for v, n in table.units(1).items() if n < 10]
    assert traces
    assert deviation_set(table, 1).tolist() == [0, 11]
    assert set(deviation_set(table, 1, floor=0).tolist()) == {0, 11, *(1 + v for v in traces)}
    for trace in traces:
        assert 1 not in possible_set(table, 1 + trace).tolist()
        assert 1 in possible_set(table, 1 + trace, floor=0).tolist()
    worst = worst_posterior(Inverse(table=table, prior=Prior.two_points(1, 40)), [1])
    assert worst.published.tolist() in ([0], [11])
    with pytest.raises(RiskError, match="floor must"):
        deviation_set(table, 1, floor=2)


def test_sets_of_a_table_without_small_counts(table):
    assert deviation_set(table, 1).tolist() == [0, 3, 4, 5, 6]
    assert possible_set(table, 1).size == possible_set(table, 2).size == 0
    assert possible_set(table, 3).tolist() == list(range(1, 9))
    for published in (0, 3, 7, 100):
        for original in possible_set(table, published).tolist():
            assert published in deviation_set(table, original)


def test_the_worst_posterior_is_the_largest_of_all(inverse):
    found = worst_posterior(inverse, range(1, 5))
    seen = inverse.possible(20)
    matrix = inverse.probability(np.arange(1, 5)[:, None], seen[None, :])
    assert found.probabilities == pytest.approx(matrix.max(axis=1), abs=1e-15)
    assert found.published.tolist() == seen[matrix.argmax(axis=1)].tolist()
    assert found.set_probability == pytest.approx(matrix.sum(axis=0).max(), abs=1e-15)
    assert found.set_published == seen[matrix.sum(axis=0).argmax()]
    assert found.to_frame()["original"].tolist() == [1, 2, 3, 4]


def test_the_worst_posterior_leaves_out_what_the_prior_rules_out(table):
    inverse = Inverse(table=table, prior=Prior.two_points(2, 3))
    found = worst_posterior(inverse, [1, 2])
    assert found.originals.tolist() == [2]
    assert found.set_probability == found.probabilities[0]


def test_only_what_was_published_is_judged(inverse):
    seen = [0, 4, 9, 30]
    found = worst_posterior(inverse, range(1, 5), published=seen)
    matrix = inverse.probability(np.arange(1, 5)[:, None], np.array(seen)[None, :])
    assert found.probabilities == pytest.approx(matrix.max(axis=1), abs=1e-15)
    assert found.set_probability == pytest.approx(matrix.sum(axis=0).max(), abs=1e-15)
    assert {*found.published.tolist(), found.set_published} <= set(seen)
    with pytest.raises(RiskError, match="that one of originals can become"):
        worst_posterior(inverse, [1], published=[30])


def test_what_the_prior_rules_out_reaches_nothing(table):
    inverse = Inverse(table=table, prior=Prior.two_points(3, 40))
    assert inverse.reachable([40]).tolist() == list(range(35, 46))
    assert inverse.reachable([3, 20]).tolist() == deviation_set(table, 3).tolist()
    assert inverse.reachable([20]).size == 0


@pytest.mark.parametrize("off", [2e-9, -2e-9, 5e-4])
def test_laws_and_priors_must_sum_to_one(off):
    near, wrong = [0.5, 0.5 + 5e-10], [0.5, 0.5 + off]
    assert Law(lowest=0, probabilities=near).support.tolist() == [0, 1]
    assert Prior(probabilities=near).at([1]) == near[1]
    with pytest.raises(RiskError, match="sum to 1 within 1e-9"):
        Law(lowest=0, probabilities=wrong)
    with pytest.raises(RiskError, match="sum to 1 within 1e-9"):
        Prior(probabilities=wrong)


def test_credible_sets_are_the_smallest_that_hold_the_level(inverse):
    for published in (0, 3, 12):
        law = inverse.given(published)
        for level in (0.0, 0.5, 0.9, 1.0):
            found = credible_set(inverse, published, level=level)
            assert found.probability >= level - 1e-12
            assert found.probability == pytest.approx(law.at(found.counts).sum())
            largest = np.sort(law.probabilities)[::-1]
            assert largest[: len(found.counts) - 1].sum() < level or len(found.counts) == 1


def test_credible_intervals_are_the_shortest_that_hold_the_level(inverse):
    seen = inverse.possible(40)
    for level in (0.0, 0.5, 0.95, 1.0):
        found = credible_intervals(inverse, seen, level=level)
        for place, published in enumerate(seen.tolist()):
            law = inverse.given(published)
            low, high = int(found.lower[place]), int(found.upper[place])
            assert 0 <= low <= high
            assert law.at(range(low, high + 1)).sum() == pytest.approx(found.probability[place])
            assert found.probability[place] >= level - 1e-12
            shorter = high - low
            for start in law.numbers.tolist():
                if shorter:
                    assert law.at(range(start, start + shorter)).sum() < level
    assert len(found.to_frame()) == len(seen)


def test_an_intruder_who_knows_all_but_one_record_has_two_candidates(table):
    inverse = Inverse(table=table, prior=Prior.two_points(3, 4))
    ratio = table.units(3)[0] / (table.units(3)[0] + table.units(4)[-1])
    assert inverse.probability(3, 3) == pytest.approx(ratio, abs=1e-14)
    assert inverse.probability([0, 3, 4, 5], 3).sum() == 1


def test_a_thousand_counts_take_milliseconds():
    table = solve(NoiseSpec(max_noise=10, variance=6.0))
    inverse = Inverse(table=table, prior=Prior.flat())
    seen = np.arange(1000)
    inverse.windows(seen)
    start = time.process_time()
    for _ in range(10):
        inverse.windows(seen)
    assert (time.process_time() - start) / 10 < 0.05
