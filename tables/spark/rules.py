"""How the parts of a statement in DuckDB's dialect are said to Spark, with the same bits."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import sqlglot
from sqlglot import exp

from footing.messages import Message, Name
from tables.errors import RequestError
from tables.spark.hashing import NAME

Rule = Callable[[Any, Mapping[str, str]], exp.Expr]

EXACT_DIGITS = 15  # decimals of so many digits are exact doubles times a power of ten
FLOATING = frozenset({"DOUBLE", "FLOAT"})
_WHOLE = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"}
_LIMB = 22  # bits: the sums of such parts overflow after 2**41 records, and then loudly


def unknown() -> RequestError:
    """Return the error for what is not known to mean the same on both engines."""
    return RequestError(
        Message("A part of this tabulation is not known to give the same numbers on Spark."),
        hint=Message('run the job with engine = "duckdb"'),
    )


def parsed(text: str) -> exp.Expr:
    """Parse an expression in Spark's dialect."""
    return sqlglot.parse_one(text, dialect="spark")


def note_types(tree: exp.Expr, columns: Mapping[str, str]) -> None:
    """Note in a statement which sums are of doubles and which of keys; refuse other types."""
    for node in tree.find_all(exp.Abs, exp.Round, exp.Trunc, exp.IsInf, exp.Div):
        if not _is_double(node.this, columns) or node.args.get("decimals") is not None:
            raise unknown()
        if isinstance(node, exp.Div) and not isinstance(node.expression, exp.Literal):
            raise unknown()
    for node in tree.find_all(exp.Cast):
        if node.to.this != exp.DType.INT128:
            continue
        node.meta["is_double"] = _is_double(node.this, columns)
        if node.meta["is_double"] and not isinstance(node.this.unnest(), exp.Trunc):
            raise unknown()
    for node in tree.find_all(exp.Sum):
        node.meta["is_double"] = _is_double(node.this, columns)
        node.meta["defined"] = _only_summed(node.this)


def _is_double(node: Any, columns: Mapping[str, str]) -> bool:
    """Whether an expression is a double; only the forms that our statements have are told."""
    if isinstance(node, exp.Cast):
        return bool(node.to.this == exp.DType.DOUBLE)
    if isinstance(node, exp.Literal):
        return not node.is_string and "e" in node.name
    if isinstance(node, exp.Column) and node.this.quoted:
        return columns[node.name] == "DOUBLE"
    parts: list[Any] = []
    if isinstance(node, exp.Column):
        place = _definition(node)
        parts = [] if place is None else [place.this]
    elif isinstance(node, exp.Case):
        parts = [node.args.get("default"), *(b.args["true"] for b in node.args["ifs"])]
    elif isinstance(node, (exp.Add, exp.Sub, exp.Mul, exp.Div)):
        parts = [node.this, node.expression]
    elif isinstance(node, (exp.Paren, exp.Abs, exp.Round, exp.Trunc)):
        parts = [node.this]
    return any(_is_double(part, columns) for part in parts)


def _definition(column: Any) -> Any:
    """Return where a name of ours is defined in the statements inside, or None."""
    select = column.find_ancestor(exp.Select)
    while select is not None and (source := select.args.get("from_")) is not None:
        select = source.this.this if isinstance(source.this, exp.Subquery) else None
        for place in [] if select is None else select.expressions:
            if isinstance(place, exp.Alias) and place.alias == column.name:
                return place
    return None


def _only_summed(column: Any) -> Any:
    """Return where a name of ours is defined, if sums alone read it."""
    if not isinstance(column, exp.Column) or column.this.quoted:
        return None
    uses = [c for c in column.root().find_all(exp.Column) if c.name == column.name]
    is_summed = all(isinstance(c.parent, exp.Sum) and not c.this.quoted for c in uses)
    return _definition(column) if is_summed else None


def _cast(node: Any, columns: Mapping[str, str]) -> exp.Expr:
    to, inner = node.to.this, node.this.unnest()
    if to == exp.DType.UBIGINT:
        return _unsigned(node, inner)
    if to == exp.DType.INT128:
        whole = node.this.sql("spark")
        is_double = node.meta["is_double"]
        return parsed(_wide(whole) if is_double else f"CAST({whole} AS DECIMAL(38, 0))")
    if not isinstance(inner, exp.Column) or not inner.this.quoted:
        return node  # type: ignore[no-any-return]
    column, kind = inner.sql("spark"), columns[inner.name]
    if to == exp.DType.DECIMAL:
        return parsed(_scaled(column, kind, int(node.to.expressions[1].name)))
    is_exact = to != exp.DType.DOUBLE or not kind.startswith("DECIMAL")
    return node if is_exact else parsed(_approximated(column, kind))


