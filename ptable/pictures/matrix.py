"""The heat map: how likely each count is published as each value."""

from __future__ import annotations

from bisect import bisect_right
from fractions import Fraction
from typing import TYPE_CHECKING

from ptable.pictures.data import heading, html_table
from ptable.pictures.facts import chosen_rows, span, table_notes
from ptable.pictures.grid import Grid, grid_of
from ptable.pictures.picture import Picture
from ptable.pictures.svg import HATCH, INK, MARGIN, Drawing, number, text_width
from ptable.pictures.words import percent, ranges

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ptable.table import PTable

__all__ = ["SHADES", "heatmap", "on_shade"]

#: Of equal steps in lightness, so that they keep their order in grey and for every eye.
SHADES = (
    "#cfe9f9",
    "#a4cdea",
    "#7db0d9",
    "#5c93c5",
    "#4076ae",
    "#265997",
    "#153d7c",
    "#0c2459",
)
_BOUNDS = tuple(Fraction(n, 1000) for n in (1, 10, 50, 100, 200, 400, 700))
_CLASSES = (
    "under 0.1 %",
    "0.1 to 1",
    "1 to 5",
    "5 to 10",
    "10 to 20",
    "20 to 40",
    "40 to 70",
    "70 to 100 %",
)
_FIRST_DARK = 4
_GRID = "#dddddd"


def heatmap(table: PTable, *, title: str | None = None, width: float = 760) -> Picture:
    """Draw the transition probabilities as a matrix of shades.

    Columns are published values; in tables with anchors, and in very large ones, they are
    noise values, so that every row fits.

    Parameters
    ----------
    table
        The p-table.
    title
        A heading; None for the usual one.
    width
        The width of the picture, in pixels.

    Examples
    --------
    >>> from ptable import NoiseSpec, solve
    >>> picture = heatmap(solve(NoiseSpec(max_noise=5, variance=3.0, small=2)))
    >>> "Never published: 1 to 2." in picture.description
    True
    """
    grid = grid_of(table)
    drawing = Drawing(title or heading("Transition probabilities", table), width=width)
    has_numbers = _draw(drawing, grid)
    entries = [("#ffffff", "cannot occur"), *zip(SHADES, _CLASSES, strict=True)]
    entries.append(("outline", "published as it is"))
    if any(grid.hatched):
        entries.append((HATCH, "never published"))
    drawing.legend("Probability", entries)
    if has_numbers:
        drawing.note("Numbers in cells are percent.")
    for note in _notes(table, grid):
        drawing.note(note)
    description = _describe(table, grid)
    return Picture(svg=drawing.finish(description), description=description, table=_data(grid))


def on_shade(place: int) -> str:
    """Give the colour of text on a shade, with a contrast of at least 4.5 to 1.

    Parameters
    ----------
    place
        The place of the shade in `SHADES`.

    Examples
    --------
    >>> on_shade(0), on_shade(7)
    ('#111111', '#ffffff')
    """
    return "#ffffff" if place >= _FIRST_DARK else INK


def _draw(drawing: Drawing, grid: Grid) -> bool:
    """Draw the matrix with its labels, and tell whether the cells hold numbers."""
    names = [row.name for row in grid.rows]
    n_columns = len(grid.columns)
    # The first label may be wider than its column, and stands beside the word "count".
    overhang = text_width(grid.columns[0], 10) / 2
    head = text_width("count", 11, bold=True) + overhang
    left = MARGIN + max(head, *(text_width(name, 11) for name in names)) + 8
    wide = min(46.0, (drawing.width - MARGIN - left) / n_columns)
    high = min(24.0, max(9.0 if len(names) > 12 else 18.0, wide * 0.8))
    top = drawing.y + 34
    axis = "published value" if grid.by_published else "noise: published minus count"
    if grid.by_published and grid.unit == 1:
        axis = "published count"
    drawing.axis(left, axis)
    drawing.text((left - 6 - overhang, top - 6), "count", size=11, anchor="end", bold=True)
    for c in _ticks(grid, wide):
        drawing.text(
            (left + (c + 0.5) * wide, top - 6), grid.columns[c], size=10, anchor="middle"
        )
    every = 1 if high >= 12 else 2
    for place, name in enumerate(names):
        is_last = place == len(names) - 1
        if is_last or (place % every == 0 and place < len(names) - every):
            base = top + (place + 0.5) * high + 4
            drawing.text((left - 6, base), name, size=11, anchor="end")
    box = (left, top, wide, high)
    _draw_cells(drawing, grid, box)
    _draw_lines(drawing, grid, box)
    if _numbers_fit(box):
        _draw_numbers(drawing, grid, box)
    drawing.y = top + high * len(grid.rows)
    return _numbers_fit(box)


