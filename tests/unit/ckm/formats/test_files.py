"""Files appear whole or not at all, under the format that their name says."""

from __future__ import annotations

import errno
import os
import zipfile

import numpy as np
import pytest

import ckm
import ckm.formats
from ckm import PublishedTable, ReleaseError
from ckm.formats import FORMATS, FormatError, TableAbout, to_bytes
from ckm.formats import write_table as write
from tests.readers.reading import read_about, read_table

SUFFIXES = {
    "t.csv": "csv",
    "t.CSV": "csv",
    "t.parquet": "parquet",
    "t.xlsx": "xlsx",
    "t.json": "json-stat2",
    "t.jsonstat": "json-stat2",
    "t.px": "px",
    "t.sdmx.csv": "sdmx-csv",
    "t.sdmx1.csv": "sdmx-csv-1",
}


@pytest.mark.parametrize(("file", "name"), SUFFIXES.items())
def test_the_end_of_a_name_says_the_format(file, name, table, rows, tmp_path):
    write(table, tmp_path / file)
    assert (tmp_path / file).read_bytes() == to_bytes(table, name)
    assert sorted(rows(read_table(tmp_path / file)), key=str) == sorted(rows(table), key=str)
    assert [p.name for p in tmp_path.iterdir()] == [file]


def test_a_format_is_named_over_the_end_of_a_name(table, tmp_path):
    write(table, tmp_path / "t.txt", format="px")
    assert (tmp_path / "t.txt").read_bytes().startswith(b"CHARSET")
    table.write(tmp_path / "u.txt", format="px")
    assert (tmp_path / "u.txt").read_bytes() == (tmp_path / "t.txt").read_bytes()


def test_an_unknown_format_is_refused_with_the_known_ones(table, tmp_path):
    with pytest.raises(FormatError, match=r"no format 'json-stat'; there are 'csv'") as caught:
        to_bytes(table, "json-stat")
    assert "did you mean 'json-stat2'" in str(caught.value)
    with pytest.raises(FormatError, match=r"ends in \.csv, .* not 't\.xls'"):
        write(table, tmp_path / "t.xls")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_the_same_table_gives_the_same_bytes_whoever_asks_and_when(
    name, table, about, tmp_path, monkeypatch
):
    first = to_bytes(table, name, about=about)
    monkeypatch.setattr("time.time", lambda: 4e9)
    monkeypatch.setattr("time.localtime", lambda *_: (2050, 1, 1, 0, 0, 0, 0, 1, 0))
    assert to_bytes(table, name, about=about) == first
    assert str(tmp_path).encode() not in first


@pytest.mark.parametrize("name", sorted(set(FORMATS) - {"csvw"}))
def test_a_file_is_not_overwritten_unless_asked(name, table, tmp_path):
    path = tmp_path / f"t{FORMATS[name].suffixes[0]}"
    path.write_text("mine")
    with pytest.raises(ReleaseError, match="exists") as caught:
        write(table, path)
    assert "overwrite" in str(caught.value)
    assert path.read_text() == "mine"
    write(table, path, overwrite=True)
    assert path.read_bytes() == to_bytes(table, name)


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_a_table_that_does_not_fit_leaves_the_old_file_and_nothing_else(name, tmp_path):
    path = tmp_path / f"t{FORMATS[name].suffixes[0]}"
    path.write_text("mine")
    twice = PublishedTable(
        dimensions={"x": (np.array([0, 1], np.int32), ["a", "a"])},
        measures={"count": np.array([1, 2])},
    )
    with pytest.raises(FormatError, match="Categories of column 'x' repeat"):
        write(twice, path, format=name, overwrite=True)
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [(path.name, "mine")]


