"""Sums wider than 64 bits, for an engine whose wider integers are objects of Java.

A decimal of 38 digits costs Spark an object or two a record. So what is added up is split,
record by record, into 64-bit integers of few bits, whose sums fit 64 bits for 2**31 records of
a cell and overflow loudly beyond; the parts are put together once a cell. What has none of the
forms that our statements have is left as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlglot
from sqlglot import exp

from tables.spark.rules import FLOATING, WORDS, definition_of

if TYPE_CHECKING:
    from collections.abc import Mapping

_HALF = 2**32
_MILLION = 10**6
#: A weight in units of its last decimal is split there: it is below 2**127.
_WEIGHT = 2**62


def split_wide_sums(tree: exp.Expr, columns: Mapping[str, str]) -> None:
    """Write wide sums of a statement, still in DuckDB's dialect, as sums of 64-bit integers."""
    _split_weights(tree, columns)
    for node in list(tree.find_all(exp.Sum)):
        parts = _parts(node.this)
        if parts:
            whole = node.parent if isinstance(node.parent, exp.Filter) else node
            condition = None if whole is node else whole.expression.this
            whole.replace(_joined(parts, condition))


def _joined(parts: Mapping[int, str], condition: Any = None) -> exp.Expr:
    """Add the sums of parts up, each times its factor."""
    terms = []
    for factor, part in parts.items():
        term = part if condition is None else f"CASE WHEN {_text(condition)} THEN {part} END"
        is_long = factor >= 2**63  # no literal of Spark's integers is: take two
        steps = f"{factor // 10**15} * {10**15}" if is_long else str(factor)
        terms.append(f"sum(({term})::BIGINT)::HUGEINT * {steps}")
    return _parsed(f"({' + '.join(terms)})")


def _parts(node: Any) -> dict[int, str]:
    """Return factors and 64-bit integers that add up to what is summed; none if unknown."""
    node = node.unnest()
    if isinstance(node, exp.Case):
        return _parts_of_case(node)
    if _is_cast(node, "INT128") and _is_cast(node.this.unnest(), "BIGINT"):
        return _halves(_text(node.this))
    if _is_cast(node, "INT128") and _is_square(node.this.unnest()):
        return _halves(_text(node.this))
    if isinstance(node, exp.Mul):
        return _parts_of_product(node)
    return _parts_of_split(node) if isinstance(node, exp.Add) else {}


def _halves(whole: str) -> dict[int, str]:
    return {_HALF: f"({whole} // {_HALF})", 1: f"({whole} % {_HALF})"}


def _parts_of_case(node: exp.Case) -> dict[int, str]:
    """Take both ways of a case apart; parts of the same factor are one case again."""
    ways, default = node.args["ifs"], node.args.get("default")
    if len(ways) != 1 or default is None:
        return {}
    condition, first = _text(ways[0].this), _parts(ways[0].args["true"])
    second = _parts(default)
    if not (first and second):
        return {}
    return {
        factor: f"CASE WHEN {condition} THEN {first.get(factor, '0')} "
        f"ELSE {second.get(factor, '0')} END"
        for factor in sorted(first.keys() | second.keys(), reverse=True)
    }


def _parts_of_product(node: exp.Mul) -> dict[int, str]:
    """Take ``a::HUGEINT * c`` or ``a::HUGEINT * b * c`` apart at their millionths.

    Here a and b are 64-bit integers below 2·10**15, as `tables.magnitudes.exact` has them.
    """
    *factors, constant = _factors(node)
    if not (isinstance(constant, exp.Literal) and _is_cast(factors[0], "INT128")):
        return {}
    words = [factors[0].this.unnest(), *factors[1:]]
    if len(words) > 2 or not all(_is_cast(word, "BIGINT") for word in words):
        return {}
    unit = int(constant.name)
    above, below = zip(*(_millionths(_text(word)) for word in words), strict=True)
    if len(words) == 1:
        return {unit * _MILLION: above[0], unit: below[0]}
    least = f"({below[0]} * {below[1]})"
    middle = f"({above[0]} * {below[1]} + {below[0]} * {above[1]} + {least} // {_MILLION})"
    upper = f"({above[0]} * {above[1]} + {middle} // {_MILLION})"
    return {
        unit * _MILLION**2 * _HALF: f"({upper} // {_HALF})",
        unit * _MILLION**2: f"({upper} % {_HALF})",
        unit * _MILLION: f"({middle} % {_MILLION})",
        1: f"({least} % {_MILLION} * {unit})",
    }


