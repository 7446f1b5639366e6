"""All small changes of a few integers."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@cache
def grid(n: int, reach: int) -> NDArray[np.int64]:
    """List all vectors of `n` integers from ``-reach`` to `reach`, one per line.

    Parameters
    ----------
    n
        How many integers.
    reach
        The largest of them.

    Examples
    --------
    >>> grid(1, 1).tolist()
    [[-1], [0], [1]]
    """
    if n == 0:
        return np.zeros((1, 0), dtype=np.int64)
    axes = np.meshgrid(*[np.arange(-reach, reach + 1)] * n, indexing="ij")
    moves = np.stack([axis.ravel() for axis in axes], axis=1).astype(np.int64)
    moves.setflags(write=False)
    return moves
