"""A chart of a table: bars of its rows, a drawing for each panel, all on one scale."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from footing.svg import Axis
from reports.charts.drawing import Drawing, Labels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reports.facts.service import Chart
    from reports.i18n.languages import Words

_WIDTH = 420.0  # so that a phone shows it whole
_LINE, _STEP, _STEP_OF_TWO = 14.0, 22.0, 32.0
_LONGEST = 22  # characters of a line at the left
_SIGN, _WIDE_SIGN = 7.0, 7.8  # characters are hardly wider, wide ones
_SEEN = 2.0  # pixels of a margin of error


def charts(words: Words, chart: Chart, *, title: str, margin: int = 0) -> tuple[str, ...]:
    """Draw the numbers of a table, a drawing for each panel; none without a comparison.

    Parameters
    ----------
    words
        The language.
    chart
        What is drawn.
    title
        What all panels show.
    margin
        The margin of error of each number; 0 for none.

    Examples
    --------
    >>> from reports.i18n.languages import words_of
    >>> from reports.facts.service import Chart
    >>> chart = Chart(names=("F", "M"), panels=(("Count", (12, 9)),), n_bars=2)
    >>> [drawing.count("<rect") for drawing in charts(words_of("en"), chart, title="Sex")]
    [2]
    """
    names = tuple(_lines(name, _LONGEST, most=2) for name in chart.names)
    numbers = [number for _, panel in chart.panels for number in panel]
    most = max(numbers, default=0)
    room = _SIGN * (len(_written(words, most)) + 3)
    left = 16 + _WIDE_SIGN * max((len(line) for lines in names for line in lines), default=0)
    along = Axis((0, max(1, most + margin)), (left, _WIDTH - room))
    return tuple(
        _drawn(
            words,
            names,
            (heading, panel),
            along,
            margin=margin,
            labels=Labels(
                id=f"chart{place}",
                title=f"{title}: {heading}" if heading else title,
                description=_told(words, chart.names, panel),
            ),
        )
        for place, (heading, panel) in enumerate(chart.panels, start=1)
    )


def _drawn(
    words: Words,
    names: Sequence[Sequence[str]],
    panel: tuple[str, Sequence[float]],
    along: Axis,
    *,
    margin: int,
    labels: Labels,
) -> str:
    step = _STEP if all(len(lines) == 1 for lines in names) else _STEP_OF_TWO
    heading = _lines(panel[0], int(_WIDTH / _WIDE_SIGN), most=3)
    top, left = 8 + _LINE * len(heading), along(0)
    low = top + step * len(names)
    drawing = Drawing(words, labels, size=(_WIDTH, low + 6))
    for line, text in enumerate(heading, start=1):
        drawing.text((4, line * _LINE), text, css="t strong")
    for place, (lines, number) in enumerate(zip(names, panel[1], strict=True)):
        y = top + place * step
        middle, end = y + step / 2, along(number)
        for line, text in enumerate(lines):
            down = (line - (len(lines) - 1) / 2) * _LINE
            drawing.text((left - 8, middle + 4 + down), text, anchor="end")
        drawing.rect((left, y + 3, end - left, step - 6), css="drawn")
        if along(margin) - left >= _SEEN:
            ends = (along(max(0, number - margin)), along(number + margin))
            drawing.line((ends[0], middle), (ends[1], middle), css="halo")
            drawing.whisker(ends, middle)
            end = ends[1]
        drawing.text((end + 6, middle + 4), _written(words, number))
    drawing.line((left, top), (left, low), css="axis")
    return drawing.finish()


def _lines(text: str, longest: int, *, most: int) -> list[str]:
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
