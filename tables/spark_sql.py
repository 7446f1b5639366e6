"""From DuckDB's dialect to Spark's: the one text of a tabulation, and the same bits out of it.

Spark has no unsigned and no 128-bit integers. Here unsigned 64-bit integers are
``DECIMAL(20,0)``, sums ``DECIMAL(38,0)``, and weights whole multiples of their last decimal.
What is not known to mean the same on both engines is refused, never passed on in hope.
"""

from __future__ import annotations

import datetime as dt
import math
from typing import TYPE_CHECKING, Any

from tables.errors import RequestError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sqlglot.expressions import Expr

__all__ = ["SECRETS", "spark_sql"]

SECRETS = "ckm_secrets"  # a view of one row, with a column for every parameter of bytes
BITS = (
    "ckm bits of "  # before the name of an unsigned 64-bit column: the signed one of its bits
)

_KNOWN_NODES = """
    Alias And BitwiseAnd BitwiseRightShift BitwiseXorAgg Boolean Cast Coalesce Column
    Count DPipe DataType DataTypeParam Distinct EQ Encode Explode Filter From GT GTE
    Group Grouping GroupingSets Having Identifier In IntDiv Is Join LT LTE Left Literal
    Max Min Mod Mul NEQ Neg Not Null NullSafeEQ Or Paren Placeholder Replace SHA2 Select
    Star Subquery Sum Table TableAlias Tuple Unhex Where
"""
_KNOWN = frozenset(_KNOWN_NODES.split())
_KNOWN_CALLS = frozenset({"isfinite", "hash"})
_WHOLE = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"}
_LIMB = 22  # bits: the sums of such parts overflow after 2**41 records, and then loudly
_EXACT_DIGITS = 15  # decimals of so many digits are exact doubles times a power of ten
_FLOATING = frozenset({"DOUBLE", "FLOAT"})


def spark_sql(sql: str, parameters: Mapping[str, object], *, columns: Mapping[str, str]) -> str:
    """Write a statement of ours in Spark's dialect.

    Parameters
    ----------
    sql
        The statement in DuckDB's dialect; data columns are quoted in it, our names are not.
    parameters
        Its values. Bytes are secrets: they are read from the view `SECRETS` and are no part
        of the text.
    columns
        Data column → DuckDB's type.

    Returns
    -------
    str
        The statement in Spark's dialect, without parameters.

    Raises
    ------
    RequestError
        If the statement, or a comparison in it, is not known to mean the same on Spark.

    Examples
    --------
    >>> spark_sql('SELECT sum("n") FROM t', {}, columns={"n": "BIGINT"})
    'SELECT SUM(CAST(`n` AS DECIMAL(38, 0))) FROM t'
    """
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    try:
        tree = sqlglot.parse_one(sql, dialect="duckdb")
        _require_exact(tree, columns)
        _require_known(tree)
        places = list(tree.find_all(exp.Placeholder))
        values = [_value(place, parameters, columns) for place in places]
        for place, value in zip(places, values, strict=True):
            place.replace(value)
        for node in reversed(list(tree.walk(bfs=False))):  # the parts before the whole
            if (rule := _RULES.get(type(node).__name__)) is not None:
                changed = rule(node, columns)
                if changed is not node:
                    node.replace(changed)
        return str(tree.sql("spark", unsupported_level=sqlglot.ErrorLevel.RAISE))
    except (SqlglotError, RecursionError):
        raise _unknown() from None


def _unknown() -> RequestError:
    return RequestError(
        "A part of this tabulation is not known to give the same numbers on Spark.",
        hint='run the job with engine = "duckdb"',
    )


def _require_exact(tree: Expr, columns: Mapping[str, str]) -> None:
    """Raise where the text of a floating-point number matters: two engines print two texts."""
    from sqlglot import exp

    for cast in tree.find_all(exp.Cast):
        column = cast.this
        if cast.to.this != exp.DType.TEXT or not isinstance(column, exp.Column):
            continue
        if column.this.quoted and columns[column.name] in _FLOATING:
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
                raise _unknown()
        elif type(node).__name__ not in _KNOWN:
            raise _unknown()


def _parsed(text: str) -> Expr:
    import sqlglot

    return sqlglot.parse_one(text, dialect="spark")


def _value(node: Expr, parameters: Mapping[str, object], columns: Mapping[str, str]) -> Expr:
    """Write the value of a parameter, of the type in which DuckDB compares it."""
    from sqlglot import exp

    value = parameters[node.name]
    if isinstance(value, bytes):
        return _parsed(f"(SELECT {node.name} FROM {SECRETS})")
    place = node.parent
    if place is None or not isinstance(place.this, exp.Column):
        raise _unknown()
    others = place.expressions if isinstance(place, exp.In) else [node]
    beside = [parameters[other.name] for other in others]
    return _literal(value, columns[place.this.name], any(isinstance(v, float) for v in beside))


