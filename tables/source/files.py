"""Files that hold records: which ones a path names, of what format, and how they are read."""

import csv
import gzip
import os
import re
from collections.abc import Sequence
from pathlib import Path

import duckdb

from footing.places import before_wildcards, list_files, masked
from tables.errors import SourceError, unknown_name
from tables.filtering.filters import quote

#: The column of a file's path, before partitions are read from it.
_FILE = "ckm_file"
ARROW_FILE, _ARROW_STREAM = b"ARROW1\0\0", b"\xff\xff\xff\xff"
_COLUMNS_A_PASS = 50


def find_files(paths: Sequence[str]) -> tuple[str, ...]:
    """Return the files that paths, folders and globs name; none of them empty."""
    files = []
    for path in paths:
        found = list_files(path)
        if not found:
            hint = "look at the path's spelling"
            raise SourceError(f"No file matches {masked(path)!r}.", hint=hint)
        files += found
    for file in files:
        if Path(file).stat().st_size == 0:
            raise SourceError(f"The file {Path(file).name!r} is empty.")
    return tuple(dict.fromkeys(files))


def common_folder(paths: Sequence[str]) -> str:
    """Return what all paths have in common, before their wildcards."""
    fixed = [path if Path(path).exists() else before_wildcards(path) for path in paths]
    return os.path.commonpath([os.path.abspath(path) for path in fixed])  # noqa: PTH100


def find_partitions(paths: Sequence[str], files: Sequence[str]) -> tuple[str, ...]:
    """Return the keys of folders such as ``region=A``, below what all paths have in common."""
    root = common_folder(paths)
    shapes: set[tuple[str, ...]] = set()
    for file in files:
        below = Path(os.path.relpath(file, root)).parts[:-1]
        shapes.add(tuple(part.split("=", 1)[0] for part in below if "=" in part))
    if len(shapes) > 1:
        raise SourceError(
            "The folders of all files must name the same partitions; they differ.",
            hint="such as year=2020/region=A for every file",
        )
    if "" in (keys := shapes.pop()):
        raise SourceError("The name of a folder has nothing before its =.", hint="rename it")
    return keys


def create_view(
    connection: duckdb.DuckDBPyConnection,
    view: str,
    given: str,
    keys: Sequence[str],
    file_column: str | None = _FILE,
) -> None:
    """Make a view of records that know their files, with partitions as columns of texts."""
    rows = connection.execute(f"DESCRIBE {given}").fetchall()
    names = [row[0].lower() for row in rows] + [key.lower() for key in keys]
    columns = ["*" if file_column is None else f"* EXCLUDE ({file_column})"]
    for key in keys:
        if names.count(key.lower()) > 1:
            raise SourceError(
                f"Column {key!r} is named by folders, and again by files or folders.",
                hint=f"rename the folders {key}=…, or the column",
            )
        pattern = rf".*[/\\]{re.escape(key)}=([^/\\]*)[/\\]"
        value = f"url_decode(regexp_extract({file_column}, {sql_text(pattern)}, 1))"
        columns.append(f"nullif({value}, '__HIVE_DEFAULT_PARTITION__') AS {quote(key)}")
    connection.execute(f"CREATE VIEW {view} AS SELECT {', '.join(columns)} FROM {given}")


def file_format(file: str) -> str:
    """Tell Parquet and Arrow from CSV by content and name."""
    with Path(file).open("rb") as handle:
        start = handle.read(8)
    if start[:4] == b"PAR1":
        return "parquet"
    if start == ARROW_FILE or start[:4] == _ARROW_STREAM:
        return "arrow"
    suffixes = {s.lower() for s in Path(file).suffixes}
    if suffixes & {".csv", ".tsv", ".txt"}:
        return "csv"
    raise SourceError(
        f"The file {Path(file).name!r} is neither Parquet, Arrow nor CSV.",
        hint="CSV files end in .csv, .tsv or .txt (also .gz)",
    )


def attach(
    connection: duckdb.DuckDBPyConnection, file: str, table: str | None, view: str
) -> None:
    """Make a view of the records of a table inside a DuckDB file, opened read-only."""
    try:
        connection.execute(f"ATTACH {sql_text(file)} AS ckm_file (READ_ONLY)")
    except duckdb.Error as error:
        locked = "lock" in str(error).lower()
        raise SourceError(
            f"{Path(file).name!r} cannot be opened as a DuckDB file"
            + (": another process holds it." if locked else "."),
            hint="close the other program"
            if locked
            else "name a .parquet, .csv or .duckdb file",
        ) from None
    rows = connection.execute(
        "SELECT schema_name, table_name FROM duckdb_tables()"
        " WHERE database_name = 'ckm_file'"
        " UNION ALL SELECT schema_name, view_name FROM duckdb_views()"
        " WHERE database_name = 'ckm_file' AND NOT internal ORDER BY ALL"
    ).fetchall()
    shown = {
        name if schema == "main" else f"{schema}.{name}": (schema, name)
        for schema, name in rows
    }
    if table is None and len(shown) == 1:
        (table,) = shown
    if table is None:
        raise SourceError(
            f"The DuckDB file {Path(file).name!r} has {len(shown)} tables; name one.",
            hint="table = one of " + ", ".join(repr(name) for name in list(shown)[:12]),
        )
    known = {f"{schema}.{name}": (schema, name) for schema, name in rows} | shown
    if table not in known:
        problem, hint = unknown_name("Table", table, shown)
        raise SourceError(problem, hint=hint)
    schema, name = known[table]
    connection.execute(
        f"CREATE VIEW {view} AS SELECT * FROM ckm_file.{quote(schema)}.{quote(name)}"
    )


