"""Checks of parameters that many modules make."""

from dp.errors import DPError
from footing.checks import Limits, require_integer, require_number
from footing.messages import Message


def checked_positive(value: float, name: str) -> float:
    """Return a positive, finite number."""
    return require_number(value, name, error=DPError, above=0)


def checked_epsilon(value: float, *, may_be_zero: bool = False) -> float:
    """Return an epsilon: positive and finite."""
    least: Limits = {"minimum": 0} if may_be_zero else {"above": 0}
    return require_number(
        value,
        "epsilon",
        error=DPError,
        hint=Message("0.01 to 1 is usual for statistics"),
        **least,
    )


def checked_loss(value: float, name: str) -> float:
    """Return a privacy loss: 0 or more, infinite if nothing is promised."""
    return require_number(value, name, error=DPError, minimum=0, may_be_infinite=True)


def checked_delta(value: float, *, may_be_zero: bool = False) -> float:
    """Return a delta: above 0 and below 1."""
    ends: Limits = {"minimum": 0, "below": 1} if may_be_zero else {"above": 0, "below": 1}
    way = Message("take much less than 1 / number of people, 1e-6 for instance")
    return require_number(value, "delta", error=DPError, hint=way, **ends)


def checked_probability(value: float, name: str, *, is_open: bool = False) -> float:
    """Return a number from 0 to 1."""
    ends: Limits = {"above": 0, "below": 1} if is_open else {"minimum": 0, "maximum": 1}
    return require_number(value, name, error=DPError, **ends)


def checked_count(value: int, name: str, *, least: int = 1) -> int:
    """Return a whole number, not below the least."""
    return require_integer(value, name, error=DPError, minimum=least)


def checked_share(value: float) -> float:
    """Return a part of a budget beside others."""
    return require_number(value, "share", error=DPError, minimum=1e-6, maximum=1e6)
