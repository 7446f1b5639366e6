"""Where records lie: in files, folders, globs, on standard input, in stores and databases."""

import enum
import glob
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import TypeAlias, overload

from footing.addresses import Address

_STANDARD_INPUT = "-"
#: Scheme of a database's URI → its ADBC driver.
DRIVERS = {"postgresql": "postgresql", "postgres": "postgresql", "sqlite": "sqlite"}
#: Schemes of stores that a Spark cluster reads by itself.
_FOLDERS = frozenset({"s3", "s3a", "hdfs", "abfs", "abfss", "gs", "dbfs"})
#: Of a table of Spark's catalog: ``catalog://database.table``.
CATALOG = "catalog"
_DISTRIBUTED = _FOLDERS | {CATALOG}
#: Of a file on a store: its size, its last change, and its ETag where one is told.
FileState: TypeAlias = tuple[int, str, str]


class PlaceKind(enum.Enum):
    """What a place is."""

    FILES = "files"
    STANDARD_INPUT = "standard input"
    STORE = "store"
    DATABASE = "database"
    UNKNOWN = "unknown"


@dataclass(frozen=True, repr=False)
class Place:
    """Where records lie, decided once from what names it; made by `place_of`.

    Parameters
    ----------
    kind
        What it is. Files are files, folders and globs of this machine, or a list of these.
    texts
        What names it: paths, or one address. A repr shows them without passwords.
    address
        The same as an address, if it is a text that may be one.

    Examples
    --------
    >>> place_of("postgresql://me:hunter2@host/db")
    Place('postgresql://me@host/db')
    """

    kind: PlaceKind
    texts: tuple[str, ...]
    address: Address | None = None

    @property
    def is_elsewhere(self) -> bool:
        """Whether records lie elsewhere than in files of this machine."""
        return self.kind is not PlaceKind.FILES

    @property
    def scheme(self) -> str:
        """The scheme of an address in lower case; empty for files and standard input."""
        return self.address.scheme if self.address else ""

    @property
    def uri(self) -> str:
        """The address, password and all, with the scheme in lower case as drivers want it."""
        return self.scheme + self.texts[0][len(self.scheme) :]

    @property
    def has_password(self) -> bool:
        """Whether an address holds a password, or may hold one; the name of a file does not."""
        return self.address is not None and self.address.has_password and not self.files

    @property
    def label(self) -> str:
        """What messages call it: a file by its name, an address without its password."""
        if self.kind is PlaceKind.STANDARD_INPUT:
            return "standard input"
        if self.is_elsewhere:
            return Address(self.uri).masked
        return Path(self.texts[0]).name if len(self.texts) == 1 else f"{len(self.files)} files"

    @property
    def paths(self) -> tuple[str, ...]:
        """Paths, folders and globs of this machine; none of an address."""
        return () if self.is_elsewhere else self.texts

    @cached_property
    def matches(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Each path, and the files that it stands for, as they are when first asked for."""
        return tuple((path, tuple(list_files(path))) for path in self.paths)

    @property
    def files(self) -> tuple[str, ...]:
        """The files of this machine, each once."""
        return tuple(dict.fromkeys(file for _, files in self.matches for file in files))

    @property
    def folder(self) -> str:
        """The folder that all paths have in common, before their wildcards."""
        fixed = [before_wildcards(path) for path in self.paths]
        return os.path.commonpath([os.path.abspath(path) for path in fixed])  # noqa: PTH100

    @property
    def patterns(self) -> list[str]:
        """The globs of files that the next reading would find."""
        globs = [(path, as_pattern(path)) for path in self.paths]
        return [f"{one}/**/*" if Path(path).is_dir() else one for path, one in globs]

    def __str__(self) -> str:
        return ", ".join(Address(text).masked for text in self.texts)

    def __repr__(self) -> str:
        return f"Place({str(self)!r})"


@overload
def place_of(data: str | os.PathLike[str] | Place) -> Place: ...
@overload
def place_of(data: object) -> Place | None: ...
def place_of(data: object) -> Place | None:
    """Tell the place that a text, a path or a list of these names; None for data in memory.

    Only a text alone can be an address. A path is one of this machine, whatever it looks like.
    """
    if isinstance(data, Place):
        return data
    if isinstance(data, str):
        address = Address(data)
        return Place(_kind_of(data, address.scheme), (data,), address)
    values = data if isinstance(data, (list, tuple)) else [data]
    paths = [os.fspath(path) for path in values if isinstance(path, (str, os.PathLike))]
    if not paths or len(paths) < len(values):
        return None
    return Place(PlaceKind.FILES, tuple(paths))


def _kind_of(text: str, scheme: str) -> PlaceKind:
    if text == _STANDARD_INPUT:
        return PlaceKind.STANDARD_INPUT
    if not scheme:
        return PlaceKind.FILES
    if scheme in DRIVERS:
        return PlaceKind.DATABASE
    return PlaceKind.STORE if scheme in _DISTRIBUTED else PlaceKind.UNKNOWN


def as_connectors_know(path: str) -> str:
    """Write a path as Spark's own connectors know it: S3 goes by s3a, DBFS has no host."""
    path = re.sub("^s3://", "s3a://", path, flags=re.IGNORECASE)
    return re.sub("^dbfs:/(?!/)", "dbfs:///", path, flags=re.IGNORECASE)


def is_folder(uri: str) -> bool:
    """Tell whether a URI names one folder that workers of a cluster can write."""
    uri, kinds = as_connectors_know(uri), "|".join(sorted({*_FOLDERS, "file"}))
    is_plain = re.fullmatch(rf"({kinds})://[^*?{{}}\[\]\\%#\s]+(?<!/)", uri, re.IGNORECASE)
    return is_plain is not None and not Address(uri).has_password


def list_files(path: str) -> list[str]:
    """Return the files that a path, a folder or a glob stands for, sorted.

    What exists is never a pattern, whatever signs its name holds; nor is a part of a glob that
    is the name of a folder there. Below a folder, what begins with ``.`` or ``_`` is left out,
    as by other programs.
    """
    files: dict[str, None] = {}
    for one in sorted(_expanded(path)):
        for file in sorted(Path(one).rglob("*")) if Path(one).is_dir() else [one]:
            parts = Path(os.path.relpath(file, one)).parts if file != one else ()
            is_hidden = any(part[0] in "._" and "=" not in part for part in parts)
            if not is_hidden and Path(file).is_file():
                files[str(file)] = None
    return list(files)


def _expanded(path: str) -> list[str]:
    """Return what a glob matches, part by part: a name that is there stands for itself."""
    if os.path.lexists(path):
        return [path]
    folder, name = os.path.split(path)
    if folder == path:  # a root that is not there
        return []
    matches: dict[str, None] = {}
    for one in _expanded(folder) if folder else [""]:
        if folder and not Path(one).is_dir():
            continue
        inside = os.path.join(one, name)  # noqa: PTH118  (keeps paths as given)
        is_name = os.path.lexists(inside) or not glob.has_magic(name)
        pattern = os.path.join(glob.escape(one), glob.escape(name) if is_name else name)  # noqa: PTH118
        matches.update(dict.fromkeys(glob.glob(pattern, recursive=True)))  # noqa: PTH207
    return list(matches)


def _length_before_wildcards(path: str) -> int:
    """Return how many parts of a path exist, or hold no wildcard before the first that does."""
    parts = Path(path).parts
    for number, part in enumerate(parts):
        if glob.has_magic(part) and not os.path.lexists(Path(*parts[: number + 1])):
            return number
    return len(parts)


def before_wildcards(path: str) -> str:
    """Return the folders of a glob before the first wildcard; signs of what exists are none."""
    return Path(*Path(path).parts[: _length_before_wildcards(path)]).as_posix()


def as_pattern(path: str) -> str:
    """Return the glob of a path or a glob in which the names of what exists are plain."""
    parts, fixed = Path(path).parts, _length_before_wildcards(path)
    return str(Path(*map(glob.escape, parts[:fixed]), *parts[fixed:]))


def is_matched(path: Path, pattern: str) -> bool:
    """Tell whether a path matches a glob pattern, in which ``**`` stands for any folders.

    A part of the path also matches a part of the pattern that is the same text.
    """

    def fits(parts: Sequence[str], patterns: Sequence[str]) -> bool:
        if not patterns:
            return not parts
        if patterns[0] == "**":
            return any(fits(parts[i:], patterns[1:]) for i in range(len(parts) + 1))
        is_same = bool(parts) and (
            parts[0] == patterns[0] or fnmatchcase(parts[0], patterns[0])
        )
        return is_same and fits(parts[1:], patterns[1:])

    return fits(path.parts, Path(os.path.normpath(pattern)).parts)


def is_below(path: str, pattern: str) -> bool:
    """Tell whether a path, or a folder that it lies in, matches a glob pattern."""
    return any(is_matched(one, pattern) for one in (Path(path), *Path(path).parents))
