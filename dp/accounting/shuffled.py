"""What local answers cost once a collector has mixed them and passed on nothing else.

Every answer hides among the others: with chance ``exp(-e)`` an answer of loss ``e`` could as
well be one of the person in question.
"""

from __future__ import annotations

import math

import numpy as np

from dp.bisection import bisected
from dp.checking import checked_count, checked_delta, checked_epsilon

_LEAST, _LEFT_OUT = 1e-20, 1e-4  # of delta, for numbers of clones that hardly occur
_MOST = 10**8


def shuffled_delta(epsilon: float, *, local: float, reports: int) -> float:
    """Return the delta, at an epsilon, of local answers that are mixed.

    Parameters
    ----------
    epsilon
        The epsilon of all mixed answers together, for neighbours that replace one person.
    local
        The loss of each person's answer, or of all answers of that person.
    reports
        Persons whose answers are mixed.

    Notes
    -----
    With ``C ~ Bin(n - 1, exp(-local))`` clones, ``A ~ Bin(C, 1/2)`` of them like the first of
    two neighbours, the mixed answers tell no more than ``A + D`` and ``C + 1 - A - D`` do;
    D is 1 with chance ``t`` for one neighbour, ``1 - t`` for the other, with
    ``t = 1 / (1 + exp(-local))``. Given C the ratio of chances grows with A: delta is a sum of
    binomial tails over C.

    References
    ----------
    Feldman, McMillan, Talwar 2021, "Hiding among the clones", FOCS: the numerical bound.

    Examples
    --------
    >>> f"{shuffled_delta(0.1, local=1, reports=10_000):.2e}"
    '6.42e-14'
    """
    local = checked_epsilon(local)
    number = checked_count(reports, "reports", least=2)
    return _delta(checked_epsilon(epsilon, may_be_zero=True), local, number, _LEAST)


def shuffled_epsilon(delta: float, *, local: float, reports: int) -> float:
    """Return the epsilon, at a delta, of local answers that are mixed.

    Parameters
    ----------
    delta
        The delta.
    local, reports
        As for `shuffled_delta`.

    Notes
    -----
    The closed form of the same paper is larger. Answers of one person that are mixed at
    several times are covered by the loss of all of them together as `local`.

    Examples
    --------
    >>> round(shuffled_epsilon(1e-9, local=1, reports=10**6), 4)
    0.0069
    """
    delta = checked_delta(delta)
    local = checked_epsilon(local)
    # More answers than these only hide more, and take longer to sum.
    number = min(checked_count(reports, "reports", least=2), _MOST)
    left_out = delta * _LEFT_OUT
    return bisected(
        lambda e: _delta(e, local, number, left_out) > delta, 0.0, local, rounds=30
    )[1]


def _delta(epsilon: float, local: float, number: int, left_out: float) -> float:
    """Sum over the numbers of clones; those with less chance than is left out count in full."""
    from scipy.stats import binom

    true = 1 / (1 + math.exp(-local))
    if epsilon >= local:
        return 0.0
    gain = true - math.exp(epsilon) * (1 - true)
    clones = binom(number - 1, math.exp(-local))
    first, last = int(clones.ppf(left_out / 2)), int(clones.isf(left_out / 2))
    c = np.arange(first, last + 1)
    odds = (math.exp(epsilon) * true - (1 - true)) / gain
    most = np.floor(odds * (c + 1) / (1 + odds))  # the last number whose ratio is too small
    tails = [binom.sf(most - one, c, 0.5) for one in (1, 0)]
    excess = gain * tails[0] - (math.exp(epsilon) * true - (1 - true)) * tails[1]
    return float(clones.pmf(c) @ np.maximum(excess, 0.0)) + left_out
