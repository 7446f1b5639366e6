"""Short names for the types of arrays."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Flags: TypeAlias = NDArray[np.bool_]
Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
#: Integers of any width.
AnyIntegers: TypeAlias = NDArray[np.integer]
Codes: TypeAlias = NDArray[np.int32]
Words: TypeAlias = NDArray[np.uint64]
Levels: TypeAlias = tuple[int, ...]
#: The places of columns, ascending.
Columns: TypeAlias = tuple[int, ...]


def along(values: NDArray[Any], axis: int, n_axes: int) -> NDArray[Any]:
    """Lay values along one of some axes, so that they broadcast over the others."""
    return values.reshape([-1 if place == axis else 1 for place in range(n_axes)])
