"""The noise of τ-ARGUS on amounts, with its defects, to repeat its releases."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ckm.engine.magnitudes.noise.scale import Flex, bases_of_records
from ckm.engine.magnitudes.other_tools.rotation import rotations
from ckm.engine.magnitudes.other_tools.trace import Trace, clamped_noise, looked_up, table_names
from ckm.engine.magnitudes.sensitive.conditions import sensitive_cells

if TYPE_CHECKING:
    from ckm.engine.magnitudes.settings import MagnitudeNoise
    from footing.arrays import Flags, Floats, Words
    from tables.magnitudes.amounts import Magnitudes

_NEAR = 1e-8


def trace_tauargus(
    magnitudes: Magnitudes, noise: MagnitudeNoise, *, keys: Words, key_range: int
) -> Trace:
    """Repeat what τ-ARGUS does.

    Keys are rotated before the first component too. Sensitive cells get their least noise in
    the first component, where its base is not below the separation point. The first component
    does not take a total across zero; later ones may. A base exactly at the separation point
    gets no noise, unless it is beyond the flex point: there the share is 0.

    Contributors are to be those beyond 1e-8; which records count in a key is up to the
    aggregation.
    """
    components = noise.n_components
    values = bases_of_records(magnitudes, base=noise.base, components=components)
    turned = rotations(
        keys, key_range=key_range, decimals=noise.key_decimals, components=components
    )
    size = 10**noise.key_decimals
    shape = values.shape
    steps, changes = np.zeros(shape), np.zeros(shape)
    tables = np.full(shape, "", dtype="<U11")
    used = np.zeros(shape, np.uint64)
    running = magnitudes.total.copy()
    n_turns = np.zeros(len(magnitudes), np.int64)
    places = np.arange(len(magnitudes))
    for column in range(components):
        step, is_large, is_small = _step(noise, values[:, column], running, column)
        acts = (is_large | is_small) & (column < magnitudes.records)
        used[:, column] = turned[places, np.minimum(n_turns, components - 1)]
        names = np.where(is_small, "small_cells", table_names(noise, magnitudes))
        tables[:, column] = np.where(acts, names, "")
        v = looked_up(
            noise,
            tables[:, column],
            totals=running,
            steps=step,
            keys=used[:, column],
            key_range=size,
            tolerance=_NEAR,
        )
        if column == 0:
            extra = _extra(magnitudes, noise, values[:, 0])
            change = clamped_noise(running, step, v, extra)
        else:
            change = np.where(running >= 0, 1.0, -1.0) * np.abs(step) * v
        changes[:, column] = np.where(acts, change, 0.0)
        steps[:, column] = np.where(acts, step, 0.0)
        running += changes[:, column]
        n_turns += acts | (column == 0)
    totals = np.where(magnitudes.records > 0, running, 0.0)
    return Trace(keys=used / size, steps=steps, tables=tables, noise=changes, totals=totals)


def _shares(noise: MagnitudeNoise, values: Floats) -> Floats:
    sizes = np.abs(values)
    shares = noise.scale.shares(sizes)
    is_flat = np.full(len(sizes), fill_value=True)
    if isinstance(noise.scale, Flex):
        is_flat = sizes < noise.scale.point
    return np.where(is_flat & (sizes <= noise.separation), 0.0, shares)


def _step(
    noise: MagnitudeNoise, values: Floats, running: Floats, column: int
) -> tuple[Floats, Flags, Flags]:
    """Give one unit, and where the p-table of all and of small cells serves."""
    separation, factor = noise.separation, noise.factors[column]
    is_large = np.abs(values) >= separation
    step = np.where(is_large, values * factor * _shares(noise, values), 1.0)
    capped = np.abs(running) < np.abs(step)
    step = np.where(capped, running, step)
    value = np.where(capped, running / (noise.scale.small * factor), values)
    still = np.abs(value) >= separation
    if column:
        return step, is_large & still, np.zeros_like(still)
    step = np.where(still, step, 1.0)
    is_large = np.abs(value) > separation
    return step, is_large, ~is_large & (noise.small_cells is not None)


def _extra(magnitudes: Magnitudes, noise: MagnitudeNoise, values: Floats) -> Floats:
    flagged = sensitive_cells(magnitudes, noise.sensitive)
    flagged &= np.abs(values) >= noise.separation
    return np.where(flagged, noise.least_noise, 0.0)
