"""Records → cells: one scan for all tables and all their margins.

The scan groups by the finest cells; margins are rolled up from cells. Sums of keys and
weights are sums of integers, so no order of records, chunks or threads can change them.
"""

import logging
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from footing.arrays import Codes, Flags, Integers
from footing.messages import Message, Name
from tables import lookalikes
from tables.cells.axes import Axis, build_axis
from tables.cells.blocks import Block, Cells, group, lay_out, roll_up, shown_cells
from tables.cells.continuous import records_by_value, require_discrete
from tables.cells.nesting import warn_of_nesting
from tables.cells.packing import pack
from tables.cells.sketch import Sketch, read_sketch, sketch_columns
from tables.errors import DataError, DataWarning, RequestError
from tables.filtering.filters import Filter, quote
from tables.keys import HashedKeys, RecordKeys, require_sound
from tables.magnitudes.amounts import Amounts
from tables.magnitudes.exact import LARGEST_SUM, LEAST, require_addable, warn_of_zeros
from tables.magnitudes.limbs import WEIGHT_DECIMALS, limbs_of, modulo_sql
from tables.magnitudes.variables import GivenVariable, Variable
from tables.recoding.derive import require_derived
from tables.request import Request, require_fit
from tables.source.csv_text import MISSING_TEXTS
from tables.source.source import Source

logger = logging.getLogger(__name__)

_MOST_SHOWN = 5  # pairs of look-alikes
_MOST_LOOKED_AT = 100_000  # texts of a column of a filter
_MOST_KEPT = 2_000_000  # amounts of records that DuckDB does not group where most are apart
_MOST_GATHERED = 20_000_000  # records that are handed over to find the largest among them
_FEW_ALIKE = 3  # so many records in a cell on average, or more, are worth grouping
_MAX_GROUPED = 60  # DuckDB's grouping() tells up to 63 columns apart


def cube(
    source: Source,
    keys: RecordKeys,
    requests: Sequence[Request],
    *,
    tolerate_missing_keys: bool = False,
    sketch: int = 0,
    progress: Callable[[float], None] | None = None,
) -> list[Cells]:
    """Tabulate several requests in one scan of the records, or few for very many columns.

    Parameters
    ----------
    source
        The records.
    keys
        Their keys.
    requests
        The tables.
    tolerate_missing_keys
        Count a missing key as zero instead of refusing; sketches refuse in any case.
    sketch
        Also sketch every cell, so that sets which differ by up to this many records can be
        told, see `tables.cells.sketch`; 0 sketches none.
    progress
        Called with the share of the scan done.

    Returns
    -------
    list of Cells
        One for each request, in order.

    Raises
    ------
    RequestError, SourceError
        If requests do not fit the columns; all problems at once.
    DataError
        If keys, weights or values are missing or out of range, categories are undeclared, or
        a dimension is continuous, see `tables.cells.continuous`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from tables import Request, StoredKeys, open_source
    >>> records = pa.table({"sex": ["F", "M", "F"], "key": pa.array([1, 2, 3], pa.uint8())})
    >>> with open_source(records) as source:
    ...     (cells,) = cube(source, StoredKeys(column="key"), [Request(dimensions=["sex"])])
    >>> cells.count.tolist(), cells.cell_key.tolist()
    ([2, 1, 3], [4, 2, 6])

    Sums come with the largest contributions:

    >>> records = records.append_column("income", pa.array([20.5, 31.0, -40.0]))
    >>> request = Request(dimensions=["sex"], sums=["income"], top=1)
    >>> with open_source(records) as source:
    ...     (cells,) = cube(source, StoredKeys(column="key"), [request])
    >>> found = cells.magnitudes["income"]
    >>> found.total.tolist(), found.top.tolist()
    ([-19.5, 31.0, 11.5], [[-40.0], [31.0], [-40.0]])
    """
    require_records(
        source, keys, requests, tolerate_missing_keys=tolerate_missing_keys and not sketch
    )
    tables: dict[int, Cells] = {}
    scan_s = 0.0
    started = time.perf_counter()
    scans = _scans(requests, is_apart=not source.packs)
    for done, places in enumerate(scans):
        batch = [requests[place] for place in places]
        plan = _ScanPlan(source, keys, batch, sketch=sketch, may_keep_records=True)
        start = time.perf_counter()
        report_progress = None if progress is None else _part_of(progress, done, len(scans))
        answers = [plan.answer(progress=report_progress)]
        scan_s += time.perf_counter() - start
        require_discrete(source, batch, partial(plan.counts, answers[0]))
        finest = []
        for number, request in enumerate(batch, start=1):
            axes, rows, amounts = plan.read(request, answers[0])
            if number == len(batch):
                answers.clear()  # as large as the cells: make room before they are grouped
            finest.append([axes, plan.grouped(request, axes, rows, amounts)])
            del rows
        for place, request in zip(places, batch, strict=True):
            tables[place] = _cells(finest.pop(0), request, plan.key_range)
    logger.info(
        "tabulated",
        extra={
            "tables": len(requests),
            "scan_s": round(scan_s, 3),
            "rollup_s": round(time.perf_counter() - started - scan_s, 3),
        },
    )
    return [tables[place] for place in range(len(requests))]


