"""Values replaced by a mark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from footing.checks import require_integer
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
    table = opened(frame, list(cells))
    for name, rows in cells.items():
        hidden = set(checked_rows(rows, len(table)))
        values = table[name].tolist()
        table[name] = _as_objects(
            [mark if row in hidden else value for row, value in enumerate(values)]
        )
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


def _as_objects(values: list[Any]) -> pd.Series[Any]:
    import pandas as pd

    return pd.Series(values, dtype=object)
