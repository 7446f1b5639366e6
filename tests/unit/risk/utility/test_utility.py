from __future__ import annotations

import itertools
import math
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from ptable import NoiseSpec, PTable, solve
from ptable.design.mechanisms import Mechanism
from risk.errors import RiskError
from risk.utility import (
    CLASSES,
    DEFINITIONS,
    Measure,
    Pairs,
    additivity,
    assess_utility,
    deviations,
    distances,
    distributions,
    noise_distribution,
    ranks,
    significance,
    summaries,
    utility_record,
    variation,
    zeros,
)
from risk.utility.measures.significance import _binomial_p_value


def values(measures):
    return {m.name: m.value for m in measures}


def reasons(measures):
    return {m.name: m.reason for m in measures if m.value is None}


@pytest.fixture(scope="module")
def table():
    return solve(NoiseSpec(max_noise=5, variance=3.0, small=2))


def protected(table, n, seed, rate=0.05):
    rng = np.random.default_rng(seed)
    original = rng.geometric(rate, n) - 1
    keys = rng.integers(0, 2**32, n, dtype=np.uint32)
    return Pairs(original=original, published=original + table.lookup(original, keys))


@pytest.fixture(scope="module")
def pairs(table):
    return protected(table, 3000, 11)


def cellkey_example():
    original = np.array([*range(1, 11), 0, 0])
    published = original.copy()
    published[[0, 4, 6]] = 0, 6, 9
    return Pairs(original=original, published=published)


# --- check values -----------------------------------------------------------


def test_summary_of_the_example_is_that_of_cellkey_under_its_filter():
    found = values(summaries(cellkey_example(), cells="published"))
    assert round(found["d1_mean"], 3) == 0.333
    assert round(found["d2_mean"], 3) == 0.054
    assert round(found["d3_mean"], 3) == 0.063
    assert found["d1_max"] == 2
    assert found["d1_median"] == 0


def test_zeros_of_the_example_are_those_of_cellkey():
    found = values(zeros(cellkey_example()))
    assert (found["false_zeros"], found["false_nonzeros"]) == (1, 0)
    assert (found["zeros_original"], found["zeros_published"]) == (2, 3)
    assert found["small_to_zero"] == 1
    assert found["true_zeros_pct"] == pytest.approx(200 / 3)


def test_small_counts_reach_to_the_threshold():
    pairs = Pairs(original=[4, 5, 4, 0], published=[0, 0, 4, 0])
    assert values(zeros(pairs, threshold=4))["small_to_zero"] == 1
    assert values(zeros(pairs, threshold=5))["small_to_zero"] == 2


def test_without_the_filter_false_zeros_stay_in_the_deviations():
    everything = values(summaries(cellkey_example()))
    assert everything["d1_mean"] == pytest.approx(4 / 12)
    assert everything["d2_mean"] == pytest.approx((1 + 1 / 5 + 2 / 7) / 10)
    positive = values(summaries(cellkey_example(), cells="original"))
    assert positive["d1_mean"] == pytest.approx(4 / 10)


def test_hellinger_distances_give_the_check_values_and_differ():
    found = values(distances(Pairs(original=[1, 2, 3, 4, 5, 6], published=[0, 3, 3, 3, 6, 6])))
    assert round(found["hellinger_raw"], 4) == 0.7805
    assert round(found["hd_utility"], 4) == 0.8297
    assert round(found["hellinger_probability"], 4) == 0.1703


def test_distances_of_the_reference_program_are_right_where_it_misaligns():
    """INSEE's ckm 1.1.0 gives MAD 1 here, as it drops o = 0 on one side alone."""
    pairs = Pairs(original=[1, 2, 0, 4], published=[1, 2, 3, 4])
    record = utility_record(pairs)
    assert record.lines[0].mad.value == 0
    assert values(zeros(pairs))["false_nonzeros"] == 1


