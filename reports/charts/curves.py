"""Curves and points on two axes, linear or by powers of ten; designs on a map."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise, product
from textwrap import wrap
from typing import TYPE_CHECKING, TypeAlias

from footing.svg import Axis, log_ticks, text_width, ticks
from reports.charts.drawing import Drawing, Labels

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reports.i18n.languages import Words

_WIDTH = 280.0
_LEFT, _RIGHT, _TOP, _LOW = 50.0, 270.0, 30.0, 150.0
_LETTERS = 34
#: Lines that dashes and marks tell apart.
SHAPES = 6
_MAP_WIDTH, _MAP_HEIGHT = 720.0, 420.0
#: Letters of a line in one of two columns below the map.
_LETTERS_BELOW = 52
_Place: TypeAlias = tuple[float, float]
#: Left, top, right, bottom.
_Box: TypeAlias = tuple[float, float, float, float]
#: Where a label may stand, seen from its point: across and down.
_WAYS = ((1, 0), (-1, 0), (1, -1), (1, 1), (-1, -1), (-1, 1), (0, -1), (0, 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """A point, and the ends of its interval: a band around a line, else an upright line."""

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
    at
        Places of the axis across and their words; round numbers where there are none.
    """

    is_log_across: bool = False
    is_log_upwards: bool = False
    from_zero: bool = True
    home: tuple[float, float] | None = None
    least: float = 0.0
    at: Mapping[float, str] = field(default_factory=dict)


def _picture(
    words: Words, data: Curves, lines: Sequence[Curve], styles: Mapping[str, int]
) -> str:
    """Draw each curve with its own dashes and marks, over all bands."""
    drawing = Drawing(words, data, size=(_WIDTH, _LOW + 44))
    spots = [spot for line in lines for spot in line.spots]
    ends = [n for s in spots for n in (s.y, s.low, s.high) if n is not None]
    if data.from_zero and not data.is_log_upwards:
        ends.append(0.0)
    at = [*data.at] or _ticks(data, [spot.x for spot in spots], is_log=data.is_log_across)
    along = Axis(at, (_LEFT, _RIGHT), is_log=data.is_log_across)
    up = Axis(
        _ticks(data, ends, is_log=data.is_log_upwards),
        (_LOW, _TOP),
        is_log=data.is_log_upwards,
    )
    drawing.upwards(up, left=_LEFT, right=_RIGHT)
    drawing.across(along, low=_LOW, high=_TOP, texts=data.at)
    drawing.line((_LEFT, _LOW), (_RIGHT, _LOW), css="axis")
    for line in lines:
        _intervals(drawing, line, styles.get(line.name, 0), along, up)
    for line in lines:
        style = styles.get(line.name, 0)
        places = [(along(spot.x), up(spot.y)) for spot in line.spots]
        if line.is_joined:
            drawing.line(*places, css=_css(line, style))
        for place in places if line.is_marked else ():
            _mark(drawing, style, place)
    if data.home is not None:
        drawing.circle((along(data.home[0]), up(data.home[1])), 9, css="home")
    return drawing.finish()


def panels(
    words: Words, ident: str, several: Sequence[tuple[Curves, Sequence[Curve]]]
) -> tuple[tuple[str, str], ...]:
    """Draw small pictures to stand in a row, each with its title, and their legend."""
    lines = {line.name: line for _, some in several for line in some if line.name}
    styled = _styled([*lines.values()])
    styles = {line.name: style for line, style in styled}
    pictures = [(data.title, _picture(words, data, some, styles)) for data, some in several]
    if len(styled) > 1:
        pictures.append((words.say("Legend"), _legend(words, f"{ident}-legend", styled)))
    return tuple(pictures)


def _styled(lines: Sequence[Curve]) -> list[tuple[Curve, int]]:
    """Give curves and limits numbers, each their own."""
    counts: Counter[bool] = Counter()
    styled = []
    for line in lines:
        styled.append((line, counts[line.is_limit] % SHAPES))
        counts[line.is_limit] += 1
    return styled


