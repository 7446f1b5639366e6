"""A file that appears complete or not at all."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["write_whole"]


def write_whole(path: Path, text: str | bytes, *, is_private: bool) -> None:
    """Write a file under a temporary name and rename it; an older one stays until then.

    Parameters
    ----------
    path
        The file, replaced if it exists.
    text
        Its content; a text is written in UTF-8.
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
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        draft.touch(mode=0o600 if is_private else 0o666, exist_ok=False)
        draft.write_bytes(text.encode() if isinstance(text, str) else text)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
