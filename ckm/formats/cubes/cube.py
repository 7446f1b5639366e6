"""A table as a cube, for formats that know nothing else: axes, and the rows' places in it.

Each dimension makes an axis. The columns of a hierarchy that `TableAbout.hierarchies` names
make one axis together, as readers of PxWeb and JSON-stat expect: its categories are the nodes
of all levels, each total before its parts. A node goes by its own code, and the tree says the
rest, wherever codes are unique and each node's parent is in the table; otherwise it goes by
its path, ``"01/Total"``. Either way the columns come back as they were. Columns of a hierarchy
that is not named make an axis each, and most of the cube is empty.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckm.engine.published_table import PublishedTable
from ckm.errors import FormatError
from ckm.formats.about import TableAbout, about_table
from ckm.formats.content import encoded, require_doubles
from footing.messages import Message, said

MAX_CELLS = 10_000_000

_SEPARATOR = "/"
_ESCAPES = {"~": "~0", "/": "~1"}

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """An axis of a cube.

    Parameters
    ----------
    name
        Of the dimension or hierarchy.
    columns
        The columns that it stands for: one, or those of a hierarchy.
    ids
        Its categories.
    labels
        Category → its label, where it has one.
    children
        Category → the categories just below it.
    """

    name: str
    columns: Path
    ids: Sequence[str]
    labels: Mapping[str, str] = field(default_factory=dict)
    children: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def total(self) -> str | None:
        """The root of the tree, if there is a tree."""
        below = {child for children in self.children.values() for child in children}
        return next((node for node in self.children if node not in below), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cube:
    """A table as a cube.

    Parameters
    ----------
    axes
        Its axes, all but that of the measures.
    place
        Of each row of the table: its number among all combinations of categories.
    about
        What is said about the table.
    """

    axes: tuple[Axis, ...]
    place: NDArray[np.int64]
    about: TableAbout

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of categories of each axis."""
        return tuple(len(axis.ids) for axis in self.axes)

    @property
    def size(self) -> int:
        """Number of combinations."""
        return math.prod(self.shape)


def cube_of(table: PublishedTable, about: TableAbout, *, what: str) -> Cube:
    """Turn a table into a cube."""
    require_doubles(table, what)
    about = about_table(about, table)
    axes, codes = _axes(table, about)
    size = math.prod(len(axis.ids) for axis in axes) * len(table.measures)
    if size > MAX_CELLS:
        raise FormatError(
            Message(
                "{what} would hold {size:,} cells, empty ones included; at most "
                "{max_cells:,} are written.",
                what=said(what),
                size=size,
                max_cells=MAX_CELLS,
            ),
            hint=Message("name the hierarchies among the columns, or choose CSV or Parquet"),
        )
    place = np.zeros(table.n_rows, np.int64)
    for axis, code in zip(axes, codes, strict=True):
        place = place * len(axis.ids) + code
    if len(np.unique(place)) < len(place):
        raise FormatError(
            Message(
                "Two rows of the table are the same cell; {what} holds one.", what=said(what)
            ),
            hint=Message("choose CSV or Parquet"),
        )
    return Cube(axes=tuple(axes), place=place, about=about)


def _axes(table: PublishedTable, about: TableAbout) -> tuple[list[Axis], list[NDArray[Any]]]:
    first_of = {columns[0]: name for name, columns in about.hierarchies.items()}
    axes: list[Axis] = []
    codes: list[NDArray[Any]] = []
    done: set[str] = set()
    for column in table.dimensions:
        if column in done:
            continue
        name = first_of.get(column)
        nested = None if name is None else _nested(table, about, name)
        if nested is None:
            axis = Axis(
                name=column,
                columns=(column,),
                ids=list(table.dimensions[column][1]),
                labels=about.category_labels.get(column, {}),
            )
            nested = axis, table.dimensions[column][0]
        axes.append(nested[0])
        codes.append(nested[1])
        done.update(nested[0].columns)
    return axes, codes


def _nested(
    table: PublishedTable, about: TableAbout, name: str
) -> tuple[Axis, NDArray[Any]] | None:
    """Make one axis of a hierarchy's columns; None where they would not come back."""
    columns = tuple(about.hierarchies[name])
    coded = [table.dimensions[column] for column in columns]
    shape = [max(len(categories), 1) for _, categories in coded]
    if math.prod(shape) >= 2**62:
        return None
    key = np.zeros(table.n_rows, np.int64)
    for (codes, _), size in zip(coded, shape, strict=True):
        key = key * size + codes
    keys, first, node = np.unique(key, return_index=True, return_inverse=True)
    for order in (np.arange(len(keys)), np.argsort(first, kind="stable")):
        texts = [
            np.array([*categories, ""], object)[code]
            for (_, categories), code in zip(
                coded, np.unravel_index(keys[order], shape), strict=True
            )
        ]
        paths = list(zip(*texts, strict=True))
        fits = all(
            encoded([path[depth] for path in paths])[1] == list(table.dimensions[column][1])
            for depth, column in enumerate(columns)
        )
        if fits:
            place = np.empty(len(keys), np.int64)
            place[order] = np.arange(len(keys))
            return _tree(name, columns, paths, about), place[node]
    return None


def _tree(name: str, columns: Path, paths: Sequence[Path], about: TableAbout) -> Axis:
    total = _total_of(paths)
    short = [_without(path, total) for path in paths]
    labels = [
        about.category_labels.get(columns[len(nodes) - 1], {}).get(nodes[-1])
        if nodes
        else about.category_labels.get(columns[0], {}).get(path[0])
        for nodes, path in zip(short, paths, strict=True)
    ]
    if total is not None and _are_codes(short, total):
        ids = [nodes[-1] if nodes else total for nodes in short]
        children: dict[str, list[str]] = {}
        for nodes in short:
            if nodes:
                parent = nodes[-2] if len(nodes) > 1 else total
                children.setdefault(parent, []).append(nodes[-1])
    else:
        ids = [_SEPARATOR.join(map(_escape, path)) for path in paths]
        labels = [
            label or (nodes[-1] if nodes else total)
            for label, nodes in zip(labels, short, strict=True)
        ]
        children = {}
    own_labels = {
        i: label for i, label in zip(ids, labels, strict=True) if label not in (None, i)
    }
    return Axis(name=name, columns=columns, ids=ids, labels=own_labels, children=children)


def _total_of(paths: Sequence[Path]) -> str | None:
    """Return what stands for all, where a path consists of nothing else."""
    for path in paths:
        if len(set(path)) == 1 and all(path[0] not in _without(p, path[0]) for p in paths):
            return path[0]
    return None


def _without(path: Path, total: str | None) -> Path:
    """Leave out the totals at the end of a path."""
    end = len(path)
    while end and path[end - 1] == total:
        end -= 1
    return path[:end]


def _are_codes(short: Sequence[Path], total: str) -> bool:
    """Return whether nodes may go by their own codes: their paths follow from the tree."""
    codes = [nodes[-1] for nodes in short if nodes] + [total]
    whole = set(short)
    return (
        len(set(codes)) == len(codes)
        and not any(mark in code for code in codes for mark in _ESCAPES)
        and not any(total in nodes for nodes in short)
        and all(nodes[:-1] in whole for nodes in short if nodes)
        and len(codes) > 1
    )


def _escape(code: str) -> str:
    return code.replace("~", "~0").replace("/", "~1")
