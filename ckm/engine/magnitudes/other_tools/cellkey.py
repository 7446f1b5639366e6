"""The noise of cellKey 1.0.3 on amounts, with its defects, to repeat its releases."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np

from ckm.engine.magnitudes.noise.scale import Flex, bases_of_records
from ckm.engine.magnitudes.other_tools.rotation import printed_rotations, require_numbers
from ckm.engine.magnitudes.other_tools.trace import Trace, clamped_noise, looked_up, table_names
from ckm.engine.magnitudes.sensitive.conditions import sensitive_cells

if TYPE_CHECKING:
    from ckm.engine.magnitudes.settings import MagnitudeNoise
    from footing.arrays import Flags, Floats, Words
    from tables.magnitudes.amounts import Magnitudes

_UNITS = 10**18


def trace_cellkey(magnitudes: Magnitudes, noise: MagnitudeNoise, *, keys: Floats) -> Trace:
    """Repeat what cellKey does.

    Where cellKey stops because a running value is 0, or because the simple approach has
    several components, the formulas are followed: a running value of 0 stays 0, and
    components follow one another as with the flex function.
    """
    components = noise.n_components
    values = bases_of_records(magnitudes, base=noise.base, components=components)
    turned = printed_rotations(keys, components=components, same_key=noise.same_key)
    is_open = (keys != 0) & (turned[:, 0] != 0) & (magnitudes.total != 0)
    require_numbers(turned[is_open])
    extra = np.where(sensitive_cells(magnitudes, noise.sensitive), noise.least_noise, 0.0)
    running = magnitudes.total.copy()
    shape = (len(magnitudes), components)
    steps, changes = np.ones(shape), np.zeros(shape)
    tables = np.full(shape, "", dtype="<U11")
    for column in range(components):
        acts = is_open & (column < magnitudes.records)
        step, small, stays = _step(noise, values[:, column], running, column)
        names = np.where(small, "small_cells", table_names(noise, magnitudes))
        acting = acts & ~stays & (turned[:, column] != 0)
        v = looked_up(
            noise,
            np.where(acting, names, ""),
            totals=running,
            steps=step,
            keys=_whole(np.where(acting, turned[:, column], 0.0)),
            key_range=_UNITS,
        )
        change = clamped_noise(running, step, v, extra)
        changes[:, column] = np.where(acts & ~stays, change, 0.0)
        steps[:, column] = np.where(acts, step, 1.0)
        tables[:, column] = names
        running += changes[:, column]
    added = np.zeros(len(magnitudes))
    for column in range(components):
        added += changes[:, column]
    totals = np.where(is_open, magnitudes.total + added, 0.0)
    return Trace(keys=turned, steps=steps, tables=tables, noise=changes, totals=totals)


def _step(
    noise: MagnitudeNoise, values: Floats, running: Floats, column: int
) -> tuple[Floats, Flags, Flags]:
    """Give one unit, where the p-table of small cells serves, and where nothing is added."""
    factor = noise.factors[column]
    is_flex = isinstance(noise.scale, Flex)
    shares = noise.scale.shares(values)
    is_scaled = np.full(len(values), fill_value=True)
    if isinstance(noise.scale, Flex):  # below the point cellKey forgets the factor
        is_scaled = np.abs(values) >= noise.scale.point
    step = values * shares * np.where(is_scaled, factor, 1.0)
    small = np.abs(values) < noise.separation
    step = np.where(small, 1.0, step)
    capped = np.abs(running) < np.abs(step)
    step = np.where(capped, running, step)
    value = running / (noise.scale.small * factor)
    falls = capped & (np.abs(value) < noise.separation)
    step = np.where(falls, 1.0, step)
    stays = falls if column or not is_flex else np.zeros_like(falls)
    return step, small | falls, stays


def _whole(keys: Floats) -> Words:
    """Take decimals as they are printed, so that comparing them needs no rounding."""
    return np.array([int(Decimal(repr(key)) * _UNITS) for key in keys.tolist()], np.uint64)
