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
    and more where that does not do. The order is from the most valuable cell down.

    References
    ----------
    Kelly, Golden and Assad (1992), Cell suppression: disclosure protection for sensitive
    tabular data, Networks 22.
    """
    near, failed = Neighbourhood(cover.problem, work), []
    price = (cover.problem.cost if cost is None else cost) + _NOTHING
    price[~near.can_move] = np.inf
    price[cover.hidden] = 0.0
    open_demands = cover.open_demands().tolist()
    for done, demand in enumerate(open_demands):
        progress(done, len(open_demands))
        for sign, is_met in ((1, cover.is_high_met), (-1, cover.is_low_met)):
            if is_met[demand] or near.work.is_over:
                continue
            change = near.change(cover.demands, demand, sign, price)
            if change is None:
                failed.append(demand)
                break
            cover.add(change)
            price[change.cells] = 0.0
            is_met[demand] = True  # by the program's own account, to its tolerance
    return np.array(failed, np.int64)
