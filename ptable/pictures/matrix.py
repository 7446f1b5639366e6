"""The heat map: how likely each count is published as each value."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

from footing.svg import coordinate, moves, outline, text_width
from ptable.pictures.facts import (
    RowFacts,
    bin_width,
    binned,
    chosen_rows,
    never_near,
    never_published,
    row_facts,
    span,
    table_notes,
)
from ptable.pictures.picture import begun, finished, html_table
from ptable.pictures.svg import HATCH, INK, MARGIN
from ptable.pictures.words import ENGLISH, Wording, in_english, percent, ranges, signed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ptable.pictures.picture import Picture
    from ptable.pictures.svg import Drawing
    from ptable.pictures.words import Words
    from ptable.table import PTable

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
_FIRST_DARK = 4
_MAX_COLUMNS = 160
_GRID = "#dddddd"


def heatmap(
    table: PTable,
    *,
    title: str | None = None,
    width: float = 760,
    words: Words = in_english,
    decimal_mark: str = ".",
) -> Picture:
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
    words
        Gives the words of another language for the English ones, as ``gettext`` does.
    decimal_mark
        What stands before decimals, ``"."`` or ``","``.

    Examples
    --------
    >>> from ptable import NoiseSpec, solve
    >>> picture = heatmap(solve(NoiseSpec(max_noise=5, variance=3.0, small=2)))
    >>> "Never published: 1 to 2." in picture.description
    True
    """
    wording = Wording(words=words, decimal_mark=decimal_mark)
    grid = _grid_of(table, wording=wording)
    what = words("Transition probabilities")
    drawing = begun(table, what, title=title, width=width, wording=wording)
    has_numbers = _draw(drawing, grid, wording)
    entries = [("#ffffff", words("cannot occur"))]
    entries += zip(SHADES, _classes(wording), strict=True)
    entries.append(("outline", words("published as it is")))
    if any(grid.hatched):
        entries.append((HATCH, words("never published")))
    drawing.legend(words("Probability"), entries)
    if has_numbers:
        drawing.note(words("Numbers in cells are percent."))
    description = _describe(table, grid, wording)
    notes = _notes(table, grid, wording)
    return finished(drawing, notes, description, _data(grid, wording), wording)


def _classes(wording: Wording) -> tuple[str, ...]:
    words = wording.words
    return (
        words("under 0.1 %"),
        words("0.1 to 1"),
        words("1 to 5"),
        words("5 to 10"),
        words("10 to 20"),
        words("20 to 40"),
        words("40 to 70"),
        words("70 to 100 %"),
    )


def on_shade(place: int) -> str:
    """Give the colour of text on a shade, with a contrast of at least 4.5 to 1."""
    return "#ffffff" if place >= _FIRST_DARK else INK


def _draw(drawing: Drawing, grid: _Grid, wording: Wording) -> bool:
    """Draw the matrix with its labels, and tell whether the cells hold numbers."""
    words, names = wording.words, [row.name for row in grid.rows]
    n_columns = len(grid.columns)
    # The first label may be wider than its column, and stands beside the word "count".
    overhang = text_width(grid.columns[0], 10) / 2
    head = text_width(words("count"), 11, bold=True) + overhang
    left = MARGIN + max(head, *(text_width(name, 11) for name in names)) + 8
    wide = min(46.0, (drawing.width - MARGIN - left) / n_columns)
    high = min(24.0, max(9.0 if len(names) > 12 else 18.0, wide * 0.8))
    top = drawing.y + 34
    drawing.axis(left, _axis(grid, wording))
    place = left - 6 - overhang, top - 6
    drawing.text(place, words("count"), size=11, anchor="end", bold=True)
    for c in _ticks(grid, wide):
        drawing.text(
            (left + (c + 0.5) * wide, top - 6), grid.columns[c], size=10, anchor="middle"
        )
    every = 1 if high >= 12 else 2
    for line, name in enumerate(names):
        is_last = line == len(names) - 1
        if is_last or (line % every == 0 and line < len(names) - every):
            base = top + (line + 0.5) * high + 4
            drawing.text((left - 6, base), name, size=11, anchor="end")
    box = (left, top, wide, high)
    _draw_cells(drawing, grid, box)
    _draw_lines(drawing, grid, box)
    if _numbers_fit(box):
        _draw_numbers(drawing, grid, box, wording)
    drawing.y = top + high * len(grid.rows)
    return _numbers_fit(box)


