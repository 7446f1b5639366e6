"""Records in memory: pandas, polars and anything else that speaks Arrow's stream protocol."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from footing.messages import Message, Name, Shape
from tables.errors import SourceError
from tables.filtering.filters import quote
from tables.refusals import Refusal, colliding_names, refusal_of
from tables.source.columns import ORIGINAL_TYPE, reading_of
from tables.source.far_times import is_far, refusal_of_far, storable
from tables.source.files import ARROW_FILE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

#: Of polars, which Arrow does not have → DuckDB's name of them.
_WIDE_INTEGERS = {"Int128": "HUGEINT", "UInt128": "UHUGEINT"}
_UNVIEWED = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}
_SIMPLE = (
    *(pa.types.is_boolean, pa.types.is_integer, pa.types.is_float32, pa.types.is_float64),
    *(pa.types.is_string, pa.types.is_large_string, pa.types.is_date, pa.types.is_timestamp),
    *(pa.types.is_time, pa.types.is_decimal128, pa.types.is_null),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """Records in memory as DuckDB is handed them.

    Parameters
    ----------
    table
        The columns that DuckDB can hold.
    sql
        What makes the columns of records out of them.
    refusals
        Column → why it is not read.
    orders
        Column → its categories in their order, where they came in one.
    """

    table: pa.Table
    sql: str
    refusals: dict[str, Refusal]
    orders: dict[str, pa.Array]


def as_arrow(data: object) -> Frame:
    """Turn records in memory into Arrow; columns that cannot be read are left out."""
    is_pandas = hasattr(data, "iloc") and hasattr(data, "columns")
    changes = _ChangedColumns({}, {})
    if is_pandas:
        names, columns = _from_pandas(data)
        table = pa.table(columns, names=names) if names else pa.table({})
    else:
        data, changes = _for_arrow(data)
        frame = _from_stream(data)
        if frame is None:
            raise SourceError(
                Message("Records cannot be read from {name!r}.", name=Shape(type(data))),
                hint=Message(
                    "give a path, a list of paths, or a pandas, polars or Arrow table"
                ),
            )
        table = frame.cast(changes.marked(frame.schema)) if changes.types else frame
    require_names([*table.column_names, *changes.refusals])
    refusals = colliding_names(table.column_names) | changes.refusals
    arrays: dict[str, pa.ChunkedArray] = {}
    expressions: list[str] = []
    orders: dict[str, pa.Array] = {}
    for field, column in zip(table.schema, table.columns, strict=True):
        name = field.name
        reading = reading_of(field)
        if name in refusals:
            continue
        if reading.refusal is not None:
            refusals[name] = reading.refusal
            continue
        array = _held(column)
        if not _is_known_to_duckdb(array.type):
            refusals[name] = refusal_of(name, str(_value_type(field.type)))
            continue
        if is_far(array):
            refusals[name] = refusal_of_far(name)
            continue
        arrays[name] = array
        expressions.append(f"{reading.sql.format(quote(name))} AS {quote(name)}")
        # The order of pandas categories is always meant; elsewhere it may be that of the rows.
        is_coded = pa.types.is_dictionary(array.type) and array.num_chunks
        if is_coded and (array.type.ordered or is_pandas):
            orders[name] = array.unify_dictionaries().chunk(0).dictionary
    if not arrays:
        refusal = next(iter(refusals.values()))
        raise SourceError(refusal.problem, hint=refusal.hint)
    sql = ", ".join(expressions)
    return Frame(table=pa.table(arrays), sql=sql, refusals=refusals, orders=orders)


@dataclass(frozen=True, slots=True)
class _ChangedColumns:
    """Columns of polars that Arrow has no type for: given as texts, or left out."""

    types: dict[str, str]
    refusals: dict[str, Refusal]

    def marked(self, schema: pa.Schema) -> pa.Schema:
        """Note in a schema what texts were."""
        return pa.schema(
            field.with_metadata({"ARROW:extension:name": self.types[field.name]})
            if field.name in self.types
            else field
            for field in schema
        )


def _for_arrow(data: Any) -> tuple[Any, _ChangedColumns]:
    """Give a frame of polars texts for integers of 128 bits, and no objects of Python."""
    if not type(data).__module__.startswith("polars") or not hasattr(data, "collect_schema"):
        return data, _ChangedColumns({}, {})
    import polars as pl

    kinds = {name: str(kind) for name, kind in data.collect_schema().items()}
    wide = {n: _WIDE_INTEGERS[kind] for n, kind in kinds.items() if kind in _WIDE_INTEGERS}
    objects = {n: refusal_of(n, kind) for n, kind in kinds.items() if kind == "Object"}
    if wide:
        data = data.with_columns(pl.col(name).cast(pl.String) for name in wide)
    return data.drop(list(objects)) if objects else data, _ChangedColumns(wide, objects)


def _held(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Give a column of a type that DuckDB is not handed another, with the same values."""
    kind = column.type
    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    is_simple = any(is_kind(inner) for is_kind in _SIMPLE)
    if pa.types.is_null(inner):  # nothing but missing values: of no type, so of any
        column = pa.chunked_array([pa.nulls(len(column), pa.string())])
    elif pa.types.is_run_end_encoded(kind):
        decoded = [pc.run_end_decode(chunk) for chunk in column.chunks]
        column = _held(pa.chunked_array(decoded, kind.value_type))
    elif isinstance(kind, pa.BaseExtensionType) and kind.extension_name != "arrow.uuid":
        storages = [chunk.storage for chunk in column.chunks]
        column = _held(pa.chunked_array(storages, kind.storage_type))
    elif pa.types.is_decimal256(kind):
        column = column.cast(pa.decimal128(kind.precision, kind.scale))
    elif pa.types.is_string_view(inner):
        buffers = [buffer for chunk in column.chunks for buffer in chunk.buffers()[2:]]
        if any(buffer is None for buffer in buffers):  # crashes PyArrow below 25
            column = column.cast(pa.string())
    elif pa.types.is_dictionary(kind) and not is_simple:
        column = _held(pa.chunked_array([_decoded(chunk) for chunk in column.chunks]))
    return column


