"""Perturbed counts of cellKey 1.0.3, reproduced cell by cell."""

from __future__ import annotations

from decimal import Decimal

import pandas as pd
import pytest

import ckm
from ptable import PTable
from tables import CodeTree, Hierarchy, Request, StoredKeys, cube, open_source
from tests.strategies import decode, published

VARIABLES = {
    "total": None,
    "cnt_females": "cnt_females = 1",
    "cnt_males": "cnt_males = 1",
    "cnt_highincome": "cnt_highincome = 1",
}


def trees(folder, table):
    """Read the trees of both dimensions, which one file holds, through files of our format."""
    lines = pd.read_csv(folder / f"hierarchy_{table}.csv")
    return {name: lines[lines["dim"] == name][["level", "name"]] for name in ("sex", "age")}


@pytest.fixture
def cellkey(shared):
    return shared / "reference" / "cellkey"


@pytest.fixture
def hierarchies(cellkey, tmp_path):
    def read(table):
        found = {}
        for name, lines in trees(cellkey, table).items():
            file = tmp_path / f"{table}_{name}.csv"
            lines.to_csv(file, index=False)
            found[name] = Hierarchy(columns=(name,), tree=CodeTree.read(file))
        return found

    return read


def wanted_rows(cellkey, **chosen):
    rows = pd.read_csv(cellkey / "counts_perturbed.csv")
    for column, value in chosen.items():
        rows = rows[rows[column] == value]
    assert len(rows)
    return rows


@pytest.mark.slow
@pytest.mark.parametrize("ptable", ["ex", "D5V3js2"])
@pytest.mark.parametrize("table", ["plain", "hier"])
def test_published_counts_are_those_of_cellkey(cellkey, hierarchies, table, ptable):
    rows = wanted_rows(cellkey, table=table, ptable=ptable, weights="weighted")
    with ckm.Engine(
        cellkey / "micro.csv",
        record_key="rkey",
        weight="sampling_weight",
        round_weighted=False,
        ptable=PTable.read(cellkey / f"ptable_cnt_{ptable}.csv"),
        hierarchies=hierarchies(table),
        mix=False,
    ) as engine:
        tables = engine.tabulate_all(
            {
                name: ckm.TableRequest(
                    dimensions=["sex", "age"], where=where, measures=["count", "weighted"]
                )
                for name, where in VARIABLES.items()
            }
        )
    for name, found in tables.items():
        ours = rows[rows["vname"] == name].set_index(["sex", "age"])
        counts, weighted = published(found), published(found, "weighted")
        for cell, row in ours.iterrows():
            assert counts.get(cell, 0) == row["puwc"]
            assert weighted.get(cell, 0) == pytest.approx(row["pwc"], rel=1e-9)
        assert set(counts) <= set(ours.index)
    unweighted = wanted_rows(cellkey, table=table, ptable=ptable, weights="unweighted")
    assert unweighted["puwc"].tolist() == rows["puwc"].tolist()


@pytest.mark.parametrize("table", ["plain", "hier"])
def test_cell_keys_are_the_exact_sums_that_cellkey_rounds(cellkey, hierarchies, table):
    """The reference adds doubles: over 4,580 records its keys are off by up to 1e-12."""
    rows = wanted_rows(cellkey, table=table, ptable="ex", weights="unweighted")
    requests = [
        Request(dimensions=["sex", "age"], hierarchies=hierarchies(table), where=where)
        for where in VARIABLES.values()
    ]
    with open_source(cellkey / "micro.csv") as source:
        found = cube(source, StoredKeys(column="rkey"), requests)
    off = Decimal(0)
    for name, cells in zip(VARIABLES, found, strict=True):
        ours = decode(cells)
        for _, row in rows[rows["vname"] == name].iterrows():
            count, key, _ = ours.get((row["sex"], row["age"]), (0, 0, None))
            assert count == row["uwc"]
            exact = Decimal(key).scaleb(-18)
            assert exact == round(exact, 8), "sums of 8-digit keys have 8 digits"
            # Without contributors cellKey prints whichever key the empty sum left: 0.
            distance = abs(exact - Decimal(row["ckey"]))
            off = max(off, min(distance, 1 - distance))
    assert off < Decimal("1e-11")


def test_each_wanted_margin_alone_is_the_same_cell(cellkey, hierarchies):
    rows = wanted_rows(
        cellkey, table="hier", ptable="ex", weights="unweighted", vname="total"
    ).set_index(["sex", "age"])["puwc"]
    with ckm.Engine(
        cellkey / "micro.csv",
        record_key="rkey",
        ptable=PTable.read(cellkey / "ptable_cnt_ex.csv"),
        hierarchies=hierarchies("hier"),
        mix=False,
    ) as engine:
        by_age = published(engine.tabulate(["age"]))
        females = published(engine.tabulate(["age"], where="sex = 'female'"))
        young = published(engine.tabulate(["sex"], where="age in ('age_group1', 'age_group2')"))
    assert by_age == {(a,): c for (s, a), c in rows.items() if s == "Total" and c}
    assert females == {(a,): c for (s, a), c in rows.items() if s == "female" and c}
    assert young == {(s,): c for (s, a), c in rows.items() if a == "young" and c}
