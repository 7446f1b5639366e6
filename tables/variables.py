"""Variables: columns of amounts made ready to be added up exactly while DuckDB scans.

Floating-point sums depend on the order of records, integer sums do not. So every value
becomes an integer once, record by record, by a rule that looks at nothing but the record:

* a value with up to 6 decimals, below 2·10⁹, is exactly that decimal; so is its product with
  such a weight;
* any other value is the double that it is, and its weighted value the double nearest to the
  product, both rounded to 15 decimals;
* a value nearer to zero than that is zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from tables.amounts import Amounts, Ranking
from tables.errors import DataError
from tables.filters import quote
from tables.limbs import limbs_of, modulo_sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from tables.source import Source

    Sums = NDArray[np.int64]
    Floats = NDArray[np.float64]

__all__ = ["Spread", "Variable", "require_addable", "spreads_of"]

_T = TypeVar("_T", np.int64, np.float64)
_DECIMALS = 15
_TINY = "5e-16"
_GRID = 6  # values with up to so many decimals are those decimals
_GRID_LIMIT = "2e9"  # below, `round(value * 1e6) / 1e6 = value` tells
_WHOLE = 2**53
_WORD = 2**62
_LARGEST_SUM = 1e22  # times 10**15 it fits 128 bits, with room to spare
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
    is_finite
        Whether all values are.
    """

    largest: float
    total: float
    decimals: int | None
    is_finite: bool

    @property
    def bits(self) -> int:
        """Bits of the largest absolute value, as an integer in units of its decimals."""
        return int(round(self.largest * 10.0 ** (self.decimals or 0))).bit_length()

    def __repr__(self) -> str:
        return "Spread(…)"


def spreads_of(source: Source, columns: Sequence[str]) -> dict[str, Spread]:
    """Look through columns of numbers, once for each source.

    Parameters
    ----------
    source
        The records.
    columns
        The columns.
    """
    new = [c for c in dict.fromkeys(columns) if c not in source.spreads]
    if new:
        inner = [f"{_number_sql(source, c)} AS x{i}" for i, c in enumerate(new)]
        asked = ", ".join(_spread_sql(f"x{i}") for i in range(len(new)))
        row = source.fetch(
            f"SELECT {asked} FROM (SELECT {', '.join(inner)} FROM {source.relation})"
        )[0]
        width = 3 + len(_FINENESS)
        for place, column in enumerate(new):
            is_finite, largest, total, *is_fine = row[width * place : width * (place + 1)]
            fine = [d for d, holds in zip(_FINENESS, is_fine, strict=True) if holds]
            source.spreads[column] = Spread(
                largest=largest,
                total=total,
                decimals=min(fine, default=None),
                is_finite=is_finite,
            )
    return {column: source.spreads[column] for column in columns}


def require_addable(source: Source, columns: Sequence[str], *, weight: str | None) -> None:
    """Raise unless the columns, and their products with the weight, can be added up exactly.

    Parameters
    ----------
    source
        The records.
    columns
        The columns.
    weight
        The column of weights, or None.
    """
    spreads = spreads_of(source, [*columns, *([] if weight is None else [weight])])
    for column in columns:
        found = spreads[column]
        if not found.is_finite:
            raise DataError(
                f"Some values of {column!r} are infinite.",
                hint="repair them, or filter the records out beforehand",
            )
        heavy = 0.0 if weight is None else found.largest * spreads[weight].total
        if max(found.total, heavy) > _LARGEST_SUM:
            weighted = "" if found.total > _LARGEST_SUM else f", weighted by {weight!r},"
            raise DataError(
                f"The values of {column!r}{weighted} are too large to be added up exactly: "
                "absolute values must sum to less than 10**22.",
                hint="give them in a larger unit, such as thousands",
            )