def _decoded(array: pa.DictionaryArray) -> pa.Array:
    """Return the values behind codes; Arrow takes none of views."""
    values = array.dictionary
    plain = _UNVIEWED.get(values.type)
    return (values if plain is None else values.cast(plain)).take(array.indices)


def _is_known_to_duckdb(kind: pa.DataType) -> bool:
    """Tell whether DuckDB can be handed a column of a type; one that it cannot stops all."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    if any(is_kind(kind) for is_kind in _SIMPLE):
        return True
    try:
        with duckdb.connect() as connection:
            connection.register("rare", pa.schema([("v", kind)]).empty_table())
            connection.execute("SELECT * FROM rare").fetchall()
    except (duckdb.Error, pa.ArrowException):
        return False
    return True


def require_names(names: Sequence[str]) -> None:
    """Refuse names of columns that are none."""
    if not names:
        raise SourceError(
            Message("The data have no columns."),
            hint=Message("are they those that were meant?"),
        )
    if any(not name or "\0" in name for name in names):
        raise SourceError(
            Message("Every column needs a name."),
            hint=Message("a name has one character or more, and no null character"),
        )


def arrow_batches(file: str) -> pa.RecordBatchReader:
    """Read the batches of an Arrow file (Feather) or of a stored stream of Arrow."""
    memory = pa.memory_map(file)
    if memory.read(8) != ARROW_FILE:
        memory.seek(0)
        return pa.ipc.open_stream(memory)
    reader = pa.ipc.open_file(memory)
    batches = (reader.get_batch(place) for place in range(reader.num_record_batches))
    return pa.RecordBatchReader.from_batches(reader.schema, batches)


def as_reader(
    data: Any, folder: Path
) -> tuple[pa.RecordBatchReader, dict[str, pa.Array], dict[str, Refusal]] | None:
    """Return the batches of what is a plan of reading; None for data in memory."""
    if hasattr(data, "sink_ipc"):  # a LazyFrame of polars
        kinds = data.collect_schema().items()
        orders = {n: pa.array(k.categories) for n, k in kinds if type(k).__name__ == "Enum"}
        data, changes = _for_arrow(data)
        data.sink_ipc(folder / "frame.arrow")
        reader = arrow_batches(str(folder / "frame.arrow"))
        schema = changes.marked(reader.schema)
        batches = (pa.record_batch(batch.columns, schema=schema) for batch in reader)
        marked = pa.RecordBatchReader.from_batches(schema, batches)
        return marked, orders, changes.refusals
    if hasattr(data, "scanner"):  # a Dataset of PyArrow
        return data.scanner().to_reader(), {}, {}
    return None


def write_parquet(reader: pa.RecordBatchReader, file: Path) -> None:
    """Stream batches into a Parquet file; columns of types that it cannot hold are empty."""
    require_names(reader.schema.names)
    schema = pa.schema([_stored_field(field) for field in reader.schema])
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        for batch in reader:
            columns = map(_stored, batch.columns, schema)
            writer.write_batch(pa.record_batch(list(columns), schema=schema))


def _stored_field(field: pa.Field) -> pa.Field:
    """Return a field as Parquet can hold it, with its type noted where it is held empty."""
    kind = _stored_type(field.type)
    try:
        if pa.types.is_decimal(kind) or not any(is_kind(kind) for is_kind in _SIMPLE):
            pq.write_table(pa.schema([("v", kind)]).empty_table(), io.BytesIO())
    except (pa.ArrowException, OSError, ValueError):
        metadata = {**(field.metadata or {}), ORIGINAL_TYPE: str(kind)}
        return pa.field(field.name, pa.null(), metadata=metadata)
    return field.with_type(kind)


def _value_type(kind: pa.DataType) -> pa.DataType:
    """Return the type behind codes or run ends."""
    is_coded = pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind)
    return _value_type(kind.value_type) if is_coded else kind


def _stored_type(kind: pa.DataType) -> pa.DataType:
    kind = _value_type(kind)
    return _UNVIEWED.get(kind, kind)


def _stored(array: pa.Array, field: pa.Field) -> pa.Array:
    """Decode values, or leave them out where Parquet cannot hold them."""
    if pa.types.is_null(field.type):
        return pa.nulls(len(array))
    while array.type != field.type:
        if pa.types.is_run_end_encoded(array.type):
            array = pc.run_end_decode(array)
        elif pa.types.is_dictionary(array.type):
            array = _decoded(array)
        else:
            array = array.cast(field.type)
    return storable(array, field.type)


def _from_stream(data: object) -> pa.Table | None:
    if isinstance(data, pa.Table):
        return data
    if not hasattr(data, "__arrow_c_stream__"):
        return None
    try:
        return pa.table(data)
    except (pa.ArrowException, TypeError, ValueError):  # a single column, say
        return None


def _from_pandas(frame: Any) -> tuple[list[str], list[Any]]:
    """Return the names and columns of a data frame; values of mixed types become texts."""
    index = frame.index
    index_names = [str(name) for name in index.names if name is not None]
    if type(index).__name__ != "RangeIndex" or index.start or index.step != 1 or index_names:
        what = (
            Message("is called {named!r}", named=Name.each(index_names))
            if index_names
            else Message("has labels of its own")
        )
        raise SourceError(
            Message(
                "The data frame's index must be a plain range without a name; this one {what}.",
                what=what,
            ),
            hint=Message(
                "call df.reset_index() to keep it as columns, or df.reset_index(drop=True)"
            ),
        )
    columns = []
    for position in range(len(frame.columns)):
        series = frame.iloc[:, position]
        try:
            columns.append(pa.Array.from_pandas(_for_pandas(series)))
        except (pa.ArrowException, OverflowError, TypeError, ValueError):
            values = [
                None if is_missing else str(value)
                for value, is_missing in zip(series, series.isna(), strict=True)
            ]
            columns.append(_texts(values))
    return [str(name) for name in frame.columns], columns


def _texts(values: list[str | None]) -> pa.Array:
    """Return texts; as bytes where one holds half a character, which no file can."""
    try:
        return pa.array(values, pa.string())
    except UnicodeEncodeError:
        as_bytes = [v if v is None else v.encode("utf-8", "surrogatepass") for v in values]
        return pa.array(as_bytes, pa.binary())


def _for_pandas(series: Any) -> Any:
    """Give intervals, and categories that are intervals or periods, the texts of pandas."""
    kind = type(series.dtype).__name__
    if kind == "SparseDtype":
        return series.sparse.to_dense()
    if kind == "IntervalDtype":
        series, kind = series.astype("category"), "CategoricalDtype"
    if kind == "CategoricalDtype":
        inner = type(series.cat.categories.dtype).__name__
        if inner in {"IntervalDtype", "PeriodDtype"}:
            return series.cat.rename_categories(list(map(str, series.cat.categories)))
    return series
