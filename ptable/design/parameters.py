"""What each mechanism takes, and whether it was given that."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from footing.checks import problems_of
from ptable.errors import PTableError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_MAX_ROWS = 10_000
_MAX_NOISE = 1000
_NEEDED = object()
_NOISE = {"max_noise": _NEEDED, "edge": "clamp", "zeros": "noise"}
#: The parameters of each mechanism, with what it takes by itself.
_PARAMETERS: dict[str, dict[str, Any]] = {
    "rounding": {"base": _NEEDED, "ties": "up", "threshold": 0},
    "random-rounding": {"base": _NEEDED},
    "small-count-rounding": {"base": _NEEDED},
    "discrete-laplace": {"epsilon": _NEEDED, **_NOISE},
    "discrete-gaussian": {"variance": _NEEDED, **_NOISE},
}


def parameters_of(name: object) -> tuple[str, ...]:
    """Name the parameters of a mechanism."""
    if not isinstance(name, str) or name not in _PARAMETERS:
        raise PTableError(f"name must be one of {', '.join(_PARAMETERS)}, not {name!r}.")
    return tuple(_PARAMETERS[name])


def checked_parameters(name: object, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a mechanism's parameters as plain values, complete and checked."""
    known = parameters_of(name)
    problems = [
        f"{parameter} is none of its parameters"
        for parameter, value in given.items()
        if value is not None and parameter not in known
    ]
    values: dict[str, Any] = {}
    for parameter in known:
        value = given.get(parameter)
        if value is None:
            value = _PARAMETERS[str(name)][parameter]
        if value is _NEEDED:
            problems.append(f"{parameter} is missing")
            continue
        check, cast = _CHECKS[parameter]
        wrong = check(value, parameter)
        problems += wrong
        if not wrong:
            values[parameter] = cast(value)
    if problems:
        raise PTableError(
            f"The mechanism {name} cannot be used: {'; '.join(problems)}.",
            hint=f"its parameters are {', '.join(known)}",
        )
    return values


_Check: TypeAlias = "Callable[[Any, str], list[str]]"


def _integer_check(minimum: int, maximum: int) -> _Check:
    return partial(problems_of, is_whole=True, minimum=minimum, maximum=maximum)


def _word_check(*words: str) -> _Check:
    def problems(value: Any, name: str) -> list[str]:
        if isinstance(value, str) and value in words:
            return []
        return [f"{name} must be one of {', '.join(words)}, not {value!r}"]

    return problems


_POSITIVE = partial(problems_of, above=0)
_CHECKS: dict[str, tuple[_Check, Callable[[Any], Any]]] = {
    "base": (_integer_check(2, _MAX_ROWS), int),
    "ties": (_word_check("up", "down", "even"), str),
    "threshold": (_integer_check(0, _MAX_ROWS), int),
    "epsilon": (_POSITIVE, float),
    "variance": (_POSITIVE, float),
    "max_noise": (_integer_check(1, _MAX_NOISE), int),
    "edge": (_word_check("clamp", "fold", "truncate"), str),
    "zeros": (_word_check("noise", "keep"), str),
}
