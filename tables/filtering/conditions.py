"""Filters over coded dimensions: which categories a condition lets through.

A predicate on a column holds, fails or is unknown for each category of a dimension that
determines the column. So a filter becomes sets of categories, which select from cells as
well as from records.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tables.filtering.filters import Filter, Join, Not, comparisons_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from footing.arrays import Codes, Flags
    from tables.cells.axes import Axis
    from tables.filtering.filters import Node

    Judged = tuple[Flags, Flags]  # where a comparison holds, where it is unknown

_MAX_RANGES = 32
_MAX_JUDGED = 16  # comparisons in one query
_LEAF_BYTES, _JOIN_BYTES = 320, 160  # of the objects, without the categories
_FLIPPED: dict[str, Literal["and", "or"]] = {"and": "or", "or": "and"}


@dataclass(frozen=True, slots=True)
class _Among:
    """Categories of a level, a bit for each."""

    dimension: str
    level: int
    size: int
    bits: bytes

    @staticmethod
    def of(place: tuple[str, int], inside: Flags) -> _Among:
        return _Among(*place, size=len(inside), bits=np.packbits(inside).tobytes())

    @property
    def place(self) -> tuple[str, int]:
        return self.dimension, self.level

    @property
    def inside(self) -> Flags:
        packed = np.frombuffer(self.bits, np.uint8)
        return np.unpackbits(packed, count=self.size).astype(bool)


@dataclass(frozen=True, slots=True)
class _Join:
    word: str
    parts: tuple[_Tree, ...]


_Tree = _Among | _Join


@dataclass(frozen=True, slots=True, repr=False)
class Condition:
    """A condition on coded records; equal to another that lets the same categories through.

    Parameters
    ----------
    tree
        Sets of categories, joined by ``and`` and ``or``.
    """

    tree: _Tree

    @property
    def places(self) -> frozenset[tuple[str, int]]:
        """The dimensions and levels that the condition looks at."""
        return frozenset(leaf.place for leaf in _leaves(self.tree))

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the condition takes."""
        return _nbytes(self.tree)

    def sql(self, column: Callable[[str, int], str]) -> str:
        """Return the condition's SQL expression.

        Parameters
        ----------
        column
            Gives the column of a dimension and a level.
        """
        return _sql(self.tree, column)

    def holds(self, codes: Callable[[str, int], Codes]) -> Flags:
        """Return for which cells the condition holds.

        Parameters
        ----------
        codes
            Gives the cells' categories of a dimension at a level.
        """
        return _holds(self.tree, codes)

    def __repr__(self) -> str:
        places = ", ".join(f"{name}@{level}" for name, level in sorted(self.places))
        return f"Condition({places})"


def conditions_of(
    where: Filter,
    places: Mapping[str, tuple[str, int]],
    types: Mapping[str, str],
    judge: Callable[[tuple[str, int], Sequence[str], Mapping[str, object]], Sequence[Judged]],
) -> frozenset[Condition]:
    """Code a filter; parts joined by ``and`` at the top become conditions of their own.

    Comparisons with columns of one place that are joined by one word become one set of
    categories. ``not`` is moved to the comparisons, as de Morgan has it; there it lets
    through what neither holds nor is unknown.
    """
    verdicts: dict[Node, tuple[_Among, _Among]] = {}  # as it stands, and negated
    comparisons = list(dict.fromkeys(comparisons_in(where.tree)))
    for place in dict.fromkeys(places[node.column] for node in comparisons):
        there = [node for node in comparisons if places[node.column] == place]
        for some in (there[at : at + _MAX_JUDGED] for at in range(0, len(there), _MAX_JUDGED)):
            parameters: dict[str, object] = {}
            expressions = [Filter(node).sql(types, parameters) for node in some]
            answers = judge(place, expressions, parameters)
            for node, (holds, unknown) in zip(some, answers, strict=True):
                negated = _Among.of(place, ~holds & ~unknown)
                verdicts[node] = _Among.of(place, holds), negated

    def code(node: Node, *, is_negated: bool) -> _Tree:
        match node:
            case Join(word=word, parts=parts):
                coded = (code(part, is_negated=is_negated) for part in parts)
                return _joined(_FLIPPED[word] if is_negated else word, coded)
            case Not(part=part):
                return code(part, is_negated=not is_negated)
        return verdicts[node][is_negated]

    tree = code(where.tree, is_negated=False)
    parts = tree.parts if isinstance(tree, _Join) and tree.word == "and" else (tree,)
    return frozenset(Condition(part) for part in parts)


def members(dimension: str, axis: Axis, ranks: Iterable[int]) -> Condition | None:
    """Return the condition that records lie in one of some categories of an axis."""
    mask = np.zeros(axis.size, bool)
    mask[list(ranks)] = True
    inside = mask[axis.levels[-1].ranks]
    if inside.any():
        return None
    for level in reversed(axis.levels[:-1]):
        up = np.zeros(level.size, np.int32) if level.up is None else level.up
        inside = inside[up] | mask[level.ranks]
    if inside.all():
        return None
    return Condition(_Among.of((dimension, 0), inside))


def _joined(word: str, parts: Iterable[_Tree]) -> _Tree:
    """Join parts by a word: sets of categories of one place become one set."""
    sets: dict[tuple[str, int], _Among] = {}
    others: dict[_Tree, None] = {}
    for part in parts:
        flat = part.parts if isinstance(part, _Join) and part.word == word else (part,)
        for one in flat:
            if isinstance(one, _Join):
                others[one] = None
                continue
            other = sets.get(one.place)
            if other is not None:
                both = (other.inside, one.inside)
                inside = both[0] & both[1] if word == "and" else both[0] | both[1]
                one = _Among.of(one.place, inside)  # noqa: PLW2901
            sets[one.place] = one
    branches = (*sets.values(), *others)
    return branches[0] if len(branches) == 1 else _Join(word, branches)


def _leaves(tree: _Tree) -> Iterator[_Among]:
    if isinstance(tree, _Join):
        for part in tree.parts:
            yield from _leaves(part)
    else:
        yield tree


def _nbytes(tree: _Tree) -> int:
    if isinstance(tree, _Join):
        return _JOIN_BYTES + sum(8 + _nbytes(part) for part in tree.parts)
    return _LEAF_BYTES + len(tree.bits)


def _holds(tree: _Tree, codes: Callable[[str, int], Codes]) -> Flags:
    if isinstance(tree, _Join):
        flags = [_holds(part, codes) for part in tree.parts]
        join: Any = np.logical_and if tree.word == "and" else np.logical_or
        return np.asarray(join.reduce(flags))
    return tree.inside[codes(tree.dimension, tree.level)]


def _sql(tree: _Tree, column: Callable[[str, int], str]) -> str:
    if isinstance(tree, _Join):
        return "(" + f" {tree.word.upper()} ".join(_sql(p, column) for p in tree.parts) + ")"
    return _among_sql(column(tree.dimension, tree.level), tree.inside)


def _among_sql(column: str, inside: Flags) -> str:
    """Write a set of categories as ranges where they are few: neighbours are kept together."""
    edges = np.flatnonzero(np.diff(inside, prepend=False, append=False))
    first, last = edges[::2].tolist(), (edges[1::2] - 1).tolist()
    if not first:
        return "false"
    if len(first) > _MAX_RANGES:
        return f"(get_bit('{''.join(np.where(inside, '1', '0'))}'::BIT, {column}) = 1)"
    ranges = zip(first, last, strict=True)
    return "(" + " OR ".join(f"{column} BETWEEN {a} AND {b}" for a, b in ranges) + ")"
