"""Asking the same thing again: what consistent noise prevents."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal

from footing.checks import is_number
from risk.attacks.oracle.checks import require_integers, truth_of
from risk.attacks.oracle.laws import noise_law, p_mean_rounds_to_zero
from risk.attacks.oracle.oracle import Analyst
from risk.attacks.pairs import rounded_mean
from risk.distributions.distribution import Law
from risk.errors import RiskError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ptable import PTable
    from risk.attacks.oracle.oracle import Oracle
    from risk.attacks.oracle.result import AttackResult


def repeats_needed(variance: float, *, confidence: float = 0.95) -> float:
    """Give the answers after which the mean of fresh noise rounds to zero.

    Parameters
    ----------
    variance
        Of the noise on one answer.
    confidence
        The probability.

    Notes
    -----
    ``n = V (z / 0.5)²`` by the normal law, about 15.4 V for 95 %.

    Examples
    --------
    >>> round(repeats_needed(3.0), 1)
    46.1
    """
    if not is_number(variance, minimum=0) or not is_number(confidence, above=0, below=1):
        raise RiskError(
            "repeats_needed takes a variance of 0 or more and a confidence between 0 and 1, "
            f"not {variance!r} and {confidence!r}."
        )
    return float(variance * (2 * NormalDist().inv_cdf((1 + confidence) / 2)) ** 2)


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
        require_integers("an attack by repeats", n_repeats=(self.n_repeats, 1, None))

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
            known = [answer for answer in answers if answer is not None]
            analyst.successes += bool(known) and rounded_mean(known) == count
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
            raise RiskError(f"noise must be 'fresh' or 'consistent', not {noise!r}.")
        law = noise_law(ptable, count=count)
        if noise == "consistent":
            return float(law.at(0))
        total = Law.weighted_sum([(law, 1, self.n_repeats)])
        return p_mean_rounds_to_zero(total, divisor=self.n_repeats)
