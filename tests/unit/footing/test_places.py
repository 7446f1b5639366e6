"""A path that exists is that file or folder, whatever signs its name holds."""

from pathlib import Path

import pytest

from footing.places import as_pattern, before_wildcards, is_below, is_matched, list_files

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
