"""How much places and times of persons give away: counts of an office's own trips."""

from __future__ import annotations

import zoneinfo
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tables.errors import DataError, RequestError
from tables.filtering.filters import quote
from tables.source.files import sql_text

if TYPE_CHECKING:
    from tables.source.source import Source

#: So many points of a person are drawn at most, and so many shared places told apart.
MOST_POINTS, MOST_SHARED = 8, 5
_NIGHT, _OFFICE = "h NOT BETWEEN 6 AND 21", "h BETWEEN 9 AND 16 AND d % 7 NOT IN (2, 3)"
_METRES = 111_195.0  # of a degree of latitude
_FARTHEST = 1e9
_THREE_WEEKS = 21  # a file as long is moved by whole weeks
_WEEKS = 200_000 * 604_800  # added to seconds since 1970, so that none is negative
_POINTS, _SAMPLE, _CELLS = "ckm_points", "ckm_sampled", "ckm_point_cells"


@dataclass(frozen=True, slots=True, kw_only=True)
class TripColumns:
    """The columns of trips: who, when, and where by coordinates or by a place's name.

    Parameters
    ----------
    person, time
        Whose point it is, and when: a column of times.
    x, y
        Coordinates in metres, or with `in_degrees` longitude and latitude.
    place
        The name of a place, instead of coordinates.
    in_degrees
        Whether coordinates are longitude and latitude.
    zone
        The zone whose clocks people live by, such as ``"Europe/Paris"``, where times have an
        offset; those without one are taken as local.
    """

    person: str
    time: str
    x: str | None = None
    y: str | None = None
    place: str | None = None
    in_degrees: bool = False
    zone: str | None = None

    def __post_init__(self) -> None:
        given = [self.x is not None, self.y is not None, self.place is None]
        if len(set(given)) > 1:
            raise RequestError(
                "Trips need two coordinates, or a place.",
                hint="name both columns of coordinates, or the one of places alone",
            )
        if self.zone is not None:
            try:
                zoneinfo.ZoneInfo(self.zone)
            except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError):
                raise RequestError(
                    f"There is no time zone {self.zone!r}.", hint="write it as Europe/Paris"
                ) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class TripCounts:
    """What is in the file.

    Parameters
    ----------
    rows, without, outside, repeated
        All rows; those without a person, time or place; those with coordinates that are none;
        those that repeat another.
    points, persons, persons_once
        The points that are left, their persons, and persons with one of them.
    days
        From the first day to the last.
    """

    rows: int
    without: int
    outside: int
    repeated: int
    points: int
    persons: int
    persons_once: int
    days: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GrainCounts:
    """What was counted at one grain of space.

    Parameters
    ----------
    metres
        The width of a cell; 0 for named places.
    alone
        Hours → number of points known → sampled persons with so many points, and those of
        them whom the points tell from all others.
    pairs
        Size of a group of persons with the same home, work, and both → persons in such groups.
    moves
        Sampled persons who moved twice or more, those whose last move was foretold by the
        moves before, and by the place they came to most.
    met
        Places shared in the same hour → sampled persons who shared so many with somebody.
    met_by_chance
        The same where everybody else is moved by whole weeks, or days; empty where the file is
        too short.
    sampled
        Persons in the sample.
    """

    metres: float
    alone: dict[float, dict[int, tuple[int, int]]]
    pairs: tuple[dict[int, int], dict[int, int], dict[int, int]]
    moves: tuple[int, int, int]
    met: tuple[int, ...]
    met_by_chance: tuple[int, ...]
    sampled: int


