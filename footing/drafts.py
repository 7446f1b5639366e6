"""Drafts of files and folders: hidden, their owner's alone, and gone when their maker is dead.

A draft is locked as long as the process lives that writes it, and the system frees the locks
of the dead. Whoever writes into the same folder later removes drafts whose lock is free. A
draft of another machine, or on a disk without locks, is left and named: its maker may be alive.
"""

import contextlib
import errno
import functools
import hashlib
import logging
import os
import re
import secrets
import shutil
import stat
from pathlib import Path
from typing import Literal, TypeAlias

from footing.messages import Message, Name

logger = logging.getLogger(__name__)

LockState: TypeAlias = Literal["ours", "held", "unknown"]

_NO_LOCKS = {errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL}
_RUN = secrets.token_hex(4)  # in the names of this process's drafts
_HOST = r"(?P<host>[0-9a-f]{12})-"
_FILE = re.compile(rf"\..{{0,40}}\.({_HOST})?[0-9a-f]{{16}}\.tmp(\..*)?")
_FOLDER = re.compile(
    rf"(\..+\.partial-|ckm-spill-){_HOST}[0-9a-f]{{16}}|(?P<spilled>ckm-spill-\w+)"
)
_OLDER = re.compile(r"\.(?P<name>.+)\.partial-.+")  # of versions that locked a file beside it
_NAMES = (_FILE, _FOLDER, _OLDER)
_BEGINNINGS = (".", "ckm-spill-")
_LOCK = "lock"
_ATTEMPTS = 100


@functools.cache
def _host() -> str:
    """Return twelve digits of this machine: six of its start, six of its name."""
    name = os.uname().nodename if os.name == "posix" else ""
    try:
        start = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        start = name
    return "".join(hashlib.sha256(text.encode()).hexdigest()[:6] for text in (start, name))


def _is_of_this_host(host: str | None) -> bool:
    """Tell whether locks of a draft are seen here: the same start, or the same name after it.

    Containers of one machine share its start and have other names; a machine keeps its name
    when it starts again. Drafts of older versions tell no machine: their lock decides.
    """
    own = _host()
    return host is None or host[:6] == own[:6] or host[6:] == own[6:]


def lock_state(handle: int) -> LockState:
    """Try to lock an open file, and tell whose the lock is."""
    try:
        if os.name == "nt":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return "unknown" if error.errno in _NO_LOCKS else "held"
    return "ours"


