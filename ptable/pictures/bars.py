"""Bars over the keys: which noise falls to which key."""

from __future__ import annotations

from bisect import bisect_right
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

from footing.svg import across, text_width
from ptable.lookup import intervals
from ptable.pictures.facts import chosen_rows, row_facts, row_name, span, table_notes
from ptable.pictures.picture import begun, finished, html_table
from ptable.pictures.svg import INK, MARGIN
from ptable.pictures.words import Wording, in_english, ranges, signed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ptable.pictures.picture import Picture
    from ptable.pictures.svg import Drawing
    from ptable.pictures.words import Words
    from ptable.table import PTable

DOWN = ("#f7d7bd", "#eab98f", "#d9975c", "#b9742e", "#8f520d")
UP = ("#cbe1f8", "#a2c8f0", "#76ace4", "#488acb", "#1666aa")
ZERO = "#ebebeb"
_MAX_PIECES = 4000
_MAX_PIECES_OF_A_ROW = 1000
_MARK = 5.0

#: A stretch of keys, as shares of the key range, and its noise.
_Piece = tuple[Fraction, Fraction, int]


def perturbation(
    table: PTable,
    *,
    title: str | None = None,
    width: float = 760,
    words: Words = in_english,
    decimal_mark: str = ".",
) -> Picture:
    """Draw which noise each part of the keys gets, count by count, in key order.

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
    >>> from ptable import PTable
    >>> table = PTable(noise=[[0], [1, -1, 1]], upper=[[8], [2, 6, 8]], key_range=8)
    >>> perturbation(table).description[-33:]
    'The keys of count 1 are shuffled.'
    """
    wording = Wording(words=words, decimal_mark=decimal_mark)
    rows, pieces = _pieces(table, chosen_rows(table))
    what = words("Noise by cell key")
    drawing = begun(table, what, title=title, width=width, wording=wording)
    reach = max(max(map(abs, table.noise[row])) for row in rows)
    bars = list(zip(rows, pieces, strict=True))
    _draw(drawing, table, bars, reach, wording)
    drawing.legend(words("Noise"), _legend(reach, table.step, wording))
    drawing.note(
        words(
            "Dark mark at the foot of a bar: the noise takes away; at its head: it adds. "
            "The larger the noise, the higher the mark."
        )
    )
    description = _describe(table, rows, wording)
    notes = _notes(table, rows, pieces, wording)
    data = _data(table, rows, pieces, wording)
    return finished(drawing, notes, description, data, wording)


def on_noise(noise: int, reach: int) -> tuple[str, str]:
    """Give the colour of a noise value, and of text on it with a contrast of 4.5 to 1."""
    if not noise:
        return ZERO, INK
    place = _class(abs(noise), reach)
    return (UP if noise > 0 else DOWN)[place], "#ffffff" if place == len(UP) - 1 else INK


