"""Estimates with their intervals: a line a name, or a bar a value."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reports.charts.drawing import Drawing, Scale, ticks

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
class Intervals:
    """What a picture of intervals says.

    Parameters
    ----------
    id, title, description
        Of the picture.
    amount, names
        The names of the axis of amounts and of that of names.
    found, other
        What filled and outlined marks are.
    """

    id: str
    title: str
    description: str
    amount: str
    names: str
    found: str
    other: str


def interval_lines(words: Words, data: Intervals, lines: Sequence[Interval]) -> str:
    """Draw a line from end to end for each name, with a dot at its estimate.

    Parameters
    ----------
    words
        The language.
    data
        The words of the picture.
    lines
        One a name, from top to bottom; at least one.

    Examples
    --------
    >>> from reports.i18n.languages import words_of
    >>> data = Intervals(
    ...     id="a", title="", description="", amount="", names="", found="", other=""
    ... )
    >>> line = Interval(name="Lyon", estimate=3.0, low=1.0, high=5.0, is_found=True)
    >>> interval_lines(words_of("en"), data, [line]).count("<circle")
    2
    """
    top, step, left, right = 16.0, 20.0, 190.0, _WIDTH - 24
    low = top + step * len(lines)
    drawing = Drawing(data.id, size=(_WIDTH, low + 74))
    at = ticks(min(0.0, *(line.low for line in lines)), max(line.high for line in lines))
    along = Scale((at[0], at[-1]), (left, right))
    drawing.across(along, at, low=low, high=top, write=words.numbers.plain, name=data.amount)
    for place, line in enumerate(lines):
        y = top + (place + 0.5) * step
        name = line.name if len(line.name) <= _LONGEST else f"{line.name[: _LONGEST - 1]}…"
        drawing.text((left - 10, y + 4), name, anchor="end")
        drawing.line((along(line.low), y), (along(line.high), y), css="axis")
        for end in (line.low, line.high):
            drawing.line((along(end), y - 4), (along(end), y + 4), css="axis")
        css = "drawn" if line.is_found else "designed"
        drawing.circle((along(line.estimate), y), 4.5, css=css)
    drawing.line((along(0), top), (along(0), low), css="axis")
    marks = [("drawn", data.found)] * any(line.is_found for line in lines)
    marks += [("designed", data.other)] * (not all(line.is_found for line in lines))
    for number, (css, says) in enumerate(marks):
        drawing.circle((left + 8 + number * 260, low + 50), 4.5, css=css)
        drawing.text((left + 20 + number * 260, low + 54), says)
    return drawing.finish(data.title, data.description)


def interval_bars(words: Words, data: Intervals, bars: Sequence[Interval]) -> str:
    """Draw a bar for each value in its order, with a whisker from end to end.

    Parameters
    ----------
    words
        The language.
    data
        The words of the picture.
    bars
        One a value, from left to right; at least one.

    Examples
    --------
    >>> from reports.i18n.languages import words_of
    >>> data = Intervals(
    ...     id="a", title="", description="", amount="", names="", found="", other=""
    ... )
    >>> bar = Interval(name="40", estimate=3.0, low=1.0, high=5.0, is_found=True)
    >>> interval_bars(words_of("en"), data, [bar]).count("<rect")
    3
    """
    left, right, top, low = 72.0, _WIDTH - 8, 34.0, 300.0
    drawing = Drawing(data.id, size=(_WIDTH, low + 76))
    at = ticks(min(0.0, *(bar.low for bar in bars)), max(bar.high for bar in bars))
    up = Scale((at[0], at[-1]), (low, top))
    drawing.upwards(up, at, left=left, right=right, write=words.numbers.plain, name=data.amount)
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
    return drawing.finish(data.title, data.description)
