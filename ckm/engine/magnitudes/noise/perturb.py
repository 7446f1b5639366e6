"""Amounts in, published totals out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ckm.engine.magnitudes.noise.smooth import own_totals
from ckm.engine.magnitudes.other_tools.cellkey import trace_cellkey
from ckm.engine.magnitudes.other_tools.rotation import decimal_keys
from ckm.engine.magnitudes.other_tools.tauargus import trace_tauargus
from ckm.errors import ConfigError, MagnitudeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ckm.engine.magnitudes.settings import MagnitudeNoise
    from tables import Magnitudes, Secret


def perturb_magnitudes(
    magnitudes: Magnitudes,
    noise: MagnitudeNoise,
    *,
    secret: Secret | None = None,
    cell_keys: NDArray[np.uint64] | None = None,
) -> NDArray[np.float64]:
    """Return the published total of every cell.

    Parameters
    ----------
    magnitudes
        The amounts.
    noise
        How they are perturbed.
    secret
        The secret of the release; the program's own rules need it, other tools' rules do not
        use it.
    cell_keys
        The keys of all records of every cell, for other tools' rules with `zero_keys`.

    Returns
    -------
    numpy.ndarray
        Published totals, float64.

    Raises
    ------
    ConfigError
        If the secret or the cell keys are missing.
    MagnitudeError
        If the amounts do not fit the noise.

    Examples
    --------
    >>> from ckm.engine.magnitudes.examples import amounts
    >>> from ckm import MagnitudeNoise
    >>> from tables import Secret
    >>> cells = amounts([[40.0, 30.0, 20.0, 10.0], [25.0, 25.0, 25.0, 25.0]])
    >>> noise = MagnitudeNoise.start(spread=0.15)
    >>> perturb_magnitudes(cells, noise, secret=Secret(bytes(16))).tolist()
    [103.0, 101.0]
    """
    if noise.rules == "ckm":
        if secret is None:
            raise ConfigError(
                "The noise of amounts needs the secret.",
                hint='give it, or choose rules="cellkey" to repeat another tool',
            )
        return own_totals(magnitudes, noise, secret=secret)
    _require_finite(magnitudes)
    keys = magnitudes.key
    if noise.zero_keys:
        if cell_keys is None:
            raise ConfigError("With zero_keys the cell keys of all records are needed.")
        keys = cell_keys
    if noise.rules == "cellkey":
        decimals = decimal_keys(keys, key_range=magnitudes.key_range)
        return trace_cellkey(magnitudes, noise, keys=decimals).totals
    trace = trace_tauargus(magnitudes, noise, keys=keys, key_range=magnitudes.key_range)
    return trace.totals


def _require_finite(magnitudes: Magnitudes) -> None:
    if not np.isfinite(magnitudes.total).all() or not np.isfinite(magnitudes.top).all():
        raise MagnitudeError(
            f"The variable {magnitudes.variable!r} has infinite or undefined amounts.",
            hint="leave such records out by a filter, or make their amounts missing",
        )