def count_trips(
    source: Source,
    columns: TripColumns,
    *,
    metres: Sequence[float],
    hours: Sequence[float],
    most_persons: int,
    seed: int,
    progress: Callable[[int, int], None] = lambda _done, _all: None,
) -> tuple[TripCounts, list[GrainCounts]]:
    """Count what the points of a sample of persons tell of them; no record leaves.

    Parameters
    ----------
    source
        The trips: a row a point.
    columns
        Its columns.
    metres, hours
        The grains of space, without meaning for named places, and those of time.
    most_persons
        How many persons are sampled.
    seed
        Of the sample and the points drawn.
    progress
        Called with the grains that are done, and all.
    """
    try:
        counts = _read_points(source, columns)
        if not counts.points:
            raise DataError(
                "No row has a person, a time and a place.", hint="look at the columns named"
            )
        source.create(
            _SAMPLE,
            f"SELECT p FROM (SELECT DISTINCT p FROM {_POINTS}) "
            f"ORDER BY md5($seed || ' ' || p), p LIMIT {int(most_persons)}",
            {"seed": str(int(seed))},
        )
        grains = list(metres) if columns.place is None else [0.0]
        found = []
        for done, width in enumerate(grains):
            progress(done, len(grains))
            grain = _count_grain(source, width, columns, hours, seed=seed, days=counts.days)
            found.append(grain)
        progress(len(grains), len(grains))
    finally:
        for name in (_POINTS, _SAMPLE):
            source.fetch(f"DROP TABLE IF EXISTS {name}")
    return counts, found


def _read_points(source: Source, columns: TripColumns) -> TripCounts:
    """Keep person, local second and coordinates of every point, each once."""
    when = _local(source, columns)
    numbers = [name for name in (columns.x, columns.y) if name is not None]
    for name in numbers:
        source.require(name)
        if source.kinds[name] not in {"integer", "number"}:
            raise RequestError(f"The coordinates in {name!r} are no numbers.")
    if columns.place is not None:
        source.require(columns.place)
        where, is_there = "dense_rank() OVER (ORDER BY w) AS x, 0.0 AS y", "true"
        raw = f"{quote(columns.place)} AS w, 0.0 AS a, 0.0 AS b"
    else:
        most = (180.0, 90.0) if columns.in_degrees else (_FARTHEST, _FARTHEST)
        is_there = f"abs(a) <= {most[0]} AND abs(b) <= {most[1]}"
        a, b = (f"{quote(name)}::DOUBLE" for name in numbers)
        where, raw = "a AS x, b AS y", f"{a} + {b} AS w, {a} AS a, {b} AS b"
    source.require(columns.person)
    given = f"SELECT {quote(columns.person)} AS who, {when} AS t, {raw} FROM {source.relation}"
    is_whole = "who IS NOT NULL AND t IS NOT NULL AND w IS NOT NULL"
    rows, without, outside = source.fetch(
        f"SELECT count(*), count(*) FILTER (NOT ({is_whole})), "
        f"count(*) FILTER ({is_whole} AND NOT ({is_there})) FROM ({given})"
    )[0]
    source.create(
        _POINTS,
        f"SELECT DISTINCT dense_rank() OVER (ORDER BY who)::INTEGER AS p, t::BIGINT AS t, "
        f"{where} FROM ({given}) WHERE {is_whole} AND {is_there}",
        {},
    )
    points, persons, once, days = source.fetch(
        "SELECT coalesce(sum(n), 0)::BIGINT, count(*), count(*) FILTER (n = 1), "
        "coalesce(max(l) - min(f) + 1, 0) FROM (SELECT count(*) AS n, "
        f"min(t // 86400) AS f, max(t // 86400) AS l FROM {_POINTS} GROUP BY p)"
    )[0]
    return TripCounts(
        rows=rows,
        without=without,
        outside=outside,
        repeated=rows - without - outside - points,
        points=points,
        persons=persons,
        persons_once=once,
        days=days,
    )


def _local(source: Source, columns: TripColumns) -> str:
    """Return the SQL of the second on the clocks that people live by."""
    name, kind = quote(columns.time), source.require(columns.time)
    has_offset = kind == "TIMESTAMP WITH TIME ZONE"
    if not kind.startswith("TIMESTAMP"):
        raise RequestError(
            f"The times in {columns.time!r} are {kind}, no times of a day.",
            hint="convert the column to timestamps",
        )
    if has_offset != (columns.zone is not None):
        raise RequestError(
            f"The times in {columns.time!r} have an offset, and no zone is named."
            if has_offset
            else f"The times in {columns.time!r} have no offset: they are taken as local.",
            hint="name the zone whose clocks people live by, such as Europe/Paris"
            if has_offset
            else "leave the zone out, or give times with an offset",
        )
    moment = f"{name}::TIMESTAMP"
    if columns.zone is not None:
        moment = f"{name} AT TIME ZONE {sql_text(columns.zone)}"
    return f"CASE WHEN isfinite({moment}) THEN floor(epoch({moment})) + {_WEEKS} END"


