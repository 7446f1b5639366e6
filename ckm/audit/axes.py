"""The axes of many tables: joined where no table shows them together, and all are too many."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from footing.arrays import Flags, Integers, Levels
from risk.reconstruction.lattice import MAX_JOINT, Shown


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Areas:
    """Where areas stand on the axes.

    Parameters
    ----------
    axis, levels
        The axis, and its levels that are areas.
    coarsest
        The coarsest area of each of its finest categories.
    codes
        The codes of the coarsest areas.
    """

    axis: int
    levels: range
    coarsest: Integers
    codes: tuple[str, ...]

    def sample(self, mask: Flags) -> Areas:
        """Keep some of the finest areas, which are whole coarsest ones."""
        codes, coarsest = np.unique(self.coarsest[mask], return_inverse=True)
        return replace(self, coarsest=coarsest, codes=tuple(self.codes[n] for n in codes))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class SpaceTables:
    """Tables of one level of each variable. Disclosive.

    Parameters
    ----------
    variables
        Their names, in the order of all axes. Where there are populations, a last axis tells
        who is in which of them.
    level_names
        For each axis its levels, finest first; the total is left out. Each population is a
        level of the last axis; the finest, of all memberships, no table shows.
    shown
        Combination of levels → what is published.
    parents
        Combination of levels → the permitted tables that show it, themselves or as a margin.
    area
        Where areas stand on the axes.
    """

    variables: tuple[str, ...]
    level_names: tuple[tuple[str, ...], ...]
    shown: Mapping[Levels, Shown]
    parents: Mapping[Levels, frozenset[Levels]]
    area: Areas | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Axes(SpaceTables):
    """The axes of tables, with the categories of each finest one, and who is where on them."""

    groups: list[list[Integers]]
    at: list[Integers]

    def fitting(self) -> Axes:
        """Join axes that no table shows together, until the joint cells can be held."""
        axes = self
        while math.prod(axes._sizes()) > MAX_JOINT and (pairs := list(axes._apart())):
            axes = axes._joined(*max(pairs, key=axes._saved))
        return axes

    def _sizes(self) -> list[int]:
        return [len(one[0]) for one in self.groups]

    def _apart(self) -> Iterator[tuple[int, int]]:
        top_level = [len(one) - 1 for one in self.groups]
        for pair in itertools.combinations(range(len(self.variables)), 2):
            if not any(all(table[p] < top_level[p] for p in pair) for table in self.shown):
                yield pair

    def _saved(self, pair: tuple[int, int]) -> float:
        sizes = self._sizes()
        return math.prod(sizes[axis] for axis in pair) / len(self._occurring(*pair)[0])

    def _occurring(self, first: int, second: int) -> tuple[Integers, Integers]:
        """Return the pairs of categories with records, and of every category one at least."""
        sizes = self._sizes()
        code = self.at[first] * sizes[second] + self.at[second]
        without = [
            np.setdiff1d(np.arange(sizes[axis]), self.at[axis]) for axis in (first, second)
        ]
        occurring = np.union1d(code, np.append(without[0] * sizes[second], without[1]))
        return occurring, np.searchsorted(occurring, code)

    def _joined(self, first: int, second: int) -> Axes:
        """Make one axis of two: its finest categories are those that occur together."""
        occurring, place = self._occurring(first, second)
        codes = divmod(occurring, self._sizes()[second])
        top_level = [len(self.groups[axis]) - 1 for axis in (first, second)]
        groups = [np.arange(len(occurring))]
        for axis, code in zip((first, second), codes, strict=True):
            groups += [group[code] for group in self.groups[axis][:-1]]
        groups.append(np.zeros(len(occurring), np.int64))

        def changed(of: Sequence[Any], new: Any) -> list[Any]:
            return [new if p == first else one for p, one in enumerate(of) if p != second]

        def table_of(table: Levels) -> Levels:
            is_first = table[first] < top_level[0]
            level = table[first] if is_first else top_level[0] + table[second]
            return tuple(changed(table, 1 + level))

        def cells_of(table: Levels, cells: NDArray[Any]) -> NDArray[Any]:
            ordered = cells if table[first] < top_level[0] else cells.swapaxes(first, second)
            return ordered.squeeze(second)

        one, other = self.variables[first], self.variables[second]
        names = ("", *self.level_names[first], *self.level_names[second])
        return Axes(
            variables=tuple(changed(self.variables, f"{one} or {other}")),
            level_names=tuple(changed(self.level_names, names)),
            groups=changed(self.groups, groups),
            at=changed(self.at, place),
            shown={
                table_of(table): some.mapped(partial(cells_of, table))
                for table, some in self.shown.items()
            },
            parents={
                table_of(table): frozenset(map(table_of, of))
                for table, of in self.parents.items()
            },
            area=self._area_joined(first, second, codes),
        )

    def _area_joined(
        self, first: int, second: int, codes: tuple[Integers, Integers]
    ) -> Areas | None:
        """Return where areas stand once two axes are one."""
        area = self.area
        if area is None or area.axis not in (first, second):
            return (
                None if area is None else replace(area, axis=area.axis - (area.axis > second))
            )
        start = 1 if area.axis == first else len(self.groups[first])
        return replace(
            area,
            axis=first,
            levels=range(start, start + len(area.levels)),
            coarsest=area.coarsest[codes[area.axis == second]],
        )
