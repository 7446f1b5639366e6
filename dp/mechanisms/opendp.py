"""The door to OpenDP: exact noise from secure randomness, on integers and on floats.

A float is an integer multiple of 2**-1074. OpenDP draws the noise on that lattice, adds it
exactly and rounds once; the holes of noise computed in floats do not arise.
"""

import math
import re
import warnings
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dp.errors import DPError, MissingPackageError
from footing.messages import Message, Shape, said

_WIDEST = 2**62
#: Below, the discrete Laplace law of OpenDP is wrong: at scale 3 the largest log-ratio of
#: neighbours was between .51 and .54 where 1/3 is claimed (0.13.0, 0.14.0, 0.14.1).
_OLDEST = (0, 14, 2)


def add_noise(distribution: str, values: NDArray[Any], *, scale: float) -> NDArray[Any]:
    """Add independent noise to every number.

    Parameters
    ----------
    distribution
        ``"laplace"`` or ``"gaussian"``; on integers their discrete forms.
    values
        Integers or floats.
    scale
        Scale of the noise.

    Returns
    -------
    numpy.ndarray
        As many numbers, ``int64`` or ``float64``.

    Raises
    ------
    DPError
        If a number is missing, infinite or too large.

    Examples
    --------
    >>> add_noise("laplace", np.array([5, 2]), scale=1e-3)
    array([5, 2])
    """
    kind, numbers = numbers_of(values)
    if not numbers:
        return values.astype(np.int64 if kind == "int" else np.float64)
    noisy = _mechanism(distribution, kind, float(scale))(numbers)
    return np.array(noisy, dtype=np.int64 if kind == "int" else np.float64).reshape(
        values.shape
    )


def numbers_of(values: NDArray[Any]) -> tuple[str, list[Any]]:
    """Return the kind of numbers that noise goes on, and the numbers, all checked."""
    if values.dtype.kind in "iu":
        return "int", _checked_integers(values)
    if values.dtype.kind == "f":
        return "float", _checked_floats(values)
    raise DPError(
        Message("Noise goes on integers or floats, not on {dtype}.", dtype=Shape(values.dtype)),
        hint=Message("give counts as integers"),
    )


def noise_loss(distribution: str, *, is_integer: bool, scale: float, distance: float) -> float:
    """Return what the noise guarantees, rounded upwards."""
    mechanism = _mechanism(distribution, "int" if is_integer else "float", float(scale))
    if is_integer and distribution == "laplace":
        return float(mechanism.map(math.ceil(distance)))
    return float(mechanism.map(float(distance)))


def choose_largest(scores: NDArray[Any], *, scale: float, distribution: str = "gumbel") -> int:
    """Return the index of a score that is largest after noise."""
    return int(
        _chooser(distribution, float(scale))(_checked_floats(np.asarray(scores, np.float64)))
    )


def check_scores(scores: NDArray[Any]) -> None:
    """Raise what `choose_largest` would raise, without a choice."""
    _opendp()
    _checked_floats(np.asarray(scores, np.float64))


def _check_version() -> None:
    try:
        release = version("opendp")
    except PackageNotFoundError:
        release = Message("of an unknown version")
    digits = re.match(r"(\d+)\.(\d+)\.(\d+)", release)
    if digits is None or tuple(map(int, digits.groups())) < _OLDEST:
        raise MissingPackageError(
            Message(
                "The package opendp {value} is installed; before 0.14.2 its discrete "
                "Laplace noise loses more than its epsilon.",
                value=said(release),
            ),
            hint=Message("pip install --upgrade 'opendp>=0.14.2,<1'"),
        )


@lru_cache(maxsize=1)
def _opendp() -> Any:
    """Return what is used of OpenDP; its prelude would import scikit-learn as well."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from opendp import domains, measurements, measures, metrics, mod
    except ImportError:
        raise MissingPackageError(
            Message("Exact noise needs the package opendp."),
            hint=Message("in the project's folder: pip install '.[dp]'"),
        ) from None
    _check_version()
    mod.enable_features("contrib")  # idempotent
    return SimpleNamespace(
        atom_domain=domains.atom_domain,
        l1_distance=metrics.l1_distance,
        l2_distance=metrics.l2_distance,
        linf_distance=metrics.linf_distance,
        m=measurements,
        max_divergence=measures.max_divergence,
        vector_domain=domains.vector_domain,
        zero_concentrated_divergence=measures.zero_concentrated_divergence,
    )


@lru_cache(maxsize=256)
def _mechanism(distribution: str, kind: str, scale: float) -> Any:
    opendp = _opendp()
    atom = opendp.atom_domain(T="i64") if kind == "int" else _float_atom(opendp)
    if distribution == "laplace":
        metric = opendp.l1_distance(T="i64" if kind == "int" else "f64")
        return opendp.m.make_laplace(opendp.vector_domain(atom), metric, scale=scale)
    metric = opendp.l2_distance(T="f64")
    return opendp.m.make_gaussian(opendp.vector_domain(atom), metric, scale=scale)


@lru_cache(maxsize=256)
def _chooser(distribution: str, scale: float) -> Any:
    opendp = _opendp()
    # What OpenDP calls measure decides the noise: Gumbel's for concentrated privacy.
    measure = (
        opendp.zero_concentrated_divergence()
        if distribution == "gumbel"
        else opendp.max_divergence()
    )
    return opendp.m.make_noisy_max(
        opendp.vector_domain(_float_atom(opendp)),
        opendp.linf_distance(T="f64"),
        measure,
        scale=scale,
    )


def _float_atom(opendp: Any) -> Any:
    return opendp.atom_domain(T="f64", nan=False)


def _checked_integers(values: NDArray[Any]) -> list[int]:
    numbers: list[int] = values.ravel().tolist()
    if any(abs(number) > _WIDEST for number in numbers):
        raise DPError(Message("The numbers are too large: at most 2**62 in size."))
    return numbers


def _checked_floats(values: NDArray[Any]) -> list[float]:
    if not np.isfinite(values).all():
        raise DPError(
            Message("A number is missing or infinite."),
            hint=Message("fill or leave out missing values first"),
        )
    return [float(number) for number in values.ravel()]
