"""Sums that cellKey 1.0.3 published, from the records through the engine."""

from __future__ import annotations

import pandas as pd
import pytest

import ckm
from ckm.engine.magnitudes import Flex, MagnitudeNoise, Proportional
from ptable import PTable

VARIABLES = ("expend", "income", "savings", "mixed")
NO_NOISE = PTable(noise=((0,), (0,)), upper=((256,), (256,)), key_range=256)
RELATIVE = 1e-12
RAN = (
    "top3_flex_all_scr",
    "top1_flex_par",
    "mean_flex_all",
    "range_flex_all",
    "sum_simple_all",
    "top1_simple_all",
)


@pytest.fixture
def folder(shared):
    return shared / "reference" / "cellkey"


@pytest.fixture
def noise(folder):
    def build(config):
        lines = pd.read_csv(folder / "nums_config_parameters.csv", dtype={"epsilon": str})
        line = lines.set_index("config").loc[config]
        cells = pd.read_csv(folder / f"ptable_num_{line['ptab']}.csv")
        ptables = {
            {"all": "ptable"}.get(kind, kind): PTable.from_frame(
                part[["i", "v", "ub"]].rename(columns={"ub": "p_int_ub"})
            )
            for kind, part in cells.groupby("type")
        }
        scale = Proportional(share=line["p_small"])
        if line["class"] == "params_m_flex":
            point, small, large = line["fp"], line["p_small"], line["p_large"]
            scale = Flex(point=point, small=small, large=large, power=int(line["q"]))
        return MagnitudeNoise(
            rules="cellkey",
            scale=scale,
            base={"top_contr": "top"}.get(line["type"], line["type"]),
            factors=tuple(map(float, line["epsilon"].split())),
            least_noise=float(line["mu_c"]),
            same_key=bool(line["same_key"]),
            decimals=None,
            **ptables,
        )

    return build


def published(folder, tmp_path, table, noise):
    """Return variable → cell → sum, with counts that have no noise and weights as they are."""
    lines = pd.read_csv(folder / f"hierarchy_{table}.csv")
    hierarchies = {}
    for name in ("sex", "age"):
        tree = tmp_path / f"{table}_{name}.csv"
        lines[lines["dim"] == name][["level", "name"]].to_csv(tree, index=False)
        hierarchies[name] = {"column": name, "tree": str(tree)}
    with ckm.Engine(
        str(folder / "micro.csv"),
        record_key="rkey",
        mix=False,
        weight="sampling_weight",
        ptable=NO_NOISE,
        hierarchies=hierarchies,
        magnitudes=noise,
    ) as engine:
        found = engine.tabulate(["sex", "age"], measures=[f"sum:{v}" for v in VARIABLES])
    rows = found.to_pandas().set_index(["sex", "age"])
    return {v: rows[f"sum_{v}"].to_dict() for v in VARIABLES}


def references(folder, table, config):
    wanted = pd.read_csv(folder / "nums_perturbed.csv")
    wanted = wanted[(wanted["table"] == table) & (wanted["config"] == config)]
    wanted = wanted[~wanted["mean_before_sum"]]
    for row in wanted.itertuples():
        yield row.vname, (row.sex, row.age), row.pws


@pytest.mark.parametrize("table", ["plain", "hier"])
@pytest.mark.parametrize("config", RAN)
def test_the_engine_publishes_every_sum_of_cellkey(folder, tmp_path, noise, config, table):
    found = published(folder, tmp_path, table, noise(config))
    compared = 0
    for variable, cell, total in references(folder, table, config):
        assert found[variable][cell] == pytest.approx(total, rel=RELATIVE, abs=0)
        compared += 1
    assert compared == 4 * {"plain": 21, "hier": 30}[table]