class Variable:
    """One variable of a statement: its SQL, and its answer.

    Parameters
    ----------
    source
        The records, whose columns `require_addable` has seen.
    column, weight
        The column to add up, and that of weights or None.
    place
        Tells the names of the variable's columns in the statement from those of others.
    weight_alias
        What the statement calls the weight as a decimal number.
    top
        How many of the largest contributions are kept.
    """

    def __init__(
        self,
        source: Source,
        column: str,
        *,
        weight: str | None,
        place: int,
        weight_alias: str | None,
        top: int,
    ) -> None:
        self.column = column
        self.top = top
        self._alias = f"v{place}"
        self._factor = f"u{place}" if weight is not None else None
        self._weight_alias = weight_alias
        self._spread = source.spreads[column]
        self._heaviness = None if weight is None else source.spreads[weight]
        self._value_sql = _number_sql(source, column)
        self._factor_sql = "" if weight is None else _number_sql(source, weight)

    def columns(self) -> list[str]:
        """Return SQL that takes the value, and its weight, from a record."""
        value = self._value_sql
        if self._spread.decimals is None:
            value = f"CASE WHEN abs({value}) < {_TINY} THEN 0 ELSE {value} END"
        columns = [f"{value} AS {self._alias}"]
        if self._factor is not None:
            columns.append(f"{self._factor_sql} AS {self._factor}")
        return columns

    def aggregates(self, key_range: int) -> list[str]:
        """Return SQL of what is known of a group of records, of key ``k``.

        Parameters
        ----------
        key_range
            Keys lie in [0, key_range).
        """
        value = self._alias
        contributes = f"FILTER ({value} <> 0)"
        asked = {
            "here": f"count({value})",
            "sum": _sum_sql(self._exact_sql(), is_wide=self._is_wide),
            "n": f"count(*) {contributes}",
            "key": modulo_sql(f"coalesce(sum(k) {contributes}, 0)", key_range),
            "low": f"min({value})",
            "high": f"max({value})",
        }
        if self._factor is not None:
            asked["total"] = _sum_sql(self._product_sql(), is_wide=True)
            asked["w"] = f"coalesce(sum({self._weight_alias}) {contributes}, 0)"
        if self.top:
            asked["top"] = f"max({self._order_sql()}, {self.top})"
        return [f"{sql} AS {value}_{name}" for name, sql in asked.items()]

    def is_missing_in(self, rows: pa.Table) -> bool:
        """Whether some records of the answer's rows have no value."""
        here = rows[f"{self._alias}_here"].to_numpy()
        return bool((here < rows["n"].to_numpy()).any())

    def read(self, rows: pa.Table, *, top: int) -> Amounts:
        """Return what the rows of the answer hold.

        Parameters
        ----------
        rows
            The rows.
        top
            How many of the largest contributions are wanted, at most those that were asked for.
        """

        def column(name: str) -> pa.ChunkedArray:
            return rows[f"{self._alias}_{name}"]

        raw = limbs_of(column("sum")) if self._is_wide else (column("sum").to_numpy(),)
        ranks, ranking = self._read_top(rows)
        is_weighted = self._factor is not None
        return Amounts(
            variable=self.column,
            raw=raw,
            raw_decimals=self._decimals,
            weighted=limbs_of(column("total")) if is_weighted else (),
            weighted_decimals=self._product_decimals,
            contributors=column("n").to_numpy().astype(np.int64),
            weights=limbs_of(column("w")) if is_weighted else (),
            key=column("key").to_numpy().astype(np.uint64),
            low=column("low").fill_null(np.inf).to_numpy(),
            high=column("high").fill_null(-np.inf).to_numpy(),
            top=ranks[:, :top],
            ranking=ranking,
        )

    def __repr__(self) -> str:
        return f"Variable({self.column!r})"

    @property
    def _decimals(self) -> int:
        is_whole = self._spread.decimals == 0 and self._spread.largest < _WHOLE
        return 0 if is_whole else _DECIMALS

    @property
    def _is_wide(self) -> bool:
        return bool(self._decimals) or self._spread.total >= _WORD

    @property
    def _product_decimals(self) -> int:
        heavy = self._heaviness
        is_whole = heavy is not None and heavy.decimals == self._decimals == 0
        is_exact = heavy is not None and self._spread.largest * heavy.largest < _WHOLE
        return 0 if is_whole and is_exact else _DECIMALS

    def _exact_sql(self) -> str:
        """Return SQL of the value as an integer, in units of its decimals."""
        value = self._alias
        if not self._decimals:
            return f"{value}::BIGINT"
        shift = 10 ** (_DECIMALS - _GRID)
        return (
            f"CASE WHEN {_is_on_grid(value)} THEN {_on_grid(value)}::HUGEINT * {shift} "
            f"ELSE {_split(value)} END"
        )

    def _product_sql(self) -> str:
        """Return SQL of the weighted value as an integer, in units of its decimals."""
        value, factor = self._alias, self._factor
        product = f"({value} * {factor})"
        if not self._product_decimals:
            return f"{product}::BIGINT"
        shift = 10 ** (_DECIMALS - 2 * _GRID)
        return (
            f"CASE WHEN {_is_on_grid(value)} AND {_is_on_grid(str(factor))} "
            f"THEN {_on_grid(value)}::HUGEINT * {_on_grid(str(factor))} * {shift} "
            f"ELSE {_split(product)} END"
        )

    @property
    def _packed_bits(self) -> int | None:
        """Bits of the weight in one integer that orders contributions; None if none can."""
        heavy = self._heaviness
        if self._spread.decimals is None or (heavy is not None and heavy.decimals is None):
            return None
        bits = 0 if heavy is None else heavy.bits
        return bits if self._spread.bits + bits <= 61 else None

    def _order_sql(self) -> str:
        """Return SQL that orders contributions by absolute value, weight, and sign."""
        value, factor, bits = self._alias, self._factor, self._packed_bits
        if bits is None:
            weight = "" if factor is None else f", 'weight': {factor}"
            order = f"{{'size': abs({value}){weight}, 'is_plus': {value} > 0}}"
        else:
            order = _units(f"abs({value})", self._spread)
            if factor is not None and self._heaviness is not None:
                order = f"({order} * {1 << bits} + {_units(factor, self._heaviness)})"
            order = f"{order} * 2 + ({value} > 0)::BIGINT"
        return f"CASE WHEN {value} <> 0 THEN {order} END"

    def _read_top(self, rows: pa.Table) -> tuple[Sums, Ranking]:
        """Rank the largest contributions of all rows."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if not self.top:
            none = Ranking(values=np.zeros(1), weights=np.zeros(1))
            return np.zeros((rows.num_rows, 0), np.int64), none
        lists = rows[f"{self._alias}_top"].combine_chunks()
        if isinstance(lists, pa.ChunkedArray):
            lists = (
                pa.concat_arrays(lists.chunks) if lists.num_chunks else pa.array([], lists.type)
            )
        lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy().astype(np.int64)
        ranks, ranking = self._ranked(lists.flatten())
        row = np.repeat(np.arange(len(lengths)), lengths)
        first = np.repeat(np.cumsum(lengths) - lengths, lengths)
        top = np.zeros((len(lengths), self.top), np.int64)
        top[row, np.arange(len(row)) - first] = ranks
        top.sort(axis=1)
        return top[:, ::-1], ranking

    def _ranked(self, orders: pa.Array) -> tuple[Sums, Ranking]:
        """Return the rank of every order, from 1, and what the ranks mean."""
        bits = self._packed_bits
        ranks, codes, sizes, weights = (
            self._struct_ranked(orders) if bits is None else self._packed_ranked(orders, bits)
        )
        values = np.where(codes & 1, sizes, -sizes)
        ranking = Ranking(values=np.append(0.0, values), weights=np.append(0.0, weights))
        return ranks + 1, ranking

    def _packed_ranked(self, orders: pa.Array, bits: int) -> tuple[Sums, Sums, Floats, Floats]:
        """Unpack the parts of integers that order contributions."""
        ranks, codes = _coded(orders, np.int64)
        sizes = (codes >> (bits + 1)) / 10.0 ** (self._spread.decimals or 0)
        if self._heaviness is None:
            return ranks, codes, sizes, np.ones(len(codes))
        units = (codes >> 1) & ((1 << bits) - 1)
        return ranks, codes, sizes, units / 10.0 ** (self._heaviness.decimals or 0)

    def _struct_ranked(self, orders: pa.Array) -> tuple[Sums, Sums, Floats, Floats]:
        """Rank the parts of what orders contributions, and pack the ranks into integers."""
        import pyarrow as pa
        import pyarrow.compute as pc

        size, sizes = _coded(pc.struct_field(orders, "size"), np.float64)
        weight, weights = np.zeros_like(size), np.ones(1)
        if self._heaviness is not None:
            weight, weights = _coded(pc.struct_field(orders, "weight"), np.float64)
        is_plus = pc.struct_field(orders, "is_plus").to_numpy(zero_copy_only=False)
        number = max(len(weights), 1)
        ranks, codes = _coded(pa.array((size * number + weight) * 2 + is_plus), np.int64)
        pairs = codes >> 1
        return ranks, codes, sizes[pairs // number], weights[pairs % number]


def _coded(values: pa.Array, kind: type[_T]) -> tuple[Sums, NDArray[_T]]:
    """Return the place of every value among the distinct ones, sorted, and these."""
    coded = values.dictionary_encode()
    distinct = coded.dictionary.to_numpy().astype(kind)
    order = np.argsort(distinct)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return place[coded.indices.to_numpy()], distinct[order]


def _number_sql(source: Source, column: str) -> str:
    """Return SQL of a column's values as doubles."""
    sql_type = source.require(column)
    if sql_type == "BOOLEAN":
        return f"{quote(column)}::INTEGER::DOUBLE"
    if sql_type == "FLOAT":  # 0.1 is 0.1, not the double next to it
        return f"{quote(column)}::VARCHAR::DOUBLE"
    return f"{quote(column)}::DOUBLE"


