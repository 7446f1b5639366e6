"""How far the laws of neighbouring counts are apart, as differential privacy measures it."""

import math
from collections.abc import Iterator, Mapping, Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from typing import TypeAlias

from footing.checks import require_number
from ptable.errors import PTableError
from ptable.lookup import cycle_length, intervals, serving_row
from ptable.table import PTable

Outcomes: TypeAlias = "Sequence[tuple[int, int]]"

_DIGITS = Context(prec=60, rounding=ROUND_HALF_EVEN, Emin=-999_999, Emax=999_999, traps=[])
#: No ratio of whole numbers up to 2**64 exceeds exp of this.
_MAX_EPSILON = 64.0


def outcomes(
    distribution: Mapping[int, int], other: Mapping[int, int]
) -> list[tuple[int, int]]:
    """Pair the keys that two laws give to each outcome."""
    return [
        (distribution.get(j, 0), other.get(j, 0))
        for j in sorted(distribution.keys() | other.keys())
    ]


def hockey_stick(pairs: Outcomes, *, epsilon: float) -> float:
    """Compute how much of one law exceeds ``exp(epsilon)`` times another.

    ``Σ_j max(0, p_j - exp(epsilon) q_j)``: the least ``delta`` for which ``P(A) ≤
    exp(epsilon) Q(A) + delta`` holds for all sets ``A`` of outcomes. Sums are whole numbers;
    ``exp(epsilon)`` has 60 digits.
    """
    ratio = _DIGITS.exp(Decimal(min(require_epsilon(epsilon), _MAX_EPSILON)))
    above = [(p, q) for p, q in pairs if q == 0 or p > _DIGITS.multiply(ratio, q)]
    excess = _DIGITS.subtract(
        Decimal(sum(p for p, _ in above)), _DIGITS.multiply(ratio, sum(q for _, q in above))
    )
    return _upwards(_DIGITS.divide(excess, sum(p for p, _ in pairs)))


def smallest_epsilon(pairs: Outcomes, *, delta: float) -> float:
    """Find the smallest epsilon whose hockey-stick divergence is at most `delta`.

    The divergence falls as ``t = exp(epsilon)`` grows, convex and in straight pieces, so that
    Newton's method from ``t = 1`` ends at the exact fraction ``t`` after finitely many steps.
    """
    limit = Fraction(require_delta(delta)) * sum(p for p, _ in pairs)
    ratio = Fraction(1)
    while True:
        top, bottom = ratio.numerator, ratio.denominator
        above = [(p, q) for p, q in pairs if p * bottom > top * q]
        excess, base = sum(p for p, _ in above), sum(q for _, q in above)
        if excess - ratio * base <= limit:
            return _logarithm(ratio)
        if base == 0:
            return math.inf
        ratio = (excess - limit) / base


def laws_of(table: PTable, *, key_range: int) -> list[dict[int, int]]:
    """Count the keys of each noise in each row, as a lookup sees them."""
    distributions = []
    for noise, upper in zip(table.noise, table.upper, strict=True):
        ends = [-(-end * key_range // table.key_range) for end in upper]
        distribution: dict[int, int] = {}
        for v, start, stop in intervals(noise, ends):
            if stop > start:
                distribution[v] = distribution.get(v, 0) + stop - start
        distributions.append(distribution)
    return distributions


def neighbours(
    distributions: Sequence[dict[int, int]], *, large_counts: str
) -> Iterator[tuple[Outcomes, Outcomes]]:
    """Give each row's published counts beside those of the next count, in both directions.

    The last row stands beside the row of the next larger count, so that every pair of
    neighbouring counts, however large, is like one of these.
    """
    cycle = cycle_length(large_counts, n_rows=len(distributions))
    for row, distribution in enumerate(distributions):
        follows = distributions[serving_row(row + 1, n_rows=len(distributions), cycle=cycle)]
        there = outcomes(distribution, {v + 1: n for v, n in follows.items()})
        yield there, [(q, p) for p, q in there]


def blocked_counts(
    distributions: Sequence[dict[int, int]], *, large_counts: str, up_to: int
) -> tuple[int, ...]:
    """Give the counts that no original count is ever published as."""
    cycle = cycle_length(large_counts, n_rows=len(distributions))
    least = min(min(distribution) for distribution in distributions)
    values = {
        count + v
        for count in range(up_to - least + 1)
        for v in distributions[serving_row(count, n_rows=len(distributions), cycle=cycle)]
    }
    return tuple(count for count in range(up_to + 1) if count not in values)


def require_epsilon(epsilon: float) -> float:
    """Return epsilon, or refuse what is none."""
    return require_number(
        epsilon, "epsilon", error=PTableError, minimum=0, may_be_infinite=True
    )


def require_delta(delta: float) -> float:
    """Return delta, or refuse what is none."""
    return require_number(delta, "delta", error=PTableError, minimum=0, below=1)


def _logarithm(ratio: Fraction) -> float:
    return _upwards(
        _DIGITS.ln(_DIGITS.divide(Decimal(ratio.numerator), Decimal(ratio.denominator)))
    )


def _upwards(exact: Decimal) -> float:
    """Return the least float that is not below a number."""
    nearest = float(exact)
    return nearest if Decimal(nearest) >= exact else math.nextafter(nearest, math.inf)
