"""Linear reconstruction: the counts of all categories from counts of all their groups."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footing.messages import Message
from ptable import PTable
from risk.attacks.oracle import Analyst, AttackResult, Group, Oracle
from risk.distributions.distribution import Law
from risk.distributions.noise_distributions import noise_law, p_mean_rounds_to_zero, row_of
from risk.errors import RiskError
from risk.wellformed import read_array, require_integers, truth_of

_HALF = 0.5 + 1e-9  # halves go up, whatever the last digits


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearReconstruction:
    """Find the counts of all categories by least squares from the counts of all groups.

    No other unbiased combination of the same counts has less noise, so that it bounds what
    averaging can find. It works for categories whose own counts are refused.

    Parameters
    ----------
    n_categories
        Categories of an attribute that can be grouped at will, 2 to 10.

    Notes
    -----
    With all ``2^m - 1`` groups ``g`` and answers ``y_g``, the estimate of category ``c`` is
    ``Σ_g y_g ((m + 1) [c in g] - |g|) / (2^(m - 2) (m + 1))``. For noise of one variance
    ``V`` its variance is ``V m / (2^(m - 2) (m + 1))``.

    References
    ----------
    Dinur and Nissim (2003), Revealing information while preserving privacy, PODS.

    Examples
    --------
    >>> import numpy as np
    >>> from ptable import NoiseSpec, solve
    >>> from risk.attacks.simulated import SimulatedOracle
    >>> table = solve(NoiseSpec(max_noise=2, variance=1.0))
    >>> oracle = SimulatedOracle(table, [[20, 30, 40, 50]], rng=np.random.default_rng(1))
    >>> LinearReconstruction(n_categories=4).run(oracle, truth=[[20, 30, 40, 50]]).queries
    15
    >>> round(LinearReconstruction(n_categories=6).closed_form(table), 3)
    0.969
    """

    n_categories: int

    def __post_init__(self) -> None:
        require_integers(
            Message("an attack by groups"), n_categories=(self.n_categories, 2, 10)
        )

    @property
    def groups(self) -> tuple[Group, ...]:
        """The groups asked for, all that are not empty.

        Examples
        --------
        >>> LinearReconstruction(n_categories=2).groups
        ((0,), (1,), (0, 1))
        """
        places = range(self.n_categories)
        return tuple(
            group
            for size in range(1, self.n_categories + 1)
            for group in combinations(places, size)
        )

    def run(
        self, oracle: Oracle, *, truth: ArrayLike, closed_form: float | None = None
    ) -> AttackResult:
        """Attack all categories of one line after another.

        Parameters
        ----------
        oracle
            What publishes counts; those that it refuses are left out of the least squares.
        truth
            The original counts of the categories, line by category.
        closed_form
            The probability to report beside the rate.

        Returns
        -------
        AttackResult
            Its trials are the categories of all lines. Those of one line are not independent,
            so that the interval is somewhat too narrow.

        Examples
        --------
        >>> exact = lambda request: [7 * len(group) for group in request.groups]
        >>> LinearReconstruction(n_categories=3).run(exact, truth=[[7, 7, 7]]).successes
        3
        """
        lines = truth_of(truth, n_columns=self.n_categories)
        analyst = Analyst("linear reconstruction", oracle, closed_form)
        groups = self.groups
        queries = membership(groups, n_places=self.n_categories)
        for line, counts in enumerate(lines):
            answers = analyst.ask(groups, line=line)
            places = [place for place, answer in enumerate(answers) if answer is not None]
            if places:
                sums = np.array([answers[place] for place in places], np.int64)
                analyst.successes += int(
                    (rebuild_counts(queries[places], sums) == counts).sum()
                )
        return analyst.result(trials=lines.size)

    def closed_form(self, ptable: PTable, *, counts: Sequence[int] | None = None) -> float:
        """Give the expected share of categories whose count is found, under a keyed mix.

        Parameters
        ----------
        ptable
            The p-table.
        counts
            The original count of every category; None where all are large.

        Notes
        -----
        The estimate is a weighted sum of independent noises, whose law is computed. Groups
        that differ by empty categories are the same records: their weights add up.

        Examples
        --------
        >>> from ptable import NoiseSpec, solve
        >>> table = solve(NoiseSpec(max_noise=2, variance=1.0))
        >>> round(
        ...     LinearReconstruction(n_categories=4).closed_form(table, counts=[1, 2, 0, 9]), 3
        ... )
        0.682
        """
        m = self.n_categories
        if counts is None:
            distribution = noise_law(ptable)
            terms = [(distribution, m + 1 - k, comb(m - 1, k - 1)) for k in range(1, m + 1)]
            terms += [(distribution, -k, comb(m - 1, k)) for k in range(1, m)]
            return self._p_right(terms, is_empty=False)
        sizes = truth_of(counts)
        if len(sizes) != m:
            raise RiskError(Message("counts must be {m} whole numbers.", m=m))
        chances = [
            self._p_right(
                self._terms(ptable, sizes.tolist(), place), is_empty=sizes[place] == 0
            )
            for place in range(m)
        ]
        return float(np.mean(chances))

    def _terms(
        self, ptable: PTable, counts: list[int], place: int
    ) -> list[tuple[Law, int, int]]:
        weights: Counter[Group] = Counter()
        for group in self.groups:
            members = tuple(part for part in group if counts[part])
            weights[members] += (self.n_categories + 1) * (place in group) - len(group)
        weights.pop((), None)
        alike = Counter(
            (row_of(ptable, count=sum(counts[part] for part in members)), weight)
            for members, weight in weights.items()
            if weight
        )
        return [
            (noise_law(ptable, count=row), weight, n)
            for (row, weight), n in sorted(alike.items())
        ]

    def _p_right(self, terms: list[tuple[Law, int, int]], *, is_empty: bool) -> float:
        distribution = Law.weighted_sum(terms)
        divisor = 2**self.n_categories * (self.n_categories + 1) // 4
        if not is_empty:
            return p_mean_rounds_to_zero(distribution, divisor=divisor)
        # what falls below 0 is taken for 0
        return float(
            min(1.0, distribution.probabilities[2 * distribution.numbers < divisor].sum())
        )


def membership(groups: Sequence[Group], *, n_places: int) -> NDArray[np.bool_]:
    """Tell for every group and place whether the one holds the other."""
    queries = np.zeros((len(groups), n_places), dtype=np.bool_)
    for row, group in zip(queries, groups, strict=True):
        row[list(group)] = True
    return queries


def read_sums(
    queries: ArrayLike, answers: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Read sums of columns and what was published for them."""
    matrix, sums = read_array(queries, name="queries"), read_array(answers, name="answers")
    fits = matrix.ndim == 2 and sums.shape == matrix.shape[:1] and 0 not in matrix.shape
    if not fits or matrix.dtype.kind not in "biuf" or sums.dtype.kind not in "biuf":
        raise RiskError(
            Message("queries must have one row of numbers per answer, which is a number.")
        )
    matrix, sums = matrix.astype(np.float64), sums.astype(np.float64)
    if not np.isfinite(matrix).all() or not np.isfinite(sums).all():
        raise RiskError(
            Message("queries and answers must be finite numbers."),
            hint=Message("leave out what was refused"),
        )
    return matrix, sums


def least_squares(queries: ArrayLike, answers: ArrayLike) -> NDArray[np.float64]:
    """Solve for what each column holds; the shortest solution where several are as good."""
    matrix, sums = read_sums(queries, answers)
    return np.asarray(np.linalg.lstsq(matrix, sums, rcond=None)[0], np.float64)


def rebuild_counts(queries: ArrayLike, answers: ArrayLike) -> NDArray[np.int64]:
    """Guess counts from noisy counts of sums of them, rounded, halves going up."""
    rounded = np.floor(least_squares(queries, answers) + _HALF)
    return np.maximum(rounded, 0).astype(np.int64)