def _spread_sql(x: str) -> str:
    fine = [
        f"coalesce(bool_and({x} = trunc({x})), true)"
        if not decimals
        else f"coalesce(bool_and({x} = round({x} * 1e{decimals}) / 1e{decimals} "
        f"AND abs({x}) < {2**50 // 10**decimals}), true)"
        for decimals in _FINENESS
    ]
    listed = [f"NOT coalesce(bool_or(isinf({x})), false)", f"coalesce(max(abs({x})), 0)"]
    return ", ".join([*listed, f"coalesce(sum(least(abs({x}), 1e25)), 0)", *fine])


def _sum_sql(expression: str, *, is_wide: bool) -> str:
    kind = "HUGEINT" if is_wide else "BIGINT"
    return f"coalesce(sum({expression}), 0)::{kind}"


def _is_on_grid(x: str) -> str:
    return f"(abs({x}) < {_GRID_LIMIT} AND round({x} * 1e{_GRID}) / 1e{_GRID} = {x})"


def _on_grid(x: str) -> str:
    return f"round({x} * 1e{_GRID})::BIGINT"


def _split(x: str) -> str:
    """Return SQL of a double as an integer, in units of the last decimal kept."""
    fraction = f"round(({x} - trunc({x})) * 1e{_DECIMALS})::BIGINT"
    return f"(trunc({x})::HUGEINT * {10**_DECIMALS}::HUGEINT + {fraction})"


def _units(x: str, spread: Spread) -> str:
    if not spread.decimals:
        return f"{x}::BIGINT"
    return f"round({x} * 1e{spread.decimals})::BIGINT"
