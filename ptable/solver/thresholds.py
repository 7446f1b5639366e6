"""Probabilities to integers, keeping sums, means and variances.

Every probability becomes a number of key units. Far from zero the units are rounded up or down
so that the errors of the moments cancel as they appear; exchanges of single units repair the
rest. Rows with few noise values try every small change instead.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from footing.messages import Message
from ptable.errors import InternalError
from ptable.solver.integer.exchange import approach, exchange, grid, sums
from ptable.solver.integer.mirrored import apportion_symmetric
from ptable.solver.row import RowProblem

_Int: TypeAlias = "NDArray[np.int64]"
_Settled: TypeAlias = tuple[tuple[int, int, int, int], list[int]]

#: Errors are compared in millionths of a unit, so that ties break alike on every machine.
_MICRO = 10**6
_CORE = 6
_MAX_CORES = 10
_LADDERS = ((1, 2, 4, 8), (1, 3, 9, 27), (-1, 1, -5, 5), (2, 5, 11, 23), (-1, -3, -9, -27))
_REACH = {3: 64, 4: 24, 5: 7, 6: 4}
_WORST_ERROR = 4 * _MICRO
#: Values with fewer units than this are moved only when nothing else can be.
_LIGHT = 8
#: Values nearer to zero than this move the moments too little to be worth steering.
_NEAR = 4
#: Values with fewer millionths of a unit than this never get one.
_NOTHING = _MICRO // 50
_MAX_MOVED = 400
_FEWEST_MOVED = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitRow(RowProblem):
    """A row and its law, which becomes key units.

    Parameters
    ----------
    law
        The probability of each noise value.
    held
        The place of a value whose probability is prescribed, and which way to round it: -1
        down, 0 to the nearest unit, 1 up.
    """

    count: int = 0
    law: tuple[Fraction, ...]
    held: tuple[int, int] | None = None

    def held_units(self, total: int, *, parity: bool = False) -> int | None:
        """Give the units of the value whose probability is prescribed."""
        if self.held is None:
            return None
        place, way = self.held
        unit, odd = (2, total % 2) if parity else (1, 0)
        exact = (self.law[place] * total - odd) / unit
        rounded: int = (math.floor, round, math.ceil)[way + 1](exact)
        return rounded * unit + odd


def apportion(row: UnitRow, *, total: int) -> tuple[int, ...]:
    """Split `total` units over the noise values of a row.

    The units add up to `total` and their mean noise is exact; their variance is the nearest
    that the search finds: mostly within a unit, and further off at the edge of the reach, for
    rows of few values, and where many equal probabilities may not change places.
    """
    if row.symmetric:
        return apportion_symmetric(row, total=total)
    answer = _apportion(row, total, steer_light=False)
    worst = None if answer is None else _worst(row, answer, total)
    if worst is None or worst > _WORST_ERROR:
        again = _apportion(row, total, steer_light=True)
        if again is not None and (worst is None or _worst(row, again, total) < worst):
            answer = again
    if answer is None and row.at_most:  # a hair above the least: no integers lie between
        return apportion(replace(row, at_most=False), total=total)
    if answer is None and row.held is not None:
        return apportion(replace(row, held=None), total=total)
    if answer is None:
        raise InternalError(Message("No integer thresholds keep a row's sum and mean."))
    return _repaired(row, answer, total)


def _repaired(row: UnitRow, units: tuple[int, ...], total: int) -> tuple[int, ...]:
    """Mend a variance or shape that is off, moving a few units of equal probabilities too."""
    _, tilt, moment = sums(units, row.noise)
    goal = even_target(row.second_moment * total, tilt, at_most=row.at_most)
    fall = max((units[low] - units[high] for low, high in row.rising_pairs), default=0)
    keeps_shape = fall * _MICRO <= 2 * _WORST_ERROR
    if moment == goal and keeps_shape:
        return units
    least = math.floor(row.floor * total)
    exact = [round(p * total * _MICRO) for p in row.law]
    start: Sequence[int] = units
    if not keeps_shape:  # one value carried every repair: share it from the beginning
        start = [max(least, (x + _MICRO // 2) // _MICRO) for x in exact]
    order, _ = _by_ease(row, exact, least)
    heavy = [place for place in order if exact[place] >= (_LIGHT + least) * _MICRO]
    if len(heavy) < _FEWEST_MOVED:
        return units
    goals = total, tilt, goal
    mended = exchange(row.noise, exact, start, heavy, goals)
    if mended is None:
        nearer = approach(row.noise, exact, start, _sample(heavy), goals)
        mended = exchange(row.noise, exact, nearer, heavy, goals)
    return mended or units


def _sample(places: Sequence[int]) -> list[int]:
    """Take at most so many places, evenly."""
    step = -(-len(places) // _MAX_MOVED)
    return list(places[:: max(1, step)])


def _worst(row: UnitRow, units: Sequence[int], total: int) -> int:
    """Give the largest error, in millionths of a unit."""
    errors = (abs(n - p * total) for n, p in zip(units, row.law, strict=True))
    return math.ceil(max(errors) * _MICRO)


def _apportion(row: UnitRow, total: int, *, steer_light: bool) -> tuple[int, ...] | None:
    """Round, and repair the moments; None where no small change does it.

    Rows with many values of hardly any probability lose moments there that the few others
    cannot make good; `steer_light` rounds these values with care too.
    """
    least = math.floor(row.floor * total)
    exact = [round(p * total * _MICRO) for p in row.law]
    units = [max(least, (x + _MICRO // 2) // _MICRO) for x in exact]
    stay_units = row.held_units(total)
    if row.held is not None and stay_units is not None:
        units[row.held[0]] = stay_units
        exact[row.held[0]] = stay_units * _MICRO
    order, n_easy = _by_ease(row, exact, least)
    _diffuse(row, exact, units, least, steer_light=steer_light)
    tilt = mean_units(row.mean, row.noise, total=total)
    goal = total, tilt, even_target(row.second_moment * total, tilt, at_most=row.at_most)
    if steer_light and n_easy:
        units = approach(row.noise, exact, units, _sample(order[:n_easy]), goal)
    if n_easy > _CORE:
        exchanged = exchange(row.noise, exact, units, order[:n_easy], goal)
        if exchanged is not None:
            return exchanged
    settle = _Settler(row=row, exact=exact, least=least, goal=goal)
    return _settle_best(settle, units, _cores(row, order, n_easy))


def _settle_best(
    settle: _Settler, units: list[int], cores: Iterator[list[int]]
) -> tuple[int, ...] | None:
    """Change the first core that does it without any loss, or the one that loses least."""
    best: _Settled | None = None
    for core in cores:
        change = settle(units, core)
        if change is not None and (best is None or change < best):
            best = change
        if best is not None and best[0][:3] == (0, 0, 0):
            break
    return None if best is None else tuple(best[1])


def _cores(row: UnitRow, order: Sequence[int], n_easy: int) -> Iterator[list[int]]:
    """List small sets of values to change, the most natural first.

    Where nearly all probability sits on two or three values, units on light values at growing
    distances from zero reach every remainder that these leave.
    """
    yield sorted(order[:_CORE])
    if len(order) <= _CORE:
        return
    if n_easy >= _CORE - 1:
        for late in order[_CORE : _CORE + _MAX_CORES]:
            yield sorted([*order[: _CORE - 1], late])
    heavy, light = list(order[: min(n_easy, 2)]), order[min(n_easy, 2) :]
    for ladder in _LADDERS:
        core = list(heavy)
        for distance in ladder:
            rest = [index for index in light if index not in core]
            if not rest:
                break
            core.append(min(rest, key=lambda index: abs(row.noise[index] - distance)))
        yield sorted(core[:_CORE])


def _groups(row: UnitRow) -> list[tuple[int, int]]:
    """Give runs of equal probability where the shape matters, and everything else singly."""
    groups: list[tuple[int, int]] = []
    stay_place = row.held[0] if row.held else None
    fall = len(row.noise) - row.n_right
    for index in range(len(row.noise)):
        same = index > 0 and row.law[index] == row.law[index - 1]
        shaped = index < row.n_left or index > fall
        if same and shaped and stay_place not in {index, index - 1}:
            groups[-1] = (groups[-1][0], index + 1)
        else:
            groups.append((index, index + 1))
    return groups


def _by_ease(row: UnitRow, exact: Sequence[int], least: int) -> tuple[list[int], int]:
    """Order the values: heavy before light, single before pooled, near zero before far.

    The second answer counts the values that are heavy and single.
    """
    pooled = {
        index
        for first, stop in _groups(row)
        if stop - first > 1
        for index in range(first, stop)
    }
    is_light = [x < (_LIGHT + least) * _MICRO for x in exact]
    stay_place = row.held[0] if row.held else None
    order = sorted(
        (index for index in range(len(row.noise)) if index != stay_place),
        key=lambda index: (
            is_light[index],
            index in pooled,
            abs(row.noise[index]),
            row.noise[index],
        ),
    )
    return order, sum(not (is_light[index] or index in pooled) for index in order)


def _diffuse(
    row: UnitRow, exact: Sequence[int], units: list[int], least: int, *, steer_light: bool
) -> None:
    """Round from far to near, so that the moments' errors cancel as they appear."""
    rest = [
        list(range(first, stop))
        for first, stop in _groups(row)
        if (stop - first > 1 or abs(row.noise[first]) >= _NEAR)
        and (row.held is None or row.held[0] != first)
    ]
    rest.sort(key=lambda group: (-len(group), -abs(row.noise[group[0]]), row.noise[group[0]]))
    owed = (0, 0, 0)
    for group in rest:
        base = exact[group[0]] // _MICRO
        scale = max(1, *(abs(row.noise[index]) for index in group))
        best: tuple[int, tuple[int, int, int], list[int]] | None = None
        is_light = exact[group[0]] < (_NOTHING if steer_light else 4 * _MICRO)
        for n_up in range(len(group) + 1):
            split = len(group) - n_up
            trial = [max(least, base + (place >= split)) for place in range(len(group))]
            if is_light:
                trial = [units[index] for index in group]
            errors = [n * _MICRO - exact[index] for n, index in zip(trial, group, strict=True)]
            then = tuple(
                debt
                + sum(
                    error * row.noise[index] ** power
                    for error, index in zip(errors, group, strict=True)
                )
                for power, debt in enumerate(owed)
            )
            cost = (scale**2 * then[0]) ** 2 + (scale * then[1]) ** 2 + then[2] ** 2
            if best is None or cost < best[0]:
                best = cost, (then[0], then[1], then[2]), trial
        if best is not None:
            owed = best[1]
            for index, n in zip(group, best[2], strict=True):
                units[index] = n


