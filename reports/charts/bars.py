"""Bars and lines by name or value: shares, quantiles, estimates with their intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from footing.svg import Axis, ticks
from reports.charts.drawing import Drawing, Labels

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from reports.i18n.languages import Words

_WIDTH, _NARROW = 720.0, 500.0
_HEIGHT = 300.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 56.0, 8.0, 34.0, 64.0
_LONGEST = 26


@dataclass(frozen=True, slots=True, kw_only=True)
class Bars(Labels):
    """What a picture of bars says.

    Parameters
    ----------
    first, second
        What the outlined and the filled bars are.
    """

    first: str = ""
    second: str = ""


def paired_bars(words: Words, bars: Bars, lines: Sequence[tuple[int, float, float]]) -> str:
    """Draw two shares for each number: the first outlined, the second filled."""
    drawing = Drawing(words, bars, size=(_WIDTH, _HEIGHT + 24))
    least, most = lines[0][0], lines[-1][0]
    at = ticks(0, max(max(first, second) for _, first, second in lines))
    low, left, right = _HEIGHT - _BOTTOM, _LEFT, _WIDTH - _RIGHT
    up = Axis(at, (low, _TOP))
    along = Axis((least - 0.5, most + 0.5), (left, right))
    drawing.upwards(up, left=left, right=right)
    wide = (right - left) / (most - least + 1)
    each = min(26.0, wide * 0.4)
    for number, first, second in lines:
        middle = along(number)
        drawing.rect((middle - each, up(first), each, low - up(first)), css="designed")
        drawing.rect((middle, up(second), each, low - up(second)), css="drawn")
    drawing.line((left, low), (right, low), css="axis")
    every = math.ceil(34 / wide)
    for number, _, _ in lines:
        if number % every == 0:
            drawing.text(
                (along(number), low + 16), words.numbers.signed(number), anchor="middle"
            )
    drawing.text(((left + right) / 2, low + 34), bars.across, anchor="middle")
    drawing.legend(low + 48, [("designed", bars.first), ("drawn", bars.second)], step=220)
    return drawing.finish()


def lines_of_shares(
    words: Words,
    bars: Bars,
    lines: Sequence[tuple[str, float, str]],
    *,
    write: Callable[[float], str] | None = None,
) -> str:
    """Draw a share per line, with what it says beside it; the axis holds the largest."""
    top, step, right = 34.0, 20.0, _NARROW - 130
    left = 18 + 7.5 * max(len(name) for name, _, _ in lines)
    low = top + step * len(lines)
    drawing = Drawing(words, bars, size=(_NARROW, low + 40))
    most = max(share for _, share, _ in lines)
    along = Axis((0, 0.25, 0.5, 0.75, 1) if most <= 1 else ticks(0, most), (left, right))
    words_at = {} if write is None else {number: write(number) for number in along.at}
    drawing.across(along, low=low, high=top - 6, texts=words_at)
    drawing.text((4, top - 16), bars.upwards)
    for place, (name, share, text) in enumerate(lines):
        y = top + place * step
        drawing.text((left - 8, y + 14), name, anchor="end")
        drawing.rect((left, y + 3, along(share) - left, step - 6), css="drawn")
        drawing.text((right + 8, y + 14), text)
    drawing.line((left, top - 6), (left, low), css="axis")
    return drawing.finish()


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
    found, other
        What filled and outlined marks are.
    """

    found: str
    other: str


def interval_lines(words: Words, data: Intervals, lines: Sequence[Interval]) -> str:
    """Draw a line from end to end for each name, with a dot at its estimate."""
    top, step, left, right = 16.0, 20.0, 190.0, _WIDTH - 24
    low = top + step * len(lines)
    drawing = Drawing(words, data, size=(_WIDTH, low + 74))
    at = ticks(min(0.0, *(line.low for line in lines)), max(line.high for line in lines))
    along = Axis(at, (left, right))
    drawing.across(along, low=low, high=top)
    for place, line in enumerate(lines):
        y = top + (place + 0.5) * step
        name = line.name if len(line.name) <= _LONGEST else f"{line.name[: _LONGEST - 1]}…"
        drawing.text((left - 10, y + 4), name, anchor="end")
        drawing.whisker((along(line.low), along(line.high)), y)
        css = "drawn" if line.is_found else "designed"
        drawing.circle((along(line.estimate), y), 4.5, css=css)
    drawing.line((along(0), top), (along(0), low), css="axis")
    marks = [("drawn", data.found)] * any(line.is_found for line in lines)
    marks += [("designed", data.other)] * (not all(line.is_found for line in lines))
    drawing.legend(low + 44, marks, step=260, left=left + 8, radius=4.5)
    return drawing.finish()


def interval_bars(words: Words, data: Intervals, bars: Sequence[Interval]) -> str:
    """Draw a bar for each value in its order, with a whisker from end to end."""
    left, right, top, low = 72.0, _WIDTH - 8, 34.0, 300.0
    drawing = Drawing(words, data, size=(_WIDTH, low + 76))
    at = ticks(min(0.0, *(bar.low for bar in bars)), max(bar.high for bar in bars))
    up = Axis(at, (low, top))
    drawing.upwards(up, left=left, right=right)
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
    drawing.text(((left + right) / 2, low + 34), data.across, anchor="middle")
    entries = [("drawn", data.found), ("designed", data.other)]
    drawing.legend(low + 50, entries, step=260, left=left)
    return drawing.finish()
