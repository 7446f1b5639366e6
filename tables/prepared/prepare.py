"""Make records ready for many requests: code, key and count them once.

A service answers requests over the same variables again and again. Every dimension is coded
at each of its levels, every record key is hashed, and one row is kept in memory for each
combination of categories, with its number of records and the sum of their keys.
"""

import logging
import time
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa

from footing.messages import Message, Name
from tables.cells.axes import Axis
from tables.cells.continuous import records_by_value, require_discrete
from tables.cells.cube import _require_weights, axes_of
from tables.cells.sketch import sketch_columns
from tables.errors import RequestError
from tables.filtering.filters import Filter, quote
from tables.keys import RecordKeys, require_sound
from tables.magnitudes.limbs import WEIGHT_DECIMALS, modulo_sql
from tables.prepared.prepared import CODED, LEVEL, POPULATIONS, Prepared
from tables.recoding.derive import require_derived
from tables.request import Request, require_fit
from tables.source.source import Source

logger = logging.getLogger(__name__)

_MAX_CATEGORIES = 100_000


def prepare(
    source: Source,
    keys: RecordKeys,
    *,
    requests: Mapping[str, Request],
    weight: str | None = None,
    sketch: int = 0,
    tolerate_missing_keys: bool = False,
    populations: Sequence[Filter] = (),
) -> Prepared:
    """Code, key and count the records for requests over some dimensions.

    Parameters
    ----------
    source
        The records; must stay open.
    keys
        Their keys.
    requests
        Dimension → a request of that dimension alone, with its hierarchy and categories.
        The records are kept in the order of the first one.
    weight
        Column of weights, to keep them too.
    sketch
        Keep sketches too, for differences of up to so many records; see `cube`.
    tolerate_missing_keys
        Count a missing key as zero instead of refusing.
    populations
        Filters over any columns; their dimension `POPULATIONS` tells which of them hold, with
        a text of 1 and 0 such as ``"01"`` for each category.

    Returns
    -------
    Prepared
        The records made ready.

    Raises
    ------
    TablesError
        As for `cube`; and if a dimension has more than 100,000 categories.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from tables import Request, StoredKeys, open_source
    >>> records = pa.table({"sex": ["F", "M", "F"], "key": pa.array([1, 2, 3], pa.uint8())})
    >>> with open_source(records) as source:
    ...     sex = {"sex": Request(dimensions=["sex"])}
    ...     ready = prepare(source, StoredKeys(column="key"), requests=sex)
    ...     found = ready.scan({"sex": 0}, where=ready.conditions("sex = 'F'"))
    ...     cells = ready.cells(found, ["sex"], level_sets=[(0,)])
    >>> cells.count.tolist(), cells.cell_key.tolist()
    ([2], [4])
    """
    started = time.perf_counter()
    require_fit(requests, source)
    _require_free_names(requests)
    require_sound(source, keys, tolerate_missing=tolerate_missing_keys and not sketch)
    require_derived(source, [*requests.values(), *_counted(populations)])
    if weight is not None:
        _require_weights(source, weight)
    source.prepare_grouping()
    name_of_table = source.new_name(CODED)
    axes = {}
    columns = {name: request.columns for name, request in requests.items()}
    parameters: dict[str, object] = {}
    membership: dict[str, str] = {}
    if populations:
        membership = {POPULATIONS: _membership(source, populations, parameters)}
        requests = {**requests, POPULATIONS: Request(dimensions=[POPULATIONS])}
    for place, (name, request) in enumerate(requests.items()):
        expression = (membership[name], parameters) if name in membership else None
        axes[name], coding = _code(source, name, request, expression)
        source.keep(f"{name_of_table}_a{place}", coding)
    _count(
        source,
        keys,
        (axes, {name: request.columns for name, request in requests.items()}),
        membership,
        parameters,
        weight=weight,
        sketch=sketch,
        table=name_of_table,
    )
    logger.info("prepared", extra={"prepare_s": round(time.perf_counter() - started, 3)})
    return Prepared(
        source,
        axes,
        columns=columns,
        table=name_of_table,
        key_range=keys.resolve(source),
        is_weighted=weight is not None,
        sketch=sketch,
    )


def _counted(populations: Sequence[Filter]) -> list[Request]:
    return [Request(dimensions=[], where=where) for where in populations]


def _require_free_names(requests: Mapping[str, Request]) -> None:
    """Refuse columns that would be taken for those of a coding."""
    columns = [column for request in requests.values() for column in request.columns]
    reserved = [c for c in columns if c.lower().startswith((LEVEL, POPULATIONS))]
    if reserved:
        raise RequestError(
            Message(
                "Column {reserved!r} has a name that is kept for coding.",
                reserved=Name(reserved[0]),
            ),
            hint=Message("rename it"),
        )


def _membership(
    source: Source, populations: Sequence[Filter], parameters: dict[str, object]
) -> str:
    """Return the SQL of a text that tells which populations a record is in."""
    conditions = [p.sql(source.types, parameters) for p in populations]
    return f"concat({', '.join(f'CASE WHEN {sql} THEN 1 ELSE 0 END' for sql in conditions)})"


