"""One table on its way into the ledger: all record sets that it publishes or lets derive."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ckm.ledger.definition import Definition
from ckm.ledger.protection import CellProtection
from ckm.ledger.record_sets.complement import (
    NestedDifferences,
    complement_members,
    nested_difference_sums,
    nested_differences,
    sketch_of,
)
from ckm.ledger.storage.record import (
    Combination,
    Record,
    combinations_of,
    levels_by_rank,
    names_of,
)
from ckm.ledger.storage.seal import Seal
from footing.arrays import Flags, Integers, Words
from tables import Cells
from tables.cells.sketch import smallest_members

# What digests are for; partitions have their own numbers.
_IDENTITY, _MEMBER, _LABEL = 15, 14, 13


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
    labels
        For every set the keyed digest of what is published of it; None for noise.
    is_compared
        Whether sets that differ from these by few records are found later.
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
    labels: Words | None = None
    is_compared: bool = True

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

    def protected_by(self, protection: CellProtection) -> Entry:
        """Return the entry of the same cells by another method than noise.

        Parameters
        ----------
        protection
            What stands for each cell.

        Examples
        --------
        >>> entry.protected_by(protection)  # doctest: +SKIP
        Entry('t')
        """
        is_cell = self.axis < 0
        whole, part = np.where(is_cell, self.cell, self.whole), np.where(is_cell, -1, self.cell)
        words = self.seal.folded([self.identity, *protection.words(whole, part)])
        return replace(
            self,
            definition=self.definition.protected_by(protection),
            labels=self.seal.digests(words, _LABEL),
            is_compared=protection.is_compared,
        )

    def combinations(self, is_new: Flags) -> frozenset[Combination]:
        """Return the combinations of levels that have new cells, as `Record.combinations`."""
        used = self.cell[is_new & (self.axis < 0)]
        return combinations_of(
            self.definition.dimensions,
            [levels_by_rank(axis) for axis in self.cells.axes],
            [rank[used] for rank in self.cells.ranks],
            len(used),
        )

    def record(self, is_new: Flags, *, has_others: bool = False) -> Record:
        """Return what the ledger keeps of this table.

        Parameters
        ----------
        is_new
            Which of the sets its history does not have.
        has_others
            Keep the digests of all others even where no set is new: in a history with several
            methods they tell by which a set was published.

        Examples
        --------
        >>> entry.record(np.ones(len(entry), bool))  # doctest: +SKIP
        Record(…)
        """
        is_new = is_new & self.is_compared
        new = np.flatnonzero(is_new)
        labels = None
        if self.labels is not None:
            labels = np.concatenate([self.labels[is_new], self.labels[~is_new]])
        if not len(new):
            has_others |= labels is not None
            others = self.identity if has_others else None
            return Record.bare(self.definition, others=others, labels=labels)
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
            labels=np.zeros(0, np.uint64) if labels is None else labels,
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
        places = np.flatnonzero(~is_cell)
        pairs = NestedDifferences(
            whole=self.whole[sets[places]],
            part=self.cell[sets[places]],
            axis=self.axis[sets[places]],
        )
        pair, key = complement_members(self.cells, pairs)
        return smallest_members(
            np.concatenate([owner[owner >= 0], places[pair]]),
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
