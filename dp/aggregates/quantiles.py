"""Several quantiles at once, from one tree of counts with noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dp.aggregates.scope import reach_of_sum
from footing.arrays import Flags, Integers

if TYPE_CHECKING:
    from dp.mechanisms.noise import DiscreteGaussian, Geometric

#: Binary digits after the first by which cells differ: 32 cells from a number to its double.
DIGITS_OF_CELLS = 5
#: No cell is wider than the bounds over so many.
_FEWEST = 256
_MOST_LEVELS = 8
#: How much more variance than the least a tree may have, to be quicker.
_ENOUGH = 1.1
#: The part of an interval's error that is left to nodes whose cells are not looked at.
_PRUNING = 0.1

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """Cells whose width grows with the distance from 0, up to a part of the bounds.

    Near 0 each step is a cell. A number of more than six binary digits shares its cell with
    those of the same first six, so that a cell is at most 1/32 of its values wide; far from 0
    all cells have the width ``2**widest``, below a 256th of the bounds.

    Parameters
    ----------
    low, high
        The bounds, in steps; both are in a cell.

    Examples
    --------
    >>> cells = Cells(low=0, high=10**7)
    >>> cells.number, cells.widest
    (786, 15)
    >>> [part[cells.places([1000])].tolist() for part in cells.ends]
    [[992], [1007]]
    """

    low: int
    high: int

    @property
    def widest(self) -> int:
        """The binary logarithm of the most steps of a cell."""
        return max(0, ((self.high - self.low + 1) // _FEWEST).bit_length() - 1)

    @property
    def number(self) -> int:
        """How many cells there are."""
        return int(self.places([self.high])[0]) + 1

    def places(self, steps: Any) -> Integers:
        """Return the places of the cells that hold some steps."""
        return self._numbers(np.asarray(steps)) - self.first

    @property
    def first(self) -> int:
        """The number of the first cell, in the words of `tables.Reading`."""
        return int(self._numbers(np.array([self.low]))[0])

    def _numbers(self, steps: NDArray[Any]) -> Integers:
        steps = steps.astype(np.int64)
        sizes = np.abs(steps)
        powers = np.frexp(np.maximum(sizes, 1).astype(np.float64))[1] - 1
        shifts = np.clip(powers - DIGITS_OF_CELLS, 0, self.widest).astype(np.int64)
        numbers = (shifts << DIGITS_OF_CELLS) + (sizes >> shifts)
        return np.asarray(np.sign(steps) * numbers, np.int64)

    @property
    def ends(self) -> tuple[Integers, Integers]:
        """The least and the largest step of each cell."""
        numbers = np.arange(self.first, self.first + self.number)
        sizes = np.abs(numbers)
        shifts = np.clip((sizes >> DIGITS_OF_CELLS) - 1, 0, self.widest)
        near = (sizes - (shifts << DIGITS_OF_CELLS)) << shifts
        far = near + (1 << shifts) - 1
        least, largest = np.where(numbers < 0, -far, near), np.where(numbers < 0, -near, far)
        return np.clip(least, self.low, self.high), np.clip(largest, self.low, self.high)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """Cells, and above them levels of nodes that hold as many cells or nodes each.

    A row is in one cell and one node of each level, so that it moves one number a level. Rows
    below an edge are whole nodes and then cells: few numbers, however many cells there are.

    Parameters
    ----------
    cells
        The cells; behind the last, the tree has places that are known to be empty.
    branches, levels
        How many nodes or cells a node holds, and how often it parts.

    Examples
    --------
    >>> tree = Tree.of(Cells(low=0, high=10**7), law="laplace")
    >>> tree.branches, tree.levels
    (29, 2)
    """

    cells: Cells
    branches: int
    levels: int

    @classmethod
    def of(cls, cells: Cells, *, law: str) -> Tree:
        """Return the tree of most levels whose noise on a rank is nearly the least.

        Notes
        -----
        A rank is a sum of ``levels * (branches - 1) + 1`` numbers; each has noise whose
        variance grows with the square of the levels, of the Gaussian law with their number.
        More levels leave more nodes out that are not looked at.
        """
        power = 2 if law == "laplace" else 1

        def noise(shape: tuple[int, int]) -> int:
            return int(shape[1] ** power * (shape[1] * (shape[0] - 1) + 1))

        number = cells.number
        shapes = []
        for levels in range(1, _MOST_LEVELS + 1):
            branches = max(2, round(number ** (1 / levels)))
            shapes.append((branches + (branches**levels < number), levels))
        enough = _ENOUGH * min(map(noise, shapes))
        branches, levels = max(
            (shape for shape in shapes if noise(shape) <= enough), key=lambda shape: shape[1]
        )
        return cls(cells=cells, branches=branches, levels=levels)

    def counts_of(self, counts: Integers) -> list[Integers]:
        """Return the numbers of each level, of each group: its nodes from left to right."""
        whole = np.pad(counts, ((0, 0), (0, self.branches**self.levels - counts.shape[1])))
        return [
            whole.reshape(len(whole), self.branches**level, -1).sum(axis=2)
            for level in range(1, self.levels + 1)
        ]

    def reach(
        self, noise: Geometric | DiscreteGaussian, share: float, *, level: int, beta: float
    ) -> tuple[Floats, Floats]:
        """Return how far noise moves a rank at both ends of each node, but for a chance."""
        before = after = np.zeros((1, 1))
        for n in range(1, level + 1):
            own = self._can_hold(n).astype(np.float64)[None, :]
            before, after = self._beside(before, after, own)
        pairs = np.stack([before[0], after[0] + own[0], before[0] + own[0], after[0]])
        numbers, places = np.unique(
            pairs.astype(np.int64).reshape(2, 2, -1).transpose(0, 2, 1).reshape(-1, 2),
            axis=0,
            return_inverse=True,
        )
        reaches = [
            reach_of_sum(noise, [1 - share] * few + [share] * rest, beta=beta)
            for few, rest in numbers.tolist()
        ]
        start, end = np.array(reaches)[places.ravel()].reshape(2, -1)
        return start, end

    def chance_of(self, level: int, beta: float) -> float:
        """Return the part of an interval's error that falls to a level."""
        if self.levels == 1:
            return beta
        pruned = beta * _PRUNING
        return beta - pruned if level == self.levels else pruned / (self.levels - 1)

    def answer(
        self,
        noise: Geometric | DiscreteGaussian,
        counts: Integers,
        shares: Sequence[float],
        *,
        beta: float,
    ) -> tuple[Floats, Floats, Floats]:
        """Return estimate, least and most of each quantile of each group, in steps.

        Notes
        -----
        Noise is drawn where it is looked at: inside the outermost nodes that may hold a
        quantile, and inside the one that seems to. All noise is independent, so that what is
        told has the distribution that it has where all of it is drawn, and costs as much.
        """
        paths = [_Path.of(len(counts)) for _ in shares]
        before = after = np.zeros((len(counts), 1))
        for level, exact in enumerate(self.counts_of(counts), start=1):
            can_hold = self._can_hold(level)
            is_open = _open_nodes(paths, before.shape)
            is_drawn = np.repeat(is_open, self.branches, axis=1) & can_hold
            own = np.zeros(exact.shape)
            own[is_drawn] = noise.release(exact[is_drawn])
            before, after = self._beside(before, after, own)
            chance = self.chance_of(level, beta)
            for place, share in enumerate(shares):
                # What lies below, weighted, less what lies above: 0 at the quantile.
                start = (1 - share) * before - share * (after + own)
                end = (1 - share) * (before + own) - share * after
                reach = self.reach(noise, share, level=level, beta=chance)
                may_hold = (start <= reach[0]) & (end >= -reach[1])
                seems_below = (end < 0) & can_hold
                paths[place] = paths[place].inside(
                    may_hold, seems_below, branches=self.branches, used=int(can_hold.sum())
                )
                if level == self.levels:
                    paths[place] = paths[place].ending(start, end)
        value, least, most = zip(*(path.told(self.cells) for path in paths), strict=True)
        return np.stack(value, axis=1), np.stack(least, axis=1), np.stack(most, axis=1)

    def _can_hold(self, level: int) -> Flags:
        """Tell which nodes of a level have cells; the others are known to be empty."""
        nodes = np.arange(self.branches**level) * self.branches ** (self.levels - level)
        return np.asarray(nodes < self.cells.number)

    def _beside(self, before: Floats, after: Floats, own: Floats) -> tuple[Floats, Floats]:
        """Return the rows before and after each node, from those beside the node above it."""
        siblings = own.reshape(len(own), -1, self.branches)
        inside = np.cumsum(siblings, axis=2)
        return (
            (before[:, :, None] + inside - siblings).reshape(own.shape),
            (after[:, :, None] + inside[:, :, -1:] - inside).reshape(own.shape),
        )


