"""Parquet files of one table: columns by name, whatever order and width a file gives them.

Files that are alike are read together, as DuckDB finds them. What they call a column, and
what is meant by its type, is told by Arrow: DuckDB renames columns and passes over extensions.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from footing.messages import Message, Name, said
from tables.errors import SourceError
from tables.filtering.filters import quote
from tables.refusals import Refusal, colliding_names
from tables.source.columns import (
    ALL_MISSING,
    NOTHING,
    Reading,
    common_type,
    reading_of,
    type_words,
)
from tables.source.far_times import far_columns, refusal_of_far
from tables.source.files import file_list, sql_text

if TYPE_CHECKING:
    import duckdb

_HINT = Message("write them again from one program, or name fewer files")


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundColumn:
    """A column as some files have it.

    Parameters
    ----------
    name
        What the files call it.
    duckdb_name, duckdb_type
        What DuckDB calls it, and its type.
    reading
        How it is read.
    """

    name: str
    duckdb_name: str
    duckdb_type: str
    reading: Reading


@dataclass(frozen=True, slots=True, kw_only=True)
class FileGroup:
    """Files whose columns are alike, in one order.

    Parameters
    ----------
    files
        Their paths.
    names
        Those of their columns.
    columns
        Name → column; of columns of one name the last.
    """

    files: tuple[str, ...]
    names: tuple[str, ...]
    columns: dict[str, FoundColumn]


@dataclass(frozen=True, slots=True, kw_only=True)
class ParquetFiles:
    """Parquet files, and how the columns of each become those of one table.

    Parameters
    ----------
    groups
        The files, those that are alike together.
    types
        Column → DuckDB's type of what is read; only those that can be read.
    refusals
        Column → why it is not read.
    """

    groups: tuple[FileGroup, ...]
    types: dict[str, str]
    refusals: dict[str, Refusal] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns of the files."""
        return self.groups[0].names

    @property
    def is_plain(self) -> bool:
        """Whether all columns are read as DuckDB finds them."""
        return (
            len(self.groups) == 1
            and not self.refusals
            and all(column.reading.is_plain for column in self.groups[0].columns.values())
        )

    def records_sql(self, file_column: str | None) -> str:
        """Return the statement of all records, with a column of their files' paths."""
        columns_sql = ["*"]
        if not self.is_plain:
            columns_sql = [self._column_sql(name) for name in self.types]
            columns_sql += [] if file_column is None else [quote(file_column)]
        # Not a union of statements: its records would come in no order of their own, and the
        # keys of records are put beside them by their place.
        option = "false" if len(self.groups) == 1 else "true"
        name_option = "" if file_column is None else f", filename={sql_text(file_column)}"
        files = tuple(file for group in self.groups for file in group.files)
        return (
            f"SELECT {', '.join(columns_sql)} FROM read_parquet({file_list(files)}, "
            f"hive_partitioning=false, union_by_name={option}{name_option})"
        )

    def _column_sql(self, name: str) -> str:
        columns = [group.columns[name] for group in self.groups]
        column = next((c for c in columns if c.reading is not ALL_MISSING), columns[0])
        if column.reading is ALL_MISSING:
            return f"CAST(NULL AS {self.types[name]}) AS {quote(name)}"
        value = column.reading.sql.format(quote(column.duckdb_name))
        if len(self.groups) > 1:
            value = f"CAST({value} AS {self.types[name]})"
        return f"{value} AS {quote(name)}"


def find_columns(connection: duckdb.DuckDBPyConnection, files: tuple[str, ...]) -> ParquetFiles:
    """Read the columns of Parquet files, and how they become those of one table.

    Raises
    ------
    SourceError
        If a file lacks a column that another has, or a column has no name.
    """
    far: set[str] = set()
    grouped = _grouped(files, far)
    groups = tuple(_group(connection, schema, alike) for schema, alike in grouped)
    names = groups[0].names
    _require_names(names)
    for group in groups[1:]:
        _require_same_names(groups[0], group)
    refusals = colliding_names(names)
    if len(groups) > 1 and refusals:  # DuckDB finds columns of such files by their names
        refusal = next(iter(refusals.values()))
        raise SourceError(refusal.problem, hint=refusal.hint)
    types = {}
    for name in names:
        if name in refusals:
            continue
        kind = refusal_of_far(name) if name in far else _type_of(name, groups)
        if isinstance(kind, Refusal):
            refusals[name] = kind
        else:
            types[name] = kind
    if not types:
        refusal = next(iter(refusals.values()))
        raise SourceError(refusal.problem, hint=refusal.hint)
    return ParquetFiles(groups=groups, types=types, refusals=refusals)


def _grouped(files: tuple[str, ...], far: set[str]) -> list[tuple[pa.Schema | None, list[str]]]:
    """Put files with the same schema of Arrow together; None where Arrow cannot tell it.

    Columns that hold points in time too far away are added to a set on the way.
    """
    groups: list[tuple[pa.Schema | None, list[str]]] = []
    for file in files:
        schema = _arrow_schema(file, far)
        for other, alike in groups:
            if schema is not None and other is not None and _are_alike(schema, other):
                alike.append(file)
                break
        else:
            groups.append((schema, [file]))
    return groups


