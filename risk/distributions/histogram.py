"""How many cells of a table have each original count: all that expected figures need."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footing.messages import Argument, Message
from risk.distributions.prior import Prior
from risk.errors import RiskError
from risk.wellformed import require_counts, require_whole


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Histogram:
    """Hold the different counts of a table and how many cells have each; for inside.

    Parameters
    ----------
    counts
        Different original counts, ascending.
    cells
        How many cells have each, at least 1.
    unlisted
        How many of the empty cells the table does not list. They count for figures of risk:
        whoever misses a cell does not know whether it is empty. Figures of use leave them out.

    Examples
    --------
    >>> Histogram.of([4, 1, 1], grid_size=5).counts
    array([0, 1, 4])
    """

    counts: NDArray[np.int64]
    cells: NDArray[np.int64]
    unlisted: int = 0

    @classmethod
    def of(
        cls,
        counts: ArrayLike,
        *,
        grid_size: int | None = None,
        lists_grid: bool = True,
    ) -> Histogram:
        """Count the cells of each original count.

        Parameters
        ----------
        counts
            The original counts of the cells.
        grid_size
            The number of cells of the declared grid; those that ``counts`` does not list are
            empty. By default it lists all.
        lists_grid
            Whether the table lists the empty cells that ``counts`` does not.

        Examples
        --------
        >>> Histogram.of([4, 1, 1], grid_size=5).cells
        array([2, 2, 1])
        """
        numbers = require_counts(counts, name="counts").ravel()
        n_cells = len(numbers)
        size = n_cells if grid_size is None else require_whole(grid_size, name="grid_size")
        if size < n_cells or size == 0:
            raise RiskError(
                Message(
                    "grid_size must be at least 1 and the {n_cells} cells given, not {size}.",
                    n_cells=n_cells,
                    size=Argument(size),
                ),
                hint=Message("grid_size counts empty cells too"),
            )
        if size > n_cells:
            numbers = np.append(numbers, 0)
        kinds, cells = np.unique(numbers, return_counts=True)
        if size > n_cells:
            cells[0] += size - n_cells - 1
        unlisted = 0 if lists_grid else size - n_cells
        return cls(counts=kinds, cells=cells.astype(np.int64), unlisted=unlisted)

    @classmethod
    def together(cls, histograms: Iterable[Histogram]) -> Histogram:
        """Take the cells of several tables as one.

        Parameters
        ----------
        histograms
            One per table, at least one.

        Examples
        --------
        >>> Histogram.together([Histogram.of([1, 4]), Histogram.of([4])]).cells
        array([1, 2])
        """
        members = list(histograms)
        if not members:
            raise RiskError(Message("There must be a histogram at least; there is none."))
        kinds, places = np.unique(
            np.concatenate([one.counts for one in members]), return_inverse=True
        )
        cells = np.zeros(len(kinds), np.int64)
        np.add.at(cells, places, np.concatenate([one.cells for one in members]))
        return cls(counts=kinds, cells=cells, unlisted=sum(one.unlisted for one in members))

    @property
    def n_cells(self) -> int:
        """The number of cells, empty ones included.

        Examples
        --------
        >>> Histogram.of([4, 1, 1], grid_size=5).n_cells
        5
        """
        return int(self.cells.sum())

    def as_listed(self) -> Histogram:
        """Leave out the empty cells that the table does not list.

        Examples
        --------
        >>> Histogram.of([4, 1, 1], grid_size=5, lists_grid=False).as_listed().n_cells
        3
        """
        if not self.unlisted:
            return self
        cells = self.cells - np.where(self.counts == 0, self.unlisted, 0)
        return Histogram(counts=self.counts[cells > 0], cells=cells[cells > 0])

    def within(self, low: int, high: int | None) -> Histogram:
        """Keep the cells whose count lies between two ends.

        Parameters
        ----------
        low, high
            The least and the greatest count; None leaves the end open.

        Examples
        --------
        >>> Histogram.of([4, 1, 1], grid_size=5).within(1, None).n_cells
        3
        """
        inside = self.counts >= low
        if high is not None:
            inside &= self.counts <= high
        unlisted = 0 if low > 0 else self.unlisted
        return Histogram(
            counts=self.counts[inside], cells=self.cells[inside], unlisted=unlisted
        )

    def listed(self) -> NDArray[np.int64]:
        """List the count of every cell, ascending.

        Examples
        --------
        >>> Histogram.of([4, 1, 1], grid_size=5).listed()
        array([0, 0, 1, 1, 4])
        """
        return np.repeat(self.counts, self.cells)

    def prior(self, up_to: int, *, added: float = 0.0) -> Prior | None:
        """Take the shares of the counts up to one; None where there are none.

        Posteriors given a published count ask for the counts in its reach only, and they are
        ratios, so that what lies beyond ``up_to`` cancels.

        Parameters
        ----------
        up_to
            The largest count within reach of what is asked.
        added
            Cells added to every count from 1 on; 0.5 is Jeffreys' rule. Zeros stay as they are.

        Examples
        --------
        >>> Histogram.of([4, 1, 1, 900]).prior(4).probabilities.round(3)
        array([0.   , 0.667, 0.   , 0.   , 0.333])
        >>> Histogram.of([4, 1, 1, 900]).prior(4, added=0.5).probabilities
        array([0. , 0.5, 0.1, 0.1, 0.3])
        """
        near = self.counts <= up_to
        if not near.any():
            return None
        weights = np.zeros(up_to + 1)
        weights[self.counts[near]] = self.cells[near]
        weights[1:] += added
        return Prior.supplied(weights)

    def __repr__(self) -> str:
        return "Histogram(…)"
