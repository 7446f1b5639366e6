"""Fewer rows, fewer columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from footing.checks import require_number
from synth.errors import SynthError
from synth.sanitisers.frames import opened

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd


def sample_rows(
    frame: Any, *, share: float, rng: np.random.Generator | None = None
) -> pd.DataFrame:
    """Keep a share of the records, drawn without replacement, in their order.

    Parameters
    ----------
    frame
        The records.
    share
        How many, from 0 to 1.
    rng
        A generator; without one the choice has no seed.

    Examples
    --------
    >>> len(sample_rows({"a": range(20)}, share=0.45, rng=np.random.default_rng(1)))
    9
    """
    table = opened(frame)
    require_number(share, "share", error=SynthError, minimum=0, maximum=1)
    source = np.random.default_rng() if rng is None else rng
    kept = source.choice(len(table), size=round(share * len(table)), replace=False)
    return table.iloc[np.sort(kept)].reset_index(drop=True)


def sample_columns(frame: Any, *, columns: Sequence[str]) -> pd.DataFrame:
    """Keep some columns.

    Parameters
    ----------
    frame
        The records.
    columns
        Those to keep, in their new order.

    Examples
    --------
    >>> list(sample_columns({"a": [1], "b": [2]}, columns=["b"]))
    ['b']
    """
    return opened(frame, columns)[list(columns)]
