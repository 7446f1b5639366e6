"""Swap records, from a source to a new file, and tell what moved."""

from __future__ import annotations

import logging
import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from footing.files import new_file
from tables.errors import SourceError
from tables.file_digest import add_digest
from tables.filtering.filters import quote
from tables.swapping.homes import read_homes
from tables.swapping.match import match
from tables.swapping.plan import SwapPlan, draw_secret, read_columns, read_profiles

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd

    from footing.arrays import Integers
    from tables.secret import Secret
    from tables.source.source import Source
    from tables.swapping.homes import Homes
    from tables.swapping.match import Matches

logger = logging.getLogger(__name__)


def swap_records(
    source: Source,
    *,
    household: str,
    geography: Sequence[str],
    risk: Sequence[str] = (),
    path: str | os.PathLike[str],
    similar: Sequence[Sequence[str]] = ((),),
    k: int = 3,
    rate: float = 0.05,
    any_size: bool = False,
    carry_along: Sequence[str] = (),
    risk_values: Sequence[str] = (),
    risk_threshold: float | None = None,
    seed: int | None = None,
    secret: Secret | None = None,
    overwrite: bool = False,
    progress: Callable[[float], None] | None = None,
) -> SwapReport:
    """Write a Parquet copy of the records in which some households have changed places.

    Households of which fewer than `k` records in an area look like a member change places with
    similar ones of another area, further ones until `rate` is met. Nothing but geography
    changes, and each household moves at most once.

    Parameters
    ----------
    source
        The records.
    household
        Column of the household's identifier. Where it is unique, every record is a household.
    geography
        Columns of areas, from broad to fine.
    risk
        Columns whose combinations make a record easy to find in its area.
    path
        The Parquet file to write; it appears complete or not at all. The order of its records
        means nothing.
    similar
        Profiles: lists of columns, tried in turn. Partners have as many records, and their
        records agree in the columns of the profile, in any order; ``[]`` asks for nothing more.
    k
        The least number of alike records in an area; 0 and 1 find nobody at risk.
    rate
        The least share of households that move, those at risk among them.
    any_size
        Take a household of another size as a last resort, which changes how many records an
        area has.
    carry_along
        Further columns of the place, such as a grid cell, that move with the geography; the
        records of a household agree in them.
    risk_values, risk_threshold
        Instead of `risk`: columns of risks computed elsewhere, one for all areas or one for
        each of `geography`, and the risk from which on a household has to move. The higher the
        risk of a household, the likelier it is chosen otherwise.
    seed
        What the draws are made from.
    secret
        A secret to make the draws from, instead of a seed.
    overwrite
        Replace the file if it exists.
    progress
        Called with the share done.

    Returns
    -------
    SwapReport
        What moved, for inside use only.

    Raises
    ------
    RequestError
        If columns are missing or the parameters contradict each other.
    DataError
        If there is no record or only one area, if geography or a household is missing, or if a
        household lives in several areas.
    SourceError
        If the file exists or cannot be written.

    Notes
    -----
    A household at risk at several levels moves across the broadest of them. Its partner comes
    from the same area of the level above where there is one, else from further away. Missing
    values of `risk` and `similar` are a category of their own. An area has as many households
    of every size as before, and every table without geography is what it was, unless
    `any_size` is set for the first.

    The draws hang on the identifier and the seed or secret alone, so that neither the order of
    the records nor the machine changes who moves.

    References
    ----------
    J. Gussenbauer, Targeted record swapping, vignette of the R package sdcMicro; the method of
    the Office for National Statistics and of the Eurostat census recommendations of 2021.

    Examples
    --------
    >>> import pyarrow as pa, tempfile
    >>> from tables import open_source
    >>> file = tempfile.mkdtemp() + "/swapped.parquet"
    >>> people = pa.table(
    ...     {"id": range(40), "town": ["a", "b"] * 20, "age": list(range(20)) * 2}
    ... )
    >>> with open_source(people) as source:
    ...     report = swap_records(
    ...         source,
    ...         household="id",
    ...         geography=["town"],
    ...         risk=["age"],
    ...         k=2,
    ...         rate=0.2,
    ...         seed=1,
    ...         path=file,
    ...     )
    >>> report.share
    0.2
    """
    plan = SwapPlan(
        household=household,
        geography=read_columns(geography, name="geography"),
        risk=read_columns(risk, name="risk"),
        similar=read_profiles(similar),
        k=k,
        rate=rate,
        any_size=any_size,
        carry_along=read_columns(carry_along, name="carry_along"),
        risk_values=read_columns(risk_values, name="risk_values"),
        risk_threshold=risk_threshold,
    )
    key = draw_secret(seed, secret)
    plan.require_fit(source)
    source.warn_of_copy()
    started = time.perf_counter()
    report_progress = progress if progress is not None else _silent
    areas, names = source.new_name("ckm_swap_areas"), source.new_name("ckm_swap_homes")
    moves = source.new_name("ckm_swap_moves")
    with new_file(path, error=SourceError, overwrite=overwrite) as draft:
        try:
            homes = read_homes(source, plan, secret=key, areas=areas, homes=names)
            report_progress(0.4)
            matches = match(homes, plan, progress=_part(report_progress, 0.4, 0.7))
            _keep_moves(source, moves, homes.area, matches.partner)
            source.copy(
                _swapped_sql(source, plan, areas=areas, homes=names, moves=moves),
                {},
                os.fspath(draft),
                progress=_part(report_progress, 0.7, 1.0),
            )
            add_digest(draft)
        finally:
            for name in (moves, names, areas):
                source.fetch(f"DROP TABLE IF EXISTS {name}")
    report_progress(1.0)
    logger.info("records swapped in %.1f s", time.perf_counter() - started)
    return make_report(homes, matches, plan)


