"""Files that appear complete or not at all, and that their owner alone may read."""

import contextlib
import csv
import errno
import io
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from footing.drafts import make_draft, mode_by_umask, remove_abandoned
from footing.errors import ExplainedError
from footing.messages import Message, Name, said

_OTHERS = 0o077
_EVERYBODY = 0o007
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)


@contextlib.contextmanager
def new_file(
    path: str | os.PathLike[str],
    *,
    error: type[ExplainedError] = ExplainedError,
    overwrite: bool = False,
    is_private: bool = True,
) -> Iterator[Path]:
    """Give an empty file to fill; it takes its name when the block ends well.

    An older file of that name stays as it is until then. Of two processes that write one name
    without `overwrite`, the second to finish fails and changes nothing. What a killed process
    left half-written in the folder is removed first.

    Parameters
    ----------
    path
        The file.
    error
        What to raise, with a problem and a hint.
    overwrite
        Whether a file of that name may be replaced.
    is_private
        Whether its owner alone may read it; else the umask decides when it takes its name.
        The draft is its owner's alone in any case.

    Yields
    ------
    Path
        An empty file in the same folder, of the same suffix, that is removed when the block
        fails.

    Raises
    ------
    ExplainedError
        The given kind of it, if the file exists, is a folder or has no folder to lie in.
    OSError
        With the name of the file, not of its draft, if it cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "new.txt"
    >>> with new_file(file) as draft:
    ...     _ = draft.write_text("all of it")
    ...     file.exists()
    False
    >>> file.read_text()
    'all of it'
    """
    target = Path(path)
    _require_free(target, error, overwrite=overwrite)
    remove_abandoned(target.parent)
    draft, handle = target, -1
    try:
        draft, handle = make_draft(target)
        yield draft
        mode = 0o600 if is_private else mode_by_umask(target)
        with draft.open("rb") as file:
            os.fsync(file.fileno())
            _give_name(draft, target, error, overwrite=overwrite)
            if not is_private:
                os.chmod(file.fileno(), mode)  # noqa: PTH101 (the file that took the name)
    except OSError as failure:
        is_of_draft = failure.filename in {None, os.fspath(draft)} or handle < 0
        if failure.errno is None or not is_of_draft or isinstance(failure, ExplainedError):
            raise
        raise OSError(failure.errno, failure.strerror, os.fspath(target)) from None
    finally:
        if handle >= 0:
            draft.unlink(missing_ok=True)
            os.close(handle)


def require_private(
    path: str | os.PathLike[str], what: str, *, error: type[ExplainedError] = ExplainedError
) -> None:
    """Raise if others than its owner may read or write a file; one that is not there passes.

    Parameters
    ----------
    path
        The file.
    what
        What messages call it.
    error
        What to raise, with a problem and a hint.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "secret.key"
    >>> write_whole(file, "inside", is_private=False)
    >>> file.chmod(0o640)
    >>> try:
    ...     require_private(file, "secret file")
    ... except ExplainedError as failure:
    ...     print(failure)
    The secret file 'secret.key' can be read by others.
      hint: if this is the right file, run: chmod 600 secret.key
    """
    file = Path(path)
    try:
        others = _EVERYBODY if _is_credential(file) else _OTHERS
        is_open = os.name == "posix" and file.stat().st_mode & others
    except OSError:
        return
    if is_open:
        raise error(
            Message(
                "The {what} {file!r} can be read by others.",
                what=said(what),
                file=Name(file.name),
            ),
            hint=Message(
                "if this is the right file, run: chmod 600 {file}", file=Name(file.name)
            ),
        )


def _require_free(target: Path, error: type[ExplainedError], *, overwrite: bool) -> None:
    if target.is_dir():
        raise error(
            Message("{target!r} is a folder.", target=Name(target.name)),
            hint=Message("take another name"),
        )
    refuse_dangling(target, error=error)
    if target.exists() and not overwrite:
        raise _exists(target, error)
    if not target.parent.is_dir():
        raise error(
            Message("There is no folder '{parent}'.", parent=target.parent),
            hint=Message("make it first"),
        )


