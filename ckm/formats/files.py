"""Tables to files and bytes, complete or not at all, and back."""

import contextlib
import errno
import io
import os
import re
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from ckm.engine.published_table import PublishedTable
from ckm.errors import ConfigError, FormatError, ReleaseError
from ckm.formats.about import TableAbout
from ckm.formats.content import checked
from ckm.formats.csvw import METADATA_SUFFIX
from ckm.formats.registry import FORMATS, Format, format_named, format_of
from footing.files import new_file
from footing.messages import Argument, Enumeration, Message, Name, Shape, said


def write_table(
    table: PublishedTable,
    path: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002  (the word of jobs and requests)
    about: TableAbout | None = None,
    overwrite: bool = False,
) -> None:
    """Write a table to a file, complete or not at all.

    Parameters
    ----------
    table
        The table. Categories that no row shows are left out.
    path
        The file.
    format
        A name in `FORMATS`; by default the end of the file's name says.
    about
        What is said about the table.
    overwrite
        Replace the file if it exists.

    Raises
    ------
    FormatError
        If the format cannot hold the table.
    ReleaseError
        If the file exists or cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from ckm import PublishedTable
    >>> sex = (np.array([0, 1], np.int32), ["F", "M"])
    >>> table = PublishedTable(dimensions={"sex": sex}, measures={"count": np.array([5, 7])})
    >>> path = Path(tempfile.mkdtemp()) / "sex.parquet"
    >>> write_table(table, path, about=TableAbout(title="By sex"))
    >>> read_table(path).to_pandas()["count"].tolist()
    [5, 7]
    """
    target = Path(path)
    kind = format_of(target) if format is None else format_named(format)
    about = _said(about)
    table = checked(table)
    beside = target.with_name(target.name + METADATA_SUFFIX)
    has_stale = target.suffix.lower() == ".csv" and _exists(beside)
    if not overwrite and (_exists(target) or has_stale):
        raise ReleaseError(
            Message(
                "The file {beside!r} exists.",
                beside=Argument((beside if has_stale else target).name),
            ),
            hint=Message("choose another, or ask to overwrite"),
        )
    files: dict[Path, Callable[[IO[bytes]], None]] = {}
    write_sidecar = kind.write_sidecar
    if write_sidecar is not None:
        files[beside] = lambda file: write_sidecar(table, file, about, name=target.name)
    files[target] = lambda file: kind.write(table, file, about)
    _write_files(files)
    if has_stale and write_sidecar is None:
        beside.unlink(missing_ok=True)


def _said(about: object) -> TableAbout:
    if about is None:
        return TableAbout()
    if not isinstance(about, TableAbout):
        raise ConfigError(
            Message("about is a TableAbout, not {name!r}.", name=Shape(type(about)))
        )
    return about


def _exists(path: Path) -> bool:
    """Return whether a file is there; a folder that cannot be seen is told of when writing."""
    try:
        return path.exists()
    except OSError:
        return False


def _write_files(files: dict[Path, Callable[[IO[bytes]], None]]) -> None:
    """Write files as drafts; they get their names when all are there, the last one last."""
    new_files: list[Path] = []
    target = next(iter(files))
    try:
        with contextlib.ExitStack() as drafts:
            for target, write in reversed(files.items()):
                with drafts.enter_context(_draft(target, new_files)).open("wb") as file:
                    write(file)
        new_files.clear()
    except OSError as error:
        if isinstance(error, ValueError):
            raise
        is_full = error.errno in {errno.ENOSPC, errno.EDQUOT} or "No space left" in str(error)
        reason = (
            Message("the disk is full")
            if is_full
            else error.strerror or Message("the disk refused it")
        )
        raise ReleaseError(
            Message(
                "The file {target!r} cannot be written: {reason}.",
                target=Name(target.name),
                reason=said(reason),
            ),
            hint=Message("choose a folder on another disk") if is_full else None,
        ) from None
    finally:
        for path in new_files:
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)


