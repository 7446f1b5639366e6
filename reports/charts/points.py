"""Designs on a map of risk and utility."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from footing.svg import Axis, ticks
from reports.charts.drawing import Drawing, Labels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reports.i18n.languages import Words

_WIDTH, _HEIGHT = 720.0, 420.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """A design: its number on the map, its two figures, and what it is."""

    name: str
    across: float
    upwards: float
    is_front: bool
    is_chosen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Points(Labels):
    """What a map says."""

    front: str
    other: str
    chosen: str


def points(words: Words, data: Points, spots: Sequence[Spot]) -> str:
    """Draw designs as circles; the front is joined by a line, the chosen one has a ring."""
    left, right, top, low = 60.0, _WIDTH - 24, 36.0, _HEIGHT - 48
    drawing = Drawing(words, data, size=(_WIDTH, _HEIGHT + 16))
    at = ticks(0, max(spot.across for spot in spots))
    high = ticks(0, max(spot.upwards for spot in spots))
    along, up = Axis(at, (left, right)), Axis(high, (low, top))
    drawing.upwards(up, left=left, right=right)
    drawing.across(along, low=low, high=top)
    front = sorted((spot.across, -spot.upwards) for spot in spots if spot.is_front)
    drawing.line(*((along(x), up(-y)) for x, y in front), css="front")
    for spot in spots:
        place = (along(spot.across), up(spot.upwards))
        drawing.circle(place, 5, css="drawn" if spot.is_front else "designed")
        if spot.is_chosen:
            drawing.circle(place, 9, css="home")
    _name(drawing, [(along(s.across), up(s.upwards), s) for s in spots], top=top)
    entries = (("drawn", data.front), ("designed", data.other), ("home", data.chosen))
    drawing.dots(_HEIGHT + 4, entries, step=230, left=12, radius=5)
    return drawing.finish()


def _name(drawing: Drawing, placed: Sequence[tuple[float, float, Spot]], *, top: float) -> None:
    """Write the numbers of the points, those that matter first, where there is room."""
    taken: list[tuple[float, float]] = []
    order = sorted(placed, key=lambda p: (not p[2].is_chosen, not p[2].is_front))
    for x, y, spot in order:
        for dx, dy in ((10, -7), (10, 16), (-12, -7), (-12, 16)):
            spot_at = (x + dx, y + dy)
            if spot_at[1] < top + 8:
                continue  # there stands what the axis shows
            if all(abs(spot_at[0] - a) > 18 or abs(spot_at[1] - b) > 13 for a, b in taken):
                taken.append(spot_at)
                drawing.text(spot_at, spot.name, anchor="middle", css="t strong")
                break
