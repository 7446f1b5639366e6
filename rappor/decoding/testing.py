"""One-sided tests of many candidates at once."""

from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from footing.arrays import Floats
from footing.messages import Message, Name
from rappor.errors import RapporError

#: How many tests at once are allowed for.
Correction: TypeAlias = Literal[
    "benjamini-hochberg", "benjamini-yekutieli", "bonferroni", "holm", "none"
]


def upper_tail(estimates: ArrayLike, variances: ArrayLike, freedom: int) -> Floats:
    """Give the chance of at least these estimates where the truth is 0."""
    from scipy.special import ndtr, stdtr

    x, v = np.asarray(estimates, float), np.asarray(variances, float)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = x / np.sqrt(v)
    z = np.where(np.isfinite(v), np.nan_to_num(z, nan=0.0, posinf=np.inf, neginf=-np.inf), 0.0)
    tail: Floats = stdtr(freedom, -z) if freedom > 0 else ndtr(-z)
    return np.where(np.isfinite(v), tail, 1.0)


def binomial_tail(ones: ArrayLike, n: ArrayLike, chance: ArrayLike) -> Floats:
    """Give the chance of at least so many ones in n trials."""
    from scipy.special import betainc

    k, trials, p = np.broadcast_arrays(*(np.asarray(a, float) for a in (ones, n, chance)))
    tails = np.ones(k.shape)
    some = k > 0
    tails[some] = betainc(k[some], trials[some] - k[some] + 1, p[some])
    return tails


def adjusted(p_values: ArrayLike, *, correction: Correction) -> Floats:
    """Adjust p-values for their number: compare them with the level itself."""
    if correction not in get_args(Correction):
        names = Name.each(get_args(Correction))
        raise RapporError(
            Message("There is no correction {correction!r}.", correction=Name(correction)),
            hint=Message("take one of {names!r}", names=names),
        )
    p: Floats = np.asarray(p_values, float)
    n = p.size
    if correction == "none" or not n:
        return p.copy()
    if correction == "bonferroni":
        return (n * p).clip(max=1.0)
    order = np.argsort(p, kind="stable")
    rank = np.arange(1, n + 1)
    if correction == "holm":
        steps = np.maximum.accumulate((n + 1 - rank) * p[order])
    else:
        factor = (1.0 / rank).sum() if correction == "benjamini-yekutieli" else 1.0
        steps = np.minimum.accumulate((factor * n / rank * p[order])[::-1])[::-1]
    values = np.empty(n)
    values[order] = np.minimum(1.0, steps)
    return values
