"""Values that change records."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from synth.errors import SynthError
from synth.sanitisers.frames import checked_rows, opened

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd


def swap(frame: Any, *, pairs: Mapping[str, Sequence[tuple[int, int]]]) -> pd.DataFrame:
    """Exchange the values of pairs of records.

    Parameters
    ----------
    frame
        The records.
    pairs
        Per column the pairs of rows, from 0; no row twice.

    Examples
    --------
    >>> swap({"pay": [1, 2, 3]}, pairs={"pay": [(0, 2)]})["pay"].tolist()
    [3, 2, 1]
    """
    table = opened(frame, list(pairs))
    for name, chosen in pairs.items():
        rows = checked_rows([row for pair in chosen for row in pair], len(table))
        if len(set(rows)) < len(rows):
            raise SynthError(f"A row of column {name!r} is swapped twice.")
        order = np.arange(len(table))
        for one, other in chosen:
            order[one], order[other] = other, one
        table[name] = table[name].take(order).to_numpy()
    return table


def rank_swap(
    frame: Any,
    *,
    columns: Sequence[str],
    reach: float,
    rng: np.random.Generator | None = None,
) -> pd.DataFrame:
    """Exchange values whose ranks are near, each column by itself.

    Parameters
    ----------
    frame
        The records.
    columns
        Columns with an order.
    reach
        How far ranks may lie apart, as a share of the records.
    rng
        A generator; without one the choice has no seed.

    References
    ----------
    Moore 1996.

    Examples
    --------
    >>> found = rank_swap({"a": range(10)}, columns=["a"], reach=0.2)["a"]
    >>> sorted(found) == list(range(10)), bool(abs(found - np.arange(10)).max() <= 2)
    (True, True)
    """
    table = opened(frame, columns)
    if not 0 < reach <= 1:
        raise SynthError(f"reach must lie in (0, 1], not {reach}.")
    source = np.random.default_rng() if rng is None else rng
    n = len(table)
    farthest = max(1, math.floor(reach * n))
    for name in columns:
        try:
            ranked = np.argsort(table[name].to_numpy(), kind="stable")
        except TypeError:
            raise SynthError(f"Column {name!r} has no order.", hint="number it") from None
        order, is_free = np.arange(n), np.ones(n, dtype=bool)
        for place in range(n):
            window = np.flatnonzero(is_free[place + 1 : place + 1 + farthest]) + place + 1
            if not is_free[place] or not len(window):
                continue
            partner = int(source.choice(window))
            is_free[[place, partner]] = False
            one, other = ranked[place], ranked[partner]
            order[one], order[other] = other, one
        table[name] = table[name].take(order).to_numpy()
    return table