@pytest.mark.parametrize("name", sorted(FORMATS))
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_a_disk_that_fails_leaves_nothing(name, code, table, tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(code, os.strerror(code))

    path = tmp_path / f"t{FORMATS[name].suffixes[0]}"
    monkeypatch.setattr("pathlib.Path.replace", fail)
    with pytest.raises(ReleaseError, match="cannot be written") as caught:
        write(table, path, format=name)
    assert ("the disk is full" in str(caught.value)) == (code != errno.EIO)
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_the_disk_refuses_is_told_in_words(table, tmp_path):
    with pytest.raises(ReleaseError, match="File name too long"):
        write(table, tmp_path / ("x" * 300 + ".csv"))
    longest = tmp_path / ("x" * 251 + ".csv")
    write(table, longest)
    longest.unlink()
    (tmp_path / "t.csv").mkdir()
    with pytest.raises(ReleaseError, match="Is a directory"):
        write(table, tmp_path / "t.csv", overwrite=True)
    assert [p.name for p in tmp_path.iterdir()] == ["t.csv"]


def test_what_is_said_is_a_table_about(table):
    with pytest.raises(ckm.ConfigError, match="about is a TableAbout, not 'dict'"):
        to_bytes(table, "csv", about={"title": "x"})


def test_an_interruption_leaves_nothing(table, tmp_path, monkeypatch):
    def fail(*_, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr("ckm.formats.csv_text.lines_of", fail)
    with pytest.raises(KeyboardInterrupt):
        write(table, tmp_path / "t.csv", format="csvw")
    assert list(tmp_path.iterdir()) == []


def test_metadata_do_not_outlive_their_file(table, tmp_path, rows, about):
    path = tmp_path / "t.csv"
    write(table, path, format="csvw", about=about)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["t.csv", "t.csv-metadata.json"]
    assert rows(read_table(path)) == rows(table)
    assert read_about(path).title == about.title
    path.unlink()
    with pytest.raises(ReleaseError, match=r"t\.csv-metadata\.json' exists"):
        write(table, path)
    write(table, path, overwrite=True)
    assert [p.name for p in tmp_path.iterdir()] == ["t.csv"]


def test_csv_on_the_web_travels_as_an_archive_of_its_two_files(table, about, tmp_path, rows):
    path = tmp_path / "t.zip"
    path.write_bytes(to_bytes(table, "csvw", about=about))
    with zipfile.ZipFile(path) as archive:
        assert archive.namelist() == ["JOBS.csv", "JOBS.csv-metadata.json"]
        assert {entry.create_system for entry in archive.infolist()} == {0}  # on every system
        archive.extractall(tmp_path)
    assert rows(read_table(tmp_path / "JOBS.csv")) == rows(table)
    with pytest.raises(FormatError):  # nothing that can grow without bounds is unpacked
        ckm.formats.read_table(path, format="csvw")


@pytest.mark.parametrize("name", ["t.xlsx", "t.px", "t.sdmx.csv", "t.json", "t.labels.csv"])
def test_a_format_that_is_only_written_is_refused_before_it_is_opened(name, table, tmp_path):
    write(table, tmp_path / name)
    for read in (ckm.formats.read_table, ckm.formats.read_about):
        with pytest.raises(FormatError, match="not read from it") as caught:
            read(tmp_path / name)
        assert caught.value.hint == "read the release from csv or parquet"


@pytest.mark.parametrize("name", ["csv", "parquet"])
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00\xff\xfe",
        b'"x","count"\n"a",1,2\n',
        b"x\n1\n",
        b"PK\x03\x04 no archive",
    ],
)
def test_a_file_that_is_no_table_is_refused_in_words(name, content, tmp_path):
    path = tmp_path / "t"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=r"'t'|holds"):
        read_table(path, format=name)


@pytest.mark.parametrize("name", ["csv", "parquet"])
def test_a_file_that_is_cut_off_is_refused_or_shorter(name, table, about, tmp_path):
    whole = to_bytes(table, name, about=about)
    path = tmp_path / "t"
    for size in range(0, len(whole), max(len(whole) // 40, 1)):
        path.write_bytes(whole[:size])
        try:
            back = read_table(path, format=name)
        except FormatError:
            continue
        assert back.n_rows < table.n_rows or size > len(whole) * 0.9


@pytest.mark.parametrize("name", ["csv", "parquet"])
def test_a_file_that_is_not_there_is_told_in_words(name, tmp_path):
    with pytest.raises(FormatError, match="There is no file 'absent'"):
        read_table(tmp_path / "absent", format=name)


def test_every_public_name_is_there_and_the_errors_are_of_one_family():
    assert sorted(ckm.formats.__all__) == list(ckm.formats.__all__)
    assert all(hasattr(ckm.formats, name) for name in ckm.formats.__all__)
    assert issubclass(FormatError, ReleaseError)
    assert FormatError.code == "ckm-format"


def test_a_format_says_what_a_service_and_a_job_need():
    for name, each in FORMATS.items():
        assert each.name == name
        assert "/" in each.media_type
        assert each.suffixes
        assert each.needs_cube == (each.max_cells is not None)


HOSTILE = {
    "quotation marks": 'a "quoted" one',
    "a line break": "a\nb",
    "a carriage return": "a\r\nb",
    "a control character": "a\x01b",
    "nothing": "",
    "a number sign": "a#b",
    "a formula": "=1+1",
    "a semicolon": 'x";DATA=1;"',
    "markup": "</t><script>",
    "a long text": "x" * 40_000,
    "a line separator": "a\u2028b",
    "a joiner": "a\u202eb\ufeff",
    "Excel's escape": "_x0041_",
}
PARTS = ["category", "name", "label", "category label", "title", "note", "source", "unit"]


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("kind", sorted(FORMATS))
def test_an_awkward_text_is_held_or_refused_by_name(kind, part):
    for what, text in HOSTILE.items():
        table = PublishedTable(
            dimensions={
                text if part == "name" else "sex": (
                    np.array([0, 1], np.int32),
                    ["F", text if part == "category" else "M"],
                )
            },
            measures={"count": np.array([5, 7])},
        )
        about = TableAbout(
            title=text if part == "title" else "",
            notes=[text] if part == "note" else [],
            source=text if part == "source" else "",
            unit=text if part == "unit" else "",
            labels={"sex": text} if part == "label" else {},
            category_labels={"sex": {"F": text, "M": text}} if part == "category label" else {},
        )
        try:
            body = to_bytes(table, kind, about=about)
        except FormatError as refused:
            said, hint = str(refused), refused.hint
        else:
            assert body == to_bytes(table, kind, about=about)
            continue
        assert kind not in {"csv", "csvw", "parquet", "json-stat2"}, what
        assert len(said) < 1000, what
        assert hint, what