@pytest.mark.parametrize(("parts", "printed"), [(2, 3.00), (3, 4.01), (5, 6.01)])
def test_gap_variance_is_that_of_independent_noises(parts, printed):
    """One test in 10,000 fails by chance: a normal bound of 3.9 standard errors."""
    table = solve(NoiseSpec(max_noise=2, variance=1.0))
    rng = np.random.default_rng(parts)
    lines = 40_000
    inner = rng.integers(5, 50, (lines, parts))
    original = np.concatenate([inner.sum(axis=1), inner.ravel()])
    keys = rng.integers(0, 2**32, len(original), dtype=np.uint32)
    pairs = Pairs(original=original, published=original + table.lookup(original, keys))
    parent = np.concatenate([np.full(lines, -1), np.repeat(np.arange(lines), parts)])
    found = additivity(pairs, parent=parent, noise=table)
    seen = values(found.measures)
    assert seen["gap_expected"] == pytest.approx(parts + 1, abs=1e-8)
    assert abs(printed - (parts + 1)) < 0.011  # the check value itself was simulated
    error = np.std(np.square(found.gaps)) / math.sqrt(lines)
    assert abs(seen["gap_mean_square"] - (parts + 1)) < 3.9 * error
    assert abs(seen["gap_mean"]) < 3.9 * math.sqrt((parts + 1) / lines)
    assert values(additivity(pairs, parent=parent, noise=1.0).measures)[
        "gap_expected"
    ] == pytest.approx(parts + 1)
    assert found.to_frame()["lines"].tolist() == [lines]


# --- independent formulas ---------------------------------------------------


def test_deviations_agree_with_pandas(pairs, table):
    frame = pd.DataFrame({"o": pairs.o, "p": pairs.p})
    frame["d"] = frame.p - frame.o
    positive = frame[frame.o > 0]
    found = values(deviations(pairs, ptable=table))
    relative = positive.d.abs() / positive.o
    assert found["aad"] == pytest.approx(frame.d.abs().mean())
    assert found["max_abs"] == frame.d.abs().max()
    assert found["rmse"] == pytest.approx(math.sqrt((frame.d**2).mean()))
    assert found["bias_mean"] == pytest.approx(frame.d.mean())
    assert found["bias_share"] == pytest.approx(frame.d.sum() / frame.o.sum())
    assert found["rad_sum"] == pytest.approx(relative.sum())
    assert found["rmad_pct"] == pytest.approx(100 * relative.mean())
    assert found["changed_pct"] == pytest.approx(100 * (frame.d != 0).mean())
    assert found["changed_nonzero_pct"] == pytest.approx(100 * (positive.d != 0).mean())
    sigma2 = {c: sum(v * v * n for v, n in table.units(c).items()) for c in table.counts}
    total = sum(sigma2[min(c, table.n_rows - 1)] / table.key_range for c in frame.o)
    assert found["bias_z"] == pytest.approx(frame.d.sum() / math.sqrt(total))


@pytest.mark.parametrize("cells", ["all", "original", "published"])
def test_quantiles_are_of_type_7_and_cumulative_tables_count_cells(pairs, cells):
    kept = {"all": pairs.o >= 0, "original": pairs.o > 0, "published": pairs.p > 0}[cells]
    o, p = pairs.o[kept], pairs.p[kept]
    series = {
        "d1": pd.Series(np.abs(p - o)),
        "d2": pd.Series(np.abs(p - o)[o > 0] / o[o > 0]),
        "d3": pd.Series(np.abs(np.sqrt(p) - np.sqrt(o))),
    }
    found = values(summaries(pairs, cells=cells))
    for name, numbers in series.items():
        for label, q in {"q10": 0.1, "median": 0.5, "q90": 0.9, "q99": 0.99}.items():
            assert found[f"{name}_{label}"] == pytest.approx(numbers.quantile(q))
        assert found[f"{name}_min"] == numbers.min()
        assert found[f"{name}_max"] == pytest.approx(numbers.max())
        assert found[f"{name}_mean"] == pytest.approx(numbers.mean())
    for table in distributions(pairs, cells=cells):
        for bound, below in zip(table.bounds, table.cells, strict=True):
            numbers = series[table.name]
            assert below == (numbers <= (math.inf if bound is None else bound)).sum()
        assert table.cells[-1] == table.base


