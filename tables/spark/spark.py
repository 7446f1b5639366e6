"""Records tabulated by Spark, where one machine is too small.

DuckDB still reads the files' schema, from which it tells names and types of every answer;
the records are read by Spark alone. See `tables.spark.sql` for what makes the answers equal.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import itertools
import os
import re
import threading
import urllib.parse
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

import pyarrow as pa

from footing.addresses import Address
from footing.messages import Argument, Message, Name, said
from footing.places import CATALOG, Place, PlaceKind, as_connectors_know, place_of
from tables.errors import SourceError
from tables.filtering.filters import quote
from tables.filtering.values import kind_of
from tables.keyed_hash import plaintext_sql
from tables.refusals import Refusal, refusal_of
from tables.source.columns import ALL_MISSING, NOTHING, reading_of
from tables.source.files import file_format
from tables.source.labels import LABELS_KEY, marked_labels, warn_of_missing
from tables.source.source import Source, open_source
from tables.spark import hashing
from tables.spark.explaining import explain
from tables.spark.session import LOCAL, open_session, quiet
from tables.spark.types import SECRETS, as_spark, as_wanted, kept_as, read_as

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from footing.places import FileState
    from tables.recoding.variable import DerivedVariable
    from tables.source.parquet import FoundColumn

_T = TypeVar("_T")
_groups = itertools.count()
_KEY = "ckm_key"  # of a record on its way to those that workers keep
_ROWS_PER_FILE, _MOST_FILES = 1_000_000, 64
_STATE = ("path", "length", "modificationTime")
#: In the name of a file, what tells which run of Spark wrote it.
_WRITER = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?=[^/]*$)")
#: What stands for others in a path of Hadoop.
_WILDCARDS = re.compile(r"[\\*?{}\[\]]")
#: Where a file of Parquet that Arrow wrote holds Arrow's own types.
_ARROW_SCHEMA = "ARROW:schema"
_TELLS_ETAGS = "org.apache.hadoop.fs.EtagSource"


class SparkSource(Source):
    """An opened source of records that Spark tabulates; made by `open_spark`.

    It has the face of `Source`, but answers aggregates only: it keeps no records in memory
    and writes no copies of them.

    Parameters
    ----------
    described
        The same files, or no records of the same columns, opened by DuckDB; nothing but their
        schema is read there.
    session
        The session of Spark.
    place
        Where the records lie, if not in files of this machine.
    root
        The folder below which names of folders are columns, if they are.
    table
        The name of a table of the catalog that the records are, instead of files.
    """

    packs = False

    def __init__(
        self,
        described: Source,
        *,
        session: SparkSession,
        place: str | None = None,
        root: str | None = None,
        table: str | None = None,
    ) -> None:
        # Not that of Source: the columns are already described.
        self._described = described
        self._session = session
        self._place, self._root, self._table = place, root, table
        is_own = hasattr(session, "_jsparkSession")  # a server of others tells no progress
        self._context = session.sparkContext if is_own else None
        self._lock = threading.RLock()
        self._sweep = described.close
        self._numbers = itertools.count()
        self.is_prepared = True
        self.n_records = None
        self.has_memory_limit = False
        self.files = described.files
        self.label = described.label
        self.orders = described.orders
        self.sound = {}
        self._hashes = {}
        self.spans = {}
        self.spreads = {}
        self.derived = {}
        self.labels, self.missing_codes = described.labels, described.missing_codes
        self._relation = described.relation
        self.parquet = described.parquet
        self.refusals, self._groups = self._readable(described)
        self.columns = {
            name: kind for name, kind in described.columns.items() if name not in self.refusals
        }
        self.types = self.columns
        self.kinds = {name: described.kinds[name] for name in self.columns}
        # DuckDB tells the types of answers alone, so any function of this type will do there.
        described.fetch("CREATE MACRO ckm_aes(message, key) AS hex(message)")
        described.fetch(f"CREATE MACRO {hashing.NAME}(message, key) AS hex(message)")
        described.fetch(f"CREATE MACRO {hashing.KEY_OF}(identifier) AS hash(identifier)")
        self._hashes_arrays: bool | None = None
        self._needed: dict[str, None] = {}
        self._cache: _RecordCache | None = None
        # Footers of files tell it; of a store Spark alone would, by a scan.
        sql = f"SELECT count(*) FROM {described.records}"
        self._n_described = 0 if place or table else described.fetch(sql)[0][0]
        self._run(self._name_records)

    def fetch(self, sql: str, parameters: Mapping[str, object] | None = None) -> list[Any]:
        """Run a query whose small answer comes as Python rows."""
        columns = self.arrow(sql, parameters).columns
        return list(zip(*(column.to_pylist() for column in columns), strict=True))

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

        def receive(rows: DataFrame, schema: pa.Schema) -> pa.Table:
            return as_wanted(rows.toArrow(), schema)

        return self._received(sql, parameters or {}, receive, beside=beside, progress=progress)

    def write_changed(
        self,
        sql: str,
        parameters: Mapping[str, object],
        place: str | None,
        *,
        change: Callable[[pa.Table], pa.Table],
        columns: Mapping[str, str],
        order: Sequence[str],
        progress: Callable[[float], None] | None = None,
    ) -> int:
        """Write the answer of a query as Parquet files, changed where it is; count their rows.

        Parameters
        ----------
        sql, parameters
            The query.
        place
            A folder that is not there yet, as workers know it. None writes nothing.
        change
            Makes other columns of some rows of the answer.
        columns
            Their names → Spark's types.
        order
            Columns by which the rows of a file are sorted.
        progress
            As for `arrow`.
        """
        shape = ", ".join(f"{_quoted(name)} {kind}" for name, kind in columns.items())

        def receive(rows: DataFrame, schema: pa.Schema) -> int:
            def changed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
                for batch in batches:
                    rows_of_it = as_wanted(pa.Table.from_batches([batch]), schema)
                    yield from change(rows_of_it).to_batches()

            output = rows.mapInArrow(changed, shape)
            if place is None:
                return output.count()
            sorted_rows = output.sortWithinPartitions(*map(_quoted, order))
            sorted_rows.write.option("compression", "zstd").parquet(_far(place))
            files = self._session.read.parquet(_far(place))
            if len({run for url in files.inputFiles() for run in _WRITER.findall(url)}) > 1:
                raise SourceError(
                    Message("Two runs wrote this table at the same time: remove it.")
                )
            return files.count()

        return self._received(sql, parameters, receive, progress=progress)

    def write_rows(self, rows: pa.Table, place: str) -> None:
        """Write rows that were made here as Parquet files of a folder that is not there yet."""
        parts = min(-(-rows.num_rows // _ROWS_PER_FILE), _MOST_FILES) or 1

        def work() -> None:
            frame = self._session.createDataFrame(rows).coalesce(parts)
            frame.write.option("compression", "zstd").parquet(_far(place))

        self._run(work)

    def key_tally(self, words: str) -> None:
        """Return nothing: workers hash the keys, and a scan counts them."""

    def keyed_hash(
        self,
        column: str,
        key: bytes,
        parameters: dict[str, object],
        *,
        earlier: bool = False,
    ) -> str:
        """Return the SQL of a column's keyed hash, which Spark computes itself."""
        if earlier:
            _refuse(Message("Spark computes no record keys of version 1; DuckDB does."))
        if self._hashes_arrays is None:
            self._hashes_arrays = self._run(lambda: hashing.register(self._session))
        sql = f"('0x' || left(ckm_aes({plaintext_sql(column)}, $key), 16))::UBIGINT"
        if self._hashes_arrays:
            sql = f"{hashing.NAME}({plaintext_sql(column)}, $key)::UBIGINT"
        if self._cache is None and not {hashing.KEY_COLUMN, _KEY} & self.columns.keys():
            self._cache = _RecordCache(column=column, key=key, sql=sql)
        if self._cache is not None and (self._cache.column, self._cache.key) == (column, key):
            return f"{hashing.KEY_OF}({quote(column)})::UBIGINT"
        parameters["key"] = key
        return sql

    def expect(self, columns: Iterable[str]) -> None:
        """Take note of columns that statements will read, to keep them beside hashed keys."""
        self._needed |= dict.fromkeys(name for name in columns if name in self.columns)

    def close(self) -> None:
        """Let go of what workers keep, and of the description."""
        self._drop_cache()
        super().close()

    def has_rows(self, rows: str, parameters: Mapping[str, object] | None = None) -> bool:
        """Tell whether there is a row: by their count, as a limit is none of what is known."""
        if rows == self.relation and self._n_described:  # footers of files say so
            return True
        return bool(self.fetch(f"SELECT count(*) AS n FROM {rows}", parameters)[0][0])

    def aside(self, *_arguments: Any, **_options: Any) -> NoReturn:
        """Refuse: there is no answer on the fly."""
        _refuse(Message("Spark answers no requests on the fly."))

    def add_derived(
        self, variable: DerivedVariable, sql: str, *, order: Sequence[str] | None
    ) -> None:
        """Give the records a variable that is made of others, in Spark's dialect."""
        from tables.spark.sql import spark_sql

        self._drop_cache()
        name = quote(variable.name)
        text = spark_sql(
            f"SELECT *, {sql} AS {name} FROM {self._relation}", {}, columns=self.columns
        )
        described = self._described
        described.add_derived(variable, "CAST(NULL AS VARCHAR)", order=order)
        self.columns = {**self.columns, variable.name: "VARCHAR"}
        self._relation = described.relation
        self.types = {**self.types, variable.name: "VARCHAR"}
        self.kinds = {**self.kinds, variable.name: "text"}
        view = self._relation
        self._run(lambda: self._session.sql(text).createOrReplaceTempView(view))
        self._note_derived(variable, order)

    def enumerated(self, texts: Sequence[str]) -> None:
        """Return None: Spark has no such types."""

    def new_name(self, *_arguments: Any, **_options: Any) -> NoReturn:
        """Refuse, as `keep` and `create`: there are no prepared records."""
        _refuse(Message("Spark keeps no records ready for requests."))

    keep = create = new_name

    def batches(self, *_arguments: Any, **_options: Any) -> NoReturn:
        """Refuse: records stay where they are."""
        _refuse(Message("Records are not fetched from Spark."))

    def copy(self, *_arguments: Any, **_options: Any) -> NoReturn:
        """Refuse: records stay where they are."""
        _refuse(Message("Records are not copied by Spark."))

    def prepare_grouping(self, *, has_sums: bool = False) -> None:
        """Do nothing: Spark chooses how to group by itself."""

    def __repr__(self) -> str:
        return f"SparkSource({self.label!r}, {len(self.columns)} columns)"

    def _readable(
        self, described: Source
    ) -> tuple[dict[str, Refusal], list[tuple[tuple[str, ...], dict[str, _SparkColumn]]]]:
        """Return the columns that Spark does not read, and how it reads those of each file."""
        parquet = described.parquet
        groups: list[tuple[tuple[str, ...], dict[str, FoundColumn | None]]]
        if self._place or self._table or parquet is None:  # a schema alone, or none of files
            groups = [((), dict.fromkeys(described.columns))]
        else:
            partitions = [name for name in described.columns if name not in parquet.types]
            groups = [
                (
                    tuple(described.paths[file] for file in group.files),
                    {**group.columns, **dict.fromkeys(partitions)},
                )
                for group in parquet.groups
            ]
        refusals = dict(described.refusals)
        readings: list[tuple[tuple[str, ...], dict[str, _SparkColumn]]] = [
            (files, {}) for files, _ in groups
        ]
        for name, kind in described.columns.items():
            spark_columns = [_spark_column(name, kind, columns[name]) for _, columns in groups]
            if any(column is None for column in spark_columns):
                refusals[name] = _refusal(name, kind)
                continue
            for (_, columns), column in zip(readings, spark_columns, strict=True):
                columns[name] = column  # type: ignore[assignment]
        return refusals, readings

    def _name_records(self) -> None:
        """Name the records in the session, after a check that Spark reads the same ones."""
        parts = [self._read(files, columns) for files, columns in self._groups]
        urls = [url for part in parts for url in part[0].inputFiles()]
        is_odd = re.compile("=[^/]*%25[89A-F]", re.IGNORECASE).search
        if self._table is None and any(map(is_odd, urls)):
            _refuse(
                Message(
                    "Spark reads names of folders with encoded letters beyond ASCII otherwise."
                )
            )
        paths = {os.path.realpath(_local_path(url)) for url in urls}
        if not (self._place or self._table) and paths != {
            os.path.realpath(file) for file in self.files
        }:
            raise SourceError(
                Message("Spark does not read every file of {label!r}.", label=Name(self.label)),
                hint=Message(
                    "it skips names that begin with _ or a full stop: rename these files"
                ),
            )
        frames = [rows.selectExpr(*expressions) for rows, expressions in parts]
        records = functools.reduce(lambda one, other: one.union(other), frames)
        records.createOrReplaceTempView(self._relation)

    def _read(
        self, files: Sequence[str], columns: Mapping[str, _SparkColumn]
    ) -> tuple[DataFrame, list[str]]:
        """Return the records of files that are alike, and what makes their columns."""
        expressions = [
            f"{kept_as(column.sql, self.columns[name])} AS {_quoted(name)}"
            for name, column in columns.items()
        ]
        if self._table is not None:
            return self._session.table(self._table), expressions
        shape = [
            f"{_quoted(name)} {column.read_as}"
            for name, column in columns.items()
            if column.read_as is not None
        ]
        reader = self._session.read.schema(", ".join(shape))
        if self._root is not None:
            reader = reader.option("basePath", self._root)
        places = [self._place] if self._place else map(_hadoop_path, files)
        return reader.parquet(*places), expressions

    def far_files(self, place: str | None = None) -> dict[str, FileState]:
        """Return the files of the records on a store, or of all folders below a place."""
        from pyspark.errors import AnalysisException

        root = place or self._place
        if root is None and self._table is None:
            return {}
        reader = self._session.read.format("binaryFile")
        reader = reader.option("recursiveFileLookup", place is not None)

        def listed() -> dict[str, FileState]:
            paths: list[str] = [] if root is None else [_far(root)]
            if root is None and self._table is not None:
                files = self._session.table(self._table).inputFiles()
                paths = [_escaped(path) for path in files]
            if not paths:  # a table that is no files
                return {}
            try:
                listing = reader.load(paths).select(*_STATE).toArrow()
            except AnalysisException as error:
                if place is None or "PATH_NOT_FOUND" not in str(error):
                    raise
                return {}
            etags = {} if root is None else self._etags(paths[0])
            rows = zip(*(column.to_pylist() for column in listing.columns), strict=True)
            return {
                path: (size, moment.isoformat(), etags.get(path, ""))
                for path, size, moment in sorted(rows)
            }

        return self._run(listed)

    def _etags(self, place: str) -> dict[str, str]:
        """Return the ETags that a connector tells; a server of Spark tells none."""
        if self._context is None:
            return {}
        from py4j.java_gateway import is_instance_of

        etags, context = dict[str, str](), cast("Any", self._context)
        path = context._jvm.org.apache.hadoop.fs.Path(place)  # noqa: SLF001
        store = path.getFileSystem(context._jsc.hadoopConfiguration())  # noqa: SLF001
        for top in store.globStatus(path) or ():
            files = store.listFiles(top.getPath(), True)  # noqa: FBT003
            while files.hasNext():
                file = files.next()
                if not is_instance_of(context._gateway, file, _TELLS_ETAGS):  # noqa: SLF001
                    return {}
                etags[file.getPath().toString()] = file.getEtag() or ""
        return etags

    def _received(
        self,
        sql: str,
        parameters: Mapping[str, object],
        receive: Callable[[DataFrame, pa.Schema], _T],
        *,
        beside: pa.Table | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> _T:
        """Ask Spark; secrets and the table beside go there as data, not in the text."""
        from tables.spark.sql import spark_sql

        nothing = None if beside is None else beside.slice(0, 0)
        schema = self._described.arrow(
            f"SELECT * FROM ({sql}) LIMIT 0", parameters, beside=nothing
        ).schema
        views = _secrets(parameters)
        if beside is not None:
            views[self.beside] = as_spark(beside)

        def work() -> _T:
            tables = {self._relation: self._relation_for(sql)}
            text = spark_sql(sql, parameters, columns=self.columns, tables=tables)
            self._show(views)
            return receive(self._session.sql(text), schema)

        with self._lock:
            try:
                return self._run(work, progress)
            finally:
                for view in (SECRETS, self.beside):
                    self._session.catalog.dropTempView(view)

    def _relation_for(self, sql: str) -> str:
        """Return the records that a statement reads: those that workers keep, if these do."""
        from tables.spark.sql import columns_of

        columns, cache = columns_of(sql, self._relation), self._cache
        if cache is None or (columns is None and hashing.KEY_OF not in sql):
            return self._relation
        columns = {*self.columns} if columns is None else columns
        has_all = cache.frame is not None and columns <= cache.columns.keys()
        if hashing.KEY_OF in sql and not has_all:
            self._fill_cache([*cache.columns, *self._needed, *columns])
            has_all = True
        return cache.view if has_all else self._relation

    def _fill_cache(self, columns: Iterable[str]) -> None:
        """Let workers keep columns with hashed keys in their memory, as far as it goes.

        Each of some ten statements would hash all identifiers again otherwise. What does not
        fit is hashed again, and nothing of it goes to a disk.
        """
        from pyspark import StorageLevel

        from tables.spark.sql import spark_sql

        if self._cache is None:
            return
        cache, names = self._cache, dict.fromkeys(columns)
        listing, parameters = "".join(f"{quote(name)}, " for name in names), {"key": cache.key}
        text = spark_sql(
            f"SELECT {listing}({_KEY} >> 0) AS {quote(hashing.KEY_COLUMN)} "
            f"FROM (SELECT {listing}{cache.sql} AS {_KEY} FROM {self._relation})",
            parameters,
            columns=self.columns,
        )
        self._show(_secrets(parameters))
        before, cache.frame = cache.frame, self._session.sql(text)
        cache.columns, cache.view = names, f"{self._relation}_cache"
        cache.frame.persist(StorageLevel.MEMORY_ONLY).createOrReplaceTempView(cache.view)
        if before is not None:
            before.unpersist()

    def _drop_cache(self) -> None:
        """Let workers forget what they keep."""
        cache, self._cache = self._cache, None
        if cache is not None and cache.frame is not None:
            with contextlib.suppress(Exception), quiet():  # Spark may have ended before
                cache.frame.unpersist()

    def _show(self, views: Mapping[str, pa.Table]) -> None:
        for name, table in views.items():
            self._session.createDataFrame(table).createOrReplaceTempView(name)

    def _run(
        self, work: Callable[[], _T], progress: Callable[[float], None] | None = None
    ) -> _T:
        """Let Spark work; what it says of a failure quotes records, and is not chained."""
        self._group = f"ckm {next(_groups)}"

        def grouped() -> _T:
            if self._context is None:
                self._session.addTag(self._group)
            else:
                self._context.setJobGroup(self._group, "ckm", interruptOnCancel=True)
            return work()

        with self._lock, quiet():
            outcome = self._wait(grouped, progress)
            try:
                return outcome.result()
            except BaseException as error:  # noqa: BLE001  (explained)
                problem = explain(error, self.label)
        raise problem

    def _interrupt(self) -> None:
        if self._context is None:
            self._session.interruptTag(self._group)
        else:
            self._context.cancelJobGroup(self._group)

    def _share(self) -> float:
        """Return the share of the tasks done, of the tasks that Spark knows so far."""
        if self._context is None:
            return 0.0
        tracker = self._context.statusTracker()
        jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(self._group)]
        stages = [tracker.getStageInfo(s) for job in jobs if job for s in job.stageIds]
        tasks = sum(stage.numTasks for stage in stages if stage)
        n_done = sum(self._tasks_done(stage) for stage in stages if stage)
        return n_done / tasks if tasks else 0.0

    def _tasks_done(self, stage: Any) -> float:
        """Return how many tasks of a stage are done, those that read records in part."""
        if stage.numCompletedTasks == stage.numTasks or not self._n_described:
            return float(stage.numCompletedTasks)
        from py4j.protocol import Py4JError

        context = cast("Any", self._context)
        try:
            store = context._jsc.sc().statusStore()  # noqa: SLF001
            n_read = store.lastStageAttempt(stage.stageId).inputRecords()
        except Py4JError:  # the stage is not known there any more, or not yet
            return float(stage.numCompletedTasks)
        share = min(n_read / self._n_described, 1.0)
        return float(max(stage.numTasks * share, stage.numCompletedTasks))


