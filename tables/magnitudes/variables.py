"""Variables of a statement: SQL that adds amounts up and keeps the largest, and its answer."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tables.magnitudes.amounts import Amounts, ExactSum, Holders, Ranking
from tables.magnitudes.exact import (
    ExactSql,
    number_sql,
    product_sql,
    square_sql,
    units_sql,
    value_sql,
    without_tiny,
)
from tables.magnitudes.largest import largest_lists
from tables.magnitudes.limbs import lean_limbs, limbs_of, modulo_sql

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from footing.arrays import Codes, Floats, Integers
    from tables.source.source import Source


_MAX_BITS = 61
_FIRST = 3  # contributions whose record keys are kept
#: Parts of the records of a cell of which each tells its largest contribution: as many as the
#: largest that a request may ask for, and more.
_PARTS = 8


class Variable:
    """One variable of a statement.

    Contributions are ordered by absolute value, then by weight; of two that differ only in
    their sign the positive comes first. So which ones are the largest depends on the records
    alone. Where value and weight fit into one integer, DuckDB compares these, which is fastest.

    Parameters
    ----------
    source
        The records, whose columns `require_addable` has seen.
    column, weight
        The column to add up, and that of weights or None.
    place
        Tells the names of the variable's columns in the statement from those of others.
    top
        How many of the largest contributions are kept.
    """

    def __init__(
        self, source: Source, column: str, *, weight: str | None, place: int, top: int
    ) -> None:
        self.column = column
        self._weight = weight
        self.top = top
        #: Whether records are handed over, for their largest to be found among them.
        self.gathers = False
        self._packs = source.packs
        self._alias, self._factor = f"v{place}", f"u{place}"
        self._spread = spread = source.spreads[column]
        self._columns = {self._alias: without_tiny(number_sql(source, column), spread)}
        self._sums = {"sum": value_sql(self._alias, spread)}
        self._heaviness = None if weight is None else source.spreads[weight]
        if weight is not None and self._heaviness is not None:
            heavy = self._heaviness
            self._columns[self._factor] = number_sql(source, weight)
            self._sums["total"] = product_sql(self._alias, self._factor, (spread, heavy))
            self._sums["weight"] = value_sql(self._factor, heavy)

    def columns(self) -> list[str]:
        """Return SQL that takes the value, and its weight, from a record."""
        return [f"{sql} AS {name}" for name, sql in self._columns.items()]

    def aggregates(self, key_range: int) -> list[str]:
        """Return SQL of what is known of a group of records, of key ``k``."""
        contributes, is_here = self._conditions
        expressions = {name: exact.sum(contributes) for name, exact in self._sums.items()}
        if self._heaviness is not None:
            heavy = value_sql(self._factor, self._heaviness)
            expressions["heavy"] = heavy.sum(is_here)
        return self._named(expressions | self._aggregates(key_range))

    def of_record(self, key_range: int) -> list[str]:
        """Return SQL of the same for a group of one record."""
        value, (contributes, is_here) = self._alias, self._conditions
        expressions = {name: exact.of_record(contributes) for name, exact in self._sums.items()}
        if self._heaviness is not None:
            heavy = value_sql(self._factor, self._heaviness)
            expressions["heavy"] = heavy.of_record(is_here)
            expressions["largest"] = f"coalesce(abs({value} * {self._factor}), 0)"
        expressions["n"] = f"CASE WHEN {contributes} THEN 1 ELSE 0 END::BIGINT"
        key = modulo_sql("coalesce(k, 0)", key_range)
        expressions["key"] = f"CASE WHEN {contributes} THEN {key} ELSE 0 END::UBIGINT"
        expressions |= {"low": value, "high": value}
        expressions["squares"] = square_sql(value, self._spread).of_record(contributes)
        if not self._spread.is_complete:
            expressions["here"] = f"CASE WHEN {is_here} THEN 1 ELSE 0 END::BIGINT"
        if self.top:
            orders = {"top": self._order_sql(), "first": self._holder_sql()}
            expressions |= {
                name: f"CASE WHEN {contributes} THEN [{order}] END"
                for name, order in orders.items()
            }
        return self._named(expressions)

    @property
    def _conditions(self) -> tuple[str, str]:
        """SQL of whether a record contributes, and whether it has a value."""
        return f"{self._alias} <> 0", f"{self._alias} IS NOT NULL"

    def _named(self, expressions: Mapping[str, str]) -> list[str]:
        return [f"{sql} AS {self._alias}_{name}" for name, sql in expressions.items()]

    def _aggregates(self, key_range: int) -> dict[str, str]:
        value, contributes = self._alias, f"FILTER ({self._alias} <> 0)"
        expressions = {}
        if self._heaviness is not None:
            expressions["largest"] = f"coalesce(max(abs({value} * {self._factor})), 0)"
        expressions["n"] = f"count(*) {contributes}"
        expressions["key"] = modulo_sql(f"coalesce(sum(k) {contributes}, 0)", key_range)
        expressions["low"], expressions["high"] = f"min({value})", f"max({value})"
        expressions["squares"] = square_sql(value, self._spread).sum(f"{value} <> 0")
        if not self._spread.is_complete:
            expressions["here"] = f"count({value})"
        if self.top and not self.gathers:
            expressions |= self._part_sizes() if self.is_apart else self._largest_sql()
        return expressions

    @property
    def is_apart(self) -> bool:
        """Whether the largest contributions are read by a statement of their own.

        Spark keeps several of the largest in objects of Java. So it says how large they are
        at least, and keeps those of the few records that may be among them.
        """
        return bool(self.top) and not self._packs

    def largest(self, bounds: tuple[str, str]) -> tuple[list[str], str]:
        """Return SQL of the largest contributions to cells, and of which records matter.

        The names of `bounds` are those of `least_sizes` of the cell.
        """
        least = [f"{size} >= {name}" for size, name in zip(self._sizes, bounds, strict=True)]
        matters = f"{self._alias} <> 0 AND ({' OR '.join(dict.fromkeys(least))})"
        return self._named(self._largest_sql()), matters

    @property
    def is_slow(self) -> bool:
        """Whether DuckDB compares contributions by structs, since no integer holds them."""
        return bool(self.top) and self._packs and self._packed_bits is None

    @property
    def contributes(self) -> str:
        """SQL of whether a record contributes."""
        return self._conditions[0]

    def gathered(self) -> dict[str, str]:
        """Return SQL of what `lists` needs of a record, by name; 0 where it is missing."""
        size, weighted = self._sizes
        columns = {
            "size": f"coalesce({size}, 0)",
            "plus": f"coalesce({self._alias} > 0, false)",
        }
        named = {f"{self._alias}_{name}": sql for name, sql in columns.items()}
        if self._heaviness is not None:
            named[f"{self._alias}_heft"] = f"coalesce({weighted}, 0)"
            named[f"weight {self._weight}"] = self._factor  # of several variables
        return named

    def lists(
        self, records: dict[str, NDArray[Any]], *, row: Integers, rows: int
    ) -> dict[str, pa.Array]:
        """Find the largest contributions of every row of the answer among its records.

        Parameters
        ----------
        records
            The columns that `gathered` names, which are taken out, and the keys ``k``.
        row
            The row that each record belongs to.
        rows
            How many rows there are.
        """
        size = heft = records.pop(f"{self._alias}_size")
        top = {"size": size}
        if self._heaviness is not None:
            top["weight"] = records[f"weight {self._weight}"]
            heft = records.pop(f"{self._alias}_heft")
        top["is_plus"] = records.pop(f"{self._alias}_plus")
        first = {"size": heft, "k": records["k"]}
        lists = largest_lists(
            [top, first], [self.top, _FIRST], contributes=size > 0, row=row, rows=rows
        )
        return {
            f"{self._alias}_{name}": array
            for name, array in zip(("top", "first"), lists, strict=True)
        }

    def least_sizes(self, rows: pa.Table) -> list[Floats]:
        """Return what the largest contributions to cells, by value and weighted, are at least.

        The greatest of so many parts of a cell's records are so many of its contributions.
        """
        least = []
        for name, number in (("size", self.top), ("heft", _FIRST)):
            names = [f"{name}{part}" for part in range(_PARTS)]
            parts = np.stack(
                [self._answer(rows, n).fill_null(0.0).to_numpy() for n in names], axis=1
            )
            parts.sort(axis=1)
            least.append(parts[:, -number])
        return least

    @property
    def _sizes(self) -> tuple[str, str]:
        """SQL of the absolute value, and of the weighted one."""
        value = self._alias
        weighted = value if self._heaviness is None else f"{value} * {self._factor}"
        return f"abs({value})", f"abs({weighted})"

    def _part_sizes(self) -> dict[str, str]:
        return {
            f"{name}{part}": f"max(CASE WHEN {self._alias} <> 0 "
            f"AND (k::UBIGINT & {_PARTS - 1}) = {part} THEN {size} END)"
            for name, size in zip(("size", "heft"), self._sizes, strict=True)
            for part in range(_PARTS)
        }

    def _largest_sql(self) -> dict[str, str]:
        return {
            name: f"max(CASE WHEN {self._alias} <> 0 THEN {order} END, {number})"
            for name, order, number in (
                ("top", self._order_sql(), self.top),
                ("first", self._holder_sql(), _FIRST),
            )
        }

    def is_missing_in(self, rows: pa.Table) -> bool:
        """Whether some records of the answer's rows have no value."""
        if self._spread.is_complete:
            return False
        return bool((self._answer(rows, "here").to_numpy() < rows["n"].to_numpy()).any())

    def read(self, rows: pa.Table, *, top: int) -> Amounts:
        """Return what the rows of the answer hold."""
        sums = {name: self._read_sum(rows, name, exact) for name, exact in self._sums.items()}
        is_weighted = self._heaviness is not None
        here = rows["n"] if self._spread.is_complete else self._answer(rows, "here")
        ranks, ranking = self._read_top(rows)
        squares = None
        if f"{self._alias}_squares" in rows.column_names:
            squares = self._read_sum(rows, "squares", square_sql("", self._spread))
        first, holders = self._read_first(rows)
        return Amounts(
            variable=self.column,
            raw=sums["sum"],
            contributors=self._answer(rows, "n").to_numpy().astype(np.int64),
            records=here.to_numpy().astype(np.int64),
            weighted=sums.get("total"),
            weights=sums.get("weight"),
            weight=self._read_sum(rows, "heavy", self._sums["weight"]) if is_weighted else None,
            key=self._answer(rows, "key").to_numpy().astype(np.uint64),
            low=self._answer(rows, "low").fill_null(np.inf).to_numpy(),
            high=self._answer(rows, "high").fill_null(-np.inf).to_numpy(),
            largest=self._answer(rows, "largest").to_numpy() if is_weighted else None,
            top=ranks[:, :top],
            ranking=ranking,
            first=first[:, : _FIRST if top else 0],
            holders=holders,
            squares=squares,
            square_decimals=self._spread.square_decimals,
            variation=self._spread.variation,
        )

    def _answer(self, rows: pa.Table, name: str) -> pa.ChunkedArray:
        return rows[f"{self._alias}_{name}"]

    def _read_sum(self, rows: pa.Table, name: str, exact: ExactSql) -> ExactSum:
        column = self._answer(rows, name)
        limbs = lean_limbs(limbs_of(column)) if exact.is_wide else (column.to_numpy(),)
        return ExactSum(limbs=limbs, decimals=exact.decimals)

    @property
    def _packed_bits(self) -> int | None:
        """Bits of the weight in one integer that orders contributions; None if none can."""
        heavy = self._heaviness
        if self._spread.decimals is None or (heavy is not None and heavy.decimals is None):
            return None
        bits = 0 if heavy is None else heavy.bits
        return bits if self._spread.bits + bits <= _MAX_BITS else None

    def _order_sql(self) -> str:
        """Return SQL that orders contributions by absolute value, weight, and sign."""
        value, bits, heavy = self._alias, self._packed_bits, self._heaviness
        if bits is None:
            weight = "" if heavy is None else f", 'weight': {self._factor}"
            order = f"{{'size': abs({value}){weight}, 'is_plus': {value} > 0}}"
        else:
            order = units_sql(f"abs({value})", self._spread)
            if heavy is not None:
                order = f"({order} * {1 << bits} + {units_sql(self._factor, heavy)})"
            order = f"{order} * 2 + ({value} > 0)::BIGINT"
        return order

    def _holder_sql(self) -> str:
        """Return SQL that orders weighted contributions, with the keys of their records."""
        value = self._alias
        size = value if self._heaviness is None else f"{value} * {self._factor}"
        return f"{{'size': abs({size}), 'k': k}}"

    def _read_first(self, rows: pa.Table) -> tuple[Codes, Holders]:
        """Rank the largest weighted contributions of all rows, with their keys."""
        if f"{self._alias}_first" not in rows.column_names:
            none = Holders(sizes=np.zeros(1), keys=np.zeros(1, np.uint64))
            return np.zeros((rows.num_rows, 0), np.int32), none
        lengths, structs = self._read_lists(rows, "first")
        sizes = pc.struct_field(structs, "size").to_numpy()
        keys = pc.struct_field(structs, "k").cast(pa.uint64()).to_numpy()
        order = _sorted_by(sizes, keys)
        ranks = _ranks_of(order)
        holders = Holders(
            sizes=np.append(0.0, sizes[order]),
            keys=np.append(np.zeros(1, np.uint64), keys[order]),
        )
        return _laid_out(lengths, ranks, _FIRST), holders

    def _read_lists(self, rows: pa.Table, name: str) -> tuple[Integers, pa.Array]:
        """Return how many entries the list of every row has, and all entries."""
        lists = self._answer(rows, name).combine_chunks()
        if isinstance(lists, pa.ChunkedArray):
            lists = lists.chunk(0) if lists.num_chunks else pa.array([], lists.type)
        return pc.fill_null(pc.list_value_length(lists), 0).to_numpy(), lists.flatten()

    def _read_top(self, rows: pa.Table) -> tuple[Codes, Ranking]:
        """Rank the largest contributions of all rows."""
        if not self.top:
            none = Ranking(values=np.zeros(1), weights=np.zeros(1))
            return np.zeros((rows.num_rows, 0), np.int32), none
        lengths, orders = self._read_lists(rows, "top")
        bits = self._packed_bits
        ranks, ranking = (
            self._struct_ranked(orders) if bits is None else self._packed_ranked(orders, bits)
        )
        return _laid_out(lengths, ranks, self.top), ranking

    def _packed_ranked(self, orders: pa.Array, bits: int) -> tuple[Codes, Ranking]:
        """Unpack the integers that order contributions."""
        ranks, codes = _ranked(orders.to_numpy())
        sizes = (codes >> (bits + 1)) / 10.0 ** (self._spread.decimals or 0)
        weights = np.ones(len(codes))
        if self._heaviness is not None:
            units = (codes >> 1) & ((1 << bits) - 1)
            weights = units / 10.0 ** (self._heaviness.decimals or 0)
        return ranks, _ranking(sizes, weights, codes & 1)

    def _struct_ranked(self, orders: pa.Array) -> tuple[Codes, Ranking]:
        """Rank what orders contributions, part by part."""
        size = pc.struct_field(orders, "size").to_numpy()
        weight = np.ones(len(size))
        if self._heaviness is not None:
            weight = pc.struct_field(orders, "weight").to_numpy()
        is_plus = pc.struct_field(orders, "is_plus").to_numpy(zero_copy_only=False)
        minor = [weight] if is_plus.all() else [weight, is_plus]
        order = _sorted_by(size, *minor)
        ranks = _ranks_of(order)
        return ranks, _ranking(size[order], weight[order], is_plus[order])


