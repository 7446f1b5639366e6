"""XLSX: exact numbers, texts that are never formulas, no date and no author."""

from __future__ import annotations

import csv
import io
import re
import shutil
import subprocess
import zipfile
from dataclasses import replace

import numpy as np
import openpyxl
import pytest

from ckm import PublishedTable
from ckm.formats import FormatError, TableAbout, to_bytes, write_table
from tests.readers.reading import read_table


def sheets(data):
    book = openpyxl.load_workbook(io.BytesIO(data))
    return {sheet.title: list(sheet.iter_rows(values_only=True)) for sheet in book}


def one(texts, *, column="x", values=None):
    numbers = np.arange(len(texts)) if values is None else np.array(values)
    return PublishedTable(
        dimensions={column: (np.arange(len(texts), dtype=np.int32), list(texts))},
        measures={"count": numbers},
    )


def test_an_independent_reader_finds_every_cell_in_each_language(table, about, rows):
    found = sheets(to_bytes(table, "xlsx", about=about))
    assert list(found) == ["Table", "About", "Tableau", "À propos"]
    for (name, beside), said in zip(
        (("Table", "About"), ("Tableau", "À propos")), (about, *about.translations), strict=True
    ):
        title, note, header, *cells = found[name]
        assert (title[0], note[0]) == (said.title, said.notes[0])
        own = [place for place, head in enumerate(header) if "(code)" in head] + [6, 7]
        assert [tuple(row[at] for at in own) for row in cells] == rows(table)
        assert cells[7][::2][:3] == ("North", "Upper town", "Women")[:3] or name == "Tableau"
        told = [tuple(text for text in row if text) for row in found[beside]]
        assert (said.withheld_label, "area", "02003") in told
        assert [row[-1] for row in told if row[0] == "Note"] == list(said.notes)
        assert said.suppressed_label in [row[-1] for row in told]
    assert list(sheets(to_bytes(table, "xlsx"))) == ["Table", "About"]


def test_the_sheet_of_the_table_is_for_people(table, about):
    (french,) = about.translations
    data = to_bytes(table, "xlsx", about=replace(french, decimals={"weighted": 1}))
    sheet = openpyxl.load_workbook(io.BytesIO(data))["Tableau"]
    heads = ["Région", "Région (code)", "area", "area (code)", "Sexe", "Sexe (code)"]
    assert [cell.value for cell in sheet[3]] == [
        *heads, "Personnes (personnes)", "weighted (milliers)"
    ]  # fmt: skip
    assert [cell.value for cell in sheet[11]][:6] == [
        "Nord", "01", "Ville haute", "01001", "Femmes", "F"
    ]  # fmt: skip
    assert (sheet.freeze_panes, sheet.auto_filter.ref) == ("A4", "A3:H21")
    assert [cell.number_format for cell in sheet[5]][5:] == ["@", "#,##0", "#,##0.0"]
    assert sheet["A1"].font.b
    assert sheet["A3"].font.b
    assert sheet.page_setup.fitToWidth


def test_heads_stand_on_each_printed_page_of_a_table(table, about):
    book = openpyxl.load_workbook(io.BytesIO(to_bytes(table, "xlsx", about=about)))
    assert [sheet.print_title_rows for sheet in book] == ["$1:$3", None, "$1:$3", None]


def test_numbers_keep_all_their_digits():
    values = [0.1 + 0.2, 1 / 3, 123456789.12345679, 5e-324, 1e300, 2.0]
    table = PublishedTable(
        dimensions={"x": (np.arange(6, dtype=np.int32), list("abcdef"))},
        measures={"count": np.full(6, 2**53), "weighted": np.array(values)},
    )
    cells = sheets(to_bytes(table, "xlsx"))["Table"][3:]
    assert [row[2] for row in cells] == values
    assert {row[1] for row in cells} == {2**53}


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "=cmd|' /C calc'!A0"])
def test_texts_are_never_formulas(text):
    data = to_bytes(one([text]), "xlsx", about=TableAbout(title=text, notes=[text]))
    with zipfile.ZipFile(io.BytesIO(data)) as book:
        for name in book.namelist():
            assert b"<f>" not in book.read(name)
    cells = openpyxl.load_workbook(io.BytesIO(data))["Table"]
    for place in ("A1", "A2", "A4"):
        assert (cells[place].data_type, cells[place].value) == ("s", text)