def open_spark(
    data: object,
    *,
    master: str = LOCAL,
    settings: Mapping[str, str] | None = None,
    session: SparkSession | None = None,
) -> SparkSource:
    """Open Parquet files for tabulation by Spark, of this machine or of a store of others.

    `settings` and `session` are those of `open_session`.
    """
    place = place_of(data)
    open_own = functools.partial(open_session, master, settings=settings, session=session)
    if place is not None and place.kind is PlaceKind.STORE:
        if place.scheme == CATALOG:
            return _open_table(place, open_own())
        return _open_far(place, _far(place.uri), open_own())
    described = open_source(data if place is None else place, threads=1)
    try:
        root = _require_plain(described, place)
        return SparkSource(described, session=open_own(), root=root)
    except BaseException:
        described.close()
        raise


def _open_far(place: Place, path: str, session: SparkSession) -> SparkSource:
    """Open files that Spark alone can read; it tells their columns."""
    problem = None
    try:
        with quiet():
            path, root = _existing(path, session)
            reader = session.read if root is None else session.read.option("basePath", root)
            records = reader.parquet(path)
            columns = records.limit(0).toArrow()
            footer = _footer_texts(records, session)
    except Exception as error:  # noqa: BLE001  (explained)
        problem = explain(error, place.label)
    if problem is not None:  # no chain: Spark's texts quote records
        raise problem
    refusals = _unseen(columns.column_names, footer)
    frame = columns.drop_columns(list(refusals))
    if not frame.column_names:
        first = next(iter(refusals.values()))
        raise SourceError(first.problem, hint=first.hint)
    described = open_source(frame, threads=1)
    described.label = place.label
    described.refusals.update(refusals)
    texts = [footer[LABELS_KEY]] if LABELS_KEY in footer else []
    labels, described.missing_codes = marked_labels(texts, frame.column_names)
    described.labels.update(labels)
    warn_of_missing(described.missing_codes, described.label)
    return SparkSource(described, session=session, place=path, root=root)


