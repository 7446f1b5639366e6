"""Attacks that put many counts together. Error rates: one comparison in 370; seeds are fixed.

Cells of one line are attacked with the same counts and are not independent; where a rate pools
them, its standard error is taken from the spread between lines.
"""

import math

import numpy as np
import pytest

from risk.attacks import (
    GeographicDifferencing,
    LinearReconstruction,
    SimulatedOracle,
    SmallCell,
    SubsetSums,
)
from risk.attacks.reconstruction.linear import least_squares, rebuild_counts
from risk.errors import RiskError
from tests.unit.risk.attacks.support import SETTINGS, agrees, r_table


def simulated(table, counts, *, seed, **options):
    return SimulatedOracle(table, counts, rng=np.random.default_rng(seed), **options)


# --- geographic differencing --------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("measure", ["seen", "exact"])
def test_slivers_are_told_as_often_as_computed(setting, measure):
    table, n = r_table(*setting), 3000
    rng = np.random.default_rng(101)
    counts = np.column_stack([rng.integers(1, 40, n), rng.integers(0, 4, n)])
    attack = GeographicDifferencing(measure=measure)
    result = attack.run(simulated(table, counts, seed=102), truth=counts[:, 1])
    assert result.trials == (counts[:, 1] > 0).sum()
    assert agrees(result.rate, attack.closed_form(table, counts=counts), trials=result.trials)


@pytest.mark.slow
@pytest.mark.parametrize("parts", [[30, 40, 50], [1, 0, 9], [0, 0, 0]])
def test_several_parts_tell_a_sliver_as_often_as_computed(parts):
    table, n = r_table(5, 3), 3000
    counts = np.tile([*parts, 2], (n, 1))
    attack = GeographicDifferencing(n_parts=3, measure="exact")
    result = attack.run(simulated(table, counts, seed=103), truth=counts[:, -1])
    assert agrees(result.rate, attack.closed_form(table, counts=counts), trials=n)
    if min(parts) > 5:
        large = attack.closed_form(table, sliver=2)
        assert attack.closed_form(table, counts=counts) == pytest.approx(large, rel=1e-9)


def test_an_empty_sliver_is_never_seen_and_is_no_target():
    counts = np.tile([[30, 0], [30, 1]], (200, 1))
    oracle = simulated(r_table(5, 3), counts, seed=104)
    result = GeographicDifferencing().run(oracle, truth=counts[:, 1])
    assert result.trials == 200
    assert result.queries == 800
    empty = simulated(r_table(8, 4), np.tile([30, 0], (500, 1)), seed=105)
    lied = GeographicDifferencing().run(empty, truth=[1] * 500)
    assert lied.successes == 0


def test_more_noise_shows_more_slivers_but_hides_their_count():
    seen = [GeographicDifferencing().closed_form(r_table(*s)) for s in SETTINGS]
    exact = GeographicDifferencing(measure="exact")
    told = [exact.closed_form(r_table(*s)) for s in SETTINGS]
    assert seen == sorted(seen)
    assert told == sorted(told, reverse=True)
    p = r_table(5, 3).units(5)
    squares = sum((n / r_table(5, 3).key_range) ** 2 for n in p.values())
    assert exact.closed_form(r_table(5, 3)) == pytest.approx(squares, rel=1e-12)


def test_zones_refuse_what_they_cannot_do():
    with pytest.raises(RiskError, match="proves nothing"):
        GeographicDifferencing(n_parts=2)
    with pytest.raises(RiskError, match="'seen' or 'exact'"):
        GeographicDifferencing(measure="guess")
    with pytest.raises(RiskError, match="not empty"):
        GeographicDifferencing().run(lambda _: [1, 2], truth=[0, 0])
    with pytest.raises(RiskError, match="not empty"):
        GeographicDifferencing().closed_form(r_table(2, 1), counts=[[4, 0]])
    missed = GeographicDifferencing().run(lambda _: [3, None], truth=[1])
    assert (missed.successes, missed.queries, missed.refused) == (0, 2, 1)


# --- linear reconstruction ----------------------------------------------------------------


