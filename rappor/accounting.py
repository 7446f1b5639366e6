"""What the reports of one client give away, exactly."""

import math
from collections.abc import Sequence

import numpy as np

from footing.checks import require_integer
from rappor.errors import RapporError
from rappor.parameters import Parameters


def epsilon_after(parameters: Parameters, *, reports: int) -> float:
    """Give the exact privacy loss of so many reports of one value.

    Parameters
    ----------
    parameters
        The parameters of the collection.
    reports
        Number of reports drawn from the same permanent response.

    Notes
    -----
    With ``a = 1 - f/2`` and ``b = f/2``, `reports` ones have probability ``a q^T + b p^T``
    from a set bit and ``a p^T + b q^T`` from another one. All ones and all zeros are the
    extreme outcomes; a Bloom value differs from another in at most `n_hashes` bits of each
    kind, a Boolean in one bit.

    The permanent loss ``2 h ln(a / b)`` of the literature counts two bits for each hash; for a
    Boolean it is half of that. Logarithms are natural: with others the figures of the paper,
    1.07 and 0.53, do not come out.

    Examples
    --------
    >>> from rappor import Parameters
    >>> paper = Parameters(n_bits=128, n_hashes=2, n_cohorts=16, f=0.5, p=0.5, q=0.75)
    >>> [round(epsilon_after(paper, reports=t), 3) for t in (1, 2, 5, 14)]
    [1.074, 2.017, 3.656, 4.376]
    """
    ones, zeros = bit_losses(parameters, reports=reports)
    if parameters.is_boolean:
        return max(ones, zeros)
    return parameters.n_hashes * (ones + zeros)


def epsilon_rotated(parameters: Parameters, *, reports: Sequence[int]) -> float:
    """Give the exact loss of one value's reports where the secret was changed between them.

    A new secret gives a new permanent response, independent of the one before: the losses
    add up, and what is added is no longer bounded by that of one permanent response. What it
    buys: reports under two secrets cannot be linked by their permanent noise.

    Parameters
    ----------
    parameters
        The parameters of the collection.
    reports
        How many reports were drawn under each secret.

    Examples
    --------
    >>> from rappor import Parameters
    >>> paper = Parameters(n_bits=128, n_hashes=2, n_cohorts=16, f=0.5, p=0.5, q=0.75)
    >>> [round(epsilon_rotated(paper, reports=t), 2) for t in ([52], [13] * 4, [1] * 52)]
    [4.39, 17.47, 55.86]
    """
    return sum(epsilon_after(parameters, reports=number) for number in reports)


def epsilon_between(
    first: object,
    second: object,
    *,
    cohort: int,
    parameters: Parameters,
    reports: int | None = None,
) -> float:
    """Give the exact loss between two given values in one cohort.

    It is smaller than the worst case where the values share bits, and 0 where all of them
    coincide.

    Parameters
    ----------
    first, second
        The values; the loss is that of the worse direction.
    cohort
        The cohort of the client.
    parameters
        The parameters of the collection.
    reports
        Number of reports of the value; None for any number.

    Examples
    --------
    >>> from rappor import Parameters
    >>> paper = Parameters(n_bits=128, n_hashes=2, n_cohorts=16, f=0.5, p=0.5, q=0.75)
    >>> round(epsilon_between("yes", "no", cohort=3, parameters=paper, reports=1), 4)
    1.0743
    """
    from rappor.client.client import bloom_filter

    rows = bloom_filter([first, second], np.array([cohort, cohort]), parameters=parameters)
    gained, lost = int(np.sum(rows[0] & ~rows[1])), int(np.sum(rows[1] & ~rows[0]))
    if reports is None:
        bit = math.inf if parameters.f == 0 else math.log((2 - parameters.f) / parameters.f)
        return (gained + lost) * bit if gained + lost else 0.0
    ones, zeros = bit_losses(parameters, reports=reports)
    return max(_sum(gained, ones, lost, zeros), _sum(lost, ones, gained, zeros))


def _sum(some: int, ones: float, others: int, zeros: float) -> float:
    return (some * ones if some else 0.0) + (others * zeros if others else 0.0)


def bit_losses(parameters: Parameters, *, reports: int) -> tuple[float, float]:
    """Give the loss of one bit whose reports are all the value's likeliest, and its reverse.

    Parameters
    ----------
    parameters
        The parameters of the collection.
    reports
        Number of reports drawn from the same permanent response.

    Examples
    --------
    >>> from rappor import Parameters
    >>> answers = Parameters.basic(1, f=0.0, p=0.25, q=0.75)
    >>> [round(loss, 4) for loss in bit_losses(answers, reports=1)]
    [1.0986, 1.0986]
    """
    require_integer(reports, "reports", error=RapporError, minimum=0)
    if reports == 0:
        return 0.0, 0.0
    low, high = sorted((parameters.p, parameters.q))
    if parameters.response == "symbol":  # one symbol tells all; the others nothing more
        return _loss(low, high, 0.0, reports), 0.0
    return (
        _loss(low, high, parameters.f, reports),
        _loss(1 - high, 1 - low, parameters.f, reports),
    )


def _loss(low: float, high: float, f: float, reports: int) -> float:
    """Give ln((a high^T + b low^T) / (a low^T + b high^T)), by the ratio low/high."""
    if f / 2 == 0:  # in logarithms, as a small power is 0 in floating point
        return math.inf if low == 0 else reports * math.log(high / low)
    fading = (low / high) ** reports
    return math.log(((1 - f / 2) + f / 2 * fading) / ((1 - f / 2) * fading + f / 2))