def _open_table(place: Place, session: SparkSession) -> SparkSource:
    """Open a table of the catalog of a session, whatever format it has there."""
    problem, name = None, place.uri.partition("://")[2]
    try:
        with quiet():
            is_there = session.catalog.tableExists(name)
            columns = session.table(name).limit(0).toArrow() if is_there else None
    except Exception as error:  # noqa: BLE001  (explained)
        problem = explain(error, place.label)
    if problem is not None:  # no chain: Spark's texts quote records
        raise problem
    if columns is None:
        raise SourceError(
            Message("The catalog of Spark has no table {label!r}.", label=Name(place.label)),
            hint=Message(
                "write it as SHOW TABLES names it, catalog://database.table; a temporary view "
                "is seen by its own session alone"
            ),
        )
    described = open_source(columns, threads=1)
    described.label = place.label
    return SparkSource(described, session=session, table=name)


def _footer_texts(records: DataFrame, session: SparkSession) -> dict[str, str]:
    """Return what the footer of the first file says beside its columns; no server tells it."""
    urls = records.inputFiles() if hasattr(session, "_jsparkSession") else []
    if not urls:
        return {}
    context = cast("Any", session.sparkContext)
    jvm, settings = context._jvm, context._jsc.hadoopConfiguration()  # noqa: SLF001
    path = jvm.org.apache.hadoop.fs.Path(jvm.java.net.URI(min(urls)))
    footer = jvm.org.apache.parquet.hadoop.ParquetFileReader.readFooter(settings, path)
    return dict(footer.getFileMetaData().getKeyValueMetaData())


