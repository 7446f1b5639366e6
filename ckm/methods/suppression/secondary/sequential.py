"""One cell after another: hide what lets it move cheaply."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ckm.methods.suppression.secondary.cover import Cover
from ckm.methods.suppression.secondary.region import Neighbourhood
from ckm.methods.suppression.secondary.work import Work
from footing.arrays import Floats, Integers

_NOTHING = 1e-7


def protect_in_turn(
    cover: Cover,
    *,
    cost: Floats | None = None,
    work: Work | None = None,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Integers:
    """Meet every demand that is open, hiding further cells.

    Notes
    -----
    For each demand a linear program finds the change that takes the cell far enough at the
    least cost per unit moved, hidden cells free. It sees the neighbourhood of the cell first,
    and more where that does not do. Demands against several readers of one cell are met by one
    change, if there is one that all of them believe in. Small cells come first: what is
    hidden for them lets larger ones move.

    References
    ----------
    Kelly, Golden and Assad (1992), Cell suppression: disclosure protection for sensitive
    tabular data, Networks 22.
    """
    near, failed = Neighbourhood(cover.problem, work), []
    price = (cover.problem.cost if cost is None else cost) + _NOTHING
    price[~near.can_move] = np.inf
    price[cover.hidden] = near.stays[cover.hidden]
    near.spent = cover.cost()
    open_demands = cover.open_demands()
    _, first, times = np.unique(
        cover.demands.cell[open_demands], return_index=True, return_counts=True
    )
    order = np.argsort(first)  # demands for the same cell follow one another
    for start, size in zip(first[order].tolist(), times[order].tolist(), strict=True):
        progress(start, len(open_demands))
        own = np.sort(open_demands[start : start + size])
        for sign in (1, -1):
            failed += _met(cover, near, own, sign, price)
    return np.unique(np.array(failed, np.int64))


def _met(
    cover: Cover, near: Neighbourhood, numbers: Integers, sign: int, price: Floats
) -> list[int]:
    """Meet demands for one cell on one side, as many as can be by one change."""
    is_met, failed = cover.is_high_met if sign > 0 else cover.is_low_met, list[int]()
    waiting = [numbers]
    while waiting and not near.work.is_over:
        own = waiting.pop()
        own = own[~is_met[own]]
        if not own.size:
            continue
        is_part = 1 < len(own) < len(numbers)  # of what one change does not meet
        change = near.change(cover.demands, own, sign, price, is_quick=is_part, is_careful=True)
        if change is not None:
            new = change.cells[~cover.hidden[change.cells]]
            near.spent += float(cover.problem.cost[new].sum())
            cover.add(change)
            price[change.cells] = near.stays[change.cells]
            cover.claim(change, own, sign)
        elif len(own) == 1:
            failed += own.tolist()
        else:
            waiting += [own[len(own) // 2 :], own[: len(own) // 2]]
    return failed
