"""A file that appears complete or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["whole_file", "write_text"]


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a name to write to; the file has its own name when all is on the disk.

    Parameters
    ----------
    path
        The file, replaced if it exists; an older one stays until then.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "new.json"
    >>> with whole_file(file) as draft:
    ...     _ = draft.write_text("all of it")
    ...     file.exists()
    False
    >>> file.read_text()
    'all of it'
    """
    target = Path(path)
    # No two processes share a name; the ending stays, as it says how to write.
    draft = target.with_name(f".{secrets.token_hex(8)}{target.suffix}")
    try:
        yield draft
        with draft.open("rb+") as written:
            os.fsync(written.fileno())
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text in UTF-8, whole or not at all.

    Parameters
    ----------
    path
        The file, replaced if it exists.
    text
        Its content.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "new.json"
    >>> write_text(file, "all of it")
    >>> file.read_text()
    'all of it'
    """
    with whole_file(path) as draft:
        draft.write_bytes(text.encode())