@contextlib.contextmanager
def _draft(target: Path, new_files: list[Path]) -> Iterator[Path]:
    """Give the draft of a file; note the file where its name is a new one."""
    is_new = not _exists(target)
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    with new_file(target, error=ReleaseError, overwrite=True, is_private=False) as draft:
        yield draft
    new_files += [target] if is_new else []


def to_bytes(
    table: PublishedTable,
    format: str,  # noqa: A002
    *,
    about: TableAbout | None = None,
) -> bytes:
    r"""Return a table as the bytes of a file, the same whenever it is asked for.

    Parameters
    ----------
    table
        The table.
    format
        A name in `FORMATS`. CSVW gives a ZIP archive of its two files.
    about
        What is said about the table.

    Raises
    ------
    FormatError
        If the format cannot hold the table.

    Examples
    --------
    >>> import numpy as np
    >>> from ckm import PublishedTable
    >>> table = PublishedTable(dimensions={}, measures={"count": np.array([12])})
    >>> to_bytes(table, "csv")
    b'"count"\n12\n'
    """
    file = io.BytesIO()
    _write_stream(checked(table), file, format_named(format), _said(about))
    return file.getvalue()


def _write_stream(
    table: PublishedTable, file: IO[bytes], kind: Format, about: TableAbout
) -> None:
    if kind.write_sidecar is None:
        kind.write(table, file, about)
        return
    name = re.sub(r"[^\w.-]+", "_", about.id).strip("._") or "table"
    with zipfile.ZipFile(file, "w") as archive:
        for suffix in (".csv", f".csv{kind.sidecar}"):
            entry = zipfile.ZipInfo(name + suffix, date_time=(1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 0
            with archive.open(entry, "w") as part:
                if suffix == ".csv":
                    kind.write(table, part, about)
                else:
                    kind.write_sidecar(table, part, about, name=f"{name}.csv")


def read_table(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002
) -> PublishedTable:
    r"""Read a table from a file that `write_table` wrote.

    Parameters
    ----------
    path
        The file.
    format
        A name in `FORMATS`; by default the end of the file's name says.

    Raises
    ------
    FormatError
        If the file holds no table of that format.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "sex.csv"
    >>> _ = path.write_text('"sex","count"\n"F",5\n')
    >>> read_table(path)
    PublishedTable(sex, count; 1 cells)
    """
    return _read(path, format)[0]


def read_about(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002
) -> TableAbout:
    r"""Read what a file says about its table; `Format.keeps` tells how much that can be.

    Parameters
    ----------
    path, format
        See `read_table`.

    Raises
    ------
    FormatError
        If the file holds no table of that format.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "sex.csv"
    >>> _ = path.write_text('"sex","count"\n"F",5\n')
    >>> read_about(path) == TableAbout()
    True
    """
    return _read(path, format)[1]


def _read(
    path: str | os.PathLike[str], format_name: str | None
) -> tuple[PublishedTable, TableAbout]:
    source = Path(path)
    kind = format_of(source) if format_name is None else format_named(format_name)
    if kind.read is None:
        readable = [name for name, each in FORMATS.items() if each.read is not None]
        raise FormatError(
            Message("Tables are written to {kind!r}, not read from it.", kind=Name(kind.name)),
            hint=Message(
                "read the release from {readable}",
                readable=Enumeration(" or ", Name.each(readable)),
            ),
        )
    if not source.is_file():
        raise FormatError(
            Message("There is no file {source!r}.", source=Name(source.name)),
            hint=Message("check the folder"),
        )
    try:
        return kind.read(source)
    except OSError as error:
        if isinstance(error, ValueError):
            raise
        reason = error.strerror or Message("the disk refused it")
        raise FormatError(
            Message(
                "The file {source!r} cannot be read: {reason}.",
                source=Name(source.name),
                reason=said(reason),
            )
        ) from None
