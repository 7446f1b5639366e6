"""All record sets of a history in memory, so that near ones are found without a search."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckm.ledger.record_sets.difference import differ_by_at_most
from ckm.ledger.storage.record import Record
from footing.arrays import Flags, Integers, Words

Pair = tuple[int, int, int]
Places = NDArray[np.uint32]

_CHUNK = 2**18


class Index:
    """The distinct sets of the tables of one history.

    Two sets that share records and differ by at most the width of their sketches have a
    partition or, where both have empty ones, a small member in common. So sorted digests of
    partitions and members give all near sets, and few others.

    Parameters
    ----------
    width
        The width of the sketches.
    """

    def __init__(self, width: int) -> None:
        self._width = width
        self._identities, self._near = Runs(), Runs()
        self._identity = _Grown(np.zeros(0, np.uint64))
        self._power_sums = _Grown(np.zeros((0, width + 1), np.uint32))
        self._entry = _Grown(np.zeros(0, np.uint32))
        self._number = _Grown(np.zeros(0, np.uint32))

    def __len__(self) -> int:
        return len(self._identity.values)

    def knows(self, identity: Words) -> Flags:
        """Tell which sets are in the history already."""
        return self._identities.has(identity)

    def add(self, record: Record, *, number: int) -> None:
        """Add the sets of a table that the history has not."""
        is_new = ~self.knows(record.identity)
        new = np.flatnonzero(is_new)
        if not len(new):
            return
        place = (np.cumsum(is_new) - 1 + len(self)).astype(np.uint32)
        words, sets = _words(record, is_new)
        self._identities.add(record.identity[new], place[new])
        self._near.add(words, place[sets])
        self._identity.extend(record.identity[new])
        self._power_sums.extend(record.power_sums[new])
        self._entry.extend(np.full(len(new), number, np.uint32))
        self._number.extend(new.astype(np.uint32))

    def pairs(self, record: Record, *, threshold: int, is_known: Flags) -> list[Pair]:
        """Find the thin differences that a table adds to the history.

        Each is a set of the table, the number of an entry, and a set of that entry.
        """
        if not len(self) or is_known.all():
            return []
        words, sets = _words(record, ~is_known)
        published = np.sort(np.concatenate([record.identity, record.others]))
        pairs = np.zeros(0, np.uint64)
        for start in range(0, len(words), _CHUNK):
            part = slice(start, start + _CHUNK)
            met = self._meet(words[part], sets[part], published)
            ours = record.power_sums[(met >> np.uint64(32)).astype(np.int64)].astype(np.int64)
            theirs = self._power_sums.values[_theirs(met)].astype(np.int64)
            is_near = differ_by_at_most(threshold, ours, theirs)
            pairs = np.concatenate([pairs, met[is_near]])
        mine, other = np.divmod(_distinct(pairs), np.uint64(2**32))
        at = other.astype(np.int64)
        entry, number = self._entry.values[at], self._number.values[at]
        return list(zip(mine.tolist(), entry.tolist(), number.tolist(), strict=True))

    def _meet(self, words: Words, sets: Integers, published: Words) -> Words:
        """Return pairs of sets that share a word, as one number each, unless both are shown."""
        query, other = self._near.find(words)
        pairs = _distinct(sets[query].astype(np.uint64) << np.uint64(32) | other)
        theirs: Words = self._identity.values[_theirs(pairs)]
        at = np.minimum(np.searchsorted(published, theirs), len(published) - 1)
        return np.asarray(pairs[published[at] != theirs])


def _words(record: Record, is_wanted: Flags) -> tuple[Words, Integers]:
    """Return the digests by which near sets meet, and whose they are."""
    owners = record.owners
    if is_wanted.all():
        return record.words, owners
    mask = is_wanted[owners]
    return record.words[mask], owners[mask]


def _theirs(pairs: Words) -> Integers:
    return (pairs & np.uint64(2**32 - 1)).astype(np.int64)


def _distinct(pairs: Words) -> Words:
    """Sort, and keep one of each; NumPy's own hashes, which takes longer."""
    pairs = np.sort(pairs)
    return pairs[np.flatnonzero(np.diff(pairs, prepend=~pairs[:1]))]


class _Grown:
    """An array with room to grow."""

    def __init__(self, empty: NDArray[Any]) -> None:
        self._room = empty
        self._size = 0

    @property
    def values(self) -> NDArray[Any]:
        return self._room[: self._size]

    def extend(self, values: NDArray[Any]) -> None:
        needed = self._size + len(values)
        if needed > len(self._room):
            room = np.zeros((needed + needed // 4, *values.shape[1:]), values.dtype)
            room[: self._size] = self.values
            self._room = room
        self._room[self._size : needed] = values
        self._size = needed


class Pending:
    """Tables about to be written.

    Parameters
    ----------
    width
        The width of the ledger's sketches.
    """

    def __init__(self, width: int) -> None:
        self.records: list[Record] = []
        self._names: list[str] = []
        self._width = width
        self._indexes: dict[str, Index] = {}
        self._known: set[tuple[bytes, str]] = set()

    def index(self, history: str) -> Index:
        """Return their sets in a history."""
        return self._indexes.setdefault(history, Index(self._width))

    def add(self, record: Record, history: str) -> None:
        """Add a table."""
        self.index(history).add(record, number=len(self.records))
        self.records.append(record)
        self._names.append(history)
        self._known.add((record.definition.identity, history))

    def of(self, history: str) -> list[Record]:
        """Return those of a history."""
        return [
            one for one, name in zip(self.records, self._names, strict=True) if name == history
        ]

    def has(self, identity: bytes, history: str) -> bool:
        """Whether a table of this definition is among them."""
        return (identity, history) in self._known


class Runs:
    """Words, each with the place of what it belongs to."""

    def __init__(self) -> None:
        self._runs: tuple[tuple[Words, Places], ...] = ()

    def add(self, words: Words, places: Places) -> None:
        """Add words; runs of like size become one, so that there are few."""
        if not len(words):
            return
        runs = list(self._runs)
        while runs and len(runs[-1][0]) < 2 * len(words):
            run_words, owners = runs.pop()
            words, places = np.concatenate([run_words, words]), np.concatenate([owners, places])
        order = np.argsort(words)
        # Whole and at once: other threads may be looking words up.
        self._runs = (*runs, (words[order], places[order]))

    def has(self, words: Words) -> Flags:
        """Tell which words are there."""
        is_there = np.zeros(len(words), bool)
        if not len(words) or not self._runs:
            return is_there
        order = np.argsort(words)  # lookups in order stay near each other in memory
        words = words[order]
        for run, _ in self._runs:
            at = np.minimum(np.searchsorted(run, words), len(run) - 1)
            is_there[order] |= run[at] == words
        return is_there

    def find(self, words: Words) -> tuple[NDArray[np.intp], Places]:
        """Return which words are there, and each place of each of them."""
        queries, hits = [np.zeros(0, np.intp)], [np.zeros(0, np.uint32)]
        order = np.argsort(words)
        words = words[order]
        for run, places in self._runs:
            low = np.searchsorted(run, words, "left")
            met = np.flatnonzero(run[np.minimum(low, len(run) - 1)] == words)
            low = low[met]
            size = np.searchsorted(run, words[met], "right") - low
            query = np.repeat(np.arange(len(met)), size)
            within = np.arange(len(query)) - np.repeat(np.cumsum(size) - size, size)
            queries.append(order[met[query]])
            hits.append(places[low[query] + within])
        return np.concatenate(queries), np.concatenate(hits)
