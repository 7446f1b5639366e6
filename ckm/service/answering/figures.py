"""Figures of a table's published numbers: percentages, differences, indices, ranks, rates.

A figure is computed from the numbers of the table that a caller could ask for beside it: the
categories that it is compared with are added to the query, pass the same rules and have the
same noise, and are left out again. Nothing is drawn or counted for it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast, get_args

import numpy as np

from ckm.engine.published_table import PublishedTable
from ckm.formats.content import hidden, masked
from ckm.service.answering.cells.lru_cache import digest_of
from ckm.service.answering.messages import ClientError, bad_request
from ckm.service.answering.query import Query, Selection
from ckm.service.answering.zones import Zone, ZonedVariable
from risk.inference.exact_margins import EXACT_LEVELS, ExactMargin

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping, Sequence

    from numpy.typing import NDArray

    from ckm.config.service.sections import ServiceRate
    from ckm.service.answering.answer import Answer
    from ckm.service.answering.variables import Variable
    from ptable.table import PTable
    from risk.inference.public_margins import PublicMargin

    Margin: TypeAlias = PublicMargin | ExactMargin

Kind: TypeAlias = Literal["count", "share", "difference", "index", "rank", "rate"]

#: Which intervals figures have: those of a service for everybody, or exact ones for officers.
MARGINS = ("public", "exact")

#: The figures of every table, beside the rates of the service.
KINDS: tuple[Kind, ...] = tuple(kind for kind in get_args(Kind) if kind != "rate")
#: Those that are against a category.
WITH_BASE: tuple[Kind, ...] = ("difference", "index")

_MAX_ZONES = 100
_HUNDRED = 100.0
_DEFAULT_LEVEL = 95.0  # of exact intervals
_DIGITS = 6  # of figures in files; ends of intervals have fewer


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """What is computed of each published number.

    Parameters
    ----------
    kind
        ``count`` is the number itself, with its margin.
    of
        The variables over which shares have their whole, all by default; the one variable
        whose categories are compared or ranked.
    base
        The category that differences and indices are against.
    rate
        The rate of the service file.
    """

    kind: Kind
    of: tuple[str, ...] = ()
    base: str = ""
    rate: str = ""

    @property
    def measures(self) -> tuple[str, str, str]:
        """The columns of a file: the figure, and the ends of its interval."""
        name = self.rate or self.kind
        return name, f"{name}_low", f"{name}_high"


@dataclass(frozen=True, slots=True, kw_only=True)
class Derivation:
    """A figure of a query, or zones that its areas are added up to, or both.

    Parameters
    ----------
    query
        What is shown.
    figure, zones
        What is made of it.
    level
        How often, in per cent, exact intervals hold; None for the margin that everybody sees.
    """

    query: Query
    figure: Figure | None = None
    zones: tuple[Zone, ...] = ()
    level: float | None = None

    @property
    def digest(self) -> bytes:
        """A short key that equal derivations share."""
        return digest_of(self.query.digest, self.figure, self.zones, self.level)


class Deriver:
    """Widens queries by what figures and zones need, and makes figures of their answers.

    Parameters
    ----------
    variables
        The variables that are offered.
    area
        The variable of areas.
    rates
        The rates that the service declares.
    margin
        The margin of published counts, where the service tells it.
    ptable
        The p-table of counts, for exact intervals; None where noises are not independent.
    """

    def __init__(
        self,
        variables: Mapping[str, Variable],
        *,
        area: str | None,
        rates: Mapping[str, ServiceRate],
        margin: PublicMargin | None,
        ptable: PTable | None = None,
    ) -> None:
        self._variables, self._area = variables, area
        self._rates, self.margin, self._ptable = rates, margin, ptable

    def derivation(
        self,
        query: Query,
        *,
        figure: str | None = None,
        of: Sequence[str] = (),
        base: str | None = None,
        zone: str | None = None,
        zones: Mapping[str, Sequence[str]] | None = None,
        margin: str | None = None,
        level: float | str | None = None,
    ) -> Query | Derivation:
        """Return what is asked for, in the words of requests.

        Parameters
        ----------
        query
            The table.
        figure, of, base
            What is made of its numbers, see `Figure`.
        zone
            The name under which the areas of the query are added up.
        zones
            Name → the codes of areas, beside those of the query.
        margin, level
            One of `MARGINS`, by default those for everybody; how often exact ones hold, in
            per cent, 95 by default.
        """
        exact = _exact_level(margin, level)
        query, own_zones = self._zones(query, zone, zones or {})
        if figure is None and (of or base):
            raise ClientError("bad_parameter", name="of" if of else "base")
        own = None if figure is None else self._figure(figure, of, base, query=query)
        if exact is not None:
            own = own or Figure(kind="count")
            if query.measures != ("count",):
                raise bad_request("exact_counts")
        if own is None and not own_zones:
            return query
        return Derivation(query=query, figure=own, zones=tuple(own_zones), level=exact)

    @property
    def has_exact_margins(self) -> bool:
        """Whether there can be exact intervals: they need independent noises."""
        return self._ptable is not None

    def _zones(
        self, query: Query, zone: str | None, zones: Mapping[str, Sequence[str]]
    ) -> tuple[Query, list[Zone]]:
        """Return the zones of a request, and the query without the areas of the first."""
        own_zones = []
        if zone is not None:
            query, areas = self._without_areas(query)
            own_zones.append(self.zone_of(zone, areas))
        for name, codes in zones.items():
            own_zones.append(self.zone_of(name, self._ranks_of(codes)))
        if len(own_zones) > _MAX_ZONES:
            raise bad_request("zones_many", limit=_MAX_ZONES)
        names = [one.name for one in own_zones]
        for name in names:
            if names.count(name) > 1:
                raise bad_request("zones_collide", name=name)
        if own_zones and query.margins is not None:
            raise bad_request("figure_margins")
        if own_zones and len(query.measures) > 1:
            raise bad_request("figure_measures")
        return query, own_zones

    def _without_areas(self, query: Query) -> tuple[Query, tuple[int, ...]]:
        """Take the areas out of a query, but for the total of all."""
        selection = next((s for s in query.selections if s.variable == self._area), None)
        if self._area is None:
            raise bad_request("no_areas")
        if selection is None:
            raise bad_request("zone_area", name=self._label(self._area))
        areas = tuple(rank for rank in selection.ranks if rank)
        totals = Selection(
            variable=self._area, ranks=tuple(rank for rank in selection.ranks if not rank)
        )
        selections = tuple(totals if s is selection else s for s in query.selections)
        return replace(query, selections=selections), areas

    def _ranks_of(self, codes: Sequence[str]) -> list[int]:
        if self._area is None:
            raise bad_request("no_areas")
        variable, ranks = self._variables[self._area], []
        for code in codes:
            rank = variable.rank(code)
            if rank is None:
                raise ClientError("no_category", variable=variable.name, name=code)
            ranks.append(rank)
        return ranks

    def _figure(
        self, name: str, of: Sequence[str], base: str | None, *, query: Query
    ) -> Figure:
        """Read a figure as a request names it; raise where the query has none such."""
        variables = [selection.variable for selection in query.selections]
        kinds = [*KINDS, *self._rates]
        if name not in kinds:
            raise ClientError("no_figure", name=name, choices=kinds, listed=", ".join(kinds))
        if query.margins is not None:
            raise bad_request("figure_margins")
        for variable in of:
            if variable not in variables:
                raise ClientError("no_variable", name=variable, choices=variables)
        if name in self._rates:
            return self._rate_figure(self._rates[name], of, base, query=query)
        kind = cast("Kind", name)
        if len(query.measures) > 1:
            raise bad_request("figure_measures")
        if {*Figure(kind=kind).measures}.intersection(variables):
            raise bad_request("figure_name", name=name)
        return self._plain_figure(kind, tuple(of), base, shown=tuple(variables))

    def _plain_figure(
        self, kind: Kind, of: tuple[str, ...], base: str | None, *, shown: tuple[str, ...]
    ) -> Figure:
        """Read a figure of one cell and another."""
        if (base is None) == (kind in WITH_BASE) or (kind == "count" and of):
            raise bad_request("figure_base" if kind in WITH_BASE else "figure_no_base")
        if kind == "share":
            return Figure(kind=kind, of=of or shown)
        if kind == "count":
            return Figure(kind=kind)
        if len(of) != 1:
            raise bad_request("figure_of_one")
        if base is not None and self._variables[of[0]].chosen(base) is None:
            codes = self._variables[of[0]].codes[:5000]
            raise ClientError("no_category", variable=of[0], name=base, choices=codes)
        return Figure(kind=kind, of=of, base=base or "")

    def _rate_figure(
        self, rate: ServiceRate, of: Sequence[str], base: str | None, *, query: Query
    ) -> Figure:
        """Read a rate, whose own variable is not in the query."""
        if query.measures != ("count",):
            raise bad_request("figure_measures")
        if of or base:
            raise ClientError("bad_parameter", name="of" if of else "base")
        if rate.variable in {one.variable for one in (*query.selections, *query.within)}:
            raise bad_request("rate_variable", name=self._label(rate.variable))
        return Figure(kind="rate", rate=rate.name)

    def zone_of(self, name: str, ranks: Sequence[int]) -> Zone:
        """Make a zone of areas; raise where it is none."""
        if self._area is None:
            raise bad_request("no_areas")
        return Zone.of(name, ranks, variable=self._variables[self._area])

    def widened(self, derivation: Derivation) -> Query:
        """Return the query with all whose numbers are needed."""
        query = derivation.query
        ranks = {s.variable: dict.fromkeys(s.ranks) for s in query.selections}
        figure = derivation.figure
        if derivation.zones:
            blocks = [rank for zone in derivation.zones for rank in zone.ranks]
            own = ranks.get(self._area or "")
            if own is None:
                raise bad_request("zone_area", name=self._label(self._area or ""))
            own |= dict.fromkeys(blocks)
        if figure is not None and figure.kind == "share":
            for name in figure.of:
                ranks[name] = {0: None, **ranks[name]}
        elif figure is not None and figure.base:
            rank = self._variables[figure.of[0]].chosen(figure.base)
            ranks[figure.of[0]] |= {} if rank is None else {rank: None}
        elif figure is not None and figure.kind == "rate":
            rate = self._rates[figure.rate]
            ranks[rate.variable] = dict.fromkeys(
                rank for codes in self._codes_of(rate) for rank in codes
            )
        selections = [Selection(variable=name, ranks=tuple(own)) for name, own in ranks.items()]
        return replace(query, selections=tuple(selections))

    def derived(
        self,
        answer: Answer,
        derivation: Derivation,
        *,
        check: Callable[[], None] | None = None,
    ) -> Answer:
        """Make the figures of an answer to the widened query, and leave out what was added.

        Parameters
        ----------
        answer, derivation
            The answer, and what is made of it.
        check
            Called now and then where intervals take long; raises where the work shall end.
        """
        assert answer.table is not None  # noqa: S101  (the caller looked)
        margin: Margin | None = self.margin
        if derivation.level is not None and self._ptable is not None:
            margin = ExactMargin.of(self._ptable, level=derivation.level, check=check)
        numbers = _Numbers.of(answer, margin)
        own: dict[str, Variable] = {}
        if derivation.zones and self._area is not None:
            selection = next(s for s in derivation.query.selections if s.variable == self._area)
            variable = ZonedVariable.over(self._variables[self._area], derivation.zones)
            own[self._area] = variable
            kept = {0, *selection.ranks, self._base_of(derivation.figure)}
            numbers = numbers.with_zones(
                self._area, kept, derivation.zones, first=variable.axis.size
            )
        figure = derivation.figure or Figure(kind="count")
        measure = answer.query.measures[0]
        if figure.kind == "rate":
            columns = self._rate(numbers, self._rates[figure.rate])
            numbers = numbers.without(self._rates[figure.rate].variable)
        else:
            columns = self._columns(numbers, figure, own)
        shown = self._shown(derivation, numbers)
        is_noted = margin is not None and measure == "count"
        name, *ends = figure.measures
        names = [measure if figure.kind == "count" else name, *(ends if is_noted else ())]
        grid: Any = np.ix_(*(places for places, _ in shown.values()))
        if tuple(len(ranks) for _, ranks in shown.values()) == numbers.totals.shape and all(
            (np.diff(places) == 1).all() for places, _ in shown.values()
        ):
            grid = ...  # all that was asked for, in its order
        values = {} if figure.kind == "rate" else {measure: numbers.totals}
        values |= dict(zip(names, columns, strict=False))
        selections = tuple(
            Selection(variable=name, ranks=ranks) for name, (_, ranks) in shown.items()
        )
        return replace(
            answer,
            query=replace(derivation.query, measures=tuple(values)),
            table=_table(
                selections,
                {name: column[grid].ravel() for name, column in values.items()},
                {**self._variables, **own},
            ),
            selections=selections,
            variables=own,
            figure=figure,
            margin=None,
            figure_margin=margin if is_noted else None,
        )

    def _base_of(self, figure: Figure | None) -> int:
        """Return the area that figures are against; the total where there is none."""
        if figure is None or not figure.base or figure.of != (self._area,):
            return 0
        return self._variables[figure.of[0]].chosen(figure.base) or 0

    def _label(self, name: str) -> str:
        return self._variables[name].offer.labels["en"] if name in self._variables else name

    def _codes_of(self, rate: ServiceRate) -> tuple[list[int], list[int]]:
        """Return the categories above and below the line of a rate."""
        variable = self._variables[rate.variable]
        above, below = (
            [rank for code in codes if (rank := variable.chosen(code)) is not None]
            for codes in (rate.numerator, rate.denominator)
        )
        if not above or not below:
            raise bad_request("rate_empty")
        return above, below

    def _shown(
        self, derivation: Derivation, numbers: _Numbers
    ) -> dict[str, tuple[NDArray[np.int64], tuple[int, ...]]]:
        """Return where the categories that are shown stand among all that were asked for."""
        shown = {}
        for selection in derivation.query.selections:
            ranks = list(selection.ranks)
            if selection.variable == self._area:
                size = self._variables[selection.variable].axis.size
                ranks += [size + place for place in range(len(derivation.zones))]
            places = {r: at for at, r in enumerate(numbers.ranks[selection.variable])}
            own = tuple(rank for rank in ranks if rank in places)
            shown[selection.variable] = (np.array([places[r] for r in own], np.int64), own)
        return shown

    def _columns(
        self, numbers: _Numbers, figure: Figure, own: Mapping[str, Variable]
    ) -> tuple[NDArray[Any], ...]:
        """Return the figure of every number, and the ends of its interval."""
        counts, squares, margin = numbers.totals, numbers.squares, numbers.margin
        if figure.kind == "count":
            ends = () if margin is None else margin.sums(counts, squares)
            return (counts, *ends)
        if figure.kind == "rank":
            variable = own.get(figure.of[0]) or self._variables[figure.of[0]]
            return self._ranked(numbers, variable)
        whole, whole_squares = counts, squares
        for name in figure.of:
            axis, places = numbers.axis(name), numbers.ranks[name]
            base = 0 if figure.kind == "share" else self._variables[name].chosen(figure.base)
            if base not in places:  # a withheld area
                raise bad_request("figure_base_withheld")
            at = [places.index(base)]
            whole = np.take(whole, at, axis=axis)
            whole_squares = np.take(whole_squares, at, axis=axis)
        if figure.kind == "difference":
            difference = counts - whole
            if margin is None:
                return (difference,)
            low, high = margin.differences(counts, whole, squares=(squares, whole_squares))
            # A number less itself is no difference of two noises.
            is_same = np.zeros(counts.shape, bool) | _is_base(numbers, figure, self._variables)
            return difference, np.where(is_same, 0.0, low), np.where(is_same, 0.0, high)
        ratio = _divided(counts, whole)
        if margin is None:
            return (ratio,)
        is_part = figure.kind == "share"
        low, high = margin.ratios(
            counts,
            np.broadcast_to(whole, counts.shape),
            squares=(squares, whole_squares),
            part=is_part,
        )
        is_same = _is_base(numbers, figure, self._variables)
        is_missing = hidden(ratio)
        return ratio, *(
            masked(_percent(np.where(is_same, 1.0, end)), is_missing | ~np.isfinite(end))
            for end in (low, high)
        )

    def _ranked(self, numbers: _Numbers, variable: Variable) -> tuple[NDArray[Any], ...]:
        """Rank the categories of a variable, each among those of its level."""
        axis, margin = numbers.axis(variable.name), numbers.margin
        levels = variable.level_of[np.array(numbers.ranks[variable.name])]
        counts = np.moveaxis(numbers.totals, axis, 0)
        squares = np.moveaxis(numbers.squares, axis, 0)
        columns = np.zeros((3, *counts.shape), np.int64)
        for level in np.unique(levels).tolist():
            places = np.flatnonzero(levels == level)
            own = counts[places]
            columns[0, places] = _ranks(own.reshape(len(places), -1)).reshape(own.shape)
            if margin is not None:
                columns[1:, places] = margin.ranks(own, squares[places])
        moved = [np.moveaxis(column, 0, axis) for column in columns]
        return tuple(moved if margin is not None else moved[:1])

    def _rate(self, numbers: _Numbers, rate: ServiceRate) -> tuple[NDArray[Any], ...]:
        """Divide sums of published counts of the categories of a rate's variable."""
        axis, places = numbers.axis(rate.variable), numbers.ranks[rate.variable]
        above, below = (
            [places.index(rank) for rank in ranks if rank in places]
            for ranks in self._codes_of(rate)
        )
        shared = [at for at in above if at in below]
        a, b = (np.take(numbers.totals, at, axis=axis).sum(axis=axis) for at in (above, below))
        own, whole, both = (
            np.take(numbers.squares, at, axis=axis).sum(axis=axis)
            for at in (above, below, shared)
        )
        ratio, margin = _divided(a, b), numbers.margin
        scale = rate.per / _HUNDRED
        if margin is None:
            return (ratio * scale,)
        is_part = len(shared) == len(above) or (0 in (places[at] for at in below))
        low, high = margin.ratios(a, b, squares=(own, whole), shared=both, part=is_part)
        return tuple(
            column * scale
            for column in (
                ratio,
                *(
                    masked(_percent(end), hidden(ratio) | ~np.isfinite(end))
                    for end in (low, high)
                ),
            )
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Numbers:
    """Published numbers of every combination of categories, variable by variable.

    `squares` is what each adds to the squares of half-widths, on a last axis of two.
    """

    ranks: Mapping[str, tuple[int, ...]]
    totals: NDArray[Any]
    squares: NDArray[np.float64] = field(repr=False)
    margin: Margin | None = field(repr=False)

    @classmethod
    def of(cls, answer: Answer, margin: Margin | None) -> _Numbers:
        assert answer.table is not None  # noqa: S101
        ranks = {s.variable: s.ranks for s in answer.selections}
        shape = tuple(len(own) for own in ranks.values())
        measure = answer.query.measures[0]
        totals = np.asarray(answer.table.measures[measure]).reshape(shape)
        squares = np.zeros((*shape, 2)) if margin is None else margin.squares(totals)
        return cls(ranks=ranks, totals=totals, squares=squares, margin=margin)

    def axis(self, name: str) -> int:
        return list(self.ranks).index(name)

    def with_zones(
        self, area: str, wanted: Container[int], zones: Sequence[Zone], *, first: int
    ) -> _Numbers:
        """Put the sums of zones in the place of their areas, as far as these are published."""
        axis, places = self.axis(area), {r: at for at, r in enumerate(self.ranks[area])}
        kept = [rank for rank in self.ranks[area] if rank in wanted]
        totals = [np.take(self.totals, [places[rank] for rank in kept], axis=axis)]
        squares = [np.take(self.squares, [places[rank] for rank in kept], axis=axis)]
        for zone in zones:
            at = [places[rank] for rank in zone.ranks if rank in places]
            totals.append(np.take(self.totals, at, axis=axis).sum(axis=axis, keepdims=True))
            squares.append(np.take(self.squares, at, axis=axis).sum(axis=axis, keepdims=True))
        ranks = (*kept, *(first + place for place in range(len(zones))))
        return _Numbers(
            ranks={**self.ranks, area: ranks},
            totals=np.concatenate(totals, axis=axis),
            squares=np.concatenate(squares, axis=axis),
            margin=self.margin,
        )

    def without(self, name: str) -> _Numbers:
        """Leave a variable out of which a rate was made; what is kept is the shape."""
        axis = self.axis(name)
        return _Numbers(
            ranks={n: own for n, own in self.ranks.items() if n != name},
            totals=np.asarray(self.totals.take(0, axis=axis)),
            squares=np.asarray(self.squares.take(0, axis=axis)),
            margin=self.margin,
        )


def _exact_level(margin: str | None, level: float | str | None) -> float | None:
    """Return how often exact intervals are to hold; None where nobody asks for such."""
    if margin not in {None, *MARGINS}:
        raise ClientError("bad_parameter", name="margin", choices=MARGINS)
    if margin != "exact":
        if level is not None:
            raise bad_request("exact_level_alone")
        return None
    least, most = EXACT_LEVELS
    try:
        number = _DEFAULT_LEVEL if level is None else float(level)
    except ValueError:
        number = np.nan
    if not least <= number <= most:
        raise bad_request("exact_level", least=f"{least:g}", most=f"{most:g}")
    return number


def _divided(counts: NDArray[Any], whole: NDArray[Any]) -> Any:
    """Return percentages; masked where the whole is published as 0."""
    is_missing = np.broadcast_to(whole <= 0, counts.shape)
    ratio = counts / np.where(whole > 0, whole, 1)
    return masked(np.round(_HUNDRED * ratio, _DIGITS), is_missing)


def _ranks(counts: NDArray[Any]) -> NDArray[np.int64]:
    """Rank the rows of each column, the largest first; equal ones have the same rank."""
    ordered = np.sort(counts, axis=0)
    columns = [
        1 + len(counts) - np.searchsorted(own, numbers, side="right")
        for own, numbers in zip(ordered.T, counts.T, strict=True)
    ]
    return np.stack(columns, axis=1)


def _percent(ratios: Any) -> Any:
    return np.round(_HUNDRED * ratios, 10)


def _is_base(
    numbers: _Numbers, figure: Figure, variables: Mapping[str, Variable]
) -> NDArray[np.bool_]:
    """Tell which numbers are those that figures are against: no noise is between them."""
    mask = np.ones((1,) * numbers.totals.ndim, bool)
    for name in figure.of:
        base = 0 if figure.kind == "share" else variables[name].chosen(figure.base)
        at = np.array(numbers.ranks[name]) == base
        shape = [1] * numbers.totals.ndim
        shape[numbers.axis(name)] = len(at)
        mask = mask & at.reshape(shape)
    return np.broadcast_to(mask, numbers.totals.shape)


def _table(
    selections: Sequence[Selection],
    measures: Mapping[str, NDArray[Any]],
    variables: Mapping[str, Variable],
) -> PublishedTable:
    shape = tuple(len(s.ranks) for s in selections)
    index = [place.ravel() for place in np.indices(shape, dtype=np.int32)] if shape else []
    return PublishedTable(
        dimensions={
            s.variable: (place, tuple(variables[s.variable].codes[r] for r in s.ranks))
            for s, place in zip(selections, index, strict=True)
        },
        measures=dict(measures),
    )
