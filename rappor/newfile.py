"""Small files: read whole, and written complete or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from typing import TYPE_CHECKING, BinaryIO

from rappor.errors import ReportFileError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["new_file", "read_text", "write_new_text"]


@contextlib.contextmanager
def new_file(target: Path, *, overwrite: bool = False) -> Iterator[BinaryIO]:
    """Open a file that takes its name when all is written.

    Parameters
    ----------
    target
        The file.
    overwrite
        Whether a file of that name may be replaced.

    Raises
    ------
    ReportFileError
        If the file exists, is a folder or its folder does not exist.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "new"
    >>> with new_file(file) as writing:
    ...     _ = writing.write(b"all of it")
    >>> file.read_bytes()
    b'all of it'
    """
    if target.is_dir() or not target.parent.is_dir():
        reason = "is a folder" if target.is_dir() else "has no folder to lie in"
        raise ReportFileError(f"The file {target.name!r} cannot be written: it {reason}.")
    if target.exists() and not overwrite:
        raise _exists(target)
    temporary = target.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("xb") as file:
            yield file
        _give_name(temporary, target, overwrite=overwrite)
    finally:
        temporary.unlink(missing_ok=True)


def _give_name(temporary: Path, target: Path, *, overwrite: bool) -> None:
    """Give a finished file its name; another process may have taken it meanwhile."""
    if not overwrite:
        try:
            os.link(temporary, target)
        except FileExistsError:
            raise _exists(target) from None
        except OSError:  # a file system without links
            pass
        else:
            return
    temporary.replace(target)


def _exists(target: Path) -> ReportFileError:
    return ReportFileError(
        f"The file {target.name!r} exists already.",
        hint="take another name, or ask to overwrite it",
    )


def write_new_text(target: Path, text: str, *, overwrite: bool = False) -> None:
    """Write a whole text to a file.

    Parameters
    ----------
    target
        The file.
    text
        What it is to hold.
    overwrite
        Whether a file of that name may be replaced.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "new.txt"
    >>> write_new_text(file, "all of it")
    >>> file.read_text()
    'all of it'
    """
    with new_file(target, overwrite=overwrite) as file:
        file.write(text.encode())


def read_text(path: Path) -> str:
    """Read a whole text in UTF-8, with or without a byte order mark.

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    ReportFileError
        If it cannot be read or is no text.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "some.txt"
    >>> _ = file.write_text("all of it")
    >>> read_text(file)
    'all of it'
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        reason = "it is not text"
    except OSError as error:
        reason = error.strerror or "unknown"
    raise ReportFileError(f"The file {path.name!r} cannot be read: {reason}.") from None