def test_quantiles_between_unchanged_and_changed_cells_are_interpolated():
    found = values(summaries(Pairs(original=[5] * 4, published=[5, 5, 5, 9])))
    assert found["d1_q70"] == pytest.approx(np.quantile([0, 0, 0, 4], 0.7))
    assert found["d1_q80"] == pytest.approx(np.quantile([0, 0, 0, 4], 0.8))


def test_noise_is_published_less_original(pairs):
    found = noise_distribution(pairs)
    wanted = pd.Series(pairs.p - pairs.o).value_counts().sort_index()
    assert found.noise == tuple(wanted.index)
    assert found.cells == tuple(wanted)
    assert found.to_frame()["share"].sum() == pytest.approx(1)


def test_distances_agree_with_numpy(pairs):
    o, p = pairs.o.astype(float), pairs.p.astype(float)
    found = values(distances(pairs))
    assert found["euclid"] == pytest.approx(np.linalg.norm(p - o))
    assert found["manhattan"] == np.abs(p - o).sum()
    raw = np.linalg.norm(np.sqrt(p) - np.sqrt(o)) / math.sqrt(2)
    assert found["hellinger_raw"] == pytest.approx(raw)
    assert found["hd_utility"] == pytest.approx(1 - raw / math.sqrt(o.sum()))
    shares = np.sqrt(p / p.sum()), np.sqrt(o / o.sum())
    wanted = math.sqrt(1 - float(shares[0] @ shares[1]))  # by the affinity of Bhattacharyya
    assert found["hellinger_probability"] == pytest.approx(wanted)


@pytest.mark.parametrize("scale", [1, 10**9])
def test_ranks_agree_with_scipy(pairs, scale):
    found = values(ranks(Pairs(original=pairs.o * scale, published=pairs.p * scale)))
    assert found["spearman"] == pytest.approx(stats.spearmanr(pairs.o, pairs.p).statistic)
    n = pairs.n_cells
    deciles = [np.ceil(np.round(10 * stats.rankdata(c) / n, 9)) for c in (pairs.o, pairs.p)]
    wanted = 100 * np.mean(deciles[0] != deciles[1])
    assert found["decile_changes_pct"] == pytest.approx(wanted)


def test_cells_of_one_order_keep_their_decile():
    order = np.arange(1000)
    assert values(ranks(Pairs(original=order, published=2 * order))) == {
        "spearman": 1.0,
        "decile_changes_pct": 0.0,
    }


def test_variances_agree_with_pandas(pairs):
    found = values(variation(pairs))
    before, after = pd.Series(pairs.o).var(), pd.Series(pairs.p).var()
    assert found["variance_original"] == pytest.approx(before)
    assert found["rv_pct"] == pytest.approx(100 * (after / before - 1))


@pytest.mark.parametrize("seed", range(6))
def test_wilcoxon_is_exact_with_ties(seed):
    rng = np.random.default_rng(seed)
    noise = rng.integers(-3, 4, 11)
    pairs = Pairs(original=np.full(11, 10), published=10 + noise)
    found = values(significance(pairs))
    moved = noise[noise != 0]
    rank = stats.rankdata(np.abs(moved))
    seen = rank[moved > 0].sum()
    middle = rank.sum() / 2
    signs = itertools.product([0, 1], repeat=len(moved))
    extreme = [abs(np.dot(s, rank) - middle) >= abs(seen - middle) - 1e-9 for s in signs]
    assert found["wilcoxon_w"] == seen
    assert found["wilcoxon_p_value"] == pytest.approx(np.mean(extreme))


def test_wilcoxon_of_many_cells_agrees_with_scipy(pairs):
    found = values(significance(pairs))
    wanted = stats.wilcoxon(
        pairs.noise, zero_method="wilcox", correction=False, method="asymptotic"
    )
    assert found["wilcoxon_p_value"] == pytest.approx(wanted.pvalue)


