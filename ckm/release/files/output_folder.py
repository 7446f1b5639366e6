"""A folder that appears complete or not at all.

Everything is written into a hidden sibling that its owner alone may enter, flushed to the disk
and renamed at the end. Whatever ends the program in between (an error, Ctrl-C, a kill, a power
cut) leaves the folder as it was.
"""

import contextlib
import ctypes
import errno
import glob
import os
import secrets
import shutil
import stat
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from ckm.errors import ReleaseError
from footing.drafts import PrivateFolder, is_draft, is_same_file, lock_state
from footing.files import open_own, refuse_dangling
from footing.messages import Message, Name, said

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_MOMENT_S = 0.05


def resolve_target(target: Path | str) -> Path:
    """Return the absolute path of a folder to write, with links followed."""
    refuse_dangling(Path(target), error=ReleaseError)
    path = Path(os.path.realpath(target))
    if path.parent == path:
        raise ReleaseError(
            Message("The output must be a folder of its own, not the root of a disk."),
            hint=Message("for example: -o out/"),
        )
    return path


def check_target(path: Path, may_replace: Callable[[Path], None] | None) -> None:
    """Refuse to write over anything but an empty folder, or one that may be replaced."""
    if not path.exists():
        return
    if not path.is_dir():
        raise ReleaseError(
            Message("The output {path!r} is a file, not a folder.", path=Name(path.name)),
            hint=Message("choose another name"),
        )
    if not any(path.iterdir()):
        return
    if may_replace is None:
        raise ReleaseError(
            Message("The folder {path!r} exists and is not empty.", path=Name(path.name)),
            hint=Message("choose another folder, or replace it with --force"),
        )
    may_replace(path)


@contextlib.contextmanager
def new_folder(
    target: Path | str,
    *,
    may_replace: Callable[[Path], None] | None = None,
    is_kept: bool = True,
) -> Iterator[Path]:
    r"""Write a folder that appears under its name when the block ends without an error."""
    path = resolve_target(target)
    with _parents(path), draft_folder(path) as private:
        draft = private / path.name
        draft.mkdir()
        check_target(path, may_replace)
        yield draft
        if is_kept:
            flush_files(draft)
            check_target(path, may_replace)
            _put_in_place(draft, path)


@contextlib.contextmanager
def draft_folder(path: Path, *, what: str = "folder") -> Iterator[Path]:
    """Make a private folder beside a path that no other process writes; it always goes."""
    with only_writer(path, what=what) as is_locked:
        with _translated(path, what):
            _restore(path)
            if is_locked:
                _remove_older_drafts(path)
            private = PrivateFolder(path.parent, f".{path.name[:40]}.partial-")
        with private as folder, _translated(path, what):
            yield folder


@contextlib.contextmanager
def _parents(path: Path) -> Iterator[None]:
    """Make the folders above the target; those that were made go again if nothing appears.

    Until then their owner alone may enter them.
    """
    missing = [parent for parent in path.parents if not parent.exists()]
    new_folders: list[tuple[Path, int]] = []
    try:
        with _translated(path):
            for parent in reversed(missing):
                with contextlib.suppress(FileExistsError):  # another process was first
                    parent.mkdir()
                    new_folders.append((parent, stat.S_IMODE(parent.stat().st_mode)))
                    parent.chmod(0o700)
        yield
    finally:
        for parent, mode in reversed(new_folders):
            with contextlib.suppress(OSError):
                if any(parent.iterdir()):
                    parent.chmod(mode)
                else:
                    parent.rmdir()


@contextlib.contextmanager
def _translated(path: Path, what: str = "folder") -> Iterator[None]:
    """Turn the system's errors of writing into ours."""
    try:
        yield
    except OSError as error:
        if isinstance(error, ValueError) or error.errno is None:
            raise  # an error of our packages that also derives from OSError
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise ReleaseError(
                Message(
                    "The disk is full: nothing was written to {path!r}.",
                    path=Name(path.name),
                ),
                hint=Message("free some space, or choose a folder on another disk"),
            ) from None
        reason = os.strerror(error.errno)
        raise ReleaseError(
            Message(
                "The {what} {path!r} cannot be written: {reason}.",
                what=said(what),
                path=Name(path.name),
                reason=said(reason),
            ),
            hint=Message("choose a folder that you may write to"),
        ) from None


def _restore(path: Path) -> None:
    """Bring back a folder that a killed run had moved away; we hold the lock of its name."""
    for old in path.parent.glob(f".{glob.escape(path.name)}.old-*"):
        if path.exists():
            shutil.rmtree(old, ignore_errors=True)
        else:  # killed between the two renames
            old.rename(path)


def _remove_older_drafts(path: Path) -> None:
    """Remove what runs of older versions left, which locked the name of what they wrote."""
    for draft in path.parent.glob(f".{glob.escape(path.name)}.partial-*"):
        if not is_draft(draft.name):
            shutil.rmtree(draft, ignore_errors=True)


def flush_files(folder: Path) -> None:
    """Make sure that every file below a folder has reached the disk."""
    for place, _, names in os.walk(folder):
        for name in names:
            with Path(place, name).open("rb+") as file:
                os.fsync(file.fileno())
        _flush_names(Path(place))


def _flush_names(folder: Path) -> None:
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:  # some network disks have no fsync of folders
        if error.errno not in {errno.EINVAL, errno.ENOTSUP}:
            raise
    finally:
        os.close(handle)


def _put_in_place(draft: Path, path: Path) -> None:
    """Rename the draft to its name; an older folder stays until the new one is there."""
    if not path.exists():
        draft.rename(path)
    elif not any(path.iterdir()):
        path.rmdir()
        draft.rename(path)
    elif not _exchange(draft, path):
        old = path.with_name(f".{path.name}.old-{secrets.token_hex(4)}")
        path.rename(old)
        try:
            draft.rename(path)
        except BaseException:
            old.rename(path)
            raise
        shutil.rmtree(old, ignore_errors=True)
    _flush_names(path.parent)


def _exchange(one: Path, other: Path) -> bool:
    """Swap two folders in one step; False where the system cannot."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        swap = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):
        return False
    names = (os.fsencode(one), os.fsencode(other))
    return bool(swap(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE) == 0)


@contextlib.contextmanager
def only_writer(path: Path, *, what: str = "folder") -> Iterator[bool]:
    """Let one process at a time write a folder or file; the lock of a dead one is freed.

    Tells whether the lock is held: on a disk without locks the final rename lets one win.
    """
    name = path.with_name(f".{path.name}.lock")
    while True:
        with _translated(path, what):
            handle = open_own(name, error=ReleaseError)
        try:
            is_locked = _try_lock(handle, path)
            is_current = is_same_file(handle, name)
        except BaseException:
            os.close(handle)
            raise
        if is_current:
            break
        os.close(handle)  # its holder finished and removed the file meanwhile: once more
    try:
        yield is_locked
    finally:
        with contextlib.suppress(OSError):
            name.unlink()
        os.close(handle)


def _try_lock(handle: int, path: Path) -> bool:
    state = lock_state(handle)
    if state == "held":  # perhaps by who clears up after a dead process, for a moment
        time.sleep(_MOMENT_S)
        state = lock_state(handle)
    if state == "held":
        raise ReleaseError(
            Message(
                "Another process is writing {path!r} at this moment.", path=Name(path.name)
            ),
            hint=Message("wait until it has ended, or choose another folder"),
        )
    return state == "ours"
