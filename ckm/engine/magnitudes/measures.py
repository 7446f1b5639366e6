"""The sums and means of a table, from protected parts alone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ckm.engine.magnitudes.means import published_ratio
from ckm.engine.magnitudes.noise.perturb import perturb_magnitudes
from ckm.engine.request import variable_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ckm.engine.magnitudes.settings import MagnitudeNoise
    from footing.arrays import Floats, Integers
    from tables import Cells, Secret

_MORE = 2  # decimals of a mean beyond those of its sum
_MOST = 15


def published_sums(
    cells: Cells,
    published: Integers,
    *,
    variables: Sequence[str],
    noises: Mapping[str, MagnitudeNoise],
    weight: str | None = None,
    secret: Secret | None = None,
) -> dict[str, Floats]:
    """Return the published sums of cells.

    A sum is 0 where the published count is 0, as in an empty cell: any other number there
    would tell that somebody is in the cell.
    """
    found = {}
    for variable in variables:
        magnitudes = (cells.magnitudes or {})[variable]
        total = perturb_magnitudes(
            replace(magnitudes, variable=noise_name(variable, weight)),
            noises[variable],
            secret=secret,
            cell_keys=cells.cell_key,
        )
        found[variable] = np.where(published > 0, total, 0.0)
    return found


def published_amounts(
    sums: Mapping[str, Floats],
    *,
    measures: Sequence[str],
    noises: Mapping[str, MagnitudeNoise],
    divisor: Floats,
) -> dict[str, Floats]:
    """Return the published numbers of sums and means.

    A mean is the published sum over the published count, whether or not these are shown.
    """
    found = {}
    for measure in measures:
        variable = variable_of(measure)
        if variable is not None:
            is_sum = measure.startswith("sum:")
            total = sums[variable]
            found[measure] = total if is_sum else _mean(total, divisor, noises[variable])
    return found


def noise_name(variable: str, weight: str | None) -> str:
    """Return the name that a variable's noise is derived from.

    The weighted and the unweighted total of a single contributor under one noise would have
    the weight as their exact ratio.
    """
    return variable if weight is None else f"{variable} weighted by {weight}"


def mean_decimals(decimals: int | None) -> int | None:
    """Return how many decimals published means have; None for all digits."""
    return None if decimals is None else min(max(decimals, 0) + _MORE, _MOST)


def _mean(total: Floats, divisor: Floats, noise: MagnitudeNoise) -> Floats:
    mean = published_ratio(total, divisor)
    decimals = mean_decimals(noise.decimals)
    if decimals is not None:
        mean = np.round(mean, decimals) + 0.0  # no minus before a zero
    mask = np.isnan(mean)
    return np.ma.array(np.where(mask, 0.0, mean), mask=mask)
