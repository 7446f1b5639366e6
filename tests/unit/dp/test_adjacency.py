"""Whatever takes an adjacency, checked against all neighbours of small data sets.

A record is a part and a value. Neighbours differ inside one part and across parts, so that a
bound for one of the two cases does not pass for both.
"""

from __future__ import annotations

import itertools
import math
from itertools import combinations_with_replacement as multisets

import numpy as np
import pytest

from dp import (
    Adjacency,
    DiscreteGaussian,
    DPError,
    Exponential,
    Gaussian,
    Geometric,
    Guarantee,
    Laplace,
    PlanarLaplace,
    PrivacyLoss,
    RandomisedResponse,
    Sensitivity,
    basic,
    bounded_sum,
    concentrated,
    count,
    counts,
    disjoint,
    epsilon_of_rho,
    exact_epsilon,
    histogram,
    maximum,
    mean,
    parallel,
)
from dp.accounting.rdp import RenyiCurve, renyi_divergence
from dp.belief import belief_bounds
from dp.sensitivity import together
from tests.unit.dp.support import exact_delta

ADD, REPLACE, ZERO = Adjacency.ADD_REMOVE, Adjacency.REPLACE, Adjacency.ZERO_OUT
LOCAL = Adjacency.LOCAL
PARTS = ("a", "b")
MOST = 3  # records of a data set
BLANK = ("", 0)


def neighbours(adjacency, values, *, least=0, is_fixed=False):
    """Yield all pairs of data sets that differ in one record."""
    records = list(itertools.product(PARTS, values))
    sizes = {ADD: range(least, MOST), LOCAL: range(1)}
    for size in sizes.get(adjacency, range(max(0, least - 1), MOST)):
        for rest, one in itertools.product(multisets(records, size), records):
            for other in changes(adjacency, one, records, is_fixed=is_fixed):
                yield (*rest, one), (*rest, *other)


def changes(adjacency, one, records, *, is_fixed):
    """Return what may be in place of a record: none, a blank one, any other one."""
    if adjacency == ADD:
        return [()]
    others = [(one[0], 0) if is_fixed else BLANK] if adjacency == ZERO else records
    return [(other,) for other in others if not is_fixed or other[0] == one[0]]


def moved(query, pairs):
    """Return the largest l1 and the largest l2 distance of the answers of neighbours."""
    moves = {tuple(a - b for a, b in zip(query(x), query(y), strict=True)) for x, y in pairs}
    return max(sum(map(abs, m)) for m in moves), max(math.hypot(*m) for m in moves)


def values_of(data, part=None):
    return [value for place, value in data if part is None or place == part]


def count_histogram(data):
    return [sum(r == one for r in data) for one in itertools.product(PARTS, (2, 7))]


def sums(data):
    return [sum(values_of(data, part)) for part in PARTS]


def sizes(data):
    return [len(values_of(data, part)) for part in PARTS]


#: Name: sensitivity by adjacency; query; values; fewest records; adjacencies; whether reached.
ALL = (ADD, REPLACE, ZERO, LOCAL)
QUERIES = {
    "count": (count, lambda d: [values_of(d).count(7)], (2, 7), 0, ALL, True),
    "counts": (
        lambda a: counts(2, adjacency=a),
        lambda d: [values_of(d).count(7), sum(v > 5 for v in values_of(d))],
        (2, 7),
        0,
        ALL,
        True,
    ),
    "histogram": (histogram, count_histogram, (2, 7), 0, ALL, True),
    **{
        f"bounded_sum {low} {high}": (
            lambda a, low=low, high=high: bounded_sum(low, high, adjacency=a),
            lambda d: [sum(values_of(d))],
            (low, high),
            0,
            ALL,
            True,
        )
        for low, high in ((-1, 1), (2, 7), (-7, -2), (0, 3))
    },
    "mean": (
        lambda a: mean(2, 7, at_least=2, adjacency=a),
        lambda d: [sum(values_of(d)) / len(d)],
        (2, 7),
        2,
        (ADD, REPLACE, ZERO),
        True,
    ),
    "maximum": (
        lambda a: maximum(2, 7, adjacency=a),
        lambda d: [max(values_of(d), default=2)],
        (2, 7),
        0,
        ALL,
        True,
    ),
    "together": (
        lambda a: together([count(a), bounded_sum(2, 7, adjacency=a)]),
        lambda d: [values_of(d).count(7), sum(values_of(d))],
        (2, 7),
        0,
        ALL,
        False,
    ),
    # Stated for add-remove; the data differ inside one part and across parts.
    "disjoint sums": (
        lambda a: disjoint([bounded_sum(-1, 1)] * 2, adjacency=a),
        sums,
        (-1, 1),
        0,
        (ADD, REPLACE),
        True,
    ),
    "disjoint sums far from 0": (
        lambda a: disjoint([bounded_sum(2, 7)] * 2, adjacency=a),
        sums,
        (2, 7),
        0,
        (ADD, REPLACE),
        False,
    ),
    "disjoint sizes": (
        lambda a: disjoint([count()] * 2, adjacency=a),
        sizes,
        (2, 7),
        0,
        (ADD, REPLACE),
        False,
    ),
    "disjoint, unequal": (
        lambda a: disjoint([bounded_sum(-1, 1), count()], adjacency=a),
        lambda d: [sum(values_of(d, "a")), len(values_of(d, "b"))],
        (-1, 1),
        0,
        (ADD, REPLACE),
        True,
    ),
}
CASES = [(name, a) for name, row in QUERIES.items() for a in row[4]]