def _axis(grid: _Grid, wording: Wording) -> str:
    if not grid.by_published:
        return wording.words("noise: published minus count")
    if grid.unit == 1:
        return wording.words("published count")
    return wording.words("published value")


def _ticks(grid: _Grid, wide: float) -> Iterable[int]:
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


def _draw_cells(drawing: Drawing, grid: _Grid, box: tuple[float, float, float, float]) -> None:
    """Fill the cells, one path per shade, neighbours of the same shade together."""
    left, top, wide, high = box
    steps: list[list[str]] = [[] for _ in (*SHADES, HATCH)]
    for place, (law, hatched) in enumerate(zip(grid.cells, grid.hatched, strict=True)):
        shade_of = {c: bisect_right(_BOUNDS, p) for c, p in law.items() if p}
        shade_of |= {c: len(SHADES) for c in hatched if 0 <= c < len(grid.columns)}
        for first, last, shade in _runs(shade_of):
            start, length = left + first * wide, (last - first + 1) * wide
            steps[shade].append(outline(start, top + place * high, length, high))
    for shade, colour in enumerate((*SHADES, HATCH)):
        drawing.path(steps[shade], fill=colour)


def _runs(shade_of: dict[int, int]) -> Iterable[tuple[int, int, int]]:
    """Give the first column, the last and the shade of neighbours of the same shade."""
    places = enumerate(sorted(shade_of))
    for (_, shade), run in groupby(places, lambda one: (one[1] - one[0], shade_of[one[1]])):
        columns = [column for _, column in run]
        yield columns[0], columns[-1], shade


def _draw_lines(drawing: Drawing, grid: _Grid, box: tuple[float, float, float, float]) -> None:
    left, top, wide, high = box
    right, bottom = left + wide * len(grid.columns), top + high * len(grid.rows)
    if wide >= 10:
        lines = [
            f"{moves((left + c * wide, top))}V{coordinate(bottom)}"
            for c in range(1, len(grid.columns))
        ]
        lines += [
            f"{moves((left, top + r * high))}H{coordinate(right)}"
            for r in range(1, len(grid.rows))
        ]
        drawing.path(lines, stroke=_GRID, stroke_width=0.7)
    drawing.rect((left, top, right - left, bottom - top), stroke="#777777")
    cuts = [
        f"{moves((left - 4, top + gap * high))}H{coordinate(right + 4)}" for gap in grid.gaps
    ]
    drawing.path(cuts, stroke="#ffffff", stroke_width=4)
    drawing.path(
        [
            outline(left + home * wide, top + place * high, wide, high)
            for place, home in enumerate(grid.home)
        ],
        stroke=INK,
        stroke_width=1.6 if wide >= 10 else 1,
    )


def _numbers_fit(box: tuple[float, float, float, float]) -> bool:
    return box[2] >= text_width(">99", 10) + 3 and box[3] >= 13


def _draw_numbers(
    drawing: Drawing, grid: _Grid, box: tuple[float, float, float, float], wording: Wording
) -> None:
    left, top, wide, high = box
    for place, law in enumerate(grid.cells):
        base = top + (place + 0.5) * high + 3.5
        for c, p in sorted(law.items()):
            drawing.text(
                (left + (c + 0.5) * wide, base),
                wording.number(percent(p)),
                size=10,
                anchor="middle",
                fill=on_shade(bisect_right(_BOUNDS, p)),
            )


def _notes(table: PTable, grid: _Grid, wording: Wording) -> Sequence[str]:
    words = wording.words
    notes = table_notes(table, chosen_rows(table), wording=wording)
    if grid.bin_width > 1:
        sentence = words("Each column sums %(values)s neighbouring noise values.")
        notes.insert(0, sentence % {"values": grid.bin_width})
    if not grid.by_published and any(grid.never):
        notes.append(words("Hatched: the value that this noise leads to is never published."))
    return notes