def _count_grain(
    source: Source,
    metres: float,
    columns: TripColumns,
    hours: Sequence[float],
    *,
    seed: int,
    days: int,
) -> GrainCounts:
    """Put points into cells of one width, and count."""
    across, up = "x::BIGINT", "0"
    if columns.place is None:
        up = f"floor(y * {_METRES if columns.in_degrees else 1.0} / {metres})::BIGINT"
        scale = "1.0"
        if columns.in_degrees:  # as wide as high, by the latitude of the row of cells
            scale = f"{_METRES} * cos(radians(({up} + 0.5) * {metres / _METRES}))"
        across = f"floor(x * {scale} / {metres})::BIGINT"
    source.create(
        _CELLS,
        f"SELECT p, t, {across} * 4294967296 + {up} AS c, t // 86400 AS d, "
        f"t % 86400 // 3600 AS h FROM {_POINTS}",
        {},
    )
    try:
        return GrainCounts(
            metres=metres,
            alone={hour: _alone(source, hour, seed) for hour in hours},
            pairs=_pairs(source),
            moves=_moves(source),
            met=_met(source, "0"),
            met_by_chance=_met(source, shift) if (shift := _shift(days, seed)) else (),
            sampled=source.fetch(f"SELECT count(*) FROM {_SAMPLE}")[0][0],
        )
    finally:
        source.fetch(f"DROP TABLE {_CELLS}")


def _alone(source: Source, hours: float, seed: int) -> dict[int, tuple[int, int]]:
    """Count sampled persons whom points drawn of their own tell from all others.

    Of each, points are drawn in an order. What decides is the longest beginning of it that
    somebody else shares.
    """
    rows = source.fetch(
        f"""WITH points AS MATERIALIZED (
            SELECT DISTINCT p, c, t // {round(hours * 3600)} AS s FROM {_CELLS}
        ), drawn AS (
            SELECT *, row_number() OVER (
                PARTITION BY p ORDER BY md5(concat_ws(' ', $seed, p, c, s)), c, s
            ) - 1 AS k
            FROM points SEMI JOIN {_SAMPLE} USING (p) QUALIFY k < {MOST_POINTS}
        ), shared AS (
            SELECT a.p, bit_or(1 << a.k) AS m FROM drawn AS a JOIN points AS b
            ON a.c = b.c AND a.s = b.s AND a.p <> b.p GROUP BY a.p, b.p
        ), longest AS (
            SELECT p, max(bit_count(m & ~(m + 1))) AS l FROM shared GROUP BY p
        ), own AS (SELECT p, count(*) AS n FROM drawn GROUP BY p)
        SELECT n, coalesce(l, 0), count(*) FROM own LEFT JOIN longest USING (p) GROUP BY ALL""",
        {"seed": str(int(seed))},
    )
    return {
        known: (
            sum(many for n, _, many in rows if n >= known),
            sum(many for n, longest, many in rows if n >= known > longest),
        )
        for known in range(2, MOST_POINTS + 1)
    }


