"""What holds for inverse probabilities and laws, whatever the table and the prior."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ptable import NoiseSpec, PTable, solve
from risk.distributions.band import Band
from risk.distributions.distribution import Law
from risk.distributions.noise_distributions import difference_law, sum_law
from risk.distributions.prior import Prior
from risk.inference.inverse import Inverse
from risk.inference.inverse_matrix import inverse_matrix
from risk.inference.worst import worst_posterior


@st.composite
def tables(draw):
    """Draw tables of any origin, with any rule for larger counts."""
    key_range = draw(st.integers(2, 60))
    n_rows = draw(st.integers(1, 5))
    rows = []
    for count in range(n_rows):
        values = draw(st.lists(st.integers(-count, 3), min_size=1, max_size=4, unique=True))
        assume(len(values) <= key_range)
        cuts = draw(
            st.lists(
                st.integers(1, key_range - 1),
                min_size=len(values) - 1,
                max_size=len(values) - 1,
                unique=True,
            )
        )
        ends = np.diff([0, *sorted(cuts), key_range]).tolist()
        rows.append(dict(zip(values, ends, strict=True)))
    rules = ["last", *(f"cycle:{n}" for n in range(2, n_rows + 1))]
    return PTable.from_units(
        rows, key_range=key_range, large_counts=draw(st.sampled_from(rules))
    )


@st.composite
def priors(draw):
    weights = draw(st.lists(st.integers(0, 9), min_size=1, max_size=12))
    assume(sum(weights))
    return Prior.supplied(weights, beyond=draw(st.sampled_from(["none", "last"])))


inverses = st.builds(lambda table, prior: Inverse(table=table, prior=prior), tables(), priors())


def joint_by_hand(inverse, n_counts=40):
    """Give π_i p_ij for i below n_counts, one table look-up per key."""
    keys = np.arange(inverse.table.key_range)
    joint = np.zeros((n_counts, n_counts + 4))
    for count in range(n_counts):
        noise = inverse.table.lookup(np.full(len(keys), count), keys, key_range=len(keys))
        np.add.at(joint[count], count + noise, float(inverse.prior.at([count])[0]) / len(keys))
    return joint


@given(inverses)
def test_probabilities_are_bayes_rule_over_all_keys(inverse):
    joint = joint_by_hand(inverse)[:, :25]
    totals = joint.sum(axis=0)
    matrix = inverse_matrix(inverse, up_to=24)
    assert matrix.published.tolist() == np.flatnonzero(totals).tolist()
    wanted = joint[: len(matrix.originals), totals > 0] / totals[totals > 0]
    np.testing.assert_allclose(matrix.probabilities, wanted, rtol=0, atol=1e-12)
    if matrix.published.size:
        np.testing.assert_allclose(matrix.probabilities.sum(axis=0), 1, rtol=0, atol=1e-12)


sets = st.lists(st.integers(0, 20), min_size=1, max_size=8)


@given(inverses, sets, sets)
def test_sets_are_sums(inverse, originals, published):
    joint = joint_by_hand(inverse)
    total = joint[:, sorted(set(published))].sum()
    assume(total > 0)
    wanted = joint[np.ix_(sorted(set(originals)), sorted(set(published)))].sum()
    assert inverse.of_sets(originals, published) == pytest.approx(wanted / total, abs=1e-12)
    weight = inverse.prior.at(sorted(set(originals))).sum()
    if weight:
        found = inverse.forward(originals, published)
        assert found == pytest.approx(wanted / weight, abs=1e-12)


@given(inverses, sets)
def test_no_published_count_is_worse_than_the_worst(inverse, originals):
    assume((inverse.prior.at(originals) > 0).any())
    found = worst_posterior(inverse, originals)
    seen = inverse.possible(30)
    for original, worst in zip(found.originals, found.probabilities, strict=True):
        assert inverse.probability(original, seen).max() == pytest.approx(worst, abs=1e-12)
    together = inverse.probability(found.originals[:, None], seen[None, :]).sum(axis=0).max()
    assert together == pytest.approx(found.set_probability, abs=1e-12)


@given(tables(), st.lists(st.integers(0, 20), min_size=1, max_size=6))
def test_sums_are_convolutions(table, counts):
    wanted = np.ones(1)
    for count in counts:
        row = np.zeros(count + 4)
        band = Band.of(table)
        row[:] = band.forward(np.full(count + 4, count), np.arange(count + 4))
        wanted = np.convolve(wanted, row)
    law = sum_law(table, counts)
    assert law.at(np.arange(len(wanted))) == pytest.approx(wanted, abs=1e-12)


laws = st.builds(
    lambda lowest, weights: Law(
        lowest=lowest, probabilities=np.array(weights, float) / sum(weights)
    ),
    st.integers(-5, 5),
    st.lists(st.integers(0, 5), min_size=1, max_size=6).filter(any),
)


@given(laws, laws, st.integers(0, 6))
def test_laws_add_and_subtract_like_loops(first, second, times):
    total, gap = first.plus(second), first.minus(second)
    for number in range(-30, 31):
        pairs = [(a, b) for a in first.support for b in second.support]
        for law, sign in ((total, 1), (gap, -1)):
            wanted = sum(
                float(first.at(a)) * float(second.at(b))
                for a, b in pairs
                if a + sign * b == number
            )
            assert float(law.at(number)) == pytest.approx(wanted, abs=1e-14)
    one_by_one = Law.certain(0)
    for _ in range(times):
        one_by_one = one_by_one.plus(first)
    many = first.repeated(times)
    assert many.lowest == one_by_one.lowest
    assert many.probabilities == pytest.approx(one_by_one.probabilities, abs=1e-12)


@given(
    st.lists(st.integers(0, 40), min_size=1, max_size=30),
    st.integers(0, 50),
    st.floats(0, 2),
    st.floats(0, 3),
)
def test_priors_from_counts_sum_to_one(counts, empty, added, reach):
    prior = Prior.from_counts(
        counts, grid_size=len(counts) + empty, added=added, reach=reach, beyond="last"
    )
    assert prior.probabilities.sum() == pytest.approx(1, abs=1e-12)
    assert (prior.probabilities >= 0).all()
    assert (prior.at(counts) > 0).all()


def test_simulated_tables_meet_the_inverse_probabilities():
    """A million cells; each of the 60 shares compared lies within 5 standard errors.

    That errs once in 29,000 times with a correct program (60 times 5.7e-7); the seed is fixed.
    """
    rng = np.random.default_rng(20_27)
    table = solve(NoiseSpec(max_noise=4, variance=2.5, small=1))
    prior = Prior.from_counts(rng.geometric(0.2, 500), grid_size=800, added=0.5)
    inverse = Inverse(table=table, prior=prior)
    n_cells = 1_000_000
    counts = rng.choice(len(prior.probabilities), size=n_cells, p=prior.probabilities)
    published = counts + table.lookup(counts, rng.integers(0, 2**32, n_cells))
    assert not (published == 1).any()
    n_compared = 0
    for seen in (0, 2, 3, 4, 8, 15):
        here = counts[published == seen]
        for original in range(10):
            wanted = float(inverse.probability(original, seen))
            error = np.sqrt(wanted * (1 - wanted) / len(here))
            assert abs((here == original).mean() - wanted) <= 5 * error + 1e-12
            n_compared += 1
    assert n_compared == 60


def test_simulated_slivers_meet_the_law_of_the_difference():
    """200,000 pairs of cells with one record between; the chance of error is 1e-5 or less."""
    rng = np.random.default_rng(8)
    table = solve(NoiseSpec(max_noise=5, variance=3.0))
    keys = rng.integers(0, 2**32, (2, 200_000))
    noise = [table.lookup(np.full(200_000, n), k) for n, k in zip((41, 40), keys, strict=True)]
    gaps = 1 + noise[0] - noise[1]
    law = difference_law(table, (41, 40), nested=True)
    for gap in range(-6, 8):
        wanted = float(law.at(gap))
        error = np.sqrt(wanted * (1 - wanted) / 200_000)
        assert abs((gaps == gap).mean() - wanted) <= 5 * error
