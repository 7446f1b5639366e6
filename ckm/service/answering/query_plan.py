"""What a query needs: levels of its variables, who is counted, and what rules look at first."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace

from ckm.service.answering.cells.lru_cache import Cache, digest_of
from ckm.service.answering.messages import ClientError, Phrase
from ckm.service.answering.query import Query, Selection
from ckm.service.answering.variables import Variable
from ckm.service.rules.shape import Shape
from tables import FilterError
from tables.filtering.conditions import Condition
from tables.prepared.prepared import POPULATIONS, Prepared

Levels = tuple[int, ...]

_MAX_FILTER_BYTES = 16_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryPlan:
    """The combinations of levels that a query needs.

    Parameters
    ----------
    active
        The variables that it does not sum over, with their categories.
    used
        For each of them its levels, finest first.
    area
        Which of them is the area.
    where
        Who is counted.
    """

    active: tuple[Selection, ...]
    used: tuple[tuple[int, ...], ...]
    area: int | None
    where: frozenset[Condition]

    def shown(self) -> list[Levels]:
        """Return the combinations of levels that the table shows."""
        return list(itertools.product(*self.used))

    def inner(self, top_level: tuple[int, ...]) -> list[list[tuple[Levels, Levels]]]:
        """Return what the rules judge: combinations of levels without totals, finest first.

        Each is judged by itself, as if it were all that was asked for: per level of areas, the
        inner cells and the areas' populations.

        Parameters
        ----------
        top_level
            The level of the total of each variable.
        """
        below = [
            tuple(level for level in levels if level < top or p == self.area)
            for p, (levels, top) in enumerate(zip(self.used, top_level, strict=True))
        ]
        if self.area is None:
            return [[(fine, top_level)] for fine in itertools.product(*below)]
        areas, below[self.area] = below[self.area], below[self.area][:1]
        return [
            [(self._at_area(fine, level), self._at_area(top_level, level)) for level in areas]
            for fine in itertools.product(*below)
        ]

    def _at_area(self, levels: Levels, level: int) -> Levels:
        return tuple(level if p == self.area else other for p, other in enumerate(levels))


class Planner:
    """Makes the plans of queries over prepared records.

    Parameters
    ----------
    prepared
        The records.
    variables
        The variables that are offered.
    area
        The variable of areas.
    populations
        Name → the condition that records are in it.
    """

    def __init__(
        self,
        prepared: Prepared,
        variables: Mapping[str, Variable],
        *,
        area: str | None,
        populations: Mapping[str, Condition],
    ) -> None:
        self._prepared = prepared
        self._populations = populations
        self._variables = variables
        self._area = area
        self._coded: Cache[frozenset[Condition]] = Cache(
            _MAX_FILTER_BYTES, size=lambda conditions: sum(c.nbytes for c in conditions) + 300
        )

    def plan(self, query: Query) -> QueryPlan:
        """Return the plan of a query."""
        active = tuple(s for s in query.selections if any(s.ranks))
        used = tuple(self._levels(s) for s in active)
        where = self.who_counts(query) | self._members(query.population)
        area = next((p for p, s in enumerate(active) if s.variable == self._area), None)
        if area is not None:
            only = self._prepared.members(active[area].variable, active[area].ranks)
            where |= frozenset() if only is None else {only}
        return QueryPlan(active=active, used=used, area=area, where=where)

    def who_counts(self, query: Query) -> frozenset[Condition]:
        """Return the conditions of a query's filter, and of categories that are not shown."""
        where = self._conditions(query.where)
        for selection in query.within:
            members = self._prepared.members(selection.variable, selection.ranks)
            where |= frozenset() if members is None else {members}
        return where

    def top_level(self, plan: QueryPlan) -> Levels:
        """Return the level of the total of each variable."""
        return tuple(len(self._variables[s.variable].axis.levels) - 1 for s in plan.active)

    def widened(self, plan: QueryPlan) -> QueryPlan:
        """Return the table that shows the variables of a filter instead of filtering by them.

        It tells whether a filter takes apart what could not be published as a table. Areas
        that the filter names by themselves stay those that are counted, and so do populations.
        """
        area = self._area
        conditions = frozenset(
            c for c in plan.where if {name for name, _ in c.places} <= {area, POPULATIONS}
        )
        used = {s.variable: levels for s, levels in zip(plan.active, plan.used, strict=True)}
        by_name = {s.variable: s for s in plan.active}
        for name, level in sorted(p for c in plan.where - conditions for p in c.places):
            if name == area and name in by_name:
                continue
            if name not in by_name:
                ranks = tuple(self._variables[name].ranks(level).tolist())
                by_name[name] = Selection(variable=name, ranks=ranks)
            fine = min(level, *used.get(name, (level,)))
            used[name] = (fine, *(other for other in used.get(name, ()) if other > fine))
        return replace(
            plan,
            active=tuple(by_name.values()),
            used=tuple(used[n] for n in by_name),
            where=conditions,
        )

    def of_active(self, query: Query, plan: QueryPlan) -> Query:
        """Leave out the variables that are summed over, and margins that show none of them.

        With them the same levels could mean two tables, by the order of the variables.
        """
        if query.margins is None:
            return replace(query, selections=plan.active)
        top_level = {
            place: int(self._variables[selection.variable].level_of[0])
            for place, selection in enumerate(query.selections)
            if selection not in plan.active
        }
        margins = frozenset(
            tuple(level for place, level in enumerate(levels) if place not in top_level)
            for levels in query.margins
            if all(levels[place] == top for place, top in top_level.items())
        )
        return replace(query, selections=plan.active, margins=margins)

    def shape(self, query: Query, plan: QueryPlan) -> Shape:
        """Return what the rules look at before anything is counted."""
        categories, levels, sizes = {}, {}, []
        for selection, used in zip(plan.active, plan.used, strict=True):
            variable = self._variables[selection.variable]
            # Of areas of one level, those asked for are counted; else all categories are.
            is_few = variable.name == self._area and len(used) == 1
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
            area=self._area,
            sizes=tuple(sizes),
        )

    def filter_variables(self, where: str | None) -> frozenset[str]:
        """Return the variables that a filter speaks of."""
        return frozenset(
            name for condition in self._conditions(where) for name, _ in condition.places
        )

    def _filtered(self, query: Query) -> dict[str, tuple[str, ...]]:
        """Return the variables of a filter, each with the levels that it looks at."""
        by_variable: dict[str, set[int]] = {}
        for condition in self._conditions(query.where):
            for name, level in condition.places:
                by_variable.setdefault(name, set()).add(level)
        for selection in query.within:
            level_of = self._variables[selection.variable].level_of
            by_variable.setdefault(selection.variable, set()).update(
                level_of[list(selection.ranks)]
            )
        return {
            name: tuple(names[level] for level in sorted(levels) if level < len(names))
            for name, levels in by_variable.items()
            for names in (self._variables[name].level_names,)
        }

    def _members(self, population: str | None) -> frozenset[Condition]:
        """Return the condition that records are in a population."""
        choices = list(self._populations)
        if population is not None and population not in choices:
            raise ClientError(
                "no_population",
                name=population,
                choices=choices,
                listed=", ".join(choices) or "-",
            )
        return frozenset() if population is None else frozenset([self._populations[population]])

    def _conditions(self, where: str | None) -> frozenset[Condition]:
        key = digest_of(where)
        conditions = self._coded.get(key)
        if conditions is None:
            try:
                conditions = self._prepared.conditions(where)
            except FilterError as error:
                raise ClientError("bad_filter", detail=_filter_phrase(error)) from None
            self._coded.put(key, conditions)
        return conditions

    def _levels(self, selection: Selection) -> tuple[int, ...]:
        """Return the levels of some categories: one level that has them all, if there is."""
        axis = self._variables[selection.variable].axis
        top = len(axis.levels) - 1
        ranks = {rank for rank in selection.ranks if rank}
        totals = (top,) if 0 in selection.ranks else ()
        for level in range(top - 1, -1, -1):
            if ranks <= set(axis.levels[level].ranks.tolist()):
                return (level, *totals)
        level_of = self._variables[selection.variable].level_of
        return (*sorted({int(level_of[rank]) for rank in ranks}), *totals)


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
