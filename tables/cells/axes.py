"""An axis of a table: the categories of one dimension at every level, and how they nest."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from footing.arrays import Codes, Flags
from footing.messages import Message, Name, joined, said
from tables import lookalikes
from tables.cells.hierarchy import CodeTree
from tables.errors import DataError, RequestError
from tables.filtering.values import text_of, texts_of
from tables.request import Request

#: What categories of a column should be.
_DECLARED = Message("declared")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Level:
    """The categories of one level.

    Parameters
    ----------
    ranks
        For each category, its place among all categories of the axis.
    up
        For each category, the one above it at the next coarser level; None for the total.
    is_shown
        Which categories are published at this level; a leaf above the finest level is not,
        since the finest level publishes it.
    """

    ranks: Codes
    up: Codes | None
    is_shown: Flags

    @property
    def size(self) -> int:
        """Number of categories."""
        return len(self.ranks)

    def __repr__(self) -> str:
        return "Level(…)"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Axis:
    """The categories of one dimension.

    Parameters
    ----------
    columns
        Output columns: one, or one for each column of a hierarchy.
    labels
        For each output column, the text of every category by rank, parents before children.
    levels
        Finest first, total last.
    is_declared
        Whether the categories were declared rather than found in the data.
    is_found
        By rank, the categories that the data alone tell of: none of declared ones but missing.
    """

    columns: tuple[str, ...]
    labels: tuple[NDArray[np.object_], ...]
    levels: tuple[Level, ...]
    is_declared: bool
    is_found: Flags

    @property
    def size(self) -> int:
        """Number of categories over all levels."""
        return len(self.labels[0])

    def raised(self, codes: Codes, have: int, want: int) -> Codes:
        """Code the categories of one level as those above them on a coarser one.

        Parameters
        ----------
        codes
            Categories of the level `have`.
        have, want
            Levels, 0 for the finest.
        """
        for level in self.levels[have:want]:
            codes = codes if level.up is None else level.up[codes]
        return codes

    def __repr__(self) -> str:
        return f"Axis({', '.join(self.columns)}; {len(self.levels)} levels)"


def build_axis(
    request: Request, dimension: str, values: dict[str, pa.ChunkedArray]
) -> tuple[Axis, Codes]:
    """Build the axis of a dimension and code the cells' values on its finest level."""
    columns = request.columns_of(dimension)
    coded = [encode(values[column], column) for column in columns]
    nested = request.hierarchies.get(dimension)
    declared = request.categories.get(dimension)
    if nested is not None and nested.tree is not None:
        return _tree_axis(request, dimension, nested.tree, *coded[0])
    if len(columns) == 1:
        return _plain_axis(request, dimension, declared, *coded[0])
    return _path_axis(request, dimension, columns, declared, coded)


def encode(values: pa.ChunkedArray, column: str) -> tuple[list[str], Codes]:
    """Return the present categories as sorted texts and every cell's code; missing is -1."""
    if not len(values):  # Arrow has no empty dictionaries of every type
        return [], np.zeros(0, np.int32)
    if pa.types.is_dictionary(values.type):
        array = values.unify_dictionaries().combine_chunks()
        order = np.arange(len(array.dictionary))
    else:
        array = values.dictionary_encode().combine_chunks()
        order = pc.sort_indices(array.dictionary).to_numpy()
    codes = pc.fill_null(array.indices.cast(pa.int64()), -1).to_numpy(zero_copy_only=False)
    place = np.empty(len(order) + 1, np.int32)
    place[order] = np.arange(len(order))
    place[-1] = -1
    codes = place[codes]
    texts = texts_of(array.dictionary, column)
    labels = [texts[category] for category in order]
    is_present = np.zeros(len(labels), bool)
    is_present[codes[codes >= 0]] = True
    if is_present.all():
        return labels, codes
    renumber = np.append(np.cumsum(is_present) - 1, -1).astype(np.int32)
    return [label for label, keep in zip(labels, is_present, strict=True) if keep], renumber[
        codes
    ]


def _match(
    labels: list[str], declared: Sequence[str], dimension: str, *, what: str = _DECLARED
) -> Codes:
    """Find each label among the declared categories; the extra last entry serves missing."""
    places = {label: place for place, label in enumerate(declared)}
    if len(places) < len(declared):
        raise RequestError(
            Message(
                "The declared categories of {dimension!r} repeat.", dimension=Name(dimension)
            )
        )
    codes = np.array([places.get(label, -1) for label in labels] + [-1], np.int32)
    strangers = [label for label, place in zip(labels, codes[:-1], strict=True) if place < 0]
    if strangers:
        several = len(strangers) > 1
        unknown = (
            Message("categories that are not") if several else Message("category that is not")
        )
        raise DataError(
            Message(
                "Column {dimension!r} holds {number} {names} {what}.",
                dimension=Name(dimension),
                number=len(strangers),
                names=unknown,
                what=said(what),
            ),
            hint=Message("add what is missing, or filter its records out with where"),
            inside=joined("; ", [_first(strangers), *_written_otherwise(strangers, declared)]),
        )
    return codes


