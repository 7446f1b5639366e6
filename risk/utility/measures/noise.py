"""The noise that is seen, and the noise that the p-table promises."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ptable.lookup import cycle_length
from risk.errors import RiskError

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from ptable import PTable
    from risk.utility.pairs import Pairs


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseDistribution:
    """How many cells have each noise, ``d = p - o``; cellKey prints the opposite sign.

    Parameters
    ----------
    noise
        The values that occur, rising.
    cells
        How many cells have each.
    base
        The number of cells.

    Examples
    --------
    >>> from risk.utility import Pairs
    >>> noise_distribution(Pairs(original=[4, 2], published=[5, 2])).to_frame()
       noise  cells  share  base
    0      0      1    0.5     2
    1      1      1    0.5     2
    """

    noise: tuple[int, ...]
    cells: tuple[int, ...]
    base: int

    def to_frame(self) -> pd.DataFrame:
        """Give one line per noise, with the share of the cells.

        Examples
        --------
        >>> list(NoiseDistribution(noise=(0, 1), cells=(3, 1), base=4).to_frame()["share"])
        [0.75, 0.25]
        """
        import pandas as pd

        shares = [n / self.base for n in self.cells]
        columns = {"noise": self.noise, "cells": self.cells, "share": shares}
        return pd.DataFrame({**columns, "base": self.base})


def noise_distribution(pairs: Pairs) -> NoiseDistribution:
    """Count the cells of each noise.

    Parameters
    ----------
    pairs
        The cells.

    Examples
    --------
    >>> from risk.utility import Pairs
    >>> noise_distribution(Pairs(original=[4, 2], published=[3, 2])).noise
    (-1, 0)
    """
    values, cells = np.unique(pairs.noise, return_counts=True)
    return NoiseDistribution(
        noise=tuple(values.tolist()), cells=tuple(cells.tolist()), base=pairs.n_cells
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowMoments:
    """The mean, the variance and the chance of no noise of each row of a p-table.

    Parameters
    ----------
    mean, variance, p_stay
        One number per row.
    cycle
        How many of the last rows serve larger counts in turn.
    """

    mean: NDArray[np.float64]
    variance: NDArray[np.float64]
    p_stay: NDArray[np.float64]
    cycle: int

    def rows(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Give the row that serves each count."""
        n_rows = len(self.mean)
        if self.cycle == 1:
            return np.minimum(counts, n_rows - 1)
        turned = n_rows - self.cycle + (counts - n_rows) % self.cycle
        return np.where(counts < n_rows, counts, turned)

    def cells(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Count the cells that each row serves."""
        return np.bincount(self.rows(counts), minlength=len(self.mean)).astype(np.int64)


def row_moments(ptable: PTable) -> RowMoments:
    """Compute the moments of the noise of each row of a p-table for counts."""
    if ptable.step != 1 or ptable.anchors is not None:
        raise RiskError(
            "Utility is measured for counts; this p-table is for magnitudes.",
            hint="give a p-table with step 1 and no anchors",
        )
    mean, variance, stay = [], [], []
    for count in range(ptable.n_rows):
        law = ptable.units(count)
        first = sum(v * n for v, n in law.items())
        second = sum(v * v * n for v, n in law.items())
        mean.append(first / ptable.key_range)
        variance.append((second * ptable.key_range - first**2) / ptable.key_range**2)
        stay.append(law.get(0, 0) / ptable.key_range)
    return RowMoments(
        mean=np.array(mean),
        variance=np.array(variance),
        p_stay=np.array(stay),
        cycle=cycle_length(ptable.large_counts, n_rows=ptable.n_rows),
    )
