"""Short names for the types of arrays; for annotations alone, so that nothing is imported."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Flags: TypeAlias = NDArray[np.bool_]
    Floats: TypeAlias = NDArray[np.float64]
    Integers: TypeAlias = NDArray[np.int64]
    Codes: TypeAlias = NDArray[np.int32]
    Words: TypeAlias = NDArray[np.uint64]