def _literal(value: object, column: str, is_approximate: bool) -> Expr:  # noqa: FBT001
    """Write a value to compare a column of some type with."""
    if isinstance(value, bool):
        return _parsed("TRUE" if value else "FALSE")
    if isinstance(value, (int, float)):
        return _parsed(_number(value, column, is_approximate))
    if isinstance(value, str):  # hexadecimal digits need no escape
        return _parsed(f"CAST(X'{value.encode().hex()}' AS STRING)")
    if isinstance(value, dt.datetime):
        kind = "TIMESTAMP_NTZ" if value.tzinfo is None else "TIMESTAMP"
        moment = value if value.tzinfo is None else value.astimezone(dt.UTC)
        return _parsed(f"CAST('{moment.isoformat(' ')}' AS {kind})")
    if isinstance(value, dt.date):
        return _parsed(f"CAST('{value.isoformat()}' AS DATE)")
    raise _unknown()


def _number(value: float, column: str, is_approximate: bool) -> str:  # noqa: FBT001
    """Write a number: whole, or as a double where DuckDB compares doubles."""
    if not is_approximate and column not in _FLOATING:
        return _whole(int(value))
    if column.startswith("DECIMAL") and int(column[8:].partition(",")[0]) > _EXACT_DIGITS:
        raise RequestError(
            f"On Spark, decimals of more than {_EXACT_DIGITS} digits are compared with whole "
            "numbers alone.",
            hint='compare with a whole number, or run the job with engine = "duckdb"',
        )
    number = float(value)
    sign = "-" if number < 0 else ""
    digits = "Infinity" if math.isinf(number) else repr(abs(number))
    written = f"CAST('{sign}{digits}' AS DOUBLE)"
    return f"CAST({written} AS FLOAT)" if column == "FLOAT" and not is_approximate else written


def _whole(value: int) -> str:
    """Write an integer; Spark takes a missing value for smaller than a longer bare one."""
    if -(2**63) <= value < 2**63:
        return str(value)
    return f"CAST('{value}' AS DECIMAL({len(str(abs(value)))}, 0))"


def _cast(node: Any, columns: Mapping[str, str]) -> Expr:
    from sqlglot import exp

    to, inner = node.to.this, node.this.unnest()
    if to == exp.DType.UBIGINT:
        if isinstance(inner, exp.DPipe) and inner.left.name == "0x":
            digits = inner.right.sql("spark")
            key = _parsed(f"CAST(CONV({digits}, 16, 10) AS DECIMAL(20, 0))")
            key.meta["bits"] = f"CAST(CONV({digits}, 16, -10) AS BIGINT)"
            return key
        return exp.cast(node.this, "DECIMAL(20, 0)", dialect="spark")
    if to == exp.DType.INT128:
        return exp.cast(node.this, "DECIMAL(38, 0)", dialect="spark")
    if to == exp.DType.DECIMAL and isinstance(inner, exp.Column) and inner.this.quoted:
        decimals = int(node.to.expressions[1].name)
        return _parsed(_scaled(inner.sql("spark"), columns[inner.name], decimals))
    return node  # type: ignore[no-any-return]


def _scaled(column: str, kind: str, decimals: int) -> str:
    """Write a number as a whole multiple of its last decimal, rounded as DuckDB rounds."""
    if kind.startswith("DECIMAL"):
        digits = f"CAST(CAST({column} AS DECIMAL(38, {decimals})) AS STRING)"
        return f"CAST(REPLACE({digits}, '.', '') AS DECIMAL(38, 0))"
    if kind not in _FLOATING:
        return f"(CAST({column} AS DECIMAL(38, 0)) * {10**decimals})"
    # Halves go up. From 2**63 on doubles are multiples of 2048, taken in two parts.
    scaled = f"(CAST({column} AS DOUBLE) * CAST('1e{decimals}' AS DOUBLE))"
    whole = f"FLOOR({scaled})"
    half = f"IF({scaled} - {whole} >= CAST('0.5' AS DOUBLE), 1, 0)"
    small = f"CAST({whole} + {half} AS DECIMAL(38, 0))"
    upper = f"FLOOR({scaled} / CAST('{2**64}' AS DOUBLE))"
    lower = f"FLOOR(({scaled} - {upper} * CAST('{2**64}' AS DOUBLE)) / CAST('2048' AS DOUBLE))"
    large = (
        f"CAST({upper} AS DECIMAL(38, 0)) * {2**64} + CAST({lower} AS DECIMAL(38, 0)) * 2048"
    )
    return f"IF({scaled} < CAST('{2**63}' AS DOUBLE), {small}, {large})"