def _written_otherwise(strangers: Sequence[str], declared: Sequence[str]) -> list[str]:
    """Tell by code points in what the first of some categories differs from a declared one."""
    alike = {lookalikes.appearance(label): label for label in declared}
    pairs = [(alike.get(lookalikes.appearance(name), name), name) for name in strangers]
    differing = [lookalikes.code_points(one, other) for one, other in pairs if one != other]
    return [
        Message("written otherwise than declared: {points}", points=said(points))
        for points in differing[:1]
    ]


def _first(names: Sequence[str], most: int = 5) -> str:
    """Name the first of some categories."""
    return ", ".join(map(repr, names[:most])) + (", …" if len(names) > most else "")


def _with_missing(labels: list[str], codes: Codes, request: Request) -> tuple[list[str], Codes]:
    """Give missing values, coded -1, a category of their own at the end."""
    if not (codes < 0).any():
        return labels, codes
    return [*labels, request.missing_label], np.where(codes < 0, np.int32(len(labels)), codes)


def _refuse_reserved(labels: Sequence[str], request: Request, column: str) -> None:
    for word, option in ((request.total_label, "total"), (request.missing_label, "missing")):
        if word in labels:
            raise RequestError(
                Message(
                    "Column {column!r} has a category called {word!r}, the name kept for the "
                    "{option} category.",
                    column=Name(column),
                    word=Name(word),
                    option=Name(option),
                ),
                hint=Message(
                    "leave these records out by where, if they are totals in the data; or "
                    "choose another name with total_label"
                )
                if option == "total"
                else Message("choose another name with {option}_label", option=Name(option)),
            )


def _plain_axis(
    request: Request,
    dimension: str,
    declared: Sequence[object] | None,
    labels: list[str],
    codes: Codes,
) -> tuple[Axis, Codes]:
    if declared is not None:
        texts = [text_of(category) for category in declared]
        codes = _match(labels, texts, dimension)[codes]
        labels = texts
    _refuse_reserved(labels, request, dimension)
    labels, codes = _with_missing(labels, codes, request)
    count = len(labels)
    finest = Level(
        ranks=np.arange(1, count + 1, dtype=np.int32),
        up=np.zeros(count, np.int32),
        is_shown=np.ones(count, bool),
    )
    texts_by_rank = np.array([request.total_label, *labels], object)
    is_declared = declared is not None
    return _axis(request, (dimension,), (texts_by_rank,), [finest], is_declared), codes


def _axis(
    request: Request,
    columns: tuple[str, ...],
    labels: tuple[NDArray[np.object_], ...],
    levels: Sequence[Level],
    is_declared: bool,  # noqa: FBT001  (read beside the others)
) -> Axis:
    """Add the total to the levels of an axis."""
    total = Level(ranks=np.zeros(1, np.int32), up=None, is_shown=np.ones(1, bool))
    is_category = np.full(len(labels[0]), not is_declared)
    for texts in labels:
        is_category |= texts == request.missing_label
    is_category[0] = False  # the total
    return Axis(
        columns=columns,
        labels=labels,
        levels=(*levels, total),
        is_declared=is_declared,
        is_found=is_category,
    )


def _path_axis(
    request: Request,
    dimension: str,
    columns: tuple[str, ...],
    declared: Sequence[object] | None,
    coded: list[tuple[list[str], Codes]],
) -> tuple[Axis, Codes]:
    """Nested columns: a category is a path of codes, read from broad to fine."""
    labels, codes = [list(c[0]) for c in coded], [c[1] for c in coded]
    declared_paths: Codes | None = None
    if declared is not None:
        texts = [
            tuple(text_of(part) for part in _as_path(p, columns, dimension)) for p in declared
        ]
        for depth in range(len(columns)):
            categories = list(dict.fromkeys(path[depth] for path in texts))
            codes[depth] = _match(labels[depth], categories, columns[depth])[codes[depth]]
            labels[depth] = categories
        places = [{text: place for place, text in enumerate(own)} for own in labels]
        declared_paths = np.array(
            [[p[t] for p, t in zip(places, path, strict=True)] for path in texts]
        )
    for depth, column in enumerate(columns):
        _refuse_reserved(labels[depth], request, column)
        labels[depth], codes[depth] = _with_missing(labels[depth], codes[depth], request)
    cells = np.stack(codes, axis=1) if codes[0].size else np.zeros((0, len(columns)), np.int32)
    rows, leaf = _unique_rows(cells)
    if declared_paths is not None:
        leaves, place = _unique_rows(np.concatenate([declared_paths, rows]))
        is_listed = np.zeros(len(leaves), bool)
        is_listed[place[: len(declared_paths)]] = True
        missing = np.array(
            [len(k) - 1 if k[-1:] == [request.missing_label] else -1 for k in labels]
        )
        with_missing = (leaves == missing).any(axis=1)
        strangers = leaves[~is_listed & ~with_missing]
        if len(strangers):
            paths = [
                " / ".join(texts[rank] for texts, rank in zip(labels, path, strict=True))
                for path in strangers
            ]
            unknown = (
                Message("paths of {dimension!r} that are not", dimension=Name(dimension))
                if len(paths) > 1
                else Message("path of {dimension!r} that is not", dimension=Name(dimension))
            )
            raise DataError(
                Message(
                    "The data hold {number} {names} declared.",
                    number=len(paths),
                    names=unknown,
                ),
                hint=Message("add what is missing, or filter its records out with where"),
                inside=_first(paths),
            )
        leaf = place[len(declared_paths) :][leaf]
    else:
        leaves = rows
    return _nest(request, columns, labels, leaves, declared is not None), leaf


