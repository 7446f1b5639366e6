"""Records tabulated by Spark, where one machine is too small.

DuckDB still reads the files' schema, from which it tells names and types of every answer;
the records are read by Spark alone. See `tables.spark.sql` for what makes the answers equal.
"""

from __future__ import annotations

import itertools
import os
import re
import threading
import urllib.parse
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import pyarrow as pa

from tables.errors import SourceError
from tables.keyed_hash import plaintext_sql
from tables.source.files import file_format
from tables.source.source import Source, open_source
from tables.spark.session import LOCAL, open_session, quiet
from tables.spark.types import SECRETS, as_spark, as_wanted, kept_as, read_as

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import SparkSession

_TICK_S = 0.2
_T = TypeVar("_T")
_groups = itertools.count()


class SparkSource(Source):
    """An opened source of records that Spark tabulates; made by `open_spark`.

    It has the face of `Source`, but answers aggregates only: it keeps no records in memory
    and writes no copies of them.

    Parameters
    ----------
    described
        The same files, opened by DuckDB; nothing but their schema is read there.
    session
        The session of Spark.
    """

    def __init__(self, described: Source, *, session: SparkSession) -> None:
        # Not that of Source: the columns are already described.
        self._described = described
        self._session = session
        self._context = session.sparkContext
        self._lock = threading.RLock()
        self._sweep = described.close
        self._numbers = itertools.count()
        self.is_prepared = True
        self.files = described.files
        self.label = described.label
        self.orders = described.orders
        self.sound = {}
        self._hashes = {}
        self.spreads = {}
        self.columns = described.columns
        self._relation = described.relation
        types = {name: read_as(kind) for name, kind in self.columns.items()}
        self._types = {name: kind for name, kind in types.items() if kind is not None}
        self.types = {
            name: kind if name in self._types else "" for name, kind in self.columns.items()
        }
        self.kinds = {
            name: kind if name in self._types else "other"
            for name, kind in described.kinds.items()
        }
        # DuckDB tells the types of answers alone, so any function of this type will do there.
        described.fetch("CREATE MACRO ckm_aes(message, key) AS hex(message)")
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
        from tables.spark.sql import spark_sql

        given = parameters or {}
        nothing = None if beside is None else beside.slice(0, 0)
        wanted = self._described.arrow(
            f"SELECT * FROM ({sql}) LIMIT 0", given, beside=nothing
        ).schema
        text = spark_sql(sql, given, columns=self.columns)
        secrets = {name: [value] for name, value in given.items() if isinstance(value, bytes)}
        with self._lock:
            try:
                answer = self._run(lambda: self._ask(text, secrets, beside), progress)
            finally:
                for view in (SECRETS, self.beside):
                    self._session.catalog.dropTempView(view)
        return as_wanted(answer, wanted)

    def keyed_hash(self, column: str, key: bytes, parameters: dict[str, object]) -> str:
        """Return the SQL of a column's keyed hash, which Spark computes itself."""
        parameters["key"] = key
        return f"('0x' || left(ckm_aes({plaintext_sql(column)}, $key), 16))::UBIGINT"

    def aside(self, *_given: Any, **_options: Any) -> NoReturn:
        """Refuse: there is no answer on the fly."""
        _refuse("Spark answers no requests on the fly.")

    def new_name(self, *_given: Any, **_options: Any) -> NoReturn:
        """Refuse, as `keep` and `create`: there are no prepared records."""
        _refuse("Spark keeps no records ready for requests.")

    keep = create = new_name

    def batches(self, *_given: Any, **_options: Any) -> NoReturn:
        """Refuse: records stay where they are."""
        _refuse("Records are not fetched from Spark.")

    def copy(self, *_given: Any, **_options: Any) -> NoReturn:
        """Refuse: records stay where they are."""
        _refuse("Records are not copied by Spark.")

    def prepare_grouping(self, *, has_sums: bool = False) -> None:
        """Do nothing: Spark chooses how to group by itself."""

    def __repr__(self) -> str:
        return f"SparkSource({self.label!r}, {len(self.columns)} columns)"

    def _name_records(self) -> None:
        """Name the records in the session, after a check that Spark reads the same ones."""
        quoted = {name: "`" + name.replace("`", "``") + "`" for name in self._types}
        shape = ", ".join(f"{q} {self._types[name]}" for name, q in quoted.items())
        records = self._session.read.schema(shape).parquet(*map(_hadoop_path, self.files))
        read = {os.path.realpath(_local_path(file)) for file in records.inputFiles()}
        if read != {os.path.realpath(file) for file in self.files}:
            raise SourceError(
                f"Spark does not read every file of {self.label!r}.",
                hint="it skips names that begin with _ or a full stop: rename these files",
            )
        kept = [f"{kept_as(q, self.columns[name])} AS {q}" for name, q in quoted.items()]
        records.selectExpr(*kept).createOrReplaceTempView(self._relation)

    def _ask(
        self, text: str, secrets: Mapping[str, list[bytes]], beside: pa.Table | None
    ) -> pa.Table:
        """Ask Spark; secrets and the table beside go there as data, not in the text."""
        views = {SECRETS: pa.table(dict(secrets))} if secrets else {}
        if beside is not None:
            views[self.beside] = as_spark(beside)
        for name, table in views.items():
            self._session.createDataFrame(table).createOrReplaceTempView(name)
        return self._session.sql(text).toArrow()

    def _run(
        self, work: Callable[[], _T], progress: Callable[[float], None] | None = None
    ) -> _T:
        """Let a thread wait for Spark, so that progress and Ctrl-C get a hearing meanwhile."""
        group = f"ckm {next(_groups)}"
        found: list[_T] = []
        problems: list[BaseException] = []

        def settle() -> None:
            try:
                self._context.setJobGroup(group, "ckm", interruptOnCancel=True)
                found.append(work())
            except BaseException as error:  # noqa: BLE001  (explained here, raised below)
                problems.append(_explain(error, self.label))

        with self._lock, quiet():
            worker = threading.Thread(target=settle, daemon=True)
            worker.start()
            seen = 0.0
            try:
                while worker.is_alive():
                    worker.join(_TICK_S)
                    if progress is not None and worker.is_alive():
                        seen = max(seen, self._share(group))
                        progress(seen)
            except BaseException:
                self._context.cancelJobGroup(group)
                worker.join()
                raise
        if problems:  # no chain: Spark's texts quote records
            raise problems[0]
        return found[0]

    def _share(self, group: str) -> float:
        """Return the share of the tasks done, of the tasks that Spark knows so far."""
        tracker = self._context.statusTracker()
        jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
        stages = [tracker.getStageInfo(s) for job in jobs if job for s in job.stageIds]
        total = sum(stage.numTasks for stage in stages if stage)
        done = sum(stage.numCompletedTasks for stage in stages if stage)
        return done / total if total else 0.0


