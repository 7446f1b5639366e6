"""Where the records are: files, data in memory, databases, or a stream.

A source keeps one DuckDB connection. Records stay in DuckDB; what leaves are column
names, kinds of columns, and aggregates.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
import warnings
import weakref
from concurrent.futures import Future
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self, TypeVar

import duckdb

from footing.messages import Enumeration, Message, Name
from footing.places import FileState, Place, place_of
from tables.deadline import Deadline, stopped
from tables.errors import (
    DataError,
    DataWarning,
    RequestError,
    SourceError,
    TablesError,
    missing_column,
    unknown_name,
)
from tables.file_digest import require_undamaged
from tables.filtering.filters import quote
from tables.filtering.values import NOUNS, FileType, kind_of
from tables.key_tally import KeyTally
from tables.refusals import Refusal, colliding_names, refusal_of, refused_names
from tables.source.copies import LocalCopy
from tables.source.csv_files import CsvColumns
from tables.source.explaining import explained
from tables.source.files import (
    attach,
    file_format,
    find_files,
    find_partitions,
    free_name,
    sql_text,
    with_partitions,
)
from tables.source.frames import arrow_batches, as_arrow, as_reader, write_parquet
from tables.source.labels import (
    LABELS_KEY,
    MissingCodes,
    labels_mark,
    marked_labels,
    warn_of_missing,
)
from tables.source.office import OFFICE, OfficeCopies, convert
from tables.source.parquet import ParquetFiles, find_columns
from tables.source.paths import as_readable, literal_path
from tables.source.spill import SpillFolder
from tables.source.texts import ReadOptions, TextColumns, mark_of, marked_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa

    from tables.cells.given import GivenCells
    from tables.magnitudes.exact import Spread
    from tables.recoding.variable import DerivedVariable

_DUCKDB_SUFFIXES = {".duckdb", ".ddb", ".db"}
# Integer categories of up to 2**bits combinations are grouped without hashing. It pays where
# there are more records than combinations; its table cannot spill, so it stays small where
# memory is limited (2**22 combinations take about 200 MB).
_FEW_BITS, _MAX_BITS = 16, 22
# Sums and largest contributions take a kilobyte a combination there, and gain no time.
_BITS_WITH_SUMS = 12
_VIEW, _FRAME, _PLAIN = "ckm_records", "ckm_frame", "ckm_plain_records"
_CLEAN, _NARROW, _MORE = "ckm_clean_records", "ckm_cells", "ckm_more_columns"
_BESIDE = "ckm_beside"
#: DuckDB's types that no answer holds → the SQL of one that does.
_HELD_AS = {
    '"NULL"': "CAST({0} AS VARCHAR)",
    "JSON": "CAST({0} AS VARCHAR)",
    "UHUGEINT": "CAST({0} AS HUGEINT)",
}
_TICK_S = 0.2
_BATCH = 131_072
_T = TypeVar("_T")


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
    csv
        The columns of CSV files.
    view
        What makes the view, where it is not there yet: with many columns that takes long,
        and not all who ask for columns ask for records.
    keys
        Columns that folders name beside those of CSV files.
    refusals
        Column → why it is not read.
    """

    #: What its rows are, if no records.
    cells: GivenCells | None = None
    #: How its columns come out of Parquet files, if they do.
    parquet: ParquetFiles | None = None
    #: Of its files, the path that is read → the path that was named.
    paths: Mapping[str, str] = MappingProxyType({})
    _csv: TextColumns | None = None
    #: Whether it groups by several columns of whole numbers faster as one.
    packs = True

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        *,
        files: tuple[str, ...],
        label: str,
        csv: CsvColumns | None = None,
        view: str | None = None,
        keys: Sequence[str] = (),
        refusals: Mapping[str, Refusal] | None = None,
    ) -> None:
        self.refusals = dict(refusals or {})
        self._opened = connection
        self._view = view
        self._viewing = threading.Lock()
        self._csv = csv
        self._sweep: Callable[[], object] = connection.close
        self._lock = threading.RLock()
        self._aside = threading.Lock()
        self._numbers = itertools.count()
        self.is_prepared = False
        self.has_memory_limit = False
        self.n_records: int | None = None  # once a scan has counted them
        self._bits = self._bits_set = _FEW_BITS
        self.files = files
        self.label = label
        self.labels: dict[str, dict[str, str]] = {}  # of categories, as the files have them
        self.missing_codes: dict[str, MissingCodes] = {}  # as the files have them
        self.orders: dict[str, pa.Array] = {}  # categories that came in an order, in that order
        self.sound: dict[Any, Any] = {}  # what was found sound already, see tables.keys
        self._hashes: dict[tuple[str, bytes], str] = {}
        self._without_words: dict[str, str] = {}
        self._tallies: dict[str, KeyTally] = {}
        self._stamp: object = None
        # Columns of whole numbers: least, largest, whether some are missing.
        self.spans: dict[str, tuple[int | None, int | None, bool]] = {}
        self.spreads: dict[str, Spread] = {}  # what columns of numbers hold, by column
        self.derived: dict[str, DerivedVariable] = {}  # columns that are made of others
        self._records = _VIEW
        if csv is None:
            self._describe(_VIEW)
            self._hold_all_types()
        else:
            self._note(csv.types(self.fetch) | dict.fromkeys(keys, "VARCHAR"))
        self._relation = self._clean()

    @property
    def _connection(self) -> duckdb.DuckDBPyConnection:
        """Where the records are, as a view."""
        if self._view is not None:
            with self._viewing:
                if self._view is not None:
                    with explained(self.label):
                        self._opened.execute(self._view)
                self._view = None
        return self._opened

    def _hold_all_types(self) -> None:
        """Give columns a type that answers can hold, with the same texts."""
        changes = [
            f"{_HELD_AS[kind].format(quote(name))} AS {quote(name)}"
            for name, kind in self.columns.items()
            if kind in _HELD_AS
        ]
        if changes:
            replaced = f"SELECT * REPLACE ({', '.join(changes)}) FROM {_VIEW}"
            self.fetch(f"CREATE VIEW {_PLAIN} AS {replaced}")
            self._records = _PLAIN
            self._describe(_PLAIN)

    def _describe(self, relation: str) -> None:
        rows = self.fetch(f"DESCRIBE SELECT * FROM {relation}")
        self._note({name: kind for name, kind, *_ in rows})

    def _note(self, columns: Mapping[str, str]) -> None:
        """Note the columns, and what each is."""
        self.columns: dict[str, str] = {name: str(kind) for name, kind in columns.items()}
        # Column name → integer, number, text, boolean, date, time or other.
        self.kinds = {name: kind_of(sql_type) for name, sql_type in self.columns.items()}
        # As filters compare them; "" if they cannot.
        self.types: dict[str, str] = dict(self.columns)
        if self._csv is not None:
            own = self._csv.types(self.fetch)
            self.types |= {n: kind for n, kind in own.items() if n in self.columns}

    @property
    def mark(self) -> dict[str, str]:
        """Metadata by which a copy of the records says what its columns were.

        Texts of CSV, and codes that files of other programs have labels for.
        """
        label_mark = labels_mark(self.labels, self.missing_codes, self.columns)
        return mark_of(self._csv, self.columns) | label_mark

    def add_columns(self, columns: Mapping[str, str]) -> None:
        """Give the records further columns, by the SQL that makes them."""
        for name in columns:
            self.require_new(name)
        more = ", ".join(map(_as_column, columns.items()))
        self.fetch(f"CREATE VIEW {_MORE} AS SELECT *, {more} FROM {self._records}")
        self._records = _MORE
        self._describe(_MORE)
        self._relation = self._clean()

    def require_new(self, name: str) -> None:
        """Raise if SQL cannot tell a further column from one of the data."""
        names = [*self.columns, *self.refusals]
        if name in names:
            raise RequestError(
                Message("Column {name!r} is in the data already.", name=Name(name))
            )
        if (refusal := colliding_names([*names, name]).get(name)) is not None:
            raise RequestError(refusal.problem, hint=refusal.hint)

    def add_derived(
        self, variable: DerivedVariable, sql: str, *, order: Sequence[str] | None
    ) -> None:
        """Give the records a variable that is made of others; see `tables.recoding.derive`.

        Parameters
        ----------
        variable
            What it is.
        sql
            What makes it, of the columns as they are now.
        order
            All its categories, in their order, where the data do not tell them.
        """
        self.require_new(variable.name)
        view = self.new_name("ckm_derived")
        column = _as_column((variable.name, sql))
        self.fetch(f"CREATE VIEW {view} AS SELECT *, {column} FROM {self._relation}")
        self._note({**self.columns, variable.name: "VARCHAR"})
        self._relation = view
        self._note_derived(variable, order)

    def _note_derived(self, variable: DerivedVariable, order: Sequence[str] | None) -> None:
        import pyarrow as pa

        self.derived[variable.name] = variable
        if order is not None:
            self.orders[variable.name] = pa.array(order, pa.string())

    @property
    def derived_labels(self) -> dict[str, tuple[str, ...]]:
        """All categories that derived variables can hold, where the data do not tell them."""
        names = (name for name in self.derived if name in self.orders)
        return {name: tuple(self.orders[name].to_pylist()) for name in names}

    def enumerated(self, texts: Sequence[str]) -> str | None:
        """Return the SQL type that numbers some texts; None where there is none."""
        name = self.new_name("ckm_codes")
        self.fetch(f"CREATE TYPE {name} AS ENUM ({', '.join(map(sql_text, texts))})")
        return name

    def take_mark(self, file: str, *, is_lenient: bool) -> None:
        """Take columns for texts of CSV where a file says that it is a copy of such."""
        self._csv = marked_columns(
            self.fetch,
            sql_text(literal_path(file)),
            relation=_VIEW,
            kinds=self.columns,
            is_lenient=is_lenient,
        )
        self._note(self.columns)

    def take_labels(self, files: Sequence[str]) -> None:
        """Take what files say, as copies do, of the codes of their columns."""
        files_sql = ", ".join(sql_text(literal_path(file)) for file in files)
        texts = self.fetch(
            f"SELECT DISTINCT decode(value) AS text FROM parquet_kv_metadata([{files_sql}]) "
            f"WHERE decode(key) = {sql_text(LABELS_KEY)} ORDER BY text"
        )
        labels, self.missing_codes = marked_labels((text for (text,) in texts), self.columns)
        self.labels.update(labels)
        warn_of_missing(self.missing_codes, self.label)

    def narrow(self, sql: str) -> None:
        """Let the rows of a query stand for the records from now on."""
        self.fetch(f"CREATE VIEW {_NARROW} AS {sql}")
        self._describe(_NARROW)
        self._relation = _NARROW

    @property
    def relation(self) -> str:
        """The SQL name of the records, where NaN is missing and -0.0 is 0."""
        return self._relation

    @property
    def relation_without_words(self) -> str:
        """The SQL name of the records without hashed words, which are joined to each."""
        return self._without_words.get(self._relation, self._relation)

    @property
    def records(self) -> str:
        """The SQL name of the records as they came."""
        return self._records

    @property
    def beside(self) -> str:
        """The SQL name of a table that a query brings along."""
        return _BESIDE

    def require(self, name: str) -> str:
        """Return the column's SQL type, or raise with the names that exist."""
        if (problem := self.problem_of(name)) is not None:
            raise RequestError(problem[0], hint=problem[1], at=("column", name))
        return self.columns[name]

    def require_some(self) -> None:
        """Raise unless there is a record."""
        if not self.has_rows(self.relation):
            raise DataError(
                Message("The source {label!r} has no record.", label=Name(self.label)),
                hint=Message(
                    "is it the extract that was meant? with allow_empty = true in [data], or "
                    "allow_empty=True in Python, tables of no records are made all the same"
                ),
            )

    def has_rows(self, rows: str, parameters: Mapping[str, object] | None = None) -> bool:
        """Tell whether there is a row, of what follows FROM in a statement."""
        return bool(self.fetch(f"SELECT 1 FROM {rows} LIMIT 1", parameters))

    def problem_of(self, name: str) -> tuple[str, str] | None:
        """Tell why there is no such column, or why it is not read, and a way out."""
        if name in self.refusals:
            return self.refusals[name].problem, self.refusals[name].hint
        if name not in self.columns:
            return unknown_name("Column", name, [*self.columns, *self.refusals])
        return None

    def category_problem_of(self, name: str) -> tuple[str, str] | None:
        """Tell why the values of a column are no categories, and a way out."""
        if (problem := self.problem_of(name)) is not None or self.kinds[name] != "other":
            return problem
        refusal = refusal_of(name, self.columns[name])
        return refusal.problem, refusal.hint

    def warn_of_copy(self) -> None:
        """Warn that a copy of the records has no columns that are not read."""
        if self.refusals:
            names = refused_names(self.refusals)
            text = Message(
                "The copy leaves out columns that are not read: {names}.", names=Name(names)
            )
            warnings.warn(DataWarning(text), stacklevel=3)

    def is_number(self, name: str) -> bool:
        """Tell whether a column holds numbers, or texts of CSV that can all be read as such."""
        if self.kinds[name] == "text" and isinstance(kind := self.types[name], FileType):
            return kind.texts.are_numbers()
        return self.kinds[name] in {"integer", "number"}

    def number_problem(self, name: str) -> tuple[str, str] | None:
        """Tell why a column cannot be read as numbers, as problem and hint; None if it can."""
        if self.kinds[name] in {"integer", "number"}:
            return None
        if not self.is_text_of_csv(name):
            return f"Column {name!r} holds {NOUNS[self.kinds[name]]}, no numbers.", ""
        try:
            self.number_sql(name)
        except TablesError as error:
            return error.problem, error.hint or ""
        return None

    def is_text_of_csv(self, name: str) -> bool:
        """Tell whether a column holds texts of CSV, which may be those of numbers."""
        return self.kinds[name] == "text" and isinstance(self.types[name], FileType)

    def number_sql(self, name: str, *, of: str = "") -> str:
        """Return SQL of a column's numbers; texts of CSV are read as such, or refused.

        Parameters
        ----------
        name
            The column.
        of
            What the records are called in the statement.
        """
        column = f"{of}.{quote(name)}" if of else quote(name)
        kind = self.types.get(name, "")
        if kind_of(kind) == "text" and isinstance(kind, FileType):
            return kind.texts.reading().sql(column)
        return column

    def fetch(self, sql: str, parameters: Mapping[str, object] | None = None) -> list[Any]:
        """Run a query whose small answer comes as Python rows."""
        run = self._connection.execute
        return self._run(lambda: run(sql, parameters or None).fetchall())

    def arrow(
        self,
        sql: str,
        parameters: Mapping[str, object] | None = None,
        *,
        beside: pa.Table | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> pa.Table:
        """Run a query whose answer comes as an Arrow table; tell its progress in [0, 1].

        A table `beside` the records has the SQL name of that property meanwhile.
        """
        run = self._connection.sql
        with self._lock:
            if beside is not None:
                self._connection.register(self.beside, beside)
            try:
                return self._run(
                    lambda: run(sql, params=parameters or None).to_arrow_table(), progress
                )
            finally:
                if beside is not None:
                    self._connection.unregister(self.beside)

    def far_files(self, place: str | None = None) -> dict[str, FileState]:  # noqa: ARG002
        """Return the files that lie on no disk of this machine, of the records or a place."""
        return {}

    def aside(
        self,
        sql: str,
        parameters: Mapping[str, object] | None = None,
        *,
        beside: pa.Table | None = None,
        timeout_s: float | None = None,
        deadline: Deadline | None = None,
    ) -> pa.Table:
        """Run a query beside others, on a connection of its own; stop it when time is over.

        Parameters
        ----------
        sql, parameters
            The query.
        beside
            As for `arrow`.
        timeout_s
            Seconds; without limit by default.
        deadline
            When the work that this is part of must end.

        Raises
        ------
        StoppedError
            If the time is over, or the work was called off.
        """
        deadline = deadline or Deadline()
        deadline.require()
        with self._aside:
            cursor = self._connection.cursor()
        try:
            with (
                deadline.interrupting(cursor.interrupt, within_s=timeout_s),
                explained(self.label, far_column=self._far_column),
            ):
                if beside is not None:
                    cursor.register(self.beside, beside)
                return cursor.sql(sql, params=parameters or None).to_arrow_table()
        except KeyboardInterrupt:
            raise stopped() from None
        finally:
            cursor.close()

    def new_name(self, stem: str) -> str:
        """Return a name for a table of ours that no other has."""
        return f"{stem}_{next(self._numbers)}"

    def keep(self, name: str, table: pa.Table) -> None:
        """Keep a small table of ours beside the records, under a name of ours."""
        with self._lock, explained(self.label):
            self._connection.register(name + "_given", table)
            self._connection.execute(f"CREATE TABLE {name} AS SELECT * FROM {name}_given")
            self._connection.unregister(name + "_given")

    def create(self, name: str, sql: str, parameters: Mapping[str, object]) -> None:
        """Keep the answer of a query in memory, under a name of ours."""
        self._run(
            lambda: self._connection.execute(
                f"CREATE TABLE {name} AS {sql}", parameters or None
            )
        )

    def keyed_hash(
        self,
        column: str,
        key: bytes,
        parameters: dict[str, object],  # noqa: ARG002
        *,
        earlier: bool = False,
    ) -> str:
        """Return the SQL of a column's keyed hash; the records have it once it was asked for.

        Parameters
        ----------
        column
            Integers or texts.
        key
            The key of a `KeyedHash`.
        parameters
            Those of the statement; the SQL may need more.
        earlier
            Whether the key is one of an `EarlierHash`.
        """
        from tables.keyed_hash import MOST_BYTES, EarlierHash, KeyedHash, plaintext_sql

        with self._lock:
            if (column, key) not in self._hashes:
                name, expression = quote(column), plaintext_sql(column)
                if earlier:
                    text = f"encode({name}::VARCHAR)"
                    words = self._join_words(text, EarlierHash(key).words)
                    self._hashes[column, key] = words
                    return words
                if self.kinds[column] == "integer":  # short and not negative: faster
                    ends = f"coalesce(min({name}), 0), coalesce(max({name}), 0)"
                    least, most = self.fetch(f"SELECT {ends} FROM {self._relation}")[0]
                    if 0 <= least <= most < 10**MOST_BYTES:
                        expression = f"{name}::BIGINT"
                self._hashes[column, key] = self._join_words(expression, KeyedHash(key).words)
            return self._hashes[column, key]

    def _join_words(self, expression: str, compute: Callable[[pa.Array], pa.Array]) -> str:
        """Give the records a column of words that is computed from an expression.

        Its values stand in a table of their own, which the records meet by position: DuckDB
        scans a source in one order, whatever the threads, where it is told to keep it.
        """
        names = (self.new_name("ckm_added") for _ in itertools.count())
        name = next(name for name in names if free_name(name, self.columns) == name)
        self._stamp = _stamp(self.files)
        tally = None
        if self.n_records is not None:
            tally = self._tallies[name] = KeyTally(self.n_records, relation=f"{name}_records")
        self.fetch("SET preserve_insertion_order=true")
        try:
            self._run(lambda: self._fill(name, expression, compute, tally))
        finally:
            self.fetch("SET preserve_insertion_order=false")
        self.fetch(
            f"CREATE VIEW {name}_records AS SELECT r.*, t.value AS {name} "
            f"FROM {self._relation} AS r POSITIONAL JOIN {name} AS t"
        )
        base, self._relation = self._relation, f"{name}_records"
        self._without_words[self._relation] = self._without_words.get(base, base)
        return name

    def _fill(
        self,
        name: str,
        expression: str,
        compute: Callable[[pa.Array], pa.Array],
        tally: KeyTally | None,
    ) -> None:
        """Compute words batch by batch into a table, so that they can spill to disk."""
        import pyarrow as pa

        shape = pa.schema([("value", pa.uint64())])
        values = self._connection.sql(f"SELECT {expression} FROM {self._relation}")

        def words(batch: pa.RecordBatch) -> pa.RecordBatch:
            column = compute(batch.column(0))
            if tally is not None:
                tally.add(column)
            return pa.record_batch([column], schema=shape)

        batches = map(words, values.to_arrow_reader(_BATCH))
        with contextlib.closing(self._connection.cursor()) as cursor:
            cursor.register(_BESIDE, pa.RecordBatchReader.from_batches(shape, batches))
            cursor.execute(f"CREATE TABLE {name} AS FROM {_BESIDE}")

    def key_tally(self, words: str) -> KeyTally | None:
        """Return what was counted of hashed words, if these are of the records as they are."""
        tally = self._tallies.get(words)
        return tally if tally is not None and tally.relation == self._relation else None

    def batches(self, sql: str, *, rows: int) -> Iterator[pa.RecordBatch]:
        """Stream the answer of a query in batches of at most `rows` rows."""
        with self._lock, explained(self.label, far_column=self._far_column):
            yield from self._connection.sql(sql).to_arrow_reader(rows)

    def copy(
        self,
        sql: str,
        parameters: Mapping[str, object],
        path: str,
        *,
        metadata: Mapping[str, str] | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> None:
        """Stream the answer of a query into a Parquet file, with texts of its metadata."""
        # A temporary file of DuckDB's own is for all to read, and stays after a kill.
        options = "FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false"
        if marks := {**(metadata or {}), **self.mark}:
            texts = ", ".join(f"{quote(k)}: {sql_text(v)}" for k, v in marks.items())
            options += f", KV_METADATA {{{texts}}}"
        # Parquet has no integers of 128 bits: DuckDB would write the nearest double.
        rows = self.fetch(f"DESCRIBE {sql}", parameters)
        wide = [quote(name) for name, kind, *_ in rows if kind == "HUGEINT"]
        if wide:
            changes = ", ".join(f"CAST({name} AS DECIMAL(38,0)) AS {name}" for name in wide)
            sql = f"SELECT * REPLACE ({changes}) FROM ({sql})"
        place = sql_text(str(Path(path).absolute()))  # not that of a user's home
        copy = f"COPY ({sql}) TO {place} ({options})"
        self._run(lambda: self._connection.execute(copy, parameters), progress)

    def expect(self, columns: Iterable[str]) -> None:
        """Take note of columns that will be read: DuckDB needs none."""

    def write_rows(self, _rows: pa.Table, _place: str) -> None:
        """Refuse: no workers see a place with this machine."""
        raise SourceError(
            Message("Workers of Spark write tables."), hint=Message('engine = "spark"')
        )

    def prepare_grouping(self, *, has_sums: bool = False) -> None:
        """Choose how to group by the number of records; DuckDB knows it without a scan.

        Parameters
        ----------
        has_sums
            Whether groups hold sums of variables.
        """
        if not self.is_prepared:
            total = self.n_records
            if total is None:
                total = self.fetch(f"SELECT count(*) FROM {self.records}")[0][0]
            self._bits = min(max((total // 2).bit_length() - 1, _FEW_BITS), _MAX_BITS)
            self.is_prepared = True
        bits = _BITS_WITH_SUMS if has_sums else self._bits
        if bits != self._bits_set:
            self.fetch(f"SET perfect_ht_threshold={bits}")
            self._bits_set = bits

    def close(self) -> None:
        """Close the connection and remove what it spilled to disk."""
        self._sweep()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Source({self.label!r}, {len(self.columns)} columns)"

    def _wait(
        self, work: Callable[[], _T], progress: Callable[[float], None] | None
    ) -> Future[_T]:
        """Let a thread wait for the work, so that progress and Ctrl-C get a hearing."""
        outcome: Future[_T] = Future()

        def settle() -> None:
            try:
                outcome.set_result(work())
            except BaseException as error:  # noqa: BLE001  (raised by who asks for the result)
                outcome.set_exception(error)

        worker = threading.Thread(target=settle, daemon=True)
        worker.start()
        share = 0.0
        try:
            while worker.is_alive():
                worker.join(_TICK_S)
                if progress and worker.is_alive():
                    share = max(share, self._share())
                    progress(share)
        except BaseException:
            self._interrupt()
            worker.join()
            raise
        return outcome

    def _share(self) -> float:
        """Return the share of the work that is done."""
        return min(self._connection.query_progress() / 100, 1.0)

    def _interrupt(self) -> None:
        self._connection.interrupt()

    def _run(
        self, work: Callable[[], _T], progress: Callable[[float], None] | None = None
    ) -> _T:
        """Work, and refuse files that changed since words of theirs were computed."""
        with self._lock, explained(self.label, far_column=self._far_column):
            answer = self._wait(work, progress).result()
            if self._hashes and self._stamp != _stamp(self.files):
                raise SourceError(
                    Message(
                        "The source {label!r} has changed since it was opened.",
                        label=Name(self.label),
                    ),
                    hint=Message("open it again: its record keys are those of what it was"),
                )
            return answer

    def _far_column(self) -> str | None:
        """Find a column of points in time too far away, which only a look at them can tell."""
        for name, kind in self.columns.items():
            if not kind.startswith("TIMESTAMP") or name in self.derived:
                continue
            try:
                with contextlib.closing(self._opened.cursor()) as cursor:
                    cursor.execute(f"SELECT max({quote(name)}) FROM {self._records}").fetchone()
            except duckdb.Error:
                return name
        return None

    def _clean(self) -> str:
        """Give floats one form for each number; which source they came from must not show."""
        changes = [
            # isnan() alone is folded away where a Parquet file's statistics leave NaN out.
            f"CASE WHEN NOT (isfinite({quote(name)}) OR isinf({quote(name)})) THEN NULL "
            f"WHEN {quote(name)} = 0 THEN 0 "
            f"ELSE {quote(name)} END AS {quote(name)}"
            for name, sql_type in self.columns.items()
            if sql_type in {"DOUBLE", "FLOAT"}
        ]
        if not changes:
            return self._records
        replaced = f"SELECT * REPLACE ({', '.join(changes)}) FROM {self._records}"
        self.fetch(f"CREATE OR REPLACE VIEW {_CLEAN} AS {replaced}")
        return _CLEAN


def _as_column(pair: tuple[str, str]) -> str:
    """Return SQL of a column, from its name and what makes it."""
    name, sql = pair
    return f"{sql} AS {quote(name)}"


def _stamp(files: Sequence[str]) -> object:
    """Return what changes when files are written."""
    stats = [os.stat(file) for file in files]  # noqa: PTH116
    return [(at.st_ino, at.st_size, at.st_mtime_ns) for at in stats]


def open_source(
    data: object,
    *,
    table: str | None = None,
    query: str | None = None,
    memory_limit: str | None = None,
    threads: int | None = None,
    options: ReadOptions | None = None,
) -> Source:
    """Open records for tabulation; of files and data in memory, the columns alone are read.

    What lies elsewhere, or can be read once, is first copied into a private folder.

    Parameters
    ----------
    data
        Parquet, CSV or Arrow (Feather) files, or files of SAS, SPSS, Stata, Excel or
        OpenDocument (by the extra ``[office]``): a path, a glob, a folder, or a list of these;
        folders such as ``region=A`` become a column of texts. ``"-"`` for standard input,
        ``s3://…`` for objects, or the URI of a database. Or a DuckDB file, or a table of
        pandas, polars (lazy ones too) or PyArrow (datasets too).
    table
        The table inside a DuckDB file or a database, or the sheet of a workbook.
    query
        The query of a database, instead of a table.
    memory_limit
        DuckDB's memory, such as ``"3GB"``; beyond it, work spills to disk.
    threads
        DuckDB's threads; all cores by default. They never change a result.
    options
        What is declared of the columns of CSV files; see `ReadOptions`. Where nothing is,
        whole numbers and dates that are written plainly are such, and all else is texts,
        which can be read as numbers.

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
    place = place_of(data)
    if place is not None and place.has_password:
        hint = Message(
            "PostgreSQL finds it in ~/.pgpass or in PGPASSWORD, S3 in AWS_… or ~/.aws"
        )
        raise SourceError(Message("The address must not hold a password."), hint=hint)
    with contextlib.ExitStack() as stack:
        spill = SpillFolder()
        stack.callback(spill.remove)
        connection = _connect(memory_limit, threads, spill)
        stack.callback(connection.close)
        label = None
        if place is not None and place.is_elsewhere:
            copy = LocalCopy(place, table=table, query=query)
            stack.callback(lambda one: one.remove(), copy)
            place, table, query, label = place_of(Path(copy.path)), None, None, copy.label
        if query is not None:
            raise SourceError(
                Message("query goes with a database."),
                hint=Message("name the columns of files"),
            )
        if place is not None:
            source = _open_files(connection, place, table, spill.path, options or ReadOptions())
        else:
            if options is not None:
                options.require_csv("data in memory")
            source = _open_object(connection, data, spill.path)
        source.label = label or source.label
        if memory_limit is not None:
            source.is_prepared = source.has_memory_limit = True
        source._sweep = weakref.finalize(source, stack.pop_all().close)  # noqa: SLF001
    return source


def read_categories(path: str | os.PathLike[str], columns: Sequence[str]) -> list[object]:
    """Read a list of categories from a file.

    Parameters
    ----------
    path
        A CSV or Parquet file; all that a CSV file holds are texts, whatever they look like.
    columns
        Its columns: one, or those of a hierarchy from broad to fine.

    Returns
    -------
    list
        The distinct categories in the file's order; tuples for several columns. Blank lines
        are none, with a warning.

    Raises
    ------
    SourceError, RequestError
        If the file cannot be read or lists nothing; if it lacks a column, or a row of it has
        no category.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "sex.csv"
    >>> _ = file.write_text("sex" + chr(10) + "F" + chr(10) + "M")
    >>> read_categories(file, ["sex"])
    ['F', 'M']
    """
    name = Path(path).name
    with open_source(path, threads=1, options=ReadOptions(text=True)) as source:
        for column in columns:
            if column not in source.columns:
                problem, hint = missing_column(name, column, source.columns)
                raise RequestError(problem, hint=hint)
        columns_sql = ", ".join(quote(column) for column in columns)
        source.fetch("SET preserve_insertion_order=true")
        rows = source.fetch(f"SELECT {columns_sql} FROM {source.relation}")
        is_text = all(map(source.is_text_of_csv, columns))
    lines = [row for row in rows if not (is_text and _is_blank(row))]
    if any(value is None for row in lines for value in row):
        raise SourceError(
            Message(
                "The file {name!r} has rows without a category in {columns!r}.",
                name=Name(name),
                columns=Enumeration(" or ", Name.each(columns)),
            ),
            hint=Message("remove them: records without a value have a category of their own"),
        )
    if not lines:
        raise SourceError(Message("The file {name!r} lists no category.", name=Name(name)))
    if len(lines) < len(rows):
        warnings.warn(
            message=Message(
                "The file {name!r} of categories has blank lines, which are left out.",
                name=Name(name),
            ),
            category=DataWarning,
            stacklevel=2,
        )
    return list(dict.fromkeys(lines if len(columns) > 1 else (row[0] for row in lines)))


def _is_blank(row: Sequence[object]) -> bool:
    """Tell whether a line of a text holds nothing to be seen."""
    return not any(str(value).strip() for value in row if value is not None)


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
        connection.execute(f"SET perfect_ht_threshold={_FEW_BITS}")
        connection.execute("SET enable_progress_bar=true")  # measured, not printed
        connection.execute("SET enable_progress_bar_print=false")
        connection.execute("SET python_enable_replacements=false")
        connection.execute("SET TimeZone='UTC'")
    except (duckdb.Error, ValueError, TypeError):
        raise SourceError(
            Message("memory_limit must read like '3GB' and threads be a positive integer.")
        ) from None
    return connection


def _open_files(
    connection: duckdb.DuckDBPyConnection,
    place: Place,
    table: str | None,
    folder: Path,
    options: ReadOptions,
) -> Source:
    files, label = find_files(place), place.label
    kinds = set() if _is_duckdb(files[0]) else _formats(files)
    is_office = bool(kinds) and kinds <= OFFICE
    if not kinds or (table is not None and not is_office):
        options.require_csv(label)
        with explained(label):
            attach(connection, files[0], table, _VIEW)
        return Source(connection, files=files, label=label)
    if len(kinds) > 1:
        raise SourceError(
            Message(
                "All files must have one format: Parquet, Arrow, CSV, or one of the office "
                "files."
            )
        )
    keys = find_partitions(place)
    csv: CsvColumns | None = None
    copies: OfficeCopies | None = None
    parquet: ParquetFiles | None = None
    refusals: dict[str, Refusal] = {}
    with explained(label):
        readable = files
        if kinds == {"arrow"}:
            readable = tuple(_as_parquet(file, folder, label) for file in files)
        elif is_office:
            copies = convert(files, min(kinds), folder, table=table, options=options)
            readable, refusals = copies.files, copies.refusals
        readable = tuple(as_readable(file, folder) for file in readable)
        if kinds == {"csv"}:
            csv = CsvColumns(
                connection, files, readable=readable, options=options, has_paths=bool(keys)
            )
            view = _view_sql(csv.sql, csv.names, keys, csv.file_column)
        else:
            if not is_office:
                options.require_csv(label)
            parquet = find_columns(connection, readable)
            file_column = free_name("ckm_file", parquet.names) if keys else None
            refusals |= parquet.refusals
            names = [*parquet.names, *(name for name in refusals if name not in parquet.names)]
            view = _view_sql(parquet.records_sql(file_column), names, keys, file_column)
            connection.execute(view)
    if parquet is not None:
        source = Source(connection, files=files, label=label, refusals=refusals)
        source.parquet = parquet
        source.paths = dict(zip(readable, files, strict=True))
        _note_marks(source, readable, copies, options if kinds == {"parquet"} else None)
    else:
        source = Source(connection, files=files, label=label, csv=csv, view=view, keys=keys)
    source.is_prepared = csv is not None  # counting its records would take a scan
    return source


def _formats(files: Sequence[str]) -> set[str]:
    """Return the formats of files; raise where one is damaged and can tell."""
    formats = {file: file_format(file) for file in files}
    for file, kind in formats.items():
        if kind == "parquet":
            require_undamaged(file)
    return {*formats.values()}


def _note_marks(
    source: Source,
    files: Sequence[str],
    copies: OfficeCopies | None,
    options: ReadOptions | None,
) -> None:
    """Note what office files say of their codes, and what files of Parquet say they were."""
    if copies is not None:
        source.labels.update(copies.labels)
        source.missing_codes.update(copies.missing)
    elif options is not None:
        source.take_mark(files[0], is_lenient=options.is_lenient)
        source.take_labels(files)


def _is_duckdb(file: str) -> bool:
    """Tell a DuckDB file, by what stands in it or by its name."""
    with Path(file).open("rb") as handle:
        start = handle.read(12)
    return start[8:] == b"DUCK" or Path(file).suffix.lower() in _DUCKDB_SUFFIXES


def _view_sql(
    records: str, names: Sequence[str], keys: Sequence[str], file_column: str | None
) -> str:
    """Return what makes the view of the records."""
    columns = with_partitions(records, names=names, keys=keys, file_column=file_column)
    return f"CREATE VIEW {_VIEW} AS {columns}"


def _as_parquet(file: str, folder: Path, label: str) -> str:
    """Write an Arrow file as Parquet, below folders of the same names."""
    path = Path(file).absolute()
    copy = folder / "arrow" / path.relative_to(path.anchor)
    copy.parent.mkdir(parents=True, exist_ok=True)
    with explained(label, Exception):
        write_parquet(arrow_batches(file), copy)
    return str(copy)


def _open_object(connection: duckdb.DuckDBPyConnection, data: object, folder: Path) -> Source:
    label = type(data).__module__.split(".")[0] + " table"
    with explained(label, Exception):
        planned = as_reader(data, folder)
        if planned is not None:
            write_parquet(planned[0], folder / "frame.parquet")
    with explained(label):
        if planned is not None:
            parquet = find_columns(connection, (str(folder / "frame.parquet"),))
            connection.execute(f"CREATE VIEW {_VIEW} AS {parquet.records_sql(None)}")
            orders, refusals = planned[1], {**parquet.refusals, **planned[2]}
        else:
            frame = as_arrow(data)
            orders, refusals = frame.orders, frame.refusals
            connection.register(_FRAME, frame.table)
            connection.execute(f"CREATE VIEW {_VIEW} AS SELECT {frame.sql} FROM {_FRAME}")
    source = Source(connection, files=(), label=label, refusals=refusals)
    source.orders.update(orders)
    return source
