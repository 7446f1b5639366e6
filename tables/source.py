"""Where the records are: Parquet, CSV, Arrow, pandas, polars or a DuckDB file.

A source keeps one DuckDB connection. Records stay in DuckDB; what leaves are column
names, kinds of columns, and aggregates.
"""

from __future__ import annotations

import glob
import os
import re
import threading
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import duckdb

from tables.csvfiles import create_csv_view, file_list, sql_text
from tables.errors import RequestError, SourceError, unknown_name
from tables.filters import quote
from tables.spill import SpillFolder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import TracebackType

    import pyarrow as pa

__all__ = ["Source", "open_source", "read_categories"]

_INTEGERS = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"}
_UNSIGNED = {"UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"}
_DATES = ("DATE", "TIMESTAMP", "TIME")
_DUCKDB_SUFFIXES = {".duckdb", ".ddb", ".db"}
_PERFECT_HASH_BITS = 21  # integer categories of up to 2**21 combinations need no hashing
_VIEW = "ckm_records"
_CLEAN = "ckm_clean_records"


class Source:
    """An opened source of records.

    Made by `open_source`; use it as a context manager, or `close` it.

    Parameters
    ----------
    connection
        DuckDB connection in which the view of the records exists.
    files
        The files that hold the records, in order; empty for data in memory.
    label
        What messages call the source.
    """

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, *, files: tuple[str, ...], label: str
    ) -> None:
        self._connection = connection
        self._sweep: Callable[[], object] = connection.close
        self._lock = threading.RLock()
        self.files = files
        self.label = label
        self.orders: dict[str, pa.Array] = {}  # categories that came in an order, in that order
        self.sound: set[Any] = set()  # record keys already found sound, see tables.keys
        rows = self.fetch(f"DESCRIBE SELECT * FROM {_VIEW}")
        self.columns: dict[str, str] = {name: kind for name, kind, *_ in rows}
        self._relation = self._clean()

    @property
    def kinds(self) -> dict[str, str]:
        """Column name → integer, number, text, boolean, date or other."""
        return {name: _kind(sql_type) for name, sql_type in self.columns.items()}

    @property
    def relation(self) -> str:
        """The SQL name of the records, where NaN is missing and -0.0 is 0."""
        return self._relation

    @property
    def records(self) -> str:
        """The SQL name of the records as they came."""
        return _VIEW

    def require(self, name: str) -> str:
        """Return the column's SQL type, or raise with the names that exist."""
        if name not in self.columns:
            problem, hint = unknown_name("Column", name, self.columns)
            raise RequestError(problem, hint=hint)
        return self.columns[name]

    def fetch(self, sql: str, parameters: Mapping[str, object] | None = None) -> list[Any]:
        """Run a query whose small answer comes as Python rows."""
        with self._guard():
            return self._connection.execute(sql, parameters or None).fetchall()

    def arrow(
        self,
        sql: str,
        parameters: Mapping[str, object] | None = None,
        *,
        progress: Callable[[float], None] | None = None,
    ) -> pa.Table:
        """Run a query whose answer comes as an Arrow table; tell its progress in [0, 1]."""
        with self._guard(), _watch(self._connection, progress):
            return self._connection.sql(sql, params=parameters or None).to_arrow_table()

    def batches(self, sql: str, *, rows: int) -> Iterator[pa.RecordBatch]:
        """Stream the answer of a query in batches of at most `rows` rows."""
        with self._guard():
            yield from self._connection.sql(sql).to_arrow_reader(rows)

    def copy(
        self,
        sql: str,
        parameters: Mapping[str, object],
        path: str,
        *,
        progress: Callable[[float], None] | None = None,
    ) -> None:
        """Stream the answer of a query into a Parquet file."""
        with self._guard(), _watch(self._connection, progress):
            self._connection.execute(
                f"COPY ({sql}) TO {sql_text(path)} (FORMAT parquet, COMPRESSION zstd)",
                parameters,
            )

    def close(self) -> None:
        """Close the connection and remove what it spilled to disk."""
        self._sweep()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Source({self.label!r}, {len(self.columns)} columns)"

    def _guard(self) -> _Guard:
        return _Guard(self._lock, self.label)

    def _clean(self) -> str:
        """Give floats one form for each number; which source they came from must not show."""
        changes = [
            f"CASE WHEN isnan({quote(name)}) THEN NULL WHEN {quote(name)} = 0 THEN 0 "
            f"ELSE {quote(name)} END AS {quote(name)}"
            for name, sql_type in self.columns.items()
            if sql_type in {"DOUBLE", "FLOAT"}
        ]
        if not changes:
            return _VIEW
        replaced = ", ".join(changes)
        self.fetch(f"CREATE VIEW {_CLEAN} AS SELECT * REPLACE ({replaced}) FROM {_VIEW}")
        return _CLEAN


