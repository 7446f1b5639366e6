"""Tighten the bounds of cells with as few programs as possible."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from risk.reconstruction.program import Answer, Program, Rows

Bounds: TypeAlias = tuple[NDArray[np.float64], NDArray[np.float64]]

#: HiGHS keeps its constraints within 1e-7; whole bounds are rounded with ten times that.
TOLERANCE = 1e-6


class Search:
    """Tighten bounds until each is attained by a point that was seen.

    Parameters
    ----------
    rows
        The constraints.
    bounds
        The least and the largest known so far of every cell; every point lies between them.
    most_nodes
        None for real numbers; else for whole numbers, giving up after so many nodes.
    """

    def __init__(self, rows: Rows, bounds: Bounds, *, most_nodes: int | None = None) -> None:
        self.rows = rows
        self.bounds = (bounds[0].copy(), bounds[1].copy())
        self.is_whole = most_nodes is not None
        self.n_programs = self.n_unproven = 0
        self.program = Program(rows, lower=bounds[0], upper=bounds[1], most_nodes=most_nodes)
        n_cells = len(bounds[0])
        #: the least and the largest that any point seen has in each cell
        self.seen = (np.full(n_cells, np.inf), np.full(n_cells, -np.inf))
        #: whole points seen on the way, worth keeping for a search in whole numbers
        self.whole_seen = (np.full(n_cells, np.inf), np.full(n_cells, -np.inf))

    def see_whole(self, other: Search) -> None:
        """Take over what whole points another search has seen."""
        self.seen = (other.whole_seen[0].copy(), other.whole_seen[1].copy())

    def run(self, *, goes_on: Callable[[], bool] = lambda: True) -> bool:
        """Tighten every bound; False where no point satisfies the rows.

        `goes_on` is asked after each program; once it says no, bounds stay as they are.
        """
        if not self.is_whole and not self._several(goes_on):
            return False
        for side, sign in ((0, 1.0), (1, -1.0)):
            for cell in range(len(self.bounds[0])):
                if not self._is_open(side)[cell]:
                    continue
                if not goes_on():
                    return True
                if not self._one(cell, side, sign):
                    return False
        return True

    def is_open(self) -> NDArray[np.bool_]:
        """Tell which cells have a bound that no point seen attains."""
        return self._is_open(0) | self._is_open(1)

    def _is_open(self, side: int) -> NDArray[np.bool_]:
        if side == 0:
            return self.seen[0] > self.bounds[0] + TOLERANCE
        return self.seen[1] < self.bounds[1] - TOLERANCE

    def _several(self, goes_on: Callable[[], bool]) -> bool:
        """Attain many bounds at once, as long as that pays."""
        for side, sign in ((0, 1.0), (1, -1.0)):
            is_open = self._is_open(side)
            while is_open.any() and goes_on():
                cells = np.flatnonzero(is_open)
                if not self._see(self.program.least(cells, np.full(len(cells), sign))):
                    return False
                still = self._is_open(side)
                if still.sum() > 0.95 * is_open.sum():
                    break
                is_open = still
        if not self.n_programs:  # every bound was proven without: is there a point at all?
            return self._see(self.program.least([0], [1.0]))
        return True

    def _one(self, cell: int, side: int, sign: float) -> bool:
        answer = self.program.least([cell], [sign])
        if answer is None or not self._see(answer):
            return False
        bound = sign * answer.bound
        if self.is_whole:
            bound = math.ceil(bound - TOLERANCE) if side == 0 else math.floor(bound + TOLERANCE)
            self.n_unproven += not answer.is_exact
        keep = max if side == 0 else min
        self.bounds[side][cell] = keep(bound, self.bounds[side][cell])
        self.seen[side][cell] = self.bounds[side][cell]
        return True

    def _see(self, answer: Answer | None) -> bool:
        self.n_programs += 1
        if answer is None:
            return False
        point = answer.point
        if not point.size:
            return True
        _widen(self.seen, np.rint(point) if self.is_whole else point)
        whole = np.rint(point)
        if (np.abs(whole - point) < TOLERANCE).all() and self.rows.hold(whole):
            _widen(self.whole_seen, whole)
        return True


def _widen(bounds: Bounds, point: NDArray[np.float64]) -> None:
    np.minimum(bounds[0], point, out=bounds[0])
    np.maximum(bounds[1], point, out=bounds[1])


def tightened(rows: Rows, bounds: Bounds, *, rounds: int = 50) -> Bounds | None:
    """Pass bounds back and forth between sums and columns, until nothing changes.

    From ``lo <= sum a_k x_k <= hi`` follows, for ``a_j > 0``, that ``x_j`` is at most ``hi``
    less the least that the other parts may be, over ``a_j``, and at least ``lo`` less the most
    that they may be. Every point stays inside, so a linear program between these bounds has
    the same optima as without. Bounds are not rounded to whole numbers here. None where
    they contradict each other.
    """
    row = np.repeat(np.arange(len(rows.lower)), np.diff(rows.starts))
    column, a, is_up = rows.columns, rows.weights, rows.weights > 0
    least, most = bounds
    for _ in range(rounds):
        smallest = np.where(is_up, a * least[column], a * most[column])
        largest = np.where(is_up, a * most[column], a * least[column])
        room_up = rows.upper[row] - _others(smallest, row, len(rows.lower))
        room_down = rows.lower[row] - _others(largest, row, len(rows.lower))
        new_most, new_least = most.copy(), least.copy()
        np.minimum.at(new_most, column, np.where(is_up, room_up, room_down) / a)
        np.maximum.at(new_least, column, np.where(is_up, room_down, room_up) / a)
        if (new_least > new_most + 1e-9 * np.maximum(1.0, np.abs(new_most))).any():
            return None
        if (new_least == least).all() and (new_most == most).all():
            break
        least, most = new_least, np.maximum(new_least, new_most)
    return least, most


def _others(
    part: NDArray[np.float64], row: NDArray[np.int64], n_rows: int
) -> NDArray[np.float64]:
    """Sum the parts of each row other than the one at hand, infinite ones included."""
    is_open = np.isinf(part)
    finite = np.where(is_open, 0.0, part)
    sums = np.bincount(row, finite, minlength=n_rows)[row] - finite
    n_open = np.bincount(row, is_open, minlength=n_rows)[row] - is_open
    sign = np.bincount(row, np.where(is_open, np.sign(part), 0.0), minlength=n_rows)[row]
    return np.where(n_open > 0, np.copysign(np.inf, sign), sums)
