"""How dangerous an office's own trips are: counts of them, as shares with intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from footing.checks import require_number
from footing.messages import Message, Name
from footing.version import engine_version
from rappor.errors import RapporError
from reports.facts.mobility import GrainFact, MobilityFacts, ShareFact
from tables.mobility import count_trips

if TYPE_CHECKING:
    from tables.mobility import TripColumns
    from tables.source.source import Source

_MOST_GRAINS = 6


def audit_trips(
    source: Source,
    columns: TripColumns,
    *,
    metres: Sequence[float] = (250, 1000, 4000),
    hours: Sequence[float] = (1, 6, 24),
    most_persons: int = 1000,
    seed: int = 1,
    confidence: float = 0.95,
    title: str = "",
    progress: Callable[[int, int], None] = lambda _done, _all: None,
) -> MobilityFacts:
    """Measure what places and times tell of the persons of a file.

    Parameters
    ----------
    source
        The trips, a row a point.
    columns
        Its columns.
    metres, hours
        The widths of cells and the lengths of times, from fine to coarse.
    most_persons
        How many persons are sampled.
    seed
        Of the sample and the points drawn.
    confidence
        Of each interval.
    title
        Of the page.
    progress
        Called with the widths that are done, and all.

    Returns
    -------
    MobilityFacts
        What a page says of it: `reports.make_report`.

    Notes
    -----
    Intervals are those of Clopper and Pearson. A sample without replacement varies less than
    they allow for.

    References
    ----------
    de Montjoye, Hidalgo, Verleysen, Blondel (2013), Unique in the crowd. Golle, Partridge
    (2009), On the anonymity of home/work location pairs. Crandall et al. (2010), Inferring
    social ties from geographic coincidences.

    Examples
    --------
    >>> import datetime as dt
    >>> import pyarrow as pa
    >>> from tables import open_source
    >>> from tables.mobility import TripColumns
    >>> times = [dt.datetime(2027, 3, 1, hour) for hour in range(8)]
    >>> trips = pa.table({"who": ["a"] * 8 + ["b"] * 8, "at": times * 2, "where": ["x"] * 16})
    >>> with open_source(trips) as source:
    ...     facts = audit_trips(
    ...         source, TripColumns(person="who", time="at", place="where"), hours=[1]
    ...     )
    >>> facts.grains[0].alone[1][4].n, facts.grains[0].alone[1][4].base
    (0, 2)
    """
    require_number(confidence, "confidence", error=RapporError, above=0, below=1)
    for name, steps in (("metres", metres), ("hours", hours)):
        is_rising = all(fine < coarse for fine, coarse in pairwise(steps))
        if not 1 <= len(steps) <= _MOST_GRAINS or not is_rising:
            raise RapporError(
                Message(
                    "{name} must be up to {most_grains} numbers, fine to coarse.",
                    name=Name(name),
                    most_grains=_MOST_GRAINS,
                )
            )
        for step in steps:
            require_number(step, name, error=RapporError, minimum=1, maximum=1e6)
    counts, grains = count_trips(
        source,
        columns,
        metres=metres,
        hours=hours,
        most_persons=most_persons,
        seed=seed,
        progress=progress,
    )
    return MobilityFacts(
        title=title,
        version=engine_version(),
        seed=seed,
        confidence=confidence,
        grains=tuple(GrainFact(**_shares(grain, 1 - confidence)) for grain in grains),
        **counts,
    )


def _shares(grain: dict[str, Any], error: float) -> dict[str, Any]:
    """Turn how many of how many into shares, those of a sample with their intervals."""
    whole = {name: ShareFact(*grain[name]) for name in ("home", "work", "both")}
    sampled = {name: _share(*grain[name], error=error) for name in ("foretold", "usual")}
    meetings = {
        name: tuple(_share(*pair, error=error) for pair in grain[name])
        for name in ("met", "met_by_chance")
    }
    alone = {
        hours: {n_known: _share(*pair, error=error) for n_known, pair in cases.items()}
        for hours, cases in grain["alone"].items()
    }
    return {**grain, **whole, **sampled, **meetings, "alone": alone}


def _share(n: int, base: int, *, error: float) -> ShareFact:
    from scipy.stats import beta

    if not base:
        return ShareFact(0, 0)
    low = float(beta.ppf(error / 2, n, base - n + 1)) if n else 0.0
    high = float(beta.ppf(1 - error / 2, n + 1, base - n)) if n < base else 1.0
    return ShareFact(n, base, low, high)
