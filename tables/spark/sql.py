"""From DuckDB's dialect to Spark's: the one text of a tabulation, and the same bits out of it.

Spark has no unsigned and no 128-bit integers. Here unsigned 64-bit integers are
``DECIMAL(20,0)``, sums ``DECIMAL(38,0)``, and weights whole multiples of their last decimal.
What is not known to mean the same on both engines is refused, never passed on in hope.
"""

import math
from collections.abc import Mapping

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from footing.messages import Message, Name
from tables.errors import RequestError
from tables.filtering.values import kind_of
from tables.spark.hashing import KEY_OF, NAME
from tables.spark.rules import FLOATING, RULES, note_types, parsed, unknown
from tables.spark.types import SECRETS, read_as
from tables.spark.wide_sums import split_wide_sums

_KNOWN_NODES = """
    Abs Add Alias And BitwiseAnd BitwiseRightShift BitwiseXorAgg Boolean Case Cast Coalesce
    Column Count DPipe DataType DataTypeParam Distinct Div EQ Encode Explode Filter From GT
    GTE Group Grouping GroupingSets Having Identifier If In IntDiv Is IsInf Join LT LTE Left
    Literal LogicalAnd LogicalOr Max Min Mod Mul NEQ Neg Not Null NullSafeEQ Or Paren
    Placeholder PropertyEQ Replace Right Round SHA2 Select Star Struct Sub Subquery Sum Table
    TableAlias Trunc Tuple Unhex Where
"""
_KNOWN = frozenset(_KNOWN_NODES.split())
_KNOWN_CALLS = frozenset({"ckm_aes", NAME, KEY_OF, "isfinite", "strlen"})


def spark_sql(
    sql: str,
    parameters: Mapping[str, object],
    *,
    columns: Mapping[str, str],
    tables: Mapping[str, str] | None = None,
) -> str:
    """Write a statement of ours in Spark's dialect, with other names for some tables."""
    try:
        tree = sqlglot.parse_one(sql, dialect="duckdb")
        for table in tree.find_all(exp.Table):
            table.this.set("this", (tables or {}).get(table.name, table.name))
        _require_exact(tree, columns)
        _require_known(tree)
        split_wide_sums(tree, columns)
        note_types(tree, columns)
        places = [_place(node) for node in tree.find_all(exp.Placeholder)]
        values = [_value(place, parameters, columns) for place in places]
        for place, value in zip(places, values, strict=True):
            place.replace(value)
        for node in reversed(list(tree.walk(bfs=False))):  # the parts before the whole
            if (rule := RULES.get(type(node).__name__)) is not None:
                replacement = rule(node, columns)
                if replacement is not node:
                    node.replace(replacement)
        return str(tree.sql("spark", unsupported_level=sqlglot.ErrorLevel.RAISE))
    except (SqlglotError, RecursionError):
        raise unknown() from None


def columns_of(sql: str, relation: str) -> set[str] | None:
    """Return the columns that a statement of ours names; None if it takes all of a relation."""
    tree = sqlglot.parse_one(sql, dialect="duckdb")
    for star in tree.find_all(exp.Star):
        select = star.find_ancestor(exp.Select)
        sources = [] if select is None else [select.args.get("from_")]
        sources += [] if select is None else select.args.get("joins") or []
        is_all = isinstance(star.parent, exp.Select)
        names = [one.this.name for one in sources if one and isinstance(one.this, exp.Table)]
        if is_all and relation in names:
            return None
    columns = (column for column in tree.find_all(exp.Column) if column.this.quoted)
    return {c.name for c in columns if getattr(c.parent, "name", "").lower() != KEY_OF}


def _require_exact(tree: exp.Expr, columns: Mapping[str, str]) -> None:
    """Raise where the text of a floating-point number matters: two engines print two texts."""
    for cast in tree.find_all(exp.Cast):
        column = cast.this
        if cast.to.this != exp.DType.TEXT or not isinstance(column, exp.Column):
            continue
        if column.this.quoted and columns[column.name] in FLOATING:
            if isinstance(cast.parent, exp.Cast) and cast.parent.to.this == exp.DType.DOUBLE:
                raise RequestError(
                    Message(
                        "Numbers in single precision, as {column!r}, are not added up by "
                        "Spark: "
                        "their digits depend on the engine.",
                        column=Name(column.name),
                    ),
                    hint=Message(
                        'write the column in double precision, or use engine = "duckdb"'
                    ),
                )
            raise RequestError(
                Message(
                    "Record keys stored in floating point, as {column!r}, are not read by "
                    "Spark: their digits depend on the engine.",
                    column=Name(column.name),
                ),
                hint=Message('write them as decimals or integers, or use engine = "duckdb"'),
            )


def _require_known(tree: exp.Expr) -> None:
    for node in tree.walk():
        if isinstance(node, exp.Anonymous):
            if node.name.lower() not in _KNOWN_CALLS:
                raise unknown()
        elif type(node).__name__ not in _KNOWN:
            raise unknown()


def _place(node: exp.Expr) -> exp.Expr:
    """Return a placeholder with the type that it is cast to."""
    return node.parent if isinstance(node.parent, exp.Cast) else node


def _value(
    place: exp.Expr, parameters: Mapping[str, object], columns: Mapping[str, str]
) -> exp.Expr:
    """Write the value of a parameter, of the type of the column that it is compared with."""
    name = place.this.name if isinstance(place, exp.Cast) else place.name
    value = parameters[name]
    if isinstance(value, bytes):
        return parsed(f"(SELECT {name} FROM {SECRETS})")
    compared = place.parent
    if compared is None or not isinstance(compared.this, exp.Column):
        raise unknown()
    # A name that is no column's stands for numbers that the statement made.
    return _literal(value, columns.get(compared.this.name, "DOUBLE"))


def _literal(value: object, column: str) -> exp.Expr:
    """Write a value of the type of a column; those of filters have been made to fit."""
    if isinstance(value, float):
        sign = "-" if value < 0 else ""
        digits = "Infinity" if math.isinf(value) else repr(abs(value))
        number = f"CAST('{sign}{digits}' AS DOUBLE)"
        return parsed(f"CAST({number} AS FLOAT)" if column == "FLOAT" else number)
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
