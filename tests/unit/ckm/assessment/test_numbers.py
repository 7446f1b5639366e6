"""Numbers of small releases, worked out by hand, and releases at the edge of sense."""

import json
import math

import numpy as np
import pyarrow as pa
import pytest

from ckm.assessment.exposure import posteriors, worst
from ckm.assessment.noise.classes import noise_sizes
from ckm.assessment.observed import ObservedCells, ObservedTable
from ckm.engine.cell_histogram import CountHistogram
from ckm.engine.perturbation import perturb
from ptable import NoiseSpec, PTable, solve
from ptable.design.mechanisms import Mechanism
from risk.distributions.histogram import Histogram
from tests.unit.ckm.assessment.support import (
    GENTLE,
    cells_of,
    check,
    found_in,
    observed,
    people,
)

#: 1 becomes 0, 2 becomes 3, all else stays: nothing is left to chance.
FIXED = PTable.from_units([{0: 8}, {-1: 8}, {1: 8}, {0: 8}], key_range=8)

PERSONS = [("a", "F")] * 3 + [("a", "M")] + [("b", "F")] * 4 + [("b", "M")] * 2


@pytest.fixture(scope="module")
def small():
    areas, sexes = zip(*PERSONS, strict=True)
    records = pa.table({"id": list(range(10)), "area": list(areas), "sex": list(sexes)})
    return observed({"t": cells_of(records, ["area", "sex"])}, FIXED)


@pytest.fixture(scope="module")
def found(small):
    return found_in(small)


def measure(found, name, *, group="all", value="all", cells="all", table="t"):
    (only,) = (
        fact
        for fact in found.utility
        if (fact.name, fact.group, fact.value, fact.cells, fact.table)
        == (name, group, value, cells, table)
    )
    return only


def test_measures_of_the_whole_table(found):
    # Nine cells: 3 1 4 2, by area 4 6, by sex 7 3, and 10 in all. Published 3 0 4 3 …
    assert measure(found, "aad").number == pytest.approx(2 / 9)
    assert measure(found, "aad").base == 9
    assert measure(found, "false_zeros").number == 1
    assert measure(found, "max_abs").number == 1
    assert measure(found, "bias_mean").number == 0
    # |d|/o: 1 for the 1, a half for the 2.
    assert measure(found, "rmad_pct").number == pytest.approx(100 * 1.5 / 9)


def test_measures_by_margin_category_and_class(found):
    assert measure(found, "aad", group="margin", value="area, sex").number == 0.5
    assert measure(found, "aad", group="margin", value="area").number == 0
    assert measure(found, "aad", group="margin", value="Total").base == 1
    assert measure(found, "aad", group="sex", value="M").number == pytest.approx(2 / 3)
    assert measure(found, "aad", group="area", value="a").number == pytest.approx(1 / 3)
    assert measure(found, "aad", cells="small").base == 9
    assert measure(found, "aad", cells="large").number is None
    assert measure(found, "aad", cells="large").reason == "there are no cells"


def test_gaps_between_totals_and_parts(found):
    # Along sex: 4 - (3 + 0), 6 - (4 + 3), 10 - (7 + 3). Along area all add up.
    gaps = {
        name: measure(found, name, group="parent", value="sex").number
        for name in ("gap_mean", "gap_max_abs", "gap_nonzero_pct")
    }
    assert gaps == {
        "gap_mean": 0,
        "gap_max_abs": 1,
        "gap_nonzero_pct": pytest.approx(200 / 3),
    }
    assert measure(found, "gap_max_abs", group="parent", value="area").number == 0


