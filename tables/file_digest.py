"""A digest inside the Parquet files that we write: one bit that changed is noticed.

It stands between the records and the footer of a file, where Parquet's readers do not look,
and is of all other bytes. Anybody can compute it: it tells damage, not forgery.
"""

import hashlib
import os
from pathlib import Path
from typing import IO

from footing.messages import Argument, Message
from tables.errors import SourceError

_MAGIC = b"\nckm sha256 of this file without this line: "
_DIGEST_BYTES = hashlib.sha256().digest_size
_SIZE = len(_MAGIC) + _DIGEST_BYTES
_END = b"PAR1"
_TAIL = 4 + len(_END)  # the length of the footer, and the mark of Parquet
_PIECE = 1 << 20


def add_digest(path: str | os.PathLike[str]) -> None:
    """Put the digest of a Parquet file into it."""
    with Path(path).open("r+b") as file:
        start = _footer(file)
        if start is None:  # of another program, and none that we wrote
            return
        digest = hashlib.sha256()
        _update(digest, file, 0, start)
        footer = file.read()
        digest.update(footer)
        file.seek(start)
        file.write(_MAGIC + digest.digest() + footer)


def require_undamaged(path: str | os.PathLike[str]) -> None:
    """Raise if a Parquet file holds a digest, and is not what it was made of.

    Raises
    ------
    SourceError
        If the file was changed.
    """
    with Path(path).open("rb") as file:
        footer = _footer(file)
        if footer is None or footer < _SIZE:
            return
        start = footer - _SIZE
        file.seek(start)
        if file.read(len(_MAGIC)) != _MAGIC:
            return
        own_digest = file.read(_DIGEST_BYTES)
        digest = hashlib.sha256()
        _update(digest, file, 0, start)
        file.seek(footer)
        digest.update(file.read())
    if digest.digest() != own_digest:
        name = Path(path).name
        raise SourceError(
            Message(
                "The file {name!r} is damaged: it does not hold what was written.",
                name=Argument(name),
            ),
            hint=Message(
                "put back a copy of it, or make it again from the same records and secret"
            ),
        )


def _footer(file: IO[bytes]) -> int | None:
    """Return where the footer of a Parquet file starts; None where it is none."""
    size = file.seek(0, os.SEEK_END)
    if size < _TAIL + len(_END):
        return None
    file.seek(size - _TAIL)
    tail = file.read(_TAIL)
    start = size - _TAIL - int.from_bytes(tail[:4], "little")
    return start if tail[4:] == _END and start >= len(_END) else None


def _update(digest: "hashlib._Hash", file: IO[bytes], start: int, stop: int) -> None:
    file.seek(start)
    while start < stop and (piece := file.read(min(_PIECE, stop - start))):
        digest.update(piece)
        start += len(piece)
