"""Which cells of a table belong together: margins, categories, totals and their parts."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tables import Cells
from tables.cells.axes import Axis
from tables.cells.places import CellPlaces, level_of, tree_of

Codes = NDArray[np.int64]

_NONE = np.int32(-1)


class Margins:
    """Which combination of levels each cell of a table lies on.

    Parameters
    ----------
    place
        Per cell the number of its combination, finest first.
    names
        Per combination the columns that it shows; none of the grand total.
    """

    def __init__(self, place: NDArray[np.int32], names: tuple[str, ...]) -> None:
        self.place = place
        self.names = names

    @property
    def is_finest(self) -> NDArray[np.bool_]:
        """The cells that are no total over anything; no two of them share a record."""
        return np.asarray(self.place == 0)


def margins_of(cells: Cells) -> Margins:
    """Find the combination of levels of each cell."""
    code = np.zeros(len(cells), np.int64)
    codes = np.zeros(len(cells.level_sets), np.int64)
    for number, (axis, ranks) in enumerate(zip(cells.axes, cells.ranks, strict=True)):
        depth = len(axis.levels)
        code = code * depth + level_of(axis)[ranks]
        codes = codes * depth + np.array([levels[number] for levels in cells.level_sets])
    order = np.argsort(codes)
    place = order[np.searchsorted(codes[order], code)] if len(codes) else code
    names = tuple(
        ", ".join(
            _level_name(axis, level)
            for axis, level in zip(cells.axes, levels, strict=True)
            if level < len(axis.levels) - 1
        )
        for levels in cells.level_sets
    )
    return Margins(place.astype(np.int32), names)


def _level_name(axis: Axis, level: int) -> str:
    """Name a level below the total: its column, with its depth where one column has several."""
    depth = len(axis.levels) - 1 - level
    if len(axis.columns) > 1:
        return axis.columns[depth - 1]
    only = axis.columns[0]
    return f"{only} {depth}" if len(axis.levels) > 2 else only


def _ancestors(axis: Axis, level: int) -> NDArray[np.int32]:
    """Give, by rank, the category of a level that each category lies in; -1 where above it."""
    codes = np.full(axis.size, _NONE)
    target = axis.levels[level].ranks
    climb = np.arange(len(target))
    for place in range(level, -1, -1):
        if place < level:
            up = axis.levels[place].up
            climb = np.zeros(axis.levels[place].size, np.int64) if up is None else climb[up]
        codes[axis.levels[place].ranks] = target[climb]
    return codes


def categories(cells: Cells, *, at_most: int) -> Iterator[tuple[str, Codes, list[str]]]:
    """Give, for each level with few categories, the category that each cell lies in."""
    for axis, ranks in zip(cells.axes, cells.ranks, strict=True):
        for level in reversed(range(len(axis.levels) - 1)):
            if len(axis.levels[level].ranks) > at_most:
                break  # finer levels have no fewer
            column = _level_column(axis, level)
            texts: dict[str, int] = {}
            number = np.full(axis.size + 1, -1, np.int64)
            for rank in axis.levels[level].ranks.tolist():
                number[rank] = texts.setdefault(str(axis.labels[column][rank]), len(texts))
            inside = number[_ancestors(axis, level)]  # -1 stands for the last, which is -1
            yield _level_name(axis, level), inside[ranks], list(texts)


def _level_column(axis: Axis, level: int) -> int:
    """Give the output column that names the categories of a level."""
    return len(axis.columns) - 1 - level if len(axis.columns) > 1 else 0


def parents(cells: Cells) -> Iterator[tuple[str, Codes]]:
    """Give, for each dimension, the position of the total that each cell is a part of.

    Where the next coarser level is not shown, the total is the nearest one that is.
    """
    places = CellPlaces([tree_of(axis) for axis in cells.axes], cells.ranks)
    for number, axis in enumerate(cells.axes):
        yield axis.columns[-1], places.nearest(number)
