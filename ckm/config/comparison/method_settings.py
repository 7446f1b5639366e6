"""Which methods are compared, with which parameters, and on what."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from ckm.errors import ConfigError

__all__ = ["DEFAULTS", "KINDS", "Experiment", "MethodChoice", "choose_methods"]

Simple: TypeAlias = Literal["yes", "no"]

_Check: TypeAlias = Callable[[object], bool]


def _whole(least: int, most: int) -> _Check:
    return lambda v: type(v) is int and least <= v <= most


def _number(least: float, most: float, *, open_: bool = False) -> _Check:
    def fits(value: object) -> bool:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        return (
            math.isfinite(value) and least <= value <= most and not (open_ and value == least)
        )

    return fits


def _one_of(*words: str) -> _Check:
    return lambda v: isinstance(v, str) and v in words


def _texts(value: object) -> bool:
    return isinstance(value, tuple) and all(isinstance(v, str) and v != "" for v in value)


#: Parameter → what it must be in words, and whether a value is that.
_PARAMETERS: Mapping[str, tuple[str, _Check]] = MappingProxyType(
    {
        "base": ("a whole number from 2 to 1000", _whole(2, 1000)),
        "epsilon": ("a number above 0, at most 100", _number(0, 100, open_=True)),
        "max_noise": ("a whole number from 1 to 1000", _whole(1, 1000)),
        "keys": ('"fresh" or "cell"', _one_of("fresh", "cell")),
        "k": ("a whole number from 0 to 1000", _whole(0, 1000)),
        "rate": ("a number from 0 to 1", _number(0, 1)),
        "household": ("the name of a column", lambda v: isinstance(v, str) and v != ""),
        "risk": ("a list of dimensions", lambda v: _texts(v) and v != ()),
        "least": ("a whole number from 2 to 1000", _whole(2, 1000)),
        "search": (
            '"auto", "exact", "sequential" or "hypercube"',
            _one_of("auto", "exact", "sequential", "hypercube"),
        ),
        "limit_s": ("a number of seconds above 0", _number(0, 3600, open_=True)),
        "most_cells": ("a whole number from 4 to 100000", _whole(4, 100_000)),
        "others": ('"refused" or "alone"', _one_of("refused", "alone")),
        "bound": ("a number of 0 or more", _number(0, 1e9)),
        "threshold": ("a whole number from 1 to 4", _whole(1, 4)),
        "smallest": ("a whole number from 1 to 1000", _whole(1, 1000)),
        "path": (
            "the path of a file",
            lambda v: isinstance(v, Path) or (isinstance(v, str) and v != ""),
        ),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kind:
    """What a kind of method takes, and what it takes where nothing is said."""

    simple: Simple
    defaults: Mapping[str, Any] = field(default_factory=dict)
    optional: tuple[str, ...] = ()
    required: tuple[str, ...] = ()

    @property
    def parameters(self) -> tuple[str, ...]:
        return (*self.defaults, *self.optional, *self.required)


#: Kind → its parameters; whether it is simple to run is a word that we answer for.
KINDS: Mapping[str, _Kind] = MappingProxyType(
    {
        "exact": _Kind(simple="yes"),
        "small-count-rounding": _Kind(simple="yes", defaults={"base": 3, "keys": "fresh"}),
        "rounding": _Kind(simple="yes", defaults={"base": 5}),
        "random-rounding": _Kind(simple="yes", defaults={"base": 5, "keys": "fresh"}),
        "discrete-laplace": _Kind(
            simple="no", defaults={"epsilon": 1.0, "max_noise": 20, "keys": "fresh"}
        ),
        "swapping": _Kind(
            simple="no", defaults={"k": 3, "rate": 0.05}, optional=("household", "risk")
        ),
        "suppression": _Kind(
            simple="no",
            defaults={
                "search": "hypercube",
                "limit_s": 20.0,
                "most_cells": 1_000,
                "others": "refused",
            },
            optional=("least",),
        ),
        "synthetic": _Kind(simple="no", required=("path",)),
        "cell-key": _Kind(simple="yes"),
        "cell-key-additive": _Kind(simple="no", optional=("bound",)),
        "cell-key-ledger": _Kind(simple="no", optional=("threshold", "smallest")),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodChoice:
    """A method with its parameters; those that are not given have their defaults.

    Parameters
    ----------
    name
        What it is called.
    kind
        One of `KINDS`.
    parameters
        Name → value. A path is a `pathlib.Path`, a list a tuple.
    simple
        Whether it is simple to run: a word that somebody answers for.

    Raises
    ------
    ConfigError
        If the kind or a parameter is unknown, or a value cannot be meant.

    Examples
    --------
    >>> dict(MethodChoice(name="ours", kind="rounding").parameters)
    {'base': 5}
    """

    name: str
    kind: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    simple: Simple | None = None

    def __post_init__(self) -> None:
        if not _one_of(*KINDS)(self.kind):
            raise ConfigError(
                f"There is no method {self.kind!r}.", hint=f"one of {', '.join(KINDS)}"
            )
        kind = KINDS[self.kind]
        given = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in self.parameters.items()
        }
        problems = [*self._unknown(kind, given), *self._wrong(given)]
        problems += [f"{name} is missing" for name in kind.required if name not in given]
        if self.simple is not None and not _one_of("yes", "no")(self.simple):
            problems.append('simple must be "yes" or "no"')
        if problems:
            known = ", ".join((*kind.parameters, "simple"))
            raise ConfigError(
                f"The method {self.name!r} cannot be used: {'; '.join(problems)}.",
                hint=f"{self.kind} takes {known}",
            )
        object.__setattr__(self, "parameters", {**kind.defaults, **given})
        object.__setattr__(self, "simple", self.simple or kind.simple)

    @staticmethod
    def _unknown(kind: _Kind, given: Mapping[str, object]) -> list[str]:
        return [f"it has no {name!r}" for name in given if name not in kind.parameters]

    @staticmethod
    def _wrong(given: Mapping[str, object]) -> list[str]:
        return [
            f"{name} must be {_PARAMETERS[name][0]}"
            for name, value in given.items()
            if name in _PARAMETERS and not _PARAMETERS[name][1](value)
        ]


#: The methods that are compared where nothing is said, exact counts first, as the control.
DEFAULTS: Mapping[str, MethodChoice] = MappingProxyType(
    {
        name: MethodChoice(name=name, kind=kind, parameters=parameters)
        for name, kind, parameters in (
            ("exact", "exact", {}),
            ("small-count-rounding", "small-count-rounding", {}),
            ("rounding", "rounding", {}),
            ("random-rounding", "random-rounding", {}),
            ("random-rounding-keyed", "random-rounding", {"keys": "cell"}),
            ("discrete-laplace", "discrete-laplace", {}),
            ("discrete-laplace-keyed", "discrete-laplace", {"keys": "cell"}),
            ("swapping", "swapping", {}),
            ("suppression", "suppression", {}),
            ("suppression-alone", "suppression", {"others": "alone"}),
            ("cell-key", "cell-key", {}),
            ("cell-key-additive", "cell-key-additive", {}),
            ("cell-key-ledger", "cell-key-ledger", {}),
        )
    }
)


def choose_methods(
    chosen: Mapping[str, MethodChoice], *, only: tuple[str, ...] = ()
) -> dict[str, MethodChoice]:
    """Put chosen methods in place of the defaults of their names, or beside them.

    Parameters
    ----------
    chosen
        Name → method.
    only
        The names to keep; all by default.

    Raises
    ------
    ConfigError
        If a name is none of them.

    Examples
    --------
    >>> list(choose_methods({}, only=("rounding", "cell-key")))
    ['rounding', 'cell-key']
    """
    found = {**DEFAULTS, **chosen}
    unknown = [name for name in only if name not in found]
    if unknown:
        raise ConfigError(
            f"There is no method {unknown[0]!r}.", hint=f"one of {', '.join(found)}"
        )
    return {name: found[name] for name in dict.fromkeys(only)} if only else found


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """What the methods are tried on.

    Parameters
    ----------
    geography
        The dimension of areas; by default one that the job calls an area, else the first
        hierarchy of its tables, else the first dimension.
    target
        The dimension that an intruder wants to know; by default the last one of the first
        table with areas that is none.
    areas
        Further dimensions that move with a household that is swapped.
    most_records, most_areas
        The size of the sample.
    persons
        How many persons are sought.
    seed
        Of all that is drawn.

    Raises
    ------
    ConfigError
        If a number is out of range.

    Examples
    --------
    >>> Experiment(persons=50).most_records
    20000
    """

    geography: str | None = None
    target: str | None = None
    areas: tuple[str, ...] = ()
    most_records: int = 20_000
    most_areas: int = 100
    persons: int = 200
    seed: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "areas", tuple(self.areas))
        bounds = {
            "most_records": (1, 1_000_000),
            "most_areas": (1, 10_000),
            "persons": (1, 10_000),
            "seed": (0, 2**63 - 1),
        }
        problems = [
            f"{name} must be a whole number from {least:,} to {most:,}"
            for name, (least, most) in bounds.items()
            if not _whole(least, most)(getattr(self, name))
        ]
        names: list[tuple[str, object]] = [
            ("geography", self.geography),
            ("target", self.target),
        ]
        problems += [
            f"{name} must be the name of a dimension"
            for name, value in names
            if not (value is None or (isinstance(value, str) and value != ""))
        ]
        if not _texts(self.areas):
            problems.append("areas must be a list of dimensions")
        if problems:
            raise ConfigError("The experiment cannot be made: " + "; ".join(problems) + ".")
