"""Discrete laws of noise, turned into whole numbers of keys without a floating-point step."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Context, Decimal
from functools import reduce
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Edge: TypeAlias = Literal["clamp", "fold", "truncate"]

# A context of our own: the caller's may be short of digits, or trap what is harmless here.
_DIGITS = Context(prec=60, rounding=ROUND_HALF_EVEN, Emin=-999_999, Emax=999_999, traps=[])


def laplace_weights(epsilon: float, *, max_noise: int) -> list[Decimal]:
    """Weigh noise 0, 1, ... `max_noise` by ``exp(-epsilon v)``.

    Parameters
    ----------
    epsilon
        The rate, taken as it prints.
    max_noise
        The largest noise.

    Examples
    --------
    >>> [round(weight, 4) for weight in laplace_weights(0.5, max_noise=2)]
    [Decimal('1.0000'), Decimal('0.6065'), Decimal('0.3679')]
    """
    rate = Decimal(repr(epsilon))
    return [_DIGITS.exp(_DIGITS.multiply(-v, rate)) for v in range(max_noise + 1)]


def gaussian_weights(variance: float, *, max_noise: int) -> list[Decimal]:
    """Weigh noise 0, 1, ... `max_noise` by ``exp(-v²/(2 variance))``.

    Parameters
    ----------
    variance
        The parameter of the law, taken as it prints.
    max_noise
        The largest noise.

    Examples
    --------
    >>> [round(weight, 4) for weight in gaussian_weights(2.0, max_noise=2)]
    [Decimal('1.0000'), Decimal('0.7788'), Decimal('0.3679')]
    """
    twice = _DIGITS.multiply(2, Decimal(repr(variance)))
    return [_DIGITS.exp(_DIGITS.divide(-v * v, twice)) for v in range(max_noise + 1)]


def share(weights: Mapping[int, Decimal], *, total: int) -> dict[int, int]:
    """Share out keys in proportion to weights, by largest remainder.

    Parameters
    ----------
    weights
        The weight of each noise; equal remainders go to the smaller noise first.
    total
        How many keys there are.

    Examples
    --------
    >>> share({-1: Decimal(1), 0: Decimal(1), 1: Decimal(1)}, total=8)
    {-1: 3, 0: 3, 1: 2}
    """
    whole, rests = _quotas(weights, total)
    left = total - sum(whole.values())
    first = sorted(rests, key=lambda v: (rests[v], -abs(v), -v), reverse=True)[:left]
    return {v: n + (v in first) for v, n in whole.items()}


def share_even(half: Sequence[Decimal], *, total: int) -> dict[int, int]:
    """Share out keys by a symmetric law, so that noise ``v`` and ``-v`` get as many.

    Parameters
    ----------
    half
        The weights of noise 0, 1, 2, ...
    total
        How many keys there are.

    Notes
    -----
    Pairs of noise get their keys by largest remainder, two at a time; no noise keeps the
    rest, within one key of its share.

    Examples
    --------
    >>> share_even([Decimal(2), Decimal(1)], total=10)
    {-1: 2, 0: 6, 1: 2}
    """
    reach = len(half) - 1
    weights = {v: half[abs(v)] for v in range(-reach, reach + 1)}
    whole, rests = _quotas(weights, total)
    positive = [v for v in weights if v > 0]
    n_raised = int(_DIGITS.to_integral_value(_sum(rests[v] for v in positive)))
    raised = set(sorted(positive, key=lambda v: (rests[v], -v), reverse=True)[:n_raised])
    pairs = {v: whole[v] + (v in raised) for v in positive}
    units = {v: pairs[abs(v)] for v in weights if v}
    units[0] = total - sum(units.values())
    return dict(sorted(units.items()))


def _quotas(
    weights: Mapping[int, Decimal], total: int
) -> tuple[dict[int, int], dict[int, Decimal]]:
    """Give each noise's whole number of keys, and what is left of its share."""
    sum_of_weights = _sum(weights.values())
    whole, rests = {}, {}
    for v, weight in weights.items():
        quota = _DIGITS.divide(_DIGITS.multiply(weight, total), sum_of_weights)
        whole[v] = int(quota)
        rests[v] = _DIGITS.subtract(quota, whole[v])
    return whole, rests


def _sum(numbers: Iterable[Decimal]) -> Decimal:
    return reduce(_DIGITS.add, numbers, Decimal(0))


def bounded_rows(half: Sequence[Decimal], *, edge: Edge, total: int) -> list[dict[int, int]]:
    """Give the noise of counts 0, 1, ... under a symmetric law that may not go below zero.

    Parameters
    ----------
    half
        The weights of noise 0, 1, ... and, by symmetry, of noise -1, -2, ...
    edge
        What happens to results below zero: ``"clamp"`` makes them 0, ``"fold"`` takes away
        their sign, ``"truncate"`` excludes them from the law.
    total
        How many keys there are.

    Examples
    --------
    >>> half = [Decimal(2), Decimal(1)]
    >>> bounded_rows(half, edge="clamp", total=8)
    [{0: 6, 1: 2}, {-1: 2, 0: 4, 1: 2}]
    >>> bounded_rows(half, edge="fold", total=8)[0]
    {0: 4, 1: 4}
    >>> bounded_rows(half, edge="truncate", total=9)[0]
    {0: 6, 1: 3}
    """
    reach = len(half) - 1
    full = share_even(half, total=total)
    if edge == "truncate":
        cut = [
            share({v: half[abs(v)] for v in range(-count, reach + 1)}, total=total)
            for count in range(reach)
        ]
        return [*cut, full]
    rows = []
    for count in range(reach + 1):
        row: dict[int, int] = {}
        for v, n in full.items():
            published = abs(count + v) if edge == "fold" else max(count + v, 0)
            row[published - count] = row.get(published - count, 0) + n
        rows.append(dict(sorted(row.items())))
    return rows
