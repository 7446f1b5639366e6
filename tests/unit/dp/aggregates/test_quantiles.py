"""Quantiles: cells as narrow as their values are small, noise where it is looked at."""

from __future__ import annotations

import itertools

import duckdb
import numpy as np
import pytest
from scipy.stats import binom, chi2

from dp import DPError, Plan, Question, TablePlan
from dp.aggregates import quantiles
from dp.aggregates.quantiles import Cells, Tree
from dp.aggregates.scope import Scope
from tables.contribution_bounds import Reading, _bin_sql
from tests.unit.dp.support import ERROR

SHARES = (0.1, 0.25, 0.5, 0.75, 0.9)
BOUNDS = [(0, 100), (0, 1200), (-700, 900), (250, 5_000), (-5_000, -250), (-3, 0), (0, 1)]


@pytest.mark.parametrize(("low", "high"), BOUNDS)
def test_each_step_is_in_one_cell_which_is_narrow_for_its_values(low, high):
    cells = Cells(low=low, high=high)
    least, largest = cells.ends
    assert (least[0], largest[-1]) == (low, high)
    assert (least[1:] == largest[:-1] + 1).all()
    steps = np.arange(low, high + 1)
    places = cells.places(steps)
    assert ((least[places] <= steps) & (steps <= largest[places])).all()
    widths = largest - least + 1
    nearest = np.minimum(np.abs(least), np.abs(largest))
    assert (widths <= np.maximum(1, nearest / 32)).all()
    assert (widths <= max(1, (high - low + 1) / 256)).all()


def test_the_database_puts_steps_into_the_same_cells():
    cells = Cells(low=-(10**9), high=2**32 - 1)
    edges = np.concatenate(cells.ends)
    steps = np.unique(np.concatenate([edges, np.arange(-70, 70)]))
    reading = Reading(
        column="x", limits=(0, 1), digits=quantiles.DIGITS_OF_CELLS, widest=cells.widest
    )
    rows = duckdb.sql(
        f"SELECT v, ({_bin_sql(reading, 'v')})::BIGINT "
        "FROM (SELECT unnest($v) AS v) ORDER BY v",
        params={"v": steps.tolist()},
    ).fetchall()
    assert [number - cells.first for _, number in rows] == cells.places(steps).tolist()


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
@pytest.mark.parametrize(("groups", "rows"), [(1, 1), (2, 3)])
def test_neighbours_of_every_small_file_move_one_number_a_level(law, groups, rows):
    """All files of one row in six steps, and all that one row more makes of them."""
    asked = Question(kind="quantiles", column="x", lower=0, upper=5, step=1, at=(0.5,))
    scope = Scope(groups=groups, rows=rows, law=law)
    tree = Tree(cells=asked.cells, branches=2, levels=3)
    for one, other in itertools.product(range(6), repeat=2):
        less, more = np.zeros((1, 6), np.int64), np.zeros((1, 6), np.int64)
        less[0, one] += 1
        more[0, one] += 1
        more[0, other] += rows
        pairs = zip(tree.counts_of(less), tree.counts_of(more), strict=True)
        moved = [np.abs(b - a) for a, b in pairs]
        assert [level.sum() for level in moved] == [rows] * tree.levels
    stated = asked.noises(scope, 1.0)["count"].sensitivity
    levels = asked.tree(scope).levels
    assert stated.l1 == groups * rows * levels
    assert stated.l2 == pytest.approx(rows * (groups * levels) ** 0.5)


def amounts(n=100_000):
    drawn = np.exp(np.random.default_rng(1).normal(9.5, 1.3, n))
    return np.round(np.clip(drawn, 0, 10**7), 2)


