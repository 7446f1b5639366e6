"""A chart of a table: bars of its rows, one panel for each column, all on one scale."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

from footing.svg import Axis, ticks
from reports.charts.drawing import Drawing, Labels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reports.facts.service import Grid, Row
    from reports.i18n.languages import Words

_WIDTH = 860.0
_GAP = 30.0
_BELOW = 24.0
_LINE = 14.0
_STEP, _STEP_OF_TWO = 22.0, 32.0
_BESIDE = (4, 3, 2)
_MAX_PANELS = 12
_LONGEST = 34  # characters of a line at the left
_SIGN, _WIDE_SIGN = 7.0, 7.8  # characters are hardly wider, wide ones
_NEAR_END = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plot:
    """Names of bars, and panels: a heading and the numbers."""

    names: tuple[str, ...]
    panels: tuple[tuple[str, tuple[float, ...]], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Frame:
    """What all panels share: names in lines, sizes, the end of the scale."""

    names: tuple[list[str], ...]
    step: float
    margin: float
    beside: int
    most: float

    @property
    def wide(self) -> float:
        """The width of a panel."""
        return (_WIDTH - self.margin - _GAP * self.beside) / self.beside


def charts(words: Words, grid: Grid) -> tuple[str, ...]:
    """Draw the numbers of a table, some panels in each drawing; none without a comparison.

    Totals are left out where they have parts, as their bars would dwarf all others. Of more
    columns than can be looked at, the total alone is drawn.

    Parameters
    ----------
    words
        The language.
    grid
        The table.

    Examples
    --------
    >>> from reports.i18n.languages import words_of
    >>> from reports.facts.service import Column, Grid, Head, Row
    >>> numbers = {"F": 12, "M": 9}
    >>> rows = tuple(Row(heads=(Head(label=s),), numbers=(n,)) for s, n in numbers.items())
    >>> sex, count = Column(heading="Sex", href=""), Column(heading="Count", href="")
    >>> grid = Grid(
    ...     labels=(), measure="Count", across="", heads=(sex,), columns=(count,),
    ...     rows=rows, n_rows=2, drawn=rows, n_leaves=2,
    ... )
    >>> [drawing.count("<rect") for drawing in charts(words_of("en"), grid)]
    [2]
    """  # fmt: skip
    plot = _plot(grid)
    if plot is None:
        return ()
    frame = _frame(plot)
    parts = [
        _Plot(names=plot.names, panels=plot.panels[start : start + frame.beside])
        for start in range(0, len(plot.panels), frame.beside)
    ]
    return tuple(
        _drawn(
            words,
            part,
            frame,
            Labels(id=f"chart{place}", title=grid.caption, description=_told(words, part)),
        )
        for place, part in enumerate(parts, start=1)
    )


def _frame(plot: _Plot) -> _Frame:
    names = tuple(_lines(name, _LONGEST, most=2) for name in plot.names)
    margin = 16 + _WIDE_SIGN * max(len(line) for lines in names for line in lines)
    return _Frame(
        names=names,
        step=_STEP if all(len(lines) == 1 for lines in names) else _STEP_OF_TWO,
        margin=margin,
        beside=_beside([heading for heading, _ in plot.panels], _WIDTH - margin),
        most=max(1.0, *(max(numbers) for _, numbers in plot.panels)),
    )


def _drawn(words: Words, plot: _Plot, frame: _Frame, labels: Labels) -> str:
    headings = [_lines(text, _signs(frame.wide), most=3) for text, _ in plot.panels]
    top = 12 + _LINE * max(map(len, headings))
    low = top + frame.step * len(frame.names)
    drawing = Drawing(words, labels, size=(_WIDTH, low + _BELOW))
    _names(drawing, frame, top)
    for place, (lines, (_, numbers)) in enumerate(zip(headings, plot.panels, strict=True)):
        left = frame.margin + place * (frame.wide + _GAP)
        for line, text in enumerate(reversed(lines)):
            drawing.text((left, top - 11 - line * _LINE), text, css="t strong")
        box = (left, top, left + frame.wide, low)
        _panel(drawing, box, numbers=numbers, most=frame.most)
    return drawing.finish()


def _plot(grid: Grid) -> _Plot | None:
    """Choose what is drawn; of one row, its columns are the bars."""
    columns = [
        place
        for place, column in enumerate(grid.columns)
        if column.kind == "number" and not column.has_parts
    ]
    if len(columns) > _MAX_PANELS:
        columns = [place for place, column in enumerate(grid.columns) if column.has_parts][:1]
    headings = [grid.columns[place].heading for place in columns]
    names = _own_names(grid.drawn)
    if len(grid.drawn) == 1 and len(columns) > 1:
        numbers = tuple(grid.drawn[0].numbers[place] for place in columns)
        return _Plot(names=tuple(headings), panels=((names[0], numbers),))
    if len(grid.drawn) < 2 or not columns:
        return None
    panels = (
        (heading, tuple(row.numbers[place] for row in grid.drawn))
        for heading, place in zip(headings, columns, strict=True)
    )
    return _Plot(names=names, panels=tuple(panels))


def _own_names(rows: Sequence[Row]) -> tuple[str, ...]:
    """Name rows by what tells them apart: not by a category that all of them have."""
    heads = [[head.label for head in row.heads] for row in rows]
    differing = [
        place for place, labels in enumerate(zip(*heads, strict=True)) if len({*labels}) > 1
    ]
    return tuple(
        ", ".join(labels[place] for place in differing) if differing else ", ".join(labels)
        for labels in heads
    )


def _beside(headings: Sequence[str], room: float) -> int:
    """Return how many panels stand side by side, so that headings can be read."""
    for many in _BESIDE:
        signs = _signs(room / many - _GAP)
        if all(len(textwrap.wrap(heading, signs)) <= 3 for heading in headings):
            break
    down = math.ceil(len(headings) / many)
    return math.ceil(len(headings) / down)


def _signs(wide: float) -> int:
    return max(4, int(wide / _SIGN))


def _lines(text: str, longest: int, *, most: int) -> list[str]:
    """Break a text into lines; what is too long ends with three dots."""
    return textwrap.wrap(text, longest, max_lines=most, placeholder="…") or [text[:longest]]


def _names(drawing: Drawing, frame: _Frame, top: float) -> None:
    for place, lines in enumerate(frame.names):
        middle = top + (place + 0.5) * frame.step + 4
        for line, text in enumerate(lines):
            down = (line - (len(lines) - 1) / 2) * _LINE
            drawing.text((frame.margin - 8, middle + down), text, anchor="end")


def _panel(
    drawing: Drawing,
    box: tuple[float, float, float, float],
    *,
    numbers: Sequence[float],
    most: float,
) -> None:
    left, top, right, low = box
    along, step = Axis((0, most), (left, right)), (low - top) / len(numbers)
    at = [n for n in ticks(0, most, number=3) if n <= most and float(n).is_integer()]
    if (right - left) / len(at) < 62:  # labels of neighbours must not touch
        at = [at[0], at[-1]]
    for number in dict.fromkeys(at):
        drawing.line((along(number), low), (along(number), top - 4), css="grid")
        near = right - along(number) < _NEAR_END
        anchor = "start" if number == 0 else "end" if near else "middle"
        drawing.text(
            (along(number), low + 15), drawing.words.numbers.count(number), anchor=anchor
        )
    for place, number in enumerate(numbers):
        bar = (left, top + place * step + 3, along(number) - left, step - 6)
        drawing.rect(bar, css="drawn")
    drawing.line((left, top - 4), (left, low), css="axis")


def _told(words: Words, plot: _Plot) -> str:
    """Say in words what the bars show: the largest and the smallest."""
    bars = [
        (number, name, heading)
        for heading, numbers in plot.panels
        for name, number in zip(plot.names, numbers, strict=True)
    ]
    most, least = max(bars, key=lambda bar: bar[0]), min(bars, key=lambda bar: bar[0])

    def said(bar: tuple[float, str, str]) -> str:
        number, name, heading = bar
        name = f"{name}, {heading}" if len(plot.panels) > 1 else name
        return f"{name} ({words.numbers.count(number)})"

    return words.say(
        "Bars for %(rows)s rows. The largest number: %(most)s; the smallest: %(least)s."
        " The table has all numbers.",
        rows=words.numbers.count(len(plot.names)),
        most=said(most),
        least=said(least),
    )
