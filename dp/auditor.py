"""Does a mechanism keep its word? A lower bound of its epsilon, from what it does.

Half of the runs look for an event that tells two neighbouring inputs apart, the other half
count it; the bound is wrong with the stated chance at most. A bound above the claimed epsilon
proves a fault. A bound below proves nothing.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dp.bisection import bisected
from dp.checking import (
    checked_count,
    checked_delta,
    checked_epsilon,
    checked_probability,
)
from dp.errors import DPError
from footing.messages import Message

_CUTS = 60
_ROUNDS = 60
_NO_DIGIT = 2000.0  # of 0
_BY_DIGIT = {"digits beyond", "digits up to"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """What an audit found.

    Parameters
    ----------
    epsilon
        The mechanism's epsilon is not below this, but for the error rate.
    event
        What told the inputs apart.
    hits
        How often it happened for the likelier input and for the other.
    runs
        Out of how many each.
    error
        The chance that the bound is wrong.

    Examples
    --------
    >>> Audit(epsilon=2.0, event="at least 3", hits=(90, 5), runs=100, error=1e-6).refutes(1.0)
    True
    """

    epsilon: float
    event: str
    hits: tuple[int, int]
    runs: int
    error: float

    def refutes(self, epsilon: float) -> bool:
        """Whether the mechanism cannot have the claimed epsilon."""
        return self.epsilon > checked_epsilon(epsilon, may_be_zero=True)


def audit(
    first: Callable[[int], ArrayLike],
    second: Callable[[int], ArrayLike],
    *,
    runs: int = 20_000,
    delta: float = 0.0,
    error: float = 1e-6,
) -> Audit:
    """Bound the epsilon of a mechanism from below, by running it on two neighbours.

    Parameters
    ----------
    first, second
        Given a number, return as many numbers that the mechanism released for the input.
    runs
        Runs for each input.
    delta
        The delta that the mechanism claims.
    error
        The chance that the bound may be wrong.

    Returns
    -------
    Audit
        The bound, and the event that proves it.

    Notes
    -----
    Events are: at most or at least a number, equal to a number, and numbers that reach beyond
    a binary digit, which is how noise computed in floats gives itself away. Both directions
    share the error; each rate has its Clopper-Pearson bound.

    Examples
    --------
    >>> generator = np.random.default_rng(1)
    >>> found = audit(
    ...     lambda n: generator.laplace(0, 1, n),
    ...     lambda n: generator.laplace(1, 1, n),
    ...     runs=4000,
    ... )
    >>> found.refutes(0.3)
    True
    """
    runs = checked_count(runs, "runs", least=20)
    delta = checked_delta(delta, may_be_zero=True)
    error = checked_probability(error, "error", is_open=True)
    samples = [_sample(source, runs) for source in (first, second)]
    half = runs // 2
    bounds = []
    for one, other in ((samples[0], samples[1]), (samples[1], samples[0])):
        event = _likeliest(one[:half], other[:half], delta, error)
        hits = int(event(one[half:]).sum()), int(event(other[half:]).sum())
        bound = float(
            _bound(np.array(hits[0]), np.array(hits[1]), runs - half, delta, error / 2)
        )
        bounds.append(
            Audit(epsilon=bound, event=str(event), hits=hits, runs=runs - half, error=error)
        )
    return max(bounds, key=lambda one: one.epsilon)


def one_run_bound(
    *, canaries: int, guesses: int, right: int, delta: float = 0.0, error: float = 0.05
) -> float:
    """Bound epsilon from below by one run with many canaries, each put in by a coin.

    Parameters
    ----------
    canaries
        How many records were put in or left out, each with chance a half.
    guesses
        For how many the attacker said in or out.
    right
        How often that was right.
    delta
        The delta that the mechanism claims.
    error
        The chance that the bound may be wrong.

    References
    ----------
    Steinke, Nasr, Jagielski 2023, theorem 5.2.

    Examples
    --------
    >>> round(one_run_bound(canaries=1000, guesses=100, right=95), 2)
    2.17
    """
    canaries = checked_count(canaries, "canaries")
    guesses = checked_count(guesses, "guesses", least=0)
    right = checked_count(right, "right", least=0)
    if not right <= guesses <= canaries:
        raise DPError(Message("right cannot exceed guesses, nor guesses canaries."))
    delta = checked_delta(delta, may_be_zero=True)
    error = checked_probability(error, "error")

    def is_refuted(epsilon: float) -> bool:
        return _chance_of_guesses(epsilon, canaries, guesses, right, delta) <= error

    low, high = 0.0, 1.0
    while high < 64 and is_refuted(high):
        low, high = high, 2 * high
    return bisected(is_refuted, low, high, rounds=_ROUNDS)[0]


def _chance_of_guesses(
    epsilon: float, canaries: int, guesses: int, right: int, delta: float
) -> float:
    from scipy.stats import binom

    distribution = binom(guesses, 1 / (1 + math.exp(-epsilon)))
    beta = float(distribution.sf(right - 1))
    if delta == 0:
        return beta
    steps = np.arange(1, canaries + 1)
    alpha = float(np.max((distribution.sf(right - 1 - steps) - beta) / steps))
    return beta + 2 * canaries * delta * alpha


def _sample(source: Callable[[int], ArrayLike], runs: int) -> NDArray[np.float64]:
    values = np.asarray(source(runs), dtype=np.float64)
    if values.shape != (runs,) or np.isnan(values).any():
        raise DPError(Message("A mechanism under audit must return one number for each run."))
    return values


@dataclass(frozen=True, slots=True)
class _Event:
    """A set of numbers."""

    kind: str
    cut: float

    def __call__(self, values: NDArray[np.float64]) -> NDArray[np.bool_]:
        if self.kind in _BY_DIGIT:
            values = _last_digit(values)
        if self.kind in {"at most", "digits beyond"}:
            return values <= self.cut
        return values >= self.cut if self.kind != "equal to" else values == self.cut

    def __str__(self) -> str:
        return (
            f"{self.kind} 2**{self.cut:g}"
            if self.kind in _BY_DIGIT
            else (f"{self.kind} {self.cut:g}")
        )


def _likeliest(
    one: NDArray[np.float64], other: NDArray[np.float64], delta: float, error: float
) -> _Event:
    """Return the event with the highest bound on the first half."""
    events = list(_events(one, other))
    hits = np.array([(event(one).sum(), event(other).sum()) for event in events])
    bounds = _bound(hits[:, 0], hits[:, 1], len(one), delta, error / 2)
    return events[int(np.argmax(bounds))]


def _events(one: NDArray[np.float64], other: NDArray[np.float64]) -> Iterator[_Event]:
    both = np.concatenate((one, other))
    values, counts = np.unique(one, return_counts=True)
    for value in values[np.argsort(-counts)][:_CUTS]:
        yield _Event("equal to", float(value))
    cuts = {
        ("at most", "at least"): both,
        ("digits beyond", "digits up to"): _last_digit(both),
    }
    for kinds, numbers in cuts.items():
        steps = np.quantile(numbers, np.linspace(0, 1, _CUTS), method="nearest")
        for cut in np.unique(steps):
            for kind in kinds:
                yield _Event(kind, float(cut))


def _last_digit(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the exponent of the last binary digit that is not 0."""
    mantissa, exponent = np.frexp(np.where(np.isfinite(values), values, 0.0))
    whole = np.abs(mantissa * 2.0**53).astype(np.int64)
    last = np.log2(np.maximum(whole & -whole, 1).astype(np.float64))
    return np.asarray(np.where(whole > 0, exponent - 53 + last, _NO_DIGIT))


def _bound(
    hits: NDArray[np.int64], others: NDArray[np.int64], runs: int, delta: float, error: float
) -> NDArray[np.float64]:
    """Return ln((p - delta) / q) with p at its lower and q at its upper bound."""
    from scipy.stats import beta

    low = np.where(hits > 0, beta.ppf(error / 2, np.maximum(hits, 1), runs - hits + 1), 0.0)
    high = np.where(
        others < runs, beta.ppf(1 - error / 2, others + 1, np.maximum(runs - others, 1)), 1.0
    )
    numerator = np.maximum(low - delta, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.maximum(0.0, np.log(numerator) - np.log(high)))
