"""A map of areas: which shape is which area, drawn small, and which numbers it shows."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby, pairwise

import numpy as np

from ckm.config.service.boundaries import Rings
from ckm.errors import ConfigError
from ckm.service.answering.answer import Answer
from ckm.service.answering.variables import Variable
from footing.svg import coordinate
from reports.facts.service import MapArea, MapFacts

_WIDE, _HIGH, _STEP = 420.0, 400.0, 0.5
_MAX_AREAS = 3000
_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class AreaMap:
    """The shapes of the areas of one level.

    Parameters
    ----------
    variable
        The variable of areas.
    shapes
        The path of each shape, and the area by rank; None where the service has none.
    size
        Width and height.
    summary
        What fits together and what does not, for the office.
    """

    variable: str
    shapes: tuple[tuple[str, int | None], ...]
    size: tuple[float, float]
    summary: str


def area_map(variables: Iterable[Variable]) -> AreaMap | None:
    """Find the areas of boundaries, at the level where most have one; None without any."""
    for variable in variables:
        if variable.offer.rings:
            return _area_map(variable, variable.offer.rings)
    return None


def _area_map(variable: Variable, rings: Mapping[str, Rings]) -> AreaMap | None:
    by_code = [_by_code(variable, level) for level in range(len(variable.level_names))]
    level = max(
        range(len(by_code)), key=lambda at: (len(by_code[at].keys() & rings.keys()), at)
    )
    known = by_code[level]
    found = {known[code] for code in rings if code in known}
    missing = [
        variable.codes[rank] for rank in dict.fromkeys(known.values()) if rank not in found
    ]
    unknown = [code for code in rings if code not in known]
    if not found:
        raise ConfigError(
            f"No boundary is that of an area: {', '.join(map(repr, unknown[:_SHOWN]))}.",
            hint=f"boundary_code = {variable.offer.boundary_code!r} names the codes of areas",
        )
    texts = [f"{len(found):,} areas of level {variable.level_names[level]!r} are on the map"]
    for codes, what in ((missing, "areas without a boundary"), (unknown, "unknown codes")):
        more = ", …" if len(codes) > _SHOWN else ""
        texts += [f"{len(codes):,} {what}: {', '.join(codes[:_SHOWN])}{more}"] if codes else []
    if len(rings) > _MAX_AREAS:
        texts.append(f"no map is drawn of {len(rings):,} areas, more than {_MAX_AREAS:,}")
    is_drawn = len(found) > 1 and len(rings) <= _MAX_AREAS
    paths, size = _drawn(list(rings.values())) if is_drawn else ([], (0.0, 0.0))
    shapes = zip(paths, map(known.get, rings), strict=is_drawn)
    name, summary = variable.name, "; ".join(texts)
    return AreaMap(variable=name, shapes=tuple(shapes), size=size, summary=summary)


def _by_code(variable: Variable, level: int) -> dict[str, int]:
    """Find the areas of a level by their code, and by its last part where one alone has it."""
    ranks = [rank for rank in variable.ranks(level).tolist() if rank]
    times = Counter(map(variable.own, ranks))
    own = {text: rank for rank in ranks if times[text := variable.own(rank)] == 1}
    return {**own, **{variable.codes[rank]: rank for rank in ranks}}


def map_of(
    drawn: AreaMap | None, answer: Answer, variables: Mapping[str, Variable], language: str
) -> MapFacts | None:
    """Put the numbers of a table on the map; None for a table that has more than one column."""
    names, table = answer.query.measures, answer.table
    if drawn is None or table is None or len(names) > 1:
        return None
    variable = variables[drawn.variable]
    others = {len(s.ranks) for s in answer.selections if s.variable != drawn.variable}
    chosen = [s.ranks for s in answer.selections if s.variable == drawn.variable]
    if not chosen or others - {1}:
        return None
    numbers = dict(zip(chosen[0], np.asarray(table.measures[names[0]]).tolist(), strict=True))
    areas = [
        MapArea(
            path=path,
            label="" if rank is None else variable.label(rank, language),
            number=None if rank is None else numbers.get(rank),
            is_withheld=rank is not None and variable.codes[rank] in answer.withheld,
        )
        for path, rank in drawn.shapes
    ]
    if sum(area.number is not None for area in areas) < 2:
        return None
    return MapFacts(areas=tuple(areas), size=drawn.size)


def _drawn(areas: list[Rings]) -> tuple[list[str], tuple[float, float]]:
    """Lay areas out in a small drawing, degrees of longitude as wide as in their middle."""
    points = np.array([point for rings in areas for ring in rings for point in ring])
    (west, south), (east, north) = points.min(axis=0), points.max(axis=0)
    squeeze = math.cos(math.radians((south + north) / 2))
    wide, high = max((east - west) * squeeze, 1e-9), max(north - south, 1e-9)
    scale = min(_WIDE / wide, _HIGH / high)

    def place(x: float, y: float) -> tuple[float, float]:
        across, down = (x - west) * squeeze * scale, (north - y) * scale
        return round(across / _STEP) * _STEP, round(down / _STEP) * _STEP

    paths = []
    for rings in areas:
        lines = [[at for at, _ in groupby(place(*point) for point in ring)] for ring in rings]
        large = [line for line in lines if len(set(line)) > 2]
        paths.append(
            "".join(map(_path, large or [_dot(line[0]) for line in lines[:1] if line]))
        )
    return paths, (wide * scale, high * scale)


def _path(line: list[tuple[float, float]]) -> str:
    """Write a closed line as steps from one point to the next."""
    steps = " ".join(
        f"{coordinate(x - left)} {coordinate(y - top)}"
        for (left, top), (x, y) in pairwise(line)
    )
    return f"M{coordinate(line[0][0])} {coordinate(line[0][1])}l{steps}z"


def _dot(at: tuple[float, float]) -> list[tuple[float, float]]:
    """Return the outline of what is too small to have one."""
    x, y = at
    return [(x, y), (x + 1, y), (x + 1, y + 1), (x, y + 1)]
