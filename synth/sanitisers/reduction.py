"""Fewer rows, fewer columns, and values replaced by a mark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from footing.checks import require_integer, require_number
from synth.errors import SynthError
from synth.sanitisers.frames import checked_rows, opened

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd


def suppress(
    frame: Any, *, cells: Mapping[str, Sequence[int]], mark: Any = "*"
) -> pd.DataFrame:
    """Replace the values of some records by a mark.

    Parameters
    ----------
    frame
        The records.
    cells
        Per column the rows, from 0.
    mark
        What stands there then.

    Examples
    --------
    >>> suppress({"pay": [1, 2, 3]}, cells={"pay": [1]})["pay"].tolist()
    [1, '*', 3]
    """
    import pandas as pd

    table = opened(frame, list(cells))
    for name, rows in cells.items():
        row_set = set(checked_rows(rows, len(table)))
        values = table[name].tolist()
        entries = [mark if row in row_set else value for row, value in enumerate(values)]
        table[name] = pd.Series(entries, dtype=object)
    return table


def suppress_rare(
    frame: Any, *, columns: Sequence[str], least: int = 2, mark: Any = "*"
) -> pd.DataFrame:
    """Replace the values that few records have.

    Parameters
    ----------
    frame
        The records.
    columns
        Where to look, each column by itself.
    least
        How many records a value needs to stay.
    mark
        What stands there then.

    Examples
    --------
    >>> suppress_rare({"land": ["F", "F", "Y"]}, columns=["land"])["land"].tolist()
    ['F', 'F', '*']
    """
    require_integer(least, "least", error=SynthError, minimum=1)
    table = opened(frame, columns)
    cells = {}
    for name in columns:
        counts = table[name].map(table[name].value_counts(dropna=False))
        cells[name] = [row for row, many in enumerate(counts) if many < least]
    return suppress(table, cells=cells, mark=mark)


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
    source = np.random.default_rng(rng)
    rows = source.choice(len(table), size=round(share * len(table)), replace=False)
    return table.iloc[np.sort(rows)].reset_index(drop=True)


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