def create_csv_view(
    connection: duckdb.DuckDBPyConnection,
    files: tuple[str, ...],
    view: str,
    *,
    is_text: bool = False,
) -> None:
    """Read every column as text, then give numbers and dates their type where all values agree.

    A code such as ``01`` stays a text: a sniffer that makes it 1 merges two areas. Where all
    is to stay text, no value has a say in how the others are read.
    """
    headers = {_header(file) for file in files}
    if len(headers) > 1:
        raise SourceError("All files must have the same header line; they differ.")
    delimiter, names = headers.pop()
    shape = ", ".join(f"{sql_text(name)}: 'VARCHAR'" for name in names)
    connection.execute(
        f"CREATE VIEW ckm_text AS SELECT * FROM read_csv({file_list(files)}, "
        f"columns={{{shape}}}, delim={sql_text(delimiter)}, quote='\"', escape='\"', "
        "auto_detect=false, header=true, nullstr='', strict_mode=true, ignore_errors=false, "
        f"filename={sql_text(_FILE)}, hive_partitioning=false)"
    )
    kinds: list[str | None] = [None] * len(names)
    for start in [] if is_text else range(0, len(names), _COLUMNS_A_PASS):
        part = slice(start, start + _COLUMNS_A_PASS)
        kinds[part] = _detect(connection, names[part])
    parts = [
        f"CAST({quote(name)} AS {kind}) AS {quote(name)}" if kind else quote(name)
        for name, kind in zip(names, kinds, strict=True)
    ]
    connection.execute(
        f"CREATE VIEW {view} AS SELECT {', '.join([*parts, _FILE])} FROM ckm_text"
    )


def _detect(connection: duckdb.DuckDBPyConnection, names: tuple[str, ...]) -> list[str | None]:
    """Return the type that all values of each column agree on, or None for texts."""
    tests = []
    for name in names:
        column = quote(name)
        tests += [
            f"bool_and(TRY_CAST({column} AS BIGINT)::VARCHAR IS NOT DISTINCT FROM {column})",
            (
                f"bool_and({column} IS NULL OR (isfinite(TRY_CAST({column} AS DOUBLE)) IS TRUE "
                rf"AND NOT regexp_matches({column}, '^[+-]?0\d|^\s|\s$|^\+')))"
                # 10.1 and 10.10 in one column are two codes, unless all have as many digits
                rf" AND (coalesce(bool_and(NOT regexp_matches({column}, '\.\d+0$')), true)"
                f" OR count(DISTINCT length(split_part({column}, '.', 2))) = 1)"
            ),
            (
                f"bool_and({column} IS NULL OR"
                f" (TRY_CAST({column} AS DATE)::VARCHAR = {column}) IS TRUE)"
            ),
            f"count({column}) > 0",
            f"bool_and(TRY_CAST({column} AS UBIGINT)::VARCHAR IS NOT DISTINCT FROM {column})",
        ]
    answers = connection.execute(f"SELECT {', '.join(tests)} FROM ckm_text").fetchone() or ()
    kinds: list[str | None] = []
    for place in range(len(names)):
        is_integer, is_number, is_date, has_values, is_wide = answers[5 * place : 5 * place + 5]
        agreed = {"BIGINT": is_integer, "UBIGINT": is_wide, "DOUBLE": is_number}
        agreed["DATE"] = is_date
        kinds.append(next((kind for kind in agreed if agreed[kind] and has_values), None))
    return kinds


def _header(file: str) -> tuple[str, tuple[str, ...]]:
    """Return the delimiter and the column names of a CSV file."""
    first = _first_line(file)
    if first is None:  # raised here, so that the decoder's copy of the bytes is not chained
        raise SourceError(
            f"The file {Path(file).name!r} is not a text in UTF-8.", hint="convert it to UTF-8"
        )
    delimiter = max(",;\t|", key=first.count)
    names = tuple(next(csv.reader([first], delimiter=delimiter), []))
    if not names or any(not name.strip() for name in names):
        raise SourceError(
            f"The first line of {Path(file).name!r} must name every column.",
            hint="add a header line; from R, write with row.names = FALSE",
        )
    if len({name.lower() for name in names}) < len(names):
        raise SourceError("Column names must differ in more than upper and lower case.")
    return delimiter, names


def _first_line(file: str) -> str | None:
    opener = gzip.open if file.lower().endswith(".gz") else open
    try:
        with opener(file, "rt", encoding="utf-8-sig", newline="") as handle:
            return handle.readline(1_000_000)
    except (UnicodeDecodeError, OSError, EOFError):
        return None


def sql_text(value: str) -> str:
    """Quote a text literal for SQL."""
    return "'" + value.replace("'", "''") + "'"


def file_list(files: tuple[str, ...]) -> str:
    """Return a list of files as an SQL literal."""
    return "[" + ", ".join(sql_text(file) for file in files) + "]"
