"""How the amounts of a table are perturbed: the noise of a variable, and of every one."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, Self, TypeAlias, get_args

from ckm.engine.magnitudes.noise.scale import Base, Flex, Proportional, Scale
from ckm.engine.magnitudes.sensitive.conditions import (
    Condition,
    Dominance,
    FewContributors,
    PPercent,
    PriorPosterior,
)
from ckm.engine.magnitudes.sensitive.named import NamedCell, as_named_cells
from ckm.errors import ConfigError
from footing.checks import is_number, option_of, problems_of, require_number
from footing.messages import Argument, Message, Name, joined
from footing.serialisation import digest_of, plain_fields
from ptable import PTable

Rules: TypeAlias = Literal["ckm", "cellkey", "tauargus"]

_MAX_COMPONENTS = 6
_MAX_DECIMALS = 15

_MOST = 6  # the aggregation finds so many of the largest contributors


@dataclass(frozen=True, slots=True, kw_only=True)
class MagnitudeNoise:
    """State how the totals of a variable are perturbed.

    One step of noise is a share of what it must hide, given by `scale`, and the p-table says
    how many steps. `start` gives a noise to begin with.

    Parameters
    ----------
    ptable
        The p-table of all cells, with steps and anchors; None where `even` and `odd` are given.
    even, odd
        P-tables by the parity of the number of contributors, together and for one component.
    small_cells
        A p-table for cells whose base is below the separation point; its unit is that of the
        amounts.
    rules
        ``"ckm"``, the program's own; ``"cellkey"`` and ``"tauargus"`` repeat other tools, with
        their defects.
    base
        What noise is scaled to: ``"top"``, ``"mean"``, ``"range"`` or ``"sum"``; in sensitive
        cells always each of the three largest contributors.
    factors
        One factor above 0 and at most 1 for each component, of which there are up to six; the
        first is 1. More than one is for the base ``"top"``: the largest contributors.
    scale
        The share of the base that one step is.
    sensitive
        The conditions that make a cell sensitive.
    named_cells
        Further sensitive cells, each by its dimensions and categories:
        ``({"region": "North", "branch": "steel"},)``. Whoever has the same contributors is
        meant, in every table.
    least_noise
        What sensitive cells have more, in steps, in the direction of their noise.
    signed
        Whether the variable may be negative. If so, totals may cross zero; if not, negative
        values are refused and no total becomes negative.
    zero_keys
        Whether records that contribute zero count in the cell key; for other tools' rules.
    jitter
        Whether noise is spread evenly within its step. Without, whole or round amounts of
        single contributors can be found from the digits that are published.
    decimals
        How many decimals are published, -3 for thousands; None for all digits.
    period
        The period that the amounts belong to, such as ``"2027"``. The same contributors have
        another noise in another period: otherwise exact growth rates of single contributors
        are published.
    zero_with_count
        Whether a sum is published as 0 wherever the published count is 0. Then no sum tells
        that somebody is in such a cell, and sums of small cells are too low on average, see
        `zeroed_share`.
    mean_from
        The least published count, or weighted count, of which a mean is published: what one
        or two contributors have on average is not. It changes no noise.
    same_key
        For ``rules="cellkey"``: whether the first component has the cell key as it is.
    key_decimals
        For ``rules="tauargus"``: how many decimals the record keys have.

    Examples
    --------
    >>> from ptable import PTable
    >>> table = PTable(noise=[[0], [-1, 1]], upper=[[8], [4, 8]], key_range=8)
    >>> noise = MagnitudeNoise(ptable=table, scale=Proportional(share=0.2))
    >>> noise.n_components, noise.n_top  # the largest weighted value is always there
    (1, 0)
    """

    scale: Scale
    ptable: PTable | None = None
    even: PTable | None = None
    odd: PTable | None = None
    small_cells: PTable | None = None
    rules: Rules = "ckm"
    base: Base = "top"
    factors: tuple[float, ...] = (1.0,)
    sensitive: tuple[Condition, ...] = ()
    named_cells: tuple[NamedCell | Mapping[str, str], ...] = ()
    least_noise: float = 0.0
    signed: bool = False
    zero_keys: bool = False
    jitter: bool = True
    decimals: int | None = 0
    period: str = ""
    zero_with_count: bool = False
    mean_from: int = 3
    same_key: bool = True
    key_decimals: int = 8

    def __post_init__(self) -> None:
        object.__setattr__(self, "named_cells", as_named_cells(self.named_cells))
        problems = [*self._type_problems()]
        if not problems:
            problems = [*self._range_problems()]
        if not problems:
            problems = [*self._joint_problems()]
        if problems:
            raise ConfigError(
                Message(
                    "The noise of amounts cannot be used: {problems}.",
                    problems=joined("; ", problems),
                ),
                at=option_of(problems[0]),
            )

    @classmethod
    def start(cls, *, spread: float = 0.15, **changes: Any) -> Self:
        """Give a noise to begin with, made for a standard deviation.

        Parameters
        ----------
        spread
            The standard deviation of the noise of a cell that is not sensitive, as a share of
            its largest contributor.
        changes
            Other fields of the noise.

        Notes
        -----
        Unless `changes` says otherwise, the p-table has largest noise 5, variance 2 and two
        steps to the unit. Cells with fewer than three contributors, and those that the p % rule
        with 10 per cent finds, are sensitive; their noise is at least 1.25 units.

        Examples
        --------
        >>> noise = MagnitudeNoise.start(spread=0.15)
        >>> round(noise.scale.small, 4), noise.n_top
        (0.1055, 2)
        """
        from ckm.engine.magnitudes.ptables import magnitude_ptable

        number = require_number(spread, "spread", error=ConfigError, above=0, maximum=1)
        unknown = set(changes) - {entry.name for entry in fields(cls)}
        if unknown:
            raise ConfigError(
                Message(
                    "The noise of amounts has no field {names!r}.", names=Argument(min(unknown))
                )
            )
        settings: dict[str, Any] = {
            "sensitive": (FewContributors(least=3),),
            "least_noise": 1.0,
        }
        if not changes.get("signed"):
            settings["sensitive"] += (PPercent(percent=10),)
        if "ptable" not in changes and "even" not in changes:
            settings["ptable"] = magnitude_ptable()
        settings |= changes
        table = settings.get("ptable") or settings.get("even")
        if "scale" not in settings and isinstance(table, PTable):
            width = 1 / table.step if settings.get("jitter", True) else 0.0
            deviation = math.sqrt(_last_variance(table) + width**2 / 12)
            settings["scale"] = Proportional(share=min(1.0, number / deviation))
        settings.setdefault("scale", Proportional(share=number))
        return cls(**settings)

    @property
    def n_components(self) -> int:
        """How many components the noise has.

        Examples
        --------
        >>> MagnitudeNoise.start(factors=(1.0, 0.5)).n_components
        2
        """
        return len(self.factors)

    @property
    def n_top(self) -> int:
        """How many of the largest contributors the aggregation must deliver.

        Examples
        --------
        >>> MagnitudeNoise.start(factors=(1.0, 0.5, 0.2)).n_top
        3
        """
        is_several = self.n_components > 1 or self.rules != "ckm"
        n_values = self.n_components if self.base == "top" and is_several else 0
        # of sensitive cells the noise is made from the largest contributors
        n_least = 1 if self.sensitive or self.named_cells else 0
        return max([n_values, n_least, *(condition.n_top for condition in self.sensitive)])

    @property
    def fingerprint(self) -> str:
        """A hash of what makes the noise; keep it inside.

        Notes
        -----
        The random numbers of the program's own rules depend on it. Two noises of one amount
        from the same numbers, such as with shares of 0.1 and 0.2, would give the amount away
        to who knows both. Decimals, the period and `zero_with_count` do not count, nor do named
        cells: others keep their random numbers when one is named.

        Examples
        --------
        >>> one = MagnitudeNoise.start()
        >>> one.fingerprint == MagnitudeNoise.start(decimals=-3).fingerprint
        True
        >>> one.fingerprint == MagnitudeNoise.start(spread=0.2).fingerprint
        False
        """
        tables = (self.ptable, self.even, self.odd, self.small_cells)
        content: list[object] = [None if table is None else table.id for table in tables]
        content += [_plain(self.scale), self.base, self.factors, self.least_noise]
        content += [[_plain(condition) for condition in self.sensitive]]
        content += [self.signed, self.jitter]
        return digest_of(content, is_compact=True)

    @property
    def least_share(self) -> float:
        """The least standard deviation of the noise of a sum, as a share of an amount.

        Examples
        --------
        >>> round(MagnitudeNoise.start(spread=0.15).least_share, 4)
        0.15
        """
        tables = [table for table in (self.ptable, self.even, self.odd) if table is not None]
        variance = min(
            _last_variance(table) + (1 / table.step) ** 2 / 12 * self.jitter for table in tables
        )
        share = self.scale.large if isinstance(self.scale, Flex) else self.scale.share
        return float(share * math.sqrt(variance))

    @property
    def separation(self) -> float:
        """The separation point: below it noise comes from the p-table of small cells.

        Notes
        -----
        ``sqrt(V) / (s sqrt(E))``, with V the variance of the last row of that p-table, s the
        share of small amounts and E the sum of the squared factors: there the variances of
        both sides meet.

        Examples
        --------
        >>> MagnitudeNoise.start().separation
        0.0
        """
        if self.small_cells is None:
            return 0.0
        square = sum(factor * factor for factor in self.factors)
        return math.sqrt(_last_variance(self.small_cells) / square) / self.scale.small

    def _type_problems(self) -> Iterator[str]:
        for name in ("ptable", "even", "odd", "small_cells"):
            if not isinstance(getattr(self, name), PTable | None):
                yield Message("{name} must be a p-table", name=Name(name))
        if not isinstance(self.scale, Flex | Proportional):
            yield Message("scale must be Flex or Proportional")
        for name in ("signed", "zero_keys", "jitter", "zero_with_count", "same_key"):
            if not isinstance(getattr(self, name), bool):
                yield Message(
                    "{name} must be True or False, not {getattr!r}",
                    name=Name(name),
                    getattr=Argument(getattr(self, name)),
                )
        for name, words in (("rules", get_args(Rules)), ("base", get_args(Base))):
            if getattr(self, name) not in words:
                yield Message(
                    "{name} must be one of {words}, not {getattr!r}",
                    name=Name(name),
                    words=Name.each(words),
                    getattr=Argument(getattr(self, name)),
                )
        if not isinstance(self.period, str):
            yield Message("period must be text, not {period!r}", period=Argument(self.period))
        kinds = FewContributors | Dominance | PPercent | PriorPosterior
        value: Any = self.sensitive
        if not isinstance(value, tuple) or not all(isinstance(one, kinds) for one in value):
            yield Message("sensitive must be a tuple of conditions")

    def _range_problems(self) -> Iterator[str]:
        if type(self.mean_from) is not int or self.mean_from < 1:
            yield Message(
                "mean_from must be an integer of at least 1, not {value!r}",
                value=Argument(self.mean_from),
            )
        values: Any = self.factors
        is_list = isinstance(values, tuple) and 1 <= len(values) <= _MAX_COMPONENTS
        if not is_list or not all(is_number(v, above=0, maximum=1) for v in values):
            yield Message(
                "factors must be a tuple of 1 to {max_components} numbers in (0, 1]",
                max_components=_MAX_COMPONENTS,
            )
        elif values[0] != 1:
            yield Message(
                "the first of the factors must be 1, not {values!r}", values=Argument(values[0])
            )
        yield from problems_of(self.least_noise, "least_noise", minimum=0)
        for name, least in (("decimals", -_MAX_DECIMALS), ("key_decimals", 1)):
            value = getattr(self, name)
            if name != "decimals" or value is not None:
                yield from problems_of(
                    value, name, is_whole=True, minimum=least, maximum=_MAX_DECIMALS
                )

    def _joint_problems(self) -> Iterator[str]:
        by_parity = self.even is not None and self.odd is not None
        if (self.ptable is None) != by_parity or (self.even is None) != (self.odd is None):
            yield Message("it needs either ptable, or even and odd together")
        for name in ("ptable", "even", "odd", "small_cells"):
            table = getattr(self, name)
            if table is None:
                continue
            if len(table.counts) < 2 or table.counts[0] != 0 or table.large_counts != "last":
                yield Message(
                    "{name} must have a row for 0 and others, the last for all larger ones",
                    name=Name(name),
                )
            elif set(table.units(0)) != {0}:
                yield Message("{name} must leave zero alone", name=Name(name))
        if by_parity and self.n_components > 1:
            yield Message("p-tables by parity are for one component")
        if self.n_components > 1 and self.base != "top":
            yield Message(
                "the base {base!r} has one component, not {n_components}",
                base=Argument(self.base),
                n_components=Argument(self.n_components),
            )
        if self.rules == "ckm":
            yield from self._own_problems()

    def _own_problems(self) -> Iterator[str]:
        if self.zero_keys:
            yield (
                "zero_keys is for other tools' rules: people who contribute zero would change "
                "a total"
            )
        if isinstance(self.scale, Flex) and self.scale.power == 1:
            yield "power must be at least 2: with 1 the share of large amounts grows"
        if self.signed and self.base in ("mean", "sum"):
            yield (
                f"the base {self.base!r} may be 0 for a signed variable whose contributors are "
                "not; use 'top' or 'range'"
            )


def _plain(part: Scale | Condition) -> list[object]:
    return [type(part).__name__, *plain_fields(part).values()]


def _last_variance(table: PTable) -> float:
    units = table.units(int(table.counts[-1]))
    return sum(v * v * n for v, n in units.items()) / table.key_range / table.step**2


class VariableNoises(Mapping[str, MagnitudeNoise]):
    """Variable → how its sums are perturbed; every name has an answer.

    Parameters
    ----------
    given
        One noise for all variables, or variable → noise. Variables that are not named have
        `MagnitudeNoise.start`, whose p-table is built when it is first asked for.
    """

    def __init__(
        self, by_variable: MagnitudeNoise | Mapping[str, MagnitudeNoise] | None
    ) -> None:
        self._common = by_variable if isinstance(by_variable, MagnitudeNoise) else None
        self._own = dict(by_variable) if isinstance(by_variable, Mapping) else {}
        is_sound = by_variable is None or isinstance(by_variable, MagnitudeNoise | Mapping)
        noises = [*self._own.values(), *filter(None, [self._common])]
        are_sound = all(isinstance(name, str) for name in self._own) and all(
            isinstance(noise, MagnitudeNoise) for noise in noises
        )
        if not (is_sound and are_sound):
            raise ConfigError(
                Message("magnitudes must be a MagnitudeNoise, or map variables to one."),
                hint=Message('magnitudes = {"income": MagnitudeNoise.start(spread=0.15)}'),
            )
        for noise in noises:
            if noise.n_top > _MOST:
                raise ConfigError(
                    Message(
                        "The noise of amounts looks at the {n_top} largest contributors of a "
                        "cell; "
                        "at most {most} are found.",
                        n_top=noise.n_top,
                        most=_MOST,
                    ),
                    hint=Message("let dominance look at fewer"),
                )

    @property
    def named(self) -> tuple[str, ...]:
        """The variables that have a noise of their own."""
        return tuple(self._own)

    def period(self, variable: str) -> str:
        """Return the period of a variable, without building a p-table."""
        noise = self._own.get(variable, self._common)
        return "" if noise is None else noise.period

    def __getitem__(self, variable: str) -> MagnitudeNoise:
        if variable in self._own:
            return self._own[variable]
        if self._common is None:
            self._common = MagnitudeNoise.start()
        return self._common

    def __contains__(self, variable: object) -> bool:
        return isinstance(variable, str)

    def __iter__(self) -> Iterator[str]:
        return iter(self._own)

    def __len__(self) -> int:
        return len(self._own)

    def __repr__(self) -> str:
        return f"VariableNoises({', '.join(map(repr, self._own))})"
