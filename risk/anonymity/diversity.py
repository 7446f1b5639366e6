"""What groups of records tell of a sensitive column."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from risk.errors import RiskError

if TYPE_CHECKING:
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
    counts
        Per group and category present: group, then records, most frequent first.
    """

    distinct: NDArray[np.int64]
    entropy: NDArray[np.float64]
    largest: NDArray[np.int64]
    excluded: NDArray[np.int64]
    distance: NDArray[np.float64]
    counts: tuple[NDArray[np.int64], NDArray[np.int64]]

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

    def least_c(self, l: int) -> float:  # noqa: E741  (the letter of the literature)
        """Find the bound that c must exceed for recursive (c, l)-diversity."""
        if l < 1:
            raise RiskError(f"l must be at least 1, not {l}.")
        group, n = self.counts
        starts = np.searchsorted(group, np.arange(len(self.largest)))
        rank = np.arange(len(group)) - starts[group]
        tail = np.bincount(group, np.where(rank >= l - 1, n, 0), minlength=len(starts))
        if (tail == 0).any():
            return math.inf
        return float((self.largest / tail).max())

    def __repr__(self) -> str:
        return "Diversity(…)"