@dataclass(frozen=True, slots=True, kw_only=True)
class _Settler:
    """Changes a few values so that sum and mean are exact and the variance is near."""

    row: UnitRow
    exact: Sequence[int]
    least: int
    goal: tuple[int, int, int]

    def __call__(self, units: Sequence[int], core: Sequence[int]) -> _Settled | None:
        """Give the best change of the core with its rank: large errors, falls, drift, error."""
        row, noise = self.row, self.row.noise
        near, far = _pivots(row, self.exact, core)
        free = [index for index in core if index not in (near, far)]
        order = [*free, near, far]
        values = np.array([noise[index] for index in order], dtype=np.int64)
        moves = grid(len(free), _REACH.get(len(core), 0))
        step = noise[far] - noise[near]
        missing, tilt, bend = (
            goal - total for goal, total in zip(self.goal, sums(units, noise), strict=True)
        )
        first = missing - moves.sum(axis=1)
        second = tilt - moves @ values[:-2] - noise[near] * first
        fits = second % step == 0
        to_far = second[fits] // step
        change = np.column_stack([moves[fits], first[fits] - to_far, to_far])
        drift = bend - change @ values**2
        trial = change + np.array([units[index] for index in order], dtype=np.int64)
        allowed = (trial >= self.least).all(axis=1) & ((drift >= 0) | (not row.at_most))
        if not allowed.any():
            return None
        targets = np.array([self.exact[index] for index in order], dtype=np.int64)
        error = np.abs(trial * _MICRO - targets).max(axis=1)
        falls = self._falls(units, order, trial)
        rank = (np.maximum(error - _WORST_ERROR, 0), falls, np.abs(drift), error)
        best = np.flatnonzero(allowed)
        for criterion in rank:
            best = best[criterion[best] == criterion[best].min()]
        trial_units = list(units)
        for index, n in zip(order, trial[best[0]].tolist(), strict=True):
            trial_units[index] = n
        scores = [int(criterion[best[0]]) for criterion in rank]
        return (scores[0], scores[1], scores[2], scores[3]), trial_units

    def _falls(self, units: Sequence[int], order: Sequence[int], trial: _Int) -> _Int:
        """Count the units by which the left falls and the right rises where they may not."""
        falls = np.zeros(len(trial), dtype=np.int64)
        place = {index: column for column, index in enumerate(order)}
        for low, high in self.row.rising_pairs:
            if low in place or high in place:
                pair = [
                    trial[:, place[i]] if i in place else np.int64(units[i])
                    for i in (low, high)
                ]
                falls += np.maximum(pair[0] - pair[1], 0)
        return falls


def even_target(exact: Fraction, tilt: int, *, at_most: bool) -> int:
    """Round to an integer as even or odd as the first moment, which the second always is."""
    odd = tilt % 2
    half = (exact - odd) / 2
    return 2 * (math.floor(half) if at_most else round(half)) + odd


def mean_units(mean: Fraction, noise: Sequence[int], *, total: int) -> int:
    """Round a mean to one integers can have: noise of 0 and 2 alone has even sums."""
    unit = math.gcd(*noise) or 1
    return unit * round(mean * total / unit)


def _pivots(row: UnitRow, exact: Sequence[int], core: Sequence[int]) -> tuple[int, int]:
    pairs = [(a, b) for a in core for b in core if a < b]
    return min(
        pairs,
        key=lambda pair: (
            row.noise[pair[1]] - row.noise[pair[0]],
            min(exact[pair[0]], exact[pair[1]]) < _LIGHT * _MICRO,
            pair,
        ),
    )
