"""Which inner cells of a published table every one of its cells adds up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ckm.engine.published_table import PublishedTable
from ckm.errors import ReleaseError
from footing.arrays import Codes, Flags, Integers
from footing.messages import Message, Name
from tables import CodeTree

_NONE = -1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class TableSums:
    """The sums of a table: each cell as a sum of inner cells.

    Parameters
    ----------
    matrix
        Sparse, a row per cell and a column per inner cell: 1 where the one holds the other.
    inner
        The row of every inner cell.
    """

    matrix: Any
    inner: Integers

    @classmethod
    def of_table(
        cls,
        table: PublishedTable,
        *,
        trees: Mapping[str, CodeTree] | None = None,
        total_label: str = "Total",
    ) -> TableSums:
        """Read from the categories of a published table what adds up to what.

        A cell holds the inner cells that agree with it in every column where it is no total.
        """
        code_trees = dict(trees or {})
        strangers = [name for name in code_trees if name not in table.dimensions]
        if strangers:
            raise ReleaseError(
                Message(
                    "The table has no column {strangers!r} for a code tree.",
                    strangers=Name(strangers[0]),
                ),
                hint=Message("it has {dimensions!r}", dimensions=Name.each(table.dimensions)),
            )
        columns = [
            _Column.read(codes, labels, tree=code_trees.get(name), name=name, total=total_label)
            for name, (codes, labels) in table.dimensions.items()
        ]
        return cls._of_columns(columns, n_cells=table.n_rows)

    @classmethod
    def _of_columns(cls, columns: Sequence[_Column], *, n_cells: int) -> TableSums:
        from scipy import sparse

        is_inner = np.ones(n_cells, np.bool_)
        depths = np.zeros((n_cells, len(columns)), np.int64)
        for place, column in enumerate(columns):
            is_inner &= column.is_leaf[column.codes]
            depth = np.where(column.is_leaf, _NONE, column.depth)
            depths[:, place] = depth[column.codes]
        inner = np.flatnonzero(is_inner)
        if not len(inner):
            raise ReleaseError(
                Message("The table has no inner cells that its totals could add up."),
                hint=Message("publish it with all its dimensions crossed"),
            )
        rows, parts = [inner], [np.arange(len(inner))]
        for pattern in np.unique(depths[~is_inner], axis=0):
            cells = np.flatnonzero((depths == pattern).all(axis=1) & ~is_inner)
            row, part = _holders(columns, pattern, cells=cells, inner=inner)
            rows.append(row)
            parts.append(part)
        row, part = np.concatenate(rows), np.concatenate(parts)
        ones = np.ones(len(row))
        matrix = sparse.csr_array((ones, (row, part)), shape=(n_cells, len(inner)))
        return cls(matrix=matrix, inner=inner)

    def without(self, rows: Flags) -> TableSums:
        """Leave out inner cells, which then are 0 in every table that adds up."""
        places = np.flatnonzero(~rows[self.inner])
        return TableSums(matrix=self.matrix[:, places].tocsr(), inner=self.inner[places])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class _Column:
    """One column: per category whether it is a leaf, its depth, and its forebear per depth."""

    codes: Integers
    is_leaf: Flags
    depth: Integers
    above: Integers

    @classmethod
    def read(
        cls,
        codes: Codes,
        labels: Sequence[str],
        *,
        tree: CodeTree | None,
        name: str,
        total: str,
    ) -> _Column:
        places = {label: place for place, label in enumerate(labels)}
        lines = [[label] if label == total else [label, total] for label in labels]
        if tree is not None:
            lines = [_line(label, tree, total=total, name=name) for label in labels]
        depth = np.array([len(line) - 1 for line in lines])
        above = np.full((len(labels), int(depth.max(initial=0)) + 1), _NONE)
        for place, line in enumerate(lines):
            for up, label in enumerate(line):
                above[place, len(line) - 1 - up] = places.get(label, _NONE)
        leaves = None if tree is None else {*tree.leaves}
        is_leaf = np.array(
            [label != total if leaves is None else label in leaves for label in labels], bool
        )
        return cls(codes=codes.astype(np.int64), is_leaf=is_leaf, depth=depth, above=above)


def _line(label: str, tree: CodeTree, *, total: str, name: str) -> list[str]:
    """List a category and its forebears up to the total."""
    if label == total and label not in tree.parents:
        return [label]
    if label not in tree.parents:
        raise ReleaseError(
            Message(
                "The code tree of {name!r} does not know all of its categories.",
                name=Name(name),
            )
        )
    line, node = [label], tree.parents[label]
    while node is not None:
        line.append(node)
        node = tree.parents[node]
    return line if tree.root is not None else [*line, total]


def _holders(
    columns: Sequence[_Column], pattern: Integers, *, cells: Integers, inner: Integers
) -> tuple[Integers, Integers]:
    """Pair the cells of one margin with the inner cells that they hold."""
    parts = np.arange(len(inner))
    of_cells, of_parts = np.zeros(len(cells), np.int64), np.zeros(len(inner), np.int64)
    is_in = np.ones(len(inner), np.bool_)
    for column, depth in zip(columns, pattern.tolist(), strict=True):
        mine, theirs = column.codes[cells], column.codes[inner]
        if depth != _NONE:
            theirs = column.above[theirs, depth]
        is_in &= theirs >= 0
        both = np.concatenate([mine, np.maximum(theirs, 0)])
        joint = np.concatenate([of_cells, of_parts]) * (int(both.max(initial=0)) + 1) + both
        number = np.unique(joint, return_inverse=True)[1]
        of_cells, of_parts = number[: len(cells)], number[len(cells) :]
    order = np.argsort(of_cells)
    place = np.searchsorted(of_cells[order], of_parts)
    place = np.minimum(place, max(len(cells) - 1, 0))
    is_in &= of_cells[order][place] == of_parts
    return cells[order][place[is_in]], parts[is_in]
