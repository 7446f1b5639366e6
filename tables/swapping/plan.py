"""What a swap is asked to do, checked before the records are read."""

import hashlib
import itertools
from dataclasses import dataclass

import numpy as np

from footing.checks import problems_of, require_integer
from footing.messages import Message, Name, Shape, joined, said
from tables.errors import RequestError
from tables.secret import Secret
from tables.source.source import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class SwapPlan:
    """Which columns say what, and how much is swapped.

    Parameters
    ----------
    household
        The household's identifier, integers or texts.
    geography
        The columns of geography, from broad to fine.
    risk
        The columns whose combinations make a record easy to find.
    similar
        Profiles, tried in turn: sets of columns in which both households must agree.
    k
        A household of which fewer than `k` records of an area look like a member must move.
    rate
        The least share of households that move.
    any_size
        Whether the last resort is a household of another size.
    carry_along
        Further columns that change places with the geography.
    risk_values
        Columns of risks that somebody else computed, in the place of `risk`: one for all levels
        of geography, or one for each.
    risk_threshold
        A household of which a member has this risk or more must move.
    """

    household: str
    geography: tuple[str, ...]
    risk: tuple[str, ...]
    similar: tuple[tuple[str, ...], ...]
    k: int
    rate: float
    any_size: bool = False
    carry_along: tuple[str, ...] = ()
    risk_values: tuple[str, ...] = ()
    risk_threshold: float | None = None

    def __post_init__(self) -> None:
        problems = problems_of(self.k, "k", is_whole=True, minimum=0)
        problems += problems_of(self.rate, "rate", minimum=0, maximum=1)
        problems += self._wrong_columns() + self._wrong_risks()
        if problems:
            raise RequestError(
                Message(
                    "Records cannot be swapped so: {problems}.", problems=joined("; ", problems)
                ),
                hint=Message(
                    'as in household="home", geography=["region", "town"], risk=["age"], '
                    'similar=[["type"], []], k=3, rate=0.05'
                ),
            )

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that are read, each once."""
        names = [self.household, *self.geography, *self.risk]
        names += [*self.carry_along, *self.risk_values]
        names += [column for profile in self.similar for column in profile]
        return tuple(dict.fromkeys(names))

    @property
    def limit(self) -> float:
        """What is rarer must move: fewer alike records, or one over a higher risk."""
        if self.risk_threshold is None:
            return self.k
        return float(np.nextafter(1 / self.risk_threshold, np.inf))

    def require_fit(self, source: Source) -> None:
        """Raise unless the source has all columns, of types that can be used."""
        problems = [problem for name in self.columns if (problem := source.problem_of(name))]
        if problems:
            raise RequestError(
                joined("\n", [text for text, _ in problems]), hint=problems[0][1]
            )
        if source.kinds[self.household] not in {"integer", "text"}:
            raise RequestError(
                Message(
                    "The household {household!r} must hold integers or texts.",
                    household=Name(self.household),
                ),
                hint=Message("a rounded or reformatted number is no stable identifier"),
            )
        for name in self.risk_values:
            if (wrong := source.number_problem(name)) is not None:
                raise RequestError(
                    Message(
                        "The risk {name!r} must hold numbers. {wrong}",
                        name=Name(name),
                        wrong=said(wrong[0]),
                    ),
                    hint=wrong[1] or None,
                )

    def _wrong_columns(self) -> list[str]:
        problems: list[str] = [
            Message("{what} must name at least one column", what=said(what))
            for what, columns in (
                ("geography", self.geography),
                ("risk", self.risk or self.risk_values),
            )
            if not columns
        ]
        if not self.similar:
            problems.append(
                Message("similar must hold at least one profile, which may be empty")
            )
        fixed = [self.household, *self.geography]
        if len(set(fixed)) < len(fixed):
            problems.append(Message("household and geography must name each column once"))
        problems += [
            Message(
                "{name!r} changes places already or says who is alike, and cannot be "
                "carried along",
                name=Name(name),
            )
            for name in self.carry_along
            if name in {*fixed, *self.risk, *itertools.chain(*self.similar)}
        ]
        for profile in (self.risk, *self.similar):
            problems += [
                Message(
                    "{name!r} is geography or the household and cannot say what is alike",
                    name=Name(name),
                )
                for name in profile
                if name in fixed
            ]
        if self.risk and any(set(self.risk) <= set(profile) for profile in self.similar):
            problems.append(
                Message(
                    "a profile must leave out some of the risk columns: who moves to the place "
                    "of a double has not moved"
                )
            )
        return problems

    def _wrong_risks(self) -> list[str]:
        """Tell what contradicts itself in risks that are given."""
        if not self.risk_values and self.risk_threshold is None:
            return []
        problems = problems_of(self.risk_threshold, "risk_threshold", minimum=0)
        if self.risk_threshold == 0:
            problems.append(Message("risk_threshold must be above 0"))
        if self.risk:
            problems.append(Message("risk and risk_values cannot both say who is at risk"))
        if len(self.risk_values) not in {1, len(self.geography)}:
            problems.append(
                Message("risk_values must name one column, or one for each geography")
            )
        return problems


def draw_secret(seed: int | None, secret: Secret | None) -> Secret:
    """Derive what the household's draws are made from."""
    if (seed is None) == (secret is None):
        raise RequestError(
            Message("A swap needs a seed or a secret, and not both."),
            hint=Message("with a secret, others cannot draw the same households"),
        )
    if secret is not None:
        return Secret(secret.derive("ckm record swapping v1"))
    require_integer(seed, Message("The seed"), error=RequestError, minimum=0)
    return Secret(hashlib.sha256(f"ckm record swapping v1|{seed}".encode()).digest())


def read_columns(value: object, *, name: str) -> tuple[str, ...]:
    """Read a list of columns; a text alone is one that was meant as a list."""
    if not isinstance(value, list | tuple) or not all(
        isinstance(column, str) for column in value
    ):
        raise RequestError(
            Message(
                "{name} must be a list of columns, not {type_name}.",
                name=Name(name),
                type_name=Shape(type(value)),
            ),
            hint=Message('as in geography=["region", "town"], similar=[["type"], []]'),
        )
    return tuple(value)


def read_profiles(value: object) -> tuple[tuple[str, ...], ...]:
    """Read a list of lists of columns."""
    if not isinstance(value, list | tuple):
        read_columns(value, name="similar")
        return ()
    return tuple(
        read_columns(profile, name=Message("a profile of similar")) for profile in value
    )
