"""Tables of one population over the joint cells that all of them are sums of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

import numpy as np

from footing.arrays import AnyIntegers, Floats, Integers, Levels
from footing.disclosive import Disclosive
from risk.criteria.answers import Answer, identity_of, strides_of
from tables.cells.axes import Axis


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class JointTables(Disclosive):
    """What tables of one population show, level by level; categories are those with records.

    Parameters
    ----------
    groups
        For every dimension of any table and level, the category at this level of each finest
        one, see `risk.reconstruction.lattice.Lattice`.
    cells
        Levels → what is published, NaN where nothing is, and the true counts.
    """

    groups: list[list[Integers]]
    cells: dict[Levels, tuple[Floats, Integers]]

    @property
    def n_joint(self) -> float:
        """How many joint cells there are."""
        return float(np.prod([float(len(levels[0])) for levels in self.groups]))

    @classmethod
    def of(cls, tables: Sequence[Answer]) -> Self:
        """Lay tables out, the first that shows a cell first."""
        dimensions: dict[tuple[str, ...], _Dimension] = {}
        for table in tables:
            for axis, rank in zip(table.axes, table.ranks, strict=True):
                one = dimensions.setdefault(axis.columns, _Dimension(axis))
                one.take_ranks(axis, rank[table.is_held])
        for one in dimensions.values():
            one.number()
        cells: dict[Levels, tuple[Floats, Integers]] = {}
        for table in tables:
            names = [axis.columns for axis in table.axes]
            own = [dimensions[name] for name in names]
            order = [names.index(name) if name in names else -1 for name in dimensions]
            for level_set in table.level_sets:
                levels = tuple(
                    level_set[at] if at >= 0 else len(one.groups) - 1
                    for at, one in zip(order, dimensions.values(), strict=True)
                )
                if levels not in cells:
                    cells[levels] = _laid_out(table, own, level_set, order)
        return cls(groups=[one.groups for one in dimensions.values()], cells=cells)


class _Dimension:
    """The categories of one dimension that hold records, over all tables."""

    def __init__(self, axis: Axis) -> None:
        self._paths: dict[int, tuple[int, ...]] = {}  # finest category → it and those above
        self._depth = len(axis.levels)
        self.groups: list[Integers] = []
        self._codes: list[dict[int, int]] = []

    def take_ranks(self, axis: Axis, ranks: AnyIntegers) -> None:
        """Take the categories of some cells."""
        identity = identity_of(axis)
        level = axis.levels[0]
        has_records = np.isin(level.ranks, ranks)
        code: AnyIntegers = np.arange(level.size)
        path = []
        for each in axis.levels:
            path.append(identity[each.ranks[code]].tolist())
            code = code if each.up is None else each.up[code]
        for place in np.flatnonzero(has_records).tolist():
            self._paths[path[0][place]] = tuple(step[place] for step in path)

    def number(self) -> None:
        """Give the categories of every level numbers, in one order."""
        finest = list(self._paths.values())
        self._codes = [{} for _ in range(self._depth)]
        for path in finest:
            for codes, category in zip(self._codes, path, strict=True):
                codes.setdefault(category, len(codes))
        self.groups = [
            np.array([codes[path[level]] for path in finest] or [0], np.int64)
            for level, codes in enumerate(self._codes)
        ]

    def places(self, axis: Axis, level: int) -> Integers:
        """Return the rank on an axis of every category of a level; -1 where it has none."""
        ranks = _ranks_of(axis)
        categories = self._codes[level] or {0: 0}
        return np.array([ranks.get(category, -1) for category in categories], np.int64)


@lru_cache(maxsize=256)
def _ranks_of(axis: Axis) -> dict[int, int]:
    return {category: rank for rank, category in enumerate(identity_of(axis).tolist())}


def _laid_out(
    table: Answer, own: Sequence[_Dimension], levels: Levels, order: Sequence[int]
) -> tuple[Floats, Integers]:
    """Put the cells of some levels in their places; absent dimensions have one place."""
    sizes = [axis.size for axis in table.axes]
    strides = strides_of(sizes)
    flat = np.zeros(len(table.count), np.int64)
    for rank, stride in zip(table.ranks, strides, strict=True):
        flat += rank.astype(np.int64) * stride
    by_place = np.argsort(flat)
    places = np.zeros((), np.int64)
    for axis, one, level, stride in zip(table.axes, own, levels, strides, strict=True):
        ranks = one.places(axis, level)
        places = np.add.outer(places, np.where(ranks < 0, -(2**60), ranks * stride))
    near = np.minimum(np.searchsorted(flat, places, sorter=by_place), len(flat) - 1)
    at = by_place[near]
    is_there = flat[at] == places
    published = np.where(is_there, table.published[at], 0.0)
    count = np.where(is_there, table.count[at], 0)
    present = [place for place in order if place >= 0]
    shape = [published.shape[place] if place >= 0 else 1 for place in order]
    return (
        published.transpose(present).reshape(shape),
        count.transpose(present).reshape(shape),
    )
