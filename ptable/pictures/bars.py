"""Bars over the keys: which noise falls to which key."""

from __future__ import annotations

from bisect import bisect_right
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

from footing.svg import across, html_table, text_width
from ptable.lookup import intervals
from ptable.pictures.facts import chosen_rows, row_facts, row_name, span, table_notes
from ptable.pictures.picture import begun, finished
from ptable.pictures.svg import INK, MARGIN
from ptable.pictures.words import ranges, signed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ptable.pictures.picture import Picture
    from ptable.pictures.svg import Drawing
    from ptable.table import PTable

DOWN = ("#f7d7bd", "#eab98f", "#d9975c", "#b9742e", "#8f520d")
UP = ("#cbe1f8", "#a2c8f0", "#76ace4", "#488acb", "#1666aa")
ZERO = "#ebebeb"
_MAX_PIECES = 4000
_MAX_PIECES_OF_A_ROW = 1000
_MARK = 5.0

#: A stretch of keys, as shares of the key range, and its noise.
_Piece = tuple[Fraction, Fraction, int]


def perturbation(table: PTable) -> Picture:
    """Draw which noise each part of the keys gets, count by count, in key order.

    Parameters
    ----------
    table
        The p-table.

    Examples
    --------
    >>> from ptable import PTable
    >>> table = PTable(noise=[[0], [1, -1, 1]], upper=[[8], [2, 6, 8]], key_range=8)
    >>> perturbation(table).description[-33:]
    'The keys of count 1 are shuffled.'
    """
    drawing = begun(table, "Noise by cell key")
    bars = _Bars(table, drawing)
    bars.draw()
    drawing.legend("Noise", bars.legend())
    drawing.note(
        "Dark mark at the foot of a bar: the noise takes away; at its head: it adds. "
        "The larger the noise, the higher the mark."
    )
    return finished(drawing, bars.notes(), bars.described(), bars.data())


def on_noise(noise: int, reach: int) -> tuple[str, str]:
    """Give the colour of a noise value, and of text on it with a contrast of 4.5 to 1."""
    if not noise:
        return ZERO, INK
    place = _class(abs(noise), reach)
    return (UP if noise > 0 else DOWN)[place], "#ffffff" if place == len(UP) - 1 else INK


