"""One variable over a block of cells: exact sums and largest contributions that merge.

Sums are integers. The largest contributions are ranks among all that the scan brought, so
that those of two cells merge into those of their union by comparing integers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from footing.arrays import Codes, Flags, Floats, Integers, Words
from tables.magnitudes.limbs import exact_floats, sum_at, sum_keys

_CHUNK = 2**16  # cells whose integers are read as numbers at a time


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Magnitudes:
    """One variable over the cells of a table. Disclosive: never write or print it.

    Every array has one entry, or one line, for each cell, in the order of the table's `Cells`.
    A contributor is a record whose value is neither missing nor zero.

    Parameters
    ----------
    variable
        The variable's name, from which its noise is derived. A weighted total beside an
        unweighted one is a variable of its own, and needs a name of its own.
    total
        Weighted sum of the values, float64; unweighted where there is no weight.
    raw_total
        Unweighted sum of the values, float64.
    contributors
        Number of contributors, int64.
    weighted_contributors
        Sum of the contributors' weights, float64; their number where there is no weight.
    records
        Number of records with a value, zeros among them, int64.
    weight
        Sum of the weights of these records, float64; their number where there is no weight.
    key
        Sum of the record keys of the contributors modulo `key_range`, uint64.
    key_range
        Keys lie in [0, key_range).
    top
        The contributors' values that are largest without their sign, with it, float64, one
        column for each of the largest, 0 where there are fewer contributors.
    top_weight
        Their weights, float64; 1 where there is no weight, 0 where there are fewer.
    largest
        The largest weighted value of a contributor, without its sign, float64, 0 without
        contributors. With weights it need not be that of the first in `top`.
    low, high
        The smallest and the largest value of the records with one, zeros among them, float64;
        0 where no record has a value.
    first_sizes, first_keys
        The three largest weighted values of contributors, without their sign, and the record
        keys of these, the greatest first where values are equal; float64 and uint64, one column
        for each, 0 where there are fewer contributors. Without columns where nobody asked.
    named
        Which cells somebody named as sensitive, whatever rules say; by default none of them.
    squares
        Sum of the squares of the values, float64, exact to nine digits of the largest value of
        the column; infinite where nobody added them up.
    variation
        The coefficient of variation of the values of all records of the column that are not
        zero; infinite where unknown.
    """

    variable: str
    total: Floats
    raw_total: Floats
    contributors: Integers
    weighted_contributors: Floats
    records: Integers
    weight: Floats
    key: Words
    key_range: int
    top: Floats
    top_weight: Floats
    largest: Floats
    low: Floats
    high: Floats
    first_sizes: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    first_keys: Words = field(default_factory=lambda: np.zeros((0, 0), np.uint64))
    named: Flags = field(default_factory=lambda: np.zeros(0, np.bool_))
    squares: Floats = field(default_factory=lambda: np.zeros(0))
    variation: float = math.inf

    def __post_init__(self) -> None:
        if not len(self.squares):
            object.__setattr__(self, "squares", np.full(len(self.total), np.inf))
        if not len(self.named):
            object.__setattr__(self, "named", np.zeros(len(self.total), np.bool_))

    def __len__(self) -> int:
        return len(self.total)

    def take(self, places: Integers) -> Magnitudes:
        """Return the amounts of some cells, in this order."""
        lists = {each.name: getattr(self, each.name) for each in fields(self)}
        parts: dict[str, Any] = {
            name: values[places]
            for name, values in lists.items()
            if isinstance(values, np.ndarray) and len(values) == len(self)
        }
        return replace(self, **parts)

    def __repr__(self) -> str:
        return f"Magnitudes({self.variable!r}, {self.top.shape[1]} largest)"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ExactSum:
    """The same sum over a block of cells, as integers. Disclosive.

    Parameters
    ----------
    limbs
        One integer for every cell, or two or three, see `tables.magnitudes.limbs`.
    decimals
        The sums are multiples of ``10**-decimals``.
    """

    limbs: tuple[Integers, ...]
    decimals: int

    def take(self, places: Integers | slice) -> ExactSum:
        """Return the sums of some cells, in this order."""
        return replace(self, limbs=tuple(limb[places] for limb in self.limbs))

    def merge(self, place: Integers, places: Integers, total: int) -> ExactSum:
        """Sum over cells of the same place, see `Amounts.merge`."""
        limbs = tuple(sum_at(place, limb, total)[places] for limb in self.limbs)
        return replace(self, limbs=limbs)

    def floats(self) -> Floats:
        """Return the numbers that the integers stand for."""
        return exact_floats(self.limbs, decimals=self.decimals)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Ranking:
    """The contributions that may be among the largest of a cell, from small to large.

    Parameters
    ----------
    values, weights
        By rank: a value with its sign, and its weight. Rank 0 stands for none.
    """

    values: Floats
    weights: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Holders:
    """Who may have one of the largest contributions of a cell, from small to large.

    Parameters
    ----------
    sizes, keys
        By rank: a weighted value without its sign, and the record key. Rank 0 stands for none.
    """

    sizes: Floats
    keys: Words


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Amounts:
    """One variable over a block of cells. Disclosive, like `Block`.

    Parameters
    ----------
    variable
        The column.
    raw
        The unweighted sum.
    contributors
        Number of records whose value is not zero.
    records
        Number of records with a value.
    weighted, weights, weight
        The weighted sum, and the sums of the weights of the contributors and of the records
        with a value; None without a weight.
    key
        Sum of the contributors' record keys.
    largest
        The largest absolute weighted value; None without a weight.
    low, high
        Smallest and largest value; infinities where no record has one.
    top
        Codes of the largest contributions, (cells, k), largest first, 0 where fewer.
    ranking
        What the ranks mean.
    first, holders
        The same of the largest weighted values, with the keys of their records.
    squares, square_decimals
        The sum of the squares of values in units of so many decimals; None where unknown.
    variation
        See `Magnitudes`.
    """

    variable: str
    raw: ExactSum
    contributors: Integers
    records: Integers
    weighted: ExactSum | None
    weights: ExactSum | None
    weight: ExactSum | None
    key: Words
    largest: Floats | None
    low: Floats
    high: Floats
    top: Codes
    ranking: Ranking
    first: Codes
    holders: Holders
    squares: ExactSum | None = None
    square_decimals: int = 0
    variation: float = math.inf

    def take(self, places: Integers | slice) -> Amounts:
        """Return the amounts of some cells, in this order."""
        return replace(
            self,
            raw=self.raw.take(places),
            weighted=self.weighted and self.weighted.take(places),
            contributors=self.contributors[places],
            records=self.records[places],
            weights=self.weights and self.weights.take(places),
            weight=self.weight and self.weight.take(places),
            key=self.key[places],
            largest=None if self.largest is None else self.largest[places],
            low=self.low[places],
            high=self.high[places],
            top=self.top[places],
            first=self.first[places],
            squares=self.squares and self.squares.take(places),
        )

    def merge(
        self, place: Integers, places: Integers, total: int, *, key_range: int
    ) -> Amounts:
        """Merge cells of the same place.

        Parameters
        ----------
        place
            The place of every cell.
        places
            The places that are wanted.
        total
            The number of places.
        key_range
            Keys lie in [0, key_range).
        """
        low, high = np.full(total, np.inf), np.full(total, -np.inf)
        np.minimum.at(low, place, self.low)
        np.maximum.at(high, place, self.high)
        largest = None
        if self.largest is not None:
            largest = np.zeros(total)
            np.maximum.at(largest, place, self.largest)
        return replace(
            self,
            raw=self.raw.merge(place, places, total),
            weighted=self.weighted and self.weighted.merge(place, places, total),
            contributors=sum_at(place, self.contributors, total)[places],
            records=sum_at(place, self.records, total)[places],
            weights=self.weights and self.weights.merge(place, places, total),
            weight=self.weight and self.weight.merge(place, places, total),
            key=sum_keys(place, self.key, total, key_range)[places],
            largest=None if largest is None else largest[places],
            low=low[places],
            high=high[places],
            top=merge_top(place, self.top, total)[places],
            first=merge_top(place, self.first, total)[places],
            squares=self.squares and self.squares.merge(place, places, total),
        )

    def magnitudes(self, key_range: int) -> Magnitudes:
        """Return the numbers that the integers stand for."""
        raw_total = self.raw.floats()
        low = np.where(np.isfinite(self.low), self.low, 0.0)
        high = np.where(np.isfinite(self.high), self.high, 0.0)
        return Magnitudes(
            variable=self.variable,
            total=raw_total if self.weighted is None else self.weighted.floats(),
            raw_total=raw_total,
            contributors=self.contributors,
            weighted_contributors=_floats(self.weights, self.contributors),
            records=self.records,
            weight=_floats(self.weight, self.records),
            key=self.key,
            key_range=key_range,
            top=self.ranking.values[self.top],
            top_weight=self.ranking.weights[self.top],
            largest=np.maximum(abs(low), abs(high)) if self.largest is None else self.largest,
            first_sizes=self.holders.sizes[self.first],
            first_keys=self.holders.keys[self.first],
            low=low,
            high=high,
            squares=self._squares(),
            variation=self.variation,
        )

    def _squares(self) -> Floats:
        if self.squares is None:
            return np.full(len(self.contributors), np.inf)
        scale = 10.0 ** abs(2 * self.square_decimals)
        sums = self.squares.floats()
        return sums / scale if self.square_decimals >= 0 else sums * scale


def _floats(sums: ExactSum | None, counts: Integers) -> Floats:
    """Return sums of weights, or numbers of records where there is no weight."""
    return counts.astype(float) if sums is None else sums.floats()


def merge_top(place: Integers, top: Codes, total: int) -> Codes:
    """Merge the largest contributions of cells of the same place."""
    width = top.shape[1]
    largest = np.zeros((total, width), np.int32)
    last = int(top.max(initial=0))
    if not last:
        return largest
    # One integer that sorts by place, then from the largest rank down: sorting is all it takes.
    bits = last.bit_length()
    shifted = place << bits
    columns = [(column > 0, column) for column in top.T]  # whole lines would take a copy
    ordered = np.concatenate([shifted[there] | (last - c[there]) for there, c in columns])
    ordered.sort()
    at = ordered >> bits
    starts = np.flatnonzero(np.diff(at, prepend=-1))
    turn = np.arange(len(at)) - np.repeat(starts, np.diff(starts, append=len(at)))
    is_top = turn < width
    largest[at[is_top], turn[is_top]] = last - (ordered[is_top] & ((1 << bits) - 1))
    return largest


def join_amounts(
    blocks: Sequence[list[Amounts]], key_range: int
) -> dict[str, Magnitudes] | None:
    """Put the amounts of several blocks one after the other, variable by variable.

    The blocks' lists are emptied meanwhile: all together fill the memory twice.
    """
    if not blocks or not blocks[0]:
        return None
    by_variable = {}
    total = sum(len(block[0].key) for block in blocks)
    while blocks[0]:
        columns: dict[str, NDArray[Any]] = {}
        start = 0
        for block in blocks:
            amounts = block.pop(0)
            variable, variation = amounts.variable, amounts.variation
            for first in range(0, max(len(amounts.key), 1), _CHUNK):
                part = amounts.take(slice(first, first + _CHUNK)).magnitudes(key_range)
                for name in _COLUMNS:
                    values = getattr(part, name)
                    if name not in columns:
                        columns[name] = np.empty((total, *values.shape[1:]), values.dtype)
                    columns[name][start : start + len(part)] = values
                start += len(part)
            del amounts
        by_variable[variable] = Magnitudes(
            variable=variable, key_range=key_range, variation=variation, **columns
        )
    return by_variable


def join_magnitudes(parts: Sequence[Magnitudes]) -> Magnitudes:
    """Put the amounts of one variable over several lists of cells one after the other."""
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts]) for name in _COLUMNS
    }
    return replace(parts[0], **columns)


_COLUMNS = tuple(
    field.name
    for field in fields(Magnitudes)
    if field.name not in {"variable", "key_range", "variation"}
)
