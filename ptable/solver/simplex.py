"""Linear programs with very few constraints, solved exactly.

Columns hold integers and the basis is solved in fractions, so that an answer is the optimum
itself. Floating point only suggests the next column; fractions decide.
"""

import math
import operator
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

_DOUBT = 1e-9
_DANTZIG_STEPS = 60


def minimise_exactly(
    columns: NDArray[np.int64], costs: Sequence[int], goal: Sequence[Fraction]
) -> tuple[dict[int, Fraction], tuple[Fraction, ...]] | None:
    """Minimise ``costs · x`` over ``columns · x = goal``, ``x ≥ 0``; give x, and prices.

    None where there is no x. The programs of a row are bounded; an unbounded one is an error.

    The revised simplex method in two phases; after many steps the first eligible column is
    taken (Bland's rule), which cannot cycle.

    The prices prove the answer: no column costs less than its constraints at these prices, so
    that no other answer, even with further columns of which this holds, costs less.
    """
    n_rows, n_columns = columns.shape
    signs = [-1 if value < 0 else 1 for value in goal]
    program = _Program(columns, signs, [abs(value) for value in goal])
    basis = list(range(n_columns, n_columns + n_rows))
    one = [0] * n_columns + [1] * n_rows
    amounts, _ = program.run(basis, one, allow_artificial=True)
    if any(x for index, x in zip(basis, amounts, strict=True) if index >= n_columns):
        return None
    amounts, multipliers = program.run(basis, [*costs, *[0] * n_rows], allow_artificial=False)
    positive = {
        index: x for index, x in zip(basis, amounts, strict=True) if index < n_columns and x
    }
    return positive, tuple(
        multiplier * sign for multiplier, sign in zip(multipliers, signs, strict=True)
    )


class _Program:
    """The columns with one artificial column per constraint behind them."""

    def __init__(
        self, columns: NDArray[np.int64], signs: Sequence[int], goal: list[Fraction]
    ) -> None:
        self.n_columns = columns.shape[1]
        self.goal = goal
        self.matrix = columns * np.array(signs, dtype=np.int64)[:, None]
        self.floats = self.matrix.astype(np.float64)
        self.sizes = np.abs(self.floats)

    def column(self, index: int) -> list[int]:
        if index < self.n_columns:
            numbers: list[int] = self.matrix[:, index].tolist()
            return numbers
        return [int(row == index - self.n_columns) for row in range(len(self.goal))]

    def run(
        self, basis: list[int], costs: Sequence[int], *, allow_artificial: bool
    ) -> tuple[list[Fraction], list[Fraction]]:
        """Move from a feasible basis to an optimal one, in place; give amounts and prices."""
        floats = np.array(costs[: self.n_columns], dtype=np.float64)
        step = 0
        while True:
            rows = [list(row) for row in zip(*map(self.column, basis), strict=True)]
            amounts = _solve(rows, self.goal)
            multipliers = _solve(
                [list(column) for column in zip(*rows, strict=True)],
                [Fraction(costs[index]) for index in basis],
            )
            entering = self._entering(
                multipliers, costs, floats, basis, first=step > _DANTZIG_STEPS
            )
            if entering is None:
                return amounts, multipliers
            direction = _solve(rows, [Fraction(n) for n in self.column(entering)])
            ratios = [
                (amount / change, index, place)
                for place, (amount, change, index) in enumerate(
                    zip(amounts, direction, basis, strict=True)
                )
                if change > 0 or (not allow_artificial and index >= self.n_columns and change)
            ]
            basis[min(ratios)[2]] = entering
            step += 1

    def _entering(
        self,
        multipliers: list[Fraction],
        costs: Sequence[int],
        floats: NDArray[np.float64],
        basis: Sequence[int],
        *,
        first: bool,
    ) -> int | None:
        """Find a column that lowers the cost: surely in floats, or in doubt in fractions."""
        duals = np.array([float(multiplier) for multiplier in multipliers])
        reduced = floats - duals @ self.floats
        doubt = _DOUBT * (np.abs(floats) + np.abs(duals) @ self.sizes)
        sure = np.flatnonzero(reduced < -doubt)
        if sure.size:
            best = 0 if first else int((reduced[sure] / doubt[sure]).argmin())
            return int(sure[best])
        doubtful = np.flatnonzero(reduced <= doubt)
        scale = math.lcm(*(multiplier.denominator for multiplier in multipliers))
        whole = [int(multiplier * scale) for multiplier in multipliers]
        for index, column in zip(
            doubtful.tolist(), self.matrix[:, doubtful].T.tolist(), strict=True
        ):
            if index in basis:
                continue
            if costs[index] * scale < sum(map(operator.mul, whole, column)):
                return int(index)
        return None


def _solve(rows: list[list[int]], goal: Sequence[Fraction]) -> list[Fraction]:
    """Solve a small square system by elimination in integers (Bareiss), divided at the end."""
    scale = math.lcm(*(b.denominator for b in goal))
    work = [
        [*row, b.numerator * (scale // b.denominator)]
        for row, b in zip(rows, goal, strict=True)
    ]
    size, before = len(work), 1
    for place in range(size):
        pivot = next(row for row in range(place, size) if work[row][place])
        work[place], work[pivot] = work[pivot], work[place]
        lead = work[place]
        head = lead[place]
        for row in range(size):
            if row != place:
                factor = work[row][place]
                work[row] = [
                    (head * x - factor * y) // before
                    for x, y in zip(work[row], lead, strict=True)
                ]
        before = head
    return [Fraction(row[-1], before * scale) for row in work]
