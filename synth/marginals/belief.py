"""Exact marginals of a log-linear model, by passing messages in its junction tree."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heapify, heappop, heappush
from itertools import groupby
from operator import itemgetter

import numpy as np

from footing.arrays import Columns, Floats
from footing.messages import Argument, Message
from synth.errors import SynthError


class Network:
    """A distribution that is a product of tables over column sets.

    Parameters
    ----------
    sizes
        How many codes each column has.
    sets
        The column sets, each ascending.
    masks
        Column sets with tables of 0 and 1: combinations with 0 have no chance at all.

    References
    ----------
    Koller, Friedman 2009, algorithm 10.3 (belief update).
    """

    def __init__(
        self,
        sizes: Sequence[int],
        sets: Sequence[Columns],
        masks: Sequence[tuple[Columns, Floats]] = (),
    ) -> None:
        self.sizes = [int(size) for size in sizes]
        self.sets = [tuple(columns) for columns in sets]
        cliques = cliques_of([*self.sets, *(c for c, _ in masks)], sizes=self.sizes)
        self.tree = JunctionTree.of(cliques or [])
        self.shapes = [self._shape(clique) for clique in self.tree.cliques]
        self._homes = [self._home(columns) for columns in self.sets]
        self._order, self._within = self._nested()
        self._start = [np.ones(shape) for shape in self.shapes]
        for columns, mask in masks:
            home = self._home(columns)
            clique = self.tree.cliques[home]
            self._start[home] = self._start[home] * self._spread(mask, columns, clique)

    @property
    def cells(self) -> int:
        """The number of cells of all cliques."""
        return sum(math.prod(shape) for shape in self.shapes)

    def calibrate(
        self, potentials: Sequence[Floats], *, evidence: Mapping[int, Floats] | None = None
    ) -> tuple[float, list[Floats]]:
        """Return the logarithm of the total, and the distribution of each clique.

        Evidence is the chance of each code of a column to be what was seen.
        """
        beliefs, log_total = self._multiplied(potentials)
        for column, chances in (evidence or {}).items():
            home = self._home((column,))
            clique = self.tree.cliques[home]
            beliefs[home] = beliefs[home] * self._spread(chances, (column,), clique)
        tree = self.tree
        upward: dict[int, Floats] = {}
        for one in reversed(tree.order[1:]):
            message = self._onto(beliefs[one], tree.cliques[one], tree.separators[one])
            log_total += math.log(self._positive(float(message.max())))
            upward[one] = message / message.max()
            above = tree.parents[one]
            spread = self._spread(upward[one], tree.separators[one], tree.cliques[above])
            beliefs[above] = beliefs[above] * spread
        root = tree.order[0]
        total = self._positive(float(beliefs[root].sum()))
        beliefs[root] /= total
        for one in tree.order[1:]:
            separator, above = tree.separators[one], tree.parents[one]
            message = self._onto(beliefs[above], tree.cliques[above], separator)
            ratio = np.divide(
                message, upward[one], out=np.zeros(message.shape), where=upward[one] > 0
            )
            beliefs[one] = beliefs[one] * self._spread(ratio, separator, tree.cliques[one])
            beliefs[one] /= self._positive(float(beliefs[one].sum()))
        return log_total + math.log(total), beliefs

    def marginals(self, beliefs: Sequence[Floats]) -> list[Floats]:
        """Return the distribution over each set."""
        distributions: dict[int, Floats] = {}
        for one in reversed(self._order):
            within, home = self._within[one], self._homes[one]
            table, columns = (
                (distributions[within], self.sets[within])
                if within is not None
                else (beliefs[home], self.tree.cliques[home])
            )
            distributions[one] = self._onto(table, columns, self.sets[one])
        return [distributions[one] for one in range(len(self.sets))]

    def pairs_of(self, first: int, beliefs: Sequence[Floats]) -> Iterator[tuple[int, Floats]]:
        """Yield every later column with its table of chances, rows being codes of `first`."""
        tree, home = self.tree, self._home((first,))
        axis = tree.cliques[home].index(first)
        size = self.sizes[first]
        shape = [1] * (1 + len(self.shapes[home]))
        shape[0] = shape[1 + axis] = size
        joint = beliefs[home][None] * np.eye(size).reshape(shape)
        earlier = set(range(first + 1))
        waiting = [(home, -1, joint)]
        while waiting:
            one, before, joint = waiting.pop()
            clique = tree.cliques[one]
            for column in set(clique) - earlier:
                earlier.add(column)
                yield column, self._onto(joint, clique, (column,), first=1)
            for other, separator in self._links[one]:
                if other != before:
                    shared = self._onto(joint, clique, separator, first=1)
                    waiting.append(
                        (other, one, self._carried(shared, separator, other, beliefs))
                    )

    def _carried(
        self, shared: Floats, separator: Columns, other: int, beliefs: Sequence[Floats]
    ) -> Floats:
        clique = self.tree.cliques[other]
        chance = self._onto(beliefs[other], clique, separator)
        ratio = np.divide(shared, chance, out=np.zeros(shared.shape), where=chance > 0)
        shape = (len(shared), *self._spread(chance, separator, clique).shape)
        return np.asarray(ratio.reshape(shape) * beliefs[other])

    @cached_property
    def _links(self) -> list[list[tuple[int, Columns]]]:
        """The neighbours of each clique, with what it shares with each."""
        tree = self.tree
        links: list[list[tuple[int, Columns]]] = [[] for _ in tree.cliques]
        for other in tree.order[1:]:
            if tree.parents[other] >= 0:
                links[tree.parents[other]].append((other, tree.separators[other]))
        for one, above in enumerate(tree.parents):
            if above >= 0:
                links[one].append((above, tree.separators[one]))
        return links

    def _multiplied(self, potentials: Sequence[Floats]) -> tuple[list[Floats], float]:
        maxima = [float(potential.max()) for potential in potentials]
        factors = [np.exp(one - top) for one, top in zip(potentials, maxima, strict=True)]
        products = [np.ones((1,) * start.ndim) for start in self._start]
        for one in self._order:
            within, home, columns = self._within[one], self._homes[one], self.sets[one]
            if within is not None:
                factor = self._spread(factors[one], columns, self.sets[within])
                factors[within] = factors[within] * factor
            else:
                factor = self._spread(factors[one], columns, self.tree.cliques[home])
                products[home] = products[home] * factor
        together = zip(self._start, products, strict=True)
        return [start * product for start, product in together], sum(maxima)

    def _nested(self) -> tuple[list[int], list[int | None]]:
        """Return the sets, small tables first, and the smallest that holds each, if any."""
        cells = [math.prod(self._shape(columns)) for columns in self.sets]
        order = sorted(range(len(cells)), key=lambda one: (len(self.sets[one]), cells[one]))
        within: list[int | None] = [None] * len(cells)
        sets = [frozenset(columns) for columns in self.sets]
        for place, one in enumerate(order):
            holding = [other for other in order[place + 1 :] if sets[one] <= sets[other]]
            within[one] = min(holding, key=cells.__getitem__, default=None)
        return order, within

    def _home(self, columns: Columns) -> int:
        home = self.tree.home(columns, sizes=self.sizes)
        if home is None:
            raise SynthError(
                Message("No clique holds the columns {columns}.", columns=Argument(columns))
            )
        return home

    def _shape(self, columns: Columns) -> tuple[int, ...]:
        return tuple(self.sizes[column] for column in columns)

    def _spread(self, table: Floats, columns: Columns, over: Columns) -> Floats:
        """Shape a table so that it multiplies one over more columns."""
        return table.reshape([self.sizes[c] if c in columns else 1 for c in over])

    @staticmethod
    def _onto(table: Floats, clique: Columns, columns: Columns, *, first: int = 0) -> Floats:
        """Sum a table, whose axes are those of a clique from the first on, over the others."""
        flags = [True] * first + [column in columns for column in clique]
        shape = [size for size, keep in zip(table.shape, flags, strict=True) if keep]
        after = 1
        # Neighbouring axes are one, and products with ones several times as fast as sums.
        for keep, run in reversed(_runs(table.shape, flags)):
            if keep:
                after *= run
            elif after == 1:
                table = table.reshape(-1, run) @ np.ones(run)
            else:
                table = np.ones(run) @ table.reshape(-1, run, after)
        return table.reshape(shape)

    @staticmethod
    def _positive(total: float) -> float:
        if not total > 0:
            raise SynthError(
                Message("No record can satisfy the rules and conditions together."),
                hint=Message("relax a rule, or ask for another condition"),
            )
        return total


def _runs(shape: Sequence[int], flags: Sequence[bool]) -> list[tuple[bool, int]]:
    """Return the sizes of axes, neighbours that are both kept or both not as one."""
    pairs = groupby(zip(flags, shape, strict=True), key=itemgetter(0))
    return [(keep, math.prod(size for _, size in run)) for keep, run in pairs]


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
    waiting = [(price, column) for column, price in enumerate(cost)]
    heapify(waiting)
    cliques, cells = list[set[int]](), 0.0
    holding: list[list[set[int]]] = [[] for _ in sizes]  # the cliques that hold each column
    is_out = [False] * len(sizes)
    while waiting:
        price, column = heappop(waiting)
        if is_out[column] or price != cost[column]:
            continue  # its price has changed since, and it waits with the new one
        is_out[column] = True
        others = near[column]
        clique = others | {column}
        if not any(clique <= one for one in holding[column]):
            cliques.append(clique)
            for one in clique:
                holding[one].append(clique)
            cells += math.exp(min(price, 700.0))
            if cells > most * (1 + 1e-9):
                return None
        for other in others:
            links = others - near[other]
            links.discard(other)
            near[other] |= links
            near[other].discard(column)
            cost[other] += sum(logs[one] for one in links) - logs[column]
            heappush(waiting, (cost[other], other))
    return [tuple(sorted(clique)) for clique in cliques]


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
        rest = set(range(len(sets)))
        while rest:
            one = max(rest, key=lambda clique: (shared[clique], -clique))
            order.append(one)
            rest.discard(one)
            for other in rest:
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
        members = {*columns}
        holding = [one for one, clique in enumerate(self.cliques) if members.issubset(clique)]
        return min(
            holding,
            key=lambda one: math.prod(sizes[column] for column in self.cliques[one]),
            default=None,
        )