def _class(size: int, reach: int) -> int:
    """Tell in which of five equal parts of the reach a noise falls."""
    return -(-len(UP) * size // reach) - 1


class _Bars:
    """The rows that are drawn, one bar each, with the pieces of keys of equal noise."""

    def __init__(self, table: PTable, drawing: Drawing) -> None:
        self.table, self.drawing = table, drawing
        self.pieces = _pieces(table, chosen_rows(table))
        self.names = {row: row_name(table, row) for row in self.pieces}
        self.reach = max(max(map(abs, table.noise[row])) for row in self.pieces)
        self.high = 26.0 if len(self.pieces) <= 24 else 16.0
        head = text_width("count", 11, bold=True) + 6
        names = (text_width(name, 11) for name in self.names.values())
        self.left = MARGIN + max(head, *names) + 8
        self.length = drawing.width - MARGIN - 12 - self.left

    def draw(self) -> None:
        """Draw the axis and the bars, and move the end of the card below them."""
        drawing, left, high = self.drawing, self.left, self.high
        top = drawing.y + 34
        drawing.axis(left, "share of the cell keys, in key order")
        drawing.text((left - 12, top - 6), "count", anchor="end", bold=True)
        for quarter in range(5):
            place = left + self.length * quarter / 4, top - 6
            drawing.text(place, f"{quarter / 4:g}", size=10, anchor="middle")
        lines = {row: top + place * (high + 5) for place, row in enumerate(self.pieces)}
        fills: dict[str, list[str]] = {}
        marks: dict[float, list[str]] = {}
        for row, line in lines.items():
            drawing.text((left - 6, line + high / 2 + 4), self.names[row], anchor="end")
            for low, end, v in self.pieces[row]:
                start, size = left + float(low) * self.length, float(end - low) * self.length
                size -= 0.6 if size > 4 else 0.0
                steps = fills.setdefault(on_noise(v, self.reach)[0], [])
                steps.append(across(start, line + high / 2, size))
                if v:
                    tall = 1 + (_MARK - 1) * abs(v) / self.reach
                    edge = line + (tall / 2 if v > 0 else high - tall / 2)
                    marks.setdefault(tall, []).append(across(start, edge, size))
        for colour, steps in sorted(fills.items()):
            drawing.path(steps, stroke=colour, stroke_width=high)
        for tall, steps in sorted(marks.items()):
            drawing.path(steps, stroke=INK, stroke_width=tall)
        for row, line in lines.items():
            self._write_noise(row, line)
            drawing.rect((left, line, self.length, high), stroke="#777777", stroke_width=0.8)
        drawing.y = top + len(lines) * (high + 5) - 5

    def _write_noise(self, row: int, top: float) -> None:
        """Name the noise wherever it fits between the marks."""
        if self.high < 10 + 2 * _MARK:
            return
        for low, end, v in self.pieces[row]:
            words = signed(v, self.table.step)
            if text_width(words, 10) + 3 <= float(end - low) * self.length:
                middle = self.left + float(low + end) / 2 * self.length
                place, ink = (middle, top + self.high / 2 + 3.6), on_noise(v, self.reach)[1]
                self.drawing.text(place, words, size=10, anchor="middle", fill=ink)

    def legend(self) -> list[tuple[str, str]]:
        """Name the noise of each colour."""
        entries = [(ZERO, "0")]
        for place in range(len(UP)):
            sizes = (place * self.reach // len(UP) + 1, (place + 1) * self.reach // len(UP))
            if sizes[0] > sizes[1]:
                continue
            for colours, sign in ((DOWN, -1), (UP, 1)):
                ends = sorted(sign * s for s in sizes)
                low, high = (signed(v, self.table.step) for v in ends)
                name = low if low == high else f"{low} to {high}"
                entries.insert(0 if sign < 0 else len(entries), (colours[place], name))
        return entries

    def notes(self) -> list[str]:
        """Say what is not drawn, or not exactly."""
        notes = table_notes(self.table, list(self.pieces))
        sampled = [
            self.names[row]
            for row, pieces in self.pieces.items()
            if len(self.table.noise[row]) != len(pieces)
        ]
        if sampled:
            notes.append(
                f"Drawn from {_MAX_PIECES_OF_A_ROW} samples, as the intervals are finer than "
                f"the picture: count {', '.join(sampled)}."
            )
        return notes

    def described(self) -> str:
        """Say what the picture shows."""
        table, rows = self.table, list(self.pieces)
        facts = [row_facts(table, row) for row in rows]
        sentences = [f"Bars over all cell keys, cut where the noise changes: {span(facts)}."]
        sentences += table_notes(table, rows)
        shuffled = [row for row in rows if _is_shuffled(table.noise[row])]
        if shuffled and table.anchors is None:
            counts = f"count{'s' if len(shuffled) > 1 else ''} {ranges(shuffled)}"
            sentences.append(f"The keys of {counts} are shuffled.")
        elif not shuffled:
            sentences.append("In every row the noise rises or falls with the key.")
        return " ".join(sentences)

    def data(self) -> str:
        """Give the pieces as a table."""
        step = self.table.step
        lines = [
            (self.names[row], f"{float(low):.6g}", f"{float(end):.6g}", signed(v, step))
            for row, pieces in self.pieces.items()
            for low, end, v in pieces
        ]
        caption = "Noise by share of the cell keys: from (included) to (excluded)"
        return html_table(caption, ["count", "from", "to", "noise"], lines)


def _pieces(table: PTable, rows: Sequence[int]) -> dict[int, list[_Piece]]:
    """Collect the pieces of as many rows as there is room for, a row for large counts first."""
    is_open = table.large_counts == "last"
    pieces: dict[int, list[_Piece]] = {}
    for row in [rows[-1], *rows[:-1]] if is_open else rows:
        here = _pieces_of(table, row)
        if pieces and sum(map(len, pieces.values())) + len(here) > _MAX_PIECES:
            break
        pieces[row] = here
    return dict(sorted(pieces.items()))


def _pieces_of(table: PTable, row: int) -> list[_Piece]:
    noise, upper, total = table.noise[row], table.upper[row], table.key_range
    if len(noise) <= _MAX_PIECES_OF_A_ROW:
        return [
            (Fraction(low, total), Fraction(high, total), v)
            for v, low, high in intervals(noise, upper)
        ]
    parts = _MAX_PIECES_OF_A_ROW  # finer than any screen: take samples
    keys = ((2 * part + 1) * total // (2 * parts) for part in range(parts))
    return [
        (Fraction(part, parts), Fraction(part + 1, parts), noise[bisect_right(upper, key)])
        for part, key in enumerate(keys)
    ]


def _is_shuffled(noise: Sequence[int]) -> bool:
    rises = all(a < b for a, b in pairwise(noise))
    return not rises and not all(a > b for a, b in pairwise(noise))
