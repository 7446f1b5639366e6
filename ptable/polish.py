"""The last Newton steps of a row, in decimal arithmetic.

Binary floating point differs in its last digits between machines, and a probability on the edge
between two integers would differ with it. Fifty decimal digits leave no such edge.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ptable.row import RowProblem

__all__ = ["decimal_law"]

_DIGITS = 60
_LAST_PLACE = Decimal("1e-50")
_SMALL_GAP = Decimal("1e-40")
_MAX_STEPS = 12


def decimal_law(
    problem: RowProblem,
    pattern: tuple[list[tuple[int, int]], list[bool]],
    point: tuple[float, float],
    *,
    is_binding: bool,
) -> tuple[Fraction, ...] | None:
    """Repeat Newton's step with the pattern of blocks and floors held, in decimal numbers.

    The answer is None where the pattern leaves nothing to solve for, or does not hold.

    Parameters
    ----------
    problem
        The row.
    pattern
        The pooled blocks, and whether each probability is above the floor.
    point
        The multipliers in double precision.
    is_binding
        Whether the variance is met with equality.

    Examples
    --------
    >>> from ptable import NoiseSpec
    >>> problem = NoiseSpec(max_noise=1, variance=0.5).row(1)
    >>> law = decimal_law(problem, ([], [True] * 3), (0.0, -0.7), is_binding=True)
    >>> [round(float(p), 15) for p in law]
    [0.25, 0.5, 0.25]
    """
    blocks, is_free = pattern
    noise = problem.noise
    groups = _groups(blocks, is_free)
    sizes = [stop - start for start, stop in groups]
    firsts = [sum(noise[start:stop]) for start, stop in groups]
    seconds = [sum(v * v for v in noise[start:stop]) for start, stop in groups]
    floored = [v for v, free in zip(noise, is_free, strict=True) if not free]
    with localcontext() as context:
        context.prec = _DIGITS
        floor = _decimal(problem.floor)
        goal = (
            1 - floor * len(floored),
            -floor * sum(floored),
            _decimal(problem.variance) - floor * sum(v * v for v in floored),
        )
        across, down = Decimal(point[0]), Decimal(point[1])
        n_moments = 3 if is_binding else 2
        weights: list[Decimal] = []
        for _ in range(_MAX_STEPS):
            weights = _weights(sizes, firsts, seconds, (across, down))
            total = sum(map(_times, sizes, weights), Decimal(0))
            weights = [goal[0] * weight / total for weight in weights]
            gap = [
                sum(map(_times, moments, weights), Decimal(0)) - wanted
                for moments, wanted in zip((firsts, seconds), goal[1:], strict=True)
            ]
            if max(map(abs, gap[: n_moments - 1])) < _SMALL_GAP:
                break
            try:
                move = _step((sizes, firsts, seconds), weights, gap, n_moments=n_moments)
            except ArithmeticError:
                return None
            across, down = across + move[0], down + move[1]
        else:
            return None
        law = [problem.floor] * len(noise)
        for (start, stop), weight in zip(groups, weights, strict=True):
            law[start:stop] = [Fraction(weight.quantize(_LAST_PLACE))] * (stop - start)
    return tuple(law) if min(law) >= problem.floor else None


def _groups(blocks: list[tuple[int, int]], is_free: list[bool]) -> list[tuple[int, int]]:
    in_block = dict(blocks)
    groups, index = [], 0
    while index < len(is_free):
        stop = in_block.get(index, index + 1)
        if is_free[index]:
            groups.append((index, stop))
        index = stop
    return groups


def _weights(
    sizes: Sequence[int],
    firsts: Sequence[int],
    seconds: Sequence[int],
    point: tuple[Decimal, Decimal],
) -> list[Decimal]:
    """Exponentiate the scores; single neighbours by recurrence, which saves most calls."""
    across, down = point
    weights: list[Decimal] = []
    ratio: Decimal | None = None
    growth = (2 * down).exp()
    for index, (size, first, second) in enumerate(zip(sizes, firsts, seconds, strict=True)):
        follows = index > 0 and size == sizes[index - 1] == 1 and first == firsts[index - 1] + 1
        if not follows:
            weights.append(((across * first + down * second) / size).exp())
            ratio = None
            continue
        if ratio is None:
            ratio = (across + down * (2 * first - 1)).exp()
        else:
            ratio *= growth
        weights.append(weights[-1] * ratio)
    return weights


def _step(
    moments: tuple[Sequence[int], Sequence[int], Sequence[int]],
    weights: Sequence[Decimal],
    gap: Sequence[Decimal],
    *,
    n_moments: int,
) -> tuple[Decimal, Decimal]:
    """Solve Newton's equations of the moments, centred, in decimal numbers."""
    sizes, firsts, seconds = moments
    masses = list(map(_times, sizes, weights))
    total = sum(masses, Decimal(0))
    one = [Decimal(first) / size for first, size in zip(firsts, sizes, strict=True)]
    two = [Decimal(second) / size for second, size in zip(seconds, sizes, strict=True)]
    mean_one = sum(map(_product, masses, one), Decimal(0)) / total
    mean_two = sum(map(_product, masses, two), Decimal(0)) / total
    one = [value - mean_one for value in one]
    two = [value - mean_two for value in two]
    spread = sum((m * x * x for m, x in zip(masses, one, strict=True)), Decimal(0))
    if n_moments == 2:
        return -gap[0] / spread, Decimal(0)
    cross = sum((m * x * y for m, x, y in zip(masses, one, two, strict=True)), Decimal(0))
    square = sum((m * y * y for m, y in zip(masses, two, strict=True)), Decimal(0))
    determinant = spread * square - cross * cross
    return (
        (-gap[0] * square + gap[1] * cross) / determinant,
        (-gap[1] * spread + gap[0] * cross) / determinant,
    )


def _times(whole: int, number: Decimal) -> Decimal:
    return whole * number


def _product(left: Decimal, right: Decimal) -> Decimal:
    return left * right


def _decimal(fraction: Fraction) -> Decimal:
    return Decimal(fraction.numerator) / Decimal(fraction.denominator)
