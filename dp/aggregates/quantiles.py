"""Several quantiles at once, from one tree of counts with noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dp.aggregates.scope import reach_of_sum

if TYPE_CHECKING:
    from dp.mechanisms.noise import DiscreteGaussian, Geometric

_BRANCHES, _LEVELS = 16, 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """Cells of equal width, and nodes of sixteen cells each.

    A row is in one cell and one node, so that it moves one number a level. Rows below an edge
    are whole nodes and then cells: at most 31 numbers, however many cells there are.

    Parameters
    ----------
    start, width
        In steps: where the first cell begins, and how wide each is.
    used
        How many cells can hold rows; the others are known to be empty.

    Examples
    --------
    >>> tree = Tree.of(0, 1200)
    >>> tree.cells, tree.width
    (256, 5)
    """

    start: int
    width: int
    used: int

    @classmethod
    def of(cls, low: int, high: int) -> Tree:
        """Return cells that hold the steps from one to another."""
        width = -(-(high - low + 1) // _BRANCHES**_LEVELS)
        return cls(start=low, width=width, used=-(-(high - low + 1) // width))

    @property
    def cells(self) -> int:
        """How many there are."""
        return int(_BRANCHES**_LEVELS)

    @property
    def levels(self) -> int:
        """How many numbers a row moves."""
        return _LEVELS

    def reach(
        self, noise: Geometric | DiscreteGaussian, share: float, *, beta: float
    ) -> NDArray[np.float64]:
        """Return, by edge, how far noise moves the rank of a quantile, but for a chance."""
        distances: dict[int, float] = {}
        reach = np.zeros(self.cells + 1)
        for edge in range(1, self.cells):
            before = sum(divmod(edge, _BRANCHES))
            after = 2 * _BRANCHES - 1 - before
            if before not in distances:
                weights = [1 - share] * before + [share] * after
                distances[before] = reach_of_sum(noise, weights, beta=beta)
            reach[edge] = distances[before]
        return reach

    def answer(
        self,
        noise: Geometric | DiscreteGaussian,
        counts: NDArray[np.int64],
        shares: Sequence[float],
        *,
        beta: float,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return estimate, least and most of each quantile of each group, in steps."""
        fine = counts.reshape(len(counts), _BRANCHES, _BRANCHES)
        noisy = noise.release(np.concatenate([fine.sum(axis=2)[:, :, None], fine], axis=2))
        nodes, cells = noisy[:, :, 0], noisy[:, :, 1:]
        triples = [
            self._one(nodes, cells, share, self.reach(noise, share, beta=beta))
            for share in shares
        ]
        value, least, most = zip(*triples, strict=True)
        return np.stack(value, axis=1), np.stack(least, axis=1), np.stack(most, axis=1)

    def _one(
        self,
        nodes: NDArray[np.int64],
        cells: NDArray[np.int64],
        share: float,
        reach: NDArray[np.float64],
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Find the cells in which the rows below may be the share, given the noise."""
        groups = len(nodes)
        # Rows before a node, and after it; of its own cells those before an edge and after it.
        before = np.cumsum(nodes, axis=1) - nodes
        after = nodes.sum(axis=1, keepdims=True) - before - nodes
        inside = np.cumsum(cells, axis=2)
        left = np.concatenate([np.zeros((groups, _BRANCHES, 1)), inside[:, :, :-1]], axis=2)
        right = inside[:, :, -1:] - left
        excess = (1 - share) * (before[:, :, None] + left) - share * (after[:, :, None] + right)
        below = np.concatenate([excess.reshape(groups, -1), np.zeros((groups, 1))], axis=1)
        below[:, 0], below[:, self.used :] = -np.inf, np.inf
        may_start, may_end = below[:, :-1] <= reach[:-1], below[:, 1:] >= -reach[1:]
        is_held = may_start & may_end
        first, last = _outermost(is_held)
        # As many edges as seem to lie below: noise errs to both sides.
        cell = np.clip((below[:, 1:] < 0).sum(axis=1), first, last)
        middle = np.asarray(self.start + cell * self.width + (self.width - 1) / 2)
        return middle, self.start + first * self.width, self.start + (last + 1) * self.width - 1


def _outermost(is_held: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first and the last place that is held; all where none is."""
    last = is_held.shape[1] - 1
    return np.argmax(is_held, axis=1), last - np.argmax(is_held[:, ::-1], axis=1)
