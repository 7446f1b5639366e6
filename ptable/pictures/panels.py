"""Panels: the distribution of the noise, one small chart per count."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from ptable.pictures.data import heading, html_table
from ptable.pictures.facts import (
    RowFacts,
    chosen_rows,
    never_near,
    row_facts,
    span,
    table_notes,
)
from ptable.pictures.grid import bin_width
from ptable.pictures.picture import Picture
from ptable.pictures.svg import HATCH, INK, MARGIN, MUTED, Drawing, clip, number, text_width
from ptable.pictures.words import decimal, percent, signed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ptable.table import PTable

__all__ = ["distributions"]

_PANEL = 172.0
_GAP = 12.0
_BARS = 64.0
_BAR, _STAY_BAR = "#5c93c5", "#153d7c"
_WARNING = "#9a3412"
_MOST_SENTENCES = 12


def distributions(table: PTable, *, title: str | None = None, width: float = 760) -> Picture:
    """Draw the distribution of the noise of each count, with mean, variance and P(no noise).

    A row is flagged where its certificate says that it is not as asked; in tables without a
    certificate where its variance is not that of the last row, or its mean is not 0.

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
    >>> from ptable import PTable
    >>> table = PTable.from_units([{0: 4}, {0: 3, 1: 1}, {-1: 1, 0: 2, 1: 1}], key_range=4)
    >>> "Count 1: variance 0.1875; the last row has 0.5." in distributions(table).description
    True
    """
    chosen = chosen_rows(table)
    rows = [row_facts(table, row) for row in chosen]
    sentences = [sentence for row in rows for _, sentence in row.flags]
    drawing = Drawing(title or heading("Noise by count", table), width=width)
    panels = _Panels(table, rows, drawing)
    for place, row in enumerate(rows):
        panels.draw(row, place)
    none = "no noise" if panels.bin_width == 1 else "no noise, or nearly none"
    entries = [(_STAY_BAR, none), (_BAR, "noise")]
    if panels.never:
        entries.append((HATCH, "leads to a value that is never published"))
    drawing.legend(f"Probability, from 0 to {percent(panels.peak)} %", entries)
    if panels.bin_width > 1:
        drawing.note(f"Each bar sums {panels.bin_width} neighbouring noise values.")
    for note in [*table_notes(table, chosen), *_some(sentences)]:
        drawing.note(note)
    description = _describe(table, rows, sentences)
    return Picture(
        svg=drawing.finish(description), description=description, table=_data(table, rows)
    )


class _Panels:
    """Where panels and bars go: the same axis of noise and the same height for all."""

    def __init__(self, table: PTable, rows: Sequence[RowFacts], drawing: Drawing) -> None:
        self.table, self.drawing = table, drawing
        fits = int((drawing.room + _GAP) // (_PANEL + _GAP))
        self.n_across = max(1, min(len(rows), fits))
        widest = 2 * _PANEL if len(rows) < fits else drawing.room
        self.width = min((drawing.room + _GAP) / self.n_across - _GAP, widest)
        self.reach = max(max(map(abs, row.law)) for row in rows)
        self.bin_width = bin_width(self.reach, int(self.width / 1.5))
        self.side = (self.reach + self.bin_width // 2) // self.bin_width
        self.unit = self.width / (2 * self.side + 1)
        self.peak = _peak([self._binned(row) for row in rows if set(row.law) != {0}])
        self.head = 94 if any(row.flags for row in rows) else 80
        self.height = self.head + _BARS + 24
        self.top = drawing.y + 6
        self.never: set[int] = set()
        if self.bin_width == 1:
            self.never = never_near(table, [row.count for row in rows], self.reach)

    def _binned(self, row: RowFacts) -> dict[int, Fraction]:
        law: dict[int, Fraction] = {}
        for v, p in row.law.items():
            place = (v + self.bin_width // 2) // self.bin_width
            law[place] = law.get(place, Fraction(0)) + p
        return law

    def draw(self, row: RowFacts, place: int) -> None:
        """Draw the panel of a row at its place, and move the end of the card below it."""
        drawing = self.drawing
        left = MARGIN + place % self.n_across * (self.width + _GAP)
        top = self.top + place // self.n_across * (self.height + _GAP)
        if row.flags:
            box = (left - 4, top, self.width + 8, self.height)
            drawing.rect(box, stroke=_WARNING, stroke_width=1.4, dashes="5 3")
        drawing.text((left, top + 15), f"Count {row.name}", size=12, bold=True)
        drawing.text((left, top + 30), f"mean {decimal(row.mean)}")
        drawing.text((left, top + 44), f"variance {decimal(row.variance)}")
        half = left + self.width / 2
        drawing.text((left, top + 58), f"stays {percent(row.stays, 1)} %")
        if row.flags:
            tip = f"M{number(left)} {number(top + 72)}l5 -9l5 9z"
            drawing.path([tip], fill=_WARNING)
            words = clip(", ".join(words for words, _ in row.flags), self.width - 14, 10)
            drawing.text((left + 14, top + 72), words, fill=_WARNING, size=10)
        self._draw_bars(row, half, top + self.head + _BARS)
        drawing.y = top + self.height

    def _draw_bars(self, row: RowFacts, middle: float, base: float) -> None:
        drawing = self.drawing
        if set(row.law) == {0}:
            words = "always published as it is"
            drawing.text((middle, base - _BARS / 2), words, anchor="middle", fill=MUTED)
        else:
            self._draw_hatch(row, middle, base)
            law = self._binned(row)
            for colour, stays in ((_BAR, False), (_STAY_BAR, True)):
                bars = [
                    self._box(middle + v * self.unit, base, float(p / self.peak) * _BARS)
                    for v, p in law.items()
                    if (v == 0) == stays
                ]
                drawing.path(bars, fill=colour)
            self._draw_breaks(law, middle, base)
        line = f"M{number(middle - self.width / 2)} {number(base)}h{number(self.width)}"
        drawing.path([line], stroke=INK)
        self._draw_ticks(middle, base)

    def _box(self, across: float, base: float, height: float, *, is_bar: bool = True) -> str:
        """Outline a bar; a probability above 0 always shows, one off the scale is cut."""
        gap = 1.0 if is_bar and self.unit > 5 else 0.0
        start = number(across + (gap - self.unit) / 2)
        length, size = number(self.unit - gap), number(min(_BARS, max(1.0, height)))
        return f"M{start} {number(base)}h{length}v-{size}h-{length}z"

    def _draw_breaks(self, law: dict[int, Fraction], middle: float, base: float) -> None:
        """Mark bars that are higher than the panel; name the height of the highest."""
        half = self.unit / 2 + 1
        tall = [v for v, p in law.items() if p > self.peak]
        self.drawing.path(
            [
                f"M{number(middle + v * self.unit - half)} {number(base - _BARS + 14)}"
                f"l{number(half)} -5l{number(half)} 5"
                for v in tall
            ],
            stroke="#ffffff",
            stroke_width=3,
        )
        if tall:
            top = max(tall, key=law.__getitem__)
            place, words = (
                (middle + top * self.unit, base - _BARS - 3),
                f"{percent(law[top])} %",
            )
            self.drawing.text(place, words, size=10, anchor="middle")

    def _draw_hatch(self, row: RowFacts, middle: float, base: float) -> None:
        here = row.count * self.table.step
        near = sorted(j - here for j in self.never if abs(j - here) <= self.reach)
        boxes = [self._box(middle + v * self.unit, base, _BARS, is_bar=False) for v in near]
        self.drawing.path(boxes, fill=HATCH)

    def _draw_ticks(self, middle: float, base: float) -> None:
        far = self.side
        for place, anchor in {-far: "start", far: "end", 0: "middle"}.items():
            words = signed(place * self.bin_width, self.table.step)
            across = middle + place * self.unit
            # Labels wider than their bar end where the panel ends.
            if text_width(words, 10) <= self.unit or not place:
                anchor = "middle"  # noqa: PLW2901
            elif place:
                across += self.unit / 2 if place > 0 else -self.unit / 2
            self.drawing.text((across, base + 13), words, size=10, anchor=anchor)


def _peak(laws: Sequence[dict[int, Fraction]]) -> Fraction:
    """Choose the height of the panels: a few steep rows must not flatten all others."""
    peaks = sorted(max(law.values()) for law in laws)
    return min(peaks[-1], 2 * peaks[len(peaks) // 2]) if peaks else Fraction(1)


def _some(sentences: Sequence[str]) -> Sequence[str]:
    if len(sentences) <= _MOST_SENTENCES:
        return sentences
    more = len(sentences) - _MOST_SENTENCES
    return [*sentences[:_MOST_SENTENCES], f"And {more} more; see the marked panels."]


def _describe(table: PTable, rows: Sequence[RowFacts], sentences: Sequence[str]) -> str:
    last = rows[-1]
    words = [
        (
            f"Bar charts of the noise by count: {span(rows)}; the largest noise is "
            f"{table.max_noise / table.step:g}."
        ),
        (
            f"Count {last.name}: mean {decimal(last.mean)}, variance {decimal(last.variance)}, "
            f"stays as it is with {percent(last.stays, 1)} %."
        ),
        *_some(sentences),
        *table_notes(table, chosen_rows(table)),
    ]
    return " ".join(words)


def _data(table: PTable, rows: Sequence[RowFacts]) -> str:
    lines = [
        (
            row.name,
            decimal(row.mean),
            decimal(row.variance),
            percent(row.stays, 2),
            signed(min(row.law), table.step),
            signed(max(row.law), table.step),
            " ".join(sentence for _, sentence in row.flags) or "none",
        )
        for row in rows
    ]
    names = ["count", "mean", "variance", "stays, percent", "least noise", "greatest noise"]
    return html_table("The noise of each count", [*names, "remarks"], lines)