def _millionths(word: str) -> tuple[str, str]:
    return f"({word} // {_MILLION})", f"({word} % {_MILLION})"


def _parts_of_split(node: exp.Add) -> dict[int, str]:
    """Take ``trunc(x)::HUGEINT * unit + fraction``, with a fraction below `unit`, apart."""
    product, fraction = node.this.unnest(), node.expression.unnest()
    if not (isinstance(product, exp.Mul) and _is_cast(fraction, "BIGINT")):
        return {}
    whole, unit = product.this.unnest(), product.expression.unnest()
    unit = unit.this if _is_cast(unit, "INT128") else unit
    is_ours = _is_cast(whole, "INT128") and isinstance(unit, exp.Literal)
    if not (is_ours and isinstance(whole.this.unnest(), exp.Trunc)):
        return {}
    number, scale = _text(whole.this.unnest().this), int(unit.name)
    upper = f"trunc({number} / {_HALF}e0)::BIGINT"  # by a power of two: exact
    billionths = scale // _MILLION
    return {
        scale * _HALF: f"({upper})",
        scale: f"trunc({number} - {upper}::DOUBLE * {_HALF}e0)::BIGINT",
        billionths: f"({_text(fraction)} // {billionths})",
        1: f"({_text(fraction)} % {billionths})",
    }


def _split_weights(tree: exp.Expr, columns: Mapping[str, str]) -> None:
    """Take weights as doubles or integers where they are summed or compared with 0 alone."""
    for alias in list(tree.find_all(exp.Alias)):
        cast = alias.this
        if not (isinstance(cast, exp.Cast) and cast.to.this == exp.DType.DECIMAL):
            continue
        kind = columns.get(cast.this.name) if isinstance(cast.this, exp.Column) else None
        uses = _uses(tree, alias)
        if kind not in FLOATING | WORDS or not all(map(_is_weight, uses)):
            continue
        decimals = int(cast.to.expressions[1].name)
        if kind in WORDS:
            cast.replace(exp.cast(cast.this.copy(), "BIGINT"))
        else:
            cast.meta["in_units"] = True
        for column in uses:
            if isinstance(column.parent, exp.Sum):
                parts = _parts_of_weight(column.name, kind, decimals)
                column.parent.replace(_joined(parts))


def _parts_of_weight(name: str, kind: str, decimals: int) -> dict[int, str]:
    if kind in WORDS:
        unit = 10**decimals
        return {factor * unit: part for factor, part in _halves(name).items()}
    upper = f"trunc({name} / {_WEIGHT}e0)::BIGINT"
    lower = f"trunc({name} - {upper}::DOUBLE * {_WEIGHT}e0)::BIGINT"
    return {_WEIGHT: upper, 2**31: f"({lower} // {2**31})", 1: f"({lower} % {2**31})"}


def _uses(tree: exp.Expr, alias: exp.Alias) -> list[exp.Column]:
    """Return the columns that read a name of ours."""
    columns = (c for c in tree.find_all(exp.Column) if c.name == alias.alias)
    return [c for c in columns if not c.this.quoted and definition_of(c) is alias]


def _is_weight(column: exp.Column) -> bool:
    parent = column.parent
    return isinstance(parent, exp.Sum) or (
        isinstance(parent, exp.GT) and isinstance(parent.expression, exp.Literal)
    )


def _factors(node: Any) -> list[Any]:
    node = node.unnest()
    if isinstance(node, exp.Mul):
        return [*_factors(node.this), *_factors(node.expression)]
    return [node]


def _is_square(node: Any) -> bool:
    """Whether this is a product of two 64-bit integers, which fits one."""
    return isinstance(node, exp.Mul) and all(_is_cast(f, "BIGINT") for f in _factors(node))


def _is_cast(node: Any, kind: str) -> bool:
    return isinstance(node, exp.Cast) and bool(node.to.this == getattr(exp.DType, kind))


def _text(node: Any) -> str:
    return f"({node.sql('duckdb')})"


def _parsed(text: str) -> exp.Expr:
    return sqlglot.parse_one(text, dialect="duckdb")
