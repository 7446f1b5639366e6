"""What is kept of a table while its cells go by: counts, keys, noise, and figures of use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reports.facts.release import MeasureFact

_COLUMNS = {"count": np.int64, "noise": np.int64, "key": np.uint64, "is_finest": np.bool_}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ObservedCells:
    """Non-empty cells; disclosive, for inside.

    Parameters
    ----------
    count, noise
        Original counts, and published less original ones.
    key
        Cell keys.
    is_finest
        Which cells are no totals.
    """

    count: NDArray[np.int64]
    noise: NDArray[np.int64]
    key: NDArray[np.uint64]
    is_finest: NDArray[np.bool_]

    @classmethod
    def of(cls, count: ArrayLike, *, noise: ArrayLike) -> ObservedCells:
        """Take finest cells that hold different records."""
        counts = np.asarray(count, np.int64)
        return cls(
            count=counts,
            noise=np.asarray(noise, np.int64),
            key=np.arange(len(counts), dtype=np.uint64),
            is_finest=np.ones(len(counts), bool),
        )

    @classmethod
    def together(cls, parts: Sequence[ObservedCells]) -> ObservedCells:
        """Take the cells of several tables as one list."""
        arrays: dict[str, Any] = {
            name: np.concatenate([np.zeros(0, kind), *(getattr(part, name) for part in parts)])
            for name, kind in _COLUMNS.items()
        }
        return cls(**arrays)

    def take(self, where: NDArray[np.generic]) -> ObservedCells:
        """Take some of the cells."""
        return ObservedCells(**{name: getattr(self, name)[where] for name in _COLUMNS})

    @property
    def published(self) -> NDArray[np.int64]:
        """The published counts."""
        return self.count + self.noise

    def __len__(self) -> int:
        return len(self.count)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ObservedTable:
    """A table after its cells went by.

    Parameters
    ----------
    name
        Its name.
    cells
        Its non-empty cells.
    empty
        How many cells of its grid hold nobody.
    margins
        How many of the cells are totals over something.
    appeared
        How many more numbers it shows that are not 0 than there are such published counts.
    is_new
        Which of the cells no table before it shows.
    utility
        What its users lose.
    """

    name: str
    cells: ObservedCells
    empty: int
    margins: int
    appeared: int
    is_new: NDArray[np.bool_]
    utility: tuple[MeasureFact, ...]


def repeats(cells: ObservedCells) -> tuple[int, int]:
    """Count cells that have key and count of another, and those published differently."""
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
    return int(again.sum()), differing


def independent(tables: Sequence[ObservedCells], *, is_mixed: bool) -> ObservedCells:
    """Take cells whose noises are independent."""
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
