"""Original means beside noisy counts: the means give the counts away."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from risk.attacks.oracle import Analyst, AttackResult, Oracle
from risk.errors import RiskError
from risk.wellformed import read_numbers, require_counts, require_integers, truth_of

_SLACK = 1e-9  # of floating-point numbers, relative to the sums compared


def candidate_counts(published: Sequence[int], *, max_noise: int) -> NDArray[np.int64]:
    """List the original counts of two parts and their total that the noise allows.

    Parameters
    ----------
    published
        Published counts of the two parts and of their total.
    max_noise
        The largest noise.

    Returns
    -------
    numpy.ndarray
        One line per possibility: both parts, 1 or more, and the total.

    Examples
    --------
    >>> candidate_counts([9, 14, 19], max_noise=2).tolist()
    [[7, 12, 19], [7, 13, 20], [7, 14, 21], [8, 12, 20], [8, 13, 21], [9, 12, 21]]
    """
    require_integers("candidates", max_noise=(max_noise, 0, None))
    seen = require_counts(published, name="published")
    if seen.shape != (3,):
        raise RiskError(f"published must be two parts and their total, not {seen.size}.")
    noise = np.arange(-max_noise, max_noise + 1)
    first, second = np.meshgrid(seen[0] + noise, seen[1] + noise, indexing="ij")
    total = first + second
    fits = (first >= 1) & (second >= 1) & (np.abs(total - seen[2]) <= max_noise)
    return np.column_stack([first[fits], second[fits], total[fits]])


@dataclass(frozen=True, slots=True, kw_only=True)
class MeansBesideCounts:
    """Find the counts of a line whose means are published as they are.

    The sum of a total is the sum of the sums of its parts. Published counts leave a few
    candidates, and the means of most of them do not add up. The defence is to divide the sum
    by the published count.

    Parameters
    ----------
    max_noise
        The largest noise, which the intruder knows.
    decimals
        To how many digits means are rounded; None where they are exact.
    has_whole_sums
        Whether sums are known to be whole numbers, such as those of ages in years.

    References
    ----------
    Handbook on Statistical Disclosure Control, second edition, section 5.7.

    Examples
    --------
    Two parts of 8 and 12 persons, published as 9 and 14, with 19 as their total:

    >>> attack = MeansBesideCounts(max_noise=2)
    >>> attack.solve([9, 14, 19], means=[11.25, 95 / 12, 9.25]).tolist()
    [[8, 12, 20]]
    """

    max_noise: int
    decimals: int | None = None
    has_whole_sums: bool = False

    def __post_init__(self) -> None:
        require_integers("an attack by means", max_noise=(self.max_noise, 0, None))
        if self.decimals is not None:
            require_integers("an attack by means", decimals=(self.decimals, 0, 15))

    def solve(self, published: Sequence[int], *, means: Sequence[float]) -> NDArray[np.int64]:
        """List the candidates whose sums can add up.

        Parameters
        ----------
        published
            Published counts of the two parts and of their total.
        means
            Their published means.

        Notes
        -----
        A mean rounded to ``d`` digits and a count bound the sum: by the count times the mean
        and ``0.5 / 10**d`` times the count, either way, and by whole numbers where sums are.
        A candidate stays when the bounds of the parts, added, meet those of the total.

        Examples
        --------
        >>> attack = MeansBesideCounts(max_noise=2, decimals=0)
        >>> len(attack.solve([9, 14, 19], means=[11, 8, 9]))
        6
        """
        given = read_numbers(means, name="means")
        if given.shape != (3,):
            raise RiskError("means must be three numbers: of both parts and of their total.")
        counts = candidate_counts(published, max_noise=self.max_noise)
        half = 0.0 if self.decimals is None else 0.5 / 10**self.decimals
        slack = (
            _SLACK * max(1.0, float(np.abs(given).max())) * max(1, int(counts.max(initial=1)))
        )
        low, high = counts * (given - half) - slack, counts * (given + half) + slack
        if self.has_whole_sums:
            low, high = np.ceil(low), np.floor(high)
        fits = (low <= high).all(axis=1)
        fits &= (low[:, 0] + low[:, 1] <= high[:, 2]) & (low[:, 2] <= high[:, 0] + high[:, 1])
        return counts[fits]

    def run(
        self,
        oracle: Oracle,
        *,
        truth: ArrayLike,
        sums: ArrayLike,
        closed_form: float | None = None,
    ) -> AttackResult:
        """Attack one line after another; a line is hit when one candidate is left, the truth.

        Parameters
        ----------
        oracle
            What publishes counts.
        truth
            The original counts of the two parts, 1 or more, line by part.
        sums
            The original sums of the two parts, from which means are published.
        closed_form
            The probability to report beside the rate, if there is one from elsewhere.

        Examples
        --------
        >>> attack = MeansBesideCounts(max_noise=2, decimals=4)
        >>> attack.run(lambda request: [9, 14, 19], truth=[[8, 12]], sums=[[90, 95]]).rate
        1.0
        """
        lines = truth_of(truth, n_columns=2)
        amounts = read_numbers(sums, name="sums")
        if amounts.shape != lines.shape or not lines.all():
            raise RiskError("truth and sums must be two numbers per line; counts 1 or more.")
        counts = np.column_stack([lines, lines.sum(axis=1)])
        means = np.column_stack([amounts, amounts.sum(axis=1)]) / counts
        if self.decimals is not None:
            means = np.round(means, self.decimals)
        analyst = Analyst("original means beside counts", oracle, closed_form)
        for line, original in enumerate(counts.tolist()):
            answers = analyst.ask_all(((0,), (1,), (0, 1)), line=line)
            if answers is not None:
                found = self.solve(answers, means=means[line])
                analyst.successes += found.tolist() == [original]
        return analyst.result(trials=len(lines))
