"""Swap records, from a source to a new file."""

from __future__ import annotations

import logging
import os
import time
from typing import TYPE_CHECKING

import numpy as np

from footing.files import new_file
from tables.errors import SourceError
from tables.filtering.filters import quote
from tables.swapping.homes import read_homes
from tables.swapping.match import match
from tables.swapping.plan import SwapPlan, draw_secret, read_columns, read_profiles
from tables.swapping.report import make_report

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from footing.arrays import Integers
    from tables.secret import Secret
    from tables.source.source import Source
    from tables.swapping.report import SwapReport

logger = logging.getLogger(__name__)


def swap_records(
    source: Source,
    *,
    household: str,
    geography: Sequence[str],
    risk: Sequence[str],
    path: str | os.PathLike[str],
    similar: Sequence[Sequence[str]] = ((),),
    k: int = 3,
    rate: float = 0.05,
    any_size: bool = False,
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
    )
    key = draw_secret(seed, secret)
    plan.require_fit(source)
    started = time.perf_counter()
    report_progress = progress if progress is not None else _silent
    areas, names = source.new_name("ckm_swap_areas"), source.new_name("ckm_swap_homes")
    moves = source.new_name("ckm_swap_moves")
    with new_file(path, error=SourceError, overwrite=overwrite) as draft:
        try:
            homes = read_homes(source, plan, secret=key, areas=areas, homes=names)
            report_progress(0.4)
            matches = match(
                homes,
                k=k,
                rate=rate,
                any_size=any_size,
                progress=_part(report_progress, 0.4, 0.7),
            )
            _keep_moves(source, moves, homes.area, matches.partner)
            source.copy(
                _swapped_sql(source, plan, areas=areas, homes=names, moves=moves),
                {},
                os.fspath(draft),
                progress=_part(report_progress, 0.7, 1.0),
            )
        finally:
            for name in (moves, names, areas):
                source.fetch(f"DROP TABLE IF EXISTS {name}")
    report_progress(1.0)
    logger.info("records swapped in %.1f s", time.perf_counter() - started)
    return make_report(
        homes,
        matches,
        geography=plan.geography,
        k=k,
        n_profiles=len(plan.similar) + any_size,
    )


def _keep_moves(source: Source, name: str, area: Integers, partner: Integers) -> None:
    import pyarrow as pa

    number = np.flatnonzero(partner >= 0)
    source.keep(name, pa.table({"number": number, "area": area[partner[number]]}))


def _swapped_sql(source: Source, plan: SwapPlan, *, areas: str, homes: str, moves: str) -> str:
    columns = [quote(column) for column in plan.geography]
    new = ", ".join(
        f"CASE WHEN n.home IS NULL THEN r.{column} ELSE n.g{place} END AS {column}"
        for place, column in enumerate(columns)
    )
    given = ", ".join(f"a.g{place}" for place in range(len(columns)))
    return f"""
        SELECT r.* REPLACE ({new}) FROM {source.records} r LEFT JOIN (
            SELECT h.home, {given} FROM {moves} m
            JOIN {homes} h ON h.number = m.number JOIN {areas} a ON a.area = m.area
        ) n ON n.home = r.{quote(plan.household)}"""


def _silent(share: float) -> None:
    """Tell nobody."""


def _part(
    report_progress: Callable[[float], None], least: float, most: float
) -> Callable[[float], None]:
    """Tell the progress of one step as a part of the whole."""
    return lambda share: report_progress(least + share * (most - least))
