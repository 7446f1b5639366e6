"""A small cell from two averages: all categories, and all but one."""

from dataclasses import dataclass

from numpy.typing import ArrayLike

from footing.messages import Message
from ptable import PTable
from risk.attacks.oracle import Analyst, AttackResult, Oracle
from risk.attacks.pairs import complementary_groups, pairs_available, sums_of
from risk.distributions.distribution import Law
from risk.distributions.noise_distributions import noise_law, p_mean_rounds_to_zero
from risk.wellformed import require_integers, require_whole, truth_of


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallCell:
    """Find the count of one category: average all categories, and all but that one.

    It works for a category whose own count is suppressed. The groups that show the total also
    show the total of all others, so that it takes no further query.

    Parameters
    ----------
    n_categories
        Categories of an attribute that can be grouped at will, 3 to 10; the last is attacked.

    Notes
    -----
    Half of the groups serve both means, and much of their noise cancels in the difference:
    its variance is close to ``2 V / k`` for ``k`` pairs, no more than that of one mean.

    References
    ----------
    Asghar and Kaafar (2020), Averaging attacks on bounded noise-based disclosure control
    algorithms, Proceedings on Privacy Enhancing Technologies 2020(2).

    Examples
    --------
    >>> exact = lambda request: [7 * len(group) for group in request.groups]
    >>> result = SmallCell(n_categories=4).run(exact, truth=[7])
    >>> result.rate, result.queries
    (1.0, 14)
    """

    n_categories: int

    def __post_init__(self) -> None:
        require_integers(Message("an attack by pairs"), n_categories=(self.n_categories, 3, 10))

    def run(
        self, oracle: Oracle, *, truth: ArrayLike, closed_form: float | None = None
    ) -> AttackResult:
        """Attack the count of the last category, one line after another.

        Parameters
        ----------
        oracle
            What publishes counts.
        truth
            The original count of the last category, per line 0, 1, ...
        closed_form
            The probability to report beside the rate.

        Examples
        --------
        >>> SmallCell(n_categories=3).run(lambda request: None, truth=[4]).refused
        6
        """
        cells = truth_of(truth)
        analyst = Analyst("small cell by two averages", oracle, closed_form)
        pairs = complementary_groups(self.n_categories)
        groups = tuple(group for pair in pairs for group in pair)
        rest = complementary_groups(self.n_categories - 1)
        for line, cell in enumerate(cells.tolist()):
            counts = dict(zip(groups, analyst.ask(groups, line=line), strict=True))
            sums, others = sums_of(counts, pairs), sums_of(counts, rest)
            if sums and others:
                # In whole numbers: the difference of both means, plus a half, rounded down.
                over = 2 * (sum(sums) * len(others) - sum(others) * len(sums))
                scale = len(sums) * len(others)
                analyst.successes += (over + scale) // (2 * scale) == cell
        return analyst.result(trials=len(cells))

    def closed_form(self, ptable: PTable, *, cell: int | None = None) -> float:
        """Give the probability of finding the cell, under a keyed mix.

        Parameters
        ----------
        ptable
            The p-table.
        cell
            The original count of the last category; None for a large one. All others are
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
        distribution = noise_law(ptable)
        if cell is not None and require_whole(cell, name="cell") == 0:
            terms = [(distribution, 2 * h - k, 2 * h), (distribution, h, 1)]
        else:
            alone = noise_law(ptable, count=cell)
            terms = [(distribution, h - k, 2 * h), (distribution, h, k), (alone, h, 1)]
        return p_mean_rounds_to_zero(Law.weighted_sum(terms), divisor=k * h)