def _css(line: Curve, style: int) -> str:
    return f"limit l{style}" if line.is_limit else f"curve c{style}"


def _ticks(data: Curves, numbers: Sequence[float], *, is_log: bool) -> list[float]:
    if not is_log:
        return ticks(min(numbers), max(numbers), number=4)
    values = [max(number, data.least) for number in numbers]
    return log_ticks(min(values), max(values))


def _intervals(drawing: Drawing, line: Curve, style: int, along: Axis, up: Axis) -> None:
    """Draw a band around a line where all its intervals are known; else upright lines."""
    ends = [
        (along(s.x), up(s.low), up(s.high))
        for s in line.spots
        if s.low is not None and s.high is not None
    ]
    if line.is_joined and 1 < len(ends) == len(line.spots):
        highs, lows = [(x, y) for x, _, y in ends], [(x, y) for x, y, _ in reversed(ends)]
        drawing.line(*highs, *lows, css=f"band m{style}")
        return
    for x, low, high in ends:
        drawing.line((x, low), (x, high), css="axis")
        for end in (low, high):
            drawing.line((x - 4, end), (x + 4, end), css="axis")


def _mark(drawing: Drawing, style: int, place: tuple[float, float]) -> None:
    """Draw a shape of its own for each curve."""
    x, y = place
    css = f"mark m{style}"
    if style == 0:
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


def _legend(words: Words, ident: str, styled: Sequence[tuple[Curve, int]]) -> str:
    """Explain the lines of a row of pictures, one below the other."""
    heights, low = [], 14.0
    for line, _ in styled:
        heights.append(low)
        low += 15 * len(wrap(line.name, _LETTERS)) + 7
    labels = Labels(
        id=ident,
        title=words.say("Legend"),
        description=", ".join(line.name for line, _ in styled),
    )
    drawing = Drawing(words, labels, size=(_WIDTH, low))
    for top, (line, style) in zip(heights, styled, strict=True):
        if line.is_joined:
            drawing.line((4, top), (40, top), css=_css(line, style))
        if line.is_marked:
            _mark(drawing, style, (22, top))
        for row, text in enumerate(wrap(line.name, _LETTERS)):
            drawing.text((48, top + 4 + 15 * row), text)
    return drawing.finish()


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
    """Draw designs as circles; the front is joined by a line, the chosen one has a ring.

    One that lies far off all others stands at the edge, with its number and an arrow.
    """
    left_edge, right, top, low = 60.0, _MAP_WIDTH - 24, 36.0, _MAP_HEIGHT - 48
    drawing = Drawing(words, data, size=(_MAP_WIDTH, _MAP_HEIGHT + 16))
    far = (
        _edge([design.across for design in designs]),
        _edge([design.upwards for design in designs]),
    )
    along = Axis(_zoomed([min(d.across, far[0]) for d in designs]), (left_edge, right))
    up = Axis(_zoomed([min(d.upwards, far[1]) for d in designs]), (low, top))
    drawing.upwards(up, left=left_edge, right=right)
    drawing.across(along, low=low, high=top)

    def place_of(design: Design) -> _Place:
        x = right if design.across > far[0] else along(design.across)
        return x, top if design.upwards > far[1] else up(design.upwards)

    def is_near(design: Design) -> bool:
        return design.across <= far[0] and design.upwards <= far[1]

    best = sorted((d.across, -d.upwards) for d in designs if d.is_front and is_near(d))
    front = [(along(x), up(-y)) for x, y in best]
    drawing.line(*front, css="front")
    for design in designs:
        place = place_of(design)
        drawing.circle(place, 5, css="drawn" if design.is_front else "designed")
        if design.is_chosen:
            drawing.circle(place, 9, css="home")
    labels = _Labels((left_edge, top, right, low), [place_of(d) for d in designs], front)
    by_number = [
        design
        for design in sorted(designs, key=lambda d: (not d.is_chosen, not d.is_front))
        if not labels.write(drawing, design, place_of(design), _beyond(words, design, far))
    ]
    entries = (("drawn", data.front), ("designed", data.other), ("home", data.chosen))
    drawing.legend(_MAP_HEIGHT - 2, entries, left=12, radius=5, rings={"home": "drawn"})
    _list_below(drawing, sorted(by_number, key=designs.index))
    return drawing.finish()


