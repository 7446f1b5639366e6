"""Amounts as integers, so that they add up exactly whatever the order of records.

Every value becomes an integer once, record by record, by a rule that looks at nothing but the
record:

* a value with up to 6 decimals, below 2·10⁹, is exactly that decimal, and so is its product
  with such a weight;
* any other value is the double that it is, and its weighted value the double nearest to the
  product, both rounded to 15 decimals;
* a value nearer to zero than that is zero.

What all values of a column have in common decides no more than the unit in which they are
added up: the sums are the same in every unit.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from footing.messages import Message, Name, named
from tables.errors import DataError, DataWarning
from tables.filtering.filters import quote

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tables.filtering.filters import Filter
    from tables.source.source import Source

_DECIMALS = 15
LEAST = 5e-16  # what is nearer to zero is zero
_GRID = 6  # values with up to so many decimals are those decimals
_GRID_LIMIT = 2_000_000_000  # below, `round(value * 1e6) / 1e6 = value` tells
_WHOLE = 2**53  # below, whole doubles and their sums of two are exact
_WORD = 2**62
LARGEST_SUM = 1e22  # times 10**15 it fits 128 bits, with room to spare
_FINENESS = (0, 2, 4, 6)  # numbers of decimals that are looked for


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """What a column of numbers holds, as far as adding up exactly needs to know it.

    Parameters
    ----------
    largest
        The largest absolute value.
    total
        About the sum of absolute values.
    decimals
        The fewest decimals looked for that all values have; None where some have more.
    is_finite, is_complete
        Whether all values are finite; whether none is missing.
    variation
        The coefficient of variation of the values that are not zero; infinite if unknown.
    """

    largest: float
    total: float
    decimals: int | None
    is_finite: bool
    is_complete: bool
    variation: float = math.inf

    @property
    def square_decimals(self) -> int:
        """Decimals in which values have nine digits at most, and squares fit a word."""
        return 9 - (Decimal(self.largest).adjusted() + 1) if self.largest else 0

    @property
    def bits(self) -> int:
        """Bits of the largest absolute value, as an integer in units of its decimals."""
        return round(self.largest * 10.0 ** (self.decimals or 0)).bit_length()

    def __repr__(self) -> str:
        return "Spread(…)"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactSql:
    """SQL of an integer that stands for a number.

    Parameters
    ----------
    sql
        The integer, of a record.
    decimals
        It counts units of ``10**-decimals``.
    is_wide
        Whether sums need more than 64 bits.
    """

    sql: str
    decimals: int
    is_wide: bool

    def sum(self, condition: str) -> str:
        """Return SQL of the sum over the records that meet a condition."""
        return f"coalesce(sum({self.sql}) FILTER ({condition}), 0)::{self._kind}"

    def of_record(self, condition: str) -> str:
        """Return SQL of the sum over one record, which meets a condition or not."""
        return f"CASE WHEN {condition} THEN {self.sql} ELSE 0 END::{self._kind}"

    @property
    def _kind(self) -> str:
        return "HUGEINT" if self.is_wide else "BIGINT"


def require_addable(source: Source, columns: Sequence[str], *, weight: str | None) -> None:
    """Raise unless the columns, and their products with the weight, can be added up exactly."""
    _look_through(source, [*columns, *([] if weight is None else [weight])])
    heavy = 0.0 if weight is None else source.spreads[weight].total
    for column in columns:
        spread = source.spreads[column]
        if not spread.is_finite:
            raise DataError(
                Message("Some values of {column!r} are infinite.", column=Name(column)),
                hint=Message("repair them, or filter the records out beforehand"),
            )
        if max(spread.total, heavy, spread.largest * heavy) > LARGEST_SUM:
            weighted = (
                Message()
                if spread.total > LARGEST_SUM
                else Message(", weighted by {weight!r},", weight=Name(weight))
            )
            raise DataError(
                Message(
                    "The values of {column!r}{weighted} are too large to be added up exactly: "
                    "absolute values must sum to less than 10**22.",
                    column=Name(column),
                    weighted=weighted,
                ),
                hint=Message("give them in a larger unit, such as thousands"),
            )
        if spread.decimals is None and 0 < spread.largest < LEAST:
            warn_of_zeros(Message("values"), column)


#: A name that is no column's: Spark tells types by the names of columns.
_VALUE = "ckm_value"


def has_few_values(source: Source, column: str, where: Filter | None) -> bool:
    """Tell whether a column has one value or two among some records, not all of them 0."""
    mark = ("few values", column, where)
    if mark not in source.sound:
        parameters: dict[str, object] = {}
        condition = "true" if where is None else where.sql(source.types, parameters)
        x = quote(_VALUE)
        records = (
            f"(SELECT {number_sql(source, column)} AS {x} FROM {source.relation} "
            f"WHERE {condition})"
        )
        low, high = source.fetch(f"SELECT min({x}), max({x}) FROM {records}", parameters)[0]
        is_few = low is not None and (low, high) != (0, 0)
        if is_few and low != high:  # not one scan: this one ends at the first other value
            ends = {"least_value": low, "largest_value": high}
            others = f"{records} WHERE {x} <> $least_value AND {x} <> $largest_value"
            is_few = not source.has_rows(others, parameters | ends)
        source.sound[mark] = is_few
    return bool(source.sound[mark])


def joint_moments(
    source: Source, columns: Sequence[str], where: Filter | None
) -> tuple[list[float], list[list[float]]]:
    """Return means and mean products of columns over the records that have all of them.

    Values are shares of the largest of their column. Sums of floats: for decisions with room.
    """
    parameters: dict[str, object] = {}
    condition = "true" if where is None else where.sql(source.types, parameters)
    sizes = [source.spreads[column].largest or 1.0 for column in columns]
    names = [f"x{place}" for place in range(len(columns))]
    values = ", ".join(
        f"{number_sql(source, column)} / {size!r} AS {name}"
        for column, size, name in zip(columns, sizes, names, strict=True)
    )
    there = " AND ".join(f"{name} IS NOT NULL" for name in names)
    pairs = [(a, b) for place, a in enumerate(names) for b in names[place:]]
    select_list = [*(f"avg({name})" for name in names), *(f"avg({a} * {b})" for a, b in pairs)]
    (row,) = source.fetch(
        f"SELECT {', '.join(select_list)} FROM (SELECT {values} FROM {source.relation} "
        f"WHERE {condition}) WHERE {there}",
        parameters,
    )
    products = dict(zip(pairs, row[len(names) :], strict=True))
    return list(row[: len(names)]), [
        [products[min(a, b, key=names.index), max(a, b, key=names.index)] for b in names]
        for a in names
    ]


def warn_of_zeros(what: str, column: str) -> None:
    """Warn that all numbers of a column are so small that their sums are published as 0."""
    warnings.warn(
        Message(
            "All {what} of {column!r} are nearer to zero than {least:g}, too small to "
            "be added up: their sums are published as 0. Give them in a smaller unit.",
            what=named(what),
            column=Name(column),
            least=LEAST,
        ),
        DataWarning,
        stacklevel=4,
    )


def _look_through(source: Source, columns: Sequence[str]) -> None:
    """Learn the spreads of columns, in one scan for those that are new to the source."""
    new = [column for column in dict.fromkeys(columns) if column not in source.spreads]
    if not new:
        return
    inner = [f"{number_sql(source, c)} AS x{i}" for i, c in enumerate(new)]
    spreads = [sql for place in range(len(new)) for sql in _spread_sql(f"x{place}")]
    ((source.n_records, *row),) = source.fetch(
        f"SELECT count(*), {', '.join(spreads)} FROM "
        f"(SELECT {', '.join(inner)} FROM {source.relation})"
    )
    width = len(spreads) // len(new)
    for place, column in enumerate(new):
        figures = row[width * place : width * (place + 1)]
        complete, finite, largest, total, number, added, squares, *fine = figures
        decimals = [d for d, holds in zip(_FINENESS, fine, strict=True) if holds]
        source.spreads[column] = Spread(
            largest=largest,
            total=total,
            decimals=min(decimals, default=None),
            is_finite=finite,
            is_complete=complete,
            variation=_variation(number, added, squares),
        )


def _spread_sql(x: str) -> list[str]:
    fine = [f"{x} = trunc({x})"]
    fine += [
        f"abs({x}) < {2**50 // 10**d} AND {x} = round({x} * 1e{d}) / 1e{d}"
        for d in _FINENESS[1:]
    ]
    powers = (x, f"{x} * {x}")
    return [
        f"count(*) = count({x})",
        f"NOT coalesce(bool_or(isinf({x})), false)",
        f"coalesce(max(abs({x})), 0)",
        f"coalesce(sum(CASE WHEN abs({x}) > 1e25 THEN 1e25 ELSE abs({x}) END), 0)",
        f"count(*) FILTER ({x} <> 0)",
        *(f"coalesce(sum(CASE WHEN abs({x}) > 1e25 THEN 0 ELSE {y} END), 0)" for y in powers),
        *(f"coalesce(bool_and({condition}), true)" for condition in fine),
    ]


def _variation(number: int, added: float, squares: float) -> float:
    """Return the standard deviation of some values as a share of their mean."""
    # Divided twice: the square of the least amounts is 0 as a float.
    return math.sqrt(max(number * squares / added / added - 1, 0.0)) if added else math.inf


def number_sql(source: Source, column: str) -> str:
    """Return SQL of a column's values as doubles."""
    sql_type = source.require(column)
    if sql_type == "BOOLEAN":
        return f"{quote(column)}::INTEGER::DOUBLE"
    if sql_type == "FLOAT":  # 0.1 is 0.1, not the double next to it
        return f"{quote(column)}::VARCHAR::DOUBLE"
    return f"{source.number_sql(column)}::DOUBLE"


