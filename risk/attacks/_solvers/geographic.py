"""Geographic differencing: the slivers between two zonings of the same people."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from risk.anonymity.groups import columns_of
from risk.distributions.noise_distributions import difference_law
from risk.errors import RiskError
from risk.reconstruction.differences import SliverLaw
from risk.wellformed import require_whole

if TYPE_CHECKING:
    import pandas as pd

    from ptable import PTable

    Zoning = Literal["old", "new"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sliver:
    """Hold a zone and zones of the other zoning that differ from it by few records.

    Parameters
    ----------
    zoning
        The zoning of `zone`; its `parts` are of the other.
    zone, parts
        The zone, and the zones taken from it.
    n_only_zone, n_only_parts
        Records in the zone but in none of its parts, and the reverse. For inside use only.
    zone_count, part_counts
        Original counts. For inside use only.
    """

    zoning: Zoning
    zone: Any
    parts: tuple[Any, ...]
    n_only_zone: int = field(repr=False)
    n_only_parts: int = field(repr=False)
    zone_count: int = field(repr=False)
    part_counts: tuple[int, ...] = field(repr=False)

    @property
    def is_nested(self) -> bool:
        """Whether the parts lie inside the zone, so that their difference is the sliver."""
        return self.n_only_parts == 0

    def law(self, ptable: PTable) -> SliverLaw:
        """Compute the law of the published count of the zone less those of its parts."""
        if not self.is_nested:
            raise RiskError("The parts must lie inside the zone; these reach beyond it.")
        law = difference_law(ptable, (self.zone_count, *self.part_counts), nested=True)
        return SliverLaw(difference=self.n_only_zone, law=law)


def find_slivers(old: Any, new: Any, *, largest: int) -> tuple[Sliver, ...]:
    """List the zones that differ from zones of the other zoning by few records.

    Parameters
    ----------
    old, new
        Per record its zone in either zoning; missing is a zone of its own.
    largest
        The largest number of records of a sliver, on either side.

    Returns
    -------
    tuple
        Pairs of zones that overlap and differ by 1 to `largest` records on the sides where
        they differ; then zones that differ by 1 to `largest` records from all the zones, two
        or more, that lie inside them. Sorted by zoning and zone.

    Notes
    -----
    Zones that hold the same records are no sliver: their published counts are equal and tell
    nothing. A zone inside another one stands as a part of the larger.

    Examples
    --------
    >>> found = find_slivers(list("AAAAAB"), list("aabbcc"), largest=1)
    >>> [(sliver.zone, sliver.parts) for sliver in found]
    [('A', ('a', 'b')), ('c', ('B',))]
    """
    require_whole(largest, name="largest", least=1)
    if len(old) != len(new):
        raise RiskError(f"Both zonings need one zone per record: {len(old)} and {len(new)}.")
    before, after = columns_of({"old": _plain(old), "new": _plain(new)}, ["old", "new"])
    width = len(after.categories)
    pairs, shared = np.unique(before.codes * width + after.codes, return_counts=True)
    a, b = pairs // width, pairs % width
    sizes = np.bincount(before.codes), np.bincount(after.codes)
    names = before.categories, after.categories
    only_a, only_b = sizes[0][a] - shared, sizes[1][b] - shared
    is_near = (np.maximum(only_a, only_b) <= largest) & (only_a + only_b > 0)

    def make(side: int, zone: int, parts: list[int], n_only_parts: int) -> Sliver:
        count, part_counts = int(sizes[side][zone]), sizes[1 - side][parts].tolist()
        return Sliver(
            zoning="new" if side else "old",
            zone=names[side][zone],
            parts=tuple(names[1 - side][part] for part in parts),
            n_only_zone=count - sum(part_counts) + int(n_only_parts),
            n_only_parts=int(n_only_parts),
            zone_count=count,
            part_counts=tuple(part_counts),
        )

    found = []
    for place in np.flatnonzero(is_near).tolist():
        # the larger is the zone; the old one where neither holds the other
        side = int(only_a[place] == 0)
        ends, rest = (a[place], b[place]), (only_a[place], only_b[place])
        found.append(make(side, ends[side], [ends[1 - side]], rest[1 - side]))
    for side, (zone, part, beyond) in enumerate(((a, b, only_b), (b, a, only_a))):
        is_inside = beyond == 0
        n_parts = np.bincount(zone[is_inside], minlength=len(sizes[side]))
        held = np.bincount(zone[is_inside], shared[is_inside], minlength=len(sizes[side]))
        left = sizes[side] - held.astype(np.int64)
        for one in np.flatnonzero((n_parts > 1) & (left > 0) & (left <= largest)).tolist():
            parts = part[is_inside & (zone == one)].tolist()
            found.append(make(side, one, parts, 0))
    found.sort(key=lambda s: (s.zoning == "new", str(s.zone), tuple(map(str, s.parts))))
    return tuple(found)


def slivers_frame(slivers: tuple[Sliver, ...]) -> pd.DataFrame:
    """Give one line per sliver; for inside use only."""
    import pandas as pd

    names = ["zoning", "zone", "parts", "n_only_zone", "n_only_parts", "is_nested"]
    return pd.DataFrame([[getattr(s, n) for n in names] for s in slivers], columns=names)


def _plain(zones: Any) -> Any:
    return zones.to_numpy() if hasattr(zones, "to_numpy") else list(zones)