def _unseen(names: Sequence[str], footer: Mapping[str, str]) -> dict[str, Refusal]:
    """Return the columns whose values Spark takes for others, by what Arrow noted of them.

    A period of pandas is a whole number there, and a duration one of an unknown unit.
    """
    if _ARROW_SCHEMA not in footer:
        return {}
    try:
        schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(footer[_ARROW_SCHEMA])))
    except (pa.ArrowException, ValueError, OSError):  # of another program
        return {}
    refusals = {}
    for each in schema:
        reading = reading_of(each)
        if each.name in names and reading.refusal is not None:
            refusals[each.name] = reading.refusal
        elif each.name in names and not (reading.is_plain or reading is ALL_MISSING):
            words = (
                said(reading.words)
                if reading.words
                else Message("values of the type {type}", type=Name(str(each.type)))
            )
            refusals[each.name] = Refusal(
                problem=Message(
                    "Column {field!r} holds {words}, which Spark does not read on a store.",
                    field=Name(each.name),
                    words=words,
                ),
                hint=Message("write them as text, or copy the files to this machine"),
            )
    return refusals


def _existing(place: str, session: SparkSession) -> tuple[str, str | None]:
    """Return the glob of a place, and the folder before its first wildcard, if it has one.

    What exists is never a pattern, whatever signs its name holds.
    """
    parts = place.split("/")
    for number in range(3, len(parts)):  # after the scheme and the bucket
        if not _WILDCARDS.search(parts[number]):
            continue
        literal = "/".join([*parts[:3], *map(_escaped, parts[3 : number + 1])])
        if not _is_there(literal, session):
            fixed = [*parts[:3], *map(_escaped, parts[3:number])]
            _require_no_names([*fixed, *parts[number:]], number, session)
            return "/".join([*fixed, *parts[number:]]), "/".join(parts[:number])
    return "/".join([*parts[:3], *map(_escaped, parts[3:])]), None


