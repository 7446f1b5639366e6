"""Panels: the distribution of the noise, one small chart per count."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from footing.messages import Message, Name
from footing.svg import across, clip, coordinate, html_table, moves, outline, text_width
from ptable.pictures.facts import (
    RowFacts,
    bin_width,
    binned,
    chosen_rows,
    never_near,
    row_facts,
    span,
    table_notes,
)
from ptable.pictures.picture import begun, finished
from ptable.pictures.svg import HATCH, INK, MARGIN, MUTED
from ptable.pictures.words import decimal, percent, signed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ptable.pictures.picture import Picture
    from ptable.pictures.svg import Drawing
    from ptable.table import PTable

_PANEL = 172.0
_GAP = 12.0
_BARS = 64.0
_BAR, _STAY_BAR = "#5c93c5", "#153d7c"
_WARNING = "#9a3412"
_MAX_SENTENCES = 12


def distributions(table: PTable) -> Picture:
    """Draw the distribution of the noise of each count, with mean, variance and P(no noise).

    A row is flagged where its certificate says that it is not as asked; in tables without a
    certificate where its variance is not that of the last row, or its mean is not 0.

    Parameters
    ----------
    table
        The p-table.

    Examples
    --------
    >>> from ptable import PTable
    >>> table = PTable.from_units([{0: 4}, {0: 3, 1: 1}, {-1: 1, 0: 2, 1: 1}], key_range=4)
    >>> "Count 1: variance 0.1875; the last row has 0.5." in distributions(table).description
    True
    """
    numbers = chosen_rows(table)
    rows = [row_facts(table, row) for row in numbers]
    sentences = _some([sentence for row in rows for _, sentence in row.flags])
    notes = table_notes(table, numbers)
    drawing = begun(table, "Noise by count")
    panels = _Panels(table, rows, drawing)
    for place, row in enumerate(rows):
        panels.draw(row, place)
    panels.explain()
    description = " ".join([_describe(table, rows), *sentences, *notes])
    return finished(drawing, [*notes, *sentences], description, _data(table, rows))


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
        self.peak = _peak(
            [binned(row.law, self.bin_width) for row in rows if set(row.law) != {0}]
        )
        self.head = 94 if any(row.flags for row in rows) else 80
        self.height = self.head + _BARS + 24
        self.top = drawing.y + 6
        self.never: set[int] = set()
        if self.bin_width == 1:
            self.never = never_near(table, [row.count for row in rows], self.reach)

    def explain(self) -> None:
        """Say what the bars mean."""
        none = (
            Message("no noise, or nearly none") if self.bin_width > 1 else Message("no noise")
        )
        entries = [(_STAY_BAR, none), (_BAR, "noise")]
        if self.never:
            entries.append((HATCH, Message("leads to a value that is never published")))
        self.drawing.legend(
            Message("Probability, from 0 to {percent} %", percent=Name(percent(self.peak))),
            entries,
        )
        if self.bin_width > 1:
            self.drawing.note(f"Each bar sums {self.bin_width} neighbouring noise values.")

    def draw(self, row: RowFacts, place: int) -> None:
        """Draw the panel of a row at its place, and move the end of the card below it."""
        drawing = self.drawing
        left = MARGIN + place % self.n_across * (self.width + _GAP)
        top = self.top + place // self.n_across * (self.height + _GAP)
        if row.flags:
            box = (left - 4, top, self.width + 8, self.height)
            drawing.rect(box, stroke=_WARNING, stroke_width=1.4, dashes="5 3")
        self._write(row, left, top)
        half = left + self.width / 2
        if row.flags:
            drawing.path([moves((left, top + 72)) + "l5 -9l5 9z"], fill=_WARNING)
            words = clip(", ".join(words for words, _ in row.flags), self.width - 14, 10)
            drawing.text((left + 14, top + 72), words, fill=_WARNING, size=10)
        self._draw_bars(row, half, top + self.head + _BARS)
        drawing.y = top + self.height

    def _write(self, row: RowFacts, left: float, top: float) -> None:
        name = clip(f"Count {row.name}", self.width, 12, bold=True)
        self.drawing.text((left, top + 15), name, size=12, bold=True)
        lines = (
            Message("mean {decimal}", decimal=Name(decimal(row.mean))),
            Message("variance {decimal}", decimal=Name(decimal(row.variance))),
            Message("stays {percent} %", percent=Name(percent(row.stays, 1))),
        )
        for place, line in enumerate(lines):
            self.drawing.text((left, top + 30 + 14 * place), clip(line, self.width, 11))

    def _draw_bars(self, row: RowFacts, middle: float, base: float) -> None:
        drawing = self.drawing
        if set(row.law) == {0}:
            words = clip("always published as it is", self.width, 11)
            drawing.text((middle, base - _BARS / 2), words, anchor="middle", fill=MUTED)
        else:
            self._draw_hatch(row, middle, base)
            distribution = binned(row.law, self.bin_width)
            for colour, stays in ((_BAR, False), (_STAY_BAR, True)):
                bars = [
                    self._box(middle + v * self.unit, base, float(p / self.peak) * _BARS)
                    for v, p in distribution.items()
                    if (v == 0) == stays
                ]
                drawing.path(bars, fill=colour)
            self._draw_breaks(distribution, middle, base)
        line = across(middle - self.width / 2, base, self.width)
        drawing.path([line], stroke=INK, stroke_width=1)
        self._draw_ticks(middle, base)

    def _box(self, middle: float, base: float, height: float, *, is_bar: bool = True) -> str:
        """Outline a bar; a probability above 0 always shows, one off the scale is cut."""
        gap = 1.0 if is_bar and self.unit > 5 else 0.0
        start, size = middle + (gap - self.unit) / 2, min(_BARS, max(1.0, height))
        return outline(start, base, self.unit - gap, -size)

    def _draw_breaks(
        self, distribution: dict[int, Fraction], middle: float, base: float
    ) -> None:
        """Mark bars that are higher than the panel; name the height of the highest."""
        half = self.unit / 2 + 1
        tall = [v for v, p in distribution.items() if p > self.peak]
        self.drawing.path(
            [
                moves((middle + v * self.unit - half, base - _BARS + 14))
                + f"l{coordinate(half)} -5l{coordinate(half)} 5"
                for v in tall
            ],
            stroke="#ffffff",
            stroke_width=3,
        )
        if tall:
            top = max(tall, key=distribution.__getitem__)
            place = middle + top * self.unit, base - _BARS - 3
            self.drawing.text(
                place, f"{percent(distribution[top])} %", size=10, anchor="middle"
            )

    def _draw_hatch(self, row: RowFacts, middle: float, base: float) -> None:
        here = row.count * self.table.step
        near = sorted(j - here for j in self.never if abs(j - here) <= self.reach)
        boxes = [self._box(middle + v * self.unit, base, _BARS, is_bar=False) for v in near]
        self.drawing.path(boxes, fill=HATCH)

    def _draw_ticks(self, middle: float, base: float) -> None:
        far = self.side
        for place, outer in {-far: "start", far: "end", 0: "middle"}.items():
            words = signed(place * self.bin_width, self.table.step)
            x, anchor = middle + place * self.unit, "middle"
            if place and text_width(words, 10) > self.unit:  # it ends where the panel ends
                x, anchor = x + math.copysign(self.unit / 2, place), outer
            self.drawing.text((x, base + 13), words, size=10, anchor=anchor)


def _peak(distributions: Sequence[dict[int, Fraction]]) -> Fraction:
    """Choose the height of the panels: a few steep rows must not flatten all others."""
    peaks = sorted(max(distribution.values()) for distribution in distributions)
    return min(peaks[-1], 2 * peaks[len(peaks) // 2]) if peaks else Fraction(1)


def _some(sentences: Sequence[str]) -> Sequence[str]:
    if len(sentences) <= _MAX_SENTENCES:
        return sentences
    more = f"And {len(sentences) - _MAX_SENTENCES} more; see the marked panels."
    return [*sentences[:_MAX_SENTENCES], more]


def _describe(table: PTable, rows: Sequence[RowFacts]) -> str:
    last = rows[-1]
    return (
        f"Bar charts of the noise by count: {span(rows)}; the largest noise is "
        f"{table.max_noise / table.step:g}. Count {last.name}: mean {decimal(last.mean)}, "
        f"variance {decimal(last.variance)}, stays as it is with {percent(last.stays, 1)} %."
    )


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
