"""Equations of indicators, such as turnover = costs + profit: columns that tell of others."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from ckm.engine.request import variable_of
from ckm.errors import ConfigError
from footing.messages import Message, Name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ckm.engine.request import TableRequest
    from ckm.methods.settings import LinkSetting
    from tables.source.source import Source

_SIGN = re.compile(r"\s+([=+\-\N{MINUS SIGN}])\s+")
_LONE_SIGN = re.compile(r"(^|\s)[=+\-\N{MINUS SIGN}](\s|$)")
#: Equations of fewer records that have other numbers than 0 are chance.
_LEAST_RECORDS = 5
#: Among more variables no equations are looked for, and none of four terms.
_MOST_VARIABLES, _MOST_OF_FOUR = 12, 7
#: What rounding errors of sums of floats are, as a share of the terms.
_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Equation:
    """Variables of which every record has so much that, each with its sign, they make 0.

    Parameters
    ----------
    weights
        Each variable with 1 or -1.
    status
        Whether the office stated it, denied it, or the records alone show it.
    is_exact
        Whether all records fulfil it; None where nobody looked.
    """

    weights: tuple[tuple[str, int], ...]
    status: Literal["stated", "denied", "seen"] = "seen"
    is_exact: bool | None = None

    @classmethod
    def parse(cls, text: str) -> Equation:
        """Read ``"turnover = costs + profit"``.

        Raises
        ------
        ConfigError
            If it is no equation of different variables.

        Examples
        --------
        >>> str(Equation.parse("profit = turnover - costs"))
        'turnover = costs + profit'
        """
        first, *rest = _SIGN.split(text.strip())
        signs, names = ["+", *rest[::2]], [first, *rest[1::2]]
        is_right = signs.count("=") == 1 and len(set(names)) == len(names)
        if not is_right or any(not name or _LONE_SIGN.search(name) for name in names):
            raise ConfigError(
                Message("The equation {text!r} cannot be read.", text=Name(text)),
                hint=Message(
                    'written "turnover = costs + profit", with blanks around each sign and '
                    "each variable once"
                ),
            )
        equals = signs.index("=")
        weights = [
            (1 if sign in "=+" else -1) * (1 if place < equals else -1)
            for place, sign in enumerate(signs)
        ]
        return cls(weights=tuple(zip(names, weights, strict=True)))

    @classmethod
    def stated(cls, links: Sequence[LinkSetting]) -> Iterator[Equation]:
        """Yield what the office states or denies."""
        for link in links:
            if link.equation is not None:
                status: Literal["stated", "denied"] = "stated" if link.holds else "denied"
                yield replace(cls.parse(link.equation), status=status)

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables."""
        return tuple(name for name, _ in self.weights)

    @property
    def is_applied(self) -> bool:
        """Whether readers are taken to know it."""
        return self.status != "denied"

    @property
    def terms(self) -> frozenset[tuple[str, int]]:
        """What is the same for each way to write it."""
        sign = dict(self.weights)[min(self.variables)]
        return frozenset((name, weight * sign) for name, weight in self.weights)

    def __str__(self) -> str:
        sides = [sorted(n for n, weight in self.weights if weight == w) for w in (1, -1)]
        return " = ".join(" + ".join(side) for side in sorted(sides, key=lambda s: (len(s), s)))


def known_equations(
    source: Source, summed: Sequence[str], links: Sequence[LinkSetting]
) -> tuple[Equation, ...]:
    """Return what the office states or denies, and what else the records show.

    Parameters
    ----------
    source
        The records.
    summed
        The variables that tables add up.
    links
        What the office says.
    """
    stated = list(Equation.stated(links))
    own = {equation.terms for equation in stated}
    candidates = [*stated]
    if len(summed) <= _MOST_VARIABLES:
        candidates += [e for e in _candidates(summed) if e.terms not in own]
    exact = _exact(source, candidates)
    exact_equations = [
        replace(equation, is_exact=is_exact)
        for equation, is_exact in zip(candidates, exact, strict=True)
        if is_exact or equation.status != "seen"
    ]
    return tuple(_without_consequences(exact_equations))


