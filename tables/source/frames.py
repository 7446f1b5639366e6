"""Records in memory: pandas, polars and anything else that speaks Arrow's stream protocol."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from tables.errors import SourceError


def as_arrow(data: object) -> tuple[pa.Table, dict[str, pa.Array]]:
    """Turn records in memory into Arrow."""
    if hasattr(data, "iloc") and hasattr(data, "columns"):
        table = _from_pandas(data)
    else:
        table = _from_stream(data)
        if table is None:
            raise SourceError(
                f"Records cannot be read from {type(data).__name__!r}.",
                hint="give a path, or a pandas, polars or Arrow table",
            )
    names = [name.lower() for name in table.column_names]
    if not names or any(not name or "\0" in name for name in names):
        raise SourceError(
            "The data have no columns." if not names else "Every column needs a name.",
            hint="a name has one character or more, and no null character",
        )
    table = _readable(table)
    if len(set(names)) < len(names):
        raise SourceError("Column names must differ in more than upper and lower case.")
    orders: dict[str, pa.Array] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        # The order of pandas categories is always meant; elsewhere it may be that of the rows.
        is_coded = pa.types.is_dictionary(column.type) and column.num_chunks
        if is_coded and (column.type.ordered or hasattr(data, "iloc")):
            orders[name] = column.unify_dictionaries().chunk(0).dictionary
    return table, orders


def _readable(table: pa.Table) -> pa.Table:
    """Give columns without a type one, and such views as DuckDB cannot be handed another."""
    for place, field in enumerate(table.schema):
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if pa.types.is_null(kind):  # nothing but missing values: of no type, so of any
            nothing = pa.nulls(table.num_rows, pa.string())
            table = table.set_column(place, field.name, nothing)
        elif pa.types.is_string_view(kind):
            chunks = table[place].chunks
            if any(None in chunk.buffers()[2:] for chunk in chunks):  # crashes PyArrow below 25
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
    if type(index).__name__ != "RangeIndex" or index.start != 0 or index.step != 1:
        raise SourceError(
            "The data frame's index must be a plain range; this one carries something.",
            hint="call frame.reset_index() to keep it as columns, or reset_index(drop=True)",
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
