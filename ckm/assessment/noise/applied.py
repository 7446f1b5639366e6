"""The p-table as a release applies it: on its own keys, and with empty cells kept."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from ptable.lookup import cycle_length
from ptable.table import PTable
from risk.risk_map.designs import keep_zeros

if TYPE_CHECKING:
    from numpy.typing import NDArray


def applied_table(table: PTable, *, key_range: int) -> PTable:
    """Count the keys of each noise in the range of keys that a release looks up.

    Few keys do not hold every probability: what counts is how many of them fall to each noise.
    """
    rows = []
    for noise, upper in zip(table.noise, table.upper, strict=True):
        ends = [-(-threshold * key_range // table.key_range) for threshold in upper]
        row: dict[int, int] = {}
        for value, (low, high) in zip(noise, pairwise((0, *ends)), strict=True):
            if high > low:
                row[value] = row.get(value, 0) + high - low
        rows.append(row)
    return keep_zeros(
        PTable.from_units(
            rows, key_range=key_range, large_counts=table.large_counts, label=table.label
        )
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Design:
    """What a p-table promises for every row: probabilities and moments of the noise.

    Parameters
    ----------
    table
        The p-table as it is applied.
    lowest
        The noise of the first column.
    probabilities
        P(noise column | row).
    mean, variance, fourth
        Of the noise of each row; `variance` and `fourth` are central moments.
    least, most
        The ends of the noise of each row.
    cycle
        How many last rows serve larger counts in turn.

    Examples
    --------
    >>> table = PTable(noise=[[0], [-1, 1]], upper=[[8], [4, 8]], key_range=8)
    >>> Design.of(table).fourth
    array([0., 1.])
    """

    table: PTable
    lowest: int
    probabilities: NDArray[np.float64]
    mean: NDArray[np.float64]
    variance: NDArray[np.float64]
    fourth: NDArray[np.float64]
    least: NDArray[np.int64]
    most: NDArray[np.int64]
    cycle: int

    @classmethod
    def of(cls, table: PTable) -> Design:
        """Read a p-table of counts.

        Parameters
        ----------
        table
            The p-table as it is applied.

        Examples
        --------
        >>> Design.of(PTable(noise=[[0]], upper=[[8]], key_range=8)).most
        array([0])
        """
        laws = [table.units(count) for count in range(table.n_rows)]
        least = np.array([min(law) for law in laws], np.int64)
        most = np.array([max(law) for law in laws], np.int64)
        lowest = int(least.min())
        chances = np.zeros((len(laws), int(most.max()) - lowest + 1))
        for row, law in enumerate(laws):
            for value, n_keys in law.items():
                chances[row, value - lowest] = n_keys / table.key_range
        noise = np.arange(lowest, lowest + chances.shape[1])
        mean = np.array([sum(v * n for v, n in law.items()) / table.key_range for law in laws])
        away = noise - mean[:, None]
        return cls(
            table=table,
            lowest=lowest,
            probabilities=chances,
            mean=mean,
            variance=(chances * away**2).sum(axis=1),
            fourth=(chances * away**4).sum(axis=1),
            least=least,
            most=most,
            cycle=cycle_length(table.large_counts, n_rows=table.n_rows),
        )

    @property
    def noise(self) -> NDArray[np.int64]:
        """The noise of each column.

        Examples
        --------
        >>> table = PTable(noise=[[0], [-1, 1]], upper=[[8], [4, 8]], key_range=8)
        >>> Design.of(table).noise
        array([-1,  0,  1])
        """
        return np.arange(self.lowest, self.lowest + self.probabilities.shape[1])

    def rows(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Give the row that serves each count.

        Parameters
        ----------
        counts
            Original counts.

        Examples
        --------
        >>> table = PTable(noise=[[0], [-1, 1]], upper=[[8], [4, 8]], key_range=8)
        >>> Design.of(table).rows(np.array([0, 1, 900]))
        array([0, 1, 1])
        """
        n_rows = len(self.mean)
        if self.cycle == 1:
            return np.minimum(counts, n_rows - 1)
        turned = n_rows - self.cycle + (counts - n_rows) % self.cycle
        return np.where(counts < n_rows, counts, turned)

    @property
    def largest_gap(self) -> int:
        """The largest s for which no count is published as any of 1 to s.

        Examples
        --------
        >>> from ptable import Mechanism
        >>> Design.of(Mechanism.rounding(5).build()).largest_gap
        4
        """
        n_rows = len(self.mean)
        seen: set[int] = set()
        # A turn of the last rows beyond the table itself, as far as noise reaches down.
        for count in range(1, n_rows + self.cycle - self.lowest):
            row = int(self.rows(np.array([count]))[0])
            reached = np.flatnonzero(self.probabilities[row])
            seen.update((count + self.lowest + reached).tolist())
        return min(value for value in seen if value > 0) - 1
