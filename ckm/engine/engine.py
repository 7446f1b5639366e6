"""The engine: records, keys and a p-table together, ready to answer table requests."""

from __future__ import annotations

import functools
import logging
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Self

from ckm.engine.inputs import (
    find_secret,
    given_cells,
    open_records,
    require_counts,
    require_enough,
)
from ckm.engine.internal_measures import assessed
from ckm.engine.magnitudes.sensitive.named import NamedKeys, named_requests
from ckm.engine.magnitudes.settings import VariableNoises
from ckm.engine.protection import Protected, Protection
from ckm.engine.request import EmptyCells, MissingValues, TableRequest
from ckm.engine.request_fitting import RequestFitter
from ckm.errors import ConfigError
from footing.messages import Message
from footing.progress import Progress, no_progress
from footing.svg import html_table
from tables import HashedKeys, ReadOptions, Request, Secret, StoredKeys, check_keys, cube
from tables.cells.cube import cell_table
from tables.cells.order import values_at
from tables.cells.sketch import require_sketchable
from tables.filtering.filters import Filter
from tables.keys import KEY_VERSION
from tables.prepared.prepare import prepare
from tables.quality import KeyQuality
from tables.recoding.variable import as_variables

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from ckm.engine.cell_histogram import CountHistogram
    from ckm.engine.magnitudes import MagnitudeNoise
    from ckm.engine.protection import ProtectedCells
    from ckm.engine.published_table import PublishedTable
    from ckm.engine.streamed_table import StreamedTable
    from ckm.ledger.watch import Watch
    from footing.places import FileState
    from ptable import PTable
    from tables import Cells
    from tables.prepared.prepared import Prepared
    from tables.quality import Action

#: Called with a stage, the steps done and the steps in all.

logger = logging.getLogger(__name__)