@pytest.mark.parametrize(("name", "adjacency"), CASES)
def test_no_neighbours_lie_farther_apart_than_a_sensitivity_says(name, adjacency):
    stated, query, values, least, _, is_reached = QUERIES[name]
    bound = stated(adjacency)
    l1, l2 = moved(query, neighbours(adjacency, values, least=least))
    assert bound.adjacency == adjacency
    assert l1 <= bound.l1 * (1 + 1e-12)
    assert l2 <= bound.l2 * (1 + 1e-12)
    if is_reached:
        assert l1 == pytest.approx(bound.l1)
        assert l2 == pytest.approx(bound.l2) or name.startswith("disjoint")


@pytest.mark.parametrize("adjacency", [REPLACE, ZERO])
def test_the_bound_of_fixed_parts_holds_where_records_stay(adjacency):
    bound = disjoint([bounded_sum(2, 7, adjacency=adjacency)] * 2, is_fixed=True)
    inside = neighbours(adjacency, (2, 7), is_fixed=True)
    assert moved(sums, inside)[0] == bound.l1
    across = neighbours(adjacency, (2, 7))
    assert adjacency == ZERO or moved(sums, across)[0] > bound.l1


@pytest.mark.parametrize("adjacency", [ADD, REPLACE])
@pytest.mark.parametrize(
    "name", ["count", "counts", "histogram", "bounded_sum -1 1", "maximum"]
)
def test_a_unit_of_up_to_two_records_moves_no_answer_farther_than_said(name, adjacency):
    """Units have none to two records; a unit replaced may have fewer than the other."""
    stated, query, values, *_ = QUERIES[name]
    bound = stated(adjacency).for_units(2, unit="person")
    records = list(itertools.product(PARTS, values))
    units = [unit for size in range(3) for unit in multisets(records, size)]
    others = [()] if adjacency == ADD else units
    pairs = [
        ((*rest, *one), (*rest, *other))
        for rest in multisets(records, 1)
        for one in units
        for other in others
    ]
    l1, l2 = moved(query, pairs)
    assert l1 <= bound.l1
    assert l2 <= bound.l2 * (1 + 1e-12)


@pytest.mark.parametrize("adjacency", [ADD, REPLACE])
@pytest.mark.parametrize("name", QUERIES)
def test_no_neighbours_lose_more_by_noise_than_its_guarantee(name, adjacency):
    """The largest log-ratio for Laplace noise, every order's Rényi divergence for Gaussian."""
    stated, query, values, least, *_ = QUERIES[name]
    bound = stated(adjacency)
    l1, l2 = moved(query, neighbours(adjacency, values, least=least))
    kinds = [Laplace] if name == "mean" else [Laplace, Geometric]
    for kind in kinds:
        noise = kind.calibrated(bound, epsilon=0.7)
        assert l1 / noise.scale <= noise.guarantee.epsilon * (1 + 1e-12) <= 0.7 * (1 + 1e-9)
        assert noise.guarantee.adjacency == adjacency
    for kind in [Gaussian] if name == "mean" else [Gaussian, DiscreteGaussian]:
        noise = kind.calibrated(bound, rho=0.3)
        # order * distance² / (2 scale²) is the exact divergence of either, at whole distances
        assert l2**2 / (2 * noise.scale**2) <= noise.guarantee.rho * (1 + 1e-12)


@pytest.mark.parametrize("shift", [1, 2])
def test_the_laws_of_integer_noise_lose_what_is_used_above(shift):
    support = np.arange(-400, 401)
    law = np.exp(-np.abs(support) / 3.0)
    law /= law.sum()
    inside = slice(200, 600)
    ratio = np.log(law[inside] / np.roll(law, shift)[inside])
    assert np.abs(ratio).max() == pytest.approx(shift / 3)
    bell = np.exp(-(support**2) / (2 * 9.0))
    bell /= bell.sum()
    near = slice(300, 501)
    for order in (1.5, 2, 8):
        found = renyi_divergence(bell[near], np.roll(bell, shift)[near], order=order)
        assert found == pytest.approx(order * shift**2 / 18, rel=1e-6)


