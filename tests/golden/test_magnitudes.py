"""Amounts perturbed by cellKey 1.0.3, reproduced component by component."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ckm.engine.magnitudes import Flex, MagnitudeNoise, Proportional, perturb_magnitudes
from ckm.engine.magnitudes.noise.scale import flex_curve
from ckm.engine.magnitudes.other_tools.cellkey import trace_cellkey
from ckm.engine.magnitudes.other_tools.rotation import printed_rotations
from ckm.engine.magnitudes.other_tools.trace import interpolated
from ptable import PTable
from tables.magnitudes.amounts import Magnitudes

VARIABLES = ("expend", "income", "savings", "mixed")
RAN = (
    "top3_flex_all_scr",
    "top1_flex_par",
    "mean_flex_all",
    "range_flex_all",
    "sum_simple_all",
    "top1_simple_all",
)
STOPPED = ("top3_flex_largefp", "top3_simple_all")
AGES = {
    "young": ("age_group1", "age_group2"),
    "mid": ("age_group3", "age_group4"),
    "old": ("age_group5", "age_group6"),
}
RELATIVE = 1e-12


@pytest.fixture(scope="module")
def read(shared):
    folder = shared / "reference" / "cellkey"
    seen = {}

    def lines(name):
        if name not in seen:
            seen[name] = pd.read_csv(
                folder / f"{name}.csv", dtype={"strID": str, "epsilon": str}
            )
        return seen[name]

    return lines


@pytest.fixture(scope="module")
def cells(read):
    """Build the amounts of a reference table from the records, with cellKey's own keys."""
    made = {}

    def build(table, variable):
        if (table, variable) not in made:
            wanted = read("nums_cells")
            wanted = wanted[(wanted["table"] == table) & (wanted["vname"] == variable)]
            micro = read("micro")
            lines = [
                _line(_records(micro, cell["sex"], cell["age"]), variable)
                for _, cell in wanted.iterrows()
            ]
            assert [line["total"] for line in lines] == wanted["ws"].tolist()
            columns = {name: np.array([line[name] for line in lines]) for name in lines[0]}
            keys = [round(key * 10**18) for key in wanted["ck_nz"]]
            found = Magnitudes(
                variable=variable, key=np.array(keys, np.uint64), key_range=10**18, **columns
            )
            made[table, variable] = found, wanted
        return made[table, variable]

    return build


def _records(micro, sex, age):
    chosen = micro if sex == "Total" else micro[micro["sex"] == sex]
    return chosen if age == "Total" else chosen[chosen["age"].isin(AGES.get(age, (age,)))]


def _line(records, variable):
    values, weights = records[variable], records["sampling_weight"]
    given = values != 0
    order = np.lexsort((-(values * weights).abs(), -values.abs()))[:6]
    top, top_weight = values.iloc[order].to_numpy(float), weights.iloc[order].to_numpy(float)
    return {
        "total": float((values * weights).sum()),
        "raw_total": float(values.sum()),
        "contributors": int(given.sum()),
        "weighted_contributors": float(weights[given].sum()),
        "records": len(values),
        "weight": float(weights.sum()),
        "top": top,
        "top_weight": np.where(top == 0, 0.0, top_weight),
        "largest": float((values * weights).abs().max()),
        "low": float(values[given].min()),
        "high": float(values[given].max()),
    }


def with_their_order(magnitudes, read, table):
    """Take the largest contributors as cellKey ordered them: equal amounts have no order."""
    lines = read("nums_contributions")
    lines = lines[(lines["table"] == table) & (lines["vname"] == magnitudes.variable)]
    top = lines["uw_val"].to_numpy(float).reshape(-1, 6)
    weighted = lines["w_val"].to_numpy(float).reshape(-1, 6)
    assert (np.abs(top) == np.abs(magnitudes.top)).all(), "the same amounts, ties apart"
    weights = np.divide(weighted, top, out=np.zeros_like(top), where=top != 0)
    fields = {name: getattr(magnitudes, name) for name in magnitudes.__dataclass_fields__}
    return Magnitudes(**(fields | {"top": top, "top_weight": weights}))


