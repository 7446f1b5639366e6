"""Drafts are their owner's alone, and go when a lock tells that their maker is dead."""

import errno
import fcntl
import logging
import os
import re
import stat
import subprocess
import sys
import threading

import pytest

from footing import drafts, write_whole
from footing.drafts import PrivateFolder, remove_abandoned

DIE = """
import os, signal, sys
from pathlib import Path
from footing.drafts import PrivateFolder
from footing.files import new_file
folder = Path(sys.argv[1])
if sys.argv[2] == "folder":
    private = PrivateFolder(folder, ".out.partial-")
    (private.path / "out").mkdir()
    (private.path / "out" / "table.csv").write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
with new_file(folder / "out.csv") as draft:
    draft.write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def die(folder, kind):
    subprocess.run([sys.executable, "-c", DIE, folder, kind], check=False)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def open_umask():
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.fixture
def said(caplog):
    drafts._tell_of.cache_clear()
    with caplog.at_level(logging.WARNING):
        yield caplog


def test_a_private_folder_is_its_owners_alone_whatever_the_umask(tmp_path, open_umask):
    with PrivateFolder(tmp_path, ".out.partial-") as folder:
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    assert names(tmp_path) == []


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_draft_of_a_dead_process_goes_with_whatever_is_written_next(tmp_path, kind):
    (tmp_path / ".out.lock").touch()
    die(tmp_path, kind)
    assert len(names(tmp_path)) == 2
    write_whole(tmp_path / "another.csv", "all")
    assert set(names(tmp_path)) - {".out.lock"} == {"another.csv"}
    assert (tmp_path / ".out.lock").exists() is (kind == "file")


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_draft_on_a_disk_without_locks_is_left_and_named(tmp_path, kind, monkeypatch, said):
    def fail(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    die(tmp_path, kind)
    (left,) = names(tmp_path)
    monkeypatch.setattr(fcntl, "flock", fail)
    for _ in range(2):
        remove_abandoned(tmp_path)
    assert names(tmp_path) == [left]
    assert len([text for text in said.messages if left in text]) == 1


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_draft_of_another_machine_is_left_and_named(tmp_path, kind, said):
    die(tmp_path, kind)
    (left,) = tmp_path.iterdir()
    other = left.with_name(left.name.replace(drafts._host(), "0123456789ab"))
    left.rename(other)
    remove_abandoned(tmp_path)
    assert other.exists()
    assert other.name in said.text


@pytest.mark.parametrize("same", [slice(0, 6), slice(6, 12)])
def test_a_machine_is_known_by_its_start_or_its_name(tmp_path, same):
    die(tmp_path, "file")
    (left,) = tmp_path.iterdir()
    own = drafts._host()
    left.rename(left.with_name(left.name.replace(own, own.replace(own[same], "0" * 6))))
    remove_abandoned(tmp_path)
    assert names(tmp_path) == []


def test_a_draft_of_a_living_process_is_left(tmp_path):
    code = DIE.replace("os.kill(os.getpid(), signal.SIGKILL)", "print(flush=True); input()")
    for kind in ("file", "folder"):
        with subprocess.Popen(
            [sys.executable, "-c", code, tmp_path, kind],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as process:
            process.stdout.readline()
            before = names(tmp_path)
            remove_abandoned(tmp_path)
            assert names(tmp_path) == before
            process.kill()
    remove_abandoned(tmp_path)
    assert names(tmp_path) == []


def test_drafts_of_older_versions_are_judged_by_the_lock_of_their_name(tmp_path, said):
    for name in ("dead", "living", "lost"):
        (tmp_path / f".{name}.partial-17-0a1b2c3d").mkdir()
        if name != "lost":
            (tmp_path / f".{name}.lock").touch()
    with (tmp_path / ".living.lock").open("rb+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        remove_abandoned(tmp_path)
    assert names(tmp_path) == [
        ".living.lock",
        ".living.partial-17-0a1b2c3d",
        ".lost.partial-17-0a1b2c3d",
    ]
    assert ".lost.partial" in said.text
    assert ".living" not in said.text


def test_what_looks_like_a_draft_and_is_a_link_is_not_followed(tmp_path):
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "lock").touch()
    (theirs / "kept").touch()
    place = tmp_path / "place"
    place.mkdir()
    (place / f".a.partial-{drafts._host()}-0123456789abcdef").symlink_to(theirs)
    (place / f".a.{drafts._host()}-0123456789abcdef.tmp.csv").symlink_to(theirs / "kept")
    remove_abandoned(place)
    assert len(names(place)) == 2
    assert names(theirs) == ["kept", "lock"]


def test_who_is_cleared_away_before_its_lock_begins_anew(tmp_path, monkeypatch):
    make, tries = drafts._try_make, []

    def take(path):
        tries.append(path)
        if len(tries) == 1:
            path.parent.rmdir()  # as another process does that finds no lock in it
        return None if len(tries) == 2 else make(path)

    monkeypatch.setattr(drafts, "_try_make", take)
    with PrivateFolder(tmp_path, ".a.partial-") as folder:
        assert len(tries) == 3
        assert folder.exists()


@pytest.mark.slow
def test_many_that_clear_up_touch_nothing_of_the_living(tmp_path):
    failed, over = [], threading.Event()
    code = "import sys; from pathlib import Path; from footing.drafts import remove_abandoned\n"
    code += "while True: remove_abandoned(Path(sys.argv[1]))"
    others = [subprocess.Popen([sys.executable, "-c", code, tmp_path]) for _ in range(2)]
    try:
        for number in range(300):
            with PrivateFolder(tmp_path, ".out.partial-") as folder:
                (folder / "a").write_text("a")
            write_whole(tmp_path / f"{number}.csv", "all")
    except OSError as error:
        failed.append(error)
    finally:
        over.set()
        for other in others:
            other.kill()
            other.wait()
    assert not failed
    assert all(re.fullmatch(r"\d+\.csv", name) for name in names(tmp_path))
    assert len(names(tmp_path)) == 300
