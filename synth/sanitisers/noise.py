"""Noise on columns of numbers, kept within limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from footing.checks import require_number
from synth.errors import SynthError
from synth.sanitisers.frames import numbers_of, opened

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd


def add_noise(
    frame: Any,
    *,
    scales: Mapping[str, float] | None = None,
    noises: Mapping[str, Sequence[float]] | None = None,
    lower: float = -np.inf,
    upper: float = np.inf,
    rng: np.random.Generator | None = None,
) -> pd.DataFrame:
    """Add Laplace noise to numbers, or noise that is given, and clamp.

    Parameters
    ----------
    frame
        The records.
    scales
        Per column the scale of Laplace noise.
    noises
        Per column the noise itself, one number per record.
    lower, upper
        The limits.
    rng
        A generator; without one the noise has no seed.

    Notes
    -----
    Noise drawn as floats for every record is a disclosure control of old and no differential
    privacy; `dp` has mechanisms that are.

    Examples
    --------
    >>> add_noise({"h": [40, 13]}, noises={"h": [8, -14]}, lower=0)["h"].tolist()
    [48.0, 0.0]
    """
    given, wanted = dict(noises or {}), dict(scales or {})
    if (not given and not wanted) or given.keys() & wanted.keys():
        raise SynthError("Every column needs either a scale or its noise.")
    table = opened(frame, [*given, *wanted])
    if not lower <= upper:
        raise SynthError(f"lower must not exceed upper, but {lower} does {upper}.")
    source = np.random.default_rng() if rng is None else rng
    for name, scale in wanted.items():
        require_number(scale, f"The scale of {name!r}", error=SynthError, above=0)
        given[name] = list(source.laplace(0.0, scale, len(table)))
    for name, noise in given.items():
        if len(noise) != len(table):
            raise SynthError(f"{len(noise)} noises stand against {len(table)} records.")
        values = numbers_of(table, [name])[:, 0] + np.asarray(noise, np.float64)
        table[name] = values.clip(lower, upper)
    return table
