"""Finding the largest noise, which the office keeps to itself."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from footing.checks import require_number
from footing.messages import Message
from ptable import PTable
from risk.attacks.oracle import Analyst, AttackResult, Oracle
from risk.attacks.pairs import complementary_groups, pair_sums, pairs_available
from risk.distributions.noise_distributions import noise_law
from risk.errors import RiskError
from risk.wellformed import require_integers, truth_of


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenBound:
    """Find the largest noise from the widest gap between a known total and sums of pairs.

    Two noises of at most ``D`` each are off by at most ``2 D`` together. The total is known
    from averaging the same pairs, or from elsewhere.

    Parameters
    ----------
    n_pairs
        How many pairs of complementary groups to ask for.
    n_categories
        Categories that can be grouped at will; None for as few as give enough pairs.
    rounds_up
        Whether a widest gap of ``2 D - 1`` is taken for ``D`` too, which it proves; False
        waits for a gap of ``2 D``.

    References
    ----------
    Asghar and Kaafar (2020), Averaging attacks on bounded noise-based disclosure control
    algorithms, Proceedings on Privacy Enhancing Technologies 2020(2).

    Examples
    --------
    >>> from ptable import NoiseSpec, solve
    >>> table = solve(NoiseSpec(max_noise=2, variance=1.0))
    >>> patient = HiddenBound(n_pairs=1, rounds_up=False)
    >>> round(patient.queries_needed(table))
    732
    >>> round(HiddenBound(n_pairs=1).queries_needed(table))
    82
    """

    n_pairs: int
    n_categories: int | None = None
    rounds_up: bool = True

    def __post_init__(self) -> None:
        require_integers(Message("an attack by gaps"), n_pairs=(self.n_pairs, 1, None))
        if self.n_categories is None:
            return
        require_integers(Message("an attack by gaps"), n_categories=(self.n_categories, 2, 16))
        most = pairs_available(self.n_categories)
        require_integers(Message("an attack by gaps"), n_pairs=(self.n_pairs, 1, most))

    def run(
        self,
        oracle: Oracle,
        *,
        truth: ArrayLike,
        max_noise: int,
        rng: np.random.Generator,
        closed_form: float | None = None,
    ) -> AttackResult:
        """Guess the largest noise once per line.

        Parameters
        ----------
        oracle
            What publishes counts.
        truth
            The total per line 0, 1, ..., which the intruder knows here.
        max_noise
            The largest noise, to judge the guesses by.
        rng
            Which pairs are asked for.
        closed_form
            The probability to report beside the rate.

        Examples
        --------
        >>> import numpy as np
        >>> off = lambda request: [10 * len(group) + 1 for group in request.groups]
        >>> HiddenBound(n_pairs=1).run(
        ...     off, truth=[20], max_noise=1, rng=np.random.default_rng(1)
        ... ).rate
        1.0
        """
        totals = truth_of(truth)
        require_integers(Message("an attack by gaps"), max_noise=(max_noise, 0, None))
        n_categories = self.n_categories or max(2, self.n_pairs.bit_length() + 1)
        require_integers(Message("an attack by gaps"), n_categories=(n_categories, 2, 16))
        pairs = complementary_groups(n_categories)
        analyst = Analyst("hidden bound", oracle, closed_form)
        for line, total in enumerate(totals.tolist()):
            draws = rng.choice(len(pairs), self.n_pairs, replace=False)
            sums = pair_sums(analyst, [pairs[place] for place in draws], line=line)
            widest = max((abs(published - total) for published in sums), default=0)
            guess = -(-widest // 2) if self.rounds_up else widest // 2
            analyst.successes += bool(sums) and guess == max_noise
        return analyst.result(trials=len(totals))

    def closed_form(self, ptable: PTable) -> float:
        """Give the probability of finding the largest noise, where all groups are large.

        Parameters
        ----------
        ptable
            The p-table.

        Notes
        -----
        ``1 - (1 - q)**n_pairs``, where ``q`` is the probability that two independent noises
        are off by ``2 D`` together, or by ``2 D - 1`` or more.

        Examples
        --------
        >>> from ptable import PTable
        >>> uniform = PTable.from_units(
        ...     [{0: 5}, {-1: 5}] + [dict.fromkeys(range(-2, 3), 1)], key_range=5
        ... )
        >>> round(HiddenBound(n_pairs=36, rounds_up=False).closed_form(uniform), 2)
        0.95
        """
        return -math.expm1(self.n_pairs * math.log1p(-self._p_wide(ptable)))

    def queries_needed(self, ptable: PTable, *, confidence: float = 0.95) -> float:
        """Give the counts to ask for until the largest noise shows with some probability.

        Parameters
        ----------
        ptable
            The p-table.
        confidence
            The probability.

        Notes
        -----
        ``2 ln(1 - confidence) / ln(1 - q)``, two for each pair; round up to whole pairs.

        Examples
        --------
        >>> from ptable import NoiseSpec, solve
        >>> table = solve(NoiseSpec.r_ptable(5, 3.0))
        >>> f"{HiddenBound(n_pairs=1, rounds_up=False).queries_needed(table):.1e}"
        '2.1e+05'
        """
        require_number(confidence, "confidence", error=RiskError, above=0, below=1)
        return 2 * math.log1p(-confidence) / math.log1p(-self._p_wide(ptable))

    def _p_wide(self, ptable: PTable) -> float:
        distribution = noise_law(ptable)
        reach = max(-distribution.lowest, distribution.highest)
        widths = range(2 * reach - (1 if self.rounds_up else 0), 2 * reach + 1)
        both = distribution.plus(distribution)  # not by Fourier: its error drowns thin tails
        p_wide = float(sum(both.at([width, -width]).sum() for width in widths))
        if reach == 0 or not 0 < p_wide < 1:
            raise RiskError(
                Message("The noise on large counts never shows how far it can go."),
                hint=Message("the p-table leaves them alone, or has a single noise value"),
            )
        return p_wide
