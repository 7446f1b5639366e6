"""Records that can be read once, or lie elsewhere: a private copy of them on this machine.

Standard input, S3 and databases are copied before anything is read, and the copy goes with
what was opened. So records are the same, in one order, however often they are read.
"""

from __future__ import annotations

import importlib
import re
import shutil
import sys
import weakref
from typing import TYPE_CHECKING, Any

from footing.places import (
    DRIVERS,
    STANDARD_INPUT,
    before_wildcards,
    is_below,
    masked,
    scheme_of,
)
from tables.errors import SourceError
from tables.filtering.filters import quote
from tables.source.explaining import explained
from tables.source.frames import write_parquet
from tables.source.spill import SpillFolder

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

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
        data = scheme_of(data) + data[len(scheme_of(data)) :]  # drivers want lower case
        self.label = "standard input" if data == STANDARD_INPUT else masked(data)
        #: Files → what messages and manifests call them.
        self.names: dict[str, str] = {}
        spill = SpillFolder()
        self.remove = weakref.finalize(self, spill.remove)
        try:
            with explained(self.label, Exception):
                self.path = self._copy(data, spill.path, table, query)
        except BaseException:
            self.remove()
            raise

    def _copy(self, data: str, folder: Path, table: str | None, query: str | None) -> str:
        if data == STANDARD_INPUT:
            return self._copy_input(folder)
        if scheme_of(data) in DRIVERS:
            return self._copy_database(data, folder, table, query)
        if scheme_of(data) == "s3":
            return self._copy_objects(data, folder)
        raise SourceError(
            f"Records cannot be read from {scheme_of(data)}://.",
            hint="export them to Parquet first, or name files, s3://… or postgresql://…",
        )

    def _copy_input(self, folder: Path) -> str:
        if not (start := sys.stdin.buffer.read(2)):
            raise SourceError("Standard input is empty.")
        file = folder / ("input.csv.gz" if start == b"\x1f\x8b" else "input.csv")
        with file.open("wb") as copy:
            copy.write(start)
            shutil.copyfileobj(sys.stdin.buffer, copy, _CHUNK)
        self.names[str(file)] = self.label
        return str(file)

    def _copy_objects(self, uri: str, folder: Path) -> str:
        """Copy what an object, a folder or a glob stands for, below folders of its names."""
        from pyarrow import fs

        system, path = fs.FileSystem.from_uri(uri)
        fixed = before_wildcards(path)
        selector = fs.FileSelector(fixed, recursive=True, allow_not_found=True)
        for one in [system.get_file_info(fixed), *system.get_file_info(selector)]:
            if one.is_file and ".." not in one.path.split("/") and is_below(one.path, path):
                file = folder / one.path
                file.parent.mkdir(parents=True, exist_ok=True)
                with system.open_input_stream(one.path) as stream, file.open("wb") as copy:
                    shutil.copyfileobj(stream, copy, _CHUNK)
                self.names[str(file)] = f"s3://{one.path}"
        if not self.names:
            raise SourceError(f"No object matches {self.label!r}.", hint="look at its spelling")
        return str(folder / path)

    def _copy_database(
        self, uri: str, folder: Path, table: str | None, query: str | None
    ) -> str:
        """Copy the answer of one statement, which sees one state of the database."""
        if (table is None) == (query is None):
            raise SourceError(
                f"The database {self.label!r} needs a table or a query, one of the two.",
                hint='table = "public.people", or query = "SELECT …"',
            )
        name = ".".join(map(quote, (table or "").split(".")))
        is_file = scheme_of(uri) == "sqlite"
        if query and ";" in re.sub(r"'[^']*'|\"[^\"]*\"", "", query).rstrip("; \n\t"):
            raise SourceError("query must be one statement.", hint="leave out what follows ;")
        given = re.sub("^sqlite://(/*(?=/))?", "file:", uri) + "?mode=ro" if is_file else uri
        raw, file = folder / "raw.parquet", folder / "records.parquet"
        with _driver(uri).connect(given) as connection, connection.cursor() as cursor:
            if not is_file:
                cursor.execute("SET TRANSACTION READ ONLY")
            cursor.execute(query or f"SELECT * FROM {name}")
            reader = cursor.fetch_record_batch()
            write_parquet(reader, raw)
        _sort(raw, file, reader.schema)
        raw.unlink()
        self.names[str(file)] = f"{self.label}: {f'table {table}' if table else 'query'}"
        return str(file)


def _driver(uri: str) -> Any:
    name = DRIVERS[scheme_of(uri)]
    try:
        return importlib.import_module(f"adbc_driver_{name}.dbapi")
    except ImportError:
        raise SourceError(
            f"Reading from {scheme_of(uri)}:// needs the package adbc-driver-{name}.",
            hint=f"pip install adbc-driver-{name}",
        ) from None


def _sort(raw: Path, file: Path, schema: pa.Schema) -> None:
    """Sort the rows, so that the same records make the same file; give numbers their type."""
    from tables.source.source import open_source

    with open_source(raw, memory_limit=_SORTING_MEMORY) as source:
        changes = []
        for field in schema:
            name, kind = quote(field.name), getattr(field.type, "type_name", "")
            told = (field.metadata or {}).get(b"POSTGRESQL:type")
            if told == b"money":
                raise SourceError(
                    f"Column {field.name!r} is of the type money, whose unit is not told.",
                    hint="cast it to numeric in a query",
                )
            if told == b"bpchar":  # a text that blanks fill up
                changes.append(f"rtrim({name}, ' ') AS {name}")
            if kind == "numeric":
                changes.append(f"{name}::{_number_kind(source, name)} AS {name}")
        replaced = f"REPLACE ({', '.join(changes)}) " if changes else ""
        source.fetch("SET preserve_insertion_order=true")
        source.copy(f"SELECT * {replaced}FROM {source.records} ORDER BY ALL", {}, str(file))


def _number_kind(source: Any, name: str) -> str:
    """Return the type of numbers that came as texts; texts where digits would be lost."""
    number = f"TRY_CAST({name} AS DOUBLE)"
    is_integer, largest = source.fetch(
        f"SELECT bool_and(TRY_CAST({name} AS BIGINT)::VARCHAR IS NOT DISTINCT FROM {name}), "
        f"max(abs({number})) FILTER (isfinite({number})) FROM {source.records}"
    )[0]
    return "BIGINT" if is_integer else "DOUBLE" if (largest or 0) < 2**53 else "VARCHAR"
