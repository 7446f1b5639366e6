"""Patterns of other tools, repaired until nobody comes nearer than with ours.

A tool that guards against less hides less. What it would hide for the same safety is the fair
figure beside ours: its pattern stays, and cells are added for every reader whom our audit finds
too near. Two ways are tried, and the cheaper pattern counts: the least further cost per unit
moved (a linear program for each such reader), and, in small tables, one cell after another,
the cheapest of those that the dual of the attack names.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from ckm.methods.suppression import Problem
    from ckm.methods.suppression.secondary.cover import Cover

#: The dual way solves a program over all cells for each cell that it adds.
_MOST_CELLS = 1_000
_NEARLY = 1 - 1e-6


def repaired(problem: Problem, hidden: Any) -> Any:
    """Hide more cells, until every demand is met, those against contributors too."""
    ways: list[Callable[[Cover], None]] = [_by_programs]
    if problem.relations.n_cells <= _MOST_CELLS:
        ways.append(_by_duals)
    masks = [_settled(problem, np.asarray(hidden, bool), way) for way in ways]
    return min(masks, key=lambda mask: float(problem.cost[mask & problem.is_open].sum()))


def _settled(problem: Problem, hidden: Any, meet: Callable[[Cover], None]) -> Any:
    """Meet what outsiders ask, then what contributors do who turn up, until none does."""
    from ckm.methods.suppression.attackers import Attackers
    from ckm.methods.suppression.secondary.cover import Cover
    from ckm.methods.suppression.secondary.merging import merged

    merging = merged(problem)
    own, insiders = merging.problem, None
    attackers, cover = Attackers(own), Cover(own)
    is_hidden = np.bincount(merging.of_cell, hidden, minlength=own.relations.n_cells) > 0
    cover.hidden |= is_hidden & own.is_open
    while True:
        meet(cover)
        more = attackers.unguarded(cover.changes)
        if more is None:
            return merging.hidden(cover.hidden)
        insiders = more if insiders is None else insiders.joined(more)
        wider = Cover(replace(own, insiders=insiders))
        wider.hidden |= cover.hidden
        for change in cover.changes:
            wider.add(change)
        cover = wider


def _by_programs(cover: Cover) -> None:
    from ckm.methods.suppression.secondary.sequential import protect_in_turn

    failed = protect_in_turn(cover)
    if failed.size:
        raise ValueError("no further cells protect this pattern")


def _by_duals(cover: Cover) -> None:
    """Hide the cheapest cell that the dual of an attack names, until the attack fails."""
    from ckm.methods.suppression.secondary.cover import Change
    from ckm.methods.suppression.secondary.region import Attack

    problem, demands = cover.problem, cover.demands
    attack = Attack(problem.relations)
    for number in cover.open_demands().tolist():
        cell = int(demands.cell[number])
        for sign, need, is_met in (
            (1, demands.upper[number], cover.is_high_met),
            (-1, demands.lower[number], cover.is_low_met),
        ):
            while not is_met[number]:
                down = np.where(cover.hidden, problem.room, 0.0)
                up = np.where(cover.hidden, np.minimum(problem.rise, 1e3 * need), 0.0)
                down, up = demands.limited(number, down, up)
                reach = attack.reach(cell, sign=sign, down=down, up=up, most=need)
                if reach.distance >= need * _NEARLY:
                    moved = np.flatnonzero(np.abs(reach.moves) > 1e-9 * need)
                    cover.add(Change(cells=moved, moves=reach.moves[moved]))
                    is_met[number] = True  # by the program's own account
                    break
                free = np.where(cover.hidden, 0.0, problem.room)
                rise = np.where(cover.hidden, 0.0, np.minimum(problem.rise, 1e3 * need))
                free, rise = demands.limited(number, free, rise)
                weights = np.where(np.abs(reach.weights) > 1e-9, reach.weights, 0.0)
                gain = np.maximum(weights, 0) * free + np.maximum(-weights, 0) * rise
                named = np.flatnonzero((gain > 0) & problem.is_open & ~cover.hidden)
                if not named.size:
                    raise ValueError("no further cells protect this pattern")
                cover.hidden[named[np.argmin(problem.cost[named])]] = True
