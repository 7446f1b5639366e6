"""Sums of a product of tables, without the array of all variables: variables are eliminated.

Cells that are ``exp`` of a sum of tables, times a number for each category, are a graphical
model: variables that no table shows together depend on each other through others alone. Its
sums are those of blocks of variables, which pass messages to each other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from footing.arrays import Floats, Integers, Levels, along
from footing.messages import Message
from risk.errors import RiskError
from risk.reconstruction.lattice import MAX_JOINT, Lattice

#: Exponents are kept below this in all blocks together, so that no product overflows.
_LARGEST = 600.0
_LARGEST_OF_ONE = 50.0


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class _Block:
    """Some variables, the one that is eliminated first, and the tables that show no others."""

    axes: frozenset[int]
    axis: int
    parent: int | None = None
    tables: list[Levels] = field(default_factory=list)


class Blocks:
    """The blocks of variables of some tables.

    Parameters
    ----------
    groups, tables
        See `risk.reconstruction.lattice.Lattice`.

    Raises
    ------
    RiskError
        If a block has too many cells to hold.

    Notes
    -----
    Variables are eliminated one after the other, each time the one whose block has fewest
    cells. Categories that no table tells apart are one.

    References
    ----------
    Lauritzen, Spiegelhalter 1988, Local computations with probabilities on graphical
    structures and their application to expert systems.
    """

    def __init__(self, groups: Sequence[Sequence[Integers]], tables: Sequence[Levels]) -> None:
        self.merged, self.groups = zip(
            *(
                _told_apart(codes, {table[axis] for table in tables})
                for axis, codes in enumerate(groups)
            ),
            strict=True,
        )
        self.sizes = [len(one[0]) for one in self.groups]
        top_level = [len(one) - 1 for one in groups]
        scopes = {
            table: frozenset(
                axis for axis, (level, top) in enumerate(zip(table, top_level, strict=True))
                if level < top and self.sizes[axis] > 1
            )
            for table in tables
        }  # fmt: skip
        self._blocks = _eliminated(set(scopes.values()), self.sizes)
        for table, scope in scopes.items():
            next(one for one in self._blocks if scope <= one.axes).tables.append(table)
        self.n_cells = max(math.prod(self.sizes[a] for a in one.axes) for one in self._blocks)
        if self.n_cells > MAX_JOINT:
            raise RiskError(
                Message(
                    "The variables that tables link have {joint:,} cells together, more than "
                    "{max_joint:,}.",
                    joint=self.n_cells,
                    max_joint=MAX_JOINT,
                ),
                hint=Message(
                    "look at a sample of areas, or at fewer variables, or keep two large ones "
                    "apart: exclusive in [rules]"
                ),
            )
        self._lattices = [self._lattice(one) for one in self._blocks]
        self._children: list[list[int]] = [[] for _ in self._blocks]
        for place, one in enumerate(self._blocks):
            if one.parent is not None:
                self._children[one.parent].append(place)
        self._most = min(_LARGEST_OF_ONE, _LARGEST / len(self._blocks))

    def _lattice(self, block: _Block) -> Lattice:
        none = np.zeros(1, np.int64)
        groups = [
            of if axis in block.axes else [none] * len(of)
            for axis, of in enumerate(self.groups)
        ]
        return Lattice(groups, block.tables)

    def sums(
        self, shares: Sequence[Floats], total: float, exponents: Mapping[Levels, Floats]
    ) -> dict[Levels, Floats]:
        """Return the sums of all tables.

        Parameters
        ----------
        shares
            A number for each finest category of each variable.
        total
            A number that multiplies all cells.
        exponents
            For each table, the numbers that its cells add to the exponent.
        """
        beliefs: list[Floats] = []
        messages: list[Floats] = []
        for place, (one, lattice) in enumerate(zip(self._blocks, self._lattices, strict=True)):
            mine = {table: exponents[table] for table in one.tables}
            cells = np.exp(np.minimum(lattice.spread(mine), self._most))
            cells *= along(shares[one.axis], one.axis, cells.ndim)
            for child in self._children[place]:
                cells *= messages[child]
            if one.parent is None:
                messages.append(cells.sum(keepdims=True))
            else:
                messages.append(cells.sum(axis=one.axis, keepdims=True))
            beliefs.append(cells)
        roots = [place for place, one in enumerate(self._blocks) if one.parent is None]
        whole = total * math.prod(float(messages[place].item()) for place in roots)
        for place in reversed(range(len(self._blocks))):
            parent, message = self._blocks[place].parent, messages[place]
            if parent is None:
                outside = np.full(message.shape, whole)
            else:
                axes = tuple(self._blocks[parent].axes - self._blocks[place].axes)
                outside = beliefs[parent].sum(axis=axes, keepdims=True)
            beliefs[place] *= np.divide(
                outside, message, out=np.zeros_like(message), where=message > 0
            )
        tables: dict[Levels, Floats] = {}
        for lattice, cells in zip(self._lattices, beliefs, strict=True):
            tables |= lattice.sums(cells)
        return tables


def _told_apart(codes: Sequence[Integers], levels: set[int]) -> tuple[Integers, list[Integers]]:
    """Make one of the finest categories that no level tells apart.

    Return of each which it is now, and of those that are left the categories of all levels.
    """
    stacked = np.stack([codes[level] for level in sorted(levels | {len(codes) - 1})])
    _, first, merged = np.unique(stacked, axis=1, return_index=True, return_inverse=True)
    return merged.ravel(), [
        np.arange(len(first)) if level == 0 else code[first] for level, code in enumerate(codes)
    ]


def _eliminated(scopes: set[frozenset[int]], sizes: Sequence[int]) -> list[_Block]:
    """Eliminate one variable after the other; a block leads to that of its next variable."""
    near = {axis: set[int]() for axis in range(len(sizes))}
    for scope in scopes:
        for axis in scope:
            near[axis] |= scope - {axis}
    blocks: list[_Block] = []
    while near:
        axis = min(
            near, key=lambda one: (sizes[one] * math.prod(sizes[a] for a in near[one]), one)
        )
        others = near.pop(axis)
        for one in others:
            near[one] = (near[one] | others) - {one, axis}
        blocks.append(_Block(axes=frozenset({axis, *others}), axis=axis))
    place_of = {one.axis: place for place, one in enumerate(blocks)}
    for block in blocks:
        rest = block.axes - {block.axis}
        block.parent = min((place_of[axis] for axis in rest), default=None)
    return blocks
