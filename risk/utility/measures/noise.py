"""The noise that is seen and that the p-table promises, and zeros that came and went."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from risk.utility.catalogue import Measure, defined, undefined
from risk.wellformed import require_whole

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
        distribution = ptable.units(count)
        first = sum(v * n for v, n in distribution.items())
        second = sum(v * v * n for v, n in distribution.items())
        variances.append((second * size - first**2) / size**2)
    return np.array(variances)


def zeros(pairs: Pairs, *, threshold: int = 4) -> tuple[Measure, ...]:
    """Count zeros, false zeros and false non-zeros.

    Parameters
    ----------
    pairs
        The cells.
    threshold
        The largest small count.

    Examples
    --------
    >>> from risk.utility import Pairs
    >>> found = zeros(Pairs(original=[1, 0, 9], published=[0, 0, 9]), threshold=4)
    >>> {m.name: m.value for m in found if m.name in {"false_zeros", "true_zeros_pct"}}
    {'false_zeros': 1.0, 'true_zeros_pct': 50.0}
    """
    require_whole(threshold, name="threshold", least=1)
    n, was_zero, is_zero = pairs.n_cells, pairs.o == 0, pairs.p == 0
    true_zeros, false_zeros = was_zero & is_zero, is_zero & ~was_zero
    n_zero = np.count_nonzero(is_zero)
    return (
        defined("zeros_original", np.count_nonzero(was_zero), base=n),
        defined("zeros_published", n_zero, base=n),
        defined("false_zeros", np.count_nonzero(false_zeros), base=n),
        defined("false_nonzeros", np.count_nonzero(was_zero & ~is_zero), base=n),
        defined("small_to_zero", np.count_nonzero(pairs.o[false_zeros] <= threshold), base=n),
        defined("true_zeros_pct", 100 * np.count_nonzero(true_zeros) / n_zero, base=n_zero)
        if n_zero
        else undefined("true_zeros_pct", "no published count is 0"),
    )
