"""Records that can be read once, or lie elsewhere: a private copy of them on this machine.

Standard input, S3 and databases are copied before anything is read, and the copy goes with
what was opened. So records are the same, in one order, however often they are read.
"""

from __future__ import annotations

import glob
import importlib
import re
import shutil
import sys
import urllib.parse
import weakref
from functools import partial
from typing import TYPE_CHECKING, Any

from footing.messages import Argument, Message, Name, said
from footing.places import DRIVERS, Place, PlaceKind, is_below
from tables.errors import SourceError
from tables.filtering.filters import quote
from tables.source.explaining import explained
from tables.source.frames import write_parquet
from tables.source.spill import SpillFolder
from tables.source.sqlite import columns_sql, copy_records, path_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pyarrow as pa

    from tables.source.source import Source

_SORTING_MEMORY = "1GB"
_CHUNK = 1 << 22
_MAX_DIGITS = 38  # of an exact decimal


class LocalCopy:
    """Records from elsewhere, in files that their owner alone can read; removed with it.

    Parameters
    ----------
    place
        Standard input, objects in S3, or a database.
    table, query
        What to read of a database: one of the two.
    folder
        Where the path of a database's file starts, if it is relative.
    """

    def __init__(
        self,
        place: Place,
        *,
        table: str | None = None,
        query: str | None = None,
        folder: Path | None = None,
    ) -> None:
        self.label = place.label
        self._start = folder
        #: Files → what messages and manifests call them.
        self.names: dict[str, str] = {}
        spill = SpillFolder()
        self.remove = weakref.finalize(self, spill.remove)
        try:
            with explained(self.label, Exception):
                self.path = self._copy(place, spill.path, table, query)
        except BaseException:
            self.remove()
            raise

    def _copy(self, place: Place, folder: Path, table: str | None, query: str | None) -> str:
        if place.kind is PlaceKind.STANDARD_INPUT:
            return self._copy_input(folder)
        if place.kind is PlaceKind.DATABASE:
            return self._copy_database(place, folder, table, query)
        if place.scheme == "s3":
            return self._copy_objects(place.uri, folder)
        raise SourceError(
            Message(
                "Records cannot be read from {scheme_of}://.", scheme_of=said(place.scheme)
            ),
            hint=Message(
                "export them to Parquet first, or name files, s3://… or postgresql://…"
            ),
        )

    def _copy_input(self, folder: Path) -> str:
        if not (start := sys.stdin.buffer.read(2)):
            raise SourceError(Message("Standard input is empty."))
        file = folder / ("input.csv.gz" if start == b"\x1f\x8b" else "input.csv")
        with file.open("wb") as copy:
            copy.write(start)
            shutil.copyfileobj(sys.stdin.buffer, copy, _CHUNK)
        self.names[str(file)] = self.label
        return str(file)

    def _copy_objects(self, uri: str, folder: Path) -> str:
        """Copy what an object, a folder or a glob stands for, below folders of its names."""
        from pyarrow import fs

        system, path = _store_and_path(uri)
        fixed, pattern = _existing(system, path)
        selector = fs.FileSelector(fixed, recursive=True, allow_not_found=True)
        for one in [system.get_file_info(fixed), *system.get_file_info(selector)]:
            if one.is_file and ".." not in one.path.split("/") and is_below(one.path, pattern):
                file = folder / one.path
                file.parent.mkdir(parents=True, exist_ok=True)
                with system.open_input_stream(one.path) as stream, file.open("wb") as copy:
                    shutil.copyfileobj(stream, copy, _CHUNK)
                self.names[str(file)] = f"s3://{one.path}"
        if not self.names:
            raise SourceError(
                Message("No object matches {label!r}.", label=Name(self.label)),
                hint=Message("look at its spelling"),
            )
        return str(folder / path)

    def _copy_database(
        self, place: Place, folder: Path, table: str | None, query: str | None
    ) -> str:
        """Copy the answer of one statement, which sees one state of the database."""
        if (table is None) == (query is None):
            raise SourceError(
                Message(
                    "The database {label!r} needs a table or a query, one of the two.",
                    label=Name(self.label),
                ),
                hint=Message('table = "public.people", or query = "SELECT …"'),
            )
        name = ".".join(map(quote, (table or "").split(".")))
        if query and ";" in re.sub(r"'[^']*'|\"[^\"]*\"", "", query).rstrip("; \n\t"):
            raise SourceError(
                Message("query must be one statement."),
                hint=Message("leave out what follows ;"),
            )
        raw, file = folder / "raw.parquet", folder / "records.parquet"
        statement = query or f"SELECT * FROM {name}"
        if place.scheme == "sqlite":
            path = path_of(place.uri, self._start)
            columns = copy_records(path, statement.rstrip("; \n\t"), raw)
            _write_sorted(raw, file, lambda source: ", ".join(columns_sql(source, columns)))
        else:
            driver = _driver(place.scheme)
            with driver.connect(place.uri) as connection, connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION READ ONLY")
                cursor.execute(statement)
                reader = cursor.fetch_record_batch()
                write_parquet(reader, raw)
            _write_sorted(raw, file, partial(_postgresql_columns, schema=reader.schema))
        raw.unlink()
        self.names[str(file)] = f"{self.label}: {f'table {table}' if table else 'query'}"
        return str(file)