def open_spark(path: object, *, master: str = LOCAL) -> SparkSource:
    """Open Parquet files for tabulation by Spark."""
    described = open_source(path, threads=1)
    try:
        _require_plain(described)
        return SparkSource(described, session=open_session(master))
    except BaseException:
        described.close()
        raise


def _require_plain(described: Source) -> None:
    """Raise unless the files are Parquet, with the names of columns that DuckDB tells."""
    import pyarrow.parquet as pq

    for file in described.files:
        if file_format(file) != "parquet":
            raise SourceError(
                "Spark reads Parquet files alone here.",
                hint='write the records to Parquet, or use engine = "duckdb"',
            )
        if pq.read_schema(file).names != list(described.columns):
            raise SourceError(
                f"Columns of {Path(file).name!r} differ in upper and lower case alone, or are "
                "names of folders.",
                hint='rename them, or use engine = "duckdb"',
            )


def _hadoop_path(file: str) -> str:
    """Write a path so that no character of it stands for others, nor for another system."""
    return "file://" + re.sub(r"([\\*?{}\[\]])", r"\\\1", os.path.abspath(file))  # noqa: PTH100


def _local_path(url: str) -> str:
    return urllib.parse.unquote(urllib.parse.urlsplit(url).path)


def _refuse(problem: str) -> NoReturn:
    raise SourceError(problem, hint='use engine = "duckdb" for this')


def _explain(error: BaseException, label: str) -> BaseException:
    """Say what Spark could not do, without its text."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    if not isinstance(error, (PySparkException, Py4JError, OSError)) or isinstance(
        error, SourceError
    ):
        return error
    text = str(error)
    if "OutOfMemory" in text or "maxResultSize" in text:
        return SourceError(
            "The work does not fit into Spark's memory.",
            hint="raise spark.driver.memory and spark.driver.maxResultSize in "
            "spark-defaults.conf, or ask for fewer dimensions",
        )
    if re.search(r"CAST_OVERFLOW|OUT_OF_RANGE|ARITHMETIC_OVERFLOW|CAST_INVALID_INPUT", text):
        what = "holds values that do not fit their column's type"
    elif "INVALID_UTF8_STRING" in text:
        what = "is damaged or not of its format"
    else:
        what = f"cannot be tabulated by Spark ({type(error).__name__})"
    return SourceError(
        f"The source {label!r} {what}.", hint='try engine = "duckdb" on a part of the files'
    )
