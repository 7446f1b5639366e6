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
    """Count the keys of each noise in each row, as a lookup sees them."""
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
    """
    cycle = cycle_length(large_counts, n_rows=len(laws))
    for row, law in enumerate(laws):
        follows = laws[serving_row(row + 1, n_rows=len(laws), cycle=cycle)]
        there = outcomes(law, {v + 1: n for v, n in follows.items()})
        yield there, [(q, p) for p, q in there]


def blocked_counts(
    laws: Sequence[dict[int, int]], *, large_counts: str, up_to: int
) -> tuple[int, ...]:
    """Give the counts that no original count is ever published as."""
    cycle = cycle_length(large_counts, n_rows=len(laws))
    least = min(min(law) for law in laws)
    reached = {
        count + v
        for count in range(up_to - least + 1)
        for v in laws[serving_row(count, n_rows=len(laws), cycle=cycle)]
    }
    return tuple(count for count in range(up_to + 1) if count not in reached)
