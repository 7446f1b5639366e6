"""The cells of a table before protection: counts and keys, disclosive as they stand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from tables.cells.axes import Axis
    from tables.cells.sketch import Sketch
    from tables.magnitudes.magnitudes import Magnitudes


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Cells:
    """The non-empty cells of a table. Disclosive: never write or print them.

    Parameters
    ----------
    axes
        One for each dimension.
    ranks
        For each axis, the category of every cell, int32.
    count
        Number of records of every cell, int64, at least 1.
    cell_key
        Sum of the cell's record keys modulo `key_range`, uint64.
    key_range
        Cell keys lie in [0, key_range).
    weight
        Sum of the cell's weights, float64, or None.
    weighted_count
        Number of the cell's records whose weight is not zero, int64, or None.
    level_sets
        The combinations of levels that the table shows, finest first.
    sketch
        What tells whether cells differ by few records, or None when it was not asked for.
    magnitudes
        Variable → its sums and largest contributions, or None where none was asked for.
    """

    axes: tuple[Axis, ...]
    ranks: tuple[NDArray[np.int32], ...]
    count: NDArray[np.int64]
    cell_key: NDArray[np.uint64]
    key_range: int
    weight: NDArray[np.float64] | None
    weighted_count: NDArray[np.int64] | None
    level_sets: tuple[tuple[int, ...], ...]
    sketch: Sketch | None = None
    magnitudes: Mapping[str, Magnitudes] | None = None

    def __len__(self) -> int:
        return len(self.count)

    def __repr__(self) -> str:
        return f"Cells({len(self.axes)} dimensions, {len(self.level_sets)} margins)"
