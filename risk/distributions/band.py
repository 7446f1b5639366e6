"""The transition probabilities of every count, however large, as a band around the diagonal."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footing.messages import Message, Shape
from ptable.lookup import cycle_length
from ptable.table import PTable
from risk.errors import RiskError
from risk.wellformed import require_counts, require_plain


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Band:
    """P(noise | count) for the rows of a p-table, and which row serves a count.

    Parameters
    ----------
    table
        The p-table.
    lowest
        The smallest noise, the first column.
    probabilities
        P(noise column | row), read-only.
    mean
        Of the noise of each row.
    cycle
        How many last rows serve the larger counts in turn.
    """

    table: PTable
    lowest: int
    probabilities: NDArray[np.float64]
    mean: NDArray[np.float64]
    cycle: int

    @classmethod
    def of(cls, table: PTable) -> Self:
        """Read a p-table of counts."""
        require_plain(table)
        rows = [table.units(count) for count in range(table.n_rows)]
        lowest = min(v for row in rows for v, n in row.items() if n)
        highest = max(v for row in rows for v, n in row.items() if n)
        probabilities = np.zeros((len(rows), highest - lowest + 1))
        for place, row in enumerate(rows):
            for v, n in row.items():
                if n:
                    probabilities[place, v - lowest] = n / table.key_range
        probabilities.setflags(write=False)
        sums = [sum(v * n for v, n in row.items()) for row in rows]
        return cls(
            table=table,
            lowest=lowest,
            probabilities=probabilities,
            mean=np.array([total / table.key_range for total in sums]),
            cycle=cycle_length(table.large_counts, n_rows=len(rows)),
        )

    @property
    def width(self) -> int:
        """How many noise values the band spans."""
        return int(self.probabilities.shape[1])

    @property
    def highest(self) -> int:
        """The largest noise, the last column."""
        return self.lowest + self.width - 1

    @property
    def noise(self) -> NDArray[np.int64]:
        """The noise of each column."""
        return np.arange(self.lowest, self.highest + 1)

    @property
    def p_stay(self) -> NDArray[np.float64]:
        """The chance of no noise, row by row."""
        return np.asarray(self.probabilities @ (self.noise == 0))

    def rows(self, counts: ArrayLike) -> NDArray[np.int64]:
        """Give the row that serves each count."""
        numbers = require_counts(counts, name="counts")
        n_rows = len(self.probabilities)
        if self.cycle == 1:
            return np.minimum(numbers, n_rows - 1)
        beyond = n_rows - self.cycle + (numbers - n_rows) % self.cycle
        return np.where(numbers < n_rows, numbers, beyond)

    def forward(self, originals: ArrayLike, published: ArrayLike) -> NDArray[np.float64]:
        """Give P(published | original), pair by pair; shapes broadcast."""
        rows = self.rows(originals)
        published_counts, counts = (
            require_counts(published, name="published"),
            np.asarray(originals),
        )
        try:
            noise = published_counts - counts.astype(np.int64)
        except ValueError:
            raise RiskError(
                Message(
                    "originals and published must be pairs, or of shapes that broadcast: "
                    "{shape} and {seen_shape} are not.",
                    shape=Shape(counts.shape),
                    seen_shape=Shape(published_counts.shape),
                ),
                hint=Message("originals[:, None] and published[None, :] give all pairs"),
            ) from None
        places = noise - self.lowest
        inside = (places >= 0) & (places < self.width)
        return np.where(
            inside, self.probabilities[rows, np.where(inside, places, 0)], 0.0
        ).astype(np.float64)

    def windows(
        self, published: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Give, per published count, the originals in reach and P(published | original)."""
        noise = np.arange(self.highest, self.lowest - 1, -1)
        originals = published[:, None] - noise
        exist = originals >= 0
        rows = self.rows(np.where(exist, originals, 0))
        return originals, self.probabilities[rows, noise - self.lowest] * exist
