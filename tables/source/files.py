"""Files that hold records: which ones a path names, of what format, with what tables."""

from __future__ import annotations

import glob
from pathlib import Path

import duckdb

from tables.errors import SourceError, unknown_name
from tables.filtering.filters import quote
from tables.source.csv_files import sql_text


def find_files(path: str) -> tuple[str, ...]:
    """Return the files that a path or a glob names; none of them empty."""
    if Path(path).is_dir():
        raise SourceError(
            f"{Path(path).name!r} is a folder.",
            hint="name its files with a glob: folder/*.parquet",
        )
    files = [path] if Path(path).exists() else sorted(glob.glob(path, recursive=True))  # noqa: PTH207  (keeps paths as given)
    if not files:
        raise SourceError(f"No file matches {path!r}.", hint="look at the path's spelling")
    for file in files:
        if Path(file).stat().st_size == 0:
            raise SourceError(f"The file {Path(file).name!r} is empty.")
    return tuple(files)


def file_format(file: str) -> str:
    """Tell Parquet from CSV by content and name."""
    with Path(file).open("rb") as handle:
        start = handle.read(4)
    if start == b"PAR1":
        return "parquet"
    suffixes = {s.lower() for s in Path(file).suffixes}
    if suffixes & {".csv", ".tsv", ".txt"}:
        return "csv"
    raise SourceError(
        f"The file {Path(file).name!r} is neither Parquet nor CSV.",
        hint="CSV files end in .csv, .tsv or .txt (also .gz)",
    )


def check_same_columns(connection: duckdb.DuckDBPyConnection, files: tuple[str, ...]) -> None:
    """Refuse Parquet files that differ in their columns."""
    shapes = set()
    for file in files if len(files) > 1 else ():
        rows = connection.execute(
            f"DESCRIBE SELECT * FROM read_parquet({sql_text(file)}, hive_partitioning=false)"
        ).fetchall()
        shapes.add(tuple((row[0], row[1]) for row in rows))
    if len(shapes) > 1:
        raise SourceError(
            "The files of a glob must have the same columns and types; they differ.",
            hint="write them again from one program, or name fewer files",
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
