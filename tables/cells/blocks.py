"""Cells as numbers: grouping them, rolling them up, and sums that no order can change.

Counts, keys and weights are added up as integers, so that cells rolled up from other cells
are the cells that a scan of the records would have found.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from footing.arrays import Codes, Floats, Integers, Words
from footing.disclosive import Disclosive
from tables.cells.axes import Axis
from tables.cells.sketch import Sketch, join_sketches
from tables.magnitudes.amounts import Amounts, Magnitudes, join_amounts
from tables.magnitudes.limbs import from_limbs, sum_at, sum_keys


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Cells(Disclosive):
    """The non-empty cells of a table. Disclosive: never write or print them.

    Parameters
    ----------
    axes
        One for each dimension.
    ranks
        For each axis, the category of every cell, int32.
    count
        Number of records of every cell, int64, at least 1.
    cell_key
        Sum of the cell's record keys modulo `key_range`, uint64.
    key_range
        Cell keys lie in [0, key_range).
    weight
        Sum of the cell's weights, float64, or None.
    weighted_count
        Number of the cell's records whose weight is not zero, int64, or None.
    level_sets
        The combinations of levels that the table shows, finest first.
    sketch
        What tells whether cells differ by few records, or None when it was not asked for.
    magnitudes
        Variable → its sums and largest contributions, or None where none was asked for.
    """

    axes: tuple[Axis, ...]
    ranks: tuple[Codes, ...]
    count: Integers
    cell_key: Words
    key_range: int
    weight: Floats | None
    weighted_count: Integers | None
    level_sets: tuple[tuple[int, ...], ...]
    sketch: Sketch | None = None
    magnitudes: Mapping[str, Magnitudes] | None = None

    def __len__(self) -> int:
        return len(self.count)

    def __repr__(self) -> str:
        return f"Cells({len(self.axes)} dimensions, {len(self.level_sets)} margins)"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Block(Disclosive):
    """Cells of one combination of levels, in the order of their codes."""

    codes: tuple[Codes, ...]
    count: Integers
    key: Words
    weight: tuple[Integers, ...]
    sketch: Sketch | None = None
    amounts: tuple[Amounts, ...] = ()

    def take(self, places: Integers) -> Block:
        """Return some of the cells, each once."""
        return Block(
            tuple(code[places] for code in self.codes),
            self.count[places],
            self.key[places],
            tuple(limb[places] for limb in self.weight),
            None if self.sketch is None else self.sketch.take(places),
            tuple(amounts.take(places) for amounts in self.amounts),
        )


def roll_up(
    axes: tuple[Axis, ...],
    finest: Block,
    level_sets: Sequence[tuple[int, ...]],
    key_range: int,
    *,
    start: tuple[int, ...] | None = None,
) -> dict[tuple[int, ...], Block]:
    """Compute every wanted combination of levels from the smallest finer one at hand."""
    blocks = {(0,) * len(axes) if start is None else start: finest}
    for levels in sorted(level_sets, key=lambda s: (sum(s), s)):
        if levels in blocks:
            continue
        parent = min(
            (p for p in blocks if all(a <= b for a, b in zip(p, levels, strict=True))),
            key=lambda p: (len(blocks[p].count), p),
        )
        steps = zip(axes, blocks[parent].codes, parent, levels, strict=True)
        codes = tuple(axis.raised(code, have, want) for axis, code, have, want in steps)
        sizes = tuple(axis.levels[want].size for axis, want in zip(axes, levels, strict=True))
        coarser = replace(blocks[parent], codes=codes)
        blocks[levels] = group(coarser, sizes, key_range)
    return blocks


def lay_out(
    axes: tuple[Axis, ...],
    blocks: Iterable[Block],
    level_sets: Sequence[tuple[int, ...]],
    *,
    key_range: int,
) -> Cells:
    """Lay the cells of some combinations of levels out as one list."""
    columns: list[list[Any]] = []
    sketches: list[Sketch] = []
    amounts: list[list[Amounts]] = []
    for block in blocks:
        columns.append([*block.codes, block.count, block.key, *block.weight])
        sketches += [] if block.sketch is None else [block.sketch]
        amounts.append(list(block.amounts))
        del block  # its columns go one by one: all together fill the memory
    arrays, size = [], len(axes)
    for place in range(len(columns[0])):
        kind = np.int32 if place < size else None
        arrays.append(np.concatenate([column[place] for column in columns], dtype=kind))
        for column in columns:
            column[place] = None
    limbs = arrays[size + 2 :]
    return Cells(
        axes=axes,
        ranks=tuple(arrays[:size]),
        count=arrays[size],
        cell_key=arrays[size + 1],
        key_range=key_range,
        weight=from_limbs(limbs[:3]) if limbs else None,
        weighted_count=limbs[3] if limbs else None,
        level_sets=tuple(level_sets),
        sketch=join_sketches(sketches) if sketches else None,
        magnitudes=join_amounts(amounts, key_range),
    )


def group(
    cells: Block,
    sizes: tuple[int, ...],
    key_range: int,
    *,
    is_distinct: bool = False,
    apart: list[Amounts] | None = None,
) -> Block:
    """Sum cells with equal codes, or only sort cells known to be distinct.

    Amounts that lie `apart` from their cells are taken out of this list one by one, so that
    those of one variable are gone before the next is grouped.
    """
    if apart is None:
        amounts: Iterable[Amounts] = cells.amounts
    else:
        amounts = (apart.pop(0) for _ in range(len(apart)))
    narrow = tuple(map(_narrow, cells.codes, sizes))
    cells = replace(cells, codes=narrow)
    total = 1
    for size in sizes:
        total *= max(size, 1)
    place = np.zeros(len(cells.count), np.int64)
    if total < 2**62:
        for code, size in zip(cells.codes, sizes, strict=True):
            place = place * size + code
    else:  # too many combinations to number: renumber axis by axis
        for code, size in zip(cells.codes, sizes, strict=True):
            _, place = np.unique(place * size + code, return_inverse=True)
        total = int(place.max(initial=-1)) + 1
    if total > 8 * len(place) + 1024:
        occupied, place = np.unique(place, return_inverse=True)
        total = len(occupied)
    first = np.full(total, -1, np.int64)
    first[place[::-1]] = np.arange(len(place))[::-1]
    places = np.flatnonzero(first >= 0)
    first = first[places]
    codes = tuple(code[first] for code in cells.codes)
    if is_distinct:
        bare = replace(cells, amounts=()).take(first)
        return replace(bare, amounts=tuple(a.take(first) for a in amounts))
    return Block(
        codes,
        sum_at(place, cells.count, total)[places],
        sum_keys(place, cells.key, total, key_range)[places],
        tuple(sum_at(place, limb, total)[places] for limb in cells.weight),
        None if cells.sketch is None else cells.sketch.merge(place),
        tuple(a.merge(place, places, total, key_range=key_range) for a in amounts),
    )


def shown_cells(
    axes: tuple[Axis, ...], levels: tuple[int, ...], block: Block, *, is_whole: bool = False
) -> Block:
    """Return the block's published cells, coded by their rank on each axis."""
    pairs = [axis.levels[level] for axis, level in zip(axes, levels, strict=True)]
    if not is_whole and not all(level.is_shown.all() for level in pairs):
        keep = np.ones(len(block.count), bool)
        for level, code in zip(pairs, block.codes, strict=True):
            keep &= level.is_shown[code]
        block = block.take(np.flatnonzero(keep))
    ranks = (level.ranks[code] for level, code in zip(pairs, block.codes, strict=True))
    return replace(block, codes=tuple(map(_narrow, ranks, (axis.size for axis in axes))))


def _narrow(codes: Codes, size: int) -> Codes:
    """Hold codes in as few bytes as their number allows; all blocks of a table add up."""
    return codes.astype(np.min_scalar_type(size), copy=False)
