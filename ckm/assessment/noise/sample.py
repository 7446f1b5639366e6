"""Cells whose noises are independent draws, and cells that repeat each other.

A total with a single part has the records of its part, and a cell of two tables those of
itself: their noise is one draw. Where keys are mixed with the secret, cells of different keys
have independent noise. Without a mix the key of a total follows from those of its parts, so
that only cells without a common record are independent: the finest cells of one table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ckm.assessment.observed import ObservedCells


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeats:
    """Cells that have the key and the count of another, and those published differently.

    Parameters
    ----------
    repeats, differing
        How many.
    """

    repeats: int
    differing: int


def repeats(cells: ObservedCells) -> Repeats:
    """Compare the noise of cells with the same key and the same count."""
    order = np.argsort(cells.key, kind="stable")
    key = cells.key[order]
    shared = np.zeros(len(key), bool)
    shared[1:] = key[1:] == key[:-1]
    shared[:-1] |= shared[1:]
    order = order[shared]  # few, as a rule: only these need sorting by count as well
    order = order[np.lexsort((cells.count[order], cells.key[order]))]
    count, key, noise = cells.count[order], cells.key[order], cells.noise[order]
    again = (key[1:] == key[:-1]) & (count[1:] == count[:-1])
    first = np.flatnonzero(np.concatenate([np.ones(min(1, len(key)), bool), ~again]))
    group = np.cumsum(np.concatenate([np.zeros(min(1, len(key)), bool), ~again]))
    differing = int((noise != noise[first][group]).sum()) if len(key) else 0
    return Repeats(repeats=int(again.sum()), differing=differing)


def independent(tables: Sequence[ObservedCells], *, is_mixed: bool) -> ObservedCells:
    """Take cells whose noises are independent."""
    from ckm.assessment.observed import ObservedCells

    everything = ObservedCells.together(tables)
    return everything.take(drawn_places(tables, is_mixed=is_mixed))


def drawn_places(tables: Sequence[ObservedCells], *, is_mixed: bool) -> NDArray[np.int64]:
    """Find cells whose noises are independent, by position among those of all tables."""
    if not tables:
        return np.zeros(0, np.int64)
    if is_mixed:
        keys = np.concatenate([cells.key for cells in tables])
        order = np.argsort(keys, kind="stable")
        key = keys[order]
        is_first = np.ones(len(key), bool)
        is_first[1:] = key[1:] != key[:-1]
        return np.sort(order[is_first])
    finest = [int(cells.is_finest.sum()) for cells in tables]
    largest = int(np.argmax(finest))
    start = sum(len(cells) for cells in tables[:largest])
    return start + np.flatnonzero(tables[largest].is_finest)
