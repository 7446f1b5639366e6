"""The noise of every count, and what two neighbouring counts may be published as."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from ptable.lookup import cycle_length, serving_row
from ptable.proof.divergence import outcomes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ptable.proof.divergence import Outcomes
    from ptable.table import PTable


def laws_of(table: PTable, *, key_range: int) -> list[dict[int, int]]:
    """Count the keys of each noise in each row, as a lookup sees them.

    Parameters
    ----------
    table
        The p-table.
    key_range
        How many different cell keys there are.

    Examples
    --------
    >>> from ptable import PTable
    >>> table = PTable(noise=[[0], [-1, 2]], upper=[[3], [2, 3]], key_range=3)
    >>> laws_of(table, key_range=10)
    [{0: 10}, {-1: 7, 2: 3}]
    """
    laws = []
    for noise, upper in zip(table.noise, table.upper, strict=True):
        ends = [-(-end * key_range // table.key_range) for end in upper]
        law: dict[int, int] = {}
        for v, (start, stop) in zip(noise, pairwise((0, *ends)), strict=True):
            if stop > start:
                law[v] = law.get(v, 0) + stop - start
        laws.append(law)
    return laws


def neighbours(
    laws: Sequence[dict[int, int]], *, large_counts: str
) -> Iterator[tuple[Outcomes, Outcomes]]:
    """Give each row's published counts beside those of the next count, in both directions.

    The last row stands beside the row of the next larger count, so that every pair of
    neighbouring counts, however large, is like one of these.

    Parameters
    ----------
    laws
        Keys per noise of each row, from count 0 on.
    large_counts
        The rule of the p-table for larger counts.

    Examples
    --------
    >>> for there, back in neighbours([{0: 8}, {-1: 4, 1: 4}], large_counts="last"):
    ...     print(there, back)
    [(8, 4), (0, 4)] [(4, 8), (4, 0)]
    [(4, 0), (0, 4), (4, 0), (0, 4)] [(0, 4), (4, 0), (0, 4), (4, 0)]
    """
    cycle = cycle_length(large_counts, n_rows=len(laws))
    for row, law in enumerate(laws):
        follows = laws[serving_row(row + 1, n_rows=len(laws), cycle=cycle)]
        there = outcomes(law, {v + 1: n for v, n in follows.items()})
        yield there, [(q, p) for p, q in there]


def blocked_counts(
    laws: Sequence[dict[int, int]], *, large_counts: str, up_to: int
) -> tuple[int, ...]:
    """Give the counts that no original count is ever published as.

    Parameters
    ----------
    laws, large_counts
        As for `neighbours`.
    up_to
        The largest count to look at.

    Examples
    --------
    >>> blocked_counts([{0: 8}, {-1: 8}, {0: 8}], large_counts="last", up_to=9)
    (1,)
    """
    cycle = cycle_length(large_counts, n_rows=len(laws))
    least = min(min(law) for law in laws)
    reached = {
        count + v
        for count in range(up_to - least + 1)
        for v in laws[serving_row(count, n_rows=len(laws), cycle=cycle)]
    }
    return tuple(count for count in range(up_to + 1) if count not in reached)
