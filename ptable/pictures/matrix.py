"""The heat map: how likely each count is published as each value."""

from __future__ import annotations

from bisect import bisect_right
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

from footing.messages import Message
from footing.svg import Grid, coordinate, html_table, moves, text_width
from ptable.pictures.facts import (
    bin_width,
    binned,
    chosen_rows,
    never_near,
    never_published,
    row_facts,
    span,
    table_notes,
)
from ptable.pictures.picture import begun, finished
from ptable.pictures.svg import HATCH, INK, MARGIN
from ptable.pictures.words import percent, ranges, signed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ptable.pictures.picture import Picture
    from ptable.pictures.svg import Drawing
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
_CLASSES = (
    *(Message("under 0.1 %"), "0.1 to 1", "1 to 5", "5 to 10"),
    *("10 to 20", "20 to 40", "40 to 70", "70 to 100 %"),
)
_FIRST_DARK = 4
_MAX_COLUMNS = 160
_NONE = Fraction(0)
_GRID = "#dddddd"


def heatmap(table: PTable) -> Picture:
    """Draw the transition probabilities as a matrix of shades.

    Columns are published values; in tables with anchors, and in very large ones, they are
    noise values, so that every row fits.

    Parameters
    ----------
    table
        The p-table.

    Examples
    --------
    >>> from ptable import NoiseSpec, solve
    >>> picture = heatmap(solve(NoiseSpec(max_noise=5, variance=3.0, small=2)))
    >>> "Never published: 1 to 2." in picture.description
    True
    """
    drawing = begun(table, "Transition probabilities")
    grid = _Grid(table, drawing)
    grid.draw()
    entries = [("#ffffff", Message("cannot occur")), *zip(SHADES, _CLASSES, strict=True)]
    entries.append(("outline", Message("published as it is")))
    if any(grid.hatched):
        entries.append((HATCH, Message("never published")))
    drawing.legend("Probability", entries)
    if grid.has_numbers:
        drawing.note("Numbers in cells are percent.")
    return finished(drawing, grid.notes(), grid.described(), grid.data())


def on_shade(place: int) -> str:
    """Give the colour of text on a shade, with a contrast of at least 4.5 to 1."""
    return "#ffffff" if place >= _FIRST_DARK else INK


