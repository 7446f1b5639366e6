"""CSV and CSV on the Web."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest

from ckm import PublishedTable
from ckm.formats import FormatError, TableAbout, read_table, to_bytes, write_table


def test_texts_stand_in_quotation_marks_as_they_are_and_numbers_bare(rows, tmp_path):
    hostile = ["=1+1", "+1", "@x", "\tx", "01", "", 'a"b', "a,b\nc"]
    table = PublishedTable(
        dimensions={"x": (np.arange(8, dtype=np.int32), hostile)},
        measures={"count": np.ma.array(np.arange(8), mask=np.arange(8) == 2)},
    )
    text = to_bytes(table, "csv")
    assert text.startswith(b'"x","count"\n"=1+1",0\n"+1",1\n"@x",\n')
    with io.StringIO(text.decode(), newline="") as lines:
        assert [row[0] for row in csv.reader(lines)] == ["x", *hostile]
    (tmp_path / "t.csv").write_bytes(text)
    assert rows(read_table(tmp_path / "t.csv")) == rows(table)


def test_a_file_that_another_program_saved_without_marks_is_read_by_its_names(rows, tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"\xef\xbb\xbfyear,area,count,weighted\r\n2026,01,5,5\r\n2027,02,,7.5\r\n")
    table = read_table(path)
    assert rows(table) == [("2026", "01", 5, 5.0), ("2027", "02", None, 7.5)]
    assert table.measures["weighted"].dtype == np.float64
    path.write_bytes(b"year,people\n2026,5\n")
    with pytest.raises(FormatError, match="does not tell its measures from its dimensions"):
        read_table(path)


@pytest.mark.parametrize(
    "text",
    [
        b'"x","count"\n"a",5\n"b"\n',
        b'"x","count"\n"a",5\n"b",6,7\n',
        b'"x","x"\n"a",5\n',
        b'"x","count"\n"a",yes\n',
        b'"x","count"\n"a",2027-03-01\n',
        b'"x","count"\n"a",true\n',
        b'"x","count"\n"\xff",5\n',
        b'"x\xff","count"\n"a",5\n',
        b'"x","weighted"\n"a",1.5.2\n',
        b'"x","count\n',
    ],
)
def test_a_file_that_is_no_table_is_refused(text, tmp_path):
    (tmp_path / "t.csv").write_bytes(text)
    with pytest.raises(FormatError):
        read_table(tmp_path / "t.csv")


def test_a_million_rows_come_back(tmp_path):
    size = 1_000_000
    table = PublishedTable(
        dimensions={"x": (np.arange(size, dtype=np.int32) % 7, list("abcdefg"))},
        measures={"count": np.arange(size)},
    )
    for name in ("t.csv", "t.parquet", "t.sdmx.csv"):
        write_table(table, tmp_path / name)
        back = read_table(tmp_path / name)
        assert (back.measures["count"] == table.measures["count"]).all()
        assert (back.dimensions["x"][0] == table.dimensions["x"][0]).all()


def test_metadata_describe_every_column_of_the_file(table, about, tmp_path):
    path = tmp_path / "my table.csv"
    write_table(table, path, format="csvw", about=about)
    metadata = json.loads((tmp_path / "my table.csv-metadata.json").read_text("utf-8"))
    assert metadata["@context"] == ["http://www.w3.org/ns/csvw", {"@language": "en-GB"}]
    assert metadata["url"] == "my%20table.csv"
    assert metadata["dc:title"] == about.title
    columns = metadata["tableSchema"]["columns"]
    with path.open(newline="", encoding="utf-8") as file:
        assert [column["titles"] for column in columns] == next(csv.reader(file))
    assert [c["datatype"] for c in columns] == ["string"] * 3 + ["long", "double"]
    assert len({column["name"] for column in columns}) == 5
    assert metadata["notes"][-1] == {
        "dc:title": "Withheld",
        "dc:relation": "area",
        "skos:notation": ["02002", "02003"],
    }


def test_metadata_of_another_file_are_refused(table, tmp_path):
    path = tmp_path / "t.csv"
    write_table(table, path, format="csvw")
    path.write_bytes(b'"sex","count"\n"F",1\n')
    with pytest.raises(FormatError, match=r"not those of 't\.csv'"):
        read_table(path)


def test_categories_that_somebody_added_to_the_file_are_read(table, tmp_path):
    path = tmp_path / "t.csv"
    write_table(table, path, format="csvw")
    with path.open("ab") as file:
        file.write(b'"03","Total","Total",12,0.5\n')
    back = read_table(path)
    assert back.dimensions["region"][1][-1] == "03"
    assert back.dimensions["sex"][1] == ["Total", "F", "M"]


def test_the_name_of_an_archive_is_a_plain_file_name(table):
    about = TableAbout(id="../../etc/passwd")
    assert b"../" not in to_bytes(table, "csvw", about=about)
