"""One table on its way into the ledger: all record sets that it publishes or lets derive."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ckm.ledger.definition import Definition
from ckm.ledger.record_sets.complement import (
    NestedDifferences,
    complement_members,
    nested_difference_sums,
    nested_differences,
    sketch_of,
)
from ckm.ledger.storage.record import Record, names_of
from ckm.ledger.storage.seal import Seal
from footing.arrays import Flags, Integers, Words
from tables import Cells
from tables.cells.sketch import smallest_members

# What digests are for; partitions have their own numbers.
_IDENTITY, _MEMBER = 15, 14


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Entry:
    """The distinct record sets of a table. Disclosive, like `tables.Cells`.

    Made by `Ledger.entry`. What the ledger keeps of it is its `Record`.

    Parameters
    ----------
    definition
        What table it is.
    seal
        The keys of the ledger.
    cells
        The cells that the sets are from.
    identity
        For every set its keyed digest; equal sets have equal digests.
    partitions, power_sums
        For every set those of its sketch.
    cell, axis, whole
        What every set is: a cell of the table; or, where `axis` is not -1, what is left of
        the cell `whole`, which differs on that axis, without this cell.
    """

    definition: Definition
    seal: Seal
    cells: Cells
    identity: Words
    partitions: Words
    power_sums: Integers
    cell: Integers
    axis: Integers
    whole: Integers

    def __len__(self) -> int:
        return len(self.identity)

    def __repr__(self) -> str:
        return f"Entry({self.definition.name!r})"

    @classmethod
    def of(
        cls,
        cells: Cells,
        definition: Definition,
        *,
        seal: Seal,
        with_complements: bool = True,
        smallest: int = 1,
        shown: Flags | None = None,
    ) -> Entry:
        """Find the distinct sets of a table.

        Parameters
        ----------
        cells
            The cells, with their sketches.
        definition
            What table it is.
        seal
            The keys of the ledger.
        with_complements
            Also enter what is left of a cell without another one.
        smallest
            Sets of fewer records do not enter.
        shown
            Which of the cells the table shows, by default all of them.

        Examples
        --------
        >>> Entry.of(cells, definition, seal=seal)  # doctest: +SKIP
        """
        sketch = sketch_of(cells)
        is_shown = np.ones(len(cells), bool) if shown is None else shown
        mine = np.flatnonzero((cells.count >= smallest) & is_shown)
        pairs = nested_differences(cells, is_shown & with_complements)
        pairs = pairs[cells.count[pairs.whole] - cells.count[pairs.part] >= smallest]
        partitions, power_sums = nested_difference_sums(sketch, pairs)
        partitions = np.concatenate([sketch.partitions[mine], partitions])
        power_sums = np.concatenate([sketch.power_sums[mine], power_sums])
        words = seal.folded([*partitions.T, *power_sums.T.astype(np.uint64)])
        first = _first(words)
        none = np.full(len(mine), -1, np.int64)
        return cls(
            definition=definition,
            seal=seal,
            cells=cells,
            identity=seal.digests(words[first], _IDENTITY),
            partitions=partitions[first],
            power_sums=power_sums[first],
            cell=np.concatenate([mine, pairs.part])[first],
            axis=np.concatenate([none, pairs.axis])[first],
            whole=np.concatenate([none, pairs.whole])[first],
        )

    def record(self, is_new: Flags) -> Record:
        """Return what the ledger keeps of this table.

        Parameters
        ----------
        is_new
            Which of the sets its history does not have.

        Examples
        --------
        >>> entry.record(np.ones(len(entry), bool))  # doctest: +SKIP
        Record(…)
        """
        new = np.flatnonzero(is_new)
        if not len(new):
            return Record.bare(self.definition)
        owners, words, purposes = self._words(new)
        order = np.argsort(owners, kind="stable")  # two runs in order: quick
        return Record(
            definition=self.definition,
            others=self.identity[~is_new],
            identity=self.identity[new],
            power_sums=self.power_sums[new].astype(np.uint32),
            words=self.seal.digests(words[order], purposes[order]),
            sizes=np.bincount(owners, minlength=len(new)).astype(np.uint8),
            **names_of(self.cells, self.cell[new], self.axis[new], self.whole[new]),
        )

    def _words(self, sets: Integers) -> tuple[Integers, Words, Integers]:
        """Return, still bare, by what sets meet others: places in `sets`, words, purposes."""
        partitions = self.partitions[sets]
        owners, partition = np.nonzero(partitions)
        small = np.flatnonzero((partitions == 0).any(axis=1))
        if not len(small):
            return owners, partitions[owners, partition], partition
        member_of, key = self._members(sets[small])
        return (
            np.concatenate([owners, small[member_of]]),
            np.concatenate([partitions[owners, partition], key]),
            np.concatenate([partition, np.full(len(key), _MEMBER)]),
        )

    def _members(self, sets: Integers) -> tuple[Integers, Words]:
        """Return places in `sets`, and smallest keys, of those with an empty partition."""
        sketch = sketch_of(self.cells)
        is_cell = self.axis[sets] < 0
        place = np.full(len(self.cells), -1, np.int64)
        place[self.cell[sets[is_cell]]] = np.flatnonzero(is_cell)
        owner = place[sketch.member_cell]
        left = np.flatnonzero(~is_cell)
        pairs = NestedDifferences(
            whole=self.whole[sets[left]], part=self.cell[sets[left]], axis=self.axis[sets[left]]
        )
        pair, key = complement_members(self.cells, pairs)
        return smallest_members(
            np.concatenate([owner[owner >= 0], left[pair]]),
            np.concatenate([sketch.member_key[owner >= 0], key]),
            sketch.width,
        )


def _first(words: Words) -> Integers:
    """Return the first place of each word, in order."""
    if not len(words):
        return np.zeros(0, np.int64)
    order = np.argsort(words)
    starts = np.flatnonzero(np.diff(words[order], prepend=~words[order[:1]]))
    return np.sort(np.minimum.reduceat(order, starts))
