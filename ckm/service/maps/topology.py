"""Areas by the arcs of their boundaries, each arc once: TopoJSON on a grid of whole numbers.

What lies between two areas is one arc of both, so that areas of a kind can be drawn as one
shape without the lines between them, and neighbours never come apart.

References: https://github.com/topojson/topojson-specification.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ckm.errors import ConfigError
from footing.messages import Message, Name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

#: The widest grid of a map that is drawn.
MAX_GRID = 4096
_OBJECT = "areas"
_MAX_BYTES = 64_000_000

Ring = tuple[int, ...]
Place = tuple[int, int]
Frame = tuple[int, int, int, int]


@dataclass(frozen=True, eq=False, kw_only=True)
class Topology:
    """Areas by their arcs.

    Parameters
    ----------
    arcs
        Each the places of a line, on the grid, from top left.
    areas
        Code → rings, each the arcs that it goes along; ``~n`` is arc n backwards.
    size
        Width and height of the grid.
    frames
        Boxes around areas that lie elsewhere: left, top, right and lower end of each.
    """

    arcs: tuple[NDArray[np.int64], ...]
    areas: Mapping[str, tuple[Ring, ...]]
    size: tuple[int, int]
    frames: tuple[Frame, ...] = ()

    @cached_property
    def _steps(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The arcs along all rings, and the area of each."""
        steps = [
            (step, place)
            for place, rings in enumerate(self.areas.values())
            for ring in rings
            for step in ring
        ]
        columns = np.array(steps, np.int64).reshape(-1, 2)
        return columns[:, 0], columns[:, 1]

    @cached_property
    def _lines(self) -> list[list[Place]]:
        """The places of all arcs, and behind them those of all arcs backwards from the last.

        So ``~n`` is the place of arc n backwards, too.
        """
        lines = [[(x, y) for x, y in arc.tolist()] for arc in self.arcs]
        return [*lines, *(line[::-1] for line in reversed(lines))]

    def outlines(self, groups: NDArray[np.int64]) -> dict[int, list[list[Place]]]:
        """Return the rings around each group of areas; lines within a group are left out.

        Parameters
        ----------
        groups
            The group of each area, in their order; negative for none.
        """
        steps, places = self._steps
        own = groups[places]
        steps, own = steps[own >= 0], own[own >= 0]
        arcs = np.where(steps < 0, ~steps, steps)
        _, inverse, times = np.unique(
            own * (len(self.arcs) + 1) + arcs, return_inverse=True, return_counts=True
        )
        is_outer = times[inverse] == 1  # else the same group lies on both sides
        steps, own = steps[is_outer], own[is_outer]
        order = np.argsort(own, kind="stable")
        steps, own = steps[order], own[order]
        names, starts = np.unique(own, return_index=True)
        parts = np.split(steps, starts[1:])
        return {
            group: self._chained(part.tolist())
            for group, part in zip(names.tolist(), parts, strict=True)
        }

    def _chained(self, steps: Sequence[int]) -> list[list[Place]]:
        """Put arcs together to rings."""
        begins: dict[Place, list[int]] = {}
        for step in reversed(steps):
            begins.setdefault(self._lines[step][0], []).append(step)
        open_steps = dict.fromkeys(steps)
        rings = []
        for first in steps:
            if first not in open_steps:
                continue
            step, start, ring = first, self._lines[first][0], []
            while True:
                del open_steps[step]
                line = self._lines[step]
                ring += line[:-1]
                own = begins.get(line[-1], [])
                while own and own[-1] not in open_steps:
                    own.pop()
                if line[-1] == start or not own:
                    break
                step = own[-1]
            rings.append(ring)
        return rings

    def to_json(self) -> dict[str, Any]:
        """Return the document of TopoJSON."""
        return {
            "type": "Topology",
            "transform": {"scale": [1, -1], "translate": [0, self.size[1]]},
            "arcs": [[arc[0].tolist(), *np.diff(arc, axis=0).tolist()] for arc in self.arcs],
            "objects": {
                _OBJECT: {
                    "type": "GeometryCollection",
                    "geometries": [
                        {"type": "MultiPolygon", "id": code, "arcs": [[list(r)] for r in rings]}
                        for code, rings in self.areas.items()
                    ],
                }
            },
            "frames": [list(frame) for frame in self.frames],
        }

    def to_text(self) -> str:
        """Return the file of TopoJSON."""
        return json.dumps(self.to_json(), separators=(",", ":")) + "\n"

    def framed(self) -> list[list[str]]:
        """Return the codes of the areas in each box."""
        codes: list[list[str]] = [[] for _ in self.frames]
        for code, rings in self.areas.items():
            x, y = self._lines[rings[0][0]][0]
            for own, (left, top, right, low) in zip(codes, self.frames, strict=True):
                if left <= x <= right and top <= y <= low:
                    own.append(code)
        return codes


def path_of(rings: Iterable[Sequence[Place]]) -> str:
    """Return the path of rings in SVG, by steps from place to place.

    Examples
    --------
    >>> path_of([[(3, 4), (5, 4), (5, 6)]])
    'm3 4 2 0 0 2z'
    """
    parts = []
    start_x = top = 0
    for ring in rings:
        x, y = start_x, top
        moves: list[int] = []
        for place in ring:
            moves += (place[0] - x, place[1] - y)
            x, y = place
        # A minus sign parts numbers as a space does.
        text = "".join([str(n) if n < 0 else f" {n}" for n in moves])
        parts.append(f"m{text.removeprefix(' ')}z")
        start_x, top = ring[0]
    return "".join(parts)


def read_topology(path: Path) -> Topology:
    """Read a map that `ckm service map` wrote.

    Raises
    ------
    ConfigError
        If it is none.
    """
    try:
        with path.open("rb") as file:
            return _topology(json.loads(file.read(_MAX_BYTES)))
    except (OSError, ValueError, KeyError, TypeError, IndexError, RecursionError):
        raise ConfigError(
            Message("The map {path!r} is no TopoJSON of areas.", path=Name(path.name)),
            hint=Message("make it of the office's GeoJSON: ckm service map areas.geojson"),
        ) from None


def _topology(document: Any) -> Topology:
    height = document["transform"]["translate"][1]
    arcs = tuple(np.cumsum(np.array(arc, np.int64), axis=0) for arc in document["arcs"])
    if document["type"] != "Topology" or document["transform"]["scale"] != [1, -1]:
        raise ValueError
    everything = np.concatenate(arcs)
    if everything.ndim != 2 or everything.shape[1] != 2 or min(map(len, arcs)) < 2:
        raise ValueError
    low, high = int(everything.min()), int(everything.max())
    if low < 0 or high > MAX_GRID or not isinstance(height, int):
        raise ValueError
    areas = {
        str(geometry["id"]): tuple(tuple(ring) for part in geometry["arcs"] for ring in part)
        for geometry in document["objects"][_OBJECT]["geometries"]
    }
    steps = [step for rings in areas.values() for ring in rings for step in ring]
    if not all(type(step) is int and -len(arcs) <= step < len(arcs) for step in steps):
        raise ValueError
    frames = document.get("frames", [])
    ends = np.array(frames).reshape(-1, 4)
    if frames and (ends.dtype != np.int64 or ends.min() < 0 or ends.max() > MAX_GRID):
        raise ValueError
    width = max(int(everything[:, 0].max()), int(ends[:, 2].max(initial=0)))
    return Topology(
        arcs=arcs,
        areas=areas,
        size=(width, max(height, high, int(ends[:, 3].max(initial=0)))),
        frames=tuple((left, top, right, low) for left, top, right, low in ends.tolist()),
    )