def cell_table(source: Source, keys: RecordKeys, requests: Sequence[Request]) -> pa.Table:
    """Tabulate the cells that tables are made of, as a file that `GivenCells` describes.

    Parameters
    ----------
    source
        The records.
    keys
        Their keys.
    requests
        The tables.

    Returns
    -------
    pyarrow.Table
        All columns of dimensions and filters as in the records, ``count``, ``cell_key``, of a
        weight its sum and, ``_n``, how many records have one, of a variable its sum, ``_n``
        contributors and the largest contributions, ``_1``, ``_2`` and so on. The metadata
        have the range of keys, and the version of those that were hashed.

    Raises
    ------
    RequestError, DataError
        As for `cube`; if sums are weighted; if a column is called like one of these.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from tables import Request, StoredKeys, open_source
    >>> records = pa.table({"sex": ["F", "M", "F"], "key": pa.array([1, 2, 255], pa.uint8())})
    >>> with open_source(records) as source:
    ...     cells = cell_table(source, StoredKeys(column="key"), [Request(dimensions=["sex"])])
    >>> cells.to_pylist()
    [{'sex': 'F', 'count': 2, 'cell_key': 0}, {'sex': 'M', 'count': 1, 'cell_key': 2}]
    """
    require_fit(requests, source)
    filter_columns = [r.where.columns for r in requests if isinstance(r.where, Filter)]
    columns = dict.fromkeys(
        c for names in [*(r.columns for r in requests), *filter_columns] for c in names
    )
    request = Request(
        dimensions=list(columns),
        weight=next((r.weight for r in requests if r.weight is not None), None),
        sums=list(dict.fromkeys(name for r in requests for name in r.sums)),
        top=max(r.top for r in requests),
    )
    if request.sums and request.weight is not None:
        raise RequestError(
            Message("Sums of cells are not weighted."), hint=Message("leave the weight out")
        )
    require_records(source, keys, [request])
    plan = _ScanPlan(source, keys, [request])
    answer = plan.answer()
    require_discrete(source, requests, partial(plan.counts, answer))
    pairs = plan.named(request, answer)
    if len(dict(pairs)) < len(pairs):
        raise RequestError(
            Message(
                "A dimension is called like a column that stands beside the cells: count, "
                "cell_key or that of a sum."
            ),
            hint=Message("rename it in the data"),
        )
    table = pa.table(dict(pairs)).sort_by([(column, "ascending") for column in columns])
    version = keys.metadata if isinstance(keys, HashedKeys) else {}
    return table.replace_schema_metadata({"key_range": str(plan.key_range), **version})


def all_cells(
    source: Source, keys: RecordKeys, request: Request, parameters: dict[str, object]
) -> tuple[str, int]:
    """Return the statement of all cells of a request and the range of keys; add parameters.

    Its columns are those of dimensions, ``d0`` and so on, ``n`` records, their ``key``, the sum
    of weights ``w0`` and ``w0_n`` records with one, and ``g``, which has a bit, first column
    highest, where a column is summed over. `check_keys` comes first: it knows whether
    records without a key are accepted.
    """
    require_records(source, keys, [request], tolerate_missing_keys=True)
    require_discrete(source, [request])
    plan = _ScanPlan(source, keys, [request])
    parameters |= plan.parameters
    return plan.rolled_up(request), plan.key_range


def require_records(
    source: Source,
    keys: RecordKeys,
    requests: Sequence[Request],
    *,
    tolerate_missing_keys: bool = False,
) -> None:
    """Refuse records that the requests do not fit, and get ready to group them."""
    require_fit(requests, source)
    if source.cells is not None:
        source.cells.require(source, requests, cube)
    require_sound(source, keys, tolerate_missing=tolerate_missing_keys)
    _require_texts_as_written(source, requests)
    require_derived(source, requests)
    for weight in sorted({r.weight for r in requests if r.weight is not None}):
        _require_weights(source, weight)
    for request in requests:
        if request.sums:
            require_addable(source, request.sums, weight=request.weight)
    source.prepare_grouping(has_sums=any(request.sums for request in requests))


def _require_texts_as_written(source: Source, requests: Sequence[Request]) -> None:
    """Refuse a filter's text that no category is, where one looks like it; warn of both."""
    texts: dict[str, set[str]] = {}
    for request in requests:
        for column, text in request.where.texts if isinstance(request.where, Filter) else ():
            if source.columns[column] == "VARCHAR":
                texts.setdefault(column, set()).add(text)
    mark = ("texts", frozenset((column, *sorted(words)) for column, words in texts.items()))
    if not texts or mark in source.sound or not source.packs:  # Spark reads nothing for it
        return
    source.sound[mark] = True
    for column, categories in _categories_of(source, list(texts)).items():
        _require_as_written(column, texts[column], categories)