def _ticks(grid: Grid, wide: float) -> Iterable[int]:
    """Choose the columns that have room for a label; 0 is always one."""
    room = max(text_width(name, 10) for name in grid.columns) + 4
    sizes = sorted({k * u for k in (1, 2, 5, 10, 20, 50, 100, 200) for u in (1, grid.unit)})
    every = next((size for size in sizes if size * wide >= room), sizes[-1])
    start = 0 if grid.by_published else grid.home[0] % every
    columns = range(start, len(grid.columns), every)
    half = text_width(grid.columns[columns[-1]], 10) / 2 if columns else 0.0
    # A long label at the right end must not leave the card.
    if columns and half > (len(grid.columns) - columns[-1] - 0.5) * wide + MARGIN - 2:
        return columns[:-1]
    return columns


def _draw_cells(drawing: Drawing, grid: Grid, box: tuple[float, float, float, float]) -> None:
    """Fill the cells, one path per shade, neighbours of the same shade together."""
    left, top, wide, high = box
    steps: list[list[str]] = [[] for _ in (*SHADES, HATCH)]
    for place, (law, hatched) in enumerate(zip(grid.cells, grid.hatched, strict=True)):
        shade_of = {c: bisect_right(_BOUNDS, p) for c, p in law.items() if p}
        shade_of |= {c: len(SHADES) for c in hatched if 0 <= c < len(grid.columns)}
        for first, last, shade in _runs(shade_of):
            start, length = number(left + first * wide), number((last - first + 1) * wide)
            line = number(top + place * high)
            steps[shade].append(f"M{start} {line}h{length}v{number(high)}h-{length}z")
    for shade, colour in enumerate((*SHADES, HATCH)):
        drawing.path(steps[shade], fill=colour)


def _runs(shade_of: dict[int, int]) -> Iterable[tuple[int, int, int]]:
    first = last = -2
    shade = -1
    for c in sorted(shade_of):
        if c == last + 1 and shade_of[c] == shade:
            last = c
            continue
        if shade >= 0:
            yield first, last, shade
        first = last = c
        shade = shade_of[c]
    if shade >= 0:
        yield first, last, shade


def _draw_lines(drawing: Drawing, grid: Grid, box: tuple[float, float, float, float]) -> None:
    left, top, wide, high = box
    right, bottom = left + wide * len(grid.columns), top + high * len(grid.rows)
    if wide >= 10:
        lines = [
            f"M{number(left + c * wide)} {number(top)}V{number(bottom)}"
            for c in range(1, len(grid.columns))
        ]
        lines += [
            f"M{number(left)} {number(top + r * high)}H{number(right)}"
            for r in range(1, len(grid.rows))
        ]
        drawing.path(lines, stroke=_GRID, stroke_width=0.7)
    drawing.rect((left, top, right - left, bottom - top), stroke="#777777")
    cuts = [
        f"M{number(left - 4)} {number(top + gap * high)}H{number(right + 4)}"
        for gap in grid.gaps
    ]
    drawing.path(cuts, stroke="#ffffff", stroke_width=4)
    drawing.path(
        [
            f"M{number(left + home * wide)} {number(top + place * high)}"
            f"h{number(wide)}v{number(high)}h-{number(wide)}z"
            for place, home in enumerate(grid.home)
        ],
        stroke=INK,
        stroke_width=1.6 if wide >= 10 else 1,
    )


def _numbers_fit(box: tuple[float, float, float, float]) -> bool:
    return box[2] >= text_width(">99", 10) + 3 and box[3] >= 13


def _draw_numbers(drawing: Drawing, grid: Grid, box: tuple[float, float, float, float]) -> None:
    left, top, wide, high = box
    for place, law in enumerate(grid.cells):
        base = top + (place + 0.5) * high + 3.5
        for c, p in sorted(law.items()):
            drawing.text(
                (left + (c + 0.5) * wide, base),
                percent(p),
                size=10,
                anchor="middle",
                fill=on_shade(bisect_right(_BOUNDS, p)),
            )


def _notes(table: PTable, grid: Grid) -> Sequence[str]:
    notes = table_notes(table, chosen_rows(table))
    if grid.bin_width > 1:
        notes.insert(0, f"Each column sums {grid.bin_width} neighbouring noise values.")
    if not grid.by_published and any(grid.never):
        notes.append("Hatched: the value that this noise leads to is never published.")
    return notes


def _describe(table: PTable, grid: Grid) -> str:
    rows = grid.rows
    last = rows[-1]
    reach = f"{table.max_noise / table.step:g}"
    words = [
        (
            "Heat map of the probability that each count is published as each value: "
            f"{span(rows)}; the largest noise is {reach}."
        ),
        f"Count {last.name} is published as it is with {percent(last.stays, 1)} %.",
    ]
    if grid.never:
        words.append(f"Never published: {ranges(grid.never, table.step)}.")
    return " ".join([*words, *table_notes(table, chosen_rows(table))])


def _data(grid: Grid) -> str:
    what = "published value" if grid.by_published else "noise"
    if grid.bin_width > 1:
        what = f"noise, {grid.bin_width} neighbouring values a column"
    lines = [
        (row.name, *(percent(law.get(c, Fraction(0)), 2) for c in range(len(grid.columns))))
        for row, law in zip(grid.rows, grid.cells, strict=True)
    ]
    caption = f"Probability in percent, by count (rows) and {what} (columns)"
    return html_table(caption, ["count", *grid.columns], lines)
