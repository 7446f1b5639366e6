"""Bars by name or value: shares, noise, estimates with their intervals, numbers of a table."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

from footing.svg import Axis, ticks
from reports.charts.drawing import Drawing, Labels

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from reports.facts.service import Chart
    from reports.i18n.languages import Words

_WIDTH, _NARROW = 720.0, 500.0
_PHONE = 420.0  # so that a phone shows it whole
_LINE, _STEP, _STEP_OF_TWO = 14.0, 20.0, 32.0
_LONGEST = 22  # characters of a line at the left
_SIGN, _WIDE_SIGN = 7.0, 7.8  # characters are hardly wider, wide ones
_QUARTERS = (0, 0.25, 0.5, 0.75, 1)
_SEEN = 4.0  # pixels of an interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Bars(Labels):
    """What a picture of bars says.

    Parameters
    ----------
    filled, outlined
        What bars or dots of the two looks are; empty where there is one look.
    heading
        What stands above the rows.
    """

    filled: str = ""
    outlined: str = ""
    heading: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A number of a name, as a bar or a dot.

    Parameters
    ----------
    name
        What it is the number of; bars of one name in a row stand side by side in columns.
    number
        How long the bar is.
    text
        What stands beside it.
    low, high
        The ends of its interval.
    is_filled
        Whether it is filled; else it is outlined.
    """

    name: str
    number: float
    text: str = ""
    low: float | None = None
    high: float | None = None
    is_filled: bool = True

    @property
    def look(self) -> str:
        """The class of its filling."""
        return "drawn" if self.is_filled else "designed"


def _reach(bars: Iterable[Bar]) -> tuple[float, float]:
    """Give the least and the largest number that bars and their intervals reach, with 0."""
    ends = [end for bar in bars for end in (bar.number, bar.low, bar.high) if end is not None]
    return min(0.0, *ends), max(0.0, *ends)


def rows(
    words: Words,
    data: Bars,
    bars: Sequence[Bar],
    *,
    width: float = _NARROW,
    are_dots: bool = False,
    are_shares: bool = False,
    write: Callable[[float], str] | None = None,
    ends: tuple[float, float] | None = None,
    room: float | None = None,
) -> str:
    """Draw a bar or a dot per name, one below the other, with what it says beside it.

    Parameters
    ----------
    words, data, bars
        The language, what the picture says, and the numbers.
    width
        Of the drawing.
    are_dots
        Whether numbers are dots, which need not begin at 0.
    are_shares
        Whether the axis goes to 1 at least.
    write
        How numbers of the axis are written.
    ends
        Of the scale, of a drawing that has no axis.
    room
        What texts beside the bars take; by default as much as the longest.
    """
    names = [_broken(bar.name, _LONGEST, most=2) for bar in bars]
    left_edge = 16 + _WIDE_SIGN * max(len(line) for lines in names for line in lines)
    if room is None:
        room = max(_SIGN * max(len(bar.text) for bar in bars), 10) + 14
    least, most = _reach(bars)
    at = _QUARTERS if are_shares and most <= 1 else ticks(least, most)
    along = Axis(ends or at, (left_edge, width - room))
    step = _STEP if all(len(lines) == 1 for lines in names) else _STEP_OF_TWO
    heading = _broken(data.heading, int(width / _WIDE_SIGN), most=3) if data.heading else []
    top = 12 + _LINE * len(heading) + (22 if data.upwards else 0)
    low = top + step * len(bars)
    drawing = Drawing(words, data, size=(width, low + (6 if ends else 40)))
    for line, text in enumerate(heading, start=1):
        drawing.text((4, line * _LINE), text, css="t strong")
    if not ends:
        texts = {} if write is None else {number: write(number) for number in along.at}
        drawing.across(along, low=low, high=top - 6, texts=texts)
    if data.upwards:
        drawing.text((4, top - 16), data.upwards)
    for place, (bar, lines) in enumerate(zip(bars, names, strict=True)):
        middle = top + (place + 0.5) * step
        for line, text in enumerate(lines):
            down = (line - (len(lines) - 1) / 2) * _LINE
            drawing.text((left_edge - 8, middle + 4 + down), text, anchor="end")
        draw = _dot if are_dots else _bar
        end = draw(drawing, bar, along, middle, step - 6)
        if bar.text:  # beside its bar, or where no line of the axis crosses it
            drawing.text(((end + 6) if ends else (width - room + 8), middle + 4), bar.text)
    drawing.line((along(0), top if ends else top - 6), (along(0), low), css="axis")
    if data.filled:
        looks = {bar.look for bar in bars}
        texts_of = {"drawn": data.filled, "designed": data.outlined}
        entries = [(look, text) for look, text in texts_of.items() if look in looks]
        drawing.legend(low + 44, entries, left=left_edge + 8, radius=4.5)
    return drawing.finish()