class _Grid:
    """The cells of a heat map, and where they are.

    Columns are published values where these are few, and noise values otherwise; `bin_width`
    neighbouring ones then share a column.
    """

    def __init__(self, table: PTable, drawing: Drawing) -> None:
        self.table, self.drawing = table, drawing
        numbers, step = chosen_rows(table), table.step
        self.rows = rows = [row_facts(table, row) for row in numbers]
        most = max(row.count * step + max(row.law) for row in rows)
        is_whole = table.anchors is None and len(numbers) == table.n_rows
        self.by_published = is_whole and most < _MAX_COLUMNS
        reach = max(max(map(abs, row.law)) for row in rows)
        self.bin_width = wide = 1 if self.by_published else bin_width(reach, _MAX_COLUMNS)
        side = (reach + wide // 2) // wide
        self.never: set[int] = set()
        if self.by_published:
            self.never = never_published(table, 0, most)
            self.columns = [f"{j / step:g}" for j in range(most + 1)]
        else:
            if wide == 1:
                self.never = never_near(table, [row.count for row in rows], reach)
            self.columns = [signed(wide * v, step) for v in range(-side, side + 1)]
        #: Per row the column of no noise, the probability by column, and those never published.
        self.home = [row.count * step if self.by_published else side for row in rows]
        self.cells, self.hatched = [], []
        for row, home in zip(rows, self.home, strict=True):
            self.cells.append({home + v: p for v, p in binned(row.law, wide).items()})
            self.hatched.append({j - row.count * step + home for j in self.never})
        self.gaps = [  # before these rows others are left out
            place
            for place, (before, after) in enumerate(pairwise(rows), start=1)
            if after.count > before.count + 1 and table.anchors is None
        ]
        self.unit = step if wide == 1 else 1
        # The first label may be wider than its column, and stands beside the word "count".
        self.overhang = text_width(self.columns[0], 10) / 2
        first = text_width("count", 11, bold=True) + self.overhang
        self.left = MARGIN + max(first, *(text_width(row.name, 11) for row in rows)) + 8
        self.top = drawing.y + 34
        self.wide = min(46.0, (drawing.width - MARGIN - self.left) / len(self.columns))
        self.high = min(24.0, max(9.0 if len(rows) > 12 else 18.0, self.wide * 0.8))
        self.grid = Grid((self.left, self.top), (self.wide, self.high))
        self.has_numbers = self.wide >= text_width(">99", 10) + 3 and self.high >= 13

    def draw(self) -> None:
        """Draw the matrix with its labels, and move the end of the card below it."""
        drawing, left, top = self.drawing, self.left, self.top
        drawing.axis(left, self._axis())
        place = left - 6 - self.overhang, top - 6
        drawing.text(place, "count", size=11, anchor="end", bold=True)
        for c in self._ticks():
            place = left + (c + 0.5) * self.wide, top - 6
            drawing.text(place, self.columns[c], size=10, anchor="middle")
        every, n_rows = 1 if self.high >= 12 else 2, len(self.rows)
        for line, row in enumerate(self.rows):
            if line == n_rows - 1 or (line % every == 0 and line < n_rows - every):
                place = left - 6, top + (line + 0.5) * self.high + 4
                drawing.text(place, row.name, size=11, anchor="end")
        self._draw_cells()
        self._draw_lines()
        if self.has_numbers:
            self._draw_numbers()
        drawing.y = top + self.high * n_rows

    def _axis(self) -> str:
        if not self.by_published:
            return "noise: published minus count"
        return "published count" if self.unit == 1 else "published value"

    def _ticks(self) -> Iterable[int]:
        """Choose the columns that have room for a label; 0 is always one."""
        room = max(text_width(name, 10) for name in self.columns) + 4
        sizes = sorted({k * u for k in (1, 2, 5, 10, 20, 50, 100, 200) for u in (1, self.unit)})
        every = next((size for size in sizes if size * self.wide >= room), sizes[-1])
        start = 0 if self.by_published else self.home[0] % every
        columns = range(start, len(self.columns), every)
        half = text_width(self.columns[columns[-1]], 10) / 2 if columns else 0.0
        # A long label at the right end must not leave the card.
        if columns and half > (len(self.columns) - columns[-1] - 0.5) * self.wide + MARGIN - 2:
            return columns[:-1]
        return columns

    def _draw_cells(self) -> None:
        shades: list[dict[int, int]] = []
        for distribution, hatched in zip(self.cells, self.hatched, strict=True):
            shade_of = {c: bisect_right(_BOUNDS, p) for c, p in distribution.items() if p}
            shade_of |= {c: len(SHADES) for c in hatched if 0 <= c < len(self.columns)}
            shades.append(shade_of)
        looks = [{"fill": colour} for colour in (*SHADES, HATCH)]
        self.grid.fill(self.drawing, shades, looks)

    def _draw_lines(self) -> None:
        left, top, wide, high = self.left, self.top, self.wide, self.high
        n_rows, n_columns, path = len(self.rows), len(self.columns), self.drawing.path
        if wide >= 10:
            self.grid.lines(self.drawing, n_rows, n_columns, stroke=_GRID, stroke_width=0.7)
        self.drawing.rect((left, top, wide * n_columns, high * n_rows), stroke="#777777")
        beyond = coordinate(left + wide * n_columns + 4)
        cuts = [f"{moves((left - 4, top + gap * high))}H{beyond}" for gap in self.gaps]
        path(cuts, stroke="#ffffff", stroke_width=4)
        homes = [self.grid.box(place, home) for place, home in enumerate(self.home)]
        path(homes, stroke=INK, stroke_width=1.6 if wide >= 10 else 1)

    def _draw_numbers(self) -> None:
        for place, distribution in enumerate(self.cells):
            for c, p in sorted(distribution.items()):
                x, y = self.grid.middle(place, c)
                self.drawing.text(
                    (x, y + 3.5),
                    percent(p),
                    size=10,
                    anchor="middle",
                    fill=on_shade(bisect_right(_BOUNDS, p)),
                )

    def notes(self) -> Sequence[str]:
        """Say what is not drawn, and what columns and hatches mean."""
        notes = table_notes(self.table, chosen_rows(self.table))
        if self.bin_width > 1:
            notes.insert(0, f"Each column sums {self.bin_width} neighbouring noise values.")
        if not self.by_published and any(self.never):
            notes.append("Hatched: the value that this noise leads to is never published.")
        return notes

    def described(self) -> str:
        """Say what the picture shows."""
        last, table = self.rows[-1], self.table
        sentences = [
            (
                "Heat map of the probability that each count is published as each value: "
                f"{span(self.rows)}; the largest noise is {table.max_noise / table.step:g}."
            ),
            f"Count {last.name} is published as it is with {percent(last.stays, 1)} %.",
        ]
        if self.never:
            sentences.append(f"Never published: {ranges(self.never, table.step)}.")
        return " ".join([*sentences, *table_notes(table, chosen_rows(table))])

    def data(self) -> str:
        """Give the probabilities as a table."""
        columns = range(len(self.columns))
        lines = [
            [row.name, *(percent(distribution.get(c, _NONE), 2) for c in columns)]
            for row, distribution in zip(self.rows, self.cells, strict=True)
        ]
        across = "published value" if self.by_published else "noise"
        if self.bin_width > 1:
            across += f", {self.bin_width} neighbouring values a column"
        caption = f"Probability in percent, by count (rows) and {across} (columns)"
        return html_table(caption, ["count", *self.columns], lines)
