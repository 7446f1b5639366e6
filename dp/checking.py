"""Checks of parameters that many modules make."""

from __future__ import annotations

import math

from dp.errors import DPError

__all__ = [
    "checked_count",
    "checked_delta",
    "checked_epsilon",
    "checked_loss",
    "checked_positive",
    "checked_probability",
]


def checked_positive(value: float, name: str) -> float:
    """Return a positive, finite number.

    Parameters
    ----------
    value
        The number.
    name
        What it is, for the error.

    Examples
    --------
    >>> checked_positive(2, "scale")
    2.0
    """
    number = _number(value, name)
    if not (math.isfinite(number) and number > 0):
        raise DPError(f"{name} must be positive and finite, not {value!r}.")
    return number


def checked_epsilon(value: float, *, may_be_zero: bool = False) -> float:
    """Return an epsilon: positive and finite.

    Parameters
    ----------
    value
        The epsilon.
    may_be_zero
        Whether zero will do.

    Examples
    --------
    >>> checked_epsilon(0.5)
    0.5
    """
    number = _number(value, "epsilon")
    if not math.isfinite(number) or number < 0 or (number == 0 and not may_be_zero):
        raise DPError(
            f"epsilon must be positive and finite, not {value!r}.",
            hint="0.01 to 1 is usual for statistics",
        )
    return number


def checked_loss(value: float, name: str) -> float:
    """Return a privacy loss: 0 or more, infinite if nothing is promised.

    Parameters
    ----------
    value
        The loss.
    name
        What it is, for the error.

    Examples
    --------
    >>> checked_loss(float("inf"), "rho")
    inf
    """
    number = _number(value, name)
    if number < 0:
        raise DPError(f"{name} must be 0 or more, not {value!r}.")
    return number


def checked_delta(value: float, *, may_be_zero: bool = False) -> float:
    """Return a delta: above 0 and below 1.

    Parameters
    ----------
    value
        The delta.
    may_be_zero
        Whether zero will do.

    Examples
    --------
    >>> checked_delta(1e-5)
    1e-05
    """
    number = _number(value, "delta")
    if not 0 <= number < 1 or (number == 0 and not may_be_zero):
        raise DPError(
            f"delta must lie between 0 and 1, not {value!r}.",
            hint="take much less than 1 / number of people, 1e-6 for instance",
        )
    return number


def checked_probability(value: float, name: str) -> float:
    """Return a number from 0 to 1.

    Parameters
    ----------
    value
        The number.
    name
        What it is, for the error.

    Examples
    --------
    >>> checked_probability(0.5, "prior")
    0.5
    """
    number = _number(value, name)
    if not 0 <= number <= 1:
        raise DPError(f"{name} must lie between 0 and 1, not {value!r}.")
    return number


def checked_count(value: int, name: str, *, least: int = 1) -> int:
    """Return a whole number, not below the least.

    Parameters
    ----------
    value
        The number.
    name
        What it is, for the error.
    least
        The smallest that will do.

    Examples
    --------
    >>> checked_count(3, "times")
    3
    """
    if isinstance(value, bool) or not hasattr(value, "__index__") or int(value) < least:
        raise DPError(f"{name} must be a whole number from {least}, not {value!r}.")
    return int(value)


def _number(value: float, name: str) -> float:
    if isinstance(value, (bool, str, bytes)):
        raise DPError(f"{name} must be a number, not {value!r}.")
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise DPError(f"{name} must be a number, not {value!r}.") from None
    if math.isnan(number):
        raise DPError(f"{name} must be a number, not NaN.")
    return number
