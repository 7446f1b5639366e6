"""Polygons of GeoJSON, and which centres of areas they hold: geometry, no count.

A point is inside where a ray from it crosses the rings an odd number of times, so that holes
and several polygons need nothing of their own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ckm.service.answering.messages import bad_request
from ckm.service.maps.insets import main_land

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from ckm.service.answering.variables import Variable

#: Vertices of a polygon: all pairs of its sides are looked at for crossings.
MAX_VERTICES = 2000
_FEWEST = 4  # positions of a closed ring
_FINEST, _COARSEST = 96, 16  # cells of a sketch, along its longer side


@dataclass(frozen=True, slots=True, kw_only=True)
class Sketch:
    """The land as cells that hold a centre: something to draw a polygon on.

    Parameters
    ----------
    runs
        Column, row and length of each run of cells, from the top.
    size
        Columns and rows.
    corner, step
        x and y of the upper left corner, and the side of a cell, in the coordinates of centres.
    """

    runs: tuple[tuple[int, int, int], ...]
    size: tuple[int, int]
    corner: tuple[float, float]
    step: float


class Centres:
    """The centres of the areas of a service, as far as its code list has them.

    Parameters
    ----------
    variable
        The variable of areas.
    """

    def __init__(self, variable: Variable) -> None:
        self.variable = variable

    @property
    def levels(self) -> tuple[int, ...]:
        """The levels with a centre of every area or of some, finest first."""
        return tuple(
            level
            for level in range(len(self.variable.level_names))
            if len(self._placed[level][0])
        )

    def inside(self, document: Any, level: str | None = None) -> tuple[str, list[int]]:
        """Return the level, and the areas of it whose centre a polygon of GeoJSON holds.

        Parameters
        ----------
        document
            The polygon.
        level
            The finest by default.
        """
        names = list(self.variable.level_names)
        name = level or names[self.levels[0] if self.levels else 0]
        if name not in names:
            raise bad_request("zone_level", name=name, listed=", ".join(names))
        ranks, points = self._placed[names.index(name)]
        ranks = ranks[are_inside(sides_of(document), points)]
        if not len(ranks):
            raise bad_request("polygon_nobody")
        return name, ranks.tolist()

    def placed(self, level: int) -> list[tuple[int, tuple[float, float]]]:
        """Return the listed areas of a level that have a centre, and their centres."""
        ranks, points = self._placed[level]
        return [
            (rank, (x, y)) for rank, (x, y) in zip(ranks.tolist(), points.tolist(), strict=True)
        ]

    @cached_property
    def _placed(self) -> list[tuple[NDArray[np.int64], NDArray[np.float64]]]:
        """Of each level, the listed areas that have a centre, and their centres."""
        variable, centres = self.variable, self.variable.offer.centres
        placed = []
        for level in range(len(variable.level_names)):
            pairs = [
                (rank, centre)
                for rank in variable.ranks(level).tolist()
                if rank and (centre := _centre_of(variable, rank, centres)) is not None
            ]
            ranks = np.array([rank for rank, _ in pairs], np.int64)
            points = np.array([centre for _, centre in pairs], np.float64).reshape(-1, 2)
            placed.append((ranks, points))
        return placed

    @cached_property
    def sketch(self) -> Sketch | None:
        """The main land in cells; None where there is hardly any."""
        if not self.levels:
            return None
        points = self._placed[self.levels[0]][1]
        points = points[main_land(points)]
        low, high = points.min(axis=0), points.max(axis=0)
        if len(points) < _FEWEST or (low == high).any():
            return None
        n_cells = np.clip(math.sqrt(len(points)), _COARSEST, _FINEST)
        step = float((high - low).max() / n_cells)
        corner = low[0] - step, high[1] + step
        cells = np.stack([points[:, 0] - corner[0], corner[1] - points[:, 1]], axis=1) / step
        n_columns, n_rows = (np.floor(cells.max(axis=0)).astype(int) + 2).tolist()
        is_land = np.zeros((n_rows, n_columns), bool)
        columns, rows = np.floor(cells).astype(int).T
        # A cell and its neighbours, so that land has no holes where centres are far apart.
        for across, down in ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)):
            is_land[rows + down, columns + across] = True
        edges = np.diff(is_land, axis=1, prepend=False, append=False)
        return Sketch(
            runs=tuple(
                (start, row, end - start)
                for row in range(n_rows)
                for start, end in np.flatnonzero(edges[row]).reshape(-1, 2).tolist()
            ),
            size=(n_columns, n_rows),
            corner=(float(corner[0]), float(corner[1])),
            step=step,
        )


def _centre_of(
    variable: Variable, rank: int, centres: Mapping[str, tuple[float, float]]
) -> tuple[float, float] | None:
    return centres.get(variable.codes[rank]) or centres.get(variable.own(rank))


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
