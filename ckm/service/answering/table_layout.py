"""From protected cells, level by level, to slices for the rules and to a table."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckm.engine.published_table import PublishedTable
from ckm.service.answering.query import Query, Selection, are_in_margins
from ckm.service.answering.query_plan import Levels, QueryPlan
from ckm.service.answering.variables import Variable
from ckm.service.rules.areas import Slices

Protected = Mapping[Levels, tuple[tuple[NDArray[np.int32], ...], dict[str, NDArray[Any]]]]

_UNCOUNTABLE = 10**15  # cells beyond this are as good as beyond number


def table_of(
    query: Query,
    plan: QueryPlan,
    protected: Protected,
    variables: Mapping[str, Variable],
    *,
    selections: tuple[Selection, ...],
) -> PublishedTable:
    """Put the cells into a table of every combination of the categories to be shown."""
    shape = tuple(len(s.ranks) for s in selections)
    numbers: dict[str, NDArray[Any]] = {}
    names = {s.variable for s in plan.active}
    own_selections = [s for s in selections if s.variable in names]
    for levels in plan.shown():
        ranks, arrays = protected[levels]
        at, is_in = _positions(own_selections, ranks, len(arrays["count"]))
        for measure in query.measures:
            full = numbers.setdefault(
                measure, np.zeros(int(np.prod(shape, dtype=np.int64)), arrays[measure].dtype)
            )
            full[at[is_in]] = arrays[measure][is_in]
    index = [place.ravel() for place in np.indices(shape, dtype=np.int32)] if shape else []
    mask = _shown(query, selections, index, variables)
    if mask is not None:
        index = [place[mask] for place in index]
        numbers = {name: values[mask] for name, values in numbers.items()}
    dimensions = {
        s.variable: (place, tuple(variables[s.variable].codes[r] for r in s.ranks))
        for s, place in zip(selections, index, strict=True)
    }
    return PublishedTable(dimensions=dimensions, measures=numbers)


def slices_of(
    plan: QueryPlan,
    pairs: Sequence[tuple[Levels, Levels]],
    protected: Protected,
    variables: Mapping[str, Variable],
) -> Slices:
    """Gather the inner cells of all areas asked for, or of the whole table.

    An area of several levels is judged once, at the finest of them.
    """
    others = [p for p in range(len(plan.active)) if p != plan.area]
    areas = np.array((0,) if plan.area is None else plan.active[plan.area].ranks)
    is_left = np.ones(len(areas), bool)
    population = np.zeros(len(areas), np.int64)
    parts: list[tuple[NDArray[np.int64], ...]] = []
    for fine, coarse in pairs:
        is_here = is_left
        if plan.area is not None:
            axis = variables[plan.active[plan.area].variable].axis
            is_here = is_left & np.isin(areas, axis.levels[fine[plan.area]].ranks)
            is_left = is_left & ~is_here
        place = np.full(areas.max() + 1, -1, np.int64)
        place[areas[is_here]] = np.flatnonzero(is_here)
        ranks, numbers = protected[coarse]
        at = _places(place, ranks, plan.area, len(numbers["count"]))
        population[at[at >= 0]] = numbers["count"][at >= 0]
        ranks, numbers = protected[fine]
        at = _places(place, ranks, plan.area, len(numbers["count"]))
        mask = (at >= 0) & (numbers["count"] > 0)
        for p in others:
            mask &= variables[plan.active[p].variable].is_listed[ranks[p]]
        codes = tuple(ranks[p][mask].astype(np.int64) for p in others)
        parts.append((at[mask], numbers["count"][mask], *codes))
    cells = 1
    for p in others:
        cells *= len(variables[plan.active[p].variable].ranks(pairs[0][0][p]))
    arrays = [np.concatenate(column) for column in zip(*parts, strict=True)]
    return Slices(
        population=population,
        cells=min(cells, _UNCOUNTABLE),
        area=arrays[0],
        published=arrays[1],
        codes={
            plan.active[p].variable: code for p, code in zip(others, arrays[2:], strict=True)
        },
    )


def _shown(
    query: Query,
    selections: tuple[Selection, ...],
    index: list[NDArray[np.int32]],
    variables: Mapping[str, Variable],
) -> NDArray[np.bool_] | None:
    """Return which combinations belong to the margins asked for; None for all."""
    if query.margins is None or not index:
        return None
    levels = [
        variables[s.variable].level_of[list(s.ranks)][place]
        for s, place in zip(selections, index, strict=True)
    ]
    return are_in_margins(levels, query.margins, size=len(index[0]))


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
