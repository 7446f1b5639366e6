"""From the polygons of an office's GeoJSON to a small topology: the build step of a map.

Places are put on a fine grid, so that neighbours agree on what they share. Where other
neighbours begin, boundaries are cut into arcs; each arc is simplified once (Douglas and
Peucker 1973) and put on the grid of the drawing, for both of its areas.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ckm.errors import ConfigError
from ckm.service.maps.insets import DISTANCE, with_insets
from ckm.service.maps.topology import Topology, path_of
from footing.messages import Message, Name

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

#: Of a drawing as it is sent, where nothing else is said.
MAX_BYTES = 300_000

_FINE = 1_000_000  # steps of the grid on which neighbours agree
_FEWEST = 3  # places of a ring
_TOLERANCE = 0.5  # of a step of the drawing's grid
_GRIDS = (1000, 800, 640, 512, 400, 320, 256, 200)
_CLASSES = 6  # kinds of areas in the largest drawing


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltMap:
    """A map, and what became of it.

    Parameters
    ----------
    topology
        The map.
    n_vertices
        Places before and after.
    n_bytes, n_sent
        Of a drawing with classes at random, as a page has it, and compressed as it is sent.
    too_small
        Codes of the areas that the grid does not show.
    """

    topology: Topology
    n_vertices: tuple[int, int]
    n_bytes: int
    n_sent: int
    too_small: tuple[str, ...]


def build_map(
    path: Path, *, code: str, max_bytes: int, inset_distance: float = DISTANCE
) -> BuiltMap:
    """Simplify the areas of a GeoJSON file until a drawing of them is small enough.

    Parameters
    ----------
    path
        The file, in degrees or in metres.
    code
        The property with the code of an area.
    max_bytes
        Of a drawing as it is sent; the finest grid that keeps to it is taken.
    inset_distance
        From how far on areas are drawn in boxes, as a share of the size of the main land; 0
        for no boxes.

    Raises
    ------
    ConfigError
        If the file holds no such areas, or none of the grids keeps to the limit.
    """
    rings, places, codes = _read(path, code)
    plane, frames = with_insets(rings, places, distance=inset_distance)
    outline = _Outline.of(plane, places, frames)
    for grid in _GRIDS:
        topology = outline.topology(grid, codes)
        n_bytes, n_sent = _drawn_bytes(topology)
        if n_sent <= max_bytes:
            after = sum(map(len, topology.arcs))
            too_small = tuple(name for name, own in topology.areas.items() if not own)
            shown = {name: own for name, own in topology.areas.items() if own}
            return BuiltMap(
                topology=replace(topology, areas=shown),
                n_vertices=(sum(map(len, rings)), after),
                n_bytes=n_bytes,
                n_sent=n_sent,
                too_small=too_small,
            )
    raise ConfigError(
        Message(
            "No map of these areas takes {limit} bytes or less; the coarsest takes {least}.",
            limit=max_bytes,
            least=n_sent,
        ),
        hint=Message("take a larger limit, or larger areas"),
    )


def _drawn_bytes(topology: Topology) -> tuple[int, int]:
    """Return the bytes of a drawing with classes at random, and compressed.

    Hardly any drawing is larger: of real shares neighbours often have the same class.
    """
    draws = np.random.Generator(np.random.PCG64(0))  # no secret, and the same each time
    groups = draws.integers(0, _CLASSES, len(topology.areas))
    paths = "".join(map(path_of, topology.outlines(groups).values())).encode()
    return len(paths), len(zlib.compress(paths))


def _read(
    path: Path, code: str
) -> tuple[list[NDArray[np.float64]], list[int], tuple[str, ...]]:
    """Return the rings of a file, the area of each, and the codes of the areas."""
    try:
        document = json.loads(path.read_text(encoding="utf-8-sig"))
        features = document["features"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise ConfigError(
            Message("The file {path!r} is no GeoJSON with features.", path=Name(path.name)),
            hint=Message("a FeatureCollection of Polygon and MultiPolygon"),
        ) from None
    rings: list[NDArray[np.float64]] = []
    places: list[int] = []
    codes: dict[str, int] = {}
    for feature in features:
        own, parts = _feature(feature, code, path)
        place = codes.setdefault(own, len(codes))
        rings += parts
        places += [place] * len(parts)
    if not rings:
        raise ConfigError(
            Message("The file {path!r} has no polygon.", path=Name(path.name)),
            hint=Message("a FeatureCollection of Polygon and MultiPolygon"),
        )
    return rings, places, tuple(codes)


def _feature(feature: Any, code: str, path: Path) -> tuple[str, list[NDArray[np.float64]]]:
    """Return the code and the rings of a feature."""
    properties = feature.get("properties") if isinstance(feature, dict) else None
    own = properties.get(code) if isinstance(properties, dict) else None
    if not isinstance(own, str | int) or isinstance(own, bool):
        names = list(properties) if isinstance(properties, dict) else []
        raise ConfigError(
            Message(
                "A feature of {path!r} has no code in {code!r}.",
                path=Name(path.name),
                code=Name(code),
            ),
            hint=Message("its properties are {names}", names=Name.each(names)),
        )
    geometry = feature.get("geometry")
    kind = None if geometry is None else geometry.get("type")
    if kind not in {None, "Polygon", "MultiPolygon"}:
        raise ConfigError(
            Message("A feature of {path!r} is no polygon.", path=Name(path.name)),
            hint=Message("a FeatureCollection of Polygon and MultiPolygon"),
        )
    polygons = [] if geometry is None else geometry["coordinates"]
    try:
        return str(own), list(_rings([polygons] if kind == "Polygon" else polygons))
    except (ValueError, TypeError, IndexError):
        raise ConfigError(
            Message(
                "A polygon of {path!r} has places that are no numbers.", path=Name(path.name)
            )
        ) from None


def _rings(polygons: Any) -> Iterator[NDArray[np.float64]]:
    for polygon in polygons:
        for ring in polygon:
            places = np.array([place[:2] for place in ring], np.float64).reshape(-1, 2)
            if not np.isfinite(places).all():
                raise ValueError
            if len(places) >= _FEWEST:
                yield places


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outline:
    """Boundaries on the fine grid, cut into arcs.

    Parameters
    ----------
    places
        The places of all arcs, one arc behind another.
    starts
        Where each arc begins among them, and where the last ends.
    rings
        Area and steps of each ring.
    extent
        Width and height on the fine grid.
    frames
        Left, top, right and lower end of each box, on the fine grid.
    """

    places: NDArray[np.float64]
    starts: NDArray[np.int64]
    rings: list[tuple[int, list[int]]]
    extent: NDArray[np.float64]
    frames: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        rings: list[NDArray[np.float64]],
        areas: list[int],
        boxes: NDArray[np.float64],
    ) -> _Outline:
        """Cut rings into arcs that neighbours share."""
        plane = np.concatenate(rings)
        all_places = np.concatenate([plane, boxes[:, :2], boxes[:, 2:]])
        low, high = all_places.min(axis=0), all_places.max(axis=0)
        scale = _FINE / max(float((high - low).max()), 1e-12)
        fine = np.rint((plane - low) * scale)
        fine[:, 1] = np.rint((high[1] - low[1]) * scale) - fine[:, 1]  # downwards, as drawn
        keys = (fine[:, 0] * (_FINE + 1) + fine[:, 1]).astype(np.int64)
        ends = np.cumsum([len(ring) for ring in rings])
        cut: list[tuple[int, NDArray[np.int64]]] = []
        for area, start, end in zip(areas, [0, *ends[:-1]], ends, strict=True):
            own = keys[start:end]
            own = own[own != np.roll(own, 1)]  # the last place is the first again
            if len(own) >= _FEWEST:
                cut.append((area, own))
        junctions = _junctions([own for _, own in cut])
        arcs: dict[tuple[int, int], int] = {}
        lines: list[NDArray[np.int64]] = []
        steps = [
            (area, [_step(line, arcs, lines) for line in _lines(own, junctions)])
            for area, own in cut
        ]
        flat = np.concatenate(lines) if lines else np.zeros(0, np.int64)
        places = np.stack([flat // (_FINE + 1), flat % (_FINE + 1)], axis=1)
        return cls(
            places=places.astype(np.float64),
            starts=np.cumsum([0, *map(len, lines)]),
            rings=steps,
            extent=np.maximum((high - low) * scale, 1.0),
            frames=np.stack(
                [
                    (boxes[:, 0] - low[0]) * scale,
                    (high[1] - boxes[:, 3]) * scale,
                    (boxes[:, 2] - low[0]) * scale,
                    (high[1] - boxes[:, 1]) * scale,
                ],
                axis=1,
            ),
        )

    def topology(self, grid: int, codes: tuple[str, ...]) -> Topology:
        """Simplify the arcs and put them on a grid of a width or height."""
        step = _FINE / grid
        is_kept = _kept(self.places, self.starts, tolerance=_TOLERANCE * step)
        on_grid = np.rint(self.places / step).astype(np.int64)
        arcs: list[NDArray[np.int64]] = []
        names: dict[int, int] = {}
        for place, (start, end) in enumerate(
            zip(self.starts[:-1].tolist(), self.starts[1:].tolist(), strict=True)
        ):
            line = _straightened(on_grid[start:end][is_kept[start:end]])
            if line is not None:
                names[place] = len(arcs)
                arcs.append(line)
        areas: dict[str, list[tuple[int, ...]]] = {code: [] for code in codes}
        for area, steps in self.rings:
            ring = tuple(
                ~names[~one] if one < 0 else names[one]
                for one in steps
                if (~one if one < 0 else one) in names
            )
            if ring and _has_inside(ring, arcs):
                areas[codes[area]].append(ring)
        width, height = np.ceil(self.extent / step).astype(int).tolist()
        return Topology(
            arcs=tuple(arcs),
            areas={code: tuple(rings) for code, rings in areas.items()},
            size=(width, height),
            frames=tuple(
                (left, top, right, low)
                for left, top, right, low in np.rint(self.frames / step).astype(int).tolist()
            ),
        )


def _junctions(rings: list[NDArray[np.int64]]) -> set[int]:
    """Return the places where boundaries meet: not all have the same neighbours there."""
    keys = np.concatenate(rings)
    before = np.concatenate([np.roll(ring, 1) for ring in rings])
    after = np.concatenate([np.roll(ring, -1) for ring in rings])
    pairs = np.stack([keys, np.minimum(before, after), np.maximum(before, after)], axis=1)
    pairs = pairs[np.lexsort(pairs.T[::-1])]
    is_same_place = pairs[1:, 0] == pairs[:-1, 0]
    is_other_pair = (pairs[1:] != pairs[:-1]).any(axis=1)
    return set(pairs[1:, 0][is_same_place & is_other_pair].tolist())


def _lines(ring: NDArray[np.int64], junctions: set[int]) -> Iterator[NDArray[np.int64]]:
    """Cut a ring where boundaries meet; one that meets none begins at its least place."""
    at = [place for place, key in enumerate(ring.tolist()) if key in junctions]
    if not at:
        start = int(ring.argmin())
        yield np.concatenate([ring[start:], ring[: start + 1]])
        return
    turned = np.concatenate([ring[at[0] :], ring[: at[0] + 1]])
    cuts = [*(place - at[0] for place in at), len(ring)]
    for start, end in pairwise(cuts):
        yield turned[start : end + 1]


def _step(
    line: NDArray[np.int64], arcs: dict[tuple[int, int], int], lines: list[NDArray[np.int64]]
) -> int:
    """Return the arc of a line, new or known, forwards or backwards.

    Between junctions a line is told by its first two places.
    """
    first, second, last, before = (int(line[n]) for n in (0, 1, -1, -2))
    known = arcs.get((first, second))
    if known is not None:
        return known
    arcs[first, second] = len(lines)
    arcs[last, before] = ~len(lines)
    lines.append(line)
    return len(lines) - 1


def _kept(
    places: NDArray[np.float64], starts: NDArray[np.int64], *, tolerance: float
) -> NDArray[np.bool_]:
    """Tell which places of all arcs are kept: the ends, and those far from what is drawn.

    All arcs at once: between two kept places, the one farthest from the line through them is
    kept where it is farther than the tolerance, and again until there is none.
    """
    n_places = len(places)
    is_kept = np.zeros(n_places, bool)
    is_kept[starts[:-1]] = is_kept[starts[1:] - 1] = True
    index = np.arange(n_places)
    while True:
        before = np.maximum.accumulate(np.where(is_kept, index, 0))
        after = np.minimum.accumulate(np.where(is_kept, index, n_places - 1)[::-1])[::-1]
        open_places = np.flatnonzero(~is_kept)
        if not len(open_places):
            return is_kept
        base, end = places[before[open_places]], places[after[open_places]]
        along, to = end - base, places[open_places] - base
        length = np.maximum((along**2).sum(axis=1), 1e-12)
        share = np.clip((along * to).sum(axis=1) / length, 0.0, 1.0)
        far = np.hypot(*(to - share[:, None] * along).T)
        at = np.unique(before[open_places], return_index=True)[1]
        most = np.maximum.reduceat(far, at)
        limit = np.repeat(most, np.diff([*at, len(far)]))
        farthest = open_places[(far == limit) & (limit > tolerance)]
        if not len(farthest):
            return is_kept
        is_kept[farthest] = True


def _straightened(line: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Leave out places that say nothing; None where one place is left."""
    is_new = np.ones(len(line), bool)
    is_new[1:] = (line[1:] != line[:-1]).any(axis=1)
    line = line[is_new]
    if len(line) < 2:
        return None
    if len(line) > 2:
        a, b = line[1:-1] - line[:-2], line[2:] - line[1:-1]
        is_turn = (a[:, 0] * b[:, 1] != a[:, 1] * b[:, 0]) | ((a * b).sum(axis=1) < 0)
        line = line[np.concatenate([[True], is_turn, [True]])]
    return line


def _has_inside(ring: tuple[int, ...], arcs: list[NDArray[np.int64]]) -> bool:
    """Tell whether a ring holds anything on the grid."""
    lines = [arcs[~step][::-1] if step < 0 else arcs[step] for step in ring]
    x, y = np.concatenate([line[:-1] for line in lines]).T
    return bool((x * np.roll(y, -1) - np.roll(x, -1) * y).sum() != 0)
