"""A map of shares with intervals, as GeoJSON and as a picture; none of withheld cells."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from footing.messages import Message, Name
from footing.svg import Board, clip, coordinate
from rappor.errors import RapporError, ReportFileError
from rappor.text_files import read_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from _typeshed import StrPath

    from rappor.location.map import LevelMap
    from rappor.location.zones import Zones

_WIDE = 640.0
_MARGIN, _ROW = 16.0, 18.0
_MOST_ROWS = 200
#: Shades of shares, light to dark, each for as many times the even share as stands before it.
_SHADES = ("#deebf7", "#9ecae1", "#4292c6", "#2171b5", "#08306b")
_TIMES = (2.0, 5.0, 10.0, 20.0)
_WITHHELD = "#f0f0f0"
_DIGITS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """What a map says of a cell.

    Parameters
    ----------
    level
        The name of its level.
    code
        Its code.
    share, low, high
        The estimate and its interval; None where it is withheld.
    """

    level: str
    code: str
    share: float | None
    low: float | None
    high: float | None

    @property
    def is_withheld(self) -> bool:
        """Whether the reports do not carry it."""
        return self.share is None


def cells_of(levels: Sequence[LevelMap], zones: Zones) -> list[list[Cell]]:
    """Give what is published of each cell: of those withheld, that they are.

    Parameters
    ----------
    levels
        The map.
    zones
        Its cells.

    Examples
    --------
    >>> from rappor import Counts, Parameters
    >>> from rappor.location import Zones, population_map
    >>> zones = Zones.of_rows(["town"], [["a"], ["b"]])
    >>> coin = Parameters.basic(2, f=0.5, p=0.25, q=0.75)
    >>> day = Counts(n=[10_000], ones=[[6_250, 3_750]], parameters=coin)
    >>> ((a, b),) = cells_of(population_map([(day,)], areas=zones.areas), zones)
    >>> a.share, b.is_withheld
    (1.0, True)
    """
    published = []
    for level, name, codes in zip(levels, zones.names, zones.codes, strict=True):
        rows = zip(codes, level.shares, level.low, level.high, level.is_shown, strict=True)
        published.append(
            [
                Cell(
                    level=name,
                    code=code,
                    **(
                        {
                            "share": round(float(share), _DIGITS),
                            "low": round(float(low), _DIGITS),
                            "high": round(float(high), _DIGITS),
                        }
                        if is_shown
                        else dict.fromkeys(("share", "low", "high"))
                    ),
                )
                for code, share, low, high, is_shown in rows
            ]
        )
    return published


def to_geojson(
    levels: Sequence[LevelMap],
    zones: Zones,
    *,
    shapes: Mapping[str, Any] | None = None,
    confidence: float = 0.95,
) -> str:
    """Write a map as GeoJSON: a feature a cell, of all levels.

    Parameters
    ----------
    levels
        The map.
    zones
        Its cells.
    shapes
        Geometries of declared areas, by code; a code without one has none.
    confidence
        Of the intervals, to be told beside them.

    Raises
    ------
    RapporError
        If a grid is in metres of no named coordinate system.

    Notes
    -----
    RFC 7946 knows degrees alone. Coordinates of another system carry the member ``crs`` of the
    older GeoJSON, which GDAL and QGIS read.
    """
    if zones.grid is not None and not zones.in_degrees and zones.epsg is None:
        raise RapporError(
            Message("GeoJSON needs degrees, or the number of a coordinate system."),
            hint=Message("name it when places are collected: --epsg 2154; or draw an .svg"),
        )
    features = []
    for level, cells in enumerate(cells_of(levels, zones)):
        for number, cell in enumerate(cells):
            box = zones.box(level, number)
            features.append(
                {
                    "type": "Feature",
                    "geometry": (shapes or {}).get(cell.code) if box is None else _square(box),
                    "properties": {
                        "level": cell.level,
                        "code": cell.code,
                        "withheld": cell.is_withheld,
                        "share": cell.share,
                        "low": cell.low,
                        "high": cell.high,
                        "confidence": confidence,
                    },
                }
            )
    content: dict[str, Any] = {"type": "FeatureCollection"}
    if zones.epsg is not None:
        name = f"urn:ogc:def:crs:EPSG::{zones.epsg}"
        content["crs"] = {"type": "name", "properties": {"name": name}}
    return json.dumps(content | {"features": features}, allow_nan=False) + "\n"


def read_shapes(path: StrPath, *, field: str) -> dict[str, Any]:
    """Read the geometries of declared areas from GeoJSON, by a property that holds the code.

    Parameters
    ----------
    path
        The file.
    field
        The property.

    Raises
    ------
    ReportFileError
        If it is no GeoJSON of polygons with that property.
    """
    file = Path(path)
    try:
        features = json.loads(read_text(file))["features"]
        shapes = {str(one["properties"][field]): one["geometry"] for one in features}
        for shape in shapes.values():
            for ring in _rings(shape):
                _ = [(float(x), float(y)) for x, y, *_ in ring]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ReportFileError(
            Message(
                "The file {name!r} is no GeoJSON of polygons with a code in {field!r}.",
                name=Name(file.name),
                field=Name(field),
            )
        ) from None
    return shapes


def to_svg(
    levels: Sequence[LevelMap],
    zones: Zones,
    *,
    say: Callable[[str], str] = str,
    shapes: Mapping[str, Any] | None = None,
    title: str = "",
    confidence: float = 0.95,
) -> str:
    """Draw a map: the finest cells that are shown, and the withheld ones around them.

    Areas without shapes are rows: a point with its interval, or that they are withheld.

    Parameters
    ----------
    levels
        The map.
    zones
        Its cells.
    say
        Says a message in the language of the map.
    shapes
        Geometries of declared areas, by code.
    title
        Of the picture.
    confidence
        Of the intervals.
    """
    cells = cells_of(levels, zones)
    picture = _Map(say)
    if zones.grid is None and not shapes:
        low = picture.rows(cells, confidence)
    else:
        low = picture.plane(cells, zones, shapes or {})
    n_shown = sum(not cell.is_withheld for cell in cells[-1])
    description = Message(
        "Shares of people by place, estimated from randomised reports. Of the finest cells "
        "{shown} of {number} are shown; the others are withheld, as the reports do not carry "
        "them.",
        shown=n_shown,
        number=len(cells[-1]),
    )
    return picture.document(
        title or say(Message("Where people are")),
        say(description),
        ids=("map-title", "map-text"),
        family="sans-serif",
        viewBox=f"0 0 {coordinate(_WIDE)} {coordinate(low)}",
        width=_WIDE,
        height=low,
    )


class _Map(Board):
    """A picture of places that looks the same wherever it stands."""

    usual: ClassVar = {"text": {"size": 12, "fill": "#222"}}

    def __init__(self, say: Callable[[str], str]) -> None:
        super().__init__()
        self._say = say

    def plane(self, cells: list[list[Cell]], zones: Zones, shapes: Mapping[str, Any]) -> float:
        """Draw cells where they lie: coarse ones first, and finer ones upon them."""
        places = [
            [_place(zones, level, number, cell.code, shapes) for number, cell in enumerate(row)]
            for level, row in enumerate(cells)
        ]
        points = [p for row in places for rings in row for ring in rings for p in ring]
        if not points:
            raise RapporError(Message("No area of the map has a shape."))
        west, east = min(x for x, _ in points), max(x for x, _ in points)
        south, north = min(y for _, y in points), max(y for _, y in points)
        scale = (_WIDE - 2 * _MARGIN) / max((east - west) or 1.0, (north - south) or 1.0)

        def at(x: float, y: float) -> tuple[float, float]:
            return _MARGIN + (x - west) * scale, _MARGIN + (north - y) * scale

        for row, around in zip(cells, places, strict=True):
            for cell, rings in zip(row, around, strict=True):
                if not rings or (cell.is_withheld and row is not cells[0]):
                    continue
                fill = _WITHHELD if cell.is_withheld else _shade(cell.share or 0.0, len(row))
                steps = ["M" + "L".join(_pair(at(*p)) for p in ring) + "z" for ring in rings]
                self.path(
                    steps,
                    tip=self._words(cell),
                    fill=fill,
                    stroke="#999",
                    **{"stroke-width": 0.5, "fill-rule": "evenodd"},
                )
        return self._legend(_MARGIN + (north - south) * scale + 24)

    def rows(self, cells: list[list[Cell]], confidence: float) -> float:
        """Draw a line for each area: its share with the interval."""
        every = [cell for row in cells for cell in row]
        rows = every[:_MOST_ROWS]
        most = max([cell.high or 0.0 for cell in rows] + [1e-9])
        left_edge, right = 220.0, _WIDE - 90.0

        def across(share: float) -> float:
            return left_edge + max(0.0, min(1.0, share / most)) * (right - left_edge)

        top = _MARGIN + 8
        self.text(
            (_MARGIN, top),
            self._say(
                Message(
                    "share of people, with intervals of {confidence:.0%}", confidence=confidence
                )
            ),
        )
        for cell in rows:
            top += _ROW
            self.text((_MARGIN, top), clip(f"{cell.level} {cell.code}", left_edge - 30, 12))
            if cell.share is None or cell.low is None or cell.high is None:
                self.text((left_edge, top), self._say(Message("withheld")), fill="#777")
                continue
            y = top - 4
            self.line(
                (across(cell.low), y), (across(cell.high), y), stroke="#2171b5", fill="none"
            )
            self.circle((across(cell.share), y), 3.5, fill="#08306b")
            self.text((right + 12, top), f"{cell.share:.2%}")
        if len(every) > _MOST_ROWS:
            top += _ROW
            more = Message("and {number} more", number=len(every) - _MOST_ROWS)
            self.text((_MARGIN, top), self._say(more))
        return top + _MARGIN

    def _words(self, cell: Cell) -> str:
        code = Name(cell.code)
        if cell.share is None:
            return self._say(Message("{code}: withheld", code=code))
        return self._say(
            Message(
                "{code}: {share:.2%}, from {low:.2%} to {high:.2%}",
                code=code,
                share=cell.share,
                low=max(0.0, cell.low or 0.0),
                high=cell.high or 0.0,
            )
        )

    def _legend(self, top: float) -> float:
        look = {"stroke": "#999"}
        entries = [({"fill": _WITHHELD, **look}, self._say(Message("withheld")))]
        bounds = ("", *(f"{times:g}" for times in _TIMES), "")
        for shade, (low, high) in zip(_SHADES, pairwise(bounds), strict=True):
            words = f"≥ {low}" if not high else f"{low}–{high}" if low else f"< {high}"
            entries.append(({"fill": shade, **look}, words))
        end = self.signs((_MARGIN, top), entries, ends=(_MARGIN, _WIDE - _MARGIN), size=12)
        self.text(
            (_MARGIN, end + 20),
            self._say(
                Message("share of people in a cell, in times of an even share of its level")
            ),
        )
        return end + 20 + _MARGIN


def _shade(share: float, n_cells: int) -> str:
    return _SHADES[sum(share * n_cells >= times for times in _TIMES)]


def _pair(place: tuple[float, float]) -> str:
    return f"{coordinate(place[0])} {coordinate(place[1])}"


def _corners(box: tuple[float, float, float, float]) -> list[tuple[float, float]]:
    west, south, east, north = box
    return [(west, south), (east, south), (east, north), (west, north)]


def _square(box: tuple[float, float, float, float]) -> dict[str, Any]:
    ring = [list(corner) for corner in _corners(box)]
    return {"type": "Polygon", "coordinates": [[*ring, ring[0]]]}


def _rings(shape: Any) -> list[Any]:
    """Give the rings of a polygon or several."""
    kind = shape["type"]
    if kind == "Polygon":
        return list(shape["coordinates"])
    if kind == "MultiPolygon":
        return [ring for polygon in shape["coordinates"] for ring in polygon]
    raise ValueError


def _place(
    zones: Zones, level: int, number: int, code: str, shapes: Mapping[str, Any]
) -> list[list[tuple[float, float]]]:
    box = zones.box(level, number)
    if box is not None:
        return [_corners(box)]
    shape = shapes.get(code)
    return [] if shape is None else [[(x, y) for x, y, *_ in ring] for ring in _rings(shape)]
