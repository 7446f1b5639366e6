"""From a query to a protected table, or to a refusal: the one path of the API and the page.

Shape rules, cells, noise, rules on protected counts area by area, the ledger, the table.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ckm.published import PublishedTable
from ckm.service.cache import Cache
from ckm.service.cubes import Cubes
from ckm.service.ledger_hook import Publication
from ckm.service.mistake import Mistake
from ckm.service.query import Selection
from ckm.service.refusal import Refusal, explained
from ckm.service.rules import (
    Finding,
    RuleSettings,
    Shape,
    Slices,
    commonest,
    judge_areas,
    judge_shape,
)
from ckm.service.variables import offered_variables
from ckm.service.words import Phrase
from tables import Deadline, FilterError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from ckm.config.service import Service
    from ckm.engine import Engine
    from ckm.service.ledger_hook import Ledger
    from ckm.service.query import Query
    from tables import Condition, PreparedCells

    Levels = tuple[int, ...]
    Protected = Mapping[Levels, tuple[tuple[NDArray[np.int32], ...], dict[str, NDArray[Any]]]]

__all__ = ["Answer", "Answerer"]

_MOST_FILTER_BYTES = 16_000_000
_MOST_CELLS = 40_000_000  # whatever the rules say
_UNCOUNTABLE = 10**15  # cells beyond this are as good as beyond number


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A table, or the reason why there is none.

    Parameters
    ----------
    query
        What was asked for.
    table
        The protected table: one column per variable, in codes. None for a refusal.
    selections
        The categories of the table, without withheld areas.
    withheld
        Code of an area that is not published → why.
    refusal
        Why there is no table.
    flag
        What the ledger remarked, where its policy is to flag; not for readers.
    """

    query: Query
    table: PublishedTable | None = None
    selections: tuple[Selection, ...] = ()
    withheld: Mapping[str, Refusal] = field(default_factory=dict)
    refusal: Refusal | None = None
    flag: Refusal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """The combinations of levels that a query needs."""

    active: tuple[Selection, ...]
    used: tuple[tuple[int, ...], ...]  # for each of them its levels, finest first
    area: int | None  # which of them is the area
    where: frozenset[Condition]

    def shown(self) -> list[Levels]:
        return list(itertools.product(*self.used))

    def inner(self, tops: tuple[int, ...]) -> list[tuple[Levels, Levels]]:
        """Return, for each level of areas, the inner cells and the areas' populations."""
        fine = tuple(levels[0] for levels in self.used)
        if self.area is None:
            return [(fine, tops)]
        return [
            (self._at_area(fine, level), self._at_area(tops, level))
            for level in self.used[self.area]
        ]

    def _at_area(self, levels: Levels, level: int) -> Levels:
        return tuple(level if p == self.area else other for p, other in enumerate(levels))


