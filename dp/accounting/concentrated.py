"""From concentrated privacy (rho) to epsilon and delta, and back."""

import math

from dp.bisection import bisected
from dp.checking import checked_delta, checked_epsilon, checked_positive
from dp.errors import DPError
from footing.messages import Message, Name

_GOLDEN = (math.sqrt(5) - 1) / 2
_ROUNDS = 80


def epsilon_of_rho(rho: float, *, delta: float, conversion: str = "tight") -> float:
    """Return the epsilon that concentrated privacy gives at a delta.

    Parameters
    ----------
    rho
        The concentrated loss.
    delta
        The delta.
    conversion
        ``"tight"``, or ``"classic"`` for the textbook's formula.

    Returns
    -------
    float
        The epsilon.

    Notes
    -----
    Classic: ``rho + 2 sqrt(rho ln(1/delta))``. Tight: the least over orders ``a > 1`` of
    ``a rho + ln(1 - 1/a) - ln(a delta) / (a - 1)``. Every order gives a valid bound, so the
    search cannot spoil it.

    References
    ----------
    Bun, Steinke 2016, proposition 1.3; Canonne, Kamath, Steinke 2020, proposition 12.

    Examples
    --------
    >>> round(epsilon_of_rho(0.5, delta=1e-5, conversion="classic"), 4)
    5.2985
    >>> round(epsilon_of_rho(0.5, delta=1e-5), 4)
    4.7284
    """
    rho = checked_positive(rho, "rho")
    delta = checked_delta(delta)
    if conversion not in {"tight", "classic"}:
        raise DPError(
            Message("Unknown conversion {conversion!r}.", conversion=Name(conversion)),
            hint=Message("known: 'tight', 'classic'"),
        )
    classic = rho + 2 * math.sqrt(rho * math.log(1 / delta))
    if conversion == "classic":
        return classic

    def bound(log_gap: float) -> float:
        gap = math.exp(log_gap)  # the order less one
        order = 1 + gap
        return order * rho + math.log(gap / order) - (math.log(delta) + math.log(order)) / gap

    centre = 0.5 * math.log(math.log(1 / delta) / rho)
    low, high = centre - 8, centre + 8
    for _ in range(_ROUNDS):
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        if bound(left) < bound(right):
            high = right
        else:
            low = left
    return max(0.0, min(classic, bound((low + high) / 2)))


def rho_of_epsilon(epsilon: float, *, delta: float) -> float:
    """Return the largest rho whose epsilon at a delta is not above the given one.

    Parameters
    ----------
    epsilon
        What may be spent.
    delta
        At this delta.

    Returns
    -------
    float
        The concentrated loss that may be spent.

    Examples
    --------
    >>> rho = rho_of_epsilon(1, delta=1e-5)
    >>> round(rho, 5), round(epsilon_of_rho(rho, delta=1e-5), 9)
    (0.03056, 1.0)
    """
    epsilon = checked_epsilon(epsilon)
    delta = checked_delta(delta)
    low, high = 0.0, epsilon
    while epsilon_of_rho(high, delta=delta) < epsilon:  # delta is not small
        low, high = high, 2 * high
    return bisected(
        lambda rho: epsilon_of_rho(rho, delta=delta) <= epsilon, low, high, rounds=_ROUNDS
    )[0]
