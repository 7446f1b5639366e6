"""Frames that are looked at, never written into."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from footing.messages import Message, Name
from risk.anonymity import groups
from risk.errors import RiskError
from synth.errors import SynthError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from footing.arrays import Floats


def as_pandas(frame: Any) -> pd.DataFrame:
    """Return a pandas frame of anything that can be read as one."""
    try:
        return groups.as_pandas(frame)
    except RiskError as error:
        raise SynthError(error.problem, hint=error.hint) from None


def opened(frame: Any, columns: Sequence[str] = ()) -> pd.DataFrame:
    """Return a copy of a frame that has some columns, its rows numbered from 0."""
    table = as_pandas(frame).reset_index(drop=True).copy()
    lacking = [name for name in columns if name not in table.columns]
    if lacking:
        names = Name.each(table.columns) or Message("none")
        raise SynthError(
            Message("Column {lacking!r} is not in the data.", lacking=Name(lacking[0])),
            hint=Message("it has {names!r}", names=names),
        )
    return table


def numbers_of(table: pd.DataFrame, columns: Sequence[str]) -> Floats:
    """Return columns as a matrix of finite numbers."""
    try:
        matrix = np.column_stack([table[name].to_numpy(np.float64) for name in columns])
    except (TypeError, ValueError):
        raise SynthError(
            Message("The columns must be numbers."), hint=Message("name numeric columns")
        ) from None
    if not np.isfinite(matrix).all():
        raise SynthError(Message("The columns have missing or infinite numbers."))
    return matrix


def checked_rows(rows: Sequence[int], n: int) -> list[int]:
    """Return row numbers that exist."""
    numbers = [int(row) for row in rows]
    if any(not 0 <= row < n for row in numbers):
        raise SynthError(Message("A row number lies outside 0 to {number}.", number=n - 1))
    return numbers
