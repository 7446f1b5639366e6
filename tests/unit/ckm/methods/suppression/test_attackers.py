"""Contributors who attack, alone or with another: random tables, and the cases known of old."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

from ckm.errors import ConfigError
from ckm.methods.suppression import (
    Frequency,
    Percent,
    Primary,
    Problem,
    audit,
    primary_cells,
    suppress,
)
from ckm.methods.suppression.attackers import Attackers, _Side
from ckm.methods.suppression.secondary.cover import Cover
from ckm.methods.suppression.secondary.sequential import protect_in_turn
from tests.unit.ckm.methods.suppression.attack_support import SHAPES, Drawn
from tests.unit.ckm.methods.suppression.suppression_support import Given, with_margins


def drawn(seed):
    trees = SHAPES[seed % len(SHAPES)]
    return Drawn(np.random.default_rng(seed), trees, is_count=seed % 3 == 2)


def check(seed, method="auto"):
    table = drawn(seed)
    found = suppress(table.problem(), method=method, limit_s=5)
    assert table.failures(found.hidden) == []
    assert audit(table.problem(), found.hidden).is_safe
    return found


@pytest.mark.parametrize("seed", [0, 1, 6, 8, 12])
def test_nobody_alone_or_with_another_finds_an_unsafe_cell(seed):
    check(seed)


@pytest.mark.parametrize(
    "first",
    [
        *(pytest.param(first, marks=pytest.mark.slow) for first in range(0, 80, 20)),
        *(pytest.param(first, marks=pytest.mark.long) for first in range(80, 240, 20)),
    ],
)
def test_nobody_finds_an_unsafe_cell_of_many_random_tables(first):
    """240 tables of counts and amounts, one to four dimensions, with hierarchies."""
    n_primary = 0
    for seed in range(first, first + 20):
        found = check(seed, "exact" if seed % 4 == 0 else "sequential")
        n_primary += int(found.problem.primary.is_primary.sum())
    assert n_primary > 100


def is_cheapest(seed, trees, coalition):
    """Every cheaper choice fails against an outsider or a contributor, by other programs."""
    table = Drawn(np.random.default_rng(seed), trees, largest=5)
    found = suppress(table.problem(coalition), method="exact")
    problem, n_cheaper = found.problem, 0
    cells = np.flatnonzero(problem.is_open).tolist()
    assert found.is_optimal
    assert table.failures(found.hidden, coalition) == []
    for size in range(len(cells) + 1):
        for chosen in map(list, itertools.combinations(cells, size)):
            if problem.cost[chosen].sum() < found.cost:
                hidden = problem.must_hide.copy()
                hidden[chosen] = True
                assert table.failures(hidden, coalition), (seed, coalition, chosen)
                n_cheaper += 1
    return n_cheaper


def test_the_exact_choice_is_the_cheapest_that_no_contributor_breaks():
    assert is_cheapest(0, ([-1, 0, 0],) * 2, 1) == 4


@pytest.mark.slow
def test_the_exact_choice_is_the_cheapest_that_contributors_do_not_break_together():
    assert is_cheapest(0, ([-1, 0, 0],) * 2, 2) == 37
    assert is_cheapest(1, ([-1, 0, 0],) * 2, 1) == 20
    assert is_cheapest(3, ([-1, 0, 0],) * 2, 1) == 10


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4, 36, 4))
def test_exact_is_not_dearer_than_sequential_even_if_stopped(seed):
    problem = drawn(seed).problem()
    in_turn = suppress(problem, method="sequential")
    assert suppress(problem, method="exact", limit_s=10).cost <= in_turn.cost


@pytest.mark.slow
def test_the_audit_finds_what_programs_over_all_contributors_find():
    """Patterns for outsiders alone, which contributors break, and those for them."""
    n_broken = 0
    for seed in range(24):
        table = drawn(seed)
        hidden = suppress(table.problem(coalition=seed % 2), method="sequential").hidden
        for coalition in (1, 2):
            failed = {cell for cell, _, _ in table.failures(hidden, coalition)}
            seen = audit(table.problem(coalition), hidden)
            assert {*seen.under_protected, *seen.exposed} == failed, (seed, coalition)
            n_broken += bool(failed)
    assert n_broken > 8


def line_of(*inner, **options):
    """Build a line of cells of some contributions, the total first."""
    every = [[*itertools.chain(*inner)], *inner]
    relations, values = with_margins([sum(parts) for parts in inner])
    primary = primary_cells([Percent(p=10)], amounts=Given.of(*every))
    return Problem(relations=relations, values=values, primary=primary, **options)


def test_two_cells_alone_in_a_line_are_known_to_who_dominates_one_of_them():
    large = [[300.0, 310, 290, 305], [200.0, 210, 190, 205]]
    hidden = np.array([False, True, True, False, False])
    blind, wary = (line_of([1000.0, 1], [500.0, 5], *large, coalition=c) for c in (0, 1))
    # who gave 500 of 505 knows that the other cell is 1,006 at most; and the other way round
    assert audit(blind, hidden).is_safe
    assert audit(wary, hidden).exposed.tolist() == [1, 2]
    found = suppress(wary)
    assert found.audit().is_safe
    assert found.hidden.sum() > 2


def test_what_is_asked_of_a_total_does_not_hold_against_its_largest_contributor():
    """Who gave 1,000 of 1,010 may not tell the 10 within 1, nor the other the 1,000."""
    given = Given.of([1000.0, 10])
    found = primary_cells([Percent(p=10), Frequency(least=3)], amounts=given)
    told = found.contributions
    assert found.upper.tolist() == [101]
    assert told.levels(0, 1000.0) == pytest.approx((1, 1))
    assert told.levels(0, 10.0) == pytest.approx((100, 100))


def test_a_small_cell_beside_a_hidden_grand_total_is_judged_by_its_own_size():
    relations, values = with_margins([[50.0, 60], [1e12, 2e12]])
    lower = np.where(values == 50, 5.0, 0.0)
    primary = Primary(is_primary=lower > 0, lower=lower, upper=lower)
    problem = Problem(relations=relations, values=values, primary=primary)
    seen = audit(problem, np.ones(9, bool))
    assert seen.is_safe
    assert not seen.is_exact.any()
    shown = audit(problem, np.isin(np.arange(9), [0, 1, 2, 4, 6, 7, 8]))
    assert shown.under_protected.tolist() == [4]


def test_levels_of_the_rest_are_not_above_those_of_the_whole():
    rng = np.random.default_rng(4)
    cells = [rng.lognormal(3, 2, int(rng.integers(1, 7))).tolist() for _ in range(300)]
    found = primary_cells([Frequency(least=4), Percent(p=25)], amounts=Given.of(*cells))
    assert (found.contributions.upper <= found.upper + 1e-9).all()
    for cell, parts in enumerate(cells):
        for own in parts:
            rest = sorted(parts, reverse=True)
            rest.remove(own)
            need = 0.25 * max(rest, default=0) - sum(rest) + max(rest, default=0)
            if len(parts) < 4:
                need = max(need, 0.1 * sum(rest))
            if found.is_primary[cell]:
                assert found.contributions.levels(cell, own)[1] >= need - 1e-9


def test_a_pair_that_shares_a_cell_does_not_count_against_it():
    assert suppress(line_of([60.0], [50.0], coalition=2)).audit().is_safe


def signed(seed):
    """Draw a table of amounts of either sign, of which readers know some ends beforehand."""
    rng = np.random.default_rng(seed)
    relations, _ = with_margins(np.ones((3, 4), int))
    inner = np.rint(rng.normal(0, 40, (3, 4)))
    inner[inner == 0] = 1
    wide = np.vstack([inner.sum(axis=0), inner])
    values = np.hstack([wide.sum(axis=1, keepdims=True), wide]).ravel()
    unsafe = (rng.random(20) < 0.2) & (values != 0)
    need = np.where(unsafe, np.ceil(np.abs(values) / 5), 0.0)
    end = np.where(rng.random(20) < 0.5, np.inf, 2 * np.abs(values) + 30)
    primary = Primary(
        is_primary=unsafe, lower=need, upper=need, floor=values - end, ceiling=values + end
    )
    return Problem(relations=relations, values=values, primary=primary)


@pytest.mark.parametrize("method", ["exact", "sequential"])
@pytest.mark.parametrize(
    "seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(3, 40))]
)
def test_amounts_of_either_sign_are_protected_from_what_readers_know_beforehand(seed, method):
    problem = signed(seed)
    found = suppress(problem, method=method)
    assert found.audit().is_safe
    columns = np.flatnonzero(found.hidden)
    matrix = problem.relations.matrix.toarray()[:, columns]
    ends = np.stack([problem.primary.floor, problem.primary.ceiling], axis=1)[columns]
    for cell in np.flatnonzero(problem.primary.is_primary):
        for sign, need in ((1, problem.primary.upper), (-1, problem.primary.lower)):
            goal = -sign * (columns == cell).astype(float)
            right = matrix @ problem.value[columns]
            done = linprog(goal, A_eq=matrix, b_eq=right, bounds=ends)
            moved = np.inf if done.status == 3 else -done.fun - sign * problem.value[cell]
            assert moved >= need[cell] - 1e-6


def test_amounts_of_either_sign_have_no_contributors_who_attack():
    problem = signed(0)
    with pytest.raises(ConfigError, match="coalition is for values that are not negative"):
        replace(problem, coalition=1)


@pytest.mark.parametrize("seed", [3, 5, 14, 17])
def test_who_believes_in_no_change_is_found_for_all_as_for_one_after_another(seed):
    table = Drawn(np.random.default_rng(seed), SHAPES[seed % len(SHAPES)])
    problem = table.problem(coalition=1)
    cover = Cover(problem)
    protect_in_turn(cover)
    attackers, n_found = Attackers(problem), 0
    for cell in np.flatnonzero(problem.primary.is_primary).tolist():
        own = sorted(
            (change for change in cover.changes if cell in change.cells),
            key=lambda change: len(change.cells),
        )
        for sign in (1, -1):
            one_by_one = sorted(_Side(attackers, cell, sign, own).unguarded())
            assert sorted(attackers._groups(cell, sign, own)) == one_by_one
            n_found += len(one_by_one)
    assert n_found
