"""Records that can be read once, or lie elsewhere: a private copy of them on this machine.

Standard input, S3 and databases are copied before anything is read, and the copy goes with
what was opened. So records are those of one moment, in one order, however often they are read.
"""

from __future__ import annotations

import contextlib
import glob
import importlib
import shutil
import sys
import weakref
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import duckdb

from footing.places import (
    DRIVERS,
    STANDARD_INPUT,
    before_wildcards,
    is_matched,
    masked,
    scheme_of,
)
from tables.errors import SourceError, TablesError
from tables.filtering.filters import quote
from tables.source.files import sql_text
from tables.source.frames import write_parquet
from tables.source.spill import SpillFolder

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

_SQLSTATES = {
    "28P01": "the password is wrong",
    "42501": "a permission is missing",
    "42P01": "there is no such table",
    "42703": "there is no such column",
    "42601": "the query is not SQL that it understands",
    "25006": "the query would write",
}
_SORTING_MEMORY = "1GB"
_CHUNK = 1 << 22


class LocalCopy:
    """Records from elsewhere, in files that their owner alone can read; removed with it.

    Parameters
    ----------
    data
        ``"-"`` for standard input, or the URI of objects in S3 or of a database.
    table, query
        What to read of a database: one of the two.
    """

    def __init__(
        self, data: str, *, table: str | None = None, query: str | None = None
    ) -> None:
        self.label = "standard input" if data == STANDARD_INPUT else masked(data)
        #: Files → what messages and manifests call them.
        self.names: dict[str, str] = {}
        spill = SpillFolder()
        self._remove = weakref.finalize(self, spill.remove)
        self._folder = spill.path / "records"
        self._folder.mkdir()
        try:
            with told(self.label):
                self.path = self._copy(data, table, query)
        except BaseException:
            self.remove()
            raise

    def remove(self) -> None:
        """Remove the copy; once more does nothing."""
        self._remove()

    def _copy(self, data: str, table: str | None, query: str | None) -> str:
        if data == STANDARD_INPUT:
            return self._copy_input()
        if scheme_of(data) in DRIVERS:
            return self._copy_database(data, table, query)
        if scheme_of(data) == "s3":
            return self._copy_objects(data)
        raise SourceError(
            f"Records cannot be read from {scheme_of(data)}://.",
            hint="export them to Parquet first, or name files, s3://… or postgresql://…",
        )

    def _copy_input(self) -> str:
        if sys.stdin.isatty():
            raise SourceError(
                "No records come by standard input.", hint="for example: … < people.parquet"
            )
        stream, file = sys.stdin.buffer, self._folder / "input.csv"
        start = stream.read(2)
        if start == b"\x1f\x8b":
            file = file.with_suffix(".csv.gz")
        with file.open("wb") as copy:
            copy.write(start)
            shutil.copyfileobj(stream, copy, _CHUNK)
        return self._named(str(file), self.label)

    def _named(self, file: str, name: str) -> str:
        self.names[file] = name
        return file

    def _copy_objects(self, uri: str) -> str:
        """Copy what an object, a folder or a glob stands for."""
        from pyarrow import fs

        system, path = fs.FileSystem.from_uri(uri)
        fixed = before_wildcards(path)
        info = system.get_file_info(fixed)
        if info.is_file:
            found = [info]
        else:
            selector = fs.FileSelector(fixed, recursive=True, allow_not_found=True)
            found = [one for one in system.get_file_info(selector) if one.is_file]
        if glob.has_magic(path):
            found = [one for one in found if _is_matched(Path(one.path), path)]
        for one in found:
            below = PurePosixPath(one.path).relative_to(fixed)
            if ".." in below.parts:
                raise SourceError("The name of an object holds '..'.", hint="rename it")
            file = self._folder / (below if below.parts else one.base_name)
            file.parent.mkdir(parents=True, exist_ok=True)
            with system.open_input_stream(one.path) as stream, file.open("wb") as copy:
                shutil.copyfileobj(stream, copy, _CHUNK)
            self._named(str(file), f"s3://{one.path}")
        if not found:
            raise SourceError(f"No object matches {self.label!r}.", hint="look at its spelling")
        return str(file) if info.is_file else str(self._folder)

    def _copy_database(self, uri: str, table: str | None, query: str | None) -> str:
        """Copy the answer of one statement, which sees one state of the database."""
        if (table is None) == (query is None):
            raise SourceError(
                f"The database {self.label!r} needs a table or a query, one of the two.",
                hint='table = "public.people", or query = "SELECT …"',
            )
        if query is None:
            query = f"SELECT * FROM {'.'.join(map(quote, str(table).split('.')))}"
        scheme, given = scheme_of(uri), uri
        if scheme == "sqlite":
            given = f"file:{uri.removeprefix('sqlite://')}?mode=ro"
        raw, file = self._folder / "raw.parquet", self._folder / "records.parquet"
        with _driver(scheme).connect(given) as connection, connection.cursor() as cursor:
            if scheme.startswith("postgres"):
                cursor.execute("SET TRANSACTION READ ONLY")
            cursor.execute(query)
            reader = cursor.fetch_record_batch()
            _refuse_money(reader.schema)
            write_parquet(reader, raw)
            _sort(raw, file, reader.schema)
        raw.unlink()
        what = "query" if table is None else f"table {table}"
        return self._named(str(file), f"{self.label}: {what}")


