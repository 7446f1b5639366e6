"""Records in memory: pandas, polars and anything else that speaks Arrow's stream protocol."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tables.errors import SourceError
from tables.source.files import ARROW_FILE


def as_arrow(data: object) -> tuple[pa.Table, dict[str, pa.Array]]:
    """Turn records in memory into Arrow."""
    if hasattr(data, "iloc") and hasattr(data, "columns"):
        table = _from_pandas(data)
    else:
        table = _from_stream(data)
        if table is None:
            raise SourceError(
                f"Records cannot be read from {type(data).__name__!r}.",
                hint="give a path, a list of paths, or a pandas, polars or Arrow table",
            )
    require_names(table.column_names)
    table = _readable(table)
    orders: dict[str, pa.Array] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        # The order of pandas categories is always meant; elsewhere it may be that of the rows.
        is_coded = pa.types.is_dictionary(column.type) and column.num_chunks
        if is_coded and (column.type.ordered or hasattr(data, "iloc")):
            orders[name] = column.unify_dictionaries().chunk(0).dictionary
    return table, orders


def require_names(given: Sequence[str]) -> None:
    """Refuse names of columns that are none, or that differ in case alone."""
    names = [name.lower() for name in given]
    if not names or any(not name or "\0" in name for name in names):
        raise SourceError(
            "The data have no columns." if not names else "Every column needs a name.",
            hint="a name has one character or more, and no null character",
        )
    if len(set(names)) < len(names):
        raise SourceError("Column names must differ in more than upper and lower case.")


def arrow_batches(file: str) -> pa.RecordBatchReader:
    """Read the batches of an Arrow file (Feather) or of a stored stream of Arrow."""
    mapped = pa.memory_map(file)
    if mapped.read(8) != ARROW_FILE:
        mapped.seek(0)
        return pa.ipc.open_stream(mapped)
    opened = pa.ipc.open_file(mapped)
    batches = (opened.get_batch(place) for place in range(opened.num_record_batches))
    return pa.RecordBatchReader.from_batches(opened.schema, batches)


def as_reader(
    data: Any, folder: Path
) -> tuple[pa.RecordBatchReader, dict[str, pa.Array]] | None:
    """Return the batches of what is a plan of reading; None for data in memory."""
    if hasattr(data, "sink_ipc"):  # a LazyFrame of polars
        data.sink_ipc(folder / "frame.arrow")
        kinds = data.collect_schema().items()
        orders = {n: pa.array(k.categories) for n, k in kinds if type(k).__name__ == "Enum"}
        return arrow_batches(str(folder / "frame.arrow")), orders
    if hasattr(data, "scanner"):  # a Dataset of PyArrow
        return data.scanner().to_reader(), {}
    return None


def write_parquet(reader: pa.RecordBatchReader, file: Path) -> None:
    """Stream batches into a Parquet file; its columns have types that DuckDB knows."""
    require_names(reader.schema.names)
    schema = pa.schema([field.with_type(_plain(field.type)) for field in reader.schema])
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        for batch in reader.cast(schema):
            writer.write_batch(batch)


def _plain(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        return _plain(kind.value_type)
    is_untyped = pa.types.is_null(kind) or pa.types.is_string_view(kind)
    return pa.string() if is_untyped else kind


def _readable(table: pa.Table) -> pa.Table:
    """Give columns without a type one, and such views as DuckDB cannot be handed another."""
    for place, field in enumerate(table.schema):
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if pa.types.is_null(kind):  # nothing but missing values: of no type, so of any
            nothing = pa.nulls(table.num_rows, pa.string())
            table = table.set_column(place, field.name, nothing)
        elif pa.types.is_string_view(kind):
            chunks = table[place].chunks
            buffers = [buffer for chunk in chunks for buffer in chunk.buffers()[2:]]
            if any(buffer is None for buffer in buffers):  # crashes PyArrow below 25
                table = table.set_column(place, field.name, table[place].cast(pa.string()))
    return table


def _from_stream(data: object) -> pa.Table | None:
    if isinstance(data, pa.Table):
        return data
    if not hasattr(data, "__arrow_c_stream__"):
        return None
    try:
        return pa.table(data)
    except (pa.ArrowException, TypeError, ValueError):  # a single column, say
        return None


def _from_pandas(frame: Any) -> pa.Table:
    """Turn a data frame into Arrow column by column; values of mixed types become texts."""
    index = frame.index
    named = [str(name) for name in index.names if name is not None]
    if type(index).__name__ != "RangeIndex" or index.start or index.step != 1 or named:
        what = f"is called {', '.join(map(repr, named))}" if named else "has labels of its own"
        raise SourceError(
            f"The data frame's index must be a plain range without a name; this one {what}.",
            hint="call df.reset_index() to keep it as columns, or df.reset_index(drop=True)",
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
