"""Rotations of attributes taken in threes: distances stay, values do not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from synth.errors import SynthError
from synth.sanitisers.frames import numbers_of, opened

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from numpy.typing import NDArray


def rotate(
    frame: Any, *, columns: Sequence[str], degrees: float, is_normalised: bool = True
) -> pd.DataFrame:
    """Rotate groups of three columns, the last perhaps of two, by one angle.

    Parameters
    ----------
    frame
        The records.
    columns
        Two or more columns of numbers; one that would be left over is refused.
    degrees
        The angle; in three dimensions around each axis in turn.
    is_normalised
        Whether columns are first brought to mean 0 and deviation 1.

    References
    ----------
    Upadhyay et al. 2018.

    Examples
    --------
    >>> turned = rotate(
    ...     {"x": [35.0], "y": [35.0]}, columns=["x", "y"], degrees=-8.13, is_normalised=False
    ... )
    >>> turned.round().iloc[0].tolist()
    [40.0, 30.0]
    """
    table = opened(frame, columns)
    if len(set(columns)) < 2 or len(set(columns)) < len(columns) or len(columns) % 3 == 1:
        raise SynthError(
            f"{len(columns)} columns cannot be rotated in groups of three or two.",
            hint="name 2, 3, 5, 6, 8 … different columns",
        )
    values = numbers_of(table, columns)
    if is_normalised:
        spread = values.std(axis=0)
        values = (values - values.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    for start in range(0, len(columns), 3):
        block = values[:, start : start + 3]
        values[:, start : start + 3] = block @ _matrix(block.shape[1], np.deg2rad(degrees)).T
    for place, name in enumerate(columns):
        table[name] = values[:, place]
    return table


def dispersion(before: Any, after: Any, *, columns: Sequence[str]) -> NDArray[np.float64]:
    """Return the variance of the change of every column, over the variance it had.

    Parameters
    ----------
    before, after
        The records, and what became of them.
    columns
        Columns of numbers.

    Examples
    --------
    >>> dispersion({"a": [0, 2]}, {"a": [0, 4]}, columns=["a"]).tolist()
    [1.0]
    """
    old = numbers_of(opened(before, columns), columns)
    new = numbers_of(opened(after, columns), columns)
    if old.shape != new.shape:
        raise SynthError("There must be as many records after as before.")
    spread = old.var(axis=0)
    return np.asarray((new - old).var(axis=0) / np.where(spread > 0, spread, 1.0))


def safe_angle(frame: Any, *, columns: Sequence[str], least: float) -> int:
    """Return the smallest whole angle at which every column changes enough.

    Parameters
    ----------
    frame
        The records.
    columns
        Columns of numbers.
    least
        The dispersion that each must reach.

    Examples
    --------
    >>> safe_angle({"a": [0, 1, 0, 1], "b": [0, 0, 1, 1]}, columns=["a", "b"], least=0.5)
    42
    """
    base = rotate(frame, columns=columns, degrees=0)
    for degrees in range(1, 360):
        turned = rotate(base, columns=columns, degrees=degrees, is_normalised=False)
        if (dispersion(base, turned, columns=columns) >= least).all():
            return degrees
    raise SynthError(f"No angle changes every column by {least:g}.", hint="ask for less")


def _matrix(n: int, angle: float) -> NDArray[np.float64]:
    matrix = np.eye(n)
    for one, other in ((0, 1), (1, 2), (0, 2))[: 1 if n == 2 else 3]:
        turn = np.eye(n)
        turn[one, one] = turn[other, other] = np.cos(angle)
        turn[one, other], turn[other, one] = -np.sin(angle), np.sin(angle)
        matrix = turn @ matrix
    return matrix
