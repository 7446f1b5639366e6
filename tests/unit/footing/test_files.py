"""Files that appear whole."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from footing import ExplainedError, new_file, write_whole


class OwnError(ExplainedError):
    code = "own"


def test_a_file_is_not_there_before_it_is_whole(tmp_path):
    target = tmp_path / "a.csv"
    with new_file(target) as draft:
        draft.write_text("all")
        assert draft.suffix == ".csv"
        assert not target.exists()
    assert target.read_text() == "all"
    assert list(tmp_path.iterdir()) == [target]


def test_what_fails_half_way_leaves_the_older_file(tmp_path):
    target = tmp_path / "a.csv"
    target.write_text("older")

    def write_half():
        with new_file(target, overwrite=True) as draft:
            draft.write_text("half")
            raise KeyError

    with pytest.raises(KeyError):
        write_half()
    assert target.read_text() == "older"
    assert list(tmp_path.iterdir()) == [target]


def test_a_file_that_appears_while_writing_is_not_replaced(tmp_path):
    target = tmp_path / "a.csv"
    with pytest.raises(OwnError, match="exists already"), new_file(target, error=OwnError):
        target.write_text("theirs")
    assert target.read_text() == "theirs"
    assert list(tmp_path.iterdir()) == [target]


def test_two_that_replace_one_file_leave_one_whole(tmp_path):
    target = tmp_path / "a.csv"
    with new_file(target, overwrite=True) as one, new_file(target, overwrite=True) as other:
        one.write_text("one")
        other.write_text("other")
    assert target.read_text() == "one"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("name", ["é" * 120 + ".csv", "…" * 80 + ".x", "no suffix", ".hidden"])
def test_long_and_odd_names_are_written(tmp_path, name):
    write_whole(tmp_path / name, b"all")
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (".", "is a folder"),
        ("none/a.csv", "There is no folder"),
    ],
)
def test_what_cannot_be_a_file_is_told_by_the_package_that_asks(tmp_path, name, said):
    with pytest.raises(OwnError, match=said):
        write_whole(tmp_path / name, "all", error=OwnError)
    assert not list(tmp_path.iterdir())


def test_a_full_disk_is_told_with_the_name_of_the_file(tmp_path):
    target = tmp_path / "a.csv"
    with pytest.raises(OSError, match="No space left") as caught, new_file(target):
        raise OSError(28, "No space left on device")
    assert caught.value.filename == str(target)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_takes_no_file_is_told_with_the_name_of_the_file(tmp_path, monkeypatch):
    def refuse(self, **_):
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "touch", refuse)
    with pytest.raises(PermissionError) as caught:
        write_whole(tmp_path / "a.csv", "all")
    assert caught.value.filename == str(tmp_path / "a.csv")


def test_a_file_that_cannot_be_read_within_the_block_keeps_its_own_name(tmp_path):
    with pytest.raises(FileNotFoundError) as caught, new_file(tmp_path / "a.csv"):
        (tmp_path / "other.csv").read_text()
    assert caught.value.filename == str(tmp_path / "other.csv")


def test_an_error_of_ours_within_the_block_passes_unchanged(tmp_path):
    class ReadError(OwnError, OSError):
        pass

    with pytest.raises(ReadError, match="the records"), new_file(tmp_path / "a.csv"):
        raise ReadError("the records cannot be read")


def test_a_private_file_is_private_from_its_first_byte(tmp_path):
    with new_file(tmp_path / "a.csv", is_private=True) as draft:
        assert stat.S_IMODE(draft.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "a.csv").stat().st_mode) == 0o600


def test_without_links_the_name_is_given_by_renaming(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(1, "no links here")

    monkeypatch.setattr(os, "link", refuse)
    write_whole(Path(tmp_path, "a.csv"), "all", overwrite=False)
    assert (tmp_path / "a.csv").read_text() == "all"


WRITE_OFTEN = """
import sys
from footing import write_whole
for _ in range(40):
    write_whole(sys.argv[1], sys.argv[2] * 200_000)
"""


def test_two_processes_that_write_the_same_path_leave_one_whole_file(tmp_path):
    file = tmp_path / "shared.json"
    write_whole(file, "a" * 200_000)
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITE_OFTEN, file, letter]) for letter in "ab"
    ]
    looks = 0
    while any(writer.poll() is None for writer in writers):
        text = file.read_text()
        assert len(text) == 200_000
        assert len(set(text)) == 1
        looks += 1
    assert looks
    assert [writer.wait() for writer in writers] == [0, 0]
    assert [one.name for one in tmp_path.iterdir()] == ["shared.json"]