@pytest.fixture(scope="module")
def noise(read):
    def build(config):
        lines = read("nums_config_parameters").set_index("config")
        line = lines.loc[config]
        tables = read(f"ptable_num_{line['ptab']}")
        ptables = {
            kind: PTable.from_frame(part[["i", "v", "ub"]].rename(columns={"ub": "p_int_ub"}))
            for kind, part in tables.groupby("type")
        }
        scale = Proportional(share=line["p_small"])
        if line["class"] == "params_m_flex":
            scale = Flex(
                point=line["fp"],
                small=line["p_small"],
                large=line["p_large"],
                power=int(line["q"]),
            )
        factors = tuple(map(float, line["epsilon"].split()))
        assert len(factors) == line["top_k"]
        return MagnitudeNoise(
            rules="cellkey",
            ptable=ptables.get("all"),
            even=ptables.get("even"),
            odd=ptables.get("odd"),
            small_cells=ptables.get("small_cells"),
            scale=scale,
            base={"top_contr": "top"}.get(line["type"], line["type"]),
            factors=factors,
            least_noise=float(line["mu_c"]),
            same_key=bool(line["same_key"]),
            zero_keys=bool(line["use_zero_rkeys"]),
            decimals=None,
        )

    return build


@pytest.fixture
def run(read, cells, noise):
    def build(config, table, variable):
        magnitudes, wanted = cells(table, variable)
        return read, with_their_order(magnitudes, read, table), wanted, noise(config)

    return build


def chosen(lines, **values):
    for column, value in values.items():
        lines = lines[lines[column] == value]
    assert len(lines)
    return lines


@pytest.mark.slow
@pytest.mark.parametrize("variable", VARIABLES)
@pytest.mark.parametrize("table", ["plain", "hier"])
@pytest.mark.parametrize("config", RAN)
def test_every_component_and_total_is_that_of_cellkey(run, config, table, variable):
    read, magnitudes, wanted, settings = run(config, table, variable)
    assert not settings.zero_keys
    trace = trace_cellkey(magnitudes, settings, keys=wanted["ck_nz"].to_numpy())
    shape = (len(magnitudes), settings.n_components)
    details = chosen(read("nums_details"), table=table, config=config, numvar=variable)
    np.testing.assert_allclose(
        trace.keys, details["ckey"].to_numpy().reshape(shape), atol=1e-15
    )
    steps = details["x_delta"].to_numpy().reshape(shape)
    np.testing.assert_allclose(trace.steps, steps, rtol=RELATIVE)
    assert trace.tables.tolist() == details["lookup"].to_numpy().reshape(shape).tolist()
    noises = details["pert"].to_numpy().reshape(shape)
    assert (noises == noises[:, :1]).all(), "the noise of the cell, once for each component"
    np.testing.assert_allclose(trace.noise.sum(axis=1), noises[:, 0], rtol=RELATIVE)
    totals = chosen(read("nums_perturbed"), table=table, config=config, vname=variable)
    plain = totals[~totals["mean_before_sum"]]["pws"].to_numpy()
    np.testing.assert_allclose(trace.totals, plain, rtol=RELATIVE)
    before = totals[totals["mean_before_sum"]]["pws"].to_numpy()
    # cellKey asked for means before sums: P² / X, the relative noise counts twice
    is_there = magnitudes.total != 0
    again = np.zeros(len(is_there))
    np.divide(trace.totals**2, magnitudes.total, out=again, where=is_there)
    np.testing.assert_allclose(again, before, rtol=RELATIVE)


@pytest.mark.parametrize("config", [c for c in RAN if c != "top3_flex_all_scr"])
def test_exact_integer_keys_publish_the_same_totals_where_no_digit_is_rotated(
    read, cells, noise, config
):
    """The keys of the reference are sums of doubles; ours are the exact decimals."""
    exact, doubles = 0, 0
    for variable in VARIABLES:
        magnitudes, _ = cells("hier", variable)
        magnitudes = with_their_order(magnitudes, read, "hier")
        rounded = [round(key, -10) for key in magnitudes.key.tolist()]
        exact += sum(key == other for key, other in zip(rounded, magnitudes.key, strict=True))
        doubles += len(rounded)
        fields = {n: getattr(magnitudes, n) for n in magnitudes.__dataclass_fields__}
        ours = Magnitudes(**(fields | {"key": np.array(rounded, np.uint64)}))
        found = perturb_magnitudes(ours, noise(config))
        totals = chosen(read("nums_perturbed"), table="hier", config=config, vname=variable)
        plain = totals[~totals["mean_before_sum"]]["pws"].to_numpy()
        np.testing.assert_allclose(found, plain, rtol=RELATIVE)
    assert exact < doubles, "some keys of the reference have traces of doubles"