def without_tiny(number: str, spread: Spread) -> str:
    """Return SQL of a number that is zero where its integer is."""
    if spread.decimals is not None:
        return number
    return f"CASE WHEN abs({number}) < {LEAST} THEN 0 ELSE {number} END"


def value_sql(value: str, spread: Spread) -> ExactSql:
    """Return SQL of a value as an integer."""
    decimals = spread.decimals
    if decimals is not None:
        is_whole = decimals == 0 and spread.largest < _WHOLE
        is_narrow = spread.total * 10.0**decimals < _WORD
        if is_narrow and (is_whole or spread.largest < _GRID_LIMIT):
            return ExactSql(sql=units_sql(value, spread), decimals=decimals, is_wide=False)
    shift = 10 ** (_DECIMALS - _GRID)
    sql = (
        f"CASE WHEN {_is_on_grid(value)} THEN {_on_grid(value)}::HUGEINT * {shift} "
        f"ELSE {_split(value)} END"
    )
    return ExactSql(sql=sql, decimals=_DECIMALS, is_wide=True)


def product_sql(value: str, factor: str, spreads: tuple[Spread, Spread]) -> ExactSql:
    """Return SQL of a weighted value as an integer."""
    first, second = spreads
    if first.decimals is not None and second.decimals is not None:
        decimals = first.decimals + second.decimals
        is_exact = decimals == 0 and first.largest * second.largest < _WHOLE
        is_small = max(first.largest, second.largest) < _GRID_LIMIT
        bound = first.largest * second.total * 10.0**decimals
        if (is_exact or is_small) and bound < _WORD:
            sql = f"{units_sql(value, first)} * {units_sql(factor, second)}"
            return ExactSql(sql=sql, decimals=decimals, is_wide=False)
    product, shift = f"({value} * {factor})", 10 ** (_DECIMALS - 2 * _GRID)
    sql = (
        f"CASE WHEN {_is_on_grid(value)} AND {_is_on_grid(factor)} "
        f"THEN {_on_grid(value)}::HUGEINT * {_on_grid(factor)} * {shift} "
        f"ELSE {_split(product)} END"
    )
    return ExactSql(sql=sql, decimals=_DECIMALS, is_wide=True)