def asked_of(values, *, epsilon, runs=1, delta=0.0, **words):
    """The answers to a question of some values, drawn so many times."""
    asked = Question(**{"kind": "quantiles", "column": "x", "at": SHARES} | words)
    table = TablePlan(name="t", questions=(asked,))
    made = Plan(unit="id", protects="person", epsilon=epsilon, delta=delta, tables=(table,))
    scope, cost = made.scope(table), made.costs["t", asked.name]
    low, high = asked.steps
    steps = np.clip(np.round(values / asked._step), low, high).astype(np.int64)
    counts = np.bincount(asked.cells.places(steps), minlength=asked.cells.number)
    noise = asked.noises(scope, cost)["count"]
    answers = asked.tree(scope).answer(
        noise, np.tile(counts, (runs, 1)), asked.at, beta=1 - made.confidence
    )
    return made, [part * asked._step for part in answers]


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_amounts_within_bounds_of_a_questionnaire_are_told_to_a_tenth(delta):
    values = amounts()
    _, (found, least, most) = asked_of(values, epsilon=1, delta=delta, lower=0, upper=10**7)
    truth = np.quantile(values, SHARES)
    ranks = [(values <= one).mean() for one in found[0]]
    assert np.abs(np.subtract(ranks, SHARES)).max() < 0.02
    assert ((most - least)[0] < 0.1 * truth).all()
    assert ((least[0] <= truth) & (truth <= most[0])).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("values", "lower", "upper"),
    [
        (amounts(2_000), 0, 10**7),
        (-amounts(2_000), -(10**7), 10**7),
        (np.random.default_rng(3).normal(0, 40, 1_000).round(1), -(10**4), 10**4),
    ],
    ids=["positive", "negative", "both"],
)
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_intervals_hold_the_quantile_as_often_as_they_say(values, lower, upper, delta):
    runs = 250
    made, (_, least, most) = asked_of(
        values, epsilon=1, delta=delta, runs=runs, lower=lower, upper=upper, at=(0.1, 0.5, 0.9)
    )
    truth = np.quantile(values, (0.1, 0.5, 0.9), method="inverted_cdf")
    is_within = (least <= truth + 1e-9) & (truth - 1e-9 <= most)
    assert (is_within.sum(axis=0) >= binom.ppf(ERROR, runs, made.confidence)).all()


def test_noise_that_is_not_looked_at_changes_no_distribution(monkeypatch):
    asked = Question(kind="quantiles", column="x", lower=0, upper=7, step=1, at=(0.3, 0.8))
    noise = asked.noises(Scope(groups=1, rows=1), 1.0)["count"]
    tree = Tree(cells=asked.cells, branches=2, levels=3)
    counts = np.tile(np.array([9, 0, 4, 7, 0, 1, 0, 9]), (3_000, 1))

    def answers():
        value, least, most = tree.answer(noise, counts, asked.at, beta=0.5)
        assert (least <= most).all()
        return np.bincount((value[:, 0] * 8 + value[:, 1]).astype(int), minlength=64)

    lazy = answers()
    monkeypatch.setattr(quantiles, "_open_nodes", lambda _paths, shape: np.ones(shape, bool))
    whole = answers()
    often = lazy + whole >= 20
    pairs = np.stack([lazy[often], whole[often]])
    statistic = ((pairs[0] - pairs[1]) ** 2 / pairs.sum(axis=0)).sum()
    assert often.sum() > 5
    assert statistic < chi2.isf(ERROR, often.sum())


def test_a_plan_tells_how_wide_intervals_are_before_any_data():
    made, _ = asked_of(amounts(100), epsilon=1, lower=0, upper=10**7)
    cells, *shares = made.parts[0].notes
    assert "3.1 per cent of its values at most, or 0.01; none is wider than 20971.5" in cells
    assert len(shares) == len(SHARES)
    assert "0.5, among 1,000 rows: from the quantile 0.4" in shares[2]


@pytest.mark.parametrize(
    ("lower", "upper", "step"),
    [(0, 10**7, 0.01), (0, 100, 1e-3), (-(10**12), 10**12, 1000.0), (0, 10**9, 1.0)],
)
def test_any_bounds_have_a_step_of_their_own(lower, upper, step):
    asked = Question(kind="quantiles", column="x", lower=lower, upper=upper, at=(0.5,))
    assert asked.step == pytest.approx(step)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"lower": 10, "upper": 0}, "rise"),
        ({"lower": 5, "upper": 5}, "rise"),
        ({"lower": 0, "upper": float("inf")}, "a bound"),
        ({"lower": float("nan"), "upper": 1}, "a bound"),
        ({"lower": 0, "upper": 1, "at": (0.0,)}, "at"),
        ({"lower": 0, "upper": 1, "at": (1.5,)}, "at"),
        ({"lower": 0, "upper": 1, "at": (float("nan"),)}, "at"),
    ],
)
def test_bounds_and_levels_that_make_no_sense_are_refused(words, said):
    with pytest.raises(DPError, match=said):
        Question(**{"kind": "quantiles", "column": "x", "at": (0.5,)} | words)
