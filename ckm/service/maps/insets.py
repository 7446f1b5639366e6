"""Areas far from the rest, such as those overseas, in boxes of a map: which, and where.

Areas are far where no chain of places leads to the main land whose steps are shorter than a
share of its size. Each such group is moved into a box below the main land, with a scale and,
of degrees, a middle latitude of its own.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

#: How far from the main land an area has a box, as a share of its size, by default.
DISTANCE = 0.25
#: Boxes of a map: of more groups than these, those that are nearest each other share one.
MAX_BOXES = 12

_LARGEST_LONGITUDE, _LARGEST_LATITUDE = 180.0, 90.0
_FIRST_STEP = 1 / 20  # of the whole: how the main land is looked for
_PER_ROW = 6
_SIDE = 0.22  # of a box, as a share of the larger side of the main land
_GAP = 0.03  # around a box
_PADDING = 0.08  # within it, as a share of its side
# Half of the cells around one: pairs of cells up to two apart, each pair once.
_AROUND = [(x, y) for x, y in product(range(-2, 3), repeat=2) if (x, y) > (0, 0)]


def with_insets(
    rings: Sequence[NDArray[np.float64]], areas: Sequence[int], *, distance: float
) -> tuple[list[NDArray[np.float64]], NDArray[np.float64]]:
    """Put rings on a plane, those far from the main land in boxes below it.

    Parameters
    ----------
    rings
        x and y of the places of each ring, in degrees or in metres.
    areas
        The area of each ring.
    distance
        From how far on an area has a box, as a share of the size of the main land: the
        diagonal around it. 0 for no boxes.

    Returns
    -------
    tuple
        The rings on the plane, and of each box its left, lowest, right and uppermost end.
    """
    places = np.concatenate(rings)
    lengths = np.array([len(ring) for ring in rings])
    largest = np.abs(places).max(axis=0)
    is_degrees = largest[0] <= _LARGEST_LONGITUDE and largest[1] <= _LARGEST_LATITUDE
    owner = np.repeat(np.asarray(areas, np.int64), lengths)
    groups = (
        _groups(places, owner, distance) if distance > 0 else np.zeros(len(places), np.int64)
    )
    plane = np.zeros_like(places)
    for group in range(int(groups.max()) + 1):
        own = groups == group
        plane[own] = _projected(places[own], is_degrees=is_degrees)
    frames = _boxes(plane, groups)
    for group, frame in enumerate(frames, start=1):
        own = groups == group
        plane[own] = _fitted(plane[own], frame)
    return list(np.split(plane, np.cumsum(lengths)[:-1])), frames


def main_land(points: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Tell which points belong to the main land, and not to areas far from it.

    Parameters
    ----------
    points
        x and y of each.
    """
    return np.asarray(_groups(points, np.arange(len(points)), DISTANCE) == 0)


def _projected(places: NDArray[np.float64], *, is_degrees: bool) -> NDArray[np.float64]:
    """Return places on a plane; degrees shrink towards the poles."""
    if not is_degrees:
        return places
    middle = (places[:, 1].min() + places[:, 1].max()) / 2
    return np.asarray(places * np.array([np.cos(np.radians(middle)), 1.0]))


def _groups(
    places: NDArray[np.float64], owner: NDArray[np.int64], distance: float
) -> NDArray[np.int64]:
    """Return the group of each place: 0 for the main land, others from west to east."""
    step = _diagonal(places) * _FIRST_STEP
    groups = _linked(places, owner, step)
    # The main land is the group of the most areas; its size says what is far from it.
    step = distance * _diagonal(places[groups == _main(groups, owner)])
    while True:
        groups = _linked(places, owner, step)
        n_groups = int(groups.max()) + 1
        if n_groups <= MAX_BOXES + 1 or step <= 0:
            break
        step *= 2
    west = np.full(n_groups, np.inf)
    np.minimum.at(west, groups, places[:, 0])
    west[_main(groups, owner)] = -np.inf
    return np.argsort(np.argsort(west, kind="stable"), kind="stable")[groups]


def _main(groups: NDArray[np.int64], owner: NDArray[np.int64]) -> int:
    """Return the group of the most areas; of several, that of the most places."""
    pairs = np.unique(np.stack([groups, owner], axis=1), axis=0)
    n_areas, n_places = np.bincount(pairs[:, 0]), np.bincount(groups)
    return int(np.lexsort((n_places, n_areas))[-1])


def _linked(
    places: NDArray[np.float64], owner: NDArray[np.int64], step: float
) -> NDArray[np.int64]:
    """Group places by chains of steps, and by the areas that they belong to.

    Places in cells of half a step, two or fewer cells apart, are linked: all pairs within a
    step, and some up to one and a half of it.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    if step <= 0:
        return np.zeros(len(places), np.int64)
    cells = np.floor((places - places.min(axis=0)) / (step / 2)).astype(np.int64)
    width = int(cells[:, 1].max()) + 5  # wide enough for no two cells to have one key
    keys, cell = np.unique(cells[:, 0] * width + cells[:, 1], return_inverse=True)
    n_cells = len(keys)
    starts, ends = [cell], [n_cells + owner]
    for x, y in _AROUND:
        wanted = keys + x * width + y
        at = np.minimum(np.searchsorted(keys, wanted), n_cells - 1)
        is_there = keys[at] == wanted
        starts.append(np.flatnonzero(is_there))
        ends.append(at[is_there])
    pairs = np.concatenate(starts), np.concatenate(ends)
    n_nodes = n_cells + int(owner.max()) + 1
    links = coo_array((np.ones(len(pairs[0]), bool), pairs), shape=(n_nodes, n_nodes))
    _, labels = connected_components(links, directed=False)
    _, groups = np.unique(labels[cell], return_inverse=True)
    return groups.astype(np.int64)


def _diagonal(places: NDArray[np.float64]) -> float:
    return float(np.hypot(*(places.max(axis=0) - places.min(axis=0))))


def _boxes(plane: NDArray[np.float64], groups: NDArray[np.int64]) -> NDArray[np.float64]:
    """Lay boxes of the groups behind the first out in rows below it."""
    n_boxes = int(groups.max())
    main = plane[groups == 0]
    low, high = main.min(axis=0), main.max(axis=0)
    larger = float((high - low).max())
    gap = _GAP * larger
    per_row = min(n_boxes, _PER_ROW)
    room = max(float(high[0] - low[0]), _SIDE * larger * 2)
    side = min(_SIDE * larger, (room - gap * (per_row - 1)) / max(1, per_row))
    frames = np.zeros((n_boxes, 4))
    for place in range(n_boxes):
        row, column = divmod(place, _PER_ROW)
        left = low[0] + column * (side + gap)
        top = low[1] - gap - row * (side + gap)
        frames[place] = left, top - side, left + side, top
    return frames


def _fitted(places: NDArray[np.float64], frame: NDArray[np.float64]) -> NDArray[np.float64]:
    """Move places into a box, as large as it has room for."""
    low, high = places.min(axis=0), places.max(axis=0)
    side = frame[2] - frame[0]
    larger = max(float((high - low).max()), 1e-12)
    scale = side * (1 - 2 * _PADDING) / larger
    middle = (frame[:2] + frame[2:]) / 2
    return np.asarray((places - (low + high) / 2) * scale + middle)