def _unsigned(node: Any, inner: Any) -> exp.Expr:
    """Write an unsigned integer as a decimal; one that was hashed knows its bits."""
    if isinstance(inner, exp.Anonymous) and inner.name.lower() == NAME:
        bits = inner.sql("spark")
        upper = f"CAST({bits} AS DECIMAL(20, 0)) + IF({bits} < 0, {2**64}, 0)"
        key = parsed(f"CAST({upper} AS DECIMAL(20, 0))")
        key.meta["bits"] = bits
        return key
    if not (isinstance(inner, exp.DPipe) and inner.left.name == "0x"):
        return exp.cast(node.this, "DECIMAL(20, 0)", dialect="spark")
    digits = inner.right.sql("spark")
    key = parsed(f"CAST(CONV({digits}, 16, 10) AS DECIMAL(20, 0))")
    key.meta["bits"] = f"CAST(CONV({digits}, 16, -10) AS BIGINT)"
    return key


def _wide(x: str) -> str:
    """Write the whole part of a double as a decimal; Spark's own cast takes its digits."""
    small = f"CAST(CAST({x} AS BIGINT) AS DECIMAL(38, 0))"
    return f"IF(ABS({x}) < CAST('{2**63}' AS DOUBLE), {small}, {_large(x)})"


def _large(x: str) -> str:
    """Write a double from 2**63 on, a multiple of 2048, as a decimal of two parts."""
    upper = f"FLOOR({x} / CAST('{2**64}' AS DOUBLE))"
    lower = f"FLOOR(({x} - {upper} * CAST('{2**64}' AS DOUBLE)) / CAST('2048' AS DOUBLE))"
    return f"CAST({upper} AS DECIMAL(38, 0)) * {2**64} + CAST({lower} AS DECIMAL(38, 0)) * 2048"


def _approximated(column: str, kind: str) -> str:
    """Write a decimal as the double that DuckDB takes for it: large ones in two parts."""
    scale = int(kind.rpartition(",")[2][:-1])
    if scale > EXACT_DIGITS:
        raise RequestError(
            Message(
                "Decimals with more than {exact_digits} digits after the point, as "
                "{column}, are not added up by Spark: no double holds them.",
                exact_digits=EXACT_DIGITS,
                column=Name(column),
            ),
            hint=Message('write the column in double precision, or use engine = "duckdb"'),
        )
    largest = f"CAST('{Decimal(2**53).scaleb(-scale):f}' AS DECIMAL(16, {scale}))"
    parts = f"CAST({column} DIV 1 AS DOUBLE) + CAST({column} % 1 AS DOUBLE)"
    return f"IF(ABS({column}) <= {largest}, CAST({column} AS DOUBLE), {parts})"


def _scaled(column: str, kind: str, decimals: int) -> str:
    """Write a number as a whole multiple of its last decimal, rounded as DuckDB rounds."""
    if kind.startswith("DECIMAL"):
        digits = f"CAST(CAST({column} AS DECIMAL(38, {decimals})) AS STRING)"
        return f"CAST(REPLACE({digits}, '.', '') AS DECIMAL(38, 0))"
    if kind not in FLOATING:
        return f"(CAST({column} AS DECIMAL(38, 0)) * {10**decimals})"
    scaled = f"(CAST({column} AS DOUBLE) * CAST('1e{decimals}' AS DOUBLE))"
    whole = f"FLOOR({scaled})"
    half = f"IF({scaled} - {whole} >= CAST('0.5' AS DOUBLE), 1, 0)"  # halves go up
    small = f"CAST({whole} + {half} AS DECIMAL(38, 0))"
    return f"IF({scaled} < CAST('{2**63}' AS DOUBLE), {small}, {_large(scaled)})"


def _sum(node: Any, columns: Mapping[str, str]) -> exp.Expr:
    """Add up decimals; or 64-bit integers in three parts, which is far cheaper."""
    if node.meta["is_double"] or _is_long(node.this):
        return node  # type: ignore[no-any-return]
    defined = node.meta["defined"]
    if defined is not None and "bits" not in defined.meta:
        defined.meta["bits"] = _bits_of(defined.this, columns)
    bits = None if defined is None else defined.meta["bits"]
    if bits is None:
        node.set("this", exp.cast(node.this, "DECIMAL(38, 0)", dialect="spark"))
        return node  # type: ignore[no-any-return]
    defined.set("this", parsed(bits))
    terms = []
    for place in range(0, 64, _LIMB):
        part = f"SHIFTRIGHTUNSIGNED({defined.alias}, {place}) & {2**_LIMB - 1}"
        if isinstance(node.parent, exp.Filter):  # `_filter` drops what is said here
            condition = node.parent.expression.this.sql("spark")
            part = f"IF({condition}, {part}, NULL)"
        terms.append(f"CAST(SUM({part}) AS DECIMAL(38, 0)) * {2**place}")
    return parsed(f"({' + '.join(terms)})")


