"""From DuckDB's dialect to Spark's: the one text of a tabulation, and the same bits out of it.

Spark has no unsigned and no 128-bit integers. Here unsigned 64-bit integers are
``DECIMAL(20,0)``, sums ``DECIMAL(38,0)``, and weights whole multiples of their last decimal.
What is not known to mean the same on both engines is refused, never passed on in hope.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from tables.errors import RequestError
from tables.filtering.values import kind_of
from tables.spark.rules import FLOATING, RULES, note_types, parsed, unknown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlglot.expressions import Expr

SECRETS = "ckm_secrets"  # a view of one row, with a column for every parameter of bytes

_KNOWN_NODES = """
    Abs Add Alias And BitwiseAnd BitwiseRightShift BitwiseXorAgg Boolean Case Cast Coalesce
    Column Count DPipe DataType DataTypeParam Distinct Div EQ Encode Explode Filter From GT
    GTE Group Grouping GroupingSets Having Identifier If In IntDiv Is IsInf Join LT LTE Left
    Literal LogicalAnd LogicalOr Max Min Mod Mul NEQ Neg Not Null NullSafeEQ Or Paren
    Placeholder PropertyEQ Replace Round SHA2 Select Star Struct Sub Subquery Sum Table
    TableAlias Trunc Tuple Unhex Where
"""
_KNOWN = frozenset(_KNOWN_NODES.split())
_KNOWN_CALLS = frozenset({"isfinite", "hash"})

_READ_AS = {
    "TINYINT": "tinyint",
    "SMALLINT": "smallint",
    "INTEGER": "int",
    "BIGINT": "bigint",
    "UTINYINT": "smallint",
    "USMALLINT": "int",
    "UINTEGER": "bigint",
    "UBIGINT": "decimal(20,0)",
    "FLOAT": "float",
    "DOUBLE": "double",
    "VARCHAR": "string",
    "BOOLEAN": "boolean",
    "DATE": "date",
    "TIMESTAMP": "timestamp_ntz",
    "TIMESTAMP WITH TIME ZONE": "timestamp",
}
_UNSIGNED = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
}


def spark_sql(sql: str, parameters: Mapping[str, object], *, columns: Mapping[str, str]) -> str:
    """Write a statement of ours in Spark's dialect."""
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    try:
        tree = sqlglot.parse_one(sql, dialect="duckdb")
        _require_exact(tree, columns)
        _require_known(tree)
        note_types(tree, columns)
        places = [_place(node) for node in tree.find_all(exp.Placeholder)]
        values = [_value(place, parameters, columns) for place in places]
        for place, value in zip(places, values, strict=True):
            place.replace(value)
        for node in reversed(list(tree.walk(bfs=False))):  # the parts before the whole
            if (rule := RULES.get(type(node).__name__)) is not None:
                changed = rule(node, columns)
                if changed is not node:
                    node.replace(changed)
        return str(tree.sql("spark", unsupported_level=sqlglot.ErrorLevel.RAISE))
    except (SqlglotError, RecursionError):
        raise unknown() from None


def _require_exact(tree: Expr, columns: Mapping[str, str]) -> None:
    """Raise where the text of a floating-point number matters: two engines print two texts."""
    from sqlglot import exp

    for cast in tree.find_all(exp.Cast):
        column = cast.this
        if cast.to.this != exp.DType.TEXT or not isinstance(column, exp.Column):
            continue
        if column.this.quoted and columns[column.name] in FLOATING:
            if isinstance(cast.parent, exp.Cast) and cast.parent.to.this == exp.DType.DOUBLE:
                raise RequestError(
                    f"Numbers in single precision, as {column.name!r}, are not added up by "
                    "Spark: their digits depend on the engine.",
                    hint='write the column in double precision, or use engine = "duckdb"',
                )
            raise RequestError(
                f"Record keys stored in floating point, as {column.name!r}, are not read by "
                "Spark: their digits depend on the engine.",
                hint='write them as decimals or integers, or use engine = "duckdb"',
            )


def _require_known(tree: Expr) -> None:
    from sqlglot import exp

    for node in tree.walk():
        if isinstance(node, exp.Anonymous):
            if node.name.lower() not in _KNOWN_CALLS:
                raise unknown()
        elif type(node).__name__ not in _KNOWN:
            raise unknown()


def _place(node: Expr) -> Expr:
    """Return a placeholder with the type that it is cast to."""
    from sqlglot import exp

    return node.parent if isinstance(node.parent, exp.Cast) else node


def _value(place: Expr, parameters: Mapping[str, object], columns: Mapping[str, str]) -> Expr:
    """Write the value of a parameter, of the type of the column that it is compared with."""
    from sqlglot import exp

    name = place.this.name if isinstance(place, exp.Cast) else place.name
    value = parameters[name]
    if isinstance(value, bytes):
        return parsed(f"(SELECT {name} FROM {SECRETS})")
    compared = place.parent
    if compared is None or not isinstance(compared.this, exp.Column):
        raise unknown()
    return _literal(value, columns[compared.this.name])


def _literal(value: object, column: str) -> Expr:
    """Write a value of the type of a column; those of filters have been made to fit."""
    if isinstance(value, float):
        sign = "-" if value < 0 else ""
        digits = "Infinity" if math.isinf(value) else repr(abs(value))
        written = f"CAST('{sign}{digits}' AS DOUBLE)"
        return parsed(f"CAST({written} AS FLOAT)" if column == "FLOAT" else written)
    if isinstance(value, int):
        return parsed(_whole(value))
    if not isinstance(value, str):
        raise unknown()
    match kind_of(column):
        case "text":  # hexadecimal digits need no escape
            return parsed(f"CAST(X'{value.encode().hex()}' AS STRING)")
        case "integer":
            return parsed(_whole(int(value)))
        case "boolean":
            return parsed(value.upper())
        case "number" | "date":
            return parsed(f"CAST('{value}' AS {read_as(column)})")
    raise unknown()


def _whole(value: int) -> str:
    """Write an integer; Spark takes a missing value for smaller than a longer bare one."""
    if -(2**63) <= value < 2**63:
        return str(value)
    return f"CAST('{value}' AS DECIMAL({len(str(abs(value)))}, 0))"


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


def as_wanted(answer: pa.Table, wanted: pa.Schema) -> pa.Table:
    """Give the columns of Spark's answer the names and types that DuckDB gives them."""
    columns = [_column(c, f.type) for c, f in zip(answer.columns, wanted, strict=True)]
    return pa.table(columns, schema=wanted)


def _column(column: pa.ChunkedArray, wanted: pa.DataType) -> pa.ChunkedArray:
    """Give a column its type; integers in decimals and of 64 bits are read as their bits."""
    have = column.type
    if have == wanted:
        return column
    if pa.types.is_uint64(wanted) and pa.types.is_int64(have):
        return pa.chunked_array([chunk.view(wanted) for chunk in column.chunks], wanted)
    if not (pa.types.is_decimal128(have) and have.scale == 0):
        return column.cast(wanted)
    if pa.types.is_decimal128(wanted):  # a whole multiple of its last decimal
        return pa.chunked_array([chunk.view(wanted) for chunk in column.chunks], wanted)
    if pa.types.is_uint64(wanted):
        return pa.chunked_array([_low_bits(chunk) for chunk in column.chunks], wanted)
    return column.cast(wanted)


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
