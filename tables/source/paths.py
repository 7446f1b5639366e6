"""Paths of files as DuckDB is told them: no sign of a name stands for other signs."""

import os
import re
from pathlib import Path

from footing.messages import Argument, Message
from tables.errors import SourceError

#: What stands for other signs in a path that DuckDB is told.
_SIGNS = re.compile(r"[\[*?]")
#: What a link cannot have in its name.
_ENCODED = re.compile(r"[\\\[*?]")


def literal_path(file: str) -> str:
    """Return the glob that DuckDB finds this file alone by.

    It is absolute: DuckDB takes ``~`` at a start for the home of a user, and the folders of a
    file are told apart by the separators before them.
    """
    path = os.path.abspath(file)  # noqa: PTH100  (links stay)
    return _SIGNS.sub(r"[\g<0>]", path.replace(os.sep, "/"))


def as_readable(file: str, folder: Path) -> str:
    """Return a path by which DuckDB can be told a file: its own, or that of a link to it.

    Beside a sign of globs, DuckDB takes a backslash for the end of a folder's name; and it
    looks for the ending that tells compression before a question mark. The link lies below
    folders of the same names, in which such signs are percent-encoded, as those of partitions
    may be.
    """
    is_cut = "\\" in file and _SIGNS.search(file) is not None
    is_cut |= "?" in file and file.lower().endswith((".gz", ".zst"))
    if os.sep == "\\" or not is_cut:
        return file
    path = Path(file).absolute()
    for part in path.parent.parts:
        key, equal, _ = part.partition("=")
        if equal and _ENCODED.search(key):
            raise SourceError(
                Message("The name of the folder {part!r} cannot be read.", part=Argument(part)),
                hint=Message("rename it, without backslash, [, * and ? before the ="),
            )
    parts = [_ENCODED.sub(_percent, part) for part in path.parts[1:]]
    link = folder.joinpath("links", *parts)
    link.parent.mkdir(parents=True, exist_ok=True)
    if not link.is_symlink():
        link.symlink_to(path)
    return str(link)


def _percent(sign: re.Match[str]) -> str:
    return f"%{ord(sign[0]):02X}"
