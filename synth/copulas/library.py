"""The door to pyvinecopulib: loaded when needed, missing with a cure, seeded from outside."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from footing.arrays import Floats
from footing.messages import Message, Shape
from synth.errors import SynthError

_LEAST = 1e-10


def vines() -> Any:
    """Return the package pyvinecopulib."""
    try:
        import pyvinecopulib
    except ImportError:
        raise SynthError(
            Message("Copulas need the package pyvinecopulib."),
            hint=Message("in the project's folder: pip install '.[synth]'"),
        ) from None
    return pyvinecopulib


def seeds_from(rng: np.random.Generator | None) -> list[int]:
    """Draw seeds for the library; without a generator, from the operating system."""
    source = np.random.default_rng(rng)
    return [int(seed) for seed in source.integers(0, 2**31 - 1, size=6)]


def checked_uniforms(u: ArrayLike, *, columns: int | None = None) -> Floats:
    """Return a matrix of numbers in [0, 1], an infinitesimal away from both ends."""
    try:
        values = np.asarray(u, dtype=np.float64)
    except (TypeError, ValueError):
        raise SynthError(Message("Uniform values must be numbers between 0 and 1.")) from None
    if values.ndim != 2 or (columns is not None and values.shape[1] != columns):
        shape = (
            Message("a matrix")
            if columns is None
            else Message("a matrix of {columns} columns", columns=columns)
        )
        raise SynthError(
            Message(
                "Uniform values must be {names}, not of shape {shape}.",
                names=shape,
                shape=Shape(values.shape),
            )
        )
    if not len(values):
        raise SynthError(Message("There is no record."), hint=Message("give at least one row"))
    if not ((values >= 0) & (values <= 1)).all():  # False for missing ones, too
        raise SynthError(
            Message("Uniform values must lie between 0 and 1, none missing."),
            hint=Message("pseudo_observations turns data into ranks"),
        )
    return np.asfortranarray(values.clip(_LEAST, 1 - _LEAST))