def _is_there(place: str, session: SparkSession) -> bool:
    """Tell whether there is a file or a folder of this name, or one below a pattern."""
    from pyspark.errors import AnalysisException

    try:
        # A server looks no sooner than it is asked for the columns.
        _ = session.read.format("binaryFile").load(place).schema
    except AnalysisException as error:
        if "PATH_NOT_FOUND" not in str(error):
            raise
        return False
    return True


def _require_no_names(pattern: Sequence[str], start: int, session: SparkSession) -> None:
    """Refuse a part of a pattern behind its first wildcard that is a name there, too.

    On this machine it would be read as the name, and Spark takes it for a pattern.
    """
    for number in range(start + 1, len(pattern)):
        part = pattern[number]
        if not _WILDCARDS.search(part) or set(part) == {"*"}:
            continue
        if not _is_there("/".join([*pattern[:number], _escaped(part)]), session):
            continue
        raise SourceError(
            Message(
                "Behind a wildcard, {part!r} is a name there, and a pattern for Spark.",
                part=Argument(part),
            ),
            hint=Message("rename it, or write all of the path without wildcards before it"),
        )


def _require_plain(described: Source, place: Place | None) -> str | None:
    """Raise unless the files are Parquet.

    Return the folder below which names of folders are columns.
    """
    for file in described.files:
        if file_format(file) != "parquet":
            raise SourceError(
                Message("Spark reads Parquet files alone here."),
                hint=Message('write the records to Parquet, or use engine = "duckdb"'),
            )
    parquet = described.parquet
    has_folders = parquet is not None and set(described.columns) > set(parquet.types)
    return f"file://{place.folder}" if place is not None and has_folders else None


