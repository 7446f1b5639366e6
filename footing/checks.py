"""Whether a number is one that may be used; the same words for it in all packages."""

from __future__ import annotations

import math
from decimal import Decimal
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, TypedDict

from footing.errors import ExplainedError

if TYPE_CHECKING:
    from typing import Unpack

__all__ = [
    "Limits",
    "is_integer",
    "is_number",
    "problems_of",
    "require_integer",
    "require_number",
]


class Limits(TypedDict, total=False):
    """The ends of an interval, which belong to it or not; None for none."""

    above: float | None
    minimum: float | None
    below: float | None
    maximum: float | None
    may_be_infinite: bool


def is_integer(
    value: object, *, minimum: float | None = None, maximum: float | None = None
) -> bool:
    """Tell whether something is an integer from an interval; truth values are none.

    Parameters
    ----------
    value
        Anything.
    minimum, maximum
        The ends, which belong to it; None leaves it open.

    Examples
    --------
    >>> is_integer(3), is_integer(True), is_integer(2.0), is_integer(3, maximum=2)
    (True, False, False, False)
    """
    if type(value) is not int and (isinstance(value, bool) or not isinstance(value, Integral)):
        return False
    found = int(value)
    return (minimum is None or minimum <= found) and (maximum is None or found <= maximum)


def is_number(value: object, **limits: Unpack[Limits]) -> bool:
    """Tell whether something is a number from an interval; truth values are none.

    Parameters
    ----------
    value
        Anything.
    limits
        The ends, and whether the number may be infinite.

    Examples
    --------
    >>> is_number(0.5, above=0, below=1), is_number(float("nan")), is_number("1")
    (True, False, False)
    """
    if isinstance(value, bool) or not isinstance(value, Real | Decimal):
        return False
    try:
        found = float(value)
    except (OverflowError, ValueError):
        return False
    if math.isnan(found) or (math.isinf(found) and not limits.get("may_be_infinite")):
        return False
    above, minimum = limits.get("above"), limits.get("minimum")
    below, maximum = limits.get("below"), limits.get("maximum")
    return (
        (above is None or above < found)
        and (minimum is None or minimum <= found)
        and (below is None or found < below)
        and (maximum is None or found <= maximum)
    )


def problems_of(
    value: object, name: str, *, is_whole: bool = False, **limits: Unpack[Limits]
) -> list[str]:
    """Say what a number must be where it is not: one sentence without its full stop, or none.

    Parameters
    ----------
    value
        Anything.
    name
        What it is.
    is_whole
        Whether it must be an integer.
    limits
        As for `is_number`.

    Examples
    --------
    >>> problems_of(0, "base", is_whole=True, minimum=2, maximum=2**64)
    ['base must be an integer from 2 to 2**64, not 0']
    >>> problems_of(float("nan"), "epsilon", above=0), problems_of(0.5, "share", maximum=1)
    (['epsilon must be a finite number above 0, not nan'], [])
    """
    if is_whole:
        ends = {"minimum": limits.get("minimum"), "maximum": limits.get("maximum")}
        fits = is_integer(value, **ends)
    else:
        fits = is_number(value, **limits)
    return [] if fits else [f"{name} must be {_wanted(limits, is_whole)}, not {value!r}"]


def require_number(
    value: Any,
    name: str,
    *,
    error: type[ExplainedError] = ExplainedError,
    hint: str | None = None,
    **limits: Unpack[Limits],
) -> float:
    """Return a number, or refuse what is none or lies outside an interval.

    Parameters
    ----------
    value
        Anything.
    name
        What it is.
    error, hint
        What to raise.
    limits
        As for `is_number`.

    Examples
    --------
    >>> require_number(2, "scale", above=0)
    2.0
    """
    for problem in problems_of(value, name, **limits):
        raise error(f"{problem}.", hint=hint)
    return float(value)


def require_integer(
    value: Any,
    name: str,
    *,
    error: type[ExplainedError] = ExplainedError,
    hint: str | None = None,
    minimum: float | None = None,
    maximum: float | None = None,
) -> int:
    """Return an integer, or refuse what is none or lies outside an interval.

    Parameters
    ----------
    value
        Anything.
    name
        What it is.
    error, hint
        What to raise.
    minimum, maximum
        The ends, which belong to it; None leaves it open.

    Examples
    --------
    >>> require_integer(3, "times", minimum=1)
    3
    """
    for problem in problems_of(value, name, is_whole=True, minimum=minimum, maximum=maximum):
        raise error(f"{problem}.", hint=hint)
    return int(value)


def _wanted(limits: Limits, is_whole: bool) -> str:  # noqa: FBT001
    above, minimum = limits.get("above"), limits.get("minimum")
    below, maximum = limits.get("below"), limits.get("maximum")
    ends = [f"above {_shown(above)}"] if above is not None else []
    if below is not None:
        ends.append(f"below {_shown(below)}")
    if maximum is not None:
        ends.append(f"at most {_shown(maximum)}" if ends else f"of at most {_shown(maximum)}")
    words = " and ".join(ends)
    if minimum is not None:
        words = f"of at least {_shown(minimum)}"
        if maximum is not None:
            words = f"from {_shown(minimum)} to {_shown(maximum)}"
        elif below is not None:
            words = f"from {_shown(minimum)} to below {_shown(below)}"
    is_open = below is None and maximum is None and not limits.get("may_be_infinite")
    kind = "an integer" if is_whole else "a finite number" if is_open else "a number"
    return f"{kind} {words}".rstrip()


def _shown(end: float) -> str:
    if isinstance(end, int):
        return (
            f"2**{end.bit_length() - 1}" if end >= 2**16 and not end & (end - 1) else str(end)
        )
    return f"{end:g}"
