"""The noise that is seen, and the noise that the p-table promises."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

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


def row_variances(ptable: PTable) -> NDArray[np.float64]:
    """Compute the variance of the noise of each row, from whole numbers of keys."""
    size = ptable.key_range
    variances = []
    for count in range(ptable.n_rows):
        law = ptable.units(count)
        first = sum(v * n for v, n in law.items())
        second = sum(v * v * n for v, n in law.items())
        variances.append((second * size - first**2) / size**2)
    return np.array(variances)
