"""What a whole release tells of every base cell: the least and the largest that fits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from footing.messages import Message
from risk.errors import RiskError
from risk.reconstruction.program import Rows
from risk.reconstruction.search import TOLERANCE, Search, tightened

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from risk.reconstruction.counts import PublishedCounts


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Intervals:
    """Hold the feasibility interval of every base cell; for inside use only.

    Parameters
    ----------
    lower, upper
        The least and the largest count of each base cell over all tables that fit.
    n_programs
        How many linear programs were solved.
    n_unproven
        How many bounds a limit on nodes left wider than they may be.
    """

    #: Whether some table fits.
    is_feasible: ClassVar[bool] = True
    lower: NDArray[np.int64]
    upper: NDArray[np.int64]
    n_programs: int
    n_unproven: int

    @property
    def width(self) -> NDArray[np.int64]:
        """The largest less the least, per base cell."""
        return self.upper - self.lower

    @property
    def n_unique(self) -> int:
        """How many base cells have one count only."""
        return int((self.width == 0).sum())

    def to_frame(self) -> pd.DataFrame:
        """Give one line per base cell."""
        import pandas as pd

        names = ["cell", "lower", "upper", "width"]
        columns = (np.arange(len(self.lower)), self.lower, self.upper, self.width)
        return pd.DataFrame(dict(zip(names, columns, strict=True)))

    def __repr__(self) -> str:
        return f"Intervals(n_cells={len(self.lower)}, n_programs={self.n_programs})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradiction:
    """Say that no table fits the published counts: the noise is larger than guessed."""

    is_feasible: ClassVar[bool] = False

    def __str__(self) -> str:
        return "no table fits: max_noise or small is not what the intruder guessed"


def intervals(
    counts: PublishedCounts, *, whole: bool = False, most_nodes: int = 10_000
) -> Intervals | Contradiction:
    """Find the least and the largest count of every base cell over all tables that fit.

    Parameters
    ----------
    counts
        The published counts and what is known or guessed of the noise.
    whole
        Whether tables must be of whole numbers; without, bounds are those of linear programs,
        rounded inwards to whole numbers. For one- and two-way tables with their margins both
        are the same.
    most_nodes
        Per program in whole numbers; a bound that takes more stays that of its relaxation.

    Returns
    -------
    Intervals or Contradiction
        The second where no table fits.

    Raises
    ------
    RiskError
        If no sum bounds a base cell from above.

    Notes
    -----
    Bounds are first passed back and forth between sums and cells. A bound that a known table
    attains is proven; linear programs look for tables that attain many at once (the sum of all
    open cells as the goal), then one program is solved per bound still open, each from the last
    vertex. This is optimisation-based bound tightening with filtering.

    References
    ----------
    A. Gleixner, T. Berthold, B. Müller, S. Weltge (2017), Three enhancements for
    optimization-based bound tightening, Journal of Global Optimization 67.

    Examples
    --------
    >>> from risk.reconstruction.counts import PublishedCounts
    >>> counts = PublishedCounts.from_matrix([[1, 0], [0, 1], [1, 1]], [3, 4, 11], max_noise=2)
    >>> found = intervals(counts)
    >>> found.lower, found.upper, found.n_unique
    (array([3, 4]), array([5, 6]), 0)
    """
    bounds = propagate(counts)
    if bounds is None:
        return Contradiction()
    if np.isinf(bounds[1]).any():
        raise RiskError(
            Message(
                "Every base cell must be part of a sum that bounds it; {sum} are not.",
                sum=int(np.isinf(bounds[1]).sum()),
            ),
            hint=Message("leave out base cells of which nothing was published"),
        )
    search = Search(_rows(counts), bounds)
    if not search.run():
        return Contradiction()
    lower = np.ceil(search.bounds[0] - TOLERANCE).astype(np.int64)
    upper = np.floor(search.bounds[1] + TOLERANCE).astype(np.int64)
    if (lower > upper).any():
        return Contradiction()
    last = search
    if whole:
        ends = (lower.astype(np.float64), upper.astype(np.float64))
        last = Search(_rows(counts), ends, most_nodes=most_nodes)
        last.see_whole(search)
        if not last.run():
            return Contradiction()
        lower, upper = (np.rint(bound).astype(np.int64) for bound in last.bounds)
    return Intervals(
        lower=lower,
        upper=upper,
        n_programs=search.n_programs,
        n_unproven=last.n_unproven,
    )


def _rows(counts: PublishedCounts) -> Rows:
    return Rows(
        starts=counts.starts,
        columns=counts.cells,
        weights=counts.weights.astype(np.float64),
        lower=counts.lower.astype(np.float64),
        upper=counts.upper.astype(np.float64),
    )


def propagate(
    counts: PublishedCounts,
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Bound every base cell by the sums that it is part of, see `tightened`."""
    if counts.is_contradictory:
        return None
    free = np.zeros(counts.n_cells), np.full(counts.n_cells, np.inf)
    return tightened(_rows(counts), free)