class GivenVariable(Variable):
    """One variable of cells that were given: its sums, contributors and largest contributions.

    Parameters
    ----------
    source, column, weight, place, top
        As for `Variable`, without weights; beside the column stand those that tell how many
        contributors there are, ``_n``, and the largest contributions, ``_1``, ``_2`` and so on.
    """

    def __init__(
        self, source: Source, column: str, *, weight: str | None, place: int, top: int
    ) -> None:
        super().__init__(source, column, weight=weight, place=place, top=top)
        largest = largest_columns(source, column)
        self._largest = [f"{self._alias}_{name}t" for name in range(len(largest))]
        self._columns[f"{self._alias}_m"] = f"{source.number_sql(f'{column}_n')}::BIGINT"
        self._columns |= {
            alias: number_sql(source, name)
            for alias, name in zip(self._largest, largest, strict=True)
        }

    def _aggregates(self, key_range: int) -> dict[str, str]:  # noqa: ARG002  (no key of theirs)
        value = self._alias
        largest = ", ".join(self._largest)
        orders = (
            f"list_transform(list_filter(flatten(list([{largest}])), lambda x: x <> 0), "
            "lambda x: {'size': abs(x), 'is_plus': x > 0})"
        )
        return {
            "n": f"sum({value}_m)::BIGINT",
            "key": "0::UBIGINT",
            "low": f"min({value})",
            "high": f"max({value})",
            "here": f"(sum(n0) FILTER ({value} IS NOT NULL))::BIGINT",
            "top": f"list_reverse_sort({orders})[:{self.top}]" if largest else "NULL",
        }

    @property
    def is_apart(self) -> bool:
        """No: the cells name their largest contributions."""
        return False

    @property
    def _packed_bits(self) -> int | None:
        return None


