"""PX: what PxWeb and PC-Axis read."""

from __future__ import annotations

import dataclasses
import datetime as dt
import re

import numpy as np
import pytest
from pyaxis import pyaxis

from ckm import PublishedTable
from ckm.formats import FormatError, TableAbout, to_bytes, write_table
from tests.readers.reading import read_about, read_table


def one(texts, *, column="x", values=None, measure="count"):
    numbers = np.arange(len(texts)) if values is None else np.array(values)
    return PublishedTable(
        dimensions={column: (np.arange(len(texts), dtype=np.int32), list(texts))},
        measures={measure: numbers},
    )


def lines(table, about=None):
    return to_bytes(table, "px", about=about).decode().split("\r\n")


def test_an_independent_reader_finds_every_cell_in_each_language(table, about, tmp_path):
    path = tmp_path / "t.px"
    write_table(table, path, about=about)
    for said in (about, *about.translations):
        require_every_cell(path, table, said)


def require_every_cell(path, table, about):
    lang = None if about.language == "en-GB" else about.language
    frame = pyaxis.parse(str(path), encoding="utf-8", lang=lang)["DATA"]
    labels, heads = about.category_labels, about.labels
    meant = {}
    for row in table.to_pandas().itertuples(index=False):
        area = labels["area"].get(row.area, row.area)
        place = area if row.area != "Total" else labels["region"].get(row.region, row.region)
        sex = labels["sex"].get(row.sex, row.sex)
        meant[place, sex, heads["count"]] = row.count
        meant[place, sex, "weighted"] = row.weighted
    found = {
        (row[heads["geo"]], row[heads["sex"]], row["ContentsCode"]): float(row["DATA"])
        for row in frame.to_dict("records")
    }
    assert found.keys() == meant.keys()
    assert all(found[k] == meant[k] or np.isnan(found[k]) == np.isnan(meant[k]) for k in meant)
    assert sum(np.isnan(v) for v in found.values()) == 1


def test_the_keywords_that_every_file_has_are_there(table, about):
    for said in (about, None):
        text = to_bytes(table, "px", about=said).decode()
        for keyword in (
            *("CHARSET", "AXIS-VERSION", "CODEPAGE", "LANGUAGE", "DECIMALS", "SHOWDECIMALS"),
            *("MATRIX", "SUBJECT-CODE", "SUBJECT-AREA", "TITLE", "CONTENTS", "UNITS", "STUB"),
            *("HEADING", "CONTVARIABLE", "VALUES", "DATASYMBOL2", "DATA"),
        ):
            assert re.search(rf'^{keyword}(\("[^"]*"\))?=', text, re.MULTILINE), keyword
        assert "\r\nAGGREGALLOWED=NO;\r\n" in text
        assert all(len(line) <= 520 for line in text.split("\r\n"))


def test_suppressed_is_two_dots_and_not_listed_is_one(table, about):
    assert '".." 29 ' in lines(table, about)
    assert 'DATASYMBOL2="not shown";' in lines(table, about)
    sparse = lines(table)  # without the hierarchy, combinations that are no places
    assert sparse.count('"." "." ') == 3 * 4 * 3 - 18


def test_hierarchy_total_place_and_notes_have_their_keywords(table, about):
    text = to_bytes(table, "px", about=about).decode()
    assert 'STUB="Place","Sex";' in text
    assert 'VALUES("Place")="Total","North","Upper town","Lower town","South","02001";' in text
    assert 'CODES("Place")="Total","01","01001","01002","02","02001";' in text
    assert 'VARIABLECODE("Place")="geo";' in text
    assert 'VARIABLE-TYPE("Place")="G";' in text
    assert 'ELIMINATION("Place")="Total";' in text
    assert '"01":"01002"' in text
    assert 'NOTEX("Place")="Withheld: 02002, 02003";' in text
    assert '"Counts are protected by noise.##Parts need not add up to their total."' in text
    assert 'LAST-UPDATED="20270301 00:00";' in text
    assert 'UNITS("Persons")="persons";' in text


def test_the_labels_of_columns_come_back_but_for_those_of_a_hierarchy(table, about, tmp_path):
    write_table(table, tmp_path / "t.px", about=about)
    back = read_about(tmp_path / "t.px")
    assert back.labels == {"geo": "Place", "sex": "Sex", "count": "Persons"}