def _as_path(path: object, columns: tuple[str, ...], dimension: str) -> tuple[object, ...]:
    if (
        isinstance(path, str)
        or not isinstance(path, (tuple, list))
        or len(path) != len(columns)
    ):
        raise RequestError(
            Message(
                "The declared categories of the hierarchy {dimension!r} are lists of "
                "{number} codes, one for each of its columns.",
                dimension=Name(dimension),
                number=len(columns),
            ),
        )
    return tuple(path)


def _unique_rows(rows: Codes) -> tuple[Codes, Codes]:
    """Return the distinct rows in lexicographic order and each row's place among them."""
    place = np.zeros(len(rows), np.int64)
    for column in rows.T:
        width = int(column.max(initial=0)) + 1
        _, place = np.unique(place * width + column, return_inverse=True)
    first = np.zeros(int(place.max(initial=-1)) + 1, np.int64)
    first[place[::-1]] = np.arange(len(rows))[::-1]
    return rows[first], place.astype(np.int32)


def _nest(
    request: Request,
    columns: tuple[str, ...],
    labels: list[list[str]],
    leaves: Codes,
    is_declared: bool,  # noqa: FBT001
) -> Axis:
    """Build the levels of a hierarchy from its distinct paths, sorted."""
    depth = len(columns)
    nodes, ups = [leaves], []
    for length in range(depth - 1, 0, -1):
        prefixes, place = _unique_rows(nodes[-1][:, :length])
        ups.append(place)
        nodes.append(prefixes)
    ups.append(np.zeros(len(nodes[-1]), np.int32))
    blocks = [np.zeros((1, depth), np.int64)]
    blocks += [np.pad(n + 1, ((0, 0), (0, depth - n.shape[1]))) for n in reversed(nodes)]
    paths = np.concatenate(blocks)
    order = np.lexsort(paths.T[::-1])
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order))
    starts = np.cumsum([0] + [len(p) for p in blocks])
    levels = [
        Level(
            ranks=rank[starts[depth - height] : starts[depth - height + 1]],
            up=ups[height],
            is_shown=np.ones(len(nodes[height]), bool),
        )
        for height in range(depth)
    ]
    ordered = paths[order]
    texts = tuple(
        np.array([request.total_label, *categories], object)[ordered[:, place]]
        for place, categories in enumerate(labels)
    )
    return _axis(request, columns, texts, levels, is_declared)


def _tree_axis(
    request: Request, dimension: str, tree: CodeTree, labels: list[str], codes: Codes
) -> tuple[Axis, Codes]:
    """Code tree: every code is a category; a short branch's leaf stands in for itself above."""
    nodes = tree.walk()
    names = [name for name, _ in nodes]
    leaf_names = list(tree.leaves)
    column = request.columns_of(dimension)[0]
    codes = _match(
        labels, leaf_names, column, what=Message("among the leaves of the code tree")
    )[codes]
    _refuse_reserved(names, request, dimension)
    leaf_labels, codes = _with_missing(leaf_names, codes, request)
    depth_of = dict(nodes)
    rank_of = {name: place for place, name in enumerate(names, start=1)}
    if len(leaf_labels) > len(leaf_names):
        rank_of[request.missing_label] = len(names) + 1
        depth_of[request.missing_label] = 1
    levels: list[Level] = []
    current, is_leaf = leaf_labels, set(leaf_labels)
    for height in range(max(depth_of.values()), 0, -1):
        above: list[str] = []
        for name in current:
            parent = tree.parents.get(name)
            above.append(parent if depth_of[name] == height and height > 1 and parent else name)
        upper = list(dict.fromkeys(above)) if height > 1 else []
        place = {name: index for index, name in enumerate(upper)}
        levels.append(
            Level(
                ranks=np.array([rank_of[name] for name in current], np.int32),
                up=np.array([place.get(name, 0) for name in above], np.int32),
                is_shown=np.array(
                    [not levels or name not in is_leaf for name in current], bool
                ),
            )
        )
        current = upper
    total = tree.root if tree.root is not None else request.total_label
    captions = [total, *names] + [request.missing_label] * (len(leaf_labels) > len(leaf_names))
    shown_labels = (np.array(captions, object),)
    return _axis(request, (dimension,), shown_labels, levels, is_declared=True), codes
