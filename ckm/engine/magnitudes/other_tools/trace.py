"""What a replay of another tool did in every cell, component by component."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ckm.engine.magnitudes.settings import MagnitudeNoise
    from footing.arrays import Floats, Words
    from ptable import PTable
    from tables.magnitudes.amounts import Magnitudes


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Trace:
    """What a replay did, cells by components. Disclosive: never write or print it.

    Parameters
    ----------
    keys
        The keys that were looked up.
    steps
        One unit of noise, with its sign.
    tables
        The p-tables: ``"all"``, ``"even"``, ``"odd"``, ``"small_cells"`` or ``""`` for none.
    noise
        The noise.
    totals
        Per cell the total with all noise.
    """

    keys: Floats
    steps: Floats
    tables: NDArray[np.str_]
    noise: Floats
    totals: Floats


def interpolated(
    table: PTable, ratios: Floats, keys: Words, *, key_range: int, tolerance: float = 0.0
) -> Floats:
    """Look up noise, mixed between the two anchors around each ratio at one key.

    ``(1 - l) v_low + l v_high`` with ``l = (a - a_low) / (a_high - a_low)``. Mixed in this way
    the noise keeps its mean; its variance, between the anchors, is not that of either row.
    """
    anchors = table.counts
    ratio = np.minimum(ratios, float(anchors[-1]))
    place = np.searchsorted(anchors, ratio, side="right") - 1
    above = np.minimum(place + 1, len(anchors) - 1)
    low, high = (
        table.lookup(anchors[at], keys, key_range=key_range) / table.step
        for at in (place, above)
    )
    gap = np.maximum(anchors[above] - anchors[place], 1)
    share = (ratio - anchors[place]) / gap
    high = np.where(ratio - anchors[place] > tolerance, high, 0.0)
    return np.asarray((1 - share) * low + share * high, np.float64)


def table_names(noise: MagnitudeNoise, magnitudes: Magnitudes) -> NDArray[np.str_]:
    """Name the p-table of every cell: all, or by the parity of its number of records."""
    if noise.ptable is not None:
        return np.full(len(magnitudes), "all")
    return np.where(magnitudes.records % 2 == 0, "even", "odd")


def looked_up(
    noise: MagnitudeNoise,
    names: NDArray[np.str_],
    *,
    totals: Floats,
    steps: Floats,
    keys: Words,
    key_range: int,
    tolerance: float = 0.0,
) -> Floats:
    """Look up the noise of every cell in the p-table of its name; a total of 0 has none."""
    values = np.zeros(len(names))
    tables = {
        "all": noise.ptable,
        "even": noise.even,
        "odd": noise.odd,
        "small_cells": noise.small_cells,
    }
    for name, table in tables.items():
        here = np.flatnonzero((names == name) & (totals != 0))
        if table is None or not here.size:
            continue
        ratios = np.full(len(here), float(table.counts[-1]))
        units = np.abs(steps[here])
        np.divide(np.abs(totals[here]), units, out=ratios, where=units != 0)
        values[here] = interpolated(
            table, ratios, keys[here], key_range=key_range, tolerance=tolerance
        )
    return values


def clamped_noise(running: Floats, step: Floats, v: Floats, extra: Floats) -> Floats:
    """Give the noise; what lessens an amount does not take it beyond zero."""
    side = np.where(running >= 0, 1.0, -1.0)
    way = np.where(v >= 0, 1.0, -1.0)
    change = side * np.abs(step) * way * (extra + np.abs(v))
    clamped = np.where(side < 0, np.minimum(change, -running), np.maximum(change, -running))
    return np.where(way < 0, clamped, change)
