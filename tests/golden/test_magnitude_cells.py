"""Sums, largest contributions and keys of magnitudes, as cellKey 1.0.3 and pandas find them."""

from __future__ import annotations

import pandas as pd
import pyarrow.parquet as pq
import pytest

from tables import CodeTree, Hierarchy, Request, StoredKeys, cube, draw_keys, open_source

VARIABLES = ("expend", "income", "savings", "mixed")


@pytest.fixture
def cellkey(shared):
    return shared / "reference" / "cellkey"


def add_up(folder, tmp_path, table):
    """Return the magnitudes of a reference table by variable, and the place of every cell."""
    lines = pd.read_csv(folder / f"hierarchy_{table}.csv")
    hierarchies = {}
    for name in ("sex", "age"):
        file = tmp_path / f"{table}_{name}.csv"
        lines[lines["dim"] == name][["level", "name"]].to_csv(file, index=False)
        hierarchies[name] = Hierarchy(columns=(name,), tree=CodeTree.read(file))
    wish = Request(
        dimensions=["sex", "age"],
        hierarchies=hierarchies,
        weight="sampling_weight",
        sums=VARIABLES,
        top=6,
    )
    with open_source(folder / "micro.csv") as source:
        (cells,) = cube(source, StoredKeys(column="rkey"), [wish])
    labels = [
        axis.labels[0][ranks].tolist()
        for axis, ranks in zip(cells.axes, cells.ranks, strict=True)
    ]
    places = {cell: place for place, cell in enumerate(zip(*labels, strict=True))}
    return cells, places


@pytest.mark.parametrize("table", ["plain", "hier"])
def test_sums_and_keys_are_those_of_cellkey(cellkey, tmp_path, table):
    """The reference adds doubles: over 4,580 records its keys are off by up to 1e-12."""
    cells, places = add_up(cellkey, tmp_path, table)
    rows = pd.read_csv(cellkey / "nums_cells.csv").query("table == @table")
    assert set(zip(rows["sex"], rows["age"], strict=True)) == set(places)
    for row in rows.itertuples():
        at, found = places[row.sex, row.age], cells.magnitudes[row.vname]
        assert found.raw_total[at] == row.uws
        assert found.total[at] == row.ws
        assert found.key[at] / 10**18 == pytest.approx(row.ck_nz, abs=1e-11)
        assert cells.cell_key[at] / 10**18 == pytest.approx(row.ck, abs=1e-11)
        assert found.weighted_contributors[at] <= cells.weight[at]


@pytest.mark.parametrize("table", ["plain", "hier"])
def test_largest_contributions_and_spreads_are_those_of_cellkey(cellkey, tmp_path, table):
    """Of contributions that differ only in their sign, the reference takes any."""
    cells, places = add_up(cellkey, tmp_path, table)
    names = pd.read_csv(cellkey / "nums_cells.csv").query("table == @table")
    names = names.set_index(["strID", "vname"])[["sex", "age"]]
    rows = pd.read_csv(cellkey / "nums_contributions.csv").query("table == @table")
    compared = 0
    for row in rows.itertuples():
        at = places[tuple(names.loc[(row.strID, row.vname)])]
        found = cells.magnitudes[row.vname]
        value, weight = found.top[at, row.k - 1], found.top_weight[at, row.k - 1]
        assert abs(value) == abs(row.uw_val)
        assert abs(value * weight) == abs(row.w_val)
        assert found.high[at] - found.low[at] == row.w_spread
        assert found.total[at] == row.w_sum
        assert found.total[at] / cells.weight[at] == pytest.approx(row.w_mean, rel=1e-14)
        if row.vname != "mixed":
            assert value == row.uw_val
        compared += 1
    assert compared == len(rows) >= 6 * 4 * 21


def test_incomes_of_real_persons_add_up_as_in_pandas(shared, tmp_path):
    path = tmp_path / "keyed.parquet"
    with open_source(shared / "data" / "acs_national_2019.parquet") as source:
        draw_keys(source, path=path)
    people = pq.read_table(path).to_pandas()
    people["w"] = people["WGTP"].fillna(0)
    people.to_parquet(path)
    wish = Request(
        dimensions=["SEX", "RAC1P"],
        weight="w",
        where="AGEP >= 15",
        sums=["PINCP"],
        top=4,
    )
    with open_source(path) as source:
        (cells,) = cube(source, StoredKeys(column="record_key"), [wish])
    found = cells.magnitudes["PINCP"]
    some = people[(people["AGEP"] >= 15) & people["PINCP"].notna()]
    labels = [axis.labels[0][r] for axis, r in zip(cells.axes, cells.ranks, strict=True)]
    for at, (sex, race) in enumerate(zip(*labels, strict=True)):
        mine = some
        for column, code in (("SEX", sex), ("RAC1P", race)):
            mine = mine if code == "Total" else mine[mine[column] == int(code)]
        values, weights = mine["PINCP"], mine["w"]
        assert found.raw_total[at] == values.sum()
        assert found.total[at] == (values * weights).sum()
        assert found.contributors[at] == (values != 0).sum()
        some_of = mine[values != 0].assign(size=values.abs())
        largest = some_of.sort_values(["size", "w"], ascending=False).head(4)
        pad = [0.0] * (4 - len(largest))
        assert found.top[at].tolist() == largest["PINCP"].tolist() + pad
        assert found.top_weight[at].tolist() == largest["w"].tolist() + pad
        assert (found.low[at], found.high[at]) == (values.min(), values.max())
        assert (found.records[at], found.weight[at]) == (len(mine), weights.sum())
        assert found.largest[at] == (values * weights).abs().max()
    assert len(cells) > 20
    assert found.raw_total[-1] > 10**9
