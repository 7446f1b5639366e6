"""Hierarchies become one axis and come back as their columns."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ckm
from ckm import PublishedTable
from ckm.formats import FormatError, TableAbout, to_bytes, write_table
from ptable import PTable
from tests.readers.reading import read_table
from tests.strategies import examples
from tests.unit.ckm.formats.conftest import encode

#: Counts of 1 become 0, counts of 2 become 3, all others stay.
PTABLE = PTable(noise=[[0], [-1], [1], [0]], upper=[[256], [256], [256], [256]], key_range=256)
GEO = TableAbout(hierarchies={"geo": ["region", "area"]})


def tabulate(records, **wish):
    columns = {
        name: [r[place] for r in records]
        for place, name in enumerate(["region", "area", "sex"])
    }
    data = pa.table(
        {**columns, "key": pa.array([i % 256 for i in range(len(records))], pa.uint8())}
    )
    with ckm.Engine(
        data,
        record_key="key",
        ptable=PTABLE,
        mix=False,
        checks="skip",
        hierarchies={"geo": ["region", "area"]},
    ) as engine:
        return engine.tabulate(["sex", "geo"], **wish)


def rows(table):
    columns = [[cats[c] for c in codes] for codes, cats in table.dimensions.values()]
    columns += [values.tolist() for values in table.measures.values()]
    return list(zip(*columns, strict=True))


def index(table, about=GEO):
    document = json.loads(to_bytes(table, "json-stat2", about=about))
    return (
        list(document["dimension"]["geo"]["category"]["index"])
        if "geo" in document["id"]
        else None
    )


records = st.lists(
    st.tuples(
        st.sampled_from(["01", "02", "a/b"]),
        st.sampled_from(["01", "011", "x~1", "021", "01/Total"]),
        st.sampled_from("FM"),
    ),
    min_size=1,
    max_size=40,
)


@pytest.mark.parametrize("suffix", [".json", ".px"])
@settings(max_examples=examples(12))
@given(records=records, margins=st.sampled_from(["all", "none"]), grid=st.booleans())
def test_a_table_of_the_engine_comes_back_with_its_columns(
    tmp_path_factory, suffix, records, margins, grid
):
    table = tabulate(records, margins=margins, empty_cells="grid" if grid else "drop")
    path = tmp_path_factory.mktemp("t") / f"t{suffix}"
    if suffix == ".px" and not table.n_rows:
        with pytest.raises(FormatError):
            write_table(table, path, about=GEO)
        return
    write_table(table, path, about=GEO)
    back = read_table(path)
    assert back.columns == table.columns
    if suffix == ".json":
        assert rows(back) == rows(table)
    assert sorted(rows(back)) == sorted(rows(table))
    for name, (_, categories) in table.dimensions.items():
        assert list(back.dimensions[name][1]) == list(categories)


def test_nodes_go_by_their_codes_where_the_tree_says_the_rest():
    table = tabulate([("01", "01001", "F"), ("01", "01002", "M"), ("02", "02001", "F")] * 5)
    assert index(table) == ["Total", "01", "01001", "01002", "02", "02001"]


@pytest.mark.parametrize(
    "records",
    [
        [("01", "01", "F")] * 5,  # a code of two levels
        [("01", "x", "F"), ("02", "x", "F")] * 5,  # a code below two parents
        [("01", "a/b", "F")] * 5,  # a mark of paths
    ],
)
def test_nodes_go_by_their_paths_where_codes_do_not_tell(records):
    table = tabulate(records)
    found = index(table)
    assert found[0] == "Total/Total"
    dimension = json.loads(to_bytes(table, "json-stat2", about=GEO))["dimension"]["geo"]
    assert dimension["category"]["label"]["Total/Total"] == "Total"
    assert all(len(node.split("/")) == 2 for node in found)


def test_leaves_without_their_parents_go_by_their_paths():
    table = tabulate([("01", "01001", "F"), ("02", "02001", "F")] * 5, margins="none")
    assert index(table) == ["01/01001", "02/02001"]


def test_columns_that_are_not_side_by_side_stay_apart():
    names, cells = ("region", "sex", "area"), [("1", "F", "a"), ("1", "M", "b")]
    table = PublishedTable(
        dimensions={
            n: encode(list(t)) for n, t in zip(names, zip(*cells, strict=True), strict=True)
        },
        measures={"count": np.array([5, 6])},
    )
    assert index(table) is None


def test_a_hierarchy_that_has_the_name_of_a_column_stays_apart(table):
    about = TableAbout(hierarchies={"sex": ["region", "area"]})
    document = json.loads(to_bytes(table, "json-stat2", about=about))
    assert document["id"] == ["region", "area", "sex", "ContentsCode"]


@pytest.mark.slow
def test_twenty_thousand_places_need_no_ten_million_cells(tmp_path):
    areas = [("Total", "Total")]
    areas += [
        (f"{r:03}", a)
        for r in range(600)
        for a in ["Total", *[f"{r:03}{n:03}" for n in range(30)]]
    ]
    table = PublishedTable(
        dimensions={
            n: encode_fast(t)
            for n, t in zip(("region", "area"), zip(*areas, strict=True), strict=True)
        },
        measures={"count": np.arange(len(areas))},
    )
    with pytest.raises(FormatError, match="name the hierarchies"):
        to_bytes(table, "json-stat2")
    write_table(table, tmp_path / "t.json", about=GEO)
    assert rows(read_table(tmp_path / "t.json")) == rows(table)


def encode_fast(texts):
    places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    return np.array([places[text] for text in texts], np.int32), list(places)
