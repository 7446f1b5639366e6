"""Averaging: many noises on the same sum, from pairs of complementary groups."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import compress
from statistics import NormalDist
from typing import TYPE_CHECKING

from risk.attacks.checks import require_integers, truth_of
from risk.attacks.laws import NoiseLaw, p_mean_rounds_to_zero, row_of, sum_law
from risk.attacks.oracle import CountRequest, Questioner
from risk.attacks.result import AttackResult
from risk.errors import RiskError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import ArrayLike

    from ptable import PTable
    from risk.attacks.oracle import Oracle

__all__ = [
    "SmallCell",
    "TwoPartition",
    "complementary_groups",
    "pair_sums",
    "pairs_available",
    "pairs_needed",
    "rounded_mean",
]

Group = tuple[int, ...]


def pairs_available(n_categories: int) -> int:
    """Count the ways to split categories into two groups, neither empty.

    Parameters
    ----------
    n_categories
        How many categories can be grouped at will.

    Examples
    --------
    >>> pairs_available(7)
    63
    """
    require_integers("Pairs of groups", n_categories=(n_categories, 1, None))
    return int(2 ** (n_categories - 1) - 1)


def pairs_needed(variance: float, *, confidence: float = 0.95) -> float:
    """Give the pairs after which the mean rounds to the truth with some probability.

    Parameters
    ----------
    variance
        Of one noise; a pair has two.
    confidence
        The probability.

    Notes
    -----
    The mean of ``k`` pairs has variance ``2 V / k`` and is close to normal; it rounds to the
    truth when it is off by less than a half: ``k = 2 V (z / 0.5)²``, about 30.7 V for 95 %.

    References
    ----------
    Asghar and Kaafar (2020), Averaging attacks on bounded noise-based disclosure control
    algorithms, Proceedings on Privacy Enhancing Technologies 2020(2).

    Examples
    --------
    >>> round(pairs_needed(1.0), 1), round(2 * pairs_needed(2.0))
    (30.7, 123)
    """
    if not variance >= 0 or not 0 < confidence < 1:
        raise RiskError(
            "pairs_needed takes a variance of 0 or more and a confidence between 0 and 1, not "
            f"{variance!r} and {confidence!r}."
        )
    return float(2 * variance * (2 * NormalDist().inv_cdf((1 + confidence) / 2)) ** 2)


def complementary_groups(n_categories: int) -> list[tuple[Group, Group]]:
    """List all pairs of groups that share no category and together hold all of them.

    Parameters
    ----------
    n_categories
        How many categories there are; the last one is always in the second group.

    Examples
    --------
    >>> complementary_groups(3)
    [((0,), (1, 2)), ((1,), (0, 2)), ((0, 1), (2,))]
    """
    places = range(n_categories)
    pairs = []
    for code in range(1, pairs_available(n_categories) + 1):
        chosen = [bool(code >> place & 1) for place in places]
        others = [not is_in for is_in in chosen]
        pairs.append((tuple(compress(places, chosen)), tuple(compress(places, others))))
    return pairs


def pair_sums(
    questioner: Questioner, pairs: Sequence[tuple[Group, Group]], *, line: int
) -> list[int]:
    """Ask for both groups of each pair, and add the two published counts.

    Parameters
    ----------
    questioner
        What asks and counts.
    pairs
        Pairs of groups.
    line
        Which line of the table they are for.

    Returns
    -------
    list of int
        One sum per pair of which neither count was refused.

    Examples
    --------
    >>> oracle = lambda request: [len(group) for group in request.groups]
    >>> pair_sums(Questioner(oracle=oracle), complementary_groups(3), line=0)
    [3, 3, 3]
    """
    groups = tuple(group for pair in pairs for group in pair)
    answers = questioner.ask(CountRequest(groups=groups, line=line))
    return [
        first + second
        for first, second in zip(answers[::2], answers[1::2], strict=True)
        if first is not None and second is not None
    ]


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
    0.95
    """

    n_categories: int
    n_pairs: int | None = None

    def __post_init__(self) -> None:
        require_integers("An attack by pairs", n_categories=(self.n_categories, 2, 16))
        most = pairs_available(self.n_categories)
        if self.n_pairs is not None:
            require_integers("An attack by pairs", n_pairs=(self.n_pairs, 1, most))

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
        questioner = Questioner(oracle=oracle)
        all_pairs = complementary_groups(self.n_categories)
        successes = 0
        for line, total in enumerate(totals.tolist()):
            pairs = all_pairs
            if self._n_used < len(all_pairs):
                drawn = rng.choice(len(all_pairs), self._n_used, replace=False)
                pairs = [all_pairs[place] for place in drawn]
            sums = pair_sums(questioner, pairs, line=line)
            successes += bool(sums) and rounded_mean(sums) == total
        return AttackResult(
            name="two-partition averaging",
            successes=successes,
            trials=len(totals),
            queries=questioner.queries,
            refused=questioner.refused,
            closed_form=closed_form,
        )

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
            law = sum_law([(NoiseLaw.of_count(ptable), 1, 2 * n_used)])
            return p_mean_rounds_to_zero(law, divisor=n_used)
        sizes = truth_of(counts)
        if len(sizes) != self.n_categories or not sizes.all():
            raise RiskError(
                f"counts must be {self.n_categories} whole numbers of 1 or more.",
                hint="an empty category adds no pair; leave it out of n_categories",
            )
        groups = [g for pair in complementary_groups(self.n_categories) for g in pair]
        rows = Counter(row_of(ptable, count=int(sizes[list(g)].sum())) for g in groups)
        if len(rows) > 1 and 2 * n_used < len(groups):
            raise RiskError(
                "Where groups have different noise, the pairs drawn decide the result.",
                hint="leave n_pairs out to ask for all pairs",
            )
        laws = [(NoiseLaw.of_count(ptable, count=row), n) for row, n in sorted(rows.items())]
        if len(rows) == 1:
            laws = [(laws[0][0], 2 * n_used)]
        return p_mean_rounds_to_zero(sum_law([(g, 1, n) for g, n in laws]), divisor=n_used)


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallCell:
    """Find the count of one category: average all categories, and all but that one.

    It works for a category whose own count is suppressed, and needs the two means only.

    Parameters
    ----------
    n_categories
        Categories of an attribute that can be grouped at will, 3 to 10; the first is attacked.

    Notes
    -----
    Half of the groups serve both means, and their noise all but cancels in the difference:
    its variance is close to ``2 V / k`` for ``k`` pairs, no more than that of one mean.

    Examples
    --------
    >>> exact = lambda request: [7 * len(group) for group in request.groups]
    >>> SmallCell(n_categories=4).run(exact, truth=[7]).words
    'small cell by two averages: 1 of 1 targets (100.0 %, 95 % interval 20.7 to 100.0 %), \
20 queries, 0 refused'
    """

    n_categories: int

    def __post_init__(self) -> None:
        require_integers("An attack by pairs", n_categories=(self.n_categories, 3, 10))

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
        >>> SmallCell(n_categories=3).run(lambda request: None, truth=[4]).refused
        8
        """
        cells = truth_of(truth)
        questioner = Questioner(oracle=oracle)
        pairs = complementary_groups(self.n_categories)
        rest = [
            (tuple(p + 1 for p in first), tuple(p + 1 for p in second))
            for first, second in complementary_groups(self.n_categories - 1)
        ]
        successes = 0
        for line, cell in enumerate(cells.tolist()):
            sums = pair_sums(questioner, pairs, line=line)
            others = pair_sums(questioner, rest, line=line)
            if sums and others:
                # Whole numbers: floor(a / m - b / n + 1/2)
                over = 2 * (sum(sums) * len(others) - sum(others) * len(sums))
                scale = len(sums) * len(others)
                successes += (over + scale) // (2 * scale) == cell
        return AttackResult(
            name="small cell by two averages",
            successes=successes,
            trials=len(cells),
            queries=questioner.queries,
            refused=questioner.refused,
            closed_form=closed_form,
        )

    def closed_form(self, ptable: PTable, *, cell: int | None = None) -> float:
        """Give the probability of finding the cell, under a keyed mix.

        Parameters
        ----------
        ptable
            The p-table.
        cell
            The original count of the first category; None for a large one. All others are
            large.

        Notes
        -----
        With ``k`` and ``h`` pairs, the ``2 h`` groups that serve both means have weight
        ``1/k - 1/h`` in the difference, and the other ``k + 1`` of the first have ``1/k``.
        Where the cell is empty, groups with and without it are the same records: then the
        former have ``2/k - 1/h``, and only the noise of all others together has ``1/k``.

        Examples
        --------
        >>> from ptable import NoiseSpec, solve
        >>> table = solve(NoiseSpec(max_noise=2, variance=1.0))
        >>> round(SmallCell(n_categories=6).closed_form(table), 3)
        0.943
        >>> SmallCell(n_categories=6).closed_form(table, cell=0)
        1.0
        """
        k, h = pairs_available(self.n_categories), pairs_available(self.n_categories - 1)
        law = NoiseLaw.of_count(ptable)
        if cell == 0:
            terms = [(law, 2 * h - k, 2 * h), (law, h, 1)]
        else:
            alone = NoiseLaw.of_count(ptable, count=cell)
            terms = [(law, h - k, 2 * h), (law, h, k), (alone, h, 1)]
        return p_mean_rounds_to_zero(sum_law(terms), divisor=k * h)


def rounded_mean(numbers: Sequence[int]) -> int:
    """Round the mean of whole numbers, halves going up, without floating-point numbers.

    Parameters
    ----------
    numbers
        At least one.

    Examples
    --------
    >>> rounded_mean([1, 2]), rounded_mean([-1, -2])
    (2, -1)
    """
    return (2 * sum(numbers) + len(numbers)) // (2 * len(numbers))
