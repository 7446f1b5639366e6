"""From published counts back to originals."""

from __future__ import annotations

import sys
from dataclasses import FrozenInstanceError
from fractions import Fraction

import numpy as np
import pytest

from ptable import Mechanism, NoiseSpec, PTable, solve
from risk.distributions.prior import Prior
from risk.errors import RiskError
from risk.inference.inverse import Inverse
from risk.inference.sets import deviation_set
from tests.unit.risk.inference.support import TABLE, WEIGHTS, transition


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


def test_what_the_prior_rules_out_reaches_nothing(table):
    inverse = Inverse(table=table, prior=Prior.two_points(3, 40))
    assert inverse.reachable([40]).tolist() == list(range(35, 46))
    assert inverse.reachable([3, 20]).tolist() == deviation_set(table, 3).tolist()
    assert inverse.reachable([20]).size == 0


def test_an_intruder_who_knows_all_but_one_record_has_two_candidates(table):
    inverse = Inverse(table=table, prior=Prior.two_points(3, 4))
    ratio = table.units(3)[0] / (table.units(3)[0] + table.units(4)[-1])
    assert inverse.probability(3, 3) == pytest.approx(ratio, abs=1e-14)
    assert inverse.probability([0, 3, 4, 5], 3).sum() == 1


def test_a_thousand_counts_take_as_many_calls_as_one():
    inverse = Inverse(table=solve(NoiseSpec(max_noise=10, variance=6.0)), prior=Prior.flat())

    def calls(n):
        events = []
        before = sys.getprofile()
        sys.setprofile(lambda _, event, __: events.append(event))
        try:
            inverse.windows(np.arange(n))
        finally:
            sys.setprofile(before)
        return sum(event in {"call", "c_call"} for event in events)

    calls(1)  # what is kept is kept
    assert calls(1000) == calls(1)


EXACT = Inverse(table=TABLE, prior=Prior.supplied(WEIGHTS))


def test_chances_forwards_and_backwards_are_those_of_exact_fractions():
    """Of single counts and of sets, with a prior that has a gap and a table with turns."""
    joint = {
        (i, j): Fraction(weight, sum(WEIGHTS)) * transition(i, j)
        for i, weight in enumerate(WEIGHTS)
        for j in range(13)
    }
    seen = [j for j in range(13) if sum(joint[i, j] for i in range(len(WEIGHTS)))]
    assert EXACT.possible(12).tolist() == seen
    for last in (0, 1, 3, seen[-1], seen[-1] - 1):
        assert EXACT.possible(last).tolist() == [j for j in seen if j <= last]
    weights = [float(sum(joint[i, j] for i in range(len(WEIGHTS)))) for j in range(13)]
    assert EXACT.weight(np.arange(13)) == pytest.approx(weights, abs=1e-15)
    for originals, published in (([1], [2]), ([1, 2, 5], [0, 3]), ([3, 8], [1, 2, 3, 9])):
        both = sum(joint[i, j] for i in originals for j in published)
        prior = sum(Fraction(WEIGHTS[i], sum(WEIGHTS)) for i in originals)
        assert EXACT.forward(originals, published) == pytest.approx(float(both / prior))
        total = sum(joint[i, j] for i in range(len(WEIGHTS)) for j in published)
        assert EXACT.of_sets(originals, published) == pytest.approx(float(both / total))


@pytest.mark.parametrize("floor", [0.0, 2 / 12, 3 / 12, 1.0])
@pytest.mark.parametrize("originals", [[1], [2, 3], [5], [0, 8]])
def test_reachable_is_what_an_allowed_original_becomes_often_enough(originals, floor):
    """The floor belongs to what is often enough; the prior rules 5 out."""
    lopsided = PTable.from_units(
        [{0: 12}, {-1: 2, 0: 7, 2: 3}, {-2: 3, -1: 3, 0: 3, 3: 3}], key_range=12
    )
    inverse = Inverse(table=lopsided, prior=Prior.supplied(WEIGHTS))
    wanted = {
        j
        for i in originals
        for j in range(13)
        if WEIGHTS[i] and (chance := float(transition(i, j, lopsided))) and chance >= floor
    }
    assert inverse.reachable(originals, floor=floor).tolist() == sorted(wanted)


def test_at_most_five_counts_that_are_never_published_are_named():
    inverse = Inverse(table=Mechanism.rounding(10).build(), prior=Prior.flat())
    with pytest.raises(RiskError, match=r"never publish 1, 2, 3, 4, 5\."):
        inverse.windows([5, 4, 3, 2, 1, 0, 1])
    with pytest.raises(RiskError, match=r"never publish 1, 2, 3, 4, 5, \.\.\.\."):
        inverse.windows([6, 5, 4, 3, 2, 1])


def test_what_an_intruder_knows_cannot_be_changed(table, inverse):
    with pytest.raises(FrozenInstanceError):
        inverse.prior = Prior.flat()
    with pytest.raises(TypeError, match="positional"):
        Inverse(table, Prior.flat())
    assert not hasattr(inverse, "__dict__")
    assert inverse != Inverse(table=table, prior=inverse.prior), "p-tables are not compared"
    assert "Band" not in repr(inverse)
