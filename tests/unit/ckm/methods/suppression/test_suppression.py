"""Cell suppression: rules, relations, the cheapest choice, its proofs and its audit."""

from __future__ import annotations

import itertools
import sys
import time
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from ckm.errors import CheckFailedError, ConfigError
from ckm.methods.suppression import (
    Change,
    Dominance,
    Frequency,
    Grid,
    Percent,
    Primary,
    Problem,
    Relations,
    additive_relations,
    audit,
    primary_cells,
    publish_true_numbers,
)
from ckm.methods.suppression.audit import check_changes
from ckm.methods.suppression.secondary import search
from ckm.methods.suppression.secondary.cover import Cover
from ckm.methods.suppression.secondary.exact import protect_exactly
from ckm.methods.suppression.secondary.merging import merged
from ckm.methods.suppression.secondary.region import Incidence, Region
from ckm.methods.suppression.secondary.reverse_delete import _Choice, reverse_delete
from ckm.methods.suppression.secondary.search import suppress
from ckm.methods.suppression.secondary.sequential import protect_in_turn
from ckm.methods.suppression.secondary.work import PER_SECOND, Work
from risk.reconstruction.program import Program
from tables import (
    CodeTree,
    Hierarchy,
    Request,
    StoredKeys,
    cube,
    open_source,
    record_groups,
)
from tests.unit.ckm.methods.suppression.attack_support import SHAPES, Drawn
from tests.unit.ckm.methods.suppression.suppression_support import (
    INVESTMENTS,
    SENSITIVE,
    Given,
    cheapest,
    interval,
    is_protected,
    with_margins,
)


def needing(values, cell, lower, upper):
    need = np.zeros((2, len(values)))
    need[:, cell] = lower, upper
    return Primary(is_primary=need.any(axis=0), lower=need[0], upper=need[1])


def investments(lower, upper, **options):
    relations, values = with_margins(INVESTMENTS.reshape(4, 4)[1:, 1:])
    assert values.tolist() == INVESTMENTS.tolist()
    return Problem(
        relations=relations,
        values=values,
        primary=needing(values, SENSITIVE, lower, upper),
        **options,
    )


def random_problem(rng, shape, *, singles=False, least=3, mean=3.0, costs="value", kept=0):
    """Draw a table with totals; those over `kept` axes or more are kept."""
    relations, values = with_margins(rng.poisson(mean, shape))
    n_totals = sum(rank == 0 for rank in relations.grids[0].ranks)
    mask = (n_totals >= kept) & (kept > 0)
    return Problem(
        relations=relations,
        values=values,
        primary=primary_cells([Frequency(least=least)], counts=values),
        costs=costs,
        coalition=int(singles),
        kept=mask & (values >= least),
    )


# rules


def test_a_contributor_who_dominates_makes_a_cell_unsafe():
    amounts = Given.of([80.0, 10, 10], [76.0, 12, 12], [75.0, 13, 12])
    found = Dominance(n=1, k=75).on_amounts(amounts)
    assert found.is_primary.tolist() == [True, True, False]
    assert found.upper[0] == pytest.approx(80 / 0.75 - 100)
    # with the upper level added by others, the largest is no longer too large a share
    assert 0.75 * (100 + found.upper[0]) + 1e-9 >= 80


def test_the_second_largest_may_not_tell_the_largest_within_p_percent():
    amounts = Given.of([100.0, 50, 9], [100.0, 50, 10], [100.0], [0.0])
    found = Percent(p=10).on_amounts(amounts)
    assert found.is_primary.tolist() == [True, False, True, False]
    assert found.upper.tolist() == pytest.approx([1, 0, 10, 0])
    assert Percent(p=10, q=50).on_amounts(amounts).upper[0] == pytest.approx(11)


def test_a_cell_of_one_contributor_is_unsafe_and_an_empty_one_is_not():
    amounts = Given.of([], [5.0], [3.0, 2.0], [1.0, 1.0, 1.0])
    found = Frequency(least=3).on_amounts(amounts)
    assert found.is_primary.tolist() == [False, True, True, False]


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_change_proves_of_a_cell_how_far_others_let_it_go(sign):
    relations, values = with_margins([5, 2])
    place, other = (int(np.flatnonzero(values == value)[0]) for value in (5, 2))
    change = Change(cells=np.array([place, other]), moves=np.array([sign, -sign]))
    for need, proven in (((5, 2), [(0, 1), (0, -1)]), ((5, 3), [(0, -1)])):
        primary = needing(values, place, *need)
        cover = Cover(Problem(relations=relations, values=values, primary=primary))
        assert cover.proven_by(change) == proven


def test_a_record_of_weight_two_stands_for_two_contributors():
    amounts = Given.of([60.0, 20, 20])
    amounts.top_weight = np.array([[2.0, 1.0, 1.0]])
    amounts.total = np.array([160.0])
    assert Dominance(n=2, k=70).on_amounts(amounts).is_primary.tolist() == [True]
    assert Dominance(n=1, k=70).on_amounts(amounts).is_primary.tolist() == [False]