def _code(
    source: Source,
    name: str,
    request: Request,
    expression: tuple[str, Mapping[str, object]] | None = None,
) -> tuple[Axis, pa.Table]:
    """Return the axis of a dimension, and its values with their category at every level.

    A dimension that is no column is given by an SQL expression and the values in it.
    """
    columns_sql, parameters = ", ".join(quote(column) for column in request.columns), None
    if expression is not None:
        columns_sql, parameters = f"{expression[0]} AS {quote(name)}", expression[1]
    number = source.new_name("n")
    rows = source.arrow(
        f"SELECT {columns_sql}, count(*) AS {number} FROM {source.relation} GROUP BY ALL "
        f"LIMIT {_MAX_CATEGORIES + 1}",
        parameters,
    )
    is_whole = rows.num_rows <= _MAX_CATEGORIES
    if expression is None:
        require_discrete(
            source, [request], lambda c: records_by_value(rows, c, number) if is_whole else None
        )
    rows = rows.drop_columns(number)
    if rows.num_rows > _MAX_CATEGORIES:
        raise RequestError(
            Message(
                "The variable {name!r} has more than {max_categories:,} categories.",
                name=Name(name),
                max_categories=_MAX_CATEGORIES,
            ),
            hint=Message("offer a coarser one"),
        )
    ((axis, code),) = axes_of(source, request, rows, {c: c for c in request.columns})
    for place, level in enumerate(axis.levels[:-1]):
        rows = rows.append_column(f"{LEVEL}{place}", pa.array(code.astype(np.int32)))
        code = code if level.up is None else level.up[code]
    return axis, rows


def _count(
    source: Source,
    keys: RecordKeys,
    dimensions: tuple[Mapping[str, Axis], Mapping[str, tuple[str, ...]]],
    membership: Mapping[str, str],
    parameters: dict[str, object],
    *,
    weight: str | None,
    sketch: int,
    table: str,
) -> None:
    """Keep one row per combination of finest categories, sorted by the first dimension."""
    axes, columns = dimensions
    inner = [f"{keys.sql(source, parameters)} AS k"]
    key = modulo_sql("coalesce(sum(k), 0)", keys.resolve(source))
    summed = ["count(*)::UINTEGER AS n", f"{key} AS k"]
    if weight is not None:
        inner.append(f"CAST({source.number_sql(weight)} AS DECIMAL(38,{WEIGHT_DECIMALS})) AS w")
        summed.append("sum(w) AS w, count(*) FILTER (w > 0)::UINTEGER AS m")
    joins, leaves, levels, above = [], [], [], []
    for place, (name, axis) in enumerate(axes.items()):
        alias, coding = f"a{place}", f"{table}_a{place}"
        inner += [
            f"{membership.get(c, quote(c))} AS {quote(f'{alias} {c}')}" for c in columns[name]
        ]
        on = [
            f"r.{quote(f'{alias} {c}')} IS NOT DISTINCT FROM {alias}.{quote(c)}"
            for c in columns[name]
        ]
        joins.append(f"JOIN {coding} AS {alias} ON {' AND '.join(on)}")
        steps = [quote(f"{LEVEL}{step}") for step in range(len(axis.levels) - 1)]
        leaves.append(f"{alias}.{steps[0]} AS {alias}_leaf")
        nodes = f"(SELECT DISTINCT {', '.join(steps)} FROM {coding})"
        above.append(f"JOIN {nodes} AS {alias} ON g.{alias}_leaf = {alias}.{steps[0]}")
        levels += [
            f"{alias}.{step}::{_width(level.size)} AS {alias}_{place}"
            for place, (step, level) in enumerate(zip(steps, axis.levels[:-1], strict=True))
        ]
    # Data columns may have any name: whatever stands beside one is named with its table.
    numbers_sql = ["g.n", "g.k", *(["g.w", "g.m"] if weight is not None else [])]
    numbers_sql += _sketch_kept(sketch)
    by = [f"a{place}_leaf" for place in range(len(axes))]
    carried = ["r.k", *(["r.w"] if weight is not None else [])]
    records = f"SELECT {', '.join(inner)} FROM {source.relation}"
    codes_sql = (
        f"SELECT {', '.join([*leaves, *carried])} FROM ({records}) AS r {' '.join(joins)}"
    )
    if sketch:
        keyed, sums = sketch_columns(sketch, keys.resolve(source))
        codes_sql = f"SELECT *, {', '.join(keyed)} FROM ({codes_sql})"
        summed += [*sums, f"min(x, {sketch + 1}) AS members"]
    groups = f"SELECT {', '.join([*by, *summed])} FROM ({codes_sql}) GROUP BY {', '.join(by)}"
    source.create(
        table,
        f"SELECT {', '.join([*levels, *numbers_sql])} FROM ({groups}) AS g {' '.join(above)} "
        f"ORDER BY g.{by[0]}",
        parameters,
    )


def _sketch_kept(width: int) -> list[str]:
    """Name the columns of sketches, and the members of small sets of several records."""
    if not width:
        return []
    partitions = [f"g.x{partition}" for partition in range(width + 1)]
    power_sums = [f"g.p{i}::UINTEGER AS p{i}" for i in range(1, width + 2)]
    is_empty = [f"{a} = {b}" for a, b in pairwise([*partitions, "0"])]
    is_small = f"g.n > 1 AND ({' OR '.join(is_empty)})"
    return [*partitions, *power_sums, f"CASE WHEN {is_small} THEN g.members END AS members"]


def _width(size: int) -> str:
    """Return the narrowest type for codes below `size`."""
    return "UTINYINT" if size <= 2**8 else "USMALLINT" if size <= 2**16 else "UINTEGER"
