"""The exact privacy curve of Gaussian noise, and the noise that a curve needs.

The number ``mu`` is sensitivity over standard deviation.
"""

import math

from dp.bisection import bisected
from dp.checking import checked_delta, checked_epsilon, checked_positive
from dp.errors import DPError
from footing.messages import Message


def gaussian_delta(epsilon: float, *, mu: float) -> float:
    """Return the delta of Gaussian noise at an epsilon.

    Parameters
    ----------
    epsilon
        The epsilon, of any sign.
    mu
        Sensitivity (l2) over standard deviation.

    References
    ----------
    Balle, Wang 2018, theorem 8.

    Examples
    --------
    >>> f"{gaussian_delta(4.3771781, mu=1):.3e}"
    '1.000e-05'
    """
    from scipy.special import log_ndtr

    mu = checked_positive(mu, "mu")
    first = float(log_ndtr(mu / 2 - epsilon / mu))
    second = epsilon + float(log_ndtr(-mu / 2 - epsilon / mu))
    return math.exp(first) * -math.expm1(min(0.0, second - first))


def gaussian_epsilon(delta: float, *, mu: float) -> float:
    """Return the epsilon of Gaussian noise at a delta.

    Parameters
    ----------
    delta
        The delta.
    mu
        Sensitivity (l2) over standard deviation.

    Examples
    --------
    >>> round(gaussian_epsilon(1e-5, mu=1), 7)
    4.3771781
    """
    delta = checked_delta(delta)
    mu = checked_positive(mu, "mu")
    if gaussian_delta(0.0, mu=mu) <= delta:
        return 0.0
    high = 1.0
    while gaussian_delta(high, mu=mu) > delta:
        high *= 2
    return bisected(lambda epsilon: gaussian_delta(epsilon, mu=mu) > delta, 0.0, high)[1]


def gaussian_scale(epsilon: float, *, delta: float, sensitivity: float = 1.0) -> float:
    """Return the least standard deviation that gives (epsilon, delta).

    Parameters
    ----------
    epsilon, delta
        What must hold.
    sensitivity
        The l2-sensitivity.

    Examples
    --------
    Much below the textbook's 9.69:

    >>> round(gaussian_scale(0.5, delta=1e-5), 4)
    7.0318
    """
    epsilon = checked_epsilon(epsilon, may_be_zero=True)
    delta = checked_delta(delta)
    sensitivity = checked_positive(sensitivity, "sensitivity")
    low = high = 1.0
    while gaussian_delta(epsilon, mu=1 / high) > delta:
        high *= 2
    while gaussian_delta(epsilon, mu=1 / low) <= delta:
        low /= 2
    _, scale = bisected(lambda sd: gaussian_delta(epsilon, mu=1 / sd) > delta, low, high)
    sigma = scale * sensitivity
    while gaussian_delta(epsilon, mu=sensitivity / sigma) > delta:  # the product was rounded
        sigma = math.nextafter(sigma, math.inf)
    return sigma


def classic_gaussian_scale(epsilon: float, *, delta: float, sensitivity: float = 1.0) -> float:
    """Return the textbook's standard deviation; it holds below epsilon 1 only.

    Parameters
    ----------
    epsilon, delta
        What must hold.
    sensitivity
        The l2-sensitivity.

    Notes
    -----
    ``sensitivity / epsilon * sqrt(2 ln(1.25 / delta))``.

    Examples
    --------
    >>> round(classic_gaussian_scale(0.5, delta=1e-5), 4)
    9.6896
    """
    epsilon = checked_epsilon(epsilon)
    delta = checked_delta(delta)
    if epsilon >= 1:
        raise DPError(
            Message(
                "The classic formula holds for epsilon below 1, not {epsilon:g}.",
                epsilon=epsilon,
            ),
            hint=Message("use gaussian_scale: exact, for every epsilon"),
        )
    width = checked_positive(sensitivity, "sensitivity") / epsilon
    return width * math.sqrt(2 * math.log(1.25 / delta))