def test_wilcoxon_without_ties_agrees_with_scipy():
    noise = np.array([1, -2, 3, 4, -5, 6, 7, 8])
    found = values(significance(Pairs(original=[20] * 8, published=20 + noise)))
    assert found["wilcoxon_p_value"] == stats.wilcoxon(noise, method="exact").pvalue


def test_wilcoxon_leaves_out_noise_that_no_p_table_makes_symmetric():
    """1 goes to 0 nine times in ten and else to 10: mean 0, and no symmetry."""
    table = PTable.from_units([{0: 10}, {-1: 9, 9: 1}, {-1: 5, 1: 5}], key_range=10)
    pairs = Pairs(
        original=[1] * 100 + [5] * 40,
        published=[0] * 90 + [10] * 10 + [4] * 20 + [6] * 20,
    )
    naive, found = significance(pairs), significance(pairs, ptable=table)
    assert values(naive)["wilcoxon_p_value"] < 1e-6
    assert values(found)["wilcoxon_p_value"] == 1
    assert [m.base for m in found if m.name.startswith("wilcoxon")] == [40, 40]
    ones = significance(pairs.take(np.arange(100)), ptable=table)
    assert "symmetric" in reasons(ones)["wilcoxon_p_value"]


def test_binomial_tests_are_those_of_scipy_per_row(pairs, table):
    known = []
    for row in range(table.n_rows):
        served = (pairs.o >= row) if row == table.n_rows - 1 else (pairs.o == row)
        changed = int((pairs.noise[served] != 0).sum())
        p = 1 - table.units(row).get(0, 0) / table.key_range
        if served.any():
            known.append(stats.binomtest(changed, int(served.sum()), p).pvalue)
    p_value = values(significance(pairs, ptable=table))["changed_p_value"]
    assert p_value == pytest.approx(min(1, len(known) * min(known)), rel=1e-12)


