"""A junction tree over measured column sets: what makes exact inference small."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["JunctionTree", "cliques_of"]

Columns = tuple[int, ...]


def cliques_of(
    sets: Iterable[Columns], *, sizes: Sequence[int], most: float = math.inf
) -> list[Columns] | None:
    """Return the cliques of a chordal graph in which every set lies in a clique.

    Columns are eliminated one by one, always that with the smallest table.

    References
    ----------
    Koller, Friedman 2009, section 9.4.3.
    """
    logs = [math.log(size) for size in sizes]
    near: list[set[int]] = [set() for _ in sizes]
    for columns in sets:
        for column in columns:
            near[column].update(columns)
    for column, others in enumerate(near):
        others.discard(column)
    cost = [logs[one] + sum(logs[other] for other in near[one]) for one in range(len(sizes))]
    left, found, cells = list(range(len(sizes))), list[set[int]](), 0.0
    while left:
        column = min(left, key=cost.__getitem__)
        left.remove(column)
        others = near[column]
        clique = others | {column}
        if not any(clique <= one for one in found):
            found.append(clique)
            cells += math.exp(min(cost[column], 700.0))
            if cells > most * (1 + 1e-9):
                return None
        for other in others:
            joined = others - near[other]
            joined.discard(other)
            near[other] |= joined
            near[other].discard(column)
            cost[other] += sum(logs[one] for one in joined) - logs[column]
    return [tuple(sorted(clique)) for clique in found]


@dataclass(frozen=True, slots=True)
class JunctionTree:
    """Cliques, each with a parent; what a clique shares with others runs through the tree.

    Parameters
    ----------
    cliques
        Column sets.
    order
        The cliques, parents first.
    parents
        The parent of each clique, -1 for the root.
    separators
        What each clique shares with its parent.
    """

    cliques: tuple[Columns, ...]
    order: tuple[int, ...]
    parents: tuple[int, ...]
    separators: tuple[Columns, ...]

    @classmethod
    def of(cls, cliques: Sequence[Columns]) -> JunctionTree:
        """Join the cliques of a chordal graph so that separators are as large as can be.

        References
        ----------
        Jensen, Jensen 1994: a spanning tree of largest separators is a junction tree.
        """
        sets = [set(clique) for clique in cliques]
        shared, parents = [-1] * len(sets), [-1] * len(sets)
        order: list[int] = []
        left = set(range(len(sets)))
        while left:
            one = max(left, key=lambda clique: (shared[clique], -clique))
            order.append(one)
            left.discard(one)
            for other in left:
                common = len(sets[one] & sets[other])
                if common > shared[other]:
                    shared[other], parents[other] = common, one
        separators = tuple(
            tuple(sorted(sets[one] & sets[parent])) if parent >= 0 else ()
            for one, parent in enumerate(parents)
        )
        return cls(tuple(cliques), tuple(order), tuple(parents), separators)

    def home(self, columns: Iterable[int], *, sizes: Sequence[int]) -> int | None:
        """Return the smallest clique that holds the columns, if one does."""
        wanted = set(columns)
        holding = [one for one, clique in enumerate(self.cliques) if wanted <= set(clique)]
        return min(
            holding,
            key=lambda one: math.prod(sizes[column] for column in self.cliques[one]),
            default=None,
        )
