"""What one record more gives away, against an enumeration of all that may be seen."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptable import Mechanism, NoiseSpec, PTable, solve
from risk.distributions.histogram import Histogram
from risk.distributions.prior import Prior
from risk.errors import RiskError
from risk.inference.nested import GivenAway, certain_with_one_more, differing_answers
from tests.results import require_fixed


@st.composite
def tables(draw):
    """Draw a small p-table that publishes no negative count; 0 may have noise as well."""
    rows = []
    for count in range(draw(st.integers(2, 5))):
        values = st.integers(max(-count, -3), 3)
        rows.append(
            dict.fromkeys(draw(st.lists(values, min_size=1, max_size=4, unique=True)), 1)
        )
    scaled = [{v: 12 // len(row) for v in row} for row in rows]  # 1 to 4 values divide 12
    return PTable.from_units(scaled, key_range=12)


def published(table, count):
    """Give what a count is published as, each with its probability."""
    row = table.units(min(count, table.n_rows - 1))
    return {count + v: Fraction(n, table.key_range) for v, n in row.items() if n}


@given(
    tables(),
    st.lists(st.integers(0, 3), min_size=7, max_size=14),
    st.sets(st.integers(1, 5), min_size=1),
)
def test_certainty_is_that_of_an_enumeration(table, weights, suspects):
    if not any(weights[i] for i in suspects):
        weights[min(suspects)] = 1
    seen = {}
    for i, weight in enumerate(weights):
        for a, p in published(table, i).items():
            for b, q in published(table, i + 1).items():
                if weight:
                    seen.setdefault((a, b), {})[i] = weight * p * q
    certain = sum(
        (
            next(iter(by.values()))
            for by in seen.values()
            if len(by) == 1 and set(by) <= suspects
        ),
        Fraction(0),
    )
    sensitive = sum(
        (sum(by.values(), Fraction(0)) for by in seen.values() if set(by) <= suspects),
        Fraction(0),
    )
    whole = sum(weights[i] for i in suspects)
    found = certain_with_one_more(table, Prior.supplied(weights), sorted(suspects))
    assert found.probability == pytest.approx(float(certain / whole), abs=1e-12)
    assert found.set_probability == pytest.approx(float(sensitive / whole), abs=1e-12)
    assert found.set_probability >= found.probability - 1e-12
    assert (found.set_published is None) == (not sensitive)
    if found.set_published is not None:
        assert set(seen[found.set_published, found.set_published_more]) <= suspects
    if found.original is not None:
        pair = seen[found.published, found.published_more]
        assert set(pair) == {found.original}
        assert found.original in suspects


@given(tables(), st.lists(st.integers(0, 9), min_size=1, max_size=20))
def test_differing_answers_are_those_of_two_keys(table, counts):
    expected = Fraction(0)
    for count in counts:
        row = published(table, count).values()
        expected += 1 - sum(p * p for p in row)
    found = differing_answers(table, Histogram.of(counts))
    assert found == pytest.approx(float(expected / len(counts)), abs=1e-12)


def test_rounding_gives_the_count_below_its_boundary_away():
    found = certain_with_one_more(Mechanism.rounding(5).build(), Prior.flat(), range(1, 5))
    assert (found.original, found.published, found.published_more) == (2, 0, 5)
    assert found.probability == 0.25
    ten = certain_with_one_more(Mechanism.rounding(10).build(), Prior.flat(), range(1, 5))
    assert (ten.original, ten.published, ten.published_more) == (4, 0, 10)


@pytest.mark.parametrize(
    "table",
    [
        Mechanism.random_rounding(5).build(),
        Mechanism.random_rounding(10).build(),
        solve(NoiseSpec(max_noise=8, variance=6.5, small=4)),
    ],
    ids=["random rounding to 5", "random rounding to 10", "cell keys"],
)
def test_chance_and_wide_sets_leave_nothing_certain(table):
    found = certain_with_one_more(table, Prior.flat(), range(1, 5))
    assert found.probability == 0
    assert found.original is None


def test_random_rounding_shows_a_count_between_its_multiples():
    """Published as 5, and as 0 with one record more: it was 1, 2 or 3, whichever."""
    found = certain_with_one_more(
        Mechanism.random_rounding(5).build(), Prior.flat(), range(1, 5)
    )
    assert found.probability == 0
    assert (found.set_published, found.set_published_more) == (5, 0)
    chances = [i / 5 * (5 - i - 1) / 5 for i in (1, 2, 3)]
    assert found.set_probability == pytest.approx(sum(chances) / 4)
    wide = solve(NoiseSpec(max_noise=8, variance=6.5, small=4))
    assert certain_with_one_more(wide, Prior.flat(), range(1, 5)).set_probability == 0


def test_what_is_given_away_cannot_be_changed():
    require_fixed(certain_with_one_more(Mechanism.rounding(5).build(), Prior.flat(), [1]))


def test_nothing_is_given_away_unless_it_is_said():
    nothing = GivenAway()
    assert (nothing.probability, nothing.set_probability) == (0, 0)
    assert nothing.original is nothing.set_published is None


@pytest.mark.parametrize(
    ("weights", "original"), [([0, 1, 1, 1], 1), ([0, 3, 2, 1], 1), ([0, 1, 3, 2], 2)]
)
def test_of_several_originals_the_one_that_is_given_away_most_often_is_named(weights, original):
    """Without noise all are; of equals it is the smallest."""
    exact = PTable.from_units([{0: 4}, {0: 4}], key_range=4)
    found = certain_with_one_more(exact, Prior.supplied(weights), range(1, 4))
    assert (found.original, found.published, found.published_more) == (
        original,
        original,
        original + 1,
    )
    assert (found.set_published, found.set_published_more) == (original, original + 1)
    assert found.probability == found.set_probability == 1


def test_rounded_sums_stay_probabilities():
    rng = np.random.default_rng(2)
    table = PTable.from_units([{0: 3}, {0: 2, 1: 1}], key_range=3)
    for _ in range(30):
        found = certain_with_one_more(table, Prior.supplied(rng.random(9)), range(9))
        assert found.set_probability <= 1
        assert found.set_probability == pytest.approx(1)


def test_no_chance_means_the_same_answer():
    assert differing_answers(Mechanism.rounding(5).build(), Histogram.of([1, 2, 3])) == 0


def test_suspects_that_the_prior_rules_out_are_refused():
    with pytest.raises(RiskError, match="rule out"):
        certain_with_one_more(Mechanism.rounding(5).build(), Prior.supplied([1, 0, 1]), [1])
