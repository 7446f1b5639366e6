"""Published tables that the workers of a Spark cluster make and write; no cell comes back."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from ckm.engine.key_mixing import mix_key
from ckm.engine.perturbation import perturb
from ckm.engine.published_table import measure_columns, published_numbers
from ckm.errors import ConfigError
from footing.messages import Message
from tables import Cells
from tables.cells.axes import encode
from tables.cells.cube import all_cells
from tables.filtering.filters import Filter, quote
from tables.magnitudes.limbs import from_limbs, limbs_of
from tables.spark.spark import SparkSource
from tables.spark.types import RESERVED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ckm.engine.protection import Protection
    from ckm.engine.request import TableRequest
    from footing.arrays import Flags
    from ptable import PTable
    from tables import Request
    from tables.keys import RecordKeys
    from tables.source.source import Source

_KEY = "mix_key"  # a parameter of bytes, and a column: it goes as data, never in a text


def write_distributed(
    source: Source,
    keys: RecordKeys,
    request: TableRequest,
    cell_request: Request,
    place: str | None,
    *,
    protection: Protection,
    progress: Callable[[float], None] | None,
) -> int:
    """Tabulate, protect and, into a place, write a table by the workers; count its rows."""
    _require_cells_alone(request, cell_request)
    if not isinstance(source, SparkSource):
        raise ConfigError(
            Message("Workers of Spark write tables."), hint=Message('engine = "spark"')
        )
    parameters: dict[str, object] = {}
    sql, key_range = all_cells(source, keys, cell_request, parameters)
    if protection.mixes and protection.secret is not None:
        sql = f"SELECT *, ${_KEY} AS {_KEY} FROM ({sql})"  # noqa: S608  (ours)
        parameters[_KEY] = mix_key(protection.secret)
    names = [m for m in ("count", "weighted") if m in request.measures]
    measures = measure_columns(names, dict.fromkeys(cell_request.columns))
    kinds = {n: "BIGINT" if m == "count" else "DOUBLE" for n, m in measures.items()}
    change = partial(
        _published,
        columns=cell_request.columns,
        measures=measures,
        ptable=protection.ptable,
        key_range=key_range,
        rounds_weighted=protection.rounds_weighted,
        labels=(cell_request.missing_label, cell_request.total_label),
    )
    return source.write_changed(
        sql,
        parameters,
        place,
        change=change,
        columns=dict.fromkeys(cell_request.columns, "STRING") | kinds,
        order=cell_request.columns,
        progress=progress,
    )


def n_finest_cells(source: Source, request: Request) -> int:
    """Count the finest cells of a request, where the records are."""
    parameters: dict[str, object] = {}
    where = ""
    if isinstance(request.where, Filter):
        where = f"WHERE {request.where.sql(source.types, parameters)}"
    names = {quote(column): f"d{place}" for place, column in enumerate(request.columns)}
    if not names:
        return 1
    select_list = ", ".join(f"{name} AS {alias}" for name, alias in names.items())
    columns = ", ".join(names.values())
    records = f"SELECT {select_list} FROM {source.relation} {where}"  # noqa: S608  (ours)
    cells = f"SELECT {columns} FROM ({records}) GROUP BY {columns}"  # noqa: S608  (ours)
    rows = source.fetch(f"SELECT count(*) AS n FROM ({cells})", parameters)  # noqa: S608  (ours)
    return int(rows[0][0])


def _require_cells_alone(request: TableRequest, cell_request: Request) -> None:
    """Refuse tables that depend on more than their cells, one by one."""
    has_trees = any(nested.tree is not None for nested in cell_request.hierarchies.values())
    if request.needs_whole_table or cell_request.categories or has_trees:
        raise ConfigError(
            Message(
                "Workers of Spark write counts and weighted counts of tables with "
                "dimensions, without declared categories, code trees and empty cells."
            ),
            hint=Message("leave them out, or use tabulate"),
        )


def _published(
    rows: pa.Table,
    *,
    columns: Sequence[str],
    measures: Mapping[str, str],
    ptable: PTable,
    key_range: int,
    rounds_weighted: bool,
    labels: tuple[str, str],
) -> pa.Table:
    """Make published rows of cells; workers have this and what it is given: no secret."""
    is_weighted, is_mixed = (name in rows.column_names for name in ("w0", _KEY))
    cells = Cells(
        axes=(),
        ranks=(),
        count=rows["n"].to_numpy().astype(np.int64),
        cell_key=rows["key"].to_numpy().astype(np.uint64),
        key_range=key_range,
        weight=from_limbs(limbs_of(rows["w0"])) if is_weighted else None,
        weighted_count=rows["w0_n"].to_numpy() if is_weighted else None,
        level_sets=(),
    )
    published = perturb(
        cells, ptable=ptable, secret=rows[_KEY][0].as_py() if is_mixed else None
    )
    numbers = published_numbers(
        cells, published, measures=list(measures.values()), round_weighted=rounds_weighted
    )
    bits, arrays = rows["g"].to_numpy().astype(np.int64), {}
    for place, column in enumerate(columns):
        is_total = (bits >> len(columns) - 1 - place & 1).astype(bool)
        arrays[column] = _texts(rows[f"d{place}"], column, is_total, labels)
    arrays |= {name: pa.array(numbers[measure]) for name, measure in measures.items()}
    return pa.Table.from_pydict(arrays).filter(pa.array(published > 0))


def _texts(
    values: pa.ChunkedArray, column: str, is_total: Flags, labels: tuple[str, str]
) -> pa.Array:
    """Spell categories out as a table of this machine would."""
    texts, codes = encode(values, column)
    if {*texts} & {*labels}:
        raise ValueError(RESERVED)
    codes = np.where(codes < 0, len(texts) + is_total, codes)  # a total has no value either
    return pa.array([*texts, *labels], pa.string()).take(pa.array(codes))
