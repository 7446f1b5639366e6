"""Filters over coded dimensions: which categories a condition lets through.

A predicate on a column holds, fails or is unknown for each category of a dimension that
determines the column. So a filter becomes sets of categories, which select from cells as
well as from records.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from tables.filters import Filter, Join, Not

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from tables.axes import Axis
    from tables.filters import Node

    Truths = tuple[NDArray[np.bool_], NDArray[np.bool_]]

__all__ = ["Condition", "conditions_of", "members"]

_MOST_RANGES = 32


@dataclass(frozen=True, slots=True)
class _Among:
    """Categories of a level for which a predicate holds, and for which it is unknown."""

    dimension: str
    level: int
    holds: frozenset[int]
    unknown: frozenset[int]


@dataclass(frozen=True, slots=True)
class _Not:
    part: _Tree


@dataclass(frozen=True, slots=True)
class _Join:
    word: str
    parts: tuple[_Tree, ...]


_Tree = _Among | _Not | _Join


@dataclass(frozen=True, slots=True, repr=False)
class Condition:
    """A condition on coded records; equal to another that lets the same categories through.

    Parameters
    ----------
    tree
        Sets of categories, joined by ``and``, ``or`` and ``not``.
    """

    tree: _Tree

    @property
    def places(self) -> frozenset[tuple[str, int]]:
        """The dimensions and levels that the condition looks at."""
        return frozenset((leaf.dimension, leaf.level) for leaf in _leaves(self.tree))

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the condition takes, about."""
        return sum(
            64 * (len(leaf.holds) + len(leaf.unknown) + 4) for leaf in _leaves(self.tree)
        )

    def sql(self, column: Callable[[str, int], str]) -> str:
        """Return the condition's SQL expression.

        Parameters
        ----------
        column
            Gives the column of a dimension and a level.
        """
        return _sql(self.tree, column)

    def holds(self, codes: Callable[[str, int], NDArray[np.int32]]) -> NDArray[np.bool_]:
        """Return for which cells the condition holds.

        Parameters
        ----------
        codes
            Gives the cells' categories of a dimension at a level.
        """
        return _truths(self.tree, codes)[0]

    def __repr__(self) -> str:
        places = ", ".join(f"{name}@{level}" for name, level in sorted(self.places))
        return f"Condition({places})"


def conditions_of(
    where: Filter,
    places: Mapping[str, tuple[str, int]],
    types: Mapping[str, str],
    judge: Callable[[str, str, Mapping[str, object]], tuple[Iterable[int], Iterable[int]]],
) -> frozenset[Condition]:
    """Code a filter; parts joined by ``and`` at the top become conditions of their own.

    Parameters
    ----------
    where
        The filter.
    places
        Column → a dimension and a level that determine it.
    types
        Column → DuckDB's type.
    judge
        Called with a column, an SQL expression over it and its parameters; gives the
        categories of the column's place for which it holds, and those for which it is unknown.
    """

    def code(node: Node) -> _Tree:
        match node:
            case Join(word=word, parts=parts):
                return _Join(word, tuple(code(part) for part in parts))
            case Not(part=part):
                return _Not(code(part))
        parameters: dict[str, object] = {}
        sql = Filter(node).sql(types, parameters)
        holds, unknown = judge(node.column, sql, parameters)
        return _Among(*places[node.column], holds=frozenset(holds), unknown=frozenset(unknown))

    return frozenset(Condition(code(node)) for node in _conjuncts(where.tree))


def members(dimension: str, axis: Axis, ranks: Iterable[int]) -> Condition | None:
    """Return the condition that records lie in one of some categories of an axis.

    Parameters
    ----------
    dimension, axis
        The dimension and its axis.
    ranks
        Categories of any levels; the total among them makes the condition void.
    """
    wanted = np.zeros(axis.size, bool)
    wanted[list(ranks)] = True
    inside = wanted[axis.levels[-1].ranks]
    if inside.any():
        return None
    for level in reversed(axis.levels[:-1]):
        up = np.zeros(level.size, np.int32) if level.up is None else level.up
        inside = inside[up] | wanted[level.ranks]
    if inside.all():
        return None
    leaves = frozenset(np.flatnonzero(inside).tolist())
    return Condition(_Among(dimension, 0, leaves, frozenset()))


def _conjuncts(node: Node) -> Iterator[Node]:
    if isinstance(node, Join) and node.word == "and":
        for part in node.parts:
            yield from _conjuncts(part)
    else:
        yield node


def _leaves(tree: _Tree) -> Iterator[_Among]:
    match tree:
        case _Join(parts=parts):
            for part in parts:
                yield from _leaves(part)
        case _Not(part=part):
            yield from _leaves(part)
        case _:
            yield tree


def _truths(tree: _Tree, codes: Callable[[str, int], NDArray[np.int32]]) -> Truths:
    """Return where a tree holds and where it is unknown, by Kleene's logic as in SQL."""
    match tree:
        case _Not(part=part):
            holds, unknown = _truths(part, codes)
            return ~holds & ~unknown, unknown
        case _Join(word=word, parts=parts):
            found = [_truths(part, codes) for part in parts]
            every = [holds if word == "and" else ~holds & ~unknown for holds, unknown in found]
            some = [~holds & ~unknown if word == "and" else holds for holds, unknown in found]
            sure, against = np.logical_and.reduce(every), np.logical_or.reduce(some)
            return (sure if word == "and" else against), ~sure & ~against
    code = codes(tree.dimension, tree.level)
    return _in(code, tree.holds), _in(code, tree.unknown)


def _in(codes: NDArray[np.int32], categories: frozenset[int]) -> NDArray[np.bool_]:
    among = np.zeros(max(int(codes.max(initial=0)), max(categories, default=0)) + 1, bool)
    among[list(categories)] = True
    return among[codes]


def _sql(tree: _Tree, column: Callable[[str, int], str]) -> str:
    match tree:
        case _Not(part=part):
            return f"(NOT {_sql(part, column)})"
        case _Join(word=word, parts=parts):
            return "(" + f" {word.upper()} ".join(_sql(part, column) for part in parts) + ")"
    name = column(tree.dimension, tree.level)
    holds = _among_sql(name, tree.holds)
    if not tree.unknown:
        return holds
    return f"(CASE WHEN {_among_sql(name, tree.unknown)} THEN NULL ELSE {holds} END)"


def _among_sql(column: str, categories: frozenset[int]) -> str:
    """Write a set of categories as ranges where they are few: neighbours are kept together."""
    if not categories:
        return "false"
    ordered: list[Any] = sorted(categories)
    cuts = [place for place, (a, b) in enumerate(pairwise(ordered), start=1) if b > a + 1]
    if len(cuts) >= _MOST_RANGES:
        return f"({column} IN ({', '.join(map(str, ordered))}))"
    edges = [0, *cuts, len(ordered)]
    ranges = [(ordered[a], ordered[b - 1]) for a, b in pairwise(edges)]
    return "(" + " OR ".join(f"{column} BETWEEN {a} AND {b}" for a, b in ranges) + ")"