@pytest.mark.parametrize(
    ("periods", "listed"),
    [
        (["2025", "2026"], 'TLIST(A1),"2025","2026"'),
        (["2025Q1", "2025Q2"], 'TLIST(Q1),"20251","20252"'),
        (["2025M09", "2025M10"], 'TLIST(M1),"202509","202510"'),
        (["2025", "2025Q1"], None),
        (["Total", "2025"], None),
    ],
)
def test_times_are_listed_where_all_are_periods(periods, listed, tmp_path):
    about = TableAbout(time="year")
    table = one(periods, column="year")
    text = to_bytes(table, "px", about=about).decode()
    assert (f'TIMEVAL("year")={listed};' in text) if listed else "TIMEVAL" not in text
    write_table(table, tmp_path / "t.px", about=about)
    assert read_about(tmp_path / "t.px").time == "year"


def test_homonyms_are_told_apart_by_their_code(rows, tmp_path):
    about = TableAbout(category_labels={"x": {"93066": "Saint-Denis", "97411": "Saint-Denis"}})
    table = one(["93066", "97411", "75056"])
    text = to_bytes(table, "px", about=about).decode()
    assert 'VALUES("x")="Saint-Denis [93066]","Saint-Denis [97411]","75056";' in text
    write_table(table, tmp_path / "t.px", about=about)
    assert rows(read_table(tmp_path / "t.px")) == rows(table)


def test_labels_that_cannot_be_told_apart_are_refused():
    about = TableAbout(category_labels={"x": {"1": "a", "2": "a", "3": "a [1]"}})
    with pytest.raises(FormatError, match="some are the same"):
        to_bytes(one(["1", "2", "3"]), "px", about=about)


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        (one(['a"b']), "no quotation marks"),
        (one(["a\nb"]), "line breaks"),
        (one(["a"], column='x"y'), "the name of a dimension"),
        (one([""]), "1 to 256 characters; a category of 'x' has 0"),
        (one(["x" * 257]), "has 257"),
        (one(["a"], values=[0.1 + 0.2]), "17 decimals; PX holds 15"),
        (one(["a"], values=[1e-20]), "20 decimals"),
        (one(["a"], values=[2**53 + 1]), r"up to 2\^53"),
        (one([]), "no table without rows"),
    ],
)
def test_what_does_not_fit_is_refused_with_a_way_out(table, problem):
    with pytest.raises(FormatError, match=problem) as caught:
        to_bytes(table, "px")
    assert caught.value.hint


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ({"title": 'The "new" table'}, "the text of SUBJECT-AREA"),
        ({"notes": ["C# developers"]}, "no '#'"),
        ({"source": "a\nb"}, "the text of SOURCE"),
        ({"labels": {"x": 'a"b'}}, "the name of a dimension"),
    ],
)
def test_words_that_do_not_fit_are_refused(said, problem):
    with pytest.raises(FormatError, match=problem):
        to_bytes(one(["a"]), "px", about=TableAbout(**said))


@pytest.mark.parametrize(
    ("given", "matrix"),
    [("", "table"), ("x" * 20, "x" * 20), ("jobseekers-women", "jobseekers-women")],
)
def test_the_matrix_is_named_after_the_table(given, matrix):
    assert f'MATRIX="{matrix}";' in lines(one(["a"]), TableAbout(id=given))


def test_long_ids_stay_apart_in_twenty_characters(tmp_path):
    ids = ["the-same-long-beginning-" + end for end in "ab"]
    found = {
        line for i in ids for line in lines(one(["a"]), TableAbout(id=i)) if "MATRIX" in line
    }
    assert len(found) == 2
    assert {len(line) for line in found} == {len('MATRIX="";') + 20}
    write_table(one(["a"]), tmp_path / "t.px", about=TableAbout(id=ids[0]))
    assert read_about(tmp_path / "t.px").id == ids[0]


def test_long_texts_are_cut_into_pieces_and_come_back(tmp_path):
    about = TableAbout(notes=["A note; with = signs, and (brackets). " * 40], title="x " * 400)
    write_table(one(["a;b", "c=d"]), tmp_path / "t.px", about=about)
    assert read_about(tmp_path / "t.px") == about
    assert max(map(len, lines(one(["a"]), about))) < 300


