"""Where records lie, as texts tell: files, folders, globs, standard input, S3 and databases."""

import glob
import itertools
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

    Below a folder, what begins with ``.`` or ``_`` is left out, as by other programs.
    """
    found = [path] if Path(path).exists() else sorted(glob.glob(path, recursive=True))  # noqa: PTH207  (keeps paths as given)
    files: dict[str, None] = {}
    for one in found:
        for file in sorted(Path(one).rglob("*")) if Path(one).is_dir() else [one]:
            parts = Path(os.path.relpath(file, one)).parts if file != one else ()
            is_hidden = any(part[0] in "._" and "=" not in part for part in parts)
            if not is_hidden and Path(file).is_file():
                files[str(file)] = None
    return list(files)


def before_wildcards(path: str) -> str:
    """Return the folders of a glob before the first wildcard."""
    parts = Path(path).parts
    return Path(*itertools.takewhile(lambda part: not glob.has_magic(part), parts)).as_posix()


def is_matched(path: Path, pattern: str) -> bool:
    """Tell whether a path matches a glob pattern, in which ``**`` stands for any folders."""

    def fits(parts: Sequence[str], patterns: Sequence[str]) -> bool:
        if not patterns:
            return not parts
        if patterns[0] == "**":
            return any(fits(parts[i:], patterns[1:]) for i in range(len(parts) + 1))
        return (
            bool(parts) and fnmatchcase(parts[0], patterns[0]) and fits(parts[1:], patterns[1:])
        )

    return fits(path.parts, Path(os.path.normpath(pattern)).parts)


def is_below(path: str, pattern: str) -> bool:
    """Tell whether a path, or a folder that it lies in, matches a glob pattern."""
    return any(is_matched(one, pattern) for one in (Path(path), *Path(path).parents))
