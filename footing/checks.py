"""Whether a number is one that may be used; the same words for it in all packages."""

import math
from collections.abc import Iterable
from decimal import Decimal
from numbers import Integral, Real
from operator import ge, gt, le, lt
from typing import Any, TypeAlias, TypedDict, Unpack

from footing.errors import ExplainedError
from footing.messages import Argument, Message, Name, mark, named, said

_Error: TypeAlias = type[ExplainedError]
_FITS = {"above": gt, "minimum": ge, "below": lt, "maximum": le}
_WORDS = {
    (): "",
    ("above",): mark(" above {above}"),
    ("minimum",): mark(" of at least {minimum}"),
    ("below",): mark(" below {below}"),
    ("maximum",): mark(" of at most {maximum}"),
    ("above", "below"): mark(" above {above} and below {below}"),
    ("above", "maximum"): mark(" above {above} and at most {maximum}"),
    ("minimum", "below"): mark(" from {minimum} to below {below}"),
    ("minimum", "maximum"): mark(" from {minimum} to {maximum}"),
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
        number = float(value)
    except (OverflowError, ValueError):
        return False
    if math.isnan(number) or (math.isinf(number) and not limits.get("may_be_infinite")):
        return False
    return _is_within(number, limits)


def _is_within(number: float, limits: Limits) -> bool:
    bounds: dict[str, Any] = {**limits}
    for name, end in bounds.items():
        if end is not None and name in _FITS and not _FITS[name](number, end):
            return False
    return True


def _ends(limits: Limits) -> dict[str, Any]:
    pairs = ((name, limits.get(name)) for name in _FITS)
    return {name: end for name, end in pairs if end is not None}


def problems_of(
    value: object, name: str, *, is_whole: bool = False, **limits: Unpack[Limits]
) -> list[str]:
    """Say what a number must be where it is not, without a full stop; else nothing."""
    if is_integer(value, **limits) if is_whole else is_number(value, **limits):
        return []
    ends = _ends(limits)
    is_open = not ends.keys() & {"below", "maximum"} and not limits.get("may_be_infinite")
    kind = (
        Message("an integer")
        if is_whole
        else Message("a finite number")
        if is_open
        else Message("a number")
    )
    limit = Message(_WORDS[tuple(ends)], **{key: _shown(end) for key, end in ends.items()})
    return [
        Message(
            "{name} must be {kind}{limit}, not {value!r:.80}",
            name=named(name),
            kind=kind,
            limit=limit,
            value=Argument(value),
        )
    ]


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
        raise _refusal(error, problem, hint)
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
        raise _refusal(error, problem, hint)
    return int(value)


def option_of(problem: str) -> tuple[str, ...]:
    """Return the place of the option that one of `problems_of` is about, if that is known."""
    name = problem.values.get("name") if isinstance(problem, Message) else None
    return (name,) if isinstance(name, Name) and name.isidentifier() else ()


def _refusal(error: _Error, problem: str, hint: str | None) -> ExplainedError:
    refusal = error(Message("{problem}.", problem=said(problem)), hint=hint)
    refusal.at = option_of(problem)
    return refusal


def require_one_of(
    value: object, what: str, choices: Iterable[str], *, error: _Error = ExplainedError
) -> None:
    """Refuse what is none of some names."""
    names = list(choices)  # what cannot be hashed is none of them either
    if value not in names:
        raise error(
            Message("Unknown {what} {value!r}.", what=named(what), value=Argument(value)),
            hint=Message("known: {names}", names=Name.each(names)),
        )


def _shown(end: float) -> Message:
    if isinstance(end, int) and end >= 2**16 and not end & (end - 1):
        return Message("2**{power}", power=end.bit_length() - 1)
    return Message("{end:.15g}", end=end)
