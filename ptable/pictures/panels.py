"""Panels: the distribution of the noise, one small chart per count."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from ptable.pictures.data import heading, html_table
from ptable.pictures.facts import (
    RowFacts,
    chosen_rows,
    decimal,
    never_published,
    percent,
    row_facts,
    signed,
    table_notes,
)
from ptable.pictures.matrix import bin_width
from ptable.pictures.picture import Picture
from ptable.pictures.svg import HATCH, INK, MARGIN, MUTED, Drawing, number, text_width

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
    scale = _Scale(table, rows, drawing)
    for place, row in enumerate(rows):
        scale.draw(row, place)
    drawing.y = scale.bottom(len(rows))
    entries = [(_STAY_BAR, "no noise"), (_BAR, "noise")]
    if scale.any_hatched:
        entries.append((HATCH, "leads to a value that is never published"))
    drawing.legend(f"Probability, from 0 to {percent(scale.peak)} %", entries)
    if scale.wide > 1:
        drawing.note(f"Each bar sums {scale.wide} neighbouring noise values.")
    for note in [*table_notes(table, chosen), *_some(sentences)]:
        drawing.note(note)
    description = _describe(table, rows, sentences)
    return Picture(
        svg=drawing.finish(description), description=description, table=_data(table, rows)
    )


class _Scale:
    """Where panels and bars go: the same noise axis and the same height for all."""

    def __init__(self, table: PTable, rows: Sequence[RowFacts], drawing: Drawing) -> None:
        self.table, self.drawing = table, drawing
        self.n_across = max(1, min(len(rows), int((drawing.room + _GAP) // (_PANEL + _GAP))))
        self.panel = min(
            (drawing.room + _GAP) / self.n_across - _GAP, 2 * _PANEL if len(rows) < 4 else 1e9
        )
        self.reach = max(max(map(abs, row.law)) for row in rows)
        self.wide = bin_width(self.reach, int(self.panel / 1.5))
        self.side = (self.reach + self.wide // 2) // self.wide
        self.unit = self.panel / (2 * self.side + 1)
        self.laws = [self._binned(row) for row in rows]
        self.peak = max(
            (max(law.values()) for row, law in zip(rows, self.laws, strict=True)
             if set(row.law) != {0}),
            default=Fraction(1),
        )
        self.has_flags = any(row.flags for row in rows)
        self.high = 50 + (14 if self.has_flags else 0) + _BARS + 24
        self.top = drawing.y + 6
        self.any_hatched = False

    def _binned(self, row: RowFacts) -> dict[int, Fraction]:
        law: dict[int, Fraction] = {}
        for v, p in row.law.items():
            place = (v + self.wide // 2) // self.wide
            law[place] = law.get(place, Fraction(0)) + p
        return law

    def bottom(self, n_panels: int) -> float:
        n_down = -(-n_panels // self.n_across)
        return self.top + n_down * (self.high + _GAP) - _GAP

    def draw(self, row: RowFacts, place: int) -> None:
        drawing = self.drawing
        left = MARGIN + place % self.n_across * (self.panel + _GAP)
        top = self.top + place // self.n_across * (self.high + _GAP)
        if row.flags:
            box = (left - 4, top, self.panel + 8, self.high)
            drawing.rect(box, stroke=_WARNING, stroke_width=1.4, dashes="5 3")
        drawing.text((left, top + 15), f"Count {row.name}", size=12, bold=True)
        moments = f"mean {decimal(row.mean)}, variance {decimal(row.variance)}"
        drawing.text((left, top + 30), moments)
        drawing.text((left, top + 44), f"stays {percent(row.stays, 1)} %")
        if row.flags:
            tip = f"M{number(left)} {number(top + 58)}l5 -9l5 9z"
            drawing.path([tip], fill=_WARNING)
            words = ", ".join(words for words, _ in row.flags)
            drawing.text((left + 14, top + 58), words, fill=_WARNING, bold=True, size=10)
        self._draw_bars(row, self.laws[place], (left, top + self.high - 20))

    def _draw_bars(
        self, row: RowFacts, law: dict[int, Fraction], corner: tuple[float, float]
    ) -> None:
        drawing, (left, base) = self.drawing, corner
        middle = left + self.panel / 2
        self._draw_hatch(row, middle, base)
        gap = 1.0 if self.unit > 5 else 0.0
        if set(row.law) == {0}:
            words = "always published as it is"
            drawing.text((middle, base - _BARS / 2), words, anchor="middle", fill=MUTED)
        else:
            for colour, places in (
                (_BAR, [v for v in law if v]),
                (_STAY_BAR, [v for v in law if not v]),
            ):
                bars = []
                for v in places:
                    # A probability above 0 always shows.
                    size = number(max(1.0, float(law[v] / self.peak) * _BARS))
                    start = number(middle + (v - 0.5) * self.unit + gap / 2)
                    length = number(self.unit - gap)
                    bars.append(f"M{start} {number(base)}h{length}v-{size}h-{length}z")
                drawing.path(bars, fill=colour)
        drawing.path([f"M{number(left)} {number(base)}h{number(self.panel)}"], stroke=INK)
        self._draw_ticks(middle, base)

    def _draw_hatch(self, row: RowFacts, middle: float, base: float) -> None:
        if self.wide > 1:
            return
        here = row.count * self.table.step
        boxes = [
            f"M{number(middle + (j - here - 0.5) * self.unit)} {number(base)}"
            f"h{number(self.unit)}v-{number(_BARS)}h-{number(self.unit)}z"
            for j in sorted(never_published(self.table, here - self.reach, here + self.reach))
        ]
        self.any_hatched = self.any_hatched or bool(boxes)
        self.drawing.path(boxes, fill=HATCH)

    def _draw_ticks(self, middle: float, base: float) -> None:
        far = self.side * self.wide
        marks = {0: "middle"} if not far else {-far: "start", 0: "middle", far: "end"}
        for v, anchor in marks.items():
            words = signed(v, self.table.step)
            shift = {"start": -0.5, "middle": 0.0, "end": 0.5}[anchor] * self.unit
            wanted = middle + v / self.wide * self.unit + shift
            # Labels of narrow bars stand under their bar, those of wide ones in its middle.
            if abs(shift) * 2 > text_width(words, 10):
                wanted, anchor = wanted - shift, "middle"
            self.drawing.text((wanted, base + 13), words, size=10, anchor=anchor)


def _some(sentences: Sequence[str]) -> Sequence[str]:
    if len(sentences) <= _MOST_SENTENCES:
        return sentences
    more = len(sentences) - _MOST_SENTENCES
    return [*sentences[:_MOST_SENTENCES], f"And {more} more; see the marked panels."]


def _describe(table: PTable, rows: Sequence[RowFacts], sentences: Sequence[str]) -> str:
    last = rows[-1]
    words = [
        f"Bar charts of the noise of {len(rows)} rows, from count {rows[0].name} to "
        f"{last.name}; the largest noise is {table.max_noise / table.step:g}.",
        f"Count {last.name}: mean {decimal(last.mean)}, variance {decimal(last.variance)}, "
        f"stays as it is with {percent(last.stays, 1)} %.",
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
