"""Feasibility intervals: base cells that all published margins together leave one count."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ptable import PTable
from risk.attacks.margins import MarginBounds
from risk.attacks.oracle import Analyst, AttackResult, Group, Oracle
from risk.errors import RiskError
from risk.reconstruction.counts import PublishedCounts, all_margins
from risk.reconstruction.intervals import Intervals, intervals
from risk.wellformed import require_integers, truth_of

_MAX_CELLS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class FeasibilityIntervals:
    """Determine base cells from all margins of a table and the largest noise.

    Every published count bounds the sum of some base cells. The least and the largest count of
    a base cell over all tables within these bounds are found by linear programs; a cell where
    both are the same is disclosed.

    Parameters
    ----------
    shape
        The number of categories of each dimension; base cells are the categories of a line,
        numbered in C order.
    max_noise
        The largest noise, which the intruder knows.
    small
        Counts from 1 to this are never published, as the intruder knows.
    whole
        Whether programs are in whole numbers: sharper, and slower, for three dimensions or
        more; with fewer both give the same.

    Notes
    -----
    A guess of the noise that is too small is often refuted by the published counts
    themselves: then no table fits, and all cells of the line are missed.

    References
    ----------
    Garfinkel, Abowd and Martindale (2019), Understanding database reconstruction attacks on
    public data, Communications of the ACM 62(3).

    Examples
    --------
    Two parts and their total, with all three noises at their bounds:

    >>> attack = FeasibilityIntervals(shape=(2,), max_noise=2)
    >>> attack.run(lambda request: [7, 8, 9], truth=[[5, 6]]).rate
    1.0
    """

    shape: tuple[int, ...]
    max_noise: int
    small: int = 0
    whole: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", tuple(self.shape))
        sizes = {f"shape[{k}]": (size, 1, _MAX_CELLS) for k, size in enumerate(self.shape)}
        require_integers(
            "an attack by intervals",
            max_noise=(self.max_noise, 0, None),
            small=(self.small, 0, None),
            **sizes,
        )
        if not self.shape or math.prod(self.shape) > _MAX_CELLS:
            raise RiskError(f"shape must have 1 to {_MAX_CELLS:,} base cells.")

    @property
    def groups(self) -> tuple[Group, ...]:
        """The groups asked for: base cells first, then every margin, the total last.

        Examples
        --------
        >>> FeasibilityIntervals(shape=(2, 1), max_noise=2).groups
        ((0,), (1,), (0,), (1,), (0, 1), (0, 1))
        """
        base = np.arange(math.prod(self.shape)).reshape(self.shape)
        found: list[Group] = []
        for kept in all_margins(base.ndim):
            rest = tuple(axis for axis in range(base.ndim) if axis not in kept)
            size = math.prod(base.shape[axis] for axis in kept)
            found += map(tuple, base.transpose(*kept, *rest).reshape(size, -1).tolist())
        return tuple(found)

    def run(
        self,
        oracle: Oracle,
        *,
        truth: ArrayLike,
        ptable: PTable | None = None,
        closed_form: float | None = None,
    ) -> AttackResult:
        """Ask for all margins of one line after another; refused ones bound nothing.

        Parameters
        ----------
        oracle
            What publishes counts.
        truth
            The original counts of the base cells, line by cell.
        ptable
            The p-table, where the intruder knows it whole; its bounds are never wider.
        closed_form
            The probability to report beside the rate.

        Returns
        -------
        AttackResult
            Its trials are the base cells of all lines, those of a line not independent; it
            counts those with a single possible count, if that is the truth.

        Examples
        --------
        >>> exact = lambda request: [3 * len(group) for group in request.groups]
        >>> attack = FeasibilityIntervals(shape=(2, 2), max_noise=0)
        >>> attack.run(exact, truth=[[3, 3, 3, 3]]).words[:35]
        'feasibility intervals: 4 of 4 targe'
        """
        lines = truth_of(truth, n_columns=math.prod(self.shape))
        groups = self.groups
        analyst = Analyst("feasibility intervals", oracle, closed_form)
        determined: dict[tuple[int | None, ...], dict[int, int]] = {}
        for line, counts in enumerate(lines):
            answers = tuple(analyst.ask(groups, line=line))
            if answers not in determined:  # small lines often get the same answers
                known = [(g, a) for g, a in zip(groups, answers, strict=True) if a is not None]
                determined[answers] = self._determined(known, ptable) if known else {}
            found = determined[answers].items()
            analyst.successes += sum(bool(counts[cell] == n) for cell, n in found)
        return analyst.result(trials=lines.size)

    def closed_form(self, ptable: PTable, *, counts: Sequence[int] | None = None) -> float:
        """Give the probability that a base cell of a one-way table is determined.

        Parameters
        ----------
        ptable
            The p-table.
        counts
            The original counts of the base cells; None where all are large.

        Notes
        -----
        In one dimension a cell is determined exactly when the whole line is, see
        `MarginBounds`. There is no formula for more dimensions.

        Examples
        --------
        >>> from ptable import NoiseSpec, solve
        >>> table = solve(NoiseSpec.r_ptable(2, 1.0))
        >>> f"{FeasibilityIntervals(shape=(2,), max_noise=2).closed_form(table):.1e}"
        '5.2e-04'
        """
        if len(self.shape) > 1 or self.shape[0] < 2 or self.small:
            raise RiskError(
                "There is a formula for one dimension of two categories or more and without "
                "small counts only.",
                hint="run() measures the others",
            )
        line = MarginBounds(max_noise=self.max_noise, n_categories=self.shape[0])
        return line.closed_form(ptable, counts=counts)

    def _determined(
        self, known: list[tuple[Group, int]], ptable: PTable | None
    ) -> dict[int, int]:
        """Give the only possible count of each base cell that has one."""
        groups, answers = zip(*known, strict=True)
        members = np.concatenate([np.array(group) for group in groups])
        covered, cells = np.unique(members, return_inverse=True)
        published = PublishedCounts(
            starts=np.cumsum([0, *map(len, groups)]),
            cells=cells,
            weights=np.ones(len(cells), dtype=np.int64),
            published=np.array(answers, dtype=np.int64),
            n_cells=len(covered),
            max_noise=self.max_noise,
            small=self.small,
        )
        found = intervals(
            published if ptable is None else published.known_to(ptable), whole=self.whole
        )
        if not isinstance(found, Intervals):
            return {}
        single = found.width == 0
        return dict(zip(covered[single].tolist(), found.lower[single].tolist(), strict=True))
