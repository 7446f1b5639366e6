"""Utility of the perturbed tables of cellKey 1.0.3 and INSEE's ckm 1.1.0.

The references hold counts before and after and the precision of ratios, no other figure of
utility: figures are recomputed with pandas, and the noise must look like that of the p-table.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ptable import PTable
from risk.utility import Pairs, additivity, assess_utility, utility_record


@pytest.fixture(params=["D5V2", "D5V3js2"])
def insee(shared, request):
    folder = shared / "reference" / "inseeckm"
    frame = pd.read_csv(folder / f"t2_{request.param}_perturbed.csv", dtype={"nb_obs_ckm": int})
    return frame, PTable.read(folder / f"ptable_{request.param}.csv")


def test_figures_of_insee_are_those_of_pandas(insee):
    frame, _ = insee
    noise = frame["nb_obs_ckm"] - frame["nb_obs"]
    record = (
        utility_record(Pairs(original=frame["nb_obs"], published=frame["nb_obs_ckm"]))
        .to_frame()
        .set_index("cells")
    )
    classes = {
        "all": frame["nb_obs"] > 0,
        "large": frame["nb_obs"] > 50,
        "small": frame["nb_obs"] <= 20,
    }
    for name, inside in classes.items():
        size, original = noise[inside].abs(), frame["nb_obs"][inside]
        assert record.loc[name, "base"] == inside.sum()
        assert record.loc[name, "mad"] == pytest.approx(size.mean())
        assert record.loc[name, "rmad_pct"] == pytest.approx(100 * (size / original).mean())
        shares = frame[inside].drop(columns=["DIPLOME", "SEXE", "AGE", "REG", "DEP"])
        shares = np.sqrt(shares / shares.sum())
        wanted = np.sqrt(((shares["nb_obs"] - shares["nb_obs_ckm"]) ** 2).sum() / 2)
        assert record.loc[name, "hd"] == pytest.approx(wanted)
        for q in (50, 80, 90, 95, 100):
            assert record.loc[name, f"q{q}"] == pytest.approx(size.quantile(q / 100))


def test_noise_of_insee_agrees_with_its_p_table(insee):
    frame, table = insee
    inner = frame[(frame[["DIPLOME", "SEXE", "AGE", "DEP"]] != "Total").all(axis=1)]
    found = assess_utility(inner["nb_obs"], inner["nb_obs_ckm"], ptable=table)
    assert found.find("false_nonzeros").value == 0
    assert found.find("max_abs").value <= table.max_noise
    # fixed data: under the p-table each of these two fails once in a thousand
    assert abs(found.find("bias_z").value) < 3.3
    assert found.find("changed_p_value").value > 1e-3


def test_figures_of_cellkey_are_those_of_pandas(shared):
    frame = pd.read_csv(shared / "reference" / "cellkey" / "counts_perturbed.csv")
    plain = frame[(frame["table"] == "plain") & (frame["weights"] != "weighted")]
    for name, some in plain.groupby("ptable"):
        assert (some["puwc"] - some["uwc"] == some["pert"]).all(), name
        found = assess_utility(some["uwc"], some["puwc"])
        assert found.find("manhattan").value == some["pert"].abs().sum()
        assert found.find("false_nonzeros").value == 0
        for _, part in some.groupby("vname"):
            measure = assess_utility(part["uwc"], part["puwc"]).find("aad")
            assert measure.value == pytest.approx(part["pert"].abs().mean())
            assert measure.base == len(part)


def test_gaps_of_cellkey_are_those_of_its_margins(shared):
    frame = pd.read_csv(shared / "reference" / "cellkey" / "counts_perturbed.csv")
    runs = frame[frame["table"] == "plain"].groupby(["vname", "weights", "ptable"])
    assert len(runs) > 1
    for _, run in runs:
        cells = run.reset_index(drop=True)
        total = {
            age: place
            for place, (sex, age) in enumerate(zip(cells["sex"], cells["age"], strict=True))
            if sex == "Total"
        }
        parent = np.where(cells["sex"] == "Total", -1, cells["age"].map(total))
        found = additivity(Pairs(original=cells["uwc"], published=cells["puwc"]), parent=parent)
        wide = cells.pivot_table(index="age", columns="sex", values="puwc")
        gaps = wide["Total"] - wide.drop(columns="Total").sum(axis=1)
        seen = dict(zip(cells["age"][found.totals], found.gaps, strict=True))
        assert seen == gaps.to_dict()


@pytest.mark.parametrize(("table", "cells"), [("t1", 48), ("t2", 4749)])
def test_zeros_and_the_largest_noise_show_in_the_figures(shared, table, cells):
    frame = pd.read_csv(shared / "reference" / "inseeckm" / f"{table}_D5V3js2_perturbed.csv")
    found = assess_utility(frame["nb_obs"], frame["nb_obs_ckm"].astype(int), threshold=4)
    assert found.n_cells == cells
    assert found.find("false_zeros").value == (frame["nb_obs_ckm"].astype(int) == 0).sum()
    assert found.find("max_abs").value <= 5