def test_posteriors_follow_from_the_counts_of_the_table(found):
    by_count = {fact.published: fact for fact in found.risk.posteriors}
    assert by_count[0].originals == {1: 1.0}
    # One cell of 2 and two of 3, and half a cell more of each: nine cells are few.
    assert by_count[3].originals == {2: pytest.approx(1.5 / 4), 3: pytest.approx(2.5 / 4)}
    assert by_count[3].share == pytest.approx(3 / 9)
    assert by_count[3].sensitive == 1
    assert by_count[6].sensitive == 0
    assert set(by_count) == {0, 3, 4, 6, 7, 10}
    (worst,) = found.risk.worst
    assert (worst.table, worst.original, worst.published, worst.probability) == ("t", 1, 0, 1)
    assert found.risk.prior == worst.prior == "smoothed-counts"


def shown_table(name, count, noise):
    return ObservedTable(
        name=name,
        cells=ObservedCells.of(count, noise=noise),
        empty=0,
        margins=0,
        appeared=0,
        is_new=np.ones(len(count), bool),
        utility=(),
    )


def tally_of(tables):
    own = {one.name: Histogram.of(one.cells.count) for one in tables}
    n = sum(len(one.cells) for one in tables)
    return CountHistogram(
        tables=own,
        together=Histogram.together(own.values()),
        variables={},
        listed=n,
        distinct=n,
        record_sets=n,
    )


def test_the_worst_of_a_table_is_a_count_that_it_publishes_given_the_cells_of_all():
    table = solve(NoiseSpec(max_noise=2, variance=1.0))
    # Alone, the one cell of 3 would be told by any number near it: nothing else is near.
    housing = shown_table("housing", [3] + [8] * 19, [1] + [0] * 19)
    counts = np.repeat(np.arange(1, 9), 40)
    areas = shown_table("areas", counts, np.zeros(len(counts), np.int64))
    found = {
        fact.table: fact
        for fact in worst(table, tally_of([housing, areas]), [housing, areas], sensitive=[3])
    }
    assert (found["housing"].published, found["housing"].set_published) == (4, 4)
    assert found["housing"].prior == "release-counts"
    cells = {3: 41, 8: 59} | dict.fromkeys((1, 2, 4, 5, 6, 7), 40)
    chances = {
        count: n * table.units(min(count, 2)).get(4 - count, 0) for count, n in cells.items()
    }
    expected = chances[3] / sum(chances.values())
    assert found["housing"].probability == pytest.approx(expected)
    assert found["areas"].prior == "table-counts"
    assert found["areas"].published == 3


def test_few_cells_in_all_are_judged_by_a_smoothed_prior_that_says_so():
    table = solve(NoiseSpec(max_noise=2, variance=1.0))
    housing = shown_table("housing", [3] + [8] * 19, [1] + [0] * 19)
    (only,) = worst(table, tally_of([housing]), [housing], sensitive=[3])
    assert (only.published, only.prior) == (4, "smoothed-counts")
    assert (only.small, only.sure) == (1, 0)
    assert only.probability < 0.6
    name, facts = posteriors(table, tally_of([housing]), [housing], sensitive=[3])
    assert name == "smoothed-counts"
    assert [fact.published for fact in facts] == [4, 8]


def test_a_table_that_publishes_nothing_near_a_sensitive_count_is_no_worst_table():
    table = solve(NoiseSpec(max_noise=2, variance=1.0))
    large = shown_table("large", [8] * 200, [0] * 200)
    twos = shown_table("twos", [2] * 300 + [8], [0, 1, 2] * 100 + [0])
    (only,) = worst(table, tally_of([twos]), [twos], sensitive=[2])
    assert (only.small, only.sure) == (300, 300)  # nothing else is near
    assert worst(table, tally_of([large]), [large], sensitive=[3]) == ()


@pytest.mark.parametrize(("ones", "sure"), [(99, 0), (101, 101)])
def test_somebody_is_sure_from_more_than_three_quarters_on(ones, sure):
    # Of 8 keys 6 leave a 1 as it is, and 2 make a 1 of a 2.
    cells = shown_table("t", [1] * ones + [2] * 100, [0] * (ones + 100))
    (only,) = worst(GENTLE, tally_of([cells]), [cells], sensitive=[1])
    assert (only.small, only.sure) == (ones, sure)


