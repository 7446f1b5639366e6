"""What Spark's types stand for: the columns of Parquet files, and the columns of an answer."""

import numpy as np
import pyarrow as pa

from footing.data_files import read_data

RESERVED = "CKM_RESERVED_WORD"  # what workers say of a category that is called like a total
SECRETS = "ckm_secrets"  # a view of one row, with a column for every parameter of bytes

_READ_AS: dict[str, str] = read_data("tables.spark", "spark.toml")["read_as"]
_UNSIGNED = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
}


def read_as(duckdb_type: str) -> str | None:
    """Return the type in which Spark reads the same values; None where there is none."""
    if duckdb_type.startswith("DECIMAL"):
        return duckdb_type.lower()
    return _READ_AS.get(duckdb_type)


def kept_as(column: str, duckdb_type: str) -> str:
    """Return Spark's expression of a column in which equal values have one form."""
    if duckdb_type in {"DOUBLE", "FLOAT"}:
        zero = f"CAST(0 AS {duckdb_type})"
        missing = f"WHEN ISNAN({column}) THEN NULL"
        return f"CASE {missing} WHEN {column} = 0 THEN {zero} ELSE {column} END"
    return f"VALIDATE_UTF8({column})" if duckdb_type == "VARCHAR" else column


def as_wanted(answer: pa.Table, schema: pa.Schema) -> pa.Table:
    """Give the columns of Spark's answer the names and types that DuckDB gives them."""
    columns = [_column(c, f.type) for c, f in zip(answer.columns, schema, strict=True)]
    return pa.table(columns, schema=schema)


def _column(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Give a column its type; integers in decimals and of 64 bits are read as their bits."""
    have = column.type
    if have == kind:
        return column
    if pa.types.is_uint64(kind) and pa.types.is_int64(have):
        return pa.chunked_array([chunk.view(kind) for chunk in column.chunks], kind)
    if not (pa.types.is_decimal128(have) and have.scale == 0):
        return column.cast(kind)
    if pa.types.is_decimal128(kind):  # a whole multiple of its last decimal
        return pa.chunked_array([chunk.view(kind) for chunk in column.chunks], kind)
    if pa.types.is_uint64(kind):
        return pa.chunked_array([_low_bits(chunk) for chunk in column.chunks], kind)
    return column.cast(kind)


def _low_bits(decimals: pa.Array) -> pa.Array:
    words = np.frombuffer(decimals.buffers()[1] or b"", np.uint64)
    mine = words[2 * decimals.offset : 2 * (decimals.offset + len(decimals)) : 2]
    missing = decimals.is_null().to_numpy(zero_copy_only=False)
    return pa.array(mine, pa.uint64(), mask=missing)


def as_spark(table: pa.Table) -> pa.Table:
    """Give the columns of a table types that Spark has."""
    fields = []
    for field in table.schema:
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        fields.append(field.with_type(_UNSIGNED.get(kind, kind)))
    return table.cast(pa.schema(fields))
