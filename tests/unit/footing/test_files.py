"""Files that appear whole."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from footing import ExplainedError, new_file, require_private, write_whole
from footing.files import locked


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
    def refuse(path, *_):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(os, "open", refuse)
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


@pytest.mark.parametrize(("options", "mode"), [({}, 0o600), ({"is_private": False}, 0o644)])
def test_a_draft_is_its_owners_alone_and_a_file_unless_told(tmp_path, options, mode):
    before = os.umask(0o022)
    try:
        with new_file(tmp_path / "a.csv", **options) as draft:
            assert stat.S_IMODE(draft.stat().st_mode) == 0o600
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a.csv").stat().st_mode) == mode


WRITE_AND_DIE = """
import os, signal, sys
from footing import new_file
with new_file(sys.argv[1]) as draft:
    draft.write_text("half of it")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_process_left_is_private_and_the_next_one_removes_it(tmp_path):
    theirs = tmp_path / ".kept.0123456789abcdef.tmp.d"
    theirs.mkdir()
    (tmp_path / ".a.1234.tmp.csv").write_text("not ours")
    subprocess.run([sys.executable, "-c", WRITE_AND_DIE, tmp_path / "a.csv"], check=False)
    (left,) = [path for path in tmp_path.glob(".a.*.csv") if path.name != ".a.1234.tmp.csv"]
    assert (left.read_text(), stat.S_IMODE(left.stat().st_mode)) == ("half of it", 0o600)
    write_whole(tmp_path / "another.csv", "all")
    found = {path.name for path in tmp_path.iterdir()}
    assert found == {theirs.name, ".a.1234.tmp.csv", "another.csv"}


WRITE_WHEN_TOLD = """
import sys
from footing import new_file
with new_file(sys.argv[1]) as draft:
    draft.write_text("all")
    print("begun", flush=True)
    sys.stdin.readline()
"""


def test_what_a_living_process_writes_is_left_to_it(tmp_path):
    target = tmp_path / "a.csv"
    with subprocess.Popen(
        [sys.executable, "-c", WRITE_WHEN_TOLD, target],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as writer:
        assert writer.stdout.readline() == "begun\n"
        write_whole(tmp_path / "b.csv", "mine")
        writer.communicate("go on\n")
    assert writer.returncode == 0
    assert target.read_text() == "all"


@pytest.mark.skipif(os.name != "posix", reason="modes are of POSIX")
@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620])
def test_a_file_that_others_may_use_is_refused_with_the_cure(tmp_path, mode):
    file = tmp_path / "secret.key"
    write_whole(file, "inside")
    require_private(file, "secret file", error=OwnError)
    file.chmod(mode)
    with pytest.raises(OwnError, match="can be read by others") as caught:
        require_private(file, "secret file", error=OwnError)
    assert "chmod 600 secret.key" in str(caught.value)


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


def test_links_are_not_followed_where_something_is_written(tmp_path):
    elsewhere = tmp_path / "elsewhere"
    (tmp_path / "a.csv").symlink_to(elsewhere)
    (tmp_path / ".b.csv.lock").symlink_to(elsewhere)
    for overwrite in (False, True):
        with pytest.raises(OwnError, match=r"'a\.csv' is a symbolic link"):
            write_whole(tmp_path / "a.csv", "all", error=OwnError, overwrite=overwrite)
    with (
        pytest.raises(OwnError, match=r"'\.b\.csv\.lock' is a symbolic link"),
        locked(tmp_path / "b.csv", error=OwnError),
    ):
        pass
    assert not elsewhere.exists()


def test_a_link_to_a_file_is_replaced_and_the_file_stays(tmp_path):
    (tmp_path / "theirs").write_text("theirs")
    (tmp_path / "a.csv").symlink_to(tmp_path / "theirs")
    write_whole(tmp_path / "a.csv", "all")
    assert (tmp_path / "theirs").read_text() == "theirs"
    assert (tmp_path / "a.csv").read_text() == "all"


def test_a_credential_of_systemd_may_show_rights_of_the_group(tmp_path, monkeypatch):
    secret = tmp_path / "secret.key"
    secret.write_text("inside")
    secret.chmod(0o440)
    with pytest.raises(ExplainedError):
        require_private(secret, "secret file")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    require_private(secret, "secret file")
    secret.chmod(0o444)
    with pytest.raises(ExplainedError):
        require_private(secret, "secret file")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path.parent))
    secret.chmod(0o440)
    with pytest.raises(ExplainedError):
        require_private(secret, "secret file")