def _class(size: int, reach: int) -> int:
    """Tell in which of five equal parts of the reach a noise falls."""
    return -(-len(UP) * size // reach) - 1


def _pieces(table: PTable, chosen: Sequence[int]) -> tuple[list[int], list[list[_Piece]]]:
    """Collect the pieces of as many rows as there is room for, a row for large counts first."""
    is_open = table.large_counts == "last"
    first = [chosen[-1], *chosen[:-1]] if is_open else chosen
    found: dict[int, list[_Piece]] = {}
    for row in first:
        here = _pieces_of(table, row)
        if found and sum(map(len, found.values())) + len(here) > _MAX_PIECES:
            break
        found[row] = here
    rows = sorted(found)
    return rows, [found[row] for row in rows]


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


def _draw(
    drawing: Drawing,
    table: PTable,
    bars: Sequence[tuple[int, list[_Piece]]],
    reach: int,
    wording: Wording,
) -> None:
    words, names = wording.words, [row_name(table, row, wording=wording) for row, _ in bars]
    head = text_width(words("count"), 11, bold=True) + 6
    left = MARGIN + max(head, *(text_width(name, 11) for name in names)) + 8
    length = drawing.width - MARGIN - 12 - left
    high = 26.0 if len(bars) <= 24 else 16.0
    top = drawing.y + 34
    drawing.axis(left, words("share of the cell keys, in key order"))
    drawing.text((left - 12, top - 6), words("count"), anchor="end", bold=True)
    for quarter in range(5):
        share = wording.number(f"{quarter / 4:g}")
        drawing.text((left + length * quarter / 4, top - 6), share, size=10, anchor="middle")
    fills: dict[str, list[str]] = {}
    marks: dict[float, list[str]] = {}
    for place, (_, pieces) in enumerate(bars):
        line = top + place * (high + 5)
        drawing.text((left - 6, line + high / 2 + 4), names[place], anchor="end")
        for low, end, v in pieces:
            start, size = left + float(low) * length, float(end - low) * length
            gap = 0.6 if size > 4 else 0.0
            fills.setdefault(on_noise(v, reach)[0], []).append(
                across(start, line + high / 2, size - gap)
            )
            if v:
                tall = 1 + (_MARK - 1) * abs(v) / reach
                edge = line + (tall / 2 if v > 0 else high - tall / 2)
                marks.setdefault(tall, []).append(across(start, edge, size - gap))
    for colour, steps in sorted(fills.items()):
        drawing.path(steps, stroke=colour, stroke_width=high)
    for tall, steps in sorted(marks.items()):
        drawing.path(steps, stroke=INK, stroke_width=tall)
    for place, (_, pieces) in enumerate(bars):
        box = (left, top + place * (high + 5), length, high)
        _write_noise(drawing, pieces, box, (reach, table.step), wording)
        drawing.rect(box, stroke="#777777", stroke_width=0.8)
    drawing.y = top + len(bars) * (high + 5) - 5


def _write_noise(
    drawing: Drawing,
    pieces: Iterable[_Piece],
    box: tuple[float, float, float, float],
    scale: tuple[int, int],
    wording: Wording,
) -> None:
    """Name the noise wherever it fits between the marks."""
    left, top, length, high = box
    reach, step = scale
    if high < 10 + 2 * _MARK:
        return
    for low, end, v in pieces:
        words = wording.number(signed(v, step))
        if text_width(words, 10) + 3 <= float(end - low) * length:
            middle = left + float(low + end) / 2 * length
            drawing.text(
                (middle, top + high / 2 + 3.6),
                words,
                size=10,
                anchor="middle",
                fill=on_noise(v, reach)[1],
            )


def _legend(reach: int, step: int, wording: Wording) -> list[tuple[str, str]]:
    both = wording.words("%(low)s to %(high)s")
    entries = [(ZERO, "0")]
    for place in range(len(UP)):
        sizes = (place * reach // len(UP) + 1, (place + 1) * reach // len(UP))
        if sizes[0] > sizes[1]:
            continue
        for colours, sign in ((DOWN, -1), (UP, 1)):
            ends = sorted(sign * s for s in sizes)
            low, high = (wording.number(signed(size, step)) for size in ends)
            name = low if low == high else both % {"low": low, "high": high}
            entry = (colours[place], name)
            entries.insert(0 if sign < 0 else len(entries), entry)
    return entries


def _is_shuffled(noise: Sequence[int]) -> bool:
    rises = all(a < b for a, b in pairwise(noise))
    return not rises and not all(a > b for a, b in pairwise(noise))


def _notes(
    table: PTable, rows: Sequence[int], pieces: Sequence[list[_Piece]], wording: Wording
) -> list[str]:
    notes = table_notes(table, rows, wording=wording)
    sampled = [
        row_name(table, row, wording=wording)
        for row, here in zip(rows, pieces, strict=True)
        if len(table.noise[row]) != len(here)
    ]
    if sampled:
        sentence = wording.words(
            "Drawn from %(samples)s samples, as the intervals are finer than the picture: "
            "count %(counts)s."
        )
        counts = wording.listed(sampled)
        notes.append(sentence % {"samples": _MAX_PIECES_OF_A_ROW, "counts": counts})
    return notes


def _describe(table: PTable, rows: Sequence[int], wording: Wording) -> str:
    words = wording.words
    shuffled = [row for row in rows if _is_shuffled(table.noise[row])]
    drawn = span([row_facts(table, row, wording=wording) for row in rows], wording=wording)
    sentences = [
        words("Bars over all cell keys, cut where the noise changes: %(rows)s.")
        % {"rows": drawn},
        *table_notes(table, rows, wording=wording),
    ]
    if shuffled and table.anchors is None:
        sentence = words("The keys of count %(counts)s are shuffled.")
        if len(shuffled) > 1:
            sentence = words("The keys of counts %(counts)s are shuffled.")
        sentences.append(sentence % {"counts": ranges(shuffled, wording=wording)})
    elif not shuffled:
        sentences.append(words("In every row the noise rises or falls with the key."))
    return " ".join(sentences)


def _data(
    table: PTable, rows: Sequence[int], pieces: Sequence[list[_Piece]], wording: Wording
) -> str:
    words, figure = wording.words, wording.number
    lines = [
        (
            row_name(table, row, wording=wording),
            figure(f"{float(low):.6g}"),
            figure(f"{float(end):.6g}"),
            figure(signed(v, table.step)),
        )
        for row, here in zip(rows, pieces, strict=True)
        for low, end, v in here
    ]
    names = [words("count"), words("from"), words("to"), words("noise")]
    caption = words("Noise by share of the cell keys: from (included) to (excluded)")
    return html_table(caption, names, lines)
