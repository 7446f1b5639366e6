"""A file that appears complete or not at all."""

from __future__ import annotations

import contextlib
import secrets
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["whole_file", "write_whole"]


@contextlib.contextmanager
def whole_file(path: Path, *, is_private: bool) -> Iterator[Path]:
    """Give a name with the same ending to write to, and rename it when all went well.

    Parameters
    ----------
    path
        The file, replaced if it exists; an older one stays until then.
    is_private
        Whether its owner alone may read it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "page.html"
    >>> with whole_file(file, is_private=False) as draft:
    ...     _ = draft.write_text("inside")
    >>> file.read_text(), [one.name for one in file.parent.iterdir()]
    ('inside', ['page.html'])
    """
    # No two processes share a name.
    draft = path.with_name(f".{secrets.token_hex(8)}{path.suffix}")
    try:
        draft.touch(mode=0o600 if is_private else 0o666, exist_ok=False)
        yield draft
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def write_whole(path: Path, text: str, *, is_private: bool) -> None:
    """Write a text under a temporary name and rename it; an older file stays until then.

    Parameters
    ----------
    path
        The file, replaced if it exists.
    text
        Its content, written in UTF-8.
    is_private
        Whether its owner alone may read it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "page.html"
    >>> write_whole(file, "inside", is_private=True)
    >>> file.read_text(), oct(file.stat().st_mode & 0o777)
    ('inside', '0o600')
    """
    with whole_file(path, is_private=is_private) as draft:
        draft.write_bytes(text.encode())