def _categories_of(source: Source, columns: Sequence[str]) -> dict[str, set[str]]:
    """Return the texts of some columns in one scan; of those alone that have not very many."""
    names = {column: f"c{place}" for place, column in enumerate(columns)}
    select_list = ", ".join(f"{quote(column)} AS {alias}" for column, alias in names.items())
    sets = ", ".join(f"({alias})" for alias in names.values())
    rows = source.fetch(
        f"SELECT grouping({', '.join(names.values())}), {', '.join(names.values())} FROM "
        f"(SELECT {select_list} FROM {source.relation}) GROUP BY GROUPING SETS ({sets}) "
        f"LIMIT {_MOST_LOOKED_AT + 1}"
    )
    if len(rows) > _MOST_LOOKED_AT:
        if len(columns) == 1:
            return {}
        parts = [_categories_of(source, [column]) for column in columns]
        return {column: categories for part in parts for column, categories in part.items()}
    categories: dict[str, set[str]] = {column: set() for column in columns}
    all_but = {(1 << len(columns)) - 1 - (1 << place): place for place in range(len(columns))}
    for bits, *values in rows:
        place = len(columns) - 1 - all_but[bits]
        if values[place] is not None:
            categories[columns[place]].add(values[place])
    return categories


def _require_as_written(column: str, texts: set[str], categories: set[str]) -> None:
    alike: dict[str, list[str]] = {}
    for category in categories:
        alike.setdefault(lookalikes.appearance(category), []).append(category)
    for text in sorted(texts):
        others = sorted({*alike.get(lookalikes.appearance(text), ())} - {text})
        if not others:
            continue
        differing = [lookalikes.code_points(text, other) for other in others[:_MOST_SHOWN]]
        points = "; ".join(differing)
        if text not in categories:
            raise DataError(
                Message(
                    "A filter compares {column!r} with a text that no category is; one looks "
                    "alike, and is written otherwise.",
                    column=Name(column),
                ),
                hint=Message("copy the text from the data, or write the data in one form"),
                inside=points,
            )
        problem = Message(
            "A filter compares {column!r} with a text that other categories look like: "
            "they are not meant by it.",
            column=Name(column),
        )
        warnings.warn(DataWarning(problem, inside=points), stacklevel=2)


def finest_cells(
    source: Source,
    keys: RecordKeys,
    request: Request,
    *,
    extra_values: Mapping[str, pa.Table],
    beside: pa.Table | None = None,
    sketch: int = 0,
) -> tuple[tuple[Axis, ...], Block, int]:
    """Find the finest cells of a request, with axes that also hold known values.

    Parameters
    ----------
    source, keys, request, sketch
        As for `cube`.
    extra_values
        Dimension → values of its columns that its axis holds besides those of the records.
    beside
        One column: only records with one of its values are looked at.

    Returns
    -------
    tuple
        The axes, the cells and the range of their keys.
    """
    plan = _ScanPlan(source, keys, [request], within=beside, sketch=sketch)
    answer = plan.answer(beside=beside)
    return *plan.finest(request, answer, extra_values), plan.key_range


def record_groups(
    source: Source, requests: Sequence[Request], *, most: int
) -> list[tuple[Flags, tuple[Codes, ...]]] | None:
    """Find the groups of records that stand in the same cells of all tables.

    Parameters
    ----------
    source
        The records.
    requests
        The tables.
    most
        How many groups to hold; of more there are none.

    Returns
    -------
    list or None
        For each request, which groups its filter lets in, and for each of its axes the
        category of every group, by rank; None if there are more groups.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from tables import Request, open_source
    >>> records = pa.table({"sex": ["F", "M", "F"], "age": [1, 1, 2]})
    >>> requests = [Request(dimensions=["sex"]), Request(dimensions=[], where="age = 2")]
    >>> with open_source(records) as source:
    ...     (_, (ranks,)), (is_in, _) = record_groups(source, requests, most=9)
    >>> sorted(zip(ranks.tolist(), is_in.tolist()))
    [(1, False), (1, True), (2, False)]
    """
    groups = record_groups_and_sizes(source, requests, most=most)
    return None if groups is None else groups[0]


def record_groups_and_sizes(
    source: Source, requests: Sequence[Request], *, most: int
) -> tuple[list[tuple[Flags, tuple[Codes, ...]]], Integers] | None:
    """Find the groups of `record_groups`, and how many records each has: disclosive."""
    require_fit(requests, source)
    parameters: dict[str, object] = {}
    columns = {
        c: f"d{i}" for i, c in enumerate(dict.fromkeys(c for r in requests for c in r.columns))
    }
    filters = list(dict.fromkeys(r.where for r in requests if isinstance(r.where, Filter)))
    flags = {condition: f"f{i}" for i, condition in enumerate(filters)}
    select_list = [f"{quote(column)} AS {alias}" for column, alias in columns.items()]
    select_list += [
        f"coalesce({condition.sql(source.types, parameters)}, false) AS {flag}"
        for condition, flag in flags.items()
    ]
    number = "count(*)" if source.cells is None else f"sum({quote(source.cells.count)})"
    select_list = select_list or ["1 AS one"]
    positions = ", ".join(str(place) for place, _ in enumerate(select_list, start=1))
    rows = source.arrow(
        f"SELECT {', '.join(select_list)}, {number}::BIGINT AS size "
        f"FROM {source.relation} GROUP BY {positions} LIMIT {most + 1}",
        parameters,
    )
    if rows.num_rows > most:
        return None
    groups = []
    for request in requests:
        is_in = np.ones(rows.num_rows, bool)
        if isinstance(request.where, Filter):
            is_in = rows[flags[request.where]].to_numpy()
        inside = rows.filter(is_in)
        ranks = []
        for axis, codes in axes_of(source, request, inside, columns):
            full = np.full(len(is_in), -1, np.int32)
            full[is_in] = axis.levels[0].ranks[codes]
            ranks.append(full)
        groups.append((is_in, tuple(ranks)))
    return groups, rows["size"].to_numpy()


