"""What a swap moved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

    from tables.swapping.homes import Homes
    from tables.swapping.match import Matches

__all__ = ["SwapReport"]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SwapReport:
    """Tell how many households and records a swap moved; for inside use only.

    Its numbers are counts of records, unprotected, and knowing how many households moved helps
    whoever looks for those that did not: neither report nor parameters are published.

    Parameters
    ----------
    geography
        The levels, from broad to fine. All tuples that follow have one number per level.
    needed
        Households at risk, by the broadest level where they are.
    moved_as_needed
        Of these, households that changed their area of that level.
    moved_less_far
        Of these, households that found nobody there and changed a finer area.
    not_moved
        Of these, households that found nobody at all.
    distance
        All households that moved, by the broadest level of which the area changed.
    by_profile
        All households that moved, by the profile that was used; where any size was allowed,
        the last number is of households that met one of any size.
    households, records
        How many there are.
    moved_households, moved_records
        How many of them moved.

    Examples
    --------
    >>> report = SwapReport(
    ...     geography=("region",),
    ...     needed=(2,),
    ...     moved_as_needed=(2,),
    ...     moved_less_far=(0,),
    ...     not_moved=(0,),
    ...     distance=(4,),
    ...     by_profile=(4,),
    ...     households=40,
    ...     records=80,
    ...     moved_households=4,
    ...     moved_records=7,
    ... )
    >>> report, report.share
    (SwapReport(1 levels), 0.1)
    """

    geography: tuple[str, ...]
    needed: tuple[int, ...]
    moved_as_needed: tuple[int, ...]
    moved_less_far: tuple[int, ...]
    not_moved: tuple[int, ...]
    distance: tuple[int, ...]
    by_profile: tuple[int, ...]
    households: int
    records: int
    moved_households: int
    moved_records: int

    @property
    def share(self) -> float:
        """The share of households that moved."""
        return self.moved_households / self.households

    @property
    def share_of_records(self) -> float:
        """The share of records that moved."""
        return self.moved_records / self.records

    def to_frame(self) -> pd.DataFrame:
        """Give one line per level of geography.

        Examples
        --------
        >>> import pyarrow as pa, tempfile
        >>> from tables import open_source
        >>> from tables.swapping import swap_records
        >>> people = pa.table({"id": range(8), "town": ["a", "b"] * 4, "age": [1, 1, 2, 3] * 2})
        >>> with open_source(people) as source:
        ...     report = swap_records(
        ...         source,
        ...         household="id",
        ...         geography=["town"],
        ...         risk=["age"],
        ...         k=3,
        ...         rate=0,
        ...         seed=1,
        ...         path=tempfile.mkdtemp() + "/swapped.parquet",
        ...     )
        >>> report.to_frame()[["level", "needed", "moved_as_needed", "distance"]]
          level  needed  moved_as_needed  distance
        0  town       8                8         8
        """
        import pandas as pd

        names = ["needed", "moved_as_needed", "moved_less_far", "not_moved", "distance"]
        return pd.DataFrame(
            {"level": self.geography} | {name: getattr(self, name) for name in names}
        )

    def __repr__(self) -> str:
        return f"SwapReport({len(self.geography)} levels)"


def make_report(
    homes: Homes, matches: Matches, *, geography: tuple[str, ...], k: int, n_profiles: int
) -> SwapReport:
    """Count what moved."""
    n_levels = len(geography)
    is_moved = matches.partner >= 0
    there = np.where(is_moved, homes.area[matches.partner], homes.area)
    changed = homes.paths[there] != homes.paths[homes.area]
    reached = np.where(is_moved, changed.argmax(axis=1), n_levels)
    is_risky = (homes.rarest < k).T
    need = np.where(is_risky.any(axis=1), is_risky.argmax(axis=1), n_levels)

    def by_level(which: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> tuple[int, ...]:
        return tuple(np.bincount(which, minlength=n_levels + 1)[:n_levels].tolist())

    used = np.bincount(matches.profile[is_moved], minlength=n_profiles)
    return SwapReport(
        geography=geography,
        needed=by_level(need),
        moved_as_needed=by_level(need[reached <= need]),
        moved_less_far=by_level(need[(reached > need) & is_moved]),
        not_moved=by_level(need[~is_moved]),
        distance=by_level(reached),
        by_profile=tuple(used.tolist()),
        households=len(homes),
        records=int(homes.size.sum()),
        moved_households=int(is_moved.sum()),
        moved_records=int(homes.size[is_moved].sum()),
    )