def _sum(node: Any, columns: Mapping[str, str]) -> Expr:
    """Add up decimals; or 64-bit integers in three parts, which is far cheaper."""
    from sqlglot import exp

    defined = _only_use(node.this)
    bits = None if defined is None else _bits_of(defined.this, columns)
    if defined is None or bits is None:
        node.set("this", exp.cast(node.this, "DECIMAL(38, 0)", dialect="spark"))
        return node  # type: ignore[no-any-return]
    defined.set("this", _parsed(bits))
    parts = [
        f"CAST(SUM(SHIFTRIGHTUNSIGNED({defined.alias}, {place}) & {2**_LIMB - 1}) "
        f"AS DECIMAL(38, 0)) * {2**place}"
        for place in range(0, 64, _LIMB)
    ]
    return _parsed(f"({' + '.join(parts)})")


def _only_use(column: Any) -> Any:
    """Return where a name of ours is defined, if this is the only place that reads it."""
    from sqlglot import exp

    if not isinstance(column, exp.Column) or column.this.quoted:
        return None
    tree = column.root()
    uses = [c for c in tree.find_all(exp.Column) if not c.this.quoted and c.name == column.name]
    places = [a for a in tree.find_all(exp.Alias) if a.alias == column.name]
    places = [a for a in places if a.find_ancestor(exp.Select) is not tree]
    return places[0] if len(uses) == len(places) == 1 else None


def _bits_of(key: Expr, columns: Mapping[str, str]) -> str | None:
    """Write a key as the signed 64-bit integer of its bits; None where it is none."""
    from sqlglot import exp

    if not isinstance(key, exp.Column) or not key.this.quoted:
        found: str | None = key.meta.get("bits")
        return found
    kind = columns[key.name]
    if kind == "UBIGINT":
        return _signed(key.sql("spark"))
    return f"CAST({key.sql('spark')} AS BIGINT)" if kind in _WHOLE else None


def _and(node: Any, _columns: Mapping[str, str]) -> Expr:
    """Keep the low bits of a sum: it is never negative."""
    mask = int(node.expression.unnest().this.name)
    if mask & (mask + 1):
        raise _unknown()
    return _parsed(f"({node.this.sql('spark')} % {mask + 1})")


def _shift(node: Any, _columns: Mapping[str, str]) -> Expr:
    """Drop the low bits of a key: it is never negative."""
    return _parsed(f"(({node.this.sql('spark')}) DIV {2 ** int(node.expression.name)})")


def _xor(node: Any, _columns: Mapping[str, str]) -> Expr:
    """Combine unsigned integers by the signed ones of the same bits."""
    return _parsed(f"BIT_XOR({_signed(node.this.sql('spark'))})")


def _signed(key: str) -> str:
    """Write the signed 64-bit integer of the same bits."""
    return f"CAST(IF(({key}) >= {2**63}, ({key}) - {2**64}, ({key})) AS BIGINT)"


def _min(node: Any, _columns: Mapping[str, str]) -> Expr:
    count = node.args.get("count")
    if count is None:
        return node  # type: ignore[no-any-return]
    sorted_list = f"ARRAY_SORT(COLLECT_LIST({node.this.sql('spark')}))"
    return _parsed(f"SLICE({sorted_list}, 1, {count.name})")


def _grouping(node: Any, _columns: Mapping[str, str]) -> Expr:
    """Set a bit, first column highest, where a column is summed over."""
    places = enumerate(reversed(node.expressions))
    bits = [f"CAST(GROUPING({c.sql('spark')}) AS BIGINT) * {2**place}" for place, c in places]
    return _parsed(f"({' + '.join(bits)})")


def _call(node: Any, _columns: Mapping[str, str]) -> Expr:
    if node.name.lower() != "isfinite":
        return node  # type: ignore[no-any-return]
    number = node.expressions[0].sql("spark")
    return _parsed(f"(NOT ISNAN({number}) AND ABS({number}) < CAST('Infinity' AS DOUBLE))")


def _encode(node: Any, _columns: Mapping[str, str]) -> Expr:
    from sqlglot import exp

    return exp.cast(node.this, "BINARY", dialect="spark")


_RULES: dict[str, Callable[[Any, Mapping[str, str]], Expr]] = {
    "Anonymous": _call,
    "BitwiseAnd": _and,
    "BitwiseRightShift": _shift,
    "BitwiseXorAgg": _xor,
    "Cast": _cast,
    "Encode": _encode,
    "Grouping": _grouping,
    "Min": _min,
    "Sum": _sum,
}