def _candidates(variables: Sequence[str]) -> Iterator[Equation]:
    """Yield equations of two variables and three, and of four where these are few."""
    most = 4 if len(variables) <= _MOST_OF_FOUR else 3
    for size in range(2, most + 1):
        for names in itertools.combinations(sorted(variables), size):
            for signs in itertools.product((1, -1), repeat=size - 1):
                if -1 in signs:  # amounts of one sign alone make no 0
                    yield Equation(weights=tuple(zip(names, (1, *signs), strict=True)))


def _exact(source: Source, equations: Sequence[Equation]) -> list[bool]:
    """Tell which equations all records fulfil, some of them with numbers other than 0."""
    names = list(dict.fromkeys(n for equation in equations for n in equation.variables))
    if not equations:
        return []
    for name in names:
        source.require(name)
    number = {name: f"CAST({source.number_sql(name)} AS DOUBLE)" for name in names}
    filled = [f"count(*) FILTER (WHERE {number[name]} <> 0)" for name in names]
    holds = [f"coalesce(bool_and({_holds(equation, number)}), false)" for equation in equations]
    sql = f"SELECT {', '.join(filled + holds)} FROM {source.relation}"  # noqa: S608
    (answers,) = source.fetch(sql)
    is_filled = {
        name: n >= _LEAST_RECORDS for name, n in zip(names, answers[: len(names)], strict=True)
    }
    return [
        bool(holds) and all(is_filled[name] for name in equation.variables)
        for equation, holds in zip(equations, answers[len(names) :], strict=True)
    ]


def _holds(equation: Equation, number: Mapping[str, str]) -> str:
    """Write that a record fulfils an equation; one without any of its numbers does."""
    terms = [(number[name], weight) for name, weight in equation.weights]
    total = " + ".join(f"({weight}) * {sql}" for sql, weight in terms)
    size = " + ".join(f"abs({sql})" for sql, _ in terms)
    absent = " AND ".join(f"{sql} IS NULL" for sql, _ in terms)
    is_near = f"abs({total}) <= {_TOLERANCE} * ({size})"
    return f"CASE WHEN {absent} THEN true ELSE coalesce({is_near}, false) END"


def _without_consequences(equations: Iterable[Equation]) -> Iterator[Equation]:
    """Leave out what follows from shorter ones, of variables that are always the same."""
    same: dict[str, str] = {}
    terms: set[frozenset[tuple[str, int]]] = set()
    for equation in equations:
        names = [same.get(name, name) for name in equation.variables]
        weights = dict.fromkeys(names, 0)
        for name, (_, weight) in zip(names, equation.weights, strict=True):
            weights[name] += weight
        short = tuple((name, weight) for name, weight in weights.items() if weight)
        is_new = len(short) > 1 and Equation(weights=short).terms not in terms
        if equation.status != "seen" or is_new:
            yield equation
        if len(short) > 1 and all(abs(weight) == 1 for _, weight in short):
            terms.add(Equation(weights=short).terms)
        if len(short) == 2 and equation.is_applied:
            (first, _), (second, _) = short
            same[second] = first


def implied_sums(
    equations: Iterable[Equation], tables: Mapping[str, TableRequest]
) -> dict[str, tuple[str, ...]]:
    """Return for each table the variables whose sums its others tell, by equations that hold.

    Parameters
    ----------
    equations
        What readers are taken to know; denied ones play no part.
    tables
        What tables show.

    Examples
    --------
    >>> from ckm.engine.request import TableRequest
    >>> both = TableRequest(dimensions=["region"], measures=["sum:costs", "sum:profit"])
    >>> implied_sums([Equation.parse("turnover = costs + profit")], {"costs": both})
    {'costs': ('turnover',)}
    """
    applied = [equation for equation in equations if equation.is_applied]
    more = {}
    for name, request in tables.items():
        summed = {
            str(variable_of(measure))
            for measure in request.measures
            if measure.startswith(("sum:", "mean:"))
        }
        new = dict[str, None]()
        is_larger = True
        while is_larger:
            lacking = [{*e.variables} - summed - {*new} for e in applied]
            names = sorted({one for missing in lacking if len(missing) == 1 for one in missing})
            new |= dict.fromkeys(names)
            is_larger = bool(names)
        if new:
            more[name] = tuple(new)
    return more
