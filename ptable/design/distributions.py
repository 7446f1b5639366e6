"""Discrete laws of noise, turned into whole numbers of keys without a floating-point step."""

from collections.abc import Iterable, Mapping, Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal
from functools import reduce
from typing import Literal, TypeAlias

Edge: TypeAlias = Literal["clamp", "fold", "truncate"]

# A context of our own: the caller's may be short of digits, or trap what is harmless here.
_DIGITS = Context(prec=60, rounding=ROUND_HALF_EVEN, Emin=-999_999, Emax=999_999, traps=[])


def laplace_weights(epsilon: float, *, max_noise: int) -> list[Decimal]:
    """Weigh noise 0, 1, ... `max_noise` by ``exp(-epsilon v)``."""
    rate = Decimal(repr(epsilon))
    return [_DIGITS.exp(_DIGITS.multiply(-v, rate)) for v in range(max_noise + 1)]


def gaussian_weights(variance: float, *, max_noise: int) -> list[Decimal]:
    """Weigh noise 0, 1, ... `max_noise` by ``exp(-v²/(2 variance))``."""
    twice = _DIGITS.multiply(2, Decimal(repr(variance)))
    return [_DIGITS.exp(_DIGITS.divide(-v * v, twice)) for v in range(max_noise + 1)]


def share(weights: Mapping[int, Decimal], *, total: int) -> dict[int, int]:
    """Share out keys in proportion to weights, by largest remainder."""
    whole, rests = _quotas(weights, total)
    rest = total - sum(whole.values())
    first = sorted(rests, key=lambda v: (rests[v], -abs(v), -v), reverse=True)[:rest]
    return {v: n + (v in first) for v, n in whole.items()}


def share_even(half: Sequence[Decimal], *, total: int) -> dict[int, int]:
    """Share out keys by a symmetric law, so that noise ``v`` and ``-v`` get as many.

    Pairs of noise get their keys by largest remainder, two at a time; no noise keeps the
    rest, within one key of its share.
    """
    reach = len(half) - 1
    weights = {v: half[abs(v)] for v in range(-reach, reach + 1)}
    whole, rests = _quotas(weights, total)
    positive = [v for v in weights if v > 0]
    n_raised = int(_DIGITS.to_integral_value(_sum(rests[v] for v in positive)))
    extra = set(sorted(positive, key=lambda v: (rests[v], -v), reverse=True)[:n_raised])
    pairs = {v: whole[v] + (v in extra) for v in positive}
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
    """Give the noise of counts 0, 1, ... under a symmetric law that may not go below zero."""
    reach = len(half) - 1
    full = share_even(half, total=total)
    if edge == "truncate":
        low_rows = [
            share({v: half[abs(v)] for v in range(-count, reach + 1)}, total=total)
            for count in range(reach)
        ]
        return [*low_rows, full]
    rows = []
    for count in range(reach + 1):
        row: dict[int, int] = {}
        for v, n in full.items():
            published = abs(count + v) if edge == "fold" else max(count + v, 0)
            row[published - count] = row.get(published - count, 0) + n
        rows.append(dict(sorted(row.items())))
    return rows
