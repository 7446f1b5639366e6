"""Estimates with their intervals: a line a name, or a bar a value."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from footing.svg import Axis, ticks
from reports.charts.drawing import Drawing, Labels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reports.i18n.languages import Words

_WIDTH = 720.0
_LONGEST = 26


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """An estimate, the ends of its interval, and whether it stands out."""

    name: str
    estimate: float
    low: float
    high: float
    is_found: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Intervals(Labels):
    """What a picture of intervals says.

    Parameters
    ----------
    amount, names
        The names of the axis of amounts and of that of names.
    found, other
        What filled and outlined marks are.
    """

    amount: str
    names: str
    found: str
    other: str


def interval_lines(words: Words, data: Intervals, lines: Sequence[Interval]) -> str:
    """Draw a line from end to end for each name, with a dot at its estimate."""
    top, step, left, right = 16.0, 20.0, 190.0, _WIDTH - 24
    low = top + step * len(lines)
    drawing = Drawing(words, data, size=(_WIDTH, low + 74))
    at = ticks(min(0.0, *(line.low for line in lines)), max(line.high for line in lines))
    along = Axis(at, (left, right))
    drawing.across(along, low=low, high=top, name=data.amount)
    for place, line in enumerate(lines):
        y = top + (place + 0.5) * step
        name = line.name if len(line.name) <= _LONGEST else f"{line.name[: _LONGEST - 1]}…"
        drawing.text((left - 10, y + 4), name, anchor="end")
        drawing.whisker((along(line.low), along(line.high)), y, cap=4)
        css = "drawn" if line.is_found else "designed"
        drawing.circle((along(line.estimate), y), 4.5, css=css)
    drawing.line((along(0), top), (along(0), low), css="axis")
    marks = [("drawn", data.found)] * any(line.is_found for line in lines)
    marks += [("designed", data.other)] * (not all(line.is_found for line in lines))
    drawing.dots(low + 50, marks, step=260, left=left + 8, radius=4.5)
    return drawing.finish()


def interval_bars(words: Words, data: Intervals, bars: Sequence[Interval]) -> str:
    """Draw a bar for each value in its order, with a whisker from end to end."""
    left, right, top, low = 72.0, _WIDTH - 8, 34.0, 300.0
    drawing = Drawing(words, data, size=(_WIDTH, low + 76))
    at = ticks(min(0.0, *(bar.low for bar in bars)), max(bar.high for bar in bars))
    up = Axis(at, (low, top))
    drawing.upwards(up, left=left, right=right, name=data.amount)
    wide = (right - left) / len(bars)
    longest = max(len(bar.name) for bar in bars)
    every = math.ceil((longest * 7.5 + 6) / wide)
    for place, bar in enumerate(bars):
        middle = left + (place + 0.5) * wide
        ends = sorted((up(0), up(bar.estimate)))
        half = min(14.0, wide * 0.38)
        css = "drawn" if bar.is_found else "designed"
        drawing.rect((middle - half, ends[0], 2 * half, ends[1] - ends[0]), css=css)
        drawing.line((middle, up(bar.low)), (middle, up(bar.high)), css="axis")
        if place % every == 0:
            drawing.text((middle, low + 16), bar.name, anchor="middle")
    drawing.line((left, up(0)), (right, up(0)), css="axis")
    drawing.text(((left + right) / 2, low + 34), data.names, anchor="middle")
    entries = [("drawn", data.found), ("designed", data.other)]
    drawing.legend(low + 50, entries, step=260, left=left)
    return drawing.finish()