def test_large_decimal_numbers_are_spelled_out(tmp_path, rows):
    table = one(["a", "b"], values=[1e22, -2.5e-7], measure="weighted")
    assert "10000000000000000000000 " in lines(table)
    write_table(table, tmp_path / "t.px")
    assert rows(read_table(tmp_path / "t.px")) == rows(table)


def test_a_time_of_the_day_is_written(table, about):
    about = dataclasses.replace(about, updated=dt.datetime(2027, 3, 1, 9, 30, tzinfo=dt.UTC))
    assert 'LAST-UPDATED="20270301 09:30";' in lines(table, about)


def test_a_file_of_another_program_is_read(rows, tmp_path):
    path = tmp_path / "t.px"
    path.write_bytes(
        b'CHARSET="ANSI";\nTITLE="x;y";\nSTUB="sex";\nHEADING="year";\nVALUES("sex")="F",\n"M";\n'
        b'VALUES("year")="2026","2027";\nCODES("sex")="1","2";\nUNITS="n";\n'
        b'DATA=\n1 2\n".." "-"\n;'
    )
    assert rows(read_table(path)) == [
        ("1", "2026", 1),
        ("1", "2027", 2),
        ("2", "2026", None),
        ("2", "2027", 0),
    ]
    assert read_about(path).category_labels == {"sex": {"1": "F", "2": "M"}}


@pytest.mark.parametrize("data", ["1 2 3", "1", "1 x", '1 "', "", "1 2;3"])
def test_data_that_do_not_fill_the_cube_are_refused(data, tmp_path):
    path = tmp_path / "t.px"
    path.write_text(f'STUB="sex";VALUES("sex")="F","M";DATA={data};')
    with pytest.raises(FormatError):
        read_table(path)


@pytest.mark.parametrize(
    ("measures", "told", "decimals", "shown", "precision"),
    [
        ({"count": [3, 4]}, {}, 0, 0, {}),
        ({"count": [3, 4], "weighted": [3.0, 4.0]}, {}, 0, 0, {}),
        ({"count": [3, 4], "weighted": [3.5, 4.25]}, {}, 2, 0, {"weighted": 2}),
        ({"weighted": [3.5, 4.0]}, {}, 1, 1, {}),
        ({"count": [3, 4], "mean_w": [3.5, 4.0]}, {"mean_w": 2}, 2, 0, {"mean_w": 2}),
        ({"count": [3, 4], "sum_w": [3.0, 4.0]}, {"sum_w": 0}, 0, 0, {}),
        ({"sum_w": [3.25, 4.0], "mean_w": [1.125, 2.0]}, {}, 3, 2, {"mean_w": 3}),
        ({"weighted": [1e-9, 2.0], "count": [1, 2]}, {}, 9, 0, {"weighted": 6}),
    ],
)
def test_counts_have_no_decimals_and_others_what_they_need(
    measures, told, decimals, shown, precision
):
    table = PublishedTable(
        dimensions={"x": (np.array([0, 1], np.int32), ["a", "b"])},
        measures={name: np.array(values) for name, values in measures.items()},
    )
    text = to_bytes(table, "px", about=TableAbout(decimals=told)).decode()
    assert f"\r\nDECIMALS={decimals};\r\nSHOWDECIMALS={shown};\r\n" in text
    pattern = r'^PRECISION\("ContentsCode","(\w+)"\)=(\d);'
    assert {n: int(d) for n, d in re.findall(pattern, text, re.MULTILINE)} == precision


@pytest.mark.parametrize(
    ("periods", "listed"),
    [
        (["2020-01", "2020-02"], 'TLIST(M1),"202001","202002"'),
        (["2020M1", "2020M12"], 'TLIST(M1),"202001","202012"'),
        (["2020-Q1", "2020-Q4"], 'TLIST(Q1),"20201","20204"'),
        (["2020-S1", "2020-S2"], 'TLIST(H1),"20201","20202"'),
        (["2020-W05", "2020-W53"], 'TLIST(W1),"202005","202053"'),
    ],
)
def test_periods_of_sdmx_and_of_iso_are_periods_of_px(periods, listed):
    table = one(periods, values=[1, 2])
    text = to_bytes(table, "px", about=TableAbout(time="x")).decode()
    assert f'TIMEVAL("x")={listed};' in text
