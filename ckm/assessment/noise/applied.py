"""The p-table as a release applies it: on its own keys, and with empty cells kept."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ptable.table import PTable
from risk.distributions.band import Band
from risk.risk_map.designs import keep_zeros


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
class Design(Band):
    """What a p-table, as it is applied, promises for every row.

    Parameters
    ----------
    variance, fourth
        Central moments of the noise of each row.
    least, most
        The ends of the noise of each row.

    Examples
    --------
    >>> table = PTable(noise=[[0], [-1, 1]], upper=[[8], [4, 8]], key_range=8)
    >>> Design.of(table).fourth
    array([0., 1.])
    """

    variance: NDArray[np.float64]
    fourth: NDArray[np.float64]
    least: NDArray[np.int64]
    most: NDArray[np.int64]

    @classmethod
    def of(cls, table: PTable) -> Self:
        """Read a p-table of counts."""
        band = Band.of(table)
        chances, away = band.probabilities, band.noise - band.mean[:, None]
        is_possible = chances > 0
        return cls(
            table=table,
            lowest=band.lowest,
            probabilities=chances,
            mean=band.mean,
            cycle=band.cycle,
            variance=(chances * away**2).sum(axis=1),
            fourth=(chances * away**4).sum(axis=1),
            least=band.lowest + is_possible.argmax(axis=1),
            most=band.highest - is_possible[:, ::-1].argmax(axis=1),
        )

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
        values: set[int] = set()
        # A turn of the last rows beyond the table itself, as far as noise reaches down.
        for count in range(1, n_rows + self.cycle - self.lowest):
            row = int(self.rows(np.array([count]))[0])
            reached = np.flatnonzero(self.probabilities[row])
            values.update((count + self.lowest + reached).tolist())
        return min(value for value in values if value > 0) - 1