def _keep_moves(source: Source, name: str, area: Integers, partner: Integers) -> None:
    number = np.flatnonzero(partner >= 0)
    other = partner[number]
    source.keep(name, pa.table({"number": number, "area": area[other], "partner": other}))


def _swapped_sql(source: Source, plan: SwapPlan, *, areas: str, homes: str, moves: str) -> str:
    columns = [quote(column) for column in plan.geography]
    new = ", ".join(
        f"CASE WHEN n.home IS NULL THEN r.{column} ELSE n.g{place} END AS {column}"
        for place, column in enumerate(columns)
    )
    columns_sql = ", ".join(f"a.g{place}" for place in range(len(columns)))
    carried = [quote(column) for column in plan.carry_along]
    for place, column in enumerate(carried):
        new += f", CASE WHEN n.home IS NULL THEN r.{column} ELSE n.x{place} END AS {column}"
    columns_sql += "".join(f", p.x{place}" for place in range(len(carried)))
    return f"""
        SELECT r.* REPLACE ({new}) FROM {source.records} r LEFT JOIN (
            SELECT h.home, {columns_sql} FROM {moves} m
            JOIN {homes} h ON h.number = m.number JOIN {areas} a ON a.area = m.area
            JOIN {homes} p ON p.number = m.partner
        ) n ON n.home = r.{quote(plan.household)}"""


def _silent(share: float) -> None:
    """Tell nobody."""


def _part(
    report_progress: Callable[[float], None], least: float, most: float
) -> Callable[[float], None]:
    """Tell the progress of one step as a part of the whole."""
    return lambda share: report_progress(least + share * (most - least))


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


def make_report(homes: Homes, matches: Matches, plan: SwapPlan) -> SwapReport:
    """Count what moved."""
    n_levels = len(plan.geography)
    is_moved = matches.partner >= 0
    there = np.where(is_moved, homes.area[matches.partner], homes.area)
    differs = homes.paths[there] != homes.paths[homes.area]
    level = np.where(is_moved, differs.argmax(axis=1), n_levels)
    is_risky = (homes.rarest < plan.limit).T
    need = np.where(is_risky.any(axis=1), is_risky.argmax(axis=1), n_levels)

    def by_level(which: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> tuple[int, ...]:
        return tuple(np.bincount(which, minlength=n_levels + 1)[:n_levels].tolist())

    n_profiles = len(plan.similar) + plan.any_size
    counts = np.bincount(matches.profile[is_moved], minlength=n_profiles)
    return SwapReport(
        geography=plan.geography,
        needed=by_level(need),
        moved_as_needed=by_level(need[level <= need]),
        moved_less_far=by_level(need[(level > need) & is_moved]),
        not_moved=by_level(need[~is_moved]),
        distance=by_level(level),
        by_profile=tuple(counts.tolist()),
        households=len(homes),
        records=int(homes.size.sum()),
        moved_households=int(is_moved.sum()),
        moved_records=int(homes.size[is_moved].sum()),
    )
