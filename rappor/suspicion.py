"""What in the counts themselves says that clients and server do not agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rappor.testing import binomial_tail

if TYPE_CHECKING:
    from rappor.counts import Counts

__all__ = ["Suspicion", "suspicions"]

#: The chance of a false alarm, over all cohorts and bits of a test together.
_LEVEL = 1e-4


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspicion:
    """Something that hardly happens when everything is right.

    Parameters
    ----------
    name
        ``"too-few-ones"``, ``"too-many-ones"``, ``"unbalanced-cohorts"`` or
        ``"silent-cohorts"``.
    found
        How many bits or cohorts.
    example
        The cohort and the bit of the worst one; a bit of -1 stands for the whole cohort.
    """

    name: str
    found: int
    example: tuple[int, int]


def suspicions(counts: Counts) -> tuple[Suspicion, ...]:
    """Look for counts that no share of clients explains.

    Parameters
    ----------
    counts
        The counts.

    Notes
    -----
    Whatever the values are, a bit is 1 with a probability between p* and q*; a bit that is
    rarer or more frequent tells of other parameters, of a broken source of randomness or of
    forged reports. Cohorts are drawn uniformly. Each test errs with probability 1e-4.

    Examples
    --------
    >>> from rappor.counts import Counts
    >>> from rappor.parameters import Parameters
    >>> towns = Parameters.basic(2, f=0.0, p=0.25, q=0.75)
    >>> silent = Counts(n=[1_000], ones=[[500, 0]], parameters=towns)
    >>> [suspicion.name for suspicion in suspicions(silent)]
    ['too-few-ones']
    """
    from scipy.special import chdtrc

    shape = counts.parameters
    low, high = sorted((shape.p_star, shape.q_star))
    n = counts.n[:, None]
    found = []
    tails = {
        "too-few-ones": binomial_tail(n - counts.ones, n, 1 - low),
        "too-many-ones": binomial_tail(counts.ones, n, high),
    }
    for name, tail in tails.items():
        if count := int((tail < _LEVEL / tail.size).sum()):
            cohort, bit = np.unravel_index(int(np.argmin(tail)), tail.shape)
            found.append(Suspicion(name=name, found=count, example=(int(cohort), int(bit))))
    expected = counts.total / len(counts.n)
    silent = np.flatnonzero(counts.n == 0)
    if silent.size and len(counts.n) * np.exp(-expected) < _LEVEL:
        example = (int(silent[0]), -1)
        found.append(Suspicion(name="silent-cohorts", found=silent.size, example=example))
    elif len(counts.n) > 1 and expected >= 5:
        distance = ((counts.n - expected) ** 2 / expected).sum()
        if chdtrc(len(counts.n) - 1, distance) < _LEVEL:
            worst = int(np.argmax(np.abs(counts.n - expected)))
            found.append(Suspicion(name="unbalanced-cohorts", found=1, example=(worst, -1)))
    return tuple(found)
