import numpy as np
import pyarrow as pa
import pytest

from ckm.assessment.grouping import categories, margins_of, parents
from tables import CodeTree, Hierarchy
from tests.unit.ckm.assessment.support import cells_of, people

NESTED = {"geo": Hierarchy(columns=("region", "commune"))}


def register(n=400):
    rng = np.random.default_rng(3)
    region = rng.integers(0, 3, n)
    return pa.table(
        {
            "id": list(range(n)),
            "region": [f"R{r}" for r in region],
            "commune": [
                f"R{r}C{c}" for r, c in zip(region, rng.integers(0, 5, n), strict=True)
            ],
            "sex": rng.choice(["F", "M"], n).tolist(),
            "act": rng.choice(["0-2", "3-14", "15-64", "old"], n).tolist(),
        }
    )


def tree_of(tmp_path):
    path = tmp_path / "act.csv"
    path.write_text("code,parent\nyoung,\n0-2,young\n3-14,young\nadult,\n15-64,adult\nold,\n")
    return {"act": Hierarchy(columns=("act",), tree=CodeTree.read(path))}


def labels_of(cells):
    """The labels of every cell, one tuple per cell."""
    columns = [
        axis.labels[c][ranks]
        for axis, ranks in zip(cells.axes, cells.ranks, strict=True)
        for c in range(len(axis.columns))
    ]
    return list(zip(*columns, strict=True))


def test_margins_are_named_by_the_columns_that_they_show():
    cells = cells_of(register(), ["geo", "sex"], hierarchies=NESTED)
    margins = margins_of(cells)
    assert set(margins.names) == {
        "commune, sex",
        "region, sex",
        "sex",
        "commune",
        "region",
        "",
    }
    for place, labels in zip(margins.place.tolist(), labels_of(cells), strict=True):
        region, commune, sex = labels
        shown = "commune" if commune != "Total" else "region" if region != "Total" else ""
        names = [shown] * bool(shown) + ["sex"] * (sex != "Total")
        assert margins.names[place] == ", ".join(names)


def test_the_finest_cells_share_no_record(tmp_path):
    records = register()
    cells = cells_of(records, ["act", "geo"], hierarchies=NESTED | tree_of(tmp_path))
    finest = margins_of(cells).is_finest
    assert cells.count[finest].sum() == records.num_rows
    assert 0 < finest.sum() < len(cells)


def test_categories_hold_every_cell_below_them_and_no_total():
    cells = cells_of(register(), ["geo", "sex"], hierarchies=NESTED)
    found = {name: (inside, values) for name, inside, values in categories(cells, at_most=20)}
    assert set(found) == {"region", "commune", "sex"}
    for column, name in enumerate(("region", "commune", "sex")):
        inside, values = found[name]
        for place, labels in zip(inside.tolist(), labels_of(cells), strict=True):
            assert (values[place] if place >= 0 else "Total") == labels[column]


def test_categories_of_a_code_tree_are_those_of_each_depth(tmp_path):
    cells = cells_of(register(), ["act"], hierarchies=tree_of(tmp_path))
    found = {name: (inside, values) for name, inside, values in categories(cells, at_most=9)}
    inside, values = found["act 1"]
    above = {"0-2": "young", "3-14": "young", "15-64": "adult"}
    for place, (label,) in zip(inside.tolist(), labels_of(cells), strict=True):
        want = above.get(label, label)
        assert (values[place] if place >= 0 else "Total") == want


def test_levels_with_many_categories_are_left_out():
    cells = cells_of(register(), ["geo", "sex"], hierarchies=NESTED)
    assert [name for name, *_ in categories(cells, at_most=3)] == ["region", "sex"]


def sums_of_parts(cells, parent):
    inner = np.flatnonzero(parent >= 0)
    sums = np.zeros(len(cells), np.int64)
    np.add.at(sums, parent[inner], cells.count[inner])
    return sums


@pytest.mark.parametrize("margins", ["all", [["region"], ["sex"], []], [["geo"], []]])
def test_parts_of_a_total_add_up_to_it_along_every_dimension(tmp_path, margins):
    cells = cells_of(
        register(),
        ["geo", "act", "sex"],
        hierarchies=NESTED | tree_of(tmp_path),
        margins=margins,
    )
    found = dict(parents(cells))
    assert list(found) == ["commune", "act", "sex"]
    lines = 0
    for parent in found.values():
        totals = np.unique(parent[parent >= 0])
        lines += len(totals)
        assert (sums_of_parts(cells, parent)[totals] == cells.count[totals]).all()
        assert (parent != np.arange(len(cells))).all()
    assert lines > 0


def test_a_part_belongs_to_the_nearest_total_that_is_shown():
    cells = cells_of(register(), ["geo"], hierarchies=NESTED, margins=[[]])
    ((_, parent),) = parents(cells)
    labels = labels_of(cells)
    assert {labels[p] for p in parent[parent >= 0]} == {("Total", "Total")}


def test_the_grand_total_alone_has_no_parts():
    cells = cells_of(people(20), [])
    assert margins_of(cells).names == ("",)
    assert list(parents(cells)) == []
    assert list(categories(cells, at_most=20)) == []