def _bar(drawing: Drawing, bar: Bar, along: Axis, middle: float, high: float) -> float:
    """Draw a bar from 0, with its interval where that can be seen; return where it ends."""
    end = along(bar.number)
    left_edge = min(along(0), end)
    drawing.rect((left_edge, middle - high / 2, abs(end - along(0)), high), css=bar.look)
    if bar.low is None or bar.high is None or along(bar.high) - along(bar.low) < _SEEN:
        return end
    drawing.line((along(bar.low), middle), (along(bar.high), middle), css="halo")
    drawing.whisker((along(bar.low), along(bar.high)), middle)
    return along(bar.high)


def _dot(drawing: Drawing, bar: Bar, along: Axis, middle: float, high: float) -> float:
    """Draw a dot on its interval; return where that ends."""
    del high
    ends = [along(bar.number if end is None else end) for end in (bar.low, bar.high)]
    drawing.whisker((ends[0], ends[1]), middle)
    drawing.circle((along(bar.number), middle), 4.5, css=bar.look)
    return ends[1]


def columns(words: Words, data: Bars, groups: Sequence[tuple[str, Sequence[Bar]]]) -> str:
    """Draw bars upwards for each value in its order, those of one value side by side."""
    left_edge, right, top, low = 72.0, _WIDTH - 8, 34.0, 300.0
    drawing = Drawing(words, data, size=(_WIDTH, low + 76))
    bars = [bar for _, group in groups for bar in group]
    names = [name for name, _ in groups]
    up = Axis(ticks(*_reach(bars)), (low, top))
    drawing.upwards(up, left=left_edge, right=right)
    wide = (right - left_edge) / len(groups)
    every = math.ceil((max(map(len, names)) * 7.5 + 6) / wide)
    first = names.index("0") % every if "0" in names else 0
    for place, (name, group) in enumerate(groups):
        middle = left_edge + (place + 0.5) * wide
        each = min(26.0, wide * 0.78 / max(1, len(group)))
        for number, bar in enumerate(group):
            start = middle + (number - len(group) / 2) * each
            ends = sorted((up(0), up(bar.number)))
            drawing.rect((start, ends[0], each, ends[1] - ends[0]), css=bar.look)
            if bar.low is not None and bar.high is not None:
                across = start + each / 2
                drawing.line((across, up(bar.low)), (across, up(bar.high)), css="axis")
        if place % every == first:
            drawing.text((middle, low + 16), name, anchor="middle")
    drawing.line((left_edge, up(0)), (right, up(0)), css="axis")
    drawing.text(((left_edge + right) / 2, low + 34), data.across, anchor="middle")
    entries = [("designed", data.outlined), ("drawn", data.filled)]
    drawing.legend(low + 50, entries, left=left_edge)
    return drawing.finish()


def bars_of_table(
    words: Words, chart: Chart, *, title: str, margin: int = 0
) -> tuple[str, ...]:
    """Draw the numbers of a table, a drawing for each panel, all on one scale.

    Parameters
    ----------
    words
        The language.
    chart
        What is drawn; none without a comparison.
    title
        What all panels show.
    margin
        The margin of error of each number; 0 for none.

    Examples
    --------
    >>> from reports.i18n.languages import words_of
    >>> from reports.facts.service import Chart
    >>> chart = Chart(names=("F", "M"), panels=(("Count", (12, 9)),), n_bars=2)
    >>> drawings = bars_of_table(words_of("en"), chart, title="Sex")
    >>> [drawing.count("<rect") for drawing in drawings]
    [2]
    """
    numbers = [number for _, panel in chart.panels for number in panel]
    least, most = min(0, *numbers, 0), max(0, *numbers, 0)
    return tuple(
        rows(
            words,
            Bars(
                id=f"chart{place}",
                title=f"{title}: {heading}" if heading else title,
                description=_told(words, chart.names, panel),
                heading=heading,
            ),
            [
                Bar(
                    name=name,
                    number=number,
                    text=_written(words, number),
                    low=max(least, number - margin) if margin else None,
                    high=number + margin if margin else None,
                )
                for name, number in zip(chart.names, panel, strict=True)
            ],
            width=_PHONE,
            ends=(least, max(1, most + margin)),
            room=_SIGN * (len(_written(words, most)) + 3),
        )
        for place, (heading, panel) in enumerate(chart.panels, start=1)
    )


def _broken(text: str, longest: int, *, most: int) -> list[str]:
    """Break a text into lines; what is too long ends with three dots."""
    return textwrap.wrap(text, longest, max_lines=most, placeholder="…") or [text[:longest]]


def _written(words: Words, number: float) -> str:
    whole = float(number).is_integer()
    return words.numbers.count(number) if whole else words.numbers.plain(number)


def _told(words: Words, names: Sequence[str], numbers: Sequence[float]) -> str:
    """Say in words what the bars show: the largest and the smallest."""
    bars = list(zip(numbers, names, strict=True))
    most, least = max(bars, key=lambda bar: bar[0]), min(bars, key=lambda bar: bar[0])
    return words.say(
        "Bars for %(rows)s rows. The largest number: %(most)s; the smallest: %(least)s."
        " The table has all numbers.",
        rows=words.numbers.count(len(names)),
        most=f"{most[1]} ({_written(words, most[0])})",
        least=f"{least[1]} ({_written(words, least[0])})",
    )
