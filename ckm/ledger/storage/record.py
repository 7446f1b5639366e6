"""What the ledger keeps of one table: its new record sets as keyed digests, and their names."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ckm.ledger.definition import Definition
from footing.arrays import Flags, Integers, Words
from tables import Cells
from tables.cells.axes import Axis
from tables.cells.places import level_of
from tables.request import MISSING

Whole = NDArray[np.integer]
#: Dimensions, each with a level: what a margin shows.
Combination: TypeAlias = frozenset[tuple[str, int]]

_SIDE = ("cell", "table", "where", "entry")
#: The columns of a file of thin differences.
PAIR_COLUMNS = (*_SIDE, *(f"published_{column}" for column in _SIDE))
_LENGTH = 8
_ARRAYS = (
    *("others", "identity", "power_sums", "words", "sizes"),
    *("cell", "axis", "whole", "ranks"),
)
#: Of tables by another method than noise alone.
_LABELS = "labels"


@dataclass(frozen=True, slots=True, kw_only=True)
class CellName:
    """A published cell, or what is left of it without another one, in public words.

    Parameters
    ----------
    table
        Name of the table.
    entry
        Number of the table in the ledger, or None while it is only asked for.
    where
        The table's filter.
    categories
        Column and category of every dimension.
    without
        For a complement, the column and the category that are left out.

    Examples
    --------
    >>> print(CellName(table="t", categories=(("sex", "F"),), where="age > 14"))
    sex=F where age > 14 in 't'
    """

    table: str
    entry: int | None = None
    where: str | None = None
    categories: tuple[tuple[str, str], ...] = ()
    without: tuple[tuple[str, str], ...] = ()

    @property
    def words(self) -> str:
        """The categories, without table and filter."""
        words = ", ".join(f"{column}={label}" for column, label in self.categories)
        if self.without:
            left_out = ", ".join(f"{column}={label}" for column, label in self.without)
            words = f"{words} without {left_out}"
        return words or "all records"

    @property
    def has_missing(self) -> bool:
        """Whether one of its categories is that of records without a value."""
        return any(label == MISSING for _, label in (*self.categories, *self.without))

    @property
    def row(self) -> tuple[str, ...]:
        """The cell as a line of a file."""
        number = "" if self.entry is None else str(self.entry)
        return (self.words, self.table, self.where or "", number)

    def __str__(self) -> str:
        where = f" where {self.where}" if self.where else ""
        number = "" if self.entry is None else f" (entry {self.entry})"
        return f"{self.words}{where} in {self.table!r}{number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinPair:
    """Two sets of records, both published or derivable, that differ by few records.

    Parameters
    ----------
    cell
        The one asked for, or published later.
    published
        The one published before.

    Examples
    --------
    >>> new = CellName(table="b", categories=(("zone", "1"),))
    >>> old = CellName(table="a", entry=1, categories=(("commune", "1"),))
    >>> print(ThinPair(cell=new, published=old))
    zone=1 in 'b' ~ commune=1 in 'a' (entry 1)
    """

    cell: CellName
    published: CellName

    @property
    def row(self) -> tuple[str, ...]:
        """Both cells as a line of a file."""
        return (*self.cell.row, *self.published.row)

    def __str__(self) -> str:
        return f"{self.cell} ~ {self.published}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Record:
    """The record sets that a table adds to its history, and which others it shows.

    Made by `Entry.record`. A table that adds no set is known by its definition alone.

    Parameters
    ----------
    definition
        What table it is.
    others
        The keyed digests of its further sets, which the history had before; none if it adds
        no set.
    identity
        For every new set its keyed digest; equal sets have equal digests.
    power_sums
        For every new set the powers of its sketch.
    words
        Set by set the keyed digests of its partitions that are not empty and, if one is, of its
        smallest record keys.
    sizes
        How many words every set has.
    cell, axis, whole
        What every set is: a cell of the table; or, where `axis` is not -1, the category
        `whole` of that axis without this cell.
    ranks
        For every cell its category on each axis.
    axes
        For every axis its columns and the labels of its categories in each.
    labels
        For every new set, then for every further one, the keyed digest of what is published of
        it: by which method, and as what number. None for noise, which is the same for equal
        sets.
    levels
        For every axis the level of its categories, 0 for the finest, -1 for the total; empty
        in entries of older programs.
    """

    definition: Definition
    others: Words
    identity: Words
    power_sums: NDArray[np.uint32]
    words: Words
    sizes: NDArray[np.uint8]
    cell: Whole
    axis: Whole
    whole: Whole
    ranks: Whole
    axes: tuple[tuple[tuple[str, ...], tuple[tuple[str, ...], ...]], ...]
    labels: Words = field(default_factory=lambda: np.zeros(0, np.uint64))
    levels: tuple[tuple[int, ...], ...] = ()

    def __len__(self) -> int:
        return len(self.identity)

    @classmethod
    def bare(
        cls,
        definition: Definition,
        *,
        others: Words | None = None,
        labels: Words | None = None,
    ) -> Self:
        """Return the record of a table that adds no set; it may have others."""
        words, numbers = np.zeros(0, np.uint64), np.zeros(0, np.int64)
        return cls(
            definition=definition,
            others=words if others is None else others,
            identity=words,
            power_sums=np.zeros((0, 0), np.uint32),
            words=words,
            sizes=np.zeros(0, np.uint8),
            cell=numbers,
            axis=numbers,
            whole=numbers,
            ranks=np.zeros((0, 0), np.int32),
            axes=(),
            labels=words if labels is None else labels,
        )

    @property
    def sets(self) -> tuple[Words, Words]:
        """The keyed digests of all sets, and their labels: 0 for noise."""
        identities = np.concatenate([self.identity, self.others])
        return identities, self.labels if len(self.labels) else np.zeros(
            len(identities), np.uint64
        )

    @property
    def owners(self) -> Integers:
        """The set of every word."""
        return np.repeat(np.arange(len(self)), self.sizes)

    def combinations(self, is_new: Flags) -> frozenset[Combination] | None:
        """Return the combinations of levels that have new cells; None where it is not known.

        Parameters
        ----------
        is_new
            Which of the sets count as new.
        """
        if len(self) and not self.levels and self.axes:
            return None
        used = self.ranks[self.cell[is_new & (self.axis < 0)]]
        levels = [np.array(own, np.int64) for own in self.levels]
        return combinations_of(self.definition.dimensions, levels, list(used.T), len(used))

    def name(self, number: int, *, entry: int | None = None) -> CellName:
        """Name a set in the words of categories."""
        ranks = [int(rank) for rank in self.ranks[self.cell[number]]]
        without: tuple[tuple[str, str], ...] = ()
        axis = int(self.axis[number])
        if axis >= 0:
            without = self._labels(axis, ranks[axis])
            ranks[axis] = int(self.whole[number])
        return CellName(
            table=self.definition.name,
            entry=entry,
            where=self.definition.where,
            categories=tuple(p for a, rank in enumerate(ranks) for p in self._labels(a, rank)),
            without=without,
        )

    def _labels(self, axis: int, rank: int) -> tuple[tuple[str, str], ...]:
        columns, labels = self.axes[axis]
        return tuple((c, texts[rank]) for c, texts in zip(columns, labels, strict=True))

    def pack(self) -> bytes:
        """Return the record as bytes, to be sealed."""
        names = (*_ARRAYS, _LABELS) if len(self.labels) else _ARRAYS
        arrays = {name: _narrow(getattr(self, name)) for name in names}
        shapes = {name: (array.dtype.str, array.shape) for name, array in arrays.items()}
        heading = {"arrays": shapes, "axes": self.axes, "levels": self.levels}
        head = json.dumps(heading).encode()
        bodies = [array.tobytes() for array in arrays.values()]
        return b"".join([len(head).to_bytes(_LENGTH, "big"), head, *bodies])

    @classmethod
    def unpack(cls, text: bytes, definition: Definition) -> Self:
        """Read a record back."""
        start = _LENGTH + int.from_bytes(text[:_LENGTH], "big")
        head = json.loads(text[_LENGTH:start])
        arrays: dict[str, Any] = {}
        for name, (kind, shape) in head["arrays"].items():
            size = int(np.prod(shape))
            arrays[name] = np.frombuffer(text, kind, size, start).reshape(shape)
            start += arrays[name].nbytes
        axes = tuple((tuple(c), tuple(tuple(t) for t in ts)) for c, ts in head["axes"])
        levels = tuple(map(tuple, head.get("levels", ())))
        return cls(definition=definition, axes=axes, levels=levels, **arrays)


def combinations_of(
    dimensions: Sequence[str], levels: Sequence[Whole], ranks: Sequence[Whole], n_cells: int
) -> frozenset[Combination]:
    """Return the combinations of levels that cells are of: dimensions, each with its level.

    Parameters
    ----------
    dimensions
        The dimensions, an axis each.
    levels
        For each axis the level of its categories, -1 for the total.
    ranks
        For each axis the category of every cell.
    n_cells
        How many cells there are.
    """
    if not n_cells:
        return frozenset()
    if not levels:
        return frozenset({frozenset()})
    columns = [own[rank] for own, rank in zip(levels, ranks, strict=True)]
    return frozenset(
        frozenset(pair for pair in zip(dimensions, some, strict=True) if pair[1] >= 0)
        for some in np.unique(np.column_stack(columns), axis=0).tolist()
    )


def levels_by_rank(axis: Axis) -> Integers:
    """Return the level of each category of an axis by rank: 0 is the finest, -1 the total."""
    levels = level_of(axis)
    return np.where(levels == len(axis.levels) - 1, -1, levels)


def names_of(cells: Cells, cell: Whole, axis: Whole, whole: Whole) -> dict[str, Any]:
    """Return what names sets: their cells and categories, without those of no set."""
    used, cell = _used(cell, len(cells))
    category = np.full(len(cell), -1, np.int64)
    ranks = np.zeros((len(used), len(cells.axes)), np.int32)
    axes, levels = [], []
    for number, (own_axis, rank) in enumerate(zip(cells.axes, cells.ranks, strict=True)):
        is_here = axis == number
        mine = np.concatenate([rank[used], rank[whole[is_here]]])
        categories, place = _used(mine, own_axis.size)
        ranks[:, number] = place[: len(used)]
        category[is_here] = place[len(used) :]
        labels = tuple(tuple(str(texts[r]) for r in categories) for texts in own_axis.labels)
        axes.append((own_axis.columns, labels))
        levels.append(tuple(levels_by_rank(own_axis)[categories].tolist()))
    return {
        "cell": cell,
        "axis": axis,
        "whole": category,
        "ranks": ranks,
        "axes": tuple(axes),
        "levels": tuple(levels),
    }


def _used(numbers: Whole, size: int) -> tuple[Whole, Whole]:
    """Return which of the numbers below `size` occur, and the place of each among them."""
    is_used = np.zeros(size, bool)
    is_used[numbers] = True
    return np.flatnonzero(is_used), (np.cumsum(is_used) - 1)[numbers]


def _narrow(numbers: NDArray[Any]) -> NDArray[Any]:
    """Store signed integers in the smallest type that holds them."""
    if numbers.dtype.kind == "u":
        return numbers
    low, high = int(numbers.min(initial=0)), int(numbers.max(initial=0))
    for kind in (np.int8, np.int16, np.int32):
        if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max:
            return numbers.astype(kind)
    return numbers.astype(np.int64)
