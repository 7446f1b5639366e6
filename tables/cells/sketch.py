"""Sketches: small summaries of record sets that tell whether two sets differ by few records.

A sketch adds up like a count, so margins and complements follow from finest cells. It splits
records by their keys into ``width + 1`` partitions. Two sets that differ by at most ``width``
records agree in at least one whole partition: that is how near sets are found. Sums of powers
decide how many records differ. Sets so small that a partition is empty also name their members
with the smallest keys. `docs/reference/ledger.md` has the arithmetic.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from footing.messages import Argument, Message
from tables.errors import RequestError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from footing.arrays import Flags, Integers, Words


PRIME = 2**31 - 1  # powers of sketches are residues modulo this prime
MAX_WIDTH = 4
_LEAST_RANGE = 2**32


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Sketch:
    """The sketches of a list of cells. Disclosive: never write or print them.

    Parameters
    ----------
    partitions
        For every cell and partition, the exclusive or of the record keys there, uint64; 0 where
        there is none.
    power_sums
        For every cell and i = 1 to width + 1, the sum of the i-th powers of the upper bits of
        the record keys, modulo `PRIME`.
    member_cell, member_key
        For cells with an empty partition the ``width + 1`` smallest record keys, cell by cell.
    """

    partitions: Words
    power_sums: Integers
    member_cell: Integers
    member_key: Words

    @property
    def width(self) -> int:
        """The largest difference that these sketches tell from larger ones."""
        return int(self.partitions.shape[1]) - 1

    @property
    def is_small(self) -> Flags:
        """Which cells have an empty partition."""
        return np.asarray((self.partitions == 0).any(axis=1))

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """All that the sketches hold."""
        return self.partitions, self.power_sums, self.member_cell, self.member_key

    def __len__(self) -> int:
        return len(self.partitions)

    def __repr__(self) -> str:
        return f"Sketch(width {self.width})"

    def take(self, cells: Integers) -> Sketch:
        """Return the sketches of some cells, each named once, in this order."""
        place = np.full(len(self), -1, np.int64)
        place[cells] = np.arange(len(cells))
        mine = place[self.member_cell]
        part = replace(
            self, partitions=self.partitions[cells], power_sums=self.power_sums[cells]
        )
        return part.with_members(mine[mine >= 0], self.member_key[mine >= 0])

    def merge(self, place: Integers) -> Sketch:
        """Merge cells of the same place; the answer is in the order of places."""
        if not len(self):
            return self
        order = np.argsort(place, kind="stable")
        ordered = place[order]
        starts = np.flatnonzero(np.diff(ordered, prepend=ordered[0] - 1))
        partitions = np.bitwise_xor.reduceat(self.partitions[order], starts)
        power_sums = np.add.reduceat(self.power_sums[order], starts) % PRIME
        cell = np.searchsorted(ordered[starts], place[self.member_cell])
        is_small = (partitions == 0).any(axis=1)[cell]
        result = replace(self, partitions=partitions, power_sums=power_sums)
        return result.with_members(cell[is_small], self.member_key[is_small])

    def with_members(self, cell: Integers, key: Words) -> Sketch:
        """Return the same sketches with the smallest of these members."""
        cell, key = smallest_members(cell, key, self.width)
        return replace(self, member_cell=cell, member_key=key)


def join_sketches(parts: Sequence[Sketch]) -> Sketch:
    """Put lists of sketches one after the other."""
    starts = np.cumsum([0] + [len(part) for part in parts])
    member_cells = [p.member_cell + start for p, start in zip(parts, starts, strict=False)]
    return Sketch(
        partitions=np.concatenate([part.partitions for part in parts]),
        power_sums=np.concatenate([part.power_sums for part in parts]),
        member_cell=np.concatenate(member_cells),
        member_key=np.concatenate([part.member_key for part in parts]),
    )


def require_sketchable(width: int, key_range: int) -> None:
    """Raise unless record keys of this range can be sketched."""
    if not 1 <= width <= MAX_WIDTH:
        raise RequestError(
            Message(
                "A sketch has a width from 1 to {max_width}, not {width!r}.",
                max_width=MAX_WIDTH,
                width=Argument(width),
            )
        )
    if key_range < _LEAST_RANGE:
        raise RequestError(
            Message(
                "Sketches need record keys that tell records apart: their range must be "
                "2**32 or more, not {key_range}.",
                key_range=Argument(key_range),
            ),
            hint=Message("name an identifier with id, or draw 64-bit keys"),
        )


def sketch_columns(width: int, key_range: int) -> tuple[list[str], list[str]]:
    """Return SQL for the columns that sketches need, and for their aggregates."""
    require_sketchable(width, key_range)
    shift = max((key_range - 1).bit_length() - 31, 0)
    columns = ["k::UBIGINT AS x", f"(k::UBIGINT >> {shift})::BIGINT AS u"]
    aggregates = ["bit_xor(x) AS x0"]
    for partition in range(1, width + 1):
        start = partition * key_range // (width + 1)
        aggregates.append(f"bit_xor(x * (x >= {start})::UBIGINT) AS x{partition}")
    power = "u"
    for exponent in range(1, width + 2):
        aggregates.append(f"(sum({power}) % {PRIME})::BIGINT AS p{exponent}")
        power = "u * u" if exponent == 1 else f"({power}) % {PRIME} * u"
    return columns, aggregates


def merged_columns(width: int) -> list[str]:
    """Return SQL that merges the columns of sketches, as `sketch_columns` names them."""
    partitions = [f"bit_xor(x{partition}) AS x{partition}" for partition in range(width + 1)]
    power_sums = [f"(sum(p{i}) % {PRIME})::BIGINT AS p{i}" for i in range(1, width + 2)]
    return [*partitions, *power_sums]


def read_sketch(rows: pa.Table, width: int) -> Sketch:
    """Read sketches, still without members, from the answer of `sketch_columns`."""
    from_start = [
        rows[f"x{partition}"].to_numpy().astype(np.uint64) for partition in range(width + 1)
    ]
    partitions = [a ^ b for a, b in itertools.pairwise(from_start)]
    power_sums = [rows[f"p{i}"].to_numpy().astype(np.int64) for i in range(1, width + 2)]
    return Sketch(
        partitions=np.stack([*partitions, from_start[-1]], axis=1),
        power_sums=np.stack(power_sums, axis=1),
        member_cell=np.zeros(0, np.int64),
        member_key=np.zeros(0, np.uint64),
    )


def smallest_members(cell: Integers, key: Words, width: int) -> tuple[Integers, Words]:
    """Sort members by cell, and keep the ``width + 1`` smallest keys of every cell."""
    order = np.lexsort((key, cell))
    cell, key = cell[order], key[order]
    is_first = np.diff(cell, prepend=-1) != 0
    start = np.flatnonzero(is_first)[np.cumsum(is_first) - 1]
    mask = np.arange(len(cell)) - start <= width
    return cell[mask], key[mask]
