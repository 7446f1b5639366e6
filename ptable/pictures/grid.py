"""The cells of a heat map: which columns there are, and what stands in them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

from ptable.pictures.facts import (
    RowFacts,
    chosen_rows,
    never_near,
    never_published,
    row_facts,
)
from ptable.pictures.words import ENGLISH, Wording, signed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ptable.table import PTable

_MAX_COLUMNS = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Hold the cells of a heat map.

    Parameters
    ----------
    rows
        The rows that are drawn.
    columns
        The labels of the columns.
    by_published
        Whether columns are published values; they are noise values otherwise.
    bin_width
        How many neighbouring noise values a column sums.
    cells
        Per row the probability by column.
    home
        Per row the column of no noise.
    hatched
        Per row the columns that no count is published as.
    never
        The values that no count is published as, in steps.
    gaps
        Before which rows others are left out.
    unit
        How many columns make one unit.

    Examples
    --------
    >>> from ptable import PTable
    >>> grid_of(PTable.from_units([{0: 8}, {-1: 4, 1: 4}], key_range=8)).columns
    ['0', '1', '2']
    """

    rows: list[RowFacts]
    columns: list[str]
    by_published: bool
    bin_width: int
    cells: list[dict[int, Fraction]]
    home: list[int]
    hatched: list[set[int]]
    never: set[int]
    gaps: list[int]
    unit: int


def grid_of(table: PTable, *, wording: Wording = ENGLISH) -> Grid:
    """Lay out the cells of a table: by published value, or by noise where that is too wide."""
    chosen = chosen_rows(table)
    rows = [row_facts(table, row, wording=wording) for row in chosen]
    step = table.step
    most = max(row.count * step + max(row.law) for row in rows)
    if table.anchors is None and len(chosen) == table.n_rows and most < _MAX_COLUMNS:
        never = never_published(table, 0, most)
        return Grid(
            rows=rows,
            columns=[wording.number(f"{j / step:g}") for j in range(most + 1)],
            by_published=True,
            bin_width=1,
            cells=[{r.count * step + v: p for v, p in r.law.items()} for r in rows],
            home=[row.count * step for row in rows],
            hatched=[never for _ in rows],
            never=never,
            gaps=[],
            unit=step,
        )
    return _noise_grid(table, rows, wording)


def _noise_grid(table: PTable, rows: list[RowFacts], wording: Wording) -> Grid:
    step = table.step
    reach = max(max(map(abs, row.law)) for row in rows)
    wide = bin_width(reach, _MAX_COLUMNS)
    side = (reach + wide // 2) // wide
    never = never_near(table, [row.count for row in rows], reach) if wide == 1 else set()
    hatched = [{j - row.count * step + side for j in never} for row in rows]
    gaps = [
        place
        for place, (before, after) in enumerate(pairwise(rows), start=1)
        if after.count > before.count + 1
    ]
    return Grid(
        rows=rows,
        columns=[wording.number(signed(wide * (c - side), step)) for c in range(2 * side + 1)],
        by_published=False,
        bin_width=wide,
        cells=[{side + v: p for v, p in binned(row.law, wide).items()} for row in rows],
        home=[side for _ in rows],
        hatched=hatched,
        never=never,
        gaps=[] if table.anchors is not None else gaps,
        unit=step if wide == 1 else 1,
    )


def bin_width(reach: int, most: int) -> int:
    """Say how many neighbouring noise values share a column; an odd number keeps 0 central."""
    wide = 1
    while 2 * ((reach + wide // 2) // wide) + 1 > most:
        wide += 2 if wide < 99 else wide - wide % 2
        wide += 1 - wide % 2
    return wide


def binned(law: Mapping[int, Fraction], wide: int) -> dict[int, Fraction]:
    """Sum the probabilities of neighbouring noise values; the bin of 0 is 0."""
    bins: dict[int, Fraction] = {}
    for v, p in law.items():
        place = (v + wide // 2) // wide
        bins[place] = bins.get(place, Fraction(0)) + p
    return bins
