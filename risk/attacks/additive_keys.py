"""Keys that add up: what the noise of a total betrays about the noise of its parts."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footing.messages import Message, Name
from ptable import PTable
from risk.attacks.oracle import Analyst, AttackResult, Oracle
from risk.distributions.noise_distributions import noise_law, row_of
from risk.errors import RiskError
from risk.wellformed import read_pair, truth_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Leakage:
    """What the visible gap of a line tells about the noise of its two parts.

    Parameters
    ----------
    p_recovered
        The probability that the likeliest noises of both parts, given the gap, are right.
    entropy
        Of the noise on one part, in bits, before the gap is seen.
    entropy_given_gap
        The same when the gap is known, on average.
    p_no_gap
        The probability that the published parts add up to the published total.

    Examples
    --------
    >>> from ptable import NoiseSpec, solve
    >>> table = solve(NoiseSpec.r_ptable(5, 3.0))
    >>> mixed = AdditiveKeys(keys="mixed").figures(table)
    >>> round(mixed.entropy, 2), round(mixed.p_recovered, 3), round(mixed.p_no_gap, 3)
    (2.84, 0.085, 0.132)
    """

    p_recovered: float
    entropy: float
    entropy_given_gap: float
    p_no_gap: float


def joint_noise(
    ptable: PTable, *, counts: tuple[int, int] | None = None
) -> tuple[tuple[range, range, range], NDArray[np.float64]]:
    """Give the joint law of the noises of two parts and their total when keys add up.

    Parameters
    ----------
    ptable
        The p-table.
    counts
        Original counts of the two parts, 1 or more; None where both are large.

    Returns
    -------
    tuple
        The noise values along each of the three axes, and the probabilities.

    Notes
    -----
    The keys ``x`` and ``y`` of the parts are independent and uniform on the table's own
    range of ``K`` keys; the total has the key ``x + y`` modulo ``K``. Intervals cut the square
    of all ``(x, y)`` into pieces whose points are counted in whole numbers: below the line
    ``x + y = s`` lie ``u (u + 1) / 2`` of them for ``u = s - a - b`` from a corner ``(a, b)``
    on. Keys of a wider range move a probability by less than three keys of ``K``.

    Examples
    --------
    >>> from ptable import PTable
    >>> coin = PTable.from_units([{0: 8}, {-1: 4, 1: 4}], key_range=8)
    >>> axes, law = joint_noise(coin)
    >>> law[0, 0, 0] == law[0, 0, -1], law[0, 0, 0], law.sum()
    (np.False_, np.float64(0.15625), np.float64(1.0))
    """
    sizes: tuple[int | None, int | None, int | None] = (None, None, None)
    if counts is not None:
        first, second = read_pair(counts, name="counts")
        if min(first, second) < 1:
            raise RiskError(Message("Two parts of which one is empty leave nothing to find."))
        sizes = (first, second, first + second)
    rows = [row_of(ptable, count=size) for size in sizes]
    keys = ptable.key_range
    ends = [np.array((0, *ptable.upper[row]), dtype=object) for row in rows]
    corner = ends[0][:, None, None] + ends[1][None, :, None]
    line = ends[2][None, None, :]
    below = _triangle(line - corner) + _triangle(line + keys - corner)
    pieces = np.diff(np.diff(np.diff(below, axis=0), axis=1), axis=2)
    axes = [range(min(n), max(n) + 1) for n in (ptable.noise[row] for row in rows)]
    units = np.zeros([len(axis) for axis in axes], dtype=object)
    places = [
        np.array(ptable.noise[row]) - axis.start for row, axis in zip(rows, axes, strict=True)
    ]
    np.add.at(units, np.ix_(*places), pieces)
    distribution = (units / keys**2).astype(np.float64)
    return (axes[0], axes[1], axes[2]), distribution


def _triangle(side: NDArray[np.object_]) -> NDArray[np.object_]:
    """Count the pairs of whole numbers of 0 or more with a sum below the side."""
    inside = np.maximum(side, 0)
    return np.asarray(inside * (inside + 1) // 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class AdditiveKeys:
    """Guess the noises of two parts from the gap between their sum and their total.

    Where the key of a total is the sum of the keys of its parts, the three noises depend on
    each other, and how much depends on the order of the intervals in the p-table. A keyed mix
    before the lookup makes them independent.

    Parameters
    ----------
    keys
        ``"additive"`` or ``"mixed"``: what the intruder takes for granted.

    Examples
    --------
    >>> from ptable import NoiseSpec, solve
    >>> table = solve(NoiseSpec.r_ptable(2, 1.0))
    >>> round(AdditiveKeys(keys="mixed").closed_form(table), 3)
    0.213
    >>> round(AdditiveKeys().closed_form(table), 3)
    0.193
    """

    keys: Literal["additive", "mixed"] = "additive"

    def __post_init__(self) -> None:
        if self.keys not in {"additive", "mixed"}:
            raise RiskError(
                Message(
                    "keys must be 'additive' or 'mixed', not {keys!r}.", keys=Name(self.keys)
                )
            )

    def run(
        self,
        oracle: Oracle,
        *,
        ptable: PTable,
        truth: ArrayLike,
        closed_form: float | None = None,
    ) -> AttackResult:
        """Guess both original counts of one line after another; all counts are large.

        Parameters
        ----------
        oracle
            What publishes counts.
        ptable
            The p-table, which the intruder knows.
        truth
            The original counts of the two parts, line by part, to judge the guesses by.
        closed_form
            The probability to report beside the rate.

        Examples
        --------
        >>> from ptable import NoiseSpec, solve
        >>> table = solve(NoiseSpec(max_noise=2, variance=1.0))
        >>> exact = lambda request: [20, 30, 50]
        >>> AdditiveKeys(keys="mixed").run(exact, ptable=table, truth=[[20, 30]]).rate
        1.0
        """
        lines = truth_of(truth, n_columns=2)
        guesses = self._guesses(ptable)
        analyst = Analyst(f"key leakage, {self.keys} keys", oracle, closed_form)
        for line, counts in enumerate(lines.tolist()):
            answers = analyst.ask_all(((0,), (1,), (0, 1)), line=line)
            if answers is None:
                continue
            first, second, total = answers
            guess = guesses.get(first + second - total)
            if guess is not None:
                analyst.successes += [first - guess[0], second - guess[1]] == counts
        return analyst.result(trials=len(lines))

    def figures(self, ptable: PTable) -> Leakage:
        """Compute what the gap tells, where all counts are large.

        Parameters
        ----------
        ptable
            The p-table.

        Examples
        --------
        >>> from ptable import NoiseSpec, solve
        >>> table = solve(NoiseSpec.r_ptable(5, 3.0))
        >>> leaks = AdditiveKeys().figures(table)
        >>> round(leaks.p_recovered, 3), round(leaks.entropy_given_gap, 2)
        (0.093, 2.31)
        """
        distribution, gaps, _ = self._by_gap(ptable)
        p_recovered = entropy = p_no_gap = 0.0
        for gap in np.unique(gaps):
            share = np.where(gaps == gap, distribution, 0.0)
            p_recovered += float(share.max())
            if gap == 0:
                p_no_gap = float(share.sum())
            entropy += _entropy(share.sum(axis=(1, 2)))
        return Leakage(
            p_recovered=p_recovered,
            entropy=_entropy(distribution.sum(axis=(1, 2))),
            entropy_given_gap=entropy,
            p_no_gap=p_no_gap,
        )

    def closed_form(self, ptable: PTable) -> float:
        """Give the probability of finding both counts, where all counts are large.

        Parameters
        ----------
        ptable
            The p-table.

        Examples
        --------
        >>> from ptable import PTable
        >>> AdditiveKeys().closed_form(PTable.from_units([{0: 9}], key_range=9))
        1.0
        """
        return self.figures(ptable).p_recovered

    def _by_gap(
        self, ptable: PTable
    ) -> tuple[NDArray[np.float64], NDArray[np.int64], tuple[range, range, range]]:
        if self.keys == "additive":
            axes, distribution = joint_noise(ptable)
        else:
            one = noise_law(ptable)
            axis = range(one.lowest, one.highest + 1)
            p = one.probabilities
            axes, distribution = (axis, axis, axis), p[:, None, None] * p[:, None] * p
        first, second, total = (np.array(axis) for axis in axes)
        return distribution, first[:, None, None] + second[:, None] - total, axes

    def _guesses(self, ptable: PTable) -> dict[int, tuple[int, int]]:
        """Give the likeliest noises of the parts for each gap."""
        distribution, gaps, axes = self._by_gap(ptable)
        guesses = {}
        for gap in np.unique(gaps[distribution > 0]).tolist():
            share = np.where(gaps == gap, distribution, -1.0)
            first, second, _ = np.unravel_index(int(share.argmax()), share.shape)
            guesses[gap] = (axes[0][int(first)], axes[1][int(second)])
        return guesses


def _entropy(shares: NDArray[np.float64]) -> float:
    """Give the entropy in bits of shares, weighted by what they sum to."""
    positive = shares[shares > 0]
    return (
        float(-(positive * np.log2(positive / positive.sum())).sum()) if len(positive) else 0.0
    )
