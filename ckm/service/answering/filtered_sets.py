"""What filtered tables add up, and whether a project may have one more of them.

Only shapes are looked at, no count: a refusal tells nothing of the records.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from footing.arrays import along
from footing.serialisation import canonical
from risk.reconstruction.least_squares import are_cells, variance_left

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ckm.config.service.service import Service
    from ckm.service.answering.query import Query
    from ckm.service.answering.query_plan import Planner
    from ckm.service.answering.variables import Variable
    from footing.arrays import Codes, Flags
    from tables.filtering.conditions import Condition

_MAX_GRID = 500_000  # joint categories of a filter's variables
_MAX_SIZE = 1000  # finest categories of a variable, where least squares are computed
_MAX_NUMBERS = 4_000_000  # sums times cells, and squared, where least squares are computed


@dataclass(frozen=True, slots=True, kw_only=True)
class FilteredSet:
    """One combination of levels of a filtered table: each cell lies in one of its sums.

    Parameters
    ----------
    categories
        A digest of the categories that there were.
    data
        The date of the data.
    population
        The filter of its population; empty for all records.
    levels
        Variable → its level; the others are summed over.
    names
        The variables of the filter, without that of areas.
    inside
        Which of their joint categories it lets through, a bit each; several times where that
        differs by area, and None where they are too many.
    areas
        A digest of the areas that sums run over; empty for whole ones of the level.
    """

    categories: str
    data: str
    population: str
    levels: Mapping[str, int]
    names: tuple[str, ...]
    inside: tuple[str, ...] | None
    areas: str

    def to_text(self) -> str:
        """Return it as JSON; equal sets have equal texts."""
        return canonical(self)

    @classmethod
    def of_text(cls, text: str) -> FilteredSet:
        """Return what `to_text` wrote."""
        content = json.loads(text)
        inside = None if content["inside"] is None else tuple(content["inside"])
        return cls(**{**content, "names": tuple(content["names"]), "inside": inside})


class _Categories:
    """The categories of a variable, those among them that callers are not told of."""

    def __init__(self, variable: Variable) -> None:
        self._axis = axis = variable.axis
        self._fine = np.arange(axis.levels[0].size, dtype=np.int32)
        self.size = len(self._fine)
        self.sizes = [len(np.unique(self.codes(n))) for n in range(len(axis.levels))]

    def codes(self, level: int) -> Codes:
        """Return the category of a level that each finest one lies in."""
        return self._axis.raised(self._fine, 0, level)

    def holders(self, level: int) -> Flags:
        """Return which finest categories each one of a level holds."""
        codes = self.codes(level)
        return np.asarray(np.unique(codes)[:, None] == codes)

    def all_levels(self) -> Flags:
        """Return the same for all levels, each set once."""
        return np.unique(
            np.concatenate([self.holders(n) for n in range(len(self.sizes))]), axis=0
        )

    def parts(self, inside: Flags, level: int) -> int | None:
        """Return how many categories of a level some finest ones make; None if they cut one."""
        codes = self.codes(level)
        counts, sizes = np.bincount(codes, inside), np.bincount(codes)
        return int((counts > 0).sum()) if ((counts == 0) | (counts == sizes)).all() else None


class FilteredSets:
    """Describes filtered tables as sums of cells, and bounds what all of a project tell.

    Parameters
    ----------
    planner, variables
        What the service plans with, and what it offers.
    service
        The service.
    """

    def __init__(
        self, planner: Planner, variables: Mapping[str, Variable], *, service: Service
    ) -> None:
        self._planner, self._area, self._limits = planner, service.area, service.limits
        self._data, self._populations = str(service.about.updated or ""), service.populations
        self._of = {name: _Categories(variable) for name, variable in variables.items()}
        codes = {name: variable.codes for name, variable in sorted(variables.items())}
        self._digest = _digest(json.dumps(codes).encode())

    def of(self, query: Query) -> list[FilteredSet]:
        """Return what a query shows that no table without a filter does."""
        where = self._planner.who_counts(query)
        if not where:
            return []
        plan = self._planner.plan(query)
        top_level = self._planner.top_level(plan)
        active = [selection.variable for selection in plan.active]
        margins = self._planner.of_active(query, plan).margins
        of_areas = {c for c in where if {name for name, _ in c.places} == {self._area}}
        names, inside, mixed = self._inside(where - of_areas)
        population = self._populations[query.population].where if query.population else ""
        by_text = {}
        for combination in plan.shown() if margins is None else margins:
            below = zip(active, combination, top_level, strict=True)
            levels = {name: level for name, level, top in below if level < top}
            areas = mixed + self._areas(of_areas, levels)
            if names or inside is None or areas:
                one = FilteredSet(
                    categories=self._digest,
                    data=self._data,
                    population=population,
                    levels=levels,
                    names=names,
                    inside=inside,
                    areas=areas,
                )
                by_text[one.to_text()] = one
        return [by_text[text] for text in sorted(by_text)]

    def _inside(
        self, where: Iterable[Condition]
    ) -> tuple[tuple[str, ...], tuple[str, ...] | None, str]:
        """Return a filter's variables, what it lets through, and a digest if areas differ."""
        where = sorted(where, key=lambda condition: repr(condition.tree))
        used = {name for condition in where for name, _ in condition.places}
        names = tuple(sorted(used - {self._area}))
        ordered = [name for name in (self._area, *names) if name in used]
        shape = [self._of[name].size for name in ordered]
        if math.prod(shape) > _MAX_GRID:
            return names, None, _digest(repr([c.tree for c in where]).encode())
        flags = np.ones(shape, bool)
        for condition in where:
            flags &= condition.holds(lambda name, level: self._spread(ordered, name, level))
        is_mixed = self._area in used
        patterns = flags.reshape(shape[0] if is_mixed else 1, -1)
        texts = {base64.b64encode(np.packbits(row).tobytes()).decode() for row in patterns}
        whole = repr(names).encode() + np.packbits(flags).tobytes()  # else two could have one
        return names, tuple(sorted(texts)), _digest(whole) if is_mixed else ""

    def _spread(self, ordered: Sequence[str], name: str, level: int) -> Codes:
        """Return the category of one variable in each joint one."""
        shape = [self._of[other].size for other in ordered]
        codes = along(self._of[name].codes(level), ordered.index(name), len(ordered))
        return np.broadcast_to(codes, shape)

    def _areas(self, where: Iterable[Condition], levels: dict[str, int]) -> str:
        """Return a digest of areas that sums run over, if they are no whole ones of a level.

        Those of one area that is not shown are the sums of a table that shows it.
        """
        area = self._area
        if not where or area is None:
            return ""
        flags = [
            condition.holds(lambda _, level: self._of[area].codes(level)) for condition in where
        ]
        inside = np.logical_and.reduce(flags)
        if area in levels:
            return (
                ""
                if self._of[area].parts(inside, levels[area]) is not None
                else _digest(inside)
            )
        for level in range(len(self._of[area].sizes)):
            if self._of[area].parts(inside, level) == 1:
                levels[area] = level
                return ""
        return _digest(inside)

    def admissible(
        self, earlier: Sequence[FilteredSet], candidates: Sequence[FilteredSet]
    ) -> Sequence[FilteredSet] | None:
        """Return what is new of filtered sets; None where a project would know too much.

        Parameters
        ----------
        known, asked
            What the project has, and what it asks for.
        """
        sets = [*earlier, *(one for one in candidates if one not in earlier)]
        involved = sorted({n for one in sets for n in (*one.names, *one.levels)} - {self._area})
        if not self._is_exact(sets, involved):
            return sets[len(earlier) :] if len(sets) <= self._limits.project_sets else None
        categories = [self._of[name].all_levels() for name in involved]
        sums: dict[tuple[object, ...], Flags] = {}
        new = []
        for place, one in enumerate(sets):
            before, rows = len(sums), self._sums(one, involved)
            if not one.areas:
                rows = rows[~are_cells(categories, rows)]
            of = one.data, one.population, one.levels.get(self._area or ""), one.areas
            for row in rows:
                sums.setdefault((*of, row.tobytes()), row)
            if place >= len(earlier) and len(sums) > before:
                new.append(one)
        if not new:
            return new
        remainder = variance_left(categories, np.array([*sums.values()]))
        return new if remainder >= self._limits.least_variance else None

    def _is_exact(self, sets: Sequence[FilteredSet], involved: Iterable[str]) -> bool:
        """Return whether least squares over some sets can be computed, and soon."""
        if any(one.inside is None or one.categories != self._digest for one in sets):
            return False
        of = {name: self._of[name] for name in involved}
        numbers = sum(
            len(one.inside or ())
            * math.prod(
                of[name].sizes[level] for name, level in one.levels.items() if name in of
            )
            for one in sets
        )
        cells = math.prod(sum(each.sizes) for each in of.values())
        return (
            max(numbers * cells, numbers**2) <= _MAX_NUMBERS
            and max((each.size for each in of.values()), default=0) <= _MAX_SIZE
        )

    def _sums(self, one: FilteredSet, involved: Sequence[str]) -> Flags:
        """Return which finest cells of an area are added up, sum by sum."""
        own = [self._of[name].size if name in one.names else 1 for name in involved]
        packed = [np.frombuffer(base64.b64decode(text), np.uint8) for text in one.inside or ()]
        inside = [np.unpackbits(row, count=math.prod(own)).astype(bool) for row in packed]
        area_flags = np.ones((1, 1), bool)
        for name in involved:
            area_flags = np.kron(area_flags, self._of[name].holders(one.levels.get(name, -1)))
        sizes = [self._of[name].size for name in involved]
        rows = [area_flags & np.broadcast_to(row.reshape(own), sizes).ravel() for row in inside]
        matrix = np.concatenate(rows)
        return matrix[matrix.any(axis=1)]


def _digest(of: bytes | Flags) -> str:
    return hashlib.sha256(
        of if isinstance(of, bytes) else np.packbits(of).tobytes()
    ).hexdigest()
