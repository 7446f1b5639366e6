"""Integers for rows in which a noise value and its negative are equally likely.

The mean is zero by itself, so that the sum and the second moment remain, both over half a row.
Rounding goes from far to near and hands the second moment's error on; the values nearest to
zero settle it.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from footing.messages import Message
from ptable.errors import InternalError
from ptable.solver.integer.exchange import grid

if TYPE_CHECKING:
    from ptable.solver.thresholds import UnitRow

_NEAR = 4
_REACH = 5
#: Values with fewer units than this are changed only when few others are left.
_FEW = 8
#: By how many units a shape may be broken where the variance asks for it.
_SLACK = 2


def apportion_symmetric(row: UnitRow, *, total: int) -> tuple[int, ...]:
    """Split units over a row symmetrically; see `ptable.solver.thresholds.apportion`."""
    size = len(row.noise)
    half = [place for place in range(size) if row.noise[place] > 0]
    least = math.floor(row.floor * total)
    centre = row.noise.index(0) if 0 in row.noise else None
    stay_units = row.held_units(total, parity=True)
    if stay_units is not None:  # rounding down two units may cross the least probability
        stay_units = max(stay_units, least + (total - least) % 2)
    goal = row.second_moment * total / 2
    second = math.floor(goal) if row.at_most else round(goal)
    units: dict[int, int] = {}
    owed = Fraction(0)
    for place in reversed(half):
        square = row.noise[place] ** 2
        exact = row.law[place] * total
        units[place] = max(least, round(exact + owed / square))
        owed += (exact - units[place]) * square
    if centre is None:
        stay_units = 0
    _settle(row, units, (total, stay_units, second), least)
    answer = [0] * size
    for place, n in units.items():
        answer[place] = answer[size - 1 - place] = n
    if centre is not None:
        answer[centre] = total - 2 * sum(units.values())
    return tuple(answer)


def _settle(
    row: UnitRow, units: dict[int, int], goal: tuple[int, int | None, int], least: int
) -> None:
    """Change a few values, as near to zero as can be, until both sums fit."""
    total, stay, second = goal
    near = sorted(sorted(units, key=lambda place: (units[place] < _FEW + least, place))[:_NEAR])
    squares = np.array([row.noise[place] ** 2 for place in near], dtype=np.int64)
    change = grid(len(near), _REACH)
    trial = change + np.array([units[place] for place in near], dtype=np.int64)
    lacking = second - sum(n * row.noise[place] ** 2 for place, n in units.items())
    drift = lacking - change @ squares
    rest = total - 2 * sum(units.values()) - 2 * change.sum(axis=1)
    fits = (trial >= least).all(axis=1)
    fits &= rest >= least if stay is None else rest == stay
    if row.at_most:
        fits &= drift >= 0
    if not fits.any():
        raise InternalError(Message("No integer thresholds keep a symmetric row's sum."))
    ordered = np.column_stack([rest, trial])
    if stay == 0:
        ordered = trial
    others = [place for place in units if place > near[-1]]
    if others:
        beyond = np.full((len(trial), 1), units[min(others)], dtype=np.int64)
        ordered = np.hstack([ordered, beyond])
    rises = np.maximum(np.diff(ordered, axis=1), 0).sum(axis=1) * bool(row.n_right)
    best = np.flatnonzero(fits)
    for rank in (np.maximum(rises - _SLACK, 0), np.abs(drift), np.abs(change).max(axis=1)):
        best = best[rank[best] == rank[best].min()]
    units.update(zip(near, trial[best[0]].tolist(), strict=True))
