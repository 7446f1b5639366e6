"""Bounds and margins: lines whose noises all went as far as they can."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import ArrayLike

from footing.messages import Argument, Message
from ptable import PTable
from risk.attacks.oracle import Analyst, AttackResult, Oracle
from risk.distributions.distribution import Law
from risk.distributions.noise_distributions import noise_law
from risk.errors import RiskError
from risk.wellformed import require_counts, require_integers, truth_of


def reveal(cells: Sequence[int], *, total: int, max_noise: int) -> tuple[int, ...] | None:
    """Find the original counts of a line where the bounds leave a single possibility.

    Parameters
    ----------
    cells
        Published counts of the parts, two or more.
    total
        Published count of their total.
    max_noise
        The largest noise, which the intruder knows.

    Returns
    -------
    tuple of int or None
        The original counts, or None where several are possible, or none at all.

    Notes
    -----
    A count published as ``j`` lies between ``j - D`` and ``j + D``, at 1 or above when ``j``
    is above 0, because zeros are kept. Each part has at least two possible counts, so that
    the line is revealed just when all parts must be at their least, or all at their greatest.

    Examples
    --------
    >>> reveal([7, 8], total=9, max_noise=2)
    (5, 6)
    >>> reveal([7, 8], total=10, max_noise=2) is None
    True
    """
    require_integers("bounds", max_noise=(max_noise, 1, None), total=(total, 0, None))
    parts = require_counts(cells, name="cells")
    if parts.ndim != 1 or len(parts) < 2:
        raise RiskError(
            Message("cells must be two counts or more, not {size}.", size=Argument(parts.size))
        )
    bounds = [_bounds(published, max_noise) for published in (*parts.tolist(), total)]
    lows, highs = zip(*bounds[:-1], strict=True)
    if sum(lows) == bounds[-1][1]:
        return lows
    return highs if sum(highs) == bounds[-1][0] else None


def _bounds(published: int, max_noise: int) -> tuple[int, int]:
    least = 1 if published > 0 else 0
    return max(published - max_noise, least), published + max_noise


@dataclass(frozen=True, slots=True, kw_only=True)
class MarginBounds:
    """Reveal lines of a table from its total and the largest noise.

    Parameters
    ----------
    max_noise
        The largest noise, which the intruder knows.
    n_categories
        Parts of a line, 2 or more; their total is published too.

    References
    ----------
    Bach (2022), Differential privacy and noisy confidentiality concepts for European
    population statistics, Journal of Survey Statistics and Methodology 10(3).
    Enderle, Giessing and Tent (2020), Calculation of risk probabilities for the cell key
    method, Privacy in Statistical Databases.

    Examples
    --------
    >>> from ptable import NoiseSpec, solve
    >>> table = solve(NoiseSpec.r_ptable(2, 1.0))
    >>> attack = MarginBounds(max_noise=2)
    >>> f"{attack.closed_form(table):.1e}", round(attack.expected_hits(table, n_lines=10**6))
    ('5.2e-04', 520)
    """

    max_noise: int
    n_categories: int = 2

    def __post_init__(self) -> None:
        require_integers(
            Message("an attack by margins"),
            max_noise=(self.max_noise, 1, None),
            n_categories=(self.n_categories, 2, 1000),
        )

    def run(
        self, oracle: Oracle, *, truth: ArrayLike, closed_form: float | None = None
    ) -> AttackResult:
        """Ask for all parts and the total, one line after another.

        Parameters
        ----------
        oracle
            What publishes counts.
        truth
            The original counts of the parts, line by part, to judge the guesses by.
        closed_form
            The probability to report beside the rate.

        Examples
        --------
        >>> attack = MarginBounds(max_noise=2)
        >>> attack.run(lambda request: [7, 8, 9], truth=[[5, 6]]).rate
        1.0
        """
        lines = truth_of(truth, n_columns=self.n_categories)
        parts = tuple((place,) for place in range(self.n_categories))
        groups = (*parts, tuple(range(self.n_categories)))
        analyst = Analyst("bounds and margins", oracle, closed_form)
        for line, counts in enumerate(lines.tolist()):
            answers = analyst.ask_all(groups, line=line)
            if answers is not None:
                solution = reveal(answers[:-1], total=answers[-1], max_noise=self.max_noise)
                analyst.successes += solution == tuple(counts)
        return analyst.result(trials=len(lines))

    def closed_form(self, ptable: PTable, *, counts: Sequence[int] | None = None) -> float:
        """Give the probability that a line is revealed, under a keyed mix.

        Parameters
        ----------
        ptable
            The p-table.
        counts
            The original counts of the parts; None where all are large.

        Notes
        -----
        For large counts this is the probability that all parts go up as far as possible and
        the total goes down, or the other way round: ``2 p_D**3`` for two parts of symmetric
        noise. Small counts have narrower bounds, whose laws are convolved.

        Examples
        --------
        >>> from ptable import NoiseSpec, solve
        >>> table = solve(NoiseSpec(max_noise=2, variance=1.0))
        >>> round(MarginBounds(max_noise=2).closed_form(table, counts=[1, 1]), 4)
        0.0231
        """
        if counts is None:
            distribution = noise_law(ptable)
            low, high = distribution.at([-self.max_noise, self.max_noise]).tolist()
            return float(high**self.n_categories * low + low**self.n_categories * high)
        sizes = truth_of(counts)
        if len(sizes) != self.n_categories:
            raise RiskError(
                Message(
                    "counts must be {n_categories} whole numbers.",
                    n_categories=self.n_categories,
                )
            )
        cells = [self._bound_laws(ptable, count) for count in sizes.tolist()]
        total = self._bound_laws(ptable, int(sizes.sum()))
        lows = reduce(Law.plus, (low for low, _ in cells))
        highs = reduce(Law.plus, (high for _, high in cells))
        return _p_equal(lows, total[1]) + _p_equal(highs, total[0])

    def expected_hits(self, ptable: PTable, *, n_lines: int) -> float:
        """Give how many lines of a release are revealed on average, all counts being large.

        Parameters
        ----------
        ptable
            The p-table.
        n_lines
            How many lines with their total the release has.

        Examples
        --------
        >>> from ptable import NoiseSpec, solve
        >>> table = solve(NoiseSpec.r_ptable(5, 3.0))
        >>> round(MarginBounds(max_noise=5).expected_hits(table, n_lines=10**6), 1)
        0.1
        """
        require_integers(Message("a release"), n_lines=(n_lines, 0, None))
        return n_lines * self.closed_form(ptable)

    def _bound_laws(self, ptable: PTable, count: int) -> tuple[Law, Law]:
        """Give the laws of the lower and of the upper bound that a count leads to."""
        distribution = noise_law(ptable, count=count)
        lows = np.zeros(count + distribution.highest + 1)
        highs = np.zeros(count + distribution.highest + self.max_noise + 1)
        for noise, p in zip(
            distribution.numbers.tolist(), distribution.probabilities.tolist(), strict=True
        ):
            low, high = _bounds(count + noise, self.max_noise)
            lows[low] += p
            highs[high] += p
        return Law(lowest=0, probabilities=lows), Law(lowest=0, probabilities=highs)


def _p_equal(first: Law, second: Law) -> float:
    return float(first.probabilities @ second.at(first.numbers))
