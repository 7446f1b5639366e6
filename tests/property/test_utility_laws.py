"""Laws of the measures of utility."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from risk.utility import (
    Pairs,
    additivity,
    assess_utility,
    deviations,
    distances,
    distributions,
    noise_distribution,
    summaries,
    zeros,
)

counts = st.integers(0, 60) | st.integers(0, 2**40)
cells = st.lists(st.tuples(counts, st.integers(-9, 9)), max_size=40).map(
    lambda drawn: [(count, max(count + noise, 0)) for count, noise in drawn]
)


def paired(drawn):
    array = np.array(drawn, dtype=np.int64).reshape(-1, 2)
    return Pairs(original=array[:, 0], published=array[:, 1])


def values(measures):
    return {m.name: m.value for m in measures}


@given(cells)
def test_every_measure_is_a_finite_number_or_has_a_reason(drawn):
    pairs = paired(drawn)
    found = assess_utility(pairs.o, pairs.p)
    for entry in found.entries:
        measure = entry.measure
        assert (measure.value is None) == bool(measure.reason)
        assert measure.value is None or math.isfinite(measure.value)
        assert 0 <= measure.base <= pairs.n_cells
        assert measure.definition
        assert measure.unit


@given(cells, st.randoms(use_true_random=False))
def test_the_order_of_the_cells_does_not_matter(drawn, random):
    mixed = list(drawn)
    random.shuffle(mixed)
    before, after = paired(drawn), paired(mixed)
    left, right = (assess_utility(some.o, some.p).entries for some in (before, after))
    for entry, other in zip(left, right, strict=True):
        assert (entry.cells, entry.measure.name) == (other.cells, other.measure.name)
        assert entry.measure.reason == other.measure.reason
        if entry.measure.value is not None:
            wanted = pytest.approx(other.measure.value, rel=1e-9, abs=1e-9)
            assert entry.measure.value == wanted


@given(cells)
def test_a_table_that_is_published_as_it_is_loses_nothing(drawn):
    original = paired(drawn).o
    found = assess_utility(original, original)
    nothing = ("aad", "max_abs", "rmse", "rad_sum", "rmad_pct", "bias_mean", "euclid")
    nothing += ("manhattan", "hellinger_raw", "hellinger_probability", "changed_pct")
    nothing += ("rv_pct", "decile_changes_pct", "false_zeros", "d3_max")
    for name in nothing:
        assert found.find(name).value in {0.0, None}
    assert found.find("hd_utility").value in {1.0, None}
    assert found.find("spearman").value in {1.0, None} or math.isclose(
        found.find("spearman").value, 1.0
    )


@given(cells.filter(bool))
def test_measures_stand_in_their_order(drawn):
    pairs = paired(drawn)
    found = values((*deviations(pairs), *distances(pairs)))
    slack = 1 + 1e-9
    assert abs(found["bias_mean"]) <= found["aad"] * slack
    assert found["aad"] <= found["rmse"] * slack
    assert found["rmse"] <= found["max_abs"] * slack
    assert found["euclid"] <= found["manhattan"] * slack
    # |√p - √o|² ≤ |p - o|, so that twice the squared distance is at most Manhattan's
    assert 2 * found["hellinger_raw"] ** 2 <= found["manhattan"] * slack
    if found["hellinger_probability"] is not None:
        assert found["hellinger_probability"] <= slack


@given(cells.filter(bool))
def test_quantiles_rise_and_tables_end_at_all_cells(drawn):
    pairs = paired(drawn)
    found = values(summaries(pairs))
    for name in ("d1", "d2", "d3"):
        labels = ("min", "q10", "q20", "q30", "q40", "median", "q60", "q70", "q80", "q90")
        numbers = [found[f"{name}_{label}"] for label in (*labels, "q95", "q99", "max")]
        assert None in numbers or all(np.diff(numbers) >= -1e-12)
        assert None in numbers or numbers[0] <= found[f"{name}_mean"] + 1e-12
    for table in distributions(pairs):
        assert list(table.cells) == sorted(table.cells)
        assert table.cells[-1] == table.base
    assert sum(noise_distribution(pairs).cells) == pairs.n_cells


@given(cells, st.integers(0, 40))
def test_counts_of_two_parts_add_up(drawn, cut):
    whole, parts = paired(drawn), (paired(drawn[:cut]), paired(drawn[cut:]))
    found = values(zeros(whole))
    halves = [values(zeros(part)) for part in parts]
    for name in ("zeros_original", "zeros_published", "false_zeros", "small_to_zero"):
        assert found[name] == halves[0][name] + halves[1][name]


@given(cells.filter(bool))
def test_one_line_of_all_cells_has_the_gap_of_their_sum(drawn):
    pairs = paired([(0, 0), *drawn])
    parent = np.zeros(pairs.n_cells, dtype=np.int64)
    parent[0] = -1
    found = additivity(pairs, parent=parent, noise=2.0)
    assert found.gaps.tolist() == [-int(pairs.p[1:].sum())]
    filled = np.count_nonzero(pairs.o)
    assert found.expected[0] in {2.0 * filled, 0.0}