@pytest.mark.slow
def test_classes_of_noise_show_design_and_draw(found):
    one, two, three = found.noise.classes[:3]
    assert (one.cells, one.mean_designed, one.mean_drawn) == (1, -1, -1)
    assert (two.variance_designed, two.variance_drawn, two.stay_drawn) == (0, 0, 0)
    assert (three.stay_designed, three.least_designed, three.most_drawn) == (1, 0, 0)
    assert found.noise.classes[-1].cells == 0
    assert found.noise.classes[-1].mean_designed == 0
    assert found.noise.classes[-1].mean_drawn is None


def test_noise_without_chance_is_not_tested_but_bounded(found):
    assert check(found, "noise-mean").outcome == "not computed"
    assert check(found, "noise-bound").outcome == "passed"
    assert check(found, "small-counts").allowed == {"small": 2.0}


def test_deviations_by_size_are_those_of_cells(found):
    small, five, ten = found.noise.sizes
    assert (small.low, small.high, small.cells) == (1, 4, 6)  # 1 2 3 3 4 4
    assert (small.half, small.most, small.half_share, small.most_share) == (0, 1, 0, 1)
    assert (five.cells, five.most_share, ten.low, ten.cells) == (2, 0, 10, 1)
    counts = np.arange(1000, 1010)
    (large,) = noise_sizes(ObservedCells.of(counts, noise=np.arange(10)))
    assert (large.high, large.half, large.most) == (None, 4, 8)
    assert large.most_share == 8 / 1008


def test_a_cell_shown_by_two_tables_counts_once():
    records = people(500, sex=2, area=5)
    tables = {name: cells_of(records, ["area", "sex"]) for name in ("one", "two")}
    found = found_in(observed(tables, solve(NoiseSpec(max_noise=3, variance=1.5))))
    assert check(found, "same-records").found["repeats"] >= 18
    assert sum(fact.cells for fact in found.noise.classes) == 18
    together = measure(found, "aad", table="")
    assert together.base == 18
    assert together.number == measure(found, "aad", table="one").number
    assert sum(fact.cells for fact in found.noise.sizes) == 18
    assert found.utility[0].table == ""


def test_tests_take_each_set_of_records_once():
    """Shown by eight tables, one draw is no eight draws; error rate of the bounds 1e-9."""
    records = people(400, sex=2, area=40)
    table = solve(NoiseSpec(max_noise=3, variance=1.5))
    one = cells_of(records, ["area", "sex"])
    once = found_in(observed({"t0": one}, table))
    often = found_in(observed({f"t{n}": one for n in range(8)}, table))
    n_sets = len(set(one.cell_key.tolist()))
    for name in ("bias_z", "changed_p_value", "wilcoxon_p_value"):
        single, repeated = measure(once, name, table="t0"), measure(often, name, table="")
        assert repeated.number == single.number
        assert repeated.base == single.base <= n_sets < 8 * len(one)


def test_without_a_mix_only_finest_cells_are_draws():
    tables = {"t": cells_of(people(500, sex=2, area=5), ["area", "sex"])}
    found = found_in(observed(tables, is_mixed=False))
    assert measure(found, "bias_z").base == 10
    assert measure(found, "aad").base == 18


