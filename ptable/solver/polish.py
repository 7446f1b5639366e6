"""The last Newton steps of a row, in decimal arithmetic.

Binary floating point differs in its last digits between machines, and a probability on the edge
between two integers would differ with it. Fifty decimal digits leave no such edge.
"""

from collections.abc import Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from operator import mul

from ptable.solver.row import RowProblem

_DIGITS = 60
_LAST_PLACE = Decimal("1e-50")
_SMALL_GAP = Decimal("1e-40")
_MAX_STEPS = 12


def decimal_row(
    problem: RowProblem,
    pattern: tuple[list[tuple[int, int]], list[bool]],
    point: Sequence[float],
    active: Sequence[bool],
) -> tuple[tuple[Fraction, ...], tuple[float, ...]] | None:
    """Repeat Newton's step with the pattern of blocks and floors held, in decimal numbers.

    The answer is the distribution and the multipliers, which are the same wherever the steps
    began. It is None where the pattern leaves nothing to solve for, or does not hold.
    """
    blocks, is_free = pattern
    noise = problem.noise
    groups = _groups(blocks, is_free)
    sizes = [stop - start for start, stop in groups]
    moments = [
        [sum(noise[start:stop]) for start, stop in groups],
        [sum(v * v for v in noise[start:stop]) for start, stop in groups],
        [int(0 in noise[start:stop]) for start, stop in groups],
    ][: len(point)]
    floored = [v for v, free in zip(noise, is_free, strict=True) if not free]
    floor_sums = (sum(floored), sum(v * v for v in floored), int(0 in floored))
    goals = (problem.mean, problem.second_moment, problem.p_stay or Fraction(0))
    places = [place for place, is_active in enumerate(active) if is_active]
    with localcontext() as context:
        context.prec = _DIGITS
        mass = 1 - _decimal(problem.floor) * len(floored)
        goal = [
            _decimal(moment - problem.floor * floor_sum)
            for moment, floor_sum in zip(goals, floor_sums, strict=True)
        ]
        multipliers = list(map(Decimal, point))
        weights: list[Decimal] = []
        for _ in range(_MAX_STEPS):
            try:
                weights = _weights(sizes, moments, multipliers)
                total = sum(map(mul, sizes, weights), Decimal(0))
                weights = [mass * weight / total for weight in weights]
                gaps = [
                    sum(map(mul, moments[place], weights), Decimal(0)) - goal[place]
                    for place in places
                ]
                if max(map(abs, gaps), default=Decimal(0)) < _SMALL_GAP:
                    break
                moves = _step(sizes, [moments[place] for place in places], weights, gaps)
            except ArithmeticError:
                return None
            for place, move in zip(places, moves, strict=True):
                multipliers[place] += move
        else:
            return None
        distribution = [problem.floor] * len(noise)
        for (start, stop), weight in zip(groups, weights, strict=True):
            distribution[start:stop] = [Fraction(weight.quantize(_LAST_PLACE))] * (stop - start)
    if min(distribution) < problem.floor:
        return None
    return tuple(distribution), tuple(
        0.0 if abs(x) < _LAST_PLACE else float(x) for x in multipliers
    )


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
    sizes: Sequence[int], moments: Sequence[Sequence[int]], multipliers: Sequence[Decimal]
) -> list[Decimal]:
    """Exponentiate the scores; single neighbours by recurrence, which saves most calls."""
    across, down, *rest = multipliers
    firsts, seconds = moments[0], moments[1]
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
    for multiplier, stays in zip(rest, moments[2:], strict=True):
        weights = [
            weight * (multiplier / size).exp() if has_zero else weight
            for weight, size, has_zero in zip(weights, sizes, stays, strict=True)
        ]
    return weights


def _step(
    sizes: Sequence[int],
    moments: Sequence[Sequence[int]],
    weights: Sequence[Decimal],
    gaps: Sequence[Decimal],
) -> list[Decimal]:
    """Solve Newton's equations of the moments, centred, in decimal numbers."""
    masses = list(map(mul, sizes, weights))
    total = sum(masses, Decimal(0))
    centred = []
    for moment in moments:
        values = [Decimal(x) / size for x, size in zip(moment, sizes, strict=True)]
        mean = sum(map(mul, masses, values), Decimal(0)) / total
        centred.append([value - mean for value in values])
    work = [
        [
            sum((m * x * y for m, x, y in zip(masses, one, two, strict=True)), Decimal(0))
            for two in centred
        ]
        + [-gap]
        for one, gap in zip(centred, gaps, strict=True)
    ]
    for place, row in enumerate(work):
        pivot = row[place]
        row[:] = [x / pivot for x in row]
        for other in work:
            if other is not row:
                factor = other[place]
                other[:] = [x - factor * y for x, y in zip(other, row, strict=True)]
    return [row[-1] for row in work]


def _decimal(fraction: Fraction) -> Decimal:
    return Decimal(fraction.numerator) / Decimal(fraction.denominator)
