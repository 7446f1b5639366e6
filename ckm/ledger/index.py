"""All record sets of a history in memory, so that near ones are found without a search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ckm.ledger.difference import differ_by_at_most

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ckm.ledger.entry import Entry

    Words = NDArray[np.uint64]
    Numbers = NDArray[np.int64]
    Pairs = tuple[list[int], list[int], list[int]]

__all__ = ["Index"]

_CHUNK = 2**18


class Index:
    """The distinct sets of the tables of one history.

    Two sets that share records and differ by at most the width of their sketches have a lane
    or, where both have empty lanes, a small member in common. So sorted digests of lanes and
    members give all near sets, and few others.

    Parameters
    ----------
    width
        The width of the sketches.

    Examples
    --------
    >>> Index(2)
    Index(0 sets)
    """

    def __init__(self, width: int) -> None:
        self._width = width
        self._runs: list[tuple[Words, NDArray[np.uint32]]] = []
        self._identity = _Grown(np.zeros(0, np.uint64))
        self._powers = _Grown(np.zeros((0, width + 1), np.uint32))
        self._entry = _Grown(np.zeros(0, np.uint32))
        self._number = _Grown(np.zeros(0, np.uint32))

    def __len__(self) -> int:
        return len(self._identity.values)

    def __repr__(self) -> str:
        return f"Index({len(self)} sets)"

    def knows(self, entry: Entry) -> NDArray[np.bool_]:
        """Tell which sets of a table are in the history already."""
        query, _ = self._find(entry.identity)
        known = np.zeros(len(entry), bool)
        known[query] = True
        return known

    def add(self, entry: Entry, *, number: int) -> None:
        """Add the sets of a table that the history has not.

        Parameters
        ----------
        entry
            The table.
        number
            Its number in the ledger.

        Examples
        --------
        >>> index.add(entry, number=1)  # doctest: +SKIP
        """
        is_new = ~self.knows(entry)
        place = np.cumsum(is_new) - 1 + len(self)
        new = np.flatnonzero(is_new)
        words, sets = _words(entry, is_new)
        if not len(new):
            return
        self._push(
            np.concatenate([entry.identity[new], words]),
            place[np.concatenate([new, sets])].astype(np.uint32),
        )
        self._identity.extend(entry.identity[new])
        self._powers.extend(entry.powers[new].astype(np.uint32))
        self._entry.extend(np.full(len(new), number, np.uint32))
        self._number.extend(new.astype(np.uint32))

    def pairs(self, entry: Entry, *, threshold: int, is_known: NDArray[np.bool_]) -> Pairs:
        """Find the thin differences that a table adds to the history.

        Parameters
        ----------
        entry
            The table.
        threshold
            The largest difference that counts.
        is_known
            Which sets of the table its readers know from earlier tables.

        Returns
        -------
        tuple of list
            Pair by pair the table's set, the published table, and its set. No pair has a set
            that both sides know: its difference was there before, or the table shows it by
            itself.

        Examples
        --------
        >>> index.pairs(entry, threshold=1, is_known=index.knows(entry))  # doctest: +SKIP
        """
        words, sets = _words(entry, ~is_known)
        order = np.argsort(words)
        shown = np.sort(entry.identity)
        pairs = np.zeros(0, np.uint64)
        for start in range(0, len(words), _CHUNK):
            part = order[start : start + _CHUNK]
            met = self._meet(words[part], sets[part], shown)
            is_near = self._differ_by_few(entry, met, threshold)
            pairs = np.concatenate([pairs, met[is_near]])
        mine, other = np.divmod(_distinct(pairs), np.uint64(2**32))
        at = other.astype(np.int64)
        return (
            mine.tolist(),
            self._entry.values[at].tolist(),
            self._number.values[at].tolist(),
        )

    def _meet(self, words: Words, sets: Numbers, shown: Words) -> Words:
        """Return pairs of sets that share a word, as one number each, unless both are shown."""
        query, other = self._find(words)
        pairs = _distinct(sets[query].astype(np.uint64) << np.uint64(32) | other)
        theirs: Words = self._identity.values[_theirs(pairs)]
        at = np.minimum(np.searchsorted(shown, theirs), len(shown) - 1)
        return np.asarray(pairs[shown[at] != theirs])

    def _differ_by_few(self, entry: Entry, pairs: Words, threshold: int) -> NDArray[np.bool_]:
        mine = (pairs >> np.uint64(32)).astype(np.int64)
        powers = self._powers.values[_theirs(pairs)].astype(np.int64)
        return differ_by_at_most(threshold, entry.powers[mine], powers)

    def _find(self, words: Words) -> tuple[Numbers, NDArray[np.uint32]]:
        """Return which words are in the index, and for each the sets that have them."""
        queries, sets = [np.zeros(0, np.int64)], [np.zeros(0, np.uint32)]
        order = np.argsort(words)  # lookups in order stay near each other in memory
        words = words[order]
        for known, places in self._runs:
            low = np.searchsorted(known, words, "left")
            met = np.flatnonzero(known[np.minimum(low, len(known) - 1)] == words)
            low = low[met]
            size = np.searchsorted(known, words[met], "right") - low
            query = np.repeat(np.arange(len(met)), size)
            within = np.arange(len(query)) - np.repeat(np.cumsum(size) - size, size)
            queries.append(order[met[query]])
            sets.append(places[low[query] + within])
        return np.concatenate(queries), np.concatenate(sets)

    def _push(self, words: Words, sets: NDArray[np.uint32]) -> None:
        """Add a sorted run; runs of like size become one, so that there are few."""
        while self._runs and len(self._runs[-1][0]) < 2 * len(words):
            known, places = self._runs.pop()
            words, sets = np.concatenate([known, words]), np.concatenate([places, sets])
        order = np.argsort(words, kind="stable")
        self._runs.append((words[order], sets[order]))


def _words(entry: Entry, is_wanted: NDArray[np.bool_]) -> tuple[Words, Numbers]:
    """Return the digests by which near sets meet, and whose they are."""
    sets, lane = np.nonzero((entry.lanes != 0) & is_wanted[:, None])
    members = is_wanted[entry.member_set]
    words = np.concatenate([entry.lanes[sets, lane], entry.member[members]])
    return words, np.concatenate([sets, entry.member_set[members]])


def _theirs(pairs: Words) -> Numbers:
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
