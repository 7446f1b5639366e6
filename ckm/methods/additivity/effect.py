"""What restoring additivity changes, for users and for intruders; for inside use only."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ckm.engine.published_table import PublishedTable
from ckm.errors import ConfigError
from ckm.methods.additivity.equations import TableSums
from ckm.methods.additivity.least_squares import nearest_additive
from footing.arrays import Flags, Floats, Integers
from footing.messages import Message
from tables import CodeTree

_MAX_INNER = 200
_SLACK = 1e-4


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RestorationEffect:
    """Compare a published table with the nearest one that adds up; for inside use only.

    Every figure is a pair: of the table as published, and as restored.

    Parameters
    ----------
    gap
        The mean distance of a total from the sum of its inner cells.
    deviation
        The mean distance of a number from its original count, over cells with records.
    read_right
        The share of cells with records whose number, rounded, is the original count: what an
        intruder gets who takes numbers as they stand.
    width
        The mean number of further counts that an inner cell may have, for an intruder who knows
        the largest noise and, of the restored table, how it was made. None for large tables.
    pinned
        The share of inner cells that may have one count only.
    """

    gap: tuple[float, float]
    deviation: tuple[float, float]
    read_right: tuple[float, float]
    width: tuple[float, float] | None
    pinned: tuple[float, float] | None

    def __repr__(self) -> str:
        return "RestorationEffect(…)"


def measure_restoration(
    table: PublishedTable,
    counts: Integers,
    *,
    max_noise: int,
    measure: str = "count",
    trees: Mapping[str, CodeTree] | None = None,
    total_label: str = "Total",
) -> RestorationEffect:
    """Measure what least squares without a bound make of a table of counts.

    Parameters
    ----------
    table
        The published table.
    counts
        The original count of each of its cells.
    max_noise
        The largest noise.
    measure
        The column of published counts.
    trees, total_label
        As for `restore_additivity`.

    Raises
    ------
    ConfigError
        If there is not one count per cell.

    Notes
    -----
    The restored table is made of the published one alone, so that no intruder learns more from
    it than from that. The programs tell how much less: the restored numbers ``z`` come from
    any ``y`` that agrees with them in ``Aᵀ y = Aᵀ z`` (at most, where ``z`` is held at 0), and
    the original counts are within the largest noise of ``y``. They assume that the intruder
    knows which inner cells were published as 0. Whole numbers are another function of the
    published table, to which the first sentence applies as well.

    Examples
    --------
    >>> from ckm import PublishedTable
    >>> table = PublishedTable(
    ...     dimensions={"sex": (np.array([0, 1, 2], np.int32), ["Total", "F", "M"])},
    ...     measures={"count": np.array([12, 3, 6])},
    ... )
    >>> effect = measure_restoration(table, np.array([10, 4, 6]), max_noise=2)
    >>> effect.gap, effect.width
    ((3.0, 0.0), (3.0, 4.0))
    """
    published = np.asarray(table.measures[measure], np.float64)
    if counts.shape != published.shape:
        raise ConfigError(
            Message(
                "There must be one original count for each of {n_rows} cells.",
                n_rows=table.n_rows,
            )
        )
    sums = TableSums.of_table(table, trees=trees, total_label=total_label)
    free = sums.without(published == 0)
    restored = nearest_additive(
        free, published, lower=np.zeros_like(published), upper=np.full_like(published, np.inf)
    )
    width = pinned = None
    if len(sums.inner) <= _MAX_INNER:
        before = _widths(sums, published, max_noise=max_noise)
        after = _Intruder(sums, published == 0, restored, max_noise=max_noise).widths()
        width = (float(before.mean()), float(after.mean()))
        pinned = (float((before == 0).mean()), float((after == 0).mean()))
    both = (published, restored)
    is_held = counts > 0
    gaps, off, right = (
        [_gap(sums, numbers) for numbers in both],
        [float(np.abs(numbers - counts)[is_held].mean()) for numbers in both],
        [float((np.rint(numbers) == counts)[is_held].mean()) for numbers in both],
    )
    return RestorationEffect(
        gap=(gaps[0], gaps[1]),
        deviation=(off[0], off[1]),
        read_right=(right[0], right[1]),
        width=width,
        pinned=pinned,
    )


def _gap(sums: TableSums, numbers: Floats) -> float:
    is_total = np.ones(len(numbers), np.bool_)
    is_total[sums.inner] = False
    gaps = np.abs(numbers - sums.matrix @ numbers[sums.inner])[is_total]
    return float(gaps.mean()) if len(gaps) else 0.0


def _widths(sums: TableSums, published: Floats, *, max_noise: int) -> Integers:
    """Give the widths of the feasibility intervals of the table as published."""
    from risk.reconstruction.counts import PublishedCounts
    from risk.reconstruction.intervals import Intervals, intervals

    published_counts = PublishedCounts.from_matrix(
        sums.matrix, published.astype(np.int64), max_noise=max_noise
    )
    bounds = intervals(published_counts)
    if not isinstance(bounds, Intervals):
        raise ConfigError(
            Message("No original counts fit the published ones."),
            hint=Message("give the largest noise as it is"),
        )
    return bounds.width


class _Intruder:
    """Programs over original counts and published numbers that a restored table came from."""

    def __init__(
        self, sums: TableSums, is_zero: Flags, restored: Floats, *, max_noise: int
    ) -> None:
        from scipy import sparse

        n_cells, n_inner = sums.matrix.shape
        is_open = ~is_zero[sums.inner]
        adds = sums.matrix.T.tocsr()[is_open]
        margins = adds @ restored
        is_held = restored[sums.inner][is_open] <= 0
        same = sparse.eye_array(n_cells)
        none = sparse.csr_array((len(margins), n_inner))
        self._rows = sparse.vstack(
            [
                sparse.hstack([sums.matrix, -same]),
                sparse.hstack([-sums.matrix, same]),
                sparse.hstack([none, adds]),
                sparse.hstack([none[~is_held], -adds[~is_held]]),
            ]
        ).tocsr()
        self._most = np.concatenate(
            [np.full(2 * n_cells, max_noise), margins + _SLACK, _SLACK - margins[~is_held]]
        )
        least, most = np.zeros(n_inner + n_cells), np.full(n_inner + n_cells, np.inf)
        least[:n_inner][is_open] = 1  # zeros stay, so that more than 0 was published of some
        most[n_inner + sums.inner[~is_open]] = 0
        least[n_inner + sums.inner[is_open]] = 1
        self._bounds = list(zip(least.tolist(), most.tolist(), strict=True))
        self._n_inner = n_inner

    def widths(self) -> Integers:
        pairs = [[self._end(cell, sign) for sign in (1, -1)] for cell in range(self._n_inner)]
        ends = np.array(pairs)
        lower, upper = np.ceil(ends[:, 0] - 1e-2), np.floor(-ends[:, 1] + 1e-2)
        return (upper - lower).astype(np.int64)

    def _end(self, cell: int, sign: int) -> float:
        from scipy.optimize import linprog

        goal = np.zeros(len(self._bounds))
        goal[cell] = sign
        solution = linprog(goal, A_ub=self._rows, b_ub=self._most, bounds=self._bounds)
        if solution.status != 0 or solution.fun is None:
            raise ConfigError(
                Message("No original counts fit the restored ones."),
                hint=Message("give the largest noise as it is"),
            )
        return float(solution.fun)
