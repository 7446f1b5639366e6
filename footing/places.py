"""Where records lie, as texts tell: files, folders, globs, standard input, S3 and databases."""

import glob
import os
import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TypeAlias

from footing.addresses import Address

STANDARD_INPUT = "-"
#: Scheme of a database's URI → its ADBC driver.
DRIVERS = {"postgresql": "postgresql", "postgres": "postgresql", "sqlite": "sqlite"}
#: Schemes of stores that a Spark cluster reads by itself.
DISTRIBUTED = frozenset({"s3", "s3a", "hdfs", "abfs", "abfss", "gs"})
#: Of a file on a store: its size, its last change, and its ETag where one is told.
FileState: TypeAlias = tuple[int, str, str]


def scheme_of(data: str) -> str:
    """Return the scheme of a URI in lower case; empty for a path."""
    return Address(data).scheme


def is_elsewhere(data: object) -> bool:
    """Tell whether records lie elsewhere than in files of this machine."""
    return isinstance(data, str) and (data == STANDARD_INPUT or bool(scheme_of(data)))


def masked(uri: str) -> str:
    """Return what may be shown of an address; see `footing.addresses`."""
    return Address(uri).masked


def has_password(uri: str) -> bool:
    """Tell whether an address holds a password, or may hold one."""
    return Address(uri).has_password


def as_connectors_know(path: str) -> str:
    """Write a path as Spark's own connectors know it: S3 goes by s3a."""
    return re.sub("^s3://", "s3a://", path, flags=re.IGNORECASE)


def is_folder(uri: str) -> bool:
    """Tell whether a URI names one folder that workers of a cluster can write."""
    kinds = "|".join(sorted({*DISTRIBUTED, "file"}))
    is_plain = re.fullmatch(rf"({kinds})://[^*?{{}}\[\]\\%#\s]+(?<!/)", uri, re.IGNORECASE)
    return is_plain is not None and not has_password(uri)


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
