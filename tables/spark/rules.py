"""How the parts of a statement in DuckDB's dialect are said to Spark, with the same bits."""

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import sqlglot
from sqlglot import exp

from footing.messages import Message, Name
from tables.errors import RequestError
from tables.spark.hashing import KEY_COLUMN, KEY_OF, NAME

Rule = Callable[[Any, Mapping[str, str]], exp.Expr]

EXACT_DIGITS = 15  # decimals of so many digits are exact doubles times a power of ten
FLOATING = frozenset({"DOUBLE", "FLOAT"})
#: Integers of which each fits a signed one of 64 bits.
WORDS = frozenset(
    {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"}
)
_LEAST = f"CAST('-{2**63}' AS BIGINT)"  # exchanges the halves of the signed integers
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
    _note_sums(tree, columns)
    _note_bits(tree, columns)
    for node in tree.find_all(exp.BitwiseXorAgg):
        threshold = _threshold(node)
        if threshold is not None and node.this.this.meta.get("by_bits"):
            node.meta["threshold"] = threshold


def _note_sums(tree: exp.Expr, columns: Mapping[str, str]) -> None:
    """Note which sums are of doubles, and of which a rest alone counts."""
    for node in tree.find_all(exp.Sum):
        node.meta["is_double"] = _is_double(node.this, columns)
        if isinstance(node.parent, exp.Mod) and _is_own_long(node.this):
            node.meta["modulus"] = node.parent.expression.sql("spark")


def _is_double(node: Any, columns: Mapping[str, str]) -> bool:
    """Whether an expression is a double; only the forms that our statements have are told."""
    if isinstance(node, exp.Cast):
        return node.to.this == exp.DType.DOUBLE or "in_units" in node.meta
    if isinstance(node, exp.Literal):
        return not node.is_string and "e" in node.name
    if isinstance(node, exp.Column) and node.this.quoted:
        return columns[node.name] == "DOUBLE"
    parts: list[Any] = []
    if isinstance(node, exp.Column):
        place = definition_of(node)
        parts = [] if place is None else [place.this]
    elif isinstance(node, exp.Case):
        parts = [node.args.get("default"), *(b.args["true"] for b in node.args["ifs"])]
    elif isinstance(node, (exp.Add, exp.Sub, exp.Mul, exp.Div)):
        parts = [node.this, node.expression]
    elif isinstance(node, (exp.Paren, exp.Abs, exp.Round, exp.Trunc)):
        parts = [node.this]
    return any(_is_double(part, columns) for part in parts)


def definition_of(column: Any) -> Any:
    """Return where a name of ours is defined in the statements inside, or None."""
    select = column.find_ancestor(exp.Select)
    while select is not None and (source := select.args.get("from_")) is not None:
        select = source.this.this if isinstance(source.this, exp.Subquery) else None
        for place in [] if select is None else select.expressions:
            if isinstance(place, exp.Alias) and place.alias == column.name:
                return place
    return None


def _note_bits(tree: exp.Expr, columns: Mapping[str, str]) -> None:
    """Note which keys can be the signed integers of their bits: whatever reads them takes bits.

    Spark's decimals of 20 digits are objects of Java, a record at a time.
    """
    uses: dict[str, list[Any]] = {}
    for column in tree.find_all(exp.Column):
        if not column.this.quoted:
            uses.setdefault(column.name, []).append(column)
    for places in uses.values():
        definitions = [definition_of(column) for column in places]
        first = definitions[0]
        if first is None or any(other is not first for other in definitions):
            continue
        if _is_key(first.this, columns) and all(map(_takes_bits, places)):
            first.meta["by_bits"] = True
            for column in places:
                column.meta["by_bits"] = True


def _is_key(node: Any, columns: Mapping[str, str]) -> bool:
    """Whether an expression is an unsigned integer of which the bits can be written."""
    if isinstance(node, exp.Column):
        return node.this.quoted and columns[node.name] in WORDS | {"UBIGINT"}
    if not (isinstance(node, exp.Cast) and node.to.this == exp.DType.UBIGINT):
        return False
    inner = node.this.unnest()
    is_own = isinstance(inner, exp.Column) and not inner.this.quoted
    return is_own or _is_hashed(inner) or _is_hexadecimal(inner)


def _is_hashed(node: Any) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.lower() in {NAME, KEY_OF}


def _is_hexadecimal(node: Any) -> bool:
    return isinstance(node, exp.DPipe) and node.left.name == "0x"


def _takes_bits(column: Any) -> bool:
    """Whether what reads a key gives the same of the signed integer of its bits."""
    parent, other = column.parent, column.parent.args.get("expression")
    if isinstance(parent, exp.Cast) and parent.to.this == exp.DType.UBIGINT:
        if isinstance(parent.parent, (exp.Alias, exp.BitwiseRightShift)):
            return True
        parent = column.parent.parent
        other = parent.args.get("expression")
    if isinstance(parent, exp.BitwiseAnd):
        mask = other.find(exp.Literal)
        return mask is not None and int(mask.name) < 2**63
    if isinstance(parent, (exp.Mul, exp.GTE)):
        masked = column.find_ancestor(exp.BitwiseXorAgg)
        return masked is not None and _threshold(masked) is not None
    if isinstance(parent, exp.PropertyEQ):
        largest = column.find_ancestor(exp.Max)
        return largest is not None and largest.args.get("count") is not None
    if isinstance(parent, exp.Distinct):
        return isinstance(parent.parent, exp.Count)
    kinds = (exp.Sum, exp.Count, exp.BitwiseXorAgg, exp.BitwiseRightShift, exp.Is)
    return isinstance(parent, kinds)


def _threshold(node: Any) -> tuple[str, int] | None:
    """Return a key and the least of those that are combined: ``bit_xor(x * (x >= 5)::…)``."""
    product = node.this
    if not (isinstance(product, exp.Mul) and isinstance(product.expression, exp.Cast)):
        return None
    key, condition = product.this, product.expression.this.unnest()
    is_one = isinstance(key, exp.Column) and isinstance(condition, exp.GTE)
    if not is_one or condition.this != key or not isinstance(condition.expression, exp.Literal):
        return None
    return key.sql("spark"), int(condition.expression.name)


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
        written = _in_units if "in_units" in node.meta else _scaled
        return parsed(written(column, kind, int(node.to.expressions[1].name)))
    is_exact = to != exp.DType.DOUBLE or not kind.startswith("DECIMAL")
    return node if is_exact else parsed(_approximated(column, kind))


def _unsigned(node: Any, inner: Any) -> exp.Expr:
    """Write an unsigned integer as a decimal; one that was hashed knows its bits."""
    if _is_hashed(inner):
        is_hashed_before = inner.name.lower() == KEY_OF
        bits = f"`{KEY_COLUMN}`" if is_hashed_before else inner.sql("spark")
        key = parsed(_unsigned_of(bits))
        key.meta["bits"] = bits
        return key
    if not _is_hexadecimal(inner):
        whole = exp.cast(node.this, "DECIMAL(20, 0)", dialect="spark")
        if isinstance(inner, exp.Column) and not inner.this.quoted:
            name = inner.sql("spark")
            whole.meta["bits"] = name if inner.meta.get("by_bits") else _signed(name)
        return whole
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
    scaled = _times(column, decimals)
    whole = f"FLOOR({scaled})"
    half = f"IF({scaled} - {whole} >= CAST('0.5' AS DOUBLE), 1, 0)"  # halves go up
    small = f"CAST({whole} + {half} AS DECIMAL(38, 0))"
    return f"IF({scaled} < CAST('{2**63}' AS DOUBLE), {small}, {_large(scaled)})"


def _in_units(column: str, _kind: str, decimals: int) -> str:
    """Write the same multiple of a number in floating point as a double, which it is."""
    scaled = _times(column, decimals)
    is_up = f"{scaled} - FLOOR({scaled}) >= CAST('0.5' AS DOUBLE)"  # halves go up
    whole = f"CAST(FLOOR({scaled}) + IF({is_up}, 1, 0) AS DOUBLE)"
    return f"IF({scaled} < CAST('{2**53}' AS DOUBLE), {whole}, {scaled})"


def _times(column: str, decimals: int) -> str:
    return f"(CAST({column} AS DOUBLE) * CAST('1e{decimals}' AS DOUBLE))"


def _sum(node: Any, _columns: Mapping[str, str]) -> exp.Expr:
    """Add up decimals; or 64-bit integers in three parts, which is far cheaper."""
    if node.meta["is_double"] or _is_long(node.this):
        return node  # type: ignore[no-any-return]
    if "modulus" in node.meta:  # of the rests the sum has the same rest, in 64 bits
        return parsed(f"SUM(({node.this.sql('spark')}) % {node.meta['modulus']})")
    if not node.this.meta.get("by_bits"):
        node.set("this", exp.cast(node.this, "DECIMAL(38, 0)", dialect="spark"))
        return node  # type: ignore[no-any-return]
    key = node.this.sql("spark")
    terms = []
    for place in range(0, 64, _LIMB):
        part = f"SHIFTRIGHTUNSIGNED({key}, {place}) & {2**_LIMB - 1}"
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


def _is_own_long(node: Any) -> bool:
    """Whether an expression is a product of 64-bit integers that the statement made."""
    if isinstance(node, exp.Column):
        place = None if node.this.quoted else definition_of(node)
        return place is not None and _is_long(place.this)
    if isinstance(node, exp.Paren):
        return _is_own_long(node.this)
    if isinstance(node, exp.Mod):
        return _is_own_long(node.this) and isinstance(node.expression, exp.Literal)
    is_product = isinstance(node, exp.Mul)
    return is_product and _is_own_long(node.this) and _is_own_long(node.expression)


def _bits_of(key: exp.Expr, columns: Mapping[str, str]) -> str | None:
    """Write a key as the signed 64-bit integer of its bits; None where it is none."""
    if not isinstance(key, exp.Column) or not key.this.quoted:
        bits: str | None = key.meta.get("bits")
        return bits
    kind = columns[key.name]
    if kind == "UBIGINT":
        return _signed(key.sql("spark"))
    return f"CAST({key.sql('spark')} AS BIGINT)" if kind in WORDS else None


def _alias(node: Any, columns: Mapping[str, str]) -> exp.Expr:
    """Write a key as the signed integer of its bits where everything that reads it can."""
    if node.meta.get("by_bits"):
        bits = _bits_of(node.this, columns)
        if bits is None:
            raise unknown()
        node.set("this", parsed(bits))
    return node  # type: ignore[no-any-return]


def _and(node: Any, _columns: Mapping[str, str]) -> exp.Expr:
    """Keep the low bits of a sum: it is never negative."""
    mask = int(node.expression.find(exp.Literal).name)
    if mask & (mask + 1):
        raise unknown()
    bits = node.this.meta.get("bits")
    if node.this.meta.get("by_bits"):
        bits = node.this.sql("spark")
    if bits is not None and mask < 2**63:
        return parsed(f"({bits} & {mask})")
    return parsed(f"({node.this.sql('spark')} % {mask + 1})")


def _shift(node: Any, _columns: Mapping[str, str]) -> exp.Expr:
    """Drop the low bits of a key: it is never negative."""
    bits = node.this.meta.get("bits")
    if node.this.meta.get("by_bits"):
        bits = node.this.sql("spark")
    if bits is not None:
        return parsed(f"SHIFTRIGHTUNSIGNED({bits}, {int(node.expression.name)})")
    return parsed(f"(({node.this.sql('spark')}) DIV {2 ** int(node.expression.name)})")


def _unsigned_of(bits: str) -> str:
    """Write the unsigned integer of the same bits."""
    upper = f"CAST({bits} AS DECIMAL(20, 0)) + IF({bits} < 0, {2**64}, 0)"
    return f"CAST({upper} AS DECIMAL(20, 0))"


def _xor(node: Any, _columns: Mapping[str, str]) -> exp.Expr:
    """Combine unsigned integers by the signed ones of the same bits."""
    if "threshold" in node.meta:
        key, least = node.meta["threshold"]
        is_above = f"{key} < 0 OR {key} >= {least}"
        if least >= 2**63:  # such keys are negative
            is_above = f"{key} < 0 AND {key} >= {least - 2**64}"
        return parsed(f"BIT_XOR(IF({is_above}, {key}, 0))")
    if node.this.meta.get("by_bits"):
        return parsed(f"BIT_XOR({node.this.sql('spark')})")
    return parsed(f"BIT_XOR({_signed(node.this.sql('spark'))})")


def _signed(key: str) -> str:
    """Write the signed 64-bit integer of the same bits."""
    return f"CAST(IF(({key}) >= {2**63}, ({key}) - {2**64}, ({key})) AS BIGINT)"


def _extreme(node: Any, _columns: Mapping[str, str]) -> exp.Expr:
    """Keep several of the smallest or largest, in order, without keeping all."""
    count = node.args.get("count")
    if count is None:
        return node  # type: ignore[no-any-return]
    keys = [c for c in node.this.find_all(exp.Column) if c.meta.get("by_bits")]
    return _largest_with_keys(node, keys) if keys else _by_itself(node)


def _by_itself(node: Any) -> exp.Expr:
    name = f"{type(node).__name__.upper()}_BY"
    order, count = node.this, node.args["count"]
    return exp.Anonymous(this=name, expressions=[order.copy(), order.copy(), count])


def _largest_with_keys(node: Any, keys: Sequence[Any]) -> exp.Expr:
    """Order by keys as signed integers of the same order, and turn them back."""
    names = [place.this.name for place in node.this.find(exp.Struct).expressions]
    of_keys = {key.parent.this.name for key in keys}
    for key in keys:
        key.replace(parsed(f"({key.sql('spark')} ^ {_LEAST})"))
    fields = [
        f"{_unsigned_of(f'(s.{name} ^ {_LEAST})')} AS {name}"
        if name in of_keys
        else f"s.{name} AS {name}"
        for name in names
    ]
    tree = parsed(f"TRANSFORM(largest, s -> STRUCT({', '.join(fields)}))")
    for column in tree.find_all(exp.Column):
        if column.name == "largest":
            column.replace(_by_itself(node))
    return tree


def _truncate(node: Any, _columns: Mapping[str, str]) -> exp.Expr:
    """Take the fraction off a double; Spark truncates dates alone."""
    x = node.this.sql("spark")
    # Spark itself does so on the way to an integer; beyond 2**53 there is no fraction.
    whole = f"IF(ABS({x}) < {2**53}e0, CAST(CAST({x} AS BIGINT) AS DOUBLE), {x})"
    return parsed(f"({x})" if isinstance(node.parent, exp.Cast) else whole)


def _round(node: Any, _columns: Mapping[str, str]) -> exp.Expr:
    """Round a double, halves away from zero; Spark's own function takes its digits for that."""
    x = node.this.sql("spark")
    is_half = f"ABS(({x}) - RINT({x})) = 0.5e0"
    return parsed(f"IF({is_half}, ({x}) + IF(({x}) < 0, -0.5e0, 0.5e0), RINT({x}))")


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
    "Alias": _alias,
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
    "Round": _round,
    "Sum": _sum,
    "Trunc": _truncate,
}