def _scans(requests: Sequence[Request], *, is_apart: bool) -> list[list[int]]:
    """Divide the places of requests into scans.

    No statement groups by more columns than DuckDB can tell apart. Spark works on each record
    once for every grouping, with all that any of them adds up: there tables of other
    amounts are scanned apart.
    """
    scans: list[list[int]] = []
    alike: dict[object, list[int]] = {}
    for place, request in enumerate(requests):
        amounts = (request.weight, tuple(request.sums), request.top)
        alike.setdefault(amounts if is_apart else None, []).append(place)
    for places in alike.values():
        columns: set[object] = set()
        scans.append([])
        for place in places:
            mine = {*requests[place].columns, requests[place].where} - {None}
            if scans[-1] and len(columns | mine) > _MAX_GROUPED:
                scans.append([])
                columns = set()
            scans[-1].append(place)
            columns |= mine
    return scans


def _part_of(
    report_progress: Callable[[float], None], done: int, total: int
) -> Callable[[float], None]:
    return lambda share: report_progress((done + share) / total)


class _ScanPlan:
    """One statement that serves all requests.

    Requests over the same columns, or over columns of another request with the same filter,
    share a grouping; others get a grouping set each. Filters become columns of the grouping,
    so that all requests share one scan.
    """

    def __init__(
        self,
        source: Source,
        keys: RecordKeys,
        requests: Sequence[Request],
        *,
        sketch: int = 0,
        within: pa.Table | None = None,
        may_keep_records: bool = False,
    ) -> None:
        self._source = source
        self._width = sketch
        self.parameters: dict[str, object] = {}
        self.key_range = keys.resolve(source)
        key_sql = self._key_sql = keys.sql(source, self.parameters)
        self._key_parameters = dict(self.parameters)
        columns = dict.fromkeys(c for r in requests for c in r.columns)
        self._column_alias = {c: f"d{i}" for i, c in enumerate(columns)}
        weights = dict.fromkeys(r.weight for r in requests if r.weight is not None)
        self._weight_alias = {w: f"w{i}" for i, w in enumerate(weights)}
        self._variables = _variables(source, requests)
        filters = dict.fromkeys(r.where for r in requests if isinstance(r.where, Filter))
        conditions = {f: f.sql(source.types, self.parameters) for f in filters}
        everything = self._has_all = any(r.where is None for r in requests)
        # A filter that all requests share is the statement's own; it needs no column.
        shared = not everything and len(filters) == 1
        self._flags = {} if shared else {f: f"f{i}" for i, f in enumerate(filters)}
        self._sets = self._grouping_sets(requests)

        cells = source.cells
        inner = [
            f"{key_sql} AS k",
            *(f"{quote(column)} AS {alias}" for column, alias in self._column_alias.items()),
            *(
                f"CAST({source.number_sql(weight)} AS DECIMAL(38,{WEIGHT_DECIMALS})) AS {alias}"
                for weight, alias in self._weight_alias.items()
            ),
            *(sql for variable in self._variables.values() for sql in variable.columns()),
            *([] if cells is None else cells.numbers_sql(source, self._weight_alias)),
            *(f"coalesce({conditions[f]}, false) AS {flag}" for f, flag in self._flags.items()),
        ]
        where = "" if everything else f"WHERE {' OR '.join(conditions.values())}"
        outer = [*self._column_alias.values(), *self._flags.values()]
        self._outer = outer
        whole = len(self._sets) == 1
        gathers = whole and within is None and self._has_many_records()
        packing, values = pack(source, self._column_alias) if whole else ("", {})
        group_columns = ["p"] * bool(packing) + [name for name in outer if name not in values]
        selected = [
            *(f"{packing} AS p" if name == "p" else name for name in group_columns),
            "count(*) AS n" if cells is None else "sum(n0)::BIGINT AS n",
            f"{modulo_sql('coalesce(sum(k), 0)', self.key_range)} AS key",
            *(
                f"sum({alias}) AS {alias}, count(*) FILTER ({alias} > 0) AS {alias}_n"
                if cells is None
                else f"sum({alias}) AS {alias}, sum({alias}_n)::BIGINT AS {alias}_n"
                for alias in self._weight_alias.values()
            ),
        ]
        for variable in self._variables.values():
            variable.gathers = gathers and variable.is_slow
            selected += variable.aggregates(self.key_range)
        records = f"SELECT {', '.join(inner)} FROM {_within(source, within)} {where}"
        self._records = records
        if sketch:
            keyed, aggregates = sketch_columns(sketch, self.key_range)
            records = f"SELECT *, {', '.join(keyed)} FROM ({records})"
            selected += aggregates
        if len(self._sets) > 1:
            selected.append(f"grouping({', '.join(outer)}) AS g")
            sets_sql = ", ".join(f"({', '.join(sorted(s))})" for s in self._sets)
            group = f"GROUP BY GROUPING SETS ({sets_sql})"
        else:
            group = f"GROUP BY {', '.join(group_columns)}" if group_columns else ""
        if frozenset() in self._sets:  # the grand total has a row even when nobody is there
            group += " HAVING count(*) > 0"
        self.sql = f"SELECT {', '.join(selected)} FROM ({records}) {group}"
        self._is_grouped = not (may_keep_records and self._are_nearly_all_apart(records))
        if not self._is_grouped:
            self.sql = self._of_records(records)
        elif packing:
            select_list = ", ".join(f"{value} AS {alias}" for alias, value in values.items())
            self.sql = f"SELECT {select_list}, * EXCLUDE (p) FROM ({self.sql})"

    def answer(
        self,
        *,
        beside: pa.Table | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> pa.Table:
        """Ask for the finest cells of all requests."""
        rows = self._source.arrow(self.sql, self.parameters, beside=beside, progress=progress)
        variables = self._variables.values()
        if gathering := [variable for variable in variables if variable.gathers]:
            rows = self._with_gathered(rows, gathering)
        apart = [variable for variable in variables if variable.is_apart]
        return self._with_largest(rows, apart) if apart else rows

    def _has_many_records(self) -> bool:
        """Whether records are so many that arrays find the largest sooner, and fit memory."""
        source = self._source
        records = source.n_records or 0
        is_many = records * len(self._variables) > _MOST_KEPT
        fits = records <= _MOST_GATHERED and not source.has_memory_limit
        return is_many and fits and source.cells is None

    def _with_gathered(self, rows: pa.Table, variables: Sequence[Variable]) -> pa.Table:
        """Add the largest contributions, found among all records that contribute."""
        (grouping,) = self._sets
        columns: dict[str, str] = {}
        for variable in variables:
            columns |= variable.gathered()
        same = [f"r.{name} IS NOT DISTINCT FROM b.{name}" for name in sorted(grouping)]
        contributes = " OR ".join(variable.contributes for variable in variables)
        select_list = ", ".join(f"{sql} AS {quote(name)}" for name, sql in columns.items())
        records = self._source.arrow(
            f"SELECT b.row AS row, coalesce(k, 0) AS k, {select_list} FROM ({self._records}) r "
            f"JOIN {self._source.beside} b ON {' AND '.join(same or ['true'])} "
            f"WHERE {contributes}",
            self.parameters,
            beside=pa.table(
                {
                    "row": pa.array(np.arange(rows.num_rows, dtype=np.int32)),
                    **{name: rows[name] for name in sorted(grouping)},
                }
            ),
        )
        arrays = {}
        for name in records.column_names:  # one by one: all together fill the memory twice
            arrays[name] = records[name].to_numpy()
            records = records.drop_columns([name])
        row = arrays.pop("row")
        for variable in variables:
            lists = variable.lists(arrays, row=row, rows=rows.num_rows)
            for name, array in lists.items():
                rows = rows.append_column(name, array)
        return rows

    def _with_largest(self, rows: pa.Table, variables: Sequence[Variable]) -> pa.Table:
        """Add the largest contributions, of the few records that may be among them."""
        sizes = [size for variable in variables for size in variable.least_sizes(rows)]
        names = [f"t{place}" for place in range(len(sizes))]
        bounds = list(zip(names[::2], names[1::2], strict=True))
        parts = [v.largest(pair) for v, pair in zip(variables, bounds, strict=True)]
        largest = [sql for select_list, _ in parts for sql in select_list]
        matters = " OR ".join(f"({condition})" for _, condition in parts)
        answers = []
        for grouping in self._sets:
            places = np.flatnonzero(self._is_of_set(rows, grouping))
            cells = {name: rows[name].take(pa.array(places)) for name in sorted(grouping)}
            cells |= {n: pa.array(size[places]) for n, size in zip(names, sizes, strict=True)}
            same = [f"r.{name} IS NOT DISTINCT FROM b.{name}" for name in sorted(grouping)]
            answers.append(
                self._source.arrow(
                    f"SELECT b.row AS row, {', '.join(largest)} FROM ({self._records}) r JOIN "
                    f"{self._source.beside} b ON {' AND '.join(same or ['true'])} "
                    f"WHERE {matters} GROUP BY b.row",
                    self.parameters,
                    beside=pa.table({"row": pa.array(places), **cells}),
                )
            )
        lists = pa.concat_tables(answers)
        place = np.full(rows.num_rows, -1)
        place[lists["row"].to_numpy()] = np.arange(lists.num_rows)
        order = pa.array(place, mask=place < 0)
        for name in lists.column_names[1:]:
            rows = rows.append_column(name, lists[name].take(order))
        return rows

    def finest(
        self,
        request: Request,
        answer: pa.Table,
        extra_values: Mapping[str, pa.Table] | None = None,
    ) -> tuple[tuple[Axis, ...], Block]:
        """Return the axes of a request and its finest cells."""
        axes, rows, amounts = self.read(request, answer, extra_values)
        return axes, self.grouped(request, axes, rows, amounts)

    def read(
        self,
        request: Request,
        answer: pa.Table,
        extra_values: Mapping[str, pa.Table] | None = None,
    ) -> tuple[tuple[Axis, ...], Block, list[Amounts]]:
        """Return the axes of a request, the rows as cells, and the amounts of these."""
        rows = self._rows(request, answer)
        pairs = axes_of(
            self._source, request, rows, self._column_alias, extra_values=extra_values
        )
        weight: tuple[Integers, ...] = ()
        if request.weight is not None:
            alias = self._weight_alias[request.weight]
            weight = (*limbs_of(rows[alias]), rows[f"{alias}_n"].to_numpy().astype(np.int64))
        cells = Block(
            codes=tuple(codes for _, codes in pairs),
            count=rows["n"].to_numpy().astype(np.int64),
            key=rows["key"].to_numpy().astype(np.uint64),
            weight=weight,
            sketch=self._sketch(request, rows) if self._width else None,
        )
        axes = tuple(axis for axis, _ in pairs)
        return axes, cells, list(self._amounts(request, rows))

    def grouped(
        self, request: Request, axes: tuple[Axis, ...], rows: Block, amounts: list[Amounts]
    ) -> Block:
        """Return the finest cells that rows make up; the list of amounts is emptied."""
        sizes = tuple(axis.levels[0].size for axis in axes)
        is_distinct = self._is_grouped and self._wanted(request) in self._sets
        return group(rows, sizes, self.key_range, is_distinct=is_distinct, apart=amounts)

    def _are_nearly_all_apart(self, records: str) -> bool:
        """Whether records are few, and most alone in their cell: grouping them saves little."""
        source = self._source
        has_sums = bool(self._variables) and source.packs and source.cells is None
        if not has_sums or self._width or len(self._sets) > 1 or not self._outer:
            return False
        if source.n_records is None or source.n_records * len(self._variables) > _MOST_KEPT:
            return False
        number, groups = source.fetch(
            f"SELECT count(*), approx_count_distinct(({', '.join(self._outer)},)) "
            f"FROM ({records})",
            self.parameters,
        )[0]
        return bool(number and number < _FEW_ALIKE * groups)

    def _of_records(self, records: str) -> str:
        """Return the statement of a group for every record, for few records in many cells."""
        selected = [*self._outer, "1::BIGINT AS n"]
        selected.append(f"{modulo_sql('coalesce(k, 0)', self.key_range)} AS key")
        for alias in self._weight_alias.values():
            selected += [alias, f"({alias} > 0)::BIGINT AS {alias}_n"]
        for variable in self._variables.values():
            selected += variable.of_record(self.key_range)
        return f"SELECT {', '.join(selected)} FROM ({records})"

    def rolled_up(self, request: Request) -> str:
        """Return the statement of the only request's cells at all of its levels."""
        depths = [len(request.columns_of(d)) for d in request.dimensions]
        sets = []
        for levels in request.level_sets([depth + 1 for depth in depths]):
            steps = zip(request.dimensions, depths, levels, strict=True)
            columns = [c for d, n, level in steps for c in request.columns_of(d)[: n - level]]
            sets.append(f"({', '.join(self._column_alias[c] for c in columns)})")
        names = list(self._column_alias.values())
        select_list = [
            *names,
            "sum(n)::BIGINT AS n",
            f"{modulo_sql('coalesce(sum(key), 0)', self.key_range)} AS key",
            *(
                f"sum({w}) AS {w}, sum({w}_n)::BIGINT AS {w}_n"
                for w in self._weight_alias.values()
            ),
            f"grouping({', '.join(names)}) AS g",
        ]
        return (
            f"SELECT {', '.join(select_list)} FROM ({self.sql}) "
            f"GROUP BY GROUPING SETS ({', '.join(sets)}) HAVING sum(n) > 0"
        )

    def named(self, request: Request, rows: pa.Table) -> list[tuple[str, Any]]:
        """Return the columns of the answer to one request, see `cell_table`."""
        columns = [(column, rows[self._column_alias[column]]) for column in request.columns]
        columns += [("count", rows["n"]), ("cell_key", rows["key"])]
        if request.weight is not None:
            alias = self._weight_alias[request.weight]
            columns += [
                (request.weight, rows[alias]),
                (f"{request.weight}_n", rows[f"{alias}_n"]),
            ]
        for amounts in self._amounts(request, rows):
            name, magnitudes = amounts.variable, amounts.magnitudes(self.key_range)
            columns += [(name, magnitudes.raw_total), (f"{name}_n", magnitudes.contributors)]
            columns += [(f"{name}_{n}", top) for n, top in enumerate(magnitudes.top.T, start=1)]
        return columns

    def counts(self, answer: pa.Table, column: str) -> Integers | None:
        """Return how many records have each value of a column, if the answer has them all."""
        alias = self._column_alias.get(column)
        if alias is None or not self._has_all:
            return None
        grouping = min((s for s in self._sets if alias in s), key=len)
        return records_by_value(self._of_set(answer, grouping), alias, "n")

    def _of_set(self, answer: pa.Table, grouping: frozenset[str]) -> pa.Table:
        """Return the rows of the answer that are grouped by some columns."""
        if len(self._sets) == 1:
            return answer
        return answer.filter(pa.array(self._is_of_set(answer, grouping)))

    def _is_of_set(self, answer: pa.Table, grouping: frozenset[str]) -> Flags:
        """Tell which rows of the answer are grouped by some columns."""
        if len(self._sets) == 1:
            return np.ones(answer.num_rows, np.bool_)
        # grouping() sets a bit, first column highest, where a column is summed over.
        bits = sum(1 << i for i, c in enumerate(reversed(self._outer)) if c not in grouping)
        return np.asarray(answer["g"].to_numpy() == bits)

    def _rows(self, request: Request, answer: pa.Table) -> pa.Table:
        """Return the rows of the answer from which the request's cells are rolled up."""
        answer = self._of_set(answer, self._chosen(request))
        flag = self._flags.get(request.where) if isinstance(request.where, Filter) else None
        return answer if flag is None else answer.filter(answer[flag])

    def _amounts(self, request: Request, rows: pa.Table) -> Iterator[Amounts]:
        """Return the variables of a request over the answer's rows."""
        for column in request.sums:
            variable = self._variables[column, request.weight]
            if request.missing_values == "stop" and variable.is_missing_in(rows):
                raise DataError(
                    Message("Some records have no value in {column!r}.", column=Name(column)),
                    hint=Message(
                        'leave them out: where = "{column} is not missing"; a table of sums, '
                        "without means and quantiles, may pass over them instead: "
                        'missing_values = "skip"',
                        column=Name(column),
                    ),
                )
            yield variable.read(rows, top=request.top)

    def _sketch(self, request: Request, rows: pa.Table) -> Sketch:
        """Return the sketches of the answer's rows, with the smallest keys of small ones."""
        sketch = read_sketch(rows, self._width)
        places = np.flatnonzero(sketch.is_small)
        if not len(places):
            return sketch
        grouping = self._chosen(request)
        aliases = {c: a for c, a in self._column_alias.items() if a in grouping}
        columns = {alias: rows[alias].take(pa.array(places)) for alias in aliases.values()}
        parameters, where = dict(self._key_parameters), ""
        if isinstance(request.where, Filter):
            where = f"WHERE {request.where.sql(self._source.types, parameters)}"
        inner = [f"{self._key_sql} AS k"]
        inner += [f"{quote(column)} AS {alias}" for column, alias in aliases.items()]
        same = [f"r.{a} IS NOT DISTINCT FROM b.{a}" for a in aliases.values()] or ["true"]
        members = self._source.arrow(
            f"SELECT row, unnest(keys) AS key FROM (SELECT b.row, min(k::UBIGINT, "
            f"{self._width + 1}) AS keys FROM (SELECT {', '.join(inner)} FROM "
            f"{self._source.relation} {where}) r JOIN {self._source.beside} b "
            f"ON {' AND '.join(same)} GROUP BY b.row)",
            parameters,
            beside=pa.table({"row": pa.array(places), **columns}),
        )
        return sketch.with_members(members["row"].to_numpy(), members["key"].to_numpy())

    def _chosen(self, request: Request) -> frozenset[str]:
        """Return the grouping set from which the request's cells are rolled up."""
        aliases = self._wanted(request)
        fitting = (s for s in self._sets if aliases <= s)
        return min(fitting, key=lambda s: (len(s), sorted(s)))

    def _wanted(self, request: Request) -> frozenset[str]:
        aliases = {self._column_alias[c] for c in request.columns}
        if isinstance(request.where, Filter) and request.where in self._flags:
            aliases.add(self._flags[request.where])
        return frozenset(aliases)

    def _grouping_sets(self, requests: Sequence[Request]) -> list[frozenset[str]]:
        sets = {self._wanted(request) for request in requests}
        flags = set(self._flags.values())
        maximal = (s for s in sets if not any(s < t and s & flags == t & flags for t in sets))
        return sorted(maximal, key=sorted)


def _within(source: Source, beside: pa.Table | None) -> str:
    """Return the SQL of the records, or of those with a value of a table beside them."""
    if beside is None:
        return source.relation
    column = quote(beside.column_names[0])
    return (
        f"(SELECT * FROM {source.relation} r SEMI JOIN {source.beside} b "
        f"ON r.{column} IS NOT DISTINCT FROM b.{column})"
    )


def _variables(
    source: Source, requests: Sequence[Request]
) -> dict[tuple[str, str | None], Variable]:
    """Return the variables of all requests, each with the most contributions wanted."""
    top: dict[tuple[str, str | None], int] = {}
    for request in requests:
        for column in request.sums:
            before = top.get((column, request.weight), 0)
            top[column, request.weight] = max(before, request.top)
    kind = Variable if source.cells is None else GivenVariable
    return {
        (column, weight): kind(source, column, weight=weight, place=place, top=number)
        for place, ((column, weight), number) in enumerate(top.items())
    }


def axes_of(
    source: Source,
    request: Request,
    rows: pa.Table,
    columns: Mapping[str, str],
    *,
    extra_values: Mapping[str, pa.Table] | None = None,
) -> list[tuple[Axis, Codes]]:
    """Build the axes of a request, and code the rows' values on the finest level of each.

    An axis also holds the values that are `known` of its dimension's columns.
    """
    pairs = []
    for dimension in request.dimensions:
        more = (extra_values or {}).get(dimension)
        values = {}
        for column in request.columns_of(dimension):
            array = rows[columns[column]]
            if more is not None:
                array = pa.chunked_array([*array.chunks, *more[column].chunks], array.type)
            values[column] = _in_order(array, source.orders.get(column))
        axis, codes = build_axis(request, dimension, values)
        warn_of_look_alikes(source, request.columns_of(dimension), axis)
        if dimension not in request.categories:
            warn_of_missing_texts(source, request.columns_of(dimension), axis)
        warn_of_nesting(source, axis, missing_label=request.missing_label)
        pairs.append((axis, codes[: rows.num_rows]))
    return pairs


def warn_of_look_alikes(source: Source, columns: Sequence[str], axis: Axis) -> None:
    """Warn once of categories of text columns that nobody can tell apart by looking."""
    for column, labels in zip(columns, axis.labels, strict=False):
        mark = ("look-alikes", column)
        if mark in source.sound or source.kinds.get(column) != "text":
            continue
        groups = lookalikes.look_alikes(labels)
        if groups:
            source.sound[mark] = True
            pairs = [(one, other) for one, *others in groups for other in others]
            first = [lookalikes.code_points(*pair) for pair in pairs[:_MOST_SHOWN]]
            examples = "; ".join(first) + ("; …" if len(pairs) > _MOST_SHOWN else "")
            words = (
                Message("1 category looks")
                if len(pairs) == 1
                else Message("{number} categories look", number=len(pairs))
            )
            text = Message(
                "In column {column!r}, {counted} like another, written otherwise: they are "
                "counted apart.",
                column=Name(column),
                counted=words,
            )
            warnings.warn(DataWarning(text, inside=examples), stacklevel=2)


def warn_of_missing_texts(source: Source, columns: Sequence[str], axis: Axis) -> None:
    """Warn once of categories of text columns that may stand for missing values."""
    for column, labels in zip(columns, axis.labels, strict=False):
        mark = ("missing texts", column)
        if mark in source.sound or source.kinds.get(column) != "text":
            continue
        texts = sorted(MISSING_TEXTS.intersection(labels))
        if texts:
            source.sound[mark] = True
            text = Message(
                "A category of column {column!r} is written as programs write a missing "
                "value, and is published as a category. Where values are missing, leave them "
                "empty in the data or, for CSV, name the text in missing; where it is a "
                "category, declare it in [categories].",
                column=Name(column),
            )
            warnings.warn(DataWarning(text, inside=", ".join(texts)), stacklevel=2)


def _in_order(values: pa.ChunkedArray, order: pa.Array | None) -> pa.ChunkedArray:
    """Code the values by categories that came in an order."""
    if order is None or pa.types.is_dictionary(values.type):
        return values
    order = order.cast(values.type)
    more = pc.unique(values).drop_null()
    more = more.filter(pc.invert(pc.is_in(more, value_set=order)))
    if len(more):  # the order does not know them: they come behind
        order = pa.concat_arrays([order, more.take(pc.sort_indices(more))])
    places = pc.index_in(values, value_set=order)
    chunks = places.chunks or [pa.array([], pa.int32())]
    return pa.chunked_array([pa.DictionaryArray.from_arrays(c, order) for c in chunks])


def _cells(finest: list[Any], request: Request, key_range: int) -> Cells:
    """Roll the finest cells up to all wanted levels and lay them out as one list.

    The list of axes and cells is emptied: cells that are laid out make room for others.
    """
    axes, block = finest
    finest.clear()
    level_sets = request.level_sets([len(axis.levels) for axis in axes])
    blocks = roll_up(axes, block, level_sets, key_range)
    del block
    parts = (shown_cells(axes, levels, blocks.pop(levels)) for levels in level_sets)
    return lay_out(axes, parts, level_sets, key_range=key_range)


def _require_weights(source: Source, weight: str) -> None:
    mark = ("weight", weight)
    if mark in source.sound:
        return
    column = source.number_sql(weight)
    bad_ones = f"{column} < 0"
    if source.types[weight] in ("DOUBLE", "FLOAT"):  # others are always finite
        bad_ones += f" OR NOT isfinite({column}::DOUBLE)"
    total, missing, bad, largest = source.fetch(
        f"SELECT count(*), count(*) - count({column}), count(*) FILTER ({bad_ones}), "
        f"coalesce(max({column})::DOUBLE, 0) FROM {source.relation}"
    )[0]
    if missing or bad:
        what = (
            Message("Some records have no weight")
            if missing
            else Message("Some weights are not finite and non-negative")
        )
        raise DataError(
            Message("{what} in {weight!r}.", what=what, weight=Name(weight)),
            hint=Message("repair them, or filter the records out beforehand"),
            inside=Message(
                "{number:,} of {total:,} records", number=missing or bad, total=total
            ),
        )
    if largest * total >= LARGEST_SUM:
        raise DataError(
            Message(
                "The weights in {weight!r} are too large to be added up exactly: the "
                "largest, times the number of records, must be less than 10**22.",
                weight=Name(weight),
            ),
            hint=Message("give them in a larger unit, such as thousands"),
        )
    if 0 < largest < LEAST:
        warn_of_zeros(Message("weights"), weight)
    source.sound[mark] = True
