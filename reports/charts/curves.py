"""Curves and points on two axes, linear or by powers of ten; designs on a map."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise, product
from typing import TYPE_CHECKING, TypeAlias

from footing.svg import Axis, clip, log_ticks, text_width, ticks
from reports.charts.drawing import Drawing, Labels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reports.i18n.languages import Words

_WIDTH = 720.0
_LEFT, _RIGHT, _TOP, _LOW = 62.0, 20.0, 36.0, 300.0
_IN_A_ROW = 2
_SHAPES = 6
_MAP_HEIGHT = 420.0
_Place: TypeAlias = tuple[float, float]
#: Left, top, right, bottom.
_Box: TypeAlias = tuple[float, float, float, float]
#: Where a label may stand, seen from its point: across and down.
_WAYS = ((1, 0), (-1, 0), (1, -1), (1, 1), (-1, -1), (-1, 1), (0, -1), (0, 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """A point, and the ends of its interval."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """A line of the picture.

    Parameters
    ----------
    name
        In the legend; empty for none.
    spots
        In the order of the line.
    is_joined, is_marked
        Whether a line joins them, and whether each has a mark.
    is_limit
        Whether it is a limit, drawn strong and dashed, not a result.
    """

    name: str
    spots: tuple[Spot, ...]
    is_joined: bool = True
    is_marked: bool = True
    is_limit: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Curves(Labels):
    """What a picture of curves says.

    Parameters
    ----------
    is_log_across, is_log_upwards
        Whether an axis goes by powers of ten.
    from_zero
        Whether a linear axis upwards starts at 0.
    home
        The place to ring.
    least
        Where axes by powers of ten begin; smaller numbers are drawn there.
    """

    is_log_across: bool = False
    is_log_upwards: bool = False
    from_zero: bool = True
    home: tuple[float, float] | None = None
    least: float = 0.0


def curves(words: Words, data: Curves, lines: Sequence[Curve]) -> str:
    """Draw each curve with its own dashes and marks; intervals are upright lines."""
    named = [line for line in lines if line.name]
    rows = math.ceil(len(named) / _IN_A_ROW) if len(lines) > 1 else 0
    drawing = Drawing(words, data, size=(_WIDTH, _LOW + 44 + 20 * rows))
    spots = [spot for line in lines for spot in line.spots]
    ends = [n for s in spots for n in (s.y, s.low, s.high) if n is not None]
    along = Axis(
        _ticks(data, [spot.x for spot in spots], is_log=data.is_log_across),
        (_LEFT, _WIDTH - _RIGHT),
        is_log=data.is_log_across,
    )
    if data.from_zero and not data.is_log_upwards:
        ends.append(0.0)
    up = Axis(
        _ticks(data, ends, is_log=data.is_log_upwards),
        (_LOW, _TOP),
        is_log=data.is_log_upwards,
    )
    drawing.upwards(up, left=_LEFT, right=_WIDTH - _RIGHT)
    drawing.across(along, low=_LOW, high=_TOP)
    drawing.line((_LEFT, _LOW), (_WIDTH - _RIGHT, _LOW), css="axis")
    shapes = iter(range(len(lines)))
    styles = [-1 if line.is_limit else next(shapes) % _SHAPES for line in lines]
    for line, style in zip(lines, styles, strict=True):
        _draw(drawing, line, style, along, up)
    if data.home is not None:
        drawing.circle((along(data.home[0]), up(data.home[1])), 9, css="home")
    if rows:
        _legend(drawing, [(n, s) for n, s in zip(lines, styles, strict=True) if n.name])
    return drawing.finish()


def _ticks(data: Curves, numbers: Sequence[float], *, is_log: bool) -> list[float]:
    if not is_log:
        return ticks(min(numbers), max(numbers))
    kept = [max(number, data.least) for number in numbers]
    return log_ticks(min(kept), max(kept))


def _draw(drawing: Drawing, line: Curve, style: int, along: Axis, up: Axis) -> None:
    places = [(along(spot.x), up(spot.y)) for spot in line.spots]
    if line.is_joined:
        drawing.line(*places, css="limit" if style < 0 else f"curve c{style}")
    for spot, (x, y) in zip(line.spots, places, strict=True):
        if spot.low is not None and spot.high is not None:
            drawing.line((x, up(spot.low)), (x, up(spot.high)), css="axis")
            for end in (spot.low, spot.high):
                drawing.line((x - 4, up(end)), (x + 4, up(end)), css="axis")
        if line.is_marked:
            _mark(drawing, style, (x, y))


def _mark(drawing: Drawing, style: int, place: tuple[float, float]) -> None:
    """Draw a shape of its own for each curve."""
    x, y = place
    css = f"mark m{max(style, 0)}"
    if style <= 0:
        drawing.circle(place, 3.5, css=css)
    elif style == 1:
        drawing.rect((x - 3.5, y - 3.5, 7, 7), css=css)
    else:
        sides = {2: 3, 3: 4, 4: 5}.get(style, 3)
        turn = math.pi if style > 4 else 0.0
        corners = [
            (
                x + 5 * math.sin(turn + 2 * math.pi * k / sides),
                y - 5 * math.cos(turn + 2 * math.pi * k / sides),
            )
            for k in range(sides + 1)
        ]
        drawing.line(*corners, css=css)


def _legend(drawing: Drawing, named: Sequence[tuple[Curve, int]]) -> None:
    """Explain lines and marks, two side by side."""
    for number, (line, style) in enumerate(named):
        row, column = divmod(number, _IN_A_ROW)
        left, y = 8 + column * 356.0, _LOW + 50 + 20 * row
        if line.is_joined:
            css = "limit" if style < 0 else f"curve c{style}"
            drawing.line((left, y), (left + 36, y), css=css)
        if line.is_marked:
            _mark(drawing, style, (left + 18, y))
        drawing.text((left + 44, y + 4), line.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """A design: its number on the map, its name, its two figures, and what it is."""

    number: str
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


def points(words: Words, data: Points, designs: Sequence[Design]) -> str:
    """Draw designs as circles; the front is joined by a line, the chosen one has a ring."""
    left, right, top, low = 60.0, _WIDTH - 24, 36.0, _MAP_HEIGHT - 48
    drawing = Drawing(words, data, size=(_WIDTH, _MAP_HEIGHT + 16))
    at = _zoomed([design.across for design in designs])
    high = _zoomed([design.upwards for design in designs])
    along, up = Axis(at, (left, right)), Axis(high, (low, top))
    drawing.upwards(up, left=left, right=right)
    drawing.across(along, low=low, high=top)
    best = sorted((d.across, -d.upwards) for d in designs if d.is_front)
    front = [(along(x), up(-y)) for x, y in best]
    drawing.line(*front, css="front")
    for design in designs:
        place = (along(design.across), up(design.upwards))
        drawing.circle(place, 5, css="drawn" if design.is_front else "designed")
        if design.is_chosen:
            drawing.circle(place, 9, css="home")
    labels = _Labels((left, top, right, low))
    labels.keep_free([(along(d.across), up(d.upwards)) for d in designs], front)
    for design in sorted(designs, key=lambda d: (not d.is_chosen, not d.is_front)):
        labels.write(drawing, design, (along(design.across), up(design.upwards)))
    entries = (("drawn", data.front), ("designed", data.other), ("home", data.chosen))
    drawing.dots(_MAP_HEIGHT + 4, entries, step=230, left=12, radius=5)
    return drawing.finish()


def _zoomed(numbers: Sequence[float]) -> list[float]:
    """Give the ticks around numbers, from 0 where that is near them."""
    least, most = min(numbers), max(numbers)
    return ticks(0 if 4 * least < most else least, most, number=7)


def _steps(start: _Place, end: _Place) -> list[_Box]:
    """Cover a line by small boxes."""
    n = max(int(math.dist(start, end) // 6), 1)
    shares = [k / n for k in range(n)]
    places = [tuple(a + (b - a) * k for a, b in zip(start, end, strict=True)) for k in shares]
    return [(x - 2, y - 2, x + 2, y + 2) for x, y in places]


def _meet(one: _Box, other: _Box) -> bool:
    a, b, c, d = one
    i, j, x, y = other
    return a < x and i < c and b < y and j < d


class _Labels:
    """Places for the labels of points: the first free one, near ones first."""

    def __init__(self, frame: _Box) -> None:
        self._frame = frame
        self._taken: list[_Box] = []
        self._written: list[_Box] = []

    def keep_free(self, spots: Sequence[_Place], line: Sequence[_Place]) -> None:
        """Take the room of the points and of a line between some of them."""
        self._taken += [(x - 10, y - 10, x + 10, y + 10) for x, y in spots]
        self._taken += [box for pair in pairwise(line) for box in _steps(*pair)]

    def write(self, drawing: Drawing, design: Design, spot: _Place) -> None:
        """Write number and name where there is room, or the number; a line leads far off."""
        name = clip(f"{design.number} {design.name}", 260, 12, bold=True)
        for text, reach in product((name, design.number), (11, 24, 40, 60)):
            width = text_width(text, 12, bold=True)
            for across, down in _WAYS:
                x, y = spot[0] + across * reach, spot[1] + down * reach
                left = min(x - width * (1 - across) / 2, self._frame[2] - width)
                left = max(left, self._frame[0])
                box = (left, y - 8, left + width, y + 8)
                end = (min(max(spot[0], left), left + width), y - 8 * down)
                lead = _steps(spot, end) if reach > 11 else []
                if self._is_free(box, lead):
                    self._taken += [box, *lead]
                    self._written.append(box)
                    if lead:
                        drawing.line(spot, end, css="axis")
                    drawing.text((left, y + 4), text, css="t strong")
                    return

    def _is_free(self, box: _Box, lead: Sequence[_Box]) -> bool:
        left, top, right, low = self._frame
        inside = left <= box[0] and top <= box[1] and box[2] <= right and box[3] <= low
        crossed = any(_meet(step, label) for step in lead for label in self._written)
        return inside and not crossed and not any(_meet(box, one) for one in self._taken)
