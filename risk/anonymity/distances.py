"""The earth mover's distance of every group from the whole file, without a dense matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def equal_distances(
    group: NDArray[np.int64],
    category: NDArray[np.int64],
    *,
    counts: NDArray[np.int64],
    whole: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Give each group's distance where all categories are equally far apart.

    Half the sum of absolute differences; what the group lacks adds its share in the file.
    """
    there = whole[category]
    shares = counts / np.bincount(group, counts)[group]
    lacking = 1 - np.bincount(group, there)
    distance: NDArray[np.float64] = (
        np.bincount(group, np.abs(shares - there)) + lacking.clip(min=0)
    ) / 2
    return distance


def ordered_distances(
    group: NDArray[np.int64],
    category: NDArray[np.int64],
    *,
    counts: NDArray[np.int64],
    whole: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Give each group's distance where categories are as far apart as their ranks.

    The sum of ``|P(v) - Q(v)|`` of cumulative shares over all ``m`` categories, over
    ``m - 1``. Between two categories of a group its ``P`` stands still while ``Q`` rises, so
    that stretch splits where ``Q`` passes ``P`` and cumulative sums give both halves. The
    cost is that of the pairs that occur, however many categories there are.
    """
    m = len(whole)
    n_groups = int(group.max()) + 1
    if m == 1:
        return np.zeros(n_groups)
    rises = np.cumsum(whole)
    sums = np.concatenate([[0.0], np.cumsum(rises)])
    is_first = np.concatenate([[True], group[1:] != group[:-1]])
    running = np.cumsum(counts)
    before = (running - counts)[is_first]
    level = (running - before[group]) / np.bincount(group, counts)[group]
    end = np.concatenate([np.where(is_first[1:], m, category[1:]), [m]])
    # a stretch before the first category of each group, where its share is still 0
    stretches = (
        (group, category, end, level),
        (group[is_first], np.zeros(n_groups, dtype=np.int64), category[is_first], np.zeros(1)),
    )
    total = np.zeros(n_groups)
    for of, a, b, height in stretches:
        cross = np.clip(np.searchsorted(rises, height), a, b)
        below = height * (cross - a) - (sums[cross] - sums[a])
        above = (sums[b] - sums[cross]) - height * (b - cross)
        total += np.bincount(of, below + above, minlength=n_groups)
    return total.clip(min=0) / (m - 1)
