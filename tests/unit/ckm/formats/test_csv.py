"""CSV and CSV on the Web."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest

from ckm import PublishedTable
from ckm.formats import FormatError, TableAbout, to_bytes, write_table
from ckm.formats.csv_text import formulas, without_formulas
from tests.readers.reading import read_table


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


@pytest.mark.slow
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
    assert metadata["dc:title"] == [
        {"@value": each.title, "@language": each.language}
        for each in (about, *about.translations)
    ]
    columns = metadata["tableSchema"]["columns"]
    with path.open(newline="", encoding="utf-8") as file:
        assert [column["titles"] for column in columns] == next(csv.reader(file))
    assert [c["datatype"] for c in columns] == ["string"] * 3 + ["long", "double"]
    assert len({column["name"] for column in columns}) == 5
    assert metadata["notes"][-1] == {
        "dc:title": [
            {"@value": "Withheld", "@language": "en-GB"},
            {"@value": "Non publié", "@language": "fr"},
        ],
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


@pytest.mark.parametrize("name", ["csv", "sdmx-csv"])
def test_numbers_are_plain_decimals_that_read_back_exactly(name, tmp_path):
    values = [1.223016106e11, 1e-7, 5e-324, 1.7976931348623157e308, -1e16, 0.1 + 0.2, 2.0, -0.0]
    rng = np.random.default_rng(5)
    some = rng.integers(0, 2**63, 300, dtype=np.uint64).view(np.float64)
    values += some[np.isfinite(some)].tolist()
    table = PublishedTable(
        dimensions={"X": (np.arange(len(values), dtype=np.int32), [*map(str, values)])},
        measures={"weighted": np.array(values)},
    )
    text = to_bytes(table, name).decode()
    at = csv.DictReader(io.StringIO(text))
    numbers = [row["weighted" if name == "csv" else "OBS_VALUE"] for row in at]
    assert "122301610600" in numbers[0]
    assert not any("e" in number.lower() for number in numbers)
    assert [float(number).hex() for number in numbers] == [v.hex() for v in values]
    assert [*map(Decimal, numbers)] == [Decimal(repr(v)) for v in values]
    (tmp_path / "t.csv").write_text(text)
    back = read_table(tmp_path / "t.csv", format=name).measures["weighted"]
    assert [v.hex() for v in back.tolist()] == [v.hex() for v in values]


def test_texts_that_a_spreadsheet_takes_for_formulas_can_be_escaped():
    texts = [
        "=HYPERLINK(1)",
        "+cmd",
        "-1+1",
        "@SUM",
        "\t=1",
        "\r=1",
        "\uff1d1",
        "1-1",
        "'=1",
        "",
    ]
    table = PublishedTable(
        dimensions={"=x": (np.arange(10, dtype=np.int32), texts)},
        measures={"count": np.arange(10)},
    )
    assert formulas(table) == {"=x": ["=x", *texts[:7]]}
    escaped = without_formulas(table)
    assert formulas(escaped) == {}
    with io.StringIO(to_bytes(escaped, "csv").decode(), newline="") as lines:
        shown = [row[0] for row in csv.reader(lines)]
    assert shown == ["'=x", *(f"'{text}" for text in texts[:7]), *texts[7:]]
    assert to_bytes(table, "csv").startswith(b'"=x","count"\n"=HYPERLINK(1)",0\n')


def test_two_texts_that_escaping_makes_the_same_are_refused():
    table = PublishedTable(
        dimensions={"x": (np.array([0, 1], np.int32), ["=1", "'=1"])},
        measures={"count": np.arange(2)},
    )
    with pytest.raises(FormatError, match="Categories of column 'x' repeat"):
        to_bytes(without_formulas(table), "csv")


def test_labels_stand_beside_codes_in_the_language_and_no_text_is_a_formula(table, about):
    (french,) = about.translations
    said = replace(french, labels={**french.labels, "area": "=Zone", "region": "+Région"})
    hostile = {**french.category_labels, "sex": {"F": "=cmd|' /C calc'!A0", "M": "@SUM(A1)"}}
    data = to_bytes(table, "csv-labels", about=replace(said, category_labels=hostile))
    assert data.startswith(b"\xef\xbb\xbf")  # spreadsheets know UTF-8 by it
    text = io.StringIO(data.decode("utf-8-sig"))
    header, *lines = csv.reader(text, delimiter=";")
    assert header[:3] == ["'+Région", "'+Région (code)", "'=Zone"]
    assert header[4:] == ["Sexe", "Sexe (code)", "Personnes (personnes)", "weighted (milliers)"]
    assert lines[7][:4] == ["Nord", "01", "Ville haute", "01001"]
    assert [line[4:6] for line in lines[:3]] == [
        ["Total", "Total"],
        ["'=cmd|' /C calc'!A0", "F"],
        ["'@SUM(A1)", "M"],
    ]
    assert [line[6] for line in lines[3:6]] == ["21", "", "35"]


@pytest.mark.parametrize(
    ("language", "separator", "decimal"),
    [("en", ",", "."), ("en-GB", ",", "."), ("fr", ";", ","), ("fr-CH", ";", ",")],
)
def test_labels_have_the_separators_of_spreadsheets_in_their_language(
    table, language, separator, decimal
):
    data = to_bytes(table, "csv-labels", about=TableAbout(language=language))
    rows = list(csv.reader(io.StringIO(data.decode("utf-8-sig")), delimiter=separator))
    assert tuple(rows[0]) == table.columns
    assert [row[-1].replace(decimal, ".") for row in rows[1:5]] == [
        "0",
        "7.25",
        "14.5",
        "21.75",
    ]
    assert {len(row) for row in rows} == {5}
    assert to_bytes(table, "csv", about=TableAbout(language=language)) == to_bytes(table, "csv")