@pytest.mark.parametrize("p", [0.0, 0.1, 1 / 3, 0.5, 0.75, 1.0])
@pytest.mark.parametrize("n", [1, 2, 9, 700])
def test_p_values_of_any_number_are_those_of_scipy(n, p):
    for x in {0, 1, n // 3, n // 2, math.ceil(n / 2), n - 1, n}:
        known = stats.binomtest(x, n, p).pvalue
        assert _binomial_p_value(x, n, p) == pytest.approx(known, rel=1e-10, abs=1e-290)


def test_tests_reject_the_wrong_p_table_and_seldom_the_right_one(table):
    """Bonferroni keeps false alarms at 5 % or less: 16 of 100 has a chance below 1e-4."""
    wrong = solve(NoiseSpec(max_noise=5, variance=4.8, small=2))
    alarms = 0
    for seed in range(100):
        pairs = protected(table, 400, seed)
        alarms += values(significance(pairs, ptable=table))["changed_p_value"] < 0.05
    assert alarms < 16
    assert (
        values(significance(protected(table, 5000, 1), ptable=wrong))["changed_p_value"] < 1e-6
    )


def test_rows_that_serve_larger_counts_in_turn_are_followed():
    table = PTable(
        noise=[[0], [-1, 0, 1], [-2, 0, 2]],
        upper=[[8], [2, 6, 8], [1, 7, 8]],
        key_range=8,
        large_counts="cycle:2",
    )
    same = Pairs(original=[1, 2, 3, 4, 5], published=[1, 2, 3, 4, 5])
    rows = [stats.binomtest(0, 3, 0.5).pvalue, stats.binomtest(0, 2, 0.25).pvalue]
    p_value = values(significance(same, ptable=table))["changed_p_value"]
    assert p_value == pytest.approx(2 * min(rows))
    pairs = Pairs(original=[3, 4], published=[4, 4])
    z = values(deviations(pairs, ptable=table))["bias_z"]
    assert z == pytest.approx(1 / math.sqrt(0.5 + 1.0))


def test_a_deterministic_table_is_held_to_the_letter():
    rounding = Mechanism.rounding(5).build()
    right = Pairs(original=[5, 7, 13], published=[5, 5, 15])
    wrong = Pairs(original=[5, 7, 13], published=[6, 5, 15])
    assert values(significance(right, ptable=rounding))["changed_p_value"] == 1
    assert values(significance(wrong, ptable=rounding))["changed_p_value"] == 0
    assert "bias_z" in reasons(deviations(right, ptable=rounding))


# --- additivity -------------------------------------------------------------


def test_gaps_are_totals_less_parts_in_any_order_of_cells():
    rng = np.random.default_rng(3)
    published = rng.integers(0, 30, (6, 4))
    totals = rng.integers(40, 70, 6)
    cells = np.concatenate([totals, published.ravel()])
    parent = np.concatenate([np.full(6, -1), np.repeat(np.arange(6), 4)])
    order = rng.permutation(len(cells))
    place = np.argsort(order)
    mixed = np.where(parent[order] >= 0, place[parent[order]], -1)
    found = additivity(Pairs(original=cells[order], published=cells[order]), parent=mixed)
    wanted = dict(
        zip(place[:6].tolist(), (totals - published.sum(axis=1)).tolist(), strict=True)
    )
    assert dict(zip(found.totals.tolist(), found.gaps.tolist(), strict=True)) == wanted
    assert values(found.measures)["gap_max_abs"] == max(map(abs, wanted.values()))
    assert set(reasons(found.measures)) == {"gap_expected", "gap_ratio"}


def test_a_line_with_one_part_that_is_not_empty_is_expected_to_add_up(table):
    found = additivity(
        Pairs(original=[6, 6, 0], published=[7, 7, 0]), parent=[-1, 0, 0], noise=table
    )
    assert found.gaps.tolist() == [0]
    assert found.expected.tolist() == [0]
    assert reasons(found.measures) == {"gap_ratio": "the noise of every line is 0"}


@pytest.mark.parametrize("parent", [[0], [0, 5], [0.5, 1], [0, -1], [-2, 0]])
def test_a_parent_that_is_no_position_is_refused(parent):
    with pytest.raises(RiskError, match="parent"):
        additivity(Pairs(original=[1, 2], published=[1, 2]), parent=parent)


# --- undefined and refused --------------------------------------------------


def test_undefined_measures_say_why():
    empty = Pairs(original=np.zeros(0, int), published=np.zeros(0, int))
    for measures in (deviations(empty), summaries(empty), distances(empty), ranks(empty)):
        assert all(m.value is None and m.reason for m in measures)
    blank = Pairs(original=[0, 0], published=[0, 1])
    assert set(reasons(deviations(blank))) == {
        "bias_share",
        "bias_z",
        "rad_sum",
        "rmad_pct",
        "changed_nonzero_pct",
    }
    assert reasons(distances(blank)).keys() == {"hd_utility", "hellinger_probability"}
    assert "all alike" in reasons(ranks(blank))["spearman"]
    assert "all alike" in reasons(variation(blank))["rv_pct"]
    assert "at least two" in reasons(variation(Pairs(original=[1], published=[1])))["rv_pct"]
    same = Pairs(original=[3, 4], published=[3, 4])
    assert reasons(significance(same))["wilcoxon_p_value"] == "no cell was changed"
    assert reasons(zeros(same)) == {"true_zeros_pct": "no published count is 0"}


@pytest.mark.parametrize(
    ("original", "published", "words"),
    [
        ([1, 2], [1], "one count per cell"),
        ([-1], [1], "original must be 0 or more"),
        ([1], [-1], "published must be 0 or more"),
        ([1.0], [1], "whole numbers"),
        ([[[1]]], [[[1]]], "one or two dimensions"),
        (np.ma.masked_array([1], [True]), [1], "missing"),
        ([2**60], [1], r"2\*\*53"),
        (["a"], [True], "original must be whole numbers.*published must be whole numbers"),
    ],
)
def test_what_is_no_pair_of_counts_is_refused_with_all_problems(original, published, words):
    with pytest.raises(RiskError, match=words):
        Pairs(original=original, published=published)


def test_a_table_for_magnitudes_is_refused():
    table = PTable(noise=[[0], [-1, 1]], upper=[[8], [4, 8]], key_range=8, step=2)
    with pytest.raises(RiskError, match="magnitudes"):
        deviations(Pairs(original=[1], published=[1]), ptable=table)


def test_a_measure_is_a_finite_number_or_has_a_reason():
    with pytest.raises(RiskError, match="finite"):
        Measure(name="aad", value=math.nan, base=1)
    with pytest.raises(RiskError, match="either a value or a reason"):
        Measure(name="aad", value=None, base=1)
    with pytest.raises(RiskError, match="catalogue"):
        Measure(name="aaad", value=1.0, base=1)


# --- the whole assessment ---------------------------------------------------


def test_assessment_holds_every_measure_by_class(pairs, table):
    found = assess_utility(pairs.o, pairs.p, ptable=table)
    frame = found.to_frame()
    sets = frame[["group", "value", "cells"]].drop_duplicates()
    assert len(sets) == 1 + len(CLASSES)
    assert len(frame) == 71 * len(sets)
    assert not frame.drop(columns="number").isna().to_numpy().any()
    assert (frame["number"].isna() == (frame["reason"] != "")).all()
    assert (frame["definition"] != "").all()
    part = pairs.take((pairs.o >= 1) & (pairs.o <= 20))
    measure = found.find("aad", cells="small")
    assert measure == deviations(part)[0]
    assert measure.base == part.n_cells


def test_assessment_of_a_two_way_table_has_association_and_gaps():
    original = np.array([[30, 10], [12, 33]])
    found = assess_utility(original, np.array([[31, 10], [12, 32]]), parents={})
    assert found.find("cramers_v_original").value > 0.4
    assert assess_utility([3], [3]).association is None


def test_every_measure_of_the_catalogue_is_computed_somewhere(pairs, table):
    flat = np.arange(4)
    found = assess_utility(
        pairs.o[:4].reshape(2, 2) + 1,
        pairs.o[:4].reshape(2, 2) + 1,
        ptable=table,
        parents={"all": np.where(flat == 0, -1, 0)},
    )
    names = {entry.measure.name for entry in found.entries}
    assert names | {"d1", "d2", "d3"} == set(DEFINITIONS)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"classes": {"all": (1, 2)}}, "all"),
        ({"classes": {"odd": (3, 2)}}, "odd"),
        ({"threshold": 0}, "threshold"),
    ],
)
def test_requests_that_make_no_sense_are_refused(given, words):
    with pytest.raises(RiskError, match=words):
        assess_utility([1, 2], [1, 2], **given)


