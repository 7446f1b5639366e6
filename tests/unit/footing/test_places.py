"""What a place is; a path that exists is that file or folder, whatever its name holds."""

from pathlib import Path

import pytest

from footing import places
from footing.places import (
    PlaceKind,
    as_pattern,
    before_wildcards,
    is_below,
    is_matched,
    list_files,
    place_of,
)

HARD = ["a[1]", "b*", "c?", "d{x,y}", "e**", "[]", "[", "**", "g[!x]", "h'q", "i#j", "k%20l"]
HARD += ["-m", "~n", "o\np", "q]r[", "s[[]1]", "t\\u", "v\\*", '"w"', " x ", "é[1]", "$HOME"]


def touch(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(path.name)
    return str(path)


@pytest.fixture
def beside(tmp_path):
    """Lay files beside that the hard names would match as globs."""
    for name in ["a1", "bx", "cx", "dx", "ee", "f", "gy", "s1", "tu", "vx"]:
        touch(tmp_path / f"{name}.csv")
        touch(tmp_path / name / "p.csv")
    return tmp_path


@pytest.mark.parametrize("name", HARD)
def test_what_exists_is_no_pattern(beside, name):
    file = touch(beside / f"{name}.csv")
    inside = touch(beside / name / "p.csv")
    assert list_files(file) == [file]
    assert list_files(inside) == [inside]
    assert list_files(str(beside / name)) == [inside]
    assert list_files(str(beside / name / "*.csv")) == [inside]
    assert list_files(str(beside / name / "**" / "*.csv")) == [inside]
    assert list_files(str(beside / name / "*.parquet")) == []
    assert before_wildcards(str(beside / name / "*.csv")) == str(beside / name)
    assert before_wildcards(file) == file


@pytest.mark.parametrize("name", ["a[1]", "b*", "e**", "g[!x]"])
def test_a_name_that_is_there_stands_for_itself_after_a_wildcard_too(beside, name):
    inside = touch(beside / "year 1" / name / "p.csv")
    touch(beside / "year 1" / name.translate({ord(s): "" for s in "[]*?!"}) / "p.csv")
    assert list_files(str(beside / "year*" / name / "*.csv")) == [inside]


def test_what_has_no_file_of_its_name_is_a_glob(tmp_path):
    files = [touch(tmp_path / f"{name}.csv") for name in ("a1", "a2", "b1")]
    assert list_files(str(tmp_path / "a[12].csv")) == files[:2]
    assert list_files(str(tmp_path / "?1.csv")) == [files[0], files[2]]
    assert list_files(str(tmp_path / "**" / "*.csv")) == files
    assert list_files(str(tmp_path / "**")) == files
    assert list_files(str(tmp_path / "nothing[1].csv")) == []


def test_a_relative_glob_keeps_its_form(tmp_path, monkeypatch):
    touch(tmp_path / "d" / "a.csv")
    monkeypatch.chdir(tmp_path)
    assert list_files("d/*.csv") == ["d/a.csv"]
    assert list_files("*/a.csv") == ["d/a.csv"]
    assert list_files("./d/*.csv") == ["./d/a.csv"]


def test_a_link_to_nothing_is_no_pattern_either(tmp_path):
    touch(tmp_path / "a1.csv")
    (tmp_path / "a[1].csv").symlink_to(tmp_path / "gone.csv")
    assert list_files(str(tmp_path / "a[1].csv")) == []


def test_a_link_is_read_as_what_it_names(tmp_path):
    file = touch(tmp_path / "real [v1]" / "p.csv")
    (tmp_path / "link[1]").symlink_to(Path(file).parent)
    assert list_files(str(tmp_path / "link[1]")) == [str(tmp_path / "link[1]" / "p.csv")]


def test_the_pattern_of_what_exists_matches_it_alone(tmp_path):
    touch(tmp_path / "d [v1]" / "p.csv")
    folder = f"{as_pattern(str(tmp_path / 'd [v1]'))}/**/*"
    assert is_matched(tmp_path / "d [v1]" / "public" / "t.csv", folder)
    assert not is_matched(tmp_path / "d v" / "public" / "t.csv", folder)
    files = as_pattern(str(tmp_path / "d [v1]" / "*.csv"))
    assert is_matched(tmp_path / "d [v1]" / "t.csv", files)
    assert not is_matched(tmp_path / "d v" / "t.csv", files)


def test_a_name_matches_itself_and_what_lies_below_it(tmp_path):
    assert is_matched(tmp_path / "a [1]" / "t.csv", str(tmp_path / "a [1]" / "t.csv"))
    assert is_below("b/d [v1]/p.csv", "b/d [v1]")
    assert not is_below("b/e/p.csv", "b/d [v1]")


@pytest.mark.parametrize(
    ("text", "kind", "label"),
    [
        ("people.csv", PlaceKind.FILES, "people.csv"),
        ("data/year=2020/*.parquet", PlaceKind.FILES, "*.parquet"),
        ("C:\\data\\x.csv", PlaceKind.FILES, Path("C:\\data\\x.csv").name),
        ("-", PlaceKind.STANDARD_INPUT, "standard input"),
        ("S3://bucket/a/*.csv?region=r", PlaceKind.STORE, "s3://bucket/a/*.csv"),
        ("hdfs://node:8020/a b/x", PlaceKind.STORE, "hdfs://node:8020/a b/x"),
        ("dbfs:/mnt/people", PlaceKind.STORE, "dbfs:///mnt/people"),
        ("catalog://census.people", PlaceKind.STORE, "catalog://census.people"),
        ("postgres://me:hunter2@h/db", PlaceKind.DATABASE, "postgres://me@h/db"),
        ("sqlite:///s.sqlite", PlaceKind.DATABASE, "sqlite:///s.sqlite"),
        ("https://u:hunter2@h/a.csv", PlaceKind.UNKNOWN, "https://u@h/a.csv"),
    ],
)
def test_a_text_names_a_place_that_messages_call_by_what_may_be_shown(text, kind, label):
    place = place_of(text)
    assert (place.kind, place.label) == (kind, label)
    assert place.is_elsewhere == (kind is not PlaceKind.FILES)
    assert place.has_password == ("hunter2" in text)
    assert "hunter2" not in f"{place}{place!r}{place.label}"
    assert not (place.is_elsewhere and (place.files or place.patterns))


def test_an_address_keeps_all_but_the_letters_of_its_scheme():
    assert place_of("PostgreSQL://Me:PW@H/Db").uri == "postgresql://Me:PW@H/Db"
    assert place_of("PostgreSQL://Me:PW@H/Db").scheme == "postgresql"
    assert place_of("-").uri == "-"


def test_a_path_or_a_list_is_of_this_machine_whatever_it_looks_like():
    for data in (Path("-"), ["-"], ("s3://bucket/x",), [Path("u:hunter2@h")]):
        place = place_of(data)
        assert place.kind is PlaceKind.FILES
        assert not place.has_password
        assert place.scheme == ""
    assert "hunter2" not in repr(place_of([Path("u:hunter2@h"), "x"]))


@pytest.mark.parametrize("data", [None, 1, [], (), ["a.csv", 1], {"a": [1]}, b"a.csv"])
def test_data_in_memory_are_no_place(data):
    assert place_of(data) is None


def test_a_place_is_itself():
    assert place_of(place := place_of("people.csv")) is place


def test_what_may_hold_a_password_is_no_file_unless_it_is_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert place_of("me:hunter2@h").has_password
    touch(tmp_path / "me:hunter2@h")
    assert not place_of("me:hunter2@h").has_password


def test_a_place_lists_the_files_of_each_path_and_lists_them_once(tmp_path, monkeypatch):
    one, two = touch(tmp_path / "d" / "1.csv"), touch(tmp_path / "d" / "2.csv")
    listings = []
    monkeypatch.setattr(places, "list_files", lambda p: listings.append(p) or list_files(p))
    place = place_of([str(tmp_path / "d"), two, tmp_path / "none*"])
    assert place.files == (one, two)
    assert [files for _, files in place.matches] == [(one, two), (two,), ()]
    assert place.label == "2 files"
    assert len(listings) == 3


def test_a_place_tells_its_folder_and_the_globs_of_what_is_read_again(tmp_path):
    touch(tmp_path / "d [v1]" / "a" / "p.csv")
    folder = tmp_path / "d [v1]"
    assert place_of([folder / "a" / "*.csv", folder / "**"]).folder == str(folder)
    (pattern,) = place_of(folder).patterns
    assert is_matched(folder / "a" / "new.csv", pattern)
    assert place_of(str(tmp_path / "*.csv")).patterns == [str(tmp_path / "*.csv")]
