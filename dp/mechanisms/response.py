"""Randomised response: each person hides the own answer by chance.

The chances of a design are fractions of 2**64 and drawn as integers, so that the epsilon is
that of what really happens.
"""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dp.adjacency import Adjacency
from dp.checking import checked_count, checked_epsilon, checked_probability
from dp.errors import DPError
from dp.guarantee import Guarantee
from footing.messages import Message

_ONE = 1 << 64
_FLAT = 1e10


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Shares:
    """Estimated shares of the true answers.

    Parameters
    ----------
    shares
        One per answer; unbiased, so that small ones may fall below 0.
    covariance
        Their estimated covariances.

    Examples
    --------
    >>> Shares(shares=np.array([0.25]), covariance=np.array([[0.04]])).standard_errors
    array([0.2])
    """

    shares: NDArray[np.float64]
    covariance: NDArray[np.float64]

    @property
    def standard_errors(self) -> NDArray[np.float64]:
        """Square roots of the variances."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomisedResponse:
    """A design: the chance of each answer, given the true one. Build it by name.

    Parameters
    ----------
    name
        What it is called.
    weights
        ``weights[i][j]`` over 2**64 is the chance to answer ``j`` if ``i`` is true.

    Examples
    --------
    >>> coins = RandomisedResponse.two_coins()
    >>> round(coins.guarantee.epsilon, 4)
    1.0986
    >>> coins.transition.tolist()
    [[0.75, 0.25], [0.25, 0.75]]
    """

    name: str
    weights: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        size = len(self.weights)
        for row in self.weights:
            if len(row) != size or sum(row) != _ONE or min(row) < 0:
                raise DPError(
                    Message("Each row of weights must have one per answer and sum to 2**64.")
                )

    @classmethod
    def forced(cls, *, truth: float = 0.5) -> Self:
        """Heads: the truth; tails: yes. Not private: nobody says no without meaning it.

        Parameters
        ----------
        truth
            Chance of heads.

        Examples
        --------
        >>> RandomisedResponse.forced().guarantee.is_private
        False
        """
        honest = _weight(truth, "truth")
        return cls(name="forced", weights=((honest, _ONE - honest), (0, _ONE)))

    @classmethod
    def two_coins(cls) -> Self:
        """Heads: the truth; tails: what a second coin says.

        Examples
        --------
        >>> RandomisedResponse.two_coins().name
        'two coins'
        """
        return cls(name="two coins", weights=_symmetric(3 * _ONE // 4, 2))

    @classmethod
    def warner(cls, *, direct: float) -> Self:
        """Answer the question with a chance, its opposite otherwise.

        Parameters
        ----------
        direct
            Chance of the direct question, not a half.

        Examples
        --------
        >>> round(RandomisedResponse.warner(direct=0.7).guarantee.epsilon, 4)
        0.8473
        """
        return cls(name="Warner", weights=_symmetric(_weight(direct, "direct"), 2))

    @classmethod
    def k_ary(cls, answers: int, *, epsilon: float) -> Self:
        """Keep the truth with a chance, and give each other answer with the same one.

        Parameters
        ----------
        answers
            How many there are.
        epsilon
            What an answer costs.

        Examples
        --------
        >>> design = RandomisedResponse.k_ary(3, epsilon=1)
        >>> design.transition[0].round(4)
        array([0.5761, 0.2119, 0.2119])
        """
        number = checked_count(answers, "answers", least=2)
        ratio = math.exp(min(700.0, checked_epsilon(epsilon)))
        other = math.ceil(_ONE / (ratio + number - 1))
        honest = _ONE - other * (number - 1)
        while math.log(honest / other) > epsilon:  # the quotient was rounded
            other, honest = other + 1, honest - (number - 1)
        return cls(name=f"{number}-ary", weights=_symmetric(honest, number))

    @property
    def transition(self) -> NDArray[np.float64]:
        """``transition[i, j]``: the chance to answer ``j`` if ``i`` is true.

        Examples
        --------
        >>> RandomisedResponse.forced().transition.tolist()
        [[0.5, 0.5], [0.0, 1.0]]
        """
        return np.array([[weight / _ONE for weight in row] for row in self.weights])

    @property
    def guarantee(self) -> Guarantee:
        """What one answer promises the respondent; answers add up.

        Examples
        --------
        >>> print(RandomisedResponse.two_coins().guarantee)
        epsilon = 1.09861 (local, per answer)
        """
        worst = 0.0
        for column in zip(*self.weights, strict=True):
            low, high = min(column), max(column)
            if high:
                worst = max(worst, math.log(high / low) if low else math.inf)
        return Guarantee(epsilon=worst, adjacency=Adjacency.LOCAL, unit="answer")

    def answer(
        self, truths: ArrayLike, *, generator: np.random.Generator | None = None
    ) -> NDArray[np.int64]:
        """Return the answer of each person.

        Parameters
        ----------
        truths
            The true answers, from 0; of yes and no, 1 is yes.
        generator
            Only for simulations; by default the operating system's secure randomness.

        Examples
        --------
        >>> RandomisedResponse.two_coins().answer([0, 1, 1]).shape
        (3,)
        """
        true = _answers(truths, len(self.weights))
        if generator is None:
            draws = np.frombuffer(os.urandom(8 * true.size), dtype=np.uint64)
        else:
            draws = generator.integers(0, _ONE, size=true.size, dtype=np.uint64)
        # The last bound is 2**64 itself: every draw lies below it.
        bounds = np.array(
            [[sum(row[: j + 1]) for j in range(len(row) - 1)] for row in self.weights],
            dtype=object,
        )
        answers = np.zeros(true.size, dtype=np.int64)
        for row, steps in enumerate(bounds):
            mask = true == row
            for step in steps:
                # A bound of 2**64 leaves no draw above it.
                if step < _ONE:
                    answers[mask] += draws[mask] >= np.uint64(step)
        return answers

    def estimate(self, answers: ArrayLike) -> Shares:
        """Estimate the shares of the true answers.

        Parameters
        ----------
        answers
            What people answered.

        Notes
        -----
        Shares of the answers times the inverse of the transition. For yes and no this is
        ``2 r - 1`` (forced), ``2 r - 1/2`` (two coins), ``(r - (1 - d)) / (2 d - 1)`` (Warner).

        Examples
        --------
        >>> found = RandomisedResponse.two_coins().estimate([1] * 40 + [0] * 60)
        >>> found.shares.round(3), found.standard_errors.round(3)
        (array([0.7, 0.3]), array([0.098, 0.098]))
        """
        codes = _answers(answers, len(self.weights))
        if not codes.size:
            raise DPError(Message("No answer to estimate from."))
        rates = np.bincount(codes, minlength=len(self.weights)) / codes.size
        inverse = self._inverse()
        spread = (np.diag(rates) - np.outer(rates, rates)) / codes.size
        return Shares(shares=rates @ inverse, covariance=inverse.T @ spread @ inverse)

    def variance(self, shares: Sequence[float], *, respondents: int) -> NDArray[np.float64]:
        """Return the variance of each estimated share, for planning a survey.

        Parameters
        ----------
        shares
            The true shares supposed.
        respondents
            How many answer.

        Examples
        --------
        >>> RandomisedResponse.two_coins().variance([0.5, 0.5], respondents=1000).round(6)
        array([0.001, 0.001])
        """
        number = checked_count(respondents, "respondents")
        rates = np.asarray(shares, dtype=np.float64) @ self.transition
        inverse = self._inverse()
        spread = (np.diag(rates) - np.outer(rates, rates)) / number
        return np.asarray(np.diag(inverse.T @ spread @ inverse))

    def _inverse(self) -> NDArray[np.float64]:
        transition = self.transition
        if np.linalg.cond(transition) > _FLAT:
            raise DPError(
                Message("The answers say nothing about the truth."),
                hint=Message("take a chance of the direct question away from a half"),
            )
        return np.asarray(np.linalg.inv(transition))


def _symmetric(honest: int, number: int) -> tuple[tuple[int, ...], ...]:
    other = (_ONE - honest) // (number - 1)
    return tuple(
        tuple(honest if i == j else other for j in range(number)) for i in range(number)
    )


def _weight(chance: float, name: str) -> int:
    return round(checked_probability(chance, name) * _ONE)


def _answers(values: ArrayLike, number: int) -> NDArray[Any]:
    codes = np.atleast_1d(np.asarray(values))
    if not codes.size:
        return np.zeros(0, dtype=np.int64)
    if codes.ndim != 1 or codes.dtype.kind not in "iub":
        raise DPError(Message("Answers are whole numbers from 0, in one list."))
    if codes.min() < 0 or codes.max() >= number:
        raise DPError(Message("Answers must lie between 0 and {number}.", number=number - 1))
    return codes.astype(np.int64)
