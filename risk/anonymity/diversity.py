"""What groups of records tell of a sensitive column."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Diversity:
    """Hold what groups tell of a sensitive column; for inside use only.

    Parameters
    ----------
    distinct
        Per group the number of sensitive categories.
    entropy
        Per group the exponential of the entropy of its categories: how many equally frequent
        ones would have the same.
    largest
        Per group the number of records with its most frequent category.
    excluded
        Per group how many categories of the whole file do not occur.
    distance
        Per group the earth mover's distance of its categories from those of the whole file.
    """

    distinct: NDArray[np.int64]
    entropy: NDArray[np.float64]
    largest: NDArray[np.int64]
    excluded: NDArray[np.int64]
    distance: NDArray[np.float64]

    @property
    def l_distinct(self) -> int:
        """The least number of sensitive categories in a group."""
        return int(self.distinct.min())

    @property
    def l_entropy(self) -> float:
        """The largest l for which entropy l-diversity holds; not a whole number as a rule."""
        return float(self.entropy.min())

    @property
    def t(self) -> float:
        """The largest distance of a group: t-closeness holds for every t not below it."""
        return float(self.distance.max())

    @property
    def n_homogeneous(self) -> int:
        """How many groups have one sensitive category: who is in it is known to have it."""
        return int((self.distinct == 1).sum())

    def __repr__(self) -> str:
        return "Diversity(…)"


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
