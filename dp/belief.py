"""What a guarantee means: how much an attacker can come to believe, and be right.

Facts and numbers; the words around them are the reader's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from dp.adjacency import Adjacency
from dp.checking import checked_delta, checked_epsilon, checked_positive, checked_probability
from dp.errors import DPError
from footing.messages import Message, Name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dp.guarantee import Guarantee

TABLE_EPSILONS = (0.01, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 3.0)
TABLE_PRIORS = (0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99)
_RATES = (0.001, 0.01, 0.1)
_PRIORS = (0.01, 0.5)
#: How many units, as neighbours have them, two data sets differ in between which somebody
#: decides. A value that is changed is taken out, and another put in.
_CHANGES = {
    "membership": {Adjacency.ADD_REMOVE: 1, Adjacency.REPLACE: 1, Adjacency.ZERO_OUT: 1},
    "value": {
        Adjacency.ADD_REMOVE: 2,
        Adjacency.ZERO_OUT: 2,
        Adjacency.REPLACE: 1,
        Adjacency.LOCAL: 1,
        Adjacency.DISTANCE: 1,
    },
}


def belief_bounds(
    prior: float,
    *,
    epsilon: float,
    about: Literal["value", "membership"] = "value",
    adjacency: Adjacency = Adjacency.ADD_REMOVE,
) -> tuple[float, float]:
    """Return the least and the most that somebody can believe of one unit after an answer.

    Parameters
    ----------
    prior
        The chance given to the statement before.
    epsilon
        Of the mechanism that answered; pure.
    about
        ``"value"``: any statement about the unit; ``"membership"``: that it, and not nothing,
        blank values or another unit, is in the data.
    adjacency
        The neighbours for which epsilon is stated.

    Notes
    -----
    ``p / (p + exp(k epsilon) (1 - p))`` and ``p / (p + exp(-k epsilon) (1 - p))``, with k = 2
    for a value where units are added and removed or blank, otherwise 1. It holds for whoever
    knows all other units, or whose belief about them does not depend on this one. Places are
    those one unit of distance apart.

    Examples
    --------
    >>> [round(b, 4) for b in belief_bounds(0.5, epsilon=1, about="membership")]
    [0.2689, 0.7311]
    >>> [round(b, 4) for b in belief_bounds(0.5, epsilon=1)]
    [0.1192, 0.8808]
    """
    prior = checked_probability(prior, "prior")
    loss = _changes(about, adjacency) * checked_epsilon(epsilon, may_be_zero=True)
    return _moved(prior, loss)


def belief_table(
    *,
    priors: Sequence[float] = TABLE_PRIORS,
    epsilons: Sequence[float] = TABLE_EPSILONS,
    about: Literal["value", "membership"] = "value",
    adjacency: Adjacency = Adjacency.ADD_REMOVE,
) -> NDArray[np.float64]:
    """Return the most that can be believed, by prior (rows) and epsilon (columns).

    Parameters
    ----------
    priors, epsilons
        The rows and the columns.
    about, adjacency
        As for `belief_bounds`.

    Examples
    --------
    >>> belief_table(priors=[0.5], epsilons=[0.1, 1], about="membership").round(4)
    array([[0.525 , 0.7311]])
    """
    return np.array(
        [
            [belief_bounds(p, epsilon=e, about=about, adjacency=adjacency)[1] for e in epsilons]
            for p in priors
        ]
    )


def epsilon_for_belief(
    prior: float,
    *,
    most: float,
    about: Literal["value", "membership"] = "value",
    adjacency: Adjacency = Adjacency.ADD_REMOVE,
) -> float:
    """Return the largest epsilon that keeps a belief from rising above a bound.

    Parameters
    ----------
    prior
        The chance given to the statement before.
    most
        The chance that it may be given after, at most.
    about, adjacency
        As for `belief_bounds`.

    Notes
    -----
    ``(ln(most / (1 - most)) - ln(prior / (1 - prior))) / k``, with the k of `belief_bounds`.

    Examples
    --------
    >>> round(epsilon_for_belief(0.1, most=0.25, about="membership"), 4)
    1.0986
    >>> round(epsilon_for_belief(0.1, most=0.25), 4)
    0.5493
    """
    prior = checked_probability(prior, "prior")
    most = checked_probability(most, "most")
    if not 0 < prior < most < 1:
        raise DPError(
            Message(
                "A belief rises from above 0 to below 1, not from {prior:g} to {most:g}.",
                prior=prior,
                most=most,
            ),
            hint=Message("for example from 0.1 to 0.25"),
        )
    return (_log_odds(most) - _log_odds(prior)) / _changes(about, adjacency)


def tail_bound(loss: float, *, epsilon: float, delta: float) -> float:
    """Return how likely the odds of one of two neighbours change by more than a loss, at most.

    Parameters
    ----------
    loss
        Logarithm of the factor by which the odds change, up or down.
    epsilon, delta
        Of the mechanism.

    Notes
    -----
    ``delta (1 + exp(-loss)) / (1 - exp(epsilon - loss))`` for a loss above epsilon, otherwise
    1. Delta itself is no such bound: at the loss epsilon the chance may be far above delta.

    Examples
    --------
    >>> tail_bound(1, epsilon=1, delta=1e-6)
    1.0
    >>> round(tail_bound(1 + math.log(2), epsilon=1, delta=1e-6) * 1e6, 3)
    2.368
    """
    epsilon = checked_epsilon(epsilon, may_be_zero=True)
    delta = checked_delta(delta, may_be_zero=True)
    if math.isnan(loss) or loss <= epsilon:
        return 1.0 if delta or not loss >= epsilon else 0.0
    return min(1.0, delta * (1 + math.exp(-loss)) / -math.expm1(epsilon - loss))


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
    first_bound = math.exp(min(700.0, epsilon)) * rate + delta
    shrunk = 1 - math.exp(-epsilon) * (1 - rate - delta)
    return min(1.0, first_bound, shrunk)


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
    """Return how high a premium set by the answer can be on average by one change of the data.

    Parameters
    ----------
    premium
        What it is on average, over the noise, for a neighbour: without the person's data for
        instance. So too for any number from 0 that follows from the answer.
    epsilon
        Of the study; pure.

    Examples
    --------
    >>> round(premium_bound(2000, epsilon=0.01), 2)
    2020.1
    """
    epsilon = checked_epsilon(epsilon, may_be_zero=True)
    return checked_positive(premium, "premium") * _grown(epsilon)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """How far the odds of a kind of statement about one unit can change.

    Parameters
    ----------
    factor
        By how much, up or down; infinite where nothing is promised.
    chance
        How likely they change by more, at most, by the reckoning of whoever holds the belief;
        0 without a delta. Given one of the values that a statement leaves open it may be more.
    beliefs
        Prior, and the least and the most that can be believed after, within the factor.

    Examples
    --------
    >>> from dp import Guarantee
    >>> round(meaning(Guarantee(epsilon=1, adjacency="add-remove")).value.factor, 3)
    7.389
    """

    factor: float
    chance: float
    beliefs: tuple[tuple[float, float, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """The meaning of an epsilon and a delta in numbers.

    Parameters
    ----------
    epsilon, delta
        What is explained.
    membership
        Of the statement that the unit is in the data; none for a respondent or a place.
    value
        Of any statement about the unit.
    rates
        False positive rate, and the highest true positive rate.
    advantage
        How far the two rates can lie apart.

    Examples
    --------
    >>> from dp import Guarantee
    >>> round(meaning(Guarantee(epsilon=1, adjacency="add-remove")).membership.factor, 3)
    2.718
    """

    epsilon: float
    delta: float
    membership: Shift | None
    value: Shift
    rates: tuple[tuple[float, float], ...]
    advantage: float


def meaning(guarantee: Guarantee, *, priors: Sequence[float] = _PRIORS) -> Meaning:
    """Return what a guarantee means, in numbers.

    Parameters
    ----------
    guarantee
        With a finite epsilon. With a delta, the factors are twice those of epsilon alone, and
        hold but for a small multiple of delta, by `tail_bound`.
    priors
        Beliefs before, whose bounds after are told.

    Examples
    --------
    >>> from dp import Guarantee
    >>> found = meaning(Guarantee(epsilon=1, delta=1e-5, adjacency="add-remove"))
    >>> [round(rate, 5) for _, rate in found.rates]
    [0.00273, 0.02719, 0.27184]
    """
    epsilon, delta = guarantee.epsilon, guarantee.delta
    if not math.isfinite(epsilon):
        raise DPError(
            Message("Without an epsilon there is nothing to explain."),
            hint=Message("state rho at a delta first: guarantee.at(1e-6)"),
        )
    has_members = guarantee.adjacency in _CHANGES["membership"]
    probabilities = [checked_probability(prior, "prior") for prior in priors]
    return Meaning(
        epsilon=epsilon,
        delta=delta,
        membership=_shift(guarantee, "membership", probabilities) if has_members else None,
        value=_shift(guarantee, "value", probabilities),
        rates=tuple(
            (rate, true_positive_bound(rate, epsilon=epsilon, delta=delta)) for rate in _RATES
        ),
        advantage=advantage_bound(epsilon, delta=delta),
    )


def _shift(guarantee: Guarantee, about: str, priors: Sequence[float]) -> Shift:
    both = guarantee.for_group(_changes(about, guarantee.adjacency))
    loss, chance = both.epsilon, 0.0
    if both.delta:
        loss += math.log(2)
        chance = tail_bound(loss, epsilon=both.epsilon, delta=both.delta)
    if chance >= 1:
        loss, chance = math.inf, 0.0
    return Shift(
        factor=_grown(loss),
        chance=chance,
        beliefs=tuple((prior, *_moved(prior, loss)) for prior in priors),
    )


def _changes(about: str, adjacency: Adjacency) -> int:
    changes, adjacency = _CHANGES.get(about), Adjacency(adjacency)
    if changes is None:
        raise DPError(
            Message("Unknown kind of statement {about!r}.", about=Name(about)),
            hint=Message("'value' or 'membership'"),
        )
    if adjacency not in changes:
        raise DPError(
            Message("Nobody is a member of the data under {adjacency}.", adjacency=adjacency),
            hint=Message("take about='value'"),
        )
    return changes[adjacency]


def _moved(prior: float, loss: float) -> tuple[float, float]:
    if prior in {0.0, 1.0}:
        return prior, prior
    odds = _log_odds(prior)
    return _logistic(odds - loss), _logistic(odds + loss)


def _log_odds(chance: float) -> float:
    return math.log(chance) - math.log1p(-chance)


def _grown(epsilon: float) -> float:
    """Return exp(epsilon), and infinity where floats end."""
    return math.exp(epsilon) if epsilon <= 700 else math.inf


def _logistic(log_odds: float) -> float:
    if log_odds >= 0:
        return 1 / (1 + math.exp(-log_odds))
    odds = math.exp(log_odds)
    return odds / (1 + odds)
