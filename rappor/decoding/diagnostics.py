"""What in the counts themselves says that clients and server do not agree."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from footing.messages import Message
from rappor.counts import Counts
from rappor.decoding.testing import binomial_tail
from rappor.errors import RapporError

#: The chance of a false alarm, over all cohorts and bits of a test together.
_LEVEL = 1e-4

#: Standard deviations of the mean number of ones; clients that report often need the room.
_FAR = 5.0

_WORDS = {
    "too-few-ones": "Bits set less often than noise alone sets them: {}. "
    "A client draws no randomness, or has other parameters.",
    "too-many-ones": "Bits set more often than the value of every client could: {}. "
    "A client draws no randomness, or has other parameters.",
    "silent-cohorts": "Cohorts without a report: {}. They are left out.",
    "unbalanced-cohorts": "The cohorts differ in size by more than chance: "
    "clients choose them, or some send several reports.",
    "light-reports": "Reports have too few ones: "
    "some were made with another p, q, f or number of bits.",
    "heavy-reports": "Reports have too many ones: "
    "some were made with another p, q, f or number of bits.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """Something that hardly happens when everything is right.

    Parameters
    ----------
    name
        ``"too-few-ones"``, ``"too-many-ones"``, ``"unbalanced-cohorts"``,
        ``"silent-cohorts"``, ``"light-reports"`` or ``"heavy-reports"``.
    found
        How many bits or cohorts; 1 where all are meant.
    example
        The cohort and the bit of the worst one; -1 stands for all.

    Examples
    --------
    >>> print(Diagnostic(name="silent-cohorts", found=3, example=(2, -1)))
    Cohorts without a report: 3. They are left out.
    """

    name: str
    found: int
    example: tuple[int, int]

    def __str__(self) -> str:
        return _WORDS[self.name].format(self.found)


def diagnostics(counts: Counts) -> tuple[Diagnostic, ...]:
    """Look for counts that no share of clients explains.

    Parameters
    ----------
    counts
        The counts.

    Raises
    ------
    RapporError
        If there is no report at all.

    Notes
    -----
    Whatever the values are, a bit is 1 with a probability between p* and q*; a bit that is
    rarer or more frequent tells of other parameters, of a broken source of randomness or of
    forged reports. Cohorts are drawn uniformly. Each of these tests errs with probability
    1e-4. A report has a mean of ``k p* + x (q* - p*)`` ones with x from 1 (0 for a Boolean)
    to h; the mean of all may be five standard deviations away.

    Examples
    --------
    >>> from rappor import Counts, Parameters
    >>> towns = Parameters.basic(2, f=0.0, p=0.25, q=0.75)
    >>> silent = Counts(n=[1_000], ones=[[500, 0]], parameters=towns)
    >>> [diagnostic.name for diagnostic in diagnostics(silent)]
    ['too-few-ones', 'light-reports']
    """
    if counts.total == 0:
        raise RapporError(
            Message("There is no report to decode."),
            hint=Message("sum the reports of the collection first"),
        )
    return (*_of_bits(counts), *_of_cohorts(counts), *_of_reports(counts))


def _of_bits(counts: Counts) -> Iterator[Diagnostic]:
    low, high = sorted((counts.parameters.p_star, counts.parameters.q_star))
    n = counts.n[:, None]
    tails = {
        "too-few-ones": binomial_tail(n - counts.ones, n, 1 - low),
        "too-many-ones": binomial_tail(counts.ones, n, high),
    }
    for name, tail in tails.items():
        if count := int((tail < _LEVEL / tail.size).sum()):
            cohort, bit = np.unravel_index(int(np.argmin(tail)), tail.shape)
            yield Diagnostic(name=name, found=count, example=(int(cohort), int(bit)))


def _of_cohorts(counts: Counts) -> Iterator[Diagnostic]:
    from scipy.special import chdtrc

    m = len(counts.n)
    expected = counts.total / m
    silent = np.flatnonzero(counts.n == 0)
    if silent.size and m * np.exp(-expected) < _LEVEL:
        yield Diagnostic(name="silent-cohorts", found=silent.size, example=(int(silent[0]), -1))
    elif m > 1 and expected >= 5:
        distance = ((counts.n - expected) ** 2 / expected).sum()
        if chdtrc(m - 1, distance) < _LEVEL:
            worst = int(np.argmax(np.abs(counts.n - expected)))
            yield Diagnostic(name="unbalanced-cohorts", found=1, example=(worst, -1))


def _of_reports(counts: Counts) -> Iterator[Diagnostic]:
    """Compare the mean number of ones with what one value a report allows."""
    shape = counts.parameters
    lift = shape.q_star - shape.p_star
    base = shape.n_bits * shape.p_star
    fewest = 0 if shape.is_boolean else 1
    low, high = sorted((base + fewest * lift, base + shape.n_hashes * lift))
    mean = counts.ones.sum() / counts.total
    room = _FAR * np.sqrt(shape.n_bits / 4 / counts.total)
    if mean < low - room:
        yield Diagnostic(name="light-reports", found=1, example=(-1, -1))
    if mean > high + room:
        yield Diagnostic(name="heavy-reports", found=1, example=(-1, -1))
