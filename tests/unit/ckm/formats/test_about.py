"""What is said about a table: checked, cut to the table, and back from files."""

from __future__ import annotations

import dataclasses
import datetime as dt
import itertools

import pytest

from ckm import ConfigError
from ckm.formats import FORMATS, TableAbout, to_bytes, write_table
from ckm.formats.about import about_table
from tests.readers.reading import READ, read_about

FIELDS = [part.name for part in dataclasses.fields(TableAbout)]


@pytest.mark.parametrize("name", READ)
def test_a_format_gives_back_what_it_says_it_keeps_and_invents_nothing(
    name, table, about, tmp_path
):
    path = tmp_path / f"t{FORMATS[name].suffixes[0]}"
    if name == "csvw":  # its columns stand for themselves
        about = dataclasses.replace(about, hierarchies={}, geography="region")
    write_table(table, path, format=name, about=about)
    back, said = read_about(path, format=name), about_table(about, table)
    bare = TableAbout()
    keeps = FORMATS[name].keeps
    assert len(back.translations) == ("translations" in keeps)
    pairs = zip((back, *back.translations), (said, *said.translations), strict=False)
    for (found, wanted), field in itertools.product(pairs, FIELDS):
        if field == "translations" or (field == "labels" and name == "px"):
            continue  # PX has no place for labels of a hierarchy's columns; tested there
        got, meant = getattr(found, field), getattr(wanted, field)
        if name == "xlsx" and field == "labels":  # of columns alone
            meant = {column: label for column, label in meant.items() if column != "geo"}
        if field in keeps:
            assert got == meant, field
            assert got != getattr(bare, field) or field in {"time", "hierarchies"}, field
        else:
            assert got in (getattr(bare, field), meant) or field in {"notes", "language"}, field


@pytest.mark.parametrize("name", READ)
def test_a_bare_table_says_nothing_about_itself(name, table, tmp_path):
    path = tmp_path / f"t{FORMATS[name].suffixes[0]}"
    write_table(table, path, format=name)
    back = read_about(path, format=name)
    assert dataclasses.replace(back, dataflow="") == TableAbout()


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_names_of_categories_that_are_not_shown_stay_out_of_every_file(name, table, about):
    assert b"MARKER" not in to_bytes(table, name, about=about)


def test_a_time_of_the_day_keeps_its_zone(table, about, tmp_path):
    when = dt.datetime(2027, 3, 1, 9, 30, tzinfo=dt.timezone(dt.timedelta(hours=2)))
    about = dataclasses.replace(about, updated=when)
    for name in ("parquet", "xlsx", "json-stat2", "csvw"):
        path = tmp_path / f"t{FORMATS[name].suffixes[0]}"
        write_table(table, path, format=name, about=about, overwrite=True)
        assert read_about(path, format=name).updated == when


def test_what_is_said_may_be_of_many_tables(table, about):
    about = dataclasses.replace(
        about,
        labels={"sex": "Sex", "income": "Income"},
        totals={"sex": "All", "income": "Total"},
        hierarchies={"geo": ["region", "commune"], "far": ["area"], "near": ["sex", "age"]},
        geography="income",
        withheld={"commune": ["1"]},
    )
    cut = about_table(about, table)
    assert cut.labels == {"sex": "Sex"}
    assert (cut.totals, cut.hierarchies, cut.geography, cut.withheld) == ({}, {}, "", {})


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"title": 3}, "title holds texts, not 'int'"),
        ({"notes": "one note"}, "notes is a list of texts"),
        ({"notes": ["a", "a"]}, "notes repeat"),
        ({"labels": ["a"]}, "labels maps columns"),
        ({"labels": {"a": 1}}, "labels holds texts"),
        ({"category_labels": {"a": ["x"]}}, "labels maps columns"),
        ({"title": "\ud800"}, "lone surrogate"),
        ({"language": "English"}, "language is a code"),
        ({"language": 'en","x'}, "language is a code"),
        ({"updated": "2027-03-01"}, "updated is a date"),
        ({"updated": dt.datetime(2027, 3, 1)}, "without its zone"),  # noqa: DTZ001
        ({"dataflow": "JOBS"}, 'dataflow is written "AGENCY:ID'),
        ({"hierarchies": {"a": ["x", "y"], "b": ["x"]}}, "two hierarchies"),
        ({"geography": "x", "time": "x"}, "same column"),
    ],
)
def test_what_is_wrong_is_named(wrong, problem):
    with pytest.raises(ConfigError, match="What is said about the table is wrong") as caught:
        TableAbout(**wrong)
    assert problem in str(caught.value)


def test_all_problems_are_named_at_once():
    with pytest.raises(ConfigError) as caught:
        TableAbout(title=1, source=2)
    assert "title holds" in str(caught.value)
    assert "source holds" in str(caught.value)