@contextlib.contextmanager
def told(label: str) -> Iterator[None]:
    """Say what could not be read, without a text that may quote records or a password."""
    try:
        yield
    except TablesError:
        raise
    except Exception as error:  # noqa: BLE001  (drivers have errors of their own)
        state = getattr(error, "sqlstate", None)
        reason = _SQLSTATES.get(state or "", f"SQLSTATE {state}" if state else "")
        problem = f"{label!r} cannot be read: {reason or type(error).__name__}."
        error.args = ()  # the chain of exceptions must not carry the text either
    else:
        return
    raise SourceError(problem, hint="look at the address, the permissions and the file itself")


def _is_matched(path: Path, pattern: str) -> bool:
    return any(is_matched(one, pattern) for one in (path, *path.parents))


def _driver(scheme: str) -> Any:
    name = DRIVERS[scheme]
    try:
        return importlib.import_module(f"{name}.dbapi")
    except ImportError:
        raise SourceError(
            f"Reading from {scheme}:// needs the package {name.replace('_', '-')}.",
            hint=f"pip install {name.replace('_', '-')}",
        ) from None


def _refuse_money(schema: pa.Schema) -> None:
    for field in schema:
        if _type_of(field) == "money":
            raise SourceError(
                f"Column {field.name!r} is of the type money, whose unit is not told.",
                hint=f"cast it in a query: SELECT {field.name}::numeric …",
            )


def _type_of(field: pa.Field) -> str:
    metadata = field.metadata or {}
    return str(metadata.get(b"POSTGRESQL:type", b"").decode())


def _sort(raw: Path, file: Path, schema: pa.Schema) -> None:
    """Sort the rows, so that the same records make the same file; give numbers their type."""
    config: Any = {
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "memory_limit": _SORTING_MEMORY,
        "temp_directory": str(file.parent),
    }
    with duckdb.connect(":memory:", config=config) as connection:
        given = f"read_parquet({sql_text(str(raw))})"
        numbers = [f.name for f in schema if getattr(f.type, "type_name", "") == "numeric"]
        changes = [
            f"{name}::{kind} AS {name}"
            for name in map(quote, numbers)
            if (kind := _number_kind(connection, given, name))
        ]
        padded = [quote(field.name) for field in schema if _type_of(field) == "bpchar"]
        changes += [f"rtrim({name}, ' ') AS {name}" for name in padded]
        replaced = f"REPLACE ({', '.join(changes)}) " if changes else ""
        connection.execute(
            f"COPY (SELECT * {replaced}FROM {given} ORDER BY ALL) TO {sql_text(str(file))} "
            "(FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false)"
        )


def _number_kind(connection: duckdb.DuckDBPyConnection, given: str, name: str) -> str | None:
    """Return the type of numbers that came as texts; None where each would lose digits."""
    number = f"TRY_CAST({name} AS DOUBLE)"
    is_integer, largest = connection.execute(
        f"SELECT bool_and({name} IS NULL OR TRY_CAST({name} AS BIGINT)::VARCHAR = {name}), "
        f"max(abs({number})) FILTER (isfinite({number})) FROM {given}"
    ).fetchall()[0]
    if is_integer:
        return "BIGINT"
    return "DOUBLE" if (largest or 0) < 2**53 else None