class Engine:
    """Answer table requests with consistently perturbed counts.

    The same set of records gets the same noise in every table, whatever the request.

    Parameters
    ----------
    data
        Whatever `tables.open_source` takes: files, a database, a pandas or Arrow table, …
    id
        Column of a stable identifier, from which record keys are hashed.
    record_key
        Column of stored record keys, instead of `id`.
    key_range
        For stored integer keys: one more than the largest possible key.
    cells, count, cell_key
        For a table of cells instead of records: the columns that tell cells apart, that of
        numbers of records, and that of sums of record keys modulo their range. Without keys,
        only a p-table that leaves nothing to chance can be used.
    weight
        Column of weights, for the measure ``"weighted"``. Sums and means are weighted then.
    secret
        The secret, or the file that holds it; by default the environment variable
        ``CKM_SECRET``. Not needed for stored keys with ``mix=False``.
    ptable
        The perturbation table.
    hierarchies
        Dimension → columns from broad to fine, or the file of a code tree, or
        ``{"column": …, "tree": …}``.
    categories
        Dimension → declared categories, or the CSV or Parquet file that lists them.
    variables
        What is derived from columns, such as bands of age: `DerivedVariable` each, or name →
        its settings, ``{"age5": {"of": "age", "width": 5}}``. They are dimensions, levels of
        hierarchies and columns of filters like those of the data.
    mix
        Mix the cell key with the secret before the lookup. False replays other tools, at
        the price that noises of a total and of its parts depend on each other.
    key_version
        The version of the record keys of `id`; 1 gives the noise of 0.1.0, for ledgers that go
        on.
    checks
        What a defect of the record keys does: ``"stop"``, ``"warn"`` or ``"skip"``.
    allow_empty
        Accept data without a record, of which every table is empty.
    round_weighted
        Round weighted counts to about one mean weight of their cell. False keeps all digits,
        which replays other tools and gives the number of records away.
    magnitudes
        The noise of sums and means: one for every variable, or variable → its own. Variables
        that are not named have `MagnitudeNoise.start`.
    total_label, missing_label
        What totals and missing categories are called in the tables.
    table
        The table inside a DuckDB file or a database.
    types, text, decimal, missing
        For CSV: column → ``"text"``, ``"integer"``, ``"decimal"`` or ``"date"``; whether all
        others are texts; the decimal mark; texts that stand for a missing value. See
        `tables.ReadOptions`.
    engine
        What tabulates: ``"duckdb"``, or ``"spark"`` for Parquet files that one machine is too
        small for. The numbers are the same to the bit.
    master
        For ``"spark"``: where it runs, all cores of this machine by default.
    spark
        A session of Spark, beside which another one of the same Spark is opened, instead of
        `engine` and `master`; or settings of Spark, ``{"spark.executor.memory": "8g"}``.
    memory_limit, threads
        DuckDB's memory (``"3GB"``) and threads. They never change a result.

    Raises
    ------
    ConfigError
        If parameters contradict each other.
    tables.TablesError
        If the data, the keys or the secret cannot be used.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from ptable import NoiseSpec, solve
    >>> people = pa.table({"id": range(90), "sex": ["F", "M", "F"] * 30})
    >>> table = solve(NoiseSpec(max_noise=2, variance=1.0))
    >>> engine = Engine(people, id="id", secret=Secret(bytes(16)), ptable=table)
    >>> engine.tabulate(["sex"])
    PublishedTable(sex, count; 3 cells)

    Sums and means of a variable have noise of their own:

    >>> people = people.append_column("income", pa.array([2000 + 10 * n for n in range(90)]))
    >>> engine = Engine(people, id="id", secret=Secret(bytes(16)), ptable=table)
    >>> engine.tabulate(["sex"], measures=["count", "sum:income", "mean:income"])
    PublishedTable(sex, count, sum_income, mean_income; 3 cells)
    """

    def __init__(
        self,
        data: object,
        *,
        ptable: PTable,
        id: str | None = None,  # noqa: A002  (the word of the job file)
        record_key: str | None = None,
        key_range: int | None = None,
        cells: Sequence[str] | None = None,
        count: str = "count",
        cell_key: str | None = None,
        weight: str | None = None,
        secret: Secret | str | os.PathLike[str] | None = None,
        hierarchies: Mapping[str, object] | None = None,
        categories: Mapping[str, object] | None = None,
        variables: Sequence[object] | Mapping[str, object] = (),
        mix: bool = True,
        key_version: int = KEY_VERSION,
        checks: Action = "stop",
        allow_empty: bool = False,
        round_weighted: bool = True,
        magnitudes: MagnitudeNoise | Mapping[str, MagnitudeNoise] | None = None,
        total_label: str = "Total",
        missing_label: str = "(missing)",
        table: str | None = None,
        types: Mapping[str, str] | None = None,
        text: bool = False,
        decimal: str = ".",
        missing: Sequence[str] = (),
        engine: Literal["duckdb", "spark"] = "duckdb",
        master: str | None = None,
        spark: object = None,
        memory_limit: str | None = None,
        threads: int | None = None,
    ) -> None:
        if (id is None) + (record_key is None) + (cells is None) != 2:
            raise ConfigError(
                Message("Keys need one of id, record_key, and cells with cell_key."),
                hint=Message('id = "person_id" hashes a stable identifier'),
            )
        table_cells = None
        if cells is not None:
            table_cells = given_cells(
                cells,
                count=count,
                cell_key=cell_key,
                key_range=key_range,
                hierarchies=hierarchies or {},
                labels=(total_label, missing_label),
            )
        settings, session = (spark, None) if isinstance(spark, Mapping) else (None, spark)
        if spark is not None:
            engine = "spark"
        mix = mix and (cells is None or cell_key is not None)
        own_secret = find_secret(secret, is_needed=mix or id is not None)
        if table_cells is not None:
            self._keys: HashedKeys | StoredKeys = table_cells.keys
        elif id is not None and own_secret is not None:
            self._keys = HashedKeys(column=id, secret=own_secret, version=key_version)
        else:
            self._keys = StoredKeys(column=str(record_key), key_range=key_range)
        require_counts(ptable)
        self._protection = Protection(
            ptable=ptable,
            secret=own_secret,
            mixes=mix,
            noises=VariableNoises(magnitudes),
            weight=weight,
            rounds_weighted=round_weighted,
        )
        self._checks, self._allows_empty = checks, allow_empty
        self._cells_of_others: list[tuple[Request, Cells]] = []
        self._quality: KeyQuality | None = None
        self._source = open_records(
            data,
            engine=engine,
            master=master,
            settings=settings,
            spark=session,
            table=table,
            cells=table_cells,
            options=ReadOptions(types=types or {}, text=text, decimal=decimal, missing=missing),
            variables=as_variables(variables),
            memory_limit=memory_limit,
            threads=threads,
        )
        try:
            self._fitter = RequestFitter(
                self._source,
                self._keys,
                noises=self._protection.noises,
                weight=weight,
                hierarchies=hierarchies or {},
                categories=categories or {},
                labels=(total_label, missing_label),
            )
            weights = [] if weight is None else [weight]
            for name in (self._keys.column, *weights, *self._protection.noises.named):
                self._source.require(name)
        except BaseException:
            self._source.close()
            raise

    @property
    def files(self) -> tuple[str, ...]:
        """The files that hold the records."""
        return self._source.files

    @property
    def labels(self) -> dict[str, dict[str, str]]:
        """What the files call their categories, by column: those of SPSS and Stata do."""
        return {name: dict(texts) for name, texts in self._source.labels.items()}

    def check_keys(self) -> KeyQuality:
        """Check the record keys, once; see `tables.check_keys`.

        Returns
        -------
        tables.KeyQuality
            What was found.

        Raises
        ------
        tables.KeyQualityError
            If a defect was found under ``checks="stop"``.
        tables.DataError
            If there is no record, unless that is allowed.
        """
        if self._quality is None:
            if not self._allows_empty:
                self._source.require_some()
            if self._source.cells is not None:
                self._source.cells.require(self._source, [], cube)
            self._quality = check_keys(self._source, self._keys, action=self._checks)
        return self._quality

    def validate(self, requests: Mapping[str, TableRequest], *, sketch: int = 0) -> None:
        """Raise one error with all problems of the requests; read no record.

        Parameters
        ----------
        requests
            Name → request.
        sketch
            Also require record keys that a ledger can use, for differences of so many
            records.

        Raises
        ------
        ConfigError, tables.RequestError
            If requests contradict themselves or do not fit the columns.
        """
        cell_requests = self.requests_of_cells(requests)
        self._named_requests(requests)
        require_enough(
            self._source.cells, cell_requests, ptable=self._protection.ptable, sketch=sketch
        )
        if sketch:
            require_sketchable(sketch, self._keys.resolve(self._source))

    def tabulate(
        self,
        dimensions: Sequence[str],
        *,
        margins: str | Sequence[Sequence[str]] = "all",
        where: str | None = None,
        measures: Sequence[str] = ("count",),
        empty_cells: EmptyCells = "auto",
        missing_values: MissingValues = "stop",
    ) -> PublishedTable:
        """Tabulate and protect one table; ``measures(internal=True)`` of it gives risk and use.

        Parameters
        ----------
        dimensions, margins, where, measures, empty_cells, missing_values
            See `TableRequest`.

        Returns
        -------
        PublishedTable
            The protected table.

        Raises
        ------
        tables.TablesError, ConfigError
            If the request is wrong, or the data do not fit it.
        """
        request = TableRequest(
            dimensions=dimensions,
            margins=margins,
            where=where,
            measures=measures,
            empty_cells=empty_cells,
            missing_values=missing_values,
        )
        (protected,) = self.protect_tables({"": request})
        self._warn_of_sums(protected.cautions)
        table = protected.table
        numbers = assessed(
            table.measures,
            counts=protected.cells.count,
            published=protected.counts,
            ptable=self.ptable,
        )
        return replace(table, measures=numbers)

    def tabulate_all(
        self,
        requests: Mapping[str, TableRequest],
        *,
        watch: Watch | None = None,
        progress: Progress | None = None,
    ) -> dict[str, PublishedTable]:
        """Tabulate and protect several tables in one scan of the records.

        Parameters
        ----------
        requests
            Name → request.
        watch
            What enters the tables in a ledger; publish them there before anybody sees them.
        progress
            Called with a stage (``"keys"``, ``"scan"``, ``"protect"``), the steps done and
            the steps in all.

        Returns
        -------
        dict
            Name → protected table.

        Raises
        ------
        tables.TablesError, ConfigError
            If a request is wrong, or the data do not fit it.
        """
        make = self.protect_tables if watch is None else functools.partial(watch.tables, self)
        answers = {}
        for protected in make(requests, progress=progress):
            answers[protected.name] = protected.table
            self._warn_of_sums(protected.cautions)
            del protected  # its cells, before those of the next table are protected
        return answers

    def requests_of_cells(self, requests: Mapping[str, TableRequest]) -> dict[str, Request]:
        """Return what is tabulated for each table; raise one error with all problems.

        Parameters
        ----------
        requests
            Name → request.

        Raises
        ------
        ConfigError, tables.RequestError
            If requests contradict themselves or do not fit the columns.
        """
        cell_requests = self._fitter.fit(requests)
        for request in cell_requests.values():
            self._source.expect(request.read_columns)
        return cell_requests

    def noise_identities(self, requests: Mapping[str, TableRequest]) -> dict[str, str]:
        """Return what tells the noise of the sums of tables apart, for a ledger.

        Parameters
        ----------
        requests
            Name → request.
        """
        return self._protection.noise_identities(requests.values())

    def protect_tables(
        self,
        requests: Mapping[str, TableRequest],
        *,
        sketch: int = 0,
        progress: Progress | None = None,
    ) -> Iterator[Protected]:
        """Tabulate several tables in one scan of the records, and protect one after the other.

        Cells may fill the memory: each table's are gone once whoever takes the table lets go
        of it.

        Parameters
        ----------
        requests
            Name → request.
        sketch
            Let cells have what a ledger compares, for differences of so many records.
        progress
            As for `tabulate_all`.

        Yields
        ------
        Protected
            Each table with its cells before protection, which must stay inside.

        Raises
        ------
        tables.TablesError, ConfigError
            If a request is wrong, or the data do not fit it.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from ptable import NoiseSpec, solve
        >>> people = pa.table({"id": range(90), "sex": ["F", "M", "F"] * 30})
        >>> noise = solve(NoiseSpec(max_noise=2, variance=1.0))
        >>> engine = Engine(people, id="id", secret=Secret(bytes(16)), ptable=noise)
        >>> wanted = {"people": TableRequest(dimensions=["sex"])}
        >>> [(found.name, found.table) for found in engine.protect_tables(wanted)]
        [('people', PublishedTable(sex, count; 3 cells))]
        """
        protection, cell_requests = self._protection, self.requests_of_cells(requests)
        secret = protection.sums_secret(requests.values())
        lookups = self._named_requests(requests)
        report_progress = progress or no_progress
        report_progress("keys", 0, 1)
        protection.require_keys(requests.values(), quality=self.check_keys())
        report_progress("keys", 1, 1)
        require_enough(
            self._source.cells, cell_requests, ptable=protection.ptable, sketch=sketch
        )
        all_requests = [*cell_requests.values(), *(one for _, one in lookups)]
        cells = self._cells(all_requests, progress, sketch=sketch)
        looked_up = zip(
            (request for request, _ in lookups), cells[len(cell_requests) :], strict=True
        )
        named_keys = NamedKeys.of(looked_up, protection.noises)
        protection.require_amounts(requests, cell_requests, self._source)
        report_progress("scan", 100, 100)
        started = time.perf_counter()
        for done, (name, request) in enumerate(requests.items()):
            report_progress("protect", done, len(requests))
            # No variable here holds a table or its cells while its taker has them.
            yield self._protected(
                name, request, cell_requests[name], named_keys.flag(cells.pop(0)), secret=secret
            )
        report_progress("protect", len(requests), len(requests))
        seconds = round(time.perf_counter() - started, 3)
        logger.info("protected", extra={"tables": len(requests), "protect_s": seconds})

    def _protected(
        self,
        name: str,
        request: TableRequest,
        cell_request: Request,
        cells: Cells,
        *,
        secret: Secret | None,
    ) -> Protected:
        """Protect the cells of a table, and lay them out."""
        values = functools.partial(values_at, self._source, cell_request, cells)
        protected = self._protection.protect(cells, request, secret=secret, values=values)
        cautions = self._protection.cautions(name, self._protection.alike(cells))
        return Protected.of(name, request, protected, cautions=cautions)

    def stream(
        self,
        request: TableRequest,
        folder: Path,
        *,
        name: str = "",
        most: int = 2_000_000,
        progress: Progress | None = None,
    ) -> StreamedTable:
        """Tabulate and protect a table that need not fit into memory, part by part.

        Its numbers are those of `tabulate_all`. Each part costs a scan of the records.

        Parameters
        ----------
        request
            The table. Its parts are categories of its first dimension.
        folder
            A private folder, for this table alone; the table lives as long as it.
        name
            What warnings call the table.
        most
            How many cells a part may hold at most, see `tables.cells.parts`.
        progress
            As for `tabulate_all`.

        Raises
        ------
        tables.TablesError, ConfigError
            If the request is wrong, or the data do not fit it.
        """
        from ckm.engine.streamed_table import TableSpool

        spool = TableSpool(folder, empty_cells=request.empty_cells)
        parts = self.protect_parts(request, name=name, most=most, progress=progress)
        for _, part in parts:
            spool.add(part)
            del part  # before the next one is tabulated
        return spool.table()

    def protect_parts(
        self,
        request: TableRequest,
        *,
        name: str = "",
        most: int = 2_000_000,
        sketch: int = 0,
        caution: Callable[[str], None] | None = None,
        progress: Progress | None = None,
    ) -> Iterator[tuple[float, ProtectedCells]]:
        """Tabulate and protect the cells of a table part by part; see `stream`.

        Parameters
        ----------
        request, name, most, progress
            As for `stream`.
        sketch
            As for `protect_tables`.
        caution
            Called with what to tell the office of the table; by default that is logged.

        Yields
        ------
        tuple
            The share of the parts that are done with this one, and its cells. The first of
            several parts holds the total over the first dimension, or some of its categories.

        Raises
        ------
        tables.TablesError, ConfigError
            If the request is wrong, or the data do not fit it.
        """
        from tables.cells.parts import cube_parts

        protection, cell_request = self._protection, self._fitter.fit({"": request})[""]
        secret = protection.sums_secret([request])
        require_enough(
            self._source.cells, {"": cell_request}, ptable=protection.ptable, sketch=sketch
        )
        protection.require_keys([request], quality=self.check_keys())
        if request.quantiles:
            raise ConfigError(
                Message(
                    "Quantiles of a table are found in all values of its records at once, and "
                    "not part by part."
                ),
                hint=Message("leave them out, or ask for a smaller table"),
            )
        lookups = self._named_requests({"": request})
        looked_up = self._cells([one for _, one in lookups], None) if lookups else []
        pairs = zip((one for one, _ in lookups), looked_up, strict=True)
        named_keys = NamedKeys.of(pairs, protection.noises)
        del looked_up
        parts = cube_parts(
            self._source,
            self._keys,
            cell_request,
            most=most,
            lists_empty={"grid": True, "drop": False}.get(request.empty_cells),
            tolerate_missing_keys=self._checks == "warn",
            sketch=sketch,
        )
        is_first = True
        alike: dict[str, NDArray[np.int64]] = {}
        for share, cells in parts:
            if is_first:
                protection.require_amounts({"": request}, {"": cell_request}, self._source)
                is_first = False
            named_cells = named_keys.flag(cells)
            part = share, protection.protect(named_cells, request, secret=secret)
            alike = {v: n + alike.get(v, 0) for v, n in protection.alike(cells).items()}
            del cells, named_cells
            yield part
            del part
            if progress is not None:
                progress("scan", int(100 * share), 100)
        texts = protection.cautions(name, alike)
        if caution is None:
            self._warn_of_sums(texts)
        else:
            for text in texts:
                caution(text)

    def write_distributed(
        self, request: TableRequest, place: str | None, *, progress: Progress | None = None
    ) -> int:
        """Tabulate, protect and write a table where the records are, by the workers of Spark.

        Its rows are those of `tabulate`, in the order of each file alone. No cell comes to this
        machine, so that there is no ledger, no report and no check of them.

        Parameters
        ----------
        request
            The table: counts and weighted counts.
        place
            A folder that is not there yet, as workers know it: ``"s3a://bucket/table"``. None
            makes the rows, and counts them without writing.
        progress
            As for `tabulate_all`.

        Returns
        -------
        int
            How many rows there are.

        Raises
        ------
        tables.TablesError, ConfigError
            If the request is wrong, the data do not fit it, or it cannot be written.
        """
        from ckm.engine.distributed import write_distributed

        cell_request = self.requests_of_cells({"": request})[""]
        self._protection.require_keys([request], quality=self.check_keys())
        return write_distributed(
            self._source,
            self._keys,
            request,
            cell_request,
            place,
            protection=self._protection,
            progress=_scan_progress(progress),
        )

    def n_finest_cells(self, request: TableRequest) -> int:
        """Return how many cells a table has before its margins; never publish that."""
        from ckm.engine.distributed import n_finest_cells

        return n_finest_cells(self._source, self.requests_of_cells({"": request})[""])

    def write_rows(self, rows: pa.Table, place: str) -> None:
        """Have the workers of Spark write the rows of a table into a new folder."""
        self._source.write_rows(rows, place)

    def far_files(self, place: str | None = None) -> dict[str, FileState]:
        """Return the files that workers see, of the records or below a place: name → state."""
        return self._source.far_files(place)

    def count_histogram(
        self,
        requests: Mapping[str, TableRequest],
        *,
        progress: Progress | None = None,
    ) -> CountHistogram:
        """Count the cells of each original count, for figures of risk; never publish these.

        Parameters
        ----------
        requests
            Name → request.
        progress
            As for `tabulate_all`.

        Returns
        -------
        ckm.engine.cell_histogram.CountHistogram
            Histograms by table, of the distinct cells of all, and by category.

        Raises
        ------
        tables.TablesError, ConfigError
            If a request is wrong, or the data do not fit it.
        """
        from ckm.engine.cell_histogram import count_histogram

        cell_requests = self._fitter.fit(requests)
        cells = self._cells(list(cell_requests.values()), progress)
        return count_histogram(
            cell_requests,
            dict(zip(cell_requests, cells, strict=True)),
            empty_cells={name: request.empty_cells for name, request in requests.items()},
        )

    def cautions_of_sums(self, requests: Mapping[str, TableRequest]) -> list[str]:
        """Say which sums have the noise of counts, since amounts hardly vary; for inside use.

        Parameters
        ----------
        requests
            Name → request.

        Raises
        ------
        tables.TablesError, ConfigError, MagnitudeError
            If a request is wrong, the data do not fit it, or a sum is refused.
        """
        cell_requests = self._fitter.fit(requests)
        self.check_keys()
        all_cells = self._cells(list(cell_requests.values()), None)
        self._protection.require_amounts(requests, cell_requests, self._source)
        pairs = zip(cell_requests, all_cells, strict=True)
        return [
            text
            for name, cells in pairs
            for text in self._protection.cautions(name, self._protection.alike(cells))
        ]

    def cells(self, requests: Mapping[str, TableRequest]) -> pa.Table:
        """Tabulate the cells that tables are made of, for another office to protect.

        They are disclosive. An engine with ``cells`` makes of them what this one would publish.

        Parameters
        ----------
        requests
            Name → request.

        Returns
        -------
        pyarrow.Table
            See `tables.cell_table`.

        Raises
        ------
        tables.TablesError, ConfigError
            If a request is wrong, or the data do not fit it.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from ptable import NoiseSpec, solve
        >>> people = pa.table(
        ...     {"key": pa.array([1, 2, 255], pa.uint8()), "sex": ["F", "M", "F"]}
        ... )
        >>> noise = solve(NoiseSpec(max_noise=2, variance=1.0))
        >>> engine = Engine(people, record_key="key", ptable=noise, secret=Secret(bytes(16)))
        >>> engine.cells({"people": TableRequest(dimensions=["sex"])}).to_pydict()
        {'sex': ['F', 'M'], 'count': [2, 1], 'cell_key': [0, 2]}
        """
        self.check_keys()
        return cell_table(self._source, self._keys, [*self._fitter.fit(requests).values()])

    def _cells(
        self, cell_requests: Sequence[Request], progress: Progress | None, *, sketch: int = 0
    ) -> list[Cells]:
        if self._cells_of_others and not sketch:
            of_others = [self._cells_of_another(request) for request in cell_requests]
            if None not in of_others:
                return [cells for cells in of_others if cells is not None]
        return cube(
            self._source,
            self._keys,
            cell_requests,
            tolerate_missing_keys=self._checks == "warn",
            sketch=sketch,
            progress=_scan_progress(progress),
        )

    def prepare(
        self,
        dimensions: Sequence[str],
        *,
        sketch: int = 0,
        populations: Mapping[str, str] | None = None,
    ) -> Prepared:
        """Make the records ready for many requests over some dimensions.

        Parameters
        ----------
        dimensions
            Columns or hierarchies; the records are kept in the order of the first one.
        sketch
            Keep what a ledger needs, for differences of up to so many records.
        populations
            Name → filter over any columns, so that cells of its records alone can be found.

        Returns
        -------
        tables.Prepared
            The records, coded and counted; what is found in them goes through `protect`.

        Raises
        ------
        tables.TablesError, ConfigError
            If a dimension does not fit the data, or the keys are not sound.
        """
        if self._source.cells is not None:
            raise ConfigError(
                Message("Requests on the fly and audits need records, and the data are cells."),
                hint=Message("release tables of the cells: ckm release"),
            )
        self.check_keys()
        table_requests = {
            name: TableRequest(dimensions=[name], margins="none") for name in dimensions
        }
        population_requests = self._fitter.fit(
            {n: TableRequest(dimensions=[], where=w) for n, w in (populations or {}).items()}
        )
        return prepare(
            self._source,
            self._keys,
            requests=self._fitter.fit(table_requests),
            weight=self._protection.weight,
            sketch=sketch,
            tolerate_missing_keys=self._checks == "warn",
            populations=[
                r.where for r in population_requests.values() if isinstance(r.where, Filter)
            ],
        )

    def protect(
        self, cells: Cells, *, measures: Sequence[str] = ("count",)
    ) -> dict[str, NDArray[Any]]:
        """Return the published numbers of cells.

        Parameters
        ----------
        cells
            The cells, from records made ready by `prepare`.
        measures
            ``"count"``, ``"weighted"``.

        Returns
        -------
        dict
            Measure → the published number of every cell, the one that `tabulate` gives.
        """
        return self._protection.numbers(cells, measures=measures)

    def protect_each(
        self, parts: Sequence[Cells], *, measures: Sequence[str] = ("count",)
    ) -> list[dict[str, NDArray[Any]]]:
        """Return the published numbers of cells of several tables, looked up together.

        Parameters
        ----------
        parts, measures
            As for `protect`.
        """
        protection = self._protection
        return [
            protection.numbers(cells, published, measures=measures)
            for cells, published in zip(parts, protection.counts_of_each(parts), strict=True)
        ]

    @property
    def ptable(self) -> PTable:
        """The p-table of counts."""
        return self._protection.ptable

    def close(self) -> None:
        """Close the source."""
        self._source.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Engine({self._source.label!r})"

    def _repr_html_(self) -> str:
        protection = self._protection
        facts = {
            "records": self._source.label,
            "columns": ", ".join(self._source.columns),
            "record keys": f"{type(self._keys).__name__} of {self._keys.column!r}",
            "weight": protection.weight or "none",
            "cell keys are mixed": "yes" if protection.mixes else "no",
            "defects of record keys": self._checks,
            "p-table": repr(protection.ptable),
        }
        return html_table("Engine", (), facts.items())

    def _warn_of_sums(self, cautions: Sequence[str]) -> None:
        for text in cautions:
            logger.warning("%s", text, extra={"event": "sums with the noise of counts"})

    def _named_requests(
        self, requests: Mapping[str, TableRequest]
    ) -> list[tuple[TableRequest, Request]]:
        """Return the tables in which named cells are looked up, and their requests of cells."""
        lookups = named_requests(requests.values(), self._protection.noises)
        cell_requests = self._fitter.fit(lookups).values()
        finest_requests = [
            replace(one, discrete=one.columns) for one in cell_requests
        ]  # nothing of it is shown
        return list(zip(lookups.values(), finest_requests, strict=True))

    def _allow_continuous(self, columns: Sequence[str]) -> None:
        """Accept continuous dimensions; for a job that says who allowed them, and why."""
        self._fitter.allow_continuous(columns)

    def _take_cells(
        self, requests: Mapping[str, TableRequest], cells: Mapping[str, Cells]
    ) -> None:
        """Take cells of another engine with the same records and keys, to save their scan."""
        cell_requests = self._fitter.fit(requests)
        self._cells_of_others = [
            (replace(request, discrete=()), cells[name])
            for name, request in cell_requests.items()
        ]

    def _cells_of_another(self, request: Request) -> Cells | None:
        """Return the cells of the same request, whatever dimensions were accepted for it."""
        same = replace(request, discrete=())
        cells = (cells for other, cells in self._cells_of_others if other == same)
        return next(cells, None)


def _scan_progress(progress: Progress | None) -> Callable[[float], None] | None:
    return None if progress is None else lambda share: progress("scan", int(100 * share), 100)
