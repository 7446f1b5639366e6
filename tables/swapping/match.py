"""Who changes places with whom."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from footing.arrays import Floats, Integers, Words
from tables.swapping.homes import Homes
from tables.swapping.plan import SwapPlan

_GOLDEN = 0x9E3779B97F4A7C15
_LOG_BEND = 0.3431  # log2(1 + f) is f + 0.3431 f (1 - f), to within 0.008


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Matches:
    """Who changes places with whom; for inside use only.

    Parameters
    ----------
    partner
        Per household, the one whose place it takes, -1 where it stays.
    profile
        Per household, the place of the profile in which both agree, -1 where it stays.
    """

    partner: Integers
    profile: Integers


def match(homes: Homes, plan: SwapPlan, *, progress: Callable[[float], None]) -> Matches:
    """Find a partner in another area for every risky household, then for others up to a rate.

    Levels are served from broad to fine. At each, risky households seek a partner in another
    area of that level: first within the area above, then in wider ones, there by one profile
    after the other. Risky donors come first, then others, the rarer the likelier, by an
    exponential race. Who finds nobody tries again at the next level.

    Afterwards households are called until the rate is met: from each area in proportion to
    its households, the rarer the likelier.
    """
    pairing = _Pairing(homes, k=plan.limit, any_size=plan.any_size)
    n_levels = homes.paths.shape[1]
    for level in range(n_levels):
        order = np.argsort(pairing.waits(2 * level) * homes.rarest[level], kind="stable")
        risky = order[homes.rarest[level][order] < plan.limit]
        pairing.serve(risky.tolist(), level=level, most=len(homes))
        progress((level + 1) / (n_levels + 1))
    most = math.floor(plan.rate * len(homes) + 1e-9)
    if pairing.n_moved + 2 <= most:
        pairing.serve(_called(pairing, homes).tolist(), level=n_levels - 1, most=most)
    progress(1.0)
    return Matches(partner=np.array(pairing.partner), profile=np.array(pairing.profile))


def _called(pairing: _Pairing, homes: Homes) -> Integers:
    """Order the households that stay so that each area's share of those called is its size."""
    n_areas = len(homes.paths)
    is_left = np.array(pairing.partner) < 0
    wait = pairing.waits(2 * homes.paths.shape[1]) * homes.rarest[-1]
    order = np.lexsort((wait, homes.area))
    order = order[is_left[order]]
    n_moves = np.bincount(homes.area[~is_left], minlength=n_areas)
    size = np.bincount(homes.area, minlength=n_areas)
    area = homes.area[order]
    starts = np.searchsorted(area, np.arange(n_areas))
    turn = n_moves[area] + np.arange(len(order)) - starts[area]
    return order[np.argsort((turn + 0.5) / size[area], kind="stable")]


