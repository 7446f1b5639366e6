"""Points in time farther away than microseconds of 64 bits count: nobody's, but in files.

Seconds and milliseconds reach there. DuckDB stops a whole statement at one, even in a column
that the statement does not use, where the statistics of a file tell it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from footing.messages import Message
from tables.refusals import Refusal, refusal_of

if TYPE_CHECKING:
    import pyarrow.parquet as pq

#: What DuckDB's timestamps hold, in microseconds; the ends stand for infinity.
_LEAST, _MOST = -9_223_372_022_400_000_000, 2**63 - 1
_INFINITY = -(2**63) + 1
#: Microseconds in a unit; in a microsecond for smaller ones, which reach nowhere near.
_MICROSECONDS = {"s": 10**6, "ms": 10**3, "us": 1}
FAR = Message("years beyond 290,000")


def refusal_of_far(name: str) -> Refusal:
    """Refuse a column that holds a point in time so far away."""
    return refusal_of(name, FAR)


def far_columns(parquet: pq.ParquetFile) -> set[str]:
    """Return the columns of a Parquet file that hold such points, by its statistics."""
    metadata = parquet.metadata
    kinds = {field.name: _timestamp(field.type) for field in parquet.schema_arrow}
    units = {name: kind.unit for name, kind in kinds.items() if kind is not None}
    if not units or not metadata.num_row_groups:
        return set()
    first = metadata.row_group(0)
    numbered = range(metadata.num_columns)
    paths = {first.column(place).path_in_schema: place for place in numbered}
    places = {name: paths[name] for name in units if name in paths}
    return {
        name
        for name, place in places.items()
        for group in range(metadata.num_row_groups)
        if _is_far(_extremes(metadata.row_group(group).column(place)), units[name])
    }


def is_far(column: pa.ChunkedArray) -> bool:
    """Tell whether a column of Arrow, or of codes, holds such points."""
    kind = _timestamp(column.type)
    if kind is None or kind.unit == "ns":
        return False
    values = column
    if pa.types.is_dictionary(column.type):
        values = pa.chunked_array([chunk.dictionary for chunk in column.chunks], kind)
    ends = pc.min_max(values.cast(pa.int64()))
    extremes = (ends["min"].as_py(), ends["max"].as_py())
    return _is_far(None if extremes[0] is None else extremes, kind.unit)


def storable(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Give seconds that Parquet's milliseconds do not reach the farthest of these."""
    if not (pa.types.is_timestamp(kind) and kind.unit == "s"):
        return array
    most = (2**63 - 1) // 1000
    seconds = array.cast(pa.int64())
    inside = pc.min_element_wise(pc.max_element_wise(seconds, -most), most)
    return pc.if_else(pc.is_valid(seconds), inside, None).cast(kind)


def _timestamp(kind: pa.DataType) -> pa.TimestampType | None:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return kind if pa.types.is_timestamp(kind) else None


def _extremes(chunk: pq.ColumnChunkMetaData) -> tuple[int, int] | None:
    """Return the least and the largest value of a group of rows, where the file tells them."""
    statistics = chunk.statistics
    if chunk.physical_type != "INT64" or statistics is None or not statistics.has_min_max:
        return None
    return statistics.min_raw, statistics.max_raw


def _is_far(extremes: tuple[int, int] | None, unit: str) -> bool:
    if extremes is None or unit not in _MICROSECONDS:
        return False
    least, most = (value * _MICROSECONDS[unit] for value in extremes)
    return (least < _LEAST and least != _INFINITY) or most > _MOST
