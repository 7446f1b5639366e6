"""JSON-stat 2.0: valid, full where it is full, sparse where it is not."""

from __future__ import annotations

import datetime as dt
import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given
from jsonstat_validator import validate_jsonstat
from pyjstat import pyjstat

from ckm import PublishedTable
from ckm.formats import FormatError, TableAbout, to_bytes, write_table
from tests.property.test_formats_roundtrip import ALL_HIDDEN, EMPTY, GRAND, tables
from tests.readers.reading import read_table


def expand(document):
    """Read a dataset by the definition: row-major, one combination of categories a value."""
    axes = []
    for name, size in zip(document["id"], document["size"], strict=True):
        index = document["dimension"][name]["category"]["index"]
        assert document["dimension"][name]["category"]["label"].keys() == index.keys()
        ids = sorted(index, key=index.__getitem__)
        assert len(ids) == size
        axes.append(ids)
    values = document["value"]
    if isinstance(values, list):
        assert len(values) == math.prod(document["size"])
        values = {str(place): value for place, value in enumerate(values)}
    cells = enumerate(itertools.product(*axes))
    return {cell: values[str(place)] for place, cell in cells if str(place) in values}


def dataset(table, about=None):
    return json.loads(to_bytes(table, "json-stat2", about=about))


@given(table=tables())
def test_every_table_gives_a_valid_dataset(table):
    assert validate_jsonstat(dataset(table))


@pytest.mark.parametrize("table", [EMPTY, GRAND, ALL_HIDDEN])
def test_the_smallest_tables_give_valid_datasets(table):
    assert validate_jsonstat(dataset(table))


def test_all_that_is_said_gives_a_valid_dataset(table, about):
    assert validate_jsonstat(dataset(table, about))


def test_a_reader_by_the_definition_finds_every_cell(table, about, rows):
    found = expand(dataset(table, about))
    for region, area, sex, count, weighted in rows(table):
        node = area if area != "Total" else region
        assert found[node, sex, "count"] == count
        assert found[node, sex, "weighted"] == weighted
    assert len(found) == 2 * table.n_rows


def test_a_hierarchy_is_one_dimension_with_its_tree(table, about):
    document = dataset(table, about)
    place = document["dimension"]["geo"]
    assert document["id"] == ["geo", "sex", "ContentsCode"]
    places = ["Total", "01", "01001", "01002", "02", "02001"]
    assert place["category"]["index"] == {code: at for at, code in enumerate(places)}
    assert place["category"]["child"] == {
        "Total": ["01", "02"],
        "01": ["01001", "01002"],
        "02": ["02001"],
    }
    assert place["category"]["label"]["01001"] == "Upper town"
    assert document["role"] == {"metric": ["ContentsCode"], "geo": ["geo"]}
    assert place["extension"]["eliminationValueCode"] == "Total"


def test_a_suppressed_cell_is_null_with_the_status_q(table, about):
    document = dataset(table, about)
    assert document["status"] == {"8": "Q"}
    assert document["value"][8] is None
    assert document["extension"]["status"]["label"] == {"Q": "not shown"}
    assert "status" not in dataset(GRAND)


def test_withheld_categories_are_not_in_the_cube_and_are_listed(table, about):
    document = dataset(table, about)
    assert document["extension"]["blocked"] == {
        "label": "Withheld",
        "category": {"area": ["02002", "02003"]},
    }
    assert "02002" not in document["dimension"]["geo"]["category"]["index"]


def test_a_cell_that_is_not_listed_is_neither_zero_nor_suppressed(table, rows, tmp_path):
    # the hierarchy is not named: a dimension for each column, most of the cube empty
    document = dataset(table)
    assert document["size"] == [3, 4, 3, 2]
    assert isinstance(document["value"], list)
    assert document["value"].count(None) == 3 * 4 * 3 * 2 - 36 + 1
    assert list(document["status"].values()) == ["Q"]
    write_table(table, tmp_path / "t.json")
    assert rows(read_table(tmp_path / "t.json")) == rows(table)


def test_a_cube_that_is_mostly_empty_lists_its_cells_in_the_order_of_the_rows(rows, tmp_path):
    table = PublishedTable(
        dimensions={
            "x": (np.array([2, 0, 1], np.int32), ["a", "b", "c"]),
            "y": (np.array([0, 1, 2], np.int32), ["a", "b", "c"]),
        },
        measures={"count": np.array([5, 0, 7])},
    )
    assert dataset(table)["value"] == {"6": 5, "1": 0, "5": 7}
    write_table(table, tmp_path / "t.json")
    assert rows(read_table(tmp_path / "t.json")) == [
        ("c", "a", 5),
        ("a", "b", 0),
        ("b", "c", 7),
    ]


def test_a_cube_beyond_the_limit_is_refused_with_a_way_out():
    size = 4000
    codes = np.arange(size, dtype=np.int32)
    names = [str(number) for number in range(size)]
    table = PublishedTable(
        dimensions={"x": (codes, names), "y": (codes, names)},
        measures={"count": codes.astype(int)},
    )
    for name in ("json-stat2", "px"):
        with pytest.raises(
            FormatError, match=r"16,000,000 cells, .* at most 10,000,000"
        ) as caught:
            to_bytes(table, name)
        assert "name the hierarchies" in str(caught.value)


def test_two_rows_of_one_cell_are_refused():
    table = PublishedTable(
        dimensions={"x": (np.zeros(2, np.int32), ["a"])}, measures={"count": np.array([1, 2])}
    )
    for name in ("json-stat2", "px"):
        with pytest.raises(FormatError, match="Two rows of the table are the same cell"):
            to_bytes(table, name)
    assert to_bytes(table, "csv").count(b"\n") == 3


def test_a_year_that_the_format_cannot_hold_is_refused(table):
    with pytest.raises(FormatError, match="1900 to 2099"):
        to_bytes(table, "json-stat2", about=TableAbout(updated=dt.date(1850, 1, 1)))


@pytest.mark.filterwarnings("ignore:Shouldn't use this function")  # its own call of itself
@pytest.mark.parametrize("language", ["en-GB", "fr"])
def test_pyjstat_reads_the_labels_and_numbers_of_a_language(language, table, about):
    (said,) = (a for a in (about, *about.translations) if a.language == language)
    frame = pyjstat.Dataset.read(to_bytes(table, "json-stat2", about=said).decode())
    assert (frame["label"], frame["note"]) == (said.title, list(said.notes))
    rows = frame.write("dataframe")
    places = said.labels["geo"], said.labels["sex"]
    found = rows[rows["ContentsCode"] == said.labels["count"]].set_index([*places])["value"]
    labels = said.category_labels
    assert found[labels["area"]["01001"], labels["sex"]["F"]] == 49
    assert np.isnan(found[labels["region"]["01"], labels["sex"]["F"]])  # suppressed
    assert found.sum() == table.measures["count"].sum()