def _are_alike(one: pa.Schema, other: pa.Schema) -> bool:
    if one.equals(other, check_metadata=True):
        return True
    return one.equals(other) and [reading_of(f) for f in one] == [reading_of(f) for f in other]


def _arrow_schema(file: str, far: set[str]) -> pa.Schema | None:
    """Return the schema of a file, with the types that dictionaries were written from.

    Columns that hold points in time too far away are added to a set.
    """
    try:
        with pq.ParquetFile(file) as parquet:
            schema = parquet.schema_arrow.remove_metadata()
            far |= far_columns(parquet)
            schema_text = (parquet.metadata.metadata or {}).get(b"ARROW:schema")
        if schema_text is None:
            return schema
        original = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(schema_text)))
    except (pa.ArrowException, OSError, ValueError):  # DuckDB tells what is wrong, if it is
        return None
    is_same = original.names == schema.names
    return pa.schema(map(_told_field, schema, original)) if is_same else schema


def _told_field(field: pa.Field, original: pa.Field) -> pa.Field:
    """Return the original of a field where it alone tells what the values are."""
    is_untold = pa.types.is_dictionary(original.type) and reading_of(field).is_plain
    return original if is_untold and not reading_of(original).is_plain else field


def _group(
    connection: duckdb.DuckDBPyConnection, schema: pa.Schema | None, files: list[str]
) -> FileGroup:
    if schema is not None and not len(schema):  # DuckDB takes such a file for damaged
        raise SourceError(
            Message("The data have no columns."),
            hint=Message("are they those that were meant?"),
        )
    first = file_list((files[0],))
    rows = connection.execute(
        f"DESCRIBE SELECT * FROM read_parquet({first}, hive_partitioning=false)"
    ).fetchall()
    is_told = schema is not None and len(schema) == len(rows)
    columns = []
    for place, (name, kind, *_) in enumerate(rows):
        field = schema.field(place) if schema is not None and is_told else None
        reading = Reading() if field is None else reading_of(field)
        if reading.is_plain:
            reading = _reading_of_type(kind)
        columns.append(
            FoundColumn(
                name=name if field is None else field.name,
                duckdb_name=name,
                duckdb_type=kind,
                reading=reading,
            )
        )
    return FileGroup(
        files=tuple(files),
        names=tuple(column.name for column in columns),
        columns={column.name: column for column in columns},
    )


def _reading_of_type(duckdb_type: str) -> Reading:
    """Return how a column of a type of DuckDB's is read that is none of ours."""
    if duckdb_type == NOTHING:
        return ALL_MISSING
    if duckdb_type == "JSON":
        return Reading(sql="CAST({0} AS VARCHAR)", kind="VARCHAR")
    if duckdb_type == "TIME WITH TIME ZONE":  # in Parquet of UTC alone, as older PyArrow writes
        return Reading(sql="CAST({0} AS TIME)", kind="TIME")
    return Reading()


def _require_names(names: tuple[str, ...]) -> None:
    if any(not name or "\0" in name for name in names):
        raise SourceError(
            Message("Every column needs a name."),
            hint=Message("a name has one character or more, and no null character"),
        )


def _require_same_names(first: FileGroup, other: FileGroup) -> None:
    """Name the first file that lacks a column of another."""
    for whole, lacking in ((first, other), (other, first)):
        missing = [name for name in whole.names if name not in lacking.columns]
        if missing:
            raise SourceError(
                Message(
                    "All files must have the same columns; {lacking} has no {names!r}, which "
                    "{whole} has.",
                    lacking=said(_name(lacking)),
                    names=Name(missing[0]),
                    whole=said(_name(whole)),
                ),
                hint=_HINT,
            )


def _name(group: FileGroup) -> str:
    return repr(Path(group.files[0]).name)


def _type_of(name: str, groups: tuple[FileGroup, ...]) -> str | Refusal:
    """Return the type in which all files' values of a column are read, or why there is none."""
    columns = [group.columns[name] for group in groups]
    refused = next((c.reading.refusal for c in columns if c.reading.refusal), None)
    if refused is not None:
        return refused
    types = [column.reading.kind or column.duckdb_type for column in columns]
    readings = {c.reading.sql: c for c in columns if c.reading is not ALL_MISSING}
    common = common_type(types) if len(readings) < 2 else None
    if common is not None:
        return "VARCHAR" if common == NOTHING else common
    start, place = _differing(columns, types)
    one, other = columns[start].reading.words, columns[place].reading.words
    return Refusal(
        problem=Message(
            "Column {name!r} must have one type in all files; it is {one} in {groups}, "
            "and {other} in {groups_2}.",
            name=Name(name),
            one=said(one or type_words(types[start])),
            groups=said(_name(groups[start])),
            other=said(other or type_words(types[place])),
            groups_2=said(_name(groups[place])),
        ),
        hint=_HINT,
    )


def _differing(columns: list[FoundColumn], types: list[str]) -> tuple[int, int]:
    """Return the places of the first two files whose types are not one."""
    for place, column in enumerate(columns):
        for start in range(place):
            is_same = columns[start].reading.sql == column.reading.sql
            is_missing = ALL_MISSING in (columns[start].reading, column.reading)
            if not (is_same or is_missing) or common_type([types[start], types[place]]) is None:
                return start, place
    return 0, len(columns) - 1
