"""The kinds of arrays and of column sets that signatures name."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

#: Integers of any width.
AnyIntegers: TypeAlias = NDArray[np.integer]
Bools: TypeAlias = NDArray[np.bool_]
Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
#: The places of columns, ascending.
Columns: TypeAlias = tuple[int, ...]