def _open_nodes(paths: Sequence[_Path], shape: tuple[int, ...]) -> Flags:
    """Tell which nodes are looked into."""
    is_open = np.zeros(shape, np.bool_)
    groups = np.arange(shape[0])
    for path in paths:
        for nodes in (path.first, path.last, path.middle):
            is_open[groups, nodes] = True
    return is_open


@dataclass(frozen=True, slots=True, kw_only=True)
class _Path:
    """Of each group: between which nodes a quantile may be, in which it seems to, and where."""

    first: Integers
    last: Integers
    middle: Integers
    part: Floats

    @classmethod
    def of(cls, groups: int) -> _Path:
        """Return what is known at the root."""
        root = np.zeros(groups, np.int64)
        return cls(first=root, last=root, middle=root, part=root.astype(np.float64))

    def inside(self, may_hold: Flags, seems_below: Flags, *, branches: int, used: int) -> _Path:
        """Go one level down; nodes from ``used`` on are known to be empty."""

        def children(nodes: Integers, flags: Flags) -> Flags:
            places = nodes[:, None] * branches + np.arange(branches)
            return np.asarray(np.take_along_axis(flags, places, axis=1))

        start, stop = self.first * branches, np.minimum((self.last + 1) * branches, used) - 1
        is_first, is_last = children(self.first, may_hold), children(self.last, may_hold)
        # Where no child may hold it, the next node does: what is not looked at may.
        skipped = np.where(is_first.any(axis=1), np.argmax(is_first, axis=1), branches)
        spared = np.where(is_last.any(axis=1), np.argmax(is_last[:, ::-1], axis=1), branches)
        first, last = start + skipped, (self.last + 1) * branches - 1 - spared
        last = np.minimum(last, stop)
        is_none = first > last
        first, last = np.where(is_none, start, first), np.where(is_none, stop, last)
        middle = self.middle * branches + children(self.middle, seems_below).sum(axis=1)
        return replace(self, first=first, last=last, middle=np.clip(middle, first, last))

    def ending(self, start: Floats, end: Floats) -> _Path:
        """Note where in its cell a quantile seems to be, from its two edges."""
        groups = np.arange(len(self.middle))
        left, right = start[groups, self.middle], end[groups, self.middle]
        rise = right - left
        inside = np.clip(-left / np.where(rise > 0, rise, 1), 0, 1)
        return replace(self, part=np.where(rise > 0, inside, 0.5))

    def told(self, cells: Cells) -> tuple[Floats, Floats, Floats]:
        """Return the estimate, and the ends of all cells that may hold the quantile."""
        least, largest = (part.astype(np.float64) for part in cells.ends)
        width = (largest - least)[self.middle]
        value = np.round(least[self.middle] + self.part * width)
        return value, least[self.first], largest[self.last]
