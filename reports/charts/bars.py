"""Bars: two shares side by side, and a share per line."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from footing.svg import Axis, ticks
from reports.charts.drawing import Drawing, Labels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reports.i18n.languages import Words

_WIDTH = 720.0
_HEIGHT = 300.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 56.0, 8.0, 34.0, 64.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Bars(Labels):
    """What a picture of bars says.

    Parameters
    ----------
    first, second
        What the outlined and the filled bars are.
    """

    first: str = ""
    second: str = ""


def paired_bars(words: Words, bars: Bars, lines: Sequence[tuple[int, float, float]]) -> str:
    """Draw two shares for each number: the first outlined, the second filled."""
    drawing = Drawing(words, bars, size=(_WIDTH, _HEIGHT + 24))
    least, most = lines[0][0], lines[-1][0]
    at = ticks(0, max(max(first, second) for _, first, second in lines))
    low, left, right = _HEIGHT - _BOTTOM, _LEFT, _WIDTH - _RIGHT
    up = Axis(at, (low, _TOP))
    along = Axis((least - 0.5, most + 0.5), (left, right))
    drawing.upwards(up, left=left, right=right)
    wide = (right - left) / (most - least + 1)
    each = min(26.0, wide * 0.4)
    for number, first, second in lines:
        middle = along(number)
        drawing.rect((middle - each, up(first), each, low - up(first)), css="designed")
        drawing.rect((middle, up(second), each, low - up(second)), css="drawn")
    drawing.line((left, low), (right, low), css="axis")
    every = math.ceil(34 / wide)
    for number, _, _ in lines:
        if number % every == 0:
            drawing.text(
                (along(number), low + 16), words.numbers.signed(number), anchor="middle"
            )
    drawing.text(((left + right) / 2, low + 34), bars.across, anchor="middle")
    drawing.legend(low + 48, [("designed", bars.first), ("drawn", bars.second)], step=220)
    return drawing.finish()


def lines_of_shares(words: Words, bars: Bars, lines: Sequence[tuple[str, float, str]]) -> str:
    """Draw a share per line, with its number and a remark beside it."""
    top, step, left, right = 34.0, 24.0, 70.0, _WIDTH - 130
    low = top + step * len(lines)
    drawing = Drawing(words, bars, size=(_WIDTH, low + 40))
    along = Axis((0, 0.25, 0.5, 0.75, 1), (left, right))
    drawing.across(along, low=low, high=top - 6)
    drawing.text((4, top - 16), bars.upwards)
    for place, (name, share, remark) in enumerate(lines):
        y = top + place * step
        drawing.text((left - 8, y + 13), name, anchor="end")
        drawing.rect((left, y + 2, along(share) - left, step - 8), css="drawn")
        drawing.text(
            (right + 8, y + 13), f"{words.numbers.probability(share)} {remark}".strip()
        )
    drawing.line((left, top - 6), (left, low), css="axis")
    return drawing.finish()
