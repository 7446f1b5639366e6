"""Bars with the marks of known records beside them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from footing.svg import Axis, log_ticks, ticks
from reports.charts.drawing import Drawing, Labels

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reports.i18n.languages import Words

_WIDTH = 720.0
_LEFT = 270.0
_IN_A_ROW = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedLine:
    """A bar: its name, its number, an interval of it, and the numbers of known records."""

    name: str
    value: float
    marks: Mapping[str, float] = field(default_factory=dict)
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Marked(Labels):
    """What a picture of bars with marks says.

    Parameters
    ----------
    bar
        What a bar is.
    marks
        Name of a mark → its words.
    start
        Where bars begin.
    least
        Where an axis by powers of ten begins, on which dots stand for bars; 0 for a plain axis.
    most
        A number up to which such an axis goes at least.
    """

    bar: str
    marks: Mapping[str, str]
    start: float = 0.0
    least: float = 0.0
    most: float = 0.0


def marked_bars(words: Words, data: Marked, lines: Sequence[MarkedLine]) -> str:
    """Draw a bar per line, with a mark for each known number."""
    top, step, right = 14.0, 34.0, _WIDTH - 24
    low = top + step * len(lines)
    n_rows = len(data.marks) // _IN_A_ROW + 1
    drawing = Drawing(words, data, size=(_WIDTH, low + 46 + 20 * n_rows))
    every = [data.start, *(n for line in lines for n in _numbers(line))]
    if data.least:
        at = log_ticks(data.least, max(*every, data.most, 10 * data.least))
    else:
        at = ticks(min(every), max(every))
    along = Axis(at, (_LEFT, right), is_log=bool(data.least))
    drawing.across(along, low=low, high=top)
    for place, line in enumerate(lines):
        y = top + (place + 0.5) * step
        drawing.text((_LEFT - 10, y + 4), line.name, anchor="end")
        if not data.least:
            left, end = sorted((along(data.start), along(line.value)))
            drawing.rect((left, y - 8, max(end - left, 1.5), 16), css="drawn")
        if line.low is not None and line.high is not None:
            drawing.line((along(line.low), y), (along(line.high), y), css="halo")
            drawing.line((along(line.low), y), (along(line.high), y), css="axis")
            for bound in (line.low, line.high):
                drawing.line((along(bound), y - 6), (along(bound), y + 6), css="halo")
                drawing.line((along(bound), y - 5), (along(bound), y + 5), css="axis")
        if data.least:
            drawing.circle((along(line.value), y), 5, css="drawn")
        for name in data.marks:
            if name in line.marks:
                _mark(drawing, name, (along(line.marks[name]), y))
    start = along(at[0] if data.least else data.start)
    drawing.line((start, top), (start, low), css="axis")
    _legend(drawing, data, low + 52)
    return drawing.finish()


def _numbers(line: MarkedLine) -> list[float]:
    bounds = [n for n in (line.low, line.high) if n is not None]
    return [line.value, *bounds, *line.marks.values()]


def _mark(drawing: Drawing, name: str, place: tuple[float, float]) -> None:
    """Draw a shape of its own for each kind of known records."""
    x, y = place
    if name == "holdout":
        drawing.circle(place, 5, css="designed")
    elif name == "bootstrap":
        drawing.rect((x - 4.5, y - 4.5, 9, 9), css="designed")
    elif name == "independent":
        start = (x - 6, y + 6)
        drawing.line(start, (x, y - 6), (x + 6, y + 6), start, css="designed")
    else:
        start = (x, y - 7)
        drawing.line(start, (x + 5, y), (x, y + 7), (x - 5, y), start, css="designed")


def _legend(drawing: Drawing, data: Marked, y: float) -> None:
    """Explain bar and marks, three side by side."""
    if data.least:
        drawing.circle((11, y), 5, css="drawn")
    else:
        drawing.rect((4, y - 6, 14, 12), css="drawn")
    drawing.text((24, y + 4), data.bar)
    for number, (name, says) in enumerate(data.marks.items(), start=1):
        row, column = divmod(number, _IN_A_ROW)
        left, middle = 4 + column * 240.0, y + 20 * row
        _mark(drawing, name, (left + 7, middle))
        drawing.text((left + 20, middle + 4), says)