class _Guard:
    """Turn DuckDB's errors, whose texts may quote records, into ours, which do not."""

    def __init__(self, lock: Any, label: str) -> None:
        self.lock = lock
        self.label = label

    def __enter__(self) -> None:
        self.lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: object
    ) -> None:
        self.lock.release()
        if isinstance(error, duckdb.InterruptException):
            raise KeyboardInterrupt from None
        if isinstance(error, (duckdb.Error, RuntimeError)):
            explained = _explain(error, self.label)
            error.args = ()  # the chain of exceptions must not carry the text either
            raise explained from None


def open_source(
    data: object,
    *,
    table: str | None = None,
    memory_limit: str | None = None,
    threads: int | None = None,
) -> Source:
    """Open records for tabulation; nothing is read yet but the columns.

    Parameters
    ----------
    data
        A Parquet or CSV file, a glob of them, a DuckDB file, or anything that speaks the
        Arrow stream protocol (pandas, polars, pyarrow).
    table
        The table inside a DuckDB file.
    memory_limit
        DuckDB's memory, such as ``"3GB"``; beyond it, work spills to disk.
    threads
        DuckDB's threads; all cores by default. They never change a result.

    Returns
    -------
    Source
        The opened source.

    Raises
    ------
    SourceError
        If the data cannot be opened, with the reason.

    Examples
    --------
    >>> import pyarrow as pa
    >>> with open_source(pa.table({"sex": ["F", "M"], "age": [30, 40]})) as source:
    ...     source.kinds
    {'sex': 'text', 'age': 'integer'}
    """
    spill = SpillFolder()
    try:
        connection = _connect(memory_limit, threads, spill)
    except BaseException:
        spill.remove()
        raise
    try:
        if isinstance(data, (str, os.PathLike)):
            source = _open_path(connection, os.fspath(data), table)
        else:
            source = _open_object(connection, data)
    except BaseException:
        _sweep(connection, spill)
        raise
    source._sweep = weakref.finalize(source, _sweep, connection, spill)  # noqa: SLF001
    return source


def _sweep(connection: duckdb.DuckDBPyConnection, spill: SpillFolder) -> None:
    connection.close()
    spill.remove()


def read_categories(path: str | os.PathLike[str], columns: Sequence[str]) -> list[object]:
    """Read a list of categories from a file.

    Parameters
    ----------
    path
        A CSV or Parquet file.
    columns
        Its columns: one, or those of a hierarchy from broad to fine.

    Returns
    -------
    list
        The distinct categories in the file's order; tuples for several columns.

    Raises
    ------
    SourceError, RequestError
        If the file cannot be read or lists nothing; if it lacks a column.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "sex.csv"
    >>> _ = file.write_text("sex" + chr(10) + "F" + chr(10) + "M")
    >>> read_categories(file, ["sex"])
    ['F', 'M']
    """
    with open_source(path, threads=1) as source:
        for column in columns:
            source.require(column)
        listed = ", ".join(quote(column) for column in columns)
        source.fetch("SET preserve_insertion_order=true")
        rows = source.fetch(f"SELECT {listed} FROM {source.relation}")
    if not rows:
        raise SourceError(f"The file {Path(path).name!r} lists no category.")
    return list(dict.fromkeys(rows if len(columns) > 1 else (row[0] for row in rows)))


