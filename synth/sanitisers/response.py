"""Randomised answers in two rounds; in one round they are `dp.RandomisedResponse`."""

import numpy as np
from numpy.typing import ArrayLike

from footing.arrays import Integers
from footing.messages import Argument, Message
from synth.errors import SynthError


def answer_in_two_rounds(
    truths: ArrayLike, *, forced: float, rng: np.random.Generator | None = None
) -> tuple[Integers, Integers]:
    """Answer twice: who is drawn says 0 in the first round, 1 in the second; others the truth.

    Parameters
    ----------
    truths
        0 or 1 per person.
    forced
        The chance to be drawn, anew in each round.
    rng
        A generator; without one the draws have no seed.

    Examples
    --------
    >>> first, second = answer_in_two_rounds([1, 0, 1], forced=0.999999)
    >>> first.tolist(), second.tolist()
    ([0, 0, 0], [1, 1, 1])
    """
    values = _bits(truths)
    _check_forced(forced)
    source = np.random.default_rng(rng)
    is_drawn = source.random((2, len(values))) < forced
    return np.where(is_drawn[0], 0, values), np.where(is_drawn[1], 1, values)


def estimate_from_two_rounds(first: ArrayLike, second: ArrayLike, *, forced: float) -> float:
    """Estimate the share of ones from two rounds.

    Parameters
    ----------
    first, second
        The answers of each round.
    forced
        The chance to be drawn.

    Notes
    -----
    Zeros of the first round and ones of the second, each less ``forced``, are the true zeros
    and ones times ``1 - forced``.

    Examples
    --------
    >>> estimate_from_two_rounds([0, 0, 1, 0], [1, 1, 0, 1], forced=0.5)
    0.5
    """
    _check_forced(forced)
    zeros = float((_bits(first) == 0).mean()) - forced
    ones = float(_bits(second).mean()) - forced
    # their sum is 1 - forced but for chance, and may vanish
    return ones / (zeros + ones) if zeros + ones > 0 else 0.5


def _bits(values: ArrayLike) -> Integers:
    bits = np.asarray(values)
    if bits.ndim != 1 or not len(bits) or not np.isin(bits, (0, 1)).all():
        raise SynthError(Message("Answers must be 0 or 1, one per person, at least one."))
    return bits.astype(np.int64)


def _check_forced(forced: float) -> None:
    if not 0 <= forced < 1:
        raise SynthError(
            Message("forced must lie in [0, 1), not {forced}.", forced=Argument(forced))
        )
