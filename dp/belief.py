"""What a guarantee means: how much an attacker can come to believe, and be right.

Facts and numbers; the words around them are the reader's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dp.checking import checked_delta, checked_epsilon, checked_positive, checked_probability
from dp.errors import DPError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dp.guarantee import Guarantee

__all__ = [
    "TABLE_EPSILONS",
    "TABLE_PRIORS",
    "Meaning",
    "advantage_bound",
    "belief_bounds",
    "belief_table",
    "distance_bound",
    "meaning",
    "premium_bound",
    "true_positive_bound",
]

TABLE_EPSILONS = (0.01, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 3.0)
TABLE_PRIORS = (0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99)
_RATES = (0.001, 0.01, 0.1)
_PRIORS = (0.01, 0.5)


def belief_bounds(prior: float, *, epsilon: float) -> tuple[float, float]:
    """Return the least and the most that somebody can believe after an answer.

    Parameters
    ----------
    prior
        The chance given to the statement before, that a person is in the data for instance.
    epsilon
        Of the mechanism that answered; pure.

    Notes
    -----
    ``p / (p + exp(epsilon) (1 - p))`` and ``p / (p + exp(-epsilon) (1 - p))``.

    Examples
    --------
    >>> [round(bound, 4) for bound in belief_bounds(0.5, epsilon=1)]
    [0.2689, 0.7311]
    """
    prior = checked_probability(prior, "prior")
    epsilon = checked_epsilon(epsilon, may_be_zero=True)
    if prior in {0.0, 1.0}:
        return prior, prior
    odds = math.log(prior) - math.log1p(-prior)
    return _logistic(odds - epsilon), _logistic(odds + epsilon)


def belief_table(
    *,
    priors: Sequence[float] = TABLE_PRIORS,
    epsilons: Sequence[float] = TABLE_EPSILONS,
) -> NDArray[np.float64]:
    """Return the most that can be believed, by prior (rows) and epsilon (columns).

    Parameters
    ----------
    priors, epsilons
        The rows and the columns.

    Examples
    --------
    >>> belief_table(priors=[0.5], epsilons=[0.1, 1]).round(4)
    array([[0.525 , 0.7311]])
    """
    return np.array([[belief_bounds(p, epsilon=e)[1] for e in epsilons] for p in priors])


def true_positive_bound(
    false_positive_rate: float, *, epsilon: float, delta: float = 0.0
) -> float:
    """Return how often an attacker can be right about members, at most.

    Parameters
    ----------
    false_positive_rate
        How often the attacker may be wrong about others.
    epsilon, delta
        Of the mechanism.

    Notes
    -----
    The lesser of ``exp(epsilon) f + delta`` and ``1 - exp(-epsilon) (1 - f - delta)``.

    Examples
    --------
    >>> round(true_positive_bound(0.01, epsilon=1), 4)
    0.0272
    """
    rate = checked_probability(false_positive_rate, "false_positive_rate")
    epsilon = checked_epsilon(epsilon, may_be_zero=True)
    delta = checked_delta(delta, may_be_zero=True)
    grown = math.exp(min(700.0, epsilon)) * rate + delta
    shrunk = 1 - math.exp(-epsilon) * (1 - rate - delta)
    return min(1.0, grown, shrunk)


def advantage_bound(epsilon: float, *, delta: float = 0.0) -> float:
    """Return how far an attacker's rates of right and wrong alarms can lie apart, at most.

    Parameters
    ----------
    epsilon, delta
        Of the mechanism.

    Notes
    -----
    ``(exp(epsilon) - 1 + 2 delta) / (exp(epsilon) + 1)``.

    Examples
    --------
    >>> round(advantage_bound(1), 4)
    0.4621
    """
    epsilon = checked_epsilon(epsilon, may_be_zero=True)
    delta = checked_delta(delta, may_be_zero=True)
    return min(1.0, math.tanh(epsilon / 2) + delta * (1 - math.tanh(epsilon / 2)))


def distance_bound(epsilon: float) -> float:
    """Return how far the chances of any event can lie apart, at most: ``1 - exp(-epsilon)``.

    Parameters
    ----------
    epsilon
        Of the mechanism.

    Examples
    --------
    >>> round(distance_bound(0.1), 4)
    0.0952
    """
    return -math.expm1(-checked_epsilon(epsilon, may_be_zero=True))


def premium_bound(premium: float, *, epsilon: float) -> float:
    """Return how high a fair premium can rise by one person's taking part, at most.

    Parameters
    ----------
    premium
        What it would be, had the person not taken part.
    epsilon
        Of the study.

    Examples
    --------
    >>> round(premium_bound(2000, epsilon=0.01), 2)
    2020.1
    """
    epsilon = checked_epsilon(epsilon, may_be_zero=True)
    return checked_positive(premium, "premium") * _grown(epsilon)


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """The meaning of an epsilon and a delta in numbers.

    Parameters
    ----------
    epsilon, delta
        What is explained.
    odds_factor
        By how much the odds of any statement about one unit can change.
    beliefs
        Prior, and the least and the most that can be believed after.
    rates
        False positive rate, and the highest true positive rate.
    advantage
        How far the two rates can lie apart.

    Examples
    --------
    >>> from dp.guarantee import Guarantee
    >>> round(meaning(Guarantee(epsilon=1, adjacency="replace")).odds_factor, 3)
    2.718
    """

    epsilon: float
    delta: float
    odds_factor: float
    beliefs: tuple[tuple[float, float, float], ...]
    rates: tuple[tuple[float, float], ...]
    advantage: float


def meaning(guarantee: Guarantee) -> Meaning:
    """Return what a guarantee means, in numbers.

    Parameters
    ----------
    guarantee
        With a finite epsilon; its delta is the chance that beliefs and odds go beyond.

    Examples
    --------
    >>> from dp.guarantee import Guarantee
    >>> found = meaning(Guarantee(epsilon=1, delta=1e-5, adjacency="add-remove"))
    >>> [round(rate, 5) for _, rate in found.rates]
    [0.00273, 0.02719, 0.27184]
    """
    epsilon, delta = guarantee.epsilon, guarantee.delta
    if not math.isfinite(epsilon):
        raise DPError(
            "Without an epsilon there is nothing to explain.",
            hint="state rho at a delta first: guarantee.at(1e-6)",
        )
    return Meaning(
        epsilon=epsilon,
        delta=delta,
        odds_factor=_grown(epsilon),
        beliefs=tuple((p, *belief_bounds(p, epsilon=epsilon)) for p in _PRIORS),
        rates=tuple(
            (rate, true_positive_bound(rate, epsilon=epsilon, delta=delta)) for rate in _RATES
        ),
        advantage=advantage_bound(epsilon, delta=delta),
    )


def _grown(epsilon: float) -> float:
    """Return exp(epsilon), and infinity where floats end."""
    return math.exp(epsilon) if epsilon <= 700 else math.inf


def _logistic(log_odds: float) -> float:
    if log_odds >= 0:
        return 1 / (1 + math.exp(-log_odds))
    grown = math.exp(log_odds)
    return grown / (1 + grown)