@pytest.mark.parametrize("config", STOPPED)
def test_where_cellkey_stops_the_formulas_are_followed(read, cells, noise, config):
    status = chosen(read("nums_configs"), config=config)
    assert status["status"].unique().tolist() == ["error"]
    crossed = 0
    for table in ("plain", "hier"):
        for variable in VARIABLES:
            magnitudes, wanted = cells(table, variable)
            trace = trace_cellkey(magnitudes, noise(config), keys=wanted["ck_nz"].to_numpy())
            assert np.isfinite(trace.totals).all()
            running = magnitudes.total.copy()
            for column in range(3):
                step = trace.steps[:, column]
                assert (np.abs(step) <= np.abs(running)).all()
                stuck = running == 0
                assert (trace.noise[stuck, column] == 0).all()
                crossed += int(stuck.sum())
                running += trace.noise[:, column]
            np.testing.assert_allclose(trace.totals, running, rtol=RELATIVE)
    if config == "top3_flex_largefp":
        assert crossed, "a running value of 0, at which cellKey divides 0 by 0, occurs"


def test_the_flex_function_is_that_of_cellkey_also_where_it_is_negative(read):
    lines = read("flex_function")
    for _, line in lines.iterrows():
        parts = {"point": line["fp"], "small": line["p_sm"], "large": line["p_lg"]}
        found = flex_curve([line["x"]], **parts, power=int(line["q"]))[0]
        assert found == pytest.approx(line["m"], rel=RELATIVE)
    negative = lines[lines["m"] < 0]
    assert len(negative) == 204
    assert (negative["x"] < negative["fp"]).all(), "never where the function is used"


def test_keys_are_rotated_as_cellkey_prints_them(read):
    lines = read("scramble")
    keys = lines["ck"].to_numpy()
    for mode, same_key in (("same", True), ("scr", False)):
        found = printed_rotations(keys, components=3, same_key=same_key)
        wanted = lines[[f"k{j}_{mode}" for j in (1, 2, 3)]].to_numpy(float)
        np.testing.assert_allclose(found, wanted, rtol=RELATIVE, atol=0)
        assert np.isnan(wanted).any()


def test_ptables_of_amounts_have_the_anchors_and_means_of_the_reference(read):
    for name in ("all", "par", "sep", "parsep"):
        lines = read(f"ptable_num_{name}")
        for kind, part in lines.groupby("type"):
            table = PTable.from_frame(part[["i", "v", "ub"]].rename(columns={"ub": "p_int_ub"}))
            assert table.counts.tolist() == sorted(part["i"].unique().tolist())
            assert table.step == (5 if kind == "small_cells" else 2)
            for anchor, row in part.groupby("i"):
                units = table.units(int(anchor))
                for v, p in zip(row["v"], row["p"], strict=True):
                    share = units[round(v * table.step)] / table.key_range
                    assert share == pytest.approx(p, abs=1e-12)
                mean = sum(v * n for v, n in units.items()) / table.key_range / table.step
                assert abs(mean) < 2e-6


def test_mixing_two_anchors_loses_variance_as_one_row_for_each_ratio_does_not(read):
    lines = chosen(read("ptable_num_all"), type="all")
    table = PTable.from_frame(lines[["i", "v", "ub"]].rename(columns={"ub": "p_int_ub"}))
    keys = np.arange(10**5, dtype=np.uint64)
    for ratio, variance in ((1.0, 3.0), (3.0, 2.55), (5.0, 3.0)):
        v = interpolated(table, np.full(len(keys), ratio), keys, key_range=len(keys))
        assert v.var() == pytest.approx(variance, abs=0.005)