def _store_and_path(uri: str) -> tuple[Any, str]:
    """Return the store of an address and the path there, as it is written.

    After a last question mark stand settings of the store, such as ``region=eu-west-3``.
    """
    from pyarrow import fs

    address, mark, settings = uri.rpartition("?")
    if not re.fullmatch(r"\w+=[^&/]*(&\w+=[^&/]*)*", settings):
        address, mark, settings = uri, "", ""
    bucket, _, key = address.partition("://")[2].partition("/")
    system, root = fs.FileSystem.from_uri(f"s3://{bucket}{mark}{settings}")
    path = "/".join([root, *filter(None, key.split("/"))])
    fixed = _existing(system, path)[0]
    if "%" in fixed and not _is_there(system, fixed):  # as addresses write other signs
        path = urllib.parse.unquote(path)
    return system, path


def _existing(system: Any, path: str) -> tuple[str, str]:
    """Return the folder of a glob before its first wildcard, and its pattern.

    What exists is never a pattern, whatever signs its name holds.
    """
    parts = path.split("/")
    for number in range(1, len(parts)):
        literal = "/".join(parts[: number + 1])
        if glob.has_magic(parts[number]) and not _is_there(system, literal):
            pattern = [*map(glob.escape, parts[:number]), *parts[number:]]
            return "/".join(parts[:number]), "/".join(pattern)
    return path, glob.escape(path)


def _is_there(system: Any, path: str) -> bool:
    from pyarrow import fs

    inside = fs.FileSelector(path, allow_not_found=True)
    is_object = system.get_file_info(path).type != fs.FileType.NotFound
    return is_object or bool(system.get_file_info(inside))  # not every store tells of folders


def _driver(scheme: str) -> Any:
    name = DRIVERS[scheme]
    try:
        return importlib.import_module(f"adbc_driver_{name}.dbapi")
    except ImportError:
        raise SourceError(
            Message(
                "Reading from {scheme_of}:// needs the package adbc-driver-{name}.",
                scheme_of=said(scheme),
                name=Name(name),
            ),
            hint=Message("pip install adbc-driver-{name}", name=Name(name)),
        ) from None


def _write_sorted(raw: Path, file: Path, columns: Callable[[Source], str]) -> None:
    """Sort the rows, so that the same records make the same file; give columns their types."""
    from tables.source.source import open_source

    with open_source(raw, memory_limit=_SORTING_MEMORY) as source:
        source.fetch("SET preserve_insertion_order=true")
        source.copy(
            f"SELECT {columns(source)} FROM {source.records} ORDER BY ALL", {}, str(file)
        )


def _postgresql_columns(source: Source, *, schema: pa.Schema) -> str:
    """Return the SQL of columns, whose numbers and padded texts the driver gives as texts."""
    changes = []
    for field in schema:
        name, kind = quote(field.name), getattr(field.type, "type_name", "")
        type_name = (field.metadata or {}).get(b"POSTGRESQL:type")
        if type_name == b"money":
            raise SourceError(
                Message(
                    "Column {field!r} is of the type money, whose unit is not told.",
                    field=Argument(field.name),
                ),
                hint=Message("cast it to numeric in a query"),
            )
        if type_name == b"bpchar":  # a text that blanks fill up
            changes.append(f"rtrim({name}, ' ') AS {name}")
        if kind == "numeric":
            number = f"CASE WHEN lower({name}) <> 'nan' THEN {name} END"
            changes.append(f"({number})::{_number_kind(source, number)} AS {name}")
    return f"* REPLACE ({', '.join(changes)})" if changes else "*"


def _number_kind(source: Source, number: str) -> str:
    """Return the exact type of numbers that came as texts; texts where there is none."""
    is_integer, digits, decimals, is_finite = source.fetch(
        "SELECT "
        f"bool_and(TRY_CAST(({number}) AS BIGINT)::VARCHAR IS NOT DISTINCT FROM {number}), "
        f"max(length(ltrim(split_part({number}, '.', 1), '-'))), "
        f"max(length(split_part({number}, '.', 2))), "
        rf"bool_and(regexp_full_match({number}, '-?\d+(\.\d+)?')) FROM {source.records}"
    )[0]
    if is_integer or digits is None:
        return "BIGINT"
    if is_finite and digits + decimals <= _MAX_DIGITS:
        return f"DECIMAL({digits + decimals},{decimals})"
    return "VARCHAR"