class Answerer:
    """Answers the queries of a service.

    Parameters
    ----------
    service
        The service.
    engine
        The engine over its data; must stay open.
    ledger
        The record of publications, if there is one.
    """

    def __init__(
        self, service: Service, engine: Engine, *, ledger: Ledger | None = None
    ) -> None:
        self.service = service
        self._engine = engine
        names = list(service.variables)
        if service.area is not None:  # the records lie area by area
            names.sort(key=lambda name: name != service.area)
        self._prepared = engine.prepare(names, sketch=0 if ledger is None else ledger.width)
        self.variables = offered_variables(service, engine, self._prepared)
        self.settings = RuleSettings.of(service.rules)
        self.is_weighted = self._prepared.is_weighted
        self.kinds = self._prepared.kinds
        limits = service.limits
        self.cubes = Cubes(
            self._prepared,
            most_bytes=limits.cache_bytes // 2,
            scans=limits.concurrent_scans,
            timeout_s=limits.seconds,
        )
        self._coded: Cache[frozenset[Condition]] = Cache(
            _MOST_FILTER_BYTES, size=lambda conditions: sum(c.nbytes for c in conditions) + 100
        )
        self._ledger = ledger
        self._sensitive = [v.name for v in service.variables.values() if v.is_sensitive]

    def answer(
        self,
        query: Query,
        *,
        settings: RuleSettings | None = None,
        deadline: Deadline | None = None,
    ) -> Answer:
        """Answer a query.

        Parameters
        ----------
        query
            What is asked for.
        settings
            The rules; by default those of the service.
        deadline
            When the work must end.

        Raises
        ------
        Mistake
            If the filter or the measures are wrong.
        tables.StoppedError
            If it takes too long, or was called off.
        """
        deadline = deadline or Deadline()
        rules = settings or self.settings
        rules = replace(
            rules, maximum_cells=min(rules.maximum_cells or _MOST_CELLS, _MOST_CELLS)
        )
        if "weighted" in query.measures and not self.is_weighted:
            raise Mistake("no_weight")
        plan = self._plan(query)
        finding = judge_shape(self._shape(query, plan), rules)
        if finding is not None:
            return self._refused(query, finding)
        behind: list[Finding | None] = []
        if rules.judge_filters and (query.where is not None or query.within):
            wider = self._widened(plan)  # first: the cells wanted are rolled up from these
            behind = self._judged(wider, self._counted(wider, (), deadline=deadline)[1], rules)
        found, protected = self._counted(
            plan, plan.shown(), deadline=deadline, measures=_measures(query)
        )
        findings = self._judged(plan, protected, rules)
        if behind:
            findings = [mine or other for mine, other in zip(findings, behind, strict=True)]
        withheld = self._withheld(plan, findings)
        if findings and all(f is not None for f in findings):
            return self._refused(query, commonest(findings))
        deadline.require()  # what is recorded is answered
        flag = None
        if self._ledger is not None:
            objection = self._ledger.review(self._publication(query, plan, found, withheld))
            if objection is not None and self._ledger.policy == "refuse":
                return self._refused(query, objection)
            flag = None if objection is None else explained(objection, self.variables)
        return self._assembled(query, plan, protected, withheld, flag)

    def _counted(
        self,
        plan: _Plan,
        shown: Iterable[Levels],
        *,
        deadline: Deadline,
        measures: tuple[str, ...] = ("count",),
    ) -> tuple[PreparedCells, dict[Levels, Any]]:
        """Find the cells that are shown and those that the rules look at, and protect them."""
        pairs = plan.inner(self._tops(plan))
        wanted = dict.fromkeys([*shown, *(levels for pair in pairs for levels in pair)])
        names = [selection.variable for selection in plan.active]
        finest = {name: levels[0] for name, levels in zip(names, plan.used, strict=True)}
        found = self.cubes.find(finest, where=plan.where, deadline=deadline)
        cells = self._prepared.cells_by_level(
            found.without_sketch(), names, level_sets=list(wanted)
        )
        protected = {}
        for levels, part in cells.items():
            deadline.require()
            numbers = self._engine.protect(part, measures=measures)
            protected[levels] = (part.ranks, numbers)
        return found, protected

    def _judged(
        self, plan: _Plan, protected: Protected, rules: RuleSettings
    ) -> list[Finding | None]:
        slices = self._slices(plan, plan.inner(self._tops(plan)), protected)
        return judge_areas(slices, rules, sensitive=self._sensitive)

    def _tops(self, plan: _Plan) -> Levels:
        return tuple(len(self.variables[s.variable].axis.levels) - 1 for s in plan.active)

    def _widened(self, plan: _Plan) -> _Plan:
        """Return the table that shows the variables of a filter instead of filtering by them.

        It tells whether a filter takes apart what could not be published as a table. Areas
        that the filter names by themselves stay those that are counted.
        """
        area = self.service.area
        kept = frozenset(c for c in plan.where if {name for name, _ in c.places} == {area})
        used = {s.variable: levels for s, levels in zip(plan.active, plan.used, strict=True)}
        chosen = {s.variable: s for s in plan.active}
        for name, level in sorted(p for c in plan.where - kept for p in c.places):
            if name == area and name in chosen:
                continue
            if name not in chosen:
                ranks = tuple(self.variables[name].ranks(level).tolist())
                chosen[name] = Selection(variable=name, ranks=ranks)
            fine = min(level, *used.get(name, (level,)))
            used[name] = (fine, *(other for other in used.get(name, ()) if other > fine))
        return replace(
            plan, active=tuple(chosen.values()), used=tuple(used[n] for n in chosen), where=kept
        )

    def _publication(
        self, query: Query, plan: _Plan, found: PreparedCells, withheld: Mapping[int, Finding]
    ) -> Publication:
        return Publication(
            query=self._of_active(query, plan),
            selections=tuple(
                _without(s, withheld) if s.variable == self.service.area else s
                for s in plan.active
            ),
            levels=plan.used,
            found=found,
            prepared=self._prepared,
            variables=self.variables,
        )

    def _of_active(self, query: Query, plan: _Plan) -> Query:
        """Leave out the variables that are summed over, and margins that show none of them.

        With them the same levels could mean two tables, by the order of the variables.
        """
        if query.margins is None:
            return replace(query, selections=plan.active)
        tops = {
            place: int(self.variables[selection.variable].level_of[0])
            for place, selection in enumerate(query.selections)
            if selection not in plan.active
        }
        shown = frozenset(
            tuple(level for place, level in enumerate(levels) if place not in tops)
            for levels in query.margins
            if all(levels[place] == top for place, top in tops.items())
        )
        return replace(query, selections=plan.active, margins=shown)

    def refuses_shape(self, query: Query) -> bool:
        """Return whether a rule refuses a query for its shape, before anything is counted.

        Parameters
        ----------
        query
            What is asked for.
        """
        return judge_shape(self._shape(query, self._plan(query)), self.settings) is not None

    def filter_variables(self, where: str | None) -> frozenset[str]:
        """Return the variables that a filter speaks of.

        Parameters
        ----------
        where
            The filter.
        """
        return frozenset(
            name for condition in self._conditions(where) for name, _ in condition.places
        )

    def _conditions(self, where: str | None) -> frozenset[Condition]:
        known = self._coded.get(where)
        if known is None:
            try:
                known = self._prepared.conditions(where)
            except FilterError as error:
                raise Mistake("bad_filter", detail=_filter_phrase(error)) from None
            self._coded.put(where, known)
        return known

    def _plan(self, query: Query) -> _Plan:
        active = tuple(s for s in query.selections if any(s.ranks))
        used = tuple(self._levels(s) for s in active)
        where = self._conditions(query.where)
        for chosen in query.within:
            members = self._prepared.members(chosen.variable, chosen.ranks)
            where |= frozenset() if members is None else {members}
        area = next((p for p, s in enumerate(active) if s.variable == self.service.area), None)
        if area is not None:
            only = self._prepared.members(active[area].variable, active[area].ranks)
            where |= frozenset() if only is None else {only}
        return _Plan(active=active, used=used, area=area, where=where)

    def _levels(self, selection: Selection) -> tuple[int, ...]:
        """Return the levels of some categories: one level that has them all, if there is."""
        axis = self.variables[selection.variable].axis
        top = len(axis.levels) - 1
        ranks = {rank for rank in selection.ranks if rank}
        totals = (top,) if 0 in selection.ranks else ()
        for level in range(top - 1, -1, -1):
            if ranks <= set(axis.levels[level].ranks.tolist()):
                return (level, *totals)
        level_of = self.variables[selection.variable].level_of
        return (*sorted({int(level_of[rank]) for rank in ranks}), *totals)

    def _shape(self, query: Query, plan: _Plan) -> Shape:
        categories, levels, sizes = {}, {}, []
        for selection, used in zip(plan.active, plan.used, strict=True):
            variable = self.variables[selection.variable]
            # Of areas of one level, those asked for are counted; else all categories are.
            is_few = variable.name == self.service.area and len(used) == 1
            most = len(selection.ranks) if is_few else variable.axis.size
            sizes.append(tuple(min(most, variable.axis.levels[at].size) for at in used))
            below = [level for level in used if level < len(variable.level_names)]
            categories[variable.name] = sum(len(variable.ranks(level)) for level in below)
            levels[variable.name] = tuple(variable.level_names[level] for level in below)
        filtered = self._filtered(query)
        for name, names in filtered.items():
            levels[name] = (*levels.get(name, ()), *names)
        return Shape(
            cells=query.cells * len(query.measures),
            categories=categories,
            filtered=frozenset(filtered),
            levels=levels,
            area=self.service.area,
            sizes=tuple(sizes),
        )

    def _filtered(self, query: Query) -> dict[str, tuple[str, ...]]:
        """Return the variables of a filter, each with the levels that it looks at."""
        found: dict[str, set[int]] = {}
        for condition in self._conditions(query.where):
            for name, level in condition.places:
                found.setdefault(name, set()).add(level)
        for chosen in query.within:
            level_of = self.variables[chosen.variable].level_of
            found.setdefault(chosen.variable, set()).update(level_of[list(chosen.ranks)])
        return {
            name: tuple(names[level] for level in sorted(levels) if level < len(names))
            for name, levels in found.items()
            for names in (self.variables[name].level_names,)
        }

    def _slices(
        self, plan: _Plan, inner: list[tuple[Levels, Levels]], protected: Protected
    ) -> Slices:
        """Gather the inner cells of all areas asked for, or of the whole table."""
        others = [p for p in range(len(plan.active)) if p != plan.area]
        areas = (0,) if plan.area is None else plan.active[plan.area].ranks
        place = np.full(max(areas) + 1, -1, np.int64)
        place[list(areas)] = np.arange(len(areas))
        population = np.zeros(len(areas), np.int64)
        parts: list[tuple[NDArray[np.int64], ...]] = []
        cells = 1
        for fine, coarse in inner:
            ranks, numbers = protected[coarse]
            at = _places(place, ranks, plan.area, len(numbers["count"]))
            population[at[at >= 0]] = numbers["count"][at >= 0]
            ranks, numbers = protected[fine]
            at = _places(place, ranks, plan.area, len(numbers["count"]))
            kept = (at >= 0) & (numbers["count"] > 0)
            for p in others:
                kept &= self.variables[plan.active[p].variable].is_listed[ranks[p]]
            codes = tuple(ranks[p][kept].astype(np.int64) for p in others)
            parts.append((at[kept], numbers["count"][kept], *codes))
        for p in others:
            cells *= len(self.variables[plan.active[p].variable].ranks(plan.used[p][0]))
        joined = [np.concatenate(column) for column in zip(*parts, strict=True)]
        return Slices(
            population=population,
            cells=min(cells, _UNCOUNTABLE),
            area=joined[0],
            published=joined[1],
            codes={
                plan.active[p].variable: code
                for p, code in zip(others, joined[2:], strict=True)
            },
        )

    def _withheld(self, plan: _Plan, findings: list[Finding | None]) -> dict[int, Finding]:
        if plan.area is None:
            return {}
        ranks = plan.active[plan.area].ranks
        pairs = zip(ranks, findings, strict=True)
        return {rank: finding for rank, finding in pairs if finding is not None}

    def _refused(self, query: Query, finding: Finding | None) -> Answer:
        assert finding is not None  # noqa: S101  (every area has one)
        return Answer(query=query, refusal=explained(finding, self.variables))

    def _assembled(
        self,
        query: Query,
        plan: _Plan,
        protected: Protected,
        withheld: Mapping[int, Finding],
        flag: Refusal | None,
    ) -> Answer:
        """Put the cells into a table of every combination of the categories asked for."""
        selections = tuple(
            _without(s, withheld) if s.variable == self.service.area else s
            for s in query.selections
        )
        shape = tuple(len(s.ranks) for s in selections)
        numbers: dict[str, NDArray[Any]] = {}
        names = [s.variable for s in plan.active]
        kept = [s for s in selections if s.variable in names]
        for levels in plan.shown():
            ranks, given = protected[levels]
            at, is_in = _positions(kept, ranks, len(given["count"]))
            for measure in query.measures:
                full = numbers.setdefault(
                    measure, np.zeros(int(np.prod(shape, dtype=np.int64)), given[measure].dtype)
                )
                full[at[is_in]] = given[measure][is_in]
        index = [place.ravel() for place in np.indices(shape, dtype=np.int32)] if shape else []
        shown = self._shown(query, selections, index)
        if shown is not None:
            index = [place[shown] for place in index]
            numbers = {name: values[shown] for name, values in numbers.items()}
        dimensions = {
            s.variable: (place, tuple(self.variables[s.variable].codes[r] for r in s.ranks))
            for s, place in zip(selections, index, strict=True)
        }
        reasons = {id(f): explained(f, self.variables) for f in withheld.values()}
        codes = self.variables[self.service.area].codes if self.service.area else ()
        return Answer(
            query=query,
            table=PublishedTable(dimensions=dimensions, measures=numbers),
            selections=selections,
            withheld={codes[rank]: reasons[id(f)] for rank, f in withheld.items()},
            flag=flag,
        )

    def _shown(
        self,
        query: Query,
        selections: tuple[Selection, ...],
        index: list[NDArray[np.int32]],
    ) -> NDArray[np.bool_] | None:
        """Return which combinations belong to the margins asked for; None for all."""
        if query.margins is None or not index:
            return None
        levels = [
            self.variables[s.variable].level_of[list(s.ranks)][place]
            for s, place in zip(selections, index, strict=True)
        ]
        shown = np.zeros(len(index[0]), bool)
        for wanted in query.margins:
            shown |= np.logical_and.reduce(
                [level == want for level, want in zip(levels, wanted, strict=True)]
            )
        return shown


