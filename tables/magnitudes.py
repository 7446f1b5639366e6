"""The magnitudes of a table before protection: sums and largest contributions of a variable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Magnitudes"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Magnitudes:
    """One variable over the cells of a table, aligned with `Cells`. Disclosive.

    Parameters
    ----------
    variable
        The column that was summed.
    total
        Weighted sum of every cell; the unweighted one where there is no weight.
    raw_total
        Unweighted sum.
    contributors
        Number of records whose value is not zero.
    weighted_contributors
        Sum of their weights; their number where there is no weight.
    key
        Sum of their record keys modulo `key_range`.
    key_range
        Keys lie in [0, key_range).
    top
        For every cell the values that are largest by absolute value, largest first, with
        their signs; 0 where there are fewer.
    top_weight
        The weights of these; 1 where there is no weight, 0 where there are fewer.
    low, high
        Smallest and largest value of the cell's records, zeros included; 0 where no record
        has a value.
    """

    variable: str
    total: NDArray[np.float64]
    raw_total: NDArray[np.float64]
    contributors: NDArray[np.int64]
    weighted_contributors: NDArray[np.float64]
    key: NDArray[np.uint64]
    key_range: int
    top: NDArray[np.float64]
    top_weight: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.total)

    def __repr__(self) -> str:
        return f"Magnitudes({self.variable!r})"