def largest_columns(source: Source, column: str) -> list[str]:
    """Return the columns of a table of cells with the largest contributions to a variable."""
    names = (f"{column}_{place}" for place in itertools.count(1))
    return list(itertools.takewhile(lambda name: name in source.columns, names))


def _laid_out(lengths: Integers, ranks: Codes, width: int) -> Codes:
    """Lay the ranks of every list out in a line of its own, the greatest first."""
    top = np.zeros((len(lengths), width), np.int32)
    if lengths.max(initial=0) <= 1 <= width:
        top[lengths > 0, 0] = ranks
        return top
    top[np.arange(width) < lengths[:, np.newaxis]] = ranks
    top.sort(axis=1)
    return top[:, ::-1]


def _ranked(codes: Integers) -> tuple[Codes, Integers]:
    """Return the rank of every code, from 1, and the codes in order."""
    order = np.argsort(codes)
    return _ranks_of(order), codes[order]


def _ranks_of(order: Integers) -> Codes:
    """Return the place of everything in an order, from 1."""
    ranks = np.empty(len(order), np.int32)
    ranks[order] = np.arange(1, len(order) + 1, dtype=np.int32)
    return ranks


def _sorted_by(first: NDArray[Any], *others: NDArray[Any]) -> Integers:
    """Return an order by some columns, the first one before the others.

    Sorting one column after the other by integers takes a third of the time of `lexsort`.
    """
    order = np.argsort(first)
    if not others:
        return order
    in_order = first[order]
    is_new = np.append(False, in_order[1:] != in_order[:-1])
    if is_new.sum() == len(order) - 1:  # no two are alike
        return order
    places = np.empty((2, len(order)), np.int64)
    places[0, order] = np.cumsum(is_new)
    places[1, _sorted_by(*others)] = np.arange(len(order))
    return np.argsort(places[0] * len(order) + places[1])


def _ranking(sizes: Floats, weights: Floats, is_plus: NDArray[np.generic]) -> Ranking:
    values = np.where(is_plus, sizes, -sizes)
    return Ranking(values=np.append(0.0, values), weights=np.append(0.0, weights))
