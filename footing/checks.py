"""Whether a number is one that may be used; the same words for it in all packages."""

import math
from collections.abc import Iterable
from decimal import Decimal
from numbers import Integral, Real
from operator import ge, gt, le, lt
from typing import Any, TypeAlias, TypedDict, Unpack

from footing.errors import ExplainedError

_Error: TypeAlias = type[ExplainedError]
_FITS = {"above": gt, "minimum": ge, "below": lt, "maximum": le}
_WORDS = {
    (): "",
    ("above",): " above {}",
    ("minimum",): " of at least {}",
    ("below",): " below {}",
    ("maximum",): " of at most {}",
    ("above", "below"): " above {} and below {}",
    ("above", "maximum"): " above {} and at most {}",
    ("minimum", "below"): " from {} to below {}",
    ("minimum", "maximum"): " from {} to {}",
}


class Limits(TypedDict, total=False):
    """The ends of an interval, which belong to it or not; None for none."""

    above: float | None
    minimum: float | None
    below: float | None
    maximum: float | None
    may_be_infinite: bool


def is_integer(value: object, **limits: Unpack[Limits]) -> bool:
    """Tell whether something is an integer from an interval; truth values are none."""
    if type(value) is not int and (isinstance(value, bool) or not isinstance(value, Integral)):
        return False
    return _is_within(int(value), limits)


def is_number(value: object, **limits: Unpack[Limits]) -> bool:
    """Tell whether something is a number from an interval; truth values are none."""
    if isinstance(value, bool) or not isinstance(value, Real | Decimal):
        return False
    try:
        found = float(value)
    except (OverflowError, ValueError):
        return False
    if math.isnan(found) or (math.isinf(found) and not limits.get("may_be_infinite")):
        return False
    return _is_within(found, limits)


def _is_within(found: float, limits: Limits) -> bool:
    given: dict[str, Any] = {**limits}
    for name, end in given.items():
        if end is not None and name in _FITS and not _FITS[name](found, end):
            return False
    return True


def _ends(limits: Limits) -> dict[str, Any]:
    given = ((name, limits.get(name)) for name in _FITS)
    return {name: end for name, end in given if end is not None}


def problems_of(
    value: object, name: str, *, is_whole: bool = False, **limits: Unpack[Limits]
) -> list[str]:
    """Say what a number must be where it is not, without a full stop; else nothing."""
    if is_integer(value, **limits) if is_whole else is_number(value, **limits):
        return []
    ends = _ends(limits)
    is_open = not ends.keys() & {"below", "maximum"} and not limits.get("may_be_infinite")
    kind = "an integer" if is_whole else "a finite number" if is_open else "a number"
    words = _WORDS[tuple(ends)].format(*map(_shown, ends.values()))
    return [f"{name} must be {kind}{words}, not {value!r:.80}"]


def require_number(
    value: Any,
    name: str,
    *,
    error: _Error = ExplainedError,
    hint: str | None = None,
    **limits: Unpack[Limits],
) -> float:
    """Return a number, or refuse what is none or lies outside an interval."""
    for problem in problems_of(value, name, **limits):
        raise error(f"{problem}.", hint=hint)
    return float(value)


def require_integer(
    value: Any,
    name: str,
    *,
    error: _Error = ExplainedError,
    hint: str | None = None,
    **limits: Unpack[Limits],
) -> int:
    """Return an integer, or refuse what is none or lies outside an interval."""
    for problem in problems_of(value, name, is_whole=True, **limits):
        raise error(f"{problem}.", hint=hint)
    return int(value)


def require_one_of(
    value: object, what: str, known: Iterable[str], *, error: _Error = ExplainedError
) -> None:
    """Refuse what is none of some names."""
    names = list(known)  # what cannot be hashed is none of them either
    if value not in names:
        raise error(f"Unknown {what} {value!r}.", hint=f"known: {', '.join(names)}")


def _shown(end: float) -> str:
    is_power = isinstance(end, int) and end >= 2**16 and not end & (end - 1)
    return f"2**{int(end).bit_length() - 1}" if is_power else f"{end:.15g}"
