"""Sorted runs of words: many words are looked up at once, and new ones come in cheaply."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from footing.arrays import Flags, Words

    Places = NDArray[np.uint32]


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
            known, owners = runs.pop()
            words, places = np.concatenate([known, words]), np.concatenate([owners, places])
        order = np.argsort(words)
        # Whole and at once: other threads may be looking words up.
        self._runs = (*runs, (words[order], places[order]))

    def has(self, words: Words) -> Flags:
        """Tell which words are there."""
        found = np.zeros(len(words), bool)
        if not len(words) or not self._runs:
            return found
        order = np.argsort(words)  # lookups in order stay near each other in memory
        words = words[order]
        for known, _ in self._runs:
            at = np.minimum(np.searchsorted(known, words), len(known) - 1)
            found[order] |= known[at] == words
        return found

    def find(self, words: Words) -> tuple[NDArray[np.intp], Places]:
        """Return which words are there, and each place of each of them."""
        queries, found = [np.zeros(0, np.intp)], [np.zeros(0, np.uint32)]
        order = np.argsort(words)
        words = words[order]
        for known, places in self._runs:
            low = np.searchsorted(known, words, "left")
            met = np.flatnonzero(known[np.minimum(low, len(known) - 1)] == words)
            low = low[met]
            size = np.searchsorted(known, words[met], "right") - low
            query = np.repeat(np.arange(len(met)), size)
            within = np.arange(len(query)) - np.repeat(np.cumsum(size) - size, size)
            queries.append(order[met[query]])
            found.append(places[low[query] + within])
        return np.concatenate(queries), np.concatenate(found)

    def __repr__(self) -> str:
        return f"Runs({sum(len(words) for words, _ in self._runs)} words)"
