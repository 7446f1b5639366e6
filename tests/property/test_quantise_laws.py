"""Quantised rows beside every other way to spread few keys, tried one by one."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from ptable import NoiseSpec, PTable, PTableError
from ptable.quantisation.quantise import quantise
from ptable.quantisation.row_keys import goal_of_row, keys_of_row
from ptable.solver.integer.integers import Program
from ptable.solver.least_cost import least_cost
from tests.every_way import allowed, divergence, entropy, every_way, least_drift
from tests.strategies import examples

_NOTHING = "too few for the constraints"


@st.composite
def rows(draw):
    """Draw a row with any of the constraints there are, and some law in its reach."""
    max_noise = draw(st.integers(1, 3))
    small = draw(st.integers(0, max_noise - 1))
    spec = (
        NoiseSpec(
            max_noise=max_noise,
            variance=draw(
                st.sampled_from([0.1, 0.5, 0.75, 1.0, 1.1, 4 / 3, 1.5, 2.0, 2.9, 4.0]).filter(
                    lambda variance: variance <= max_noise**2
                )
            ),
            small=small,
            monotone=draw(st.sampled_from(["none", "left", "both", "unimodal"])),
            symmetric=draw(st.booleans()),
            variance_rule=draw(st.sampled_from(["exact", "at-most", "nearest"])),
            p_stay=draw(st.sampled_from([None, 0.25, 0.3, 0.5, 0.9])),
            p_stay_rule=draw(st.sampled_from(["exact", "at-least", "at-most"])),
            min_probability=draw(st.sampled_from([0.0, 1e-8, 0.05, 0.1])),
        )
        if max_noise < 3 or draw(st.booleans())
        else NoiseSpec(max_noise=3, variance=1.0)
    )
    count = draw(st.integers(1, spec.last_count))
    noise = spec.row(count).noise
    weights = draw(st.lists(st.integers(0, 9), min_size=len(noise), max_size=len(noise)))
    assume(sum(weights))
    return spec, count, dict(zip(noise, weights, strict=True))


def _table(spec, count, units):
    total = sum(units.values())
    last = 1 if spec is None else spec.last_count
    every = [{0: total}] + [
        units if n == count else {0: total} for n in range(1, max(last, count) + 1)
    ]
    return PTable.from_units(every, key_range=total).with_proof(spec, None)


@pytest.mark.slow
@settings(max_examples=examples(150))
@given(rows(), st.integers(2, 12))
@example(
    (
        NoiseSpec(
            max_noise=2, variance=4.0, p_stay=0.25, p_stay_rule="at-least", symmetric=True
        ),
        1,
        {-1: 0, 0: 0, 1: 2},
    ),
    2,
)
def test_no_other_keys_drift_less_or_have_more_entropy(row, total):
    spec, count, units = row
    assume(sum(units.values()) > 1)
    problem = spec.row(count)
    assume(math.comb(total + len(problem.noise) - 1, len(problem.noise) - 1) < 30_000)
    goal = goal_of_row(_table(spec, count, units), count, total=total)
    ways = allowed(goal.problem, total)
    if not len(ways):
        with pytest.raises(PTableError, match=_NOTHING):
            keys_of_row(goal, keep_symmetry=False, most_nodes=10_000)
        return
    least, best = least_drift(goal, ways)
    found = keys_of_row(goal, keep_symmetry=False, most_nodes=10_000)
    assert found.is_least
    assert found.gap == 0
    assert found.drift == least
    assert (best == found.units).all(axis=1).any()
    assert entropy(found.units) >= max(map(entropy, best.tolist())) - 1e-7
    mirrored = keys_of_row(goal, keep_symmetry=True, most_nodes=10_000)
    assert mirrored.drift == least
    alike = best[(best == best[:, ::-1]).all(axis=1)]
    if goal.is_mirrored and len(alike):
        assert mirrored.units == mirrored.units[::-1]
        assert entropy(mirrored.units) >= max(map(entropy, alike.tolist())) - 1e-7
    else:
        assert mirrored.units == found.units


@pytest.mark.slow
@settings(max_examples=examples(150))
@given(
    st.dictionaries(st.integers(-3, 4), st.integers(1, 50), min_size=1, max_size=5),
    st.integers(2, 12),
)
@example({-2: 1, 0: 5, 3: 4}, 9)
@example({-3: 1, 3: 1}, 3)
def test_no_other_keys_are_nearer_to_a_table_from_elsewhere(units, total):
    assume(sum(units.values()) > 1)
    goal = goal_of_row(_table(None, 3, units), 3, total=total)
    least, best = least_drift(goal, every_way(len(goal.problem.noise), total))
    found = keys_of_row(goal, keep_symmetry=False, most_nodes=10_000)
    assert found.is_least
    assert found.drift == least
    nearest = min(divergence(way, goal.law) for way in best.tolist())
    assert divergence(found.units, goal.law) <= nearest + 1e-7


@settings(max_examples=examples(40))
@given(
    st.lists(st.integers(1, 400), min_size=4, max_size=11),
    st.integers(0, 4),
    st.sampled_from([7, 16, 100, 255, 256, 1000]),
)
def test_a_table_that_has_the_keys_already_stays_as_it_is(weights, lowest, total):
    units = {v - lowest: n for v, n in enumerate(weights)}
    table = _table(None, 5, units)
    assert quantise(table, table.key_range, keep_symmetry=False).table == table
    answer = quantise(table, total, keep_symmetry=False)
    assert set(answer.table.units(5)) <= set(units)
    assert sum(answer.table.units(5).values()) == total
    row = answer.rows[5]
    ours, theirs = answer.table.units(5), table.units(5)
    mean = Fraction(sum(v * n for v, n in ours.items()), total)
    wanted = Fraction(sum(v * n for v, n in theirs.items()), table.key_range)
    assert row.mean_drift == mean - wanted
    assert abs(row.mean_drift) <= Fraction(1, 2 * total) or not row.is_exact
    again = quantise(answer.table, total, keep_symmetry=False)
    assert again.table == answer.table
    assert again.is_exact


@settings(max_examples=examples(150))
@given(
    st.lists(
        st.tuples(st.integers(-6, 6), st.integers(-4, 4), st.floats(-2, 2)),
        min_size=1,
        max_size=4,
    ),
    st.integers(-12, 12),
    st.integers(-12, 12),
)
def test_the_least_cost_is_the_least_of_all(numbers, goal, other):
    n_most = 6
    program = Program(
        costs=tuple(
            (lambda n, a=a: (n - a) ** 2 + 0.3 * abs(n - 2 * a)) for _, _, a in numbers
        ),
        rows=(tuple(a for a, _, _ in numbers), tuple(b for _, b, _ in numbers)),
        goals=(goal, other),
        lower=(0,) * len(numbers),
        upper=(n_most,) * len(numbers),
        near=(n_most,) * len(numbers),
    )
    every = np.indices((n_most + 1,) * len(numbers)).reshape(len(numbers), -1).T.tolist()
    costs = [program.cost(way) for way in every if not program.misses(way)]
    answer = least_cost(program, most_nodes=10_000)
    assert answer.is_finished
    if costs:
        assert answer.cost == pytest.approx(min(costs), abs=1e-6)
        assert not program.misses(answer.numbers)
    else:
        assert answer.numbers is None
