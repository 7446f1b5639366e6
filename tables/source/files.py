"""Files that hold records: which ones a path names, of what format, and how they are read."""

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import duckdb

from footing.addresses import Address
from footing.messages import Message, Name
from footing.places import Place
from tables.errors import SourceError, unknown_name
from tables.filtering.filters import quote
from tables.source.compression import require_readable
from tables.source.office import no_format, office_format, require_no_r
from tables.source.paths import literal_path

ARROW_FILE, _ARROW_STREAM = b"ARROW1\0\0", b"\xff\xff\xff\xff"
#: Between folders of a path, in a class of a regular expression.
_SEPARATORS = r"/\\" if os.sep == "\\" else "/"
_START = 128  # bytes that tell a format


def find_files(place: Place) -> tuple[str, ...]:
    """Return the files of a place; each path names some, and none of them is empty."""
    for path, files in place.matches:
        if not files:
            hint = Message("look at the path's spelling")
            raise SourceError(
                Message("No file matches {masked!r}.", masked=Name(Address(path).masked)),
                hint=hint,
            )
    for file in place.files:
        if Path(file).stat().st_size == 0:
            raise SourceError(
                Message("The file {path!r} is empty.", path=Name(Path(file).name))
            )
    return place.files


def find_partitions(place: Place) -> tuple[str, ...]:
    """Return the keys of folders such as ``region=A``, below what all paths have in common."""
    root = place.folder
    shapes: set[tuple[str, ...]] = set()
    for file in place.files:
        below = Path(os.path.relpath(file, root)).parts[:-1]
        shapes.add(tuple(part.split("=", 1)[0] for part in below if "=" in part))
    if len(shapes) > 1:
        raise SourceError(
            Message("The folders of all files must name the same partitions; they differ."),
            hint=Message("such as year=2020/region=A for every file"),
        )
    if "" in (keys := shapes.pop()):
        raise SourceError(
            Message("The name of a folder has nothing before its =."), hint=Message("rename it")
        )
    return keys


def with_partitions(
    records: str, *, names: Sequence[str], keys: Sequence[str], file_column: str | None
) -> str:
    """Return SQL of records, with partitions as columns of texts.

    Parameters
    ----------
    records
        SQL of the records.
    names, keys
        Their columns; the keys of folders.
    file_column
        The column of the path of each record's file; None where there are no partitions.
    """
    if file_column is None:
        return records
    names = [name.lower() for name in (*names, *keys)]
    columns = [f"* EXCLUDE ({quote(file_column)})"]
    for key in keys:
        if names.count(key.lower()) > 1:
            raise SourceError(
                Message(
                    "Column {key!r} is named by folders, and again by files or folders.",
                    key=Name(key),
                ),
                hint=Message("rename the folders {key}=…, or the column", key=Name(key)),
            )
        pattern = rf".*[{_SEPARATORS}]{re.escape(key)}=([^{_SEPARATORS}]*)[{_SEPARATORS}]"
        value = f"url_decode(regexp_extract({quote(file_column)}, {sql_text(pattern)}, 1))"
        columns.append(f"nullif({value}, '__HIVE_DEFAULT_PARTITION__') AS {quote(key)}")
    return f"SELECT {', '.join(columns)} FROM ({records})"


def file_format(file: str) -> str:
    """Tell the format of a file by its content, and of texts by its name."""
    with Path(file).open("rb") as handle:
        start = handle.read(_START)
    if start[:4] == b"PAR1":
        return "parquet"
    if start[:8] == ARROW_FILE or start[:4] == _ARROW_STREAM:
        return "arrow"
    if kind := office_format(file, start):
        return kind
    require_no_r(file)
    require_readable(file, start)
    suffixes = {s.lower() for s in Path(file).suffixes}
    if suffixes & {".csv", ".tsv", ".txt"}:
        return "csv"
    raise no_format(file, start)


def attach(
    connection: duckdb.DuckDBPyConnection, file: str, table: str | None, view: str
) -> None:
    """Make a view of the records of a table inside a DuckDB file, opened read-only.

    A view there is evaluated now and never again: what it depends on may change meanwhile.
    """
    if os.sep != "\\" and "\\" in file:  # DuckDB would open the file of another folder
        raise SourceError(
            Message(
                "The path of the DuckDB file {path!r} holds a backslash.",
                path=Name(Path(file).name),
            ),
            hint=Message("rename the file or its folder"),
        )
    try:
        connection.execute(
            f"ATTACH {sql_text(str(Path(file).absolute()))} AS ckm_file (READ_ONLY)"
        )
    except duckdb.Error as error:
        locked = "lock" in str(error).lower()
        raise SourceError(
            Message(
                "{path!r} cannot be opened as a DuckDB file{message}",
                path=Name(Path(file).name),
                message=Message(": another process holds it.") if locked else Message("."),
            ),
            hint=Message("close the other program")
            if locked
            else Message("name a .parquet, .csv or .duckdb file"),
        ) from None
    rows = connection.execute(
        "SELECT schema_name, table_name, false FROM duckdb_tables()"
        " WHERE database_name = 'ckm_file'"
        " UNION ALL SELECT schema_name, view_name, true FROM duckdb_views()"
        " WHERE database_name = 'ckm_file' AND NOT internal ORDER BY ALL"
    ).fetchall()
    tables = {
        name if schema == "main" else f"{schema}.{name}": (schema, name, is_view)
        for schema, name, is_view in rows
    }
    if table is None and len(tables) == 1:
        (table,) = tables
    if table is None:
        raise SourceError(
            Message(
                "The DuckDB file {path!r} has {number} tables; name one.",
                path=Name(Path(file).name),
                number=len(tables),
            ),
            hint=Message("table = one of {words!r}", words=Name.each(list(tables)[:12])),
        )
    relations = {f"{schema}.{name}": (schema, name, is_view) for schema, name, is_view in rows}
    relations |= tables
    if table not in relations:
        problem, hint = unknown_name("Table", table, tables)
        raise SourceError(problem, hint=hint)
    schema, name, is_view = relations[table]
    records = f"ckm_file.{quote(schema)}.{quote(name)}"
    if is_view:
        connection.execute(f"CREATE TABLE ckm_evaluated AS SELECT * FROM {records}")
        records = "ckm_evaluated"
    # Bytes decide what is one category, whatever the collation of a column says.
    columns = connection.execute(f"DESCRIBE {records}").fetchall()
    texts = [quote(column) for column, kind, *_ in columns if kind == "VARCHAR"]
    changes = ", ".join(f"{text} COLLATE C AS {text}" for text in texts)
    shown_as = f"* REPLACE ({changes})" if texts else "*"
    connection.execute(f"CREATE VIEW {view} AS SELECT {shown_as} FROM {records}")


def free_name(stem: str, names: Iterable[str]) -> str:
    """Return a name that no column has."""
    lower_names = {name.lower() for name in names}
    while stem in lower_names:
        stem += "_"
    return stem


def sql_text(value: str) -> str:
    """Quote a text literal for SQL."""
    return "'" + value.replace("'", "''") + "'"


def file_list(files: Sequence[str]) -> str:
    """Return a list of files as an SQL literal; no sign of their names stands for others."""
    return "[" + ", ".join(sql_text(literal_path(file)) for file in files) + "]"
