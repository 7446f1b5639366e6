"""SDMX-CSV: the columns that the standard asks for, and the codes of its code lists."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from pysdmx.io.csv.sdmx10.reader import read as read_1
from pysdmx.io.csv.sdmx20.reader import read as read_2

from ckm import PublishedTable
from ckm.formats import FormatError, TableAbout, to_bytes, write_table
from ptable.lookup import MarginOfError
from tests.readers.reading import read_about, read_table


def lines(table, name="sdmx-csv", about=None):
    text = to_bytes(table, name, about=about).decode()
    return list(csv.DictReader(io.StringIO(text, newline="")))


def counts(table):
    return PublishedTable(
        dimensions=table.dimensions, measures={"count": table.measures["count"]}
    )


@pytest.mark.parametrize(("name", "read"), [("sdmx-csv", read_2), ("sdmx-csv-1", read_1)])
def test_an_independent_reader_finds_every_observation(name, read, table, about, rows):
    (dataset,) = read(to_bytes(counts(table), name, about=about).decode())
    assert str(dataset.structure) == "Dataflow=OFFICE:JOBS(1.2)"
    frame = dataset.data
    assert list(frame["region"]) == [row[0] for row in rows(table)]
    assert list(frame["OBS_VALUE"]) == [
        "" if row[3] is None else str(row[3]) for row in rows(table)
    ]
    assert list(frame["OBS_STATUS"]).count("Q") == 1


def test_the_first_columns_are_those_of_the_standard(table, about):
    first = to_bytes(table, "sdmx-csv", about=about).split(b"\n")[0].decode().split(",")
    assert first[:4] == ["STRUCTURE", "STRUCTURE_ID", "ACTION", "region"]
    assert first[4:] == [
        *("area", "sex", "MEASURE", "OBS_VALUE", "OBS_STATUS", "CONF_STATUS", "COMMENT_DSET")
    ]
    assert lines(table, about=about)[0]["STRUCTURE"] == "dataflow"
    assert lines(table, about=about)[0]["STRUCTURE_ID"] == "OFFICE:JOBS(1.2)"
    assert lines(table, about=about)[0]["ACTION"] == "I"
    older = to_bytes(table, "sdmx-csv-1", about=about).split(b"\n")[0].decode().split(",")
    assert older == ["DATAFLOW", *first[3:]]


def test_published_numbers_are_free_and_suppressed_ones_confidential(table):
    observations = lines(counts(table))
    assert "MEASURE" not in observations[0]
    hidden = [row for row in observations if row["OBS_STATUS"] == "Q"]
    assert [(row["OBS_VALUE"], row["CONF_STATUS"]) for row in hidden] == [("", "C")]
    rest = {
        (row["OBS_STATUS"], row["CONF_STATUS"]) for row in observations if row not in hidden
    }
    assert rest == {("A", "F")}


def test_counts_that_the_margin_of_error_is_large_against_are_of_low_reliability(table):
    from ckm.formats.about import with_noise

    about = with_noise(TableAbout(), MarginOfError(largest=5, count=3, difference=4))
    status = [
        (row["MEASURE"], row["OBS_STATUS"])
        for row in lines(table, about=about)
        if row["OBS_VALUE"] and float(row["OBS_VALUE"]) < 16
    ]
    # counts are 0, 7, 14, …: below 5 times 3; weighted counts have another scale
    assert status == [("count", "U"), ("weighted", "A")] * 2 + [
        ("count", "U"),
        ("weighted", "A"),
    ]
    assert "±3 with a probability of 95 %" in about.notes[0]


def test_several_measures_take_turns(table):
    observations = lines(table)
    assert [row["MEASURE"] for row in observations] == ["count", "weighted"] * 18
    assert observations[1]["OBS_VALUE"] == "0"
    assert observations[3]["OBS_VALUE"] == "7.25"


def test_the_method_is_a_comment_on_the_whole_set(table, about, tmp_path):
    observations = lines(table, about=about)
    assert observations[0]["COMMENT_DSET"] == "\n".join(about.notes)
    assert {row["COMMENT_DSET"] for row in observations[1:]} == {""}
    assert "COMMENT_DSET" not in lines(table)[0]
    write_table(table, tmp_path / "t.sdmx.csv", about=about)
    assert read_about(tmp_path / "t.sdmx.csv").dataflow == "OFFICE:JOBS(1.2)"


def test_a_table_without_a_dataflow_gets_one_of_its_id(table):
    assert lines(table)[0]["STRUCTURE_ID"] == "CKM:TABLE(1.0)"
    assert lines(table, about=TableAbout(id="a b"))[0]["STRUCTURE_ID"] == "CKM:a_b(1.0)"


@pytest.mark.parametrize("name", ["région", "age group", "1st", "", "OBS_VALUE", "MEASURE"])
def test_a_name_that_is_no_id_is_refused_with_a_way_out(name):
    table = PublishedTable(
        dimensions={name: (np.zeros(1, np.int32), ["a"])}, measures={"count": np.array([1])}
    )
    with pytest.raises(FormatError, match=f"no dimension {name!r}") as caught:
        to_bytes(table, "sdmx-csv")
    assert "as the data structure does" in str(caught.value)


def test_an_empty_category_and_an_empty_table_of_several_measures_are_refused():
    empty = PublishedTable(
        dimensions={"x": (np.zeros(1, np.int32), [""])}, measures={"count": np.array([1])}
    )
    with pytest.raises(FormatError, match="no empty category"):
        to_bytes(empty, "sdmx-csv")
    none = PublishedTable(dimensions={}, measures={"weighted": np.zeros(0)})
    with pytest.raises(FormatError, match="without rows"):
        to_bytes(none, "sdmx-csv")


@pytest.mark.parametrize(
    "text",
    [
        "STRUCTURE,STRUCTURE_ID,ACTION,x\ndataflow,A:B(1.0),I,a\n",
        "DATAFLOW,x,MEASURE,OBS_VALUE\nA:B(1.0),a,n,1\nA:B(1.0),a,n,1\nA:B(1.0),a,m,1\n",
        "DATAFLOW,x,OBS_VALUE\nA:B(1.0),a,many\n",
        "DATAFLOW,x,OBS_VALUE\nA:B(1.0),a,1,2\n",
        "x,OBS_VALUE\na,1\n",
    ],
)
def test_a_file_that_is_no_such_table_is_refused(text, tmp_path):
    (tmp_path / "t.sdmx.csv").write_text(text)
    with pytest.raises(FormatError):
        read_table(tmp_path / "t.sdmx.csv")