def _connect(
    memory_limit: str | None, threads: int | None, spill: SpillFolder
) -> duckdb.DuckDBPyConnection:
    config: dict[str, Any] = {
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "preserve_insertion_order": False,
        "temp_directory": str(spill.path),
    }
    if memory_limit is not None:
        config["memory_limit"] = memory_limit
    if threads is not None:
        config["threads"] = threads
    try:
        connection = duckdb.connect(":memory:", config=config)
        connection.execute(f"SET perfect_ht_threshold={_PERFECT_HASH_BITS}")
        connection.execute("SET enable_progress_bar=false")
        connection.execute("SET python_enable_replacements=false")
        connection.execute("SET TimeZone='UTC'")
    except (duckdb.Error, ValueError, TypeError):
        raise SourceError(
            "memory_limit must read like '3GB' and threads be a positive integer."
        ) from None
    return connection


def _open_path(connection: duckdb.DuckDBPyConnection, path: str, table: str | None) -> Source:
    if re.match(r"^[a-z][a-z0-9+]+://", path):
        raise SourceError(
            "Only files of this machine can be read.", hint="export the table to Parquet first"
        )
    files = _files(path)
    suffix = Path(files[0]).suffix.lower()
    label = Path(path).name
    guard = _Guard(threading.RLock(), label)
    if table is not None or suffix in _DUCKDB_SUFFIXES:
        with guard:
            _attach(connection, files[0], table)
        return Source(connection, files=files, label=label)
    kinds = {_format(file) for file in files}
    if len(kinds) > 1:
        raise SourceError("All files of a glob must have one format, Parquet or CSV.")
    with guard:
        if kinds == {"parquet"}:
            connection.execute(
                f"CREATE VIEW {_VIEW} AS SELECT * FROM read_parquet({file_list(files)}, "
                "hive_partitioning=false, union_by_name=false)"
            )
            _check_same_columns(connection, files)
        else:
            create_csv_view(connection, files, _VIEW)
    return Source(connection, files=files, label=label)


def _files(path: str) -> tuple[str, ...]:
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


def _format(file: str) -> str:
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


def _check_same_columns(connection: duckdb.DuckDBPyConnection, files: tuple[str, ...]) -> None:
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


def _attach(connection: duckdb.DuckDBPyConnection, file: str, table: str | None) -> None:
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
    found = [
        f"{schema}.{name}" if schema != "main" else name
        for schema, name in connection.execute(
            "SELECT schema_name, table_name FROM duckdb_tables()"
            " WHERE database_name = 'ckm_file'"
            " UNION ALL SELECT schema_name, view_name FROM duckdb_views()"
            " WHERE database_name = 'ckm_file' AND NOT internal ORDER BY ALL"
        ).fetchall()
    ]
    if table is None and len(found) == 1:
        table = found[0]
    if table is None:
        raise SourceError(
            f"The DuckDB file {Path(file).name!r} has {len(found)} tables; name one.",
            hint="table = one of " + ", ".join(repr(f) for f in found[:12]),
        )
    if table not in found:
        problem, hint = unknown_name("Table", table, found)
        raise SourceError(problem, hint=hint)
    schema, _, name = table.rpartition(".") if table.count(".") else ("main", "", table)
    connection.execute(
        f"CREATE VIEW {_VIEW} AS SELECT * FROM ckm_file.{quote(schema)}.{quote(name)}"
    )


def _open_object(connection: duckdb.DuckDBPyConnection, data: object) -> Source:
    import pyarrow as pa

    if hasattr(data, "iloc") and hasattr(data, "columns"):
        table = _from_pandas(data)
    else:
        table = _from_stream(data)
        if table is None:
            raise SourceError(
                f"Records cannot be read from {type(data).__name__!r}.",
                hint="give a path, or a pandas, polars or Arrow table",
            )
    names = [name.lower() for name in table.column_names]
    if not names or any(not name or "\0" in name for name in names):
        raise SourceError(
            "The data have no columns." if not names else "Every column needs a name.",
            hint="a name has one character or more, and no null character",
        )
    for place, field in enumerate(table.schema):
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if pa.types.is_null(kind):  # nothing but missing values: of no type, so of any
            nothing = pa.nulls(table.num_rows, pa.string())
            table = table.set_column(place, field.name, nothing)
    if len(set(names)) < len(names):
        raise SourceError("Column names must differ in more than upper and lower case.")
    label = type(data).__module__.split(".")[0] + " table"
    with _Guard(threading.RLock(), label):
        connection.register(_VIEW, table)
    source = Source(connection, files=(), label=label)
    for name, column in zip(table.column_names, table.columns, strict=True):
        # The order of pandas categories is always meant; elsewhere it may be that of the rows.
        is_coded = pa.types.is_dictionary(column.type) and column.num_chunks
        if is_coded and (column.type.ordered or hasattr(data, "iloc")):
            source.orders[name] = column.unify_dictionaries().chunk(0).dictionary
    return source


