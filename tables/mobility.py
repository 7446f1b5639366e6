"""How much places and times of persons give away: counts of an office's own trips."""

from __future__ import annotations

import datetime as dt
import zoneinfo
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from footing.data_files import read_data
from footing.messages import Message, Name, said
from tables.errors import DataError, RequestError
from tables.filtering.filters import quote
from tables.source.files import sql_text
from tables.source.source import Source

if TYPE_CHECKING:
    import pyarrow as pa

#: So many points of a person are drawn at most, and so many shared places told apart.
MOST_POINTS, MOST_SHARED = 8, 5
_METRES = 111_195.0  # of a degree of latitude
_FARTHEST = 1e9
_THREE_WEEKS = 21  # a file as long is moved by whole weeks
_WEEKS = 200_000 * 604_800  # added to seconds since 1970, so that none is negative
_MONDAY = 3 * 86_400  # 1970 began on a Thursday: weeks begin on Mondays
_TABLES = ("ckm_points", "ckm_sampled", "ckm_cells_of_points")
_POINTS, _SAMPLE, _CELLS = _TABLES
_SQL = read_data(__package__, "mobility.toml")


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
        is_set = [self.x is not None, self.y is not None, self.place is None]
        if len(set(is_set)) > 1:
            raise RequestError(
                Message("Trips need two coordinates, or a place."),
                hint=Message("name both columns of coordinates, or the one of places alone"),
            )
        if self.zone is not None:
            try:
                zoneinfo.ZoneInfo(self.zone)
            except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError):
                raise RequestError(
                    Message("There is no time zone {zone!r}.", zone=Name(self.zone)),
                    hint=Message("write it as Europe/Paris"),
                ) from None