def joint_epsilon(pairs, epsilons):
    """Return the exact loss of Laplace noise on each part's sum of values from -1 to 1."""
    return max(
        sum(abs(a - b) * e for a, b, e in zip(sums(x), sums(y), epsilons, strict=True))
        for x, y in pairs
    )


@pytest.mark.parametrize("adjacency", [ADD, REPLACE])
@pytest.mark.parametrize("epsilons", list(itertools.product((0.25, 0.5, 1.0), repeat=2)))
def test_the_loss_of_parts_together_is_what_parallel_says(adjacency, epsilons):
    one = bounded_sum(-1, 1)
    parts = [Laplace(sensitivity=one, scale=1 / epsilon).guarantee for epsilon in epsilons]
    exact = joint_epsilon(neighbours(adjacency, (-1, 0, 1)), epsilons)
    assert exact == pytest.approx(parallel(parts, adjacency=adjacency).epsilon)
    if adjacency == REPLACE:
        inside = joint_epsilon(neighbours(adjacency, (-1, 0, 1), is_fixed=True), epsilons)
        assert exact == inside > sum(sorted(epsilons)) or epsilons[0] == epsilons[1]


@pytest.mark.parametrize("seed", range(40))
def test_epsilon_and_delta_of_parts_hold_for_every_replacement(seed):
    """A part's answer depends on its sum, -1 to 1: any matrix of chances, its exact loss."""
    rng = np.random.default_rng(seed)
    chains = ((0, 1), (1, 2))  # sums that adding a record takes to each other
    first, second = (rng.dirichlet(np.full(4, 0.7), size=3) for _ in PARTS)
    epsilons = rng.uniform(0, 1, size=2)
    parts = [
        Guarantee(epsilon=e, delta=exact_delta(m, epsilon=e, neighbours=chains), adjacency=ADD)
        for m, e in zip((first, second), epsilons, strict=True)
    ]
    states = list(itertools.product(range(3), repeat=2))
    joint = np.array([np.kron(first[a], second[b]) for a, b in states])
    steps = [
        (i, j)
        for (i, x), (j, y) in itertools.product(enumerate(states), repeat=2)
        if abs(x[0] - y[0]) + abs(x[1] - y[1]) <= 2
    ]
    whole = parallel(parts, adjacency=REPLACE)
    if math.isfinite(whole.epsilon):
        assert (
            exact_delta(joint, epsilon=whole.epsilon, neighbours=steps) <= whole.delta + 1e-12
        )
    alone = [(i, j) for i, j in steps if sum(map(abs, np.subtract(states[i], states[j]))) == 1]
    apart = parallel(parts)
    assert exact_delta(joint, epsilon=apart.epsilon, neighbours=alone) <= apart.delta + 1e-12


def permute_and_flip(scores, scale):
    """Return the exact chances: candidates in any order, each taken with its coin."""
    coins = np.exp((np.asarray(scores) - max(scores)) / scale)
    found = np.zeros(len(coins))
    orders = list(itertools.permutations(range(len(coins))))
    for order in orders:
        left = 1.0
        for candidate in order:
            found[candidate] += left * coins[candidate] / len(orders)
            left *= 1 - coins[candidate]
    return found


@pytest.mark.parametrize("kind", ["exponential", "permute-and-flip"])
@pytest.mark.parametrize(
    ("adjacency", "is_monotonic"), [(ADD, False), (ADD, True), (REPLACE, False), (LOCAL, False)]
)
def test_no_choice_among_cells_loses_more_than_its_guarantee(kind, adjacency, is_monotonic):
    choice = Exponential(
        epsilon=0.8, sensitivity=1, adjacency=adjacency, is_monotonic=is_monotonic, kind=kind
    )
    worst = 0.0
    for x, y in neighbours(adjacency, (2, 7)):
        laws = [
            choice.probabilities(count_histogram(d))
            if kind == "exponential"
            else permute_and_flip(count_histogram(d), choice.scale)
            for d in (x, y)
        ]
        worst = max(worst, np.abs(np.log(laws[0] / laws[1])).max())
    assert 0.1 < worst <= choice.guarantee.epsilon * (1 + 1e-9)
    assert choice.guarantee.adjacency == adjacency


def test_a_monotonic_choice_needs_records_that_are_added():
    with pytest.raises(DPError, match="monotonic"):
        Exponential(epsilon=1, sensitivity=1, adjacency=REPLACE, is_monotonic=True)