def _from_stream(data: object) -> pa.Table | None:
    import pyarrow as pa

    if not hasattr(data, "__arrow_c_stream__"):
        return None
    try:
        return pa.table(data)
    except (pa.ArrowException, TypeError, ValueError):  # a single column, say
        return None


def _from_pandas(frame: Any) -> pa.Table:
    """Turn a data frame into Arrow column by column; values of mixed types become texts."""
    import pyarrow as pa

    index = frame.index
    if type(index).__name__ != "RangeIndex" or index.start != 0 or index.step != 1:
        raise SourceError(
            "The data frame's index must be a plain range; this one carries something.",
            hint="call frame.reset_index() to keep it as columns, or reset_index(drop=True)",
        )
    columns: dict[str, Any] = {}
    for position, name in enumerate(frame.columns):
        series = frame.iloc[:, position]
        if str(name) in columns:
            raise SourceError(f"The data frame has two columns called {str(name)!r}.")
        try:
            columns[str(name)] = pa.Array.from_pandas(series)
        except (pa.ArrowException, OverflowError):
            values = [
                None if is_missing else str(value)
                for value, is_missing in zip(series, series.isna(), strict=True)
            ]
            columns[str(name)] = pa.array(values, pa.string())
    return pa.table(columns)


def _kind(sql_type: str) -> str:
    if sql_type in _INTEGERS or sql_type in _UNSIGNED:
        return "integer"
    if sql_type in {"DOUBLE", "FLOAT"} or sql_type.startswith("DECIMAL"):
        return "number"
    if sql_type == "VARCHAR" or sql_type.startswith("ENUM") or sql_type == "UUID":
        return "text"
    if sql_type == "BOOLEAN":
        return "boolean"
    return "date" if sql_type.startswith(_DATES) else "other"


def _explain(error: BaseException, label: str) -> SourceError:
    """Say what DuckDB could not do, without its text."""
    text = str(error)
    if isinstance(error, duckdb.OutOfMemoryException):
        return SourceError(
            "The work does not fit into the memory and the disk space for spilling.",
            hint="raise memory_limit, free disk space, or ask for fewer dimensions",
        )
    line = re.search(r"[Ll]ine:?\s*(\d+)", text)
    where = f" (line {line.group(1)})" if line else ""
    what = {
        "InvalidInputException": f"is damaged or not of its format{where}",
        "IOException": f"cannot be read from disk{where}",
        "ConversionException": f"holds values that do not fit their column's type{where}",
    }.get(type(error).__name__, f"cannot be read ({type(error).__name__}){where}")
    return SourceError(
        f"The source {label!r} {what}.", hint="check the file with another reader"
    )


class _watch:  # noqa: N801  (reads as a verb in a with statement)
    """Call `progress` with the share done while a query runs."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        progress: Callable[[float], None] | None,
    ) -> None:
        self.connection = connection
        self.progress = progress
        self.done = threading.Event()

    def __enter__(self) -> None:
        if self.progress is not None:
            self.thread = threading.Thread(target=self._poll, daemon=True)
            self.thread.start()

    def _poll(self) -> None:
        while not self.done.wait(0.2):
            share = self.connection.query_progress()
            if self.progress is not None and share >= 0:
                self.progress(min(share / 100, 1.0))

    def __exit__(self, *_: object) -> None:
        self.done.set()
        if self.progress is not None:
            self.thread.join()
