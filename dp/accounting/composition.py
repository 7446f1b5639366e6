"""What several releases promise together.

Basic, parallel and concentrated composition also hold when mechanisms and their costs are
chosen after looking at the answers before, as a ledger allows. Advanced composition holds for
costs fixed beforehand.
"""

import math
from collections.abc import Iterable

from dp.adjacency import Adjacency, common, units_changed
from dp.checking import checked_count, checked_delta
from dp.errors import DPError
from dp.guarantee import Guarantee
from footing.messages import Message


def basic(guarantees: Iterable[Guarantee]) -> Guarantee:
    """Add up: epsilons, deltas, and rhos where all are known.

    Parameters
    ----------
    guarantees
        One per release on the same data.

    Examples
    --------
    >>> one = Guarantee(epsilon=0.5, adjacency=Adjacency.ADD_REMOVE)
    >>> basic([one, one]).epsilon
    1.0
    """
    members = list(guarantees)
    adjacency, unit = common((g.adjacency, g.unit) for g in members)
    epsilon, delta = math.fsum(g.epsilon for g in members), math.fsum(g.delta for g in members)
    if delta >= 1:
        raise DPError(
            Message("The deltas add up to {delta:g}: nothing is promised.", delta=delta),
            hint=Message("keep each delta far below 1 / (people times releases)"),
        )
    rho = math.fsum(g.concentrated for g in members)
    # A sum that follows from the epsilons alone says nothing new.
    is_new = any(math.isfinite(g.rho) for g in members)
    return Guarantee(
        epsilon=epsilon,
        delta=delta if math.isfinite(epsilon) else 0.0,
        rho=rho if is_new else math.inf,
        adjacency=adjacency,
        unit=unit,
    )


def concentrated(guarantees: Iterable[Guarantee]) -> Guarantee:
    """Add up as concentrated privacy: much less than the sum for many small releases.

    Parameters
    ----------
    guarantees
        One per release on the same data, each pure or with a rho.

    Examples
    --------
    >>> one = Guarantee(epsilon=0.1, adjacency=Adjacency.ADD_REMOVE)
    >>> print(concentrated([one] * 100).at(1e-6))
    epsilon = 5.22153, delta = 1e-06, rho = 0.5 (add-remove, per record)
    """
    members = list(guarantees)
    adjacency, unit = common((g.adjacency, g.unit) for g in members)
    rho = math.fsum(g.concentrated for g in members)
    if not math.isfinite(rho):
        raise DPError(
            Message("A guarantee with a delta and no rho has no concentrated loss."),
            hint=Message("state rho for Gaussian noise, or use basic composition"),
        )
    return Guarantee(rho=rho, adjacency=adjacency, unit=unit)


def parallel(
    guarantees: Iterable[Guarantee],
    *,
    adjacency: Adjacency | None = None,
    is_fixed: bool = False,
) -> Guarantee:
    """Compose releases on parts of the data that share no unit.

    Parameters
    ----------
    guarantees
        One per part.
    adjacency
        The neighbours of the whole; by default those of the parts.
    is_fixed
        Whether the part of a unit is public and the same in all neighbours.

    Notes
    -----
    A unit added or removed is in one part: the largest loss. A unit replaced is removed and
    another added, at worst both in the part of the largest loss: what that part promises to
    two units. A unit that changes part costs the sum of two losses, which is never more.

    Examples
    --------
    >>> small = Guarantee(epsilon=0.5, adjacency=Adjacency.ADD_REMOVE)
    >>> large = Guarantee(epsilon=1, adjacency=Adjacency.ADD_REMOVE)
    >>> parallel([small, large, small]).epsilon
    1.0
    >>> parallel([small, large, small], adjacency=Adjacency.REPLACE).epsilon
    2.0
    """
    members = list(guarantees)
    part_adjacency, unit = common((g.adjacency, g.unit) for g in members)
    whole = part_adjacency if adjacency is None else Adjacency(adjacency)
    n_units = units_changed(part_adjacency, whole, is_fixed=is_fixed)
    parts = [g.for_group(n_units) for g in members]
    epsilon = max(g.epsilon for g in parts)
    is_new = any(math.isfinite(g.rho) for g in members)
    return Guarantee(
        epsilon=epsilon,
        delta=max(g.delta for g in parts) if math.isfinite(epsilon) else 0.0,
        rho=max(g.concentrated for g in parts) if is_new else math.inf,
        adjacency=whole,
        unit=unit,
    )


def advanced(guarantee: Guarantee, *, times: int, slack: float) -> Guarantee:
    """Compose equal releases by the advanced theorem.

    Parameters
    ----------
    guarantee
        What each promises.
    times
        How many, fixed beforehand.
    slack
        The delta paid for the smaller epsilon.

    Notes
    -----
    ``e' = e sqrt(2 k ln(1/slack)) + k e (exp(e) - 1)`` at ``k delta + slack``.

    References
    ----------
    Dwork, Rothblum, Vadhan 2010, theorem III.3.

    Examples
    --------
    >>> one = Guarantee(epsilon=0.1, delta=1e-6, adjacency=Adjacency.ADD_REMOVE)
    >>> print(advanced(one, times=100, slack=1e-5))
    epsilon = 5.85024, delta = 0.00011 (add-remove, per record)
    """
    times = checked_count(times, "times")
    slack = checked_delta(slack)
    e = guarantee.epsilon
    if not math.isfinite(e):
        raise DPError(
            Message("Advanced composition needs an epsilon."),
            hint=Message("ask the guarantee at a delta first"),
        )
    delta = checked_delta(times * guarantee.delta + slack)
    growth = math.expm1(min(e, 700.0))
    return Guarantee(
        epsilon=e * math.sqrt(2 * times * math.log(1 / slack)) + times * e * growth,
        delta=delta,
        adjacency=guarantee.adjacency,
        unit=guarantee.unit,
    )