@pytest.mark.parametrize(
    "call",
    [
        lambda: epsilon_of_rho(1, delta=1e-5, conversion="nonsense"),
        lambda: RenyiCurve.pure(1, adjacency=ADD).epsilon(1e-5, conversion="nonsense"),
        lambda: exact_epsilon([[0.5, 0.5]] * 2, neighbours="nonsense"),
        lambda: Exponential(epsilon=1, sensitivity=1, adjacency=ADD, kind="nonsense"),
        lambda: belief_bounds(0.5, epsilon=1, about="nonsense"),
    ],
)
def test_an_unknown_word_is_refused_with_the_known_ones(call):
    with pytest.raises(DPError, match="nonsense") as caught:
        call()
    assert caught.value.hint


def test_the_guarantees_of_respondents_and_places_hold_for_all_pairs():
    for design in (
        RandomisedResponse.two_coins(),
        RandomisedResponse.warner(direct=0.7),
        RandomisedResponse.k_ary(4, epsilon=1.3),
    ):
        exact = exact_epsilon(design.transition).epsilon
        assert exact == pytest.approx(design.guarantee.epsilon)
        assert design.guarantee.adjacency == LOCAL
    noise = PlanarLaplace(epsilon=0.5, spacing=1, reach=100)
    assert noise.guarantee.adjacency == Adjacency.DISTANCE
    for make in (count, histogram, lambda a: disjoint([count()], adjacency=a)):
        with pytest.raises(DPError):
            make(Adjacency.DISTANCE)


def sampled_delta(epsilon, *, rate, sigma, first, second):
    """Integrate the delta of a noisy sum to which one record gives, with a chance."""
    grid = np.linspace(-40, 40, 400_001)

    def density(centre):
        bell = np.exp(-((grid - centre) ** 2) / (2 * sigma**2))
        rest = np.exp(-(grid**2) / (2 * sigma**2))
        return (rate * bell + (1 - rate) * rest) / (sigma * math.sqrt(2 * math.pi))

    one, other = density(first), density(second)
    step = grid[1] - grid[0]
    return max(
        float(np.maximum(0, p - math.exp(epsilon) * q).sum() * step)
        for p, q in ((one, other), (other, one))
    )


@pytest.mark.slow
@pytest.mark.parametrize("rate", [1.0, 0.2])
@pytest.mark.parametrize(("adjacency", "second"), [(ADD, 0.0), (ZERO, 0.0), (REPLACE, -1.0)])
def test_the_delta_of_gaussian_noise_on_a_sample_is_that_of_the_integral(
    adjacency, second, rate
):
    """Norm 1: a record that is replaced takes its part of the sum to the opposite."""
    loss = PrivacyLoss.gaussian(1.5, sampling_rate=rate, adjacency=adjacency)
    for epsilon in (0.1, 0.5, 1.0):
        exact = sampled_delta(epsilon, rate=rate, sigma=1.5, first=1.0, second=second)
        assert exact * (1 - 1e-6) <= loss.delta(epsilon) <= exact * 1.01 + 1e-9
    assert loss.guarantee(1e-5).adjacency == adjacency


@pytest.mark.parametrize("adjacency", [ADD, REPLACE, ZERO, LOCAL])
def test_what_composes_keeps_its_adjacency(adjacency):
    pure = Guarantee(epsilon=0.5, adjacency=adjacency)
    for found in (
        basic([pure, pure]),
        concentrated([pure, pure]),
        pure.at(1e-6),
        pure.for_group(2),
        RenyiCurve.pure(0.5, adjacency=adjacency) * 3,
    ):
        assert found.adjacency == adjacency


@pytest.mark.parametrize(
    "make",
    [
        Adjacency,
        count,
        histogram,
        lambda a: counts(2, adjacency=a),
        lambda a: bounded_sum(0, 1, adjacency=a),
        lambda a: mean(0, 1, at_least=3, adjacency=a),
        lambda a: maximum(0, 1, adjacency=a),
        lambda a: disjoint([count()], adjacency=a),
        lambda a: Sensitivity(l1=1, adjacency=a),
        lambda a: Guarantee(epsilon=1, adjacency=a),
        lambda a: parallel([Guarantee(epsilon=1, adjacency=ADD)], adjacency=a),
        lambda a: Exponential(epsilon=1, sensitivity=1, adjacency=a),
        lambda a: RenyiCurve.pure(1, adjacency=a),
        lambda a: RenyiCurve.concentrated(1, adjacency=a),
        lambda a: PrivacyLoss.gaussian(1, adjacency=a),
        lambda a: PrivacyLoss(event=None, adjacency=a),
    ],
)
@pytest.mark.parametrize("adjacency", ["nonsense", "", 1])
def test_unknown_neighbours_are_refused_by_name(make, adjacency):
    with pytest.raises(DPError, match="Unknown adjacency") as caught:
        make(adjacency)
    assert "add-remove" in caught.value.hint