def _pairs(source: Source) -> tuple[dict[int, int], dict[int, int], dict[int, int]]:
    """Count persons by how many have their home, work, and both; home is where nights are.

    The place with most hours from 22 to 6, and of the others that with most hours from 9 to 17
    on Mondays to Fridays.
    """

    def most(when: str) -> str:
        return f"""SELECT p, first(c ORDER BY n DESC, c) AS c FROM (
            SELECT p, c, count(DISTINCT (d, h)) AS n FROM {_CELLS} AS o WHERE {when}
            GROUP BY p, c) GROUP BY p"""

    elsewhere = "NOT EXISTS (FROM homes WHERE homes.p = o.p AND homes.c = o.c)"
    rows = source.fetch(
        f"""WITH homes AS MATERIALIZED ({most(_NIGHT)}),
        work AS ({most(f"{_OFFICE} AND {elsewhere}")}), crowds AS (
            SELECT grouping(homes.c) AS a, grouping(work.c) AS b, count(*) AS n
            FROM homes JOIN work USING (p)
            GROUP BY GROUPING SETS ((homes.c), (work.c), (homes.c, work.c))
        ) SELECT a, b, n, sum(n)::BIGINT FROM crowds GROUP BY ALL ORDER BY n"""
    )
    home, work, both = (
        {n: persons for *of, n, persons in rows if of == wanted}
        for wanted in ([0, 1], [1, 0], [0, 0])
    )
    return home, work, both


def _moves(source: Source) -> tuple[int, int, int]:
    """Count sampled persons whose last move others of theirs foretell."""
    counted: tuple[int, int, int] = source.fetch(
        f"""WITH stays AS (
            SELECT p, t, c, lag(c) OVER (PARTITION BY p ORDER BY t, c) AS b
            FROM (SELECT DISTINCT p, t, c FROM {_CELLS} SEMI JOIN {_SAMPLE} USING (p))
        ), moves AS (
            SELECT *, row_number() OVER (PARTITION BY p ORDER BY t DESC, c DESC) AS k
            FROM stays WHERE b <> c
        ), often AS (
            SELECT p, b, c, count(*) AS n FROM moves WHERE k > 1 GROUP BY ALL
        ), places AS (
            SELECT p, c, sum(n) AS n FROM often GROUP BY ALL
        ), usual AS (
            SELECT p, first(c ORDER BY n DESC, c) AS next FROM places GROUP BY p
        ), final AS (
            SELECT m.p, any_value(m.c) AS c,
            first(o.c ORDER BY o.n DESC, o.c) FILTER (o.b = m.b) AS next
            FROM moves AS m JOIN often AS o USING (p) WHERE m.k = 1 GROUP BY m.p
        ) SELECT count(*), count(*) FILTER (f.c = coalesce(f.next, u.next)),
        count(*) FILTER (f.c = u.next) FROM final AS f JOIN usual AS u USING (p)"""
    )[0]
    return counted


def _shift(days: int, seed: int) -> str:
    """Return the SQL of how many days a person is moved by; none where there are too few."""
    step = 7 if days >= _THREE_WEEKS else 1
    turns = days // step
    if turns < 2:
        return ""
    drawn = f"md5_number_lower(concat_ws(' ', 'shift', {int(seed)}, p)) % {turns - 1}"
    return f"({step} * (1 + {drawn}))::BIGINT"


def _met(source: Source, shift: str) -> tuple[int, ...]:
    """Count sampled persons by the places they shared, in the same hour, with one other."""
    first, last = source.fetch(f"SELECT min(d), max(d) FROM {_CELLS}")[0]
    moved = f"{first} + (d - {first} + {shift}) % {last - first + 1}"
    rows = source.fetch(
        f"""WITH points AS MATERIALIZED (SELECT DISTINCT p, c, d, h FROM {_CELLS}),
        others AS (SELECT p, c, {moved} AS d, h FROM points), shared AS (
            SELECT a.p, count(DISTINCT a.c) AS n
            FROM (FROM points SEMI JOIN {_SAMPLE} USING (p)) AS a JOIN others AS b
            ON a.c = b.c AND a.d = b.d AND a.h = b.h AND a.p <> b.p GROUP BY a.p, b.p
        ), most AS (SELECT least(max(n), {MOST_SHARED}) AS n FROM shared GROUP BY p)
        SELECT n, count(*) FROM most GROUP BY n"""
    )
    return tuple(
        sum(many for most, many in rows if most >= least) for least in range(1, MOST_SHARED + 1)
    )
