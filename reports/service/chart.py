"""A chart of a table: bars of its rows, one panel for each column, all on one scale."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from reports.drawing import Drawing, Scale, ticks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reports.languages import Words
    from reports.service.facts import Column, Grid, Row

__all__ = ["chart"]

_WIDTH = 860.0
_GAP = 30.0
_STEP = 22.0
_BELOW = 62.0
_IN_A_ROW = 4
_MOST_ROWS, _MOST_BARS = 40, 240
_LONGEST = 34
_SIGN = 7.6  # a character is hardly wider


def chart(words: Words, grid: Grid) -> str | None:
    """Draw the numbers of a table; None where there is nothing to compare.

    Totals are left out where they have parts, as their bars would dwarf all others.

    Parameters
    ----------
    words
        The language.
    grid
        The table.

    Examples
    --------
    >>> from reports.languages import words_of
    >>> from reports.service.facts import Column, Grid, Head, Row
    >>> numbers = {"F": 12, "M": 9}
    >>> rows = tuple(Row(heads=(Head(label=s),), numbers=(n,)) for s, n in numbers.items())
    >>> sex, count = Column(heading="Sex", href=""), Column(heading="Count", href="")
    >>> grid = Grid(
    ...     labels=(), measure="Count", across="", heads=(sex,), columns=(count,),
    ...     rows=rows, n_rows=2,
    ... )
    >>> chart(words_of("en"), grid).count("<rect")
    2
    """  # fmt: skip
    rows = [row for row in grid.rows if not row.has_parts] or list(grid.rows)
    columns = [p for p, column in enumerate(grid.columns) if not column.has_parts]
    if len(rows) < 2 or not columns or len(grid.rows) < grid.n_rows:
        return None
    if len(rows) > _MOST_ROWS or len(rows) * len(columns) > _MOST_BARS:
        return None
    names = [_name(row) for row in rows]
    margin = 16 + _SIGN * max(map(len, names))
    n_beside = min(len(columns), _IN_A_ROW)
    wide = (_WIDTH - margin - _GAP * n_beside) / n_beside
    high = _STEP * len(rows)
    each = high + _BELOW
    drawing = Drawing("chart", size=(_WIDTH, each * math.ceil(len(columns) / n_beside)))
    at = ticks(0, max(1.0, *(row.numbers[p] for row in rows for p in columns)), number=3)
    for place, column in enumerate(columns):
        down, beside = divmod(place, n_beside)
        top = down * each + 26
        left = margin + beside * (wide + _GAP)
        along = Scale((0, at[-1]), (left, left + wide))
        numbers = [row.numbers[column] for row in rows]
        if beside == 0:
            for line, name in enumerate(names):
                drawing.text((margin - 8, top + line * _STEP + 15), name, anchor="end")
        _panel(drawing, words, along, at=at, numbers=numbers, top=top)
        heading = grid.columns[column].heading
        drawing.text((left, top - 11), _cut(heading, int(wide / _SIGN)), css="t strong")
    told = [grid.columns[p] for p in columns]
    return drawing.finish(grid.caption, _told(words, rows, told, columns))


def _panel(
    drawing: Drawing,
    words: Words,
    along: Scale,
    *,
    at: Sequence[float],
    numbers: Sequence[float],
    top: float,
) -> None:
    low = top + _STEP * len(numbers)
    for number in at:
        drawing.line((along(number), low), (along(number), top - 4), css="grid")
    # Labels of neighbours must not touch: the ends will do in a narrow panel.
    is_narrow = (along(at[-1]) - along(0)) / (len(at) - 1) < 62
    for number in [at[0], at[-1]] if is_narrow else at:
        anchor = "start" if number == 0 else "end" if number == at[-1] else "middle"
        drawing.text((along(number), low + 15), words.numbers.count(number), anchor=anchor)
    for place, number in enumerate(numbers):
        bar = (along(0), top + place * _STEP + 3, along(number) - along(0), _STEP - 6)
        drawing.rect(bar, css="drawn")
    drawing.line((along(0), top - 4), (along(0), low), css="axis")


def _told(
    words: Words, rows: Sequence[Row], columns: Sequence[Column], places: Sequence[int]
) -> str:
    """Say in words what the bars show: the largest and the smallest."""
    cells = [
        (row.numbers[place], row, column)
        for row in rows
        for place, column in zip(places, columns, strict=True)
    ]
    most, least = max(cells, key=lambda c: c[0]), min(cells, key=lambda c: c[0])

    def said(cell: tuple[float, Row, Column]) -> str:
        number, row, column = cell
        heads = _heads(row)
        name = f"{heads}, {column.heading}" if len(columns) > 1 else heads
        return f"{name} ({words.numbers.count(number)})"

    return words.say(
        "Bars for %(rows)s rows. The largest number: %(most)s; the smallest: %(least)s."
        " The table above has all numbers.",
        rows=words.numbers.count(len(rows)),
        most=said(most),
        least=said(least),
    )


def _name(row: Row) -> str:
    return _cut(_heads(row), _LONGEST)


def _heads(row: Row) -> str:
    return ", ".join(head.label for head in row.heads)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: max(1, longest - 1)] + "…"
