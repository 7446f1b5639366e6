"""The amounts of a table's cells before protection: sums and largest contributions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Magnitudes:
    """One variable over the cells of a table. Disclosive: never write or print it.

    Every array has one entry, or one line, for each cell, in the order of the table's `Cells`.
    A contributor is a record whose value is neither missing nor zero.

    Parameters
    ----------
    variable
        The variable's name, from which its noise is derived. A weighted total beside an
        unweighted one is a variable of its own, and needs a name of its own.
    total
        Weighted sum of the values, float64; unweighted where there is no weight.
    raw_total
        Unweighted sum of the values, float64.
    contributors
        Number of contributors, int64.
    weighted_contributors
        Sum of the contributors' weights, float64; their number where there is no weight.
    records
        Number of records with a value, zeros among them, int64.
    weight
        Sum of the weights of these records, float64; their number where there is no weight.
    key
        Sum of the record keys of the contributors modulo `key_range`, uint64.
    key_range
        Keys lie in [0, key_range).
    top
        The contributors' values that are largest without their sign, with it, float64, one
        column for each of the largest, 0 where there are fewer contributors.
    top_weight
        Their weights, float64; 1 where there is no weight, 0 where there are fewer.
    largest
        The largest weighted value of a contributor, without its sign, float64, 0 without
        contributors. With weights it need not be that of the first in `top`.
    low, high
        The smallest and the largest value of the records with one, zeros among them, float64;
        0 where no record has a value.
    named
        Which cells somebody named as sensitive, whatever rules say; by default none of them.
    """

    variable: str
    total: NDArray[np.float64]
    raw_total: NDArray[np.float64]
    contributors: NDArray[np.int64]
    weighted_contributors: NDArray[np.float64]
    records: NDArray[np.int64]
    weight: NDArray[np.float64]
    key: NDArray[np.uint64]
    key_range: int
    top: NDArray[np.float64]
    top_weight: NDArray[np.float64]
    largest: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    named: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))

    def __post_init__(self) -> None:
        if not len(self.named):
            object.__setattr__(self, "named", np.zeros(len(self.total), np.bool_))

    def __len__(self) -> int:
        return len(self.total)

    def __repr__(self) -> str:
        return f"Magnitudes({self.variable!r}, {self.top.shape[1]} largest)"