def test_rules_together_ask_for_the_most_protection():
    amounts = Given.of([100.0, 1], [50.0, 40, 30, 20])
    both = primary_cells([Frequency(least=3, margin=1), Percent(p=20)], amounts=amounts)
    assert both.is_primary.tolist() == [True, False]
    assert both.upper[0] == pytest.approx(20)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Frequency(least=0),
        lambda: Frequency(least=3, margin=0),
        lambda: Frequency(least=3, margin=float("nan")),
        lambda: Dominance(n=0, k=50),
        lambda: Dominance(n=1, k=100),
        lambda: Percent(p=0),
        lambda: Percent(p=20, q=10),
        lambda: primary_cells([], counts=[1]),
        lambda: primary_cells([Frequency(least=3)]),
        lambda: primary_cells([Percent(p=10)], counts=[1]),
        lambda: primary_cells([Frequency(least=3)], counts=[float("nan")]),
        lambda: primary_cells([Frequency(least=3)], counts=[-1]),
        lambda: primary_cells([Percent(p=10)], amounts=Given.of([float("inf")])),
        lambda: Dominance(n=4, k=50).on_amounts(Given.of([1.0])),
        lambda: Dominance(n=1, k=50).on_amounts(
            Given(np.array([1.0]), np.array([1]), np.array([[-1.0]]), np.ones((1, 1)))
        ),
        lambda: Percent(p=10).on_amounts(
            Given(np.array([1.0]), np.array([2]), np.ones((1, 2)), np.full((1, 2), 0.5))
        ),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(make):
    with pytest.raises(ConfigError):
        make()


# relations

TREE = CodeTree({"all": None, "A": "all", "A1": "A", "A2": "A", "A2x": "A2", "B": "all"})


def made(n=200, seed=4):
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "code": rng.choice(["A1", "A2x", "B"], n, p=[0.1, 0.3, 0.6]),
            "sex": rng.choice(["F", "M"], n),
            "age": rng.choice(["1", "2", "3"], n),
            "key": pa.array(rng.integers(0, 256, n), pa.uint8()),
        }
    )


def tabulated(*requests, **how):
    with open_source(made(**how)) as source:
        return cube(source, StoredKeys(column="key"), list(requests))


def linked(*requests, **how):
    """Tabulate, and find how the tables are linked."""
    cells = tabulated(*requests, **how)
    with open_source(made(**how)) as source:
        groups = record_groups(source, requests, most=10_000)
    return additive_relations(*cells, groups=groups), cells


def test_relations_hold_over_margins_and_a_ragged_tree():
    request = Request(
        dimensions=["code", "sex"],
        hierarchies={"code": Hierarchy(columns=("code",), tree=TREE)},
    )
    (cells,) = tabulated(request)
    relations = additive_relations(cells)
    assert not relations.residuals(cells.count).any()
    # by sex: total, A, A1, A2, A2x, B; along the tree: all, A and A2, for F, M and both
    assert relations.n_relations == 6 + 3 * 3
    sizes = sorted(np.diff(relations.starts).tolist())
    assert sizes == [2] * 3 + [3] * (6 + 3 + 3)


def test_a_level_that_is_not_shown_is_passed_over():
    (cells,) = tabulated(Request(dimensions=["sex", "age"], margins=[["sex", "age"], []]))
    relations = additive_relations(cells)
    assert relations.n_relations == 0 or not relations.residuals(cells.count).any()


def test_linked_tables_share_the_cells_of_their_common_margins():
    relations, (first, second) = linked(
        Request(dimensions=["sex", "age"]), Request(dimensions=["sex", "code"])
    )
    assert relations.n_cells == len(first) + len(second) - 3  # both sexes and the total
    counts = relations.join([first.count, second.count])
    assert not relations.residuals(counts).any()


def test_tables_of_complementary_filters_are_linked_to_that_of_all():
    relations, cells = linked(
        Request(dimensions=["age"]),
        Request(dimensions=["age"], where="sex = 'F'"),
        Request(dimensions=["age"], where="sex = 'M'"),
    )
    alone = [additive_relations(table).n_relations for table in cells]
    assert relations.n_relations == sum(alone) + 3  # all less women are men, age by age
    assert not relations.residuals(relations.join([c.count for c in cells])).any()
    two, _ = linked(Request(dimensions=["age"]), Request(dimensions=["age"], where="sex = 'F'"))
    assert two.n_relations == sum(alone[:2]) + 4  # what is left: men, age by age and in all
    assert len(two.left) == 4


def test_cells_of_the_same_records_are_one_whatever_their_columns_are_called():
    relations, (first, second) = linked(
        Request(dimensions=["sex"], where="age = '1'"),
        Request(dimensions=["age", "sex"], margins="none"),
    )
    shared = set(relations.numbers[0]) & set(relations.numbers[1])
    assert len(shared) == 2
    assert relations.n_cells == len(first) + len(second) - 2