def hits_by_line(attack, oracle_of, lines, **options):
    """Run line by line, to see how hits spread."""
    return np.array(
        [
            attack.run(oracle_of(n), truth=lines[n : n + 1], **options).rate
            for n in range(len(lines))
        ]
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("setting", "counts"),
    [
        ((2, 1), [30, 40, 50, 60, 70]),
        ((5, 3), [30, 40, 50, 60, 70]),
        ((5, 3), [1, 2, 3, 1]),
        ((2, 1), [0, 1, 0, 9]),
        ((5, 3), [2, 0, 40, 1]),
        ((2, 1), [3, 4]),
    ],
)
def test_categories_are_found_as_often_as_computed(setting, counts):
    table, n = r_table(*setting), 500
    attack = LinearReconstruction(n_categories=len(counts))
    lines = np.tile(counts, (n, 1))
    oracles = [simulated(table, lines[:1], seed=1000 + k) for k in range(n)]
    shares = hits_by_line(attack, oracles.__getitem__, lines)
    error = shares.std(ddof=1) / math.sqrt(n)
    expected = attack.closed_form(table, counts=counts)
    assert abs(shares.mean() - expected) <= 3 * error
    if min(counts) >= 30:
        assert expected == pytest.approx(attack.closed_form(table), abs=1e-12)


def test_the_estimate_has_the_variance_of_the_notes():
    m = 5
    groups = LinearReconstruction(n_categories=m).groups
    asked = np.array([[place in group for place in range(m)] for group in groups], float)
    covariance = np.linalg.inv(asked.T @ asked)
    assert np.diag(covariance) == pytest.approx([m / (2 ** (m - 2) * (m + 1))] * m)
    weights = covariance @ asked.T * 2 ** (m - 2) * (m + 1)
    by_hand = [[(m + 1) * (c in g) - len(g) for g in groups] for c in range(m)]
    assert weights == pytest.approx(np.array(by_hand))


@pytest.mark.parametrize("setting", [(2, 1), (5, 3)])
def test_least_squares_beat_two_averages(setting):
    table = r_table(*setting)
    for m in range(3, 8):
        best = LinearReconstruction(n_categories=m).closed_form(table)
        assert best > SmallCell(n_categories=m).closed_form(table)


def test_refused_groups_are_left_out_of_the_least_squares():
    counts = [[20, 30, 40]]

    def oracle(request):
        exact = [sum(counts[0][place] for place in group) for group in request.groups]
        return [None if len(g) == 1 else n for g, n in zip(request.groups, exact, strict=True)]

    result = LinearReconstruction(n_categories=3).run(oracle, truth=counts)
    assert (result.successes, result.queries, result.refused) == (3, 7, 3)
    silent = LinearReconstruction(n_categories=3).run(lambda _: None, truth=counts)
    assert (silent.successes, silent.trials, silent.refused) == (0, 3, 7)


def test_halves_go_up_and_nothing_falls_below_zero():
    assert rebuild_counts([[1], [1]], [2, 3]).tolist() == [3]
    assert rebuild_counts([[1]], [-4]).tolist() == [0]
    with pytest.raises(RiskError, match="finite"):
        least_squares([[1.0, 0.0]], [np.nan])
    with pytest.raises(RiskError, match="one row of numbers per answer"):
        least_squares([[1, 0]], [None])


# --- subset sums --------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("method", ["least-squares", "linear-program"])
def test_bits_are_rebuilt_as_well_as_the_theory_says(method):
    table, n = r_table(5, 3), 24
    rng = np.random.default_rng(111)
    bits = rng.integers(0, 2, (n, 60))
    attack = SubsetSums(n_people=60, n_queries=180, method=method)
    oracles = [simulated(table, bits[k : k + 1], seed=2000 + k) for k in range(n)]
    shares = hits_by_line(attack, oracles.__getitem__, bits, rng=rng)
    error = shares.std(ddof=1) / math.sqrt(n)
    theory = SubsetSums(n_people=60, n_queries=180).closed_form(table)
    if method == "least-squares":  # an approximation, good to about a percent
        assert abs(shares.mean() - theory) <= 3 * error + 0.01
    else:
        assert shares.mean() > theory - 0.02
        with pytest.raises(RiskError, match="least-squares"):
            attack.closed_form(table)


def test_a_limit_on_queries_stops_what_noise_does_not():
    bits = np.random.default_rng(112).integers(0, 2, (1, 80))
    attack = SubsetSums(n_people=80, n_queries=400)
    free = attack.run(
        simulated(r_table(5, 3), bits, seed=113), truth=bits, rng=np.random.default_rng(1)
    )
    limited = attack.run(
        simulated(r_table(5, 3), bits, seed=113, most_queries=40),
        truth=bits,
        rng=np.random.default_rng(1),
    )
    assert free.rate > 0.98
    assert limited.rate < 0.85
    assert (limited.queries, limited.refused) == (400, 360)
    with pytest.raises(RiskError, match="bits"):
        attack.run(lambda _: None, truth=[[2] * 80], rng=np.random.default_rng(1))
