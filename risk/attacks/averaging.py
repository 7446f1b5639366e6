"""Averaging: many noises on one count, from repeats or pairs of complementary groups."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from footing.messages import Message, Name
from ptable import PTable
from risk.attacks.oracle import Analyst, AttackResult, Oracle
from risk.attacks.pairs import (
    complementary_groups,
    pair_sums,
    pairs_available,
    rounded_mean,
)
from risk.distributions.distribution import Law
from risk.distributions.noise_distributions import noise_law, p_mean_rounds_to_zero, row_of
from risk.errors import RiskError
from risk.wellformed import require_integers, truth_of


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoPartition:
    """Find a total by averaging the sums of complementary groups.

    The same records get the same noise, but a total can be split into two groups in many
    ways, and every split shows it under two noises of its own.

    Parameters
    ----------
    n_categories
        Categories of an attribute that can be grouped at will, 2 to 16.
    n_pairs
        How many pairs to ask for, drawn at random; None for all.

    References
    ----------
    Asghar and Kaafar (2020), Averaging attacks on bounded noise-based disclosure control
    algorithms, Proceedings on Privacy Enhancing Technologies 2020(2).

    Examples
    --------
    >>> import numpy as np
    >>> from ptable import NoiseSpec, solve
    >>> from risk.attacks.simulated import SimulatedOracle
    >>> table = solve(NoiseSpec(max_noise=2, variance=1.0))
    >>> rng = np.random.default_rng(1)
    >>> oracle = SimulatedOracle(table, np.full((50, 6), 20), rng=rng)
    >>> TwoPartition(n_categories=6).run(oracle, truth=[120] * 50, rng=rng).successes
    49
    >>> round(TwoPartition(n_categories=6).closed_form(table), 3)
    0.951
    """

    n_categories: int
    n_pairs: int | None = None

    def __post_init__(self) -> None:
        require_integers(Message("an attack by pairs"), n_categories=(self.n_categories, 2, 16))
        most = pairs_available(self.n_categories)
        if self.n_pairs is not None:
            require_integers(Message("an attack by pairs"), n_pairs=(self.n_pairs, 1, most))

    @property
    def _n_used(self) -> int:
        return self.n_pairs or pairs_available(self.n_categories)

    def run(
        self,
        oracle: Oracle,
        *,
        truth: ArrayLike,
        rng: np.random.Generator,
        closed_form: float | None = None,
    ) -> AttackResult:
        """Attack one total per line; pairs that are refused are left out of the mean.

        Parameters
        ----------
        oracle
            What publishes counts.
        truth
            The original total per line 0, 1, ..., to judge the guesses by.
        rng
            Which pairs are asked for, unless all are.
        closed_form
            The probability to report beside the rate.

        Returns
        -------
        AttackResult
            The lines whose rounded mean is the total; a line that got no sum is missed.

        Examples
        --------
        >>> import numpy as np
        >>> exact = lambda request: [7 * len(group) for group in request.groups]
        >>> attack = TwoPartition(n_categories=3)
        >>> attack.run(exact, truth=[21], rng=np.random.default_rng(1)).rate
        1.0
        """
        totals = truth_of(truth)
        analyst = Analyst("two-partition averaging", oracle, closed_form)
        all_pairs = complementary_groups(self.n_categories)
        for line, total in enumerate(totals.tolist()):
            pairs = all_pairs
            if self._n_used < len(all_pairs):
                draws = rng.choice(len(all_pairs), self._n_used, replace=False)
                pairs = [all_pairs[place] for place in draws]
            sums = pair_sums(analyst, pairs, line=line)
            analyst.successes += bool(sums) and rounded_mean(sums) == total
        return analyst.result(trials=len(totals))

    def closed_form(self, ptable: PTable, *, counts: Sequence[int] | None = None) -> float:
        """Give the probability that the rounded mean is the total, under a keyed mix.

        Parameters
        ----------
        ptable
            The p-table.
        counts
            Original count of every category, 1 or more; None where all groups are large.

        Notes
        -----
        Different groups hold different records, so that their noises are independent, and
        the law of their sum is computed. Without a mix the keys of the two groups of a pair
        add up to the same key each time; then this is no more than close. Empty categories
        add no pairs: leave them out.

        Examples
        --------
        >>> from ptable import Mechanism
        >>> table = Mechanism.random_rounding(3).build()
        >>> TwoPartition(n_categories=2).closed_form(table, counts=[3, 6])
        1.0
        """
        n_used = self._n_used
        if counts is None:
            distribution = Law.weighted_sum([(noise_law(ptable), 1, 2 * n_used)])
            return p_mean_rounds_to_zero(distribution, divisor=n_used)
        sizes = truth_of(counts)
        if len(sizes) != self.n_categories or not sizes.all():
            raise RiskError(
                Message(
                    "counts must be {n_categories} whole numbers of 1 or more.",
                    n_categories=self.n_categories,
                ),
                hint=Message("an empty category adds no pair; leave it out of n_categories"),
            )
        groups = [g for pair in complementary_groups(self.n_categories) for g in pair]
        rows = Counter(row_of(ptable, count=int(sizes[list(g)].sum())) for g in groups)
        if len(rows) > 1 and 2 * n_used < len(groups):
            raise RiskError(
                Message(
                    "Where groups have different noise, the pairs drawn decide the result."
                ),
                hint=Message("leave n_pairs out to ask for all pairs"),
            )
        distributions = [(noise_law(ptable, count=row), n) for row, n in sorted(rows.items())]
        if len(rows) == 1:
            distributions = [(distributions[0][0], 2 * n_used)]
        return p_mean_rounds_to_zero(
            Law.weighted_sum([(g, 1, n) for g, n in distributions]), divisor=n_used
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedAnswers:
    """Ask for the same count many times, and round the mean.

    Parameters
    ----------
    n_repeats
        How many times.

    Examples
    --------
    >>> from ptable import NoiseSpec, solve
    >>> table = solve(NoiseSpec(max_noise=5, variance=3.0))
    >>> attack = RepeatedAnswers(n_repeats=46)
    >>> round(attack.closed_form(table, noise="fresh"), 3)
    0.95
    >>> round(attack.closed_form(table, noise="consistent"), 3)
    0.229
    """

    n_repeats: int

    def __post_init__(self) -> None:
        require_integers(Message("an attack by repeats"), n_repeats=(self.n_repeats, 1, None))

    def run(
        self, oracle: Oracle, *, truth: ArrayLike, closed_form: float | None = None
    ) -> AttackResult:
        """Attack the count of the first category, one line after another.

        Parameters
        ----------
        oracle
            What publishes counts.
        truth
            The original count of the first category, per line 0, 1, ...
        closed_form
            The probability to report beside the rate.

        Examples
        --------
        >>> RepeatedAnswers(n_repeats=3).run(lambda request: [4], truth=[4]).queries
        3
        """
        counts = truth_of(truth)
        analyst = Analyst("repeated answers", oracle, closed_form)
        for line, count in enumerate(counts.tolist()):
            answers = [analyst.ask(((0,),), line=line)[0] for _ in range(self.n_repeats)]
            numbers = [answer for answer in answers if answer is not None]
            analyst.successes += bool(numbers) and rounded_mean(numbers) == count
        return analyst.result(trials=len(counts))

    def closed_form(
        self,
        ptable: PTable,
        *,
        noise: Literal["fresh", "consistent"],
        count: int | None = None,
    ) -> float:
        """Give the probability that the rounded mean is the count.

        Parameters
        ----------
        ptable
            The p-table.
        noise
            ``"fresh"`` for new noise in every answer; ``"consistent"`` for the same noise in
            all of them, from which repeats gain nothing.
        count
            The original count; None for a large one.

        Examples
        --------
        >>> from ptable import Mechanism
        >>> table = Mechanism.rounding(5).build()
        >>> RepeatedAnswers(n_repeats=99).closed_form(table, noise="consistent", count=6)
        0.0
        """
        if noise not in {"fresh", "consistent"}:
            raise RiskError(
                Message(
                    "noise must be 'fresh' or 'consistent', not {noise!r}.", noise=Name(noise)
                )
            )
        distribution = noise_law(ptable, count=count)
        if noise == "consistent":
            return float(distribution.at(0))
        total = Law.weighted_sum([(distribution, 1, self.n_repeats)])
        return p_mean_rounds_to_zero(total, divisor=self.n_repeats)
