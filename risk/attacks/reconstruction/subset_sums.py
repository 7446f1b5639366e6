"""Subset sums: one bit per person from counts of many random subsets of them."""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footing.checks import is_integer, is_number, require_number
from footing.messages import Message, Name
from ptable import PTable
from risk.attacks.oracle import Analyst, AttackResult, Oracle
from risk.attacks.reconstruction.linear import least_squares, read_sums
from risk.distributions.noise_distributions import noise_law
from risk.errors import RiskError
from risk.wellformed import require_integers, truth_of

Method = Literal["least-squares", "linear-program"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SubsetSums:
    """Rebuild a secret bit of every person from noisy counts of random subsets.

    It takes a service that counts any group of known persons, such as one with a filter on
    fine places. Bounded noise of the size that tables have never stops it; only a limit on
    queries, or on how finely people may be grouped, does.

    Parameters
    ----------
    n_people
        Persons per line; each is a category of its own.
    n_queries
        Random subsets to ask for, per line.
    share_asked
        The probability that a person is in a subset.
    method
        ``"least-squares"``, or ``"linear-program"``, which bounds every bit by 0 and 1.

    References
    ----------
    Dinur and Nissim (2003), Revealing information while preserving privacy, PODS.

    Examples
    --------
    >>> from ptable import NoiseSpec, solve
    >>> table = solve(NoiseSpec(max_noise=5, variance=3.0))
    >>> round(SubsetSums(n_people=100, n_queries=400).closed_form(table), 3)
    0.994
    """

    n_people: int
    n_queries: int
    share_asked: float = 0.5
    method: Method = "least-squares"

    def __post_init__(self) -> None:
        require_integers(
            Message("an attack by subsets"),
            n_people=(self.n_people, 1, None),
            n_queries=(self.n_queries, 1, None),
        )
        require_number(self.share_asked, "share_asked", error=RiskError, above=0, maximum=1)
        if self.method not in {"least-squares", "linear-program"}:
            raise RiskError(
                Message(
                    "method must be 'least-squares' or 'linear-program', not {method!r}.",
                    method=Name(self.method),
                )
            )

    def run(
        self,
        oracle: Oracle,
        *,
        truth: ArrayLike,
        rng: np.random.Generator,
        closed_form: float | None = None,
    ) -> AttackResult:
        """Attack the persons of one line after another.

        Parameters
        ----------
        oracle
            What publishes counts; a category holds one record or none.
        truth
            The bit of every person, 1 or 0, line by person.
        rng
            Which subsets are asked for.
        closed_form
            The share to report beside the rate.

        Returns
        -------
        AttackResult
            Its trials are the persons of all lines; guessing gives a half. The bits of one
            line are rebuilt from the same counts: its interval is of so many independent
            trials, and too narrow for few lines. A line without any answer is missed.

        Examples
        --------
        >>> import numpy as np
        >>> bits = [1, 0, 1, 1]
        >>> exact = lambda request: [sum(bits[p] for p in group) for group in request.groups]
        >>> attack = SubsetSums(n_people=4, n_queries=20)
        >>> attack.run(exact, truth=[bits], rng=np.random.default_rng(1)).rate
        1.0
        """
        lines = truth_of(truth, n_columns=self.n_people)
        if lines.max() > 1:
            raise RiskError(Message("truth must hold bits, 0 or 1: one person per category."))
        analyst = Analyst("subset sums", oracle, closed_form)
        for line, bits in enumerate(lines):
            matrix = rng.random((self.n_queries, self.n_people)) < self.share_asked
            matrix = matrix[matrix.any(axis=1)]
            if not len(matrix):
                continue
            groups = tuple(tuple(np.flatnonzero(row).tolist()) for row in matrix)
            answers = analyst.ask(groups, line=line)
            places = [place for place, answer in enumerate(answers) if answer is not None]
            if places:
                sums = np.array([answers[place] for place in places], np.int64)
                guess = decode_bits(matrix[places], sums, method=self.method)
                analyst.successes += int((guess == bits).sum())
        return analyst.result(trials=lines.size)

    def closed_form(self, ptable: PTable) -> float:
        """Approximate the share of bits that are right, by least squares and large counts.

        Parameters
        ----------
        ptable
            The p-table.

        Notes
        -----
        See `expected_share_right`; good to about a percent, and there is no such formula for
        linear programs.

        Examples
        --------
        >>> from ptable import NoiseSpec, solve
        >>> table = solve(NoiseSpec(max_noise=2, variance=1.0))
        >>> round(SubsetSums(n_people=100, n_queries=200).closed_form(table), 3)
        0.994
        """
        if self.method != "least-squares":
            raise RiskError(Message("There is a formula for method='least-squares' only."))
        return expected_share_right(
            n_people=self.n_people,
            n_queries=self.n_queries,
            variance=noise_law(ptable).variance,
            share_asked=self.share_asked,
        )


def decode_bits(
    queries: ArrayLike, answers: ArrayLike, *, method: Method = "least-squares"
) -> NDArray[np.bool_]:
    """Guess each person's bit from counts of subsets, whoever published them.

    References
    ----------
    C. Dwork, F. McSherry, K. Talwar (2007), The price of privacy and the limits of LP
    decoding, STOC.
    """
    if method not in {"least-squares", "linear-program"}:
        raise RiskError(
            Message(
                "method must be 'least-squares' or 'linear-program', not {method!r}.",
                method=Name(method),
            )
        )
    if method == "least-squares":
        return least_squares(queries, answers) > 0.5
    matrix, sums = read_sums(queries, answers)
    from scipy.optimize import linprog
    from scipy.sparse import csr_matrix, hstack, identity

    n_queries, n_people = matrix.shape
    slack = identity(n_queries, format="csr")
    equations: Any = hstack([csr_matrix(matrix), slack, -slack])
    solved = linprog(
        np.concatenate([np.zeros(n_people), np.ones(2 * n_queries)]),
        A_eq=equations,
        b_eq=sums,
        bounds=[(0, 1)] * n_people + [(0, None)] * (2 * n_queries),
        method="highs",
    )
    if solved.x is None:
        raise RiskError(Message("The linear program of the bits has no solution."))
    return np.asarray(solved.x[:n_people]) > 0.5


def expected_share_right(
    *, n_people: int, n_queries: int, variance: float, share_asked: float = 0.5
) -> float:
    """Approximate the share of bits that least squares gets right.

    A solution is off by a normal error of variance ``V / (s (1 - s) (q - n - 1))``, the mean of
    the inverse Wishart law of the queries, and a bit is right while the error is below a half.
    """
    fits = is_integer(n_people, minimum=1) and is_integer(n_queries, minimum=n_people + 2)
    is_noise = is_number(variance, above=0)
    if not fits or not is_noise or not is_number(share_asked, above=0, below=1):
        raise RiskError(
            Message(
                "The approximation needs n_queries above n_people + 1, a positive variance "
                "and share_asked between 0 and 1."
            )
        )
    spare = n_queries - n_people - 1
    deviation = math.sqrt(variance / (share_asked * (1 - share_asked) * spare))
    return 0.5 * (1 + math.erf(0.5 / deviation / math.sqrt(2)))
