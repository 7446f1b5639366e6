"""Polygons of GeoJSON, and which centres of areas they hold: geometry, no count.

A point is inside where a ray from it crosses the rings an odd number of times, so that holes
and several polygons need nothing of their own.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ckm.service.answering.messages import bad_request

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

#: Vertices of a polygon: all pairs of its sides are looked at for crossings.
MAX_VERTICES = 2000
_FEWEST = 4  # positions of a closed ring


def sides_of(document: Any) -> NDArray[np.float64]:
    """Return the sides of a polygon of GeoJSON: x and y of both ends; raise where it is none.

    Parameters
    ----------
    document
        A ``Polygon`` or ``MultiPolygon``, or a ``Feature`` or ``FeatureCollection`` of one.
    """
    rings = [_ring(ring) for ring in _rings(_geometry(document))]
    n_vertices = sum(len(ring) - 1 for ring in rings)
    if n_vertices > MAX_VERTICES:
        raise bad_request("polygon_vertices", limit=MAX_VERTICES)
    sides = np.concatenate([np.hstack([ring[:-1], ring[1:]]) for ring in rings])
    if _crosses_itself(sides):
        raise bad_request("polygon_crosses")
    return sides


def are_inside(sides: NDArray[np.float64], points: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Tell which points a polygon holds.

    Parameters
    ----------
    sides
        Of the polygon.
    points
        x and y of each point.
    """
    low = np.minimum(sides[:, :2], sides[:, 2:]).min(axis=0)
    high = np.maximum(sides[:, :2], sides[:, 2:]).max(axis=0)
    near = np.flatnonzero(((points >= low) & (points <= high)).all(axis=1))
    x, y = points[near].T
    is_in = np.zeros(len(near), bool)
    for x1, y1, x2, y2 in sides.tolist():
        # A side holds its lower end and not its upper one: no corner is crossed twice.
        is_level = (y1 <= y) != (y2 <= y)
        if y1 != y2:
            is_in ^= is_level & (x < x1 + (y - y1) * (x2 - x1) / (y2 - y1))
    inside = np.zeros(len(points), bool)
    inside[near] = is_in
    return inside


def _geometry(document: Any) -> dict[str, Any]:
    if isinstance(document, dict) and document.get("type") == "FeatureCollection":
        features = document.get("features")
        if not isinstance(features, list) or len(features) != 1:
            raise bad_request("polygon_one")
        document = features[0]
    if isinstance(document, dict) and document.get("type") == "Feature":
        document = document.get("geometry")
    is_one = isinstance(document, dict) and isinstance(document.get("coordinates"), list)
    if not is_one or document.get("type") not in {"Polygon", "MultiPolygon"}:
        raise bad_request("polygon_type")
    return dict(document)


def _rings(geometry: dict[str, Any]) -> Iterator[Any]:
    parts = geometry["coordinates"]
    for polygon in [parts] if geometry["type"] == "Polygon" else parts:
        if not isinstance(polygon, list) or not polygon:
            raise bad_request("polygon_ring")
        yield from polygon
    if not parts:
        raise bad_request("polygon_ring")


def _ring(ring: Any) -> NDArray[np.float64]:
    """Return the positions of a closed ring."""
    if not isinstance(ring, list) or len(ring) < _FEWEST:
        raise bad_request("polygon_ring")
    if len(ring) > MAX_VERTICES + 1:
        raise bad_request("polygon_vertices", limit=MAX_VERTICES)
    if not all(isinstance(one, list) and len(one) in {2, 3} for one in ring):
        raise bad_request("polygon_position")
    if not all(_is_number(value) for one in ring for value in one[:2]):
        raise bad_request("polygon_position")
    positions = np.array([one[:2] for one in ring], np.float64)
    if (positions[0] != positions[-1]).any():
        raise bad_request("polygon_open")
    return positions


def _is_number(value: Any) -> bool:
    is_one = isinstance(value, int | float) and not isinstance(value, bool)
    return is_one and abs(value) < 1e12 and math.isfinite(value)


def _crosses_itself(sides: NDArray[np.float64]) -> bool:
    """Tell whether two sides cross between their ends; those that touch do not."""
    start, end = sides[:, :2], sides[:, 2:]
    for first, last in zip(start, end, strict=True):
        along = last - first
        one = _turn(along, start - first) * _turn(along, end - first)
        other = _turn(end - start, first - start) * _turn(end - start, last - start)
        if ((one < 0) & (other < 0)).any():
            return True
    return False


def _turn(along: NDArray[np.float64], to: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return on which side of a direction others lie, by the sign."""
    return np.sign(along[..., 0] * to[..., 1] - along[..., 1] * to[..., 0])
