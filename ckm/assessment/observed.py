"""What is kept of a table while its cells go by: counts, keys, noise, and figures of use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from reports.facts.release import MeasureFact


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ObservedCells:
    """Cells that hold somebody; disclosive, for inside.

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

        def joined(name: str, kind: type[np.generic]) -> NDArray[np.generic]:
            return np.concatenate([np.zeros(0, kind), *(getattr(p, name) for p in parts)])

        return cls(
            count=joined("count", np.int64),  # type: ignore[arg-type]
            noise=joined("noise", np.int64),  # type: ignore[arg-type]
            key=joined("key", np.uint64),  # type: ignore[arg-type]
            is_finest=joined("is_finest", np.bool_),  # type: ignore[arg-type]
        )

    def take(self, where: NDArray[np.generic]) -> ObservedCells:
        """Take some of the cells."""
        return ObservedCells(
            count=self.count[where],
            noise=self.noise[where],
            key=self.key[where],
            is_finest=self.is_finest[where],
        )

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
        Its cells that hold somebody.
    empty, shown_empty
        How many cells of its grid hold nobody, and how many of these it lists as zeros.
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
    shown_empty: int
    margins: int
    appeared: int
    is_new: NDArray[np.bool_]
    utility: tuple[MeasureFact, ...]
