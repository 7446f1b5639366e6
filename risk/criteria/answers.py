"""What a method publishes of tables, beside their cells; and all that it was asked for."""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, reduce
from itertools import accumulate
from typing import Self

import numpy as np

from footing.arrays import Codes, Flags, Floats, Integers, Words
from footing.disclosive import Disclosive
from tables.cells.axes import Axis


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Answer(Disclosive):
    """The cells of a table, and the count that is published of each.

    Parameters
    ----------
    axes, ranks, level_sets
        As those of `tables.Cells`.
    count
        The number of records of every cell.
    published
        What is published of it; NaN where nothing is.
    population
        The filter of the table: cells of others are never the same.
    has_counts
        Whether counts are published at all, and not amounts alone.
    """

    axes: tuple[Axis, ...]
    ranks: tuple[Codes, ...]
    level_sets: tuple[tuple[int, ...], ...]
    count: Integers
    published: Floats
    population: str = ""
    has_counts: bool = True

    @property
    def is_held(self) -> Flags:
        """Which cells hold records."""
        return np.asarray(self.count > 0)

    @property
    def is_shown(self) -> Flags:
        """Of which cells something is published."""
        return ~np.isnan(self.published)

    @cached_property
    def identities(self) -> Words:
        """A number for every cell, the same for the same cell of another table."""
        sums = (identity_of(a)[r] for a, r in zip(self.axes, self.ranks, strict=True))
        return reduce(np.add, sums, np.zeros(len(self.count), np.uint64))

    def refused(self) -> Self:
        """Return the answer as if nothing of the table were published."""
        return replace(self, published=np.full(len(self.count), np.nan))

    def common(self, other: Answer, *, apart: int = 0) -> tuple[Integers, Integers]:
        """Return the places here and there of the cells that both have.

        Parameters
        ----------
        other
            The other table.
        apart
            What identities here lack of those there: that of a category that was filtered.
        """
        own = self.identities + np.uint64(apart)
        _, here, there = np.intersect1d(own, other.identities, return_indices=True)
        return here, there

    def lines(self) -> Iterator[tuple[Integers, Integers]]:
        """Give, for each dimension, the cells that are parts and the total of each."""
        sizes = [axis.size for axis in self.axes]
        if np.prod([float(size) for size in sizes]) >= 2**62:
            return
        strides = strides_of(sizes)
        place = sum(
            (rank.astype(np.int64) * s for rank, s in zip(self.ranks, strides, strict=True)),
            np.zeros(len(self.count), np.int64),
        )
        order = np.argsort(place)
        for axis, rank, stride in zip(self.axes, self.ranks, strides, strict=True):
            above = parents_of(axis)[rank]
            targets = place + (above - rank.astype(np.int64)) * stride
            near = np.minimum(np.searchsorted(place, targets, sorter=order), len(place) - 1)
            total = order[near] if len(order) else order
            parts = np.flatnonzero((above >= 0) & (place[total] == targets))
            yield parts, total[parts]


def strides_of(sizes: Sequence[int]) -> list[int]:
    """Return by what the ranks on axes of some sizes are multiplied to number cells."""
    steps = accumulate([1, *sizes[:0:-1]], operator.mul)
    return [*steps][::-1] if sizes else []


@lru_cache(maxsize=4096)
def identity_of(axis: Axis) -> Words:
    """Return a number for every category of an axis by rank, 0 for the total.

    It is made of the columns that tell the category, so that a level that two hierarchies
    share has the same numbers in both.
    """
    total = tuple(labels[0] for labels in axis.labels)
    return np.array(
        [
            identity_of_labels(axis.columns, label, total=total)
            for label in zip(*axis.labels, strict=True)
        ],
        np.uint64,
    )


def identity_of_labels(
    columns: Sequence[str], labels: Sequence[str], *, total: str | Sequence[str]
) -> int:
    """Return the number of a category by its columns and the text in each; see `identity_of`.

    Parameters
    ----------
    columns, labels
        The output columns of a dimension, and what stands in each.
    total
        What stands where a column is summed over.
    """
    totals = [total] * len(columns) if isinstance(total, str) else total
    parts = zip(columns, labels, totals, strict=True)
    return sum(_word(c, label) for c, label, whole in parts if label != whole) % 2**64


@lru_cache(maxsize=1 << 17)
def _word(column: str, label: str) -> int:
    text = f"{column}\0{label}".encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")


@lru_cache(maxsize=4096)
def parents_of(axis: Axis) -> Integers:
    """Return the rank of the category above each of an axis; -1 for the total."""
    parents = np.full(axis.size, -1, np.int64)
    for below, level in zip(axis.levels, axis.levels[1:], strict=False):
        if below.up is not None:
            above = level.ranks[below.up]
            is_other = above != below.ranks  # a leaf of a coarser level is no part of itself
            parents[below.ranks[is_other]] = above[is_other]
    return parents


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Slice(Disclosive):
    """The cells of one category of a planned table, asked for by a filter.

    Parameters
    ----------
    table
        The number of the planned table.
    category
        The identity of the category.
    answer
        What was published.
    """

    table: int
    category: int
    answer: Answer


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Sought(Disclosive):
    """A person of whom two tables differ.

    Parameters
    ----------
    category
        The identity of what an intruder wants to know.
    present, absent
        The table of the area with her and without.
    """

    category: int
    present: Answer
    absent: Answer


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Answers(Disclosive):
    """All that a method answered, as users asked it.

    Parameters
    ----------
    planned, again
        The planned tables, and the same asked for a second time.
    alone
        The planned tables as two offices make each by itself.
    slices
        Categories of planned tables, by filters.
    sought
        Persons, each with two tables that differ by her.
    unplanned
        Tables that nobody planned.
    """

    planned: Sequence[Answer]
    again: Sequence[Answer]
    alone: tuple[Sequence[Answer], Sequence[Answer]]
    slices: Sequence[Slice] = ()
    sought: Sequence[Sought] = ()
    unplanned: Sequence[Answer] = ()