def test_sums_with_weights_other_than_one_are_found():
    """Of three columns, one is the sum of the others: so are the sums of their values."""
    n = 400
    rng = np.random.default_rng(3)
    a, b = rng.integers(1, 5, n), rng.integers(1, 4, n)
    records = pa.table({"a": a, "b": b, "c": a + b, "key": pa.array(range(n))})
    requests = [Request(dimensions=[name]) for name in "abc"]
    with open_source(records) as source:
        cells = cube(source, StoredKeys(column="key", key_range=2**16), requests)
        groups = record_groups(source, requests, most=100)
    relations = additive_relations(*cells, groups=groups)
    assert not relations.residuals(relations.join([c.count for c in cells])).any()
    assert np.linalg.matrix_rank(relations.matrix.toarray()) == 4 + len(relations.left)
    assert np.abs(relations.signs).max() > 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_every_combination_of_cells_follows_from_the_relations(seed):
    """As many relations are independent as cells are, seen as sets of records."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 120))
    region = rng.integers(0, 6, n)
    columns = {
        "region": region,
        "county": rng.integers(0, 3, 6)[region],
        "group": rng.integers(0, 4, 6)[region],
        "sex": rng.integers(0, 2, n),
        "age": rng.integers(0, 4, n),
    }
    records = pa.table(columns | {"key": pa.array(range(n))})
    geo = {"geo": Hierarchy(columns=("county", "region"))}
    requests = []
    for _ in range(int(rng.integers(2, 5))):
        chosen = rng.choice(["geo", "county", "group", "sex", "age"], 2, replace=False).tolist()
        chosen = chosen[: int(rng.integers(1, 3))]
        if {"geo", "county"} <= {*chosen}:
            continue
        where = [None, "sex = 0", "sex = 1", "age > 0", "county = 1"][int(rng.integers(0, 5))]
        requests.append(Request(dimensions=chosen, hierarchies=geo, where=where))
    with open_source(records) as source:
        cells = cube(source, StoredKeys(column="key", key_range=2**16), requests)
        groups = record_groups(source, requests, most=n)
    relations = additive_relations(*cells, groups=groups)
    found = np.zeros((relations.n_cells, len(groups[0][0])))
    for table, number, (is_in, ranks) in zip(cells, relations.numbers, groups, strict=True):
        for row, cell in enumerate(number):
            inside = is_in.copy()
            for axis, rank, own in zip(table.axes, ranks, table.ranks, strict=True):
                inside &= is_or_lies_below(axis, rank, own[row])
            found[cell] = inside
    for left, weight in relations.left:
        found[left[-1]] = -weight[-1] * (weight[:-1] @ found[left[:-1]])
        assert set(found[left[-1]]) == {0, 1}
    assert not (relations.matrix @ found).any()
    rank = np.linalg.matrix_rank(found)
    assert np.linalg.matrix_rank(relations.matrix.toarray()) == relations.n_cells - rank
    assert len(np.unique(found, axis=0)) == relations.n_cells


def is_or_lies_below(axis, ranks, wanted):
    found = np.zeros(len(ranks), bool)
    for level, above in zip(axis.levels, (*axis.levels[1:], None), strict=True):
        found |= ranks == wanted
        if above is not None:
            up = dict(zip(level.ranks.tolist(), above.ranks[level.up].tolist(), strict=True))
            ranks = np.array([up.get(rank, rank) for rank in ranks.tolist()])
    return found


def test_tables_without_the_groups_of_their_records_are_not_linked():
    first, second = tabulated(Request(dimensions=["sex"]), Request(dimensions=["age"]))
    with pytest.raises(ConfigError, match="groups of their records"):
        additive_relations(first, second)
    other = tabulated(Request(dimensions=["sex"]), n=150)[0]
    is_in = np.ones(2, bool)
    with pytest.raises(ConfigError, match="disagree"):
        additive_relations(first, other, groups=[(is_in, (np.array([1, 2]),))] * 2)


def test_a_grid_that_makes_no_sense_is_refused():
    for parents, ranks in (
        ([[0]], [[0]]),  # above itself
        ([[-1, 5]], [[0]]),
        ([[-1]], [[1]]),
        ([[-1]], [[0, 0]]),  # twice
        ([[-1], [-1]], [[0]]),
        ([], []),
        ([[-1] * 2**21] * 3, [[0]] * 3),
    ):
        with pytest.raises(ConfigError):
            Grid(parents=tuple(map(np.array, parents)), ranks=tuple(map(np.array, ranks)))


# the published example


def test_the_interval_of_the_published_example_is_found():
    problem = investments(5, 5)
    hidden = np.isin(np.arange(16), [9, 11, 13, 15])
    found = audit(problem, hidden)
    assert found.low[found.cells == SENSITIVE] == pytest.approx(5)
    assert found.high[found.cells == SENSITIVE] == pytest.approx(30)


def test_the_published_example_has_the_published_optimum():
    found = suppress(investments(17, 8), method="exact")
    assert np.flatnonzero(found.hidden).tolist() == [9, 11, 13, 15]
    assert (found.cost, found.is_optimal) == (37, True)
    assert found.masked().compressed().sum() == INVESTMENTS[~found.hidden].sum()


@pytest.mark.slow
def test_more_protection_costs_more():
    needs, kept = (1, 9, 12, 14), np.isin(np.arange(16), [0, 1, 2, 3, 4, 8, 12])
    problems = [investments(need, need, kept=kept) for need in needs]
    costs = [suppress(problem).cost for problem in problems]
    assert costs == sorted(costs)
    assert costs[0] < costs[-1]
    assert costs == [cheapest(problem) for problem in problems]


# exact


@pytest.mark.parametrize("seed", range(6))
def test_the_exact_method_finds_what_trying_everything_finds(seed):
    rng = np.random.default_rng(10 + seed)
    shape = [(2, 3), (2, 4), (2, 2, 2)][seed % 3]
    tables = (
        random_problem(
            rng,
            shape,
            least=4,
            mean=4,
            singles=seed % 2 == 1,
            costs="one" if seed == 4 else "value",
            kept=1 if len(shape) == 3 else 2,
        )
        for _ in range(50)
    )
    problem = next(table for table in tables if table.primary.is_primary.any())
    assert problem.is_open.sum() <= 14
    best = cheapest(problem)
    assert problem.primary.is_primary.any()
    if np.isinf(best):
        with pytest.raises(CheckFailedError, match="cannot be protected"):
            suppress(problem)
        return
    found = suppress(problem, method="exact")
    assert found.cost == pytest.approx(best)
    assert found.is_optimal
    assert is_protected(problem, found.hidden)


def test_a_search_that_is_out_of_time_keeps_what_protects():
    problem = random_problem(np.random.default_rng(2), (5, 6), mean=4)
    cover = Cover(problem)
    assert not protect_in_turn(cover).size
    work = Work(1e-9)
    work.add(1.0)
    assert reverse_delete(cover, work=work).cost() == cover.cost()
    found, least = protect_exactly(cover, work=work)
    assert found.cost() == cover.cost() > least
    assert is_protected(problem, found.hidden)


@pytest.mark.parametrize("method", ["exact", "sequential"])
def test_the_first_choice_that_meets_every_demand_is_kept_when_time_runs_out(method):
    problem = random_problem(np.random.default_rng(2), (5, 6), mean=4)
    found = suppress(problem, method=method, limit_s=1e-9)
    assert found.audit().is_safe
    assert found.ended_by == "work"
    assert found.cost >= suppress(problem, method=method).cost


def test_a_search_ends_by_the_same_work_and_the_same_choice_on_a_slower_machine(monkeypatch):
    problem = random_problem(np.random.default_rng(3), (9, 9), mean=4)
    limit = suppress(problem, method="sequential").work / PER_SECOND * 0.7
    first = suppress(problem, method="sequential", limit_s=limit)
    asked = Program.least

    def slower(*args, **named):
        time.sleep(1e-4)
        return asked(*args, **named)

    monkeypatch.setattr(Program, "least", slower)
    again = suppress(problem, method="sequential", limit_s=max(limit, 1e-3))
    assert first.ended_by == again.ended_by == "work"
    assert (first.work, first.status.tolist()) == (again.work, again.status.tolist())


def test_auto_improves_a_large_choice_as_long_as_is_worth_it_and_sequential_until_the_end(
    monkeypatch,
):
    problem = random_problem(np.random.default_rng(3), (17, 18), mean=6)
    every = suppress(problem, method="sequential")
    assert every.ended_by is None
    monkeypatch.setattr(search, "IMPROVED", (1e-3, 1e-9))
    part = suppress(problem)
    assert part.ended_by == "share"
    assert part.work < every.work
    assert part.cost >= every.cost
    assert part.audit().is_safe


def test_work_done_apart_is_counted_and_does_not_end():
    work = Work(1.0)
    apart = work.apart()
    apart.add(2 * PER_SECOND)
    assert work.units == apart.units
    assert work.is_over
    assert not apart.is_over


def test_a_share_is_of_the_work_done_and_ends_what_it_does_not_leave_time_for():
    work = Work(9.0)
    assert work.has(99 * PER_SECOND)  # there is no share yet, and limit_s is asked otherwise
    work.add(4 * PER_SECOND)
    work.share(0.5, least_s=1.0)
    assert work.has(1.9 * PER_SECOND)
    assert not work.is_over
    assert not work.has(2.1 * PER_SECOND)
    assert work.ended_by == "share"
    rest = work.rest()
    rest.add(2.9 * PER_SECOND)
    assert not rest.is_over
    rest.add(0.2 * PER_SECOND)
    assert rest.is_over
    assert work.units == rest.units


def test_the_cheapest_change_is_the_same_with_one_column_for_each_free_total():
    """Starting from totals that move with their parts changes no answer."""
    rng = np.random.default_rng(5)
    problem = random_problem(rng, (6, 7), mean=4)
    tried = 0
    for _ in range(6):
        is_free = (rng.random(len(problem.value)) < 0.5) & (problem.value > 0)
        price = np.where(is_free, 0.0, problem.cost + 1.0)
        price[~(problem.is_open | problem.must_hide)] = np.inf
        cells = np.flatnonzero(np.isfinite(price))
        both = [
            Region(problem, problem.demands, Incidence(problem.relations), cells, is_free=free)
            for free in (is_free, None)
        ]
        for number, sign in itertools.product(range(len(problem.demands)), (1, -1)):
            if (problem.demands.upper if sign > 0 else problem.demands.lower)[number] <= 0:
                continue
            found = [region.change(np.array([number]), sign, price) for region in both]
            assert (found[0] is None) == (found[1] is None)
            if found[0] is None:
                continue
            tried += 1
            own = problem.demands.cell[number]
            costs = []
            for change in found:
                move = change.moves[change.cells == own]
                assert move == pytest.approx(sign)
                full = np.zeros(len(problem.value))
                full[change.cells] = change.moves
                assert np.abs(problem.relations.matrix @ full).max() < 1e-6
                costs.append(np.abs(full[cells]) @ price[cells])
            assert costs[0] == pytest.approx(costs[1])
    assert tried > 20


def test_cells_that_are_needed_are_not_tried_again():
    problem = random_problem(np.random.default_rng(1), (5, 6), mean=5)
    cover = Cover(problem)
    assert not protect_in_turn(cover).size
    cover.hidden |= problem.is_open
    assert reverse_delete(cover).cost() < cover.cost()
    assert reverse_delete(cover, needed=cover.hidden).cost() <= cover.cost()
    needed = np.flatnonzero(cover.hidden & ~problem.must_hide)[:3]
    mask = np.isin(np.arange(len(cover.hidden)), needed)
    found = reverse_delete(cover, needed=mask)
    assert check_changes(problem, found.hidden, found.changes).size == 0


def test_what_a_sum_falls_short_of_no_program_meets():
    """A cell that a sum cannot do without, by its parts alone, none of many programs can."""
    n_short = n_other = 0
    for seed in (2, 3, 4, 8, 9):
        table = Drawn(np.random.default_rng(seed), SHAPES[seed % len(SHAPES)])
        problem = suppress(table.problem(coalition=1), method="sequential").problem
        cover = Cover(problem)
        protect_in_turn(cover)
        size = problem.relations.n_cells
        choice = _Choice(cover, size, problem.must_hide, Work())
        assert choice.prove_all()
        for cell in np.flatnonzero(cover.hidden & ~problem.must_hide).tolist():
            choice.hidden[cell] = False
            is_short, sides = choice._is_short(cell), choice.pool.sides_of(cell)
            price = np.where(choice.hidden, problem.cost + 1e-2, np.inf)
            is_met = choice._without(cell, sides, price) is not None
            assert not (is_short and sides and is_met)
            choice.hidden[cell] = True
            n_short, n_other = n_short + is_short, n_other + is_met
    assert n_short > 5
    assert n_other > 5


def test_changes_of_published_cells_or_sums_prove_nothing_among_many():
    problem = investments(5, 5)
    found = suppress(problem)
    published = np.flatnonzero(~found.hidden)[:2]
    hidden = np.flatnonzero(found.hidden)[:2]
    wrong = [
        Change(cells=published, moves=np.array([1.0, -1.0])),
        Change(cells=hidden, moves=np.array([1.0, 1.0])),
    ]
    assert check_changes(problem, found.hidden, wrong).size
    assert not check_changes(problem, found.hidden, [*wrong, *found.changes]).size


def test_a_total_of_one_part_is_hidden_with_it_and_asked_about_once():
    tree = [-1, 0, 0, 0, 1]
    counts = np.array([9, 1, 4, 4, 1])
    problem = Problem(
        relations=Relations.of_grids([Grid.full([tree])], values=counts),
        values=counts,
        primary=primary_cells([Frequency(least=3)], counts=counts),
    )
    smaller = merged(problem)
    assert smaller.of_cell.tolist() == [0, 1, 2, 3, 1]
    assert smaller.problem.relations.n_relations == 1
    found = suppress(problem)
    assert found.hidden.tolist() in [
        [False, True, True, False, True],
        [False, True, False, True, True],
    ]
    assert found.audit().is_safe
    assert not found.unproven().size


def test_cells_are_published_again_until_none_can_be():
    """No cell of what is left is there in vain."""
    costs = []
    for seed in range(4):
        problem = random_problem(np.random.default_rng(seed), (4, 5), mean=5)
        cover = Cover(problem)
        assert not protect_in_turn(cover).size
        cover.hidden |= problem.is_open
        found = reverse_delete(cover)
        assert check_changes(problem, found.hidden, found.changes).size == 0
        for cell in np.flatnonzero(found.hidden & ~problem.must_hide).tolist():
            fewer = found.hidden.copy()
            fewer[cell] = False
            assert not is_protected(problem, fewer)
        costs.append((found.cost(), suppress(problem, method="exact").cost, cover.cost()))
    ours, best, first = np.sum(costs, axis=0)
    assert best <= ours <= 2 * best
    assert ours < first / 2


@pytest.mark.parametrize("method", ["exact", "sequential"])
def test_the_same_problem_has_the_same_answer(method):
    problem = random_problem(np.random.default_rng(5), (5, 6), mean=5)
    first, second = (suppress(problem, method=method) for _ in range(2))
    assert first.status.tolist() == second.status.tolist()


# heuristics


@pytest.mark.parametrize("singles", [False, True])
def test_the_sequential_method_protects_a_table_with_hierarchies(singles):
    trees = [[-1, 0, 0, 1, 1, 1, 2, 2], [-1, 0, 0, 0, 0]]
    relations, values = with_margins(
        np.random.default_rng(8).poisson(4, (5, 4)), [list(t) for t in trees]
    )
    problem = Problem(
        relations=relations,
        values=values,
        primary=primary_cells([Frequency(least=3)], counts=values),
        coalition=int(singles),
    )
    assert problem.primary.is_primary.sum() > 2
    found = suppress(problem, method="sequential")
    assert is_protected(problem, found.hidden)
    assert found.unproven().size == 0
    assert found.cost >= suppress(problem, method="exact").cost - 1e-9


@pytest.mark.parametrize("method", ["exact", "sequential"])
def test_linked_tables_are_protected_together(method):
    relations, (first, second) = linked(
        Request(dimensions=["sex", "age"]), Request(dimensions=["sex", "code"]), n=60
    )
    counts = relations.join([first.count, second.count])
    rare = int(np.flatnonzero(counts == counts[relations.numbers[1]].min())[0])
    margin = int(relations.numbers[0][np.argmax(first.ranks[1] == 0)])
    problem = Problem(
        relations=relations,
        values=counts,
        primary=Primary(
            is_primary=np.isin(np.arange(len(counts)), [rare, margin]),
            lower=np.where(np.isin(np.arange(len(counts)), [rare, margin]), 1.0, 0.0),
            upper=np.where(np.isin(np.arange(len(counts)), [rare, margin]), 2.0, 0.0),
        ),
    )
    found = suppress(problem, method=method)
    assert is_protected(problem, found.hidden)
    tables = [found.masked(table=number) for number in (0, 1)]
    assert [len(table) for table in tables] == [len(first), len(second)]
    # a shared cell is hidden in both or in neither
    place = {int(n): k for k, n in enumerate(relations.numbers[1])}
    for k, number in enumerate(relations.numbers[0].tolist()):
        if number in place:
            assert (
                np.ma.getmaskarray(tables[0])[k] == np.ma.getmaskarray(tables[1])[place[number]]
            )


# what a reader sees


def test_published_cells_are_true_and_hidden_ones_are_not_even_underneath():
    problem = random_problem(np.random.default_rng(1), (4, 5), mean=5)
    found = suppress(problem)
    shown = found.masked()
    assert (shown.compressed() == problem.value[~found.hidden]).all()
    assert not shown.data[found.hidden].any()
    assert "Suppression(" in repr(found)
    assert all(str(v) not in repr(problem) for v in problem.value[problem.value > 99])


def test_the_audit_agrees_with_programs_of_another_solver():
    problem = random_problem(np.random.default_rng(6), (4, 4), mean=6)
    found = suppress(problem)
    seen = found.audit()
    matrix = problem.relations.matrix.toarray()
    for cell, low, high in zip(seen.cells, seen.low, seen.high, strict=True):
        assert interval(matrix, problem.value, found.hidden, cell) == pytest.approx([low, high])
    assert seen.is_safe


def test_the_audit_solves_no_program_for_ends_that_sums_pass_on_and_a_table_attains():
    relations, values = with_margins(np.arange(1, 26).reshape(5, 5))
    none = np.zeros(len(values))
    primary = Primary(is_primary=none > 0, lower=none, upper=none)
    hidden = np.outer(np.arange(6) > 0, np.arange(6) > 0).ravel()
    problem = Problem(relations=relations, values=values, primary=primary)
    assert audit(problem, hidden).n_programs < 12  # of 50 ends; 28 without


@pytest.mark.parametrize("seed", range(4))
def test_an_audit_without_intervals_judges_as_the_one_with_them_does(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    relations, values = with_margins(rng.integers(0, 6, (5, 6)))
    problem = Problem(
        relations=relations,
        values=values,
        primary=primary_cells([Frequency(least=3)], counts=values),
    )
    found = suppress(problem)
    for hidden in (problem.primary.is_primary, found.hidden):
        full = audit(problem, hidden, changes=found.changes)
        monkeypatch.setattr(sys.modules["ckm.methods.suppression.audit"], "MOST_INTERVALS", 0)
        short = audit(problem, hidden, changes=found.changes)
        monkeypatch.undo()
        assert np.isnan(short.low).all()
        assert np.isfinite(full.low).all()
        np.testing.assert_array_equal(short.is_exact, full.is_exact)
        np.testing.assert_array_equal(short.under_protected, full.under_protected)
    assert short.is_safe


def test_the_audit_finds_what_primary_suppression_alone_gives_away():
    relations, values = with_margins([[1, 9, 8], [9, 9, 9]])
    primary = primary_cells([Frequency(least=3)], counts=values)
    problem = Problem(relations=relations, values=values, primary=primary)
    alone = audit(problem, problem.primary.is_primary)
    assert len(alone.under_protected)
    assert alone.is_exact.any()
    assert not alone.is_safe


def test_a_hidden_grand_total_has_no_upper_end():
    relations, values = with_margins([[5, 6], [7, 8]])
    primary = needing(values, 0, 1, 1)
    problem = Problem(relations=relations, values=values, primary=primary)
    seen = audit(problem, np.ones(len(values), bool))
    assert np.isinf(seen.high).all()
    assert (seen.low == 0).all()


def test_a_contributor_alone_in_a_cell_sees_the_other_one_of_two():
    relations, values = with_margins([[1, 2, 30], [20, 20, 20], [20, 20, 20]])
    primary = primary_cells([Frequency(least=3)], counts=values)
    primary = replace(primary, floor=0.0)  # a reader who may take a hidden count for 0
    hidden = np.isin(np.arange(len(values)), np.flatnonzero(primary.is_primary))
    hidden |= np.isin(np.arange(len(values)), [9, 10])
    blind, wary = (
        Problem(relations=relations, values=values, primary=primary, coalition=coalition)
        for coalition in (0, 1)
    )
    assert audit(blind, hidden).is_safe
    # the one knows of the two, and one of the two that they are no 0
    assert audit(wary, hidden).exposed.tolist() == [5, 6]
    found = suppress(wary)
    assert found.audit().is_safe
    assert found.hidden[4:8].sum() >= 3


def test_counts_of_one_beside_published_zeros_are_exact_where_their_total_says_so():
    relations, counts = with_margins([1, 1, 1])
    primary = primary_cells([Frequency(least=3)], counts=counts)
    problem = Problem(relations=relations, values=counts, primary=primary)
    seen = audit(problem, counts == 1)
    assert seen.is_exact.all()
    assert sorted(seen.under_protected) == [1, 2, 3]
    found = suppress(problem)
    assert found.hidden.all()
    assert found.audit().is_safe
    blind = Problem(relations=relations, values=counts, primary=replace(primary, floor=0.0))
    assert not audit(blind, counts == 1).is_exact.any()


def test_a_large_number_elsewhere_does_not_hide_how_near_a_small_one_is_known():
    relations, values = with_margins([[3e9, 5e9], [10.0, 12.0]])
    primary = needing(values, 7, 1e-3, 1e-3)
    problem = Problem(relations=relations, values=values, primary=primary)
    assert audit(problem, np.isin(np.arange(9), [6, 7])).under_protected.tolist() != []


def test_a_cell_with_one_possible_value_fails_however_little_was_asked_for():
    relations, values = with_margins([[10.0, 12.0], [20.0, 30.0]])
    problem = Problem(
        relations=relations, values=values, primary=needing(values, 4, 1e-9, 1e-9)
    )
    assert audit(problem, np.arange(9) == 4).under_protected.tolist() == [4]


def test_a_change_proves_nothing_if_it_moves_a_sum_or_a_published_cell():
    problem = investments(5, 5)
    hidden = np.isin(np.arange(16), [9, 11, 13, 15])
    good = Change(cells=np.array([9, 11, 13, 15]), moves=np.array([-1.0, 1, 1, -1]))
    broken = Change(cells=np.array([9, 11]), moves=np.array([-1.0, 1]))
    assert check_changes(problem, hidden, [good]).size == 0
    assert check_changes(problem, hidden, [broken]).size == 1
    assert check_changes(problem, problem.primary.is_primary, [good]).size == 1


@pytest.mark.parametrize("name", ["t.csv", "t.json", "t.px", "t.parquet"])
def test_a_hidden_number_is_in_no_file(name, tmp_path):
    relations, (first, second) = linked(
        Request(dimensions=["sex", "age"]), Request(dimensions=["sex", "code"]), n=60
    )
    counts = relations.join([first.count, second.count])
    need = np.where(counts == counts.min(), 1.0, 0.0)
    primary = Primary(is_primary=need > 0, lower=need, upper=need)
    problem = Problem(relations=relations, values=counts, primary=primary)
    assert primary.is_primary.any()
    found = suppress(problem)
    for number, cells in enumerate((first, second)):
        shown = publish_true_numbers(cells, found, table=number)
        hidden = np.ma.getmaskarray(shown.measures["count"])
        assert hidden.sum() == found.hidden[relations.numbers[number]].sum()
        kept = cells.count[~found.hidden[relations.numbers[number]]]
        values = np.ma.masked_array(shown.measures["count"]).compressed()
        assert sorted(values.tolist()) == sorted(kept.tolist())
        path = tmp_path / f"{number}{name}"
        shown.write(path)
        assert path.stat().st_size
    with pytest.raises(ConfigError, match="cells, not"):
        publish_true_numbers(first, found, table=1 if len(first) != len(second) else 5)


# bad input


def test_nothing_sensitive_hides_nothing():
    relations, values = with_margins([[5, 6], [7, 8]])
    problem = Problem(
        relations=relations,
        values=values,
        primary=primary_cells([Frequency(least=3)], counts=values),
    )
    for method in ("exact", "sequential"):
        found = suppress(problem, method=method)
        assert not found.hidden.any()
        assert (found.cost, found.gap, found.audit().is_safe) == (0, 0, True)


def test_all_cells_primary_needs_nothing_else():
    relations, values = with_margins([[1, 1], [1, 1]])
    problem = Problem(
        relations=relations,
        values=values,
        primary=primary_cells([Frequency(least=5)], counts=values),
    )
    found = suppress(problem)
    assert found.hidden.all()
    assert found.cost == 0


def test_a_table_of_one_cell_or_none_is_no_trouble():
    for values in ([], [2]):
        grids = [Grid(parents=(np.array([-1]),), ranks=(np.zeros(len(values), np.int64),))]
        counts = np.array(values, np.int64)
        problem = Problem(
            relations=Relations.of_grids(grids, numbers=[np.arange(len(values))]),
            values=counts,
            primary=primary_cells([Frequency(least=3)], counts=counts),
        )
        for method in ("exact", "sequential"):
            found = suppress(problem, method=method)
            assert found.hidden.tolist() == [True] * len(values)
            assert found.audit().is_safe


def test_a_single_line_is_protected_or_the_reason_is_given():
    relations, values = with_margins([[1, 9, 8]])
    problem = Problem(
        relations=relations,
        values=values,
        primary=primary_cells([Frequency(least=3)], counts=values),
    )
    assert suppress(problem).audit().is_safe
    kept = ~problem.primary.is_primary
    with pytest.raises(CheckFailedError, match="2 primary cells cannot be protected"):
        suppress(
            Problem(relations=relations, values=values, primary=problem.primary, kept=kept)
        )


def test_a_problem_names_everything_that_is_wrong_with_it():
    relations, values = with_margins([[5, 6], [7, 8]])
    primary = needing(values, 4, 1, 1)

    def build(**changes):
        given = {"relations": relations, "values": values, "primary": primary}
        return Problem(**(given | changes))

    with pytest.raises(ConfigError, match=r"values must not be negative; costs must be one"):
        build(values=-values, costs=[1])
    for changes, words in (
        ({"values": values + 0.5}, "not the sum of their parts, such as cell 0 and"),
        ({"values": values * np.nan}, "finite"),
        ({"values": values[1:]}, "one number for each"),
        ({"values": values.astype(str)}, "finite"),
        ({"costs": "weight"}, "'value', 'one'"),
        ({"costs": -values}, "costs must not be negative"),
        ({"kept": np.ones(len(values), bool)}, "both primary and kept"),
        ({"kept": [1]}, "true or false"),
        ({"coalition": 3}, "coalition must be 0, 1 or 2"),
        ({"primary": needing(values, 4, np.nan, 1)}, "finite and not negative"),
        ({"primary": needing(values, 4, 1, np.inf)}, "finite and not negative"),
        ({"primary": needing(values, 4, -1, 1)}, "finite and not negative"),
        ({"primary": needing(values[1:], 2, 1, 1)}, "one entry for each cell"),
        ({"primary": replace(primary, floor=np.nan)}, "floor must be one number"),
        ({"primary": replace(primary, ceiling=6.0)}, "none below it"),
        ({"primary": replace(primary, floor=6.0)}, "floor must not be above"),
        ({"unseen": values}, "true or false"),
    ):
        with pytest.raises(ConfigError, match=words):
            build(**changes)


def test_a_method_or_a_limit_that_makes_no_sense_is_refused():
    problem = investments(5, 5)
    with pytest.raises(ConfigError, match="method must be"):
        suppress(problem, method="magic")
    with pytest.raises(ConfigError, match="limit_s must be above 0"):
        suppress(problem, limit_s=float("nan"))
    with pytest.raises(ConfigError, match="not hidden"):
        audit(problem, np.zeros(16, bool))
    with pytest.raises(ConfigError, match="one value"):
        suppress(problem).masked([1, 2])
    with pytest.raises(ConfigError, match="17 entries for 16 cells"):
        audit(problem, np.ones(17, bool))
    with pytest.raises(ConfigError, match="a cell that is not there"):
        replace(problem.relations, cells=problem.relations.cells + 1)


def test_amounts_of_any_size_are_protected():
    for factor in (1e-6, 1.0, 1e9):
        relations, values = with_margins(INVESTMENTS.reshape(4, 4)[1:, 1:])
        problem = Problem(
            relations=Relations.of_grids(relations.grids),
            values=values * factor,
            primary=needing(values, SENSITIVE, 17 * factor, 8 * factor),
        )
        found = suppress(problem)
        assert found.cost == pytest.approx(37 * factor)
        assert found.audit().is_safe
