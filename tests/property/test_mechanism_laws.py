"""What holds for every mechanism and every guarantee, whatever the parameters."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ptable import PTable
from ptable.design.design import design_from_dict
from ptable.design.mechanisms import Mechanism, verify
from ptable.proof.divergence import hockey_stick, outcomes, smallest_epsilon
from ptable.proof.guarantees import guarantee

bases = st.integers(2, 40)
edges = st.sampled_from(["clamp", "fold", "truncate"])
zeros = st.sampled_from(["noise", "keep"])
rates = st.floats(0.01, 20)
reaches = st.integers(1, 15)
laplace = st.builds(
    Mechanism.discrete_laplace, rates, max_noise=reaches, edge=edges, zeros=zeros
)
gaussian = st.builds(
    Mechanism.discrete_gaussian, rates, max_noise=reaches, edge=edges, zeros=zeros
)
rounding = st.builds(
    Mechanism.rounding,
    bases,
    ties=st.sampled_from(["up", "down", "even"]),
    threshold=st.integers(0, 60),
)
mechanisms = st.one_of(
    laplace,
    gaussian,
    rounding,
    st.builds(Mechanism.random_rounding, bases),
    st.builds(Mechanism.small_count_rounding, bases),
)
epsilons = st.floats(0, 6)


@st.composite
def tables(draw):
    """Draw tables of any origin, small enough to compare by hand."""
    key_range = draw(st.integers(2, 60))
    n_rows = draw(st.integers(1, 5))
    noise, upper = [], []
    for count in range(n_rows):
        values = draw(st.lists(st.integers(-count, 3), min_size=1, max_size=4))
        cuts = draw(
            st.lists(
                st.integers(0, key_range), min_size=len(values) - 1, max_size=len(values) - 1
            )
        )
        noise.append(values)
        upper.append([*sorted(cuts), key_range])
    rules = ["last", *(f"cycle:{n}" for n in range(2, n_rows + 1))]
    return PTable(
        noise=noise,
        upper=upper,
        key_range=key_range,
        large_counts=draw(st.sampled_from(rules)),
    )


@st.composite
def laws(draw):
    """Draw two laws of equally many keys on a few outcomes."""
    total = draw(st.integers(1, 10**6))

    def law():
        cuts = sorted(draw(st.lists(st.integers(0, total), min_size=3, max_size=3)))
        ends = [0, *cuts, total]
        return {j: ends[j + 1] - ends[j] for j in range(4)}

    return outcomes(law(), law())


@given(mechanisms)
def test_a_mechanism_is_rebuilt_from_its_plain_values(mechanism):
    table = mechanism.build()
    verify(table)
    assert design_from_dict(mechanism.to_dict()).build() == table
    assert all(sum(table.units(i).values()) == table.key_range for i in range(table.n_rows))


@given(mechanisms, st.lists(st.integers(0, 2**40), min_size=1, max_size=40), st.data())
def test_no_mechanism_publishes_a_negative_count_or_exceeds_its_bound(mechanism, counts, data):
    table = mechanism.build()
    keys = data.draw(
        st.lists(st.integers(0, 2**32 - 1), min_size=len(counts), max_size=len(counts))
    )
    noise = table.lookup(counts, keys)
    proof = guarantee(table)
    assert (np.array(counts) + noise >= 0).all()
    assert abs(noise).max() <= proof.max_noise


@given(rounding, st.lists(st.integers(0, 2**40), min_size=1, max_size=40))
def test_rounded_counts_are_multiples_and_never_overtake_each_other(mechanism, counts):
    counts = np.sort(np.array(counts))
    rounded = counts + mechanism.build().lookup(counts, counts % 2**32)
    assert not (rounded % mechanism.base).any()
    assert (np.diff(rounded) >= 0).all()
    large = counts >= mechanism.threshold
    assert (2 * abs(rounded - counts)[large] <= mechanism.base).all()
    assert not rounded[~large].any()


@given(bases)
def test_random_rounding_has_no_bias_and_its_variance(base):
    for mechanism in (Mechanism.random_rounding(base), Mechanism.small_count_rounding(base)):
        proof = guarantee(mechanism.build())
        assert proof.largest_bias == 0
        variances = [r * (base - r) for r in range(base)]
        assert [row.variance for row in proof.rows[:base]] == variances


@given(st.one_of(laplace, gaussian))
def test_noise_that_meets_no_edge_is_symmetric_and_falls_outwards(mechanism):
    table = mechanism.build()
    units = table.units(mechanism.max_noise)
    assert guarantee(table).rows[-1].mean == 0
    assert all(units[v] == units[-v] for v in units)
    outwards = [units.get(v, 0) for v in range(mechanism.max_noise + 1)]
    assert all(near + 2 >= far for near, far in pairwise(outwards))


@given(
    st.one_of(
        st.builds(Mechanism.discrete_laplace, rates, max_noise=reaches),
        st.builds(Mechanism.discrete_gaussian, rates, max_noise=reaches),
    ),
    st.sampled_from(["clamp", "fold"]),
    epsilons,
)
def test_what_is_done_to_the_result_never_costs_privacy(mechanism, edge, epsilon):
    """Clamping and folding read the noisy count alone: no pair can end further apart."""
    fields = {**mechanism.to_dict(), "edge": edge}
    proof = guarantee(Mechanism.from_dict(fields).build(), epsilon=epsilon)
    inside = proof.rows[-1]
    assert inside.delta == proof.delta_at(epsilon)
    for row in proof.rows:
        assert row.delta_to_next <= inside.delta_to_next
        assert row.delta_from_next <= inside.delta_from_next
        assert row.epsilon <= inside.epsilon


@given(laws(), epsilons)
def test_the_divergence_is_that_of_the_definition(pairs, epsilon):
    total = sum(p for p, _ in pairs)
    assert total == sum(q for _, q in pairs)
    sets = [
        sum(pairs[j][0] - math.exp(epsilon) * pairs[j][1] for j in range(4) if mask >> j & 1)
        for mask in range(16)
    ]
    assert math.isclose(
        hockey_stick(pairs, epsilon=epsilon), max(sets) / total, rel_tol=1e-9, abs_tol=1e-12
    )


@given(laws(), st.floats(0, 0.999))
def test_the_epsilon_found_is_the_first_that_works(pairs, delta):
    total = sum(p for p, _ in pairs)
    epsilon = smallest_epsilon(pairs, delta=delta)

    def exact(ratio):
        return sum(max(Fraction(0), p - ratio * q) for p, q in pairs) / total

    if epsilon == math.inf:
        assert sum(p for p, q in pairs if q == 0) > Fraction(delta) * total
        return
    assert hockey_stick(pairs, epsilon=epsilon) <= delta
    # A ratio below exp(epsilon) by a little more than floats can be off does not suffice.
    if epsilon > 0:
        below = Fraction(math.exp(epsilon)) * (1 - Fraction(1, 10**14) * (1 + int(epsilon)))
        assert exact(below) > Fraction(delta)


@given(tables(), epsilons)
def test_a_guarantee_covers_every_pair_of_neighbouring_counts(table, epsilon):
    proof = guarantee(table)
    keys = np.arange(table.key_range)
    ratio = math.exp(epsilon)
    worst = 0.0
    far = table.n_rows * 3 + 6
    width = far + 8
    counted = [
        np.bincount(
            count + table.lookup(np.full(len(keys), count), keys, key_range=len(keys)),
            minlength=width,
        )
        / len(keys)
        for count in range(far + 1)
    ]
    for here, after in pairwise(counted):
        worst = max(
            worst,
            np.maximum(0, here - ratio * after).sum(),
            np.maximum(0, after - ratio * here).sum(),
        )
    assert math.isclose(proof.delta_at(epsilon), worst, rel_tol=1e-9, abs_tol=1e-12)
    reached = {int(j) for law in counted for j in np.flatnonzero(law)}
    assert set(proof.never_published(far - 4)) == set(range(far - 3)) - reached


@given(tables(), epsilons, epsilons)
def test_delta_falls_as_epsilon_grows(table, one, other):
    proof = guarantee(table)
    low, high = sorted((one, other))
    assert 0 <= proof.delta_at(high) <= proof.delta_at(low) <= 1