def _filter(node: Any, _columns: Mapping[str, str]) -> exp.Expr:
    condition: exp.Expr = node.this if isinstance(node.this, exp.Paren) else node
    return condition


def _is_long(node: Any) -> bool:
    """Whether an expression is a 64-bit integer, whose sums overflow loudly on Spark."""
    if isinstance(node, exp.Mul):
        return _is_long(node.this) and _is_long(node.expression)
    return isinstance(node, exp.Cast) and bool(node.to.this == exp.DType.BIGINT)


def _bits_of(key: exp.Expr, columns: Mapping[str, str]) -> str | None:
    """Write a key as the signed 64-bit integer of its bits; None where it is none."""
    if not isinstance(key, exp.Column) or not key.this.quoted:
        bits: str | None = key.meta.get("bits")
        return bits
    kind = columns[key.name]
    if kind == "UBIGINT":
        return _signed(key.sql("spark"))
    return f"CAST({key.sql('spark')} AS BIGINT)" if kind in _WHOLE else None


def _and(node: Any, _columns: Mapping[str, str]) -> exp.Expr:
    """Keep the low bits of a sum: it is never negative."""
    mask = int(node.expression.find(exp.Literal).name)
    if mask & (mask + 1):
        raise unknown()
    return parsed(f"({node.this.sql('spark')} % {mask + 1})")


def _shift(node: Any, _columns: Mapping[str, str]) -> exp.Expr:
    """Drop the low bits of a key: it is never negative."""
    return parsed(f"(({node.this.sql('spark')}) DIV {2 ** int(node.expression.name)})")


def _xor(node: Any, _columns: Mapping[str, str]) -> exp.Expr:
    """Combine unsigned integers by the signed ones of the same bits."""
    return parsed(f"BIT_XOR({_signed(node.this.sql('spark'))})")


def _signed(key: str) -> str:
    """Write the signed 64-bit integer of the same bits."""
    return f"CAST(IF(({key}) >= {2**63}, ({key}) - {2**64}, ({key})) AS BIGINT)"


def _extreme(node: Any, _columns: Mapping[str, str]) -> exp.Expr:
    """Keep several of the smallest or largest, in order, without keeping all."""
    count = node.args.get("count")
    if count is None:
        return node  # type: ignore[no-any-return]
    name = f"{type(node).__name__.upper()}_BY"
    return exp.Anonymous(this=name, expressions=[node.this.copy(), node.this.copy(), count])


def _truncate(node: Any, _columns: Mapping[str, str]) -> exp.Expr:
    """Take the fraction off a double; Spark truncates dates alone."""
    x = node.this.sql("spark")
    # Spark itself does so on the way to an integer.
    return parsed(f"({x})" if isinstance(node.parent, exp.Cast) else f"(({x}) - ({x}) % 1e0)")


def _is_infinite(node: Any, _columns: Mapping[str, str]) -> exp.Expr:
    return parsed(f"(ABS({node.this.sql('spark')}) = CAST('Infinity' AS DOUBLE))")


def _grouping(node: Any, _columns: Mapping[str, str]) -> exp.Expr:
    """Set a bit, first column highest, where a column is summed over."""
    places = enumerate(reversed(node.expressions))
    bits = [f"CAST(GROUPING({c.sql('spark')}) AS BIGINT) * {2**place}" for place, c in places]
    return parsed(f"({' + '.join(bits)})")


def _call(node: Any, _columns: Mapping[str, str]) -> exp.Expr:
    arguments = [part.sql("spark") for part in node.expressions]
    match node.name.lower():
        case "isfinite":
            x = arguments[0]
            return parsed(f"(NOT ISNAN({x}) AND ABS({x}) < CAST('Infinity' AS DOUBLE))")
        case "strlen":
            return parsed(f"OCTET_LENGTH({arguments[0]})")
        case "ckm_aes":
            return parsed(f"HEX(AES_ENCRYPT({arguments[0]}, {arguments[1]}, 'ECB', 'PKCS'))")
    return node  # type: ignore[no-any-return]


def _encode(node: Any, _columns: Mapping[str, str]) -> exp.Expr:
    return exp.cast(node.this, "BINARY", dialect="spark")


RULES: Mapping[str, Rule] = {
    "Anonymous": _call,
    "BitwiseAnd": _and,
    "BitwiseRightShift": _shift,
    "BitwiseXorAgg": _xor,
    "Cast": _cast,
    "Encode": _encode,
    "Filter": _filter,
    "Grouping": _grouping,
    "IsInf": _is_infinite,
    "Max": _extreme,
    "Min": _extreme,
    "Sum": _sum,
    "Trunc": _truncate,
}
