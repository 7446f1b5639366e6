"""Intervals of ratios and differences hold the original figure as often as they say."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from ptable import NoiseSpec, PTable, solve
from risk import RiskError, count_intervals, published_law
from tests.results import require_fixed
from tests.unit.risk.inference.support import TABLE, row_of, transition

PAIRS = [(0, 5), (2, 2), (5, 20), (20, 20), (0, 1)]
#: Another p-table in twelfths, whose noise is wider and lopsided.
OTHER = PTable.from_units([{0: 12}, {-1: 6, 1: 6}, {-2: 3, 0: 6, 3: 3}], key_range=12)


def tables():
    return [
        solve(NoiseSpec(max_noise=5, variance=3.0, small=2)),
        solve(NoiseSpec(max_noise=2, variance=1.0)),
    ]


# --- by exact fractions -------------------------------------------------------------------


def originals_of(published, table):
    return [i for i in range(published + 4) if transition(i, published, table)]


def figure_of(a, b, figure):
    return Fraction(a, b) if figure == "ratio" else Fraction(a - b)


def span(pair, level, *, figure, part=False, both=(TABLE, TABLE)):
    """Test all pairs of originals one by one, and give the ends of the figures that stay."""
    kept = []
    for a, b in product(*map(originals_of, pair, both)):
        if (part and a > b) or (figure == "ratio" and not b):
            continue
        slope = figure_of(a, b, figure) if figure == "ratio" else 1
        seen = abs((pair[0] - a) - slope * (pair[1] - b))
        rows = product(row_of(a, both[0]).items(), row_of(b, both[1]).items())
        tail = sum(p * q for (v, p), (w, q) in rows if abs(v - slope * w) >= seen)
        if tail > 1 - level:
            kept.append(figure_of(a, b, figure))
    return (float(min(kept)), float(max(kept))) if kept else (np.nan, np.nan)


def span_of_each(pair, level, *, figure, part=False):
    """Test each original by itself, at half the error."""
    sides = [
        [
            i
            for i in originals_of(seen, TABLE)
            if sum(p for v, p in row_of(i).items() if abs(v) >= abs(seen - i)) > (1 - level) / 2
        ]
        for seen in pair
    ]
    kept = [
        figure_of(a, b, figure)
        for a, b in product(*sides)
        if not (part and a > b) and (figure != "ratio" or b)
    ]
    return (float(min(kept)), float(max(kept))) if kept else (np.nan, np.nan)


SEEN = [(0, 3), (1, 2), (2, 1), (3, 3), (4, 0), (0, 0), (5, 9), (9, 5), (11, 13), (11, 1)]
#: Tails are multiples of 1/144 and of 1/12: some of these levels are met exactly.
LEVELS = [Fraction(95, 100), Fraction(3, 4), Fraction(5, 6), Fraction(1, 2), Fraction(1, 20)]


def check(found, wanted, figure):
    for place, (pair, ends) in enumerate(zip(SEEN, wanted, strict=True)):
        assert [found.lower[place], found.upper[place]] == pytest.approx(ends, nan_ok=True), (
            pair
        )
        has_one = not np.isnan(ends[0]) and (figure == "difference" or pair[1])
        number = float(figure_of(*pair, figure)) if has_one else np.nan
        assert found.figure[place] == pytest.approx(number, nan_ok=True)


@pytest.mark.parametrize("figure", ["ratio", "difference"])
@pytest.mark.parametrize("part", [False, True])
@pytest.mark.parametrize("level", LEVELS)
def test_ends_are_those_of_exact_fractions(figure, part, level):
    first, second = np.array(SEEN).T
    options = {"figure": figure, "part": part}
    found = count_intervals((TABLE, TABLE), first, second, level=float(level), **options)
    assert found.level == float(level)
    wanted = [
        span(pair, level, **options) if figure == "difference" or pair[1] else (np.nan, np.nan)
        for pair in SEEN
    ]
    check(found, wanted, figure)
    found = count_intervals(
        (TABLE, TABLE), first, second, level=float(level), independent=False, **options
    )
    wanted = [
        span_of_each(pair, level, **options)
        if figure == "difference" or pair[1]
        else (np.nan, np.nan)
        for pair in SEEN
    ]
    check(found, wanted, figure)


@pytest.mark.parametrize("figure", ["ratio", "difference"])
def test_each_count_has_the_p_table_of_its_side(figure):
    pairs = [(1, 3), (3, 1), (3, 5), (5, 3)]
    first, second = np.array(pairs).T
    every = product(((TABLE, OTHER), (OTHER, TABLE), (OTHER, OTHER)), LEVELS[:3])
    for both, level in every:
        found = count_intervals(both, first, second, figure=figure, level=float(level))
        wanted = [span(pair, level, figure=figure, both=both) for pair in pairs]
        assert found.lower == pytest.approx([low for low, _ in wanted])
        assert found.upper == pytest.approx([high for _, high in wanted])


def test_pairs_come_back_in_their_order_however_often():
    pairs = [(3, 3), (1, 2), (3, 3), (11, 13), (1, 2)]
    found = count_intervals((TABLE, TABLE), *np.array(pairs).T)
    assert found.figure == pytest.approx([1, 0.5, 1, 11 / 13, 0.5])
    for line in (found.lower, found.upper):
        assert line[0] == line[2]
        assert line[1] == line[4]
    alone = count_intervals((TABLE, TABLE), [11], [13])
    assert (alone.lower[0], alone.upper[0]) == (found.lower[3], found.upper[3])
    assert alone.level == 0.95
    none = count_intervals((TABLE, TABLE), [], [])
    assert none.figure.shape == none.lower.shape == (0,)


# --- as often as they say -----------------------------------------------------------------


def drawn(table, first, second):
    """Give every pair of published counts with its probability, noises independent."""
    one, two = published_law(table, first), published_law(table, second)
    left, right = np.meshgrid(one.numbers, two.numbers, indexing="ij")
    chances = np.outer(one.probabilities, two.probabilities)
    kept = chances > 0
    return left[kept], right[kept], chances[kept]


@pytest.mark.parametrize("figure", ["ratio", "difference"])
def test_the_original_figure_is_held_at_least_as_often_as_stated(figure):
    for table in tables():
        for pair in PAIRS:
            left, right, chances = drawn(table, *pair)
            found = count_intervals(
                (table, table), left, right, figure=figure, level=0.9, part=pair[0] <= pair[1]
            )
            true = pair[0] / pair[1] if figure == "ratio" else pair[0] - pair[1]
            is_held = (found.lower - 1e-9 <= true) & (true <= found.upper + 1e-9)
            missed = chances[~is_held & ~np.isnan(found.figure)].sum()
            assert missed <= 0.1 + 1e-9, (pair, missed)


@pytest.mark.parametrize("figure", ["ratio", "difference"])
def test_intervals_for_any_dependence_hold_where_two_noises_are_opposite(figure):
    """One key decides both noises: the second is drawn from the other end of its row."""
    table = tables()[0]
    for first, second in PAIRS[2:4]:
        keys = (np.arange(2_000) + 0.5) / 2_000 * 2**32
        left = first + table.lookup(np.full(2_000, first), keys.astype(np.uint32))
        other = (2**32 - 1 - keys).astype(np.uint32)
        right = second + table.lookup(np.full(2_000, second), other)
        found = count_intervals((table, table), left, right, figure=figure, independent=False)
        true = first / second if figure == "ratio" else first - second
        is_held = (found.lower - 1e-9 <= true) & (true <= found.upper + 1e-9)
        assert np.mean(~is_held & ~np.isnan(found.figure)) <= 0.05


def test_an_interval_is_no_longer_than_the_noise_needs():
    table = solve(NoiseSpec(max_noise=5, variance=3.0))
    found = count_intervals((table, table), [100], [100], figure="difference")
    assert (found.lower[0], found.upper[0]) == (-5, 5), (
        "P(|v - w| > 5) is 0.025, of 4 it is 0.06"
    )
    part = count_intervals((table, table), [99], [100], part=True)
    assert part.upper[0] == 1, "a part is no larger than the whole"


def test_counts_that_cannot_be_published_and_other_figures_are_refused():
    table = tables()[0]
    for pair in ([1], [10]), ([10], [2]), ([10, 10], [10, 1]):
        with pytest.raises(RiskError, match="never publishes"):
            count_intervals((table, table), *pair)
    with pytest.raises(RiskError, match="two aligned lists"):
        count_intervals((table, table), [5, 6], [10])
    for level in (-0.1, 1.01, np.nan):
        with pytest.raises(RiskError, match="level must be"):
            count_intervals((table, table), [5], [10], level=level)
    with pytest.raises(RiskError, match="a ratio or a difference"):
        count_intervals((table, table), [5], [10], figure="sum")


def test_intervals_cannot_be_changed_and_show_no_figure():
    found = count_intervals((TABLE, TABLE), [3], [4])
    require_fixed(found)
    assert found != count_intervals((TABLE, TABLE), [3], [4]), "arrays are not compared"
    assert "array" not in repr(found)