def _filter_phrase(error: FilterError) -> Phrase:
    """Say what is wrong with a filter so that every language can."""
    facts: dict[str, object] = dict(error.facts)
    if error.reason == "column":
        return Phrase(key="filter_unknown", filled=facts)
    if error.reason == "expected":
        facts["expected"] = Phrase(key=f"filter_{facts['expected']}")
    if error.reason == "type":
        facts |= {n: Phrase(key=f"filter_is_{facts[n]}") for n in ("kind", "given")}
    return Phrase(key=f"filter_{error.reason}", filled=facts)


def _measures(query: Query) -> tuple[str, ...]:
    return tuple(dict.fromkeys(("count", *query.measures)))


def _places(
    place: NDArray[np.int64], ranks: tuple[NDArray[np.int32], ...], area: int | None, n: int
) -> NDArray[np.int64]:
    """Return the area asked for in which each cell lies, -1 for none."""
    if area is None:
        return np.zeros(n, np.int64)
    rank = ranks[area]
    inside = rank < len(place)
    return np.where(inside, place[np.where(inside, rank, 0)], -1)


def _positions(
    selections: list[Selection], ranks: tuple[NDArray[np.int32], ...], n: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return where each cell stands in the table, and whether it stands there at all."""
    at, is_in = np.zeros(n, np.int64), np.ones(n, bool)
    for selection, rank in zip(selections, ranks, strict=True):
        place = np.full(max(selection.ranks, default=0) + 1, -1, np.int64)
        place[list(selection.ranks)] = np.arange(len(selection.ranks))
        mine = _places(place, (rank,), 0, n)
        is_in &= mine >= 0
        at = at * len(selection.ranks) + np.maximum(mine, 0)
    return at, is_in


def _without(selection: Selection, withheld: Mapping[int, Finding]) -> Selection:
    ranks = tuple(rank for rank in selection.ranks if rank not in withheld)
    return Selection(variable=selection.variable, ranks=ranks)