def _give_name(
    draft: Path, target: Path, error: type[ExplainedError], *, overwrite: bool
) -> None:
    if not overwrite:
        try:
            os.link(draft, target)  # another process may have taken the name meanwhile
        except FileExistsError:
            raise _exists(target, error) from None
        except OSError:  # a file system without links
            pass
        else:
            return
    draft.replace(target)


def _exists(target: Path, error: type[ExplainedError]) -> ExplainedError:
    return error(
        Message("The file {target!r} exists already.", target=Name(target.name)),
        hint=Message("take another name, or ask to overwrite it"),
    )


def open_own(
    path: Path, flags: int = 0, *, error: type[ExplainedError] = ExplainedError
) -> int:
    """Open a file to read and write, made with mode 0600 if there is none; follow no link.

    Raises
    ------
    ExplainedError
        The given kind of it, if the name is a symbolic link: whoever put it there would have
        another file changed.
    OSError
        If the file cannot be opened.
    """
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | _NOFOLLOW | flags, 0o600)
    except OSError as failure:
        if failure.errno != errno.ELOOP:
            raise
        raise _is_link(path, error) from None


def refuse_dangling(path: Path, *, error: type[ExplainedError] = ExplainedError) -> None:
    """Refuse a symbolic link to nothing: what is written there would appear elsewhere.

    Raises
    ------
    ExplainedError
        The given kind of it.
    """
    if path.is_symlink() and not path.exists():
        raise _is_link(path, error)


def _is_link(path: Path, error: type[ExplainedError]) -> ExplainedError:
    return error(
        Message("{path!r} is a symbolic link, which is not followed.", path=Name(path.name)),
        hint=Message("name the file itself, or remove the link if you did not make it"),
    )


@contextlib.contextmanager
def locked(
    path: str | os.PathLike[str], *, error: type[ExplainedError] = ExplainedError
) -> Iterator[None]:
    """Let one process or thread at a time read, change and write a file.

    The lock is held on an empty file beside it, which stays: the file itself is replaced.
    """
    target = Path(path)
    beside = target.with_name(f".{target.name}.lock")
    try:
        handle = open_own(beside, error=error)
    except FileNotFoundError:
        raise error(
            Message("There is no folder '{parent}'.", parent=target.parent),
            hint=Message("make it first"),
        ) from None
    try:
        with alone(handle):
            yield
    finally:
        os.close(handle)


@contextlib.contextmanager
def alone(handle: int) -> Iterator[None]:
    """Wait until no other process holds the lock of an open file, and hold it."""
    if os.name == "nt":
        import msvcrt

        msvcrt.locking(handle, msvcrt.LK_LOCK, 1)  # type: ignore[attr-defined,unused-ignore]
        yield  # the lock ends when the file is closed
        return
    import fcntl

    fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(handle, fcntl.LOCK_UN)


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    """Return rows as the text of a CSV file."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def write_whole(
    path: str | os.PathLike[str],
    content: str | bytes,
    *,
    error: type[ExplainedError] = ExplainedError,
    overwrite: bool = True,
    is_private: bool = True,
) -> None:
    """Write a text in UTF-8, or bytes, as `new_file` does.

    Parameters
    ----------
    path
        The file.
    content
        What it is to hold.
    error, overwrite, is_private
        As for `new_file`; a file of that name is replaced unless `overwrite` is false.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "page.html"
    >>> write_whole(file, "inside")
    >>> file.read_text(), oct(file.stat().st_mode & 0o777)
    ('inside', '0o600')
    >>> try:
    ...     write_whole(file, "again", overwrite=False)
    ... except ExplainedError as failure:
    ...     print(failure)
    The file 'page.html' exists already.
      hint: take another name, or ask to overwrite it
    """
    body = content.encode() if isinstance(content, str) else content
    with new_file(path, error=error, overwrite=overwrite, is_private=is_private) as draft:
        draft.write_bytes(body)


def _is_credential(file: Path) -> bool:
    """Tell whether systemd handed a file over to this process and to nobody else.

    It lets the user of a unit read its credentials by a list of access rights, which shows as
    rights of the group.
    """
    folder = os.environ.get("CREDENTIALS_DIRECTORY")
    return bool(folder) and file.resolve().parent == Path(str(folder)).resolve()
