"""Distances between the original and the published counts of a set of cells."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from risk.utility.catalogue import Measure, defined, undefined

if TYPE_CHECKING:
    from risk.utility.pairs import Pairs

_NAMES = ("hellinger_raw", "hd_utility", "hellinger_probability", "euclid", "manhattan")


def distances(pairs: Pairs) -> tuple[Measure, ...]:
    """Measure Hellinger distances, raw and on shares, Euclid's and Manhattan's.

    Parameters
    ----------
    pairs
        The cells.

    Notes
    -----
    Two distances go by Hellinger's name and cannot be compared. ``hellinger_raw`` takes counts
    as they are (Shlomo, Antal and Elliot 2015; SDC Handbook, 2nd ed., 4.7); ``hd_utility``
    scales it to at most 1. ``hellinger_probability`` divides both sides by their sums first
    (INSEE's ckm). ``hd_utility`` may fall below 0 where the published sum
    is far above the original.

    Examples
    --------
    >>> from risk.utility import Pairs
    >>> found = distances(Pairs(original=[1, 2, 3, 4, 5, 6], published=[0, 3, 3, 3, 6, 6]))
    >>> {m.name: round(m.value, 4) for m in found[:3]}
    {'hellinger_raw': 0.7805, 'hd_utility': 0.8297, 'hellinger_probability': 0.1703}
    """
    n = pairs.n_cells
    if not n:
        return tuple(undefined(name, "there are no cells") for name in _NAMES)
    before, after = int(pairs.o.sum()), int(pairs.p.sum())
    raw = math.sqrt(float(np.square(pairs.root_gap).sum()) / 2)
    return (
        defined("hellinger_raw", raw, base=n),
        defined("hd_utility", 1 - raw / math.sqrt(before), base=n)
        if before
        else undefined("hd_utility", "the original counts add up to 0", base=n),
        _on_shares(pairs, before, after),
        defined("euclid", math.sqrt(float(np.square(pairs.noise, dtype=float).sum())), base=n),
        defined("manhattan", int(pairs.size.sum()), base=n),
    )


def _on_shares(pairs: Pairs, before: int, after: int) -> Measure:
    name, n = "hellinger_probability", pairs.n_cells
    for total, word in ((before, "original"), (after, "published")):
        if not total:
            return undefined(name, f"the {word} counts add up to 0", base=n)
    gap = np.sqrt(pairs.p / after) - np.sqrt(pairs.o / before)
    return defined(name, math.sqrt(float(np.square(gap).sum()) / 2), base=n)