def _hadoop_path(file: str) -> str:
    """Write a path so that no character of it stands for others, nor for another system."""
    return "file://" + _escaped(os.path.abspath(file))  # noqa: PTH100


def _escaped(name: str) -> str:
    return _WILDCARDS.sub(r"\\\g<0>", name)


def _far(path: str) -> str:
    """Return what Spark is told of a path."""
    if Address(path).has_password:
        raise SourceError(
            Message("The address must not hold a password."),
            hint=Message("the connector finds it in AWS_… or in spark-defaults.conf"),
        )
    return as_connectors_know(path)


@dataclass(frozen=True, slots=True, kw_only=True)
class _SparkColumn:
    """How Spark reads a column of a file: the type found there, and what is made of it."""

    read_as: str | None
    sql: str


@dataclass(slots=True, kw_only=True, repr=False)
class _RecordCache:
    """Columns of the records that workers keep with the bits of hashed keys.

    Parameters
    ----------
    column, key, sql
        The identifier, the key of its hash, and the expression of that.
    columns, frame, view
        The columns beside it, once a statement asked for them, and what Spark calls them.
    """

    column: str
    key: bytes
    sql: str
    columns: dict[str, None] = field(default_factory=dict)
    frame: DataFrame | None = None
    view: str = ""


def _secrets(parameters: Mapping[str, object]) -> dict[str, pa.Table]:
    """Return the view of parameters that are bytes: they are no part of a text."""
    secrets = {name: [value] for name, value in parameters.items() if isinstance(value, bytes)}
    return {SECRETS: pa.Table.from_pydict(secrets)} if secrets else {}


