"""Frames that are looked at, never written into."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

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
        known = ", ".join(repr(name) for name in table.columns)
        raise SynthError(
            f"Column {lacking[0]!r} is not in the data.", hint=f"it has {known or 'none'}"
        )
    return table


def numbers_of(table: pd.DataFrame, columns: Sequence[str]) -> Floats:
    """Return columns as a matrix of finite numbers."""
    try:
        matrix = np.column_stack([table[name].to_numpy(np.float64) for name in columns])
    except (TypeError, ValueError):
        raise SynthError("The columns must be numbers.", hint="name numeric columns") from None
    if not np.isfinite(matrix).all():
        raise SynthError("The columns have missing or infinite numbers.")
    return matrix


def checked_rows(rows: Sequence[int], n: int) -> list[int]:
    """Return row numbers that exist."""
    found = [int(row) for row in rows]
    if any(not 0 <= row < n for row in found):
        raise SynthError(f"A row number lies outside 0 to {n - 1}.")
    return found
