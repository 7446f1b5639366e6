"""A chart of a table: bars of its rows, one panel for each column, all on one scale."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reports.drawing import Drawing, Scale, ticks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reports.languages import Words
    from reports.service.facts import Column, Grid, Row

__all__ = ["chart"]

_WIDTH = 860.0
_NAMES = 230.0
_GAP = 24.0
_STEP = 22.0
_MOST_ROWS = 40
_MOST_PANELS = 5
_LONGEST = 34


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
    >>> from reports.service.facts import Column, Grid, Row
    >>> rows = tuple(Row(heads=(sex,), numbers=(n,)) for sex, n in (("F", 12), ("M", 9)))
    >>> sex, count = Column(heading="Sex", href=""), Column(heading="Count", href="")
    >>> grid = Grid(
    ...     labels=(), measure="Count", across="", heads=(sex,), columns=(count,),
    ...     rows=rows, n_rows=2,
    ... )
    >>> chart(words_of("en"), grid).count("<rect")
    2
    """  # fmt: skip
    rows = [row for row in grid.rows if not row.is_total] or list(grid.rows)
    places = [p for p, column in enumerate(grid.columns) if not column.is_total]
    places = (places or list(range(len(grid.columns))))[:_MOST_PANELS]
    if len(rows) < 2 or not places or len(grid.rows) < grid.n_rows or len(rows) > _MOST_ROWS:
        return None
    wide = (_WIDTH - _NAMES - _GAP * len(places)) / len(places)
    top = 40.0 if len(places) > 1 or grid.across else 16.0
    low = top + _STEP * len(rows)
    drawing = Drawing("chart", size=(_WIDTH, low + 40))
    at = ticks(0, max(1.0, *(row.numbers[p] for row in rows for p in places)), number=3)
    for place, row in enumerate(rows):
        drawing.text((_NAMES - 8, top + place * _STEP + 15), _name(row), anchor="end")
    for number, place in enumerate(places):
        left = _NAMES + number * (wide + _GAP)
        along = Scale((0, at[-1]), (left, left + wide))
        _panel(
            drawing,
            words,
            along,
            at=at,
            numbers=[row.numbers[place] for row in rows],
            span=(top, low),
        )
        if len(places) > 1 or grid.across:
            name = _cut(grid.columns[place].heading, int(wide / 6.6))
            drawing.text((left, top - 12), name, css="t strong")
    drawing.text(((_NAMES + _WIDTH - _GAP) / 2, low + 34), grid.measure, anchor="middle")
    return drawing.finish(
        grid.caption, _told(words, rows, [grid.columns[p] for p in places], places)
    )


def _panel(
    drawing: Drawing,
    words: Words,
    along: Scale,
    *,
    at: Sequence[float],
    numbers: Sequence[float],
    span: tuple[float, float],
) -> None:
    top, low = span
    for number in at:
        drawing.line((along(number), low), (along(number), top - 4), css="grid")
    # The labels of neighbours must not touch: the first and the last will do in a narrow panel.
    shown = at if (along(at[-1]) - along(0)) / len(at) > 52 else [at[0], at[-1]]
    for number in shown:
        drawing.text((along(number), low + 15), words.numbers.count(number), anchor="middle")
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
        heads = ", ".join(row.heads)
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
    return _cut(", ".join(row.heads), _LONGEST)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: max(1, longest - 1)] + "…"
