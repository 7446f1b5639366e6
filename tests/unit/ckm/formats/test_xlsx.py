"""XLSX: exact numbers, texts that are never formulas, no date and no author."""

from __future__ import annotations

import io
import re
import zipfile
from dataclasses import replace

import numpy as np
import openpyxl
import pytest

from ckm import PublishedTable
from ckm.formats import FormatError, TableAbout, to_bytes, write_table
from ckm.formats.about import about_table
from tests.reading import read_about, read_table


def sheets(data):
    book = openpyxl.load_workbook(io.BytesIO(data))
    return {sheet.title: list(sheet.iter_rows(values_only=True)) for sheet in book}


def one(texts, *, column="x", values=None):
    numbers = np.arange(len(texts)) if values is None else np.array(values)
    return PublishedTable(
        dimensions={column: (np.arange(len(texts), dtype=np.int32), list(texts))},
        measures={"count": numbers},
    )


def test_an_independent_reader_finds_every_cell(table, about, rows):
    found = sheets(to_bytes(table, "xlsx", about=about))
    header, *cells = found["table"]
    own = [header.index(name) for name in table.columns]  # the others are labels
    assert [tuple(row[at] for at in own) for row in cells] == rows(table)
    assert list(found) == ["table", "about", "categories", "withheld"]
    assert found["withheld"][1:] == [("area", "02002"), ("area", "02003")]
    assert ("sex", "F", "Women") in found["categories"]
    assert ("note", "", "Counts are protected by noise.") in found["about"]
    assert list(sheets(to_bytes(table, "xlsx"))) == ["table", "about", "categories"]


def test_numbers_keep_all_their_digits():
    values = [0.1 + 0.2, 1 / 3, 123456789.12345679, 5e-324, 1e300, 2.0]
    table = PublishedTable(
        dimensions={"x": (np.arange(6, dtype=np.int32), list("abcdef"))},
        measures={"count": np.full(6, 2**53), "weighted": np.array(values)},
    )
    cells = sheets(to_bytes(table, "xlsx"))["table"][1:]
    assert [row[2] for row in cells] == values
    assert {row[1] for row in cells} == {2**53}


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "=cmd|' /C calc'!A0"])
def test_texts_are_never_formulas(text):
    data = to_bytes(one([text]), "xlsx", about=TableAbout(title=text, notes=[text]))
    with zipfile.ZipFile(io.BytesIO(data)) as book:
        for name in book.namelist():
            assert b"<f>" not in book.read(name)
    cells = openpyxl.load_workbook(io.BytesIO(data))["table"]
    assert cells["A2"].data_type == "s"
    assert cells["A2"].value == text


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
    assert sheets(to_bytes(table, "xlsx"))["table"][1][0] == "<b>&amp;"


def test_a_file_carries_no_time_no_author_and_no_program(table, about):
    data = to_bytes(table, "xlsx", about=about)
    with zipfile.ZipFile(io.BytesIO(data)) as book:
        assert {entry.date_time for entry in book.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert "docProps/app.xml" not in book.namelist()
        core = book.read("docProps/core.xml").decode()
    assert re.findall(r"<(dc\w*:\w+)", core) == ["dc:title"]


def share_texts(data, path):
    """Save a book as Excel does: texts in a list of their own, a whole number as 7E1."""
    found = []

    def share(match):
        found.append(match[2])
        return f'{match[1]} t="s"><v>{len(found) - 1}</v></c>'

    inline = re.compile(
        r'(<c r="\w+") t="inlineStr" s="\d"><is><t[^>]*>(.*?)</t></is></c>', re.DOTALL
    )
    with zipfile.ZipFile(io.BytesIO(data)) as book, zipfile.ZipFile(path, "w") as copy:
        for name in book.namelist():
            text = inline.sub(share, book.read(name).decode())
            copy.writestr(name, re.sub(r'(r="\w+")><v>70</v>', r"\1><v>7E1</v>", text))
        listed = "".join(f"<si><t>{text}</t></si>" for text in found)
        space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
        copy.writestr("xl/sharedStrings.xml", f'<sst xmlns="{space}">{listed}</sst>')


def test_a_file_that_a_spreadsheet_saved_again_is_read(table, about, rows, tmp_path):
    path = tmp_path / "t.xlsx"
    share_texts(to_bytes(table, "xlsx", about=about), path)
    assert rows(read_table(path)) == rows(table)
    kept = replace(about, reliable_from=0)  # the sheet says it in a note
    assert read_about(path) == about_table(kept, table)
    openpyxl.load_workbook(io.BytesIO(to_bytes(table, "xlsx", about=about))).save(path)
    assert rows(read_table(path)) == rows(table)


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
    size = 1_048_576
    table = PublishedTable(
        dimensions={"x": (np.zeros(size, np.int32), ["a"])},
        measures={"count": np.zeros(size, np.int64)},
    )
    with pytest.raises(FormatError, match="XLSX holds 1,048,575 rows") as caught:
        to_bytes(table, "xlsx")
    assert caught.value.hint == "choose CSV or Parquet"


def test_columns_beyond_z_have_two_letters(rows, tmp_path):
    dimensions = {f"c{n}": (np.zeros(1, np.int32), [str(n)]) for n in range(703)}
    table = PublishedTable(dimensions=dimensions, measures={"count": np.array([1])})
    write_table(table, tmp_path / "t.xlsx")
    assert rows(read_table(tmp_path / "t.xlsx")) == rows(table)
    assert sheets(to_bytes(table, "xlsx"))["table"][1][-1] == 1


def test_entities_are_not_expanded_without_end(table, tmp_path):
    path = tmp_path / "t.xlsx"
    bomb = '<!DOCTYPE x [<!ENTITY a0 "aaaaaaaaaa">'
    for level in range(1, 12):
        bomb += f'<!ENTITY a{level} "{f"&a{level - 1};" * 10}">'
    bomb += "]><workbook>&a11;</workbook>"
    with (
        zipfile.ZipFile(io.BytesIO(to_bytes(table, "xlsx"))) as book,
        zipfile.ZipFile(path, "w") as copy,
    ):
        for name in book.namelist():
            copy.writestr(name, bomb if name == "xl/workbook.xml" else book.read(name))
    with pytest.raises(FormatError, match="no XLSX file"):
        read_table(path)


def test_another_workbook_is_refused(tmp_path):
    path = tmp_path / "t.xlsx"
    openpyxl.Workbook().save(path)
    with pytest.raises(FormatError, match="no XLSX file of a table") as caught:
        read_table(path)
    assert "'table', 'about' and 'categories'" in str(caught.value)


def test_labels_stand_beside_their_codes(table, about, tmp_path):
    path = tmp_path / "t.xlsx"
    write_table(table, path, about=about)
    sheet = openpyxl.load_workbook(path)["table"]
    header, *rows = sheet.iter_rows(values_only=True)
    named = ["region", "Region", "area", "area_", "sex", "Sex", "count", "weighted"]
    assert list(header) == named
    assert rows[4][:6] == ("01", "North", "Total", "Total", "F", "Women")
    assert {row[4]: row[5] for row in rows} == {"Total": "Total", "F": "Women", "M": "Men"}
    write_table(table, path, overwrite=True)
    assert next(openpyxl.load_workbook(path)["table"].values) == tuple(table.columns)