@pytest.mark.slow
def test_small_and_large_counts_have_quantiles_of_their_own():
    sizes = {"a": 2, "b": 15, "c": 30, "d": 70}
    areas = [name for name, size in sizes.items() for _ in range(size)]
    records = pa.table({"id": list(range(len(areas))), "area": areas})
    up = {"a": 1, "b": 3, "c": 2, "d": 7}
    table = solve(NoiseSpec(max_noise=7, variance=4.0))

    def change(_name, cells, _published):
        names = cells.axes[0].labels[0]
        return cells.count + np.array([up[names[rank]] for rank in cells.ranks[0].tolist()])

    tables = {"t": cells_of(records, ["area"], margins="none")}
    found = found_in(observed(tables, table, change=change))
    assert measure(found, "d1_median", cells="small").number == 2
    assert measure(found, "d2_max", cells="small").number == 0.5
    assert measure(found, "d1_max", cells="medium").number == 2
    assert measure(found, "d2_mean", cells="large").number == pytest.approx(0.1)
    assert measure(found, "changed_pct", cells="large").number == 100
    assert measure(found, "bias_z", cells="small").base == 2
    assert {fact.name for fact in found.utility if fact.cells == "small"} >= {
        "d1_q99",
        "d2_q10",
    }
    assert "d3_mean" not in {fact.name for fact in found.utility if fact.cells == "small"}


@pytest.mark.slow
def test_empty_cells_of_the_grid_enter_the_prior_and_the_zeros():
    records = pa.table({"id": [1, 2, 3], "a": ["x", "x", "y"], "b": ["u", "u", "v"]})
    tables = {"t": cells_of(records, ["a", "b"], margins="none")}
    dropped = observed(tables, FIXED)
    shown = observed(tables, FIXED, empty_cells="grid")
    for assessor in (dropped, shown):
        zero = found_in(assessor).risk.posteriors[0]
        # Two empty cells; one cell of 1 and half a cell more, as there are few.
        assert zero.originals == {0: pytest.approx(4 / 7), 1: pytest.approx(3 / 7)}
    assert measure(found_in(shown), "true_zeros_pct").number == pytest.approx(200 / 3)
    names = {fact.name for fact in found_in(dropped).utility}
    assert "true_zeros_pct" not in names
    assert dropped.tables["t"].empty == shown.tables["t"].empty == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "records", "dimensions", "options"),
    [
        ("one cell", pa.table({"id": [7], "a": ["x"]}), ["a"], {"margins": "none"}),
        ("no dimension", people(40), [], {}),
        ("no cell", people(10, a=2), ["a"], {"where": "a = 'nobody'"}),
        ("only ones", pa.table({"id": [1, 2], "a": ["x", "y"]}), ["a"], {"margins": "none"}),
        ("odd names", people(30, **{"all": 2, "<script>": 2}), ["all", "<script>"], {}),
    ],
)
@pytest.mark.parametrize("empty_cells", ["drop", "grid"])
def test_releases_at_the_edge_have_facts_without_gaps(
    name, records, dimensions, options, empty_cells
):
    tables = {"t": cells_of(records, dimensions, **options)}
    for ptable in (GENTLE, FIXED, Mechanism.rounding(5).build()):
        found = found_in(
            observed(tables, ptable, empty_cells=empty_cells),
            designs={"r3": Mechanism.rounding(3)},
        )
        assert [one.name for one in found.checks if one.outcome == "failed"] == [], name
        assert all_finite(found)


@pytest.mark.slow
def test_weights_alone_are_assessed_by_the_counts_behind_them():
    records = people(300, sex=2, area=4)
    tables = {"t": cells_of(records, ["area", "sex"], weight="w")}
    seen = observed(tables, GENTLE, measures=("weighted",))
    (fact,) = seen.amounts
    assert (fact.variable, fact.cells, fact.exposed) == ("", 15, None)
    assert 0 < fact.median <= fact.most < 1  # rounded, if nothing else
    found = found_in(seen)
    assert [one.name for one in found.checks if one.outcome == "failed"] == []
    assert measure(found, "aad").base == 15


@pytest.mark.slow
def test_large_counts_do_not_overflow():
    tables = {"t": cells_of(people(60, a=3), ["a"])}
    cells = tables["t"]
    cells.count[:] += 2**50
    found = found_in(observed(tables, solve(NoiseSpec(max_noise=3, variance=1.5))))
    assert all_finite(found)


