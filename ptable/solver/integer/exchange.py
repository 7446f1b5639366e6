"""Small exchanges between many values that repair a row's moments at once.

Moving one unit from one noise value to another changes the first two moments by known integers.
Two or three such moves reach almost every repair; they are found by meeting in the middle.
"""

from collections.abc import Sequence
from functools import cache
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

_Int: TypeAlias = "NDArray[np.int64]"

_MICRO = 10**6
_MAX_VALUES = 48
_NEAREST = 9
_MAX_HITS = 512
_MAX_THIRD_MOVES = 400
_WORST_ERROR = 4 * _MICRO
_GOOD_ERROR = 2 * _MICRO
_MAX_STEPS = 200
_FAR = 2**62


@cache
def grid(n: int, reach: int) -> _Int:
    """List all vectors of `n` integers from ``-reach`` to `reach`, one per line."""
    if n == 0:
        return np.zeros((1, 0), dtype=np.int64)
    axes = np.meshgrid(*[np.arange(-reach, reach + 1)] * n, indexing="ij")
    moves = np.stack([axis.ravel() for axis in axes], axis=1).astype(np.int64)
    moves.setflags(write=False)
    return moves


def sums(units: Sequence[int], noise: Sequence[int]) -> tuple[int, int, int]:
    """Add up units, times noise, and times squared noise."""
    pairs = list(zip(units, noise, strict=True))
    return sum(units), sum(n * v for n, v in pairs), sum(n * v * v for n, v in pairs)


def exchange(
    noise: Sequence[int],
    exact: Sequence[int],
    units: Sequence[int],
    movable: Sequence[int],
    goal: tuple[int, int, int],
) -> tuple[int, ...] | None:
    """Move a few units between values until the moments are met; None when that fails."""
    units = list(units)
    missing = goal[0] - sum(units)
    step = 1 if missing > 0 else -1
    for _ in range(abs(missing)):
        easiest = min(
            movable[:_NEAREST], key=lambda index: step * (units[index] * _MICRO - exact[index])
        )
        units[easiest] += step
    _, first, second = (
        target - total for target, total in zip(goal, sums(units, noise), strict=True)
    )
    places = _spread(movable)
    values = np.array([noise[index] for index in places], dtype=np.int64)
    slack = np.array([units[index] * _MICRO - exact[index] for index in places], dtype=np.int64)
    moves = _Moves.between(values, slack)
    best = moves.best(first, second)
    if best is None:
        return None
    for move in best:
        units[places[moves.giver[move]]] -= 1
        units[places[moves.taker[move]]] += 1
    worst = max(abs(units[index] * _MICRO - exact[index]) for index in places)
    return tuple(units) if worst <= _WORST_ERROR else None


def approach(
    noise: Sequence[int],
    exact: Sequence[int],
    units: Sequence[int],
    movable: Sequence[int],
    goal: tuple[int, int, int],
) -> list[int]:
    """Fit the sum, then move single units between any values while the moments come nearer."""
    units = list(units)
    missing = goal[0] - sum(units)
    step = 1 if missing > 0 else -1
    lacking = sorted(movable, key=lambda index: step * (units[index] * _MICRO - exact[index]))
    for place in range(abs(missing)):
        units[lacking[place % len(lacking)]] += step
    values = np.array([noise[index] for index in movable], dtype=np.int64)
    slack = np.array([units[index] * _MICRO - exact[index] for index in movable])
    _, first, second = (
        target - total for target, total in zip(goal, sums(units, noise), strict=True)
    )
    away = values[None, :] - values[:, None]
    bend = values[None, :] ** 2 - values[:, None] ** 2
    scale = int(np.abs(values).max())
    for _ in range(_MAX_STEPS):
        error = np.maximum(np.abs(slack - _MICRO)[:, None], np.abs(slack + _MICRO)[None, :])
        residual = np.abs(second - bend) + scale * np.abs(first - away)
        residual[error > _GOOD_ERROR] = _FAR
        giver, taker = divmod(int(residual.argmin()), len(values))
        if residual[giver, taker] >= abs(second) + scale * abs(first):
            if scale == 1:
                break
            scale = max(1, scale // 8)
            continue
        units[movable[giver]] -= 1
        units[movable[taker]] += 1
        slack[giver] -= _MICRO
        slack[taker] += _MICRO
        first -= int(away[giver, taker])
        second -= int(bend[giver, taker])
    return units


def _spread(movable: Sequence[int]) -> list[int]:
    """Take the preferred half of the places and an even sample of the others."""
    if len(movable) <= _MAX_VALUES:
        return list(movable)
    half = _MAX_VALUES // 2
    rest = movable[half:]
    return [*movable[:half], *(rest[place * len(rest) // half] for place in range(half))]


class _Moves:
    """All moves of one unit between two values, ordered by the error they leave."""

    def __init__(self, giver: _Int, taker: _Int, values: _Int, slack: _Int) -> None:
        self.slack = slack
        step = np.abs(slack[giver] - _MICRO), np.abs(slack[taker] + _MICRO)
        order = np.lexsort((np.arange(len(giver)), np.maximum(*step)))
        self.giver, self.taker = giver[order], taker[order]
        self.first = values[self.taker] - values[self.giver]
        self.second = values[self.taker] ** 2 - values[self.giver] ** 2
        self.scale = 8 * int(np.abs(self.second).max()) + 1
        keys = self.first * self.scale + self.second
        self.sorted = np.argsort(keys, kind="stable")
        self.keys = keys
        self.ascending = keys[self.sorted]
        self.n = len(giver)

    @classmethod
    def between(cls, values: _Int, slack: _Int) -> Self:
        giver, taker = (
            axis.ravel() for axis in np.indices((len(values), len(values)), dtype=np.int64)
        )
        keep = (giver != taker) | ((giver == 0) & (taker == 0))
        return cls(giver[keep], taker[keep], values, slack)

    def best(self, first: int, second: int) -> tuple[int, ...] | None:
        """Find two or three moves with these effects together and little error."""
        moves = self._pair(first, second, ())
        for third in range(min(_MAX_THIRD_MOVES, self.n)):
            if moves is not None and moves[0] <= _GOOD_ERROR:
                break
            lacking = first - int(self.first[third]), second - int(self.second[third])
            again = self._pair(*lacking, (third,))
            moves = min((x for x in (moves, again) if x is not None), default=None)
        return None if moves is None else moves[1]

    def _pair(
        self, first: int, second: int, others: tuple[int, ...]
    ) -> tuple[int, tuple[int, ...]] | None:
        """Find two moves with these effects together, and the error they leave with others."""
        if abs(second) * 2 >= self.scale:
            return None
        targets = first * self.scale + second - self.keys
        place = np.minimum(np.searchsorted(self.ascending, targets), self.n - 1)
        hits = np.flatnonzero(self.ascending[place] == targets)[:_MAX_HITS]
        if not hits.size:
            return None
        partners = self.sorted[place[hits]]
        after = np.tile(self.slack, (len(hits), 1))
        rows = np.arange(len(hits))
        for moves in (hits, partners, *(np.full(len(hits), move) for move in others)):
            np.subtract.at(after, (rows, self.giver[moves]), _MICRO)
            np.add.at(after, (rows, self.taker[moves]), _MICRO)
        error = np.abs(after).max(axis=1)
        best = int(error.argmin())
        return int(error[best]), (int(hits[best]), int(partners[best]), *others)