def count_trips(
    source: Source,
    columns: TripColumns,
    *,
    metres: Sequence[float],
    hours: Sequence[float],
    most_persons: int,
    seed: int,
    progress: Callable[[int, int], None] = lambda _done, _all: None,
) -> tuple[dict[str, int], list[dict[str, Any]]]:
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

    Returns
    -------
    tuple
        What was read, and what was found at each width of cells, under the names of
        `reports.facts.mobility`: how many, and of how many.
    """
    seed = int(seed)
    try:
        counts = _read_points(source, columns)
        if not counts["points"]:
            raise DataError(
                Message("No row has a person, a time and a place."),
                hint=Message("look at the columns named"),
            )
        _keep(source, _SAMPLE, "sample", seed=seed, most_persons=int(most_persons))
        counts["sampled"] = source.fetch(f"SELECT count(*) FROM {_SAMPLE}")[0][0]
        step = 7 if counts["days"] >= _THREE_WEEKS else 1
        turns = counts["days"] // step - 1
        shift = _SQL["shift"].format(step=step, turns=turns, seed=seed) if turns > 0 else ""
        by_grain = []
        grains = list(metres) if columns.place is None else [0.0]
        for done, width in enumerate(grains):
            progress(done, len(grains))
            _put_into_cells(source, width, in_degrees=columns.in_degrees)
            by_grain.append({"metres": width, **_count_grain(source, hours, shift, seed)})
        progress(len(grains), len(grains))
    finally:
        for name in _TABLES:
            source.fetch(f"DROP TABLE IF EXISTS {name}")
    return counts, by_grain


def draw_points(
    source: Source, columns: TripColumns, *, hours: int, key: str, rows: int = 2**16
) -> Iterator[pa.RecordBatch]:
    """Give one point of each person in each period, drawn by a key, period after period.

    Parameters
    ----------
    source
        The trips: a row a point.
    columns
        Its columns.
    hours
        The length of a period.
    key
        Letters and digits that nobody else knows: the same ones draw the same points.
    rows
        In a batch, at most.

    Yields
    ------
    pyarrow.RecordBatch
        The columns ``who``, ``period``, and ``x`` and ``y`` or ``place``.
    """
    if not key.isalnum():
        raise RequestError(Message("A key of points is made of letters and digits."))
    values, raw = _point_sql(source, columns)
    if columns.place is not None:
        values |= {"place": "w::VARCHAR", "picked": "drawn AS place"}
    else:
        values |= {
            "place": "struct_pack(a := a, b := b)",
            "picked": "drawn.a::DOUBLE AS x, drawn.b::DOUBLE AS y",
        }
    values.pop("where")
    seconds = int(hours) * 3600
    statement = _SQL["drawn"].format(
        given=raw, seconds=seconds, offset=_MONDAY, key=key, **values
    )
    yield from source.batches(statement, rows=rows)


def period_start(period: int, *, hours: int) -> dt.datetime:
    """Give the local time at which a period of `draw_points` begins.

    Examples
    --------
    >>> period_start(200_000, hours=168).isoformat()
    '1969-12-29T00:00:00'
    """
    seconds = int(period) * int(hours) * 3600 - _WEEKS - _MONDAY
    return dt.datetime(1970, 1, 1) + dt.timedelta(seconds=seconds)  # noqa: DTZ001 (local)


def hourly_points(
    source: Source, columns: TripColumns, *, most_persons: int, seed: int
) -> tuple[dict[str, int], pa.Table]:
    """Give where sampled persons were last in each hour, for methods that are tried on them.

    Parameters
    ----------
    source, columns
        As for `count_trips`.
    most_persons, seed
        Of the sample.

    Returns
    -------
    tuple
        What was read; and the columns ``person`` (numbered from 0), ``hour``, ``x`` and ``y``.
    """
    try:
        counts = _read_points(source, columns)
        if not counts["points"]:
            raise DataError(
                Message("No row has a person, a time and a place."),
                hint=Message("look at the columns named"),
            )
        _keep(source, _SAMPLE, "sample", seed=int(seed), most_persons=int(most_persons))
        return counts, source.arrow(_SQL["hourly"])
    finally:
        for name in _TABLES:
            source.fetch(f"DROP TABLE IF EXISTS {name}")


def _keep(source: Source, table: str, statement: str, **values: object) -> None:
    source.create(table, _SQL[statement].format(**values), {})


def _ask(source: Source, statement: str, **values: object) -> list[Any]:
    return source.fetch(_SQL[statement].format(**values))


def _read_points(source: Source, columns: TripColumns) -> dict[str, int]:
    """Keep person, local second and coordinates of every point, each once."""
    values, rows = _point_sql(source, columns)
    counts = dict(
        zip(
            ("rows", "without", "outside"),
            *_ask(source, "read", given=rows, **values),
            strict=True,
        )
    )
    _keep(source, _POINTS, "points", given=rows, **values)
    counts |= zip(
        ("points", "persons", "persons_once", "days"), *_ask(source, "persons"), strict=True
    )
    inside = counts["rows"] - counts["without"] - counts["outside"]
    return {**counts, "repeated": inside - counts["points"]}


def _point_sql(source: Source, columns: TripColumns) -> tuple[dict[str, str], str]:
    """Give parts of statements about points, and the SQL of what each row says."""
    source.require(columns.person)
    values = {"is_whole": "who IS NOT NULL AND t IS NOT NULL AND w IS NOT NULL"}
    if columns.place is not None:
        source.require(columns.place)
        raw = f"{quote(columns.place)} AS w"
        values |= {"where": "dense_rank() OVER (ORDER BY w) AS x", "is_there": "true"}
    else:
        most = (180.0, 90.0) if columns.in_degrees else (_FARTHEST, _FARTHEST)
        a, b = (_number(source, str(name)) for name in (columns.x, columns.y))
        raw = f"{a} + {b} AS w, {a} AS a, {b} AS b"
        is_there = f"abs(a) <= {most[0]} AND abs(b) <= {most[1]}"
        values |= {"where": "a AS x, b AS y", "is_there": is_there}
    when = _local(source, columns)
    rows = f"SELECT {quote(columns.person)} AS who, {when} AS t, {raw} FROM {source.relation}"
    return values, rows


def _number(source: Source, name: str) -> str:
    source.require(name)
    if (wrong := source.number_problem(name)) is not None:
        raise RequestError(
            Message(
                "The coordinates in {name!r} are no numbers. {wrong}",
                name=Name(name),
                wrong=said(wrong[0]),
            ),
            hint=wrong[1] or None,
        )
    return f"{source.number_sql(name)}::DOUBLE"


def _local(source: Source, columns: TripColumns) -> str:
    """Return the SQL of the second on the clocks that people live by."""
    name, kind = quote(columns.time), source.require(columns.time)
    has_offset = kind == "TIMESTAMP WITH TIME ZONE"
    if not kind.startswith("TIMESTAMP"):
        raise RequestError(
            Message(
                "The times in {time!r} are {kind}, no times of a day.",
                time=Name(columns.time),
                kind=said(kind),
            ),
            hint=Message("convert the column to timestamps"),
        )
    if has_offset != (columns.zone is not None):
        raise RequestError(
            Message(
                "The times in {time!r} have an offset, and no zone is named.",
                time=Name(columns.time),
            )
            if has_offset
            else Message(
                "The times in {time!r} have no offset: they are taken as local.",
                time=Name(columns.time),
            ),
            hint=Message("name the zone whose clocks people live by, such as Europe/Paris")
            if has_offset
            else Message("leave the zone out, or give times with an offset"),
        )
    moment = f"{name}::TIMESTAMP"
    if columns.zone is not None:
        moment = f"{name} AT TIME ZONE {sql_text(columns.zone)}"
    return f"CASE WHEN isfinite({moment}) THEN floor(epoch({moment})) + {_WEEKS} END"


def _put_into_cells(source: Source, metres: float, *, in_degrees: bool) -> None:
    """Put points into cells of one width; cells of degrees are as wide as high."""
    across, up = "x::BIGINT", "0"
    if metres:
        up = f"floor(y * {_METRES if in_degrees else 1.0} / {metres})::BIGINT"
        middle = f"cos(radians(({up} + 0.5) * {metres / _METRES}))"
        scale = f"{_METRES} * {middle}" if in_degrees else "1.0"
        across = f"floor(x * {scale} / {metres})::BIGINT"
    source.fetch(f"DROP TABLE IF EXISTS {_CELLS}")
    _keep(source, _CELLS, "cells", across=across, up=up)


def _count_grain(
    source: Source, hours: Sequence[float], shift: str, seed: int
) -> dict[str, Any]:
    alone = {
        hour: _ask(source, "alone", seconds=round(hour * 3600), seed=seed, most=MOST_POINTS)
        for hour in hours
    }
    persons, home, work, both, crowd = _ask(source, "pairs")[0]
    moves, foretold, usual = _ask(source, "moves")[0]
    return {
        "alone": {hour: {k: of for k, *of in rows} for hour, rows in alone.items()},
        "home": (home, persons),
        "work": (work, persons),
        "both": (both, persons),
        "usual_crowd": crowd,
        "foretold": (foretold, moves),
        "usual": (usual, moves),
        "met": _ask(source, "met", shift=0, most=MOST_SHARED),
        "met_by_chance": _ask(source, "met", shift=shift, most=MOST_SHARED) if shift else [],
    }