def test_no_table_at_all_has_facts():
    found = found_in(observed({}))
    assert all_finite(found)
    assert found.risk.worst == ()
    assert found.utility == ()


@pytest.mark.slow
def test_scenarios_hold_the_chosen_design_and_why_others_are_impossible():
    tables = {"t": cells_of(people(2000, sex=2, area=600), ["area", "sex"])}
    table = solve(NoiseSpec(max_noise=3, variance=1.5))
    designs = {
        "r5": Mechanism.rounding(5),
        "impossible": {"max_noise": 1, "variance": 3.0},
        "release": {"max_noise": 5, "variance": 3.0},
    }
    found = found_in(observed(tables, table), designs=designs)
    assert [design.name for design in found.scenarios.designs] == ["release*", "r5", "release"]
    assert [design.chosen for design in found.scenarios.designs] == [True, False, False]
    assert set(found.scenarios.refused) == {"impossible"}
    chosen = found.scenarios.designs[0]
    (worst,) = found.risk.worst
    assert chosen.figures["q_worst"] == pytest.approx(worst.probability)
    assert "spearman" not in chosen.figures  # nothing is drawn
    assert any(design.front for design in found.scenarios.designs)


@pytest.mark.slow
def test_a_rounding_has_no_formula_for_averaging_but_a_trial():
    tables = {"t": cells_of(people(50, sex=2), ["sex"])}
    found = found_in(observed(tables, Mechanism.rounding(5).build()))
    attacks = {fact.name: fact for fact in found.risk.attacks}
    assert attacks["two-partition"].closed_form is None
    assert attacks["two-partition"].trials == 100


@pytest.mark.slow
def test_rounding_shows_its_rows_and_how_they_serve_larger_counts():
    tables = {"t": cells_of(people(50, sex=2), ["sex"])}
    noise = found_in(observed(tables, Mechanism.random_rounding(3).build())).noise
    assert noise.cycle == 3
    assert [len(noise.transition), sum(map(sum, noise.transition))] == [3, pytest.approx(3)]
    assert noise.transition[1][3] == pytest.approx(1 / 3)
    long = PTable.from_units([{0: 4}, {-1: 1, 0: 2, 1: 1}] * 60, key_range=4)
    assert found_in(observed(tables, long)).noise.transition == ()


@pytest.mark.slow
def test_formulas_agree_with_the_trials():
    # Fourteen comparisons at four standard errors each: an error in a thousand runs.
    tables = {"t": cells_of(people(50, sex=2), ["sex"])}
    for is_mixed in (True, False):
        assessor = observed(
            tables, solve(NoiseSpec(max_noise=5, variance=3.0)), is_mixed=is_mixed
        )
        compared = 0
        for fact in found_in(assessor).risk.attacks:
            if fact.closed_form is not None:
                compared += 1
                p, n = fact.closed_form, fact.trials
                slack = 4 * math.sqrt(p * (1 - p) / n) + 1 / n
                # Bits, and the categories of a line, are rebuilt together: fewer trials.
                slack += 0.1 * (fact.name in {"subset-sums", "linear-reconstruction"})
                assert abs(fact.successes / n - p) <= slack, fact.name
        assert compared == (10 if is_mixed else 4)


@pytest.mark.slow
def test_the_assessor_leaves_the_cells_alone():
    cells = cells_of(people(300, sex=2, area=9), ["area", "sex"])
    before = (
        cells.count.copy(),
        cells.cell_key.copy(),
        perturb(cells, ptable=GENTLE, secret=None),
    )
    found_in(observed({"t": cells}, is_mixed=False))
    assert (cells.count == before[0]).all()
    assert (cells.cell_key == before[1]).all()
    assert (perturb(cells, ptable=GENTLE, secret=None) == before[2]).all()


def all_finite(found):
    """Whether JSON holds all of it: no NaN, no infinity, no number of numpy."""
    from dataclasses import asdict

    return bool(json.dumps(asdict(found), allow_nan=False))