def test_markup_and_control_characters_come_back(rows, tmp_path):
    texts = [
        "<b>&amp;",
        "]]>",
        "a\x01b",
        "\r\n",
        "_x0041_",
        " x ",
        "\ufffe",
        "_x005F_x0041_",
        "",
    ]
    table = one(texts)
    write_table(table, tmp_path / "t.xlsx")
    assert rows(read_table(tmp_path / "t.xlsx")) == rows(table)
    assert sheets(to_bytes(table, "xlsx"))["Table"][3][0] == "<b>&amp;"


def test_a_file_carries_no_time_no_author_and_no_program(table, about):
    data = to_bytes(table, "xlsx", about=about)
    with zipfile.ZipFile(io.BytesIO(data)) as book:
        assert {entry.date_time for entry in book.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert "docProps/app.xml" not in book.namelist()
        core = book.read("docProps/core.xml").decode()
    assert re.findall(r"<(dc\w*:\w+)", core) == ["dc:title"]


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        (one(["x" * 32_768]), "32,767 characters; a text has 32,768"),
        (one(["a"], values=[2**53 + 1]), r"up to 2\^53"),
        (one(["a"], values=[-(2**53) - 1]), r"up to 2\^53"),
    ],
)
def test_what_does_not_fit_is_refused_with_a_way_out(table, problem):
    with pytest.raises(FormatError, match=problem) as caught:
        to_bytes(table, "xlsx")
    assert caught.value.hint


def test_more_rows_than_a_sheet_holds_are_refused():
    size = 1_048_574
    table = PublishedTable(
        dimensions={"x": (np.zeros(size, np.int32), ["a"])},
        measures={"count": np.zeros(size, np.int64)},
    )
    with pytest.raises(FormatError, match="XLSX holds 1,048,573 rows") as caught:
        to_bytes(table, "xlsx")
    assert caught.value.hint == "choose CSV or Parquet"


def test_columns_beyond_z_have_two_letters(rows, tmp_path):
    dimensions = {f"c{n}": (np.zeros(1, np.int32), [str(n)]) for n in range(703)}
    table = PublishedTable(dimensions=dimensions, measures={"count": np.array([1])})
    write_table(table, tmp_path / "t.xlsx")
    assert rows(read_table(tmp_path / "t.xlsx")) == rows(table)
    assert sheets(to_bytes(table, "xlsx"))["Table"][3][-1] == 1


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("soffice") is None, reason="LibreOffice is not installed")
def test_libreoffice_shows_the_numbers_as_they_are_to_be_read(table, about, tmp_path):
    large = PublishedTable(
        dimensions=table.dimensions,
        measures={**table.measures, "weighted": np.arange(18) * 1_223_016.25},
    )
    write_table(large, tmp_path / "t.xlsx", about=about)
    home = f"-env:UserInstallation={(tmp_path / 'home').as_uri()}"
    as_shown = "44,34,76,1,,0,false,true,true,false,false,-1"  # every sheet
    made = ["--headless", "--convert-to", f"csv:Text - txt - csv (StarCalc):{as_shown}"]
    command = ["soffice", home, *made, "--outdir", str(tmp_path), str(tmp_path / "t.xlsx")]
    subprocess.run(command, check=True, capture_output=True)
    for sheet, title, label in (
        ("Table", about.title, "Women"),
        ("Tableau", about.translations[0].title, "Femmes"),
    ):
        lines = list(csv.reader((tmp_path / f"t-{sheet}.csv").read_text("utf-8").splitlines()))
        assert lines[0][0] == title
        assert lines[10][4:] == [label, "F", "49", "8,561,113.8"]
        assert lines[7][6] == ""
