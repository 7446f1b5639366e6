"""Which tables may be measured next, and what the model expects of them."""

import math
from collections.abc import Iterable, Mapping, Sequence
from heapq import nsmallest
from itertools import combinations

import numpy as np

from footing.arrays import Columns, Floats, Integers
from synth.marginals.belief import Network, cliques_of
from synth.marginals.drawing import draw_codes

_CHECKS = 3000  # columns times tables that are checked before a choice
_LEAST_CHECKS = 40
_TRIPLES = 12_000  # columns times triples that are looked at
_DRAWN = 100_000


class Candidates:
    """The tables of a workload that the model could still take in.

    Nothing here looks at records: sizes, weights and sets that were measured are public.

    Parameters
    ----------
    sizes
        How many groups each column has.
    weights
        The weight of each table.
    most_cells
        How many cells the cliques of the model may have together.

    Examples
    --------
    >>> pairs = {(0, 1): 1.0, (0, 2): 1.0, (1, 2): 1.0}
    >>> candidates = Candidates([2, 2, 1], pairs, most_cells=100)
    >>> candidates.open([(0,), (1,), (2,)], is_tree=False)
    {(0, 1): 0.05}
    """

    def __init__(
        self, sizes: Sequence[int], weights: Mapping[Columns, float], *, most_cells: int
    ) -> None:
        self._sizes, self._most = list(sizes), most_cells
        self.weights, self.added = dict(weights), set[Columns]()
        self._left = dict.fromkeys(
            columns
            for columns in weights
            if all(sizes[column] > 1 for column in columns)
            and math.prod(sizes[column] for column in columns) <= most_cells
        )
        self._rng = np.random.default_rng(0)  # picks what to check; public

    @property
    def checks(self) -> int:
        """How many pairs are tried in a choice, of those that lie in no clique."""
        return max(_LEAST_CHECKS, _CHECKS // len(self._sizes))

    def widen(self, tables: Sequence[Columns]) -> None:
        """Put more tables on the list, each of weight 1.

        Parameters
        ----------
        tables
            Their columns.
        """
        self._left |= dict.fromkeys(tables)
        self.added |= {*tables}
        self.weights |= dict.fromkeys(tables, 1.0)

    def close(self, columns: Columns) -> None:
        """Take a table off the list.

        Parameters
        ----------
        columns
            Its columns.
        """
        del self._left[columns]

    def open(self, sets: Sequence[Columns], *, is_tree: bool) -> dict[Columns, float]:
        """Return the tables that leave the model small enough, and how full it would be.

        Parameters
        ----------
        sets
            The column sets that the model holds.
        is_tree
            Whether only pairs count that no path joins yet.
        """
        cliques = cliques_of(sets, sizes=self._sizes) or []
        level = self._fullness(cliques)
        if is_tree:
            # An edge between two parts adds one clique, the edge itself.
            parts = _parts(len(self._sizes), sets)
            joins = [c for c in self._left if len(c) == 2 and parts[c[0]] != parts[c[1]]]
            sizes = self._sizes
            filled = {c: level + sizes[c[0]] * sizes[c[1]] / self._most for c in joins}
            return {columns: full for columns, full in filled.items() if full <= 1}
        free = dict.fromkeys(self._inside(cliques), level)
        return free | self._filled(sets, [c for c in self._left if c not in free])

    def _inside(self, cliques: Sequence[Columns]) -> list[Columns]:
        """Return the tables on the list that lie in a clique."""
        pairs = {pair for clique in cliques for pair in combinations(clique, 2)}
        holding: dict[int, list[Columns]] = {}
        for clique in cliques:
            for column in clique:
                holding.setdefault(column, []).append(clique)
        return [
            columns
            for columns in self._left
            if (
                columns in pairs
                if len(columns) == 2
                else any({*columns}.issubset(one) for one in holding.get(columns[0], ()))
            )
        ]

    def expected(
        self, network: Network, beliefs: Sequence[Floats], *, total: float
    ) -> dict[Columns, Floats]:
        """Return the counts that the model expects of each table on the list.

        Parameters
        ----------
        network
            The model.
        beliefs
            The distribution of each clique.
        total
            The number of records.
        """
        tables: dict[Columns, Floats] = {}
        rest = set(self._left)
        for first in sorted({columns[0] for columns in self._left if len(columns) == 2}):
            for second, chances in network.pairs_of(first, beliefs):
                if (first, second) in rest:
                    tables[first, second] = total * chances
        larger = [columns for columns in self._left if len(columns) > 2]
        if larger:
            codes = draw_codes(network, beliefs, number=_DRAWN, rng=self._rng)
            for columns in larger:
                tables[columns] = self._counted(codes, columns) * (total / _DRAWN)
        return tables

    def _counted(self, codes: Sequence[Integers], columns: Columns) -> Floats:
        shape = [self._sizes[column] for column in columns]
        cells = np.ravel_multi_index([codes[column] for column in columns], shape)
        counts = np.bincount(cells, minlength=math.prod(shape))
        return counts.reshape(shape).astype(np.float64)

    def _filled(self, sets: Sequence[Columns], some: list[Columns]) -> dict[Columns, float]:
        most = self.checks
        pairs = [columns for columns in some if len(columns) == 2]
        if len(pairs) > most:
            places = self._rng.choice(len(pairs), most, replace=False)
            sample = {pairs[one] for one in places.tolist()}
            some = [columns for columns in some if len(columns) > 2 or columns in sample]
        shares = {}
        for columns in some:
            cliques = cliques_of([*sets, columns], sizes=self._sizes, most=self._most)
            if cliques is None:
                # What does not fit now will hardly fit when the model has grown.
                del self._left[columns]
            else:
                shares[columns] = self._fullness(cliques)
        return shares

    def _fullness(self, cliques: Iterable[Columns]) -> float:
        cells = sum(math.prod(self._sizes[c] for c in clique) for clique in cliques)
        return cells / self._most


def small_triples(sizes: Sequence[int], *, most_cells: float) -> list[Columns]:
    """Return the triples of columns with the fewest cells, some thousand over all columns."""
    number = _TRIPLES // len(sizes)
    telling = [column for column, size in enumerate(sizes) if size > 1]
    # Of the smallest columns there are triples enough: none with more cells than these matters.
    smallest = sorted(sizes[column] for column in telling)
    few = next((k for k in range(3, len(smallest)) if math.comb(k, 3) >= number), 0)
    if few:
        most_cells = min(most_cells, math.prod(smallest[few - 3 : few]))
        widest = most_cells / math.prod(smallest[:2])
        telling = [column for column in telling if sizes[column] <= widest]
    triples = (
        (cells, columns)
        for columns in combinations(telling, 3)
        if (cells := math.prod(sizes[column] for column in columns)) <= most_cells
    )
    return [columns for _, columns in nsmallest(number, triples)]


def _parts(columns: int, sets: Iterable[Columns]) -> list[int]:
    """Return equal numbers for columns that sets join."""
    part = list(range(columns))
    for one in sets:
        for other in one[1:]:
            old, new = part[other], part[one[0]]
            part = [new if label == old else label for label in part]
    return part