def _spark_column(name: str, kind: str, column: FoundColumn | None) -> _SparkColumn | None:
    """Return how Spark reads a column as one of DuckDB's types; None if it does not."""
    target = read_as(kind)
    if target is None:
        return None
    if column is None:
        return _SparkColumn(read_as=target, sql=_quoted(name))
    if column.reading.kind == NOTHING:
        return _SparkColumn(read_as=None, sql=f"CAST(NULL AS {target})")
    own = "string" if column.duckdb_type == "JSON" else read_as(column.duckdb_type)
    if own is None:
        return None
    sql = column.reading.spark.format(_quoted(name))
    result = column.reading.kind or column.duckdb_type
    return _SparkColumn(read_as=own, sql=sql if result == kind else f"CAST({sql} AS {target})")


def _refusal(name: str, kind: str) -> Refusal:
    refusal = refusal_of(name, kind)
    if kind_of(kind) == "other":
        return refusal
    return Refusal(
        problem=Message(
            "Column {name!r} holds values of the type {kind}, which Spark does not read.",
            name=Name(name),
            kind=said(kind),
        ),
        hint=Message('write them as text, or use engine = "duckdb"'),
    )


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _local_path(url: str) -> str:
    return urllib.parse.unquote(urllib.parse.urlsplit(url).path)


def _refuse(problem: str) -> NoReturn:
    raise SourceError(problem, hint=Message('use engine = "duckdb" for this'))
