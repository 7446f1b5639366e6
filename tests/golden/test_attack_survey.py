"""Figures of the project's survey of attacks that no other test covers.

The survey numbers its attacks A1 to A14. Where its other figures are tested, under
``tests/unit/risk`` unless said otherwise:

=====  ===================================================================================
A1     pairs for 95 %, additive keys modulo one: ``test_attack_averaging``
A1b    a small cell: ``test_attack_averaging``; it takes no further query, see below
A2     detection, accuracy, P(empty | equal): ``test_attack_differencing``, ``test_zonings``,
       ``tests/golden/test_inverse``
A3     lines revealed, hits in a census, ascending keys: ``test_attack_margins``
A4     here
A5     worked example, share of lines solved: ``test_attack_means``
A6     share of bits right: ``test_reconstruction``; LP decoding: there and
       ``test_attack_reconstruction``
A7     queries until the bound shows: ``test_attack_hidden_bound``
A8     recovery, entropies, orders of intervals: ``test_attack_additive_keys``; the bits of
       shuffled intervals here
A10    unique cells: ``test_reconstruction``, ``test_attack_reconstruction``; the toy block here
A11    figures of other papers about other systems: nothing to compute
A12    wording never changes a count: ``tests/unit/ckm/test_oracle``
A13    no export carries keys: ``tests/unit/ckm/test_engine_secrecy``
A14    δ of a single count: ``tests/golden/test_guarantee_figures``; D = 8 with zeros here
=====  ===================================================================================

Rates are compared within three binomial standard errors of the survey's figure, plus half a
unit of its last digit: a right program fails one comparison in 370. Seeds are fixed.
"""

from itertools import combinations
from math import comb, exp, factorial

import numpy as np
import pytest

from ptable import guarantee
from risk import Inverse, Prior
from risk.attacks import AdditiveKeys, pairs_available, pairs_needed
from risk.attacks.pairs import complementary_groups, rounded_mean
from risk.attacks.reconstruction.linear import membership
from tests.unit.risk.attacks.support import r_table, reordered, small_table


def averages_modulo(table, counts, *, key_range, rng):
    """Average all pairs of one line after another, with keys that add up in a small range."""
    m = counts.shape[1]
    pairs = complementary_groups(m)
    sides = [membership([pair[side] for pair in pairs], n_places=m) for side in (0, 1)]
    keys = rng.integers(0, key_range, counts.shape)
    found = []
    for line, key in zip(counts, keys, strict=True):
        sums = np.zeros(len(pairs), np.int64)
        for side in sides:
            size = side @ line
            sums += size + table.lookup(size, (side @ key) % key_range, key_range=key_range)
        found.append(rounded_mean(sums.tolist()))
    return np.array(found)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("setting", "n_categories", "reference"),
    [((5, 3), 7, 0.90), ((5, 3), 8, 0.95), ((5, 3), 9, 0.99), ((2, 1), 6, 0.94)],
)
def test_a1_keys_modulo_256_give_the_rates_of_the_survey(setting, n_categories, reference):
    n, rng = 3000, np.random.default_rng(201)
    counts = rng.integers(20, 60, (n, n_categories))
    found = averages_modulo(r_table(*setting), counts, key_range=256, rng=rng)
    rate = (found == counts.sum(axis=1)).mean()
    error = np.sqrt(reference * (1 - reference) / n)
    assert abs(rate - reference) <= 3 * error + 0.005


def test_a1_seven_categories_have_63_pairs_and_the_attack_takes_less_than_two_hours():
    assert pairs_available(7) == 63
    assert 2 * pairs_needed(3.0) / 100 < 2  # hours, at 100 requests an hour
    for uniform, queries in ((2, 124), (5, 616)):
        variance = uniform * (uniform + 1) / 3
        assert abs(2 * pairs_needed(variance) - queries) <= 2
    assert 2 * pairs_needed(2.0) < 200  # the headline of the source, for noise of ±2


def test_a1b_the_survey_counts_twice_the_queries_a_small_cell_needs():
    """It says "twice A1"; all groups without the last category are among those of A1."""
    every = {group for pair in complementary_groups(6) for group in pair}
    rest = {group for pair in complementary_groups(5) for group in pair}
    assert rest < every
    assert len(every) == 2 * pairs_available(6)


def test_a3_one_line_in_1900_is_revealed():
    from risk.attacks import MarginBounds

    chance = MarginBounds(max_noise=2).closed_form(r_table(2, 1))
    assert 1 / chance == pytest.approx(1900, abs=50)


def poisson(mean, size=60):
    return np.array([exp(-mean) * mean**k / factorial(k) for k in range(size)])


def test_a4_inverse_probabilities_are_those_of_a_sparse_mixture():
    """The survey calls its prior a sparse mixture and does not say which.

    A half of Poisson with mean 0.3, three tenths with mean 2 and two tenths with mean 8 give
    all six of its figures to the third digit.
    """
    prior = Prior.supplied(0.5 * poisson(0.3) + 0.3 * poisson(2) + 0.2 * poisson(8))
    for table, original, published, figure in (
        (r_table(2, 1), 1, 1, 0.713),
        (r_table(2, 1), 0, 0, 0.842),
        (r_table(5, 3), 1, 1, 0.690),
        (r_table(5, 3), 0, 0, 0.800),
        (small_table(5, 3, 2), 0, 0, 0.674),
        (small_table(5, 3, 2), 1, 0, 0.232),
    ):
        found = Inverse(table=table, prior=prior).probability([original], [published])
        assert found[0] == pytest.approx(figure, abs=5.5e-4)
    blocked = Inverse(table=small_table(5, 3, 2), prior=prior).weight([1, 2])
    assert blocked.tolist() == [0, 0]


def test_a8_the_bits_of_shuffled_intervals_lie_among_those_of_random_orders():
    # One shuffle with an unknown seed: 2.14 bits.
    table, rng = r_table(5, 3), np.random.default_rng(202)
    orders = [rng.permutation(np.arange(-5, 6)).tolist() for _ in range(40)]
    attack = AdditiveKeys()
    found = [attack.figures(reordered(table, order)).entropy_given_gap for order in orders]
    assert min(found) < 2.14 < max(found)
    assert attack.figures(table).entropy_given_gap > np.mean(found)


def test_a10_a_median_and_a_mean_leave_thirty_of_all_triples_of_ages():
    """317,750 counts sets of three different ages; thirty counts (30, 30, 72) as well.

    With twins there are 333,375 triples, and of triples of different ages 29 are left: the
    survey's two figures are of different kinds.
    """
    ages = range(1, 126)
    left = [(a, 30, 3 * 44 - 30 - a) for a in range(1, 31) if 30 <= 3 * 44 - 30 - a <= 125]
    assert len(left) == 30
    assert comb(len(ages), 3) == 317_750
    assert comb(len(ages) + 2, 3) == 333_375
    different = [triple for triple in left if len(set(triple)) == 3]
    assert len(different) == 29
    counted = sum(1 for a, c in combinations(ages, 2) if a < 30 < c and a + 30 + c == 3 * 44)
    assert counted == 29


def test_a14_zeros_kept_under_much_noise_dominate_the_privacy_of_single_counts():
    rows = guarantee(r_table(8, 4), epsilon=1.0).rows
    assert rows[-1].delta == pytest.approx(0.007, abs=6e-4)
    assert 0.605 <= rows[0].delta <= 0.635
