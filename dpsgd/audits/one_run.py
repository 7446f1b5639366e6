"""A lower bound of epsilon from one run, in which each canary took part by a coin."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dp.auditor import one_run_bound
from dp.checking import checked_epsilon
from dpsgd.errors import DPSGDError
from footing.messages import Message

_SHARES = (0.02, 0.1, 0.3)


@dataclass(frozen=True, slots=True, kw_only=True)
class OneRun:
    """What one run proves.

    Parameters
    ----------
    epsilon
        The run's epsilon is not below this, but for the error.
    canaries, guesses, right
        How many there were, were guessed about, and were guessed right.
    error
        The chance that the bound is wrong.

    Examples
    --------
    >>> OneRun(epsilon=2.2, canaries=1000, guesses=100, right=95, error=0.05).refutes(1)
    True
    """

    epsilon: float
    canaries: int
    guesses: int
    right: int
    error: float

    def refutes(self, epsilon: float) -> bool:
        """Whether the run cannot have the claimed epsilon."""
        return self.epsilon > checked_epsilon(epsilon, may_be_zero=True)


def one_run_audit(
    scores: ArrayLike,
    *,
    is_in: ArrayLike,
    delta: float = 0.0,
    shares: Sequence[float] = _SHARES,
    error: float = 0.05,
) -> OneRun:
    """Bound epsilon from below by the scores of canaries.

    Parameters
    ----------
    scores
        Of each canary after the run, higher for a likelier member.
    is_in
        Whether it took part; drawn by a fair coin for each canary, before the run.
    delta
        The delta that the run claims.
    shares
        What share of the canaries to guess about, half of it as in and half as out. The best
        of several counts, and each has its part of the error.
    error
        The chance that the bound may be wrong.

    Notes
    -----
    However wrong the run is, guesses that are all right prove no more than about
    ``ln(guesses / ln(1 / error))``: 3.5 for 100 guesses, 4.6 for 300. To refute a larger
    epsilon, put in more canaries or guess about a larger share.

    References
    ----------
    Steinke, Nasr, Jagielski 2023, theorem 5.2.

    Examples
    --------
    >>> generator = np.random.default_rng(1)
    >>> coins = generator.random(1000) < 0.5
    >>> found = one_run_audit(generator.normal(4 * coins, 1), is_in=coins)
    >>> found.refutes(2)
    True
    """
    array = np.asarray(scores, dtype=np.float64)
    truth = np.asarray(is_in)
    if array.ndim != 1 or not array.size or array.shape != truth.shape:
        raise DPSGDError(Message("scores and is_in need one entry a canary."))
    if np.isnan(array).any() or not np.isin(truth, (0, 1)).all():
        raise DPSGDError(Message("scores are numbers, and is_in says 0 or 1."))
    if not shares or not all(0 < share <= 1 for share in shares):
        raise DPSGDError(
            Message("shares must lie above 0 and not above 1."), hint=Message("0.1 for example")
        )
    order = np.argsort(array, kind="stable")
    truth = truth.astype(np.bool_)[order]
    results = []
    for share in shares:
        half = max(1, int(share * len(array)) // 2) if len(array) > 1 else 0
        right = int(truth[len(truth) - half :].sum() + (~truth[:half]).sum())
        guessed = {"canaries": len(array), "guesses": 2 * half, "right": right}
        bound = one_run_bound(**guessed, delta=delta, error=error / len(shares))
        results.append(OneRun(**guessed, epsilon=bound, error=error))
    return max(results, key=lambda result: result.epsilon)
