"""Cells of a table, found by what files and settings call them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tables import Cells
    from tables.cells.axes import Axis


class CellNames:
    """Finds cells by dimension and category, or by the columns of a hierarchy.

    Parameters
    ----------
    cells
        The table.
    dimensions
        What its axes are called.
    """

    def __init__(self, cells: Cells, dimensions: Sequence[str]) -> None:
        self.dimensions = tuple(dimensions)
        self.axes = cells.axes
        self._codes = [_codes(axis) for axis in cells.axes]
        self._total = cells.axes[0].labels[0][0] if cells.axes else ""
        columns = zip(*(rank.tolist() for rank in cells.ranks), strict=True)
        rows: dict[tuple[int | None, ...], int] = {r: row for row, r in enumerate(columns)}
        self._rows = rows or {(): 0}

    @property
    def columns(self) -> tuple[str, ...]:
        """Names by which a category may be given."""
        own = (column for axis in self.axes for column in axis.columns)
        return tuple(dict.fromkeys([*self.dimensions, *own]))

    def find(self, code_of: Mapping[str, str]) -> int | None:
        """Return the row of a cell; None where there is none, or more than one is meant.

        What is not named is the total, and so is an empty text.
        """
        ranks = []
        for dimension, axis, codes in zip(self.dimensions, self.axes, self._codes, strict=True):
            parts = {c: code_of[c] for c in axis.columns if code_of.get(c)}
            rows = [0]
            if len(axis.columns) > 1 and parts:
                texts = zip(axis.columns, axis.labels, strict=True)
                same = [labels == parts[column] for column, labels in texts if column in parts]
                rows = np.flatnonzero(np.all(same, axis=0)).tolist()[:1]  # the broadest
            elif code := code_of.get(dimension) or parts.get(axis.columns[0]):
                rows = codes.get(code, [])
            if len(rows) != 1:
                return None
            ranks.append(rows[0])
        return self.at(ranks)

    def at(self, ranks: Sequence[int | None]) -> int | None:
        """Return the row of a cell by its categories; None where there is none."""
        return self._rows.get(tuple(ranks))


def _codes(axis: Axis) -> dict[str, list[int]]:
    """Return the categories of an axis by their own code, whatever their level is."""
    by_code: dict[str, list[int]] = {}
    n = len(axis.columns)
    if n == 1:
        for rank, text in enumerate(axis.labels[0]):
            by_code.setdefault(str(text), []).append(rank)
        return by_code
    by_code[str(axis.labels[0][0])] = [0]
    for level, column in zip(axis.levels, reversed(range(n)), strict=False):
        for rank in level.ranks.tolist():
            by_code.setdefault(str(axis.labels[column][rank]), []).append(rank)
    return by_code