def square_sql(value: str, spread: Spread) -> ExactSql:
    """Return SQL of the square of a value, as an integer in units of `square_decimals`."""
    decimals = spread.square_decimals
    scaled = f"{value} * 1e{decimals}" if decimals >= 0 else f"{value} / 1e{-decimals}"
    whole = f"round({scaled})::BIGINT"
    return ExactSql(sql=f"({whole} * {whole})::HUGEINT", decimals=0, is_wide=True)


def units_sql(number: str, spread: Spread) -> str:
    """Return SQL of a number in units of its column's decimals."""
    if not spread.decimals:
        return f"{number}::BIGINT"
    return f"round({number} * 1e{spread.decimals})::BIGINT"


def _is_on_grid(x: str) -> str:
    return f"(abs({x}) < {_GRID_LIMIT} AND round({x} * 1e{_GRID}) / 1e{_GRID} = {x})"


def _on_grid(x: str) -> str:
    return f"round({x} * 1e{_GRID})::BIGINT"


def _split(x: str) -> str:
    """Return SQL of a double as an integer, in units of the last decimal kept."""
    fraction = f"round(({x} - trunc({x})) * 1e{_DECIMALS})::BIGINT"
    return f"(trunc({x})::HUGEINT * {10**_DECIMALS}::HUGEINT + {fraction})"
