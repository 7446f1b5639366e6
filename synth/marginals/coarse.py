"""From noisy margins to coarser groups, and back within them. All of it is post-processing."""

import numpy as np

from footing.arrays import Floats, Integers

_ROUNDS = 10
_EXPLAINED = 1.5  # a mean square of residuals, in that of noise


def onto_simplex(values: Floats, *, total: float) -> Floats:
    """Return the nearest numbers that are not negative and have a given sum.

    References
    ----------
    Duchi, Shalev-Shwartz, Singer, Chandra 2008, figure 1.
    """
    descending = np.sort(values)[::-1]
    cuts = (np.cumsum(descending) - total) / np.arange(1, len(values) + 1)
    last = int(np.flatnonzero(descending > cuts)[-1])
    return np.asarray(np.maximum(values - cuts[last], 0.0))


def group_codes(
    masses: Floats,
    *,
    is_ordered: bool,
    most: int,
    least: float,
    patterns: Integers | None = None,
) -> Integers:
    """Put codes into groups that are large enough to be told from noise.

    Neighbouring codes of an ordered column are merged; a code with the mass of a group stays
    alone, so that heaps survive. Of a column without order the rare codes are merged.
    """
    kinds = np.zeros(len(masses), np.int64) if patterns is None else patterns
    if is_ordered:
        return _merge_neighbours(masses, kinds, most, least)
    keep = np.zeros(len(masses), bool)
    keep[np.argsort(-masses, kind="stable")[: max(most - 1, 1)]] = True
    keep &= masses >= least
    # A code that would be merged with no other stays itself.
    labels = np.where(keep, np.arange(len(masses)), len(masses) + kinds)
    return _numbered(labels)


def shrink_within(
    counts: Floats, groups: Integers, *, scale: float, is_ordered: bool = False
) -> Floats:
    """Return shares in its group of each code, drawn together as far as noise explains.

    Of ordered codes they fall or rise where that explains the counts: so do those of a tail.

    References
    ----------
    James, Stein 1961; the positive part of it, towards the mean of the group.
    Barlow and others 1972 (counts that fall).
    """
    members = np.bincount(groups)
    means = np.bincount(groups, weights=counts) / members
    rests = counts - means[groups]
    spread = np.bincount(groups, weights=rests**2)
    with np.errstate(divide="ignore", invalid="ignore"):
        factors = np.where(spread > 0, 1 - (members - 1) * scale**2 / spread, 0.0)
    shrunk = means[groups] + np.maximum(factors, 0.0)[groups] * rests
    shares = np.empty(len(counts))
    for codes in np.split(np.argsort(groups, kind="stable"), np.cumsum(members)[:-1]):
        values = shrunk[codes]
        if is_ordered and len(codes) > 2:
            values = _monotone(counts[codes], scale=scale, otherwise=values)
        total = max(float(values.sum()), 1e-3)
        shares[codes] = onto_simplex(values, total=total) / total
    return shares


def _monotone(counts: Floats, *, scale: float, otherwise: Floats) -> Floats:
    """Return the nearest counts that fall, or rise, if noise explains how far they are."""
    from scipy.optimize import isotonic_regression

    both = [isotonic_regression(counts, increasing=rises).x for rises in (False, True)]
    misses = [float(((counts - one) ** 2).sum()) for one in both]
    best = int(misses[1] < misses[0])
    is_explained = misses[best] <= _EXPLAINED * len(counts) * scale**2
    return np.asarray(both[best]) if is_explained else otherwise


def _merge_neighbours(masses: Floats, kinds: Integers, most: int, least: float) -> Integers:
    target = max(_share_of_a_group(masses, most), least)
    labels = np.empty(len(masses), np.int64)
    label, total = 0, 0.0
    for code, mass in enumerate(masses.tolist()):
        breaks = code > 0 and kinds[code] != kinds[code - 1]
        if breaks or total >= target or (mass >= target and total >= least / 2):
            label, total = label + 1, 0.0
        labels[code] = label
        total += mass
    return _numbered(labels)


def _share_of_a_group(masses: Floats, most: int) -> float:
    """Return the mass of a group when heaps have groups of their own."""
    heaps = np.zeros(len(masses), bool)
    share = masses.sum() / most
    for _ in range(_ROUNDS):
        more = heaps | (masses >= share)
        rest = most - int(more.sum())
        if rest <= 0 or (more == heaps).all():
            break
        heaps, share = more, masses[~more].sum() / rest
    return float(share)


def _numbered(labels: Integers) -> Integers:
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]