def _try_make(path: Path) -> int | None:
    """Make a locked file; None where another process took it for abandoned before its lock."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    if lock_state(handle) != "held" and is_same_file(handle, path):
        return handle
    os.close(handle)
    return None


def make_draft(target: Path) -> tuple[Path, int]:
    """Make the draft of a file, locked as long as this process lives; return its handle too."""
    while True:
        draft = target.with_name(_name_of(target))
        if (handle := _try_make(draft)) is not None:
            return draft, handle


def _name_of(target: Path) -> str:
    """Name a draft so that who finds one after a kill knows what it was to be."""
    start = target.stem[:40]  # a file name has 255 bytes
    return f".{start}.{_host()}-{_RUN}{secrets.token_hex(4)}.tmp{target.suffix}"


def mode_by_umask(target: Path) -> int:
    """Return the mode that the system gives to a file that is made where the target lies."""
    probe = target.with_name(_name_of(target))
    handle = os.open(probe, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        return stat.S_IMODE(os.fstat(handle).st_mode)
    finally:
        probe.unlink(missing_ok=True)
        os.close(handle)


def is_same_file(handle: int, path: Path) -> bool:
    """Tell whether an open file is the one of a name."""
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


class PrivateFolder:
    """A folder of mode 0700 that is locked as long as it is in use.

    Parameters
    ----------
    parent
        Where it is made; what dead processes left there is removed first.
    start
        How its name begins.

    Examples
    --------
    >>> import tempfile
    >>> with PrivateFolder(Path(tempfile.mkdtemp()), ".out.partial-") as folder:
    ...     oct(folder.stat().st_mode & 0o777)
    '0o700'
    >>> folder.exists()
    False
    """

    def __init__(self, parent: Path, start: str) -> None:
        remove_abandoned(parent)
        for _ in range(_ATTEMPTS):
            self.path = parent / f"{start}{_host()}-{_RUN}{secrets.token_hex(4)}"
            os.mkdir(self.path, mode=0o700)  # noqa: PTH102 (as `os.open` makes its lock)
            # Before its lock is held, another process may take the folder for abandoned.
            with contextlib.suppress(FileNotFoundError):
                if (handle := _try_make(self.path / _LOCK)) is not None:
                    self._lock = handle
                    return
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), str(self.path))

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.remove()

    def remove(self) -> None:
        """Remove the folder and what is in it; once more does nothing."""
        if self._lock >= 0:
            _remove_folder(self.path)
            with contextlib.suppress(OSError):
                os.close(self._lock)
        self._lock = -1


def _remove_folder(folder: Path) -> None:
    """Remove a folder, its lock last: what a kill leaves meanwhile can still be judged."""
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            elif path.name != _LOCK:
                path.unlink()
    shutil.rmtree(folder, ignore_errors=True)


def is_draft(name: str) -> bool:
    """Tell whether a name is that of a draft whose maker can be told dead by its lock."""
    return (_FILE.fullmatch(name) or _FOLDER.fullmatch(name)) is not None


def remove_abandoned(folder: Path) -> None:
    """Remove the drafts in a folder whose makers are dead; name those that may be alive."""
    if os.name != "posix":
        return
    unjudged: list[str] = []
    with contextlib.suppress(OSError):
        # Of thousands, few are drafts: no path is made of the others.
        names = [name for name in os.listdir(folder) if name.startswith(_BEGINNINGS)]  # noqa: PTH208
        for name in names:
            if not any(pattern.fullmatch(name) for pattern in _NAMES):
                continue
            draft = folder / name
            with contextlib.suppress(OSError):
                if draft.lstat().st_uid == os.geteuid() and _is_left(draft):
                    unjudged.append(draft.name)
    if unjudged:
        _tell_of(str(folder), tuple(sorted(unjudged)))


def _is_left(draft: Path) -> bool:
    """Remove a draft whose maker is dead; tell whether one is left that cannot be judged."""
    if f"-{_RUN}" in draft.name:  # our own
        return False
    is_folder = draft.is_dir() and not draft.is_symlink()
    name = (_FOLDER if is_folder else _FILE).fullmatch(draft.name)
    older = _OLDER.fullmatch(draft.name) if is_folder and name is None else None
    if name is not None:
        if not _is_of_this_host(name["host"]):
            return True
        lock = draft / _LOCK if is_folder else draft
    elif older is not None:
        lock = draft.with_name(f".{older['name']}.lock")
    else:
        return False
    names = [older["name"]] if older is not None else _results_in(draft) if is_folder else []
    try:
        handle = os.open(lock, os.O_RDWR | os.O_NOFOLLOW)
    except FileNotFoundError:
        if older is None:
            draft.rmdir()  # being made or removed; one that is being made is made anew
        return older is not None
    try:
        state = lock_state(handle)
        if state == "ours" and is_same_file(handle, lock):
            _remove_folder(draft) if is_folder else draft.unlink()
            for name_of_result in names:
                _remove_free_lock(draft.with_name(f".{name_of_result}.lock"), handle)
    finally:
        os.close(handle)
    return state == "unknown"


def _results_in(draft: Path) -> list[str]:
    return [path.name for path in draft.iterdir() if path.name != _LOCK]


def _remove_free_lock(lock: Path, own: int) -> None:
    """Remove the lock of a name that a dead process wrote, unless another one writes it now."""
    with contextlib.suppress(OSError):
        handle = os.open(lock, os.O_RDWR | os.O_NOFOLLOW)
        try:
            is_free = is_same_file(own, lock) or lock_state(handle) == "ours"
            if is_free and is_same_file(handle, lock):
                lock.unlink()
        finally:
            os.close(handle)


@functools.lru_cache(maxsize=64)  # said once
def _tell_of(folder: str, drafts: tuple[str, ...]) -> None:  # noqa: ARG001 (once a folder)
    rest = Message(", …") if len(drafts) > 5 else Message()
    logger.warning(
        Message(
            "drafts left, whose makers may be alive on another machine or a disk without "
            "locks; if none is, remove {drafts!r}{rest}",
            drafts=Name.each(drafts[:5]),
            rest=rest,
        ),
        extra={"event": "drafts left"},
    )