def _list_below(drawing: Drawing, designs: Sequence[Design]) -> None:
    """Write numbers and names below a map, in two columns."""
    lines = [
        line for one in designs for line in wrap(f"{one.number} {one.name}", _LETTERS_BELOW)
    ]
    rows, start = -(-len(lines) // 2), drawing.height
    for place, line in enumerate(lines):
        column, row = divmod(place, rows)
        drawing.text((12 + column * _MAP_WIDTH / 2, start + 12 + 15 * row), line)
    drawing.height += 15 * rows + 2 * bool(rows)


def _beyond(words: Words, design: Design, far: _Place) -> str:
    """Write the numbers of a design that lie beyond the edges of the map."""
    amount = words.numbers.amount
    text = f" \N{RIGHTWARDS ARROW} {amount(design.across)}" if design.across > far[0] else ""
    if design.upwards > far[1]:
        text += f" \N{UPWARDS ARROW} {amount(design.upwards)}"
    return text


def _edge(numbers: Sequence[float]) -> float:
    """Give the largest number that an axis shows: few that lie far off press no others."""
    ordered = sorted(numbers)
    for kept in range(len(ordered) - len(ordered) // 6, len(ordered)):
        width, every = ordered[kept - 1] - ordered[0], ordered[-1] - ordered[0]
        if 0 < 3 * width < every and ordered[kept] - ordered[kept - 1] > width:
            return ordered[kept - 1]
    return math.inf


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
    """Places for the labels of points: the first free one, near ones first.

    The points and a line between some of them stay free.
    """

    def __init__(self, frame: _Box, spots: Sequence[_Place], line: Sequence[_Place]) -> None:
        self._frame = frame
        self._taken = [(x - 10, y - 10, x + 10, y + 10) for x, y in spots]
        self._taken += [box for pair in pairwise(line) for box in _steps(*pair)]
        self._written: list[_Box] = []

    def write(self, drawing: Drawing, design: Design, spot: _Place, beyond: str) -> bool:
        """Write number and name where there is room, or the number; a line leads far off.

        Tells whether the whole name stands there.
        """
        name = f"{design.number} {design.name}"
        near = 14 if design.is_chosen else 11  # the ring of the chosen one stays free
        for label, reach in product((name, design.number), (near, 24, 40, 60)):
            text = label + beyond
            width = text_width(text, 12, bold=True)
            for across, down in _WAYS:
                x, y = spot[0] + across * reach, spot[1] + down * reach
                left_edge = min(x - width * (1 - across) / 2, self._frame[2] - width)
                left_edge = max(left_edge, self._frame[0])
                box = (left_edge, y - 8, left_edge + width, y + 8)
                end = (min(max(spot[0], left_edge), left_edge + width), y - 8 * down)
                lead = _steps(spot, end) if reach > near else []
                if self._is_free(box, lead):
                    self._taken += [box, *lead]
                    self._written.append(box)
                    if lead:
                        drawing.line(spot, end, css="axis")
                    drawing.text((left_edge, y + 4), text, css="t strong")
                    return label == name
        return False

    def _is_free(self, box: _Box, lead: Sequence[_Box]) -> bool:
        left_edge, top, right, low = self._frame
        inside = left_edge <= box[0] and top <= box[1] and box[2] <= right and box[3] <= low
        crossed = any(_meet(step, label) for step in lead for label in self._written)
        return inside and not crossed and not any(_meet(box, one) for one in self._taken)
