"""The boundaries of areas, from GeoJSON in longitude and latitude."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

#: Closed lines of one area, in degrees: outlines and holes.
Rings: TypeAlias = tuple[tuple[tuple[float, float], ...], ...]

_MAX_BYTES = 64_000_000
_BAD = (OverflowError, AttributeError, KeyError, OSError, RecursionError, TypeError, ValueError)
_SIMPLER = "simplify the lines: a map is 420 pixels wide"


def read_boundaries(
    path: Path, key: str, *, add: Callable[[str, str | None], None]
) -> dict[str, Rings]:
    """Read the rings of areas by their code; note what is wrong with the file."""
    if not path.is_file():
        return {}
    if path.stat().st_size > _MAX_BYTES:
        add(f"boundaries are larger than {_MAX_BYTES // 1_000_000} MB.", _SIMPLER)
        return {}
    try:
        features = json.loads(path.read_bytes())["features"]
        found = [(_code(feature, key), _rings(feature)) for feature in features]
    except _WrongError as error:
        add(f"boundaries: {error}.", None)
        return {}
    except _BAD:
        found = []
    if not any(ring for _, rings in found for ring in rings):
        add("boundaries must be a GeoJSON FeatureCollection of areas.", None)
    twice = [code for code, times in Counter(code for code, _ in found).items() if times > 1]
    if twice:
        add(f"boundaries have the code {twice[0]!r} twice.", "join them in a MultiPolygon")
    return dict(found)


class _WrongError(Exception):
    """What is wrong with a feature, in words."""


def _code(feature: dict[str, Any], key: str) -> str:
    named = feature["properties"]
    code = named.get(key)
    if isinstance(code, bool) or not isinstance(code, str | int):
        known = ", ".join(map(repr, list(named)[:8]))
        msg = (
            f"a feature has no text or whole number {key!r}, its boundary_code; it has {known}"
        )
        raise _WrongError(msg)
    return str(code)


def _rings(feature: dict[str, Any]) -> Rings:
    geometry = feature["geometry"] or {"type": "MultiPolygon", "coordinates": []}
    if geometry["type"] not in {"Polygon", "MultiPolygon"}:
        msg = f"a geometry is a {geometry['type']!s:.40}, neither Polygon nor MultiPolygon"
        raise _WrongError(msg)
    several = geometry["coordinates"]
    polygons = [several] if geometry["type"] == "Polygon" else several
    rings = tuple(
        tuple((float(x), float(y)) for x, y, *_ in ring)
        for polygon in polygons
        for ring in polygon
    )
    if not all(abs(x) <= 180 and abs(y) <= 90 for ring in rings for x, y in ring):
        msg = "coordinates are no longitudes and latitudes (EPSG:4326)"
        raise _WrongError(msg)
    return rings