def test_a_measure_that_is_not_there_is_named():
    with pytest.raises(RiskError, match="'aaad'"):
        assess_utility([1, 2], [1, 2]).find("aaad")


def test_arguments_are_never_written_into():
    original, published = np.array([3, 0]), np.array([4, 0])
    original.setflags(write=False)
    published.setflags(write=False)
    assess_utility(original, published)


def test_representations_hold_no_counts():
    assert "987" not in repr(Pairs(original=[987], published=[987]))
    assert "987" not in repr(assess_utility([987], [987]))


def test_the_record_has_the_classes_of_insee(pairs):
    record = utility_record(pairs)
    frame = record.to_frame().set_index("cells")
    small = pairs.take((pairs.o > 0) & (pairs.o <= 20))
    assert frame.loc["small", "base"] == small.n_cells
    assert frame.loc["large", "base"] == (pairs.o > 50).sum()
    assert frame.loc["small", "q90"] == np.quantile(small.size, 0.9)
    assert frame.loc["small", "mad"] == pytest.approx(small.size.mean())
    nothing = utility_record(Pairs(original=[0], published=[0]))
    assert nothing.lines[1].quantiles is None
    assert nothing.to_frame()["mad"].isna().all()


@pytest.mark.slow
def test_importing_the_measures_stays_light():
    code = (
        "import sys, risk.utility; heavy = ('scipy', 'pandas', 'cvxpy', 'highspy', 'duckdb'); "
        "print([m for m in heavy if m in sys.modules])"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert out.stdout.strip() == "[]"
