"""P-tables as a matrix of single keys, as SuperSTAR's table of 256 rows."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footing.checks import require_integer
from footing.messages import Argument, Message, Shape
from ptable.errors import PTableError
from ptable.table import PTable

_MAX_CELLS = 2**24


def table_from_key_matrix(
    matrix: ArrayLike,
    *,
    small_n: int | None = None,
    label: str = "",
) -> PTable:
    """Build a table from the noise of every key (rows) and count (columns, from 1 on).

    Parameters
    ----------
    matrix
        The noise, in integers.
    small_n
        How many last columns serve larger counts in turn, SuperSTAR's ``SmallN``; None where
        the last column serves them all.
    label
        A name for people.

    Notes
    -----
    Of ``P`` columns, count ``c`` beyond them takes column ``P - small_n + 1 + c mod small_n``:
    with 30 and 10, count 31 takes column 22 and count 40 column 21. The table gets `small_n`
    rows more, since its own rule starts each turn at the first of them.

    Examples
    --------
    >>> table = table_from_key_matrix([[-1, 1], [1, -1]], small_n=2)
    >>> table.lookup([1, 2, 3, 4, 5], [0] * 5, key_range=2)
    array([-1,  1,  1, -1,  1])
    """
    noise = np.asarray(matrix)
    if noise.ndim != 2 or min(noise.shape) < 1 or noise.dtype.kind not in "iu":
        raise PTableError(
            Message(
                "matrix must hold integers, one row per key and one column per count, not "
                "{dtype} of shape {shape}.",
                dtype=Shape(noise.dtype),
                shape=Shape(noise.shape),
            ),
            hint=Message("convert it exactly; a gap or a decimal is no noise"),
        )
    if noise.size > _MAX_CELLS:
        raise PTableError(
            Message(
                "matrix must have at most {max_cells} cells, not {size}.",
                max_cells=_MAX_CELLS,
                size=Argument(noise.size),
            )
        )
    loop = 0 if small_n is None else _whole("small_n", small_n, least=1, most=noise.shape[1])
    if loop:
        noise = np.hstack([noise, _looped(noise, loop, loop)])
    ends = tuple(range(1, len(noise) + 1))
    rows = noise.T.tolist()
    return PTable(
        noise=((0,) * len(ends), *map(tuple, rows)),
        upper=(ends,) * (len(rows) + 1),
        key_range=len(ends),
        large_counts=f"cycle:{loop}" if loop > 1 else "last",
        label=label,
    )


def _looped(matrix: NDArray[np.integer], loop: int, n: int) -> NDArray[np.integer]:
    """Give the columns of the counts beyond the last: ``P - loop + 1 + count mod loop``."""
    size = matrix.shape[1]
    return matrix[:, size - loop + np.arange(size + 1, size + n + 1) % loop]


def _whole(name: str, value: object, *, least: int, most: int = _MAX_CELLS) -> int:
    return require_integer(value, name, error=PTableError, minimum=least, maximum=most)
