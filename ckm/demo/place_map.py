"""A made-up map of the places of the demonstration: boundaries and centres, in kilometres.

Regions lie side by side as blocks of a lattice, the last ones overseas; the municipalities of a
region fill its block row by row. Corners of the lattice are moved a little, for all places that
meet there, so that no line is straight and nothing comes to lie between neighbours.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Position = tuple[float, float]

_PER_ROW, _ON_LAND = 4, 12  # regions side by side, and those that lie together
_WIDE, _HIGH = 20, 16  # steps of the lattice of a block
_BLOCK_KM = 100.0
_ROOM = 280  # municipalities that a block has room for
_ORIGIN = 500.0
_OVERSEAS = (-700.0, -400.0)
_JITTER = 0.28  # of a step
_WAVES = ((28.0, 95.0), (22.0, 70.0))  # height and length of those of the coast, in km


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceMap:
    """Where the municipalities lie.

    Parameters
    ----------
    outlines
        Region, department and municipality → its boundary; the last position is the first.
    centres
        Region, with department and municipality or without → its centre.
    """

    outlines: dict[tuple[str, ...], tuple[Position, ...]]
    centres: dict[tuple[str, ...], Position]

    def to_geojson(self) -> str:
        """Return the boundaries, as files of maps have them."""
        lines = [
            json.dumps(
                {
                    "type": "Feature",
                    "properties": {"code": place[-1]},
                    "geometry": {"type": "Polygon", "coordinates": [outline]},
                },
                separators=(",", ":"),
            )
            for place, outline in self.outlines.items()
        ]
        joined = ",\n".join(lines)
        return f'{{"type": "FeatureCollection", "features": [\n{joined}\n]}}\n'


def place_map(places: Iterable[Sequence[str]]) -> PlaceMap:
    """Lay places out on a map.

    Parameters
    ----------
    places
        Region, department and municipality of each municipality.
    """
    regions: dict[str, list[tuple[str, ...]]] = {}
    for place in places:
        regions.setdefault(place[0], []).append(tuple(place))
    largest = max(map(len, regions.values()))
    finer = math.ceil(math.sqrt(largest / _ROOM))
    outlines: dict[tuple[str, ...], tuple[Position, ...]] = {}
    centres: dict[tuple[str, ...], Position] = {}
    for number, (region, own) in enumerate(regions.items()):
        lattice = _Lattice(number=number, wide=_WIDE * finer, high=_HIGH * finer)
        centres[region,] = lattice.place(lattice.wide / 2, lattice.high / 2)
        for place, (left, low, right, top) in zip(own, lattice.cells(len(own)), strict=True):
            corners = [
                *((x, low) for x in range(left, right)),
                *((right, y) for y in range(low, top)),
                *((x, top) for x in range(right, left, -1)),
                *((left, y) for y in range(top, low, -1)),
                (left, low),
            ]
            outlines[place] = tuple(lattice.corner(x, y) for x, y in corners)
            centres[place] = lattice.place((left + right) / 2, (low + top) / 2)
        for department in dict.fromkeys(place[:2] for place in own):
            inside = [centres[place] for place in own if place[:2] == department]
            x, y = (sum(axis) / len(inside) for axis in zip(*inside, strict=True))
            centres[department] = round(x, 1), round(y, 1)
    return PlaceMap(outlines=outlines, centres=centres)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lattice:
    """The block of a region."""

    number: int
    wide: int
    high: int

    def cells(self, n: int) -> Iterable[tuple[int, int, int, int]]:
        """Give left, lowest, right and uppermost end of so many cells, to and fro."""
        rows = max(1, min(self.high, round(math.sqrt(n * self.high / self.wide))))
        for row in range(rows):
            low, top = self.high * row // rows, self.high * (row + 1) // rows
            columns = n * (row + 1) // rows - n * row // rows
            ends = [self.wide * column // columns for column in range(columns + 1)]
            cells = [(ends[at], low, ends[at + 1], top) for at in range(columns)]
            yield from cells if row % 2 == 0 else reversed(cells)

    def corner(self, x: int, y: int) -> Position:
        """Return where a corner of the lattice lies, moved a little."""
        column, row = self._at
        # Whole numbers: the same corner is moved alike for all blocks that meet in it.
        across, upwards = column * self.wide + x, row * self.high + y
        draw = (across * 73_856_093) ^ (upwards * 19_349_663)
        one, other = draw % 1009 / 1009 - 0.5, draw % 2003 / 2003 - 0.5
        return self.place(x + 2 * _JITTER * one, y + 2 * _JITTER * other)

    def place(self, x: float, y: float) -> Position:
        """Return where a place of the block lies."""
        column, row = self._at
        step = _BLOCK_KM / self.wide
        across, upwards = column * _BLOCK_KM + x * step, (row * self.high + y) * step
        (height, length), (other_height, other_length) = _WAVES
        left, low = (0.0, 0.0) if self.number < _ON_LAND else _OVERSEAS
        return (
            round(_ORIGIN + left + across + height * math.sin(upwards / length), 1),
            round(_ORIGIN + low + upwards + other_height * math.sin(across / other_length), 1),
        )

    @property
    def _at(self) -> tuple[int, int]:
        """Column and row of the block, among those on land or those overseas."""
        number = self.number if self.number < _ON_LAND else self.number - _ON_LAND
        return number % _PER_ROW, number // _PER_ROW