class _Pairing:
    """The pairs so far."""

    def __init__(self, homes: Homes, *, k: float, any_size: bool) -> None:
        self.homes = homes
        self.k = k
        self.partner = [-1] * len(homes)
        self.profile = [-1] * len(homes)
        self.n_moved = 0
        self._alike = [[profile, homes.size] for profile in homes.profiles]
        if any_size:
            self._alike.append([np.zeros_like(homes.size)])

    def serve(self, seekers: list[int], *, level: int, most: int) -> None:
        """Find partners in other areas of a level, until so many households have moved."""
        for scope in range(level, -1, -1):
            within = [self.homes.paths[self.homes.area, scope - 1]] if scope else []
            for place, alike in enumerate(self._alike):
                seekers = [home for home in seekers if self.partner[home] < 0]
                if not seekers or self.n_moved + 2 > most:
                    return
                donors = self._donors([*within, *alike], seekers, level)
                self._pair(seekers, donors, place, most)

    def _pair(self, seekers: Iterable[int], donors: _Donors, place: int, most: int) -> None:
        for home in seekers:
            if self.n_moved + 2 > most:
                return
            if self.partner[home] >= 0:
                continue
            donor = donors.best_for(home)
            if donor >= 0:
                self.partner[home], self.partner[donor] = donor, home
                self.profile[home] = self.profile[donor] = place
                self.n_moved += 2

    def _donors(self, columns: Iterable[Integers], seekers: list[int], level: int) -> _Donors:
        group = _group(columns)
        rarest, area = self.homes.rarest[level], self.homes.paths[self.homes.area, level]
        is_sought = np.zeros(int(group.max()) + 1, np.bool_)
        is_sought[group[seekers]] = True
        open_ = np.flatnonzero(is_sought[group] & (np.array(self.partner) < 0))
        wait = (self.waits(2 * level + 1) * rarest)[open_]
        order = np.lexsort((wait, rarest[open_] >= self.k))
        return _Donors(open_[order], group=group, area=area, partner=self.partner)

    def waits(self, stream: int) -> Floats:
        """Draw a waiting time per household, exponential and the same on every machine.

        The logarithm of a machine may differ from another's in its last digit; sums and
        products do not.
        """
        bits = _mix(self.homes.draw + np.uint64((stream + 1) * _GOLDEN % 2**64))
        fraction, exponent = np.frexp(((bits >> np.uint64(11)) + np.uint64(1)) * 2.0**-53)
        part = 2 * fraction - 1
        wait: Floats = 1 - exponent - part * (1 + _LOG_BEND * (1 - part))
        return wait


class _Donors:
    """Open households by group and area, the best first."""

    def __init__(
        self, order: Integers, *, group: Integers, area: Integers, partner: list[int]
    ) -> None:
        self._partner = partner
        self._group = group.tolist()
        self._area = area.tolist()
        rank = np.arange(len(order))
        by_run = np.lexsort((rank, area[order], group[order]))
        sorted_ = order[by_run]
        is_first = np.ones(len(sorted_), np.bool_)
        is_first[1:] = (np.diff(group[sorted_]) != 0) | (np.diff(area[sorted_]) != 0)
        starts = np.flatnonzero(is_first)
        self._ranks = by_run.tolist()
        self._homes = sorted_.tolist()
        self._ends = [*starts[1:].tolist(), len(sorted_)]
        #: group → heap of (rank of the head, place of the head, end) per area
        self._heaps: dict[int, list[tuple[int, int, int]]] = {}
        for start, end in zip(starts.tolist(), self._ends, strict=True):
            heap = self._heaps.setdefault(self._group[self._homes[start]], [])
            heap.append((self._ranks[start], start, end))
        for heap in self._heaps.values():
            heapq.heapify(heap)

    def best_for(self, home: int) -> int:
        """Return the best open household of the same group in another area, or -1."""
        heap = self._heaps[self._group[home]]
        own, aside, best = self._area[home], None, -1
        while heap:
            _, place, end = heap[0]
            donor = self._homes[place]
            if self._partner[donor] >= 0:
                self._advance(heap, place, end)
            elif self._area[donor] == own:
                aside = heapq.heappop(heap)
            else:
                best = donor
                break
        if aside is not None:
            heapq.heappush(heap, aside)
        return best

    def _advance(self, heap: list[tuple[int, int, int]], place: int, end: int) -> None:
        while place < end and self._partner[self._homes[place]] >= 0:
            place += 1
        if place == end:
            heapq.heappop(heap)
        else:
            heapq.heapreplace(heap, (self._ranks[place], place, end))


def _group(columns: Iterable[Integers]) -> Integers:
    """Give each combination of some columns a number."""
    numbers: Integers | None = None
    for column in columns:
        part = np.unique(column, return_inverse=True)[1]
        if numbers is None:
            numbers = part
        else:
            joint = numbers * (int(part.max()) + 1) + part
            numbers = np.unique(joint, return_inverse=True)[1]
    return np.asarray(numbers, np.int64)


def _mix(bits: Words) -> Words:
    """Scramble 64 bits one to one; the finish of splitmix64."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