def _describe(table: PTable, grid: _Grid, wording: Wording) -> str:
    words, last = wording.words, grid.rows[-1]
    figures = {
        "rows": span(grid.rows, wording=wording),
        "noise": wording.number(f"{table.max_noise / table.step:g}"),
        "count": last.name,
        "share": wording.number(percent(last.stays, 1)),
    }
    sentences = [
        words(
            "Heat map of the probability that each count is published as each value: "
            "%(rows)s; the largest noise is %(noise)s."
        ),
        words("Count %(count)s is published as it is with %(share)s %%."),
    ]
    if grid.never:
        sentences.append(words("Never published: %(values)s."))
        figures["values"] = ranges(grid.never, table.step, wording=wording)
    notes = table_notes(table, chosen_rows(table), wording=wording)
    return " ".join([*(sentence % figures for sentence in sentences), *notes])


def _data(grid: _Grid, wording: Wording) -> str:
    words = wording.words
    lines = [
        (
            row.name,
            *(
                wording.number(percent(law.get(c, Fraction(0)), 2))
                for c in range(len(grid.columns))
            ),
        )
        for row, law in zip(grid.rows, grid.cells, strict=True)
    ]
    if grid.bin_width > 1:
        caption = words(
            "Probability in percent, by count (rows) and noise, %(values)s neighbouring "
            "values a column (columns)"
        ) % {"values": grid.bin_width}
    elif grid.by_published:
        caption = words("Probability in percent, by count (rows) and published value (columns)")
    else:
        caption = words("Probability in percent, by count (rows) and noise (columns)")
    return html_table(caption, [words("count"), *grid.columns], lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Grid:
    """Hold the cells of a heat map.

    Parameters
    ----------
    rows
        The rows that are drawn.
    columns
        The labels of the columns.
    by_published
        Whether columns are published values; they are noise values otherwise.
    bin_width
        How many neighbouring noise values a column sums.
    cells
        Per row the probability by column.
    home
        Per row the column of no noise.
    hatched
        Per row the columns that no count is published as.
    never
        The values that no count is published as, in steps.
    gaps
        Before which rows others are left out.
    unit
        How many columns make one unit.
    """

    rows: list[RowFacts]
    columns: list[str]
    by_published: bool
    bin_width: int
    cells: list[dict[int, Fraction]]
    home: list[int]
    hatched: list[set[int]]
    never: set[int]
    gaps: list[int]
    unit: int


def _grid_of(table: PTable, *, wording: Wording = ENGLISH) -> _Grid:
    """Lay out the cells of a table: by published value, or by noise where that is too wide."""
    chosen = chosen_rows(table)
    rows = [row_facts(table, row, wording=wording) for row in chosen]
    step = table.step
    most = max(row.count * step + max(row.law) for row in rows)
    if table.anchors is None and len(chosen) == table.n_rows and most < _MAX_COLUMNS:
        never = never_published(table, 0, most)
        return _Grid(
            rows=rows,
            columns=[wording.number(f"{j / step:g}") for j in range(most + 1)],
            by_published=True,
            bin_width=1,
            cells=[{r.count * step + v: p for v, p in r.law.items()} for r in rows],
            home=[row.count * step for row in rows],
            hatched=[never for _ in rows],
            never=never,
            gaps=[],
            unit=step,
        )
    return _noise_grid(table, rows, wording)


def _noise_grid(table: PTable, rows: list[RowFacts], wording: Wording) -> _Grid:
    step = table.step
    reach = max(max(map(abs, row.law)) for row in rows)
    wide = bin_width(reach, _MAX_COLUMNS)
    side = (reach + wide // 2) // wide
    never = never_near(table, [row.count for row in rows], reach) if wide == 1 else set()
    hatched = [{j - row.count * step + side for j in never} for row in rows]
    gaps = [
        place
        for place, (before, after) in enumerate(pairwise(rows), start=1)
        if after.count > before.count + 1
    ]
    return _Grid(
        rows=rows,
        columns=[wording.number(signed(wide * (c - side), step)) for c in range(2 * side + 1)],
        by_published=False,
        bin_width=wide,
        cells=[{side + v: p for v, p in binned(row.law, wide).items()} for row in rows],
        home=[side for _ in rows],
        hatched=hatched,
        never=never,
        gaps=[] if table.anchors is not None else gaps,
        unit=step if wide == 1 else 1,
    )
